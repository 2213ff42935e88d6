#include "data/toy/sentence.h"

#include <string.h>

#include "core/error.h"
#include "data/toy/clause.h"
#include "data/toy/parts.h"

static Pair finished(Pair pair, char end)
{
    pair_finish(&pair, end);
    return pair;
}

/* One sentence after the other, both finished. */
static Pair two_sentences(Pair first, Pair second)
{
    pair_append(&first, &second);
    return first;
}

/* "Yesterday, Paul did not eat the soup." */
static Pair plain(Draw *draw)
{
    Clause clause = draw_action(draw, draw_tense(draw), ANYBODY, NEGATABLE);
    Pair pair = {0};
    bool habit = clause.tense == PRESENT && clause.polarity != POSITIVE; /* not "Every day, he does not work." */
    if (clause_takes_time(&clause) && !habit && draw_percent(draw, 12)) {
        pair = draw_time(draw, clause.tense);
        pair_add(&pair, ",", ",");
    } else {
        add_circumstances(draw, &clause);
    }
    Pair statement = clause_statement(&clause);
    pair_append(&pair, &statement);
    return finished(pair, '.');
}

/* "Open the door." "Do not talk to the king." The imperative is always the polite one. */
static Pair command(Draw *draw)
{
    static const char *const beyond[] = {"see", "find", "lose", "love", "arrive"}; /* what nobody can be told to do */
    Clause clause;
    bool possible;
    do {
        clause = draw_action_of(draw, PRESENT, &person_you, NEGATABLE);
        possible = true;
        for (size_t i = 0; i < COUNT(beyond); i++)
            if (!strcmp(clause.verb->en, beyond[i])) possible = false;
    } while (!possible);
    if (clause.polarity == NO_LONGER) clause.polarity = NOT;
    return finished(clause_predicate(&clause), '.');
}

/* "The soup is very cold." "The boys will be hungry." "My brother is ten years old." */
static Pair describe(Draw *draw)
{
    Clause clause = draw_description(draw, draw_percent(draw, 80) ? PRESENT : FUTURE);
    return finished(clause_statement(&clause), '.');
}

/* "Does the girl see the house?" */
static Pair ask(Draw *draw)
{
    Clause clause;
    if (draw_percent(draw, 75)) {
        clause = draw_action(draw, draw_tense(draw), ASKED, AFFIRMATIVE);
        add_circumstances(draw, &clause);
    } else {
        clause = draw_description(draw, PRESENT);
        clause.polarity = POSITIVE;
    }
    return finished(clause_question(&clause, NULL, NULL), '?');
}

/* "Where did she find the key?" "Why is the king sad?" "When will Paul arrive at the station?" */
static Pair ask_where(Draw *draw)
{
    static const Expression words[] = {{"where", "où"}, {"why", "pourquoi"}, {"when", "quand"}};
    int word = draw_below(draw, COUNT(words));
    Clause clause;
    if (word == 1 && draw_percent(draw, 40)) {
        clause = draw_description(draw, PRESENT);
    } else {
        do clause = draw_action(draw, word == 2 && draw_percent(draw, 50) ? FUTURE : draw_tense(draw), ASKED, AFFIRMATIVE);
        while (!strcmp(clause.verb->en, "love") || (word == 0 && clause.verb->class == MOTION));
    }
    clause.polarity = POSITIVE;
    return finished(clause_question(&clause, words[word].en, words[word].fr), '?');
}

/* "What does the man look for?" "Who eats the cake?" "How many apples will she buy?" */
static Pair ask_what(Draw *draw)
{
    static const char *const what[][2] = {{"eat", NULL}, {"drink", NULL}, {"buy", NULL}, {"see", NULL}, {"look", "for"},
                                          {"find", NULL}, {"lose", NULL}, {"open", NULL}, {"choose", NULL}};
    static const char *const how_many[] = {"eat", "buy", "see", "find", "choose", "lose"};
    int kind = draw_below(draw, 3);
    if (kind == 0) { /* who: third person singular, masculine as far as French shows it */
        Clause clause = draw_action_of(draw, draw_tense(draw), &person_who, AFFIRMATIVE);
        add_circumstances(draw, &clause);
        return finished(clause_statement(&clause), '?');
    }
    Tense tense = draw_tense(draw);
    Clause clause = {.tense = tense, .subject = draw_subject(draw, tense, PERSON, ASKED)};
    if (kind == 1) {
        int i = draw_below(draw, COUNT(what));
        clause.verb = lexicon_verb(what[i][0], what[i][1]);
        return finished(clause_question(&clause, "what", "que"), '?');
    }
    clause.verb = lexicon_verb(how_many[draw_below(draw, COUNT(how_many))], NULL);
    NounPhrase counted = noun_phrase(draw, clause.verb->objects & ~(unsigned)(MASS | PLACE), DET_DE, PLURAL, 15);
    clause_precede(&clause, &counted);
    Pair words = {0};
    pair_add(&words, "how many", "combien");
    pair_append(&words, &counted.text);
    return finished(clause_question(&clause, words.en.words, words.fr.words), '?');
}

