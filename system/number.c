#include "system/number.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

static locale_t c_locale(void)
{
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    CHECK(locale, "no C locale");
    return locale;
}

bool number_read_int(const char *text, int64_t *out)
{
    size_t sign = *text == '-' || *text == '+', digits = strspn(text + sign, "0123456789");
    if (!digits || text[sign + digits]) return false;
    errno = 0;
    intmax_t value = strtoimax(text, NULL, 10);
    if (errno || value < INT64_MIN || value > INT64_MAX) return false;
    *out = value;
    return true;
}

bool number_read_real(const char *text, double *out)
{
    if (!*text || text[strspn(text, "0123456789+-.eE")]) return false;
    locale_t locale = c_locale();
    char *end;
    double value = strtod_l(text, &end, locale);
    freelocale(locale);
    if (*end || !isfinite(value)) return false;
    *out = value;
    return true;
}

bool number_plain(char out[NUMBER_SIZE], const char *text)
{
    char digits[NUMBER_SIZE];
    size_t n = 0;
    if (!text[strcspn(text, "eEkKM_")]) return false;
    for (; *text && n + 1 < sizeof digits; text++)
        if (*text != '_') digits[n++] = *text;
    if (*text || !n) return false;
    double factor = 1, value;
    if (strchr("kK", digits[n - 1])) factor = 1e3;
    else if (digits[n - 1] == 'M') factor = 1e6;
    digits[factor > 1 ? n - 1 : n] = '\0';
    if (!number_read_real(digits, &value)) return false;
    value *= factor;
    if (value != trunc(value) || fabs(value) > 1e15) return false;
    snprintf(out, NUMBER_SIZE, "%.0f", value);
    return true;
}

/* "1e-09" as "1e-9". */
static void shorten_exponent(char *text)
{
    char *digits = strchr(text, 'e');
    if (!digits) return;
    digits += 2; /* printf always writes the sign */
    size_t zeros = strspn(digits, "0");
    memmove(digits, digits + zeros, strlen(digits + zeros) + 1);
}

char *number_write_digits(char out[NUMBER_SIZE], double value, int digits)
{
    locale_t locale = c_locale(), before = uselocale(locale);
    snprintf(out, NUMBER_SIZE, "%.*g", digits, value);
    uselocale(before);
    freelocale(locale);
    shorten_exponent(out);
    return out;
}

char *number_write_real(char out[NUMBER_SIZE], double value)
{
    char text[NUMBER_SIZE];
    locale_t locale = c_locale(), before = uselocale(locale);
    /* Whole numbers that are still easy to read have no exponent: 1000, not 1e+3. */
    for (int precision = value == trunc(value) && fabs(value) < 1e6 ? 6 : 1; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, value);
        if (strtod(text, NULL) == value) break;
    }
    uselocale(before);
    freelocale(locale);
    shorten_exponent(text);
    return strcpy(out, text);
}
