#!/bin/sh
# Every word of the French side of the toy corpus is known to Debian's hunspell-fr.
# shellcheck disable=SC2317 # the functions are called through check
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
toy=$(dirname "$0")/../data/toy

# -i utf-8 reads UTF-8 in any locale.
unknown() { hunspell -i utf-8 -d fr_FR -l 2>/dev/null | sort -u; }

if [ -z "$(echo xqzqx | unknown)" ]; then # a word that doesn't exist shows that the dictionary is really consulted
    skip "spelling" "hunspell with its French dictionary is not here (Debian: hunspell hunspell-fr)"
    finish
fi

spelled() {
    words=$(gzip -dc "$toy/$1.fr.gz" | unknown)
    [ -z "$words" ] || echo "not in the dictionary:" "$words"
    [ -z "$words" ] && gzip -t "$toy/$1.fr.gz"
}
for part in train valid test; do check "every French word of $part" spelled $part; done

finish
