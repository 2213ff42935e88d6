/* The tape's observer: what it is told, and that its looking changes nothing. */
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "tests/sample.h"
#include "tests/suites.h"

enum { MOST = 64 };

/* What happened, in order: ops entered and left. */
typedef struct Journal {
    TapeObserver observer;
    struct Entry {
        const OpDef *op;
        bool backward, done;
    } entry[2 * MOST];
    int n;
} Journal;

static void write_down(TapeObserver *observer, const OpDef *op, bool backward, bool done)
{
    Journal *journal = (Journal *)observer;
    ck_assert_int_lt(journal->n, 2 * MOST);
    journal->entry[journal->n++] = (struct Entry){op, backward, done};
}

static void before(TapeObserver *observer, const OpDef *op, bool backward)
{
    write_down(observer, op, backward, false);
}

static void after(TapeObserver *observer, const OpDef *op, bool backward)
{
    write_down(observer, op, backward, true);
}

static const ModelConfig config = {.vocab_size = 40, .d_model = 8, .d_ff = 12, .heads = 2, .encoder_layers = 1,
                                   .decoder_layers = 1, .norm = MODEL_PRE_NORM, .tie = MODEL_TIE_ALL};

/* The gradients of one batch, in model->params.grad. */
static void gradients(Model *model, Tape *tape, const Batch *batch)
{
    memset(model->params.grad, 0, model->params.size * sizeof(real));
    tape_begin(tape, true);
    *tape_grad(tape, transformer_loss(model, tape, batch, 1, NULL)) = 1;
    tape_backward(tape);
}

START_TEST(sees_every_op_both_ways)
{
    Arena arena = {0};
    Journal journal = {.observer = {before, after}};
    Tape tape = {.observer = &journal.observer};
    Model *model = sample_model(&config, 1, true);
    const Batch batch = sample_batch(&arena, 2, 3, 1, 5, config.vocab_size);
    gradients(model, &tape, &batch);

    const OpDef *backward_order[MOST];
    int n = 0;
    for (const Node *node = tape.last; node; node = node->previous) {
        ck_assert_int_lt(n, MOST);
        backward_order[n++] = node->op;
    }
    ck_assert_int_gt(n, 10);
    ck_assert_ptr_eq(backward_order[0], &op_projection_loss);
    ck_assert_ptr_eq(backward_order[n - 1], &op_embedding);
    ck_assert_int_eq(journal.n, 4 * n);
    for (int i = 0; i < 2 * n; i++) {
        const bool backward = i >= n;
        const OpDef *op = backward_order[backward ? i - n : n - 1 - i];
        for (int done = 0; done <= 1; done++) {
            const struct Entry *e = &journal.entry[2 * i + done];
            ck_assert_msg(e->op == op && e->backward == backward && e->done == done, "event %d: %s%s%s, not %s",
                          2 * i + done, e->op->name, e->backward ? " backward" : "", e->done ? " done" : "", op->name);
        }
    }

    /* without recording: forward alone */
    journal.n = 0;
    tape_begin(&tape, false);
    transformer_loss(model, &tape, &batch, 1, NULL);
    ck_assert_int_eq(journal.n, 2 * n);
    model_free(model);
    tape_free(&tape);
    arena_free(&arena);
}
END_TEST

START_TEST(changes_no_bit)
{
    Arena arena = {0};
    Journal journal = {.observer = {before, after}};
    Tape watched = {.dropout = true, .observer = &journal.observer}, alone = {.dropout = true};
    Model *model = sample_model(&config, 1, true);
    model->config.dropout = (real)0.2;
    const size_t bytes = model->params.size * sizeof(real);
    const Batch batch = sample_batch(&arena, 2, 9, 1, 20, config.vocab_size);
    gradients(model, &alone, &batch);
    real *want = memcpy(mem_alloc(bytes), model->params.grad, bytes);
    gradients(model, &watched, &batch);
    ck_assert_int_gt(journal.n, 0);
    ck_assert_mem_eq(model->params.grad, want, bytes);
    mem_free(want);
    model_free(model);
    tape_free(&watched);
    tape_free(&alone);
    arena_free(&arena);
}
END_TEST

/* As many as train.accumulate may be, and of each as many ops as 1,000 layers have: all have other random bits. */
START_TEST(every_pass_has_its_own_dropout)
{
    static const uint32_t passes[] = {0, 1, 2, 65535, 65536, 65537, 2 * 65536, 999999}, skipped[] = {0, 1, 65534};
    enum { PASSES = sizeof passes / sizeof *passes, SKIPPED = sizeof skipped / sizeof *skipped };
    RandomStream stream[PASSES * SKIPPED];
    for (int i = 0; i < PASSES * SKIPPED; i++) {
        Tape tape = {.dropout = true, .seed = 7, .step = 3, .pass = passes[i / SKIPPED], .n_dropouts = skipped[i % SKIPPED]};
        stream[i] = tape_dropout(&tape, (real)0.5).stream;
        const RandomStream next = tape_dropout(&tape, (real)0.5).stream;
        ck_assert_int_ne(memcmp(&stream[i], &next, sizeof next), 0);
        for (int j = 0; j < i; j++) ck_assert_int_ne(memcmp(&stream[i], &stream[j], sizeof *stream), 0);
    }
    /* the places of a run of before, whose passes were fewer */
    const RandomStream before = random_stream(7, RANDOM_DROPOUT, 3, 65535u << 16 | 1u);
    ck_assert_mem_eq(&stream[3 * SKIPPED + 1], &before, sizeof before);
    ck_assert_uint_eq(before.key[1], (uint32_t)RANDOM_DROPOUT << 24);
}
END_TEST

Suite *suite_tape(void)
{
    Suite *suite = suite_create("tape");
    TCase *tcase = tcase_create("observer");
    tcase_add_test(tcase, sees_every_op_both_ways);
    tcase_add_test(tcase, changes_no_bit);
    tcase_add_test(tcase, every_pass_has_its_own_dropout);
    suite_add_tcase(suite, tcase);
    return suite;
}
