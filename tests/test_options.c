/* options: the table, its values as text, and what is said about wrong ones; numbers under any locale. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/random.h"
#include "options/nearest.h"
#include "options/options.h"
#include "system/number.h"
#include "tests/suites.h"

START_TEST(defaults)
{
    Options options;
    options_init(&options);
    ck_assert_int_eq(options.model_d_model, 512);
    ck_assert_double_eq(options.train_epsilon, 1e-9);
    ck_assert_int_eq(options.model_tie, TIE_ALL);
    ck_assert_int_eq(options.train_schedule, SCHEDULE_INVERSE_SQRT);
    ck_assert_str_eq(options.data_train_source, "");
    options_free(&options);
}
END_TEST

START_TEST(keys)
{
    Options options;
    Error error = {0};
    options_init(&options);
    ck_assert(options_set(&options, "", "model.d-ff", "64", &error));
    ck_assert_int_eq(options.model_d_ff, 64);
    ck_assert(options_set(&options, "", "norm", "pre", &error));
    ck_assert_int_eq(options.model_norm, NORM_PRE);
    /* A name that two sections have: the command's own section comes first. */
    ck_assert(options_set(&options, "decode", "batch-tokens", "11", &error));
    ck_assert(options_set(&options, "train", "batch_tokens", "12", &error));
    ck_assert_int_eq(options.decode_batch_tokens, 11);
    ck_assert_int_eq(options.train_batch_tokens, 12);
    ck_assert(options_set(&options, "", "batch_tokens", "14", &error));
    ck_assert_int_eq(options.train_batch_tokens, 14);
    ck_assert(options_set(&options, "decode", "train.batch_tokens", "13", &error));
    ck_assert_int_eq(options.train_batch_tokens, 13);
    ck_assert(options_set(&options, "", "valid_source", " a\\ b  c\\  ", &error));
    ck_assert_str_eq(options.data_valid_source, "a\\ b  c\\ ");
    options_free(&options);
}
END_TEST

static void check_refused(const char *key, const char *value, const char *message)
{
    Options options, before;
    Error error = {0};
    options_init(&options);
    memcpy(&before, &options, sizeof before);
    ck_assert(!options_set(&options, "", key, value, &error));
    ck_assert_int_eq(error.code, ERROR_USAGE);
    ck_assert_str_eq(error.text, message);
    ck_assert_mem_eq(&before, &options, sizeof before);
    options_free(&options);
}

START_TEST(refused)
{
    check_refused("model.d_modle", "1", "unknown option 'model.d_modle'; did you mean 'model.d_model'?");
    check_refused("model.dropout", "0", "unknown option 'model.dropout'; did you mean 'train.dropout'?");
    check_refused("warmpu", "0", "unknown option 'warmpu'; did you mean 'warmup'?");
    check_refused("zzz.qqq", "0", "unknown option 'zzz.qqq'; 'ferry help options' lists them all");
    check_refused("train.dropout", "1.5", "train.dropout = '1.5': expected a number from 0 to 0.99");
    check_refused("train.dropout", "nan", "train.dropout = 'nan': expected a number from 0 to 0.99");
    check_refused("train.dropout", "0,1", "train.dropout = '0,1': expected a number from 0 to 0.99");
    check_refused("train.dropout", "", "train.dropout = '': expected a number from 0 to 0.99");
    check_refused("minutes", "1e999", "train.minutes = '1e999': expected a number, at least 0");
    check_refused("max_steps", "1e3", "train.max_steps = '1e3': expected a whole number, at least 0; write 1000");
    check_refused("seed", "9223372036854775808", "train.seed = '9223372036854775808': expected a whole number, at least 0");
    check_refused("heads", "0", "model.heads = '0': expected a whole number from 1 to 1024");
    check_refused("heads", "8 ", "model.heads = '8 ': expected a whole number from 1 to 1024");
    check_refused("tie", "al", "model.tie = 'al': expected one of none|decoder|all");
    check_refused("train.precision", "int8", "train.precision = 'int8': expected one of fp32|bf16");
    check_refused("train_source", "a\nb", "data.train_source = 'a\nb': expected text without control characters");
}
END_TEST

static void check_file(const char *text, const char *message)
{
    Options options, before;
    Error error = {0};
    options_init(&options);
    memcpy(&before, &options, sizeof before);
    ck_assert(!options_from_text(&options, "a.ini", text, &error));
    ck_assert_int_eq(error.code, ERROR_USAGE);
    ck_assert_str_eq(error.text, message);
    ck_assert_mem_eq(&before, &options, sizeof before);
    options_free(&options);
}

