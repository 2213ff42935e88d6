#!/bin/sh
# Every word of the French side of the toy corpus is known to Debian's hunspell-fr. Prints "ok", or the words that aren't and
# fails; without hunspell or its French dictionary it says so and is skipped (status 77).
cd "$(dirname "$0")/.." || exit 1

# -i utf-8 reads UTF-8 in any locale. The word that doesn't exist shows that the dictionary is really consulted.
if ! echo xqzqx | hunspell -i utf-8 -d fr_FR -l 2>/dev/null | grep -q xqzqx; then
    echo "skipped: hunspell with its French dictionary is not here (Debian: hunspell hunspell-fr)"
    exit 77
fi
words=$(for part in train valid test; do gzip -dc data/toy/$part.fr.gz || echo xqzqx; done |
    hunspell -i utf-8 -d fr_FR -l | sort -u)
if [ -n "$words" ]; then
    echo "not in the dictionary:" $words
    exit 1
fi
echo ok
