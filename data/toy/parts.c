#include "data/toy/parts.h"

#include <string.h>

#include "core/error.h"

const NounPhrase person_i = {.text = {{"I"}, {"je"}}, .person = JE, .kinds = PERSON, .pronoun = true};
const NounPhrase person_you = {.text = {{"you"}, {"vous"}}, .person = VOUS, .kinds = PERSON, .pronoun = true};
const NounPhrase person_who = {.text = {{"who"}, {"qui"}}, .person = IL, .kinds = PERSON | PUBLIC, .pronoun = true};

Tense draw_tense(Draw *draw)
{
    static const int weights[] = {36, 31, 33};
    return (Tense)draw_weighted(draw, weights, COUNT(weights));
}

Polarity draw_polarity(Draw *draw, Tense tense)
{
    static const int weights[3][4] = {{74, 14, 7, 5}, {82, 14, 4, 0}, {80, 13, 4, 3}};
    return (Polarity)draw_weighted(draw, weights[tense], 4);
}

static NounPhrase he_or_she(Draw *draw)
{
    NounPhrase phrase = {.person = IL, .kinds = PERSON, .pronoun = true};
    phrase.gender = draw_percent(draw, 50) ? FEMININE : MASCULINE;
    phrase.text = subject_pronoun(&phrase);
    return phrase;
}

NounPhrase draw_somebody(Draw *draw)
{
    static const int weights[] = {28, 22, 50};
    switch (draw_weighted(draw, weights, COUNT(weights))) {
    case 0: return name_phrase(draw);
    case 1: return he_or_she(draw);
    default: return noun_phrase(draw, PERSON, DET_SUBJECT, SINGULAR, 20);
    }
}

NounPhrase draw_subject(Draw *draw, Tense tense, unsigned kinds, Who who)
{
    static const Expression pronouns[] = {{"I", "je"}, {"we", "nous"}, {"you", "vous"}};
    static const int weights[3][N_PERSONS] = {{22, 18, 12, 28, 20}, {14, 7, 6, 46, 27}, {23, 18, 17, 24, 18}};
    int persons[N_PERSONS];
    memcpy(persons, weights[tense], sizeof persons);
    if (who == ASKED) persons[JE] = 0, persons[VOUS] *= 3;
    if (who == THIRD_PERSON) persons[JE] = persons[NOUS] = persons[VOUS] = 0;
    Person person = (Person)draw_weighted(draw, persons, N_PERSONS);
    if (person < IL) {
        NounPhrase phrase = {.person = person, .kinds = PERSON, .pronoun = true};
        pair_add(&phrase.text, pronouns[person].en, pronouns[person].fr);
        return phrase;
    }
    if (kinds & ANIMAL && draw_percent(draw, 35))
        return noun_phrase(draw, ANIMAL, DET_SUBJECT, person == IL ? SINGULAR : PLURAL, 25);
    if (person == IL) return draw_somebody(draw);
    if (draw_percent(draw, 22)) return couple_phrase(draw);
    return noun_phrase(draw, PERSON, DET_SUBJECT, PLURAL, 20);
}

Pair draw_object_pronoun(Draw *draw, const NounPhrase *subject, bool dative)
{
    static const struct {
        const char *en, *accusative, *dative;
        int same_as; /* the subject that would make it reflexive */
    } table[] = {{"me", "me", "me", JE},      {"us", "nous", "nous", NOUS}, {"you", "vous", "vous", VOUS},
                 {"him", "le", "lui", -1},    {"her", "la", "lui", -1},     {"them", "les", "leur", -1}};
    static const int weights[] = {24, 24, 13, 16, 16, 12};
    int i;
    /* "We see me" and "I see us" are no better than "I see me". */
    do i = draw_weighted(draw, weights, COUNT(weights));
    while (table[i].same_as == (int)subject->person || (i < 2 && subject->person <= NOUS));
    Pair pronoun = {0};
    pair_add(&pronoun, table[i].en, dative ? table[i].dative : table[i].accusative);
    return pronoun;
}

