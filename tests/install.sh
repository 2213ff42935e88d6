#!/bin/sh
# make install: all is there, the configurations work in any folder, pages are clean, completions complete, and uninstall
# leaves nothing.
# shellcheck disable=SC2317 # the functions are called through check
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
# What is built is taken as it is, whatever flags it was built with.
make() { command make -s -o "$BUILD/flags" BUILD="$BUILD" "$@"; }
prefix=$work/usr

check "make install" make install PREFIX="$prefix"
commands=$(sed -n 's/^COMMAND.\([a-z_]*\),.*/\1/p' cli/commands.def)
pages=$(for command in $commands; do echo "man1/ferry-$command.1"; done; echo man1/ferry.1 man3/ferry.3 man5/ferry.ini.5)
have_pages() { for page in $pages; do [ -s "$prefix/share/man/$page" ] || { echo "no $page"; return 1; }; done; }
check "a page a command, ferry(1), ferry.ini(5)" have_pages

# mandoc looks for the pages that these refer to among those of the system, where ours aren't: `references` does it.
lint() {
    for page in $pages; do mandoc -T lint "$prefix/share/man/$page"; done | grep -v 'referenced manual not found' >"$work/lint"
    ! grep . "$work/lint"
}
references() {
    for page in $pages; do
        sed -n 's/^\.Xr \([^ ]*\) \([0-9]\).*/man\2\/\1.\2/p' "$prefix/share/man/$page"
    done | sort -u >"$work/references"
    [ -s "$work/references" ] || return 1
    while read -r page; do
        [ -e "$prefix/share/man/$page" ] || { echo "no $page"; return 1; }
    done <"$work/references"
}
if command -v mandoc >/dev/null; then check "mandoc finds nothing" lint
else skip "mandoc finds nothing" "mandoc is not installed (make man-packages)"; fi
check "pages refer to pages" references

# Each option that help lists is in ferry.ini(5).
options() {
    "$prefix/bin/ferry" help options | sed -n 's/^  \([a-z_]*\)  .*/\1/p' | grep . >"$work/options"
    while read -r option; do
        grep -q "^\.It Cm $option " "$prefix/share/man/man5/ferry.ini.5" || { echo "no $option"; return 1; }
    done <"$work/options"
    [ "$(wc -l <"$work/options")" -gt 50 ]
}
check "ferry.ini(5) has each option of help" options

trains() {
    cd "$work" || return 1
    "$prefix/bin/ferry" train "$prefix/share/ferry/configs/toy.ini" --max-steps 2 --warmup 1 --decay-steps 2 \
        --valid-source= --valid-target= --tests= --d-model 16 --d-ff 16 >"$work/log" 2>&1
    [ -e runs/toy/last ] && return
    cat "$work/log"
    return 1
}
check "the installed toy.ini trains in any folder" eval '(trains)'

complete_bash() { # EXPECTED WORD...
    expected=$1
    shift
    got=$(bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ferry; echo "${COMPREPLY[*]}"' - \
        "$prefix/share/bash-completion/completions/ferry" "$@")
    [ "$got" = "$expected" ] || { echo "got: $got"; return 1; }
}
check "bash completes commands" complete_bash "train translate" ferry tr
check "bash completes options as flags" complete_bash --schedule ferry train --sched
check "bash completes the words of a choice" complete_bash "constant cosine" ferry train --schedule c
check "bash completes them behind =" complete_bash "constant cosine" ferry train --schedule = c
check "bash completes no training option for translate" complete_bash "" ferry translate --warm
check "bash completes topics of help" complete_bash "warmup" ferry help warm
check "bash completes files" complete_bash README.md ferry translate READ

complete_zsh() { # EXPECTED TYPED: what a terminal shows after a tab
    zsh -f -c '
        zmodload zsh/zpty
        zpty -b z zsh -f -i
        zpty -w z "PS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -D -u; echo READY"
        zpty -r z shown "*READY*READY*"
        zpty -n -w z "$2"$'"'\\t'"'
        n=0 all=
        while (( n++ < 100 )) && [[ $all != *$3* ]]; do zpty -r -t z part && all+=$part || sleep 0.1; done
        zpty -d z
        [[ $all == *$3* ]]' - "$prefix/share/zsh/site-functions" "$2" "$1"
}
if command -v zsh >/dev/null; then
    check "zsh completes commands" complete_zsh "ferry evaluate" "ferry ev"
    check "zsh completes options" complete_zsh "--schedule" "ferry train --sched"
    check "zsh completes topics of help" complete_zsh "ferry help warmup" "ferry help warm"
    check "commands are topics, too" complete_zsh "ferry help detokenize" "ferry help det"
else skip "zsh completes" "zsh is not installed"; fi

check "make uninstall" make uninstall PREFIX="$prefix"
nothing_left() { ! find "$prefix" -type f -o -type l -o -path '*/share/ferry' | grep .; }
check "it leaves nothing" nothing_left
check "DESTDIR goes before all of it" make install PREFIX=/opt/f DESTDIR="$work/root"
check "and isn't in the configurations" \
    grep -q '^train_source = /opt/f/share/ferry/toy/train.en.gz' \
    "$work/root/opt/f/share/ferry/configs/toy.ini"
finish
