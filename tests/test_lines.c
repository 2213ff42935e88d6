/* The line reader: what a line is, gzip and its faults, pipes; lists of files. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "core/memory.h"
#include "core/random.h"
#include "data/lines.h"
#include "tests/suites.h"
#include "tests/temp.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

/* All lines of the file, each followed by "|". False and *error as lines_next says. */
static bool read_lines(const char *path, Text *out, Error *error)
{
    LineReader *reader = lines_open(path, error);
    if (!reader) return false;
    const char *line;
    size_t n;
    int status;
    while ((status = lines_next(reader, &line, &n, error)) > 0) {
        text_append(out, line, n);
        text_append(out, "|", 1);
    }
    if (!status) ck_assert_int_eq(lines_next(reader, &line, &n, error), 0);
    lines_close(reader);
    return !status;
}

static void assert_text(const Text *text, const char *bytes, size_t n)
{
    ck_assert_uint_eq(text->n, n);
    if (n) ck_assert(!memcmp(text->data, bytes, n));
}

static void assert_lines(const char *folder, const void *content, size_t n, const char *expected, size_t n_expected)
{
    Error error = {0};
    Text lines = {0};
    char *path = temp_file(folder, "content", content, n);
    ck_assert_msg(read_lines(path, &lines, &error), "%s", error.text);
    assert_text(&lines, expected, n_expected);
    text_free(&lines);
    mem_free(path);
}

typedef struct LineCase {
    const char *content;
    size_t n;
    const char *lines;
    size_t n_lines;
} LineCase;

static const LineCase line_cases[] = {
    {BYTES(""), BYTES("")},
    {BYTES("\n"), BYTES("|")},
    {BYTES("a\nb\n"), BYTES("a|b|")},
    {BYTES("a\nb"), BYTES("a|b|")},
    {BYTES("a\n\n\nb\n\n"), BYTES("a|||b||")},
    {BYTES("a\r\nb\r\n"), BYTES("a|b|")},
    {BYTES("a\r\r\nb\r"), BYTES("a\r|b|")},
    {BYTES("\r\n\r\n"), BYTES("||")},
    {BYTES("a\rb\vc\fd\n"), BYTES("a\rb\vc\fd|")},
    {BYTES("a\xE2\x80\xA8" "b\xC2\x85" "c\n"), BYTES("a\xE2\x80\xA8" "b\xC2\x85" "c|")},
    {BYTES("a\0b\0\n\0\n"), BYTES("a\0b\0|\0|")},
    {BYTES("\xEF\xBB\xBF" "a\n\xEF\xBB\xBF" "b\n"), BYTES("a|\xEF\xBB\xBF" "b|")},
    {BYTES("\xEF\xBB\xBF"), BYTES("")},
    {BYTES("\xEF\xBB\xBF\n"), BYTES("|")},
    {BYTES("\xEF\xBB\n"), BYTES("\xEF\xBB|")},
    {BYTES("\xFF\xC0\n"), BYTES("\xFF\xC0|")},
    {BYTES("\x1F" "a"), BYTES("\x1F" "a|")},
};

START_TEST(lines_are_what_they_are)
{
    const LineCase *c = &line_cases[_i];
    char *folder = temp_folder();
    assert_lines(folder, c->content, c->n, c->lines, c->n_lines);
    for (size_t cut = 0; cut <= c->n; cut++) { /* two members, then zeros as padding */
        Text zipped = {0};
        temp_gzip(&zipped, c->content, cut);
        temp_gzip(&zipped, c->content + cut, c->n - cut);
        assert_lines(folder, zipped.data, zipped.n, c->lines, c->n_lines);
        text_append(&zipped, "\0\0\0", 3);
        assert_lines(folder, zipped.data, zipped.n, c->lines, c->n_lines);
        text_free(&zipped);
    }
    temp_remove(folder);
}
END_TEST

/* `n` random bytes with line ends among them. */
static Text random_content(size_t n, uint32_t line_length, uint32_t place)
{
    RandomStream stream = random_stream(3, RANDOM_TEST, place, line_length);
    Text text = {0};
    text_reserve(&text, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t word = random_word(&stream, i);
        text.data[i] = word % line_length == 0 ? '\n' : word % line_length == 1 ? '\r' : (char)(word >> 24);
    }
    text.data[0] = 'x'; /* neither a byte order mark nor gzip */
    text.n = n;
    return text;
}

