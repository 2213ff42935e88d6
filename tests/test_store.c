/* The store of training pairs, and test sets by name. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/random.h"
#include "data/batches.h"
#include "data/learner.h"
#include "options/sets.h"
#include "run/run.h"
#include "system/files.h"
#include "tests/nasty.h"
#include "tests/suites.h"
#include "tests/temp.h"
#include "train/store.h"

/* Two corpora of random words, and what goes with them. */
typedef struct Fixture {
    char *folder;
    Corpus corpus[2];
    Tokenizer *tokenizer;
    BitextFilter filter;
    Bitext expected; /* loaded into memory */
    Bitext bitext; /* lent from the store */
    Store store;
    Error error;
} Fixture;

/* n lines for a side; some are blank, some long. */
static char *write_side(const char *folder, const char *name, uint32_t which, uint32_t n)
{
    const RandomStream stream = random_stream(which, RANDOM_TEST, 5, 0);
    Text text = {0};
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t n_words = random_below(&stream, 1000 * i, 30) + (i % 50 == 7 ? 100 : 0);
        for (uint32_t k = 0; k < n_words; k++) text_append_format(&text, "w%u ", random_below(&stream, 1000 * i + k + 1, 50));
        text_append(&text, "\n", 1);
    }
    char *path = temp_file(folder, name, text.data, text.n);
    text_free(&text);
    return path;
}

static Fixture fixture(void)
{
    Fixture f = {.folder = temp_folder(), .tokenizer = tokenizer_new(), .filter = {.max_length = 150, .max_ratio = 5}};
    for (int i = 0; i < 2; i++) {
        const uint32_t n = i ? 300 : 3000;
        f.corpus[i].source = write_side(f.folder, i ? "b.en" : "a.en", 2 * (uint32_t)i, n);
        f.corpus[i].target = write_side(f.folder, i ? "b.fr" : "a.fr", 2 * (uint32_t)i + 1, n);
        f.corpus[i].weight = i ? 2.5 : 1;
    }
    ck_assert(bitext_load(&f.expected, f.tokenizer, f.corpus, 2, &f.filter, &f.error));
    return f;
}

static void end(Fixture *f)
{
    bitext_free(&f->expected);
    tokenizer_free(f->tokenizer);
    for (int i = 0; i < 2; i++) {
        mem_free(f->corpus[i].source);
        mem_free(f->corpus[i].target);
    }
    temp_remove(f->folder);
}

static bool try_store(Fixture *f)
{
    const StoreOrigin origin = {f->corpus, 2, f->tokenizer, f->filter, NULL};
    return store_open(&f->store, &f->bitext, f->folder, &origin, &f->error) && store_commit(&f->store, &f->error);
}

static void open_store(Fixture *f)
{
    ck_assert_msg(try_store(f), "%s", f->error.text);
}

static void close_store(Fixture *f)
{
    bitext_free(&f->bitext);
    store_close(&f->store);
}

/* What tells a file that was written anew from the one before. */
static ino_t number_of(const Fixture *f, const char *name)
{
    char *path = path_join(f->folder, name);
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    mem_free(path);
    return status.st_ino;
}

static void assert_same(const Bitext *a, const Bitext *b)
{
    int32_t x[1000], y[1000];
    ck_assert_uint_eq(bitext_pairs(a), bitext_pairs(b));
    ck_assert(!memcmp(&a->counts, &b->counts, sizeof a->counts));
    ck_assert_int_eq(a->n_parts, b->n_parts);
    for (int i = 0; i < a->n_parts; i++)
        ck_assert(a->part[i].n_pairs == b->part[i].n_pairs && a->part[i].weight == b->part[i].weight);
    for (size_t i = 0; i < bitext_pairs(a); i++)
        for (BitextSide side = BITEXT_SOURCE; side <= BITEXT_TARGET; side++) {
            const int32_t n = bitext_length(a, i, side);
            ENSURE(n == bitext_length(b, i, side), "%zu", i);
            bitext_copy(a, i, side, x);
            bitext_copy(b, i, side, y);
            ENSURE(!memcmp(x, y, (size_t)n * sizeof *x), "%zu", i);
        }
}

