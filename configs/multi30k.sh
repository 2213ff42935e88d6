#!/bin/sh
# make multi30k DATA=folder: the whole of it. Trains configs/multi30k.ini on DATA/train, averages the last checkpoints, takes
# the mean or the best checkpoint, whichever is better on DATA/val, translates the test sets with it, and prints the scores.
# What was interrupted goes on: run it again. DATA holds the files of Multi30k's task 1, raw and gzipped: train.en.gz,
# train.fr.gz, val.*.gz, test_2016_flickr.*.gz, and more test sets if you like.
#   RUN     the run folder (runs/multi30k); translations go there, too, as test_2016_flickr.fr
#   STEPS   train so many steps only, with 20 checkpoints, for a trial
#   LAST    how many checkpoints are averaged (10)
#   FLAGS   more flags for ferry train
#   DECODE  flags for ferry translate and evaluate (--beam 5)
set -eu
: "${DATA:?the folder of the corpus: make multi30k DATA=folder}"
cd "$(dirname "$0")/.."
run=${RUN:-runs/multi30k}
last=${LAST:-10}
decode=${DECODE:---beam 5}
header="set	sentences	bleu	chrf	exact"

for name in train val test_2016_flickr; do
    for side in en fr; do
        [ -e "$DATA/$name.$side.gz" ] && continue
        echo "$DATA/$name.$side.gz is missing; DATA names the folder of Multi30k's files (task 1, raw)" >&2
        exit 1
    done
done

trial=
if [ -n "${STEPS:-}" ]; then
    every=$(((STEPS + 19) / 20))
    trial="--max-steps $STEPS --decay-steps $STEPS --warmup $((STEPS / 7)) --checkpoint-every $every --validate-every $STEPS"
fi
# shellcheck disable=SC2086 # words
./ferry train configs/multi30k.ini --run "$run" --train-source "$DATA/train.en.gz" --train-target "$DATA/train.fr.gz" \
    --valid-source "$DATA/val.en.gz" --valid-target "$DATA/val.fr.gz" --keep "$last" $trial ${FLAGS:-}
./ferry average -m "$run" --last "$last"

# evaluate MODEL SET NAME: its row, under this name
evaluate() {
    # shellcheck disable=SC2086
    table=$(./ferry evaluate -m "$1" "$DATA/$2.en.gz" "$DATA/$2.fr.gz" $decode)
    printf '%s\n' "$table" | sed -n "2s/^[^	]*/$3/p"
}
best=$(evaluate "$run" val "val, best checkpoint")
mean=$(evaluate "$run/average.safetensors" val "val, mean of $last")
model=$run
if printf '%s\n%s\n' "$best" "$mean" | awk -F '\t' '{ bleu[NR] = $3 } END { exit !(bleu[2] >= bleu[1]) }'; then
    model=$run/average.safetensors
fi
rows=$(for source in "$DATA"/test_*.en.gz; do
    name=$(basename "$source" .en.gz)
    [ -e "$DATA/$name.fr.gz" ] || continue
    # shellcheck disable=SC2086
    ./ferry translate -m "$model" $decode "$source" >"$run/$name.fr"
    evaluate "$model" "$name" "$name"
done)
echo "the tests are translated with $model"
printf '%s\n' "$header" "$best" "$mean" "$rows"
