/* What other translation systems call the things that Ferry has under another name. */
#ifndef FERRY_OPTIONS_SYNONYMS_H
#define FERRY_OPTIONS_SYNONYMS_H

typedef struct Synonym {
    const char *theirs;  /* as a flag without its dashes, underscores for dashes inside it */
    const char *ours[3]; /* names of options, up to a NULL */
    const char *hint;    /* where no option answers it: what to do, as the end of a message */
} Synonym;

/* NULL if it is none. */
const Synonym *synonym_find(const char *theirs);

#endif
