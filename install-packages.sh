#!/bin/sh
# Installs the Debian packages that Ferry needs and this machine lacks: ./install-packages.sh build|test|fuzz|analyze|valgrind|man|deb.
# Quick and silent when nothing is missing. Elsewhere than on Debian and its kin, says what to install. Touches nothing else.
# shellcheck disable=SC2317 # the look_for functions are called by name
set -u

CC=${CC:-gcc}
PATH=$PATH:/usr/sbin:/sbin # ldconfig

# Debian names a compiler's package after its command. GCC brings OpenMP with it; clang-14's is in libomp-14-dev.
compiler=${CC%% *}
compiler_package=$compiler
openmp_package=
case $compiler in
cc) compiler_package=gcc ;;
clang*) openmp_package=libomp${compiler#clang}-dev ;;
esac

case ${1:-} in
build) wanted="tools headers openblas" ;;
test) wanted="tools headers openblas check dictionary" ;;
fuzz) wanted="tools headers openblas fuzzer" ;;
analyze) wanted="tools headers check analyzers" ;;
valgrind) wanted="tools headers openblas valgrind" ;;
man) wanted="pages" ;;
deb) wanted="tools headers packaging" ;;
*)
    echo "usage: $0 build|test|fuzz|analyze|valgrind|man|deb" >&2
    exit 2
    ;;
esac

# What is missing: a package, and what it is for where there are other packages.
missing_packages=
missing_things=
lack() {
    missing_packages="$missing_packages $1"
    missing_things="$missing_things
  $2"
}

has_command() { command -v "$1" >/dev/null 2>&1; }

# has_headers NAME...: the compiler finds them all
# shellcheck disable=SC2086 # CC may hold arguments
has_headers() {
    for header in "$@"; do echo "#include <$header>"; done | $CC -E -x c - >/dev/null 2>&1
}

# The library is loaded when the program starts, so it must be where the loader looks.
has_openblas() {
    ldconfig -p 2>/dev/null | grep -q 'libopenblas\.so\.0' && return
    for folder in $(echo "${LD_LIBRARY_PATH:-}" | tr : ' ') /usr/local/lib /usr/local/lib64 /usr/lib /usr/lib64; do
        [ -e "$folder/libopenblas.so.0" ] && return
    done
    return 1
}

has_dictionary() {
    for folder in /usr/share/hunspell /usr/share/myspell /usr/share/myspell/dicts; do
        for file in "$folder"/fr*.dic; do [ -e "$file" ] && return; done
    done
    return 1
}

look_for_tools() {
    has_command "$compiler" || lack "$compiler_package" "a C compiler ($compiler)"
    has_command make || lack make "GNU make"
}
look_for_headers() {
    has_headers stdio.h omp.h zlib.h cjson/cJSON.h utf8proc.h && return
    has_headers stdio.h || lack libc6-dev "the C library's headers"
    [ -z "$openmp_package" ] || has_headers omp.h || lack "$openmp_package" "OpenMP for $compiler (omp.h)"
    has_headers stddef.h zlib.h || lack zlib1g-dev "zlib with its header (zlib.h)"
    has_headers cjson/cJSON.h || lack libcjson-dev "cJSON with its header (cjson/cJSON.h)"
    has_headers utf8proc.h || lack libutf8proc-dev "utf8proc with its header (utf8proc.h)"
}
look_for_openblas() { has_openblas || lack libopenblas0-pthread "OpenBLAS (libopenblas.so.0)"; }
look_for_check() { has_headers check.h || lack check "Check, the test library (check.h)"; }
look_for_dictionary() {
    has_command hunspell || lack hunspell "hunspell, the spell checker"
    has_dictionary || lack hunspell-fr "a French dictionary for hunspell"
}
# Debian's clang only recommends its runtime libraries, of which one is libFuzzer.
look_for_fuzzer() {
    program=$(mktemp)
    echo 'int LLVMFuzzerTestOneInput(const void *data, unsigned long n) { return !data && n > 9; }' |
        $CC -x c -fsanitize=fuzzer,address -o "$program" - 2>/dev/null || lack libclang-rt-dev "libFuzzer (clang's runtime)"
    rm -f "$program"
}
look_for_analyzers() {
    has_command cppcheck || lack cppcheck "cppcheck"
    has_command clang-tidy || lack clang-tidy "clang-tidy"
    has_command shellcheck || lack shellcheck "shellcheck"
}
# What tests/install.sh checks pages and completions with.
look_for_pages() {
    has_command mandoc || lack mandoc "mandoc"
    has_command zsh || lack zsh "zsh"
}
# The build of packages asks dpkg for its libraries, so that headers from elsewhere don't do.
look_for_packaging() {
    has_command dpkg-buildpackage || lack dpkg-dev "dpkg-buildpackage"
    has_command dh || lack debhelper "debhelper"
    has_command lintian || lack lintian "lintian"
    has_command debootstrap || lack debootstrap "debootstrap"
}
look_for_valgrind() { has_command valgrind || lack valgrind "valgrind"; }

look() {
    missing_packages=
    missing_things=
    for part in $wanted; do "look_for_$part"; done
    [ -z "$missing_packages" ]
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

can_install() { has_command apt-get && { [ "$(id -u)" = 0 ] || { has_command sudo && sudo -n true 2>/dev/null; }; }; }

apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >&2; }

look && exit
if can_install; then
    echo "Installing Debian packages:$missing_packages" >&2
    # shellcheck disable=SC2086 # the packages are words
    install() { apt --no-install-recommends --no-remove install $missing_packages; }
    # shellcheck disable=SC2086
    known() { apt-get -s install $missing_packages >/dev/null 2>&1; }
    # Where the lists of packages are missing or old, fetch them; one that can't be fetched need not be one we need.
    { known && install; } || { apt update; install; }
    look && exit
fi
cat >&2 <<END
Ferry needs what this machine lacks:$missing_things
On Debian and its kin:
  sudo apt-get install$missing_packages
END
exit 1
