/* log.tsv: one row a report, tab-separated, under a header. All columns but the timing ones (seconds, tokens_per_s) are
 * functions of data, options and step. */
#ifndef FERRY_RUN_LOG_H
#define FERRY_RUN_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

typedef struct LogRow {
    int64_t step;
    double epoch;         /* passes over the data so far: 1.5 is in the middle of the second */
    double loss;          /* training loss a token since the last row, label smoothing included; NaN: no step since */
    double learning_rate, gradient_norm;
    bool validated; /* the next four are there */
    double valid_loss; /* cross-entropy a token without smoothing; its exp is the perplexity */
    double valid_bleu, valid_chrf, valid_exact;
    int64_t n_skipped; /* steps so far that made no update */
    double tokens_per_s, seconds; /* target tokens; time of training in all */
} LogRow;

typedef struct Log {
    char *path;
    double seconds; /* of the last row that was there */
} Log;

/* Open the log for appending; rows after `last_step` (written by a run that went on beyond its last checkpoint) are dropped,
 * so is a row that was cut short. A missing file is begun. Close with log_close. */
bool log_open(Log *log, const char *path, int64_t last_step, Error *error);
/* The row is on the disk when this returns: no checkpoint is ever newer than the rows that it says are there. */
bool log_append(Log *log, const LogRow *row, Error *error);
void log_close(Log *log);

/* The training time in the last row of a log; 0 if there is none. */
bool log_seconds(const char *path, double *seconds, Error *error);

#endif
