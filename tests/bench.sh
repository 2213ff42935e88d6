#!/bin/sh
# The bench as an instrument: its rows must account for the whole step, whatever the machine's speed. (What it measures is no
# matter for a test.)
# shellcheck disable=SC2317 # the functions are called through check
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/.." || exit 1
BENCH=${BUILD:-build}/tests/bench/bench

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/tiny.ini" <<END
[data]
vocab_size = 300
[model]
d_model = 16
d_ff = 32
heads = 2
encoder_layers = 1
decoder_layers = 2
norm = pre
[train]
batch_tokens = 300
accumulate = 2
END

measure() {
    SHAPES=$work/tiny.ini THREADS=2 REPEAT=1 STEP_SECONDS=0 SET='' PRECISION='' TSV=$work/tsv \
        "$BENCH" train >"$work/out" 2>&1 && return
    cat "$work/out"
    return 1
}

# near A B: they differ by less than one in ten thousand
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a - b < 1e-4 * b && b - a < 1e-4 * b) }'; }

# of UNIT QUANTITY: the value in that row; total UNIT PATTERN: their sum over the rows whose quantity matches
of() { awk -F '\t' -v s="$work/tiny.ini" -v u="$1" -v q="$2" '$1 == s && $4 == u && $3 == q { print $5 }' "$work/tsv"; }
total() {
    awk -F '\t' -v s="$work/tiny.ini" -v u="$1" -v q="$2" '$1 == s && $4 == u && $3 ~ q { t += $5 } END { print t }' \
        "$work/tsv"
}
# rows PATTERN: how many have seconds and a quantity that ends so
rows() { cut -f3,4 "$work/tsv" | grep -c "$1	s\$"; }
# operations of all ops: each one's rate times its seconds
operations() {
    awk -F '\t' -v s="$work/tiny.ini" '$1 != s || $3 !~ /ward$/ { next } $4 == "s" { seconds[$3] = $5 }
        $4 == "GFLOP/s" { n += $5 * seconds[$3] } END { print n }' "$work/tsv"
}

check "a tiny model is measured" measure
check "the parts' times sum up to the step" near "$(total s '(ward|batch, zeros|between ops|norm, Adam)$')" "$(of s step)"
check "each op has both directions" test "$(rows forward)" = "$(rows backward)"
for op in embedding linear attention projection_loss; do check "there is the op $op" test "$(rows "$op backward")" = 1; done
check "the ops' operations sum up to the step's" near "$(operations)" \
    "$(awk -v a="$(of GFLOP/s step)" -v b="$(of s step)" 'BEGIN { print a * b }')"

finish
