# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of steps in columns, and lanes of what holds during them, from a -timeline.json file."""

import json

from draw import svg

LEFT, COLUMN, HEAD, PAD = 128, 98, 96, 6
SIZE, LINE_HEIGHT = 10.5, 13.5
COLOURS = {"blue": ("#e3eefb", svg.BLUE), "green": ("#e2f3e5", svg.GREEN), "grey": ("#eceef0", "#5f6368"),
           "amber": ("#fff3d6", svg.AMBER), "red": ("#fbe6e4", svg.RED)}


def make(folder, source):
    with open(f"{folder}/{source}", encoding="utf-8") as file:
        data = json.load(file)
    names = [step["name"] for step in data["steps"]]
    width = LEFT + COLUMN * len(names) + 16
    body = [svg.text(16, 26, data["title"], 16, font_weight="bold")]
    top = 44
    lanes = []
    y = top + HEAD
    for lane in data["lanes"]:
        bars = []
        for bar in lane["bars"]:
            first, last = names.index(bar["from"]), names.index(bar["to"])
            room = COLUMN * (last - first + 1) - 4
            bars.append((bar, first, room, svg.wrap(bar["text"], SIZE, room - 2 * PAD)))
        height = max(len(lines) for _, _, _, lines in bars) * LINE_HEIGHT + 2 * PAD + 2
        lanes.append((lane["name"], y, height, bars))
        y += height + 10
    for index, step in enumerate(data["steps"]):
        x = LEFT + COLUMN * index
        body.append(svg.element("path", d=f"M{x},{top}V{svg.number(y)}", stroke=svg.LINE, stroke_dasharray="3 3"))
        body.append(svg.text(x + PAD, top + 14, step["name"], 12, font_weight="bold"))
        lines = svg.wrap(step["text"], SIZE - 1, COLUMN - 2 * PAD)
        body += [svg.text(x + PAD, top + 30 + 12 * place, words, SIZE - 1, svg.GREY) for place, words in enumerate(lines)]
    for name, lane_y, height, bars in lanes:
        lines = svg.wrap(name, 11.5, LEFT - 24)
        start = lane_y + height / 2 + 4 - (len(lines) - 1) * 7
        body += [svg.text(16, start + 14 * place, words, 11.5, font_weight="bold") for place, words in enumerate(lines)]
        for bar, first, room, words in bars:
            fill, stroke = COLOURS[bar["colour"]]
            x = LEFT + COLUMN * first + 2
            body.append(svg.element("rect", x=x, y=lane_y, width=room, height=height, rx=4, fill=fill, stroke=stroke))
            start = lane_y + height / 2 + 4 - (len(words) - 1) * LINE_HEIGHT / 2
            body += [svg.text(x + room / 2, start + LINE_HEIGHT * place, line, SIZE, text_anchor="middle")
                     for place, line in enumerate(words)]
    for note in data["notes"]:
        y += 16
        body.append(svg.text(16, y, note, 10.5, svg.GREY))
    return svg.frame(width, y + 16, data["title"], data["desc"], body)
