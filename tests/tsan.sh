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
planted() { "$work/race" plant >/dev/null; [ $? = 66 ] && rm "$work"/race.[0-9]*; }

check "a program with a race" clang -g -fopenmp -fsanitize=thread "$work/race.c" -o "$work/race"
check "without its race, nothing is reported" "$work/race"
check "the race is" planted
check "smoke.sh, four threads" env FERRY="$FERRY" "$(dirname "$0")/smoke.sh"
none() { for report in "$work"/race.[0-9]*; do [ ! -e "$report" ] || { cat "$report"; return 1; }; done; }
check "nothing is reported" none
finish
