#include "run/log.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "system/files.h"
#include "system/number.h"
#include "text/text.h"

static const char header[] =
    "step\tepoch\tloss\tlearning_rate\tgrad_norm\tvalid_loss\tvalid_bleu\tvalid_chrf\tvalid_exact\tskipped\ttokens_per_s\tseconds\n";

/* The number in the first and the last column; false if the line isn't a whole row. */
static bool row_ends(const char *line, size_t n, int64_t *step, double *seconds)
{
    char *text = mem_alloc(n + 1);
    memcpy(text, line, n);
    text[n] = '\0';
    char *first_tab = strchr(text, '\t'), *last_tab = strrchr(text, '\t');
    bool good = first_tab && last_tab;
    if (good) *first_tab = '\0';
    good = good && number_read_int(text, step) && number_read_real(last_tab + 1, seconds);
    mem_free(text);
    return good;
}

/* The rows up to `last_step`, under a header; *seconds is the last one's. */
static void keep_rows(const char *content, size_t n, int64_t last_step, Text *kept, double *seconds)
{
    text_append(kept, header, sizeof header - 1);
    for (const char *line = content, *end; line < content + n && (end = memchr(line, '\n', (size_t)(content + n - line)));
         line = end + 1) {
        int64_t step;
        double row_seconds;
        if (!row_ends(line, (size_t)(end - line), &step, &row_seconds) || step > last_step) continue;
        text_append(kept, line, (size_t)(end + 1 - line));
        *seconds = row_seconds;
    }
}

bool log_open(Log *log, const char *path, int64_t last_step, Error *error)
{
    *log = (Log){0};
    size_t n = 0;
    char *content = NULL;
    if (file_exists(path) && !(content = file_read_all(path, &n, error))) return false;
    Text kept = {0};
    keep_rows(content ? content : "", n, last_step, &kept, &log->seconds);
    bool same = content && kept.n == n && !memcmp(kept.data, content, n);
    bool good = same || file_write_all(path, kept.data, kept.n, error);
    text_free(&kept);
    mem_free(content);
    if (!good) return false;
    log->path = mem_string(path);
    return true;
}

bool log_append(Log *log, const LogRow *row, Error *error)
{
    const struct { bool there; double value; int digits; } column[] = {
        {true, row->epoch, 6}, {!isnan(row->loss), row->loss, 7}, {true, row->learning_rate, 7},
        {true, row->gradient_norm, 7},
        {row->validated, row->valid_loss, 7}, {row->validated, row->valid_bleu, 6}, {row->validated, row->valid_chrf, 6},
        {row->validated, row->valid_exact, 6}, {true, (double)row->n_skipped, 9}, {true, row->tokens_per_s, 6},
        {true, row->seconds, 9},
    };
    Text line = {0};
    text_append_format(&line, "%" PRId64, row->step);
    for (size_t i = 0; i < sizeof column / sizeof *column; i++) {
        char text[NUMBER_SIZE] = "";
        if (column[i].there) number_write_digits(text, column[i].value, column[i].digits);
        text_append_format(&line, "\t%s", text);
    }
    text_append(&line, "\n", 1);
    const bool good = file_append(log->path, line.data, line.n, error);
    text_free(&line);
    return good;
}

void log_close(Log *log)
{
    mem_free(log->path);
    *log = (Log){0};
}

bool log_seconds(const char *path, double *seconds, Error *error)
{
    *seconds = 0;
    if (!file_exists(path)) return true;
    size_t n;
    char *content = file_read_all(path, &n, error);
    if (!content) return false;
    Text kept = {0};
    keep_rows(content, n, INT64_MAX, &kept, seconds);
    text_free(&kept);
    mem_free(content);
    return true;
}
