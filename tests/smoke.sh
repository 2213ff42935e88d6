#!/bin/sh
# The short life of a tiny model on a little of the toy corpus: trained, resumed, asked to translate and evaluated. It learns
# nothing worth having; what counts is that every part runs (under the sanitizers, too: make sanitize).
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(dirname "$0")/../data/toy
configs=$(dirname "$0")/../configs

if ! "$FERRY" help train >/dev/null 2>&1 || [ ! -e "$toy/train.en.gz" ]; then
    skip "a tiny model" "this build can't train, or there is no toy corpus"
    finish
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for side in en fr; do
    gzip -dc "$toy/train.$side.gz" | head -n 400 >"$work/train.$side"
    gzip -dc "$toy/valid.$side.gz" | head -n 10 >"$work/valid.$side"
done

# quietly COMMAND...: its output is shown only if it fails
quietly() {
    "$@" >"$work/out" 2>"$work/err" && return
    cat "$work/out" "$work/err"
    return 1
}

train() {
    quietly "$FERRY" train "$configs/toy.ini" --run "$work/run" \
        --train-source "$work/train.en" --train-target "$work/train.fr" \
        --valid-source "$work/valid.en" --valid-target "$work/valid.fr" --vocab-size 400 --d-model 16 --d-ff 32 --heads 2 \
        --encoder-layers 1 --decoder-layers 1 --batch-tokens 500 --warmup 2 --validate-every 3 --checkpoint-every 2 \
        --report-every 1 "$@"
}

check "training, four steps" train --max-steps 4
check "training goes on, to six" train --max-steps 6
check "a step a row in log.tsv" test "$(cut -f1 "$work/run/log.tsv" | tr '\n' ' ')" = "step 1 2 3 4 5 6 "
printf 'A cat.\n\nA dog sleeps' >"$work/three"
check "translation of three lines, one of them empty" quietly "$FERRY" translate -m "$work/run" "$work/three"
check "three lines come out" test "$(wc -l <"$work/out")" = 3
check "the empty one is empty" test -z "$(sed -n 2p "$work/out")"
check "evaluation" quietly "$FERRY" evaluate -m "$work/run" "$work/valid.en" "$work/valid.fr"
check "a header and a row" test "$(wc -l <"$work/out")" = 2

finish
