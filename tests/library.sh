#!/bin/sh
# The library, from outside: what it exports and keeps, its header in C and C++, the binary interface; then programs that are
# compiled by pkg-config alone against an installation translate, score, are refused, lack memory, run threads, set what they
# like for themselves, and fork. `library.sh long` goes on for longer.
# shellcheck disable=SC2317,SC2086 # the functions are called through check; flags are words
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
FERRY=${FERRY:-$BUILD/ferry}
# What the library was built with.
CC=$(sed 's/ -I\. .*//' "$BUILD/flags")
EXTRA=$(grep -o -e '-fsanitize=[^ ]*' -e '--coverage' "$BUILD/flags" | tr '\n' ' ')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
seconds=1
n_opens=200
if [ "${1:-}" = long ]; then
    seconds=10
    n_opens=1000
fi
if [ ! -e "$BUILD/libferry.a" ]; then
    skip "the library" "it isn't built (make lib)"
    finish
fi

# ---- what it is made of ----

exported() { nm -D --defined-only "$BUILD/libferry.so.0" | awk '$2 != "A" { sub("@.*", "", $3); print $3 }'; }
only_ours() { ! exported | grep -v '^ferry_'; }
check "libferry.so.0 exports ferry_* only" only_ours
only_ours_static() { ! nm --defined-only --extern-only "$BUILD/libferry.a" | grep ' [A-Z] ' | grep -v ' ferry_'; }
check "so does libferry.a" only_ours_static
soname() { readelf -d "$BUILD/libferry.so.0" | grep -q 'SONAME.*\[libferry\.so\.0\]'; }
check "its soname is libferry.so.0" soname
no_rooms() { ! nm "$BUILD/libferry.a" | grep -E ' (cmd_|command_|trainer_|setup_|signals_|progress_)'; }
check "no training and no program is in it" no_rooms

# Writable globals that there may be: tests/library/state.txt, each with its reason.
state() {
    objdump -t "$BUILD/libferry.a" | sed -n 's/^[0-9a-f]* .* \(\.data\|\.bss\|\.tdata\|\.tbss\|\*COM\*\)\t[0-9a-f]* \(.*\)/\2/p' |
        grep -v -e '^\.' -e '^__' | sed 's/\.[0-9]*$//' | sort -u >"$work/state"
    [ -s "$work/state" ] || return 1
    sed -n 's/^\([^# ][^ ]*\) .*/\1/p' tests/library/state.txt | sort -u >"$work/known"
    ! comm -23 "$work/state" "$work/known" | grep .
}
check "it keeps no state but what has a reason" state
no_exit() {
    ! nm --undefined-only "$BUILD/libferry.a" |
        grep -E ' (_?exit|_Exit|quick_exit|setenv|putenv|setlocale|exec[a-z]+|signal|sigaction|printf|puts|stdout)$'
}
check "nothing in it ends the process, prints, or changes what is the process's" no_exit

# ---- installed ----

prefix=$work/usr
make() { command make -s -o "$BUILD/flags" BUILD="$BUILD" "$@"; }
check "make install" make install PREFIX="$prefix"
PKG_CONFIG_PATH=$prefix/lib/pkgconfig
LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH LD_LIBRARY_PATH
flags=$(pkg-config --cflags ferry)
libs=$(pkg-config --libs ferry)
static=$(pkg-config --static --libs-only-l --libs-only-other ferry | sed 's/-lferry//')

printf '#include <ferry.h>\nint main(void) { ferry_error e; FERRY_INIT(e); return e.code; }\n' >"$work/header.c"
cp "$work/header.c" "$work/header.cc"
check "ferry.h is C11" $CC -std=c11 -pedantic -Wall -Wextra -Werror $flags -c "$work/header.c" -o "$work/header.o"
if command -v g++ >/dev/null; then
    check "ferry.h is C++" g++ -std=c++11 -pedantic -Wall -Wextra -Werror $flags -c "$work/header.cc" -o "$work/header.o"
else skip "ferry.h is C++" "there is no g++"; fi

abi() {
    $CC -std=c11 $EXTRA $flags tests/library/abi.c -o "$work/abi" && "$work/abi" >"$work/abi.txt" || return 1
    exported | sed 's/^/symbol /' >>"$work/abi.txt"
    sort "$work/abi.txt" >"$work/abi.sorted"
    # What is new is written down, too: else nobody would notice when it is lost.
    sort tests/library/abi.txt | diff - "$work/abi.sorted"
}
check "the binary interface is that of tests/library/abi.txt" abi
no_new_name() { [ "$("$work/abi" | wc -l)" = "$(grep -vc '^symbol' tests/library/abi.txt)" ]; }
check "all of it" no_new_name
check "the example, by pkg-config alone" $CC -Wall -Wextra -Werror $EXTRA examples/translate.c $flags $libs -o "$work/translate"

