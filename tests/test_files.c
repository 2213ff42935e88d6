/* system/files: nothing is lost whichever system call fails. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"
#include "system/files.h"
#include "system/made.h"
#include "tests/suites.h"

static char folder[64], path[128];

static void setup(void)
{
    strcpy(folder, "/tmp/ferry-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.bin", folder);
}

/* Also checks that the test left nothing but what it names: rmdir fails on anything else. */
static void teardown(void)
{
    files_fail_call(0, 0);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void assert_reads(const char *name, const char *text)
{
    Error error = {0};
    size_t bytes;
    char *data = file_read_all(name, &bytes, &error);
    ck_assert_msg(data != NULL, "%s", error.text);
    ck_assert_uint_eq(bytes, strlen(text));
    ck_assert_str_eq(data, text);
    mem_free(data);
}

static int count_entries(const char *suffix)
{
    Error error = {0};
    char **names;
    int n;
    ck_assert(folder_list(folder, "", suffix, &names, &n, &error));
    for (int i = 0; i < n; i++) mem_free(names[i]);
    mem_free(names);
    return n;
}

START_TEST(bytes_come_back)
{
    Error error = {0};
    size_t n = 100000, bytes = 0;
    char *data = mem_alloc(n);
    for (size_t i = 0; i < n; i++) data[i] = (char)(i * i >> 3);
    AtomicFile *file = file_create(path, &error);
    ck_assert_str_eq(file_path(file), path);
    ck_assert(file_write(file, data, 70001, &error) && file_write(file, data, 0, &error));
    ck_assert(!file_exists(path));
    ck_assert(file_write(file, data + 70001, n - 70001, &error) && file_commit(file, &error));
    char *back = file_read_all(path, &bytes, &error);
    ck_assert_uint_eq(bytes, n);
    ck_assert_mem_eq(back, data, n);
    ck_assert_int_eq(back[n], 0);
    mem_free(back);
    mem_free(data);
    ck_assert_int_eq(count_entries(""), 1);
}
END_TEST

START_TEST(abandoned_leaves_the_old_file)
{
    Error error = {0};
    ck_assert(file_write_all(path, "old", 3, &error));
    AtomicFile *file = file_create(path, &error);
    ck_assert(file_write(file, "new", 3, &error));
    ck_assert_int_eq(count_entries(""), 2);
    file_abandon(file);
    file_abandon(NULL);
    assert_reads(path, "old");
    ck_assert_int_eq(count_entries(""), 1);
}
END_TEST

/* unlink, open, write, fsync, close, open the folder, rename, fsync the folder: one after the other fails. */
START_TEST(any_call_may_fail_while_writing)
{
    Error error = {0};
    ck_assert(file_write_all(path, "old", 3, &error));
    files_fail_call(0, 0);
    ck_assert(file_write_all(path, "old", 3, &error));
    int n_calls = files_fail_call(0, 0);
    ck_assert_int_eq(n_calls, 8);
    for (int nth = 1; nth <= n_calls; nth++) {
        files_fail_call(nth, ENOSPC);
        error = (Error){0};
        ck_assert_msg(!file_write_all(path, "new", 3, &error), "call %d", nth);
        files_fail_call(0, 0);
        ck_assert_int_eq(error.code, ERROR_FAILED);
        ck_assert_ptr_nonnull(strstr(error.text, folder));
        ck_assert_ptr_nonnull(strstr(error.text, strerror(ENOSPC)));
        ck_assert_ptr_nonnull(strstr(error.text, "free some space"));
        /* only after the rename is the new file there, and the message says so */
        ck_assert_ptr_nonnull(strstr(error.text, nth < n_calls ? "untouched" : "new file is there"));
        assert_reads(path, nth < n_calls ? "old" : "new");
        ck_assert_int_eq(count_entries(""), 1);
    }
    ck_assert(file_write_all(path, "newer", 5, &error));
    assert_reads(path, "newer");
}
END_TEST

START_TEST(interrupted_calls_are_made_again)
{
    Error error = {0};
    static const int write_and_syncs[] = {3, 4, 8};
    for (int i = 0; i < 3; i++) {
        files_fail_call(write_and_syncs[i], EINTR);
        ck_assert_msg(file_write_all(path, "new", 3, &error), "%s", error.text);
    }
    files_fail_call(8, EINVAL); /* a file system without fsync of folders */
    ck_assert(file_write_all(path, "new", 3, &error));
    files_fail_call(3, EINTR);
    assert_reads(path, "new");
}
END_TEST

START_TEST(a_full_disk)
{
    Error error = {0};
    struct rlimit old, low;
    char data[5000] = {0};
    ck_assert(file_write_all(path, "old", 3, &error));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    low = (struct rlimit){.rlim_cur = 3000, .rlim_max = old.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
    bool ok = file_write_all(path, data, sizeof data, &error); /* the first write takes 3,000 bytes, the next fails */
    setrlimit(RLIMIT_FSIZE, &old);
    ck_assert(!ok);
    ck_assert_ptr_nonnull(strstr(error.text, "ulimit -f"));
    assert_reads(path, "old");
    ck_assert_int_eq(count_entries(""), 1);
}
END_TEST

/* Small pieces are gathered, large ones are not; whatever their sizes, the file is the pieces in their order. */
START_TEST(pieces_of_any_size)
{
    Error error = {0};
    enum { N = 400000 };
    static const size_t sizes[] = {1, 0, 65535, 1, 65536, 65537, 100000, 7, 65530, 40};
    char *data = mem_alloc(N);
    for (size_t i = 0; i < N; i++) data[i] = (char)(i * i >> 4);
    AtomicFile *file = file_create(path, &error);
    size_t n = 0, bytes;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; n += sizes[i++])
        ck_assert(file_write(file, data + n, sizes[i], &error));
    ck_assert(file_commit(file, &error));
    char *back = file_read_all(path, &bytes, &error);
    ck_assert_uint_eq(bytes, n);
    ck_assert_mem_eq(back, data, n);
    mem_free(back);
    mem_free(data);
}
END_TEST

START_TEST(appending)
{
    Error error = {0};
    ck_assert(file_append(path, "one\n", 4, &error) && file_append(path, "two\n", 4, &error));
    assert_reads(path, "one\ntwo\n");
    files_fail_call(2, EDQUOT);
    ck_assert(!file_append(path, "three\n", 6, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "write failed"));
    ck_assert_ptr_nonnull(strstr(error.text, "your quota"));
    files_fail_call(0, 0);
    assert_reads(path, "one\ntwo\n");
}
END_TEST

static char warning[256];

static void keep_warning(void *context, const char *text)
{
    (void)context;
    snprintf(warning, sizeof warning, "%s", text);
}

START_TEST(locks)
{
    Error error = {0};
    bool held;
    for (int nth = 1; nth <= 2; nth++) {
        files_fail_call(nth, EIO);
        ck_assert_int_eq(file_lock(path, &held, &error), -1);
        ck_assert(!held && strstr(error.text, strerror(EIO)));
    }
    files_fail_call(0, 0);
    const int lock = file_lock(path, &held, &error);
    ck_assert_int_ge(lock, 0);
    ck_assert_int_eq(file_lock(path, &held, &error), -1);
    ck_assert(held);
    close(lock);
    const int again = file_lock(path, &held, &error);
    ck_assert(again >= 0 && !held);
    close(again);
}
END_TEST

START_TEST(file_systems_without_locks)
{
    static const int numbers[] = {ENOLCK, EOPNOTSUPP, ENOSYS};
    const WarningSink sink = {.take = keep_warning};
    warnings_to(&sink);
    for (int i = 0; i < 3; i++) {
        Error error = {0};
        bool held;
        *warning = '\0';
        files_fail_call(2, numbers[i]);
        const int lock = file_lock(path, &held, &error);
        ck_assert(lock >= 0 && !held && error.code == ERROR_NONE);
        ck_assert_msg(strstr(warning, path) && strstr(warning, strerror(numbers[i])) &&
                      strstr(warning, "no second process"), "%s", warning);
        close(lock);
    }
}
END_TEST

/* The name that is locked is that of the file: its holder may have removed it after we had opened it. */
static int removes_the_name(void)
{
    return unlink(path) ? errno : 0;
}

START_TEST(a_lock_whose_file_was_removed)
{
    Error error = {0};
    bool held;
    files_act_at_call(2, removes_the_name);
    const int lock = file_lock(path, &held, &error);
    ck_assert_int_ge(lock, 0);
    ck_assert(file_exists(path));
    ck_assert(file_lock(path, &held, &error) == -1 && held);
    close(lock);
}
END_TEST

START_TEST(what_was_made_is_undone)
{
    Error error = {0};
    FilesMade made = {0};
    char *deep = mem_format("%s/b/c/", folder), *file = mem_format("%s/b/c/x", folder);
    char *there = mem_format("%s/b", folder);
    ck_assert(file_write_all(path, "old", 3, &error));
    made_note(&made, path);
    ck_assert_int_eq(made.n, 0);
    made_note(&made, file);
    ck_assert_int_eq(made.n, 3);
    ck_assert(folder_make(deep, &error) && file_write_all(file, "new", 3, &error));
    made_undo(&made);
    assert_reads(path, "old");
    ck_assert_int_eq(count_entries(""), 1);
    made_note(&made, file);
    ck_assert(folder_make(deep, &error) && file_write_all(file, "new", 3, &error));
    made_keep(&made);
    made_undo(&made);
    assert_reads(file, "new");
    ck_assert(file_remove(file, &error) && !rmdir(deep) && !rmdir(there));
    mem_free(deep);
    mem_free(file);
    mem_free(there);
}
END_TEST

static bool is_a_bin(const char *name)
{
    return !strcmp(name, "a.bin");
}

START_TEST(leftovers_of_killed_processes)
{
    Error error = {0};
    char leftover[192], other[192], ours[192], also_ours[192], thesis[192];
    snprintf(leftover, sizeof leftover, "%s.tmp-%ld", path, (long)getpid());
    snprintf(other, sizeof other, "%s.tmp-12", path);
    snprintf(ours, sizeof ours, "%s.tmp-x", path);
    snprintf(also_ours, sizeof also_ours, "%s.tmp-", path);
    snprintf(thesis, sizeof thesis, "%s/thesis.tex.tmp-20241201", folder);
    ck_assert(file_write_all(leftover, "half", 4, &error));
    ck_assert(file_write_all(path, "new", 3, &error));
    assert_reads(path, "new");
    ck_assert_int_eq(count_entries(""), 1);
    ck_assert(file_write_all(leftover, "half", 4, &error) && file_write_all(other, "half", 4, &error));
    ck_assert(file_write_all(ours, "a user's", 8, &error) && file_write_all(also_ours, "a user's", 8, &error));
    ck_assert(file_write_all(thesis, "a user's", 8, &error));
    ck_assert(folder_remove_temporaries(folder, is_a_bin, &error));
    ck_assert_int_eq(count_entries(""), 4);
    assert_reads(thesis, "a user's");
    ck_assert(file_remove(thesis, &error));
    assert_reads(ours, "a user's");
    assert_reads(also_ours, "a user's");
    ck_assert(file_remove(also_ours, &error) && file_remove(ours, &error) && file_remove(ours, &error));
}
END_TEST

START_TEST(reading_fails_with_a_name)
{
    Error error = {0};
    ck_assert_ptr_null(file_read_all(path, NULL, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "a.bin: opening the file failed"));
    ck_assert_ptr_null(file_read_all(folder, NULL, &error));
    ck_assert_ptr_nonnull(strstr(error.text, strerror(EISDIR)));
    ck_assert(!file_write_all("/nowhere/at/all", "x", 1, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere/at/all"));
    ck_assert(file_write_all(path, "text", 4, &error));
    for (int nth = 1; nth <= 4; nth++) {
        files_fail_call(nth, EIO);
        ck_assert_ptr_null(file_read_all(path, NULL, &error));
        ck_assert_ptr_nonnull(strstr(error.text, "the disk reports a fault"));
    }
    files_fail_call(0, 0);
    char *proc = file_read_all("/proc/self/status", NULL, &error); /* its size is 0 by stat */
    ck_assert_ptr_nonnull(strstr(proc, "VmRSS"));
    mem_free(proc);
}
END_TEST

START_TEST(folders)
{
    Error error = {0};
    char *deep = mem_format("%s/b//c/d/", folder);
    ck_assert_msg(folder_make(deep, &error), "%s", error.text);
    ck_assert(folder_make(deep, &error) && folder_make(".", &error) && folder_make("/", &error));
    ck_assert_int_eq(rmdir(deep), 0);
    files_fail_call(1, EACCES);
    ck_assert(!folder_make(deep, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "b//c/d: making the folder failed"));
    for (int nth = 2; nth <= 3; nth++) {
        files_fail_call(nth, EIO);
        ck_assert(!folder_make(deep, &error));
        ck_assert_int_eq(rmdir(deep), 0);
    }
    files_fail_call(0, 0);
    mem_free(deep);
    static const char *const in_order[] = {"b/c", "b"};
    for (int i = 0; i < 2; i++) {
        char *whole = path_join(folder, in_order[i]);
        ck_assert_int_eq(rmdir(whole), 0);
        mem_free(whole);
    }
    ck_assert(file_write_all(path, "x", 1, &error));
    char *below = path_join(path, "c");
    ck_assert(!folder_make(path, &error));
    ck_assert(!folder_make(below, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "a.bin: making the folder failed"));
    mem_free(below);
}
END_TEST

START_TEST(listing)
{
    Error error = {0};
    static const char *const made[] = {"step-0020.x", "step-0003.x", "step.x", "step-0004.y", "best", "step-0100.x"};
    static const char *const wanted[] = {"step-0003.x", "step-0020.x", "step-0100.x"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char *whole = path_join(folder, made[i]);
        ck_assert(file_write_all(whole, "", 0, &error));
        assert_reads(whole, "");
        mem_free(whole);
    }
    char **names;
    int n;
    ck_assert(folder_list(folder, "step-", ".x", &names, &n, &error));
    ck_assert_int_eq(n, 3);
    for (int i = 0; i < n; i++) {
        ck_assert_str_eq(names[i], wanted[i]);
        mem_free(names[i]);
    }
    mem_free(names);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char *whole = path_join(folder, made[i]);
        ck_assert(file_remove(whole, &error));
        mem_free(whole);
    }
    ck_assert(!folder_list(path, "", "", &names, &n, &error));
}
END_TEST

START_TEST(paths)
{
    static const struct {
        const char *folder, *name, *joined, *joined_folder, *joined_name;
    } cases[] = {
        {"runs/toy", "last", "runs/toy/last", "runs/toy", "last"},
        {"runs/", "toy", "runs/toy", "runs", "toy"},
        {"runs", "/tmp", "/tmp", "/", "tmp"},
        {"", "toy", "toy", ".", "toy"},
        {"/", "a", "/a", "/", "a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *joined = path_join(cases[i].folder, cases[i].name), *above = path_folder(joined);
        ck_assert_str_eq(joined, cases[i].joined);
        ck_assert_str_eq(above, cases[i].joined_folder);
        ck_assert_str_eq(path_name(joined), cases[i].joined_name);
        mem_free(joined);
        mem_free(above);
    }
}
END_TEST

static void assert_link(const char *target)
{
    char *text = symlink_target(path);
    ck_assert_str_eq(text, target);
    mem_free(text);
}

START_TEST(links_change_in_one_step)
{
    Error error = {0};
    ck_assert_ptr_null(symlink_target(path));
    ck_assert(symlink_replace(path, "first", &error));
    files_fail_call(0, 0);
    ck_assert(symlink_replace(path, "second", &error));
    assert_link("second");
    int n_calls = files_fail_call(0, 0);
    for (int nth = 1; nth <= n_calls; nth++) {
        files_fail_call(nth, EROFS);
        ck_assert(!symlink_replace(path, "third", &error));
        ck_assert_ptr_nonnull(strstr(error.text, strerror(EROFS)));
        assert_link(nth < n_calls ? "second" : "third");
        ck_assert_int_eq(count_entries(""), 1);
    }
    ck_assert(!file_exists(path)); /* it points nowhere */
    files_fail_call(0, 0);
    ck_assert(symlink_replace(path, ".", &error) && file_exists(path));
}
END_TEST

/* Where there are no symbolic links, a small file stands for one; and where one was lost, in an archive, say. */
START_TEST(links_without_links)
{
    Error error = {0};
    static const int numbers[] = {EPERM, EOPNOTSUPP, ENOSYS};
    for (int i = 0; i < 3; i++) {
        struct stat status;
        char *target = mem_format("target %d", i);
        files_fail_call(2, numbers[i]);
        ck_assert_msg(symlink_replace(path, target, &error), "%s", error.text);
        files_fail_call(0, 0);
        ck_assert(!lstat(path, &status) && S_ISREG(status.st_mode));
        assert_link(target);
        ck_assert_int_eq(count_entries(""), 1);
        mem_free(target);
    }
    static const struct {
        const char *content, *target;
    } files[] = {{"name", "name"}, {"name\n", "name"}, {"name\r\n", "name"}, {"two\nlines", NULL}, {"", NULL}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        ck_assert(file_write_all(path, files[i].content, strlen(files[i].content), &error));
        char *target = symlink_target(path);
        ck_assert(files[i].target ? target && !strcmp(target, files[i].target) : !target);
        mem_free(target);
    }
    char *long_line = mem_zalloc(5000);
    ck_assert(file_write_all(path, "\0", 1, &error) && !symlink_target(path));
    memset(long_line, 'x', 5000);
    ck_assert(file_write_all(path, long_line, 5000, &error) && !symlink_target(path) && !symlink_target(folder));
    mem_free(long_line);
    ck_assert(symlink_replace(path, "a link again", &error));
    assert_link("a link again");
}
END_TEST

Suite *suite_files(void)
{
    Suite *suite = suite_create("files");
    TCase *tcase = tcase_create("files");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, bytes_come_back);
    tcase_add_test(tcase, abandoned_leaves_the_old_file);
    tcase_add_test(tcase, any_call_may_fail_while_writing);
    tcase_add_test(tcase, interrupted_calls_are_made_again);
    tcase_add_test(tcase, a_full_disk);
    tcase_add_test(tcase, pieces_of_any_size);
    tcase_add_test(tcase, appending);
    tcase_add_test(tcase, locks);
    tcase_add_test(tcase, file_systems_without_locks);
    tcase_add_test(tcase, a_lock_whose_file_was_removed);
    tcase_add_test(tcase, what_was_made_is_undone);
    tcase_add_test(tcase, leftovers_of_killed_processes);
    tcase_add_test(tcase, reading_fails_with_a_name);
    tcase_add_test(tcase, folders);
    tcase_add_test(tcase, listing);
    tcase_add_test(tcase, paths);
    tcase_add_test(tcase, links_change_in_one_step);
    tcase_add_test(tcase, links_without_links);
    suite_add_tcase(suite, tcase);
    return suite;
}
