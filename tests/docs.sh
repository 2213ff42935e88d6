#!/bin/sh
# README.md and docs/: links lead somewhere, files that are named are there, and what they tell to type is known to make
# and to ferry.
# shellcheck disable=SC2016,SC2317 # $ and ` in patterns are themselves; the functions are called through check
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/.." || exit 1
FERRY=${FERRY:-build/ferry}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pages="README.md $(echo docs/*.md)"

# $work/code: all that stands as code, PAGE tab CODE: each line of a block (continued lines are one), each `span` of a
# paragraph.
# shellcheck disable=SC2086 # pages are words
awk -v OFS='\t' '
    function spans(    part, n, i) {
        n = split(text, part, "`")
        for (i = 2; i <= n; i += 2) print page, part[i]
        text = ""
    }
    FNR == 1 { spans(); page = FILENAME; block = 0 }
    /^```/ { spans(); block = !block; next }
    block && /\\$/ { line = line substr($0, 1, length - 1); next }
    block { print page, line $0; line = ""; next }
    { text = text (text == "" ? "" : " ") $0 }
    /^$/ || /^\|/ { spans() }
    END { spans() }' $pages >"$work/code"

# none FILE: it is empty; what is in it is shown
none() { ! grep . "$1"; }

for page in $pages; do
    # shellcheck disable=SC2013 # a link has no blanks
    for link in $(grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//'); do
        case $link in *://*) continue ;; esac
        file=${link%%#*}
        [ -e "$(dirname "$page")/$file" ] || echo "$page: no $link"
    done
done >"$work/dead"
check "links lead to files" none "$work/dead"

for page in docs/*.md; do grep -qF "]($page)" README.md || echo "$page"; done >"$work/unlinked"
check "README links to each page of docs/" none "$work/unlinked"

# Names of files, but for patterns: op_x.c is any op.
awk -F '\t' -v folders="$(printf '%s\n' */ | sed 's|/$||; /^build/d; /^runs$/d' | tr '\n' ' ')" '
    BEGIN { n = split(folders, name, " "); for (i = 1; i <= n; i++) known[name[i]] = 1 }
    { n = split($2, word, " ")
      for (i = 1; i <= n; i++) if (word[i] ~ /^[a-z]+\/[A-Za-z0-9_.\/-]*$/ && word[i] !~ /_x\./) {
          folder = word[i]; sub(/\/.*/, "", folder)
          if (folder in known) print $1 "\t" word[i] } }' "$work/code" >"$work/files"
while read -r page file; do [ -e "$file" ] || echo "$page: no $file"; done <"$work/files" >"$work/missing"
check "files that are named are there" none "$work/missing"
check "and there are some" test "$(wc -l <"$work/files")" -gt 30

# The table of folders: what to begin with is in the folder.
sed -n 's/^| `\([a-z]*\)\/` |.*| \(.*\) |$/\1 \2/p' docs/source.md | while read -r folder names; do
    echo "$names" | grep -o '`[^`]*`' | tr -d '`' | while read -r name; do echo "$folder/$name"; done
done >"$work/beginnings"
while read -r file; do [ -e "$file" ] || echo "$file"; done <"$work/beginnings" >"$work/missing"
check "each folder's beginning is there" none "$work/missing"
sed -n 's/^ROOMS *= *//p' Makefile | tr ' ' '\n' | while read -r room; do
    grep -q "^$room/" "$work/beginnings" || echo "$room"
done >"$work/missing"
check "and each room has one" none "$work/missing"

# make: targets are what stands before a colon in the makefiles.
sed -n 's/^\([a-z0-9-][a-z0-9 -]*\):\([^=].*\)\{0,1\}$/\1/p; s/^$(BUILD)\(\/[a-z0-9/]*\):.*/build\1/p' \
    Makefile make/*.mk | tr ' ' '\n' | sort -u >"$work/targets"
sed -n 's/\t\(sudo \)\{0,1\}make /\t/p' "$work/code" |
    sed "s/ [A-Z_]*=\(\"[^\"]*\"\|'[^']*'\|[^ ]*\)//g; s/[\t ]-[a-z0-9]*/ /g; s/[|>;&].*//" |
    awk '{ for (i = 2; i <= NF; i++) print $1 "\t" $i }' >"$work/goals"
while read -r page goal; do
    grep -qxF -e "$goal" "$work/targets" || echo "$page: make $goal"
done <"$work/goals" >"$work/unknown"
check "make knows each target" none "$work/unknown"
check "of which there are some" test "$(sort -u "$work/goals" | wc -l)" -gt 15

# ferry: each command line, up to where the shell goes on with something else.
grep -o '	\(.*[|;] *\)\{0,1\}\(\./\)\{0,1\}ferry [a-z][^|>]*\|	--.*' "$work/code" |
    sed 's/.*ferry /\t/; s/^\t//' >"$work/lines"
"$FERRY" help | sed -n 's/^  \([a-z]*\)  .*/\1/p' >"$work/commands"
"$FERRY" help options | sed -n 's/^  \([a-z0-9_]*\)  .*/--\1/p' | tr _ - | sort -u >"$work/options"
while read -r command; do
    "$FERRY" help "$command" | grep -o -e '--[a-z][a-z-]*' | cat - "$work/options" | sort -u >"$work/flags-$command"
done <"$work/commands"
cat "$work"/flags-* >"$work/flags-any"
while read -r command rest; do
    case $command in
    --*) flags=$work/flags-any rest="$command $rest" ;;
    *) flags=$work/flags-$command
        grep -qx "$command" "$work/commands" || { echo "no command $command"; continue; } ;;
    esac
    for flag in $(echo "$rest" | grep -oE -e '(^| )--[a-z][a-z0-9-]*'); do
        grep -qxF -e "$flag" "$flags" || echo "$command: no $flag"
    done
    [ "$command" != help ] || "$FERRY" help "${rest%% *}" >"$work/help" || echo "no topic $rest"
done <"$work/lines" >"$work/unknown"
check "ferry knows each command and flag" none "$work/unknown"
check "of which there are some" test "$(sort -u "$work/lines" | wc -l)" -gt 40

sed -n 's/.*\t\([a-z_]*\) = .*/--\1/p' "$work/code" | tr _ - >"$work/keys"
grep -vxF -f "$work/options" "$work/keys" >"$work/unknown"
check "options of configurations are known" none "$work/unknown"
check "of which there are some" test -s "$work/keys"

check "README has at most 160 lines" test "$(wc -l <README.md)" -le 160
finish
