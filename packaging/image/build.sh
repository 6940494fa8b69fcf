#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the image for one or more architectures, with the dependencies that Debian offers now, as one OCI archive.
#   build.sh --name NAME:TAG --debs DIR OUT                      from the Debian packages in DIR; once for each architecture
#   build.sh --name NAME:TAG --source FILE --arch ARCH OUT       from a source archive of `make dist`; --arch as often as needed
#   --revision COMMIT                                            the commit of the sources, for the annotations
#   --each                                                       also one archive for each architecture, sluice-ARCH.oci.tar
# OUT gets sluice.oci.tar, and for each architecture the bill of materials and the provenance. What OUT has of an earlier
# call is replaced. --debs with --source names the archive that the packages were built from.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C

fail() { echo "build.sh: $1" >&2; exit 1; }
usage() { sed -n '/^#   /s/^#   //p' "$0" >&2; exit 2; }
name=
source=
revision=
each=
folders=
architectures=
out=
while [ $# -gt 0 ]; do
  case $1 in
    --name) name=${2:?} && shift 2 ;;
    --source) source=$(readlink -f "${2:?}") && shift 2 ;;
    --revision) revision=${2:?} && shift 2 ;;
    --each) each=yes && shift ;;
    --debs) folders="$folders $(cd "${2:?}" && pwd)" && shift 2 ;;
    --arch) architectures="$architectures ${2:?}" && shift 2 ;;
    -*) usage ;;
    *) [ -z "$out" ] || usage; out=$1; shift ;;
  esac
done
for word in "$name" "$out" "$folders$architectures"; do [ -n "$word" ] || usage; done
[ -z "$architectures" ] || [ -n "$source" ] || usage
mkdir -p "$out"
out=$(cd "$out" && pwd)

for architecture in $architectures; do
  rm -rf "${out:?}/$architecture"
  "$here/packages.sh" --arch "$architecture" "$source" "$out/$architecture/packages"
  folders="$folders $out/$architecture/packages"
done

# shellcheck disable=SC2086
set -- $folders
roots=
for folder; do
  architecture=$(dpkg-deb -f "$(find "$folder" -maxdepth 1 -name 'sluice_*.deb' | head -n 1)" Architecture) || fail "no packages in $folder"
  work=$out/$architecture
  rm -rf "$work/system" "$work/root"
  # Those that rootfs.sh takes, for what they depend on.
  find "$folder" -maxdepth 1 -name 'sluice_*.deb' -o -name 'sluice-backend-*.deb' ! -name '*-dbgsym_*' | sort >"$out/packages"
  # shellcheck disable=SC2046
  "$here/system.sh" --arch "$architecture" "$work/system" $(cat "$out/packages")
  "$here/rootfs.sh" --debs "$folder" --system "$work/system" ${source:+--source "$source"} --tar "$work/rootfs.tar" "$work/root"
  cp "$work/root/usr/share/doc/sluice/sbom.spdx.json" "$out/sluice-$architecture.spdx.json"
  cp "$work/root/usr/share/doc/sluice/provenance.json" "$out/sluice-$architecture.provenance.json"
  roots="$roots $work/rootfs.tar"
done
rm "$out/packages"
# pack OUTPUT ROOTFS.tar …
pack() {
  output=$1
  shift
  "$here/oci.py" --name "$name" ${revision:+--revision "$revision"} --output "$output" "$@"
}
# shellcheck disable=SC2086
pack "$out/sluice.oci.tar" $roots
[ -n "$each" ] || exit 0
for folder in $roots; do
  architecture=$(basename "$(dirname "$folder")")
  pack "$out/sluice-$architecture.oci.tar" "$folder"
done
