/* Text that breaks programs, through the program itself: what training and translation make of it is written in one table,
 * `rows`. What holds for every row: training counts exactly the lines that there are, or refuses with the reason and leaves
 * no checkpoint; `tokenize | detokenize` gives the text back in normal form; N lines in, N lines out, blank ones blank, each
 * translated as its normal form is, whatever stands around it; a damaged file gives the lines before the damage, then an
 * error and exit code 1; a gigabyte of memory is enough. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "system/files.h"
#include "tests/nasty.h"
#include "tests/program.h"
#include "tests/suites.h"
#include "tests/temp.h"

typedef struct Bytes {
    const char *bytes;
    size_t n;
} Bytes;
#define B(literal) {(literal), sizeof(literal) - 1}

/* How the bytes come to Ferry. */
typedef enum Form {
    PLAIN,
    GZIP,
    MEMBERS, /* a gzip member for each byte, one for nothing, and padding zeros */
    CUT,     /* gzip without its last 5 bytes */
    CRC,     /* gzip with a wrong checksum */
    BEHIND,  /* gzip with text after it */
    PIPE,    /* a named pipe */
    FOLDER,  /* no file but a folder */
    MISSING, /* nothing at all */
} Form;

typedef struct Row {
    const char *name;
    Form form;
    Bytes bytes;
    int times;    /* that they are repeated (0: once), without a line end, then "\nok\n" */
    Bytes target; /* for training; none: the same file on both sides */

    const char *training; /* what training says: how many pairs it found, or why it refuses */
    int training_code;    /* its exit code */
    Bytes text;           /* what translation reads: lines in normal form */
    const char *fault;    /* what it says after that (exit code 1), or NULL */
    const char *warning;  /* what it warns of, or NULL */
} Row;

#define PAIRS(count) .training = "training: " count " pair" /* or pairs */
#define BLANK(count, lines, blank) \
    .training = "; skipped " #blank " of " #lines " lines: " #blank " with a blank source"
#define REFUSED(why) .training = why, .training_code = 1
#define NO_TEXT REFUSED("there is no text to learn the tokenizer from: all lines are blank")
/* Two bytes each, which make three code points on the way to the normal form. */
#define UPSILON "\xCE\xB0"
#define TEN_UPSILONS UPSILON UPSILON UPSILON UPSILON UPSILON UPSILON UPSILON UPSILON UPSILON UPSILON