/* A verb for what is done next to the same object; NULL if there is none for it. */
static const Verb *verb_after(Draw *draw, const char *first, const NounPhrase *object, bool preceded)
{
    static const struct {
        const char *first, *next[7];
    } table[] = {{"buy", {"eat", "drink", "wear", "lose", "open", "carry"}},
                 {"see", {"buy", "choose", "help", "eat"}},
                 {"find", {"eat", "wear", "lose", "open", "carry"}},
                 {"choose", {"buy", "eat", "wear", "carry"}}};
    const Verb *fitting[COUNT(table->next)];
    int n = 0;
    for (size_t i = 0; i < COUNT(table); i++)
        for (int k = 0; !strcmp(table[i].first, first) && table[i].next[k]; k++) {
            const Verb *verb = lexicon_verb(table[i].next[k], NULL);
            if (verb->objects & object->kinds && (verb->preceded || !preceded)) fitting[n++] = verb;
        }
    return n ? fitting[draw_below(draw, n)] : NULL;
}

/* "The girl buys the apple and eats it." "Paul found the keys but did not lose them." */
static Pair and_then(Draw *draw)
{
    static const char *const firsts[] = {"buy", "see", "find", "choose"};
    for (;;) {
        Tense tense = draw_tense(draw);
        const Verb *first = lexicon_verb(firsts[draw_below(draw, COUNT(firsts))], NULL);
        NounPhrase object = noun_phrase(draw, first->objects & ~(unsigned)PLACE, DET_DEFINITE | DET_A, ANY_NUMBER, 20);
        const Verb *next = verb_after(draw, first->en, &object, tense == PAST);
        if (!next) continue;
        Clause clause = {.tense = tense, .subject = draw_subject(draw, tense, PERSON, ANYBODY), .verb = first,
                         .rest = object.text};
        bool but = !clause.subject.quantified && draw_percent(draw, 35);
        Clause second = {.tense = tense, .subject = clause.subject, .verb = next, .pronoun = object_pronoun(&object),
                         .polarity = but ? NOT : POSITIVE};
        clause_precede(&second, &object);
        Pair pair = clause_statement(&clause);
        pair_add(&pair, but ? "but" : "and", but ? "mais" : "et");
        Pair more = clause.subject.pronoun ? clause_statement(&second) : clause_continued(&second);
        pair_append(&pair, &more);
        return finished(pair, '.');
    }
}

/* "Where is my key? I lost it." */
static Pair ask_where_it_is(Draw *draw)
{
    static const char *const done[] = {"find", "lose", "see", "buy", "choose"};
    NounPhrase object = noun_phrase(draw, TEXT | OBJECT | CLOTHES, DET_DEFINITE, ANY_NUMBER, 25);
    Clause where = {.verb = &verb_be, .subject = object};
    Pair question = {0}, predicate = clause_predicate(&where);
    pair_add(&question, "where", "où");
    pair_append(&question, &predicate);
    pair_append(&question, &object.text);

    Clause answer = {.verb = lexicon_verb(done[draw_below(draw, COUNT(done))], NULL), .tense = PAST,
                     .pronoun = object_pronoun(&object)};
    do answer.subject = draw_subject(draw, PAST, PERSON, ANYBODY);
    while (answer.subject.quantified);
    clause_precede(&answer, &object);
    return two_sentences(finished(question, '?'), finished(clause_statement(&answer), '.'));
}

