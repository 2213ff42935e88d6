#!/bin/sh
# A dozen held-out sentences of the toy corpus, translated by a model, beside their references: data/toy/show.sh RUN.
# FERRY names the program (default ./ferry).
set -eu
toy=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# every 41st sentence, so that they are not all of one kind
for side in en fr; do gzip -dc "$toy/test.$side.gz" | awk 'NR % 41 == 1' | head -n 12 >"$work/$side"; done
"${FERRY:-./ferry}" translate -m "$1" "$work/en" >"$work/ferry"
paste "$work/en" "$work/ferry" "$work/fr" | awk -F '\t' '{
    printf "  English    %s\n  Ferry      %s\n  reference  %s\n\n", $1, $2, $2 == $3 ? "(the same)" : $3
}'
