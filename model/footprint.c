/* Counts what model/model.c declares, and adds up what the ops say that they take. */
#include "model/footprint.h"

/* Weights [out, in] and biases. */
static size_t linear_size(size_t out, size_t in)
{
    return out * in + out;
}

size_t footprint_parameters(const ModelConfig *c)
{
    const size_t d = (size_t)c->d_model, f = (size_t)c->d_ff, norm = 2 * d, table = (size_t)c->vocab_size * d;
    const size_t attention = 4 * linear_size(d, d), feed_forward = linear_size(f, d) + linear_size(d, f);
    const size_t n_tables = c->tie == MODEL_TIE_ALL ? 1 : c->tie == MODEL_TIE_DECODER ? 2 : 3;
    return n_tables * table + (size_t)c->encoder_layers * (attention + feed_forward + 2 * norm) +
           (size_t)c->decoder_layers * (2 * attention + feed_forward + 3 * norm) +
           (c->norm == MODEL_PRE_NORM ? 2 * norm : 0);
}

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static int passes(const ModelConfig *c)
{
    return c->rdrop > 0 ? 2 : 1;
}

/* One op after another: what stays adds up, scratch is used again. */
static void add(Footprint *all, Footprint op)
{
    all->kept += op.kept;
    all->scratch = largest(all->scratch, op.scratch);
}

/* The layers of one side with n tokens; n_memory: of the encoder's output, for the decoder (0: none). As in model/layers.c. */
static void add_stack(Footprint *all, const ModelConfig *c, int n_layers, int n, int n_memory, int longest, int n_threads)
{
    const int d = c->d_model, f = c->d_ff;
    add(all, embedding_footprint(n, d, n_threads));
    if (c->norm == MODEL_PRE_NORM) add(all, layer_norm_footprint(n, d, n_threads));
    for (int i = 0; i < n_layers; i++) {
        const int n_sublayers = n_memory ? 3 : 2;
        add(all, linear_footprint(n, d, 3 * d));
        add(all, attention_footprint(n, longest, d, c->heads, n_threads));
        add(all, linear_footprint(n, d, d));
        if (n_memory) {
            add(all, linear_footprint(n, d, d));
            add(all, linear_footprint(n_memory, d, 2 * d));
            add(all, attention_footprint(n, longest, d, c->heads, n_threads));
            add(all, linear_footprint(n, d, d));
        }
        add(all, linear_footprint(n, d, f));
        add(all, activation_footprint(n, f, n_threads));
        add(all, linear_footprint(n, f, d));
        for (int s = 0; s < n_sublayers; s++) add(all, residual_norm_footprint(n, d, n_threads));
    }
}

size_t footprint_step(const ModelConfig *c, size_t n_source, size_t n_target, size_t longest, int n_threads)
{
    enum { NODES = 1 << 14 }; /* bytes of a layer's nodes, and of what is lost by alignment */
    const int n_passes = passes(c), sources = (int)n_source * n_passes, targets = (int)n_target * n_passes;
    Footprint all = {0};
    add_stack(&all, c, c->encoder_layers, sources, 0, (int)longest, n_threads);
    add_stack(&all, c, c->decoder_layers, targets, sources, (int)longest, n_threads);
    add(&all, projection_loss_footprint(targets, n_passes, c->d_model, c->vocab_size));
    const size_t sentences = 2 * sizeof(int32_t) * ((size_t)sources + (size_t)targets); /* their spans, and second copies */
    return all.kept + all.scratch + sentences + (size_t)(c->encoder_layers + c->decoder_layers + 1) * NODES;
}

/* At a time there are, of the width of the model, those of a residual norm's two results and two inputs, of the encoder's
 * output, and one that has another number of rows; one of queries, keys and values, and one of keys and values alone; two
 * inside the feed-forward layer. */
size_t footprint_gradients(const ModelConfig *c, size_t n_source, size_t n_target)
{
    const size_t d = (size_t)c->d_model, f = (size_t)c->d_ff, n = (size_t)passes(c) * largest(n_source, n_target);
    return tape_gradient_size(n * (6 * d + 3 * d + 2 * d + 2 * f) * sizeof(real));
}

/* The encoder's pass and the cross keys and values, of which the cache holds a copy; then, over the same memory, step after
 * step. */
size_t footprint_search(const ModelConfig *c, size_t n_source, size_t n_seq, size_t n_rows, size_t beam_size)
{
    const size_t d = (size_t)c->d_model, f = (size_t)c->d_ff, h = (size_t)c->heads, layers = (size_t)c->decoder_layers;
    const size_t cross = n_source * layers * 2 * d;
    const size_t encode = n_source * (3 * d + (size_t)c->encoder_layers * (10 * d + 2 * f + h + 4)) + cross;
    const size_t step = n_seq * beam_size * (3 * d + layers * (15 * d + 2 * f + 2 * h + 6) + (size_t)c->vocab_size);
    return (largest(encode, step) + cross + n_rows * beam_size * layers * 2 * d) * sizeof(real);
}