/* What read_lines should give. */
static Text split_lines(const Text *content)
{
    Text out = {0};
    for (size_t i = 0; i < content->n; i++) {
        char byte = content->data[i];
        bool last = i + 1 == content->n;
        if (byte == '\r' && (last || content->data[i + 1] == '\n')) byte = '\n';
        else if (byte != '\n') text_append(&out, &byte, 1);
        if (byte == '\n' && content->data[i] == '\r' && !last) continue; /* the \n follows */
        if (byte == '\n' || last) text_append(&out, "|", 1);
    }
    return out;
}

START_TEST(lines_of_any_length)
{
    static const uint32_t lengths[] = {5, 1000, 65536, 3000000};
    char *folder = temp_folder();
    for (int i = 0; i < 4; i++) {
        Text content = random_content(1500000 + (size_t)i, lengths[i], 0), expected = split_lines(&content), zipped = {0};
        assert_lines(folder, content.data, content.n, expected.data, expected.n);
        temp_gzip(&zipped, content.data, content.n / 3);
        temp_gzip(&zipped, content.data + content.n / 3, content.n - content.n / 3);
        assert_lines(folder, zipped.data, zipped.n, expected.data, expected.n);
        text_free(&content);
        text_free(&expected);
        text_free(&zipped);
    }
    temp_remove(folder);
}
END_TEST

/* The content, as a file of this name, must give an error that names the file. */
static void assert_fault(const char *folder, const char *name, const void *content, size_t n)
{
    Error error = {0};
    Text lines = {0};
    char *path = temp_file(folder, name, content, n);
    ck_assert_msg(!read_lines(path, &lines, &error), "%zu bytes", n);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    ck_assert_int_eq(error.code, ERROR_FAILED);
    text_free(&lines);
    mem_free(path);
}

START_TEST(gzip_cut_off_anywhere)
{
    char *folder = temp_folder();
    Text zipped = {0};
    temp_gzip(&zipped, BYTES("The ferry\nleaves at nine.\n"));
    size_t n_first = zipped.n;
    temp_gzip(&zipped, BYTES("Le bac\npart \xC3\xA0 neuf heures.\n"));
    for (size_t n = 0; n < zipped.n; n++)
        if (n != n_first) assert_fault(folder, "cut.gz", zipped.data, n);
    assert_lines(folder, zipped.data, n_first, BYTES("The ferry|leaves at nine.|"));
    text_free(&zipped);
    temp_remove(folder);
}
END_TEST

START_TEST(gzip_damaged_anywhere)
{
    char *folder = temp_folder();
    Text zipped = {0}, lines = {0};
    temp_gzip(&zipped, BYTES("The ferry\nleaves at nine.\n"));
    for (size_t i = 2; i < zipped.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            zipped.data[i] ^= (char)(1 << bit);
            Error error = {0};
            char *path = temp_file(folder, "damaged", zipped.data, zipped.n);
            lines.n = 0;
            bool good = read_lines(path, &lines, &error);
            /* Not in the checksum: time, level and system (bytes 4 to 9), the flag that says "text", and the bits that fill
             * up the last byte of the data. */
            bool unchecked = (i >= 4 && i < 10) || (i == 3 && bit == 0) || i == zipped.n - 9;
            if (good) ck_assert_msg(unchecked, "byte %zu", i);
            if (good) assert_text(&lines, BYTES("The ferry|leaves at nine.|"));
            else ck_assert_ptr_nonnull(strstr(error.text, path));
            mem_free(path);
            zipped.data[i] ^= (char)(1 << bit);
        }
    text_free(&zipped);
    text_free(&lines);
    temp_remove(folder);
}
END_TEST

START_TEST(gzip_with_something_behind)
{
    static const char *const behind[] = {"x", "\x1F", "\x1F\x8B", "plain text\n", "\0x", "\0\0\0\x1F\x8B"};
    static const size_t n_behind[] = {1, 1, 2, 11, 2, 5};
    char *folder = temp_folder();
    for (int i = 0; i < 6; i++) {
        Text zipped = {0};
        temp_gzip(&zipped, BYTES("one\ntwo\n"));
        text_append(&zipped, behind[i], n_behind[i]);
        assert_fault(folder, "behind", zipped.data, zipped.n);
        text_free(&zipped);
    }
    temp_remove(folder);
}
END_TEST

