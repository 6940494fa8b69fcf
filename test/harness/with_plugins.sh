#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Copies the backends of a build tree to a folder without symbols, then executes a command. Each daemon copies all backends to
# memory and computes their digests, which takes an emulated processor a second if they have symbols. Usage:
#   with_plugins.sh BUILD FOLDER COMMAND…
set -eu
build=$1 folder=$2
shift 2
rm -rf "$folder"
mkdir -p -m 755 "$folder"
for plugin in "$build"/plugins/*/.libs/*.so; do
  strip -o "$folder/${plugin##*/}" "$plugin"
done
exec "$@"
