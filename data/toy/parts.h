/* The parts of which the sentences of the toy corpus are made: who does what to whom, where and when, drawn at random. */
#ifndef FERRY_DATA_TOY_PARTS_H
#define FERRY_DATA_TOY_PARTS_H

#include "data/toy/clause.h"

/* Which persons a subject may be. The gender of "I", "we" and "you" is not known. */
typedef enum Who {
    ANYBODY,
    ASKED, /* in a question: no "I" */
    THIRD_PERSON,
} Who;

extern const NounPhrase person_i, person_you, person_who;

Tense draw_tense(Draw *draw);
Polarity draw_polarity(Draw *draw, Tense tense);
NounPhrase draw_subject(Draw *draw, Tense tense, unsigned kinds, Who who);
/* A person who is a single one: "Paul", "she", "my brother". */
NounPhrase draw_somebody(Draw *draw);
/* A pronoun as an object that is not the subject: me, you, him, her, us, them; with the French dative if asked for. */
Pair draw_object_pronoun(Draw *draw, const NounPhrase *subject, bool dative);

/* Whether a clause may be negative. The form of its object depends on that: "bread" is du pain, but pas de pain. */
typedef enum Mood { AFFIRMATIVE, NEGATABLE } Mood;

/* A clause with a verb that does something; its subject is drawn, or given. No times or places yet. */
Clause draw_action(Draw *draw, Tense tense, Who who, Mood mood);
Clause draw_action_of(Draw *draw, Tense tense, const NounPhrase *subject, Mood mood);
/* What somebody does alone or with lifeless things; it may be negative. */
Clause draw_lonely_action(Draw *draw, Tense tense);
/* "is cold", "is hungry", "is ten years old". */
Clause draw_description(Draw *draw, Tense tense);
Clause draw_description_of(Draw *draw, Tense tense, const NounPhrase *subject);
/* What may be the reason for what a living being does: "is tired", "was hungry". */
Clause draw_reason(Draw *draw, Tense tense, const NounPhrase *subject);

/* "in the garden" */
Pair draw_place(Draw *draw);
/* "on the table", or also "under the bed" */
Pair draw_furniture_place(Draw *draw, bool under_too);
/* "yesterday" */
Pair draw_time(Draw *draw, Tense tense);
/* Whether the clause reads well with a time. */
bool clause_takes_time(const Clause *clause);
/* Perhaps an adverb, a place, a time. */
void add_circumstances(Draw *draw, Clause *clause);

#endif
