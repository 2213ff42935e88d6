#include "data/toy/clause.h"

#include <string.h>

#include "core/error.h"

/* The English verb in two pieces, between which the subject of a question stands; one may be empty. */
static void english_verb(const Clause *clause, bool question, Text *auxiliary, Text *main_verb)
{
    static const char *const be[2][N_PERSONS] = {{"am", "are", "are", "is", "are"}, {"was", "were", "were", "was", "were"}};
    const Verb *verb = clause->verb;
    Person person = clause->subject.person;
    bool past = clause->tense == PAST || clause->tense == IMPERFECT;
    if (clause->tense == FUTURE) {
        text_add(auxiliary, "will");
        text_add(main_verb, verb->en);
    } else if (!strcmp(verb->en, "be")) {
        text_add(auxiliary, be[past][person]);
    } else if (question || clause->polarity == NOT) {
        text_add(auxiliary, past ? "did" : person == IL ? "does" : "do");
        text_add(main_verb, verb->en);
    } else {
        text_add(main_verb, past ? verb->en_past : person == IL ? verb->en_third : verb->en);
    }
}

static void english_predicate(const Clause *clause, const Text *auxiliary, const Text *main_verb, Text *text)
{
    static const char *const negations[] = {"", "not", "never", "no longer"};
    text_add(text, auxiliary->words);
    text_add(text, negations[clause->polarity]);
    if (clause->adverb) text_add(text, clause->adverb->en);
    text_add(text, main_verb->words);
    text_add(text, clause->verb->particle);
    text_add(text, clause->pronoun.en.words);
    text_add(text, clause->rest.en.words);
}

/* The finite form of a simple tense: present, future, imperfect. */
static void french_finite(const Verb *verb, Tense tense, Person person, Text *text)
{
    static const char *const future[N_PERSONS] = {"ai", "ons", "ez", "a", "ont"};
    if (tense == FUTURE) {
        Text form = {""};
        CHECK(strlen(verb->future) + 4 < TEXT_SIZE, "stem too long");
        strcat(strcpy(form.words, verb->future), future[person]);
        text_add(text, form.words);
    } else if (tense == IMPERFECT) {
        text_add(text, verb == &verb_be ? imperfect_be[person] : imperfect_have[person]);
    } else {
        text_add(text, verb->present[person]);
    }
}

static void french_participle(const Clause *clause, Text *text)
{
    bool agrees = clause->verb->etre || clause->preceded;
    Gender gender = clause->verb->etre ? clause->subject.gender : clause->object_gender;
    bool plural = clause->verb->etre ? clause->subject.person == ILS : clause->object_plural;
    CHECK(!clause->verb->etre || clause->subject.person >= IL, "no gender known to agree with");
    text_add(text, clause->verb->participle);
    if (agrees && gender == FEMININE) strcat(text->words, "e");
    if (agrees && plural) strcat(text->words, "s");
}

static void french_predicate(const Clause *clause, Text *text)
{
    static const char *const negations[] = {"", "pas", "jamais", "plus"};
    const Verb *verb = clause->verb, *auxiliary = verb->etre ? &verb_be : &verb_have;
    if (clause->polarity != POSITIVE) text_add(text, "ne");
    text_add(text, clause->pronoun.fr.words);
    if (clause->tense == PAST) french_finite(auxiliary, PRESENT, clause->subject.person, text);
    else french_finite(verb, clause->tense, clause->subject.person, text);
    text_add(text, negations[clause->polarity]);
    if (clause->adverb) text_add(text, clause->adverb->fr);
    if (clause->tense == PAST) french_participle(clause, text);
    if (!*clause->pronoun.fr.words && *clause->rest.fr.words) text_add(text, verb->preposition);
    text_add(text, clause->rest.fr.words);
}

Pair clause_predicate(const Clause *clause)
{
    Pair pair = {0};
    Text auxiliary = {""}, main_verb = {""};
    english_verb(clause, false, &auxiliary, &main_verb);
    english_predicate(clause, &auxiliary, &main_verb, &pair.en);
    french_predicate(clause, &pair.fr);
    return pair;
}

Pair clause_statement(const Clause *clause)
{
    Pair pair = clause->subject.text, predicate = clause_predicate(clause);
    pair_append(&pair, &predicate);
    return pair;
}

Pair clause_continued(const Clause *clause)
{
    Pair pair = clause_predicate(clause);
    Text none = {""}, base = {""};
    if (clause->tense != FUTURE || clause->polarity != POSITIVE) return pair;
    text_add(&base, clause->verb->en);
    pair.en = none;
    english_predicate(clause, &none, &base, &pair.en);
    return pair;
}

Pair clause_question(const Clause *clause, const char *en, const char *fr)
{
    Pair pair = {0};
    Text auxiliary = {""}, main_verb = {""}, none = {""};
    english_verb(clause, true, &auxiliary, &main_verb);
    text_add(&pair.en, en);
    text_add(&pair.en, auxiliary.words);
    text_add(&pair.en, clause->subject.text.en.words);
    english_predicate(clause, &none, &main_verb, &pair.en);
    text_add(&pair.fr, fr);
    text_add(&pair.fr, "est-ce que");
    text_add(&pair.fr, clause->subject.text.fr.words);
    french_predicate(clause, &pair.fr);
    return pair;
}

void clause_precede(Clause *clause, const NounPhrase *object)
{
    clause->preceded = true;
    clause->object_gender = object->gender;
    clause->object_plural = object->person == ILS;
}
