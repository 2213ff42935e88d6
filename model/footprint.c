/* Counts what model/model.c declares and what the builders in autograd/ take from the arena. */
#include "model/footprint.h"

#include "core/attention.h"

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

/* Elements of a token of each side that stay from its forward to its backward pass. A residual norm has two tensors and two
 * numbers a row, attention a number a head. */
static size_t opening_norm(const ModelConfig *c)
{
    return c->norm == MODEL_PRE_NORM ? (size_t)c->d_model + 2 : 0;
}

static size_t per_source(const ModelConfig *c)
{
    const size_t d = (size_t)c->d_model, f = (size_t)c->d_ff, norm = 2 * d + 2;
    const size_t self = 3 * d + d + (size_t)c->heads + d + norm, feed_forward = f + f + d + norm;
    const size_t cross = 2 * d; /* keys and values of each decoder layer */
    return d + opening_norm(c) + (size_t)c->encoder_layers * (self + feed_forward) + (size_t)c->decoder_layers * cross;
}

static size_t per_target(const ModelConfig *c)
{
    const size_t d = (size_t)c->d_model, f = (size_t)c->d_ff, norm = 2 * d + 2;
    const size_t self = 3 * d + d + (size_t)c->heads + d + norm, feed_forward = f + f + d + norm;
    const size_t cross = d + d + (size_t)c->heads + d + norm;
    const size_t loss = d; /* its gradient */
    return d + opening_norm(c) + (size_t)c->decoder_layers * (self + cross + feed_forward) + loss;
}

static size_t passes(const ModelConfig *c)
{
    return c->rdrop > 0 ? 2 : 1;
}

/* What comes and goes on top of that, where it is most: in the loss, with logits of a chunk of rows and packed weights, or in
 * a backward pass, with a packed or masked copy of a matrix. */
static size_t scratch(const ModelConfig *c, size_t n_tokens, size_t longest, int n_threads)
{
    enum { PANEL = 64, LOGITS = 4 << 20, MIN_ROWS = 64, MAX_ROWS = 1024 };
    const size_t d = (size_t)c->d_model, f = (size_t)c->d_ff, v = (size_t)c->vocab_size;
    const size_t fit = LOGITS / v / passes(c), rows = passes(c) * (fit < MIN_ROWS ? MIN_ROWS : fit > MAX_ROWS ? MAX_ROWS : fit);
    const bool packs = d % PANEL || d > 1024;
    const size_t loss = rows * v + (v + PANEL) * d + (packs ? v * (d + PANEL) : 0);
    const size_t matrix = n_tokens * largest(d, f) + largest(3 * d, f) * d;
    const size_t attention = (size_t)n_threads * attention_scratch((int)longest, (int)longest, c->d_model / c->heads);
    return largest(largest(loss, matrix), attention);
}

size_t footprint_step(const ModelConfig *c, size_t n_source, size_t n_target, size_t longest, int n_threads)
{
    enum { NODES = 1 << 14 }; /* bytes of a layer's nodes, and of what is lost by alignment */
    n_source *= passes(c);
    n_target *= passes(c);
    const size_t elements = n_source * per_source(c) + n_target * per_target(c) + (size_t)c->vocab_size * (size_t)c->d_model +
                            scratch(c, largest(n_source, n_target), longest, n_threads);
    return elements * sizeof(real) + (size_t)(c->encoder_layers + c->decoder_layers + 1) * NODES +
           8 * (n_source + n_target); /* places, spans */
}

/* At a time there are, of the width of the model, those of a residual norm's two results and two inputs, of the encoder's
 * output, and one that has another number of rows; one of queries, keys and values, and one of keys and values alone; two
 * inside the feed-forward layer. */
size_t footprint_gradients(const ModelConfig *c, size_t n_source, size_t n_target)
{
    const size_t d = (size_t)c->d_model, f = (size_t)c->d_ff, n = passes(c) * largest(n_source, n_target);
    return tape_gradient_size(n * (6 * d + 3 * d + 2 * d + 2 * f) * sizeof(real));
}

/* The encoder's pass and the cross keys and values, of which the cache holds a
 * copy; then, over the same memory, step after step. */
size_t footprint_search(const ModelConfig *c, size_t n_source, size_t n_seq, size_t n_rows, size_t beam_size)
{
    const size_t d = (size_t)c->d_model, f = (size_t)c->d_ff, h = (size_t)c->heads, layers = (size_t)c->decoder_layers;
    const size_t cross = n_source * layers * 2 * d;
    const size_t encode = n_source * (3 * d + (size_t)c->encoder_layers * (10 * d + 2 * f + h + 4)) + cross;
    const size_t step = n_seq * beam_size * (3 * d + layers * (15 * d + 2 * f + 2 * h + 6) + (size_t)c->vocab_size);
    return (largest(encode, step) + cross + n_rows * beam_size * layers * 2 * d) * sizeof(real);
}
