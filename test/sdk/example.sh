#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# example.sh LANGUAGE FOLDER COMMAND…
# Builds the example nft-LANGUAGE in FOLDER, from an SDK that is installed in a separate prefix, with warnings as errors.
# Then runs COMMAND, which prints TAP.
language=$1 folder=$2
shift 2
case $language in
  c) compiler=${CC:-gcc} ;;
  rust) compiler=${RUSTC:-rustc} ;;
  *) echo "Bail out! unknown language $language"; exit 2 ;;
esac
if ! command -v "${compiler%% *}" >/dev/null; then
  echo "1..0 # SKIP $compiler is not installed"
  exit 0
fi
. "$(dirname "$0")/scratch.sh" >&2
with_sdk
rm -rf "$folder"
if ! cp -r "$(find "$prefix" -type d -path "*/examples/nft-$language")" "$folder" || ! make -C "$folder" WERROR=1 >&2; then
  echo "Bail out! the example nft-$language does not build; standard error has the reason"
  exit 1
fi
"$@"
