#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the SVGs of this folder from their sources: render.py [--check] [NAME.svg…]

Without --check it rewrites all SVGs, or those named. It calls `dot` of graphviz for .dot files and draws everything else itself.
With --check it writes nothing, and fails when an SVG is not the one that its sources make. Versions of graphviz draw
differently, so an SVG carries a hash of its sources and of the code that draws it, and one of its content. The check compares
them and needs Python only.
"""

import hashlib
import json
import os
import re
import sys
from collections import namedtuple

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from draw import graph, plot, terminal, timeline  # noqa: E402

PLOTS = "plots.json"
STAMP = re.compile(r"<!-- Made by docs/pictures/render\.py from [^>]*; inputs ([0-9a-f]{64}), content ([0-9a-f]{64}) -->\n")

# `sources`: the files it is made from; `code`: the modules that draw it; `make`: returns the SVG.
Picture = namedtuple("Picture", "name sources code make")


def pictures(folder):
    """What the sources in the folder make."""
    def picture(name, sources, module, *words):
        kind = module.__name__.replace(".", "/") + ".py"
        return Picture(name + ".svg", sources, (kind, "draw/svg.py"), lambda: module.make(folder, *sources, *words))

    for file in sorted(os.listdir(folder)):
        for suffix, module in ((".dot", graph), ("-timeline.json", timeline), (".cast", terminal)):
            if file.endswith(suffix):
                yield picture(os.path.splitext(file)[0], (file,), module)
    if os.path.exists(os.path.join(folder, PLOTS)):
        with open(os.path.join(folder, PLOTS), encoding="utf-8") as file:
            for name, words in json.load(file).items():
                yield picture(f"benchmark-{name}", (PLOTS, f"data/{words['data']}"), plot, name)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def inputs(folder, picture):
    """Hash of the files that decide what a picture is."""
    total = hashlib.sha256()
    for name in (*picture.sources, *picture.code):
        total.update(f"{name}\0{read(folder, name)}\0".encode())
    return total.hexdigest()


def stamped(folder, picture, svg):
    content = hashlib.sha256(svg.encode()).hexdigest()
    return (f"<!-- Made by docs/pictures/render.py from {', '.join(picture.sources)}; inputs {inputs(folder, picture)}, "
            f"content {content} -->\n{svg}")


def stale(folder):
    """Sentences about SVGs that are not what their sources make."""
    made = {picture.name: picture for picture in pictures(folder)}
    for name in sorted(file for file in os.listdir(folder) if file.endswith(".svg") and file not in made):
        yield f"{name} has no source"
    for name, picture in made.items():
        if not os.path.exists(os.path.join(folder, name)):
            yield f"{name} is missing; run docs/pictures/render.py"
            continue
        svg = read(folder, name)
        found = STAMP.match(svg)
        if not found or hashlib.sha256(svg[found.end():].encode()).hexdigest() != found[2]:
            yield f"{name} was edited; change {' or '.join(picture.sources)} and run docs/pictures/render.py"
        elif found[1] != inputs(folder, picture):
            yield f"{name} is older than {', '.join((*picture.sources, *picture.code))}; run docs/pictures/render.py"


def main(words):
    if words == ["--check"]:
        found = list(stale(HERE))
        print("".join(f"{sentence}\n" for sentence in found), end="", file=sys.stderr)
        return 1 if found else 0
    chosen = [picture for picture in pictures(HERE) if not words or picture.name in words]
    if not chosen or len(chosen) < len(words):
        sys.exit(__doc__)
    for picture in chosen:
        with open(os.path.join(HERE, picture.name), "w", encoding="utf-8") as file:
            file.write(stamped(HERE, picture, picture.make()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
