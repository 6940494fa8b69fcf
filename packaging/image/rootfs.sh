#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Creates the root filesystem of an image: the daemon, its backends, and their dependencies: libraries, the iptables programs,
# and modprobe. No shell, no package manager.
#   rootfs.sh --debs DIR OUT    from the Debian packages in DIR (packaging/debian/build.sh DIR)
#   rootfs.sh --tree DIR OUT    from what `make install DESTDIR=DIR` has left there
#   --system DIR                takes the dependencies from the Debian that system.sh unpacked there, also of another architecture
#   --source FILE               names this source archive in the provenance
#   --tar FILE                  packs it, too: the same bytes from the same input, for oci.py and the Containerfile beside this
# OUT is created, or must be an empty folder. Without --system, the dependencies of the packages must be installed here, on a
# Debian 12 of the architecture of the image. Files belong to root if run by root; otherwise only those in the tar do.
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
export LC_ALL=C
umask 022

fail() { echo "rootfs.sh: $1" >&2; exit 1; }
usage() { sed -n '/^#   /s/^#   //p' "$0" >&2; exit 2; }
debs=
tree=
system=
source=
tar=
out=
while [ $# -gt 0 ]; do
  case $1 in
    --debs) debs=${2:?} && shift 2 ;;
    --tree) tree=${2:?} && shift 2 ;;
    --system) system=${2:?} && shift 2 ;;
    --source) source=${2:?} && shift 2 ;;
    --tar) tar=${2:?} && shift 2 ;;
    -*) usage ;;
    *) [ -z "$out" ] || usage; out=$1; shift ;;
  esac
done
[ -n "$out" ] || usage
[ -n "$debs$tree" ] || usage
[ -z "$debs" ] || [ -z "$tree" ] || usage
for tool in dpkg-query dpkg-deb dpkg-architecture dpkg-parsechangelog readelf python3; do
  command -v "$tool" >/dev/null || fail "$tool is missing; on a Debian, install dpkg-dev, binutils and python3"
done
# The time of the packages, so that every checkout gives the same bytes.
: "${SOURCE_DATE_EPOCH:=$(dpkg-parsechangelog --file "$src/packaging/debian/changelog" --show-field Timestamp)}"
export SOURCE_DATE_EPOCH
[ -z "$system" ] || system=$(cd "$system" && pwd)
query() { dpkg-query --admindir="$system/var/lib/dpkg" "$@"; }
architecture=$(query --show --showformat '${Architecture}\n' libc6 2>/dev/null | head -n 1)
[ -n "$architecture" ] || fail "no libc6 in ${system:-this machine}; system.sh unpacks a Debian"
triplet=$(dpkg-architecture -a"$architecture" -qDEB_HOST_MULTIARCH 2>/dev/null)

mkdir -p "$out"
out=$(cd "$out" && pwd)
[ -z "$(ls -A "$out")" ] || fail "$out is not empty"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sluice-rootfs-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

for folder in bin sbin lib lib64; do
  mkdir -p "$out/usr/$folder"
  ln -s "usr/$folder" "$out/$folder"
done
mkdir -p "$out/proc" "$out/sys" "$out/dev" "$out/etc" "$out/root" "$out/tmp" "$out/run/sluice" "$out/var/lib" "$out/usr/lib/modules"
ln -s ../run "$out/var/run"
chmod 1777 "$out/tmp"
chmod 700 "$out/root" "$out/run/sluice"

# Ours.
if [ -n "$debs" ]; then
  tree=$scratch/tree
  for package in "$debs"/sluice_*.deb "$debs"/sluice-*.deb; do
    case $package in *-conformance_* | *-dev_* | *-doc_* | *-kube-proxy_* | *-dbgsym_* | *'*'*) continue ;; esac
    name=$(dpkg-deb -f "$package" Package)
    dpkg-deb -x "$package" "$tree"
    mkdir -p "$out/var/lib/dpkg/status.d"
    of=$(dpkg-deb -f "$package" Architecture)
    case $of in "$architecture" | all) ;; *) fail "$package: architecture $of; that of ${system:-this machine} is $architecture" ;; esac
    { dpkg-deb -f "$package" && echo "SHA256: $(sha256sum <"$package" | cut -d ' ' -f 1)"; } >"$out/var/lib/dpkg/status.d/$name"
    install -D -m 644 "$tree/usr/share/doc/$name/copyright" "$out/usr/share/doc/$name/copyright"
  done
  [ -d "$tree" ] || fail "no packages in $debs; packaging/debian/build.sh $debs makes them"
