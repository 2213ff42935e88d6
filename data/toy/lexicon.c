#include "data/toy/lexicon.h"

#include <stddef.h>
#include <string.h>

#include "core/error.h"

#define M MASCULINE
#define F FEMININE

const Noun nouns[] = {
    {"man", "men", "homme", "hommes", M, PERSON | ADULT | PUBLIC},
    {"woman", "women", "femme", "femmes", F, PERSON | ADULT | PUBLIC},
    {"boy", "boys", "garçon", "garçons", M, PERSON | PUBLIC},
    {"girl", "girls", "fille", "filles", F, PERSON | PUBLIC},
    {"child", "children", "enfant", "enfants", M, PERSON | PUBLIC},
    {"king", "kings", "roi", "rois", M, PERSON | ADULT | PUBLIC},
    {"queen", "queens", "reine", "reines", F, PERSON | ADULT | PUBLIC},
    {"prince", "princes", "prince", "princes", M, PERSON | ADULT | PUBLIC},
    {"princess", "princesses", "princesse", "princesses", F, PERSON | ADULT | PUBLIC},
    {"actor", "actors", "acteur", "acteurs", M, PERSON | ADULT | PUBLIC},
    {"actress", "actresses", "actrice", "actrices", F, PERSON | ADULT | PUBLIC},
    {"waiter", "waiters", "serveur", "serveurs", M, PERSON | ADULT | PUBLIC},
    {"waitress", "waitresses", "serveuse", "serveuses", F, PERSON | ADULT | PUBLIC},
    {"soldier", "soldiers", "soldat", "soldats", M, PERSON | ADULT | PUBLIC},
    {"uncle", "uncles", "oncle", "oncles", M, PERSON | ADULT | KIN},
    {"aunt", "aunts", "tante", "tantes", F, PERSON | ADULT | KIN},
    {"brother", "brothers", "frère", "frères", M, PERSON | ADULT | KIN},
    {"sister", "sisters", "sœur", "sœurs", F, PERSON | ADULT | KIN},

    {"dog", "dogs", "chien", "chiens", M, ANIMAL},
    {"cat", "cats", "chat", "chats", M, ANIMAL},
    {"bird", "birds", "oiseau", "oiseaux", M, ANIMAL},
    {"horse", "horses", "cheval", "chevaux", M, ANIMAL},
    {"rabbit", "rabbits", "lapin", "lapins", M, ANIMAL},
    {"hamster", "hamsters", "hamster", "hamsters", M, ANIMAL},
    {"hedgehog", "hedgehogs", "hérisson", "hérissons", M, ANIMAL},
    {"elephant", "elephants", "éléphant", "éléphants", M, ANIMAL},
    {"donkey", "donkeys", "âne", "ânes", M, ANIMAL},
    {"cow", "cows", "vache", "vaches", F, ANIMAL},
    {"mouse", "mice", "souris", "souris", F, ANIMAL},
    {"goat", "goats", "chèvre", "chèvres", F, ANIMAL},
    {"hen", "hens", "poule", "poules", F, ANIMAL},

    {"apple", "apples", "pomme", "pommes", F, FRUIT},
    {"orange", "oranges", "orange", "oranges", F, FRUIT},
    {"egg", "eggs", "œuf", "œufs", M, FRUIT},
    {"cake", "cakes", "gâteau", "gâteaux", M, FRUIT},
    {"tomato", "tomatoes", "tomate", "tomates", F, FRUIT},
    {"pear", "pears", "poire", "poires", F, FRUIT},
    {"lemon", "lemons", "citron", "citrons", M, FRUIT},
    {"bread", NULL, "pain", NULL, M, FOOD},
    {"cheese", NULL, "fromage", NULL, M, FOOD},
    {"rice", NULL, "riz", NULL, M, FOOD},
    {"honey", NULL, "miel", NULL, M, FOOD},
    {"meat", NULL, "viande", NULL, F, FOOD},
    {"soup", NULL, "soupe", NULL, F, FOOD},
    {"salad", NULL, "salade", NULL, F, FOOD},
    {"jam", NULL, "confiture", NULL, F, FOOD},
    {"water", NULL, "eau", NULL, F, DRINK},
    {"milk", NULL, "lait", NULL, M, DRINK},
    {"coffee", NULL, "café", NULL, M, DRINK},
    {"tea", NULL, "thé", NULL, M, DRINK},
    {"juice", NULL, "jus", NULL, M, DRINK},
    {"beer", NULL, "bière", NULL, F, DRINK},

    {"book", "books", "livre", "livres", M, TEXT},
    {"letter", "letters", "lettre", "lettres", F, TEXT},
    {"newspaper", "newspapers", "journal", "journaux", M, TEXT},
    {"poem", "poems", "poème", "poèmes", M, TEXT},
    {"story", "stories", "histoire", "histoires", F, TEXT},

    {"key", "keys", "clé", "clés", F, OBJECT},
    {"bag", "bags", "sac", "sacs", M, OBJECT | CONTAINER},
    {"umbrella", "umbrellas", "parapluie", "parapluies", M, OBJECT},
    {"box", "boxes", "boîte", "boîtes", F, OBJECT | CONTAINER},
    {"plate", "plates", "assiette", "assiettes", F, OBJECT},
    {"cup", "cups", "tasse", "tasses", F, OBJECT},
    {"basket", "baskets", "panier", "paniers", M, OBJECT | CONTAINER},
    {"suitcase", "suitcases", "valise", "valises", F, OBJECT | CONTAINER},
    {"computer", "computers", "ordinateur", "ordinateurs", M, OBJECT},
    {"pencil", "pencils", "crayon", "crayons", M, OBJECT},
    {"gift", "gifts", "cadeau", "cadeaux", M, OBJECT | CONTAINER},
    {"ladder", "ladders", "échelle", "échelles", F, OBJECT},

    {"dress", "dresses", "robe", "robes", F, CLOTHES},
    {"hat", "hats", "chapeau", "chapeaux", M, CLOTHES},
    {"coat", "coats", "manteau", "manteaux", M, CLOTHES},
    {"shirt", "shirts", "chemise", "chemises", F, CLOTHES},
    {"skirt", "skirts", "jupe", "jupes", F, CLOTHES},
    {"scarf", "scarves", "écharpe", "écharpes", F, CLOTHES},

    {"car", "cars", "voiture", "voitures", F, VEHICLE},
    {"bike", "bikes", "vélo", "vélos", M, VEHICLE},
    {"boat", "boats", "bateau", "bateaux", M, VEHICLE | TRANSPORT},
    {"truck", "trucks", "camion", "camions", M, VEHICLE},
    {"train", "trains", "train", "trains", M, TRANSPORT | PUBLIC},
    {"plane", "planes", "avion", "avions", M, TRANSPORT | PUBLIC},

    {"door", "doors", "porte", "portes", F, OPENING},
    {"window", "windows", "fenêtre", "fenêtres", F, OPENING},
    {"tree", "trees", "arbre", "arbres", M, BUILDING},
    {"flower", "flowers", "fleur", "fleurs", F, PLANT},
    {"table", "tables", "table", "tables", F, FURNITURE},
    {"chair", "chairs", "chaise", "chaises", F, FURNITURE},
    {"bed", "beds", "lit", "lits", M, FURNITURE},

    {"house", "houses", "maison", "maisons", F, INSIDE | BUILDING},
    {"garden", "gardens", "jardin", "jardins", M, INSIDE | SIGHT | BUILDING},
    {"school", "schools", "école", "écoles", F, INSIDE | GOAL | SIGHT | BUILDING},
    {"museum", "museums", "musée", "musées", M, INSIDE | GOAL | SIGHT | BUILDING | PUBLIC},
    {"castle", "castles", "château", "châteaux", M, INSIDE | GOAL | SIGHT | BUILDING | PUBLIC},
    {"church", "churches", "église", "églises", F, INSIDE | GOAL | SIGHT | BUILDING | PUBLIC},
    {"hotel", "hotels", "hôtel", "hôtels", M, INSIDE | GOAL | BUILDING | PUBLIC},
    {"market", "markets", "marché", "marchés", M, GOAL | SIGHT | PUBLIC},
    {"station", "stations", "gare", "gares", F, GOAL | BUILDING | PUBLIC},
    {"village", "villages", "village", "villages", M, INSIDE | GOAL | SIGHT | BUILDING},
    {"hospital", "hospitals", "hôpital", "hôpitaux", M, INSIDE | GOAL | BUILDING | PUBLIC},
    {"factory", "factories", "usine", "usines", F, INSIDE | GOAL | SIGHT | BUILDING | PUBLIC},
};
const int n_nouns = COUNT(nouns);

