/* The toy corpus: the committed files are what the grammar generates, and they hold what they promise. The generator is no
 * part of ferry, so its sources are compiled into this file. */
#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/memory.h"
#include "tests/suites.h"

#include "data/toy/clause.c"
#include "data/toy/corpus.c"
#include "data/toy/lexicon.c"
#include "data/toy/parts.c"
#include "data/toy/phrase.c"
#include "data/toy/sentence.c"

enum { MIN_WORDS = 400, MIN_OCCURRENCES = 20 };

typedef struct Lines {
    char *text; /* the whole file, its line ends made 0 */
    const char **line;
    int n;
} Lines;

static Lines read_lines(const char *part, const char *language)
{
    Lines lines = {0};
    size_t length = 0, capacity = 0;
    int lines_capacity = 0;
    char *path = mem_format("data/toy/%s.%s.gz", part, language);
    gzFile file = gzopen(path, "rb");
    ck_assert_msg(file != NULL, "%s can't be opened (the tests run in the root of the project)", path);
    for (int c; (c = gzgetc(file)) >= 0;) {
        ARRAY_RESERVE(lines.text, length, capacity);
        lines.text[length++] = (char)c;
    }
    ck_assert_int_eq(gzclose(file), Z_OK);
    mem_free(path);
    ck_assert(length > 0 && lines.text[length - 1] == '\n');
    for (char *start = lines.text, *end; start < lines.text + length; start = end + 1) {
        end = memchr(start, '\n', (size_t)(lines.text + length - start));
        *end = 0;
        ARRAY_RESERVE(lines.line, lines.n, lines_capacity);
        lines.line[lines.n++] = start;
    }
    return lines;
}

static void free_lines(Lines *lines)
{
    mem_free(lines->text);
    mem_free(lines->line);
}

/* The texts are compared, not the compressed files: another zlib may compress otherwise. */
START_TEST(regenerates)
{
    CorpusPair *pairs = corpus_make();
    for (int part = 0; part < CORPUS_PARTS; part++) {
        const CorpusPart *p = &corpus_parts[part];
        Lines en = read_lines(p->name, "en"), fr = read_lines(p->name, "fr");
        ck_assert_int_eq(en.n, p->count);
        ck_assert_int_eq(fr.n, p->count);
        for (int i = 0; i < p->count; i++) {
            ck_assert_str_eq(en.line[i], pairs[p->first + i].en);
            ck_assert_str_eq(fr.line[i], pairs[p->first + i].fr);
        }
        free_lines(&en);
        free_lines(&fr);
    }
    corpus_free(pairs);
}
END_TEST

/* No English sentence twice in all three parts: so none of valid and test is in train, and each has one translation. */
START_TEST(english_is_distinct)
{
    const char **seen = mem_zalloc(TABLE_SIZE * sizeof *seen);
    Lines lines[CORPUS_PARTS];
    for (int part = 0; part < CORPUS_PARTS; part++) {
        lines[part] = read_lines(corpus_parts[part].name, "en");
        for (int i = 0; i < lines[part].n; i++)
            ck_assert_msg(insert_new(seen, lines[part].line[i]), "twice: %s", lines[part].line[i]);
    }
    for (int part = 0; part < CORPUS_PARTS; part++) free_lines(&lines[part]);
    mem_free(seen);
}
END_TEST

/* The grammar is a function from English to French: whatever it draws, the same English has the same French. */
START_TEST(english_decides_french)
{
    enum { N_DRAWS = 100000, N_SLOTS = 1 << 18 };
    CorpusPair *seen = mem_zalloc(N_SLOTS * sizeof *seen);
    int n_again = 0;
    for (uint32_t i = 0; i < N_DRAWS; i++) {
        Draw draw = {.stream = random_stream(1, RANDOM_TEST, i, 0)};
        Pair pair = sentence_draw(&draw);
        uint32_t slot = hash_text(pair.en.words) % N_SLOTS;
        while (seen[slot].en && strcmp(seen[slot].en, pair.en.words)) slot = (slot + 1) % N_SLOTS;
        if (seen[slot].en) {
            ck_assert_str_eq(seen[slot].fr, pair.fr.words);
            n_again++;
        } else {
            seen[slot] = (CorpusPair){mem_string(pair.en.words), mem_string(pair.fr.words)};
        }
    }
    ck_assert_int_gt(n_again, 1000);
    for (int slot = 0; slot < N_SLOTS; slot++) {
        mem_free(seen[slot].en);
        mem_free(seen[slot].fr);
    }
    mem_free(seen);
}
END_TEST

