/* UTF-8, the normal form, and the cutting into pieces. */
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "data/pieces.h"
#include "data/visible.h"
#include "tests/nasty.h"
#include "tests/suites.h"
#include "text/text.h"
#include "text/utf8.h"

#define BYTES(literal) (literal), sizeof(literal) - 1
#define FFFD "\xEF\xBF\xBD"

static Utf8State run(const char *bytes, size_t n)
{
    Utf8State state = UTF8_START;
    for (size_t i = 0; i < n; i++) state = utf8_next(state, (uint8_t)bytes[i]);
    return state;
}

START_TEST(utf8_every_code_point)
{
    for (int32_t code = 0; code <= 0x10FFFF; code++) {
        char bytes[4];
        int32_t back;
        size_t n = utf8_encode(code, bytes);
        bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        ENSURE(run(bytes, n) == (surrogate ? UTF8_BAD : UTF8_START), "U+%04X", (unsigned)code);
        if (surrogate) continue;
        ENSURE(utf8_decode(bytes, n, &back) == n && back == code, "U+%04X", (unsigned)code);
        for (size_t cut = 1; cut < n; cut++) { /* a part is ill-formed in one piece, and wants more */
            Utf8State state = run(bytes, cut);
            ENSURE(utf8_decode(bytes, cut, &back) == cut && back == -1, "U+%04X", (unsigned)code);
            ENSURE(state != UTF8_START && state != UTF8_BAD, "U+%04X", (unsigned)code);
        }
    }
}
END_TEST

START_TEST(utf8_every_three_bytes)
{
    /* Well formed is what utf8_encode makes, nothing else. */
    for (uint32_t i = 0; i < 1u << 24; i++) {
        char bytes[3] = {(char)(i >> 16), (char)(i >> 8), (char)i}, again[4];
        int32_t code;
        size_t n = utf8_decode(bytes, 3, &code);
        if (code < 0) continue;
        ENSURE(utf8_encode(code, again) == n && !memcmp(bytes, again, n), "%06x", i);
    }
}
END_TEST

typedef struct NormalCase {
    const char *text;
    size_t n;
    const char *normal;
    size_t n_normal;
} NormalCase;

