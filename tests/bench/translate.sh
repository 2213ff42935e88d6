#!/bin/sh
# make bench-translate RUN=folder DATA=folder PEER=script: greedy translation by Ferry and by a PyTorch program that is given
# the same weights and the same tokens (tests/bench/torch_translate.py), run in turns, so that a machine whose speed drifts
# is fair to both. Since both should then write the same translations, it also prints how many are.
#   RUN     the run folder of a trained model (copy it first if it is still being trained)
#   SOURCE  the text (default: test_2016_flickr.en.gz in DATA), plain or .gz, up to 4,000 lines
#   PEER    the PyTorch program; PYTHON (python3) runs it, PEER_BATCH sentences (64) at a time on PEER_THREADS (all cores)
#   TURNS   how many turns (5); SET and PRECISION are for Ferry alone: SET="decode.batch_tokens=8192"
# On a busy machine, OMP_WAIT_POLICY=passive in the environment keeps the peer's threads from waiting for each other forever.
set -eu
: "${RUN:?the run folder of a trained model: make bench-translate RUN=folder DATA=folder PEER=script}"
: "${PEER:?the PyTorch program to run beside ferry: make bench-translate RUN=folder DATA=folder PEER=script}"
: "${SOURCE:=${DATA:?the folder of the corpus, or SOURCE=file}/test_2016_flickr.en.gz}"
cd "$(dirname "$0")/../.."
bench=${BENCH:-build/tests/bench/bench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Both have OpenBLAS at its best kernel for this CPU, whatever the environment says.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
blas=$(./ferry info | sed -n 's/^openblas	\([A-Za-z]*\)$/\1/p')
[ -d "$RUN" ] || { echo "RUN=$RUN is no run folder" >&2; exit 2; }
checkpoint=$RUN/best
[ -e "$checkpoint" ] || checkpoint=$RUN/last

gzip -dcf "$SOURCE" >"$work/source"
RUN=$RUN TSV='' $bench vocabulary >"$work/vocabulary"
./ferry tokenize -m "$RUN" "$work/source" >"$work/tokens"

ours() { RUN=$RUN SOURCE=$work/source OUTPUT=$work/ours TSV='' REPEAT=1 $bench translate; }
theirs() {
    ${blas:+env OPENBLAS_CORETYPE="$blas"} "${PYTHON:-python3}" tests/bench/torch_translate.py "$PEER" "$checkpoint" \
        "$work/vocabulary" "$work/tokens" "$work/their_tokens"
}
rate() { sed -n 's/.*sentences\/s \([0-9.]*\).*/\1/p'; }
median() { sort -n | awk -v f="$1" '{ x[NR] = $1 } END { m = (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2
                                     printf f " (" f " to " f ")", m, x[1], x[NR] }'; }

printf 'greedy translation of the same %s sentences with the same weights; ferry: text to text; peer: tokens to tokens\n' \
    "$(wc -l <"$work/source")"
printf 'turn\tferry sentences/s\tpeer sentences/s\tratio\n'
for turn in $(seq "${TURNS:-5}"); do
    ours >"$work/our_line"
    theirs >"$work/their_line"
    a=$(rate <"$work/our_line")
    b=$(rate <"$work/their_line")
    echo "$a" >>"$work/our_rates"
    echo "$b" >>"$work/their_rates"
    awk -v a="$a" -v b="$b" 'BEGIN { print a / b }' >>"$work/ratios"
    printf '%d\t%.0f\t%.0f\t%.1f\n' "$turn" "$a" "$b" "$(tail -n 1 "$work/ratios")"
done
./ferry detokenize -m "$RUN" "$work/their_tokens" >"$work/theirs"
printf 'median\tferry %s\tpeer %s\tratio %s\n' "$(median %.0f <"$work/our_rates")" "$(median %.0f <"$work/their_rates")" \
    "$(median %.1f <"$work/ratios")"
echo "ferry: $(cat "$work/our_line")"
echo "peer: $(cat "$work/their_line") openblas ${blas:-unknown}"
awk 'NR == FNR { ours[FNR] = $0; next }
     { same += ours[FNR] == $0 }
     END { printf "%d of %d translations are the same\n", same, FNR }' "$work/ours" "$work/theirs"