/* What the verb of the clause is done to, where it goes, whom it talks to. */
static void add_object(Draw *draw, Clause *clause)
{
    const Verb *verb = clause->verb;
    if (!strcmp(verb->en, "stay") && draw_percent(draw, 85)) clause->rest = draw_place(draw);
    if (verb->class == INTRANSITIVE) return;
    if (verb->class == PREPOSITIONAL && verb->objects == PERSON && draw_percent(draw, 40)) {
        clause->pronoun = draw_object_pronoun(draw, &clause->subject, true);
        return;
    }
    unsigned determiners = DET_OBJECT;
    Number number = ANY_NUMBER;
    if (verb->class == MOTION) {
        determiners = DET_THE | DET_THIS | DET_POSSESSIVE | DET_OWNER;
        number = SINGULAR;
    } else if (verb->class == PREPOSITIONAL) {
        determiners = DET_DEFINITE | DET_NUMBER; /* no "de" before "des" */
        number = draw_percent(draw, 50) ? SINGULAR : PLURAL;
    } else if (verb == lexicon_verb("love", NULL)) {
        determiners = DET_THE | DET_THIS | DET_POSSESSIVE | DET_OWNER | DET_GENERIC;
    } else if (clause->polarity != POSITIVE) {
        determiners = DET_DEFINITE | (verb->objects & PERSON ? 0 : DET_DE);
    } else if (verb == lexicon_verb("wear", NULL)) {
        determiners = DET_THE | DET_A | DET_THIS | DET_POSSESSIVE | DET_OWNER;
        number = SINGULAR;
    }
    NounPhrase object = verb->objects & PERSON && draw_percent(draw, 12)
                            ? name_phrase(draw)
                            : noun_phrase(draw, verb->objects, determiners, number, 38);
    clause->rest = object.text;
}

static void fill_action(Draw *draw, Clause *clause, Mood mood)
{
    if (mood == NEGATABLE && !clause->subject.quantified) clause->polarity = draw_polarity(draw, clause->tense);
    add_object(draw, clause);
}

/* Any verb but a ditransitive one, the lonely ones more often: they have fewer patterns of their own. */
static const Verb *draw_verb(Draw *draw)
{
    static const int by_class[] = {
        [TRANSITIVE] = 10, [DITRANSITIVE] = 0, [PREPOSITIONAL] = 7, [INTRANSITIVE] = 20, [MOTION] = 16};
    int weights[64];
    CHECK(n_verbs <= (int)COUNT(weights), "too many verbs");
    for (int i = 0; i < n_verbs; i++) weights[i] = verbs[i].preceded ? 4 : by_class[verbs[i].class];
    return &verbs[draw_weighted(draw, weights, n_verbs)];
}

Clause draw_action(Draw *draw, Tense tense, Who who, Mood mood)
{
    Clause clause = {.tense = tense};
    clause.verb = draw_verb(draw);
    if (clause.verb->etre && tense == PAST) who = THIRD_PERSON; /* the participle agrees */
    clause.subject = draw_subject(draw, tense, clause.verb->subjects, who);
    fill_action(draw, &clause, mood);
    return clause;
}

Clause draw_action_of(Draw *draw, Tense tense, const NounPhrase *subject, Mood mood)
{
    Clause clause = {.tense = tense, .subject = *subject};
    do clause.verb = draw_verb(draw);
    while (!(clause.verb->subjects & subject->kinds));
    CHECK(tense != PAST || subject->person >= IL, "no gender known");
    fill_action(draw, &clause, mood);
    return clause;
}

Clause draw_lonely_action(Draw *draw, Tense tense)
{
    Clause clause = {.tense = tense};
    do clause.verb = draw_verb(draw);
    while (!(clause.verb->class == INTRANSITIVE || clause.verb->class == MOTION ||
             (clause.verb->class == TRANSITIVE && !(clause.verb->objects & LIVING))));
    unsigned kinds = clause.verb->objects ? PERSON : clause.verb->subjects;
    clause.subject = draw_subject(draw, tense, kinds, tense == PAST ? THIRD_PERSON : ANYBODY);
    fill_action(draw, &clause, NEGATABLE);
    return clause;
}

static Clause draw_state(Draw *draw, Tense tense, const NounPhrase *subject)
{
    Clause clause = {.tense = tense, .subject = *subject, .verb = &verb_state};
    const Expression *state = &states[draw_below(draw, n_states)];
    pair_add(&clause.rest, state->en, state->fr);
    if (!subject->quantified && draw_percent(draw, 12)) clause.polarity = NOT;
    return clause;
}

/* "is thirty years old"; the young ones among the nouns and the grown-ups are told apart by kind. */
static Clause draw_age(Draw *draw, Tense tense, const NounPhrase *subject)
{
    static const Expression tens[] = {{"twenty", "vingt"}, {"thirty", "trente"}, {"fifty", "cinquante"}};
    Clause clause = {.tense = tense, .subject = *subject, .verb = &verb_state};
    if (subject->kinds & PERSON) {
        const Expression *age = &tens[draw_below(draw, COUNT(tens))];
        pair_add(&clause.rest, age->en, age->fr);
    } else {
        const Determiner *number = &numbers[draw_below(draw, n_numbers)];
        pair_add(&clause.rest, number->en_plural, number->masculine_plural);
    }
    pair_add(&clause.rest, "years old", "ans");
    return clause;
}