START_TEST(gzip_fault_names_the_line)
{
    char *folder = temp_folder();
    Text zipped = {0}, lines = {0};
    temp_gzip(&zipped, BYTES("one\ntwo\n"));
    text_append(&zipped, "xyz", 3);
    char *path = temp_file(folder, "a.gz", zipped.data, zipped.n);
    Error error = {0};
    ck_assert(!read_lines(path, &lines, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "after line 2"));
    assert_text(&lines, BYTES("one|two|"));
    mem_free(path);
    text_free(&zipped);
    text_free(&lines);
    temp_remove(folder);
}
END_TEST

START_TEST(files_that_cannot_be_read)
{
    Error error = {0};
    char *folder = temp_folder();
    ck_assert_ptr_null(lines_open(folder, &error));
    ck_assert(strstr(error.text, folder) && strstr(error.text, "folder"));
    char *missing = mem_format("%s/missing", folder);
    ck_assert_ptr_null(lines_open(missing, &error));
    ck_assert(strstr(error.text, missing) && strstr(error.text, "No such file"));
    char *locked = temp_file(folder, "locked", BYTES("a\n"));
    ck_assert_int_eq(chmod(locked, 0), 0);
    if (geteuid() != 0) {
        ck_assert_ptr_null(lines_open(locked, &error));
        ck_assert_ptr_nonnull(strstr(error.text, locked));
    }
    mem_free(missing);
    mem_free(locked);
    temp_remove(folder);
}
END_TEST

static void assert_next(LineReader *reader, const char *expected)
{
    Error error = {0};
    const char *line;
    size_t n;
    ck_assert_int_eq(lines_next(reader, &line, &n, &error), 1);
    ck_assert_uint_eq(n, strlen(expected));
    ck_assert(!memcmp(line, expected, n));
}

static void put(int file, const void *bytes, size_t n)
{
    ck_assert_int_eq(write(file, bytes, n), (ssize_t)n);
}

START_TEST(pipe_answers_at_once)
{
    Error error = {0};
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    LineReader *reader = lines_open("-", &error);
    ck_assert_str_eq(lines_name(reader), "standard input");
    put(ends[1], BYTES("one\ntw"));
    assert_next(reader, "one");
    put(ends[1], BYTES("o\nthree\n"));
    assert_next(reader, "two");
    assert_next(reader, "three");
    ck_assert_int_eq(lines_number(reader), 3);
    close(ends[1]);
    const char *line;
    size_t n;
    ck_assert_int_eq(lines_next(reader, &line, &n, &error), 0);
    lines_close(reader);
}
END_TEST

/* Lines must be there as soon as what was written holds them, whatever their length leaves in the decompressor's hands. */
START_TEST(pipe_of_gzip_answers_at_once)
{
    enum { LONGEST = 65536 + 300 };
    static char text[LONGEST + 1];
    static unsigned char out[LONGEST];
    memset(text, 'a', LONGEST);
    for (size_t n = 1; n < LONGEST; n = n < 65536 ? 16 * n : n + 1) {
        Error error = {0};
        int ends[2];
        ck_assert_int_eq(pipe(ends), 0);
        char *path = mem_format("/dev/fd/%d", ends[0]);
        LineReader *reader = lines_open(path, &error);
        z_stream z = {.next_in = (unsigned char *)text, .avail_in = (uInt)n, .next_out = out, .avail_out = sizeof out};
        text[n - 1] = '\n';
        ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        ck_assert_int_eq(deflate(&z, Z_PARTIAL_FLUSH), Z_OK);
        size_t n_ready = sizeof out - z.avail_out, length;
        put(ends[1], out, n_ready);
        const char *line;
        ck_assert_int_eq(lines_next(reader, &line, &length, &error), 1); /* would wait for ever if it waited for more */
        ck_assert_uint_eq(length, n - 1);
        text[n - 1] = 'a';
        z.next_in = (unsigned char *)"three";
        z.avail_in = 5;
        ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
        put(ends[1], out + n_ready, sizeof out - z.avail_out - n_ready);
        close(ends[1]);
        assert_next(reader, "three");
        deflateEnd(&z);
        lines_close(reader);
        close(ends[0]);
        mem_free(path);
    }
}
END_TEST

