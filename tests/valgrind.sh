#!/bin/sh
# The short life of a tiny model (smoke.sh) under valgrind's memcheck: no invalid access, no use of what was never written, no
# lost block. valgrind has no AVX-512: the AVX2 kernels run. (make valgrind)
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
case $FERRY in /*) ;; *) FERRY=$PWD/$FERRY ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/ferry" <<END
#!/bin/sh
# Unless it is set, the program sets it and starts itself anew, without valgrind.
export OMP_WAIT_POLICY=passive
exec valgrind --log-file="$work/log.%p" --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite "$FERRY" "\$@"
END
chmod +x "$work/ferry"
memcheck="valgrind --log-file=$work/host.%p --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite"

reports() { cat "$work"/log.*; }
checked() { reports | grep -c 'ERROR SUMMARY: 0 errors'; }
errors() { reports | grep 'ERROR SUMMARY: [1-9]' && reports; }
no_errors() { ! errors; }

check "smoke.sh under valgrind" env FERRY="$work/ferry" "$(dirname "$0")/smoke.sh"
check "valgrind found nothing" no_errors
check "in any of the five processes" test "$(checked)" -ge 5
# shellcheck disable=SC2086 # a command and its arguments
check "the library: 8 threads on 2 models for 10 seconds, 30 opens" "$(dirname "$0")/library/soak.sh" 10 30 $memcheck
finish