const Name names[] = {
    {"Paul", M}, {"Louis", M}, {"Thomas", M}, {"Arthur", M}, {"Antoine", M},
    {"Marie", F}, {"Julie", F}, {"Sophie", F}, {"Alice", F}, {"Anna", F},
};
const int n_names = COUNT(names);

#define DRY (THING | PLACE) /* lifeless and not to be eaten */
#define COLORED (OBJECT | CLOTHES | VEHICLE | OPENING | FURNITURE)

const Adjective adjectives[] = {
    /* "grand homme" would be a great man: "big" and "small" are not for people. */
    {"small", "smaller", "petit", "petits", "petite", "petites", NULL, true, true, ANIMAL | FRUIT | (DRY & ~TEXT)},
    {"big", "bigger", "grand", "grands", "grande", "grandes", NULL, true, true, ANIMAL | (DRY & ~TEXT)},
    {"young", "younger", "jeune", "jeunes", "jeune", "jeunes", NULL, true, true, LIVING},
    {"old", "older", "vieux", "vieux", "vieille", "vieilles", "vieil", true, true, ADULT | ANIMAL | DRY},
    {"beautiful", "more beautiful", "beau", "beaux", "belle", "belles", "bel", true, true, ANIMAL | DRY},
    /* After "être" it would be "neuf" as often as "nouveau". */
    {"new", NULL, "nouveau", "nouveaux", "nouvelle", "nouvelles", "nouvel", true, false, DRY & ~PLANT},
    {"good", NULL, "bon", "bons", "bonne", "bonnes", NULL, true, true, FRUIT | MASS | TEXT},

    {"red", NULL, "rouge", "rouges", "rouge", "rouges", NULL, false, true, COLORED},
    {"green", NULL, "vert", "verts", "verte", "vertes", NULL, false, true, COLORED},
    {"white", NULL, "blanc", "blancs", "blanche", "blanches", NULL, false, true, COLORED | ANIMAL},
    {"black", NULL, "noir", "noirs", "noire", "noires", NULL, false, true, COLORED | ANIMAL},
    {"dirty", "dirtier", "sale", "sales", "sale", "sales", NULL, false, true, COLORED},
    {"expensive", "more expensive", "cher", "chers", "chère", "chères", NULL, false, true,
     OBJECT | CLOTHES | VEHICLE | FURNITURE},
    {"heavy", "heavier", "lourd", "lourds", "lourde", "lourdes", NULL, false, true, OBJECT | FURNITURE},
    {"interesting", "more interesting", "intéressant", "intéressants", "intéressante", "intéressantes", NULL, false,
     true, TEXT | SIGHT},
    {"fresh", "fresher", "frais", "frais", "fraîche", "fraîches", NULL, false, true, FRUIT | MASS},
    {"cold", "colder", "froid", "froids", "froide", "froides", NULL, false, true, MASS},
    {"famous", "more famous", "célèbre", "célèbres", "célèbre", "célèbres", NULL, false, true,
     PERSON | TEXT | SIGHT},
    {"rich", "richer", "riche", "riches", "riche", "riches", NULL, false, true, PERSON},
    {"happy", "happier", "heureux", "heureux", "heureuse", "heureuses", NULL, false, true, PERSON},
    {"sad", NULL, "triste", "tristes", "triste", "tristes", NULL, false, true, PERSON},
    {"tired", "more tired", "fatigué", "fatigués", "fatiguée", "fatiguées", NULL, false, true, LIVING},
    {"strong", "stronger", "fort", "forts", "forte", "fortes", NULL, false, true, LIVING},
    {"curious", "more curious", "curieux", "curieux", "curieuse", "curieuses", NULL, false, true, LIVING},
    {"sick", NULL, "malade", "malades", "malade", "malades", NULL, false, true, LIVING},
};
const int n_adjectives = COUNT(adjectives);

