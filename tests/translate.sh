#!/bin/sh
# Translating and scoring from outside, with tiny models that have learned next to nothing: lists of the best, alignments,
# sampling, prefixes, tokenized text, ensembles, scores; what is refused; answers line by line.
# shellcheck disable=SC2317,SC2016 # the functions are called through check; awk sees the dollars
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(dirname "$0")/../data/toy
configs=$(dirname "$0")/../configs

if ! "$FERRY" help train >/dev/null 2>&1 || [ ! -e "$toy/train.en.gz" ]; then
    skip "translating" "this build can't train, or there is no toy corpus"
    finish
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for side in en fr; do
    gzip -dc "$toy/train.$side.gz" | head -n 1500 >"$work/train.$side"
    gzip -dc "$toy/test.$side.gz" | head -n 30 | sed '4s/.*//; 9s/.*/ \t/' >"$work/test.$side"
done

# train NAME ARGUMENT...: a run, $work/NAME
train() {
    run=$1
    shift
    "$FERRY" train "$configs/toy.ini" --run "$work/$run" --train-source "$work/train.en" --train-target "$work/train.fr" \
        --set data.valid_source= --set data.valid_target= --vocab-size 600 --d-model 32 --d-ff 64 --heads 2 \
        --encoder-layers 1 --decoder-layers 2 --batch-tokens 500 --warmup 30 --learning-rate 0.01 --max-steps 200 "$@" \
        >"$work/out" 2>&1 && return
    cat "$work/out"
    return 1
}

# into FILE ARGUMENT...: what ferry prints, which must end well
into() {
    file=$1
    shift
    "$FERRY" "$@" >"$work/$file" 2>"$work/err" && return
    cat "$work/err"
    return 1
}

# refused CODE MESSAGE ARGUMENT...: this exit code, nothing on stdout, a message that has this pattern
refused() {
    code=$1
    message=$2
    shift 2
    "$FERRY" "$@" </dev/null >"$work/out" 2>"$work/err"
    [ $? = "$code" ] && [ ! -s "$work/out" ] && grep -q -e "$message" "$work/err" && return
    cat "$work/out" "$work/err"
    return 1
}

same() { cmp "$work/$1" "$work/$2"; }
differ() { ! cmp -s "$work/$1" "$work/$2"; }
lines() { test "$(wc -l <"$work/$1")" = "$2"; }

check "a run" train one
check "another one with its vocabulary" train two --seed 2
check "a third with another vocabulary" train three --vocab-size 300 --max-steps 2
m="-m $work/one"

