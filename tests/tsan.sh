#!/bin/sh
# The short life of a tiny model (smoke.sh) by several threads under ThreadSanitizer. clang's OpenMP runtime tells it, by
# Archer, where threads meet, so that what it reports is a data race of ours; GNU OpenMP doesn't, and every parallel region
# would look like one. A planted race shows that races are seen. (make tsan)
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-build/tsan/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
OMP_NUM_THREADS=4
OMP_WAIT_POLICY=passive # else the program starts itself anew
TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66 log_path=$work/race"
export OMP_NUM_THREADS OMP_WAIT_POLICY TSAN_OPTIONS

cat >"$work/race.c" <<'END'
#include <stdio.h>
int main(int argc, char **argv)
{
    (void)argv;
    int together = 0, apart[64] = {0};
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 64; i++) apart[i] = i;
    for (int i = 0; i < 64; i++) together += apart[i];
    if (argc > 1)
#pragma omp parallel for schedule(static, 1)
        for (int i = 0; i < 64; i++) together += i;
    printf("%d\n", together);
    return 0;
}
END
no_race() { "$work/race" >/dev/null; }
planted() { "$work/race" plant >/dev/null 2>&1; [ $? = 66 ] && rm "$work"/race.[0-9]*; }

check "a program with a race" clang -g -fopenmp -fsanitize=thread "$work/race.c" -o "$work/race"
check "without its race, nothing is reported" no_race
check "the race is" planted
check "smoke.sh, four threads" env FERRY="$FERRY" "$(dirname "$0")/smoke.sh"
# Batches of several tiles, so that the threads have work to share.
toy=$(dirname "$0")/../data/toy
for side in en fr; do gzip -dc "$toy/train.$side.gz" | head -n 1000 >"$work/train.$side"; done
wide() {
    "$FERRY" train "$(dirname "$0")/../configs/toy.ini" --run "$work/run" --train-source "$work/train.en" \
        --train-target "$work/train.fr" --valid-source '' --valid-target '' --vocab-size 1000 --attention-dropout 0.1 \
        --batch-tokens 4000 --max-steps 2 2>"$work/err" &&
        "$FERRY" translate -m "$work/run" --max-ratio 0 --max-extra 6 "$work/train.en" >"$work/out"
}
check "two steps of large batches, and 1,000 translations" wide
check "the library: 8 threads on 2 models for 10 seconds" "$(dirname "$0")/library/soak.sh" 10 30
none() { for report in "$work"/race.[0-9]*; do [ ! -e "$report" ] || { cat "$report"; return 1; }; done; }
check "nothing is reported" none
finish