START_TEST(refused_files)
{
    check_file("[train]\nseed = 2\n\ndropuot = 1\n",
               "a.ini:4: unknown option 'train.dropuot'; did you mean 'train.dropout'?");
    check_file("[trian]\nseed = 2\n", "a.ini:2: unknown section 'trian'; did you mean 'train'?");
    check_file("[data]\nvalid_source = x\n[train]\nwarmup = 4k # steps\n",
               "a.ini:4: train.warmup = '4k': expected a whole number, at least 0; write 4000");
    Options options;
    Error error = {0};
    options_init(&options);
    ck_assert(options_set(&options, "", "heads", "7", &error) && !options_check(&options, &error));
    ck_assert_str_eq(error.text, "model.d_model = 512 is not a multiple of model.heads = 7");
    options_free(&options);
}
END_TEST

static void change_some(Options *options)
{
    Error error;
    ck_assert(options_set(options, "", "train.learning_rate", "5e-3", &error));
    ck_assert(options_set(options, "", "train.beta2", "0.98000000000000009", &error));
    ck_assert(options_set(options, "", "train.max_steps", "9223372036854775807", &error));
    ck_assert(options_set(options, "", "model.activation", "gelu", &error));
    ck_assert(options_set(options, "", "data.train_source", "#1;2 a\\ b.gz c\\#d # e\\", &error));
    ck_assert(options_set(options, "", "data.train_target", "end\\ ", &error));
}

