/* Every input that ever was a fault of a fuzz target, and a few others, again: tests/fuzz/corpus. */

#include "system/files.h"
#include "tests/fuzz/fuzz.h"
#include "tests/suites.h"

static const struct {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} targets[] = {
#define TARGET(name) {#name, fuzz_##name},
#include "tests/fuzz/targets.def"
#undef TARGET
};
enum { N_TARGETS = sizeof targets / sizeof *targets };

START_TEST(corpus)
{
    char *folder = mem_format("tests/fuzz/corpus/%s", targets[_i].name), **names;
    Error error = {0};
    int n;
    ck_assert_msg(folder_list(folder, "", "", &names, &n, &error), "%s", error.text);
    ck_assert_int_gt(n, 0);
    for (int i = 0; i < n; i++) {
        char *path = path_join(folder, names[i]);
        size_t size;
        char *bytes = file_read_all(path, &size, &error);
        ck_assert_msg(bytes != NULL, "%s", error.text);
        targets[_i].run((const uint8_t *)bytes, size);
        mem_free(bytes);
        mem_free(path);
        mem_free(names[i]);
    }
    mem_free(names);
    mem_free(folder);
}
END_TEST

Suite *suite_fuzz(void)
{
    Suite *suite = suite_create("fuzz");
    TCase *tcase = tcase_create("corpus");
    tcase_add_loop_test(tcase, corpus, 0, N_TARGETS);
    suite_add_tcase(suite, tcase);
    return suite;
}
