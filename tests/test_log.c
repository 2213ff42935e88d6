/* run/log: which rows stay when training goes on. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "run/log.h"
#include "system/files.h"
#include "tests/suites.h"
#include "tests/temp.h"

#define HEADER \
    "step\tepoch\tloss\tlearning_rate\tgrad_norm\tvalid_loss\tvalid_bleu\tvalid_chrf\tvalid_exact\tskipped\ttokens_per_s\tseconds\n"
#define ROW(step, seconds) step "\t0.5\t6.25\t0.001\t1.5\t\t\t\t\t0\t1000\t" seconds "\n"

static char *folder, *path;

static void setup(void)
{
    folder = temp_folder();
    path = path_join(folder, "log.tsv");
}

static void teardown(void)
{
    mem_free(path);
    temp_remove(folder);
}

static void write_text(const char *text)
{
    mem_free(temp_file(folder, "log.tsv", text, strlen(text)));
}

static void assert_text(const char *text)
{
    Error error = {0};
    char *content = file_read_all(path, NULL, &error);
    ck_assert_msg(content != NULL, "%s", error.text);
    ck_assert_str_eq(content, text);
    mem_free(content);
}

/* Opening with this last step leaves `kept`, and tells the last row's time. */
static void assert_kept(int64_t last_step, const char *kept, double seconds)
{
    Error error = {0};
    Log log;
    ck_assert_msg(log_open(&log, path, last_step, &error), "%s", error.text);
    ck_assert_double_eq(log.seconds, seconds);
    log_close(&log);
    assert_text(kept);
}

static double seconds(void)
{
    Error error = {0};
    double result;
    ck_assert_msg(log_seconds(path, &result, &error), "%s", error.text);
    return result;
}

static void append(Log *log, const LogRow *row)
{
    Error error = {0};
    ck_assert_msg(log_append(log, row, &error), "%s", error.text);
}

START_TEST(rows)
{
    Error error = {0};
    Log log;
    ck_assert(log_open(&log, path, 0, &error));
    const LogRow plain = {.step = 10, .epoch = 0.5, .loss = 6.25, .learning_rate = 0.001, .gradient_norm = 1.5,
                          .valid_loss = 99, .tokens_per_s = 1000, .seconds = 2.5};
    LogRow validated = {.step = 20, .epoch = 1, .loss = NAN, .learning_rate = 1e-5, .gradient_norm = 2, .validated = true,
                        .valid_loss = 5.75, .valid_bleu = 12.5, .valid_chrf = 40, .valid_exact = 0, .n_skipped = 3, .tokens_per_s = 123456.78,
                        .seconds = 86400.125};
    append(&log, &plain);
    append(&log, &validated);
    assert_text(HEADER ROW("10", "2.5") "20\t1\t\t1e-5\t2\t5.75\t12.5\t40\t0\t3\t123457\t86400.125\n"); /* at once, not at close */
    log_close(&log);
    ck_assert_double_eq(seconds(), 86400.125);
}
END_TEST

START_TEST(rows_beyond_the_checkpoint_are_dropped)
{
    write_text(HEADER ROW("1", "0.5") ROW("2", "1") ROW("10", "7"));
    ck_assert_double_eq(seconds(), 7);
    assert_kept(10, HEADER ROW("1", "0.5") ROW("2", "1") ROW("10", "7"), 7);
    assert_kept(9, HEADER ROW("1", "0.5") ROW("2", "1"), 1);
    assert_kept(0, HEADER, 0);
}
END_TEST

START_TEST(a_row_that_was_cut_short_is_dropped)
{
    const char whole[] = HEADER ROW("1", "0.5") ROW("2", "1.25");
    const size_t n_first = strlen(HEADER ROW("1", "0.5"));
    for (size_t n = n_first; n < sizeof whole - 1; n++) { /* the power goes at every byte of the second row */
        char *cut = mem_format("%.*s", (int)n, whole);
        write_text(cut);
        mem_free(cut);
        ck_assert_double_eq(seconds(), 0.5);
        assert_kept(2, HEADER ROW("1", "0.5"), 0.5);
    }
}
END_TEST

START_TEST(a_missing_or_broken_log_is_begun)
{
    ck_assert_double_eq(seconds(), 0);
    assert_kept(100, HEADER, 0);
    const char *const broken[] = {"", "\n\n", "step\tep", "no log\n", "1\n", "x\t1\n"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        write_text(broken[i]);
        assert_kept(100, HEADER, 0);
    }
}
END_TEST

START_TEST(rows_are_appended_after_those_that_stay)
{
    write_text(HEADER ROW("1", "0.5") ROW("2", "1") "3\t0.5");
    Error error = {0};
    Log log;
    ck_assert(log_open(&log, path, 1, &error));
    append(&log, &(LogRow){.step = 2, .epoch = 0.5, .loss = 6.25, .learning_rate = 0.001, .gradient_norm = 1.5,
                           .tokens_per_s = 1000, .seconds = 3});
    log_close(&log);
    assert_text(HEADER ROW("1", "0.5") ROW("2", "3"));
}
END_TEST

/* The columns that differ between two runs of the same bits are the last two: what comes before compares equal. */
START_TEST(timing_columns_are_the_last)
{
    const char *end = strstr(HEADER, "\ttokens_per_s\tseconds\n");
    ck_assert(end && !strcmp(end, "\ttokens_per_s\tseconds\n"));
    char *text[2];
    for (int i = 0; i < 2; i++) {
        Error error = {0};
        Log log;
        ck_assert(log_open(&log, path, 0, &error));
        append(&log, &(LogRow){.step = 1, .epoch = 0.5, .loss = 6, .tokens_per_s = 1000 + i, .seconds = 7 + i});
        log_close(&log);
        text[i] = file_read_all(path, NULL, &error);
        char *tab = strrchr(text[i], '\t');
        *tab = '\0';
        *strrchr(text[i], '\t') = '\0';
    }
    ck_assert_str_eq(text[0], text[1]);
    mem_free(text[0]);
    mem_free(text[1]);
}
END_TEST

START_TEST(what_cannot_be_written)
{
    Error error = {0};
    Log log;
    ck_assert(!log_open(&log, "/nowhere/log.tsv", 0, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere/log.tsv"));
    ck_assert(log_open(&log, path, 0, &error));
    for (int nth = 1; nth <= 4; nth++) { /* open, write, fsync, close */
        files_fail_call(nth, ENOSPC);
        ck_assert_msg(!log_append(&log, &(LogRow){.step = nth}, &error), "call %d", nth);
        ck_assert_msg(strstr(error.text, path) && strstr(error.text, "free some space"), "%s", error.text);
    }
    files_fail_call(2, EINTR);
    append(&log, &(LogRow){.step = 5});
    files_fail_call(0, 0);
    log_close(&log);
}
END_TEST

Suite *suite_log(void)
{
    Suite *suite = suite_create("log");
    TCase *tcase = tcase_create("log");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, rows);
    tcase_add_test(tcase, rows_beyond_the_checkpoint_are_dropped);
    tcase_add_test(tcase, a_row_that_was_cut_short_is_dropped);
    tcase_add_test(tcase, a_missing_or_broken_log_is_begun);
    tcase_add_test(tcase, rows_are_appended_after_those_that_stay);
    tcase_add_test(tcase, timing_columns_are_the_last);
    tcase_add_test(tcase, what_cannot_be_written);
    suite_add_tcase(suite, tcase);
    return suite;
}
