/* Clauses of the toy corpus: the verb with all that gathers around it, in English (do, will, not) and in French (ne ... pas,
 * object pronouns, auxiliary and participle, agreement). */
#ifndef FERRY_DATA_TOY_CLAUSE_H
#define FERRY_DATA_TOY_CLAUSE_H

#include "data/toy/phrase.h"

typedef enum Polarity { POSITIVE, NOT, NEVER, NO_LONGER } Polarity;

typedef struct Clause {
    NounPhrase subject;
    const Verb *verb;
    Tense tense;
    Polarity polarity;
    const Expression *adverb; /* before the English verb and after the finite French one, or NULL */
    Pair pronoun;             /* an object: after the verb in English, before it in French; may be empty */
    bool preceded;            /* the participle (with avoir) agrees with an object before the verb: */
    Gender object_gender;
    bool object_plural;
    Pair rest; /* what follows: objects, places, times */
} Clause;

/* The clause as a statement: "the boy does not eat the apple". */
Pair clause_statement(const Clause *clause);
/* Without its subject: "does not eat the apple". */
Pair clause_predicate(const Clause *clause);
/* As a question, after a question word or nothing ("", ""): "where does the boy sleep", où est-ce que le garçon dort. */
Pair clause_question(const Clause *clause, const char *en, const char *fr);
/* Predicate without the "will" of a clause before it: "(will buy the apple and) eat it", et la mangera. */
Pair clause_continued(const Clause *clause);
/* Make the participle agree with the noun phrase that stands before the verb as its object. */
void clause_precede(Clause *clause, const NounPhrase *object);

#endif
