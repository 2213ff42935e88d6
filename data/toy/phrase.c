#include "data/toy/phrase.h"

#include <ctype.h>
#include <string.h>

#include "core/error.h"

int draw_below(Draw *draw, int n)
{
    return (int)random_below(&draw->stream, draw->position++, (uint32_t)n);
}

bool draw_percent(Draw *draw, int percent)
{
    return draw_below(draw, 100) < percent;
}

int draw_weighted(Draw *draw, const int *weights, int n)
{
    int sum = 0, i = 0;
    for (int k = 0; k < n; k++) sum += weights[k];
    CHECK(sum > 0, "nothing to draw from");
    for (int left = draw_below(draw, sum); left >= weights[i]; i++) left -= weights[i];
    return i;
}

/* Append as it is, without a blank. */
static void text_glue(Text *text, const char *piece)
{
    size_t length = strlen(text->words), more = strlen(piece);
    CHECK(length + more < TEXT_SIZE, "sentence too long: %s", text->words);
    memcpy(text->words + length, piece, more + 1);
}

void text_add(Text *text, const char *words)
{
    if (!words || !*words) return;
    if (*text->words) text_glue(text, " ");
    text_glue(text, words);
}

void pair_add(Pair *pair, const char *en, const char *fr)
{
    text_add(&pair->en, en);
    text_add(&pair->fr, fr);
}

void pair_append(Pair *pair, const Pair *more)
{
    pair_add(pair, more->en.words, more->fr.words);
}

enum { MAX_WORDS = 96 };

/* Cut a copy of the text at its blanks; two empty words follow the last, so that looking ahead is safe. */
static int split(Text *copy, const char *words[MAX_WORDS + 2])
{
    int n = 0;
    for (char *rest = copy->words, *word; (word = strsep(&rest, " "));) {
        CHECK(n < MAX_WORDS, "sentence too long");
        words[n++] = word;
    }
    words[n] = words[n + 1] = "";
    return n;
}

static void finish_english(Text *text)
{
    Text copy = *text, result = {""};
    const char *words[MAX_WORDS + 2];
    int n = split(&copy, words);
    for (int i = 0; i < n; i++) {
        if (*words[i] == '\'' || *words[i] == ',') text_glue(&result, words[i]);
        else if (!strcmp(words[i], "a") && strchr("aeiou", *words[i + 1])) text_add(&result, "an");
        else text_add(&result, words[i]);
    }
    *text = result;
}

/* What a word becomes before a vowel ("l'", to be joined to the next), or NULL if it stays. */
static const char *elided(const char *word)
{
    static const char *const table[][2] = {{"le", "l'"}, {"la", "l'"}, {"je", "j'"},   {"me", "m'"},
                                           {"ne", "n'"}, {"de", "d'"}, {"que", "qu'"},
                                           {"si", "s'"}}; /* before "il" alone, the one word that follows it here */
    for (size_t i = 0; i < COUNT(table); i++)
        if (!strcmp(word, table[i][0])) return table[i][1];
    return NULL;
}

/* What "de" and "à" become together with the article after them, or NULL. */
static const char *contracted(const char *preposition, const char *article)
{
    static const char *const table[][3] = {
        {"de", "le", "du"}, {"de", "les", "des"}, {"à", "le", "au"}, {"à", "les", "aux"}};
    for (size_t i = 0; i < COUNT(table); i++)
        if (!strcmp(preposition, table[i][0]) && !strcmp(article, table[i][1])) return table[i][2];
    return NULL;
}

static void finish_french(Text *text)
{
    Text copy = *text, result = {""};
    const char *words[MAX_WORDS + 2];
    int n = split(&copy, words);
    bool glue = false;
    for (int i = 0; i < n; i++) {
        const char *word = words[i];
        const char *joined = contracted(word, words[i + 1]);
        if (joined && (strcmp(words[i + 1], "le") || !lexicon_vowel(words[i + 2]))) {
            word = joined;
            i++;
        }
        const char *short_form = lexicon_vowel(words[i + 1]) ? elided(word) : NULL;
        if (short_form) word = short_form;
        if (glue || *word == ',') text_glue(&result, word);
        else text_add(&result, word);
        glue = short_form != NULL;
    }
    *text = result;
}

