#!/bin/sh
# The program's command line from outside: exit codes, where messages go, what they say. $FERRY is the program.
# shellcheck disable=SC2317,SC2016 # the functions are called through check; awk sees the dollars
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run CODE ARGUMENT...: ferry ends with this exit code; its output stays in $work/out and $work/err
run() {
    code=$1
    shift
    "$FERRY" "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ "$got" = "$code" ] || { echo "ferry $*: exit code $got, not $code"; return 1; }
}

# refused MESSAGE ARGUMENT...: exit code 2, nothing on stdout, exactly this message on stderr
refused() {
    message=$1
    shift
    run 2 "$@" && [ ! -s "$work/out" ] && [ "$(cat "$work/err")" = "ferry: $message" ] && return
    cat "$work/err"
    return 1
}

out_has() { grep -q -e "$1" "$work/out" && [ ! -s "$work/err" ]; }
err_has() { grep -q -e "$1" "$work/err" && [ ! -s "$work/out" ]; }

# fits FILE COLUMNS
fits() { [ "$(wc -L <"$1")" -le "$2" ]; }

# full_disk ARGUMENT...: exit code 1 and a message when stdout is on a full disk; closed: when it is closed
full_disk() {
    "$FERRY" "$@" >/dev/full 2>"$work/err"
    [ $? = 1 ] && grep -q '^ferry: cannot write to standard output' "$work/err"
}
closed() {
    "$FERRY" "$@" >&- 2>"$work/err"
    [ $? = 1 ] && grep -q '^ferry: cannot write to standard output' "$work/err"
}
closed_both() {
    "$FERRY" "$@" >&- 2>&-
    [ $? = 1 ]
}

check "without arguments: a hint on stderr, exit code 2" run 2
check "the hint names help" err_has "'ferry help'"
check "help" run 0 help
check "help lists help" out_has '^  help '
check "--help" run 0 --help
check "--help lists help" out_has '^  help '
check "-h" run 0 -h
check "--version" run 0 --version
check "--version says" grep -qx 'ferry [0-9]*\.[0-9]*\.[0-9]*' "$work/out"
check "help of a command" run 0 help help
check "help of a command has an example" out_has '^  ferry help options$'
check "COMMAND --help" run 0 help help --help
check "help options" run 0 help options
check "help options has train.learning_rate" out_has '^  learning_rate  *0.0007 '
for section in data model train decode; do
    check "help options has [$section]" out_has "^\\[$section\\]"
done
check "help options fits in 110 columns" fits "$work/out" 110

check "unknown command" refused "unknown command 'hlep'; did you mean 'help'?" hlep
check "unknown topic" refused "there is no command, flag or option 'hlep'; did you mean 'help'?" help hlep
check "unknown topic like nothing" refused "there is no command, flag or option 'zzzzzz'; 'ferry help' lists the commands, 'ferry help options' the options" \
    help zzzzzz
check "help of a flag" run 0 help n-best
check "tells what it is" out_has '^  --n-best N  *list the N best'
check "and whose" out_has "^      a flag of 'ferry translate'$"
check "help of a flag with an underscore" run 0 help line_buffered
check "help of a flag of every command" run 0 help version
check "says so" out_has "^      a flag of every command$"
check "help of a mistyped flag" refused "there is no command, flag or option 'n-bst'; did you mean 'n-best'?" help n-bst
check "an empty value" refused "-m is empty; it needs a RUN" translate -m ''
check "an empty argument" refused "evaluate: argument 2 is empty; usage: ferry evaluate -m RUN [SOURCE REFERENCE] | --hypothesis FILE REFERENCE..." \
    evaluate -m x y ''
check "unknown flag" refused "help: unknown flag '--tread'; did you mean '--threads'?" help --tread 2
check "missing value" refused "--threads needs a value" help --threads
check "too many arguments" refused "help: 'b' is one argument too many; usage: ferry help [COMMAND | FLAG | options | SECTION | OPTION]" help a b
check "a value out of range" refused "decode.max_ratio = '1000': expected a number from 0 to 100" info --max-ratio 1000
check "--set without =" refused "--set 'train.seed': expected section.key=value" help --set train.seed

check "too few arguments" refused "train needs more arguments; usage: ferry train CONFIG [--run FOLDER] [--set section.key=value]..." train
check "info" run 0 info
check "info is a table of two columns" awk -F '\t' 'NF != 2 || $1 == "" || $2 == "" { exit 1 }' "$work/out"
check "info tells what computes" out_has '^products	packed '
cp "$work/out" "$work/info"
if command -v taskset >/dev/null && taskset -c 0 true; then
    bound() { env -u OMP_NUM_THREADS taskset -c 0 "$FERRY" info "$@" | grep -qx "threads	$number"; }
    number=1 check "bound to one processor: one thread" bound
    number=3 check "unless threads are asked for" bound --threads 3
