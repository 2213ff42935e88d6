#include "run/safetensors.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/memory.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are read in place, and safetensors files are little-endian"
#endif

enum {
    LENGTH_BYTES = 8,       /* before the header */
    HEADER_MAX = 100000000, /* the format's own limit */
    JSON_MOST = 40,         /* bytes that cJSON takes for one of text, at most: "0," is an item */
    DATA_ALIGN = 64,
    CRC_DIGITS = 8,
};

static const char metadata_key[] = "__metadata__";
static const char crc_prefix[] = "crc32.";
static const char crc_header_key[] = "crc32.header";
/* What comes before the digits in the header. Only the key itself looks like this: elsewhere its quotes would be escaped. */
static const char crc_header_mark[] = "\"crc32.header\":\"";

static const struct {
    const char *name;
    size_t size;
} types[N_SAFE_TYPES] = {
    [SAFE_F32] = {"F32", 4},
    [SAFE_F64] = {"F64", 8},
    [SAFE_I32] = {"I32", 4},
    [SAFE_I64] = {"I64", 8},
};

size_t safetensors_type_size(SafeType type)
{
    return types[type].size;
}

size_t safetensors_n_elements(const SafeTensor *tensor)
{
    size_t n = 1;
    for (int i = 0; i < tensor->n_dims; i++) n *= tensor->shape[i];
    return n;
}

static size_t tensor_bytes(const SafeTensor *tensor)
{
    return safetensors_n_elements(tensor) * types[tensor->type].size;
}

/* Names in order, for finding and for telling duplicates. */

typedef struct Name {
    const char *text;
    int index;
} Name;

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const Name *)a)->text, ((const Name *)b)->text);
}

/* Sort; return a name that is there twice, or NULL. */
static const char *sort_names(Name *names, int n)
{
    if (n) qsort(names, (size_t)n, sizeof *names, compare_names);
    for (int i = 1; i < n; i++)
        if (!strcmp(names[i - 1].text, names[i].text)) return names[i].text;
    return NULL;
}

static Name *names_of_tensors(const SafeTensor *tensor, int n)
{
    Name *names = mem_alloc((size_t)n * sizeof *names);
    for (int i = 0; i < n; i++) names[i] = (Name){tensor[i].name, i};
    return names;
}

static Name *names_of_entries(const SafeEntry *entry, int n)
{
    Name *names = mem_alloc((size_t)n * sizeof *names);
    for (int i = 0; i < n; i++) names[i] = (Name){entry[i].key, i};
    return names;
}

static int find_name(const Name *names, int n, const char *text)
{
    Name key = {text, 0};
    const Name *found = n ? bsearch(&key, names, (size_t)n, sizeof *names, compare_names) : NULL;
    return found ? found->index : -1;
}

/* Checksums. */

static void crc_text(char digits[CRC_DIGITS + 1], uLong crc)
{
    snprintf(digits, CRC_DIGITS + 1, "%08" PRIx32, (uint32_t)crc);
}

/* The CRC of the first `bytes` bytes of the file (length and header), the eight digits at `digits` taken as zeros. */
static uLong crc_of_header(const char *start, size_t bytes, const char *digits)
{
    const char *rest = digits + CRC_DIGITS;
    uLong crc = crc32_z(0, (const Bytef *)start, (size_t)(digits - start));
    crc = crc32_z(crc, (const Bytef *)"00000000", CRC_DIGITS);
    return crc32_z(crc, (const Bytef *)rest, bytes - (size_t)(rest - start));
}

static char *group_value(uLong crc, size_t first, size_t end)
{
    return mem_format("%08" PRIx32 " %zu %zu", (uint32_t)crc, first, end);
}

/* Writing. */

static const char *group_of(const SafeTensor *tensor)
{
    return tensor->group ? tensor->group : "data";
}

static void check_arguments(const SafeTensor *tensor, int n_tensors, const SafeEntry *metadata, int n_metadata)
{
    Name *names = names_of_tensors(tensor, n_tensors), *keys = names_of_entries(metadata, n_metadata);
    const char *twice = sort_names(names, n_tensors), *key_twice = sort_names(keys, n_metadata);
    CHECK(!twice, "two tensors are called %s", twice);
    CHECK(!key_twice, "two metadata entries are called %s", key_twice);
    for (int i = 0; i < n_metadata; i++)
        CHECK(strncmp(metadata[i].key, crc_prefix, strlen(crc_prefix)), "%s is for the checksums", metadata[i].key);
    size_t offset = 0;
    for (int i = 0; i < n_tensors; i++) {
        const char *name = tensor[i].name;
        CHECK(strcmp(name, metadata_key), "no tensor can be called %s", name);
        CHECK(tensor[i].n_dims >= 0 && tensor[i].n_dims <= SAFE_MAX_DIMS, "%s has %d dimensions", name, tensor[i].n_dims);
        CHECK(offset % types[tensor[i].type].size == 0, "%s would not be aligned: put it before narrower types", name);
        offset += tensor_bytes(&tensor[i]);
    }
    mem_free(names);
    mem_free(keys);
}

