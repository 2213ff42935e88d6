# shellcheck shell=sh
# Sourced by the shell tests. Each check prints a line, "ok - NAME" or "not ok - NAME", which tests/run.sh counts.

suite=$(basename "$0" .sh)
n_bad=0

# check NAME COMMAND [ARGUMENT]...: the command must succeed
check() {
    name=$1
    shift
    if "$@"; then
        echo "ok - $suite: $name"
    else
        echo "not ok - $suite: $name"
        n_bad=$((n_bad + 1))
    fi
}

# skip NAME REASON: a check that can't be made here
skip() {
    echo "ok - $suite: $1 # SKIP $2"
}

# A test ends with this.
finish() {
    exit $((n_bad > 0))
}
