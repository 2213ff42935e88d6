#include "options/synonyms.h"

#include <stddef.h>
#include <string.h>

static const char input[] = "the text to read is an argument without a flag, or standard input";
static const char output[] = "results go to standard output: write > FILE behind the command";

static const Synonym table[] = {
    {"batch_size", {"batch_tokens"}, NULL},
    {"beam_size", {"beam"}, NULL},
    {"num_beams", {"beam"}, NULL},
    {"dim", {"d_model"}, NULL},
    {"hidden_size", {"d_model"}, NULL},
    {"embed_dim", {"d_model"}, NULL},
    {"ffn_dim", {"d_ff"}, NULL},
    {"ffn_embed_dim", {"d_ff"}, NULL},
    {"n_heads", {"heads"}, NULL},
    {"num_heads", {"heads"}, NULL},
    {"attention_heads", {"heads"}, NULL},
    {"layers", {"encoder_layers", "decoder_layers"}, NULL},
    {"num_layers", {"encoder_layers", "decoder_layers"}, NULL},
    {"epochs", {"max_epochs"}, NULL},
    {"num_epochs", {"max_epochs"}, NULL},
    {"steps", {"max_steps"}, NULL},
    {"train_steps", {"max_steps"}, NULL},
    {"max_update", {"max_steps"}, NULL},
    {"lr", {"learning_rate"}, NULL},
    {"lr_scheduler", {"schedule"}, NULL},
    {"warmup_steps", {"warmup"}, NULL},
    {"warmup_updates", {"warmup"}, NULL},
    {"update_freq", {"accumulate"}, NULL},
    {"gradient_accumulation_steps", {"accumulate"}, NULL},
    {"accum_count", {"accumulate"}, NULL},
    {"max_grad_norm", {"clip_norm"}, NULL},
    {"adam_eps", {"epsilon"}, NULL},
    {"eval_steps", {"validate_every"}, NULL},
    {"valid_steps", {"validate_every"}, NULL},
    {"save_steps", {"checkpoint_every"}, NULL},
    {"save_interval", {"checkpoint_every"}, NULL},
    {"log_interval", {"report_every"}, NULL},
    {"early_stopping", {"patience"}, NULL},
    {"fp16", {"precision"}, NULL},
    {"cpu_threads", {"threads"}, NULL},
    {"num_threads", {"threads"}, NULL},
    {"jobs", {"threads"}, NULL},
    {"lenpen", {"length_penalty"}, NULL},
    {"alpha", {"length_penalty"}, NULL},
    {"sampling", {"sample"}, NULL},
    {"sampling_topk", {"top_k"}, NULL},
    {"max_len", {"max_length", "max_ratio"}, NULL},
    {"src", {"train_source", "valid_source"}, NULL},
    {"tgt", {"train_target", "valid_target"}, NULL},
    {"train_src", {"train_source"}, NULL},
    {"train_tgt", {"train_target"}, NULL},
    {"finetune_from_model", {"init_from"}, NULL},
    {"i", {NULL}, input},
    {"input", {NULL}, input},
    {"o", {NULL}, output},
    {"output", {NULL}, output},
};

const Synonym *synonym_find(const char *theirs)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].theirs, theirs)) return &table[i];
    return NULL;
}
