#!/bin/sh
# Weights that come from others: means of checkpoints, moving averages, another run's weights to begin with; and that the
# translations which a validation saves are those of `ferry translate`. tests/test_average.c knows the numbers.
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(dirname "$0")/../data/toy
configs=$(dirname "$0")/../configs

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for side in en fr; do
    gzip -dc "$toy/train.$side.gz" | head -n 200 >"$work/train.$side"
    gzip -dc "$toy/train.$side.gz" | tail -n 200 >"$work/other.$side"
    gzip -dc "$toy/valid.$side.gz" | head -n 20 >"$work/valid.$side"
done

# ferry CODE ARGUMENT...: ends with this exit code; its output stays in $work/out and $work/err
ferry() {
    code=$1
    shift
    "$FERRY" "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ "$got" = "$code" ] && return
    echo "ferry $*: exit code $got, not $code"
    cat "$work/err"
    return 1
}
# train CODE RUN [FLAG]...
train() {
    expected=$1
    folder=$work/$2
    shift 2
    ferry "$expected" train "$configs/toy.ini" --run "$folder" \
        --train-source "$work/train.en" --train-target "$work/train.fr" \
        --valid-source "$work/valid.en" --valid-target "$work/valid.fr" --vocab-size 400 --d-model 32 --d-ff 64 --heads 2 \
        --encoder-layers 1 --decoder-layers 1 --batch-tokens 600 --warmup 10 --dropout 0 --learning-rate 0.02 \
        --validate-every 30 --checkpoint-every 10 --report-every 10 --keep 4 --max-extra 5 "$@"
}
says() { grep -q -e "$1" "$work/err" || { cat "$work/err"; return 1; }; }
# weights FILE [GROUP]: the checksum of its parameters; lines OUT: of a translation
weights() { head -c 200000 "$work/$1" | grep -ao "\"crc32.${2:-parameters}\":\"[^ ]*" | grep -o '[^"]*$'; }
differ() { [ -n "$1" ] && [ -n "$2" ] && [ "$1" != "$2" ]; }
translate() { ferry 0 translate -m "$work/$1" "$work/valid.en" --max-extra 5; }
# bleu MODEL: evaluated on the validation set; bleu_of RUN STEP: in the log
bleu() { ferry 0 evaluate -m "$work/$1" && cut -f3 "$work/out" | sed -n 2p; }
bleu_of() { awk -v step="$2" '$1 == step { printf "%.2f\n", $7 }' FS='\t' "$work/$1/log.tsv"; }

# ---- averaging ----

check "a run" train 0 run --max-steps 60 --save-translations yes
check "the mean of its checkpoints" ferry 0 average -m "$work/run"
check "is said to be that" says '^  .*run/checkpoint-00000030.safetensors$'
check "and says so itself" ferry 0 info -m "$work/run/average.safetensors"
check "by their names" grep -qx "mean of	checkpoint-00000030.safetensors checkpoint-00000040.safetensors \
checkpoint-00000050.safetensors checkpoint-00000060.safetensors" "$work/out"
check "it translates" translate run/average.safetensors
check "as many lines as there are" test "$(wc -l <"$work/out")" = 20
check "it is scored" test -n "$(bleu run/average.safetensors)"
check "its weights are new" differ "$(weights run/average.safetensors)" "$(weights run/last)"
cp "$work/run/checkpoint-00000030.safetensors" "$work/run/checkpoint-00000010.safetensors" # a best one, say
cp "$work/run/average.safetensors" "$work/before"
ferry 0 average -m "$work/run"
check "without an older one than train.keep asks for" cmp "$work/run/average.safetensors" "$work/before"
rm "$work/run/checkpoint-00000010.safetensors"
check "the mean of the newest" ferry 0 average -m "$work/run" --last 1 -o "$work/run/one.safetensors"
check "is the newest itself" test "$(weights run/one.safetensors)" = "$(weights run/last)"
check "the mean of two that are named" ferry 0 average -m "$work/run" checkpoint-00000030.safetensors "$work/run/last" \
    -o "$work/run/two.safetensors"
check "is another" differ "$(weights run/two.safetensors)" "$(weights run/average.safetensors)"
mkdir "$work/folder"
check "the mean in another folder" ferry 0 average -m "$work/run" -o "$work/folder"
mv "$work/folder" "$work/moved"
check "which is moved" test "$(weights moved/average.safetensors)" = "$(weights run/average.safetensors)"
check "translates there, too" translate moved/average.safetensors
cp "$work/out" "$work/moved.out"
translate run/average.safetensors
check "the same" cmp "$work/out" "$work/moved.out"

check "an interrupted run" train 0 pieces --max-steps 33
check "goes on" train 0 pieces --max-steps 47
check "to its end" train 0 pieces --max-steps 60
ferry 0 average -m "$work/pieces"
check "and has the same mean" cmp "$work/run/average.safetensors" "$work/pieces/average.safetensors"

