/* A whole short training in which, one after the other, every system call on the run folder goes wrong: it fails, or
 * the process dies there, or a signal comes. Whatever happened, what is in the folder is sound, and the same command
 * goes on to the same bytes. And a checkpoint is damaged, anywhere. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/memory.h"
#include "run/checkpoint.h"
#include "run/run.h"
#include "system/files.h"
#include "tests/suites.h"
#include "tests/training.h"

enum { CRASH_CODE = 77 };

static int fail_number;

static int fails(void)
{
    return fail_number;
}

static int crashes(void)
{
    _exit(CRASH_CODE);
}

static int is_asked_to_stop(void)
{
    raise(SIGTERM);
    return 0;
}

static int is_asked_twice(void)
{
    raise(SIGINT);
    raise(SIGINT);
    return 0;
}

/* Train `before` steps undisturbed, then on to `steps`, acting at the nth call; then once more, to the end. `step`
 * apart. */
static void disturb(const char *what, int (*act)(void), int code, int before, int steps, int step)
{
    if (before) ck_assert_int_eq(training_run("whole", before, NULL, 0, NULL), 0);
    ck_assert_int_eq(training_run("whole", steps, NULL, 0, NULL), 0);
    const int n = training_calls();
    ck_assert_int_gt(n, 50);
    for (int nth = 1; nth <= n; nth += step) {
        static const int numbers[] = {ENOSPC, EROFS, EIO, EDQUOT, EACCES};
        fail_number = numbers[nth % 5];
        char *when = mem_format("%s at call %d of %d", what, nth, n);
        training_remove("run");
        if (before) ck_assert_int_eq(training_run("run", before, NULL, 0, NULL), 0);
        const int got = training_run("run", steps, NULL, nth, act);
        char *message = training_said();
        ck_assert_msg(got == code, "%s: exit code %d\n%s", when, got, message);
        if (act == fails)
            ck_assert_msg(strstr(message, strerror(fail_number)) && strstr(message, training_folder()), "%s: %s", when, message);
        mem_free(message);
        training_assert_sound("run", when);
        const int again = training_run("run", steps, NULL, 0, NULL);
        message = training_said();
        ck_assert_msg(again == 0, "%s: going on ends with exit code %d\n%s", when, again, message);
        mem_free(message);
        training_assert_same("run", "whole", when);
        mem_free(when);
    }
    printf("%s: %d calls\n", what, n);
}

START_TEST(every_call_fails)
{
    disturb("failing", fails, ERROR_FAILED, 0, 5, 1);
}
END_TEST

START_TEST(every_call_fails_on_resuming)
{
    disturb("failing on resuming", fails, ERROR_FAILED, 3, 5, 1);
}
END_TEST

START_TEST(a_crash_at_every_call)
{
    disturb("crashing", crashes, CRASH_CODE, 0, 5, 1);
}
END_TEST

START_TEST(a_crash_at_every_call_on_resuming)
{
    disturb("crashing on resuming", crashes, CRASH_CODE, 3, 5, 1);
}
END_TEST

START_TEST(a_signal_at_every_call)
{
    disturb("SIGTERM", is_asked_to_stop, 128 + SIGTERM, 0, 5, 1);
}
END_TEST

START_TEST(two_signals_at_every_call)
{
    disturb("two SIGINT", is_asked_twice, 128 + SIGINT, 0, 5, 2);
}
END_TEST

/* ---- file systems that lack something ---- */

static void assert_said(const char *text, bool wanted)
{
    char *message = training_said();
    ck_assert_msg((strstr(message, text) != NULL) == wanted, "%s", message);
    mem_free(message);
}

