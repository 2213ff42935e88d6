#!/bin/sh
# What may happen to training besides the plain case: bad input, damaged and missing files of a run, limits, signals at bad
# moments. That resuming is exact is shown by resume.sh.
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(dirname "$0")/../data/toy
configs=$(dirname "$0")/../configs

limit=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for side in en fr; do
    gzip -dc "$toy/train.$side.gz" | head -n 100 >"$work/train.$side"
    gzip -dc "$toy/valid.$side.gz" | head -n 4 >"$work/valid.$side"
done

# begin RUN [FLAG]...: becomes a process that trains a tiny model in the folder $work/RUN
begin() {
    folder=$work/$1
    shift
    # shellcheck disable=SC2086 # a command and its argument, or nothing
    exec $limit "$FERRY" train "$configs/toy.ini" --run "$folder" \
        --train-source "$work/train.en" --train-target "$work/train.fr" \
        --valid-source "$work/valid.en" --valid-target "$work/valid.fr" --vocab-size 300 --d-model 8 --d-ff 8 --heads 1 \
        --encoder-layers 1 --decoder-layers 1 --batch-tokens 300 --warmup 4 --validate-every 100 --checkpoint-every 2 \
        --report-every 1 --max-extra 2 --max-ratio 1 "$@"
}
# shellcheck source=tests/training.sh
. "$(dirname "$0")/training.sh"
# refused CODE MESSAGE FLAG...
refused() {
    message=$2
    code=$1
    shift 2
    train "$code" refused "$@" && says "$message"
}
damage() { printf 'x' | dd of="$1" bs=1 seek=9000 conv=notrunc 2>/dev/null; }
link_of() { readlink "$work/$1"; }
steps() { cut -f1 "$work/$1/log.tsv" | tr '\n' ' '; }

# ---- input that can't be trained on ----

check "a missing file: which option, and where paths start" \
    refused 1 'no-such-file.* data.train_source .* relative paths start' --train-source no-such-file
check "no file" refused 2 'data.train_target is not set' --train-target ''
check "standard input" refused 2 'more than once' --train-source -
mkfifo "$work/fifo"
check "a pipe" refused 2 'fifo: .*more than once' --valid-target "$work/fifo"
check "a folder" refused 1 'is a folder' --train-source "$work"
check "texts of different lengths" refused 1 'has 4 lines but .* has 100' --train-source "$work/valid.en"
gzip -c "$work/train.en" | head -c 500 >"$work/cut.gz"
check "a gzip file that is cut off" refused 1 'cut.gz: the gzip file is cut off' --train-source "$work/cut.gz"
check "no pair short enough" refused 1 'no pair is left of the 100 of .*: 100 with more than 1 token on a side (data.max_length)$' --max-length 1
: >"$work/empty"
check "an empty validation set" refused 1 '^ferry: the validation set: .*/empty is empty$' --valid-source "$work/empty" --valid-target "$work/empty"
printf '\n\n' >"$work/blank"
check "a blank one" refused 1 '^ferry: the validation set: no pair is left of the 2 of .*: 2 with a blank source$' \
    --valid-source "$work/blank" --valid-target "$work/blank"
check "an empty training text" refused 1 '^ferry: .*/empty.*: there is no text' --train-source "$work/empty" --train-target "$work/empty"
check "unequal validation files" refused 1 'the validation set: .*/valid.en has 4 lines, but .*/train.fr has 100;' --valid-target "$work/train.fr"
check "are found before training's text is read" sh -c "! grep -q '^training:' '$work/err'"
check "a test set that isn't there" refused 1 'none.fr can.t be read: .*data.tests names it' --tests "a=$work/valid.en,none.fr"
check "and a folder in one" refused 1 "is a folder; data.tests must name files" --tests "a=$work/valid.en,$work"
check "--run without a name" train 2 '../' --run ''
check "--run with the name of a file" train 2 train.en
check "says so" says 'is a file; --run names a folder'
check "more vocabulary than the text yields" train 0 vocabulary --max-steps 1 --vocab-size 100000
check "is told" says 'the text yields [0-9]* tokens, fewer than data.vocab_size = 100000'
check "a learning rate far too high" train 1 diverges --max-steps 90 --norm pre --learning-rate 1000 --warmup 0 --clip-norm 0 \
    --d-model 64 --encoder-layers 4
check "ends with the step and the way out" says 'step [0-9]*: the loss is .* lower train.learning_rate'

head -n 1 "$work/train.en" >"$work/one.en"
head -n 1 "$work/train.fr" >"$work/one.fr"
check "one of everything" train 0 one --train-source "$work/one.en" --train-target "$work/one.fr" --valid-source "$work/one.en" \
    --valid-target "$work/one.fr" --max-steps 1 --threads 1
check "is told in the singular" says '^training: 1 pair, '
check "also of validation" says '^validation: 1 pair, '
check "also of threads and heads" test "$(grep -c -e ', 1 thread;' -e ', 1 head,' "$work/err")" = 2
plurals() { sed 's/1 + 1 layers//' "$work/err" | grep -E '(^|[^0-9.])1 [a-z]+s( |,|;|:|$)'; }
no_plurals() { ! plurals; }
check "no plural of one" no_plurals
check "lines, too" refused 1 'one.en has 1 line but .*train.fr has 100' --train-source "$work/one.en"

# ---- files of the run ----