START_TEST(the_store_holds_what_memory_would)
{
    Fixture f = fixture();
    ck_assert(f.expected.counts.n_blank_source && f.expected.counts.n_blank_target && f.expected.counts.n_too_long &&
              f.expected.counts.n_unequal && f.expected.counts.n_pairs > 2000);
    open_store(&f);
    assert_same(&f.bitext, &f.expected);
    ck_assert_uint_eq(f.store.hash, bitext_hash(&f.expected));
    ck_assert_int_eq(f.store.counts[0].n_lines, 3000);
    ck_assert_int_eq(f.store.counts[1].n_lines, 300);
    ck_assert_int_eq(f.store.counts[1].n_pairs, f.expected.part[1].n_pairs);
    close_store(&f);
    end(&f);
}
END_TEST

START_TEST(four_bytes_a_token)
{
    Fixture f = fixture();
    Learner *learner = learner_new();
    Text word = {0};
    learner_set_words(learner);
    for (int i = 0; i < 70000; i++) {
        word.n = 0;
        text_append_format(&word, "w%d", i % 50 ? i : i / 50);
        learner_add(learner, word.data, word.n);
    }
    Tokenizer *large = learner_finish(learner, 100000, &f.error);
    ck_assert_int_gt(tokenizer_size(large), 65536);
    tokenizer_free(f.tokenizer);
    f.tokenizer = large;
    bitext_free(&f.expected);
    ck_assert(bitext_load(&f.expected, f.tokenizer, f.corpus, 2, &f.filter, &f.error));
    open_store(&f);
    ck_assert_int_eq(f.bitext.sides.width, 4);
    assert_same(&f.bitext, &f.expected);
    close_store(&f);
    learner_free(learner);
    text_free(&word);
    end(&f);
}
END_TEST

/* Open the store again: is it the one that was there, and does it hold what the files do? */
static bool is_kept(Fixture *f)
{
    const ino_t tokens = number_of(f, RUN_TOKENS), index = number_of(f, RUN_INDEX);
    close_store(f);
    bitext_free(&f->expected);
    ck_assert(bitext_load(&f->expected, f->tokenizer, f->corpus, 2, &f->filter, &f->error));
    /* Open them, so that the numbers of removed files are not given to new ones. */
    char *tokens_path = path_join(f->folder, RUN_TOKENS), *index_path = path_join(f->folder, RUN_INDEX);
    FILE *tokens_file = fopen(tokens_path, "rb"), *index_file = fopen(index_path, "rb");
    open_store(f);
    fclose(tokens_file);
    fclose(index_file);
    mem_free(tokens_path);
    mem_free(index_path);
    assert_same(&f->bitext, &f->expected);
    ck_assert_uint_eq(f->store.hash, bitext_hash(&f->expected));
    const bool same_tokens = tokens == number_of(f, RUN_TOKENS), same_index = index == number_of(f, RUN_INDEX);
    ck_assert_int_eq(same_tokens, same_index);
    return same_tokens;
}

START_TEST(it_is_made_again_when_something_changed)
{
    Fixture f = fixture();
    open_store(&f);
    ck_assert(is_kept(&f));
    f.corpus[1].weight = f.corpus[0].weight = 3; /* weights are no part of it */
    ck_assert(is_kept(&f));
    f.filter.max_length = 100;
    ck_assert(!is_kept(&f));
    ck_assert(is_kept(&f));
    f.filter.max_ratio = 4;
    ck_assert(!is_kept(&f));
    tokenizer_free(f.tokenizer);
    f.tokenizer = nasty_tokenizer(nasty_few_letters, 50, 300);
    ck_assert(!is_kept(&f));
    mem_free(write_side(f.folder, "a.fr", 9, 3000)); /* other text */
    ck_assert(!is_kept(&f));
    const uint64_t hash = f.store.hash;
    size_t n;
    char *text = file_read_all(f.corpus[1].source, &n, &f.error);
    char *digit = memchr(text, 'w', n);
    digit[1] = digit[1] == '7' ? '8' : '7'; /* the same size */
    mem_free(temp_file(f.folder, "b.en", text, n));
    ck_assert(!is_kept(&f));
    ck_assert_uint_ne(f.store.hash, hash);
    mem_free(temp_file(f.folder, "b.en", text, n)); /* written anew, but the same: so is the hash */
    const uint64_t changed = f.store.hash;
    ck_assert(!is_kept(&f));
    ck_assert_uint_eq(f.store.hash, changed);
    const Corpus first = f.corpus[0];
    f.corpus[0] = f.corpus[1];
    f.corpus[1] = first;
    ck_assert(!is_kept(&f));
    ck_assert_uint_ne(f.store.hash, changed);
    mem_free(text);
    close_store(&f);
    end(&f);
}
END_TEST

