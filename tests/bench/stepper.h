/* Whole training steps under a clock, made by the trainer itself on random sentences. */
#ifndef FERRY_TESTS_BENCH_STEPPER_H
#define FERRY_TESTS_BENCH_STEPPER_H

#include "tests/bench/figure.h"
#include "tests/bench/workload.h"

enum {
#define OP(name) OP_##name,
#include "autograd/ops.def"
#undef OP
    N_OPS
};

/* All ops, in the order of ops.def. */
extern const OpDef *const stepper_ops[N_OPS];

typedef struct StepPlan {
    Options options; /* whose train_threads says how many threads */
    Lengths lengths;
    int repeat;      /* times, after one to warm up */
    double seconds;  /* of steps each time, at least */
    bool beside_sgemm; /* measure the sgemm peak before each time */
} StepPlan;

/* Everything is of one step; seconds, unless it is said otherwise. */
typedef struct StepReport {
    char kernel[64]; /* what computes the products */
    size_t n_parameters;
    int n_threads, n_steps; /* each time */
    ModelConfig config;
    Counts counts;
    Figure step;
    Figure op[N_OPS][2];    /* forward, backward */
    double calls[N_OPS][2];
    Figure first, between, last; /* before the first op (batch, gradients = 0), between ops, after the last (norm, Adam) */
    Figure batch;           /* batch making, measured by itself; a part of `first` */
    Figure gflops, sgemm, share; /* GFLOP/s of the step, of sgemm beside it, and their ratio */
    double arena, resident; /* bytes: the most that was in use at once; resident 0 where the system doesn't tell */
} StepReport;

/* Starts the machine as the options say. */
bool stepper_measure(const StepPlan *plan, StepReport *report, Error *error);

#endif
