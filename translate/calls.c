/* The calls of include/ferry.h: lines in, a result out. */
#include <unistd.h>

#include "translate/abi.h"
#include "translate/call.h"

static size_t bytes_of(const Call *call)
{
    size_t bytes = 0;
    for (size_t i = 0; i < call->n; i++) bytes += call_line(&call->source, i).n;
    return bytes;
}

static void begin_and_work(void *context)
{
    Call *call = context;
    MemScope *own = mem_switch(&call->result->scope);
    result_begin(call->result, call->n, bytes_of(call));
    mem_switch(own);
    call->good = call->work(call);
    text_free(&call->text);
    text_free(&call->shown);
}

static void work_by_hand(void *context)
{
    Call *call = context;
    const WarningSink sink = {.take = warnings_take, .context = &call->result->warnings};
    warnings_to(&sink);
    call->lacked = !mem_run(&call->context->scope, begin_and_work, call, &call->wanted);
    if (call->lacked) call->good = false;
    warnings_to(NULL);
}

static void poll(void *context)
{
    Call *call = context;
    const size_t n_done = atomic_load_explicit(&call->n_done, memory_order_relaxed),
                 n = atomic_load_explicit(&call->n_to_do, memory_order_relaxed);
    if (!call_stopped(call) && call->options.progress(call->options.progress_context, n_done, n))
        atomic_store_explicit(&call->cancelled, true, memory_order_relaxed);
}

static bool check_side(const Call *call, const Side *side, const char *name, ferry_error *error)
{
    if (call->n && !side->line) return abi_error(error, FERRY_USAGE, -1, "%s is NULL", name);
    for (size_t i = 0; i < call->n; i++)
        if (!side->line[i] && !(side->length && !side->length[i]))
            return abi_error(error, FERRY_USAGE, (int64_t)i, "%s[%zu] is NULL", name, i);
    return true;
}

static bool check(Call *call, const ferry_call *options, bool has_targets, ferry_error *error)
{
    abi_error(error, FERRY_OK, -1, "%s", "");
    if (!abi_read(&call->options, sizeof call->options, options, "ferry_call", error)) return false;
    call->name = call->options.name ? call->options.name : "text";
    call->other_name = call->options.other_name ? call->options.other_name : call->name;
    if (!call->model) return abi_error(error, FERRY_USAGE, -1, "the model is NULL");
    if (call->model->process != getpid())
        return abi_error(error, FERRY_USAGE, -1,
                         "the model was opened before fork(), by another process; open it here, too");
    if (call->n > INT32_MAX / 2)
        return abi_error(error, FERRY_USAGE, -1, "%zu lines are too many for one call", call->n);
    const Side prefixes = {call->options.prefixes, call->options.prefix_lengths};
    return check_side(call, &call->source, "lines", error) &&
           (!has_targets || check_side(call, &call->target, "targets", error)) &&
           (!prefixes.line || check_side(call, &prefixes, "prefixes", error));
}

/* Why there is no result. */
static void tell(const Call *call, ferry_error *error)
{
    if (call->lacked) abi_error(error, FERRY_NO_MEMORY, -1, "out of memory: %zu bytes could not be had", call->wanted);
    else if (!call->good && call->error.code) abi_error(error, (int)call->error.code, call->at, "%s", call->error.text);
    else abi_error(error, FERRY_CANCELLED, -1, "the call was cancelled");
}

static ferry_result *run(Call *call, ferry_error *error)
{
    void (*const polling)(void *) = call->options.progress ? poll : NULL;
    call->at = -1;
    atomic_init(&call->n_to_do, call->n);
    if (polling) polling(call);
    call->result = result_new();
    if (!call->result) abi_error(error, FERRY_NO_MEMORY, -1, "there is no memory for a result");
    call->context = call->result ? context_take(call->model, error) : NULL;
    if (!call->context) {
        ferry_free(call->result);
        return NULL;
    }
    call->result->warnings.scope = &call->result->scope;
    hand_run(call->context->hand, work_by_hand, call, polling, call);
    if (call->lacked) context_forget(call->context);
    context_give(call->model, call->context);
    if (call->good && !call_stopped(call)) return call->result;
    tell(call, error);
    ferry_free(call->result);
    return NULL;
}

ferry_result *ferry_translate(ferry_model *model, const char *const *lines, const size_t *lengths, size_t n,
                              const ferry_call *options, ferry_error *error)
{
    Call call = {.model = model, .source = {lines, lengths}, .n = n, .work = call_translate};
    return check(&call, options, false, error) ? run(&call, error) : NULL;
}

ferry_result *ferry_score(ferry_model *model, const char *const *sources, const size_t *source_lengths,
                          const char *const *targets, const size_t *target_lengths, size_t n, const ferry_call *options,
                          ferry_error *error)
{
    Call call = {.model = model, .source = {sources, source_lengths}, .target = {targets, target_lengths}, .n = n,
                 .work = call_score};
    return check(&call, options, true, error) ? run(&call, error) : NULL;
}

ferry_result *ferry_tokenize(ferry_model *model, const char *const *lines, const size_t *lengths, size_t n,
                             const ferry_call *options, ferry_error *error)
{
    Call call = {.model = model, .source = {lines, lengths}, .n = n, .work = call_tokenize};
    return check(&call, options, false, error) ? run(&call, error) : NULL;
}

ferry_result *ferry_detokenize(ferry_model *model, const char *const *lines, const size_t *lengths, size_t n,
                               const ferry_call *options, ferry_error *error)
{
    Call call = {.model = model, .source = {lines, lengths}, .n = n, .work = call_detokenize};
    return check(&call, options, false, error) ? run(&call, error) : NULL;
}