/* "Did you find the houses? No, I did not find them." */
static Pair ask_and_answer(Draw *draw)
{
    static const char *const done[] = {"see", "find", "lose", "buy", "choose", "eat"};
    if (draw_percent(draw, 45)) return ask_where_it_is(draw);
    Tense tense = draw_percent(draw, 60) ? PAST : draw_tense(draw);
    const Verb *verb = lexicon_verb(done[draw_below(draw, COUNT(done))], NULL);
    NounPhrase object = noun_phrase(draw, verb->objects & ~(unsigned)MASS, DET_DEFINITE, ANY_NUMBER, 25);
    Clause question = {.verb = verb, .tense = tense, .rest = object.text};
    do question.subject = draw_subject(draw, tense, PERSON, ASKED);
    while (question.subject.quantified || question.subject.person == NOUS);
    Clause answer = {.verb = verb, .tense = tense, .pronoun = object_pronoun(&object), .subject = question.subject,
                     .polarity = draw_percent(draw, 40) ? NOT : POSITIVE};
    clause_precede(&answer, &object);
    if (question.subject.person == VOUS) answer.subject = person_i;
    else answer.subject.text = subject_pronoun(&question.subject);
    Pair reply = {0}, statement = clause_statement(&answer);
    pair_add(&reply, answer.polarity == NOT ? "no ," : "yes ,", answer.polarity == NOT ? "non ," : "oui ,");
    pair_append(&reply, &statement);
    return two_sentences(finished(clause_question(&question, NULL, NULL), '?'), finished(reply, '.'));
}

/* The relative clause after an antecedent that is its subject: "who eats the apple", "that is tired". True if it tells what
 * the antecedent does rather than how it is. */
static bool add_subject_relative(Draw *draw, Pair *pair, const NounPhrase *antecedent)
{
    bool acts = draw_percent(draw, 75);
    Clause clause = acts ? draw_action_of(draw, draw_tense(draw), antecedent, NEGATABLE)
                         : draw_description_of(draw, PRESENT, antecedent);
    if (clause.polarity == NO_LONGER) clause.polarity = NOT;
    Pair predicate = clause_predicate(&clause);
    pair_add(pair, antecedent->kinds & PERSON ? "who" : "that", "qui");
    pair_append(pair, &predicate);
    return acts;
}

/* A verb, but not `other`, for a relative clause in the tense whose object is the antecedent, of one of the kinds; NULL if
 * there is none. */
static const Verb *draw_relative_verb(Draw *draw, Tense tense, unsigned kinds, const Verb *other)
{
    const Verb *fitting[64];
    int n = 0;
    for (const Verb *verb = verbs; verb < verbs + n_verbs; verb++) {
        if (verb->class != TRANSITIVE || verb == other || (tense == PAST && !verb->preceded)) continue;
        if (verb->objects & kinds && n < (int)COUNT(fitting)) fitting[n++] = verb;
    }
    return n ? fitting[draw_below(draw, n)] : NULL;
}

static Tense draw_relative_tense(Draw *draw)
{
    return draw_percent(draw, 50) ? PAST : draw_percent(draw, 70) ? PRESENT : FUTURE;
}

/* The relative clause after an antecedent that is its object: "that the girl bought". */
static void add_object_relative(Draw *draw, Pair *pair, const NounPhrase *antecedent, const Verb *verb, Tense tense)
{
    Clause clause = {.verb = verb, .tense = tense, .subject = draw_subject(draw, tense, PERSON, ANYBODY)};
    if (!clause.subject.quantified && draw_percent(draw, 12)) clause.polarity = NOT;
    clause_precede(&clause, antecedent);
    Pair statement = clause_statement(&clause);
    pair_add(pair, "that", "que");
    pair_append(pair, &statement);
}

/* "The man who bought the car is rich." "The apples that she ate ..." */
static Pair relative_on_subject(Draw *draw)
{
    const unsigned determiners = DET_THE | DET_THIS | DET_ALL;
    NounPhrase subject;
    Pair pair;
    bool describable = true; /* not "the hens that are old are young" */
    if (draw_percent(draw, 60)) {
        Tense tense = draw_relative_tense(draw);
        const Verb *verb = draw_relative_verb(draw, tense, LIVING | THING | FRUIT, NULL);
        subject = noun_phrase(draw, verb->objects & (LIVING | THING | FRUIT), determiners, ANY_NUMBER, 16);
        pair = subject.text;
        add_object_relative(draw, &pair, &subject, verb, tense);
    } else {
        subject = noun_phrase(draw, LIVING, determiners, ANY_NUMBER, 8);
        pair = subject.text;
        describable = add_subject_relative(draw, &pair, &subject);
    }
    bool act = !describable || (subject.kinds & LIVING && draw_percent(draw, 40));
    Clause clause = act ? draw_action_of(draw, draw_tense(draw), &subject, AFFIRMATIVE)
                        : draw_description_of(draw, PRESENT, &subject);
    Pair predicate = clause_predicate(&clause);
    pair_append(&pair, &predicate);
    return finished(pair, '.');
}