#define GOODS (FRUIT | MASS | TEXT | OBJECT | CLOTHES | PLANT)

const Verb verbs[] = {
    {TRANSITIVE, "eat", "eats", "ate", NULL, {"mange", "mangeons", "mangez", "mange", "mangent"}, "manger", "mangé",
     NULL, false, true, LIVING, FRUIT | FOOD},
    {TRANSITIVE, "drink", "drinks", "drank", NULL, {"bois", "buvons", "buvez", "boit", "boivent"}, "boir", "bu", NULL,
     false, false, LIVING, DRINK},
    {TRANSITIVE, "buy", "buys", "bought", NULL, {"achète", "achetons", "achetez", "achète", "achètent"}, "achèter",
     "acheté", NULL, false, true, PERSON, GOODS | VEHICLE},
    {TRANSITIVE, "see", "sees", "saw", NULL, {"vois", "voyons", "voyez", "voit", "voient"}, "verr", "vu", NULL, false,
     true, LIVING, LIVING | DRY},
    {TRANSITIVE, "look", "looks", "looked", "for", {"cherche", "cherchons", "cherchez", "cherche", "cherchent"},
     "chercher", "cherché", NULL, false, false, PERSON, LIVING | TEXT | OBJECT | CLOTHES | BUILDING},
    {TRANSITIVE, "find", "finds", "found", NULL, {"trouve", "trouvons", "trouvez", "trouve", "trouvent"}, "trouver",
     "trouvé", NULL, false, true, PERSON, ANIMAL | FRUIT | TEXT | OBJECT | CLOTHES | PLANT},
    {TRANSITIVE, "lose", "loses", "lost", NULL, {"perds", "perdons", "perdez", "perd", "perdent"}, "perdr", "perdu",
     NULL, false, true, PERSON, TEXT | OBJECT | CLOTHES},
    {TRANSITIVE, "love", "loves", "loved", NULL, {"adore", "adorons", "adorez", "adore", "adorent"}, "adorer", "adoré",
     NULL, false, false, PERSON, LIVING | FRUIT | MASS | TEXT | CLOTHES | SIGHT},
    {TRANSITIVE, "help", "helps", "helped", NULL, {"aide", "aidons", "aidez", "aide", "aident"}, "aider", "aidé", NULL,
     false, false, PERSON, PERSON},
    {TRANSITIVE, "wait", "waits", "waited", "for", {"attends", "attendons", "attendez", "attend", "attendent"},
     "attendr", "attendu", NULL, false, false, PERSON, PERSON | TRANSPORT},
    {TRANSITIVE, "wear", "wears", "wore", NULL, {"porte", "portons", "portez", "porte", "portent"}, "porter", "porté",
     NULL, false, false, PERSON, CLOTHES},
    {TRANSITIVE, "carry", "carries", "carried", NULL, {"porte", "portons", "portez", "porte", "portent"}, "porter",
     "porté", NULL, false, false, PERSON, OBJECT},
    {TRANSITIVE, "open", "opens", "opened", NULL, {"ouvre", "ouvrons", "ouvrez", "ouvre", "ouvrent"}, "ouvrir", "ouvert",
     NULL, false, false, PERSON, OPENING | CONTAINER},
    {TRANSITIVE, "choose", "chooses", "chose", NULL, {"choisis", "choisissons", "choisissez", "choisit", "choisissent"},
     "choisir", "choisi", NULL, false, true, PERSON, FRUIT | TEXT | OBJECT | CLOTHES | VEHICLE | PLANT},

    {DITRANSITIVE, "give", "gives", "gave", NULL, {"donne", "donnons", "donnez", "donne", "donnent"}, "donner", "donné",
     NULL, false, false, PERSON, GOODS | ANIMAL},
    {DITRANSITIVE, "show", "shows", "showed", NULL, {"montre", "montrons", "montrez", "montre", "montrent"}, "montrer",
     "montré", NULL, false, false, PERSON, TEXT | OBJECT | CLOTHES | ANIMAL | VEHICLE},
    {PREPOSITIONAL, "talk", "talks", "talked", "to", {"parle", "parlons", "parlez", "parle", "parlent"}, "parler",
     "parlé", "à", false, false, PERSON, PERSON},
    {PREPOSITIONAL, "talk", "talks", "talked", "about", {"parle", "parlons", "parlez", "parle", "parlent"}, "parler",
     "parlé", "de", false, false, PERSON, LIVING | TEXT | SIGHT},

    {INTRANSITIVE, "sleep", "sleeps", "slept", NULL, {"dors", "dormons", "dormez", "dort", "dorment"}, "dormir", "dormi",
     NULL, false, false, LIVING, 0},
    {INTRANSITIVE, "work", "works", "worked", NULL, {"travaille", "travaillons", "travaillez", "travaille",
     "travaillent"}, "travailler", "travaillé", NULL, false, false, PERSON, 0},
    {INTRANSITIVE, "leave", "leaves", "left", NULL, {"pars", "partons", "partez", "part", "partent"}, "partir", "parti",
     NULL, true, false, LIVING, 0},
    {INTRANSITIVE, "stay", "stays", "stayed", NULL, {"reste", "restons", "restez", "reste", "restent"}, "rester", "resté",
     NULL, true, false, LIVING, 0},

    {MOTION, "go", "goes", "went", "to", {"vais", "allons", "allez", "va", "vont"}, "ir", "allé", "à", true, false,
     PERSON, GOAL},
    {MOTION, "arrive", "arrives", "arrived", "at", {"arrive", "arrivons", "arrivez", "arrive", "arrivent"}, "arriver",
     "arrivé", "à", true, false, PERSON, GOAL},
    {MOTION, "enter", "enters", "entered", NULL, {"entre", "entrons", "entrez", "entre", "entrent"}, "entrer", "entré",
     "dans", true, false, LIVING, INSIDE},
};
const int n_verbs = COUNT(verbs);