check "six steps" train 0 run --max-steps 6
rm "$work/run/last"
check "a lost link" train 0 run --max-steps 6
check "is made again" test "$(link_of run/last)" = checkpoint-00000006.safetensors
cp "$work/run/last" "$work/run/checkpoint-mine.safetensors"
cp "$work/run/last" "$work/run/checkpoint-00000001.copy.safetensors"
damage "$work/run/checkpoint-00000006.safetensors"
cp -R "$work/run" "$work/damaged"
check "the newest checkpoint is damaged" train 0 run --max-steps 5 --keep 1
check "a warning says so" says 'warning: .*00000006.*trying the checkpoint before it'
check "training went on from the one before" says 'going on from step 4'
check "the last is the new one" test "$(link_of run/last)" = checkpoint-00000005.safetensors
check "which is not taken for older than the damaged one" test -e "$work/run/checkpoint-00000005.safetensors"
check "files with other names stay" \
    test -e "$work/run/checkpoint-mine.safetensors" -a -e "$work/run/checkpoint-00000001.copy.safetensors"
check "rows after the checkpoint are written anew" test "$(steps run)" = "step 1 2 3 4 5 "
for file in "$work"/damaged/checkpoint-0000000?.safetensors; do damage "$file"; done
check "no checkpoint is sound" train 1 damaged --max-steps 7
check "says so" says 'none of the 3 checkpoints'
cp -R "$work/run" "$work/incomplete"
rm "$work/incomplete/tokenizer.bpe"
check "the tokenizer is missing" train 1 incomplete --max-steps 7
check "says so" says 'tokenizer.bpe is missing'
check "a run that ends before its first checkpoint" train 1 fresh --valid-source "$work/train.en"
check "has its own vocabulary the next time" train 0 fresh --vocab-size 280 --max-steps 1
check "which is the one asked for" says '280 tokens in the vocabulary'
cp -R "$work/run" "$work/moved run"
check "a run that was moved goes on" train 0 'moved run' --max-steps 6
"$FERRY" evaluate -m "$work/run" --valid-source no-such-file 2>"$work/err"
check "evaluation of a validation set that isn't there" says 'the validation set of this run .*no-such-file'

# ---- limits ----

check "a run of one second" train 0 minutes --max-steps 0 --minutes 0.005 --report-every 1000
check "is over the next time" train 0 minutes --max-steps 0 --minutes 0.005 --report-every 1000
check "says so" says 'is finished: step [0-9]* reached train.minutes'
# As after a signal that came between the last step and its row.
check "a run without a row for its last step" train 0 row --max-steps 3 --report-every 2
check "the row is made up for when it is due" train 0 row --max-steps 3 --report-every 3
check "and stands once" test "$(steps row)" = "step 2 3 "
check "then nothing is left to do" train 0 row --max-steps 3 --report-every 3
check "which is said" says 'is finished'
check "two epochs" train 0 epochs --max-steps 0 --max-epochs 2 --validate-every 0
check "validated at the end of each" test "$(cut -f6 "$work/epochs/log.tsv" | grep -c '^[0-9]')" = 2
check "patience" train 0 patience --max-steps 0 --validate-every 1 --patience 2 --learning-rate 0
check "ends after so many equal scores" test "$(steps patience)" = "step 1 2 3 "
check "of which the last is the best" test "$(link_of patience/best)" = checkpoint-00000003.safetensors

# ---- signals ----

# Wait until training ($child) has begun; its messages go to $work/err.
begun() { until grep -q 'run folder' "$work/err" || ! kill -0 "$child" 2>/dev/null; do sleep 0.01; done; }

: >"$work/err"
(begin busy --max-steps 1000000 --validate-every 0) 2>"$work/err" &
child=$!
begun
(begin busy --max-steps 1000000 --validate-every 0) 2>"$work/err2"
check "a second process in the same folder is refused" grep -q 'another process is training' "$work/err2"
kill "$child"
wait "$child"
check "SIGTERM: exit code 143" test $? = 143
check "what was done is saved" says 'stopped by a signal at step [0-9]*.*saved in'
check "the folder is free again" train 0 busy --max-steps 1

# Stopped in a long validation at the last step: the checkpoint is of before it. The next process makes up for it.
gzip -dc "$toy/train.en.gz" >"$work/long.en"
gzip -dc "$toy/train.fr.gz" >"$work/long.fr"
: >"$work/err"
(begin validation --max-steps 2 --validate-every 2 --valid-source "$work/long.en" --valid-target "$work/long.fr" --threads 1) \
    2>"$work/err" &
child=$!
begun
until [ -e "$work/validation/checkpoint-00000002.safetensors" ] || [ "$(steps validation)" = "step 1 " ] ||
    ! kill -0 "$child" 2>/dev/null; do sleep 0.01; done
sleep 0.1
kill "$child"
wait "$child"
check "SIGTERM during validation: exit code 143" test $? = 143
check "the validation was not finished" test "$(steps validation)" = "step 1 "
check "the next process" train 0 validation --max-steps 2 --validate-every 2
check "makes up for it" test "$(steps validation)" = "step 1 2 "
check "and its checkpoint is the best" test "$(link_of validation/best)" = checkpoint-00000002.safetensors
check "as if nothing had happened" train 0 straight --max-steps 2 --validate-every 2
check "byte for byte" cmp "$work/validation/last" "$work/straight/last"
untimed() { cut -f1-10 "$work/$1/log.tsv"; }
check "and row for row" sh -c "[ '$(untimed validation)' = '$(untimed straight)' ]"

# The reader of our messages is gone.
gone() {
    mkfifo "$work/messages"
    head -n 4 "$work/messages" >/dev/null &
    (begin pipe --max-steps 100 --validate-every 1) 2>"$work/messages"
}
check "messages into a closed pipe" gone
check "training goes on to its end" test "$(link_of pipe/last)" = checkpoint-00000100.safetensors

finish