/* "I see the boy who is tired." "She loves the dress that her sister wears." */
static Pair relative_on_object(Draw *draw)
{
    static const char *const mains[][2] = {{"see", NULL}, {"look", "for"}, {"find", NULL}, {"love", NULL},
                                           {"help", NULL}, {"wait", "for"}, {"choose", NULL}};
    int i = draw_below(draw, COUNT(mains));
    Tense tense = draw_tense(draw);
    Clause clause = {.verb = lexicon_verb(mains[i][0], mains[i][1]), .tense = tense,
                     .subject = draw_subject(draw, tense, PERSON, ANYBODY)};
    unsigned kinds = clause.verb->objects & (LIVING | TEXT | OBJECT | CLOTHES | VEHICLE | FRUIT);
    NounPhrase object = noun_phrase(draw, kinds, DET_THE | DET_THIS, ANY_NUMBER, 20);
    Pair pair = clause_statement(&clause);
    pair_append(&pair, &object.text);
    if (object.kinds & LIVING && draw_percent(draw, 75)) {
        add_subject_relative(draw, &pair, &object);
    } else {
        const Verb *verb;
        do {
            tense = draw_relative_tense(draw);
            verb = draw_relative_verb(draw, tense, object.kinds, clause.verb);
        } while (!verb);
        add_object_relative(draw, &pair, &object, verb, tense);
    }
    return finished(pair, '.');
}

/* "Paul gives the book to the girl." "Will he show the key to her?" */
static Pair give(Draw *draw)
{
    Tense tense = draw_tense(draw);
    bool question = draw_percent(draw, 15), gives = draw_percent(draw, 50);
    Clause clause = {.verb = lexicon_verb(gives ? "give" : "show", NULL), .tense = tense,
                     .subject = draw_subject(draw, tense, PERSON, question ? ASKED : ANYBODY)};
    if (!question && !clause.subject.quantified) clause.polarity = draw_polarity(draw, tense);
    unsigned determiners = clause.polarity == POSITIVE ? DET_OBJECT : DET_DEFINITE | DET_DE;
    NounPhrase thing = noun_phrase(draw, clause.verb->objects, determiners, ANY_NUMBER, 20);
    clause.rest = thing.text;
    if (draw_percent(draw, 40)) {
        Pair receiver = draw_object_pronoun(draw, &clause.subject, true);
        pair_add(&clause.rest, "to", NULL);
        pair_add(&clause.rest, receiver.en.words, NULL);
        clause.pronoun.fr = receiver.fr;
    } else {
        Number number = draw_percent(draw, 65) ? PLURAL : SINGULAR;
        NounPhrase receiver = noun_phrase(draw, PERSON, DET_DEFINITE, number, 10);
        if (draw_percent(draw, 20)) receiver = name_phrase(draw);
        pair_add(&clause.rest, "to", "à");
        pair_append(&clause.rest, &receiver.text);
    }
    if (clause_takes_time(&clause) && draw_percent(draw, 20)) {
        Pair time = draw_time(draw, tense);
        pair_append(&clause.rest, &time);
    }
    return question ? finished(clause_question(&clause, NULL, NULL), '?') : finished(clause_statement(&clause), '.');
}

/* "The girls leave because they are tired." "Paul slept because it was raining." */
static Pair because(Draw *draw)
{
    static const Expression weather[3][2] = {
        {{"because it is raining", "parce que il pleut"}, {"when it rains", "quand il pleut"}},
        {{"because it was raining", "parce que il pleuvait"}, {"because it was raining", "parce que il pleuvait"}},
        {{"if it is raining", "si il pleut"}, {"if it is raining", "si il pleut"}},
    };
    Tense tense = draw_tense(draw);
    Clause clause = draw_lonely_action(draw, tense);
    if (!draw_percent(draw, 40)) add_circumstances(draw, &clause);
    Pair pair = clause_statement(&clause);
    if (draw_percent(draw, 25)) {
        const Expression *reason = &weather[tense][draw_below(draw, 2)];
        pair_add(&pair, reason->en, reason->fr);
        return finished(pair, '.');
    }
    Clause reason = draw_reason(draw, tense == PAST ? IMPERFECT : PRESENT, &clause.subject);
    if (!reason.subject.pronoun) reason.subject.text = subject_pronoun(&clause.subject);
    pair_add(&pair, "because", "parce que");
    Pair more = clause_statement(&reason);
    pair_append(&pair, &more);
    return finished(pair, '.');
}

