/* A whole short training in which, one after the other, every system call on the run folder goes wrong: it fails, or the
 * process dies there, or a signal comes. Whatever happened, what is in the folder is sound, and the same command goes on to
 * the same bytes. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "tests/suites.h"
#include "tests/training.h"
#include "train/files.h"

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

/* Train `before` steps undisturbed, then on to `steps`, acting at the nth call; then once more, to the end. `step` apart. */
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
    suite_add_tcase(suite, tcase);
    return suite;
}
