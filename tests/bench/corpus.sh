#!/bin/sh
# make bench-corpus: what a corpus larger than memory would cost. MB megabytes of text (2000), made by repeating the toy corpus
# or the one in DATA (train.en.gz, train.fr.gz), are trained on for STEPS steps (30) with configs/toy.ini; beside it the
# original text, which shows what the model itself takes. Prints for both: pairs; seconds from the start to the first step,
# when the vocabulary is learned and the text tokenized, and when training goes on; of both, and of the processors' time in
# them, the seconds per million pairs; and the peak of resident memory, anonymous and of mapped files (sampled ten times a
# second). TMPDIR must have room for twice the text.
set -eu
cd "$(dirname "$0")/../.."
megabytes=${MB:-2000}
steps=${STEPS:-30}
data=${DATA:-data/toy}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

clock() { date +%s.%N; }

# watch PID: the peaks of its memory, in MB, to $work/peak; when it says where it writes, the moment and its processor seconds
# to $work/ready
watch() {
    anonymous=0
    mapped=0
    ready=
    while [ -r "/proc/$1/status" ] && kill -0 "$1" 2>/dev/null; do
        # shellcheck disable=SC2046 # two numbers
        set -- "$1" $(awk '/^RssAnon/ { a = $2 } /^RssFile/ { f = $2 } END { print a + 0, f + 0 }' "/proc/$1/status" 2>/dev/null)
        [ "${2:-0}" -gt "$anonymous" ] && anonymous=$2
        [ "${3:-0}" -gt "$mapped" ] && mapped=$3
        if [ -z "$ready" ] && grep -q 'run folder' "$work/err"; then
            ready=1
            echo "$(clock) $(awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$1/stat")" >"$work/ready"
        fi
        sleep 0.1
    done
    echo "$((anonymous / 1000)) $((mapped / 1000))" >"$work/peak"
}

# train RUN SOURCE TARGET STEPS: prints seconds to the first step, processor seconds, anonymous MB, mapped MB
train() {
    : >"$work/err"
    begun=$(clock)
    ./ferry train configs/toy.ini --run "$work/$1" --train-source "$2" --train-target "$3" --valid-source '' --valid-target '' \
        --tests '' --max-steps "$4" --report-every 1000 2>"$work/err" &
    child=$!
    watch "$child"
    wait "$child" || { cat "$work/err" >&2; exit 1; }
    echo "$begun $(cat "$work/ready") $(cat "$work/peak")" | awk '{ print $2 - $1, $3, $4, $5 }'
}

# row NAME RUN SOURCE TARGET
row() {
    fresh=$(train "$2" "$3" "$4" "$steps")
    pairs=$(sed -n 's/^training: \([0-9]*\) pairs.*/\1/p' "$work/err")
    again=$(train "$2" "$3" "$4" $((2 * steps)))
    echo "$1 $pairs $fresh $again" | awk '{
        m = $2 / 1e6
        anonymous = $5 > $9 ? $5 : $9
        mapped = $6 > $10 ? $6 : $10
        printf "%s\t%d\t%.1f\t%.1f\t%.2f\t%.2f\t%.2f\t%.2f\t%d\t%d\n", $1, $2, $3, $7, $3 / m, $4 / m, $7 / m, $8 / m, \
            anonymous, mapped }'
}

for side in en fr; do gzip -dc "$data/train.$side.gz" >"$work/one.$side"; done
bytes=$(cat "$work/one.en" "$work/one.fr" | wc -c)
times=$((megabytes * 1000000 / bytes + 1))
for side in en fr; do
    i=0
    while [ "$i" -lt "$times" ]; do
        cat "$work/one.$side"
        i=$((i + 1))
    done >"$work/many.$side"
done
printf 'text\tpairs\tstart s\tresume s\tstart s/M\tCPU s/M\tresume s/M\tCPU s/M\tanonymous MB\tmapped MB\n'
row original small "$work/one.en" "$work/one.fr"
row "repeated-$times-times" large "$work/many.en" "$work/many.fr"
du -m "$work/many.en" "$work/many.fr" "$work/large/train.tokens" "$work/large/train.index" | sed "s|$work/||; s/^/# MB /"