/* "I think that the soup is cold." "Marie says that she will arrive tomorrow." */
static Pair think(Draw *draw)
{
    static const struct {
        const char *en, *en_third, *je, *il;
    } table[] = {{"think", "thinks", "pense", "pense"},
                 {"say", "says", "dis", "dit"},
                 {"know", "knows", "sais", "sait"},
                 {"hope", "hopes", "espère", "espère"}};
    int i = draw_below(draw, COUNT(table));
    bool hope = i == COUNT(table) - 1;
    Pair pair = {0};
    if (draw_percent(draw, 45)) {
        pair_add(&pair, "I", "je");
        pair_add(&pair, table[i].en, table[i].je);
    } else {
        pair = draw_somebody(draw).text;
        pair_add(&pair, table[i].en_third, table[i].il);
    }
    pair_add(&pair, "that", "que");
    Clause clause = draw_percent(draw, 35) ? draw_description(draw, hope ? FUTURE : PRESENT)
                                           : draw_action(draw, hope ? FUTURE : draw_tense(draw), ANYBODY, NEGATABLE);
    if (clause.verb != &verb_be && clause.verb != &verb_state) add_circumstances(draw, &clause);
    Pair statement = clause_statement(&clause);
    pair_append(&pair, &statement);
    return finished(pair, '.');
}

/* "There are some birds in the garden." "Is there a key under the bed?" "There is no bread on the table." */
static Pair there_is(Draw *draw)
{
    enum { STATEMENT, QUESTION, NEGATION };
    static const int weights[] = {55, 25, 20};
    int form = draw_weighted(draw, weights, COUNT(weights));
    bool living = draw_percent(draw, 50);
    NounPhrase subject = noun_phrase(draw, living ? LIVING : FRUIT | MASS | OBJECT | TEXT | CLOTHES,
                                     form == NEGATION ? DET_DE : DET_A | DET_NUMBER | DET_MANY, ANY_NUMBER, 25);
    Pair place = living ? draw_place(draw) : draw_furniture_place(draw, subject.kinds & (OBJECT | TEXT)), pair = {0};
    const char *be = subject.person == ILS ? "are" : "is";
    if (form == QUESTION) {
        pair_add(&pair, be, "est-ce que");
        pair_add(&pair, "there", "il y a");
    } else {
        pair_add(&pair, "there", form == NEGATION ? "il ne y a pas" : "il y a");
        pair_add(&pair, be, NULL);
        if (form == NEGATION) pair_add(&pair, "no", NULL);
    }
    pair_append(&pair, &subject.text);
    pair_append(&pair, &place);
    return finished(pair, form == QUESTION ? '?' : '.');
}

/* "The dog is bigger than the cat." "This dress is as expensive as my coat." "The actor is less famous than Marie." */
static Pair compare(Draw *draw)
{
    static const unsigned groups[] = {PERSON, PERSON, PERSON, ANIMAL, ANIMAL, CLOTHES,   OBJECT,
                                      OBJECT, TEXT,   FRUIT,  PLACE,  PLACE,  FURNITURE, VEHICLE | TRANSPORT};
    unsigned kinds = groups[draw_below(draw, COUNT(groups))];
    NounPhrase one = noun_phrase(draw, kinds, DET_DEFINITE & ~DET_THE_NUMBER, ANY_NUMBER, 10), other;
    bool somebody = kinds == PERSON;
    if (somebody && draw_percent(draw, 30)) one = draw_somebody(draw);
    do other = somebody && draw_percent(draw, 30) ? name_phrase(draw)
                                                  : noun_phrase(draw, kinds, DET_DEFINITE & ~DET_THE_NUMBER, ANY_NUMBER, 10);
    while (!strcmp(one.text.en.words, other.text.en.words));
    const Adjective *adjective;
    do adjective = adjective_for(draw, one.kinds);
    while (!adjective->comparative || !(adjective->kinds & other.kinds));

    bool periphrastic = !strncmp(adjective->comparative, "more ", 5);
    int degree = draw_percent(draw, 50) ? 0 : draw_below(draw, periphrastic ? 3 : 2);
    static const char *const french[] = {"plus", "aussi", "moins"};
    Clause clause = {.subject = one, .verb = &verb_be};
    Pair *rest = &clause.rest;
    text_add(&rest->fr, french[degree]);
    text_add(&rest->fr, adjective_form(adjective, one.gender, one.person == ILS));
    text_add(&rest->fr, "que");
    text_add(&rest->fr, other.text.fr.words);
    if (degree == 0) text_add(&rest->en, adjective->comparative);
    else text_add(&rest->en, degree == 1 ? "as" : "less");
    if (degree) text_add(&rest->en, adjective->en);
    text_add(&rest->en, degree == 1 ? "as" : "than");
    text_add(&rest->en, other.text.en.words);
    if (draw_percent(draw, 20)) return finished(clause_question(&clause, NULL, NULL), '?');
    return finished(clause_statement(&clause), '.');
}

