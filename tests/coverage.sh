#!/bin/sh
# What part of the lines the tests run, by folder; a line of a kernel counts if one of its builds ran it. Fails below 90% of a
# folder or 100% of an op. $BUILD/uncovered.txt lists the lines that none ran. (make coverage)
cd "$(dirname "$0")/.." || exit 1
find "$BUILD" -name '*.gcda' -exec gcov -t {} + 2>/dev/null | awk -v list="$BUILD/uncovered.txt" '
    function fails(percent, least) {
        if (percent >= least) return ""
        bad = 1
        return "  below " least "%"
    }
    # "   count:  line:text"; "-": no code; "#####": never run. Line 0 names the file.
    match($0, /^ *[^:]*: *[0-9]+:/) {
        split($0, part, ":")
        count = part[1]
        line = part[2] + 0
        gsub(/ /, "", count)
        if (line == 0) {
            if (part[3] == "Source") file = part[4]
            next
        }
        if (count == "-" || file !~ /^(core|text|system|data|metrics|autograd|model|options|run|translate|train|cli)\//) next
        at = file ":" line
        if (!(at in ran)) {
            folder = file
            sub(/\/[^\/]*$/, "", folder)
            folder_of[at] = folder
            ran[at] = 0
            file_of[at] = file
            text[at] = substr($0, RSTART + RLENGTH)
        }
        if (count !~ /^[#=]/) ran[at] = 1
    }
    END {
        for (at in ran) {
            n[folder_of[at]]++
            n_ran[folder_of[at]] += ran[at]
            if (file_of[at] ~ /^autograd\/op_/) {
                n["the ops"]++
                n_ran["the ops"] += ran[at]
            }
            n_file[file_of[at]]++
            n_ran_file[file_of[at]] += ran[at]
            if (!ran[at]) print at ":" text[at] | ("sort -t: -k1,1 -k2,2n >" list)
        }
        close("sort -t: -k1,1 -k2,2n >" list)
        n_folders = split("core autograd model data train data/toy", folder_name, " ")
        folder_name[++n_folders] = "the ops"
        printf "%-10s %6s %6s %8s\n", "folder", "lines", "run", "percent"
        for (i = 1; i <= n_folders; i++) {
            name = folder_name[i]
            if (!n[name]) {
                printf "%-10s no lines at all\n", name
                bad = 1
                continue
            }
            percent = 100 * n_ran[name] / n[name]
            printf "%-10s %6d %6d %7.1f%%%s\n", name, n[name], n_ran[name], percent, fails(percent, name == "the ops" ? 100 : 90)
        }
        for (file in n_file)
            if (n_ran_file[file] < 0.9 * n_file[file])
                printf "  %s: %d of %d\n", file, n_ran_file[file], n_file[file] | "sort"
        close("sort")
        print "lines that no test runs: " list
        exit bad
    }'
