/* A checkpoint: bytes as they are, and as a JSON header up to the first NUL with data after it, whose checksums we make
 * right, so that what lies behind them is reached. Either an error that names the file, or a sound checkpoint. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "options/options.h"
#include "run/checkpoint.h"
#include "run/safetensors.h"
#include "tests/fuzz/fuzz.h"

enum { DIGITS = 8 };

static void put_digits(char *to, uLong crc)
{
    char digits[DIGITS + 1];
    snprintf(digits, sizeof digits, "%08" PRIx32, (uint32_t)crc);
    memcpy(to, digits, DIGITS);
}

/* Make the checksums of the groups right where they are well formed, then that of the header. */
static void mend_checksums(Text *file, size_t data_at)
{
    static const char group_mark[] = "\"crc32.", header_mark[] = "\"crc32.header\":\"";
    const char *data = file->data + data_at;
    text_append(file, "", 1); /* so that it ends for strtoull */
    file->n--;
    for (char *at = file->data; (at = memmem(at, (size_t)(file->data + data_at - at), group_mark, strlen(group_mark))); at++) {
        char *value = memmem(at, (size_t)(file->data + data_at - at), "\":\"", 3);
        if (!value || data - value <= 3 + DIGITS) break;
        char *rest = value + 3 + DIGITS;
        const size_t first = strtoull(rest, &rest, 10), end = strtoull(rest, NULL, 10);
        if (first <= end && end <= file->n - data_at)
            put_digits(value + 3, crc32_z(0, (const Bytef *)data + first, end - first));
    }
    char *digits = memmem(file->data, data_at, header_mark, strlen(header_mark));
    if (!digits || data - digits < (ptrdiff_t)strlen(header_mark) + DIGITS) return;
    digits += strlen(header_mark);
    memset(digits, '0', DIGITS);
    put_digits(digits, crc32_z(0, (const Bytef *)file->data, data_at));
}

static void make_file(const uint8_t *bytes, size_t n, Text *out)
{
    const uint8_t *nul = n ? memchr(bytes, 0, n) : NULL;
    uint64_t header = nul ? (size_t)(nul - bytes) : n;
    out->n = 0;
    text_append(out, (const char *)&header, sizeof header);
    text_append(out, (const char *)bytes, header);
    if (nul) text_append(out, (const char *)nul + 1, n - header - 1);
    mend_checksums(out, sizeof header + header);
}

/* Everything that a sound file holds can be read. */
static void check_sound(Checkpoint *checkpoint)
{
    Error error = {0};
    Params params = {0};
    params_declare(&params, 2, 2, 3, INIT_ZEROS, 0, "a.weight");
    params_declare(&params, 1, 1, 3, INIT_ZEROS, 0, "a.bias");
    params_allocate(&params, false);
    Adam adam;
    adam_init(&adam, params.size, 0.9, 0.98, 1e-9);
    const bool read = checkpoint_read_params(checkpoint, &params, &error) &&
                      checkpoint_read_adam(checkpoint, &params, &adam, &error);
    CHECK(read || strstr(error.text, checkpoint->path), "no name in '%s'", error.text);
    uLong crc = 0;
    for (int i = 0; i < checkpoint->file->n_tensors; i++) {
        const SafeTensor *tensor = &checkpoint->file->tensor[i];
        crc = crc32_z(crc, tensor->data, safetensors_n_elements(tensor) * safetensors_type_size(tensor->type));
        CHECK(safetensors_find(checkpoint->file, tensor->name) == tensor, "%s is not found", tensor->name);
    }
    Options options;
    options_init(&options);
    options_from_text(&options, checkpoint->path, checkpoint->origin.options, &error);
    options_free(&options);
    adam_free(&adam);
    params_free(&params);
}

static void check_file(const void *bytes, size_t n)
{
    Error error = {0};
    Checkpoint checkpoint;
    FuzzFile file = fuzz_file(bytes, n);
    if (checkpoint_open(&checkpoint, file.path, &error)) {
        check_sound(&checkpoint);
        checkpoint_close(&checkpoint);
    } else {
        CHECK(strstr(error.text, file.path), "no name in '%s'", error.text);
    }
    fuzz_file_close(&file);
}

int fuzz_checkpoint(const uint8_t *data, size_t size)
{
    Text file = {0};
    check_file(data, size);
    make_file(data, size, &file);
    check_file(file.data, file.n);
    text_free(&file);
    return 0;
}