static const Row rows[] = {
    /* lines and their ends */
    {"an empty file", PLAIN, B(""), NO_TEXT, .text = B("")},
    {"an empty line", PLAIN, B("\n"), NO_TEXT, .text = B("\n")},
    {"blank lines between others", PLAIN, B("a\n\n \t \nb\n\n"), BLANK(3, 5, 3), .text = B("a\n\n\nb\n\n")},
    {"nothing but blanks", PLAIN, B(" \n\t\n\xC2\xA0\xE3\x80\x80\n"), NO_TEXT, .text = B("\n\n\n")},
    {"no newline at the end", PLAIN, B("one\ntwo"), PAIRS("2"), .text = B("one\ntwo\n")},
    {"Windows line ends", PLAIN, B("one\r\ntwo\r\n\r\n"), BLANK(1, 3, 1), .text = B("one\ntwo\n\n")},
    {"old Mac line ends are no line ends", PLAIN, B("one\rtwo\rthree\r"), .training = "training: 1 pair, ", .text = B("one two three\n")},
    {"a carriage return in a line", PLAIN, B("one\rtwo\n\rthree\n"), PAIRS("2"), .text = B("one two\nthree\n")},
    {"vertical tab, form feed", PLAIN, B("one\vtwo\fthree\n\f\n"), BLANK(1, 2, 1), .text = B("one two three\n\n")},
    {"a byte order mark", PLAIN, B("\xEF\xBB\xBFone\ntwo\n"), PAIRS("2"), .text = B("one\ntwo\n")},
    {"nothing but a byte order mark", PLAIN, B("\xEF\xBB\xBF"), NO_TEXT, .text = B("")},
    {"a byte order mark within", PLAIN, B("one\n\xEF\xBB\xBFtwo\n"), PAIRS("2"), .text = B("one\n\xEF\xBB\xBFtwo\n")},
    {"a NUL", PLAIN, B("one\0two\n\0\n"), PAIRS("2"), .text = B("one\0two\n\0\n")},
    {"U+2028 is no line end", PLAIN, B("one\xE2\x80\xA8two\n"), .training = "training: 1 pair, ", .text = B("one two\n")},
    {"U+2029 is no line end", PLAIN, B("one\xE2\x80\xA9two\n"), .training = "training: 1 pair, ", .text = B("one two\n")},
    {"U+0085 is no line end", PLAIN, B("one\xC2\x85two\n"), .training = "training: 1 pair, ", .text = B("one two\n")},

    /* characters */
    {"bytes that are no UTF-8", PLAIN, B("a\x80z\n\xFF\xFE\n"), PAIRS("2"),
     .text = B("a\xEF\xBF\xBDz\n\xEF\xBF\xBD\xEF\xBF\xBD\n")},
    {"a character cut off", PLAIN, B("caf\xC3\n\xF0\x9F\x91"), PAIRS("2"), .text = B("caf\xEF\xBF\xBD\n\xEF\xBF\xBD\n")},
    {"Latin-1", PLAIN, B("caf\xE9 cr\xE8me\n"), .training = "training: 1 pair, ", .text = B("caf\xEF\xBF\xBD cr\xEF\xBF\xBDme\n")},
    {"UTF-16", PLAIN, B("\xFF\xFEo\0n\0e\0\n\0"), PAIRS("2"), .text = B("\xEF\xBF\xBD\xEF\xBF\xBDo\0n\0e\0\n\0\n")},
    {"an overlong form", PLAIN, B("a\xC0\xAFz\n"), .training = "training: 1 pair, ", .text = B("a\xEF\xBF\xBD\xEF\xBF\xBDz\n")},
    {"an overlong newline", PLAIN, B("a\xC0\x8Az\n"), .training = "training: 1 pair, ", .text = B("a\xEF\xBF\xBD\xEF\xBF\xBDz\n")},
    {"a surrogate", PLAIN, B("\xED\xA0\x80\n"), .training = "training: 1 pair, ", .text = B("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\n")},
    {"beyond Unicode", PLAIN, B("\xF4\x90\x80\x80\n"), .training = "training: 1 pair, ",
     .text = B("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\n")},
    {"no-break spaces", PLAIN, B("a\xC2\xA0z\xE2\x80\xAF!\n"), .training = "training: 1 pair, ", .text = B("a z !\n")},
    {"combining marks", PLAIN, B("cafe\xCC\x81\na\xCC\xA7\xCC\x82\n"), PAIRS("2"),
     .text = B("caf\xC3\xA9\n\xC3\xA2\xCC\xA7\n")},
    {"letters with two marks each", PLAIN, B(TEN_UPSILONS TEN_UPSILONS "\n"), .training = "training: 1 pair, ",
     .text = B(TEN_UPSILONS TEN_UPSILONS "\n")},
    {"a mark with nothing to stand on", PLAIN, B("\xCC\x81\n"), .training = "training: 1 pair, ", .text = B("\xCC\x81\n")},
    {"emoji with joiners", PLAIN, B("\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 \xF0\x9F\x87\xAB\xF0\x9F\x87\xB7\n"),
     .training = "training: 1 pair, ", .text = B("\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 \xF0\x9F\x87\xAB\xF0\x9F\x87\xB7\n")},
    {"right to left", PLAIN, B("\xE2\x80\x8F\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D abc\n"), .training = "training: 1 pair, ",
     .text = B("\xE2\x80\x8F\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D abc\n")},
    {"a character of no use", PLAIN, B("\xEF\xBF\xBF\xF4\x8F\xBF\xBF\n"), .training = "training: 1 pair, ",
     .text = B("\xEF\xBF\xBF\xF4\x8F\xBF\xBF\n")},
    {"what terminals obey", PLAIN, B("\x1B[31mred\a\x7F\n"), .training = "training: 1 pair, ", .text = B("\x1B[31mred\a\x7F\n")},
    {"names of special tokens", PLAIN, B("<s>\n</s>\n<unk> x\n<pad>\n<0xE2>\n"), PAIRS("5"),
     .text = B("<s>\n</s>\n<unk> x\n<pad>\n<0xE2>\n")},
    {"the space mark", PLAIN, B("\xE2\x96\x81\n\xE2\x96\x81the \xE2\x96\x81\n"), PAIRS("2"),
     .text = B("\xE2\x96\x81\n\xE2\x96\x81the \xE2\x96\x81\n")},
    {"escapes and other tools' marks", PLAIN, B("\\ \\u{2581} \\n\n@@ a@@ ##b |||\n"), PAIRS("2"),
     .text = B("\\ \\u{2581} \\n\n@@ a@@ ##b |||\n")},

    /* sizes */
    {"a line of 1 MB", PLAIN, B("ab cd efg "), 100000, .training = "training: 1 pair, ", .warning = "line 1: cut from "},
    {"a word of 1 MB", PLAIN, B("abcdefghij"), 100000, .training = "training: 1 pair, ", .warning = "line 1: cut from "},
    {"1 MB of combining marks", PLAIN, B("\xCC\x81\xCC\xA7"), 250000, .training = "training: 1 pair, ", .warning = "line 1: cut from "},
    {"a line of 50,000 tokens", PLAIN, B("7"), 50000, .training = "training: 1 pair, ",
     .warning = "line 1: cut from 50001 tokens to decode.max_source = 1024"},
    {"a long line, gzipped", GZIP, B("7"), 50000, .training = "1 longer than data.max_length",
     .warning = "line 1: cut from 50001 tokens"},

    /* pairs */
    {"fewer lines on the target side", PLAIN, B("a\nb\nc\n"), .target = B("a\nb\n"), REFUSED(" has 3 lines but "),
     .text = B("a\nb\nc\n")},
    {"one line more, an empty one", PLAIN, B("a\nb\n"), .target = B("a\nb\n\n"), REFUSED(" has 3: line n of one must be "),
     .text = B("a\nb\n")},
    {"no newline on one side", PLAIN, B("a\nb"), .target = B("a\nb\n"), PAIRS("2"), .text = B("a\nb\n")},
    {"blank on one side", PLAIN, B("a\nb\n\n"), .target = B("a\n\nc\n"),
     .training = "training: 1 pair, 2 source and 2 target tokens; skipped 2 of 3 lines: 1 with a blank source, 1 with a "
                 "blank target",
     .text = B("a\nb\n\n")},

    /* files */
    {"gzip", GZIP, B("one\ntwo\n"), PAIRS("2"), .text = B("one\ntwo\n")},
    {"gzip of nothing", GZIP, B(""), NO_TEXT, .text = B("")},
    {"gzip of several members", MEMBERS, B("one\ntwo"), PAIRS("2"), .text = B("one\ntwo\n")},
    {"truncated gzip", CUT, B("one\ntwo\nth"), REFUSED("the gzip file is cut off, after line 2"), .text = B("one\ntwo\n"),
     .fault = "the gzip file is cut off, after line 2"},
    {"gzip with a wrong checksum", CRC, B("one\ntwo\n"), REFUSED("the gzip data are damaged (incorrect data check)"),
     .text = B("one\ntwo\n"), .fault = "the gzip data are damaged (incorrect data check), after line 2"},
    {"gzip with text after it", BEHIND, B("one\ntwo\n"), REFUSED("something other than gzip data follows the gzip data"),
     .text = B("one\ntwo\n"), .fault = "something other than gzip data follows the gzip data, after line 2"},
    {"gzip's first byte, as text", PLAIN, B("\x1F one\n"), .training = "training: 1 pair, ", .text = B("\x1F one\n")},
    {"a named pipe", PIPE, B("one\n\ntwo"), .training = "must name files, not standard input or a pipe", .training_code = 2,
     .text = B("one\n\ntwo\n")},
    {"a folder", FOLDER, .training = "is a folder; data.train_source must name files", .training_code = 1, .text = B(""), .fault = "this is a folder, not a file"},
    {"a missing file", MISSING, REFUSED("No such file"), .text = B(""), .fault = "No such file"},
};
enum { N_ROWS = sizeof rows / sizeof *rows, ENOUGH = 1 << 30 };

