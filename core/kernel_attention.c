/* Attention of one head in one sentence, by tiles of ATTENTION_TILE queries x keys. Heads are copied to dense, padded blocks
 * in scratch first (width * T elements against width * T^2 multiply-adds), so that every product is a matmul_block. Bound by
 * the products for long sentences, by exp and the copies for short ones. */
#include <math.h>

#include "core/kernel.h"

enum { TILE = ATTENTION_TILE };

static int padded(int n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* dense[n, width_padded] = the view's rows times `scale`, zeros behind */
static void gather(const real *rows, size_t stride, int n, int width, real scale, real *dense)
{
    int full = padded(width);
    for (int i = 0; i < n; i++) {
        const real *row = rows + (size_t)i * stride;
        real *out = dense + (size_t)i * full;
        for (int c = 0; c < width; c++) out[c] = row[c] * scale;
        for (int c = width; c < full; c++) out[c] = 0;
    }
}

static void scatter_add(const real *dense, int n, int width, real *rows, size_t stride)
{
    int full = padded(width);
    for (int i = 0; i < n; i++) {
        real *row = rows + (size_t)i * stride;
        for (int c = 0; c < width; c++) row[c] += dense[(size_t)i * full + c];
    }
}

/* For each tile of keys, its transpose [width, padded(keys)], one after another. */
static void transpose_tiles(const real *rows, size_t stride, int n, int width, real *tiles)
{
    for (int j = 0; j < n; j += TILE) {
        int count = n - j < TILE ? n - j : TILE;
        KERNEL_NAME(matmul_pack)
        (width, count, padded(count), rows + (size_t)j * stride, stride, true, tiles + (size_t)j * width);
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

/* Offsets into scratch. All of a head's rows are there, dense: memory grows with n_q + n_k, not with their product. */
typedef struct Scratch {
    real *q, *k, *v, *gout, *gq, *gk, *gv, *k_tiles, *v_tiles; /* [n, padded width] each */
    real *scores, *gscores, *mask;                             /* [TILE, TILE] */
    real *largest, *sum, *delta;                               /* [n_q] */
} Scratch;

static Scratch scratch_of(const AttentionHead *head)
{
    int full = padded(head->width);
    size_t n_q = (size_t)(head->n_q + TILE - 1) / TILE * TILE, n_k = (size_t)(head->n_k + TILE - 1) / TILE * TILE;
    real *at = head->scratch;
    Scratch s;
    real **q_blocks[] = {&s.q, &s.gout, &s.gq}, **k_blocks[] = {&s.k, &s.v, &s.gk, &s.gv, &s.k_tiles, &s.v_tiles};
    for (int b = 0; b < 3; b++, at += n_q * (size_t)full) *q_blocks[b] = at;
    for (int b = 0; b < 6; b++, at += n_k * (size_t)full) *k_blocks[b] = at;
    real **tiles[] = {&s.scores, &s.gscores, &s.mask}, **rows[] = {&s.largest, &s.sum, &s.delta};
    for (int b = 0; b < 3; b++, at += TILE * TILE) *tiles[b] = at;
    for (int b = 0; b < 3; b++, at += n_q) *rows[b] = at;
    return s;
}

/* One row of a tile's scores becomes weights exp(score - largest so far); the running sum and the output row are rescaled.
 */
static void softmax_update(int n, real *scores, real *largest, real *sum, int width, real *out)
{
    Vec high = vec_set(*largest);
    int whole = n / LANES * LANES, end = padded(n);
    for (int j = 0; j < whole; j += LANES) high = vec_max(vec_load(scores + j), high);
    if (whole < n) high = vec_max(vec_load_part(scores + whole, n - whole, *largest), high);
    real new_largest = vec_largest(high), correction = vec_exp(vec_set(*largest - new_largest))[0];
    Vec total = {0};
    for (int j = 0; j < end; j += LANES) {
        Vec weight = vec_exp(vec_load(scores + j) - new_largest);
        if (j + LANES > n)
            for (int lane = n - j; lane < LANES; lane++) weight[lane] = 0;
        total += weight;
        vec_store(scores + j, weight);
    }
    for (int j = end; j < TILE; j++) scores[j] = 0;
    if (new_largest > *largest) {
        *sum *= correction;
        for (int c = 0; c < width; c++) out[c] *= correction;
    }
    *sum += vec_sum(total);
    *largest = new_largest;
}

void KERNEL_NAME(attention_forward)(const AttentionHead *head)
{
    Scratch s = scratch_of(head);
    const int width = head->width, full = padded(width);
    const real scale = 1 / (real)sqrt((double)width);
    gather(head->q.value, head->q.stride, head->n_q, width, scale, s.q);
    gather(head->v.value, head->v.stride, head->n_k, width, 1, s.v);
    transpose_tiles(head->k.value, head->k.stride, head->n_k, width, s.k_tiles);
    for (int q0 = 0; q0 < head->n_q; q0 += TILE) {
        int n_q = head->n_q - q0 < TILE ? head->n_q - q0 : TILE;
        real *out = s.gq + (size_t)q0 * full; /* gq is free in the forward pass */
        memset(out, 0, (size_t)n_q * (size_t)full * sizeof(real));
        for (int i = 0; i < n_q; i++) s.largest[i] = (real)-1e30, s.sum[i] = 0;
        for (int k0 = 0; k0 < head->n_k; k0 += TILE) {
            int n_k = head->n_k - k0 < TILE ? head->n_k - k0 : TILE;
            if (!n_visible(head, q0 + n_q - 1, k0, n_k)) break;
            KERNEL_NAME(matmul_block)(n_q, padded(n_k), width, s.q + (size_t)q0 * full, (size_t)full, 1,
                                      s.k_tiles + (size_t)k0 * width, (size_t)padded(n_k), s.scores, TILE, NULL, false);
            for (int i = 0; i < n_q; i++) {
                int n = n_visible(head, q0 + i, k0, n_k);
                if (n) softmax_update(n, s.scores + i * TILE, s.largest + i, s.sum + i, full, out + (size_t)i * full);
                else memset(s.scores + i * TILE, 0, TILE * sizeof(real));
            }
            if (head->dropout) {
                tile_mask(head, q0, k0, n_q, s.mask);
                for (int i = 0; i < n_q * TILE; i++) s.scores[i] *= s.mask[i];
            }
            KERNEL_NAME(matmul_block)(n_q, full, n_k, s.scores, TILE, 1, s.v + (size_t)k0 * full, (size_t)full, out,
                                      (size_t)full, NULL, true);
        }
        for (int i = 0; i < n_q; i++) {
            real *row = head->out.value + (size_t)(q0 + i) * head->out.stride, inverse = 1 / s.sum[i];
            for (int c = 0; c < width; c++) row[c] = out[(size_t)i * full + c] * inverse;
            head->log_sum[(size_t)(q0 + i) * head->log_sum_stride] = s.largest[i] + (real)log((double)s.sum[i]);
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
        for (; c + LANES <= head->width; c += LANES) sum += vec_load(out + c) * vec_load(gout + c);
        if (c < head->width) sum += vec_load_part(out + c, head->width - c, 0) * vec_load_part(gout + c, head->width - c, 0);
        delta[i] = vec_sum(sum);
    }
}

/* One tile: scores become the weights that multiply v (after dropout), gscores the gradient of the scores. */
static void tile_gradients(const AttentionHead *head, const Scratch *s, int q0, int k0, int n_q, int n_k)
{
    if (head->dropout) tile_mask(head, q0, k0, n_q, s->mask);
    for (int i = 0; i < n_q; i++) {
        real *score = s->scores + i * TILE, *gscore = s->gscores + i * TILE;
        const real *mask = s->mask + i * TILE;
        int n = n_visible(head, q0 + i, k0, n_k);
        const real log_sum = head->log_sum[(size_t)(q0 + i) * head->log_sum_stride], delta = s->delta[q0 + i];
        for (int j = 0; j < n; j += LANES) {
            Vec weight = vec_exp(vec_load(score + j) - log_sum), g = vec_load(gscore + j), kept = weight;
            if (head->dropout) {
                Vec m = vec_load(mask + j);
                g *= m;
                kept *= m;
            }
            vec_store(score + j, kept);
            vec_store(gscore + j, weight * (g - delta));
        }
        for (int j = n; j < TILE; j++) score[j] = gscore[j] = 0;
    }
}

void KERNEL_NAME(attention_backward)(const AttentionHead *head)
{
    Scratch s = scratch_of(head);
    const int width = head->width, full = padded(width), nq_all = head->n_q, nk_all = head->n_k;
    const real scale = 1 / (real)sqrt((double)width);
    /* q carries the scale of the scores, so gk = gscores^T q needs none; gq gets it in the end. */
    gather(head->q.value, head->q.stride, nq_all, width, scale, s.q);
    gather(head->out.grad, head->out.stride, nq_all, width, 1, s.gout);
    gather(head->k.value, head->k.stride, nk_all, width, 1, s.k);
    transpose_tiles(head->k.value, head->k.stride, nk_all, width, s.k_tiles);
    transpose_tiles(head->v.value, head->v.stride, nk_all, width, s.v_tiles);
    memset(s.gq, 0, (size_t)nq_all * (size_t)full * sizeof(real));
    memset(s.gk, 0, (size_t)nk_all * (size_t)full * sizeof(real));
    memset(s.gv, 0, (size_t)nk_all * (size_t)full * sizeof(real));
    row_products(head, s.delta);
    for (int q0 = 0; q0 < nq_all; q0 += TILE) {
        int n_q = nq_all - q0 < TILE ? nq_all - q0 : TILE;
        const real *q = s.q + (size_t)q0 * full, *gout = s.gout + (size_t)q0 * full;
        for (int k0 = 0; k0 < nk_all; k0 += TILE) {
            int n_k = nk_all - k0 < TILE ? nk_all - k0 : TILE;
            if (!n_visible(head, q0 + n_q - 1, k0, n_k)) break;
            KERNEL_NAME(matmul_block)
            (n_q, padded(n_k), width, q, (size_t)full, 1, s.k_tiles + (size_t)k0 * width, (size_t)padded(n_k), s.scores,
             TILE, NULL, false);
            KERNEL_NAME(matmul_block)
            (n_q, padded(n_k), width, gout, (size_t)full, 1, s.v_tiles + (size_t)k0 * width, (size_t)padded(n_k), s.gscores,
             TILE, NULL, false);
            tile_gradients(head, &s, q0, k0, n_q, n_k);
            KERNEL_NAME(matmul_block)(n_k, full, n_q, s.scores, 1, TILE, gout, (size_t)full, s.gv + (size_t)k0 * full,
                                      (size_t)full, NULL, true);
            KERNEL_NAME(matmul_block)(n_k, full, n_q, s.gscores, 1, TILE, q, (size_t)full, s.gk + (size_t)k0 * full,
                                      (size_t)full, NULL, true);
            KERNEL_NAME(matmul_block)(n_q, full, n_k, s.gscores, TILE, 1, s.k + (size_t)k0 * full, (size_t)full,
                                      s.gq + (size_t)q0 * full, (size_t)full, NULL, true);
        }
    }
    for (size_t i = 0; i < (size_t)nq_all * (size_t)full; i++) s.gq[i] *= scale;
    scatter_add(s.gq, nq_all, width, head->q.grad, head->q.stride);
    scatter_add(s.gk, nk_all, width, head->k.grad, head->k.stride);
    scatter_add(s.gv, nk_all, width, head->v.grad, head->v.stride);
}
