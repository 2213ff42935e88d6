/* run/safetensors: what is written comes back, and what is not sound is refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "core/error.h"
#include "core/memory.h"
#include "run/safetensors.h"
#include "tests/suites.h"

static char folder[64], path[128];

static void setup(void)
{
    strcpy(folder, "/tmp/ferry-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.safetensors", folder);
}

static void teardown(void)
{
    files_fail_call(0, 0);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static const float weight[6] = {0, 1.5f, -2, 3, 4e-30f, 5}, bias[3] = {7, 8, 9};
static const double moment[2] = {1e-300, -1};
static const int32_t count = 12;
static const int64_t wide[2] = {INT64_C(1) << 40, -1};

static const SafeTensor example[] = {
    {.name = "moment", .type = SAFE_F64, .n_dims = 1, .shape = {2}, .data = moment, .group = "optimizer"},
    {.name = "wide", .type = SAFE_I64, .n_dims = 2, .shape = {1, 2}, .data = wide, .group = "optimizer"},
    {.name = "\"quoted\" 'é'", .type = SAFE_F32, .n_dims = 2, .shape = {2, 3}, .data = weight, .group = "parameters"},
    {.name = "nothing", .type = SAFE_F32, .n_dims = 2, .shape = {0, 3}, .data = NULL, .group = "parameters"},
    {.name = "bias", .type = SAFE_F32, .n_dims = 1, .shape = {3}, .data = bias, .group = "parameters"},
    {.name = "count", .type = SAFE_I32, .n_dims = 0, .data = &count},
};
enum { N_EXAMPLE = sizeof example / sizeof *example };

static const SafeEntry entries[] = {
    {"step", "1000"},
    {"options", "[model]\nheads = 4\n\"crc32.header\":\"12345678\""},
    {"empty", ""},
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

static bool write_example(int n_tensors, Error *error)
{
    AtomicFile *file = file_create(path, error);
    if (!file) return false;
    if (safetensors_write(file, example, n_tensors, entries, N_ENTRIES, error)) return file_commit(file, error);
    file_abandon(file);
    return false;
}

static void assert_tensor(const Safetensors *file, const SafeTensor *wanted)
{
    Error error = {0};
    const SafeTensor *found = safetensors_find(file, wanted->name);
    ck_assert_msg(found != NULL, "%s", wanted->name);
    ck_assert_str_eq(found->name, wanted->name);
    ck_assert_ptr_eq(found->data, safetensors_get(file, wanted->name, wanted->type, wanted->n_dims, wanted->shape, &error));
    size_t bytes = safetensors_n_elements(wanted) * safetensors_type_size(wanted->type);
    if (bytes) ck_assert_mem_eq(found->data, wanted->data, bytes);
}

START_TEST(comes_back)
{
    Error error = {0};
    ck_assert(write_example(N_EXAMPLE, &error));
    Safetensors *file = safetensors_open(path, &error);
    ck_assert_msg(file != NULL, "%s", error.text);
    ck_assert(file->has_checksums);
    ck_assert_int_eq(file->n_tensors, N_EXAMPLE);
    for (int i = 0; i < N_EXAMPLE; i++) {
        ck_assert_str_eq(file->tensor[i].name, example[i].name);
        assert_tensor(file, &example[i]);
    }
    ck_assert_uint_eq((uintptr_t)file->tensor[0].data % 64, 0);
    for (int i = 0; i < N_ENTRIES; i++) ck_assert_str_eq(safetensors_metadata(file, entries[i].key), entries[i].value);
    ck_assert_str_eq(safetensors_metadata(file, "crc32.optimizer") + 8, " 0 32");
    ck_assert_str_eq(safetensors_metadata(file, "crc32.parameters") + 8, " 32 68");
    ck_assert_str_eq(safetensors_metadata(file, "crc32.data") + 8, " 68 72");
    ck_assert_ptr_null(safetensors_metadata(file, "steps"));
    ck_assert_ptr_null(safetensors_find(file, "biases"));
    safetensors_close(file);
    safetensors_close(NULL);
}
END_TEST

START_TEST(no_tensor_at_all)
{
    Error error = {0};
    ck_assert(write_example(0, &error));
    Safetensors *file = safetensors_open(path, &error);
    ck_assert_msg(file != NULL, "%s", error.text);
    ck_assert_int_eq(file->n_tensors, 0);
    ck_assert_ptr_null(safetensors_find(file, "bias"));
    safetensors_close(file);
}
END_TEST

START_TEST(another_shape_is_an_error)
{
    Error error = {0};
    ck_assert(write_example(N_EXAMPLE, &error));
    Safetensors *file = safetensors_open(path, &error);
    size_t shape[2] = {3, 2};
    const char *name = example[2].name;
    ck_assert_ptr_null(safetensors_get(file, name, SAFE_F32, 2, shape, &error));
    ck_assert_ptr_nonnull(strstr(error.text, path));
    ck_assert_ptr_nonnull(strstr(error.text, "is F32 [2, 3], but F32 [3, 2] is wanted"));
    ck_assert_ptr_null(safetensors_get(file, name, SAFE_I32, 2, example[2].shape, &error));
    ck_assert_ptr_null(safetensors_get(file, name, SAFE_F32, 1, example[2].shape, &error));
    ck_assert_ptr_null(safetensors_get(file, "other", SAFE_F32, 1, shape, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "there is no tensor other"));
    safetensors_close(file);
}
END_TEST

START_TEST(reads_what_python_wrote)
{
    Error error = {0};
    const float quarters[6] = {0, 0.25f, 0.5f, 0.75f, 1, 1.25f};
    const double moments[3] = {1e-300, -2.5, 3e200};
    const int32_t seven = 7;
    const SafeTensor wanted[] = {
        {.name = "weight", .type = SAFE_F32, .n_dims = 2, .shape = {2, 3}, .data = quarters},
        {.name = "moments.wide", .type = SAFE_F64, .n_dims = 1, .shape = {3}, .data = moments},
        {.name = "count", .type = SAFE_I32, .n_dims = 0, .data = &seven},
        {.name = "long", .type = SAFE_I64, .n_dims = 1, .shape = {2}, .data = wide},
        {.name = "nothing", .type = SAFE_F32, .n_dims = 2, .shape = {0, 5}},
    };
    Safetensors *file = safetensors_open("tests/data/python.safetensors", &error);
    ck_assert_msg(file != NULL, "%s", error.text);
    ck_assert(!file->has_checksums);
    ck_assert_int_eq(file->n_tensors, 5);
    for (int i = 0; i < 5; i++) assert_tensor(file, &wanted[i]);
    ck_assert_str_eq(safetensors_metadata(file, "accent"), "é");
    safetensors_close(file);
}
END_TEST

static void assert_refused(const char *format, size_t place)
{
    Error error = {0};
    Safetensors *file = safetensors_open(path, &error);
    if (file) ck_abort_msg(format, place);
    ck_assert_ptr_nonnull(strstr(error.text, path));
}

START_TEST(any_changed_bit_is_refused)
{
    Error error = {0};
    size_t bytes;
    ck_assert(write_example(N_EXAMPLE, &error));
    char *data = file_read_all(path, &bytes, &error);
    int descriptor = open(path, O_WRONLY);
    for (size_t i = 0; i < bytes; i++) {
        for (int bit = 0; bit < 8; bit++) {
            char changed = (char)(data[i] ^ 1 << bit);
            ck_assert_int_eq(pwrite(descriptor, &changed, 1, (off_t)i), 1);
            assert_refused("byte %zu changed", i);
        }
        ck_assert_int_eq(pwrite(descriptor, &data[i], 1, (off_t)i), 1);
    }
    Safetensors *file = safetensors_open(path, &error);
    ck_assert_msg(file != NULL, "%s", error.text);
    safetensors_close(file);
    ck_assert_int_eq(pwrite(descriptor, "", 1, (off_t)bytes), 1);
    assert_refused("%zu bytes and one more", bytes);
    for (size_t n = bytes; n-- > 0;) {
        ck_assert_int_eq(ftruncate(descriptor, (off_t)n), 0);
        assert_refused("cut to %zu bytes", n);
    }
    close(descriptor);
    mem_free(data);
}
END_TEST

START_TEST(any_call_may_fail_while_saving)
{
    Error error = {0};
    files_fail_call(0, 0);
    ck_assert(write_example(2, &error));
    int n_calls = files_fail_call(0, 0);
    ck_assert_int_eq(n_calls, 8); /* header and small tensors are one write */
    ck_assert(write_example(N_EXAMPLE, &error));
    for (int nth = 1; nth < n_calls; nth++) {
        files_fail_call(nth, EIO);
        ck_assert_msg(!write_example(2, &error), "call %d", nth);
        Safetensors *file = safetensors_open(path, &error);
        ck_assert_msg(file != NULL, "%s", error.text);
        ck_assert_int_eq(file->n_tensors, N_EXAMPLE);
        safetensors_close(file);
    }
}
END_TEST

