/* command: the command line, and where an option's value comes from; progress: figures for people;
 * signals. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "core/memory.h"
#include "system/progress.h"
#include "system/signals.h"
#include "tests/suites.h"

enum { MAX_WORDS = 16 };

/* Parse a command line whose words are separated by |. */
static bool parse(CommandLine *line, char *text, Error *error)
{
    char *argv[MAX_WORDS + 1] = {0};
    int argc = 0;
    for (char *word = text; word; argc++) {
        ck_assert_int_lt(argc, MAX_WORDS);
        argv[argc] = word;
        word = strchr(word, '|');
        if (word) *word++ = '\0';
    }
    return command_parse(line, argc, argv, error);
}

START_TEST(arguments_and_flags)
{
    CommandLine line;
    Error error = {0};
    char text[] = "ferry|help|--set|train.seed=a=b|--batch-tokens|-1|--beta1=.5|-h|--|--seed";
    ck_assert_msg(parse(&line, text, &error), "%s", error.text);
    ck_assert_str_eq(line.command->name, "help");
    ck_assert_int_eq(line.n_arguments, 1);
    ck_assert_str_eq(line.argument[0], "--seed");
    ck_assert_ptr_nonnull(line.flag[FLAG_HELP]);
    ck_assert_ptr_null(line.flag[FLAG_VERSION]);
    ck_assert_int_eq(line.settings.n, 3);
    ck_assert_str_eq(line.settings.setting[0].key, "train.seed");
    ck_assert_str_eq(line.settings.setting[0].value, "a=b");
    ck_assert_str_eq(line.settings.setting[1].key, "batch-tokens");
    ck_assert_str_eq(line.settings.setting[1].value, "-1");
    ck_assert_str_eq(line.settings.setting[2].value, ".5");
    command_free(&line);
}
END_TEST

START_TEST(several_models)
{
    CommandLine line;
    Error error = {0};
    char text[] = "ferry|translate|-m|a|file|--model=b";
    ck_assert_msg(parse(&line, text, &error), "%s", error.text);
    ck_assert_int_eq(line.n_models, 2);
    ck_assert_str_eq(line.model[0], "a");
    ck_assert_str_eq(line.model[1], "b");
    ck_assert_str_eq(line.flag[FLAG_MODEL], "b");
    command_free(&line);
}
END_TEST

