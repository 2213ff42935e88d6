#!/bin/sh
# The Makefile: whose flags count, and that they don't displace those that Ferry needs. Compiles only the
# generator of the toy corpus.
# shellcheck disable=SC2317 # the functions are called through check
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS LDLIBS

# plan ARGUMENT...: what make would run for the program, into $work/plan
plan() { make -n BUILD="$work/plan-build" "$@" "$work/plan-build/ferry" >"$work/plan" 2>&1; }
planned() { grep -q -e "$1" "$work/plan"; }

plan CFLAGS=-O1 CPPFLAGS=-DMINE LDFLAGS=-Wl,-mine LDLIBS=-lmine
check "CFLAGS stand behind what Ferry needs" planned ' -std=c11 -fopenmp .* -O1 .*-c -o .*main\.o'
check "the default's -O3 goes where CFLAGS are given" eval '! planned " -O3 "'
check "CPPFLAGS count" planned '-D_GNU_SOURCE .*-DMINE .*-c -o .*main\.o'
check "LDFLAGS and LDLIBS count in the link" planned ' -fopenmp .* -Wl,-mine -o .*/ferry .* -lm -lmine$'
if [ "$(uname -m)" = x86_64 ]; then
    check "the flags of an instruction set stand last" planned " -O1 .* -march=haswell -c"
fi
plan
check "without CC the compiler is gcc" planned '^gcc .*main\.o'
CC=some-cc plan
check "CC of the environment counts" planned '^some-cc .*main\.o'
CFLAGS=-Os plan
check "CFLAGS of the environment count" planned ' -Os .*main\.o'

check "with CFLAGS=-O1 a program links and runs" \
    make -s CFLAGS=-O1 LDFLAGS=-Wl,-z,now BUILD="$work/build" "$work/build/data/toy/generate"
same_corpus() { for text in data/toy/*.gz; do cmp "$text" "$work/toy/${text##*/}" || return 1; done; }
bound_at_start() { readelf -d "$work/build/data/toy/generate" | grep -q NOW; }
mkdir "$work/toy" && "$work/build/data/toy/generate" "$work/toy" >/dev/null 2>&1
check "and writes the toy corpus, the same" same_corpus
check "LDFLAGS reach the file" bound_at_start

make -s help >"$work/help"
for goal in toy test bench fuzz install uninstall man clean; do
    check "make help tells $goal" grep -q "^  make $goal  *[^ ]" "$work/help"
done
check "the Debian package has the Makefile's version" \
    test "$(sed -n 's/^VERSION *= *//p' Makefile)" = "$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)"
check "make check is make test" eval 'make -n check | grep -q tests/run.sh'

# 32 bits, by the preprocessor alone: headers of such a system need not be there.
narrow() {
    ! ${CC:-gcc} -m32 -ffreestanding -E -o "$work/narrow" core/width.h 2>"$work/error" &&
        grep -q '64-bit' "$work/error"
}
if echo | ${CC:-gcc} -m32 -E - >/dev/null 2>&1; then check "a 32-bit system is refused, and the error says why" narrow
else skip "a 32-bit system is refused" "no compiler for one"; fi
finish
