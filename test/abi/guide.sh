#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# The code of the guide must be compiled code: each ```cpp block of docs/plugin/*.md is a part of the print example, each
# ```make block a part of its Makefile.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"
guide=$SLUICE_SRCDIR/docs/plugin
example=$SLUICE_SRCDIR/sdk/examples/print

# pieces_of LANGUAGE FILE
pieces_of() {
  awk -v language="$1" '
    FNR == NR { source = source $0 "\n"; next }
    !inside && $0 == "```" language { inside = 1; start = FNR; block = ""; next }
    inside && $0 == "```" {
      inside = 0
      ++blocks
      if (index(source, block) == 0) { print FILENAME ":" start ": this block is not in the example"; bad = 1 }
      next
    }
    inside { block = block $0 "\n" }
    END { if (blocks == 0) print "the guide has no such block"; exit bad || blocks == 0 }
  ' "$2" "$guide"/*.md
}

check "the C++ of the guide is in the example" pieces_of cpp "$example/print.cpp"
check "the make rules of the guide are in the example" pieces_of make "$example/Makefile"
finish