/* Let `path` be the n bytes. */
static void overwrite(const char *path, const char *data, size_t n)
{
    FILE *file = fopen(path, "wb");
    ck_assert(file && fwrite(data, 1, n, file) == n && !fclose(file));
}

static int count_temporaries(const Fixture *f)
{
    char **names;
    int n, n_temporaries = 0;
    Error error = {0};
    ck_assert(folder_list(f->folder, "train.", "", &names, &n, &error));
    for (int i = 0; i < n; i++) {
        n_temporaries += strstr(names[i], ".tmp-") != NULL;
        mem_free(names[i]);
    }
    mem_free(names);
    return n_temporaries;
}

/* One that is opened and closed without a commit was there for who opened it, and leaves the folder's as it was. */
START_TEST(without_a_commit_nothing_changes)
{
    Fixture f = fixture();
    open_store(&f);
    const ino_t tokens = number_of(&f, RUN_TOKENS), index = number_of(&f, RUN_INDEX);
    close_store(&f);
    const BitextFilter filter = f.filter;
    f.filter.max_length = 100;
    const StoreOrigin origin = {f.corpus, 2, f.tokenizer, f.filter, NULL};
    bitext_free(&f.expected);
    ck_assert(bitext_load(&f.expected, f.tokenizer, f.corpus, 2, &f.filter, &f.error));
    ck_assert(store_open(&f.store, &f.bitext, f.folder, &origin, &f.error));
    assert_same(&f.bitext, &f.expected);
    ck_assert_int_eq(count_temporaries(&f), 2);
    close_store(&f);
    ck_assert_int_eq(count_temporaries(&f), 0);
    ck_assert(number_of(&f, RUN_TOKENS) == tokens && number_of(&f, RUN_INDEX) == index);
    f.filter = filter;
    open_store(&f);
    ck_assert(number_of(&f, RUN_TOKENS) == tokens && number_of(&f, RUN_INDEX) == index);
    close_store(&f);
    end(&f);
}
END_TEST

/* Damage of any kind leads to the right pairs, from a store that is made again. */
START_TEST(damage_is_found)
{
    Fixture f = fixture();
    const char *const names[] = {RUN_TOKENS, RUN_INDEX};
    open_store(&f);
    const uint64_t hash = f.store.hash;
    ck_assert(freopen("/dev/null", "w", stderr)); /* the warnings */
    for (int which = 0; which < 2; which++) {
        char *path = path_join(f.folder, names[which]);
        size_t n;
        char *data = file_read_all(path, &n, &f.error);
        for (int kind = 0; kind < 24; kind++) {
            close_store(&f);
            if (kind == 0) ck_assert_int_eq(unlink(path), 0);
            else if (kind < 8) overwrite(path, data, n * (size_t)(kind - 1) / 7 - (kind == 7)); /* cut, at last by a byte */
            else if (kind == 8) {
                char *longer = mem_zalloc(n + 8);
                memcpy(longer, data, n);
                overwrite(path, longer, n + 8);
                mem_free(longer);
            } else { /* one bit, at places from the first byte to the last */
                const size_t at = (n - 1) * (size_t)(kind - 9) / 14;
                data[at] ^= 4;
                overwrite(path, data, n);
                data[at] ^= 4;
            }
            Bitext *bitext = &f.bitext;
            const ino_t before = kind ? number_of(&f, names[which]) : 0;
            FILE *keep = kind ? fopen(path, "rb") : NULL; /* its number is not given to another file */
            open_store(&f);
            ENSURE(number_of(&f, names[which]) != before, "%s, damage %d", names[which], kind);
            if (keep) fclose(keep);
            ENSURE(f.store.hash == hash && bitext_hash(bitext) == hash, "%s, damage %d", names[which], kind);
            ENSURE(bitext_pairs(bitext) == bitext_pairs(&f.expected), "%s, damage %d", names[which], kind);
        }
        mem_free(data);
        mem_free(path);
    }
    close_store(&f);
    end(&f);
}
END_TEST

