#!/bin/sh
# A full disk, a read-only folder, damaged checkpoints, a process that died, signals before training has begun, a reader that
# has gone, too little memory. That any call of a training may fail, or the process die there, is shown by test_faults.c.
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(dirname "$0")/../data/toy
configs=$(dirname "$0")/../configs

limit=
work=$(mktemp -d)
trap 'umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
for side in en fr; do
    gzip -dc "$toy/train.$side.gz" | head -n 100 >"$work/train.$side"
    gzip -dc "$toy/valid.$side.gz" | head -n 4 >"$work/valid.$side"
done

# begin FOLDER [FLAG]...: becomes a process that trains a tiny model
begin() {
    folder=$work/$1
    shift
    # shellcheck disable=SC2086 # a command and its arguments, or nothing
    exec $limit "$FERRY" train "$configs/toy.ini" --run "$folder" \
        --train-source "$work/train.en" --train-target "$work/train.fr" \
        --valid-source "$work/valid.en" --valid-target "$work/valid.fr" --vocab-size 300 --d-model 16 --d-ff 16 --heads 1 \
        --encoder-layers 1 --decoder-layers 1 --batch-tokens 300 --warmup 4 --validate-every 3 --checkpoint-every 2 \
        --report-every 1 --max-extra 2 --max-ratio 1 --max-steps 8 "$@"
}
# shellcheck source=tests/training.sh
. "$(dirname "$0")/training.sh"
evaluate() { "$FERRY" evaluate -m "$1" "$work/valid.en" "$work/valid.fr" >"$work/out" 2>"$work/err"; }
untimed() { cut -f1-10 "$work/$1/log.tsv"; }
same() { cmp "$work/whole/last" "$work/$1/last" && untimed whole >"$work/wanted" && untimed "$1" | cmp - "$work/wanted"; }

check "a run that nothing happens to" train 0 whole

# ---- the disk ----

too_large() (
    # shellcheck disable=SC3045 # dash and bash have it; in blocks of 512 or 1024 bytes
    ulimit -f 40 && train 1 limited
)
check "a checkpoint beyond the limit of file sizes" too_large
check "says so" says 'checkpoint-00000002.safetensors: write failed: File too large; raise the limit'
check "goes on without it" train 0 limited
check "to the same bytes" same limited

mkdir "$work/disk"
size=$(du -sk "$work/whole" | cut -f1) # with the last checkpoints, but not one more while it is written
if mount -t tmpfs -o "size=${size}k" tmpfs "$work/disk" 2>/dev/null; then
    check "a disk that becomes full" train 1 disk/run
    check "says so" says 'No space left on device; free some space on that disk; what was there before is untouched'
    check "the checkpoint from before can be used" evaluate "$work/disk/run"
    mount -o remount,ro "$work/disk"
    check "a read-only folder" train 1 disk/run
    check "says so" says 'Read-only file system; choose a place that can be written to'
    check "can be translated from" evaluate "$work/disk/run"
    mount -o remount,rw,size=4m "$work/disk"
    check "training goes on when there is space again" train 0 disk/run
    check "to the same bytes" same disk/run
    umount "$work/disk"
else
    skip "a disk that becomes full" "only root can make one"
    if [ "$(id -u)" != 0 ]; then
        cp -R "$work/whole" "$work/locked"
        chmod a-w "$work/locked" "$work/locked/lock"
        check "a read-only folder" train 1 locked --max-steps 9
        check "says so" says 'Permission denied; check the permissions there'
        check "can be translated from" evaluate "$work/locked"
        chmod u+w "$work/locked"
    fi
fi

# ---- damage ----

# refused FILE: translate and evaluate refuse it, by its name, with no output
refused() {
    for command in translate evaluate; do
        "$FERRY" "$command" -m "$1" "$work/valid.en" ${2:+"$2"} >"$work/out" 2>"$work/err" </dev/null && return 1
        [ ! -s "$work/out" ] && says "${1##*/}" || return 1
        set -- "$1" "$work/valid.fr"
    done
}
cp "$work/whole/last" "$work/whole/damaged.safetensors"
for bytes in 0 7 8 4096 8192 40960; do
    head -c "$bytes" "$work/whole/last" >"$work/whole/damaged.safetensors"
    check "a checkpoint of which $bytes bytes are left" refused "$work/whole/damaged.safetensors"
