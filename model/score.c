#include "model/score.h"

#include "core/error.h"
#include "model/transformer.h"
#include "model/distribution.h"

enum { CHUNK = 256 }; /* rows whose logits exist at a time */

/* Rows first .. first + n - 1 of t */
static Tensor rows_of(const Tensor *t, int first, int n)
{
    Tensor part = *t;
    part.rows = n;
    part.value += (size_t)first * t->stride;
    return part;
}

void score_batch(Search *search, const Batch *batch, double *out)
{
    const int n_models = search->n_models, n_rows = batch->target.n_tokens;
    CHECK(batch->source.n_seq == batch->target.n_seq, "%d sources, %d targets", batch->source.n_seq, batch->target.n_seq);
    Tensor *hidden[n_models], *logits[n_models];
    ArenaMark mark[n_models];
    for (int m = 0; m < n_models; m++) {
        SearchModel *sm = &search->models[m];
        tape_begin(&sm->tape, false);
        Tensor *memory = transformer_encode(sm->model, &sm->tape, &batch->source);
        hidden[m] = transformer_decode(sm->model, &sm->tape, memory, &batch->source, &batch->target);
        mark[m] = arena_mark(&sm->tape.arena);
    }
    for (int first = 0; first < n_rows; first += CHUNK) {
        const int n = n_rows - first < CHUNK ? n_rows - first : CHUNK;
        for (int m = 0; m < n_models; m++) {
            SearchModel *sm = &search->models[m];
            Tensor rows = rows_of(hidden[m], first, n);
            arena_release(&sm->tape.arena, mark[m]);
            logits[m] = transformer_logits(sm->model, &sm->tape, &rows);
        }
        const Distribution d = distribution_of(&search->models[0].tape, logits, n_models);
        for (int i = 0; i < n; i++) out[first + i] = distribution_log(&d, i, batch->label[first + i]);
    }
}
