/* config: the syntax of configuration files, and the errors that point at a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "options/config.h"
#include "tests/suites.h"

static bool parse(Config *config, const char *text, Error *error)
{
    return config_parse(config, "a.ini", text, strlen(text), error);
}

/* One entry is expected, with this value. */
static void check_value(const char *text, const char *value)
{
    Config config;
    Error error = {0};
    ck_assert_msg(parse(&config, text, &error), "%s", error.text);
    ck_assert_int_eq(config.n, 1);
    ck_assert_str_eq(config.entry[0].section, "s");
    ck_assert_str_eq(config.entry[0].key, "a_key");
    ck_assert_str_eq(config.entry[0].value, value);
    config_free(&config);
}

static void check_error(const char *text, const char *message)
{
    Config config;
    Error error = {0};
    ck_assert(!parse(&config, text, &error));
    ck_assert_int_eq(error.code, ERROR_USAGE);
    ck_assert_str_eq(error.text, message);
}

START_TEST(values)
{
    check_value("[s]\na_key = 1\n", "1");
    check_value("[s]\na_key=1", "1");
    check_value("\xef\xbb\xbf[s]\r\na-key\t=\t1 2 \r\n", "1 2");
    check_value("# x\n\n ; y\n  [ s ] # z\n  a_key  =  b = c  # d\n", "b = c");
    check_value("[s]\na_key = a#b;c ; d # e", "a#b;c");
    check_value("[s]\na_key = # nothing", "");
    check_value("[s]\na_key =", "");
    check_value("[s]\na_key = \\# and \\;", "# and ;");
    check_value("[s]\na_key = a\\\\#b", "a\\#b");
    check_value("[s]\na_key = a\\ #b\\   # c", "a\\ #b\\ ");
    check_value("[s]\na_key = a\rb\r\r\n", "a\rb\r");
}
END_TEST

START_TEST(sections_and_lines)
{
    Config config;
    Error error = {0};
    ck_assert(parse(&config, "[s]\na = 1\n[t]\n\na = 2\n[s]\nb = 3", &error));
    ck_assert_int_eq(config.n, 3);
    ck_assert_str_eq(config.entry[1].section, "t");
    ck_assert_int_eq(config.entry[1].line, 5);
    ck_assert_str_eq(config.entry[2].section, "s");
    ck_assert_str_eq(config.entry[2].value, "3");
    config_free(&config);
    ck_assert(parse(&config, "", &error));
    ck_assert_int_eq(config.n, 0);
    config_free(&config);
}
END_TEST

START_TEST(errors)
{
    check_error("[s]\na = 1\nb = 2\na = 3\n", "a.ini:4: s.a is set in line 2 already; keep one of the two");
    check_error("[s]\na-b = 1\na_b = 1\n", "a.ini:3: s.a_b is set in line 2 already; keep one of the two");
    check_error("a = 1\n", "a.ini:1: 'a' stands before the first [section]");
    check_error("[s]\n\nword # c\n", "a.ini:3: expected 'key = value' or '[section]', found 'word # c'");
    check_error("[s]\n = 3", "a.ini:2: expected 'key = value' or '[section]', found '= 3'");
    check_error("[s\na = 1\n", "a.ini:1: '[s' lacks the closing ]");
    check_error("[s] a = 1\n", "a.ini:1: 'a = 1' follows the ] of a section");
    Config config;
    Error error = {0};
    ck_assert(!config_parse(&config, "a.ini", "[s]\na = \0b\n", 11, &error));
    ck_assert_str_eq(error.text, "a.ini:2: a zero byte: this is not a text file");
    ck_assert(!config_read(&config, "no/such.ini", &error));
    ck_assert_str_eq(error.text, "cannot open the configuration no/such.ini: No such file or directory");
    ck_assert(!config_read(&config, ".", &error));
    ck_assert_str_eq(error.text, "cannot read the configuration .: Is a directory");
}
END_TEST

START_TEST(long_lines_from_a_file)
{
    char path[] = "/tmp/ferry-test-XXXXXX";
    int handle = mkstemp(path);
    ck_assert_int_ge(handle, 0);
    FILE *file = fdopen(handle, "w");
    enum { LENGTH = 100000 };
    fputs("[s]\na = ", file);
    for (int i = 0; i < LENGTH; i++) putc('x', file);
    fputs("\nb = 2", file);
    fclose(file);
    Config config;
    Error error = {0};
    ck_assert(config_read(&config, path, &error));
    ck_assert_int_eq(config.n, 2);
    ck_assert_uint_eq(strlen(config.entry[0].value), LENGTH);
    ck_assert_str_eq(config.entry[1].value, "2");
    config_free(&config);
    remove(path);
}
END_TEST

Suite *suite_config(void)
{
    Suite *suite = suite_create("config");
    TCase *tcase = tcase_create("config");
    tcase_add_test(tcase, values);
    tcase_add_test(tcase, sections_and_lines);
    tcase_add_test(tcase, errors);
    tcase_add_test(tcase, long_lines_from_a_file);
    suite_add_tcase(suite, tcase);
    return suite;
}
