#!/bin/sh
# make multi30k DATA=folder: the whole of it, on DATA/train alone. A small corpus is known by heart before its language is
# learned, so the model sees more than the corpus:
#   1. One model learns both directions (bidirectional training: Ding et al. 2021).
#   2. It translates the training text both ways. Its translations are paired with the human sentences they were made from (data
#      diversification: Nguyen et al. 2020); the English ones also drawn at random, so that each draw has other sentences.
#   3. From its weights a teacher is trained on these pairs, English to French.
#   4. The teacher translates the human English and one of the drawn ones (distillation: Kim and Rush 2016).
#   5. From its weights training goes on with its French, the human French, and English that the teacher has not seen.
#   6. Of the mean of the last checkpoints and the best one, that which is better on DATA/val translates the test sets.
# What was interrupted goes on: run it again. DATA holds the files of Multi30k's task 1, raw and gzipped: train.en.gz,
# train.fr.gz, val.*.gz, test_2016_flickr.*.gz, and more test sets if you like.
#   RUN     the run folder (runs/multi30k); translations go there, too, as test_2016_flickr.fr. Step 1's is RUN-both, step 3's
#           RUN-teacher; each keeps the text that it made.
#   STEPS   train so many steps only, each time, with 20 checkpoints, for a trial
#   LAST    how many checkpoints are averaged (10)
#   FLAGS   more flags for ferry train
#   DECODE  flags for ferry translate and evaluate, in step 6 (--beam 5)
set -eu
: "${DATA:?the folder of the corpus: make multi30k DATA=folder}"
cd "$(dirname "$0")/.."
run=${RUN:-runs/multi30k}
ferry=${FERRY:-./ferry}
both=$run-both
teacher=$run-teacher
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

# train RUN SOURCES TARGETS STEPS WARMUP FLAGS..: from the configuration, but for this. Names are separated by blanks, those in
# a name written "\ ".
train() {
    to=$1 sources=$2 targets=$3 steps=${STEPS:-$4} warmup=$5
    shift 5
    if [ -n "${STEPS:-}" ]; then
        warmup=$((steps / 7))
        set -- "$@" --checkpoint-every $(((steps + 19) / 20)) --validate-every "$steps"
    fi
    # shellcheck disable=SC2086 # FLAGS: words
    "$ferry" train configs/multi30k.ini --run "$to" --train-source "$sources" --train-target "$targets" \
        --valid-source "$data/val.en.gz" --valid-target "$data/val.fr.gz" \
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

# escaped NAME: as lists of names have it
escaped() { printf '%s' "$1" | sed 's/ /\\ /g'; }
data=$(escaped "$DATA")
en=$data/train.en.gz
fr=$data/train.fr.gz
from_both=$(escaped "$both")
from_teacher=$(escaped "$teacher")

echo "1. both directions: $both" >&2
train "$both" "$en $fr" "$fr $en" 5000 1000 --keep 1

echo "2. text by $both" >&2
make_text "$both/train.fr.beam" "$both/last" "$DATA/train.en.gz" --beam 5
make_text "$both/train.en.beam" "$both/last" "$DATA/train.fr.gz" --beam 5
for draw in 1 2 3; do
    make_text "$both/train.en.$draw" "$both/last" "$DATA/train.fr.gz" --sample yes --top-k 10 --seed "$draw"
done

echo "3. a teacher: $teacher" >&2
train "$teacher" "$en $en $from_both/train.en.beam $from_both/train.en.1" "$fr $from_both/train.fr.beam $fr $fr" 6000 500 \
    --init-from "$both/last" --learning-rate 0.003 --dropout 0.2 --keep "$last"

echo "4. text by $teacher" >&2
mean=$teacher/average.safetensors
made "$mean" "$teacher/last" || "$ferry" average -m "$teacher" --last "$last"
make_text "$teacher/train.fr.beam" "$mean" "$DATA/train.en.gz" --beam 5
make_text "$teacher/train.fr.1" "$mean" "$both/train.en.1" --beam 5

echo "5. the model: $run" >&2
train "$run" \
    "$en $en $from_both/train.en.1 $from_both/train.en.beam $from_both/train.en.2 $from_both/train.en.3" \
    "$fr $from_teacher/train.fr.beam $from_teacher/train.fr.1 $fr $fr $fr" 8000 500 \
    --init-from "$mean" --learning-rate 0.003 --dropout 0.2 --keep "$last" --seed 2

echo "6. scores" >&2
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