/* ' sentence of words ': lower case, one blank around every word and nothing else between them. An apostrophe ends a French
 * word (l' eau) and parts English ones (boy s). */
static void plain_words(const char *sentence, bool french, char out[2 * TEXT_SIZE])
{
    char *to = out;
    *to++ = ' ';
    for (const char *c = sentence; *c; c++) {
        bool apostrophe = *c == '\'' && strncmp(c, "'hui", 4); /* aujourd'hui is one word */
        if (apostrophe && french) *to++ = '\'';
        if (!strchr(".,? ", *c) && !apostrophe) *to++ = (char)tolower((unsigned char)*c);
        else if (to[-1] != ' ') *to++ = ' ';
    }
    if (to[-1] != ' ') *to++ = ' ';
    *to = 0;
}

/* Classes of French words, as alternatives of a regular expression: "{noun}" in a pattern stands for them. */
typedef struct WordClass {
    const char *name;
    void (*each)(void (*add)(const char *word));
} WordClass;

static char *alternatives;

static void add_alternative(const char *word)
{
    char *more = mem_format("%s|%s", alternatives, word);
    mem_free(alternatives);
    alternatives = more;
}

static void each_noun(void (*add)(const char *word))
{
    for (int i = 0; i < n_nouns; i++) {
        add(nouns[i].fr);
        if (nouns[i].fr_plural) add(nouns[i].fr_plural);
    }
}

/* Forms in which the agreement shows: not the masculine singular. */
static void each_adjective(bool before_noun, void (*add)(const char *word))
{
    for (int i = 0; i < n_adjectives; i++) {
        const Adjective *a = &adjectives[i];
        const char *forms[] = {a->feminine, a->masculine_plural, a->feminine_plural};
        for (int k = 0; k < 3 && a->before_noun == before_noun; k++)
            if (strcmp(forms[k], a->masculine)) add(forms[k]);
    }
}

static void each_adjective_before(void (*add)(const char *word))
{
    each_adjective(true, add);
}

static void each_adjective_after(void (*add)(const char *word))
{
    each_adjective(false, add);
}

static void add_forms(const Verb *verb, Tense tense, void (*add)(const char *word))
{
    for (Person person = JE; person <= ILS; person++) {
        Text form = {""};
        french_finite(verb, tense, person, &form);
        add(form.words);
    }
}

static void each_present(void (*add)(const char *word))
{
    for (int i = 0; i < n_verbs; i++) add_forms(&verbs[i], PRESENT, add);
}

static void each_future(void (*add)(const char *word))
{
    for (int i = 0; i < n_verbs; i++) add_forms(&verbs[i], FUTURE, add);
}

static void each_participle(bool etre, const char *ending, void (*add)(const char *word))
{
    for (int i = 0; i < n_verbs; i++) {
        char *form = mem_format("%s%s", verbs[i].participle, ending);
        if (verbs[i].etre == etre) add(form);
        mem_free(form);
    }
}

static void each_participle_avoir(void (*add)(const char *word))
{
    each_participle(false, "(e|s|es)?", add);
}

static void each_participle_avoir_marked(void (*add)(const char *word))
{
    each_participle(false, "(e|s|es)", add);
}

static void each_participle_etre_feminine(void (*add)(const char *word))
{
    each_participle(true, "(e|es)", add);
}

static void each_participle_etre_plural(void (*add)(const char *word))
{
    each_participle(true, "(s|es)", add);
}

static void each_participle_etre(void (*add)(const char *word))
{
    each_participle(true, "(e|s|es)?", add);
}

static const WordClass classes[] = {
    {"{noun}", each_noun},
    {"{adjective before}", each_adjective_before},
    {"{adjective after}", each_adjective_after},
    {"{present}", each_present},
    {"{future}", each_future},
    {"{done}", each_participle_avoir},
    {"{done, marked}", each_participle_avoir_marked},
    {"{gone}", each_participle_etre},
    {"{gone, feminine}", each_participle_etre_feminine},
    {"{gone, plural}", each_participle_etre_plural},
};

#define HAVE "(ai|a|avons|avez|ont) "
#define ADVERB "((pas|jamais|déjà) )?"

