/* The safetensors file format, as Python's `safetensors` reads and writes it: an 8-byte little-endian header length, a JSON
 * header (name -> dtype, shape, data_offsets; "__metadata__" a map of strings), then raw little-endian data without gaps.
 * Files of ours carry checksums in the metadata: "crc32.header", the CRC-32 (zlib's) of length and header with its own eight
 * digits set to 0, and for each group of tensors "crc32.GROUP", "DIGITS FIRST END": the CRC-32 of bytes FIRST to END - 1 of
 * the data. Together they cover every byte of the file. */
#ifndef FERRY_RUN_SAFETENSORS_H
#define FERRY_RUN_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "system/files.h"

typedef enum SafeType { SAFE_F32, SAFE_F64, SAFE_I32, SAFE_I64, N_SAFE_TYPES } SafeType;

enum { SAFE_MAX_DIMS = 8 };

typedef struct SafeTensor {
    const char *name;
    SafeType type;
    int n_dims;
    size_t shape[SAFE_MAX_DIMS]; /* [n_dims], row-major; no dimension: a single number */
    const void *data;
    const char *group; /* writing: the checksum it goes under, e.g. "parameters" (NULL: "data"); reading: NULL */
} SafeTensor;

typedef struct SafeEntry {
    const char *key, *value;
} SafeEntry;

/* Write tensors and metadata to `file`; the caller commits or abandons it. Names must differ from each other (so must keys,
 * which may not begin with "crc32."), a group's tensors must follow each other, and wider types come before narrower ones
 * where a tensor would lose its alignment: all else is a bug of the caller's. Reads the data twice, copies none of it. */
bool safetensors_write(AtomicFile *file, const SafeTensor *tensor, int n_tensors, const SafeEntry *metadata, int n_metadata,
                       Error *error);

/* An open file, checked through and through. All pointers live until safetensors_close. */
typedef struct Safetensors {
    int n_tensors, n_metadata;
    SafeTensor *tensor;  /* [n_tensors] in the order of their data */
    SafeEntry *metadata; /* [n_metadata] in the order of the header, checksums included */
    bool has_checksums;  /* they cover the whole file, and they were right; demand it of a file that must be ours */
    struct SafeInside *inside;
} Safetensors;

/* Map the file and check all of it: lengths, JSON, names, types, shapes, offsets, checksums if there are any. The data is
 * read in place (it must not be overwritten meanwhile; replacing it by rename is fine). NULL on error. */
Safetensors *safetensors_open(const char *path, Error *error);
/* NULL is allowed. */
void safetensors_close(Safetensors *file);

/* The tensor of that name, or NULL. */
const SafeTensor *safetensors_find(const Safetensors *file, const char *name);
/* The data of the tensor that must be there with this type and shape; else NULL and an error that names file, tensor, what
 * is there and what is wanted. */
const void *safetensors_get(const Safetensors *file, const char *name, SafeType type, int n_dims, const size_t *shape,
                            Error *error);
/* The value of a metadata key, or NULL. */
const char *safetensors_metadata(const Safetensors *file, const char *key);

/* Bytes of one element; numbers in the tensor (the product of its shape). */
size_t safetensors_type_size(SafeType type);
size_t safetensors_n_elements(const SafeTensor *tensor);

#endif