fi
tree=$(cd "$tree" && pwd)
for program in sluiced sluicectl; do
  file=$(cd "$tree" && find . -path "*/sbin/$program" -type f | head -n 1)
  [ -n "$file" ] || fail "no $program in $tree"
  install -D -m 755 "$tree/$file" "$out/$file"
  # Wherever it was configured to be: manifests name one path.
  [ -e "$out/usr/sbin/$program" ] || ln -s "${file#.}" "$out/usr/sbin/$program"
done
# Also as kube-proxy, at its path in its own image, which the DaemonSet of kubeadm starts.
mkdir -p "$out/usr/local/bin"
ln -s ../../sbin/sluiced "$out/usr/local/bin/kube-proxy"
(cd "$tree" && find . -path '*/sluice/plugins/*.so' -type f) >"$scratch/plugins"
[ -s "$scratch/plugins" ] || fail "no plugins in $tree"
while read -r file; do install -D -m 644 "$tree/$file" "$out/$file"; done <"$scratch/plugins"
mkdir -p "$out/usr/share/doc/sluice"
install -m 644 "$src/LICENSE" "$src/NOTICE" "$src/packaging/debian/copyright" "$out/usr/share/doc/sluice/"

# put FILE: copies from this machine, or the other system, to the same path, following links.
: >"$scratch/taken"
put() {
  case $1 in /lib/* | /lib64/* | /bin/* | /sbin/*) at=$out/usr$1 ;; *) at=$out$1 ;; esac
  [ ! -e "$at" ] || return 0
  mkdir -p "$(dirname "$at")"
  cp -L "$system$1" "$at"
  real=$(readlink -f "$system$1")
  echo "${real#"$system"}" >>"$scratch/taken"
}
# found PROGRAM PACKAGE: where it is.
found() {
  for folder in /usr/sbin /usr/bin /sbin /bin; do
    [ ! -x "$system$folder/$1" ] || { echo "$folder/$1"; return 0; }
  done
  fail "$1 is missing in ${system:-this machine}; install $2"
}

# Both variants of iptables: a node may have rules of either, and the daemon detects which.
for variant in nft legacy; do
  multi=$(found "xtables-$variant-multi" iptables)
  put "$multi"
  for family in iptables ip6tables; do
    for name in "" -save -restore; do ln -s "xtables-$variant-multi" "$out/usr/sbin/$family-$variant$name"; done
  done
done
for family in iptables ip6tables; do
  for name in "" -save -restore; do ln -s "$family-nft$name" "$out/usr/sbin/$family$name"; done
done
query -L iptables libxtables12 | grep '/xtables/lib.*\.so$' >"$scratch/extensions" || fail "the matches of iptables are missing"
while read -r file; do put "$file"; done <"$scratch/extensions"
kmod=$(found modprobe kmod)
kmod=$(readlink -f "$system$kmod")
kmod=${kmod#"$system"}
put "$kmod"
ln -sf "../bin/$(basename "$kmod")" "$out/usr/sbin/modprobe"

# All libraries needed, and the dynamic loader. No program runs to find them, so the architecture does not matter.
library() {
  for folder in "/lib/$triplet" "/usr/lib/$triplet" /lib /usr/lib /usr/local/lib; do
    [ ! -e "$system$folder/$1" ] || { echo "$folder/$1"; return 0; }
  done
  fail "library $1 is missing in ${system:-this machine}"
}
machine() { readelf --file-header "$1" 2>/dev/null | sed -n 's/^ *Machine: *//p'; }
file=$(library libc.so.6)
expected=$(machine "$system$file")
# The metadata of a package, or of a build tree, may name another architecture than that of the files in it.
check_machine() {
  while read -r file; do
    of=$(machine "$file")
    [ "$of" = "$expected" ] || fail "${file#"$out"} is for ${of:-no machine: not an ELF file}; the image is for $expected"
  done
}
find "$out/usr" -type f \( -perm -100 -o -name '*.so' \) | sort >"$scratch/new"
xargs readelf --program-headers <"$scratch/new" 2>/dev/null | sed -n 's/.*program interpreter: \(.*\)]$/\1/p' | sort -u >"$scratch/loaders"
while read -r file; do put "$file"; done <"$scratch/loaders"
sed 's,.*/,,' "$scratch/loaders" >"$scratch/known"
while [ -s "$scratch/new" ]; do
  check_machine <"$scratch/new"
  xargs readelf --dynamic <"$scratch/new" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort -u >"$scratch/needed"
  comm -13 "$scratch/known" "$scratch/needed" >"$scratch/unknown"
  : >"$scratch/new"
  while read -r name; do
    file=$(library "$name")
    put "$file"
    echo "$at" >>"$scratch/new"
  done <"$scratch/unknown"
  sort -u "$scratch/unknown" "$scratch/known" -o "$scratch/known"
done

# Names of users and groups, and the order of host name lookups.
echo 'root:x:0:0:root:/root:/usr/sbin/nologin' >"$out/etc/passwd"
echo 'root:x:0:' >"$out/etc/group"
printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' >"$out/etc/nsswitch.conf"
# For API servers whose kubeconfig names no authority.
[ ! -e "$system/etc/ssl/certs/ca-certificates.crt" ] || put /etc/ssl/certs/ca-certificates.crt

# What is in it, and under which terms: for people, and for scanners of images, which read these two places.
put /usr/lib/os-release
ln -s ../usr/lib/os-release "$out/etc/os-release"
mkdir -p "$out/var/lib/dpkg/status.d"
# Packages know what was moved below /usr by its former place.
{ cat "$scratch/taken"; sed -n 's,^/usr,,p' "$scratch/taken"; } >"$scratch/places"
{ xargs dpkg-query --admindir="$system/var/lib/dpkg" -S <"$scratch/places" 2>/dev/null || true; } |
  sed 's/: .*//; s/, /\n/g' | sort -u >"$scratch/packages"
[ -s "$scratch/packages" ] || fail "what was taken from ${system:-this machine} belongs to no package"
# The bundle of certificates is made from this package, and belongs to none.
[ ! -e "$out/etc/ssl" ] || ! query --status ca-certificates >/dev/null 2>&1 || echo ca-certificates >>"$scratch/packages"
# The index of apt knows the digests of the packages that this machine has.
: >"$scratch/index"
[ -n "$system" ] || ! command -v apt-cache >/dev/null ||
  xargs dpkg-query --show --showformat '${Package}:${Architecture}=${Version}\n' <"$scratch/packages" |
  xargs apt-cache show >"$scratch/index" 2>/dev/null || true
while read -r package; do
  name=${package%:*}
  query --status "$package" >"$scratch/status"
  version=$(sed -n 's/^Version: //p' "$scratch/status")
  {
    grep -v '^$' "$scratch/status"
    awk -v name="$name" -v version="$version" '
      $1 == "Package:" {one = $2} $1 == "Version:" {is = $2}
      $1 == "SHA256:" && one == name && is == version {print; exit}' "$scratch/index"
  } >"$out/var/lib/dpkg/status.d/$name"
  terms=/usr/share/doc/$name/copyright
  [ ! -e "$system$terms" ] || install -D -m 644 "$system$terms" "$out$terms"
done <"$scratch/packages"

version=$(sed -n 's/^AC_INIT(\[sluice\], \[\(.*\)\])$/\1/p' "$src/configure.ac")
"$src/packaging/image/bill.py" --version "$version" ${source:+--source "$source"} "$out"

if [ -n "$tar" ]; then
  tar -C "$out" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -cf "$tar.new" .
  mv "$tar.new" "$tar"
fi
echo "$out: $architecture, $(wc -l <"$scratch/packages") packages, $(du -sm "$out" | cut -f 1) MB"
