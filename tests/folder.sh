#!/bin/sh
# The run folder: what isn't Ferry's stays; what is refused leaves everything as it was; links that were lost; the folder
# in place of a configuration; standard input that is another one; what a resumed run is warned of.
# shellcheck disable=SC2317 # the functions are called through check
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(dirname "$0")/../data/toy
configs=$(realpath "$(dirname "$0")/../configs")
FERRY=$(realpath "$FERRY")

limit=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for side in en fr; do
    gzip -dc "$toy/train.$side.gz" | head -n 100 >"$work/train.$side"
    gzip -dc "$toy/train.$side.gz" | tail -n 100 >"$work/other.$side"
    gzip -dc "$toy/valid.$side.gz" | head -n 4 >"$work/valid.$side"
done
paste "$work/train.en" "$work/train.fr" >"$work/pairs"
paste "$work/other.en" "$work/other.fr" >"$work/other"

# begin RUN [FLAG]...: becomes a process that trains a tiny model in the folder $work/RUN
shape="--vocab-size 300 --d-model 8 --d-ff 8 --heads 1 --encoder-layers 1 --decoder-layers 1 --batch-tokens 300
    --warmup 4 --validate-every 2 --checkpoint-every 2 --report-every 1 --max-extra 2 --max-ratio 1 --tests="
begin() {
    folder=$work/$1
    shift
    # shellcheck disable=SC2086 # a command and its argument, or nothing; a list of words
    exec $limit "$FERRY" train "$configs/toy.ini" --run "$folder" \
        --train-source "$work/train.en" --train-target "$work/train.fr" \
        --valid-source "$work/valid.en" --valid-target "$work/valid.fr" $shape "$@"
}
# shellcheck source=tests/training.sh
. "$(dirname "$0")/training.sh"
# ferry CODE ARGUMENT...
ferry() {
    wanted=$1
    shift
    "$FERRY" "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    [ "$code" = "$wanted" ] && return
    echo "ferry $*: exit code $code, not $wanted"
    cat "$work/err"
    return 1
}
# picture RUN: all that there is to see of the folder and its files
picture() { (cd "$work/$1" && ls -liA --time-style=full-iso && cat -- * 2>/dev/null | cksum); }
# untouched CODE MESSAGE RUN [FLAG]...: training ends so, and the folder is as it was
untouched() {
    wanted_code=$1 message=$2 run=$3
    shift 3
    picture "$run" >"$work/before"
    train "$wanted_code" "$run" "$@" && says "$message" && picture "$run" | diff "$work/before" -
}
# nothing CODE MESSAGE [FLAG]...: training ends so, and there is no folder, nor the one above it
nothing() {
    wanted_code=$1 message=$2
    shift 2
    train "$wanted_code" new/run "$@" && says "$message" && ! [ -e "$work/new" ]
}

# ---- nobody else's files are touched ----

check "four steps" train 0 run --max-steps 4
check "of another tokenizer" train 0 other-run --max-steps 2 --vocab-size 290
cd "$work/run" || exit 1
for name in thesis.tex.tmp-20241201 average.safetensors.tmp-99 config.ini.tmp-x .tmp-7; do echo mine >"$name"; done
for name in checkpoint-00000004.safetensors train.tokens valid-00000004.txt last config.ini; do
    echo half >"$name.tmp-99"
done
cd "$work" || exit 1
check "a refused training leaves the half-written files of a killed one" \
    untouched 2 'train.dropout: 0.05, now 0.3' run --dropout 0.3
check "one that goes on" train 0 run --max-steps 5
check "removes them" test "$(cd run && echo ./*.tmp-*)" = \
    './average.safetensors.tmp-99 ./config.ini.tmp-x ./thesis.tex.tmp-20241201'
check "but none of other names" test "$(cat run/*.tmp-* run/.tmp-7 | tr '\n' ' ')" = 'mine mine mine mine '
rm run/thesis* run/average* run/config.ini.tmp-x run/.tmp-7

# new_in FILE CODE MESSAGE: a new training in a folder with that file is refused, and the file stays
new_in() {
    rm -rf "$work/mine"
    mkdir -p "$work/mine" && echo mine >"$work/mine/$1" && untouched "$2" "$3" mine --max-steps 2
}
check "a folder with a configuration of one's own" new_in config.ini 2 'mine holds config.ini, which no training'
check "with a log" new_in log.tsv 2 'holds log.tsv'
check "with a file that is called best" new_in best 2 'holds best'
check "with pairs.txt" new_in pairs.txt 2 'holds pairs.txt'
check "with a model, which needs its tokenizer" new_in average.safetensors 2 \
    'mine holds average.safetensors but no checkpoint to go on from.*(--run).*(--init-from .*mine/average.safetensors)'
rm -rf mine
mkdir mine
echo mine >mine/notes.txt
check "a folder with other files" train 0 mine --max-steps 2
check "which stay" test "$(cat mine/notes.txt)" = mine
cp -R run killed
rm killed/checkpoint* killed/last killed/best
check "a run that was killed before its first checkpoint" train 0 killed --max-steps 2
check "begins anew" sh -c "! grep 'going on' '$work/err'"