static void add_number(cJSON *array, size_t number)
{
    char text[24]; /* raw text: cJSON's numbers are doubles */
    snprintf(text, sizeof text, "%zu", number);
    cJSON_AddItemToArray(array, cJSON_CreateRaw(text));
}

static void add_group_checksums(cJSON *metadata, const SafeTensor *tensor, int n_tensors)
{
    size_t first = 0, end = 0;
    for (int i = 0, next; i < n_tensors; i = next, first = end) {
        uLong crc = 0;
        for (next = i; next < n_tensors && !strcmp(group_of(&tensor[next]), group_of(&tensor[i])); next++) {
            size_t bytes = tensor_bytes(&tensor[next]);
            if (bytes) crc = crc32_z(crc, tensor[next].data, bytes); /* of NULL it would be the CRC of nothing */
            end += bytes;
        }
        char *key = mem_format("%s%s", crc_prefix, group_of(&tensor[i])), *value = group_value(crc, first, end);
        CHECK(!cJSON_GetObjectItemCaseSensitive(metadata, key), "the group %s is not in one piece", group_of(&tensor[i]));
        cJSON_AddStringToObject(metadata, key, value);
        mem_free(key);
        mem_free(value);
    }
}

static char *header_json(const SafeTensor *tensor, int n_tensors, const SafeEntry *metadata, int n_metadata)
{
    cJSON *root = cJSON_CreateObject(), *entries = cJSON_AddObjectToObject(root, metadata_key);
    cJSON_AddStringToObject(entries, crc_header_key, "00000000");
    add_group_checksums(entries, tensor, n_tensors);
    for (int i = 0; i < n_metadata; i++) cJSON_AddStringToObject(entries, metadata[i].key, metadata[i].value);
    size_t offset = 0;
    for (int i = 0; i < n_tensors; i++) {
        cJSON *item = cJSON_AddObjectToObject(root, tensor[i].name);
        cJSON_AddStringToObject(item, "dtype", types[tensor[i].type].name);
        cJSON *shape = cJSON_AddArrayToObject(item, "shape");
        for (int k = 0; k < tensor[i].n_dims; k++) add_number(shape, tensor[i].shape[k]);
        cJSON *offsets = cJSON_AddArrayToObject(item, "data_offsets");
        add_number(offsets, offset);
        add_number(offsets, offset += tensor_bytes(&tensor[i]));
    }
    char *json = cJSON_PrintUnformatted(root);
    CHECK(json, "no memory for the header");
    cJSON_Delete(root);
    return json;
}

