/* Attention of one head in one sentence, by tiles of ATTENTION_TILE queries x keys. Every product is a matmul_block, which takes
 * heads as they lie among the other heads' columns; only keys (backward: and values) are transposed. Bound by the products for
 * long sentences, by exp and what surrounds a product for short ones. */
#include <math.h>

#include "core/kernel_isa.h"

enum { TILE = ATTENTION_TILE };

static int padded(int n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* A head's rows as the right operand of a product, which reads whole vectors: as they lie if d_head fills some, else copied to
 * `dense` with zeros behind. */
static const real *right_operand(const real *rows, size_t *stride, int n, int d_head, real *dense)
{
    const int full = padded(d_head);
    if (full == d_head) return rows;
    for (int i = 0; i < n; i++) {
        memcpy(dense + (size_t)i * (size_t)full, rows + (size_t)i * *stride, (size_t)d_head * sizeof(real));
        memset(dense + (size_t)i * (size_t)full + d_head, 0, (size_t)(full - d_head) * sizeof(real));
    }
    *stride = (size_t)full;
    return dense;
}

/* For each tile of keys, its transpose [d_head, padded(keys)], one after another. */
static void transpose_tiles(const AttentionView *view, int n, int d_head, real *tiles)
{
    for (int j = 0; j < n; j += TILE) {
        const int count = n - j < TILE ? n - j : TILE;
        KERNEL_NAME(matmul_pack)
        (d_head, count, padded(count), view->value + (size_t)j * view->stride, view->stride, true, tiles + (size_t)j * (size_t)d_head);
    }
}

/* How many keys of the tile that starts at key j0 query i sees (0 .. n_k). */
static int n_visible(const AttentionHead *head, int i, int j0, int n_k)
{
    int64_t seen = (int64_t)i + head->visible - j0;
    return seen < 0 ? 0 : seen > n_k ? n_k : (int)seen;
}

/* The dropout mask of one tile, [n_q, TILE] */
static void tile_mask(const AttentionHead *head, int q0, int k0, int n_q, real *mask)
{
    int n_tiles_k = (head->n_k + TILE - 1) / TILE;
    uint64_t tile = (uint64_t)(q0 / TILE) * (uint64_t)n_tiles_k + (uint64_t)(k0 / TILE);
    uint64_t group = head->dropout_group + tile * ATTENTION_TILE_GROUPS;
    KERNEL_NAME(dropout_mask)(head->dropout, group * RANDOM_GROUP, n_q * TILE, mask);
}

/* Offsets into scratch. Memory grows with n_q + n_k, not with their product. */
typedef struct Scratch {
    real *q, *k, *v, *gout, *k_tiles, *v_tiles; /* [n, padded d_head] each */
    real *scores, *gscores, *mask;              /* [TILE, TILE] */
    real *largest, *sum, *delta;                /* [n_q] */
} Scratch;

static Scratch scratch_of(const AttentionHead *head)
{
    const size_t full = (size_t)padded(head->d_head);
    const size_t n_q = (size_t)(head->n_q + TILE - 1) / TILE * TILE, n_k = (size_t)(head->n_k + TILE - 1) / TILE * TILE;
    real *at = head->scratch;
    Scratch s;
    s.q = at, at += n_q * full;
    s.gout = at, at += n_q * full;
    s.k = at, at += n_k * full;
    s.v = at, at += n_k * full;
    s.k_tiles = at, at += n_k * full;
    s.v_tiles = at, at += n_k * full;
    s.scores = at, at += TILE * TILE;
    s.gscores = at, at += TILE * TILE;
    s.mask = at, at += TILE * TILE;
    s.largest = at, at += n_q;
    s.sum = at, at += n_q;
    s.delta = at;
    return s;
}

/* All ones in lanes below n */
VEC_INLINE VecInt lanes_below(int n)
{
    VecInt lane;
    for (int i = 0; i < LANES; i++) lane[i] = i;
    return lane < n;
}

/* One row of a tile's raw scores becomes weights exp(scale * score - largest so far), 0 from n on, in `columns` (whole vectors);
 * the running sum and the output row are rescaled. */
static void softmax_update(int n, int columns, real scale, real *scores, real *largest, real *sum, int d_head, real *out)
{
    Vec high = vec_set(*largest);
    for (int j = 0; j < n; j += LANES) {
        Vec x = vec_load(scores + j) * scale;
        vec_store(scores + j, x);
        high = vec_max(vec_select(lanes_below(n - j), x, high), high);
    }
    const real new_largest = vec_largest(high);
    Vec total = {0};
    for (int j = 0; j < columns; j += LANES) {
        Vec weight = {0};
        if (j < n) weight = vec_select(lanes_below(n - j), vec_exp(vec_load(scores + j) - new_largest), weight);
        total += weight;
        vec_store(scores + j, weight);
    }
    if (new_largest > *largest) {
        const real correction = vec_exp(vec_set(*largest - new_largest))[0];
        *sum *= correction;
        for (int c = 0; c < d_head; c++) out[c] *= correction;
    }
    *sum += vec_sum(total);
    *largest = new_largest;
}

/* Rows of queries from q0 on: their sums over all keys, not yet divided by the weights' sums, in `out`. */
static void forward_tile(const AttentionHead *head, const Scratch *s, int q0, int n_q, const real *v, size_t v_stride)
{
    const int d_head = head->d_head;
    const real scale = 1 / (real)sqrt((double)d_head);
    real *out = head->out.value + (size_t)q0 * head->out.stride;
    for (int i = 0; i < n_q; i++) s->largest[i] = (real)-1e30, s->sum[i] = 0;
    for (int k0 = 0; k0 < head->n_k; k0 += TILE) {
        const int n_k = head->n_k - k0 < TILE ? head->n_k - k0 : TILE, columns = padded(n_k);
        if (!n_visible(head, q0 + n_q - 1, k0, n_k)) break;
        KERNEL_NAME(matmul_block)(n_q, columns, d_head, head->q.value + (size_t)q0 * head->q.stride, head->q.stride, 1,
                                  s->k_tiles + (size_t)k0 * (size_t)d_head, (size_t)columns, s->scores, TILE, NULL, false);
        for (int i = 0; i < n_q; i++) {
            const int n = n_visible(head, q0 + i, k0, n_k);
            real *row = s->scores + i * TILE;
            if (k0 == 0) memset(out + (size_t)i * head->out.stride, 0, (size_t)d_head * sizeof(real));
            if (n) softmax_update(n, columns, scale, row, s->largest + i, s->sum + i, d_head, out + (size_t)i * head->out.stride);
            else memset(row, 0, (size_t)columns * sizeof(real));
        }
        if (head->dropout) {
            tile_mask(head, q0, k0, n_q, s->mask);
            for (int i = 0; i < n_q; i++)
                for (int j = 0; j < columns; j++) s->scores[i * TILE + j] *= s->mask[i * TILE + j];
        }
        KERNEL_NAME(matmul_block)(n_q, d_head, n_k, s->scores, TILE, 1, v + (size_t)k0 * v_stride, v_stride, out,
                                  head->out.stride, NULL, k0 > 0);
    }
}

void KERNEL_NAME(attention_forward)(const AttentionHead *head)
{
    const Scratch s = scratch_of(head);
    const int d_head = head->d_head;
    size_t v_stride = head->v.stride;
    const real *v = right_operand(head->v.value, &v_stride, head->n_k, d_head, s.v);
    transpose_tiles(&head->k, head->n_k, d_head, s.k_tiles);
    for (int q0 = 0; q0 < head->n_q; q0 += TILE) {
        const int n_q = head->n_q - q0 < TILE ? head->n_q - q0 : TILE;
        forward_tile(head, &s, q0, n_q, v, v_stride);
        for (int i = 0; i < n_q; i++) {
            real *row = head->out.value + (size_t)(q0 + i) * head->out.stride, inverse = 1 / s.sum[i];
            for (int c = 0; c < d_head; c++) row[c] *= inverse;
            head->lse[(size_t)(q0 + i) * head->lse_stride] = s.largest[i] + (real)log((double)s.sum[i]);
        }
    }
}

/* delta_i = sum over c of gout_ic out_ic: what softmax's gradient subtracts from each row */
static void row_products(const AttentionHead *head, real *delta)
{
    for (int i = 0; i < head->n_q; i++) {
        const real *out = head->out.value + (size_t)i * head->out.stride,
                   *gout = head->out.grad + (size_t)i * head->out.stride;
        Vec sum = {0};
        int c = 0;
        for (; c + LANES <= head->d_head; c += LANES) sum += vec_load(out + c) * vec_load(gout + c);
        if (c < head->d_head) sum += vec_load_part(out + c, head->d_head - c, 0) * vec_load_part(gout + c, head->d_head - c, 0);
        delta[i] = vec_sum(sum);
    }
}

/* One tile: scores become the weights that multiply v (after dropout), gscores the gradient of the raw scores. */
static void tile_gradients(const AttentionHead *head, const Scratch *s, int q0, int k0, int n_q, int n_k, real scale)
{
    const int columns = padded(n_k);
    if (head->dropout) tile_mask(head, q0, k0, n_q, s->mask);
    for (int i = 0; i < n_q; i++) {
        real *score = s->scores + i * TILE, *gscore = s->gscores + i * TILE;
        const real *mask = s->mask + i * TILE;
        const int n = n_visible(head, q0 + i, k0, n_k);
        const real lse = head->lse[(size_t)(q0 + i) * head->lse_stride], delta = s->delta[q0 + i];
        for (int j = 0; j < columns; j += LANES) {
            Vec kept = {0}, gradient = {0};
            if (j < n) {
                const Vec zero = {0}, weight = vec_exp(vec_load(score + j) * scale - lse);
                Vec g = vec_load(gscore + j), out = weight;
                if (head->dropout) {
                    Vec m = vec_load(mask + j);
                    g *= m;
                    out *= m;
                }
                kept = vec_select(lanes_below(n - j), out, zero);
                gradient = vec_select(lanes_below(n - j), weight * (g - delta) * scale, zero);
            }
            vec_store(score + j, kept);
            vec_store(gscore + j, gradient);
        }
    }
}

void KERNEL_NAME(attention_backward)(const AttentionHead *head)
{
    const Scratch s = scratch_of(head);
    const int d_head = head->d_head;
    const real scale = 1 / (real)sqrt((double)d_head);
    size_t q_stride = head->q.stride, k_stride = head->k.stride, gout_stride = head->out.stride;
    const real *q = right_operand(head->q.value, &q_stride, head->n_q, d_head, s.q);
    const real *k = right_operand(head->k.value, &k_stride, head->n_k, d_head, s.k);
    const real *gout = right_operand(head->out.grad, &gout_stride, head->n_q, d_head, s.gout);
    transpose_tiles(&head->k, head->n_k, d_head, s.k_tiles);
    transpose_tiles(&head->v, head->n_k, d_head, s.v_tiles);
    row_products(head, s.delta);
    for (int q0 = 0; q0 < head->n_q; q0 += TILE) {
        const int n_q = head->n_q - q0 < TILE ? head->n_q - q0 : TILE;
        const real *q_tile = q + (size_t)q0 * q_stride, *gout_tile = gout + (size_t)q0 * gout_stride;
        for (int k0 = 0; k0 < head->n_k; k0 += TILE) {
            const int n_k = head->n_k - k0 < TILE ? head->n_k - k0 : TILE, columns = padded(n_k);
            if (!n_visible(head, q0 + n_q - 1, k0, n_k)) break;
            KERNEL_NAME(matmul_block)(n_q, columns, d_head, q_tile, q_stride, 1, s.k_tiles + (size_t)k0 * (size_t)d_head,
                                      (size_t)columns, s.scores, TILE, NULL, false);
            KERNEL_NAME(matmul_block)(n_q, columns, d_head, gout_tile, gout_stride, 1, s.v_tiles + (size_t)k0 * (size_t)d_head,
                                      (size_t)columns, s.gscores, TILE, NULL, false);
            tile_gradients(head, &s, q0, k0, n_q, n_k, scale);
            KERNEL_NAME(matmul_block)(n_k, d_head, n_q, s.scores, 1, TILE, gout_tile, gout_stride,
                                      head->v.grad + (size_t)k0 * head->v.stride, head->v.stride, NULL, true);
            KERNEL_NAME(matmul_block)(n_k, d_head, n_q, s.gscores, 1, TILE, q_tile, q_stride,
                                      head->k.grad + (size_t)k0 * head->k.stride, head->k.stride, NULL, true);
            KERNEL_NAME(matmul_block)(n_q, d_head, n_k, s.gscores, TILE, 1, k + (size_t)k0 * k_stride, k_stride,
                                      head->q.grad + (size_t)q0 * head->q.stride, head->q.stride, NULL, true);
        }
    }
}
