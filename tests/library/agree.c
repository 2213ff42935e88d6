/* agree MODEL SOURCE LISTS TARGET SCORES: the library gives what the program gave, text and scores to the last bit.
 * LISTS: ferry translate --beam 6 --n-best 4 --alignment hard; TARGET: text; SCORES: ferry score --token-scores of
 * TARGET. */
#include "tests/library/host.h"

/* "i-j i-j ..": the strongest source token of each target token, as the program chooses it */
static void hard(const ferry_translation *t, char *out)
{
    *out = '\0';
    for (size_t j = 0; t->alignment && j < t->n_tokens; j++) {
        const float *row = t->alignment + j * t->n_source;
        size_t best = 0;
        float sum = row[t->n_source - 1];
        for (size_t i = 0; i + 1 < t->n_source; i++) {
            sum += row[i];
            if (row[i] > row[best]) best = i;
        }
        EXPECT(sum > 0.999f && sum < 1.001f, "a row's sum is %g", (double)sum);
        out += sprintf(out, j ? " %zu-%zu" : "%zu-%zu", best, j);
    }
}

/* The field behind the next " ||| "; ends the one before. */
static char *next_field(char **rest)
{
    char *field = *rest, *end = strstr(field, " ||| ");
    *rest = end ? end + 5 : field + strlen(field);
    if (end) *end = '\0';
    return field;
}

static void compare_lists(const ferry_result *result, const Lines *lists)
{
    size_t n = 0;
    for (size_t i = 0; i < ferry_n_lines(result); i++)
        for (size_t place = 0; place < ferry_n_translations(result, i); place++) {
            ferry_translation t;
            FERRY_INIT(t);
            EXPECT(ferry_get(result, i, place, &t), "line %zu", i);
            EXPECT(n < lists->n, "more translations than the program gave");
            char copy[1 << 15], links[1 << 15];
            snprintf(copy, sizeof copy, "%s", lists->line[n++]);
            char *rest = copy;
            EXPECT(strtoull(next_field(&rest), NULL, 10) == i, "line %zu", i);
            char *text = next_field(&rest), *numbers = next_field(&rest);
            EXPECT(!strcmp(text, t.text), "line %zu: '%s', not '%s'", i, t.text, text);
            char *length = strstr(numbers, "Length= ");
            EXPECT(length && strtoull(length + 8, NULL, 10) == t.n_tokens, "line %zu: %s", i, numbers);
            EXPECT(strtod(numbers + strlen("LogProb= "), NULL) == t.log_probability, "line %zu: %s", i, numbers);
            EXPECT(strtod(next_field(&rest), NULL) == t.score, "line %zu", i);
            hard(&t, links);
            EXPECT(!strcmp(links, rest), "line %zu: %s, not %s", i, links, rest);
            double sum = 0;
            for (size_t k = 0; t.token_scores && k <= t.n_tokens; k++) sum += t.token_scores[k];
            EXPECT(sum == t.log_probability, "line %zu: %a %a", i, sum, t.log_probability);
            EXPECT(!t.n_tokens || t.token_scores, "line %zu", i);
        }
    EXPECT(n == lists->n, "%zu of %zu translations", n, lists->n);
}

/* log-probability TAB tokens with </s> TAB log-probabilities */
static void compare_scores(const ferry_result *result, const Lines *scores)
{
    EXPECT(scores->n == ferry_n_lines(result), "%zu", scores->n);
    for (size_t i = 0; i < scores->n; i++) {
        ferry_translation t;
        FERRY_INIT(t);
        EXPECT(ferry_get(result, i, 0, &t) && t.token_scores, "line %zu", i);
        char *rest;
        EXPECT(strtod(scores->line[i], &rest) == t.log_probability && *rest == '\t', "line %zu", i);
        const size_t n = strlen(t.tokens);
        EXPECT(!strncmp(++rest, t.tokens, n), "line %zu: %s", i, rest);
        EXPECT(!strncmp(rest + n, n ? " </s>\t" : "</s>\t", n ? 6 : 5), "line %zu: %s", i, rest);
        rest = strchr(rest, '\t');
        for (size_t k = 0; k <= t.n_tokens; k++)
            EXPECT(strtod(rest, &rest) == t.token_scores[k], "line %zu, token %zu", i, k);
    }
}

/* Text to tokens and back gives the text, and tokens translate as their text does. */
static void compare_tokens(ferry_model *model, const Lines *source)
{
    ferry_result *tokens = ferry_tokenize(model, source->line, NULL, source->n, NULL, NULL);
    EXPECT(tokens, "tokenize");
    const char **line = malloc((source->n + 1) * sizeof *line);
    for (size_t i = 0; i < source->n; i++) line[i] = ferry_text(tokens, i);
    ferry_result *text = ferry_detokenize(model, line, NULL, source->n, NULL, NULL);
    EXPECT(text, "detokenize");
    ferry_call call;
    FERRY_INIT(call);
    call.tokenized = 1;
    ferry_result *a = translate(model, &(Lines){.line = line, .n = source->n}, &call);
    ferry_result *b = translate(model, source, NULL);
    expect_same(a, b);
    for (size_t i = 0; i < source->n; i++) line[i] = ferry_text(text, i);
    ferry_result *again = ferry_tokenize(model, line, NULL, source->n, NULL, NULL);
    expect_same(tokens, again);
    ferry_free(again);
    ferry_free(a);
    ferry_free(b);
    ferry_free(text);
    ferry_free(tokens);
    free(line);
}

int main(int argc, char **argv)
{
    EXPECT(argc == 6, "agree MODEL SOURCE LISTS TARGET SCORES");
    Lines source = lines_read(argv[2]), lists = lines_read(argv[3]);
    Lines target = lines_read(argv[4]), scores = lines_read(argv[5]);
    ferry_model *model = open_model(argv[1], NULL);
    ferry_call call;
    FERRY_INIT(call);
    call.settings = (const char *[]){"beam=6", NULL};
    call.n_best = 4;
    call.alignments = call.token_scores = 1;
    ferry_result *result = translate(model, &source, &call);
    compare_lists(result, &lists);
    ferry_free(result);
    ferry_error error;
    FERRY_INIT(error);
    FERRY_INIT(call);
    call.token_scores = 1;
    result = ferry_score(model, source.line, NULL, target.line, NULL, source.n, &call, &error);
    EXPECT(result, "%s", error.text);
    compare_scores(result, &scores);
    ferry_free(result);
    compare_tokens(model, &source);
    ferry_close(model);
    lines_end(&source);
    lines_end(&lists);
    lines_end(&target);
    lines_end(&scores);
    return 0;
}