/* The English forms of "be" are in clause.c. */
const Verb verb_be = {TRANSITIVE, "be", "is", "was", NULL, {"suis", "sommes", "êtes", "est", "sont"}, "ser", "été", NULL,
                      false, false, LIVING, 0};
const Verb verb_have = {TRANSITIVE, "have", "has", "had", NULL, {"ai", "avons", "avez", "a", "ont"}, "aur", "eu", NULL,
                        false, false, PERSON, ANIMAL | FRUIT | TEXT | OBJECT | CLOTHES | VEHICLE | FURNITURE};
const Verb verb_need = {TRANSITIVE, "need", "needs", "needed", NULL, {"ai", "avons", "avez", "a", "ont"}, "aur", "eu",
                        "besoin de", false, false, PERSON, FRUIT | MASS | OBJECT | CLOTHES | VEHICLE};
const Verb verb_state = {TRANSITIVE, "be", "is", "was", NULL, {"ai", "avons", "avez", "a", "ont"}, "aur", "eu", NULL,
                         false, false, LIVING, 0};
const char *const imperfect_be[N_PERSONS] = {"étais", "étions", "étiez", "était", "étaient"};
const char *const imperfect_have[N_PERSONS] = {"avais", "avions", "aviez", "avait", "avaient"};

const Determiner determiner_the = {"the", "the", "le", "la", "les", "les", NULL, NULL};
const Determiner determiner_a = {"a", "some", "un", "une", "des", "des", NULL, NULL};
const Determiner determiner_this = {"this", "these", "ce", "cette", "ces", "ces", "cet", NULL};
const Determiner determiner_many = {NULL, "many", NULL, NULL, "beaucoup de", "beaucoup de", NULL, NULL};
const Determiner determiner_all = {NULL, "all the", NULL, NULL, "tous les", "toutes les", NULL, NULL};
const Determiner determiner_every = {"every", NULL, "chaque", "chaque", NULL, NULL, NULL, NULL};

