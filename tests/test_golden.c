/* model: outputs, loss, gradients and ten Adam steps equal PyTorch's, from the files that tests/golden/transformer.py made.
 *
 * Errors are relative to the largest value of what is compared; where all of it vanishes (a key's bias: it moves all scores of
 * a query alike) to LEAST of the largest gradient. After ten steps they are relative to the largest learning rate, since what
 * is compared is how far the parameters went. There a key's bias has walked on rounding errors, of which Adam makes longer
 * steps the larger they are against its epsilon: in fp32 steps of full length. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "model/transformer.h"
#include "run/adam.h"
#include "run/safetensors.h"
#include "tests/suites.h"

#ifdef FERRY_FP64
static const double value_tolerance = 1e-13, gradient_tolerance = 1e-11, step_tolerance = 1e-11, key_bias_tolerance = 1e-6;
#else
static const double value_tolerance = 2e-6, gradient_tolerance = 1e-5, step_tolerance = 5e-4, key_bias_tolerance = INFINITY;
#endif

#define LEAST 1e-3

enum { SAMPLE = 8 }; /* the file has every eighth parameter after the last step */

static const char *const files[] = {"post_relu_all", "pre_gelu_decoder", "post_relu_none"};
enum { N_FILES = sizeof files / sizeof *files };

/* A golden file and the model that it is about. */
typedef struct Golden {
    Safetensors *file;
    Model *model;
    Tape tape;
    double scale;
} Golden;

static const SafeTensor *find(const Golden *golden, const char *name, SafeType type)
{
    const SafeTensor *tensor = safetensors_find(golden->file, name);
    ck_assert_msg(tensor && tensor->type == type, "%s", name);
    return tensor;
}

static int integer(const Safetensors *file, const char *key)
{
    return atoi(safetensors_metadata(file, key));
}

/* Which of `names` the key's value is. */
static int choice(const Safetensors *file, const char *key, int n, const char *const *names)
{
    const char *value = safetensors_metadata(file, key);
    for (int i = 0; i < n; i++)
        if (!strcmp(value, names[i])) return i;
    ck_abort_msg("%s is %s", key, value);
    return 0;
}

/* Calls visit(golden, parameter, the golden gradient, place) for each gradient.NAME of the file, in its order; place is the
 * number of elements before. All parameters are there. */
static void each_parameter(Golden *golden, void (*visit)(Golden *, const Param *, const double *, size_t))
{
    const Params *params = &golden->model->params;
    size_t place = 0;
    for (int i = 0; i < golden->file->n_tensors; i++) {
        const SafeTensor *tensor = &golden->file->tensor[i];
        if (strncmp(tensor->name, "gradient.", 9)) continue;
        const Param *param = NULL;
        for (int p = 0; p < params->n && !param; p++)
            if (!strcmp(params->param[p].name, tensor->name + 9)) param = &params->param[p];
        ck_assert_msg(param != NULL, "no parameter %s", tensor->name + 9);
        ck_assert_int_eq(param->n_dims, tensor->n_dims);
        if (param->n_dims == 2) ck_assert_uint_eq((size_t)param->rows, tensor->shape[0]);
        ck_assert_uint_eq((size_t)param->cols, tensor->shape[param->n_dims - 1]);
        visit(golden, param, tensor->data, place);
        place += safetensors_n_elements(tensor);
    }
    ck_assert_uint_eq(place, params->size);
}

static size_t n_elements(const Param *param)
{
    return (size_t)param->rows * (size_t)param->cols;
}

/* See `initial` of the script. */
static void set_values(Golden *golden, const Param *param, const double *gradient, size_t place)
{
    (void)gradient;
    real *value = golden->model->params.value + param->offset;
    for (size_t k = 0; k < n_elements(param); k++) {
        const uint64_t i = place + k, bits = i * i * 2654435761u % (UINT64_C(1) << 32) >> 16;
        value[k] = (real)((param->init == INIT_ONES) + 0.875 * ((double)bits / 65536 - 0.5));
    }
}

static void golden_open(Golden *golden, const char *name)
{
    static const char *const norms[] = {"post", "pre"}, *const activations[] = {"relu", "gelu"};
    static const char *const ties[] = {"none", "decoder", "all"};
    Error error = {0};
    char *path = mem_format("tests/data/golden/%s.safetensors", name);
    Safetensors *file = safetensors_open(path, &error);
    ck_assert_msg(file != NULL, "%s", error.text);
    mem_free(path);
    const ModelConfig config = {
        .vocab_size = integer(file, "vocab_size"), .d_model = integer(file, "d_model"), .d_ff = integer(file, "d_ff"),
        .heads = integer(file, "heads"), .encoder_layers = integer(file, "encoder_layers"),
        .decoder_layers = integer(file, "decoder_layers"), .norm = choice(file, "norm", 2, norms),
        .activation = choice(file, "activation", 2, activations), .tie = choice(file, "tie", 3, ties),
        .label_smoothing = (real)strtod(safetensors_metadata(file, "label_smoothing"), NULL),
    };
    *golden = (Golden){.file = file, .model = model_new(&config, true)};
    golden->scale = strtod(safetensors_metadata(file, "scale"), NULL);
    golden->tape.dropout = true; /* of probability 0 */
    each_parameter(golden, set_values);
}

static void golden_close(Golden *golden)
{
    tape_free(&golden->tape);
    model_free(golden->model);
    safetensors_close(golden->file);
}

static Ragged side(const Golden *golden, int number, const char *name)
{
    char *tokens = mem_format("batch.%d.%s", number, name), *starts = mem_format("batch.%d.%s_start", number, name);
    const SafeTensor *token = find(golden, tokens, SAFE_I32), *start = find(golden, starts, SAFE_I32);
    mem_free(tokens);
    mem_free(starts);
    return (Ragged){.n_seq = (int)start->shape[0] - 1, .n_tokens = (int)token->shape[0],
                    .start = start->data, .token = token->data};
}

