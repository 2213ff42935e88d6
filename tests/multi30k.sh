#!/bin/sh
# configs/multi30k.sh, every step of it, on a few toy sentences.
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-$PWD/build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(dirname "$0")/../data/toy
recipe=$(dirname "$0")/../configs/multi30k.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
DATA="$work/the data"
RUN="$work/the run"
STEPS=40
FLAGS="--vocab-size 400 --d-model 16 --d-ff 32 --heads 2 --encoder-layers 1 --decoder-layers 1 --batch-tokens 600 --max-extra 5"
DECODE="--beam 2 --max-extra 5"
export FERRY DATA RUN STEPS FLAGS DECODE
mkdir "$DATA"
# cut_text NAME FILE N: N lines of the toy text, both sides
cut_text() {
    for side in en fr; do
        gzip -dc "$toy/$2.$side.gz" | head -n "$3" | gzip >"$DATA/$1.$side.gz"
    done
}
cut_text train train 120
cut_text val valid 20

# recipe: its output in $work/out, messages in $work/err
recipe() {
    "$recipe" >"$work/out" 2>"$work/err" && return
    cat "$work/err"
    return 1
}
says() { grep -q -e "$1" "$work/err" || { cat "$work/err"; return 1; }; }
lines() { wc -l <"$1"; }
differ() { ! cmp -s "$1" "$2"; }

"$recipe" 2>"$work/err"
check "a missing set" test $? = 1
check "is named" says 'the data/test_2016_flickr.en.gz is missing; DATA names'
cut_text test_2016_flickr test 15
cut_text test_other test 10

check "both directions, more text, training, scores" recipe
check "one table" test "$(cut -f1,2 "$work/out" | tail -n +2)" = "set	sentences
val, best checkpoint	20
val, mean of 10	20
test_2016_flickr	15
test_other	10"
check "the tests are translated" test "$(lines "$RUN/test_2016_flickr.fr")" = 15
french=$RUN-forward/train.fr.beam
english=$RUN-backward/train.en
for text in "$french" "$english.beam" "$english.drawn"; do
    check "$(basename "$text") has a line a pair" test "$(lines "$text")" = 120
done
check "what is drawn is something else" differ "$english.beam" "$english.drawn"
# option RUN KEY: the names of files that the run's configuration has there, without their folders
option() { sed -n "s/^$2 = //p" "$RUN$1/config.ini" | sed 's|\\ |_|g; s|[^ ]*/||g'; }
is() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
check "forward" is "$(option -forward train_source) $(option -forward valid_target)" "train.en.gz val.fr.gz"
check "backward" is "$(option -backward train_source) $(option -backward train_target)" "train.fr.gz train.en.gz"
check "and validation, too" is "$(option -backward valid_source) $(option -backward valid_target)" "val.fr.gz val.en.gz"
check "both" is "$(option -both train_source) $(option -both train_target)" "train.en.gz train.fr.gz train.fr.gz train.en.gz"
check "all of the text, source" is "$(option '' train_source)" "train.en.gz train.en.gz train.en.beam train.en.drawn"
check "and target" is "$(option '' train_target)" "train.fr.gz train.fr.beam train.fr.gz train.fr.gz"
check "the model begins with that of both directions" says 'beginning with the weights and the tokenizer of .*the run-both/last'

cp "$work/out" "$work/first"
check "again" recipe
check "trains nothing" says 'the run is finished'
check "makes no text" sh -c "! grep -q '^translating' '$work/err'"
check "and prints the same" cmp "$work/out" "$work/first"
rm -r "$english.drawn" "$RUN"
check "what is missing" recipe
check "is made again, that alone" test "$(grep -c '^translating' "$work/err") $(grep -c 'is finished' "$work/err")" = "1 3"
check "the same" cmp "$work/out" "$work/first"

finish
