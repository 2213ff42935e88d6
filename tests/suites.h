/* The suites of the test program, one a module. */
#ifndef FERRY_TESTS_SUITES_H
#define FERRY_TESTS_SUITES_H

#include <check.h>

#define SUITE(name) Suite *suite_##name(void);
#define SUITE32(name) SUITE(name)
#define SUITE64(name) SUITE(name)
#include "tests/suites.def"
#undef SUITE
#undef SUITE32
#undef SUITE64

#endif
