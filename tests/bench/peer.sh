#!/bin/sh
# make bench-peer DATA=folder PEER='command': target tokens a second of Ferry with configs/multi30k.ini and of another program that
# trains the same model, run in turns, so that a machine whose speed drifts is fair to both. DATA holds train.en.gz and
# train.fr.gz; PEER is a shell command whose output has "target_tokens/s NUMBER". FLAGS are more flags for ferry, STEPS how many
# steps it trains (60), TURNS how many turns (5). Prints a row a turn, and the medians with their ratio.
set -eu
: "${DATA:?the folder of the corpus: make bench-peer DATA=folder PEER=command}"
: "${PEER:?the command to run beside ferry: make bench-peer DATA=folder PEER=command}"
cd "$(dirname "$0")/../.."
steps=${STEPS:-60}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The rate of the last row: the first $report steps, in which memory is taken, are left out.
ferry_rate() {
    rm -rf "$work/run"
    # shellcheck disable=SC2086 # FLAGS are words
    ./ferry train configs/multi30k.ini --run "$work/run" --train-source "$DATA/train.en.gz" --train-target "$DATA/train.fr.gz" \
        --valid-source= --valid-target= --max-steps "$steps" --report-every $((steps / 2)) --checkpoint-every 1000000 ${FLAGS:-} \
        2>"$work/err" || { cat "$work/err" >&2; exit 1; }
    awk -F '\t' 'NR == 1 { while ($++i != "tokens_per_s"); } END { print $i }' "$work/run/log.tsv"
}
peer_rate() { sh -c "$PEER" 2>&1 | sed -n 's/.*target_tokens\/s \([0-9.]*\).*/\1/p' | tail -n 1; }
median() { sort -n | awk '{ x[NR] = $1 } END { printf "%.0f (%.0f to %.0f)", x[int((NR + 1) / 2)], x[1], x[NR] }'; }

printf 'turn\tferry\tpeer\tratio\n'
for turn in $(seq "${TURNS:-5}"); do
    ours=$(ferry_rate)
    theirs=$(peer_rate)
    echo "$ours" >>"$work/ours"
    echo "$theirs" >>"$work/theirs"
    awk -v a="$ours" -v b="$theirs" -v t="$turn" 'BEGIN { r = a / b; printf "%d\t%.0f\t%.0f\t%.2f\n", t, a, b, r; print r >"/dev/stderr" }' 2>>"$work/ratios"
done
printf 'median\tferry %s\tpeer %s\tratio ' "$(median <"$work/ours")" "$(median <"$work/theirs")"
sort -n "$work/ratios" | awk '{ x[NR] = $1 } END { printf "%.2f (%.2f to %.2f)\n", x[int((NR + 1) / 2)], x[1], x[NR] }'