bool safetensors_write(AtomicFile *file, const SafeTensor *tensor, int n_tensors, const SafeEntry *metadata, int n_metadata,
                       Error *error)
{
    check_arguments(tensor, n_tensors, metadata, n_metadata);
    char *json = header_json(tensor, n_tensors, metadata, n_metadata);
    size_t json_bytes = strlen(json), bytes = (LENGTH_BYTES + json_bytes + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN;
    CHECK(bytes <= HEADER_MAX, "%d tensors make too long a header", n_tensors);
    char *header = mem_alloc(bytes); /* with its length, padded with blanks */
    memset(header, ' ', bytes);
    memcpy(header, &(uint64_t){bytes - LENGTH_BYTES}, LENGTH_BYTES);
    memcpy(header + LENGTH_BYTES, json, json_bytes);
    cJSON_free(json);

    char *digits = memmem(header, bytes, crc_header_mark, strlen(crc_header_mark));
    CHECK(digits, "the header has no place for its checksum");
    digits += strlen(crc_header_mark);
    char text[CRC_DIGITS + 1];
    crc_text(text, crc_of_header(header, bytes, digits));
    memcpy(digits, text, CRC_DIGITS);

    bool ok = file_write(file, header, bytes, error);
    for (int i = 0; ok && i < n_tensors; i++) ok = file_write(file, tensor[i].data, tensor_bytes(&tensor[i]), error);
    mem_free(header);
    return ok;
}

/* Reading. Errors here say what is wrong; safetensors_open puts the file's name before them. */

struct SafeInside {
    char *path;
    const char *map; /* the whole file; NULL: not mapped */
    size_t map_bytes;
    size_t header_bytes; /* with its length */
    cJSON *json;         /* owns all names and strings */
    MemDeferred *closing; /* of the map and the JSON */
    Name *names;         /* [n_tensors] */
};

static bool map_file(struct SafeInside *in, Error *error)
{
    int descriptor = open(in->path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return error_set(error, "opening the file failed: %s; check the path", strerror(errno));
    struct stat status;
    bool ok = false;
    if (fstat(descriptor, &status) != 0) error_set(error, "reading failed: %s", strerror(errno));
    else if (!S_ISREG(status.st_mode)) error_set(error, "this is not a regular file; name a safetensors file");
    else if (status.st_size < LENGTH_BYTES) error_set(error, "the file ends after %lld bytes, within the header's length",
                                                      (long long)status.st_size);
    else {
        void *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        ok = map != MAP_FAILED;
        if (ok) in->map = map;
        else error_set(error, "mapping the file failed: %s", strerror(errno));
        in->map_bytes = (size_t)status.st_size;
    }
    close(descriptor);
    return ok;
}

static bool parse_header(struct SafeInside *in, Error *error)
{
    uint64_t length;
    memcpy(&length, in->map, LENGTH_BYTES);
    if (length > HEADER_MAX) return error_set(error, "the header's length is out of range: %" PRIu64 " bytes", length);
    if (length > in->map_bytes - LENGTH_BYTES)
        return error_set(error, "the file ends within the header, which should be %" PRIu64 " bytes long", length);
    const char *header = in->map + LENGTH_BYTES, *rest;
    in->header_bytes = LENGTH_BYTES + length;
    if (!length || *header != '{') return error_set(error, "the header does not begin with {");
    in->json = cJSON_ParseWithLengthOpts(header, length, &rest, false);
    /* cJSON doesn't tell whether it was memory that lacked; then it lacks here, too. */
    if (!in->json) mem_free(mem_alloc(length * JSON_MOST));
    if (!cJSON_IsObject(in->json)) return error_set(error, "the header is not well-formed JSON");
    for (; rest < header + length; rest++)
        if (*rest != ' ') return error_set(error, "the header goes on after its JSON");
    return true;
}

/* A JSON number as an offset or a dimension: whole, not negative, exact as a double. */
static bool json_size(const cJSON *item, size_t *size)
{
    double x = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(x >= 0 && x <= 9007199254740992.0 && x == floor(x))) return false;
    *size = (size_t)x;
    return true;
}

/* The shape, and the bytes that it makes with the type. */
static bool parse_shape(const cJSON *shape, SafeTensor *tensor, size_t *bytes, Error *error)
{
    const cJSON *dimension;
    *bytes = types[tensor->type].size;
    if (!cJSON_IsArray(shape)) return error_set(error, "its shape is not an array");
    cJSON_ArrayForEach(dimension, shape) {
        size_t *size = &tensor->shape[tensor->n_dims];
        if (tensor->n_dims == SAFE_MAX_DIMS) return error_set(error, "it has more than %d dimensions", SAFE_MAX_DIMS);
        if (!json_size(dimension, size)) return error_set(error, "dimension %d is not a size", tensor->n_dims);
        if (__builtin_mul_overflow(*bytes, *size, bytes)) return error_set(error, "its shape is too large");
        tensor->n_dims++;
    }
    return true;
}

static bool parse_type(const cJSON *dtype, SafeType *type, Error *error)
{
    const char *name = cJSON_GetStringValue(dtype);
    if (!name) return error_set(error, "its dtype is not a string");
    for (int i = 0; i < N_SAFE_TYPES; i++) {
        if (strcmp(types[i].name, name)) continue;
        *type = (SafeType)i;
        return true;
    }
    return error_set(error, "its dtype is %.20s; F32, F64, I32 and I64 can be read", name);
}

static bool parse_tensor(const struct SafeInside *in, const cJSON *item, SafeTensor *tensor, Error *error)
{
    size_t bytes, begin, end, data_bytes = in->map_bytes - in->header_bytes;
    if (!cJSON_IsObject(item) || cJSON_GetArraySize(item) != 3)
        return error_set(error, "its entry is not made of dtype, shape and data_offsets");
    if (!parse_type(cJSON_GetObjectItemCaseSensitive(item, "dtype"), &tensor->type, error)) return false;
    if (!parse_shape(cJSON_GetObjectItemCaseSensitive(item, "shape"), tensor, &bytes, error)) return false;
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 || !json_size(cJSON_GetArrayItem(offsets, 0), &begin) ||
        !json_size(cJSON_GetArrayItem(offsets, 1), &end))
        return error_set(error, "its data_offsets are not two sizes");
    if (begin > end || end - begin != bytes)
        return error_set(error, "data_offsets %zu to %zu don't fit its shape of %zu bytes", begin, end, bytes);
    if (end > data_bytes)
        return error_set(error, "its data ends at byte %zu, but the file has only %zu bytes of data", end, data_bytes);
    tensor->data = in->map + in->header_bytes + begin;
    if ((uintptr_t)tensor->data % types[tensor->type].size)
        return error_set(error, "its data is not aligned; save the file again with Python's safetensors");
    return true;
}