/* "I do not see her." "Will Paul help us?" */
static Pair see_him(Draw *draw)
{
    static const char *const actions[][2] = {
        {"see", NULL}, {"look", "for"}, {"help", NULL}, {"wait", "for"}, {"love", NULL}};
    int i = draw_below(draw, COUNT(actions));
    Tense tense = draw_tense(draw);
    bool question = draw_percent(draw, 20);
    Clause clause = {.verb = lexicon_verb(actions[i][0], actions[i][1]), .tense = tense,
                     .subject = draw_subject(draw, tense, PERSON, question ? ASKED : ANYBODY)};
    if (!question && !clause.subject.quantified) clause.polarity = draw_polarity(draw, tense);
    if (tense == PAST) { /* the participle agrees: only with somebody whose gender English shows */
        NounPhrase seen = {.person = IL, .gender = draw_percent(draw, 50) ? FEMININE : MASCULINE, .kinds = PERSON};
        clause.verb = lexicon_verb("see", NULL);
        clause.pronoun = object_pronoun(&seen);
        clause_precede(&clause, &seen);
    } else {
        clause.pronoun = draw_object_pronoun(draw, &clause.subject, false);
    }
    add_circumstances(draw, &clause);
    return question ? finished(clause_question(&clause, NULL, NULL), '?') : finished(clause_statement(&clause), '.');
}

/* "She has two cats." "Paul needs a new coat." "You will not need the ladder." */
static Pair have(Draw *draw)
{
    Tense tense = draw_percent(draw, 60) ? PRESENT : FUTURE;
    bool need = draw_percent(draw, 50), question = draw_percent(draw, 20);
    Clause clause = {.verb = need ? &verb_need : &verb_have, .tense = tense,
                     .subject = draw_subject(draw, tense, PERSON, question ? ASKED : ANYBODY)};
    if (!question && !clause.subject.quantified) clause.polarity = draw_polarity(draw, tense);
    unsigned kinds = clause.verb->objects;
    NounPhrase object;
    if (!need) {
        unsigned determiners = clause.polarity == POSITIVE ? DET_A | DET_NUMBER | DET_MANY : DET_DE;
        object = noun_phrase(draw, kinds, determiners, ANY_NUMBER, 30);
    } else if (clause.polarity == POSITIVE && draw_percent(draw, 40)) {
        object = noun_phrase(draw, kinds & ~(unsigned)MASS, DET_A, SINGULAR, 30);
    } else {
        unsigned determiners = DET_DEFINITE | (clause.polarity == POSITIVE ? DET_NOTHING | DET_NUMBER : 0);
        object = noun_phrase(draw, kinds, determiners, ANY_NUMBER, 20);
    }
    clause.rest = object.text;
    return question ? finished(clause_question(&clause, NULL, NULL), '?') : finished(clause_statement(&clause), '.');
}

static int count_words(const Text *text)
{
    int n = 1;
    for (const char *c = text->words; *c; c++) n += *c == ' ';
    return n;
}

Pair sentence_draw(Draw *draw)
{
    static const struct {
        Pair (*make)(Draw *draw);
        int weight;
    } patterns[] = {
        {plain, 40},
        {command, 3},
        {describe, 5},
        {ask, 10},
        {ask_where, 4},
        {ask_what, 4},
        {and_then, 6},
        {ask_and_answer, 6},
        {relative_on_subject, 12},
        {relative_on_object, 10},
        {give, 9},
        {because, 6},
        {think, 6},
        {there_is, 4},
        {compare, 8},
        {see_him, 4},
        {have, 4},
    };
    int weights[COUNT(patterns)];
    for (size_t i = 0; i < COUNT(patterns); i++) weights[i] = patterns[i].weight;
    Pair pair;
    do pair = patterns[draw_weighted(draw, weights, COUNT(patterns))].make(draw);
    while (count_words(&pair.en) < 3);
    return pair;
}
