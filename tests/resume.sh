#!/bin/sh
# Training that was interrupted, at any moment and in any way, and went on, also with other numbers of threads, ends in the
# same checkpoint, byte for byte, and the same log, timing columns aside, as training in one go. Dropout, BPE-dropout, R-Drop,
# accumulation, weight decay, a moving average of the weights and validation are on, epochs end in between, and early stopping ends it.
#     tests/resume.sh [short | long]      long (make torture): 100 times killed
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(dirname "$0")/../data/toy
configs=$(dirname "$0")/../configs

# What makes a run hard to resume: put more of it here.
options="--dropout 0.2 --attention-dropout 0.1 --activation-dropout 0.1 --accumulate 2 --patience 5 --best loss
    --rdrop 1 --bpe-dropout 0.1 --weight-decay 0.1 --ema 0.95 --save-translations yes"
case ${1:-short} in
short) kills=8 options="$options --learning-rate 0.04" ;;
long) kills=100 options="$options --learning-rate 0.01" ;; # a lower rate, and it takes longer to stop by itself
*) echo "usage: $0 [short | long]" >&2; exit 2 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for side in en fr; do
    gzip -dc "$toy/train.$side.gz" | head -n 300 >"$work/train.$side"
    gzip -dc "$toy/valid.$side.gz" | head -n 20 >"$work/valid.$side"
done

# begin FOLDER [FLAG]...: becomes the training process
begin() {
    folder=$work/$1
    shift
    # shellcheck disable=SC2086 # a list of words
    exec "$FERRY" train "$configs/toy.ini" --run "$folder" \
        --train-source "$work/train.en" --train-target "$work/train.fr" \
        --valid-source "$work/valid.en" --valid-target "$work/valid.fr" --vocab-size 400 --d-model 32 --d-ff 64 --heads 2 \
        --encoder-layers 1 --decoder-layers 2 --batch-tokens 400 --warmup 10 --schedule constant --max-steps 5000 \
        --validate-every 7 --checkpoint-every 5 --report-every 3 --keep 2 $options "$@" 2>"$work/err"
}
train() (begin "$@")
says() { grep -q -e "$1" "$work/err" || { cat "$work/err"; return 1; }; }
untimed() { cut -f1-10 "$work/$1/log.tsv"; }

# same FOLDER: its last and its best checkpoint, its log and its translations are those of the run in one go
same() {
    cmp "$work/whole/last" "$work/$1/last" && cmp "$work/whole/best" "$work/$1/best" &&
        untimed "$1" | cmp - "$work/whole.log" && translations "$1" | cmp - "$work/whole.txt"
}
translations() { (cd "$work/$1" && grep '' valid-*.txt); }

check "training in one go" train whole --threads 2
check "ended by early stopping" says 'train.patience is reached'
untimed whole >"$work/whole.log"
translations whole >"$work/whole.txt"
check "it saved its translations" test -s "$work/whole.txt"
check "it wrote its rows" test "$(wc -l <"$work/whole.log")" -gt 25

check "one thread" train one --threads 1
check "one thread: the same bytes" same one
check "three threads" train three --threads 3
check "three threads: the same bytes" same three

# Stopped after every few steps, threads mixed.
pieces() {
    for limit in 4 11 12 13 57 75 5000; do
        train pieces --threads $((limit % 3 + 1)) --max-steps "$limit" || return 1
    done
}
check "training in seven pieces" pieces
check "seven pieces: the same bytes" same pieces

# ---- in bf16 ----

# Where the processor has no instructions for it, these are in fp32, with a warning.
in_bf16() { train "$@" --precision bf16 --patience 0; }
bf16_pieces() { in_bf16 bf16-pieces --threads 1 --max-steps 13 && in_bf16 bf16-pieces --threads 3 --max-steps 31; }
check "bf16 in one go" in_bf16 bf16 --threads 2 --max-steps 31
check "bf16 in two pieces" bf16_pieces
check "bf16 in two pieces: the same bytes" cmp "$work/bf16/last" "$work/bf16-pieces/last"

# ---- killed again and again ----

