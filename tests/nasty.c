#include "tests/nasty.h"

#include <string.h>

#include "core/random.h"
#include "data/learner.h"

typedef struct Part {
    const char *bytes;
    size_t n;
} Part;

#define PART(literal) {(literal), sizeof(literal) - 1}

static const Part parts[] = {
    PART("a"), PART("the"), PART("banana"), PART("aaaa"), PART("Th\xC3\xA9\xC3\xA2tre"), PART("l'eau"),
    PART("c\xC5\x93ur"), PART(" "), PART("  "), PART("\t"), PART("\n"), PART("\v"), PART("\f"), PART("\r"),
    PART("\0"), PART("\x1B[31m"), PART("\x7F"), PART("\xC2\x85"), PART("\xC2\xA0"), PART("\xE2\x80\xA8"),
    PART("\xE2\x80\xA9"), PART("\xE2\x80\xAF"), PART("\xE3\x80\x80"), PART("\xE2\x80\x8B"), PART("\xEF\xBB\xBF"),
    PART("\xEF\xBF\xBD"), PART("\xEF\xBF\xBF"), PART("\xC2\xAD"), PART("\xCC\x81"), PART("\xCC\xA7"),
    PART("\xCD\x85"), PART("e\xCC\x81"), PART("\xC3\xA9\xCC\x81"), PART("\xE0\xA4\x95\xE0\xA4\xBC"),
    PART("\xE1\x84\x92"), PART("\xE1\x85\xA1"), PART("\xE1\x86\xAB"), PART("\xEA\xB0\x80"),
    PART("\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7"), PART("\xF0\x9F\x87\xAB\xF0\x9F\x87\xB7"),
    PART("\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD"), PART("\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D"),
    PART("\xE2\x80\x8F\xD8\xA7\xD9\x84"), PART("\xE4\xBD\xA0\xE5\xA5\xBD"), PART("\x80"), PART("\xC0\xAF"),
    PART("\xE0\x80\xAF"), PART("\xED\xA0\x80"), PART("\xF4\x90\x80\x80"), PART("\xF8\x88"), PART("\xFF"),
    PART("\xC3"), PART("\xE2\x96"), PART("\xF0\x9F\x91"), PART("<s>"), PART("</s>"), PART("<unk>"), PART("<pad>"),
    PART("<0xE2>"), PART("\xE2\x96\x81"), PART("\xE2\x96\x81the"), PART("\\"), PART("\\u{2581}"), PART("@@"),
    PART("##ing"), PART("1"), PART("2026"), PART("\xC2\xBD"), PART("..."), PART("'"), PART("\xE2\x80\x99"), PART("-"),
};

void nasty_text(Text *out, uint32_t i)
{
    enum { N_PARTS = sizeof parts / sizeof *parts };
    RandomStream stream = random_stream(7, RANDOM_TEST, i, 0);
    uint32_t n = random_below(&stream, 0, 41);
    out->n = 0;
    for (uint32_t k = 1; k <= n; k++) {
        uint32_t choice = random_below(&stream, 2 * k, N_PARTS + 8), value = random_below(&stream, 2 * k + 1, 0x110000);
        if (choice < N_PARTS) text_append(out, parts[choice].bytes, parts[choice].n);
        else if (choice < N_PARTS + 2) text_append(out, &(char){(char)value}, 1);
        else text_append_code(out, choice % 2 ? (int32_t)value : (int32_t)(value % 0x2100)); /* surrogates, too */
    }
}

void nasty_few_letters(Text *out, uint32_t i)
{
    static const char *const letters[] = {"a", "b", "\xC3\xA9", " "};
    RandomStream stream = random_stream(11, RANDOM_TEST, i, 0);
    out->n = 0;
    for (uint32_t k = 0; k < 60; k++) {
        const char *letter = letters[random_word(&stream, k) % 7 % 4];
        text_append(out, letter, strlen(letter));
    }
}

Tokenizer *nasty_tokenizer(void (*text_of)(Text *out, uint32_t i), uint32_t n_texts, int vocab_size)
{
    Error error = {0};
    Text text = {0};
    Learner *learner = learner_new();
    for (uint32_t i = 0; i < n_texts; i++) {
        text_of(&text, i);
        learner_add(learner, text.data, text.n);
    }
    Tokenizer *tokenizer = learner_finish(learner, vocab_size, &error);
    ck_assert_msg(tokenizer, "%s", error.text);
    learner_free(learner);
    text_free(&text);
    return tokenizer;
}