/* A file of that header and `data_bytes` bytes of zeros. */
static void write_raw(const char *header, size_t header_bytes, uint64_t length, size_t data_bytes)
{
    Error error = {0};
    AtomicFile *file = file_create(path, &error);
    char zeros[256] = {0};
    ck_assert(file_write(file, &length, 8, &error) && file_write(file, header, header_bytes, &error));
    ck_assert(file_write(file, zeros, data_bytes, &error) && file_commit(file, &error));
}

/* The same with the header padded to a multiple of 8 bytes, so that the data is aligned, and `more` blanks. */
static void write_padded(const char *header, size_t more, size_t data_bytes)
{
    char padded[512];
    size_t bytes = (strlen(header) + 7) / 8 * 8 + more;
    snprintf(padded, sizeof padded, "%-*s", (int)bytes, header);
    write_raw(padded, bytes, bytes, data_bytes);
}

#define A(shape, begin, end) "\"a\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"
#define B(begin, end) "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" begin "," end "]}"

/* Headers without checksums; `wrong` is a piece of the message, NULL where the file is sound. */
static const struct {
    const char *header;
    size_t data_bytes;
    const char *wrong;
} headers[] = {
    {"{" A("[2]", "0", "8") "}  ", 8, NULL},
    {"{}", 0, NULL},
    {"{\"__metadata__\":{}}", 0, NULL},
    {"{" B("8", "16") "," A("[2,1]", "0", "8") "}", 16, NULL},
    {"{" A("[0]", "8", "8") "," B("0", "8") "}", 8, NULL},
    {"{" A("[0]", "0", "0") "," B("0", "8") "}", 8, NULL},
    {" {}", 0, "begin with {"},
    {"[]", 0, "begin with {"},
    {"", 0, "begin with {"},
    {"{\"a\":", 0, "well-formed"},
    {"{} {}", 0, "goes on"},
    {"{" A("[2]", "0", "8") "}", 7, "only 7 bytes"},
    {"{" A("[2]", "0", "8") "}", 9, "1 byte behind the last tensor"},
    {"{" A("[2]", "0", "7") "}", 8, "don't fit"},
    {"{" A("[2]", "8", "0") "}", 8, "don't fit"},
    {"{" A("[3]", "0", "8") "}", 8, "don't fit"},
    {"{" A("[2]", "0", "8") "," B("4", "12") "}", 12, "does not begin where"},
    {"{" A("[2]", "0", "8") "," B("12", "20") "}", 20, "does not begin where"},
    {"{" A("[2]", "4", "12") "}", 12, "does not begin where"},
    {"{" A("[2]", "0", "8") "," A("[2]", "8", "16") "}", 16, "a is there twice"},
    {"{" A("[-2]", "0", "8") "}", 8, "dimension 0"},
    {"{" A("[2.5]", "0", "10") "}", 10, "dimension 0"},
    {"{" A("[\"2\"]", "0", "8") "}", 8, "dimension 0"},
    {"{" A("[1e999]", "0", "8") "}", 8, "dimension 0"},
    {"{" A("2", "0", "8") "}", 8, "not an array"},
    {"{" A("[1,1,1,1,1,1,1,1,1]", "0", "4") "}", 4, "more than 8"},
    {"{" A("[4294967296,4294967296]", "0", "0") "}", 0, "too large"},
    {"{" A("[4294967296,1073741824]", "0", "0") "}", 0, "too large"},
    {"{" A("[2]", "-8", "0") "}", 8, "data_offsets"},
    {"{" A("[2]", "0", "1e300") "}", 8, "data_offsets"},
    {"{" A("[2]", "0", "8,9") "}", 8, "data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "not made of"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"offsets\":[0,8]}}", 8, "data_offsets"},
    {"{\"a\":{\"dtype\":\"F8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "dtype is F8"},
    {"{\"a\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "dtype is not a string"},
    {"{\"a\":[]}", 0, "not made of"},
    {"{\"__metadata__\":[]}", 0, "not an object"},
    {"{\"__metadata__\":{\"k\":1}}", 0, "k is not a string"},
    {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, "k is there twice"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "there twice"},
    {"{\"__metadata__\":{\"crc32.data\":\"00000000 0 0\"}}", 0, "header is missing"},
    {"{\"__metadata__\":{\"crc32.header\":\"00000000\"}}", 0, "does not match"},
    {"{\"__metadata__\":{\"crc32.header\":\"0\"}}", 0, "does not match"},
    {"{\"__metadata__\":{\"crc32.header\": \"00000000\"}}", 0, "does not match"},
};

START_TEST(unsound_headers)
{
    const size_t i = (size_t)_i;
    Error error = {0};
    write_padded(headers[i].header, 0, headers[i].data_bytes);
    Safetensors *file = safetensors_open(path, &error);
    if (headers[i].wrong) {
        ck_assert_msg(file == NULL, "%s is taken", headers[i].header);
        ck_assert_msg(strstr(error.text, headers[i].wrong) != NULL, "%s: %s", headers[i].header, error.text);
        ck_assert_ptr_nonnull(strstr(error.text, path));
    } else {
        ck_assert_msg(file != NULL, "%s: %s", headers[i].header, error.text);
    }
    safetensors_close(file);
}
END_TEST

START_TEST(data_must_be_aligned)
{
    Error error = {0};
    write_padded("{" A("[2]", "0", "8") "}", 4, 8);
    Safetensors *file = safetensors_open(path, &error);
    ck_assert_msg(file != NULL, "%s", error.text);
    safetensors_close(file);
    write_padded("{" A("[2]", "0", "8") "}", 2, 8);
    ck_assert_ptr_null(safetensors_open(path, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "tensor a: its data is not aligned"));
}
END_TEST

#define SIGNED(groups) "{\"__metadata__\":{\"crc32.header\":\"00000000\"" groups "}," A("[2]", "0", "8") "}"

/* Headers whose own checksum is right (put in here, by zlib alone) before 8 bytes of zeros, whose CRC-32 is 6522df69. */
static const struct {
    const char *header, *wrong;
} signed_headers[] = {
    {SIGNED(",\"crc32.all\":\"6522df69 0 8\""), NULL},
    {SIGNED(",\"crc32.x\":\"2144df1c 0 4\",\"crc32.y\":\"2144df1c 4 8\""), NULL},
    {SIGNED(",\"crc32.x\":\"00000000 0 0\",\"crc32.y\":\"6522df69 0 8\""), NULL},
    {SIGNED(""), "cover only 0 bytes"},
    {SIGNED(",\"crc32.x\":\"2144df1c 0 4\""), "cover only 4 bytes"},
    {SIGNED(",\"crc32.x\":\"2144df1c 4 8\""), "does not match"},
    {SIGNED(",\"crc32.y\":\"2144df1c 4 8\",\"crc32.x\":\"2144df1c 0 4\""), "does not match"},
    {SIGNED(",\"crc32.x\":\"2144df1c 0 4\",\"crc32.y\":\"2144df1c 0 4\""), "does not match"},
    {SIGNED(",\"crc32.x\":\"6522df69 0 8\",\"crc32.y\":\"2144df1c 0 4\""), "y is malformed"},
    {SIGNED(",\"crc32.all\":\"6522df69 0 1000000000\""), "all is malformed"},
    {SIGNED(",\"crc32.all\":\"6522df69 0 -1\""), "all is malformed"},
    {SIGNED(",\"crc32.all\":\"6522DF69 0 8\""), "does not match"},
    {SIGNED(",\"crc32.all\":\"6522df69 0  8\""), "does not match"},
    {SIGNED(",\"crc32.all\":\"\""), "does not match"},
};

START_TEST(checksums_cover_everything)
{
    const size_t i = (size_t)_i;
    Error error = {0};
    char bytes[512], digits[9];
    uint64_t length = (strlen(signed_headers[i].header) + 7) / 8 * 8;
    memcpy(bytes, &length, 8);
    snprintf(bytes + 8, sizeof bytes - 8, "%-*s", (int)length, signed_headers[i].header);
    snprintf(digits, sizeof digits, "%08lx", crc32(0, (const Bytef *)bytes, (uInt)length + 8));
    memcpy(strstr(bytes + 8, "00000000"), digits, 8);
    write_raw(bytes + 8, length, length, 8);
    Safetensors *file = safetensors_open(path, &error);
    if (signed_headers[i].wrong) {
        ck_assert_msg(file == NULL, "%s is taken", signed_headers[i].header);
        ck_assert_msg(strstr(error.text, signed_headers[i].wrong) != NULL, "%s: %s", signed_headers[i].header, error.text);
    } else {
        ck_assert_msg(file != NULL, "%s: %s", signed_headers[i].header, error.text);
        ck_assert(file->has_checksums);
    }
    safetensors_close(file);
}
END_TEST

START_TEST(lengths_out_of_range)
{
    static const struct {
        uint64_t length;
        const char *wrong;
    } lengths[] = {
        {3, "ends within the header"},  {100000000, "ends within the header"}, {100000001, "out of range"},
        {UINT64_MAX, "out of range"}, {UINT64_MAX - 7, "out of range"},    {UINT64_C(1) << 63, "out of range"},
    };
    Error error = {0};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_raw("{}", 2, lengths[i].length, 0);
        ck_assert_ptr_null(safetensors_open(path, &error));
        ck_assert_msg(strstr(error.text, lengths[i].wrong) != NULL, "%s", error.text);
    }
    ck_assert_ptr_null(safetensors_open(folder, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "not a regular file"));
    ck_assert_ptr_null(safetensors_open("/nowhere/x.safetensors", &error));
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere/x.safetensors: opening the file failed"));
}
END_TEST

static void open_example(void *context)
{
    Error *error = context;
    safetensors_close(safetensors_open(path, error));
}

/* Where memory lacks for a header, that is what is said, not that the file is damaged. */
START_TEST(memory_lacks_for_the_header)
{
#ifndef __SANITIZE_ADDRESS__
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    enum { N_ITEMS = 200000, ITEM = 13 };
    const uint64_t length = strlen("{\"__metadata__\":{}}") + N_ITEMS * ITEM - 1;
    fwrite(&length, 8, 1, file);
    fputs("{\"__metadata__\":{", file);
    for (int i = 0; i < N_ITEMS; i++) fprintf(file, "\"%06d\":\"\"%s", i, i + 1 < N_ITEMS ? ", " : " ");
    fputs("}}", file);
    fclose(file);
    Error error = {0};
    MemScope scope = {0};
    size_t wanted = 0;
    unsigned long pages = 0;
    FILE *status = fopen("/proc/self/statm", "r");
    ck_assert(status && fscanf(status, "%lu", &pages) == 1);
    fclose(status);
    struct rlimit limit = {pages * (unsigned long)sysconf(_SC_PAGESIZE) + (8 << 20), RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert_msg(!mem_run(&scope, open_example, &error, &wanted), "%s", error.text);
    mem_scope_free(&scope);
    limit.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert(mem_run(&scope, open_example, &error, &wanted));
    ck_assert_msg(!error.code, "%s", error.text);
#endif
}
END_TEST

/* A file with holes: 5 GiB in one tensor, and one behind it. */
START_TEST(more_than_four_gib)
{
    Error error = {0};
    char header[257];
    snprintf(header, sizeof header, "%-256s",
             "{" A("[1342177280]", "0", "5368709120") "," B("5368709120", "5368709128") "}");
    write_raw(header, 256, 256, 0);
    int descriptor = open(path, O_WRONLY);
    float last[2] = {1, 2};
    ck_assert_int_eq(pwrite(descriptor, last, sizeof last, 8 + 256 + INT64_C(5368709120)), sizeof last);
    close(descriptor);
    Safetensors *file = safetensors_open(path, &error);
    ck_assert_msg(file != NULL, "%s", error.text);
    ck_assert_uint_eq(safetensors_n_elements(safetensors_find(file, "a")), 1342177280);
    ck_assert_mem_eq(safetensors_find(file, "b")->data, last, sizeof last);
    safetensors_close(file);
}
END_TEST

Suite *suite_safetensors(void)
{
    Suite *suite = suite_create("safetensors");
    TCase *tcase = tcase_create("safetensors");
    tcase_set_timeout(tcase, 20);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, comes_back);
    tcase_add_test(tcase, no_tensor_at_all);
    tcase_add_test(tcase, another_shape_is_an_error);
    tcase_add_test(tcase, reads_what_python_wrote);
    tcase_add_test(tcase, any_changed_bit_is_refused);
    tcase_add_test(tcase, any_call_may_fail_while_saving);
    tcase_add_loop_test(tcase, unsound_headers, 0, (int)(sizeof headers / sizeof *headers));
    tcase_add_loop_test(tcase, checksums_cover_everything, 0, (int)(sizeof signed_headers / sizeof *signed_headers));
    tcase_add_test(tcase, data_must_be_aligned);
    tcase_add_test(tcase, lengths_out_of_range);
    tcase_add_test(tcase, memory_lacks_for_the_header);
    tcase_add_test(tcase, more_than_four_gib);
    suite_add_tcase(suite, tcase);
    return suite;
}