# shellcheck disable=SC2086 # $m is two words
{
    check "greedy search" into greedy translate $m "$work/test.en"
    check "as many lines out as in" lines greedy 30
    check "blank lines stay empty" test -z "$(sed -n '4p;9p' "$work/greedy")"
    check "a beam of 1" into beam1 translate $m --beam 1 "$work/test.en"
    check "is greedy search" same greedy beam1
    check "a beam of 6" into beam6 translate $m --beam 6 "$work/test.en"
    check "finds something else" differ greedy beam6

    check "translations that are there already" into rows evaluate --hypothesis "$work/greedy" "$work/test.fr"
    check "and those that a model makes" into again evaluate $m "$work/test.en" "$work/test.fr"
    check "score the same" test "$(sed 1d "$work/rows" | cut -f 2-)" = "$(sed 1d "$work/again" | cut -f 2-)"
    check "and say how" grep -q '^BLEU|nrefs:1|' "$work/err"

    check "lists" into lists translate $m --beam 6 --n-best 4 "$work/test.en"
    # number ||| text ||| LogProb= x Length= n ||| score: numbers from 0 without a gap, scores that fall, no text twice
    check "lists are sorted, without duplicates, 1 to 4 long" awk -F ' [|][|][|] ' '
        NF != 4 || $3 !~ /^LogProb= -?[0-9.e-]+ Length= [0-9]+$/ || $1 < last || $1 > last + 1 { bad = 1 }
        $1 == last && NR > 1 { n++; if ($4 + 0 > score) bad = 1 }
        $1 != last || NR == 1 { if ($1 != last && n < 4) short++; n = 1 }
        seen[$1 "," $2]++ || n > 4 { bad = 1 }
        { last = $1; score = $4 + 0 }
        END { exit bad || last != 29 }' last=0 "$work/lists"
    awk -F ' [|][|][|] ' '$1 != last || NR == 1 { print $2 } { last = $1 }' "$work/lists" >"$work/firsts"
    check "the first of each list is the best one" same firsts beam6
    check "lists, a line at a time" into again translate $m --beam 6 --n-best 4 --batch-tokens 1 "$work/test.en"
    check "are the same, scores and all" same lists again
    check "lists, from a pipe, on one thread" into again translate $m --beam 6 --n-best 4 --threads 1 --batch-tokens 300 - \
        <"$work/test.en"
    check "are the same, too" same lists again
    check "other length norms" into gnmt translate $m --beam 6 --n-best 4 --length-norm gnmt "$work/test.en"
    check "give other scores" differ lists gnmt
    check "more than the beam holds" refused 2 "^ferry: --n-best 7: a beam of 6 .* --beam 7" translate $m --beam 6 \
        --n-best 7 "$work/test.en"
    check "more than greedy search finds" refused 2 "^ferry: --n-best 2: a beam of 1" translate $m --n-best 2 "$work/test.en"
    check "no number of translations" refused 2 "^ferry: --n-best '0': expected" translate $m --n-best 0 "$work/test.en"
    check "a number in short" refused 2 "^ferry: --n-best '1k': expected a whole number, at least 1; write 1000$" translate $m \
        --n-best 1k "$work/test.en"
    check "a list of samples" refused 2 "sample" translate $m --n-best 1 --sample yes "$work/test.en"

    check "tokens" into tokens tokenize $m "$work/test.en"
    check "tokenized input" into again translate $m --tokenized-input "$work/tokens"
    check "is translated as text is" same greedy again
    check "tokenized output" into pieces translate $m --tokenized-output "$work/test.en"
    check "makes the text" into again detokenize $m "$work/pieces"
    check "that translate prints" same greedy again
    printf '%s\n%s\n' "$(head -n 1 "$work/tokens")" 'no such token' >"$work/bad"
    "$FERRY" translate $m --tokenized-input "$work/bad" >"$work/out" 2>"$work/err"
    check "a token that is none: exit code 1" test $? = 1
    check "the message names the line" grep -q "bad, line 2: 'no' is not a token" "$work/err"
    check "what came before it is translated" test "$(cat "$work/out")" = "$(head -n 1 "$work/greedy")"
    echo '</s>' >"$work/bad"
    check "the end of a sentence is no text" refused 1 "bad, line 1: .*</s>" translate $m --tokenized-input "$work/bad"

    # What the search counted is what scoring says, for tokens (text may be cut into others).
    check "lists of tokens" into lists translate $m --beam 6 --n-best 4 --tokenized-output "$work/test.en"
    awk -F ' [|][|][|] ' 'NR == FNR { line[FNR - 1] = $0; next } $2 != "" { print line[$1] }' "$work/tokens" "$work/lists" \
        >"$work/score.source"
    awk -F ' [|][|][|] ' '$2 != "" { print $2 }' "$work/lists" >"$work/score.target"
    awk -F ' [|][|][|] ' '$2 != "" { print $3 }' "$work/lists" | cut -d ' ' -f 2 >"$work/counted"
    check "scores" into scores score $m --tokenized-input "$work/score.source" "$work/score.target"
    check "are what the search counted" same counted scores
    check "perplexity" grep -q '^perplexity [0-9.]*: [0-9]* sentences, [0-9]* tokens' "$work/err"
    check "scores by token" into by_token score $m --token-scores "$work/test.en" "$work/test.fr"
    head -n 1 "$work/test.en" >"$work/one.en"
    head -n 1 "$work/test.fr" >"$work/one.fr"
    check "one score" into scores score $m "$work/one.en" "$work/one.fr"
    check "is of one sentence" grep -q ': 1 sentence, ' "$work/err"
    check "scores of text" into scores score $m --batch-tokens 1 "$work/test.en" "$work/test.fr"
    cut -f 1 "$work/by_token" >"$work/again"
    check "are the same" same scores again
    check "each token has one, and they add up" awk -F '\t' '
        { n = split($2, token, " "); if (split($3, score, " ") != n || token[n] != "</s>") bad = 1
          sum = 0; for (i = 1; i <= n; i++) sum += score[i]
          if (sum - $1 > 1e-6 || $1 - sum > 1e-6) bad = 1 }
        END { exit bad || NR != 30 }' "$work/by_token"
    head -n 20 "$work/test.fr" >"$work/short"
    "$FERRY" score $m "$work/test.en" "$work/short" >"$work/out" 2>"$work/err"
    check "too few translations: exit code 1" test $? = 1
    check "the message names the file and the line" grep -q "short ends after line 20, before .*test.en does" "$work/err"

    check "a draw" into sample1 translate $m --sample yes "$work/test.en"
    check "a draw, a line at a time" into again translate $m --sample yes --batch-tokens 1 --threads 1 "$work/test.en"
    check "is the same" same sample1 again
    check "another seed" into again translate $m --sample yes --seed 2 "$work/test.en"
    check "draws something else" differ sample1 again
    check "a draw from one token" into again translate $m --sample yes --top-k 1 "$work/test.en"
    check "is greedy search" same greedy again

    awk '{ print NR % 3 ? "Le" : "" }' "$work/test.en" >"$work/prefix"
    check "prefixes" into prefixed translate $m --beam 2 --prefix "$work/prefix" "$work/test.en"
    check "are how translations begin" awk 'NR % 3 && NR != 4 && substr($0, 1, 2) != "Le" { exit 1 }' "$work/prefixed"
    paste "$work/test.en" "$work/prefix" | sed '9s/.*//' >"$work/column"
    check "prefixes in a column" into again translate $m --beam 2 --prefix-column "$work/column"
    check "are the same" same prefixed again
    head -n 5 "$work/prefix" >"$work/short"
    "$FERRY" translate $m --prefix "$work/short" "$work/test.en" >"$work/out" 2>"$work/err"
    check "too few prefixes: exit code 1" test $? = 1
    check "the message names the file and the line" grep -q "short ends after line 5, before .*test.en" "$work/err"
    check "prefixes in two places" refused 2 "give one of them" translate $m --prefix "$work/prefix" --prefix-column
    check "two things from standard input" refused 2 "standard input" translate $m --prefix -

    check "hard alignments" into hard translate $m --tokenized-output --alignment hard "$work/test.en"
    check "name a source token for each target token" awk -F ' [|][|][|] ' '
        NR == FNR { n_source[FNR] = split($0, word, " "); next }
        { n = split($1, word, " "); if (NF != 2 || split($2, pair, " ") != n) bad = 1
          for (j = 1; j <= n; j++) { split(pair[j], ij, "-"); if (ij[2] != j - 1 || ij[1] >= n_source[FNR]) bad = 1 } }
        END { exit bad }' "$work/tokens" "$work/hard"
    check "soft alignments" into soft translate $m --tokenized-output --alignment soft "$work/test.en"
    check "are weights that add up" awk -F ' [|][|][|] ' '
        NR == FNR { n_source[FNR] = split($0, word, " "); next }
        { n = split($1, word, " "); if (split($2, row, " ") != n) bad = 1
          for (j = 1; j <= n; j++) { sum = 0; if (split(row[j], w, ",") != n_source[FNR] + 1) bad = 1
            for (i in w) sum += w[i]; if (sum < 0.99 || sum > 1.01) bad = 1 } }
        END { exit bad }' "$work/tokens" "$work/soft"
    check "coverage" into coverage translate $m --beam 3 --n-best 2 --alignment coverage "$work/test.en"
    check "has a number for each source token" awk -F ' [|][|][|] ' '
        NR == FNR { n_source[FNR - 1] = split($0, word, " "); next }
        NF != 5 || split($5, w, " ") != ($2 == "" && n_source[$1] == 0 ? 0 : n_source[$1]) { exit 1 }' \
        "$work/tokens" "$work/coverage"
    check "an alignment that is none" refused 2 "^ferry: --alignment 'x': expected hard, soft or coverage" translate $m \
        --alignment x "$work/test.en"

    check "an ensemble" into pair translate $m -m "$work/two" --beam 3 "$work/test.en"
    check "the same the other way round" into again translate -m "$work/two" $m --beam 3 "$work/test.en"
    check "translates alike" same pair again
    check "one model alone" into again translate $m --beam 3 "$work/test.en"
    check "translates otherwise" differ pair again
    check "a pair scores" into scores score $m -m "$work/two" "$work/test.en" "$work/test.fr"
    check "a pair is evaluated" into out evaluate $m -m "$work/two" --beam 3 "$work/test.en" "$work/test.fr"
    check "other vocabularies" refused 2 "different vocabularies" translate $m -m "$work/three" "$work/test.en"
    check "two models where one is meant" refused 2 "takes one model" info $m -m "$work/two"

    # A line that comes through a pipe is answered while the pipe stays open.
    mkfifo "$work/in" "$work/answers"
    "$FERRY" translate $m --line-buffered <"$work/in" >"$work/answers" &
    ferry=$!
    exec 3>"$work/in" 4<"$work/answers"
    head -n 1 "$work/test.en" >&3
    timeout 60 head -n 1 <&4 >"$work/answer"
    check "an answer before the end" test "$(cat "$work/answer")" = "$(head -n 1 "$work/greedy")"
    exec 3>&- 4<&-
    wait "$ferry"
}

finish
