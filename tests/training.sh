# shellcheck shell=sh disable=SC2154 # $work is set where this is sourced
# Sourced by the shell tests that train, which define `begin` (it becomes the process that trains) and $work.

# train CODE RUN [FLAG]...: ends with this exit code; messages in $work/err
train() {
    wanted=$1
    shift
    # shellcheck disable=SC2034 # begin's
    (limit="timeout -s KILL 300" && begin "$@") 2>"$work/err" # one that hangs has failed
    code=$?
    [ "$code" = "$wanted" ] && return
    echo "exit code $code, not $wanted"
    cat "$work/err"
    return 1
}
says() { grep -q -e "$1" "$work/err" || { cat "$work/err"; return 1; }; }
