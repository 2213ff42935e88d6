#!/bin/sh
# make bench-translate RUN=folder DATA=folder PEER=script: translation by Ferry, greedy and with beam 5, and greedy by a PyTorch
# program that is given the same weights and the same tokens (tests/bench/torch_translate.py), run in turns, so that a machine
# whose speed drifts is fair to all. Since both should find the same greedily, it also prints how many translations are.
#   RUN     the run folder of a trained model (copy it first if it is still being trained)
#   SOURCE  the text (default: test_2016_flickr.en.gz in DATA), plain or .gz, up to 4,000 lines
#   PEER    the PyTorch program; PYTHON (python3) runs it, PEER_BATCH sentences (64) at a time
#   THREADS numbers of threads, for both ("1 2": one, and all cores); TURNS: how many turns with each (5)
#   SET and PRECISION are for Ferry alone: SET="decode.batch_tokens=8192"
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

# ours BEAM
ours() {
    RUN=$RUN SOURCE=$work/source OUTPUT=$work/ours.$1 TSV='' REPEAT=1 \
        SET="train.threads=$threads decode.beam=$1 ${SET:-}" $bench translate >"$work/our_line.$1"
}
theirs() {
    env ${blas:+OPENBLAS_CORETYPE="$blas"} PEER_THREADS="$threads" "${PYTHON:-python3}" tests/bench/torch_translate.py "$PEER" \
        "$checkpoint" "$work/vocabulary" "$work/tokens" "$work/their_tokens" >"$work/their_line"
}
rate() { sed -n 's/.*sentences\/s \([0-9.]*\).*/\1/p' "$1"; }
# median COLUMN FORMAT: of the turns
median() {
    cut -f"$1" "$work/turns" | sort -n | awk -v f="$2" '{ x[NR] = $1 }
        END { m = (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2; printf f " (" f " to " f ")", m, x[1], x[NR] }'
}

cores=$(nproc)
[ "$cores" -gt 1 ] && all="1 $cores" || all=1
printf '%s sentences, the same weights; ferry: text to text; peer: tokens to tokens, greedy\n' "$(wc -l <"$work/source")"
for threads in ${THREADS:-$all}; do
    printf '\nthreads %d, sentences/s\nturn\tgreedy\tbeam 5\tpeer\tgreedy/peer\tbeam 5/peer\n' "$threads"
    : >"$work/turns"
    for turn in $(seq "${TURNS:-5}"); do
        ours 1
        ours 5
        theirs
        printf '%d\t%.0f\t%.0f\t%.0f\n' "$turn" "$(rate "$work/our_line.1")" "$(rate "$work/our_line.5")" "$(rate "$work/their_line")" |
            awk -F '\t' -v OFS='\t' '{ print $0, $2 / $4, $3 / $4 }' >>"$work/turns"
        tail -n 1 "$work/turns" | awk -F '\t' -v OFS='\t' '{ $5 = sprintf("%.1f", $5); $6 = sprintf("%.1f", $6); print }'
    done
    printf 'median\t%s\t%s\t%s\t%s\t%s\n' "$(median 2 %.0f)" "$(median 3 %.0f)" "$(median 4 %.0f)" "$(median 5 %.1f)" "$(median 6 %.1f)"
done
./ferry detokenize -m "$RUN" "$work/their_tokens" >"$work/theirs"
printf '\nferry greedy: %s\nferry beam 5: %s\n' "$(cat "$work/our_line.1")" "$(cat "$work/our_line.5")"
echo "peer: $(cat "$work/their_line") openblas ${blas:-unknown}"
awk 'NR == FNR { ours[FNR] = $0; next }
     { same += ours[FNR] == $0 }
     END { printf "%d of %d greedy translations are the same\n", same, FNR }' "$work/ours.1" "$work/theirs"
