#!/bin/sh
# The laws that the compiler doesn't check. Includes go one way: core <- autograd <- model <- train, core <- data <- train.
# Only the program (train/, data/toy/) prints and ends the process; below it, core/error.c and core/memory.c do.
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

check_folder core core
check_folder autograd 'core|autograd'
check_folder model 'core|autograd|model'
check_folder data 'core|data'
check_folder train 'core|autograd|model|data|train'

library=$(find core autograd model data -name '*.[ch]' ! -path 'data/toy/*' ! -path core/error.c ! -path core/memory.c \
    2>/dev/null)
program=$(find train -name '*.[ch]' ! -path train/main.c ! -path train/signals.c)
# shellcheck disable=SC2086 # our file names are words
check "the library doesn't print" nowhere '\<(v?printf|puts|putchar|perror|v?fprintf\(std(out|err))\(' $library
# shellcheck disable=SC2086
check "the library doesn't write to the standard files" nowhere '\<(stdout|stderr)\>' $library
# shellcheck disable=SC2086
check "only train/main.c ends the process" nowhere '\<(_?exit|_Exit|quick_exit|abort)\(' $library $program

finish