static char *folder, *base; /* everything is here; the run that translates */
static Text translations;   /* of the texts of all rows, one after the other */
static size_t translation_of[N_ROWS + 1];

/* ---- making files ---- */

/* What the row's file holds, uncompressed. */
static void content_of(const Row *row, Text *out)
{
    out->n = 0;
    for (int i = 0; i < (row->times ? row->times : 1); i++) text_append(out, row->bytes.bytes, row->bytes.n);
    if (row->times) text_append(out, "\nok\n", 4);
}

/* What translation reads of it. */
static void text_of(const Row *row, Text *out)
{
    Text content = {0};
    content_of(row, &content);
    out->n = 0;
    if (row->times) {
        text_normalize(out, content.data, content.n - 4);
        text_append(out, "\nok\n", 4);
    } else {
        text_append(out, row->text.bytes, row->text.n);
    }
    text_free(&content);
}

static void encode(const Row *row, const Text *content, Text *out)
{
    switch (row->form) {
    case MEMBERS:
        for (size_t i = 0; i < content->n; i++) temp_gzip(out, content->data + i, 1);
        temp_gzip(out, NULL, 0);
        text_append(out, "\0\0\0\0", 4);
        break;
    case GZIP: case CUT: case CRC: case BEHIND:
        temp_gzip(out, content->data, content->n);
        if (row->form == CUT) out->n -= 5;
        if (row->form == CRC) out->data[out->n - 8] ^= 0x10;
        if (row->form == BEHIND) text_append(out, "one\n", 4);
        break;
    default:
        text_append(out, content->data, content->n);
    }
}

