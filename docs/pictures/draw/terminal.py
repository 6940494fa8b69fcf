# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of all that a recorded terminal showed, from a .cast file (asciicast, version 2). If a viewer supports animation,
lines appear in the order and at the pace of the recording, eight times slower; otherwise all of them are there at once."""

import json
import re
from xml.sax.saxutils import escape

from draw import svg

SIZE, ADVANCE, HEIGHT, TOP, SLOWER = 12, 7.23, 16, 44, 8
CONTROL = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|([\r\n])")


class Screen:
    """Lines without limit; as much of a terminal as the demo needs."""

    def __init__(self, columns):
        self.columns, self.lines, self.column, self.bold = columns, [[]], 0, False
        self.times = [0]

    def put(self, words, seconds):
        for letter in words:
            if self.column == self.columns:
                self.next_line(seconds)
            line = self.lines[-1]
            line += [(" ", False)] * (self.column - len(line))
            line[self.column:self.column + 1] = [(letter, self.bold)]
            self.column += 1
            self.times[-1] = seconds

    def next_line(self, seconds):
        self.lines.append([])
        self.times.append(seconds)
        self.column = 0

    def write(self, words, seconds):
        end = 0
        for found in CONTROL.finditer(words):
            self.put(words[end:found.start()], seconds)
            end = found.end()
            if found[3] == "\n":
                self.next_line(seconds)
            elif found[3] == "\r":
                self.column = 0
            elif found[2] == "K":
                del self.lines[-1][self.column:]
            elif found[2] == "m":
                self.bold = found[1] == "1"
            else:
                raise ValueError(f"unknown control sequence {found[0]!r}")
        self.put(words[end:], seconds)


def make(folder, source):
    with open(f"{folder}/{source}", encoding="utf-8") as file:
        head, *events = (json.loads(line) for line in file)
    screen = Screen(head["width"])
    for seconds, kind, words in events:
        if kind == "o":
            screen.write(words, seconds)
    while screen.lines and not screen.lines[-1]:
        screen.lines.pop()
    body = [svg.element("rect", x=0.5, y=0.5, width=head["width"] * ADVANCE + 31, height=30, fill="#eceef0", stroke=svg.LINE)]
    body += [svg.element("circle", cx=18 + 18 * place, cy=15.5, r=5, fill="#c4c9cf") for place in range(3)]
    title = f"{head['title'].lstrip('# ')}: a node with three pods, in network namespaces"
    body.append(svg.text(80, 20, title, 12, svg.GREY))
    y = TOP
    for line, seconds in zip(screen.lines, screen.times):
        y += HEIGHT
        if line:
            words = "".join(letter for letter, _ in line).rstrip()
            bold = {"font_weight": "bold"} if line[0][1] else {}
            body.append(svg.element("text", escape(words), x=16, y=y, font_size=SIZE, fill=svg.INK, class_="mono line", **bold,
                                    style=f"animation-delay:{svg.number(seconds * SLOWER)}s", xml__space="preserve"))
    body = [one.replace("xml--space", "xml:space") for one in body]
    style = ("@keyframes appear{from{opacity:0}to{opacity:1}}.line{white-space:pre;animation:appear .2s both}"
             "@media (prefers-reduced-motion:reduce){.line{animation:none}}")
    description = ("The demo starts sluiced on manifests, connects to a virtual IP and a node port, removes one pod, then all of "
                   "them, prints the status of the daemon, and removes every rule.")
    return svg.frame(head["width"] * ADVANCE + 32, y + 20, title, description, body, style)