# ---- what is refused leaves everything as it was ----

check "another text" untouched 1 'the training text is not the one' run --max-steps 9 \
    --train-source other.en --train-target other.fr
check "the token store is that of the old one" train 0 run --max-steps 6
check "texts of different lengths" untouched 1 'lines but' run --max-steps 9 --train-source valid.en
check "validation texts of different lengths" untouched 1 'has 100 lines, .* 4; line n of one' run --max-steps 9 \
    --valid-source train.en
check "a set that isn't there" untouched 1 'nowhere can.t be read.*data.tests' run --max-steps 9 \
    --tests x=nowhere,valid.fr
cp -R run wrong
cp other-run/tokenizer.bpe wrong
check "another tokenizer" untouched 1 'is not the tokenizer' wrong --max-steps 9
rm wrong/lock
check "a copy without its lock" untouched 1 'is not the tokenizer' wrong --max-steps 9
# shellcheck disable=SC3045 # dash and bash have it
little() (ulimit -v 100000 && OMP_NUM_THREADS=2 && export OMP_NUM_THREADS && "$@")
if ! little "$FERRY" help >/dev/null 2>&1; then
    skip "too little memory" "not even help fits into 100 MB here (a sanitizer's build)"
else
    check "too little memory" little untouched 1 'training may need' run --max-steps 9
    check "for a new run: no folder" little nothing 1 'training may need' --max-steps 9
fi
check "a new run without its text: no folder" nothing 1 'nowhere can.t be read' --train-source nowhere
check "with a text that ends too soon" nothing 1 'lines but' --train-source valid.en
check "with a validation text that does" nothing 1 'has 100 lines, .* 4; line n of one' --valid-source train.en
gzip -c pairs | head -c 1500 >cut.gz
check "with a gzip file that is cut off" nothing 1 'cut off' --train-pairs cut.gz --train-source '' --train-target ''
check "with --init-from nowhere" nothing 1 'train.init_from: there is no model' --init-from nowhere
check "with --init-from another model" nothing 2 'model.d_model: 8, now 16' --init-from run --d-model 16
check "with no pair that is short enough" nothing 1 'no pair is left' --max-length 1
check "with pairs without a tab" nothing 1 'standard input: .*line 1: there is no tab' \
    --train-source '' --train-target '' --train-pairs - <train.en
# shellcheck disable=SC3045 # dash and bash have it; in blocks of 512 or 1024 bytes
full() (ulimit -f 1 && nothing 1 'File too large')
check "on a disk that is full when the folder is set up" full

mean() { ferry "$1" average -m run last "$2" -o new/m.safetensors && [ ! -e new ]; }
check "a mean that can't be: no folder" mean 1 other-run/last
head -c 3000 run/last >run/cut.safetensors
check "of a damaged checkpoint" mean 1 cut.safetensors
rm run/cut.safetensors
# shellcheck disable=SC3045
full_mean() (ulimit -f 1 && mean 1 checkpoint-00000004.safetensors)
check "on a full disk" full_mean
mkdir -p there/deep
full_mean_there() (ulimit -f 1 && ferry 1 average -m run last -o there/deep/m.safetensors && [ -z "$(ls there/deep)" ])
check "in a folder that is there: it stays, and is empty" full_mean_there

# ---- another run's weights ----

tagged="--train-source tagged.en --valid-source tagged.valid"
sed 's/^/<2fr> /' train.en >tagged.en
sed 's/^/<2fr> /' valid.en >tagged.valid
# shellcheck disable=SC2086 # flags
check "a run with a symbol" train 0 tagged --max-steps 2 $tagged --symbols '<2fr>'
check "--init-from a run without" nothing 2 'data.symbols: nothing, now <2fr>' --init-from run --symbols '<2fr>'
check "or without it from one with" nothing 2 'data.symbols: <2fr>, now nothing' --init-from tagged
check "or with tokenized text" nothing 2 'data.tokenized: no, now yes' --init-from run --tokenized yes
# shellcheck disable=SC2086
check "with the same symbol it begins" train 0 tagged-2 --max-steps 2 $tagged --symbols '<2fr>' --init-from tagged

# ---- links ----

translation() { ferry 0 translate -m "$@" valid.en --max-extra 2 --max-ratio 1 && cat out >"$work/translated"; }
# like RUN MODEL: it translates as MODEL does
like() { translation "$2" && mv translated wanted && translation "$1" && cmp wanted translated; }
# falling CODE RUN STEPS: training in which an early checkpoint is the best
falling() { train "$1" "$2" --max-steps "$3" --best loss --learning-rate 2 --keep 9; }
check "a run whose best isn't its last" falling 0 links 8
best=$(readlink links/best)
[ "$best" != "$(readlink links/last)" ] || best=none
check "isn't its last" test -e "links/$best"
cp -R links files
for name in last best; do
    rm "files/$name"
    readlink "links/$name" | tr -d '\n' >"files/$name" # as an archive without links unpacks them