/* What a sentence shows if its French has the one pattern and its English the other, but not the third (NULL: any), and in
 * how many sentences of the training part at least. "some" in the English tells the indefinite and partitive "des" and "du"
 * from the contracted ones. */
static const struct {
    int least;
    const char *name, *french, *english, *english_without;
} phenomena[] = {
    {300, "elided l'", " l' ", NULL, NULL},
    {300, "elided j'", " j' ", NULL, NULL},
    {300, "elided d'", " d' ", NULL, NULL},
    {300, "elided n'", " n' ", NULL, NULL},
    {300, "elided qu'", " qu' ", NULL, NULL},
    {300, "elided qu' of a relative clause",
     "({noun}|{adjective after}) qu' ", " that ", " (that|than) .* (that|than) | than "},
    {300, "contracted du", " du ", NULL, " some "},
    {300, "contracted des", " des ", NULL, " some "},
    {300, "contracted au", " au ", NULL, NULL},
    {300, "contracted aux", " aux ", NULL, NULL},
    {300, "indefinite des", " des ", " some ", NULL},
    {300, "partitive", " (du|de la|de l') ", " some ", NULL},
    {100, "de for des before an adjective", " (de|d') {adjective before} ", " some ", NULL},
    {300, "pas de", " (pas|jamais|plus) (de|d') ", NULL, NULL},
    {300, "cet before a vowel", " cet ", NULL, NULL},
    {300, "feminine demonstrative", " cette ", NULL, NULL},
    {300, "plural demonstrative", " ces ", NULL, NULL},
    {300, "feminine possessive", " (ma|sa) ", NULL, NULL},
    {300, "plural possessive", " (mes|ses|nos|vos|leurs) ", NULL, NULL},
    {300, "adjective before the noun agrees", " {adjective before} {noun} ", NULL, NULL},
    {300, "adjective after the noun agrees", " {noun} {adjective after} ", NULL, NULL},
    {300, "predicative adjective agrees",
     " (est|sont|sera|seront) ((pas|plus|très|trop|aussi|moins) )*({adjective before}|{adjective after}) ", NULL, NULL},
    {100, "bel, nouvel, vieil", " (bel|nouvel|vieil) ", NULL, NULL},
    {300, "present negated",
     " (ne|n') ((le|la|l'|les|lui|leur|me|m'|nous|vous) )?{present} (pas|jamais|plus) ", NULL, NULL},
    {300, "future negated",
     " (ne|n') ((le|la|l'|les|lui|leur|me|m'|nous|vous) )?{future} (pas|jamais|plus) ", NULL, NULL},
    {300, "passé composé negated", " n' " HAVE "(pas|jamais) {done} ", NULL, NULL},
    {300, "direct object before the verb",
     " (le|la|l'|les) ({present}|{future}|" HAVE ADVERB "{done}) ", " (it|him|her|them) ", NULL},
    {300, "indirect object before the verb",
     " (lui|leur) ({present}|{future}|" HAVE ADVERB "{done}) ", " to (him|her|them) ", NULL},
    {300, "me, nous before the verb", " (me|m'|nous) ({present}|{future}|" HAVE ADVERB "{done}) ", " (me|us) ", NULL},
    {300, "present", " {present} ", NULL, NULL},
    {300, "passé composé with avoir", " " HAVE ADVERB "{done} ", NULL, NULL},
    {300, "passé composé with être", " (est|sont) " ADVERB "{gone} ", NULL, NULL},
    {300, "participle agrees with a feminine subject", " (est|sont) " ADVERB "{gone, feminine} ", NULL, NULL},
    {300, "participle agrees with a plural subject", " sont " ADVERB "{gone, plural} ", NULL, NULL},
    {300, "participle agrees with the pronoun before",
     " (l'|les) " HAVE ADVERB "{done, marked} ", " (it|her|them) ", NULL},
    {300, "participle agrees with que", " (que|qu') .* " HAVE ADVERB "{done, marked} ", " that ", NULL},
    {300, "future", " {future} ", NULL, NULL},
    {300, "question with est-ce que", "^ est-ce (que|qu') ", NULL, NULL},
    {300, "question with another word", "^ (où|qui|que|qu'|pourquoi|quand|combien) ", NULL, NULL},
    {300, "relative clause with qui", " {noun} qui ", " (who|that) ", NULL},
    {300, "relative clause with que",
     "({noun}|{adjective after}) que ", " that ", " (than|as|thinks?|says?|knows?|hopes?) "},
    {300, "avoir where English has be",
     " (a|ai|as|avons|avez|ont|avais|avait|avaient|aura|aurai|aurons|aurez|auront) (pas )?(faim|soif|sommeil|"
     "peur) ", NULL, NULL},
};

