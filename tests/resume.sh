#!/bin/sh
# Training that was interrupted, at any moment and in any way, and went on, also with other numbers of threads, ends in the
# same checkpoint, byte for byte, and the same log, timing columns aside, as training in one go. Dropout, R-Drop, accumulation,
# weight decay, a moving average of the weights, validation and patience are on, and epochs end in between.
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(dirname "$0")/../data/toy
configs=$(dirname "$0")/../configs
steps=153

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for side in en fr; do
    gzip -dc "$toy/train.$side.gz" | head -n 300 >"$work/train.$side"
    gzip -dc "$toy/valid.$side.gz" | head -n 8 >"$work/valid.$side"
done

# begin FOLDER [FLAG]...: becomes the training process
begin() {
    folder=$work/$1
    shift
    exec "$FERRY" train "$configs/toy.ini" --run "$folder" \
        --train-source "$work/train.en" --train-target "$work/train.fr" \
        --valid-source "$work/valid.en" --valid-target "$work/valid.fr" --vocab-size 400 --d-model 32 --d-ff 64 --heads 2 \
        --encoder-layers 1 --decoder-layers 2 --batch-tokens 400 --accumulate 2 --warmup 10 --dropout 0.2 \
        --attention-dropout 0.1 --activation-dropout 0.1 --validate-every 7 --patience 100 --checkpoint-every 5 \
        --report-every 3 --keep 2 --rdrop 1 --weight-decay 0.1 --ema 0.95 --save-translations yes --max-steps "$steps" \
        "$@" 2>"$work/err"
}
train() (begin "$@")

# same FOLDER: its last checkpoint, its log and its translations are those of the run in one go
same() {
    cmp "$work/whole/last" "$work/$1/last" && cut -f1-9 "$work/$1/log.tsv" | cmp - "$work/whole.log" &&
        cmp "$work/whole/best" "$work/$1/best" && translations "$1" | cmp - "$work/whole.txt"
}
translations() { (cd "$work/$1" && grep '' valid-*.txt); }

check "training in one go" train whole --threads 2
cut -f1-9 "$work/whole/log.tsv" >"$work/whole.log"
translations whole >"$work/whole.txt"
check "it saved its translations" test "$(grep -c '^valid-00000147.txt:' "$work/whole.txt")" = 8
check "it wrote its rows" test "$(wc -l <"$work/whole.log")" -gt 25
check "it ended in the middle of an epoch" sh -c "sed -n '\$p' '$work/whole.log' | cut -f2 | grep -q '\.'"

check "one thread" train one --threads 1
check "one thread: the same bytes" same one
check "three threads" train three --threads 3
check "three threads: the same bytes" same three

# Stopped after every few steps, threads mixed.
pieces() {
    for limit in 4 11 12 13 57 75 99 "$steps"; do
        train pieces --threads $((limit % 3 + 1)) --max-steps "$limit" || return 1
    done
}
check "training in eight pieces" pieces
check "eight pieces: the same bytes" same pieces

whole=$(tail -n 1 "$work/whole/log.tsv" | cut -f11)
# Killed again and again: by SIGTERM and SIGKILL in turn, after random times.
interrupted() {
    tries=0
    while [ "$tries" -lt 60 ]; do
        tries=$((tries + 1))
        case $((tries % 2)) in 0) signal=KILL ;; 1) signal=TERM ;; esac # a shell's background commands ignore SIGINT
        # after up to a sixth of the time of the whole; past the 25th try it is left alone, so that it ends in any case
        pause=$(awk -v seed="$$$tries" -v whole="$whole" 'BEGIN { srand(seed); printf "%.3f", 0.02 + whole / 6 * rand() }')
        [ "$tries" -gt 25 ] && pause=600
        begin killed --threads $((tries % 3 + 1)) &
        child=$!
        (
            sleep "$pause"
            kill -s "$signal" "$child" 2>/dev/null
        ) >/dev/null 2>&1 & # its sleep outlives it, and must not keep our output open
        killer=$!
        wait "$child"
        code=$?
        kill "$killer" 2>/dev/null
        wait "$killer" 2>/dev/null
        if [ "$code" = 0 ]; then return 0; fi
        case $code in 137 | 143) ;; *) cat "$work/err"; return 1 ;; esac
    done
    return 1
}
check "training that is killed again and again" interrupted
check "killed again and again: the same bytes" same killed
echo "# it took $tries runs"
check "it was killed in earnest" test "$tries" -gt 2

# A finished run is left alone.
ls -l --time-style=full-iso "$work/whole" >"$work/before"
check "a finished run" train whole
check "it says so" grep -q "is finished" "$work/err"
check "and nothing in its folder has changed" sh -c "ls -l --time-style=full-iso '$work/whole' | cmp - '$work/before'"

# What would make it another run is refused.
fails() {
    "$@"
    [ $? = 2 ]
}
check "another option is refused" fails train whole --max-steps 999 --dropout 0.3
check "with what differs" grep -q "train.dropout: 0.2, now 0.3" "$work/err"
refused() { ! train "$@"; }
check "other data are refused" refused whole --max-steps 999 --train-source "$work/valid.en" --train-target "$work/valid.fr"
check "with the reason" grep -q "the training text is not the one" "$work/err"

finish
