# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A plot of measurements. plots.json has its words, a file in data/ its points: plot, series, x, y, unit and source.

If all x are numbers, or sizes `N × M` with the same M, it has lines and two logarithmic axes; otherwise a row of dots for each
x on a logarithmic axis."""

import csv
import json
import math
import re

from draw import svg

WIDTH, RIGHT, HEAD, LEGEND, LINES, ROW = 760, 40, 58, 17, 290, 26
COLOURS = (("Sluice", svg.BLUE), ("kube-proxy", "#c2570c"), ("HAProxy", "#c2570c"), ("", svg.GREY))
SIZE = re.compile(r"(\d+)(?: × (\d+))?$")


def make(folder, plots, points, name):
    with open(f"{folder}/{plots}", encoding="utf-8") as file:
        words = json.load(file)[name]
    series = {}
    with open(f"{folder}/{points}", encoding="utf-8", newline="") as file:
        for plot, title, x, y, *_ in list(csv.reader(file))[1:]:
            if plot == name:
                series.setdefault(title, []).append((x, float(y)))
    if not series:
        raise ValueError(f"{points} has no points of {name}")
    return drawn(words, series)


def drawn(words, series):
    """`words`: title, subtitle, x, y, desc and note; `series`: title → (x, y) each."""
    body = [svg.text(16, 26, words["title"], 15, font_weight="bold"), svg.text(16, 44, words["subtitle"], 11, svg.GREY)]
    styles = {}
    used = {}
    for title in series:
        colour = next(colour for start, colour in COLOURS if title.startswith(start))
        used[colour] = used.get(colour, 0) + 1
        styles[title] = (colour, used[colour] > 1)
        y = HEAD + LEGEND * len(styles) - 8
        body += [marker(24, y, *styles[title]), svg.text(36, y + 4, title, 11)]
    top = HEAD + LEGEND * len(styles) + 14
    sizes = [SIZE.match(x) for one in series.values() for x, _ in one]
    numbers = all(sizes) and len({size[2] for size in sizes}) == 1 and len({size[1] for size in sizes}) > 1
    marks, bottom = (lines if numbers else dots)(series, styles, words, top)
    notes = svg.wrap(words["note"], 10, WIDTH - 32)
    body += marks + [svg.text(16, bottom + 52 + 14 * place, line, 10, svg.GREY) for place, line in enumerate(notes)]
    return svg.frame(WIDTH, bottom + 52 + 14 * len(notes), words["title"], words["desc"], body)


def marker(x, y, colour, hollow):
    return svg.element("circle", cx=x, cy=y, r=4, fill="#ffffff" if hollow else colour, stroke=colour, stroke_width=2)


def lines(series, styles, words, top):
    left, bottom = 64, top + LINES
    number = lambda x: float(SIZE.match(x)[1])  # noqa: E731
    across = Axis([number(x) for one in series.values() for x, _ in one], left, WIDTH - RIGHT)
    up = Axis([y for one in series.values() for _, y in one], bottom, top)
    body = []
    for value in across.ticks():
        body += [upright(across(value), top, bottom), tick(across(value), bottom, value)]
    for value in up.ticks():
        body.append(svg.element("path", d=f"M{left},{svg.number(up(value))}H{WIDTH - RIGHT}", stroke=svg.LINE))
        body.append(svg.text(left - 6, up(value) + 3.5, f"{value:,g}", 10, svg.GREY, text_anchor="end"))
    middle = (top + bottom) / 2
    body.append(svg.text(16, middle, words["y"], 11.5, text_anchor="middle", transform=f"rotate(-90 16 {svg.number(middle)})"))
    body.append(svg.text((left + WIDTH - RIGHT) / 2, bottom + 34, words["x"], 11.5, text_anchor="middle"))
    for title, points in series.items():
        colour, hollow = styles[title]
        places = [(across(number(x)), up(y), y) for x, y in sorted(points, key=lambda point: number(point[0]))]
        path = "L".join(f"{svg.number(x)},{svg.number(y)}" for x, y, _ in places)
        body.append(svg.element("path", d=f"M{path}", fill="none", stroke=colour, stroke_width=2,
                                **({"stroke_dasharray": "6 4"} if hollow else {})))
        for x, y, value in places:
            body += [marker(x, y, colour, hollow), label(x + 7, y - 7, value, colour, "start")]
    return body, bottom


def dots(series, styles, words, top):
    rows = list(dict.fromkeys(x for one in series.values() for x, _ in one))
    left, bottom = 24 + max(svg.width_of(row, 11) for row in rows), top + ROW * len(rows)
    across = Axis([y for one in series.values() for _, y in one], left, WIDTH - RIGHT)
    body = []
    for value in across.ticks():
        body += [upright(across(value), top, bottom), tick(across(value), bottom, value)]
    body.append(svg.text((left + WIDTH - RIGHT) / 2, bottom + 34, words["y"], 11.5, text_anchor="middle"))
    for place, row in enumerate(rows):
        y = top + ROW * (place + 0.5)
        body.append(svg.text(left - 8, y + 4, re.sub(r"\d{4,}", lambda size: f"{int(size[0]):,}", row), 11, text_anchor="end"))
        body.append(svg.element("path", d=f"M{svg.number(left)},{svg.number(y)}H{WIDTH - RIGHT}", stroke=svg.LINE))
        for title, points in series.items():
            for value in (value for x, value in points if x == row):
                colour, hollow = styles[title]
                body += [marker(across(value), y, colour, hollow),
                         label(across(value), y - 7, value, colour, "middle")]
    return body, bottom


def label(x, y, value, colour, anchor):
    return svg.text(x, y, f"{value:,g}", 9.5, colour, text_anchor=anchor, stroke="#ffffff", stroke_width=3, paint_order="stroke")


def upright(x, top, bottom):
    return svg.element("path", d=f"M{svg.number(x)},{svg.number(top)}V{svg.number(bottom)}", stroke=svg.LINE)


def tick(x, bottom, value):
    return svg.text(x, bottom + 16, f"{value:,g}", 10, svg.GREY, text_anchor="middle")


class Axis:
    """Position of a value between two places, with a margin at both."""

    def __init__(self, values, begin, end):
        low, high = math.log10(min(values)), math.log10(max(values))
        margin = max(0.08 * (high - low), 0.04)
        self.low, self.high, self.begin, self.end = low - margin, high + margin, begin, end

    def __call__(self, value):
        return self.begin + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.begin)

    def ticks(self):
        """1, 2, 5, 10 …; powers of ten on a long axis, finer steps on a short one."""
        length = self.high - self.low
        steps = (1,) if length > 4 else (1, 2, 5) if length > 0.7 else (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
        for power in range(math.floor(self.low), math.ceil(self.high) + 1):
            for step in steps:
                if self.low <= math.log10(step) + power <= self.high:
                    yield step * 10.0 ** power