void pair_finish(Pair *pair, char end)
{
    finish_english(&pair->en);
    finish_french(&pair->fr);
    CHECK(isascii((unsigned char)*pair->fr.words), "no capital known for the first letter of: %s", pair->fr.words);
    *pair->en.words = (char)toupper((unsigned char)*pair->en.words);
    *pair->fr.words = (char)toupper((unsigned char)*pair->fr.words);
    text_glue(&pair->en, end == '?' ? "?" : ".");
    text_glue(&pair->fr, end == '?' ? " ?" : ".");
}

const char *adjective_form(const Adjective *adjective, Gender gender, bool plural)
{
    if (gender == MASCULINE) return plural ? adjective->masculine_plural : adjective->masculine;
    return plural ? adjective->feminine_plural : adjective->feminine;
}

enum { ATTRIBUTE_BEFORE, ATTRIBUTE_AFTER, PREDICATE };

static const Adjective *draw_adjective(Draw *draw, unsigned kinds, int use)
{
    const Adjective *fitting[64];
    int n = 0;
    for (int i = 0; i < n_adjectives; i++) {
        const Adjective *adjective = &adjectives[i];
        bool usable = use == PREDICATE ? adjective->predicative : adjective->before_noun == (use == ATTRIBUTE_BEFORE);
        if (usable && adjective->kinds & kinds && n < (int)COUNT(fitting)) fitting[n++] = adjective;
    }
    return n ? fitting[draw_below(draw, n)] : NULL;
}

const Adjective *adjective_for(Draw *draw, unsigned kinds)
{
    return draw_adjective(draw, kinds, PREDICATE);
}

static const Noun *draw_noun(Draw *draw, unsigned kinds, unsigned determiners, Number number)
{
    const Noun *fitting[256];
    int n = 0;
    for (int i = 0; i < n_nouns; i++) {
        const Noun *noun = &nouns[i];
        if (!(noun->kinds & kinds) || (number == PLURAL && !noun->en_plural)) continue;
        if (noun->kinds & KIN && !(determiners & (DET_POSSESSIVE | DET_OWNER))) continue;
        if (n < (int)COUNT(fitting)) fitting[n++] = noun;
    }
    CHECK(n > 0, "no noun of kinds %#x", kinds);
    return fitting[draw_below(draw, n)];
}

/* One of the determiners that suit the noun and the number. */
static unsigned draw_determiner(Draw *draw, const Noun *noun, unsigned determiners, Number number)
{
    static const int usual[N_DETERMINERS] = {24, 14, 8, 12, 7, 5, 3, 3, 3, 3, 30, 30, 14};
    const unsigned plural_only = DET_NUMBER | DET_THE_NUMBER | DET_MANY | DET_ALL;
    if (noun->kinds & KIN) determiners &= DET_POSSESSIVE | DET_OWNER;
    if (noun->kinds & PUBLIC) determiners &= ~(unsigned)(DET_POSSESSIVE | DET_OWNER);
    if (!noun->en_plural) determiners &= ~(plural_only | DET_EVERY);
    if (number == SINGULAR) determiners &= ~plural_only;
    if (number == PLURAL) determiners &= ~(unsigned)DET_EVERY;
    int weights[N_DETERMINERS];
    for (int i = 0; i < N_DETERMINERS; i++) weights[i] = determiners >> i & 1 ? usual[i] : 0;
    if (!noun->en_plural && determiners & DET_A) weights[1] *= 2; /* "some bread" is what one eats */
    return 1u << draw_weighted(draw, weights, N_DETERMINERS);
}

