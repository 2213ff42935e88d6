/* Random bits and dropout masks. Bound by Philox's multiplications, which the compiler's vectorizer deals with. */
#include "core/kernel_isa.h"

/* SIDE Philox 4x32-10 blocks side by side: the compiler vectorizes the rounds, and two vectors of each word hide the latency of
 * the multiplications. */
enum { SIDE = 32 };

static void philox(const RandomStream *stream, uint64_t counter, uint32_t out[4][SIDE])
{
    uint32_t c0[SIDE], c1[SIDE], c2[SIDE], c3[SIDE], k0 = stream->key[0], k1 = stream->key[1];
    for (int i = 0; i < SIDE; i++) {
        c0[i] = (uint32_t)(counter + (uint64_t)i);
        c1[i] = (uint32_t)((counter + (uint64_t)i) >> 32);
        c2[i] = stream->place[0];
        c3[i] = stream->place[1];
    }
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < SIDE; i++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
            uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
            c1[i] = (uint32_t)p1;
            c3[i] = (uint32_t)p0;
            c0[i] = n0;
            c2[i] = n2;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    memcpy(out[0], c0, sizeof c0);
    memcpy(out[1], c1, sizeof c1);
    memcpy(out[2], c2, sizeof c2);
    memcpy(out[3], c3, sizeof c3);
}

void KERNEL_NAME(random_group)(const RandomStream *stream, uint64_t first_group, int n_groups, uint16_t *out)
{
    uint32_t words[4][SIDE];
    for (int g = 0; g < n_groups; g++) {
        const int half = g % (SIDE / 16) * 16;
        if (!half) philox(stream, (first_group + (uint64_t)g) * 16, words);
        uint16_t *group = out + (size_t)g * RANDOM_GROUP;
        for (int w = 0; w < 4; w++)
            for (int i = 0; i < 16; i++) {
                group[32 * w + i] = (uint16_t)words[w][half + i];
                group[32 * w + 16 + i] = (uint16_t)(words[w][half + i] >> 16);
            }
    }
}

void KERNEL_NAME(dropout_mask)(const Dropout *dropout, uint64_t first, int n, real *mask)
{
    enum { PIECE = 4 * RANDOM_GROUP };
    const uint32_t threshold = dropout->threshold;
    const real keep = dropout->keep_scale;
    for (int i = 0; i < n; i += PIECE) {
        uint16_t bits[PIECE];
        const int count = n - i < PIECE ? n - i : PIECE;
        KERNEL_NAME(random_group)(&dropout->stream, (first + (uint64_t)i) / RANDOM_GROUP,
                                  (count + RANDOM_GROUP - 1) / RANDOM_GROUP, bits);
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): random_group has filled them */
        for (int j = 0; j < count; j++) mask[i + j] = bits[j] < threshold ? 0 : keep;
    }
}
