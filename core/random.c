#include "core/random.h"

#include <inttypes.h>
#include <math.h>

#include "core/error.h"

RandomStream random_stream(uint64_t seed, RandomPurpose purpose, uint32_t place0, uint64_t place1)
{
    CHECK(place1 >> RANDOM_PLACE_BITS == 0, "place %" PRIu64, place1);
    /* The upper bits of the seed share a key word with place1's (4 bits) and the purpose (4): seeds up to 2^56 give distinct
     * keys. */
    const uint32_t above = (uint32_t)(place1 >> 32) << 4 | (uint32_t)purpose;
    return (RandomStream){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32) ^ (above << 24)},
        .place = {place0, (uint32_t)place1},
    };
}

void random_block(const RandomStream *stream, uint64_t position, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)position, c1 = (uint32_t)(position >> 32), c2 = stream->place[0], c3 = stream->place[1];
    uint32_t k0 = stream->key[0], k1 = stream->key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

uint32_t random_word(const RandomStream *stream, uint64_t index)
{
    uint32_t block[4];
    random_block(stream, index / 4, block);
    return block[index % 4];
}

double random_uniform(const RandomStream *stream, uint64_t position)
{
    uint32_t block[4];
    random_block(stream, position, block);
    return (double)(((uint64_t)block[0] << 21) ^ (block[1] >> 11)) * 0x1p-53;
}

uint32_t random_below(const RandomStream *stream, uint64_t position, uint32_t n)
{
    uint32_t block[4];
    random_block(stream, position, block);
    uint64_t bits = (uint64_t)block[1] << 32 | block[0];
    return (uint32_t)(((unsigned __int128)bits * n) >> 64);
}

double random_normal(const RandomStream *stream, uint64_t position)
{
    uint32_t block[4];
    random_block(stream, position, block);
    double u = ((double)block[0] + 0.5) * 0x1p-32, v = (double)block[1] * 0x1p-32;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}
