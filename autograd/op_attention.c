/* Multi-head scaled dot-product attention over ragged batches. One piece of work is one head of one sentence. */
#include "autograd/ops.h"
#include "core/attention.h"
#include "core/error.h"
#include "core/threads.h"

typedef struct AttentionNode {
    Node node;
    Tensor *q, *k, *v, *y;
    Spans q_spans, k_spans;
    int heads;
    bool causal;
    Dropout dropout;
    real *lse; /* [Nq, H] */
    real *gq, *gk, *gv;
} AttentionNode;

static AttentionView view(const Tensor *t, real *grad, int row, int col)
{
    size_t at = (size_t)row * t->stride + (size_t)col;
    return (AttentionView){.value = t->value + at, .grad = grad ? grad + at : NULL, .stride = t->stride};
}

static void run(Tape *tape, const AttentionNode *n, void (*function)(const AttentionHead *head))
{
    const int d_head = n->y->cols / n->heads, n_pieces = n->q_spans.n * n->heads;
    size_t most = 0;
    for (int s = 0; s < n->q_spans.n; s++) {
        size_t need = attention_scratch(n->q_spans.count[s], n->k_spans.count[s], d_head);
        if (need > most) most = need;
    }
    ArenaMark mark = arena_mark(&tape->arena);
    ThreadScratch scratch = threads_scratch(&tape->arena, most);
#pragma omp parallel for schedule(dynamic, 4) if (n_pieces > 1)
    for (int piece = 0; piece < n_pieces; piece++) {
        const int s = piece / n->heads, h = piece % n->heads, col = h * d_head;
        const int q0 = n->q_spans.start[s], k0 = n->k_spans.start[s], n_q = n->q_spans.count[s], n_k = n->k_spans.count[s];
        function(&(AttentionHead){
            .n_q = n_q, .n_k = n_k, .d_head = d_head, .visible = n->causal ? n_k - n_q + 1 : n_k,
            .q = view(n->q, n->gq, q0, col), .k = view(n->k, n->gk, k0, col),
            .v = view(n->v, n->gv, k0, col), .out = view(n->y, n->y->grad, q0, col),
            .lse = n->lse + (size_t)q0 * (size_t)n->heads + h, .lse_stride = (size_t)n->heads,
            .dropout = n->dropout.threshold ? &n->dropout : NULL, .dropout_group = (uint64_t)piece << 32,
            .scratch = threads_scratch_self(&scratch),
        });
    }
    arena_release(&tape->arena, mark);
}

static void forward(Tape *tape, Node *node)
{
    run(tape, (AttentionNode *)node, tape->compute.kernels->attention_forward);
}

static void backward(Tape *tape, Node *node)
{
    AttentionNode *n = (AttentionNode *)node;
    n->gq = tape_grad(tape, n->q);
    n->gk = tape_grad(tape, n->k);
    n->gv = tape_grad(tape, n->v);
    run(tape, n, tape->compute.kernels->attention_backward);
}

const OpDef op_attention = {"attention", forward, backward};

Tensor *attention(Tape *tape, Tensor *q, Tensor *k, Tensor *v, const Spans *q_spans, const Spans *k_spans, int heads,
                  bool causal, real dropout)
{
    CHECK(q->cols % heads == 0 && q->cols == k->cols && k->cols == v->cols, "%d heads on columns %d, %d, %d", heads,
          q->cols, k->cols, v->cols);
    CHECK(q_spans->n == k_spans->n, "%d sentences of queries, %d of keys", q_spans->n, k_spans->n);
    AttentionNode *n = tape_node(tape, sizeof *n);
    n->q = q;
    n->k = k;
    n->v = v;
    n->q_spans = *q_spans;
    n->k_spans = *k_spans;
    n->heads = heads;
    n->causal = causal;
    n->dropout = tape_dropout(tape, dropout);
    n->lse = arena_alloc(&tape->arena, (size_t)q->rows * (size_t)heads * sizeof(real));
    n->y = tape_tensor(tape, q->rows, q->cols);
    tape_run(tape, &op_attention, &n->node);
    return n->y;
}

Footprint attention_footprint(int n_q, int longest, int d_model, int heads, int n_threads)
{
    const size_t scratch = attention_scratch(longest, longest, d_model / heads);
    return (Footprint){.kept = (size_t)n_q * (size_t)(d_model + heads) * sizeof(real),
                       .scratch = threads_scratch_size(n_threads, scratch)};
}

Spans spans_of(Tape *tape, const Ragged *ragged)
{
    int32_t *count = arena_alloc(&tape->arena, (size_t)ragged->n_seq * sizeof *count);
    for (int s = 0; s < ragged->n_seq; s++) count[s] = ragged->start[s + 1] - ragged->start[s];
    return (Spans){.n = ragged->n_seq, .start = ragged->start, .count = count};
}
