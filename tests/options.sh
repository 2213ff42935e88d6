#!/bin/sh
# Wrong options, configurations and tokenizer files: an error at once, exit code 2, nothing on standard output, nothing
# written. And what is no mistake: decimal commas of the locale, other folders, runs that were moved.
# shellcheck disable=SC2317,SC2016 # the functions are called through check; sed and sh -c see the dollars
FERRY=${FERRY:-build/ferry}
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
repository=$(cd "$(dirname "$0")/.." && pwd)
case $FERRY in /*) ;; *) FERRY=$PWD/$FERRY ;; esac

outside=$(mktemp -d)
work=$outside/work
trap 'rm -rf "$outside"' EXIT
mkdir -p "$work/texts"
cd "$work" || exit 1
for side in en fr; do
    gzip -dc "$repository/data/toy/train.$side.gz" | head -n 40 >"texts/train.$side"
    gzip -dc "$repository/data/toy/valid.$side.gz" | head -n 4 >"texts/valid.$side"
done
cat >tiny.ini <<'END'
[data]
train_source = texts/train.en
train_target = texts/train.fr
valid_source = texts/valid.en
valid_target = texts/valid.fr
vocab_size = 300
[model]
d_model = 8
d_ff = 8
heads = 2
encoder_layers = 1
decoder_layers = 1
[train]
batch_tokens = 300
max_steps = 2
validate_every = 1
learning_rate = 0.001
[decode]
max_ratio = 0.5
END
printf 'max_extra = 2' >>tiny.ini # no newline at the end

# All files here, with their contents.
state() { find . -type f -exec cksum {} + | sort && find . ! -type f | sort; }

# ferry CODE ARGUMENT...: its output in $outside
ferry() {
    code=$1
    shift
    "$FERRY" "$@" >"$outside/out" 2>"$outside/err" </dev/null
    got=$?
    [ "$got" = "$code" ] && return
    echo "ferry $*: exit code $got, not $code"
    cat "$outside/err"
    return 1
}
says() { grep -q -e "$1" "$outside/err" || { cat "$outside/err"; return 1; }; }
# refused MESSAGE ARGUMENT...
refused() {
    message=$1
    shift
    state >"$outside/before"
    ferry 2 "$@" && says "$message" && [ ! -s "$outside/out" ] && state | cmp -s - "$outside/before" && return
    echo "ferry $*"
    return 1
}
# train_refused MESSAGE FLAG...
train_refused() {
    message=$1
    shift
    refused "$message" train tiny.ini --run new "$@"
}
# config_refused MESSAGE TEXT: a configuration of this text (printf format)
config_refused() {
    # shellcheck disable=SC2059 # it is a format
    printf "$2" >bad.ini
    refused "$1" train bad.ini --run new
}

# ---- names ----

check "an unknown command" refused "unknown command 'trian'; did you mean 'train'" trian tiny.ini
check "an unknown flag" train_refused "unknown flag '--learning-rat'; did you mean '--learning-rate'" --learning-rat 1
check "a flag of another command" refused "unknown flag '--run'" translate -m x --run y
check "an unknown option" train_refused "unknown option 'train.warmpu'; did you mean 'train.warmup'" --set train.warmpu=1
check "the right name in the wrong section" train_refused "did you mean 'model.heads'" --set train.heads=2
check "an unknown key" config_refused "bad.ini:3: unknown option 'train.maxsteps'; did you mean 'train.max_steps'" \
    '[train]\nseed = 1\nmaxsteps = 2'
check "an unknown section" config_refused "^ferry: bad.ini:2: unknown section 'trian'; did you mean 'train'" \
    '[trian]\nseed = 1'
check "a name like nothing" config_refused "bad.ini:2: unknown option 'train.zzzzzz'; 'ferry help options'" '[train]\nzzzzzz = 1'
check "a key before any section" config_refused "bad.ini:1: .*before the first" 'seed = 1\n'
check "a key twice" config_refused "bad.ini:3: train.seed is set in line 2 already" '[train]\nseed = 1\nseed = 2\n'
check "a section that isn't closed" config_refused "bad.ini:1: .*closing" '[train\nseed = 1\n'
check "no key" config_refused "bad.ini:2: expected 'key = value'" '[train]\n= 1\n'
check "no value at all" config_refused "bad.ini:2: expected 'key = value'" '[train]\nseed\n'
check "a zero byte" config_refused "bad.ini:2: a zero byte" '[train]\nse\0ed = 1\n'
check "no configuration" refused "cannot open the configuration nothing.ini" train nothing.ini
check "a folder for a configuration" refused "texts is a folder without a config.ini" train texts

# ---- values ----

# Every option but the texts refuses all of these. The names are those of the help.
no_value="'' ' ' x 1x 0x10 1,5 1e999 inf nan -7 1.5.5"
all_refuse() {
    "$FERRY" help options | sed -n -e 's/^\[\(.*\)\]$/[\1/p' -e 's/^  \([a-z0-9_][a-z0-9_]*\)  .*/\1/p' >"$outside/names"
    n_refused=0
    state >"$outside/before"
    while read -r option; do
        case $option in
        \[*) section=${option#?}; continue ;;
        *_source | *_target | train_pairs | train_weight | symbols | tests | init_from) continue ;; # texts
        esac
        eval "set -- $no_value"
        for value in "$@"; do
            ferry 2 train tiny.ini --run new "--set=$section.$option=$value" &&
                says "^ferry: $section.$option = '$value': expected" || return 1
            n_refused=$((n_refused + 1))
        done
    done <"$outside/names"
    echo "# $n_refused wrong values were refused"
    state | cmp -s - "$outside/before" && [ "$n_refused" -gt 400 ]
}
check "every option refuses what is no value of its type" all_refuse
check "a number in short" train_refused "train.max_steps = '1k': expected .*; write 1000$" --max-steps 1k
check "with an exponent" train_refused "train.max_steps = '1e3': expected .*; write 1000$" --max-steps 1e3
check "in groups" train_refused "train.max_steps = '1_000_000': expected .*; write 1000000$" --max-steps 1_000_000
check "in short, but out of range: no hint" train_refused "model.heads = '2k': expected a whole number from 1 to 1024$" --heads 2k
check "a fraction has none either" train_refused "train.max_steps = '1.5k5': expected .* at least 0$" --max-steps 1.5k5
check "a whole number with a point" train_refused "train.max_steps = '1.0': expected a whole number" --max-steps 1.0
check "a whole number too large for any integer" train_refused "train.max_steps = '99999999999999999999'" \
    --max-steps 99999999999999999999
