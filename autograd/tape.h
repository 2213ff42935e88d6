/* The tape: reverse-mode automatic differentiation, eagerly. An op's builder (autograd/op_*.c, declared in ops.h) computes
 * its result at once and, while recording, puts a node on the tape; tape_backward walks the nodes back. Not recording is
 * inference: the same ops, nothing kept.
 *
 * Two laws of every op: forward writes every element that it owns, backward *adds* to its inputs' gradients (or writes them, if
 * tape_grad_first says that it is the first). */
#ifndef FERRY_AUTOGRAD_TAPE_H
#define FERRY_AUTOGRAD_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "autograd/positions.h"
#include "core/compute.h"
#include "core/matmul.h"
#include "core/memory.h"
#include "core/real.h"

/* A matrix [rows, cols], row i at value + i * stride; grad lies alike. A tensor owns nothing: its memory is the tape's or a
 * block of parameters. A tensor of the tape gets its gradient's memory in the backward pass, when the first of the ops that
 * took it adds to it, and gives it back once the op that made it has run: ask tape_grad. */
typedef struct Tensor Tensor;
struct Tensor {
    int rows, cols;
    size_t stride;
    real *value, *grad; /* grad NULL: none wanted, or not yet there */
    bool requires_grad;    /* a tensor of the tape, made while it recorded */
    Tensor *whole;      /* of columns of another tensor: that one, else NULL */
    Tensor *next;       /* in the list of what one op made */
    const MatmulWeights *packed; /* weights of frozen models only, else NULL */
};

typedef struct Tape Tape;
typedef struct Node Node;

typedef struct OpDef {
    const char *name;
    void (*forward)(Tape *tape, Node *node);
    void (*backward)(Tape *tape, Node *node);
} OpDef;

/* What each op's own node begins with. */
struct Node {
    const OpDef *op;
    Node *previous;
    Tensor *made; /* its results */
};

/* All ops, by name: op_linear and so on (ops.def). */
#define OP(name) extern const OpDef op_##name;
#include "autograd/ops.def"
#undef OP

/* Whoever watches the ops, with a clock say: called right before and right after each forward and backward. What it does must
 * not touch the pass. */
typedef struct TapeObserver TapeObserver;
struct TapeObserver {
    void (*before)(TapeObserver *observer, const OpDef *op, bool backward);
    void (*after)(TapeObserver *observer, const OpDef *op, bool backward);
};

struct Tape {
    Arena arena;    /* all tensors and nodes of the step */
    bool recording; /* build nodes and gradients */
    bool dropout;   /* training: ops drop out */
    Compute compute; /* what computes; the owner's to set, else tape_begin takes the best */
    Precision precision; /* of the matrix products, but those of packed weights, which have their own */
    uint64_t seed;  /* with step and pass (which batch of an accumulated step): decides the dropout masks */
    uint32_t step, pass;
    Node *last;
    Tensor *made; /* by the op that is being built */
    Positions positions; /* of the sentences so far, kept from pass to pass */
    struct GradientPool *gradients; /* their memory */
    uint32_t n_dropouts; /* masks drawn so far in this pass */
    TapeObserver *observer; /* NULL: nobody watches; the owner's to set, tape_begin leaves it */
};

/* Start as all zeros; tape_begin forgets the previous pass and its tensors. */
void tape_begin(Tape *tape, bool recording);
void tape_free(Tape *tape);

/* Walk the nodes back. The caller has set the gradient of the result: *tape_grad(tape, loss) = 1. Gradients of the tape's
 * tensors are gone afterwards. */
void tape_backward(Tape *tape);

/* The gradient of t, zero if nothing has been added to it yet; NULL if none is wanted. Valid until the op that made t has run
 * backward. */
real *tape_grad(Tape *tape, Tensor *t);
/* The same for an op that can write instead of adding: *add says whether it has to add; if not, it writes every element. */
real *tape_grad_first(Tape *tape, Tensor *t, bool *add);
/* Bytes that all gradients hold; that are taken for one of so many bytes. */
size_t tape_gradient_bytes(const Tape *tape);
size_t tape_gradient_size(size_t bytes);

/* For builders: a new tensor in the arena, its value uninitialized. */
Tensor *tape_tensor(Tape *tape, int rows, int cols);

/* Columns first .. first + cols - 1 of t, sharing its memory, gradients too. */
Tensor *tape_columns(Tape *tape, Tensor *t, int first, int cols);

/* For builders: a zeroed node of `bytes` bytes; run its forward and, while recording, put it on the tape. */
void *tape_node(Tape *tape, size_t bytes);
void tape_run(Tape *tape, const OpDef *op, Node *node);

/* A weight matrix packed in the arena, in the tape's precision. */
MatmulWeights tape_pack(Tape *tape, const Tensor *weight);

/* For builders: the dropout of one op with this probability; threshold 0 if there is none. Each call has other bits. */
Dropout tape_dropout(Tape *tape, real probability);

#endif
