#!/bin/sh
# Corpora of several files, with weights, from standard input, tokenized by others; the store of tokens; test sets by name.
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(cd "$(dirname "$0")/../data/toy" && pwd)
configs=$(dirname "$0")/../configs
tab=$(printf '\t')

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/a folder"
for side in en fr; do
    gzip -dc "$toy/train.$side.gz" >"$work/all.$side"
    head -n 200 "$work/all.$side" >"$work/one.$side"
    sed -n 201,300p "$work/all.$side" | gzip >"$work/a folder/two.$side.gz"
    gzip -dc "$toy/valid.$side.gz" | head -n 5 >"$work/valid.$side"
    awk 'BEGIN { for (i = 0; i < 300; i++) printf "long "; print "" }' >>"$work/valid.$side"
done
sed -n 301,400p "$work/all.fr" >"$work/three.fr"
sed -n 301,400p "$work/all.en" | paste - "$work/three.fr" >"$work/pairs"

# train CODE RUN [FLAG]...: a tiny model without a text of its own; messages in $work/err
train() {
    code=$1
    folder=$work/$2
    shift 2
    timeout -s KILL 300 "$FERRY" train "$configs/toy.ini" --run "$folder" --train-source '' --train-target '' --tests '' \
        --valid-source "$work/valid.en" --valid-target "$work/valid.fr" --vocab-size 300 --d-model 8 --d-ff 8 --heads 1 \
        --encoder-layers 1 --decoder-layers 1 --batch-tokens 300 --warmup 4 --validate-every 100 --checkpoint-every 3 \
        --report-every 1 --max-extra 2 --max-ratio 1 "$@" 2>"$work/err"
    got=$?
    [ "$got" = "$code" ] && return
    echo "exit code $got, not $code"
    cat "$work/err"
    return 1
}
says() { grep -q -e "$1" "$work/err" || { cat "$work/err"; return 1; }; }
same() { cmp "$work/$1/last" "$work/$2/last"; }
number() { stat -c %i "$work/$1/train.tokens"; }

# ---- several corpora ----

cd "$work" || exit 1
FERRY=$(cd "$OLDPWD" && realpath "$FERRY")
configs=$(cd "$OLDPWD" && realpath "$configs")
# many CODE RUN [FLAG]...: train on three corpora
many() {
    code=$1
    run=$2
    shift 2
    train "$code" "$run" --train-source "one.en a\ folder/two.en.gz" --train-target "$work/one.fr $work/a\ folder/two.fr.gz" \
        --train-pairs pairs --train-weight '1 0.25 2' --max-length 40 --length-ratio 1.5 --max-steps 40 "$@"
}
check "three corpora, plain, gzipped, and with tabs" many 0 many
check "it says what they are" says '^  a folder/two.en.gz -> .*/a folder/two.fr.gz (weight 0.25): [0-9]* pairs'
check "and what was left out, by filter" says '^training: [0-9]* pairs.*skipped [0-9]* of 400 lines: [0-9]* longer than data.max_length, [0-9]* beyond data.length_ratio'
pairs() { sed -n "s/^ *$1[^:]*: \([0-9]*\) pairs.*/\1/p" "$work/err"; }
sum=$(($(pairs one.en) + $(pairs 'a folder') + $(pairs pairs)))
check "the counts add up" test "$(pairs training)" = "$sum"
pieces() {
    for step in 1 7 8 23 40; do many 0 pieces --max-steps "$step" --threads $((step % 2 + 1)) || return 1; done
}
check "in five pieces" pieces
check "the same bytes" same many pieces
stopped() {
    many 0 stored --max-steps 20 && rm "$work/stored/train.index" && many 0 stored --max-steps 30 &&
        printf x | dd of="$work/stored/train.tokens" bs=1 seek=999 conv=notrunc 2>/dev/null && many 0 stored
}
check "with a store that is lost, then damaged" stopped
check "which is told" says 'train.tokens or train.index is damaged; the text is tokenized again'
check "the same bytes again" same many stored
check "other weights are another run" train 2 many --train-source one.en --train-target one.fr --train-weight 2 --max-length 40 \
    --length-ratio 1.5 --max-steps 41
check "which says so" says 'data.train_weight: 1 0.25 2, now 2'