const Determiner possessives[] = {
    {"my", "my", "mon", "ma", "mes", "mes", NULL, "mon"},
    {"his", "his", "son", "sa", "ses", "ses", NULL, "son"},
    {"her", "her", "son", "sa", "ses", "ses", NULL, "son"},
    {"our", "our", "notre", "notre", "nos", "nos", NULL, NULL},
    {"your", "your", "votre", "votre", "vos", "vos", NULL, NULL},
    {"their", "their", "leur", "leur", "leurs", "leurs", NULL, NULL},
};
const int n_possessives = COUNT(possessives);

#define NUMBER(en, fr) {NULL, en, NULL, NULL, fr, fr, NULL, NULL}
const Determiner numbers[] = {
    NUMBER("two", "deux"), NUMBER("three", "trois"), NUMBER("four", "quatre"), NUMBER("five", "cinq"), NUMBER("six", "six"),
    NUMBER("seven", "sept"), NUMBER("eight", "huit"), NUMBER("nine", "neuf"), NUMBER("ten", "dix"),
};
const int n_numbers = COUNT(numbers);

/* In the English of the present tense these make a habit of it, as the French does. */
static const Expression present_times[] = {
    {"every day", "tous les jours"}, {"in the morning", "le matin"}, {"in the evening", "le soir"},
    {"in winter", "en hiver"}, {"in summer", "en été"}, {"on Sundays", "le dimanche"}, {"every week", "chaque semaine"},
};
static const Expression past_times[] = {
    {"yesterday", "hier"}, {"last week", "la semaine dernière"}, {"this morning", "ce matin"}, {"on Monday", "lundi"},
    {"on Tuesday", "mardi"}, {"on Wednesday", "mercredi"}, {"last summer", "l'été dernier"}, {"in January", "en janvier"},
    {"in April", "en avril"},
};
static const Expression future_times[] = {
    {"tomorrow", "demain"}, {"next week", "la semaine prochaine"}, {"this evening", "ce soir"}, {"on Thursday", "jeudi"},
    {"on Friday", "vendredi"}, {"on Saturday", "samedi"}, {"next summer", "l'été prochain"}, {"in June", "en juin"},
    {"in October", "en octobre"}, {"today", "aujourd'hui"},
};
const Expression *const times[3] = {present_times, past_times, future_times};
const int n_times[3] = {COUNT(present_times), COUNT(past_times), COUNT(future_times)};

