#include "autograd/positions.h"

#include <math.h>

#include "core/memory.h"

void positions_extend(Positions *positions, int d_model, int n)
{
    if (positions->d_model != d_model) positions_free(positions);
    positions->d_model = d_model;
    if (n <= positions->n) return;
    if (n > positions->capacity) {
        int capacity = n > 2 * positions->capacity ? n : 2 * positions->capacity;
        size_t row = (size_t)d_model * sizeof(real);
        positions->value = mem_resize(positions->value, (size_t)positions->n * row, (size_t)capacity * row);
        positions->capacity = capacity;
    }
    for (int p = positions->n; p < n; p++)
        for (int c = 0; c < d_model; c++) {
            double angle = p * pow(10000, -(double)(c - c % 2) / d_model);
            positions->value[(size_t)p * (size_t)d_model + (size_t)c] = (real)(c % 2 ? cos(angle) : sin(angle));
        }
    positions->n = n;
}

void positions_free(Positions *positions)
{
    mem_free(positions->value);
    *positions = (Positions){0};
}