/* The pattern with its word classes spelled out, compiled. */
static void compile(regex_t *regex, const char *pattern)
{
    char *text = mem_string(pattern);
    for (size_t i = 0; i < COUNT(classes); i++)
        for (char *at; (at = strstr(text, classes[i].name));) {
            alternatives = mem_string("#"); /* no word: what the first bar stands behind */
            classes[i].each(add_alternative);
            char *longer = mem_format("%.*s(%s)%s", (int)(at - text), text, alternatives, at + strlen(classes[i].name));
            mem_free(text);
            mem_free(alternatives);
            text = longer;
        }
    ck_assert_msg(regcomp(regex, text, REG_EXTENDED | REG_NOSUB) == 0, "bad pattern: %s", text);
    mem_free(text);
}

/* Forget those of the lines kept that match the pattern, or those that don't. NULL keeps all. */
static void filter(const Lines *lines, bool french, const char *pattern, bool keep_matching, bool *kept)
{
    if (!pattern) return;
    regex_t regex;
    compile(&regex, pattern);
    for (int i = 0; i < lines->n; i++) {
        char words[2 * TEXT_SIZE];
        if (!kept[i]) continue;
        plain_words(lines->line[i], french, words);
        kept[i] = (regexec(&regex, words, 0, NULL, 0) == 0) == keep_matching;
    }
    regfree(&regex);
}

START_TEST(phenomenon_is_frequent)
{
    Lines en = read_lines("train", "en"), fr = read_lines("train", "fr");
    bool *kept = mem_alloc((size_t)fr.n * sizeof *kept);
    int n = 0;
    for (int i = 0; i < fr.n; i++) kept[i] = true;
    filter(&en, false, phenomena[_i].english, true, kept);
    filter(&en, false, phenomena[_i].english_without, false, kept);
    filter(&fr, true, phenomena[_i].french, true, kept);
    for (int i = 0; i < fr.n; i++) n += kept[i];
    if (getenv("TOY_COUNTS")) printf("%6d %s\n", n, phenomena[_i].name); /* TOY_COUNTS=1 build/tests/run32 toy */
    ck_assert_msg(n >= phenomena[_i].least, "%s: only %d sentences", phenomena[_i].name, n);
    mem_free(kept);
    free_lines(&en);
    free_lines(&fr);
}
END_TEST

/* A French vowel or mute h at the beginning of a word: the only words with h aspiré are hamster, hérisson, huit. */
#define VOWEL "(a|e|i|o|u|à|â|é|è|ê|î|ô|œ|h[^aéu]|ha[^m]|hé[^r]|hu[^i])"

/* Spelling that must not occur: a full form before a vowel, an elided one before an h aspiré, two words for a contracted
 * one, typographer's apostrophes and blanks. */
static const char *const wrong[] = {
    " (le|la|je|ne|de|que|me|ma|sa|ce) " VOWEL,
    " (un|le|ce|mon|son|notre|votre|leur|chaque) (beau|nouveau|vieux) " VOWEL,
    " (l'|d'|qu'|j'|n'|cet|bel|nouvel|vieil) (hamster|hérisson|huit)",
    " (de|à) (le|les) {noun}",
    "’|\u00a0|\u202f|  |''",
};

START_TEST(never_occurs)
{
    regex_t regex;
    compile(&regex, wrong[_i]);
    for (int part = 0; part < CORPUS_PARTS; part++) {
        Lines fr = read_lines(corpus_parts[part].name, "fr");
        for (int i = 0; i < fr.n; i++) {
            char words[2 * TEXT_SIZE];
            plain_words(fr.line[i], true, words);
            ck_assert_msg(regexec(&regex, words, 0, NULL, 0) != 0, "%s", fr.line[i]);
        }
        free_lines(&fr);
    }
    regfree(&regex);
}
END_TEST