# The longest that a life is left alone: a part of the time that the whole took, so that there are many.
longest=$(tail -n 1 "$work/whole/log.tsv" | awk '{ t = $NF / 4; print (t < 0.5 ? t : 0.5) }')
n_kills=0 n_in_save=0 n_stops=0 n_lives=0 n_runs=0

# saving: whether a checkpoint is being written (or was, when the process died)
saving() {
    set -- "$work"/killed/checkpoint-*.tmp-*
    [ -e "$1" ]
}

# One life of the process, numbered n_lives: it ends by SIGKILL after a random time, every second one while it saves; or by
# SIGTERM; or by itself. Its exit code goes to $code.
live() {
    begin killed --threads $((n_lives % 3 + 1)) &
    child=$!
    sleep "$(awk -v seed="$$$n_lives" -v longest="$longest" 'BEGIN { srand(seed); printf "%.3f", 0.05 + longest * rand() }')"
    if [ $((n_lives % 2)) = 1 ]; then
        until saving || ! kill -0 "$child" 2>/dev/null; do :; done
    fi
    if [ $((n_lives % 5)) = 4 ]; then kill -s TERM "$child" 2>/dev/null; else kill -s KILL "$child" 2>/dev/null; fi
    wait "$child" 2>/dev/null # where the shell would say "Killed"
    code=$?
}

# Whenever the run has come to its end, it is compared, and the next one begins.
killed() {
    while [ "$n_kills" -lt "$kills" ] || { [ "$n_in_save" = 0 ] && [ "$n_lives" -lt 100 ]; }; do
        n_lives=$((n_lives + 1))
        live
        case $code in
        137) n_kills=$((n_kills + 1))
            if saving; then n_in_save=$((n_in_save + 1)); fi ;;
        143) n_stops=$((n_stops + 1)) ;;
        0) same killed && rm -rf "$work/killed" || return 1
            n_runs=$((n_runs + 1)) ;;
        *) cat "$work/err"; return 1 ;;
        esac
    done
    train killed
}
check "training that is killed again and again" killed
echo "# $n_kills kills, $n_in_save of them during a save; $n_stops stops by SIGTERM; $n_runs more runs came to their end in between"
check "killed again and again: the same bytes" same killed
check "it was killed during a save, too" test "$n_in_save" -gt 0

# ---- a finished run is left alone ----

ls -l --time-style=full-iso "$work/whole" >"$work/before"
check "a finished run" train whole
check "says so" says "is finished"
check "and nothing in its folder has changed" sh -c "ls -l --time-style=full-iso '$work/whole' | cmp - '$work/before'"

# ---- what would make it another run is refused, with what differs and the way out ----

# refused CODE MESSAGE [FLAG]...: to go on beyond the end of early stopping
refused() {
    wanted=$1 message=$2
    shift 2
    train whole --patience 0 "$@"
    got=$?
    # shellcheck disable=SC2254 # a pattern
    case $got in $wanted) says "$message" && says "(--run)" ;; *) return 1 ;; esac
}
check "another option" refused 2 'train.dropout: 0.2, now 0.3' --dropout 0.3
check "other data" refused 1 'the training text is not the one' --train-source "$work/valid.en" --train-target "$work/valid.fr"
check "a run with another tokenizer" train other --vocab-size 300 --max-steps 1
cp "$work/whole/tokenizer.bpe" "$work/tokenizer"
cp "$work/other/tokenizer.bpe" "$work/whole/tokenizer.bpe"
check "another tokenizer" refused 1 'tokenizer.bpe is not the tokenizer that .* was trained with'
sed '20{h;d};21{G}' "$work/tokenizer" >"$work/whole/tokenizer.bpe"
check "a tokenizer of which two lines are swapped" refused '[12]' 'put the old one back.*tokenizer.bpe: line 1: .*they were changed'
cp "$work/tokenizer" "$work/whole/tokenizer.bpe"
check "nothing was changed by that" same whole
check "another validation set" train whole --patience 0 --max-steps "$(($(tail -n 1 "$work/whole.log" | cut -f1) + 1))" \
    --valid-source "$work/train.en" --valid-target "$work/train.fr"
check "is allowed, with a warning" says 'warning: the validation set is not the one .* new scores don.t compare'

finish