/* The row's file; free the path with mem_free. */
static char *make_file(const Row *row)
{
    char *path = mem_format("%s/text%s", folder, row->form >= GZIP && row->form <= BEHIND ? ".gz" : "");
    remove(path);
    Text content = {0}, bytes = {0};
    content_of(row, &content);
    encode(row, &content, &bytes);
    if (row->form == PIPE) ck_assert_int_eq(mkfifo(path, 0600), 0);
    else if (row->form == FOLDER) ck_assert_int_eq(mkdir(path, 0700), 0);
    else if (row->form != MISSING) mem_free(temp_file(folder, path_name(path), bytes.data, bytes.n));
    text_free(&content);
    text_free(&bytes);
    return path;
}

/* A process that writes the row's bytes into the pipe; 0 for other rows. */
static pid_t feed(const Row *row, const char *path)
{
    if (row->form != PIPE) return 0;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child) return child;
    const int file = open(path, O_WRONLY);
    const bool good = file >= 0 && write(file, row->bytes.bytes, row->bytes.n) == (ssize_t)row->bytes.n;
    _exit(!good);
}

/* ---- the model that translates ---- */

static const char config[] = "[data]\nvocab_size = 400\n[model]\nd_model = 32\nd_ff = 64\nheads = 2\nencoder_layers = 1\n"
                             "decoder_layers = 1\n[train]\nbatch_tokens = 300\nwarmup = 5\nlearning_rate = 0.01\n"
                             "[decode]\nmax_ratio = 0.01\nmax_extra = 6";

static void train(ProgramOutput *output, const char *run, const char *source, const char *target, const char *steps)
{
    char *path = mem_format("%s/config.ini", folder);
    const char *const words[] = {"train", path, "--run", run, "--train-source", source, "--train-target", target,
                                 "--max-steps", steps, "--threads", "2", NULL};
    program_run(output, words, NULL, ENOUGH);
    mem_free(path);
}