done
check "links that became files: translate takes the best" like files "links/$best"
check "or the last by its name" like files/last links/last
check "average knows them" ferry 0 average -m files last best -o files/two.safetensors
ferry 0 average -m links last best -o links/two.safetensors
check "as it knows links" cmp files/two.safetensors links/two.safetensors
rm files/two.safetensors links/two.safetensors
check "so does --init-from" train 0 child --init-from files/last --max-steps 1 --learning-rate 0
check "training goes on" falling 0 files 10
check "and makes links again" test "$(readlink files/last)" = checkpoint-00000010.safetensors
cp -R links lost
rm lost/last lost/best
check "links that are lost: translate takes the best" like lost "links/$best"
check "and says so" says "warning: the link 'best' is missing in lost; $best is taken"
check "or the last by its name" like lost/last links/last
check "or the last if the best is gone" sh -c "mv 'lost/$best' gone"
check "that is" like lost links/last
mv gone "lost/$best"
check "average" ferry 0 average -m lost last
check "evaluate" ferry 0 evaluate -m lost valid.en valid.fr
check "training makes them again" falling 0 lost 8
check "both" test "$(readlink lost/best) $(readlink lost/last)" = "$best checkpoint-00000008.safetensors"
cp -RL links copied
check "copies in place of links" like copied "links/$best"
check "a run that goes on makes links of them" falling 0 copied 9
check "to the newest" test "$(readlink copied/last)" = checkpoint-00000009.safetensors
mkdir empty
check "a folder without checkpoints" ferry 1 translate -m empty
check "has none yet" says 'empty has no checkpoint yet'

# ---- a run folder in place of a configuration ----

check "six steps" train 0 again --max-steps 6
check "the folder goes on" ferry 0 train again --max-steps 7
check "from there" says 'going on from step 6'
check "with a slash behind it" ferry 0 train again/ --max-steps 8
check "so does its configuration" ferry 0 train again/config.ini --max-steps 9
check "in that run" test "$(readlink again/last)" = checkpoint-00000009.safetensors
inside() (cd again && ferry 0 train config.ini --max-steps 10)
check "also from within" inside
check "another folder by --run" ferry 0 train again --run once-more --max-steps 1
check "is a new run" test "$(readlink once-more/last)" = checkpoint-00000001.safetensors
check "no other folder came of it" test ! -e runs
check "a folder that is none" ferry 2 train there
check "is told" says 'there is a folder without a config.ini'
mkdir own
cp again/config.ini own/config.ini
sed -i 1d own/config.ini
check "a configuration of that name that is no run's" ferry 0 train own/config.ini --max-steps 1
check "trains into runs/config" test -e runs/config/last
check "the folder itself would be written over" ferry 2 train own --max-steps 1
check "which is told" says 'own holds config.ini'

# ---- standard input ----

stdin() { train "$1" stdin --train-source '' --train-target '' --train-pairs - --max-steps "$2"; }
check "pairs from standard input" stdin 0 2 <pairs
tokens=$(stat -c %i stdin/train.tokens)
check "the same again" stdin 0 3 <pairs
check "is compared" says 'standard input is compared with .*stdin/pairs.txt'
check "nothing: the copy is there" stdin 0 4 </dev/null
check "closed: likewise" stdin 0 5 <&-
check "the text isn't tokenized again" test "$(stat -c %i stdin/train.tokens)" = "$tokens"
picture stdin >before
check "another text" stdin 1 6 <other
check "is refused" says 'standard input is not the text.*stdin/pairs.txt.*(--run)'
head -n 50 pairs >part
check "so is a part of it" stdin 1 6 <part
{ cat pairs; head -n 1 pairs; } >longer
check "and more than it" stdin 1 6 <longer
check "and nothing has changed" sh -c "$(cat <<'END'
cd "$0/stdin" && { ls -liA --time-style=full-iso && cat -- * 2>/dev/null | cksum; } | diff "$0/before" -
END
)" "$work"

# ---- a search that isn't the one before ----

check "a run" train 0 search --max-steps 2
check "goes on with the same search" train 0 search --max-steps 3
check "without a word" sh -c "! grep warning '$work/err'"
check "with another" train 0 search --max-steps 5 --beam 3 --set decode.batch_tokens=100
check "which is told" says 'warning: .*checkpoint-00000003.* was validated by another search: new scores don.t compare'
check "by name" says '^  decode.beam: 1, now 3$'
check "and that alone" test "$(grep -c '^  ' err)" = 1
check "the next time it is the same" train 0 search --max-steps 6 --beam 3
check "again without a word" sh -c "! grep warning '$work/err'"
check "a run without validation" train 0 blind --max-steps 2 --valid-source '' --valid-target ''
check "doesn't care" train 0 blind --max-steps 3 --valid-source '' --valid-target '' --beam 3
check "nor says so" sh -c "! grep warning '$work/err'"

finish