fi
check "info says the same where the waiting policy is not set" sh -c "env -u OMP_WAIT_POLICY '$FERRY' info | cmp - '$work/info'"
export FERRY_ISA=none
check "instructions that this machine has not: a warning" run 0 info
check "says so" grep -q '^ferry: warning: FERRY_ISA=none: no such instruction set here; using ' "$work/err"
unset FERRY_ISA
if grep -q '^openblas	not used' "$work/info"; then
    check "products by OpenBLAS, which is not here" run 1 info --matmul openblas
    check "says so" err_has 'train.matmul = openblas: OpenBLAS can.t be found'
else
    check "products by OpenBLAS" run 0 info --matmul openblas
    check "info tells so" out_has '^products	openblas '
fi

# Translations that are there already. The scores are those of sacreBLEU 2.6.0.
printf 'the cat sat on the mat\nhello there world of men\n\nlast line here now yes\n' >"$work/hyp"
printf 'the cat sat on a mat\nhello world of men indeed\n\nlast line now here yes\n' >"$work/ref1"
printf 'a cat  sat on the mat \n\nx\nyes last line here now\n' >"$work/ref2"
scores() { grep -qx "$1" "$work/out" || { cat "$work/out"; return 1; }; }
signed() {
    version=$("$FERRY" --version | cut -d ' ' -f 2)
    [ "$(cat "$work/err")" = "BLEU|nrefs:$1|case:mixed|eff:no|tok:13a|smooth:exp|version:ferry-$version
chrF2|nrefs:$1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:ferry-$version" ]
}
check "translations and a reference" run 0 evaluate --hypothesis "$work/hyp" "$work/ref1"
check "a header" test "$(head -n 1 "$work/out")" = "set	sentences	bleu	chrf	exact"
check "a row" scores 'hyp	4	36.27	61.06	25.00'
check "two lines" test "$(wc -l <"$work/out")" = 2
check "signatures" signed 1
check "two references" run 0 evaluate --hypothesis "$work/hyp" "$work/ref1" "$work/ref2"
check "score better" scores 'hyp	4	72.03	74.60	25.00'
check "signatures tell so" signed 2
check "either of them is right" run 0 evaluate --hypothesis "$work/ref2" "$work/ref1" "$work/ref2" "$work/hyp"
check "exactly" scores 'ref2	4	100.00	65.46	100.00' # the empty line scores 0 with each, and the first counts
head -n 3 "$work/ref2" | gzip >"$work/short.gz"
check "references of other lengths" run 1 evaluate --hypothesis "$work/hyp" "$work/ref1" "$work/short.gz"
check "both are named, with their lines" err_has '/hyp has 4 lines, but .*/short.gz has 3; line n of one must belong to line n'
check "no translation at all" run 1 evaluate --hypothesis /dev/null /dev/null
check "is said" err_has '/dev/null is empty'
check "no reference" refused "--hypothesis needs at least one reference: ferry evaluate --hypothesis FILE REFERENCE..." \
    evaluate --hypothesis "$work/hyp"
check "standard input twice" refused "standard input can be only one of the files" evaluate --hypothesis - -
check "with a model" refused "--hypothesis scores translations that are there already, --model makes them; give one of the two" \
    evaluate --hypothesis "$work/hyp" -m x "$work/ref1"
check "neither a model nor translations" run 2 evaluate
check "both ways are named" err_has 'evaluate needs --model RUN, or --hypothesis FILE'

for command in $("$FERRY" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    check "help $command" run 0 help "$command"
    check "help $command has an example" out_has "^  .*ferry $command"
    check "help $command fits in 120 columns" fits "$work/out" 120
    [ "$command" = help ] && continue
    cp "$work/out" "$work/help"
    check "$command --help" run 0 "$command" --help
    check "$command --help says the same" cmp -s "$work/out" "$work/help"
done

if [ -e /dev/full ]; then
    check "a full disk" full_disk help options
    check "a full disk, little output" full_disk --version
else
    skip "a full disk" "no /dev/full here"
fi
check "closed output" closed --version
check "closed output and errors" closed_both --version

# commented FILE: each key of a configuration stands under a comment
commented() {
    awk '/=/ && !/^#/ && last !~ /^#/ { print FILENAME ":" FNR ": " $0; bad = 1 } { last = $0 } END { exit bad }' "$1"
}
for file in "$(dirname "$0")"/../configs/*.ini; do
    check "each key of $(basename "$file") has a comment" commented "$file"
done

# The reader is gone before we write: SIGPIPE, exit code 141, no message.
mkfifo "$work/fifo"
sh -c 'exec 3<"$1"' - "$work/fifo" &
reader=$!
{ wait "$reader"; "$FERRY" help options 2>"$work/err"; echo $? >"$work/code"; } >"$work/fifo"
check "a pipe without a reader ends us quietly" test "$(cat "$work/code")" = 141
check "a pipe without a reader gets no message" test ! -s "$work/err"

finish