check "a value just out of range" train_refused "train.dropout = '0.991': expected a number from 0 to 0.99" --dropout 0.991
check "a word that is none" train_refused "model.norm = 'mid': expected one of post|pre" --norm mid
check "a wrong value in a configuration" config_refused "bad.ini:2: train.seed = 'one': expected" '[train]\nseed = one\n'
check "a value of 100 kB: still the place and the way out" config_refused \
    "^ferry: bad.ini:2: train.seed = '777.*777 \[...\] 777.*': expected a whole number, at least 0$" \
    "[train]\nseed = $(head -c 100000 /dev/zero | tr '\0' 7)\n"
check "a decimal comma" config_refused "bad.ini:2: train.dropout = '0,1'" '[train]\ndropout = 0,1\n'
check "heads that don't divide the width" train_refused "d_model = 8 is not a multiple of model.heads = 3" --heads 3
check "BPE-dropout without merges" train_refused "with data.tokenized = yes nothing is merged" --bpe-dropout 0.1 --tokenized yes
check "a line end in a file name" train_refused "text without control characters" --train-source 'a
b'
check "no training text" train_refused "data.train_source is not set" --train-source ' '
check "validation with one side only" train_refused "data.valid_target is not set" --valid-target ''
check "standard input for a text" train_refused "more than once" --train-source -
check "a missing value" train_refused "needs a value" --max-steps
check "--run without a name" refused "run is empty" train tiny.ini --run ''
check "--run with the name of a file" refused "is a file; --run names a folder" train tiny.ini --run tiny.ini
check "no model" refused "translate needs --model" translate

# ---- the run that the rest is about ----

check "training, by a configuration without a newline at its end" ferry 0 train tiny.ini
check "the last line counts" grep -qx 'max_extra = 2' runs/tiny/config.ini

# ---- the tokenizer's file ----

cp -R runs/tiny good
tokenizer=runs/tiny/tokenizer.bpe
# damaged MESSAGE: whoever reads the tokenizer refuses it
damaged() {
    refused "$1" translate -m runs/tiny texts/valid.en && refused "$1" evaluate -m runs/tiny &&
        refused "$1" tokenize -m runs/tiny texts/valid.en && refused "$1" detokenize -m runs/tiny texts/valid.en &&
        refused "$1" info -m runs/tiny && refused "$1" train tiny.ini --max-steps 3
}
# edited SED MESSAGE
edited() {
    sed "$1" good/tokenizer.bpe >"$tokenizer"
    damaged "$2"
}
check "a tokenizer with a blank line" edited '5s/^/\n/' "tokenizer.bpe: line 5: a blank line"
check "a blank line at its end" edited '$s/$/\n/' "tokenizer.bpe: line [0-9]*: a line too many"
check "a line twice" edited '30p' "tokenizer.bpe: line 31: a token that comes twice"
check "a line of another kind" edited '7s/^/x/' "tokenizer.bpe: line 7: not "
check "a line less" edited '$d' "tokenizer.bpe: ends after line"
check "lines swapped" edited '$!N;s/^\(.*\)\n\(merge .*\)$/\2\n\1/' "tokenizer.bpe: line "
check "another number of tokens" edited '1s/300/301/' "tokenizer.bpe: ends after line"
check "another hash" edited '1s/hash ./hash z/' "tokenizer.bpe: line 1: not a tokenizer"
check "an empty tokenizer" edited d "tokenizer.bpe: line 1: not a tokenizer"
check "none at all: not a matter of options" sh -c "rm $tokenizer; '$FERRY' translate -m runs/tiny 2>/dev/null; [ \$? = 1 ]"
cp good/tokenizer.bpe $tokenizer

