#!/bin/sh
# make test-deb: the packages of $DEBS, installed by apt in a fresh system that debootstrap makes; a user trains the toy
# configuration there and translates; then they are removed, and nothing is left. Needs root and a mirror of Debian.
# MIRROR and SUITE choose them. Without root or debootstrap the packages are unpacked only, and the program run from
# there.
# shellcheck disable=SC2317 # the functions are called through check
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
DEBS=${DEBS:-build/deb}
SUITE=${SUITE:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)}
work=$(mktemp -d)
root=$work/root
# The mounts go first: what removes $work must not reach through them.
clean_up() {
    umount "$root/proc" 2>/dev/null
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
set -- "$DEBS"/*.deb
[ -e "$1" ] || { echo "no packages in $DEBS: make deb"; exit 1; }

# inside COMMAND..: as root of the fresh system; as_user: as somebody else, in a home of their own
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
as_user() { inside su - somebody -c "$*"; }
quiet() { "$@" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; return 1; }; }

fresh() { quiet debootstrap --variant=minbase "${SUITE:-stable}" "$root" ${MIRROR:+"$MIRROR"}; }
install() {
    mkdir "$root/debs" && cp "$DEBS"/*.deb "$root/debs" && rm -f "$root"/debs/*-dbgsym_*.deb || return 1
    quiet inside sh -c 'apt-get -q -y --no-install-recommends install /debs/*.deb'
}
packages() { for deb in "$root"/debs/*.deb; do dpkg-deb -f "$deb" Package; done; }
# What the packages hold, folders left out.
contents() { for deb in "$root"/debs/*.deb; do dpkg-deb -c "$deb"; done | sed -n '/^d/!s/^[^.]* \.\(\/[^ ]*\).*/\1/p'; }
# shellcheck disable=SC2046 # names of packages are words
remove() { quiet inside apt-get -q -y purge $(packages); }
nothing_left() { contents | while read -r file; do ! [ -e "$root$file" ] || echo "$file"; done | { ! grep .; }; }
no_configuration_left() { ! inside dpkg -l 'ferry*' 'libferry*' 2>/dev/null | grep '^[a-z][a-z] .*ferry'; }

train="ferry train /usr/share/ferry/configs/toy.ini --d-model 32 --d-ff 64 --validate-every 0 --warmup 10"
says() { grep -q -e "$1" "$work/log" || { cat "$work/log"; return 1; }; }
translates() {
    as_user "gzip -dc /usr/share/ferry/toy/test.en.gz | head -n 3 | ferry translate -m runs/toy" \
        >"$work/out" 2>"$work/log"
    [ "$(wc -l <"$work/out")" = 3 ] || { cat "$work/log"; return 1; }
}

# shellcheck disable=SC2016 # for the shell inside
example='/usr/share/doc/libferry-dev/examples/translate.c $(pkg-config --cflags --libs ferry) -o translate'
translates_the_same() {
    as_user "gzip -dc /usr/share/ferry/toy/test.en.gz | head -n 3 | ./translate runs/toy" >"$work/library" 2>"$work/log"
    cmp "$work/out" "$work/library" || { cat "$work/log"; return 1; }
}

if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
    check "a fresh system" fresh
    mount -t proc proc "$root/proc" 2>/dev/null # Ferry does without it, only it knows less of the machine
    check "installs, with what the packages depend on" install
    quiet inside useradd -m somebody
    check "a user trains" quiet as_user "$train --max-steps 20 --decay-steps 40"
    check "to the end" says "done at step 20"
    check "goes on" quiet as_user "$train --max-steps 40 --decay-steps 40"
    check "from there" says "done at step 40"
    check "and translates" translates
    check "a compiler" quiet inside apt-get -q -y --no-install-recommends install gcc libc6-dev pkg-config
    check "compiles the example of the library" quiet as_user "cc -Wall -Werror $example"
    check "which translates the same" translates_the_same
    check "OpenBLAS is found" sh -c "chroot '$root' ferry info | grep '^openblas'"
    check "the manual is there" test -s "$root/usr/share/man/man1/ferry-train.1.gz"
    check "removed" remove
    check "nothing is left of it" nothing_left
    check "not for dpkg, either" no_configuration_left
    check "what the user made is left" test -e "$root/home/somebody/runs/toy/config.ini"
else
    for deb in "$@"; do dpkg-deb -x "$deb" "$root" || exit 1; done
    check "the program runs, unpacked" quiet "$root/usr/bin/ferry" info
    skip "installing it" "needs root and debootstrap"
fi
finish
