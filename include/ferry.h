/* Ferry as a library: translate with the models that `ferry train` makes. C11 and C++; link with -lferry.
 *
 * Text is UTF-8, in and out; ill-formed bytes count as U+FFFD. A line holds no newline (one in it is a blank); it
 * needs no NUL where its length is given.
 *
 * Structs begin with their own size, which the caller sets as it was compiled: FERRY_INIT(struct) zeroes one and does
 * that. So programs and libraries of different versions agree on what is there: what the library doesn't know must be
 * 0, what the caller doesn't know isn't told.
 *
 * Errors. A function that can fail returns NULL or 0 and fills the ferry_error, if it is given one. None ends the
 * process, prints, or leaves anything half done; also where memory lacks, what it had taken is free again and the
 * model goes on working. What the library can't catch is memory and threads that the OpenMP runtime lacks for itself.
 *
 * Threads. All functions may be called by several threads at once, on one model, too, and from inside OpenMP regions;
 * only ferry_close and ferry_free must be the last to touch their object. A model computes on threads of its own, one
 * team for each call that is under way at a time, kept until ferry_close: the caller's OpenMP settings, locale,
 * floating-point mode and signal mask neither count nor change, and no signal is handled by those threads. Results are
 * the same to the last bit whatever the number of threads, and the same as the program's.
 *
 * After fork() a model of the parent is refused with an error in the child (ferry_close there does nothing; results
 * may be read and freed); the child may open its own. */
#ifndef FERRY_H
#define FERRY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __GNUC__
#define FERRY_API __attribute__((visibility("default")))
#else
#define FERRY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Make a struct of this library ready to be filled in, or to be filled by it. */
#define FERRY_INIT(object) (memset(&(object), 0, sizeof(object)), (void)((object).size = sizeof(object)))

/* One or several models that translate together. */
typedef struct ferry_model ferry_model;
/* What came of a call, for each of its lines. */
typedef struct ferry_result ferry_result;

enum {
    FERRY_OK = 0,
    FERRY_FAILED = 1,    /* a file, a line, the system */
    FERRY_USAGE = 2,     /* a wrong argument or option */
    FERRY_CANCELLED = 3, /* ferry_call.progress said so */
    FERRY_NO_MEMORY = 4
};

typedef struct ferry_error {
    size_t size;
    int code;        /* FERRY_OK .. */
    int64_t line;    /* the index of the line that is at fault; -1: none in particular */
    char text[2048]; /* a sentence that says what is wrong and what would be right, without a newline; or "" */
} ferry_error;

/* The version of the library, "0.1.0"; static. */
FERRY_API const char *ferry_version(void);

/* ---- models ---- */

typedef struct ferry_open_options {
    size_t size;
    const char *precision;       /* "fp32", "bf16", "int8"; NULL: as the model's configuration says */
    int threads;                 /* of each call; 0: OMP_NUM_THREADS if set, else all cores */
    int tokenizer_only;          /* nonzero: open the tokenizer alone, for ferry_tokenize and ferry_detokenize */
    const char *const *settings; /* options as --set of the command line takes them, "decode.beam=5", NULL last; or NULL */
} ferry_open_options;

/* Open models, each by its run folder or a checkpoint in one (a tokenizer alone also by its file); several must share
 * a vocabulary, and the probabilities of all are averaged. options may be NULL. Returns a model to be closed with
 * ferry_close, or NULL. The arguments are not kept. */
FERRY_API ferry_model *ferry_open(const char *const *models, size_t n_models, const ferry_open_options *options,
                                  ferry_error *error);
/* Close it, when no call uses it any more; NULL is allowed. Results stay valid. */
FERRY_API void ferry_close(ferry_model *model);

typedef struct ferry_description {
    size_t size;
    int n_models;                /* 0: a tokenizer alone, of which only vocab_size is told */
    int vocab_size, d_model, d_ff, heads, encoder_layers, decoder_layers; /* of the first model, as all that follows */
    int threads;                 /* of each call */
    int64_t n_parameters;        /* of all models */
    int64_t step;                /* that training had reached */
    const char *precision;       /* of the matrix products, after what this processor can do: "fp32", "bf16", "int8" */
    const char *kernel;          /* what computes them */
    const char *symbols;         /* data.symbols: strings that are one token each, such as marks of languages */
    const char *source, *target; /* the training texts, whose names tell the languages; "" if the run doesn't tell */
    const char *options;         /* all options, as a configuration file */
} ferry_description;

/* Describe the model. The texts, "" where there is nothing to tell, belong to the model and live as long as it.
 * Returns 1, or 0 for a NULL. */