static Clause draw_quality(Draw *draw, Tense tense, const NounPhrase *subject)
{
    Clause clause = {.tense = tense, .subject = *subject, .verb = &verb_be};
    const Adjective *adjective = adjective_for(draw, subject->kinds);
    CHECK(adjective, "no adjective for %s", subject->text.en.words);
    if (draw_percent(draw, 18)) pair_add(&clause.rest, "very", "très");
    else if (draw_percent(draw, 12)) pair_add(&clause.rest, "too", "trop");
    pair_add(&clause.rest, adjective->en, adjective_form(adjective, subject->gender, subject->person == ILS));
    if (!subject->quantified && draw_percent(draw, 14)) clause.polarity = draw_percent(draw, 70) ? NOT : NO_LONGER;
    return clause;
}

Clause draw_description_of(Draw *draw, Tense tense, const NounPhrase *subject)
{
    bool living = subject->kinds & LIVING, aged = subject->kinds & ANIMAL || !(subject->kinds & PUBLIC);
    if (living && aged && draw_percent(draw, 30)) return draw_age(draw, tense, subject);
    if (living && (subject->person < IL || draw_percent(draw, 25))) return draw_state(draw, tense, subject);
    return draw_quality(draw, tense, subject);
}

Clause draw_description(Draw *draw, Tense tense)
{
    NounPhrase subject;
    if (draw_percent(draw, 45)) {
        subject = draw_subject(draw, tense, LIVING, ANYBODY);
    } else {
        unsigned kinds = draw_percent(draw, 40) ? PLACE : THING | FRUIT | MASS;
        subject = noun_phrase(draw, kinds, DET_DEFINITE | DET_ALL | DET_EVERY, ANY_NUMBER, 12);
    }
    return draw_description_of(draw, tense, &subject);
}

Clause draw_reason(Draw *draw, Tense tense, const NounPhrase *subject)
{
    if (subject->person < IL || draw_percent(draw, 50)) return draw_state(draw, tense, subject);
    for (;;) {
        const Adjective *adjective = adjective_for(draw, subject->kinds);
        if (adjective->kinds & ~(unsigned)LIVING) continue; /* it might be said of another noun of the sentence */
        Clause clause = {.tense = tense, .subject = *subject, .verb = &verb_be};
        pair_add(&clause.rest, adjective->en, adjective_form(adjective, subject->gender, subject->person == ILS));
        return clause;
    }
}

static Pair placed(Draw *draw, const char *en, const char *fr, unsigned kinds)
{
    Pair place = {0};
    pair_add(&place, en, fr);
    NounPhrase phrase = noun_phrase(draw, kinds, DET_THE | DET_THIS | DET_POSSESSIVE | DET_OWNER, SINGULAR, 15);
    pair_append(&place, &phrase.text);
    return place;
}

Pair draw_place(Draw *draw)
{
    static const int weights[] = {50, 14, 10, 12, 14};
    switch (draw_weighted(draw, weights, COUNT(weights))) {
    case 0: return placed(draw, "in", "dans", INSIDE);
    case 1: return placed(draw, "near", "près de", BUILDING);
    case 2: return placed(draw, "behind", "derrière", BUILDING);
    case 3: return placed(draw, "in front of", "devant", BUILDING);
    default: return placed(draw, "next to", "à côté de", BUILDING);
    }
}

Pair draw_furniture_place(Draw *draw, bool under_too)
{
    if (under_too && draw_percent(draw, 50)) return placed(draw, "under", "sous", FURNITURE);
    return placed(draw, "on", "sur", FURNITURE);
}

Pair draw_time(Draw *draw, Tense tense)
{
    Pair time = {0};
    const Expression *expression = &times[tense][draw_below(draw, n_times[tense])];
    pair_add(&time, expression->en, expression->fr);
    return time;
}

bool clause_takes_time(const Clause *clause)
{
    if (clause->adverb || !strcmp(clause->verb->en, "love")) return false;
    return clause->polarity == POSITIVE || clause->polarity == NOT;
}

static bool takes_place(const Clause *clause)
{
    static const char *const without[] = {"love", "wear", "leave", "open", "stay"};
    if (clause->verb->class == MOTION) return false;
    for (size_t i = 0; i < COUNT(without); i++)
        if (!strcmp(clause->verb->en, without[i])) return false;
    return true;
}

void add_circumstances(Draw *draw, Clause *clause)
{
    if (clause->polarity == POSITIVE && strcmp(clause->verb->en, "love") && draw_percent(draw, 14))
        clause->adverb = &adverbs[clause->tense][draw_below(draw, n_adverbs[clause->tense])];
    if (takes_place(clause) && draw_percent(draw, 32)) {
        Pair place = draw_place(draw);
        pair_append(&clause->rest, &place);
    }
    if (clause_takes_time(clause) && draw_percent(draw, 45)) {
        Pair time = draw_time(draw, clause->tense);
        pair_append(&clause->rest, &time);
    }
}
