/* model/footprint: what it foretells is what the model takes. */
#include <string.h>

#include "core/threads.h"
#include "model/footprint.h"
#include "tests/sample.h"
#include "tests/suites.h"

static const struct Case {
    ModelConfig config;
    int n_seq, shortest, longest;
} cases[] = {
    {{.vocab_size = 1500, .d_model = 128, .d_ff = 256, .heads = 4, .encoder_layers = 2, .decoder_layers = 2}, 128, 4, 28},
    {{.vocab_size = 1500, .d_model = 128, .d_ff = 256, .heads = 4, .encoder_layers = 1, .decoder_layers = 1}, 128, 4, 28},
    {{.vocab_size = 10000, .d_model = 128, .d_ff = 256, .heads = 4, .encoder_layers = 4, .decoder_layers = 4}, 128, 4, 28},
    {{.vocab_size = 3000, .d_model = 96, .d_ff = 700, .heads = 8, .encoder_layers = 3, .decoder_layers = 1,
      .norm = MODEL_PRE_NORM, .activation = ACTIVATE_GELU, .tie = MODEL_TIE_NONE}, 30, 40, 80},
    {{.vocab_size = 8000, .d_model = 512, .d_ff = 2048, .heads = 8, .encoder_layers = 1, .decoder_layers = 2,
      .tie = MODEL_TIE_DECODER}, 40, 4, 40},
    {{.vocab_size = 300, .d_model = 64, .d_ff = 128, .heads = 2, .encoder_layers = 2, .decoder_layers = 2,
      .norm = MODEL_PRE_NORM}, 2, 1000, 1000}, /* long sentences */
    {{.vocab_size = 900, .d_model = 64, .d_ff = 128, .heads = 2, .encoder_layers = 2, .decoder_layers = 2, .rdrop = 1}, 64, 4, 28},
    {{.vocab_size = 20000, .d_model = 1100, .d_ff = 64, .heads = 1, .encoder_layers = 1, .decoder_layers = 1}, 20, 4, 20},
};

static void check_case(const struct Case *c, bool dropout)
{
    ModelConfig config = c->config;
    if (dropout) config.dropout = config.attention_dropout = config.activation_dropout = (real)0.1;
    Model *model = model_new(&config, true);
    memset(model->params.value, 0, model->params.size * sizeof(real)); /* what the numbers are doesn't matter */
    ck_assert_uint_eq(model->params.size, footprint_parameters(&config));
    Arena arena = {0};
    const Batch batch = sample_batch(&arena, 2, c->n_seq, c->shortest, c->longest, config.vocab_size);
    Tape tape = {.dropout = true};
    LossSums sums;
    tape_begin(&tape, true);
    *tape_grad(&tape, transformer_loss(model, &tape, &batch, 1, &sums)) = 1;
    tape_backward(&tape);
    const size_t foretold = footprint_step(&config, (size_t)batch.source.n_tokens, (size_t)batch.target.n_tokens,
                                           (size_t)c->longest + 1, threads_count());
    ck_assert_msg(foretold >= tape.arena.peak && foretold - tape.arena.peak <= tape.arena.peak / 8, "foretold %zu, took %zu: %.3f",
                  foretold, tape.arena.peak, (double)foretold / (double)tape.arena.peak);
    const size_t gradients = footprint_gradients(&config, (size_t)batch.source.n_tokens, (size_t)batch.target.n_tokens);
    const size_t held = tape_gradient_bytes(&tape);
    ck_assert_msg(gradients >= held && gradients <= 2 * held, "foretold %zu of gradients, took %zu: %.3f", gradients, held,
                  (double)gradients / (double)held);
    tape_free(&tape);
    arena_free(&arena);
    model_free(model);
}

START_TEST(a_step)
{
    threads_set(2);
    check_case(&cases[_i], _i % 2);
}
END_TEST

/* Each thread has scratch of its own: more threads than this machine has processors. */
START_TEST(a_step_with_many_threads)
{
    static const struct Case large = {{.vocab_size = 2000, .d_model = 512, .d_ff = 2048, .heads = 8, .encoder_layers = 2,
                                       .decoder_layers = 1, .tie = MODEL_TIE_ALL}, 32, 20, 29}; /* some 800 tokens */
    static const int threads[] = {1, 16, 64};
    threads_set(threads[_i]);
    check_case(&large, true);
    check_case(&large, false);
    check_case(&cases[5], true);
    check_case(&cases[6], true);
}
END_TEST

Suite *suite_footprint(void)
{
    Suite *suite = suite_create("footprint");
    TCase *tcase = tcase_create("footprint");
    tcase_add_loop_test(tcase, a_step, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_loop_test(tcase, a_step_with_many_threads, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}
