/* Phrases of the toy corpus: drawing at random, text in two languages side by side, and the sounds at the joints of words.
 * The grammar writes full forms ("de", "le", "que" before anything); pair_finish turns them into what is spelled: elision
 * (l', j', d', n', qu'), contraction (du, des, au, aux), English "an", capitals and punctuation. */
#ifndef FERRY_DATA_TOY_PHRASE_H
#define FERRY_DATA_TOY_PHRASE_H

#include "core/random.h"
#include "data/toy/lexicon.h"

/* A stream of random bits and the position in it. No two draws may stand in one initializer or list of arguments: C leaves
 * their order open, and the corpus would depend on the compiler. */
typedef struct Draw {
    RandomStream stream;
    uint64_t position;
} Draw;

/* 0 .. n-1. */
int draw_below(Draw *draw, int n);
/* True `percent` times in 100. */
bool draw_percent(Draw *draw, int percent);
/* An index into weights[0 .. n-1], drawn in proportion to them (not all 0). */
int draw_weighted(Draw *draw, const int *weights, int n);

enum { TEXT_SIZE = 512 };

/* Words with single blanks between them. */
typedef struct Text {
    char words[TEXT_SIZE];
} Text;

/* The same thing in English and in French. */
typedef struct Pair {
    Text en, fr;
} Pair;

/* Append words; NULL and "" append nothing. */
void text_add(Text *text, const char *words);
/* Append to both sides. */
void pair_add(Pair *pair, const char *en, const char *fr);
void pair_append(Pair *pair, const Pair *more);
/* Make a sentence of the full forms, ended by '.' or '?': a plain blank stands before the French '?'. */
void pair_finish(Pair *pair, char end);

typedef struct NounPhrase {
    Pair text;
    Person person;
    Gender gender;
    unsigned kinds;
    bool pronoun;    /* I, we, you, he, she */
    bool quantified; /* "every", "all", "a", "two", "many": goes badly with a negation */
} NounPhrase;

/* Which determiners a noun phrase may have; the noun narrows the choice. */
enum {
    DET_THE = 1 << 0,
    DET_A = 1 << 1, /* "a", "some" */
    DET_THIS = 1 << 2,
    DET_POSSESSIVE = 1 << 3,
    DET_OWNER = 1 << 4, /* "the boy's": after the noun in French */
    DET_NUMBER = 1 << 5,
    DET_MANY = 1 << 6,
    DET_ALL = 1 << 7,
    DET_EVERY = 1 << 8,
    DET_THE_NUMBER = 1 << 9,
    DET_DE = 1 << 10,      /* none in English, "de" in French: after a negation */
    DET_GENERIC = 1 << 11, /* none in English, "le, la, les" in French: things in general */
    DET_NOTHING = 1 << 12, /* "some" in English, none in French: after "de" */
    N_DETERMINERS = 13,
    DET_DEFINITE = DET_THE | DET_THIS | DET_POSSESSIVE | DET_OWNER | DET_THE_NUMBER,
    DET_SUBJECT = DET_DEFINITE | DET_A | DET_NUMBER | DET_MANY | DET_ALL | DET_EVERY,
    DET_OBJECT = DET_DEFINITE | DET_A | DET_NUMBER | DET_MANY,
};

typedef enum Number { SINGULAR, PLURAL, ANY_NUMBER } Number;

/* A noun of one of the kinds with a determiner and, `adjectives` times in 100, an adjective before or after it in French.
 * A mass noun counts as singular; with PLURAL only nouns that have a plural are drawn. */
NounPhrase noun_phrase(Draw *draw, unsigned kinds, unsigned determiners, Number number, int adjectives);
NounPhrase name_phrase(Draw *draw);
/* "the boy and the girl", "Paul and Marie": plural, feminine if both are. */
NounPhrase couple_phrase(Draw *draw);

/* The form of the adjective that agrees (not the one before vowels). */
const char *adjective_form(const Adjective *adjective, Gender gender, bool plural);
/* A predicative adjective that goes with the kinds; NULL if there is none. */
const Adjective *adjective_for(Draw *draw, unsigned kinds);

/* The pronouns that stand for the phrase (third person). Object pronouns: le, la, les; dative: lui, leur. */
Pair subject_pronoun(const NounPhrase *phrase);
Pair object_pronoun(const NounPhrase *phrase);
Pair dative_pronoun(const NounPhrase *phrase);

#endif
