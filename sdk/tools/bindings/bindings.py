#!/usr/bin/env python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the bindings of the plugin ABI for other languages from its C++ headers: the same types, values and methods, with the
same comments. `make bindings` writes them, and test/abi/bindings.sh checks that they are up to date and have the same layout.

  bindings.py HEADERS c|rust     prints sluice/abi.h or sluice_abi.rs
  bindings.py HEADERS compare    prints a C++ source that compiles only if abi.h has the layout of the headers

HEADERS is the folder of abi.hpp. A class with virtual methods is, in the Itanium C++ ABI, a pointer to a table of functions,
whose first argument is the object."""

import sys

sys.dont_write_bytecode = True

import c  # noqa: E402
import compare  # noqa: E402
import rust  # noqa: E402
from headers import Wrong, items_of  # noqa: E402

LANGUAGES = {"c": lambda items: c.C(items).lines(), "rust": lambda items: rust.Rust(items).lines(), "compare": compare.compare}


def main(words):
    if len(words) != 3 or words[2] not in LANGUAGES:
        print("usage: bindings.py HEADERS c|rust|compare", file=sys.stderr)
        return 2
    print("\n".join(LANGUAGES[words[2]](items_of(words[1]))))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv))
    except (Wrong, OSError) as error:
        print(f"bindings.py: {error}", file=sys.stderr)
        sys.exit(1)