START_TEST(pipe_byte_by_byte)
{
    Error error = {0};
    Text content = {0}, lines = {0};
    temp_gzip(&content, BYTES("one\r\ntwo\n"));
    temp_gzip(&content, BYTES("three"));
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t writer = fork();
    if (!writer) {
        for (size_t i = 0; i < content.n; i++) {
            if (write(ends[1], content.data + i, 1) != 1) _exit(1);
            usleep(1000);
        }
        _exit(0);
    }
    close(ends[1]);
    char *path = mem_format("/dev/fd/%d", ends[0]);
    ck_assert_msg(read_lines(path, &lines, &error), "%s", error.text);
    assert_text(&lines, BYTES("one|two|three|"));
    int status;
    ck_assert(waitpid(writer, &status, 0) == writer && status == 0);
    close(ends[0]);
    mem_free(path);
    text_free(&content);
    text_free(&lines);
}
END_TEST

START_TEST(file_lists)
{
    Words none = words_split(" \t ");
    ck_assert_int_eq(none.n, 0);
    words_free(&none);
    Words files = words_split("  a.gz\tsome\\ folder/b\\n  \\ c\\");
    ck_assert_int_eq(files.n, 3);
    ck_assert_str_eq(files.word[0], "a.gz");
    ck_assert_str_eq(files.word[1], "some folder/b\\n");
    ck_assert_str_eq(files.word[2], " c\\");
    words_free(&files);
}
END_TEST

START_TEST(whole_files)
{
    Error error = {0};
    char *folder = temp_folder();
    char *path[] = {temp_file(folder, "a", BYTES(" one \n\nthree")), temp_file(folder, "b", BYTES("e\xCC\x81\tx\r\n"))};
    Words files = {.word = path, .n = 2};
    LineArray raw, normal;
    ck_assert(lines_read_all(&files, false, &raw, &error) && lines_read_all(&files, true, &normal, &error));
    static const char *const raw_lines[] = {" one ", "", "three", "e\xCC\x81\tx"};
    static const char *const normal_lines[] = {"one", "", "three", "\xC3\xA9 x"};
    ck_assert_uint_eq(raw.n, 4);
    ck_assert_uint_eq(normal.n, 4);
    for (size_t i = 0; i < 4; i++) {
        size_t n;
        const char *line = lines_get(&raw, i, &n);
        ck_assert(n == strlen(raw_lines[i]) && !memcmp(line, raw_lines[i], n));
        line = lines_get(&normal, i, &n);
        ck_assert(n == strlen(normal_lines[i]) && !memcmp(line, normal_lines[i], n));
    }
    lines_array_free(&raw);
    lines_array_free(&normal);
    remove(path[1]);
    ck_assert(!lines_read_all(&files, false, &raw, &error));
    mem_free(path[0]);
    mem_free(path[1]);
    temp_remove(folder);
}
END_TEST

Suite *suite_lines(void)
{
    Suite *suite = suite_create("lines");
    TCase *tcase = tcase_create("lines");
    tcase_add_loop_test(tcase, lines_are_what_they_are, 0, (int)(sizeof line_cases / sizeof *line_cases));
    tcase_add_test(tcase, lines_of_any_length);
    tcase_add_test(tcase, gzip_cut_off_anywhere);
    tcase_add_test(tcase, gzip_damaged_anywhere);
    tcase_add_test(tcase, gzip_with_something_behind);
    tcase_add_test(tcase, gzip_fault_names_the_line);
    tcase_add_test(tcase, files_that_cannot_be_read);
    tcase_add_test(tcase, pipe_answers_at_once);
    tcase_add_test(tcase, pipe_of_gzip_answers_at_once);
    tcase_add_test(tcase, pipe_byte_by_byte);
    tcase_add_test(tcase, file_lists);
    tcase_add_test(tcase, whole_files);
    suite_add_tcase(suite, tcase);
    return suite;
}
