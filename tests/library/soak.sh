#!/bin/sh
# soak.sh SECONDS N [WRAPPER...]: two small models, 8 threads on both for SECONDS, N opens and closes; under WRAPPER (valgrind,
# say), with the library, compiler and sanitizers of $BUILD. Prints nothing if all is well.
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
FERRY=${FERRY:-$BUILD/ferry}
seconds=$1
n=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec 3>&1 >"$work/log" 2>&1
failed() { cat "$work/log" >&3; exit 1; }

compiler=$(sed 's/ -I\. .*//' "$BUILD/flags")
extra=$(grep -o -e '-fsanitize=[^ ]*' -e '--coverage' "$BUILD/flags" | tr '\n' ' ')
for side in en fr; do gzip -dc data/toy/train.$side.gz | head -n 300 >"$work/train.$side"; done
for seed in 1 2; do
    "$FERRY" train configs/toy.ini --run "$work/$seed" --train-source "$work/train.en" --train-target "$work/train.fr" \
        --set data.valid_source= --set data.valid_target= --vocab-size 300 --d-model 32 --d-ff 64 --heads 2 \
        --encoder-layers 1 --decoder-layers 1 --batch-tokens 300 --warmup 2 --decay-steps 4 --max-steps 4 \
        --seed $seed || failed
done
for host in threads opens; do
    # shellcheck disable=SC2086 # they are words
    $compiler -std=gnu11 -g -O1 -fopenmp $extra -I. -Iinclude tests/library/$host.c -L"$BUILD" -lferry \
        -Wl,-rpath,"$(realpath "$BUILD")" -lm -o "$work/$host" || failed
done
OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
export OMP_NUM_THREADS OMP_WAIT_POLICY
"$@" "$work/threads" 8 "$seconds" "$work/train.en" "$work/1" "$work/2" || failed
[ "$n" = 0 ] || "$@" "$work/opens" "$n" "$work/1" || failed