static const NormalCase normal_cases[] = {
    {BYTES(""), BYTES("")},
    {BYTES(" \t\n\v\f\r "), BYTES("")},
    {BYTES("  a \t b  "), BYTES("a b")},
    {BYTES("a\xC2\xA0!"), BYTES("a !")},                                     /* no-break space */
    {BYTES("a\xE2\x80\xAF!"), BYTES("a !")},                                 /* narrow no-break space */
    {BYTES("a\xE2\x80\xA8" "b\xC2\x85" "c\rd\ve"), BYTES("a b c d e")},
    {BYTES("\xE3\x80\x80" "a\xE2\x80\x80\xE2\x80\x8A" "b"), BYTES("a b")},   /* U+3000, U+2000, U+200A */
    {BYTES("a\xE2\x80\x8B" "b"), BYTES("a\xE2\x80\x8B" "b")},                /* zero-width space is no blank */
    {BYTES("a\0b"), BYTES("a\0b")},
    {BYTES("e\xCC\x81"), BYTES("\xC3\xA9")},
    {BYTES("a\xCC\x81\xCC\xA3"), BYTES("\xE1\xBA\xA1\xCC\x81")},             /* marks are put in order */
    {BYTES("\xE2\x84\xAB"), BYTES("\xC3\x85")},                              /* Angstrom sign */
    {BYTES("\xEF\xAC\x81"), BYTES("\xEF\xAC\x81")},                          /* the ligature fi stays: C, not KC */
    {BYTES("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB"), BYTES("\xED\x95\x9C")},  /* Hangul */
    {BYTES("\xE0\xA5\x98"), BYTES("\xE0\xA4\x95\xE0\xA4\xBC")},              /* excluded from composition */
    {BYTES("\xEF\xBB\xBF" "a"), BYTES("\xEF\xBB\xBF" "a")},                  /* a mark that is not at the start of a file */
    /* Examples of the Unicode Standard, 3.9: one U+FFFD for each maximal part. */
    {BYTES("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), BYTES(FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A")},
    {BYTES("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), BYTES(FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A")},
    {BYTES("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), BYTES(FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B")},
    {BYTES("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), BYTES(FFFD FFFD FFFD FFFD "A")},
    {BYTES("a\xE2\x80"), BYTES("a" FFFD)},
    {BYTES("\xFF \xFE"), BYTES(FFFD " " FFFD)},
};

START_TEST(normal_form)
{
    const NormalCase *c = &normal_cases[_i];
    Text out = {0};
    text_normalize(&out, c->text, c->n);
    ck_assert_uint_eq(out.n, c->n_normal);
    if (out.n) ck_assert(!memcmp(out.data, c->normal, out.n));
    text_free(&out);
}
END_TEST

START_TEST(normal_form_of_itself)
{
    Text text = {0}, once = {0}, twice = {0};
    for (uint32_t i = 0; i < 20000; i++) {
        nasty_text(&text, i);
        text_normalize(&once, text.data, text.n);
        ck_assert_uint_eq(run(once.data, once.n), UTF8_START);
        text_normalize(&twice, once.data, once.n);
        ck_assert_msg(once.n == twice.n && (!once.n || !memcmp(once.data, twice.data, once.n)), "text %u", i);
    }
    text_free(&text);
    text_free(&once);
    text_free(&twice);
}
END_TEST

START_TEST(normal_form_of_many_marks)
{
    /* Marks in the wrong order: sorting by neighbours would take hours. */
    Text text = {0}, out = {0};
    enum { N = 500000 };
    text_append(&text, "q", 1);
    for (int i = 0; i < N; i++) text_append(&text, i % 2 ? "\xCC\xA7" : "\xCC\x81", 2); /* classes 230, 202 */
    text_normalize(&out, text.data, text.n);
    ck_assert_uint_eq(out.n, text.n);
    for (size_t i = 0; i < N; i++) ENSURE(!memcmp(out.data + 1 + 2 * i, i < N / 2 ? "\xCC\xA7" : "\xCC\x81", 2), "%zu", i);
    text_free(&text);
    text_free(&out);
}
END_TEST

typedef struct PieceCase {
    const char *text, *pieces; /* a bar behind each piece */
} PieceCase;

static const PieceCase piece_cases[] = {
    {"", ""},
    {"Two men.", " Two| men|.|"},
    {"  l'homme d\xE2\x80\x99" "eau ", " l'homme| d\xE2\x80\x99" "eau|"},
    {"'tis the boys' ball", " '|tis| the| boys|'| ball|"},
    {"x''y", " x|''|y|"},
    {"1999, 4x4", " 1|9|9|9|,| 4|x|4|"},
    {"\xC2\xAB Oui !!! \xC2\xBB (non)...", " \xC2\xAB| Oui| !!!| \xC2\xBB| (|non|)...|"},
    {"arc-en-ciel", " arc|-|en|-|ciel|"},
    {"a_b@c.fr", " a|_|b|@|c|.|fr|"},
    {"x\xCC\x84y", " x\xCC\x84y|"},                                               /* a mark inside a word */
    {"\xCC\x84y", " \xCC\x84|y|"},                                                /* a mark with nothing before it */
    {"\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB!", " \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB!|"}, /* joined emoji */
    {"1\xEF\xB8\x8F\xE2\x83\xA3" "2", " 1\xEF\xB8\x8F\xE2\x83\xA3|2|"},           /* a keycap */
    {"\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D!", " \xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D|!|"},
    {"<s>", " <|s|>|"},
};

START_TEST(pieces)
{
    const PieceCase *c = &piece_cases[_i];
    Text text = {0}, out = {0};
    pieces_prepare(&text, c->text, strlen(c->text));
    size_t n;
    for (size_t i = 0; i < text.n; i += n) {
        n = pieces_next(text.data + i, text.n - i);
        text_append(&out, text.data + i, n);
        text_append(&out, "|", 1);
    }
    text_append(&out, "", 1);
    ck_assert_str_eq(out.data, c->pieces);
    text_free(&text);
    text_free(&out);
}
END_TEST

START_TEST(pieces_are_whole)
{
    /* Any piece is well formed by itself, is not too long, and has a space at most at its start. */
    Text source = {0}, long_text = {0}, text = {0};
    for (uint32_t i = 0; i < 3000; i++) {
        nasty_text(&source, i);
        long_text.n = 0;
        for (int times = 0; times < 16; times++) text_append(&long_text, source.data, source.n);
        pieces_prepare(&text, long_text.data, long_text.n);
        size_t n;
        for (size_t at = 0; at < text.n; at += n) {
            n = pieces_next(text.data + at, text.n - at);
            ENSURE(n >= 1 && n <= PIECES_MAX_BYTES && n <= text.n - at, "text %u", i);
            ENSURE(run(text.data + at, n) == UTF8_START, "text %u", i);
            ENSURE(!memchr(text.data + at + 1, ' ', n - 1), "text %u", i);
        }
    }
    text_free(&source);
    text_free(&long_text);
    text_free(&text);
}
END_TEST

START_TEST(visible_and_back)
{
    Text text = {0}, normal = {0}, shown = {0}, back = {0};
    for (uint32_t i = 0; i < 5000; i++) {
        nasty_text(&text, i);
        pieces_prepare(&normal, text.data, text.n);
        shown.n = 0;
        visible_append(&shown, normal.data, normal.n);
        for (size_t k = 0; k < shown.n; k++)
            ENSURE((unsigned char)shown.data[k] > ' ' && shown.data[k] != 0x7F, "text %u", i);
        ck_assert(visible_parse(&back, shown.data, shown.n));
        ck_assert_msg(back.n == normal.n && (!back.n || !memcmp(back.data, normal.data, back.n)), "text %u", i);
    }
    static const char *const wrong[] = {
        "\\", "\\x", "\\u", "\\u{", "\\u{}", "\\u{}x", "\\u{4", "\\u{e9}", "\\u{110000}", "\\u{D800}", "a b", "\xFF",
        "\\u{FFFFFFFFFFFFFFFFF}", "a\xC2\xA0",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!visible_parse(&back, wrong[i], strlen(wrong[i])), "%s", wrong[i]);
    text_free(&text);
    text_free(&normal);
    text_free(&shown);
    text_free(&back);
}
END_TEST

Suite *suite_text(void)
{
    Suite *suite = suite_create("text");
    TCase *tcase = tcase_create("text");
    tcase_add_test(tcase, utf8_every_code_point);
    tcase_add_test(tcase, utf8_every_three_bytes);
    tcase_add_loop_test(tcase, normal_form, 0, (int)(sizeof normal_cases / sizeof *normal_cases));
    tcase_add_test(tcase, normal_form_of_itself);
    tcase_add_test(tcase, normal_form_of_many_marks);
    tcase_add_loop_test(tcase, pieces, 0, (int)(sizeof piece_cases / sizeof *piece_cases));
    tcase_add_test(tcase, pieces_are_whole);
    tcase_add_test(tcase, visible_and_back);
    suite_add_tcase(suite, tcase);
    return suite;
}
