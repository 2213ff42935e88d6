#!/bin/sh
# tests/fuzz/run.sh TARGET MINUTES: libFuzzer on one target, one process, at low priority. Prints what it did; if it finds a
# fault, what it is and the input, and fails.
target=$1
minutes=$2
cd "$(dirname "$0")/../.." || exit 1
mkdir -p "$BUILD/corpus/$target"
log=$BUILD/fuzz-$target.log
if ! nice "$BUILD/fuzz-$target" -max_total_time="$(awk "BEGIN { print int(60 * $minutes) }")" -max_len=4096 -timeout=20 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$BUILD/$target-" "$BUILD/corpus/$target" \
    "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    tail -n 60 "$log"
    exit 1
fi
awk -v target="$target" '
    /cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
    /number_of_executed_units/ { runs = $2 }
    /Done .* runs in/ { seconds = $(NF - 1) }
    END { printf "%-12s %10d inputs in %d s, %d edges covered, no fault\n", target, runs, seconds, cov }' "$log"
