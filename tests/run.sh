#!/bin/sh
# Runs all tests of $BUILD (default: build): the libcheck runners and the shell tests. Prints what they print, and at
# the end one line, "N passed, N failed". Fails if a test failed or none ran. To add a shell test, add its name here.
# WITHOUT: shell tests left out.
shell_tests="includes docs make install cli smoke options translate library train folder corpora resume faults
    average multi30k toy_spelling bench"

# Who started this may ignore signals that the tests send (nohup, a shell's background job), which a shell can't undo.
if [ -z "${SIGNALS_RESET:-}" ] && env --default-signal true 2>/dev/null; then
    SIGNALS_RESET=yes exec env --default-signal=HUP,INT,TERM,PIPE "$0" "$@"
fi

cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
FERRY=$PWD/$BUILD/ferry
case $BUILD in /*) FERRY=$BUILD/ferry ;; esac
CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-120} # seconds a test; a busy machine is no failure
# GNU OpenMP's threads wait by spinning, which on a busy machine makes small parallel regions a thousand times slower.
OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
export BUILD FERRY CK_DEFAULT_TIMEOUT OMP_WAIT_POLICY

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
skipped=0

# run COMMAND [ARGUMENT]...: its output to the terminal and to $work/log, its exit code to $status
run() {
    { "$@" 2>&1; echo $? >"$work/status"; } | tee "$work/log"
    status=$(cat "$work/status")
}

# count PATTERN: lines of the log that match
count() { grep -c -e "$1" "$work/log"; }

# account NAME PASSED FAILED SKIPPED: add up; a test that fails, or does nothing, and doesn't say so, has failed too
account() {
    passed=$((passed + $2))
    failed=$((failed + $3))
    skipped=$((skipped + $4))
    if [ "$3" -gt 0 ] || { [ "$status" = 0 ] && [ $(($2 + $4)) -gt 0 ]; }; then return; fi
    echo "not ok - $1 ended with exit code $status after $2 checks"
    failed=$((failed + 1))
}

for runner in "$BUILD/tests/run32" "$BUILD/tests/run64"; do
    echo "== $runner"
    run "$runner"
    # "97%: Checks: 40, Failures: 1, Errors: 0"
    counts=$(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' "$work/log")
    # shellcheck disable=SC2086 # three numbers, or none
    set -- ${counts:-0 0 0}
    account "$runner" $(($1 - $2 - $3)) $(($2 + $3)) 0
done
for name in $shell_tests; do
    case " ${WITHOUT:-} " in *" $name "*) continue ;; esac
    echo "== tests/$name.sh"
    run "tests/$name.sh"
    n_skipped=$(count '^ok .*# SKIP')
    account "tests/$name.sh" $(($(count '^ok ') - n_skipped)) "$(count '^not ok ')" "$n_skipped"
done

if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