static bool parse_metadata(Safetensors *file, const cJSON *object, Error *error)
{
    if (!cJSON_IsObject(object)) return error_set(error, "%s is not an object", metadata_key);
    if (file->metadata) return error_set(error, "%s is there twice", metadata_key);
    file->metadata = mem_alloc((size_t)cJSON_GetArraySize(object) * sizeof *file->metadata);
    const cJSON *item;
    cJSON_ArrayForEach(item, object) {
        if (!cJSON_IsString(item)) return error_set(error, "metadata %.100s is not a string", item->string);
        file->metadata[file->n_metadata++] = (SafeEntry){item->string, item->valuestring};
    }
    Name *names = names_of_entries(file->metadata, file->n_metadata);
    const char *twice = sort_names(names, file->n_metadata);
    mem_free(names);
    return !twice || error_set(error, "metadata %.100s is there twice", twice);
}

static bool parse_entries(Safetensors *file, Error *error)
{
    struct SafeInside *in = file->inside;
    size_t n = (size_t)cJSON_GetArraySize(in->json);
    file->tensor = mem_zalloc(n * sizeof *file->tensor);
    const cJSON *item;
    cJSON_ArrayForEach(item, in->json) {
        if (!strcmp(item->string, metadata_key)) {
            if (!parse_metadata(file, item, error)) return false;
            continue;
        }
        SafeTensor *tensor = &file->tensor[file->n_tensors++];
        tensor->name = item->string;
        if (!parse_tensor(in, item, tensor, error)) return error_context(error, "tensor %.100s", item->string);
    }
    return true;
}

/* By place; an empty tensor, which shares its place with the next one, goes first. */
static int compare_places(const void *a, const void *b)
{
    const SafeTensor *x = a, *y = b;
    const char *x_data = x->data, *y_data = y->data;
    if (x_data != y_data) return x_data < y_data ? -1 : 1;
    size_t x_bytes = tensor_bytes(x), y_bytes = tensor_bytes(y);
    return x_bytes < y_bytes ? -1 : x_bytes > y_bytes;
}

/* Put the tensors in order; their data must cover the file to its end, without gaps and overlaps. */
static bool order_tensors(Safetensors *file, Error *error)
{
    struct SafeInside *in = file->inside;
    size_t n = (size_t)file->n_tensors;
    if (n) qsort(file->tensor, n, sizeof *file->tensor, compare_places);
    const char *end = in->map + in->header_bytes;
    for (size_t i = 0; i < n; i++) {
        if (file->tensor[i].data != end)
            return error_set(error, "tensor %.100s does not begin where the one before ends", file->tensor[i].name);
        end += tensor_bytes(&file->tensor[i]);
    }
    if (end != in->map + in->map_bytes)
        return error_set(error, "%td byte%s behind the last tensor", in->map + in->map_bytes - end,
                         plural(in->map + in->map_bytes - end));
    in->names = names_of_tensors(file->tensor, file->n_tensors);
    const char *twice = sort_names(in->names, file->n_tensors);
    return !twice || error_set(error, "tensor %.100s is there twice", twice);
}

/* One group's checksum; *covered is where the last group ended. The value must be what safetensors_write would write. */
static bool check_group(const struct SafeInside *in, const SafeEntry *entry, size_t *covered, Error *error)
{
    const char *group = entry->key + strlen(crc_prefix);
    size_t first = *covered, end = first, data_bytes = in->map_bytes - in->header_bytes;
    const char *last_blank = strrchr(entry->value, ' ');
    if (last_blank) end = (size_t)strtoull(last_blank, NULL, 10);
    if (end < first || end > data_bytes) return error_set(error, "the checksum of %.100s is malformed", group);
    char *right = group_value(crc32_z(0, (const Bytef *)in->map + in->header_bytes + first, end - first), first, end);
    bool ok = !strcmp(right, entry->value);
    if (!ok) error_set(error, "the data of %.100s does not match its checksum (%s, not %.60s)", group, right, entry->value);
    mem_free(right);
    *covered = end;
    return ok;
}