/* What a training leaves is the same but for the links, and they are found. */
START_TEST(without_symbolic_links)
{
    static const int calls[] = {SYS_symlink, SYS_symlinkat, -1};
    static const int numbers[] = {EPERM, EOPNOTSUPP, ENOSYS};
    ck_assert_int_eq(training_run("whole", 5, NULL, 0, NULL), 0);
    for (int i = 0; i < 3; i++) {
        if (!training_refuse(calls, numbers[i])) return;
        training_remove("run");
        ck_assert_int_eq(training_run("run", 3, NULL, 0, NULL), 0);
        ck_assert_int_eq(training_run("run", 5, NULL, 0, NULL), 0);
        static const char *const links[] = {RUN_LAST, RUN_BEST};
        for (int k = 0; k < 2; k++) {
            struct stat status;
            Error error = {0};
            char *path = training_path("run", links[k]), *wanted = training_path("whole", links[k]);
            char *folder, *checkpoint;
            char *is = symlink_target(path), *should = symlink_target(wanted);
            ck_assert(!lstat(path, &status) && S_ISREG(status.st_mode));
            ck_assert_str_eq(is, should);
            ck_assert_msg(run_locate(path, &folder, &checkpoint, &error), "%s", error.text);
            ck_assert_str_eq(path_name(checkpoint), should);
            char *owned[] = {path, wanted, folder, checkpoint, is, should};
            for (size_t m = 0; m < sizeof owned / sizeof *owned; m++) mem_free(owned[m]);
        }
    }
    training_refuse(NULL, 0);
    ck_assert_int_eq(training_run("run", 7, NULL, 0, NULL), 0); /* moved to a file system that has them */
    ck_assert_int_eq(training_run("whole", 7, NULL, 0, NULL), 0);
    training_assert_same("run", "whole", "with links again");
}
END_TEST

START_TEST(without_locks)
{
    static const int calls[] = {SYS_flock, -1};
    static const int numbers[] = {ENOLCK, EOPNOTSUPP, ENOSYS};
    ck_assert_int_eq(training_run("whole", 3, NULL, 0, NULL), 0);
    assert_said("can't be locked", false);
    for (int i = 0; i < 3; i++) {
        if (!training_refuse(calls, numbers[i])) return;
        training_remove("run");
        ck_assert_int_eq(training_run("run", 3, NULL, 0, NULL), 0);
        assert_said("run/lock can't be locked", true);
        assert_said("no second process", true);
        training_assert_same("run", "whole", "without locks");
    }
    training_refuse(NULL, 0);
}
END_TEST

/* ---- damage ---- */

static void assert_refused(const char *path, const char *format, size_t place)
{
    Error error = {0};
    Checkpoint checkpoint;
    char *when = mem_format("%s %zu", format, place);
    ck_assert_msg(!checkpoint_open(&checkpoint, path, &error), "%s: accepted", when);
    ck_assert_msg(!strncmp(error.text, path, strlen(path)), "%s: %s", when, error.text);
    mem_free(when);
}

/* A bit of every byte of the length and the header is flipped, then the file is cut to every multiple of 4 KB. */
START_TEST(a_checkpoint_is_damaged_anywhere)
{
    Error error = {0};
    ck_assert_int_eq(training_run("run", 2, NULL, 0, NULL), 0);
    char *path = training_path("run", RUN_LAST);
    size_t n;
    char *bytes = file_read_all(path, &n, &error);
    uint64_t n_header;
    memcpy(&n_header, bytes, sizeof n_header);
    n_header += sizeof n_header;
    ck_assert(n_header > 5000 && n > n_header + 50000);
    const int file = open(path, O_WRONLY);
    ck_assert_int_ge(file, 0);
    for (size_t i = 0; i < n_header; i++) {
        const char flipped = (char)(bytes[i] ^ 1 << i % 8);
        ck_assert_int_eq(pwrite(file, &flipped, 1, (off_t)i), 1);
        assert_refused(path, "flipped byte", i);
        ck_assert_int_eq(pwrite(file, bytes + i, 1, (off_t)i), 1);
    }
    training_assert_sound("run", "as it was");
    for (size_t cut = (n - 1) / 4096 * 4096;; cut -= 4096) {
        ck_assert_int_eq(ftruncate(file, (off_t)cut), 0);
        assert_refused(path, "cut to", cut);
        if (!cut) break;
    }
    close(file);
    mem_free(bytes);
    mem_free(path);
    printf("damage: %zu bytes flipped, %zu lengths\n", (size_t)n_header, n / 4096);
}
END_TEST

Suite *suite_faults(void)
{
    Suite *suite = suite_create("faults");
    TCase *tcase = tcase_create("faults");
    tcase_add_checked_fixture(tcase, training_setup, training_teardown);
    tcase_add_test(tcase, every_call_fails);
    tcase_add_test(tcase, every_call_fails_on_resuming);
    tcase_add_test(tcase, a_crash_at_every_call);
    tcase_add_test(tcase, a_crash_at_every_call_on_resuming);
    tcase_add_test(tcase, a_signal_at_every_call);
    tcase_add_test(tcase, two_signals_at_every_call);
    tcase_add_test(tcase, without_symbolic_links);
    tcase_add_test(tcase, without_locks);
    tcase_add_test(tcase, a_checkpoint_is_damaged_anywhere);
    suite_add_tcase(suite, tcase);
    return suite;
}
