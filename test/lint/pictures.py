#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that each picture of the documentation is the one that its sources make, and prints TAP."""

import os
import shutil
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True

from tap import Tap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "docs", "pictures")
sys.path.insert(0, FOLDER)
import render  # noqa: E402

KIB = 1024
SIZES = {"demo.svg": 150 * KIB}  # others: 60 KiB
SPACE = "{http://www.w3.org/2000/svg}"


def unreadable(name, text):
    """A picture has words for screen readers, a background of its own, and a size that a page can carry."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        yield f"{name}: {error}"
        return
    for part in ("title", "desc"):
        if not (root.findtext(SPACE + part) or "").strip():
            yield f"{name}: no {part}"
    background = root.find(f"{SPACE}rect")
    if background is None or any(background.get(key) != root.get(key) for key in ("width", "height")):
        yield f"{name}: no background rectangle of its size"
    if root.find(f".//{SPACE}text") is None:
        yield f"{name}: no text"
    if len(text.encode()) > SIZES.get(name, 60 * KIB):
        yield f"{name}: larger than {SIZES.get(name, 60 * KIB) // KIB} KiB"


def svgs(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".svg"))


def append(folder, name, text=" "):
    with open(os.path.join(folder, name), "a", encoding="utf-8") as file:
        file.write(text)


def broken():
    """Title, change of a copy of the folder, number of pictures that the check must report."""
    made = list(render.pictures(FOLDER))
    using = lambda name: sum(name in (*picture.sources, *picture.code) for picture in made)  # noqa: E731
    for name in sorted({name for picture in made for name in (*picture.sources, *picture.code)}):
        yield f"changed {name}", lambda folder, name=name: append(folder, name, "\n"), using(name)
    first = made[0].name
    yield f"edited {first}", lambda folder: append(folder, first), 1
    yield f"removed {first}", lambda folder: os.remove(os.path.join(folder, first)), 1
    yield "an SVG without a source", lambda folder: append(folder, "stray.svg", "<svg/>"), 1
    yield "a source without an SVG", lambda folder: append(folder, "new.dot", "digraph new {}"), 1


def blind():
    """Changes that are not found, or found where they are not."""
    for title, change, expected in broken():
        with tempfile.TemporaryDirectory(prefix="sluice-lint-") as root:
            folder = os.path.join(root, "pictures")
            shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
            before = set(render.stale(folder))
            change(folder)
            found = set(render.stale(folder)) - before
        if not expected or len(found) != expected:
            yield f"{title}: expected {expected}, found {len(found)}: {sorted(found)}"


def blind_to_form():
    """Pictures without a part that every picture needs."""
    parts = ("<title>a</title>", "<desc>b</desc>", '<rect width="9" height="9"/>', "<text>c</text>")
    for missing in (None, *parts):
        body = "".join(part for part in parts if part != missing)
        found = list(unreadable("a.svg", f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{body}</svg>'))
        if len(found) != (missing is not None):
            yield f"without {missing}: {found}"
    if len(list(unreadable("a.svg", "<svg>"))) != 1:
        yield "text that is no XML"


def main():
    tap = Tap()
    tap.check("a changed source, a changed picture and a missing one are found, and no others", blind())
    tap.check("a picture without title, description, background or text is found", blind_to_form())
    tap.check("each picture is the one that its sources make", render.stale(FOLDER))
    names = svgs(FOLDER)
    found = [one for name in names for one in unreadable(name, render.read(FOLDER, name))]
    tap.check(f"{len(names)} pictures are readable", found if names else ["there are no pictures"])
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
