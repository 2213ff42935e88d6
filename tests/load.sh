#!/bin/sh
# A long translation: N_LINES (200,000) lines of mixed length by 2 threads. Each must be translated as the same line elsewhere,
# and, for a sample, as alone in its batch; memory must not grow on the way. (make load)
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-build/ferry}
N_LINES=${N_LINES:-200000}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(dirname "$0")/../data/toy
configs=$(dirname "$0")/../configs
different=7001 # lines, again and again
every=$((N_LINES / 20))

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Of sentences: blank lines, single words, sentences, pairs, and now and then a page, or a chapter, which is cut.
gzip -dc "$toy/train.en.gz" | head -n "$different" | awk '
    { s[NR] = $0 }
    END {
        for (i = 1; i <= NR; i++) {
            line = s[i]
            if (i % 10 == 0) line = ""
            if (i % 10 == 1) line = $1 " " i
            if (i % 10 == 2) line = s[i] " " s[i - 1]
            if (i % 1000 == 3) for (k = 1; k <= 30; k++) line = line " " s[k]
            if (i % 1000 == 4) for (k = 1; k <= 600; k++) line = line " " s[k]
            print line
        }
    }' >"$work/different"
awk -v n="$N_LINES" '{ s[NR] = $0 } END { for (i = 0; i < n; i++) print s[i % NR + 1] }' "$work/different" >"$work/lines"

train() {
    "$FERRY" train "$configs/toy.ini" --run "$work/run" --train-source "$toy/train.en.gz" --train-target "$toy/train.fr.gz" \
        --valid-source '' --valid-target '' --d-model 32 --d-ff 64 --heads 2 --encoder-layers 1 --decoder-layers 1 \
        --max-steps 150 --threads 2 2>"$work/err" || { cat "$work/err"; return 1; }
}

# Write the translation to $work/out and a row to $work/memory now and then: lines so far, resident kilobytes.
translate() {
    mkfifo "$work/pipe"
    "$FERRY" translate -m "$work/run" --threads 2 "$work/lines" >"$work/pipe" 2>"$work/err" &
    child=$!
    awk -v every="$every" -v status="/proc/$child/status" '
        { print }
        NR % every == 0 {
            while ((getline row <status) > 0)
                if (row ~ /^VmRSS/) { split(row, field, /[ \t]+/); print NR "\t" field[2] >"/dev/stderr" }
            close(status)
        }' <"$work/pipe" >"$work/out" 2>"$work/memory"
    wait "$child"
}

# Line i, and line i after a round of all different lines, have the same translation.
same_elsewhere() {
    awk -v n="$different" '
        NR <= n { first[NR] = $0; next }
        $0 != first[(NR - 1) % n + 1] { print "line " NR ": " $0; bad = 1; exit }
        END { exit bad }' "$work/out"
}
blank_stays_blank() {
    paste -d '|' "$work/lines" "$work/out" | awk -F '|' '($1 == "") != ($2 == "") { n++ } END { print "# " n + 0 " of them differ"; exit n > 0 }'
}
# every 7th of the different lines, 1,000 of them, each in a batch of its own
alone() {
    awk 'NR % 7 == 0 && n++ < 1000' "$work/different" >"$work/sample"
    awk -v n="$different" 'NR <= n && NR % 7 == 0 && k++ < 1000' "$work/out" >"$work/expected"
    [ "$(wc -l <"$work/sample")" = 1000 ] || return 1
    "$FERRY" translate -m "$work/run" --threads 1 --batch-tokens 1 "$work/sample" 2>"$work/err" | cmp - "$work/expected"
}
many_translations() { [ "$(sort -u "$work/out" | wc -l)" -gt 1000 ]; }
# After the first row at most a hundredth, and half a megabyte, more.
flat() {
    awk '{ print "#   " $1 " lines: " $2 " kB" } NR == 1 { first = $2 } $2 > most { most = $2 }
         END { exit !(NR > 10 && most <= 1.01 * first + 512) }' "$work/memory"
}

check "a short training" train
began=$(date +%s)
check "$N_LINES lines" translate
echo "# $(($(date +%s) - began)) seconds"
check "as many lines come out" test "$(wc -l <"$work/out")" = "$N_LINES"
check "not all alike" many_translations
check "each is translated as the same line elsewhere" same_elsewhere
check "blank lines, and no others, stay blank" blank_stays_blank
check "1,000 of them, alone, give the same bytes" alone
check "memory is bounded and does not grow" flat

finish
