#include "core/blas.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The C interface of BLAS (cblas.h), as far as it is used: declared here because the library is not linked. */
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };
enum { PARALLEL_PTHREAD = 1 }; /* openblas_get_parallel(): 0 sequential, 1 threads of its own, 2 OpenMP */

#ifdef FERRY_FP64
#define GEMM "cblas_dgemm"
#else
#define GEMM "cblas_sgemm"
#endif

void blas_gemm(const Blas *blas, const Matmul *p)
{
    blas->gemm(ROW_MAJOR, p->kind == MATMUL_TN ? TRANSPOSE : NO_TRANSPOSE,
                             p->kind == MATMUL_NT ? TRANSPOSE : NO_TRANSPOSE, p->m, p->n, p->k, 1, p->a, (int)p->a_stride,
                             p->b, (int)p->b_stride, p->add ? 1 : 0, p->c, (int)p->c_stride);
}

/* A product with tails in every direction, against a plain loop. */
static bool computes_right(const Blas *blas)
{
    enum { M = 61, N = 75, K = 83 };
    real a[M * K], b[N * K], c[M * N];
    for (int i = 0; i < M * K; i++) a[i] = (real)(i * 37 % 101 - 50) / 50;
    for (int i = 0; i < N * K; i++) b[i] = (real)(i * 53 % 103 - 51) / 51;
    for (int kind = MATMUL_NN; kind <= MATMUL_TN; kind++) {
        Matmul p = {.kind = (MatmulKind)kind, .m = M, .n = N, .k = K, .a = a, .b = b, .c = c, .c_stride = N};
        p.a_stride = kind == MATMUL_TN ? M : K;
        p.b_stride = kind == MATMUL_NT ? K : N;
        blas_gemm(blas, &p);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0;
                for (int l = 0; l < K; l++)
                    sum += (double)(kind == MATMUL_TN ? a[l * M + i] : a[i * K + l]) *
                           (double)(kind == MATMUL_NT ? b[j * K + l] : b[l * N + j]);
                if (!(fabs(sum - (double)c[i * N + j]) < 1e-4)) return false;
            }
    }
    return true;
}

/* What came of looking for it: the library, or why there is none. */
static Blas loaded;
static bool usable;
static char trouble[512];

static void load(void) /* allocates nothing of ours: lack of memory would leave pthread_once in its midst */
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libopenblas.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(trouble, sizeof trouble, "OpenBLAS can't be found (%s); on Debian: apt-get install libopenblas0", dlerror());
        return;
    }
    char *(*corename)(void);
    int (*parallel)(void);
    void (*set_threads)(int);
    /* POSIX lets an object pointer hold a function's address; C11 has no cast for it. */
    *(void **)&corename = dlsym(library, "openblas_get_corename");
    *(void **)&parallel = dlsym(library, "openblas_get_parallel");
    *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
    *(void **)&loaded.gemm = dlsym(library, GEMM);
    if (!loaded.gemm || !corename || !parallel || !set_threads) {
        snprintf(trouble, sizeof trouble, "libopenblas.so.0 lacks %s", GEMM);
        return;
    }
    /* The OpenMP build runs single by itself inside a parallel region; in it this call would take our threads away. */
    if (parallel() == PARALLEL_PTHREAD) set_threads(1);
    snprintf(loaded.name, sizeof loaded.name, "%s", corename());
    usable = computes_right(&loaded);
    if (!usable)
        snprintf(trouble, sizeof trouble,
                 "OpenBLAS computes wrong products with its kernel %s; another one may do: set OPENBLAS_CORETYPE", loaded.name);
}

const Blas *blas_load(Error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (usable) return &loaded;
    error_set(error, "%s", trouble);
    return NULL;
}

enum { TILE = 512, K_CHUNK = 1024 };

/* One tile of C: rows i0 .. i1-1, columns j0 .. j1-1, k0 .. k1-1 of the inner dimension. */
static void tile_product(const Blas *blas, const Matmul *p, int i0, int i1, int j0, int j1, int k0, int k1, real *c, size_t c_stride, bool add)
{
    Matmul t = *p;
    t.m = i1 - i0;
    t.n = j1 - j0;
    t.k = k1 - k0;
    t.a += p->kind == MATMUL_TN ? (size_t)k0 * p->a_stride + (size_t)i0 : (size_t)i0 * p->a_stride + (size_t)k0;
    t.b += p->kind == MATMUL_NT ? (size_t)j0 * p->b_stride + (size_t)k0 : (size_t)k0 * p->b_stride + (size_t)j0;
    t.c = c;
    t.c_stride = c_stride;
    t.add = add;
    blas_gemm(blas, &t);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* A long inner dimension (a weight gradient: few rows, as many terms as tokens) is cut into chunks of fixed length; the
 * partial products are added in order. */
static bool splits_inner(const Matmul *p)
{
    return p->k >= 2 * K_CHUNK && p->m <= 2 * TILE && p->n <= 2 * TILE;
}

static int inner_chunks(const Matmul *p)
{
    return (p->k + K_CHUNK - 1) / K_CHUNK;
}

size_t blas_scratch(const Matmul *p)
{
    return splits_inner(p) ? (size_t)p->m * (size_t)p->n * (size_t)inner_chunks(p) * sizeof(real) : 0;
}

static void split_inner(const Blas *blas, const Matmul *p, Arena *arena)
{
    const int n_chunks = inner_chunks(p);
    const size_t size = (size_t)p->m * (size_t)p->n;
    ArenaMark mark = arena_mark(arena);
    real *partial = arena_alloc(arena, blas_scratch(p));
#pragma omp parallel for schedule(dynamic, 1)
    for (int chunk = 0; chunk < n_chunks; chunk++)
        tile_product(blas, p, 0, p->m, 0, p->n, chunk * K_CHUNK, least(p->k, (chunk + 1) * K_CHUNK),
                     partial + size * (size_t)chunk, (size_t)p->n, false);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->m; i++) {
        real *row = p->c + (size_t)i * p->c_stride;
        for (int j = 0; j < p->n; j++) {
            real sum = p->bias ? p->bias[j] : p->add ? row[j] : 0;
            for (int chunk = 0; chunk < n_chunks; chunk++)
                sum += partial[size * (size_t)chunk + (size_t)i * (size_t)p->n + (size_t)j];
            row[j] = sum;
        }
    }
    arena_release(arena, mark);
}

void blas_matmul(const Blas *blas, const Matmul *p, Arena *arena)
{
    if (splits_inner(p)) {
        split_inner(blas, p, arena);
        return;
    }
    const int row_tiles = (p->m + TILE - 1) / TILE, column_tiles = (p->n + TILE - 1) / TILE;
#pragma omp parallel for schedule(dynamic, 1)
    for (int t = 0; t < row_tiles * column_tiles; t++) {
        int i0 = t % row_tiles * TILE, i1 = least(p->m, i0 + TILE), j0 = t / row_tiles * TILE, j1 = least(p->n, j0 + TILE);
        real *c = p->c + (size_t)i0 * p->c_stride + j0;
        if (p->bias)
            for (int i = 0; i < i1 - i0; i++)
                memcpy(c + (size_t)i * p->c_stride, p->bias + j0, (size_t)(j1 - j0) * sizeof(real));
        tile_product(blas, p, i0, i1, j0, j1, 0, p->k, c, p->c_stride, p->add || p->bias);
    }
}