static bool draw_plural(Draw *draw, const Noun *noun, unsigned determiner, Number number)
{
    if (!noun->en_plural) return false;
    if (number != ANY_NUMBER) return number == PLURAL;
    if (determiner & DET_EVERY) return false;
    if (determiner & (DET_NUMBER | DET_THE_NUMBER | DET_MANY | DET_ALL | DET_DE | DET_GENERIC | DET_NOTHING)) return true;
    return draw_percent(draw, determiner & DET_THIS ? 45 : 38);
}

/* Add the determiner's forms, `next` being the French word after it. */
static void add_determiner(Pair *text, const Determiner *determiner, const Noun *noun, bool plural, const char *next)
{
    bool feminine = noun->gender == FEMININE;
    const char *fr = feminine ? determiner->feminine : determiner->masculine;
    const char *before_vowel = feminine ? determiner->feminine_vowel : determiner->masculine_vowel;
    if (plural) fr = feminine ? determiner->feminine_plural : determiner->masculine_plural;
    else if (before_vowel && lexicon_vowel(next)) fr = before_vowel;
    pair_add(text, plural ? determiner->en_plural : determiner->en, fr);
}

/* "some bread", du pain; "a cat", un chat; "some small cats", de petits chats. */
static void add_indefinite(Pair *text, const Noun *noun, bool plural, const Adjective *before, const char *next)
{
    if (!noun->en_plural) {
        pair_add(text, "some", "de");
        text_add(&text->fr, noun->gender == FEMININE ? "la" : "le");
    } else if (plural && before) {
        pair_add(text, "some", "de");
    } else {
        add_determiner(text, &determiner_a, noun, plural, next);
    }
}

/* The table entry behind one of the plainer determiners; of the possessives and the numbers, any. */
static const Determiner *determiner_entry(Draw *draw, unsigned determiner)
{
    switch (determiner) {
    case DET_THIS: return &determiner_this;
    case DET_POSSESSIVE: return &possessives[draw_below(draw, n_possessives)];
    case DET_NUMBER: return &numbers[draw_below(draw, n_numbers)];
    case DET_MANY: return &determiner_many;
    case DET_ALL: return &determiner_all;
    case DET_EVERY: return &determiner_every;
    default: return &determiner_the;
    }
}

static void add_any_determiner(Draw *draw, Pair *text, unsigned determiner, const Noun *noun, bool plural,
                               const Adjective *before, const char *next)
{
    if (determiner == DET_A) {
        add_indefinite(text, noun, plural, before, next);
    } else if (determiner == DET_DE) {
        text_add(&text->fr, "de");
    } else if (determiner == DET_NOTHING) {
        text_add(&text->en, "some");
    } else {
        Text en = text->en;
        add_determiner(text, determiner_entry(draw, determiner), noun, plural, next);
        if (determiner == DET_THE_NUMBER) add_determiner(text, determiner_entry(draw, DET_NUMBER), noun, plural, next);
        if (determiner & (DET_GENERIC | DET_OWNER)) text->en = en; /* English has none, or has its own already */
    }
}

/* Whose it is: "Paul", "the boy", "my sister" (but not of "brother"); English gets its 's. */
static Pair draw_owner(Draw *draw, const Noun *noun)
{
    unsigned determiners = noun->kinds & KIN ? DET_THE : DET_THE | DET_POSSESSIVE;
    NounPhrase owner = draw_percent(draw, 45)
                           ? name_phrase(draw)
                           : noun_phrase(draw, PERSON, determiners, draw_percent(draw, 36) ? PLURAL : SINGULAR, 0);
    const char *en = owner.text.en.words;
    text_add(&owner.text.en, owner.person == ILS && en[strlen(en) - 1] == 's' ? "'" : "'s");
    return owner.text;
}