static Batch batch(const Golden *golden, int number)
{
    char *label = mem_format("batch.%d.label", number);
    Batch found = {.source = side(golden, number, "source"), .target = side(golden, number, "target"),
                   .label = find(golden, label, SAFE_I32)->data};
    mem_free(label);
    return found;
}

/* Errors are relative to the largest wanted value, but at least to `least`. */
static void compare(const char *name, size_t n, const real *found, const double *wanted, double least, double tolerance)
{
    double largest = least;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(wanted[i]));
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs((double)found[i] - wanted[i]) <= tolerance * largest, "%s[%zu] is %.15g, PyTorch's %.15g, largest %.3g",
                      name, i, (double)found[i], wanted[i], largest);
}

static void compare_tensor(const Golden *golden, const char *name, const Tensor *found, double tolerance)
{
    const SafeTensor *wanted = find(golden, name, SAFE_F64);
    ck_assert_uint_eq(safetensors_n_elements(wanted), (size_t)found->rows * (size_t)found->cols);
    compare(name, safetensors_n_elements(wanted), found->value, wanted->data, 0, tolerance);
}

/* Outputs, in inference and while recording. */
START_TEST(outputs)
{
    Golden golden;
    golden_open(&golden, files[_i]);
    const Batch b = batch(&golden, 0);
    for (int recording = 0; recording <= 1; recording++) {
        tape_begin(&golden.tape, recording);
        Tensor *memory = transformer_encode(golden.model, &golden.tape, &b.source);
        compare_tensor(&golden, "encoder", memory, value_tolerance);
        Tensor *hidden = transformer_decode(golden.model, &golden.tape, memory, &b.source, &b.target);
        compare_tensor(&golden, "decoder", hidden, value_tolerance);
    }
    golden_close(&golden);
}
END_TEST

static double largest_gradient(const Params *params)
{
    double largest = 0;
    for (size_t i = 0; i < params->size; i++) largest = fmax(largest, fabs((double)params->grad[i]));
    return largest;
}

static bool is_key_bias(const Param *param)
{
    return strstr(param->name, ".key.bias") != NULL;
}

static void compare_gradient(Golden *golden, const Param *param, const double *gradient, size_t place)
{
    (void)place;
    const Params *params = &golden->model->params;
    if (is_key_bias(param) && key_bias_tolerance == INFINITY) return;
    compare(param->name, n_elements(param), params->grad + param->offset, gradient, LEAST * largest_gradient(params),
            gradient_tolerance);
}

/* The loss and its gradients. */
static double backward(Golden *golden, int number)
{
    const Batch b = batch(golden, number);
    Params *params = &golden->model->params;
    memset(params->grad, 0, params->size * sizeof *params->grad);
    tape_begin(&golden->tape, true);
    Tensor *loss = transformer_loss(golden->model, &golden->tape, &b, (real)golden->scale, NULL);
    *tape_grad(&golden->tape, loss) = 1;
    tape_backward(&golden->tape);
    return (double)loss->value[0];
}

START_TEST(gradients)
{
    Golden golden;
    golden_open(&golden, files[_i]);
    const double loss = backward(&golden, 0), wanted = *(const double *)find(&golden, "loss", SAFE_F64)->data;
    ck_assert_double_eq_tol(loss, wanted, value_tolerance * wanted);
    each_parameter(&golden, compare_gradient);
    golden_close(&golden);
}
END_TEST

static void compare_after(Golden *golden, const Param *param, const double *gradient, size_t place)
{
    (void)gradient;
    const double *after = find(golden, "after", SAFE_F64)->data, *rates = find(golden, "rates", SAFE_F64)->data;
    const real *value = golden->model->params.value + param->offset;
    const double tolerance = is_key_bias(param) ? key_bias_tolerance : step_tolerance;
    double highest = 0;
    for (int step = 0; step < 10; step++) highest = fmax(highest, rates[step]);
    for (size_t i = (SAMPLE - place % SAMPLE) % SAMPLE; i < n_elements(param); i += SAMPLE) {
        const double wanted = after[(place + i) / SAMPLE];
        ck_assert_msg(fabs((double)value[i] - wanted) <= tolerance * highest, "%s[%zu] is %.15g, PyTorch's %.15g", param->name,
                      i, (double)value[i], wanted);
    }
}

START_TEST(ten_steps_of_adam)
{
    Golden golden;
    golden_open(&golden, files[_i]);
    Params *params = &golden.model->params;
    const double *rates = find(&golden, "rates", SAFE_F64)->data, *losses = find(&golden, "losses", SAFE_F64)->data;
    Adam adam;
    adam_init(&adam, params->size, 0.9, 0.98, 1e-9);
    for (int step = 1; step <= 10; step++) {
        const double loss = backward(&golden, (step - 1) % 2);
        ck_assert_double_eq_tol(loss, losses[step - 1], value_tolerance * losses[step - 1]);
        adam_update(&adam, params, rates[step - 1], 1);
    }
    each_parameter(&golden, compare_after);
    adam_free(&adam);
    golden_close(&golden);
}
END_TEST

Suite *suite_golden(void)
{
    Suite *suite = suite_create("golden");
    TCase *tcase = tcase_create("golden");
    tcase_add_loop_test(tcase, outputs, 0, N_FILES);
    tcase_add_loop_test(tcase, gradients, 0, N_FILES);
    tcase_add_loop_test(tcase, ten_steps_of_adam, 0, N_FILES);
    tcase_set_timeout(tcase, 30);
    suite_add_tcase(suite, tcase);
    return suite;
}