# ---- what -m may be ----

ferry 0 tokenize -m runs/tiny texts/valid.en
mv "$outside/out" "$outside/tokens"
for model in runs/tiny/best runs/tiny/last runs/tiny/checkpoint-00000002.safetensors runs/tiny/tokenizer.bpe runs/tiny/; do
    check "tokenize -m $model" ferry 0 tokenize -m "$model" texts/valid.en
    check "gives the same" cmp "$outside/out" "$outside/tokens"
done
for file in tokenizer.bpe config.ini log.tsv; do
    check "translate -m $file" refused "runs/tiny/$file is a file of a run, but not its model; the run folder is one (runs/tiny)" \
        translate -m runs/tiny/$file texts/valid.en
done
check "a model that isn't there" ferry 1 tokenize -m runs/none texts/valid.en
check "says so" says 'there is no model runs/none'

check "an option of training, given to translate" ferry 0 translate -m runs/tiny --learning-rate 1 --beam 2 texts/valid.en
check "is said to have no effect" says "^ferry: warning: train.learning_rate has no effect in 'ferry translate'$"
check "and no other is" test "$(grep -c 'no effect' "$outside/err")" = 1
check "help with an option" ferry 0 help beam
check "shows it" grep -q '^  decode.beam ' "$outside/out"
check "alone" test "$(wc -l <"$outside/out")" = 2
check "help with an option of two sections" ferry 0 help batch-tokens
check "shows both" test "$(wc -l <"$outside/out")" = 4
check "help with a section" ferry 0 help decode
check "lists its options" sh -c "grep -q '^  beam ' '$outside/out' && ! grep -q '^  warmup ' '$outside/out'"
check "help with another system's name" ferry 0 help lr
check "shows Ferry's" grep -q '^  train.learning_rate ' "$outside/out"
check "help with what is neither" refused "there is no command, flag or option 'threds'; did you mean 'threads'" help threds
check "info -m" ferry 0 info -m runs/tiny
check "tells the step" grep -qx 'steps	2' "$outside/out"
check "and the best score" grep -q '^best score	validation BLEU [0-9.]* at step [12]$' "$outside/out"
check "the components are all parameters" awk -F '\t' '/^parameters/ { all = $2 } /^  / { n += $2 } END { exit !(all > 1000 && n == all) }' \
    "$outside/out"
grep -e '^model' -e '^vocabulary' -e '^parameters' "$outside/out" | cut -f 1,2 >"$outside/shape"
check "and the shape" test "$(sed -n 's/^model\.//p' "$outside/shape" | tr '\t\n' '= ')" = \
    "d_model=8 d_ff=8 heads=2 encoder_layers=1 decoder_layers=1 norm=post activation=relu tie=all "
check "info of a configuration" ferry 0 info tiny.ini
check "tells the same shape and number of parameters" sh -c "grep -e '^model' -e '^vocabulary' -e '^parameters' '$outside/out' | cmp - '$outside/shape'"
check "and the memory, all and in parts" test "$(grep -c -e '^memory to train	[0-9.]* MB' -e '^  a step	[0-9.]* [kM]B$' -e '^  validation	[0-9.]* [kM]B$' \
    -e '^memory there is	[0-9.]* [kMGTEP]*B (' "$outside/out")" = 4