NounPhrase noun_phrase(Draw *draw, unsigned kinds, unsigned determiners, Number number, int adjective_percent)
{
    const Noun *noun = draw_noun(draw, kinds, determiners, number);
    unsigned determiner = draw_determiner(draw, noun, determiners, number);
    bool plural = draw_plural(draw, noun, determiner, number);
    const Adjective *before = NULL, *after = NULL;
    if (draw_percent(draw, adjective_percent)) {
        int place = draw_below(draw, 100); /* one before, one after, rarely both */
        if (place < 60) before = draw_adjective(draw, noun->kinds, ATTRIBUTE_BEFORE);
        if (place >= 52) after = draw_adjective(draw, noun->kinds, ATTRIBUTE_AFTER);
    }
    const char *fr = plural ? noun->fr_plural : noun->fr, *fr_before = NULL;
    if (before) {
        bool vowel = noun->gender == MASCULINE && !plural && lexicon_vowel(fr);
        fr_before = vowel && before->before_vowel ? before->before_vowel : adjective_form(before, noun->gender, plural);
    }

    NounPhrase phrase = {.person = plural ? ILS : IL, .gender = noun->gender, .kinds = noun->kinds,
                         .quantified = !(determiner & DET_DEFINITE)};
    Pair *text = &phrase.text, owner = {0};
    if (determiner == DET_OWNER) {
        owner = draw_owner(draw, noun);
        *text = (Pair){.en = owner.en};
    }
    add_any_determiner(draw, text, determiner, noun, plural, before, fr_before ? fr_before : fr);
    if (before) pair_add(text, before->en, fr_before);
    if (after) text_add(&text->en, after->en);
    pair_add(text, plural ? noun->en_plural : noun->en, fr);
    if (after) text_add(&text->fr, adjective_form(after, noun->gender, plural));
    if (determiner == DET_OWNER) {
        text_add(&text->fr, "de");
        text_add(&text->fr, owner.fr.words);
    }
    return phrase;
}

NounPhrase name_phrase(Draw *draw)
{
    const Name *name = &names[draw_below(draw, n_names)];
    NounPhrase phrase = {.person = IL, .gender = name->gender, .kinds = PERSON};
    pair_add(&phrase.text, name->text, name->text);
    return phrase;
}

NounPhrase couple_phrase(Draw *draw)
{
    bool are_names = draw_percent(draw, 50);
    NounPhrase one, other;
    do {
        one = are_names ? name_phrase(draw) : noun_phrase(draw, PERSON, DET_THE | DET_POSSESSIVE, SINGULAR, 0);
        other = are_names ? name_phrase(draw) : noun_phrase(draw, PERSON, DET_THE | DET_POSSESSIVE, SINGULAR, 0);
    } while (!strcmp(one.text.en.words, other.text.en.words));
    pair_add(&one.text, "and", "et");
    pair_append(&one.text, &other.text);
    one.person = ILS;
    one.gender = one.gender == FEMININE && other.gender == FEMININE ? FEMININE : MASCULINE;
    return one;
}

Pair subject_pronoun(const NounPhrase *phrase)
{
    Pair pronoun = {0};
    bool feminine = phrase->gender == FEMININE;
    if (phrase->person == ILS) pair_add(&pronoun, "they", feminine ? "elles" : "ils");
    else if (phrase->kinds & PERSON) pair_add(&pronoun, feminine ? "she" : "he", feminine ? "elle" : "il");
    else pair_add(&pronoun, "it", feminine ? "elle" : "il");
    return pronoun;
}

static const char *english_object(const NounPhrase *phrase)
{
    if (phrase->person == ILS) return "them";
    if (phrase->kinds & PERSON) return phrase->gender == FEMININE ? "her" : "him";
    return "it";
}

Pair object_pronoun(const NounPhrase *phrase)
{
    Pair pronoun = {0};
    pair_add(&pronoun, english_object(phrase), phrase->person == ILS ? "les" : phrase->gender == FEMININE ? "la" : "le");
    return pronoun;
}

Pair dative_pronoun(const NounPhrase *phrase)
{
    Pair pronoun = {0};
    pair_add(&pronoun, english_object(phrase), phrase->person == ILS ? "leur" : "lui");
    return pronoun;
}