static void train_base(void)
{
    ProgramOutput output = {0};
    Text text = {0}, piece = {0};
    for (uint32_t i = 0; i < 60; i++) {
        nasty_text(&piece, i);
        text_append(&text, piece.data, piece.n);
        text_append_format(&text, "\none two\nthree and %u\n", i);
    }
    char *path = temp_file(folder, "base.txt", text.data, text.n);
    train(&output, base, path, path, "300");
    ck_assert_msg(!output.code, "%s", output.err.data);
    mem_free(path);
    text_free(&text);
    text_free(&piece);
    program_free(&output);
}

/* Where line n of the text ends (behind its newline). */
static size_t end_of_line(const Text *text, size_t from, size_t n)
{
    for (; n; n--) {
        const char *end = memchr(text->data + from, '\n', text->n - from);
        ck_assert_ptr_nonnull(end);
        from = (size_t)(end + 1 - text->data);
    }
    return from;
}

static size_t count_lines(const char *bytes, size_t n)
{
    size_t lines = 0;
    for (size_t i = 0; i < n; i++) lines += bytes[i] == '\n';
    return lines;
}

/* All texts of all rows in one file, so that each is translated among lines of all kinds. */
static void translate_texts(void)
{
    Text all = {0}, text = {0};
    size_t lines[N_ROWS];
    for (int i = 0; i < N_ROWS; i++) {
        text_of(&rows[i], &text);
        text_append(&all, text.data, text.n);
        lines[i] = count_lines(text.data, text.n);
    }
    char *path = temp_file(folder, "all.txt", all.data, all.n);
    ProgramOutput output = {0};
    program_run(&output, (const char *const[]){"translate", "-m", base, path, NULL}, NULL, ENOUGH);
    ck_assert_msg(!output.code, "%s", output.err.data);
    translations = output.out;
    output.out = (Text){0};
    for (int i = 0; i < N_ROWS; i++) translation_of[i + 1] = end_of_line(&translations, translation_of[i], lines[i]);
    ck_assert_uint_eq(translation_of[N_ROWS], translations.n);
    int n_others = 0; /* than the one before: the model must tell texts apart */
    for (int i = 1; i < N_ROWS; i++) {
        const size_t before = translation_of[i - 1], at = translation_of[i], n = translation_of[i + 1] - at;
        n_others += n == at - before && n && memcmp(translations.data + before, translations.data + at, n);
        n_others += n != at - before && lines[i] == lines[i - 1];
    }
    ck_assert_int_gt(n_others, 5);
    mem_free(path);
    text_free(&all);
    text_free(&text);
    program_free(&output);
}

static void setup(void)
{
    folder = temp_folder();
    base = mem_format("%s/base", folder);
    mem_free(temp_file(folder, "config.ini", config, strlen(config)));
    train_base();
    translate_texts();
}

static void teardown(void)
{
    text_free(&translations);
    mem_free(base);
    temp_remove(folder);
}

/* ---- the three things that are done with a row ---- */

static void check_training(const Row *row, const char *path)
{
    char *run = mem_format("%s/run-%d", folder, (int)(row - rows)), *last = mem_format("%s/last", run);
    char *target = row->target.bytes ? temp_file(folder, "target", row->target.bytes, row->target.n) : mem_string(path);
    ProgramOutput output = {0};
    train(&output, run, path, target, "1");
    ck_assert_msg(output.code == row->training_code, "exit code %d: %s", output.code, output.err.data);
    ck_assert_msg(program_says(&output.err, row->training), "%s", output.err.data);
    if (row->training_code) ck_assert_msg(program_says(&output.err, "/text"), "no name: %s", output.err.data);
    ck_assert_int_eq(file_exists(last), !row->training_code);
    mem_free(run);
    mem_free(last);
    mem_free(target);
    program_free(&output);
}

