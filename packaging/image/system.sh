#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Unpacks a Debian of any architecture for rootfs.sh --system: the programs beside the daemon, and what the named packages
# depend on. No program of it runs, so no emulator is needed; nothing is installed on this machine.
#   system.sh --arch ARCH OUT PACKAGE|FILE.deb …
# Downloads with the sources, keys and proxy of this machine's apt. OUT is created, or must be an empty folder.
set -eu
export LC_ALL=C
umask 022

fail() { echo "system.sh: $1" >&2; exit 1; }
usage() { sed -n '/^#   /s/^#   //p' "$0" >&2; exit 2; }
if [ $# -lt 4 ] || [ "$1" != --arch ]; then usage; fi
architecture=$2
out=$3
shift 3
for tool in apt-get dpkg-deb; do command -v "$tool" >/dev/null || fail "$tool is missing: this needs a Debian"; done
mkdir -p "$out"
out=$(cd "$out" && pwd)
[ -z "$(ls -A "$out")" ] || fail "$out is not empty"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sluice-system-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# Files by absolute paths, which apt distinguishes from names of packages.
for package; do
  shift
  case $package in
    *.deb) [ -f "$package" ] || fail "no file $package"
      package=$(readlink -f "$package") ;;
  esac
  set -- "$@" "$package"
done

mkdir -p "$scratch/state/lists/partial" "$scratch/cache/archives/partial"
: >"$scratch/status"
apt() {
  apt-get -qq -o "Dir::State=$scratch/state" -o "Dir::State::status=$scratch/status" -o "Dir::Cache=$scratch/cache" \
    -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture" -o APT::Sandbox::User=root "$@"
}
apt update
apt install --yes --download-only --no-install-recommends base-files ca-certificates iptables kmod "$@"

# The links of a merged /usr.
for folder in bin sbin lib lib64; do
  mkdir -p "$out/usr/$folder"
  ln -s "usr/$folder" "$out/$folder"
done
known=$out/var/lib/dpkg
mkdir -p "$known/info"
echo 1 >"$known/info/format"
printf '%s\n' "$(dpkg --print-architecture)" "$architecture" | sort -u >"$known/arch"
for file in "$scratch"/cache/archives/*.deb; do
  name=$(dpkg-deb -f "$file" Package)
  of=$(dpkg-deb -f "$file" Architecture)
  dpkg-deb --fsys-tarfile "$file" | tar -xp --keep-directory-symlink -C "$out"
  [ "$(dpkg-deb -f "$file" Multi-Arch)" != same ] || name=$name:$of
  dpkg-deb --fsys-tarfile "$file" | tar -t | sed 's,^\.,,; s,/$,,; s,^$,/.,' >"$known/info/$name.list"
  # As dpkg records it, with the digest of the file for the bill of materials.
  {
    dpkg-deb -f "$file" | sed 's/^Package: .*/&\nStatus: install ok installed/'
    printf 'SHA256: %s\n\n' "$(sha256sum <"$file" | cut -d ' ' -f 1)"
  } >>"$known/status"
done

# Absolute links would lead into this machine.
find "$out" -type l -lname '/*' >"$scratch/links"
while read -r link; do ln -srfn "$out$(readlink "$link")" "$link"; done <"$scratch/links"
# As update-ca-certificates makes it.
mkdir -p "$out/etc/ssl/certs"
find "$out/usr/share/ca-certificates" -name '*.crt' | sort | xargs cat >"$out/etc/ssl/certs/ca-certificates.crt"
echo "$out: $architecture, $(grep -c '^Package:' "$known/status") packages"