# ---- at work ----

toy=data/toy
for side in en fr; do
    gzip -dc "$toy/train.$side.gz" | head -n 600 >"$work/train.$side"
    gzip -dc "$toy/test.$side.gz" | head -n 30 | sed '4s/.*//; 9s/.*/ \t/' >"$work/test.$side"
done
train() { # NAME ARGUMENT...
    run=$1
    shift
    "$FERRY" train configs/toy.ini --run "$work/$run" --train-source "$work/train.en" --train-target "$work/train.fr" \
        --set data.valid_source= --set data.valid_target= --vocab-size 400 --d-model 32 --d-ff 64 --heads 2 \
        --encoder-layers 1 --decoder-layers 2 --batch-tokens 500 --warmup 10 --decay-steps 60 --learning-rate 0.01 \
        --max-steps 60 "$@" >"$work/out" 2>&1 && return
    cat "$work/out"
    return 1
}
check "a model" train one
check "another one with its vocabulary" train two --seed 2
check "a third with another one" train three --vocab-size 300 --max-steps 2

example() { # ARGUMENT...: the command that translates, of a text with all sorts of lines
    "$@" <"$work/test.en" >"$work/got" && cmp "$work/got" "$work/wanted"
}
"$FERRY" translate -m "$work/one" --beam 3 <"$work/test.en" >"$work/wanted" 2>"$work/err"
check "the example in C gives what the program gives" example "$work/translate" "$work/one" beam=3
if command -v python3 >/dev/null && [ -z "$EXTRA" ]; then
    FERRY_LIBRARY=$prefix/lib/libferry.so.0
    export FERRY_LIBRARY
    check "so does the one in Python" example python3 examples/translate.py "$work/one" beam=3
    check "an empty text stays empty" test -z "$(python3 examples/translate.py "$work/one" </dev/null)"
else skip "so does the one in Python" "there is no python3, or it can't load what a sanitizer is in"; fi

# host NAME: compiles tests/library/NAME.c against the installation
host() {
    $CC -std=gnu11 -g -O1 -Wall -Wextra -fopenmp $EXTRA -I. $flags "tests/library/$1.c" $libs -lm -o "$work/$1"
}
"$FERRY" translate -m "$work/one" --beam 6 --n-best 4 --alignment hard "$work/test.en" >"$work/lists" 2>"$work/err"
"$FERRY" score -m "$work/one" --token-scores "$work/test.en" "$work/test.fr" >"$work/scores" 2>"$work/err"
check "a host" host agree
check "has the program's bits" "$work/agree" "$work/one" "$work/test.en" "$work/lists" "$work/test.fr" "$work/scores"
check "a host that errs" host refuse
check "is told so" "$work/refuse" "$work/one" "$work/test.en" "$work/three"
check "a host with threads" host threads
check "has 8 on 2 models, the same bits" env OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive \
    "$work/threads" 8 $seconds "$work/test.en" "$work/one" "$work/two"
check "a host that opens" host opens
check "and closes $n_opens times, without growth" "$work/opens" $n_opens "$work/one"
# A locale whose numbers have a comma, made here if the system has its definition.
mkdir "$work/locale"
if localedef -i de_DE -f UTF-8 "$work/locale/comma" >/dev/null 2>&1; then
    LOCPATH=$work/locale COMMA_LOCALE=comma
    export LOCPATH COMMA_LOCALE
fi
check "a host with settings of its own" host host
check "keeps them, and has the same bits" "$work/host" "$work/one" "$work/test.en"

failing() {
    $CC -std=gnu11 -g -O1 -Wall -Wextra -fopenmp $EXTRA -I. $flags tests/library/failing.c "$BUILD/libferry.a" $static \
        -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free -o "$work/failing"
}
check "a host that lacks memory" failing
check "is told so at each allocation, loses none, and goes on" env OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive \
    "$work/failing" "$work/one" "$work/test.en"

check "make uninstall" make uninstall PREFIX="$prefix"
nothing_left() { ! find "$prefix" -type f -o -type l | grep .; }
check "leaves nothing" nothing_left
finish