/* Run a command over the file. It must give these lines, then the row's fault. */
static void check_lines(const Row *row, const char *command, const char *path, const char *expected, size_t n)
{
    ProgramOutput output = {0};
    const pid_t feeder = feed(row, path);
    program_run(&output, (const char *const[]){command, "-m", base, path, NULL}, NULL, ENOUGH);
    if (feeder) waitpid(feeder, NULL, 0);
    ck_assert_msg(output.code == !!row->fault, "%s: exit code %d: %s", command, output.code, output.err.data);
    ck_assert_msg(!row->fault || (program_says(&output.err, row->fault) && program_says(&output.err, path)), "%s: %s",
                  command, output.err.data);
    const bool warns = row->warning && !strcmp(command, "translate");
    ck_assert_msg(!warns || (program_says(&output.err, row->warning) && program_says(&output.err, path)), "%s: %s", command,
                  output.err.data);
    if (!row->fault && !warns) ck_assert_msg(!output.err.n, "%s: %s", command, output.err.data);
    if (!strcmp(command, "tokenize")) { /* check its way back instead */
        char *tokens = temp_file(folder, "tokens", output.out.data, output.out.n);
        program_run(&output, (const char *const[]){"detokenize", "-m", base, NULL}, tokens, ENOUGH);
        ck_assert_msg(!output.code, "detokenize: %s", output.err.data);
        mem_free(tokens);
    }
    ck_assert_msg(output.out.n == n && (!n || !memcmp(output.out.data, expected, n)), "%s: %s, not %.*s", command,
                  output.out.data, (int)n, expected ? expected : "");
    program_free(&output);
}

/* Blank lines are blank, no other line end than ours is there, and it is all well-formed text. */
static void check_form(const Text *text, const char *translation, size_t n)
{
    Text normal = {0};
    ck_assert_uint_eq(count_lines(translation, n), count_lines(text->data, text->n));
    for (size_t at = 0, from = 0; at < text->n; at++, from++) {
        const size_t end = (size_t)((const char *)memchr(translation + from, '\n', n - from) - translation);
        const char *text_end = memchr(text->data + at, '\n', text->n - at);
        if (text_end == text->data + at) ck_assert_uint_eq(end, from);
        text_normalize(&normal, translation + from, end - from);
        ck_assert(normal.n == end - from && (!normal.n || !memcmp(normal.data, translation + from, normal.n)));
        from = end;
        at = (size_t)(text_end - text->data);
    }
    text_free(&normal);
}

START_TEST(hostile_text)
{
    const Row *row = &rows[_i];
    Text text = {0};
    text_of(row, &text);
    const char *translation = translations.data + translation_of[_i];
    const size_t n = translation_of[_i + 1] - translation_of[_i];
    char *path = make_file(row);
    check_training(row, path);
    check_lines(row, "tokenize", path, text.data, text.n);
    check_lines(row, "translate", path, translation, n);
    check_form(&text, translation, n);
    mem_free(path);
    text_free(&text);
}
END_TEST

/* Not cut: attention over 50,001 tokens in a gigabyte, and one line of output. */
START_TEST(long_line_in_one_piece)
{
    const Row row = {.bytes = B("7"), .times = 50000};
    ProgramOutput output = {0};
    char *path = make_file(&row);
    const char *const words[] = {"translate", "-m", base, "--max-source", "60000", "--max-ratio", "0", path, NULL};
    program_run(&output, words, NULL, ENOUGH);
    ck_assert_msg(!output.code && !output.err.n, "%s", output.err.data);
    ck_assert_uint_eq(count_lines(output.out.data, output.out.n), 2);
    mem_free(path);
    program_free(&output);
}
END_TEST

Suite *suite_hostile(void)
{
    Suite *suite = suite_create("hostile");
    TCase *tcase = tcase_create("text");
    tcase_set_timeout(tcase, 600); /* of the long line, under sanitizers on a busy machine */
    tcase_add_unchecked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, hostile_text, 0, N_ROWS);
    tcase_add_test(tcase, long_line_in_one_piece);
    suite_add_tcase(suite, tcase);
    return suite;
}