done
for place in 3 100 5000 60000; do
    cp "$work/whole/last" "$work/whole/damaged.safetensors"
    byte=$(dd if="$work/whole/last" bs=1 skip="$place" count=1 2>/dev/null | od -An -tu1 | tr -d ' ')
    # shellcheck disable=SC2059 # an octal escape
    printf "\\$(printf %03o $(((byte + 1) % 256)))" |
        dd of="$work/whole/damaged.safetensors" bs=1 seek="$place" conv=notrunc 2>/dev/null
    check "a checkpoint with byte $place changed" refused "$work/whole/damaged.safetensors"
done
rm "$work/whole/damaged.safetensors"
check "a run whose best checkpoint is cut off" sh -c "
    cp -R '$work/whole' '$work/cut' && head -c 5000 '$work/whole/best' >'$work/cut/best'"
check "is refused by its name" refused "$work/cut/best"

# ---- processes ----

(begin dead --max-steps 1000000) 2>"$work/err" &
child=$!
until [ -e "$work/dead/last" ] || ! kill -0 "$child" 2>/dev/null; do sleep 0.01; done
kill -KILL "$child"
wait "$child" 2>/dev/null
check "the lock of a process that was killed holds nobody up" train 0 dead --max-steps 1

for n in 1 2 3 4 5 6 7 8 9 10; do gzip -dc "$toy/train.en.gz" | sed "s/\$/ $n/"; done | awk '{ print $0 " " NR * 7 }' >"$work/long"
long="$work/long $work/long $work/long $work/long $work/long"
# stopped SIGNAL CODE: training on a long text ends so before it has begun, and leaves nothing half-written
stopped() {
    folder=$work/early$1
    (
        until [ -e "$folder/lock" ]; do sleep 0.01; done
        kill -s "$1" "$(cat "$work/process")"
    ) &
    # In the foreground: a shell's background commands ignore SIGINT.
    # shellcheck disable=SC2016 # that shell's own
    sh -c 'echo $$ >"$0"; exec "$@"' "$work/process" "$FERRY" train "$configs/toy.ini" --run "$folder" --vocab-size 30000 \
        --train-source "$long" --train-target "$long" 2>"$work/err"
    code=$?
    kill $! 2>/dev/null
    wait $! 2>/dev/null
    [ "$code" = "$2" ] && [ "$(ls "$folder")" = lock ] && return
    echo "exit code $code, not $2; in the folder:" "$folder"/*
    return 1
}
if sh -c 'kill -s INT $$; exit 0' 2>/dev/null; then
    skip "SIGINT while the vocabulary is learned" "it is ignored here, as by all that a shell runs in the background"
else
    check "SIGINT while the vocabulary is learned: exit code 130, nothing half-written" stopped INT 130
fi
check "SIGTERM: 143" stopped TERM 143
check "SIGHUP: 129" stopped HUP 129

head -n 6000 "$work/long" >"$work/many"
{ "$FERRY" translate -m "$work/whole" "$work/many" 2>"$work/err"; echo $? >"$work/code"; } | head -n 1 >"$work/out"
check "translate ends when its reader has gone" test "$(cat "$work/code")" = 141
check "quietly" test ! -s "$work/err"
check "after the first line has come" test "$(wc -l <"$work/out")" = 1

# ---- memory ----

# With any limit, training either says at its start that it won't fit, or comes to its end.
# shellcheck disable=SC3045 # dash and bash have it
limited() (
    ulimit -v "$1"
    timeout -s KILL 300 "$FERRY" train "$configs/toy.ini" --run "$work/memory" --train-source "$toy/train.en.gz" \
        --train-target "$toy/train.fr.gz" --valid-source "$toy/valid.en.gz" --valid-target "$toy/valid.fr.gz" \
        --vocab-size 500 --d-model 64 --d-ff 128 --threads 2 --max-steps 2 --validate-every 2 2>"$work/err"
)
limits() {
    n_done=0 n_refused=0
    for kilobytes in 80000 150000 200000 250000 300000 350000 400000 450000 500000 600000; do
        rm -rf "$work/memory"
        if limited "$kilobytes"; then n_done=$((n_done + 1))
        elif says 'but only .* is there (the process.s limit, ulimit -v)'; then n_refused=$((n_refused + 1))
        else return 1; fi
    done
}
# shellcheck disable=SC3045
if (ulimit -v 80000 && "$FERRY" help; exit $?) >/dev/null 2>&1; then
    check "training fits, or is refused" limits
    check "both happened" test "$n_done" -gt 0 -a "$n_refused" -gt 0
    echo "# $n_refused limits of memory refused, $n_done enough"
else
    skip "training under a limit of memory" "not even help fits into 80 MB here (a sanitizer's build)"
fi

finish
