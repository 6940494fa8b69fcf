# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Elements of an SVG as text, and the frame of every picture: white background, fonts, title and description."""

from xml.sax.saxutils import escape, quoteattr

SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"
INK, GREY, LINE = "#1f2328", "#57606a", "#d0d7de"
BLUE, GREEN, RED, AMBER, PALE = "#2f6fb7", "#2e7d43", "#b3392f", "#9a6700", "#f8fafc"


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


def element(name, text=None, **attributes):
    """`text` is SVG, already escaped. An underscore in a name of an attribute stands for a hyphen."""
    words = "".join(f" {key.rstrip('_').replace('_', '-')}={quoteattr(number(value) if isinstance(value, (int, float)) else value)}"
                    for key, value in attributes.items())
    return f"<{name}{words}/>" if text is None else f"<{name}{words}>{text}</{name}>"


def text(x, y, words, size=11, fill=INK, **attributes):
    return element("text", escape(words), x=x, y=y, font_size=size, fill=fill, **attributes)


def frame(width, height, title, description, body, style=""):
    """The whole picture."""
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    rules = f"text{{font-family:{SANS}}}.mono{{font-family:{MONO}}}{style}"
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title description">',
        element("title", escape(title), id="title"),
        element("desc", escape(description), id="description"),
        element("style", rules),
        element("rect", width=width, height=height, fill="#ffffff"),
        *body, "</svg>", ""))


def width_of(words, size):
    """The width that a line needs in any of the fonts, roughly."""
    return sum(0.33 if letter in " .,:;'|()[]ijlftr-" else 0.9 if letter in "mwMW" else 0.62 for letter in words) * size


def wrap(words, size, width):
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