START_TEST(written_and_read_again)
{
    char folder[] = "/tmp/ferry-test-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char *path = mem_format("%s/config.ini", folder);
    Options options, again;
    Error error = {0};
    options_init(&options);
    options_init(&again);
    change_some(&options);
    options.train_threads = 3;
    ck_assert_msg(options_write(&options, path, &error), "%s", error.text);
    ck_assert_msg(options_read(&again, path, &error), "%s", error.text);
    ck_assert_int_eq(again.train_threads, 0); /* translating with the run isn't bound to what trained it */
    options.train_threads = 0;
#define SECTION(section, help)
#define INT(section, name, ...) ck_assert_int_eq(options.section##_##name, again.section##_##name);
#define REAL(section, name, ...) ck_assert(options.section##_##name == again.section##_##name);
#define CHOICE(section, name, ...) ck_assert_int_eq(options.section##_##name, again.section##_##name);
#define TEXT(section, name, ...) ck_assert_str_eq(options.section##_##name, again.section##_##name);
#include "options/options.def"
    remove(path);
    rmdir(folder);
    ck_assert(!options_write(&options, path, &error));
    ck_assert_int_eq(error.code, ERROR_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    mem_free(path);
    options_free(&options);
    options_free(&again);
}
END_TEST

START_TEST(what_shapes_the_result)
{
    Options options, again;
    Error error = {0};
    options_init(&options);
    change_some(&options);
    char *text = options_to_text(&options);
    ck_assert_ptr_null(strstr(text, "max_steps"));
    ck_assert_ptr_null(strstr(text, "train_source"));
    options_init(&again);
    char *differences = options_differences(&options, &again, NULL, ", now ");
    ck_assert_str_eq(differences, "  model.activation: gelu, now relu\n"
                                  "  train.learning_rate: 0.005, now 0.0007\n"
                                  "  train.beta2: 0.9800000000000001, now 0.98\n");
    mem_free(differences);
    ck_assert(options_from_text(&again, "x", text, &error));
    ck_assert_ptr_null(options_differences(&options, &again, NULL, ", now "));
    ck_assert_int_eq(again.train_max_steps, 0);
    mem_free(text);
    options_free(&options);
    options_free(&again);
}
END_TEST

START_TEST(copies_are_their_own)
{
    Options options, copy;
    Error error = {0};
    options_init(&options);
    options_set(&options, "", "train_source", "a", &error);
    options_copy(&copy, &options);
    options_set(&options, "", "train_source", "b", &error);
    ck_assert_str_eq(copy.data_train_source, "a");
    options_free(&options);
    options_free(&copy);
}
END_TEST

START_TEST(numbers_in_short)
{
    static const struct {
        const char *text, *plain; /* NULL: none */
    } cases[] = {
        {"1e3", "1000"}, {"1E3", "1000"}, {"1k", "1000"}, {"2.5K", "2500"}, {"2.5M", "2500000"}, {"1_000", "1000"},
        {"1_000k", "1000000"}, {"-1k", "-1000"}, {"1.5e1", "15"}, {"1e15", "1000000000000000"}, {"1e16", NULL},
        {"0.5e0", NULL}, {"1e-3", NULL}, {"0.0001k", NULL}, {"k", NULL}, {"", NULL}, {"_", NULL}, {"1kk", NULL},
        {"1m", NULL}, {"1000", NULL}, {"0x1e3", NULL}, {"1 k", NULL}, {"1e999", NULL}, {"e", NULL},
        {"1_000_000_000_000_000_000_000_000_000_000_000", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char plain[NUMBER_SIZE] = "";
        ck_assert_msg(number_plain(plain, cases[i].text) == (cases[i].plain != NULL), "%s", cases[i].text);
        if (cases[i].plain) ck_assert_str_eq(plain, cases[i].plain);
    }
}
END_TEST

START_TEST(numbers)
{
    char text[NUMBER_SIZE];
    ck_assert_str_eq(number_write_real(text, 0.1), "0.1");
    ck_assert_str_eq(number_write_real(text, 1e-9), "1e-9");
    ck_assert_str_eq(number_write_real(text, 1e22), "1e+22");
    ck_assert_str_eq(number_write_real(text, 100), "100");
    ck_assert_str_eq(number_write_real(text, -250000), "-250000");
    ck_assert_str_eq(number_write_real(text, 1e6), "1e+6");
    ck_assert_str_eq(number_write_real(text, 7e-4), "0.0007");
    ck_assert_str_eq(number_write_real(text, -0.0), "-0");
    RandomStream stream = random_stream(1, RANDOM_TEST, 0, 0);
    for (uint64_t i = 0; i < 2000; i++) {
        double value = ldexp(random_normal(&stream, i), (int)(i % 200) - 100), again = 0;
        ck_assert(number_read_real(number_write_real(text, value), &again) && again == value);
    }
    double largest = 0;
    ck_assert(number_read_real(number_write_real(text, -DBL_MAX), &largest) && largest == -DBL_MAX);
    static const char *const bad[] = {"", " 1", "1 ", "0x1", "inf", "nan", "1e", "1.2.3", "1,5", "--1", "e5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double real = 7;
        int64_t whole = 7;
        ck_assert_msg(!number_read_real(bad[i], &real) && real == 7, "%s", bad[i]);
        ck_assert_msg(!number_read_int(bad[i], &whole) && whole == 7, "%s", bad[i]);
    }
}
END_TEST

START_TEST(numbers_under_a_locale_with_a_comma)
{
    static const char *const names[] = {"fr_FR.UTF-8", "de_DE.UTF-8", "fr_FR", "de_DE", "fr_FR.utf8", "de_DE.utf8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i])) break;
    /* Without such a locale on this machine the check below still holds, it is only weaker. */
    char text[NUMBER_SIZE];
    double value = 0;
    ck_assert(number_read_real("1234.5", &value) && value == 1234.5);
    ck_assert_str_eq(number_write_real(text, 1234.5), "1234.5");
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(shipped_configurations)
{
    static const char *const paths[] = {"configs/toy.ini", "configs/multi30k.ini", "configs/base.ini", "configs/big.ini"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        Options options;
        Error error = {0};
        options_init(&options);
        ck_assert_msg(options_read(&options, paths[i], &error) && options_check(&options, &error), "%s", error.text);
        ck_assert_int_gt(options.train_max_steps, 0);
        options_free(&options);
    }
}
END_TEST

START_TEST(edit_distances)
{
    ck_assert_uint_eq(edit_distance("", ""), 0);
    ck_assert_uint_eq(edit_distance("", "abc"), 3);
    ck_assert_uint_eq(edit_distance("kitten", "sitting"), 3);
    ck_assert_uint_eq(edit_distance("train", "trian"), 1);
    ck_assert_uint_eq(edit_distance("ca", "abc"), 3);
}
END_TEST

Suite *suite_options(void)
{
    Suite *suite = suite_create("options");
    TCase *tcase = tcase_create("options");
    tcase_add_test(tcase, defaults);
    tcase_add_test(tcase, keys);
    tcase_add_test(tcase, refused);
    tcase_add_test(tcase, refused_files);
    tcase_add_test(tcase, written_and_read_again);
    tcase_add_test(tcase, what_shapes_the_result);
    tcase_add_test(tcase, copies_are_their_own);
    tcase_add_test(tcase, numbers);
    tcase_add_test(tcase, numbers_in_short);
    tcase_add_test(tcase, numbers_under_a_locale_with_a_comma);
    tcase_add_test(tcase, shipped_configurations);
    tcase_add_test(tcase, edit_distances);
    suite_add_tcase(suite, tcase);
    return suite;
}
