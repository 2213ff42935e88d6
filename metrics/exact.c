#include "metrics/exact.h"

#include <string.h>

#include "metrics/unicode.h"

bool exact_match(const char *hypothesis, size_t hypothesis_bytes, const char *reference, size_t reference_bytes)
{
    size_t bytes = unicode_trimmed(hypothesis, hypothesis_bytes);
    return bytes == unicode_trimmed(reference, reference_bytes) && (!bytes || !memcmp(hypothesis, reference, bytes));
}