START_TEST(english_articles)
{
    regex_t regex;
    compile(&regex, " (a [aeiou]|an [^aeiou])");
    for (int part = 0; part < CORPUS_PARTS; part++) {
        Lines en = read_lines(corpus_parts[part].name, "en");
        for (int i = 0; i < en.n; i++) {
            char words[2 * TEXT_SIZE];
            plain_words(en.line[i], false, words);
            ck_assert_msg(regexec(&regex, words, 0, NULL, 0) != 0, "%s", en.line[i]);
        }
        free_lines(&en);
    }
    regfree(&regex);
}
END_TEST

static int count_word(const char *words, const char *word)
{
    int n = 0;
    for (const char *at = words; (at = strstr(at, word)); at += strlen(word) - 1) n++;
    return n;
}

START_TEST(negations_have_both_halves)
{
    for (int part = 0; part < CORPUS_PARTS; part++) {
        Lines fr = read_lines(corpus_parts[part].name, "fr");
        for (int i = 0; i < fr.n; i++) {
            char words[2 * TEXT_SIZE];
            plain_words(fr.line[i], true, words);
            int first = count_word(words, " ne ") + count_word(words, " n' ");
            int second = count_word(words, " pas ") + count_word(words, " jamais ");
            ck_assert_msg(second <= first && first <= second + count_word(words, " plus "), "%s", fr.line[i]);
        }
        free_lines(&fr);
    }
}
END_TEST

/* A capital first, one end, single blanks, and the plain blank before the French question mark. */
static void check_shape(const char *line, bool french)
{
    size_t length = strlen(line);
    ck_assert_msg(length > 3 && isupper((unsigned char)*line), "%s", line);
    char end = line[length - 1], before_end = line[length - 2];
    ck_assert_msg(end == '.' || end == '?', "%s", line);
    ck_assert_msg((before_end == ' ') == (french && end == '?'), "%s", line);
    ck_assert_msg(!strstr(line, "  ") && !strpbrk(line, "\t\r\"#"), "%s", line);
}

START_TEST(lines_are_well_formed)
{
    for (int part = 0; part < CORPUS_PARTS; part++) {
        Lines en = read_lines(corpus_parts[part].name, "en"), fr = read_lines(corpus_parts[part].name, "fr");
        for (int i = 0; i < en.n; i++) check_shape(en.line[i], false);
        for (int i = 0; i < fr.n; i++) check_shape(fr.line[i], true);
        free_lines(&en);
        free_lines(&fr);
    }
}
END_TEST

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Enough distinct words on each side, and none so rare that it could not be learned. */
START_TEST(words_are_many_and_frequent)
{
    Lines lines = read_lines("train", _i ? "fr" : "en");
    char **word = NULL;
    int n = 0, capacity = 0, n_distinct = 0;
    for (int i = 0; i < lines.n; i++) {
        char words[2 * TEXT_SIZE], *rest = words;
        plain_words(lines.line[i], _i == 1, words);
        for (char *one; (one = strtok_r(rest, " ", &rest));) {
            ARRAY_RESERVE(word, n, capacity);
            word[n++] = mem_string(one);
        }
    }
    qsort(word, (size_t)n, sizeof *word, compare_words);
    for (int i = 0, run = 1; i < n; i++, run++)
        if (i + 1 == n || strcmp(word[i], word[i + 1])) {
            ck_assert_msg(run >= MIN_OCCURRENCES, "%s occurs %d times", word[i], run);
            n_distinct++;
            run = 0;
        }
    ck_assert_int_ge(n_distinct, MIN_WORDS);
    if (getenv("TOY_COUNTS")) printf("%6d distinct of %d words\n", n_distinct, n);
    for (int i = 0; i < n; i++) mem_free(word[i]);
    mem_free(word);
    free_lines(&lines);
}
END_TEST

Suite *suite_toy(void)
{
    Suite *suite = suite_create("toy");
    TCase *tcase = tcase_create("toy");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, regenerates);
    tcase_add_test(tcase, english_is_distinct);
    tcase_add_test(tcase, english_decides_french);
    tcase_add_test(tcase, lines_are_well_formed);
    tcase_add_loop_test(tcase, words_are_many_and_frequent, 0, 2);
    tcase_add_loop_test(tcase, phenomenon_is_frequent, 0, COUNT(phenomena));
    tcase_add_loop_test(tcase, never_occurs, 0, COUNT(wrong));
    tcase_add_test(tcase, english_articles);
    tcase_add_test(tcase, negations_have_both_halves);
    suite_add_tcase(suite, tcase);
    return suite;
}