before=$(number many)
check "more steps" many 0 many --max-steps 41
check "with the same store" test "$(number many)" = "$before"
cp one.en saved.en
sed 's/s/t/' saved.en >one.en
check "another text" many 1 many --max-steps 42
check "is refused" says 'the training text is not the one'
cp saved.en one.en
check "the old text, written anew, goes on" many 0 many --max-steps 42

# ---- standard input ----

check "pairs from standard input" train 0 stdin --train-pairs - --max-steps 3 <pairs
check "the validation's long line is left out of its loss, and told" says '^validation: 5 pairs.*skipped for its loss 1 of 6 lines: 1 longer'
check "are those of the file" train 0 file --train-pairs pairs --max-steps 3
check "to the byte" same stdin file
check "resuming needs no input" train 0 stdin --train-pairs - --max-steps 4 </dev/null
check "pairs without a tab" train 1 no-tab --train-pairs one.en
check "are refused, with the line" says 'one.en, line 1: there is no tab'

# ---- mistakes, told before anything is written ----

mistake() { # MESSAGE FLAG...
    message=$1
    shift
    train 2 mistake "$@" && says "$message" && ! [ -e "$work/mistake" ]
}
check "too few weights" mistake 'has 1 number, not 2' --train-pairs 'pairs pairs' --train-weight 1
check "a weight that is no number" mistake "'x': expected a number" --train-pairs pairs --train-weight x
check "no weight at all" mistake 'all weights are 0' --train-pairs pairs --train-weight 0
check "standard input twice" mistake 'twice' --train-pairs '- -'
check "a set without a reference" mistake 'expected NAME=SOURCE,REFERENCE' --train-pairs pairs --tests test=a
check "a symbol that can't be one" mistake "'<s>' can't be a symbol" --train-pairs pairs --symbols '<2fr> <s>'
check "two sources, one target" mistake '2 source files but 1 target file:' --train-source 'one.en one.en' --train-target one.fr
check "nothing to train on" mistake 'data.train_source is not set' --train-pairs ''

# ---- symbols, and text that is tokenized ----

sed 's/^/<2fr> /' pairs >tagged
check "symbols" train 0 symbols --train-pairs tagged --symbols '<2fr>' --max-steps 1
tokens=$(head -n 1 tagged | "$FERRY" tokenize -m symbols)
check "are one token" test "${tokens%%>*}" = '▁<2fr'
tr ' ' '\n' <all.en | head -n 400 | sed 's/./& /g' | head -n 100 >letters.en
check "tokenized text" train 0 tokenized --train-source letters.en --train-target letters.en --tokenized yes --max-steps 1
check "keeps its tokens" test "$(echo 'w o r d' | "$FERRY" tokenize -m tokenized)" = '▁w ▁o ▁r ▁d'

# ---- sets by name ----

# table RUN [FLAG]...: the first two columns of what evaluate prints
table() {
    "$FERRY" evaluate -m "$@" 2>"$work/err" | cut -f1,2 | tr '\t\n' '  '
}
check "a run with two sets" train 0 sets --train-pairs pairs --max-steps 1 \
    --tests "small=valid.en,valid.fr other\ name=$toy/test.en.gz,$toy/test.fr.gz"
check "evaluate scores them all" test "$(table sets)" = 'set sentences validation 6 small 6 other name 500 '
check "in five columns" test "$("$FERRY" evaluate -m sets 2>/dev/null | head -n 2 | tail -n 1 | tr -cd "$tab" | wc -c)" = 4
check "sets of the command line" test "$(table sets --tests x=valid.fr,valid.en)" = 'set sentences validation 6 x 6 '
check "a set alone" test "$(table sets --valid-source '' --tests x=valid.fr,valid.en)" = 'set sentences x 6 '
check "two files" test "$(table sets valid.en valid.fr)" = 'set sentences valid.en 6 '
check "from another folder, a relative path is not found" \
    test "$(cd / && table "$work/sets")" = ''
check "which is told, with the set and the rule" says "validation set.*relative paths start\|'small'.*relative paths start"
check "a run without sets" test "$(table sets --valid-source '' --valid-target '' --tests '')" = ''
check "says so" says 'neither a validation set nor data.tests'

finish
