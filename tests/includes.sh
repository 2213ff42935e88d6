#!/bin/sh
# The laws that the compiler doesn't check. Includes go one way, from each room to those before it; rooms of one line don't
# include each other.
# Only the program (cli/, data/toy/) ends the process; below it, core/error.c does, for a CHECK.
# shellcheck disable=SC2317 # the functions are called through check
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/.." || exit 1

# sources FOLDER...: their C files
sources() { find "$@" -name '*.[ch]' -o -name '*.def' | sort; }

# only FOLDER ALLOWED: what the files in FOLDER include (in quotes) lies in one of the ALLOWED folders (a|b)
only() {
    # shellcheck disable=SC2046 # our file names are words
    ! grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' /dev/null $(sources "$1") | grep -vE "\"($2)/[^\"]*\""
}

# nowhere PATTERN FILE...: no line has the pattern
nowhere() {
    pattern=$1
    shift
    ! grep -nE "$pattern" /dev/null "$@"
}

check_folder() {
    [ -d "$1" ] && check "$1 includes $2 only" only "$1" "$2"
}

below=
while read -r rooms; do
    for room in $rooms; do check_folder "$room" "$below$room"; done
    for room in $rooms; do below="$below$room|"; done
done <<'END'
include
core
text
system data metrics autograd
model options
run
translate
train
cli
END

library=$(find core text metrics autograd model data -name '*.[ch]' ! -path 'data/toy/*' ! -path core/error.c \
    2>/dev/null)
program=$(find system options run translate train cli -name '*.[ch]' ! -path cli/main.c ! -path system/signals.c)
# shellcheck disable=SC2086 # our file names are words
check "the library doesn't print" nowhere '\<(v?printf|puts|putchar|perror|v?fprintf\(std(out|err))\(' $library
# shellcheck disable=SC2086
check "the library doesn't write to the standard files" nowhere '\<(stdout|stderr)\>' $library
# shellcheck disable=SC2086
check "only cli/main.c ends the process" nowhere '\<(_?exit|_Exit|quick_exit|abort)\(' $library $program

finish