check "of a larger one" ferry 0 info tiny.ini --batch-tokens 100000000 --max-length 100000 --d-model 1024 --valid-source '' --valid-target ''
check "more" grep -q '^memory to train	[0-9.]* TB' "$outside/out"
check "none for a validation that isn't there" grep -qx '  validation	0 B' "$outside/out"
check "of what begins with a run that isn't there" ferry 1 info tiny.ini --init-from runs/none
check "of what begins with another run" ferry 0 info tiny.ini --vocab-size 5000 --init-from runs/tiny
check "with its vocabulary" grep -qx 'vocabulary	300' "$outside/out"
check "of both" refused "info describes a model (-m) or a configuration, not both" info -m runs/tiny tiny.ini
check "of a configuration that isn't there" refused "cannot open the configuration none.ini" info none.ini
check "info -m of no model" ferry 1 info -m runs/none
check "a file of words that are no tokens" ferry 1 detokenize -m runs/tiny texts/valid.en
check "says which line" says "texts/valid.en, line 1: '.*' is not a token of this model"
check "evaluation of a source alone" refused "evaluate takes a source and a reference file, or neither" evaluate -m runs/tiny \
    texts/valid.en
check "a run without validation" ferry 0 train tiny.ini --run runs/blind --valid-source '' --valid-target '' --vocab-size 290
check "has nothing to evaluate" refused "this run has neither a validation set nor data.tests" evaluate -m runs/blind
cp -R runs/blind runs/mixed
cp good/tokenizer.bpe runs/mixed/tokenizer.bpe
check "the tokenizer of another run" ferry 1 translate -m runs/mixed texts/valid.en
check "is told" says 'runs/mixed/tokenizer.bpe is not the tokenizer that .* was trained with'
rm runs/mixed/last runs/mixed/*.safetensors
check "a run without a checkpoint" ferry 1 translate -m runs/mixed texts/valid.en
check "is told" says "runs/mixed has no checkpoint yet: neither 'best' nor 'last' is there"
check "translation without a model" ferry 1 translate -m runs/none texts/valid.en
check "says so" says 'there is no model runs/none'
sed 's/^seed = 1$/sead = 1/' good/config.ini >runs/blind/config.ini
check "the run's own options, edited badly" refused "runs/blind/config.ini:[0-9]*: unknown option 'train.sead'; did you mean 'train.seed'" \
    translate -m runs/blind texts/valid.en

# ---- folders ----

ferry 0 translate -m runs/tiny texts/valid.en
mv "$outside/out" "$outside/translation"
check "from another folder" sh -c "cd texts && '$FERRY' translate -m ../runs/tiny valid.en | cmp - '$outside/translation'"
check "from within the run" sh -c "cd runs/tiny && '$FERRY' translate -m . ../../texts/valid.en | cmp - '$outside/translation'"
check "from within, by a checkpoint" sh -c "cd runs/tiny && '$FERRY' translate -m best ../../texts/valid.en | cmp - '$outside/translation'"
mkdir elsewhere
cp -R texts elsewhere/texts
mv runs/tiny "elsewhere/a moved run"
check "a run that was moved translates" sh -c "'$FERRY' translate -m 'elsewhere/a moved run' texts/valid.en | cmp - '$outside/translation'"
check "and evaluates" ferry 0 evaluate -m 'elsewhere/a moved run'
cd elsewhere || exit 1
check "and goes on, relative paths from where we are" ferry 0 train ../tiny.ini --run 'a moved run' --max-steps 3
check "from its checkpoint" says 'going on from step 2'
cd ..
check "nothing in it knows where it was" sh -c "! grep -rq '$work' 'elsewhere/a moved run'"
check "a path that isn't there from here" sh -c "cd texts && ! '$FERRY' train ../tiny.ini --run new 2>'$outside/err'"
check "tells where paths start" says 'texts/train.en can.t be read: .* relative paths start at the folder'
check "and leaves nothing behind" test ! -e texts/new

# ---- a locale with decimal commas ----

if localedef -i fr_FR -f UTF-8 "$outside/fr_FR.UTF-8" >/dev/null 2>&1; then
    LOCPATH=$outside LC_ALL=fr_FR.UTF-8
    export LOCPATH LC_ALL
    check "the locale has commas" test "$(locale decimal_point)" = ,
    check "training" ferry 0 train tiny.ini --run french
    check "the same checkpoint" cmp french/last good/last
    check "the same log, timing columns aside" sh -c 'for run in french good; do cut -f1-7 $run/log.tsv >"$1/$run"; done; cmp "$1/french" "$1/good"' - "$outside"
    check "the same options" cmp french/config.ini good/config.ini
    check "translation" sh -c "'$FERRY' translate -m french texts/valid.en | cmp - '$outside/translation'"
    check "evaluation" ferry 0 evaluate -m french
    check "numbers have points" grep -q 'validation	4	[0-9]*\.[0-9]*	[0-9]*\.[0-9]*	[0-9]*\.[0-9]*$' "$outside/out"
    check "a decimal comma is still no number" train_refused "train.dropout = '0,1'" --dropout 0,1
else
    skip "a locale with decimal commas" "localedef can't make fr_FR.UTF-8 here (Debian: locales)"
fi

finish
