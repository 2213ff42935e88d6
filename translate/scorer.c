#include "translate/scorer.h"

#include "core/memory.h"
#include "data/batches.h"
#include "model/score.h"

static int32_t longer_side(const Sequences *source, const Sequences *target, size_t i)
{
    const int32_t n_source = sequences_length(source, i), n_target = sequences_length(target, i);
    return n_source > n_target ? n_source : n_target;
}

/* What a run works with, kept from batch to batch. */
typedef struct Room {
    RaggedBuffer source, target;
    Arena arena;
} Room;

/* Pairs first .. end - 1 as a batch. */
static Batch batch_of(Room *room, const Sequences *source, const Sequences *target, size_t first, size_t end)
{
    batches_fill_ragged(&room->source, source, NULL, end, first, INT32_MAX);
    batches_fill_ragged(&room->target, target, NULL, end, first, INT32_MAX);
    const Ragged *label = &room->target.ragged;
    int32_t *token = arena_alloc(&room->arena, (size_t)label->n_tokens * sizeof *token);
    for (int s = 0; s < label->n_seq; s++)
        for (int32_t i = label->start[s]; i < label->start[s + 1]; i++)
            token[i] = i == label->start[s] ? TOKEN_BOS : label->token[i - 1];
    return (Batch){.source = room->source.ragged, .target = {label->n_seq, label->n_tokens, label->start, token},
                   .label = label->token};
}

static void score(Translator *translator, Room *room, const Batch *batch, size_t first,
                  void (*take)(void *context, const Scored *scored), void *context)
{
    double *all = arena_alloc(&room->arena, (size_t)batch->target.n_tokens * sizeof *all);
    score_batch(&translator->search, batch, all);
    for (int s = 0; s < batch->target.n_seq; s++) {
        const int32_t start = batch->target.start[s], *source_start = batch->source.start;
        Scored scored = {.index = first + (size_t)s, .token = batch->label + start, .score = all + start,
                         .n = batch->target.start[s + 1] - start, .n_source = source_start[s + 1] - source_start[s]};
        for (int i = 0; i < scored.n; i++) scored.log_probability += scored.score[i];
        take(context, &scored);
    }
}

bool scorer_run(Translator *translator, const Sequences *source, const Sequences *target,
                void (*take)(void *context, const Scored *scored), void *context)
{
    Room room = {0};
    bool stopped = false;
    for (size_t first = 0, end; first < source->n && !stopped; first = end) {
        int64_t n_tokens = 0;
        for (end = first; end < source->n; end++) {
            n_tokens += longer_side(source, target, end);
            if (end > first && n_tokens > translator->batch_tokens) break;
        }
        arena_reset(&room.arena);
        const Batch batch = batch_of(&room, source, target, first, end);
        score(translator, &room, &batch, first, take, context);
        if (translator->progress) translator->progress(translator->progress_context, end, source->n);
        stopped = translator->stop && translator->stop(translator->stop_context);
    }
    batches_free_ragged(&room.source);
    batches_free_ragged(&room.target);
    arena_free(&room.arena);
    return !stopped;
}