FERRY_API int ferry_describe(const ferry_model *model, ferry_description *description);
/* What was worth a warning when the model was opened: warning i, or NULL after the last. Belongs to the model. */
FERRY_API const char *ferry_model_warning(const ferry_model *model, size_t i);

/* ---- calls ---- */

typedef struct ferry_call {
    size_t size;
    const char *const *settings;  /* options of section [decode] for this call: "beam=5", "sample=yes", NULL last; or
                                   * NULL. weights and precision can be set at ferry_open only. */
    size_t n_best;                /* translations of a line; 0 means 1; at most decode.beam. There may be fewer: of
                                   * those with the same text the best one counts, */
    int distinct_tokens;          /* unless this is nonzero: then of those with the same tokens */
    int tokenized;                /* nonzero: lines (and prefixes, targets) are tokens, as ferry_tokenize gives them */
    int token_scores;             /* nonzero: compute ferry_translation.token_scores */
    int alignments;               /* nonzero: compute ferry_translation.alignment */
    const char *const *prefixes;  /* [n] what each translation begins with; NULL: nothing */
    const size_t *prefix_lengths; /* [n] bytes; NULL: they end in NUL */
    const char *name;             /* of the text, for messages; NULL: "text" */
    const char *other_name;       /* of the prefixes or targets, for messages; NULL: as name */
    int64_t first_line;           /* the number of line 0, for messages and for what sampling draws; 0 means 1 */
    /* Called by the thread that called: first before the work begins, then some 50 times a second, with the lines that
     * are done. Nonzero: give up; it isn't called again, and the call ends with FERRY_CANCELLED as soon as a token more
     * is computed. NULL: none. */
    int (*progress)(void *context, size_t n_done, size_t n);
    void *progress_context;
} ferry_call;

/* Translate n lines. lengths: their bytes, or NULL if they end in NUL. call may be NULL. The arguments must stay until
 * it returns, and are not kept. Returns a result of n lines, to be freed with ferry_free, or NULL. */
FERRY_API ferry_result *ferry_translate(ferry_model *model, const char *const *lines, const size_t *lengths, size_t n,
                                        const ferry_call *call, ferry_error *error);

/* How probable is targets[i] as a translation of sources[i]? The result's log-probabilities and token scores are of the
 * targets. n_best, prefixes and alignments of the call don't count. */
FERRY_API ferry_result *ferry_score(ferry_model *model, const char *const *sources, const size_t *source_lengths,
                                    const char *const *targets, const size_t *target_lengths, size_t n,
                                    const ferry_call *call, ferry_error *error);

/* Text to tokens and back, as `ferry tokenize` and `ferry detokenize` print them: the result's texts. Of the call,
 * name, first_line and progress count. */
FERRY_API ferry_result *ferry_tokenize(ferry_model *model, const char *const *lines, const size_t *lengths, size_t n,
                                       const ferry_call *call, ferry_error *error);
FERRY_API ferry_result *ferry_detokenize(ferry_model *model, const char *const *lines, const size_t *lengths, size_t n,
                                         const ferry_call *call, ferry_error *error);

/* ---- results ---- */

/* What is pointed to belongs to the result; text ends in NUL, which its length doesn't count. */
typedef struct ferry_translation {
    size_t size;
    const char *text;
    size_t length;
    const char *tokens;         /* as ferry_tokenize gives them, separated by blanks */
    size_t n_tokens;            /* without the end */
    size_t n_source;            /* tokens of the source line, its end counted; 0 for a blank line */
    double log_probability;     /* of all tokens and the end */
    double score;               /* log_probability, normalized by length: what translations are ordered by */
    const double *token_scores; /* [n_tokens + 1] log-probabilities, the end last; NULL: not asked for, or blank */
    const float *alignment;     /* [n_tokens + 1, n_source] each row's sum is 1; NULL: not asked for, or a blank line */
} ferry_translation;

FERRY_API size_t ferry_n_lines(const ferry_result *result);
/* How many translations line i has: at least 1; 0 beyond the last line. */
FERRY_API size_t ferry_n_translations(const ferry_result *result, size_t i);
/* Translation `place` (0: the best) of line i. Returns 1, or 0 if there is none. */
FERRY_API int ferry_get(const ferry_result *result, size_t i, size_t place, ferry_translation *translation);
/* The text of the best translation of line i; NULL beyond the last line. */
FERRY_API const char *ferry_text(const ferry_result *result, size_t i);
/* Warnings of the call (lines that were cut): warning i, or NULL after the last. */
FERRY_API const char *ferry_warning(const ferry_result *result, size_t i);
/* NULL is allowed. */
FERRY_API void ferry_free(ferry_result *result);

#ifdef __cplusplus
}
#endif

#endif