/* Alone, with = and before the next argument, which belongs to the flag only if it is yes or no. */
START_TEST(yes_or_no)
{
    static const struct {
        const char *text;
        bool flag;
        const char *sample;
        int n_arguments;
    } cases[] = {
        {"ferry|translate|-m|x|--sample|--tokenized-output", true, "yes", 0},
        {"ferry|translate|-m|x|--sample|file|--tokenized-output|yes", true, "yes", 1},
        {"ferry|translate|-m|x|--sample|no|--tokenized-output|file", true, "no", 1},
        {"ferry|translate|-m|x|--sample=yes|--tokenized-output|--tokenized-output=no", false, "yes", 0},
        {"ferry|translate|-m|x|--set|decode.sample=no|--tokenized-output|no|file", false, "no", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CommandLine line;
        Error error = {0};
        char *text = mem_string(cases[i].text);
        ck_assert_msg(parse(&line, text, &error), "%s", error.text);
        ck_assert_int_eq(line.flag[FLAG_TOKENIZED_OUTPUT] != NULL, cases[i].flag);
        ck_assert_str_eq(line.settings.setting[0].value, cases[i].sample);
        ck_assert_int_eq(line.n_arguments, cases[i].n_arguments);
        command_free(&line);
        mem_free(text);
    }
}
END_TEST

START_TEST(bare_flags_and_a_dash)
{
    CommandLine line;
    Error error = {0};
    char version[] = "ferry|--version", dash[] = "ferry|help|-";
    ck_assert(parse(&line, version, &error));
    ck_assert_ptr_nonnull(line.flag[FLAG_VERSION]);
    command_free(&line);
    ck_assert(parse(&line, dash, &error));
    ck_assert_str_eq(line.argument[0], "-");
    command_free(&line);
}
END_TEST

static void check_refused(const char *words, const char *message)
{
    CommandLine line;
    Error error = {0};
    char *text = mem_string(words);
    ck_assert(!parse(&line, text, &error));
    ck_assert_int_eq(error.code, ERROR_USAGE);
    ck_assert_str_eq(error.text, message);
    mem_free(text);
}

START_TEST(refused)
{
    check_refused("ferry|hepl", "unknown command 'hepl'; did you mean 'help'?");
    check_refused("ferry|zzzzzz", "unknown command 'zzzzzz'; 'ferry help' lists the commands");
    check_refused("ferry|--seed|1",
                  "'--seed' comes before any command; usage: ferry COMMAND [FLAG]...; see 'ferry help'");
    check_refused("ferry|help|--sede|1", "help: unknown flag '--sede'; did you mean '--seed'?");
    check_refused("ferry|help|--bacth-tokens|1", "help: unknown flag '--bacth-tokens'; did you mean '--batch-tokens'?");
    check_refused("ferry|help|--model.seed|1", "help: unknown flag '--model.seed'; did you mean '--train.seed'?");
    check_refused("ferry|help|--versoin", "help: unknown flag '--versoin'; did you mean '--version'?");
    check_refused("ferry|help|--zzzzzz", "help: unknown flag '--zzzzzz'; 'ferry help help' lists the flags, 'ferry help options' the options");
    check_refused("ferry|help|-z", "help: unknown flag '-z'; 'ferry help help' lists the flags, 'ferry help options' the options");
    check_refused("ferry|help|--run=x", "help: unknown flag '--run': it belongs to 'ferry train'");
    check_refused("ferry|help|--epochs|1", "help: unknown flag '--epochs'; did you mean '--max-epochs'?");
    check_refused("ferry|help|--lr=1", "help: unknown flag '--lr'; did you mean '--learning-rate'?");
    check_refused("ferry|help|--batch-size=1", "help: unknown flag '--batch-size'; did you mean '--batch-tokens'?");
    check_refused("ferry|help|--layers=1", "help: unknown flag '--layers'; did you mean '--encoder-layers' or '--decoder-layers'?");
    check_refused("ferry|help|--extra=1", "help: unknown flag '--extra'; did you mean '--max-extra'?");
    check_refused("ferry|help|--set|train.lr=1", "--set: unknown option 'train.lr'; did you mean 'train.learning_rate'?");
    check_refused("ferry|help|--set|train.em=1", "--set: unknown option 'train.em'; did you mean 'train.ema'?");
    check_refused("ferry|help|--set|train.xyz=1", "--set: unknown option 'train.xyz'; 'ferry help options' lists them all");
    check_refused("ferry|help|-i|x",
                  "help: unknown flag '-i': the text to read is an argument without a flag, or standard input");
    check_refused("ferry|translate|-m|x|-o|y",
                  "translate: unknown flag '-o': results go to standard output: write > FILE behind the command");
    check_refused("ferry|translate|-m|x|--tokenized-output=x", "--tokenized-output=x: expected yes or no");
    check_refused("ferry|help|--seed", "--seed needs a value");
    check_refused("ferry|help|--seed|--keep", "--seed needs a value; one that starts with -- must be attached by =");
    check_refused("ferry|help|--set", "--set needs a value");
    check_refused("ferry|help|--set|train.seed", "--set 'train.seed': expected section.key=value");
    check_refused("ferry|help|--set|seed.train=1",
                  "--set: unknown option 'seed.train'; 'ferry help options' lists them all");
    check_refused("ferry|help|--set|train.sead=1", "--set: unknown option 'train.sead'; did you mean 'train.seed'?");
    check_refused("ferry|help|--help=x", "--help takes no value");
    check_refused("ferry|help|a|b", "help: 'b' is one argument too many; usage: ferry help [COMMAND | FLAG | options | SECTION | OPTION]");
}
END_TEST

START_TEST(defaults_then_file_then_flags)
{
    char path[] = "/tmp/ferry-test-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    fputs("[train]\nseed = 5\nkeep = 6\nwarmup = 7\n", file);
    fclose(file);
    CommandLine line;
    Options options;
    Error error = {0};
    char text[] = "ferry|help|--keep|8|--set|train.warmup=9|--warmup=10";
    ck_assert(parse(&line, text, &error));
    ck_assert_msg(options_load(&options, path, &line.settings, &error), "%s", error.text);
    ck_assert_int_eq(options.train_seed, 5);
    ck_assert_int_eq(options.train_keep, 8);
    ck_assert_int_eq(options.train_warmup, 10);
    ck_assert_int_eq(options.train_accumulate, 1);
    options_free(&options);
    ck_assert(!options_load(&options, "no/such.ini", &line.settings, &error));
    command_free(&line);
    remove(path);
    char bad[] = "ferry|help|--keep|0";
    ck_assert(parse(&line, bad, &error) && !options_load(&options, NULL, &line.settings, &error));
    ck_assert_str_eq(error.text, "train.keep = '0': expected a whole number, at least 1");
    command_free(&line);
}
END_TEST

START_TEST(figures)
{
    char out[FIGURE_SIZE];
    ck_assert_str_eq(progress_duration(out, 0.0341), "0.034 s");
    ck_assert_str_eq(progress_duration(out, 0.9999), "1.0 s");
    ck_assert_str_eq(progress_duration(out, 3.44), "3.4 s");
    ck_assert_str_eq(progress_duration(out, 59.4), "59 s");
    ck_assert_str_eq(progress_duration(out, 59.6), "1:00");
    ck_assert_str_eq(progress_duration(out, 3723), "1:02:03");
    ck_assert_str_eq(progress_duration(out, -1), "?");
    ck_assert_str_eq(progress_count(out, 999), "999");
    ck_assert_str_eq(progress_count(out, 999.6), "1.00k");
    ck_assert_str_eq(progress_count(out, 9996), "10.0k");
    ck_assert_str_eq(progress_count(out, 12345), "12.3k");
    ck_assert_str_eq(progress_count(out, 4.56e6), "4.56M");
    ck_assert_str_eq(progress_bytes(out, 512), "512 B");
    ck_assert_str_eq(progress_bytes(out, 23.44e6), "23.4 MB");
}
END_TEST

START_TEST(progress_in_a_file)
{
    FILE *file = tmpfile();
    Progress progress;
    progress_init(&progress, file);
    progress_state(&progress, "step %d", 1);
    progress_state(&progress, "step %d", 2); /* too soon to be shown */
    progress_line(&progress, "done");
    progress_clear(&progress);
    rewind(file);
    char text[100] = "";
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    ck_assert_str_eq(text, "step 1\ndone\n");
    fclose(file);
}
END_TEST

/* A state is cut to one column less than the terminal has, rewritten in place, and wiped before a line that stays. */
START_TEST(progress_on_a_terminal)
{
    const int ours = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(ours >= 0 && !grantpt(ours) && !unlockpt(ours));
    const int theirs = open(ptsname(ours), O_RDWR | O_NOCTTY);
    ck_assert(theirs >= 0 && !ioctl(theirs, TIOCSWINSZ, &(struct winsize){.ws_row = 24, .ws_col = 9}));
    FILE *out = fdopen(theirs, "w");
    setenv("TERM", "xterm", 1);
    Progress progress;
    progress_init(&progress, out);
    progress_state(&progress, "%s", "caf\xC3\xA9 12345678");
    progress_state(&progress, "%s", "too soon");
    progress_line(&progress, "%s", "a line that stays");
    progress_clear(&progress);
    static const char expected[] = "\r\033[Kcaf\xC3\xA9 123\r\r\033[Ka line that stays\r\n";
    char text[200];
    size_t n = 0;
    while (n < sizeof expected - 1) { /* a terminal may hand over what was written in pieces */
        const ssize_t got = read(ours, text + n, sizeof text - 1 - n);
        ck_assert_int_gt(got, 0);
        n += (size_t)got;
    }
    text[n] = '\0';
    ck_assert_str_eq(text, expected);
    fclose(out);
    close(ours);
}
END_TEST

/* The exit code of a process that does so. */
static int code_of(void (*body)(void))
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        body();
        _exit(99);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void caught(void)
{
    signals_catch();
    raise(SIGHUP);
}

static void deferred(void)
{
    signals_catch();
    signals_defer();
    if (signals_stop_requested()) _exit(1);
    raise(SIGTERM);
    if (signals_stop_requested() != SIGTERM) _exit(2);
    raise(SIGINT);
}

static void ignored(void)
{
    signal(SIGINT, SIG_IGN);
    signals_catch();
    raise(SIGINT);
    signals_defer();
    raise(SIGINT);
    raise(SIGPIPE);
    _exit(signals_stop_requested() ? 1 : 0);
}

START_TEST(signals_end_at_once_or_are_deferred)
{
    ck_assert_int_eq(code_of(caught), 128 + SIGHUP);
    ck_assert_int_eq(code_of(deferred), 128 + SIGINT); /* the second one ends */
    ck_assert_int_eq(code_of(ignored), 0);
}
END_TEST

Suite *suite_command(void)
{
    Suite *suite = suite_create("command");
    TCase *tcase = tcase_create("command");
    tcase_add_test(tcase, arguments_and_flags);
    tcase_add_test(tcase, several_models);
    tcase_add_test(tcase, yes_or_no);
    tcase_add_test(tcase, bare_flags_and_a_dash);
    tcase_add_test(tcase, refused);
    tcase_add_test(tcase, defaults_then_file_then_flags);
    tcase_add_test(tcase, figures);
    tcase_add_test(tcase, progress_in_a_file);
    tcase_add_test(tcase, signals_end_at_once_or_are_deferred);
    tcase_add_test(tcase, progress_on_a_terminal);
    suite_add_tcase(suite, tcase);
    return suite;
}
