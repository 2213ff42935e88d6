#!/bin/sh
# make multi30k DATA=folder: the whole of it, on DATA/train alone. A small corpus is known by heart before its language is
# learned, so the model sees more than the corpus:
#   1. A model learns to translate from English to French, another one from French to English.
#   2. They translate the training text. Each translation is paired with the human sentence that it was made from (data
#      diversification: Nguyen et al. 2020); the English is translated twice: the best, and drawn at random.
#   3. A third model learns both directions (bidirectional training: Ding et al. 2021).
#   4. From its weights training goes on with all these pairs, English to French.
#   5. Of the mean of the last checkpoints and the best one, that which is better on DATA/val translates the test sets.
# What was interrupted goes on: run it again. DATA holds the files of Multi30k's task 1, raw and gzipped: train.en.gz,
# train.fr.gz, val.*.gz, test_2016_flickr.*.gz, and more test sets if you like.
#   RUN     the run folder (runs/multi30k); translations go there, too, as test_2016_flickr.fr. Beside it
#           are RUN-forward, RUN-backward and RUN-both; the first two keep the text that they made.
#   STEPS   train so many steps only, each time, with 20 checkpoints, for a trial
#   LAST    how many checkpoints are averaged (10)
#   FLAGS   more flags for ferry train
#   DECODE  flags for ferry translate and evaluate, in step 5 (--beam 5)
set -eu
: "${DATA:?the folder of the corpus: make multi30k DATA=folder}"
cd "$(dirname "$0")/.."
run=${RUN:-runs/multi30k}
ferry=${FERRY:-./ferry}
forward=$run-forward
backward=$run-backward
both=$run-both
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

# escaped NAME: as lists of names have it, separated by blanks
escaped() { printf '%s' "$1" | sed 's/ /\\ /g'; }
data=$(escaped "$DATA")

# train_to LANGUAGE RUN SOURCES TARGETS STEPS WARMUP FLAGS..: as the configuration says, but for this
train_to() {
    case $1 in
    fr) valid=en ;;
    en) valid=fr ;;
    esac
    target=$1 folder=$2 sources=$3 targets=$4 steps=${STEPS:-$5} warmup=$6
    shift 6
    if [ -n "${STEPS:-}" ]; then
        warmup=$((steps / 7))
        set -- "$@" --checkpoint-every $(((steps + 19) / 20)) --validate-every "$steps"
    fi
    # shellcheck disable=SC2086 # FLAGS: words
    "$ferry" train configs/multi30k.ini --run "$folder" --train-source "$sources" --train-target "$targets" \
        --valid-source "$data/val.$valid.gz" --valid-target "$data/val.$target.gz" \
        --max-steps "$steps" --decay-steps "$steps" --warmup "$warmup" "$@" ${FLAGS:-}
}

# made FILE FROM..: it is there, and newer than what it is made from
made() {
    file=$1
    shift
    [ -e "$file" ] && [ -z "$(find -L "$@" -newer "$file")" ]
}

# make_text FILE MODEL SOURCE FLAGS..: what the model makes of the source, unless that is there already
make_text() {
    file=$1 model=$2 source=$3
    shift 3
    made "$file" "$model" "$source" && return
    echo "translating $source to $file" >&2
    "$ferry" translate -m "$model" "$@" "$source" >"$file.part"
    mv "$file.part" "$file"
}

# evaluate MODEL SET NAME: its row, under this name
evaluate() {
    # shellcheck disable=SC2086
    table=$("$ferry" evaluate -m "$1" "$DATA/$2.en.gz" "$DATA/$2.fr.gz" $decode)
    printf '%s\n' "$table" | sed -n "2s/^[^	]*/$3/p"
}

en=$data/train.en.gz
fr=$data/train.fr.gz
french=$forward/train.fr.beam
english=$backward/train.en

echo "1. each direction: $forward, $backward" >&2
train_to fr "$forward" "$en" "$fr" 4000 1000 --keep 1
train_to en "$backward" "$fr" "$en" 4000 1000 --keep 1

echo "2. more text" >&2
make_text "$french" "$forward/last" "$DATA/train.en.gz" --beam 5
make_text "$english.beam" "$backward/last" "$DATA/train.fr.gz" --beam 5
make_text "$english.drawn" "$backward/last" "$DATA/train.fr.gz" --sample yes --top-k 10

echo "3. both directions: $both" >&2
train_to fr "$both" "$en $fr" "$fr $en" 5000 1000 --keep 1

echo "4. the model: $run" >&2
from_french=$(escaped "$english")
train_to fr "$run" "$en $en $from_french.beam $from_french.drawn" "$fr $(escaped "$french") $fr $fr" 6000 500 \
    --init-from "$both/last" --learning-rate 0.003 --dropout 0.2 --keep "$last"

echo "5. scores" >&2
"$ferry" average -m "$run" --last "$last"
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
    "$ferry" translate -m "$model" $decode "$source" >"$run/$name.fr"
    evaluate "$model" "$name" "$name"
done)
echo "the tests are translated with $model"
printf '%s\n' "$header" "$best" "$mean" "$rows"
