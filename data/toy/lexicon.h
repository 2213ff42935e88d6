/* The words of the toy corpus: nouns, adjectives, verbs, determiners, adverbs, each with its English and French forms.
 * The grammar (clause.h, sentence.c) combines them; nothing here is drawn at random. */
#ifndef FERRY_DATA_TOY_LEXICON_H
#define FERRY_DATA_TOY_LEXICON_H

#include <stdbool.h>

typedef enum Gender { MASCULINE, FEMININE } Gender;

/* The persons of a verb. There is no "tu" (English "you" is always "vous") and no bare "they". */
typedef enum Person { JE, NOUS, VOUS, IL, ILS } Person;
enum { N_PERSONS = 5 };

/* IMPERFECT is for être and avoir in a reason ("because he was tired"); every other English past is a passé composé. */
typedef enum Tense { PRESENT, PAST, FUTURE, IMPERFECT } Tense;

/* What a noun can be used for; a noun may have several. Verbs and adjectives name the kinds that they go with. */
enum {
    PERSON = 1 << 0,
    KIN = 1 << 1, /* always somebody's: "my brother" */
    ANIMAL = 1 << 2,
    FRUIT = 1 << 3, /* food to count */
    FOOD = 1 << 4,  /* food to measure: no plural, partitive article in French */
    DRINK = 1 << 5, /* likewise */
    TEXT = 1 << 6,
    OBJECT = 1 << 7,
    CONTAINER = 1 << 8, /* can be opened */
    CLOTHES = 1 << 9,
    VEHICLE = 1 << 10,
    TRANSPORT = 1 << 11, /* one waits for it */
    OPENING = 1 << 12,
    PLANT = 1 << 13,
    FURNITURE = 1 << 14,
    INSIDE = 1 << 15,   /* one can be "in" (dans) it */
    GOAL = 1 << 16,     /* one goes "to" (à) it */
    SIGHT = 1 << 17,    /* one visits it */
    BUILDING = 1 << 18, /* one stands "near" or "behind" it: also a tree, a garden */
    PUBLIC = 1 << 19,   /* nobody's: no "my", no "Paul's" */
    ADULT = 1 << 20,    /* "vieux garçon" and "vieille fille" would be unmarried people: "old" is not for children */
    LIVING = PERSON | ANIMAL,
    MASS = FOOD | DRINK,
    PLACE = INSIDE | GOAL | SIGHT | BUILDING,
    THING = TEXT | OBJECT | CLOTHES | VEHICLE | TRANSPORT | OPENING | PLANT | FURNITURE,
};

typedef struct Noun {
    const char *en, *en_plural; /* the plural is NULL for a mass noun */
    const char *fr, *fr_plural;
    Gender gender;
    unsigned kinds;
} Noun;

typedef struct Name {
    const char *text; /* the same in both languages */
    Gender gender;
} Name;

typedef struct Adjective {
    const char *en, *comparative; /* "older", "more famous"; NULL: not compared */
    const char *masculine, *masculine_plural, *feminine, *feminine_plural;
    const char *before_vowel; /* masculine singular before a vowel (vieil), or NULL */
    bool before_noun;
    bool predicative; /* can follow "is" */
    unsigned kinds;
} Adjective;

typedef enum VerbClass {
    TRANSITIVE,
    DITRANSITIVE,  /* with a thing (`objects`) and somebody to whom */
    PREPOSITIONAL, /* with a person or a topic after a preposition */
    INTRANSITIVE,
    MOTION, /* with a place (`objects`) after a preposition */
} VerbClass;

typedef struct Verb {
    VerbClass class;
    const char *en, *en_third, *en_past; /* eat, eats, ate */
    const char *particle;                /* "for" in "look for", or NULL */
    const char *present[N_PERSONS];
    const char *future; /* stem: "manger" */
    const char *participle;
    const char *preposition; /* before the object in French: "à" in "parler à", or NULL */
    bool etre;               /* the passé composé takes être, and the participle agrees with the subject */
    bool preceded;           /* used in the past with an object before it, with which the participle agrees */
    unsigned subjects, objects;
} Verb;

typedef struct Determiner {
    const char *en, *en_plural; /* NULL: has no such form */
    const char *masculine, *feminine, *masculine_plural, *feminine_plural;
    const char *masculine_vowel, *feminine_vowel; /* before a vowel; NULL: as before a consonant */
} Determiner;

/* An English expression and the French one, whole. */
typedef struct Expression {
    const char *en, *fr;
} Expression;

/* A table and its length. */
#define COUNT(table) (sizeof(table) / sizeof *(table))

/* The tables; each `n_x` is the length of `x`. */
extern const Noun nouns[];
extern const int n_nouns;
extern const Name names[];
extern const int n_names;
extern const Adjective adjectives[];
extern const int n_adjectives;
extern const Verb verbs[];
extern const int n_verbs;
extern const Determiner possessives[], numbers[];
extern const int n_possessives, n_numbers;
extern const Determiner determiner_the, determiner_a, determiner_this, determiner_many, determiner_all, determiner_every;

/* verb_state is "be" in English and "avoir" in French: "is hungry", a faim; "is ten years old", a dix ans. */
extern const Verb verb_be, verb_have, verb_need, verb_state;
/* French imperfects of être and avoir, by person. */
extern const char *const imperfect_be[N_PERSONS], *const imperfect_have[N_PERSONS];

/* When something happens, at the start or the end of a clause, by tense (PRESENT, PAST, FUTURE). */
extern const Expression *const times[3];
extern const int n_times[3];
/* Adverbs before the English verb, after the finite French one, by tense. */
extern const Expression *const adverbs[3];
extern const int n_adverbs[3];
/* What one "is" in English and "has" in French: hungry, faim. */
extern const Expression states[];
extern const int n_states;

/* The verb whose English base form and particle these are ("talk", "to"). It must exist. */
const Verb *lexicon_verb(const char *en, const char *particle);
/* Whether the French word begins with a vowel sound, so that the word before it elides; knows the h aspiré. */
bool lexicon_vowel(const char *fr);

#endif