/* Whatever system call fails: an error, nothing half made, and the next try is right. */
START_TEST(failing_writes)
{
    Fixture f = fixture();
    const uint64_t hash = bitext_hash(&f.expected);
    files_fail_call(0, 0);
    open_store(&f);
    const int n_calls = files_fail_call(0, 0);
    ck_assert_int_gt(n_calls, 8);
    close_store(&f);
    for (int call = 1; call <= n_calls; call++) {
        f.filter.max_length = 150 + call; /* what is there is of another filter */
        files_fail_call(call, 28);
        const bool good = try_store(&f);
        files_fail_call(0, 0);
        if (good || f.store.tokens.data) close_store(&f); /* removing a leftover that isn't there may fail */
        f.filter.max_length = 150;
        open_store(&f);
        ENSURE(f.store.hash == hash, "after call %d failed", call);
        close_store(&f);
    }
    end(&f);
}
END_TEST

START_TEST(no_pair_is_no_store)
{
    Fixture f = fixture();
    f.filter.max_length = 1;
    ck_assert(!try_store(&f));
    ck_assert_msg(strstr(f.error.text, "no pair is left of the 3300"), "%s", f.error.text);
    char *path = path_join(f.folder, RUN_INDEX);
    ck_assert(!file_exists(path));
    mem_free(path);
    end(&f);
}
END_TEST

/* ---- sets by name ---- */

START_TEST(sets_are_parsed)
{
    NamedSets sets;
    Error error = {0};
    ck_assert(sets_parse(&sets, "  a=b.gz,c.gz\tnews\\ 1=my\\ file\\,1,../x=y ", &error));
    ck_assert_int_eq(sets.n, 2);
    ck_assert_str_eq(sets.set[0].name, "a");
    ck_assert_str_eq(sets.set[0].source, "b.gz");
    ck_assert_str_eq(sets.set[0].reference, "c.gz");
    ck_assert_str_eq(sets.set[1].name, "news 1");
    ck_assert_str_eq(sets.set[1].source, "my file,1");
    ck_assert_str_eq(sets.set[1].reference, "../x=y");
    sets_free(&sets);
    ck_assert(sets_parse(&sets, "", &error) && sets.n == 0);
    sets_free(&sets);
}
END_TEST

START_TEST(wrong_sets_are_refused)
{
    static const char *const wrong[] = {"a", "a=b", "a=b,", "a=,b", "=a,b", "a=b,c,d", "a=b,c x", "a=b\\,c", "a=b,c a=d,e"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        NamedSets sets;
        Error error = {0};
        ck_assert_msg(!sets_parse(&sets, wrong[i], &error), "%s", wrong[i]);
        ck_assert(error.code == ERROR_USAGE && strstr(error.text, "data.tests"));
    }
}
END_TEST

Suite *suite_store(void)
{
    Suite *suite = suite_create("store");
    TCase *tcase = tcase_create("store");
    tcase_add_test(tcase, the_store_holds_what_memory_would);
    tcase_add_test(tcase, four_bytes_a_token);
    tcase_add_test(tcase, it_is_made_again_when_something_changed);
    tcase_add_test(tcase, without_a_commit_nothing_changes);
    tcase_add_test(tcase, damage_is_found);
    tcase_add_test(tcase, failing_writes);
    tcase_add_test(tcase, no_pair_is_no_store);
    tcase_add_test(tcase, sets_are_parsed);
    tcase_add_test(tcase, wrong_sets_are_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