/* If there is any checksum, there must be all, and all must be right. */
static bool check_checksums(Safetensors *file, Error *error)
{
    struct SafeInside *in = file->inside;
    size_t covered = 0;
    const char *header_crc = safetensors_metadata(file, crc_header_key);
    if (header_crc) {
        const char *digits = memmem(in->map, in->header_bytes, crc_header_mark, strlen(crc_header_mark));
        char right[CRC_DIGITS + 1] = "";
        if (digits && strlen(header_crc) == CRC_DIGITS)
            crc_text(right, crc_of_header(in->map, in->header_bytes, digits + strlen(crc_header_mark)));
        if (strcmp(right, header_crc)) return error_set(error, "the header does not match its checksum");
    }
    for (int i = 0; i < file->n_metadata; i++) {
        const SafeEntry *entry = &file->metadata[i];
        if (strncmp(entry->key, crc_prefix, strlen(crc_prefix)) || !strcmp(entry->key, crc_header_key)) continue;
        if (!header_crc) return error_set(error, "the checksum of the header is missing");
        if (!check_group(in, entry, &covered, error)) return false;
    }
    file->has_checksums = header_crc != NULL;
    return !header_crc || covered == in->map_bytes - in->header_bytes ||
           error_set(error, "the checksums cover only %zu bytes of the data", covered);
}

static void release(void *inside)
{
    struct SafeInside *in = inside;
    if (in->map) munmap((void *)in->map, in->map_bytes);
    cJSON_Delete(in->json);
}

Safetensors *safetensors_open(const char *path, Error *error)
{
    Safetensors *file = mem_zalloc(sizeof *file);
    file->inside = mem_zalloc(sizeof *file->inside);
    file->inside->closing = mem_defer(release, file->inside);
    file->inside->path = mem_string(path);
    bool ok = map_file(file->inside, error);
    if (ok && !(parse_header(file->inside, error) && parse_entries(file, error) && order_tensors(file, error) &&
                check_checksums(file, error)))
        ok = error_context(error, "damaged, or not a safetensors file");
    if (ok) return file;
    error_context(error, "%s", path);
    safetensors_close(file);
    return NULL;
}

void safetensors_close(Safetensors *file)
{
    if (!file) return;
    struct SafeInside *in = file->inside;
    mem_release(in->closing);
    mem_free(in->names);
    mem_free(in->path);
    mem_free(in);
    mem_free(file->tensor);
    mem_free(file->metadata);
    mem_free(file);
}

const SafeTensor *safetensors_find(const Safetensors *file, const char *name)
{
    int index = find_name(file->inside->names, file->n_tensors, name);
    return index < 0 ? NULL : &file->tensor[index];
}

/* "F32 [10, 3]" */
static char *describe(SafeType type, int n_dims, const size_t *shape)
{
    char *text = mem_format("%s [", types[type].name);
    for (int i = 0; i < n_dims; i++) {
        char *longer = mem_format("%s%s%zu", text, i ? ", " : "", shape[i]);
        mem_free(text);
        text = longer;
    }
    char *whole = mem_format("%s]", text);
    mem_free(text);
    return whole;
}

const void *safetensors_get(const Safetensors *file, const char *name, SafeType type, int n_dims, const size_t *shape,
                            Error *error)
{
    const SafeTensor *tensor = safetensors_find(file, name);
    if (!tensor) {
        error_set(error, "%s: there is no tensor %s", file->inside->path, name);
        return NULL;
    }
    bool fits = tensor->type == type && tensor->n_dims == n_dims;
    for (int i = 0; fits && i < n_dims; i++) fits = tensor->shape[i] == shape[i];
    if (fits) return tensor->data;
    char *there = describe(tensor->type, tensor->n_dims, tensor->shape), *wanted = describe(type, n_dims, shape);
    error_set(error, "%s: tensor %s is %s, but %s is wanted; the file is of another model", file->inside->path, name, there,
              wanted);
    mem_free(there);
    mem_free(wanted);
    return NULL;
}

const char *safetensors_metadata(const Safetensors *file, const char *key)
{
    for (int i = 0; i < file->n_metadata; i++)
        if (!strcmp(file->metadata[i].key, key)) return file->metadata[i].value;
    return NULL;
}