static const Expression present_adverbs[] = {{"often", "souvent"}, {"always", "toujours"}, {"sometimes", "parfois"}};
static const Expression past_adverbs[] = {{"already", "déjà"}};
static const Expression future_adverbs[] = {{"soon", "bientôt"}, {"often", "souvent"}};
const Expression *const adverbs[3] = {present_adverbs, past_adverbs, future_adverbs};
const int n_adverbs[3] = {COUNT(present_adverbs), COUNT(past_adverbs), COUNT(future_adverbs)};

const Expression states[] = {{"hungry", "faim"}, {"thirsty", "soif"}, {"sleepy", "sommeil"}, {"afraid", "peur"}};
const int n_states = COUNT(states);

const Verb *lexicon_verb(const char *en, const char *particle)
{
    for (int i = 0; i < n_verbs; i++) {
        const char *other = verbs[i].particle;
        if (!strcmp(verbs[i].en, en) && (particle && other ? !strcmp(particle, other) : particle == other)) return &verbs[i];
    }
    CHECK(false, "no verb %s %s", en, particle ? particle : "");
    return NULL;
}

bool lexicon_vowel(const char *fr)
{
    static const char *const aspirated[] = {"hamster", "hérisson", "huit"}; /* and their plurals */
    static const char *const vowels[] = {"a", "e", "i", "o", "u", "y", "h", "A", "E", "I", "O", "U", "H",
                                         "à", "â", "é", "è", "ê", "î", "ô", "œ"};
    for (size_t i = 0; i < COUNT(aspirated); i++)
        if (!strncmp(fr, aspirated[i], strlen(aspirated[i]))) return false;
    for (size_t i = 0; i < COUNT(vowels); i++)
        if (!strncmp(fr, vowels[i], strlen(vowels[i]))) return true;
    return false;
}