check "more than there are" ferry 1 average -m "$work/run" --last 5
check "says how many there are, and what to do" says 'run has 4 checkpoints .*--last asks for; train.keep says'
check "none at all" ferry 2 average -m "$work/run" --last 0
check "a number in short" ferry 2 average -m "$work/run" --last 1_0
check "says what to write" says "^ferry: --last '1_0': expected a whole number from 1 to 2147483647; write 10$"
check "in short, but out of range: no hint" ferry 2 average -m "$work/run" --last 10000M
check "says the range" says "^ferry: --last '10000M': expected a whole number from 1 to 2147483647$"
check "a name that training would take" ferry 2 average -m "$work/run" -o "$work/run/checkpoint-00000070.safetensors"
check "is refused" says "not begin with 'checkpoint-'"
check "a file that is no model" ferry 2 average -m "$work/run" config.ini
check "says what is one" says "config.ini is a file of a run, but not its model; the run folder is one"
check "no run" ferry 1 average -m "$work/train.en"
check "another model" train 0 wide --max-steps 10 --d-ff 32
check "has no mean with this one" ferry 1 average -m "$work/run" last "$work/wide/last" -o "$work/run/no.safetensors"
check "says what differs" says 'run/last and .*wide/last are different models'
check "by the option" says '^  model.d_ff: 64 and 32$'
check "another one of the same shape" train 0 heads --max-steps 10 --heads 4 --activation gelu
check "has no mean with this one" ferry 1 average -m "$work/run" last "$work/heads/last" -o "$work/run/no.safetensors"
check "says what differs, too" says '^  model.heads: 2 and 4$'
check "all of it" says '^  model.activation: relu and gelu$'
check "and writes nothing" test ! -e "$work/run/no.safetensors"
check "another vocabulary" train 0 vocabulary --max-steps 10 --vocab-size 390
check "has no mean with this one either" ferry 1 average -m "$work/run" last "$work/vocabulary/last"
check "says why" says 'vocabulary/last was not trained with the tokenizer of the run'
check "nor has it a place beside it" ferry 1 average -m "$work/run" -o "$work/vocabulary/mean.safetensors"
check "says so" says 'tokenizer.bpe is of another run'

# ---- translations of a validation ----

check "translations are saved" test "$(cd "$work/run" && echo valid-*)" = "valid-00000030.txt valid-00000060.txt"
translate run/last
check "as translate prints them" cmp "$work/out" "$work/run/valid-00000060.txt"
check "and they are something" test "$(wc -c <"$work/out")" -gt 20

# ---- moving average ----

check "a run with a moving average" train 0 ema --max-steps 60 --ema 0.9 --save-translations yes
check "validates with it" test "$(bleu ema/last)" = "$(bleu_of ema 60)"
translate ema/last
check "translates with it" cmp "$work/out" "$work/ema/valid-00000060.txt"
translate run/last && cp "$work/out" "$work/without"
ferry 0 translate -m "$work/ema/last" "$work/valid.en" --max-extra 5 --weights raw
check "--weights raw: with those of the same run without" cmp "$work/out" "$work/without"
check "which are others" sh -c "! cmp -s '$work/without' '$work/ema/valid-00000060.txt'"
check "info" ferry 0 info -m "$work/ema"
check "says which" grep -q '^weights	moving average, train.ema = 0.9$' "$work/out"
ferry 0 average -m "$work/ema" --last 1
check "the mean is of moving averages" test "$(weights ema/average.safetensors)" = "$(weights ema/last ema)"
ferry 0 average -m "$work/ema" --last 1 --weights raw
check "or of weights" test "$(weights ema/average.safetensors)" = "$(weights run/last)"
check "a run that validates with its weights" train 0 raw --max-steps 60 --ema 0.9 --weights raw
check "has the scores of the run without" test "$(cut -f6-9 "$work/raw/log.tsv")" = "$(cut -f6-9 "$work/run/log.tsv")"

# ---- beginning with another run's weights ----

new="--train-source $work/other.en --train-target $work/other.fr"
# shellcheck disable=SC2086 # flags
check "fine-tuning" train 0 tuned --init-from "$work/run" $new --max-steps 1 --learning-rate 0 --checkpoint-every 1 --ema 0.9
check "says where it begins" says 'beginning with the weights and the tokenizer of .*run/best'
check "its first weights are those" test "$(weights tuned/last)" = "$(weights run/best)"
check "so is their moving average" test "$(weights tuned/last ema)" = "$(weights run/best)"
check "with that tokenizer" cmp "$work/run/tokenizer.bpe" "$work/tuned/tokenizer.bpe"
# shellcheck disable=SC2086
check "it goes on" train 0 tuned --init-from nowhere $new --max-steps 20 --learning-rate 0 --ema 0.9
check "on its own" says 'going on from step 1'
check "from a checkpoint" train 0 mean --init-from "$work/run/average.safetensors" --max-steps 1 --learning-rate 0
check "its weights are those of the mean" test "$(weights mean/last)" = "$(weights run/average.safetensors)"
# shellcheck disable=SC2086
check "it learns" train 0 learns --init-from "$work/run" $new --max-steps 3 --learning-rate 0.001 --warmup 0
check "something new" differ "$(weights learns/last)" "$(weights run/best)"
check "another model" train 2 no --init-from "$work/run" --d-model 16 --norm pre
check "says what differs" says 'model.d_model: 32, now 16'
check "all of it" says 'model.norm: post, now pre'
check "a run or checkpoint that isn't there" train 1 no --init-from "$work/nowhere"
check "says which option" says 'train.init_from: there is no model .*nowhere'

finish
