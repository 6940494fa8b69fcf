# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A picture from a .dot file, which graphviz lays out. Lines `// title:` and `// desc:` have the words for screen readers."""

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from xml.sax.saxutils import escape

from draw import svg

SPACE = "{http://www.w3.org/2000/svg}"
BLACK = {"#000000", "black", None}


def make(folder, source):
    path = f"{folder}/{source}"
    with open(path, encoding="utf-8") as file:
        words = dict(re.findall(r"^// (title|desc): (.*)$", file.read(), re.M))
    made = subprocess.run(["dot", "-Tsvg", path], check=True, capture_output=True)
    root = ElementTree.fromstring(made.stdout)
    _, _, width, height = (float(value) for value in root.get("viewBox").split())
    graph = root.find(f"{SPACE}g")
    move = re.search(r"translate\(([-\d.]+)[ ,]([-\d.]+)\)", graph.get("transform"))
    body = [f'<g transform="translate({move[1]} {move[2]})">']
    shapes = [child for child in graph if child.tag != f"{SPACE}title"]
    for child in shapes[1:]:  # the first is graphviz's background
        body += part(child)
    return svg.frame(width, height, words["title"], words["desc"], [*body, "</g>"])


def part(child):
    if child.tag == f"{SPACE}text":  # the title of the picture
        return [line([child], "8", "start", font_weight="bold")]
    if child.tag != f"{SPACE}g":
        return [shape(child)]
    parts = [one for one in child.iter() if one.tag not in (f"{SPACE}g", f"{SPACE}title", f"{SPACE}a")]
    texts = [one for one in parts if one.tag == f"{SPACE}text"]
    shapes = [shape(one) for one in parts if one.tag != f"{SPACE}text"]
    outline = next((one for one in parts if one.tag != f"{SPACE}text"), None)
    if child.get("class") == "cluster":
        return shapes + [line([one], *edge(outline, one)) for one in texts]
    if child.get("class") != "node" or len({one.get("x") for one in texts}) == 1 < len(texts):
        return shapes + [line([one], one.get("x"), one.get("text-anchor")) for one in texts]
    # Labels in HTML are at positions that fit the font of graphviz. Centred, they fit every font.
    rows = {}
    for one in texts:
        rows.setdefault(one.get("y"), []).append(one)
    return shapes + [line(row, svg.number(middle(outline)), "middle") for row in rows.values()]


def edge(outline, text):
    """Place and anchor of the label of a cluster, which begins at the left border or, with labeljust=r, ends at the right one."""
    if float(text.get("x")) > middle(outline) + 8:
        return svg.number(max(places(outline)) - 8), "end"
    return svg.number(min(places(outline)) + 8), "start"


def middle(outline):
    if outline.get("cx"):
        return float(outline.get("cx"))
    return (min(places(outline)) + max(places(outline))) / 2


def places(outline):
    return [float(x) for x in re.findall(r"(-?[\d.]+),-?[\d.]+", outline.get("points") or outline.get("d"))]


def shape(one):
    attributes = {key: value for key, value in one.attrib.items() if key != "stroke" or value != "transparent"}
    return svg.element(one.tag.replace(SPACE, ""), **{key.replace("-", "_"): value for key, value in attributes.items()})


def line(texts, x, anchor, **more):
    size = svg.number(float(texts[0].get("font-size")))
    attributes = {"x": x, "y": texts[0].get("y"), "font_size": size, "fill": svg.INK, **more}
    if anchor != "start":
        attributes["text_anchor"] = anchor
    if "Mono" in texts[0].get("font-family"):
        attributes["class_"] = "mono"
    pieces = [(escape(one.text.replace("\u00a0", " ")), one.get("font-weight") == "bold") for one in texts]
    if len(pieces) == 1:
        words, bold = pieces[0]
        # Leading spaces keep the label of an edge away from it, but an SVG collapses them.
        spaces = len(words) - len(words.lstrip())
        attributes["x"] = svg.number(float(x) + spaces * 5 / (1 if anchor == "start" else 2))
        return svg.element("text", words.strip(), **attributes, **({"font_weight": "bold"} if bold else {}))
    spans = (f'<tspan font-weight="bold">{words}</tspan>' if bold else words for words, bold in pieces)
    return svg.element("text", "".join(spans), **attributes)
