#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluates every query of grafana-dashboard.json through the HTTP API of Prometheus, lists panels without data, and draws the
panels as one SVG.

The drawing shows the queries and their results, not Grafana: it has no thresholds, tooltips or repeated panels.
"""

import argparse
import json
import math
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from xml.sax.saxutils import escape

HERE = os.path.dirname(os.path.abspath(__file__))
CELL, UNIT_HEIGHT, GAP, HEAD = 54, 26, 6, 66  # pixels of a grid column, of a grid row, between panels, above them
COLOURS = ("#2f6fb5", "#d9822b", "#3d9950", "#c0392b", "#7d5ba6", "#8c6d46", "#c45a94", "#5f6b73", "#a8a337", "#2a9da8")
POINTS = 120  # at most, in a series
SMALL = (9, "#50585e")
STYLE = f"<style>.l{{fill:none;stroke-width:1.4;stroke-linecap:round}}.s{{font-size:{SMALL[0]}px;fill:{SMALL[1]}}}</style>"
LEGEND = 6  # entries, at most


# Queries.

def with_variables(query, values, interval):
    for name in sorted(values, key=len, reverse=True):  # $node_exporter before a variable whose name it begins with
        query = query.replace("$" + name, values[name])
    return query.replace("$__rate_interval", interval)


def expand_variables(dashboard, prometheus, start, end, given):
    """Replaces each variable by all its values, as Grafana does for "All"."""
    values = dict(given)
    for one in dashboard["templating"]["list"]:
        if one["type"] != "query" or one["name"] in values:
            continue
        selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", one["definition"]).groups()
        found = prometheus.label_values(label, with_variables(selector, values, ""), start, end)
        values[one["name"]] = one.get("allValue") or "|".join(re.escape(value).replace("\\", "\\\\") for value in found)
    return values


class Prometheus:
    def __init__(self, url):
        self._url = url.rstrip("/")

    def ask(self, what, **parameters):
        try:
            with urllib.request.urlopen(f"{self._url}/api/v1/{what}?{urllib.parse.urlencode(parameters)}", timeout=30) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{parameters['query']}: {error.read().decode(errors='replace')}") from error

    def label_values(self, label, selector, start, end):
        parameters = urllib.parse.urlencode({"match[]": selector, "start": start, "end": end})
        with urllib.request.urlopen(f"{self._url}/api/v1/label/{label}/values?{parameters}", timeout=30) as answer:
            return json.load(answer)["data"]

    def now(self, query, end):
        return [(one["metric"], [[end, float(one["value"][1])]]) for one in self.ask("query", query=query, time=end)]

    def over_time(self, query, start, end, step):
        found = self.ask("query_range", query=query, start=start, end=end, step=step)
        return [(one["metric"], [[at, float(value)] for at, value in one["values"]]) for one in found]


def label_of(text, metric):
    for name, value in metric.items():
        text = text.replace("{{" + name + "}}", value)
    return text or ", ".join(f"{name}={value}" for name, value in metric.items() if name != "__name__")


def is_finite(value):
    return not (math.isnan(value) or math.isinf(value))


def evaluate(dashboard, prometheus, start, end, step, values):
    """Panel id → list of [query, series]; a series is [label, [[time, value], …]]."""
    results = {}
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            continue
        results[str(panel["id"])] = answers = []
        for target in panel["targets"]:
            query = with_variables(target["expr"], values, f"{max(4 * step, 8):g}s")
            found = prometheus.now(query, end) if panel["type"] == "stat" else prometheus.over_time(query, start, end, step)
            series = [[label_of(target["legendFormat"], metric), [point for point in points if is_finite(point[1])]]
                      for metric, points in found]
            answers.append([query, [one for one in series if one[1]]])
    return results


def without_data(dashboard, results):
    """Panels with a query without data: title, row, queries."""
    row = ""
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
            continue
        empty = [query for query, series in results[str(panel["id"])] if not series]
        if empty:
            yield row, panel["title"], empty, len(empty) == len(panel["targets"])


# Drawing.

def short(value, unit):
    """A value with its unit, as an axis shows it."""
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit == "s":
        for size, name in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if abs(value) >= size:
                return f"{value / size:.3g} {name}"
        return "0 s"
    base = 1024 if unit == "bytes" else 1000
    suffix = {"bytes": "B", "Bps": "B/s", "ops": "/s", "reqps": "/s", "wps": "/s", "pps": "/s"}.get(unit, "")
    for size, name in ((base ** 3, "G"), (base ** 2, "M"), (base, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {name}{suffix.strip() if suffix.startswith('B') else suffix}"
    return f"{value:.3g}{' ' if suffix.startswith('B') else ''}{suffix}"


def text(x, y, what, size=11, colour="#2b2f33", anchor="start", bold=False):
    more = ' font-weight="bold"' if bold else ""
    if anchor != "start":
        more += f' text-anchor="{anchor}"'
    if (size, colour) == SMALL:
        return f'<text x="{x:g}" y="{y:g}" class="s"{more}>{escape(what)}</text>'
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}"{more}>{escape(what)}</text>'


def cut(what, width, size=11):
    most = int(width / (size * 0.56))
    return what if len(what) <= most else what[:most - 1] + "…"


def top_of_axis(highest):
    """The smallest of 1, 2 and 5 times a power of ten that is not below the highest value."""
    if highest <= 0:
        return 1
    power = 10 ** math.floor(math.log10(highest))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= highest * 0.999999)


def draw_stat(series, x, y, width, height, unit):
    if not series:
        return [text(x + width / 2, y + height / 2 + 14, "no data", 12, "#8a9299", "middle")]
    shown = series[:3]
    out = []
    for i, (label, points) in enumerate(shown):
        value = short(points[-1][1], unit)
        line = y + 34 + (height - 34) * (i + 1) / (len(shown) + 1) + 6
        out.append(text(x + width / 2, line, f"{label} {value}".strip(), 20 if len(shown) == 1 else 13, "#2f6fb5", "middle", True))
    return out


def draw_lines(panel, series, x, y, width, height, unit, span, reason):
    left, right, top, bottom = x + 62, x + width - 12, y + 32, y + height - 44
    out = []
    highest = max((value for _, points in series for _, value in points), default=0)
    limit = top_of_axis(highest)
    for part in (0, 0.5, 1):
        line = bottom - (bottom - top) * part
        out.append(f'<path d="M{left:g} {line:.1f}H{right:g}" stroke="#dde2e6"/>')
        out.append(text(left - 5, line + 4, short(limit * part, unit), *SMALL, "end"))
    start, end = span
    for part in (0, 0.5, 1):
        out.append(text(left + (right - left) * part, bottom + 10, short((end - start) * part, "s"), *SMALL,
                        ("start", "middle", "end")[int(part * 2)]))
    if not series:
        return [*out, text((left + right) / 2, (top + bottom) / 2 - 6, f"no data: {reason}" if reason else "no data", 11, "#6b747b",
                           "middle")]
    step = panel["fieldConfig"]["defaults"]["custom"].get("lineInterpolation") == "stepAfter"
    for i, (_, points) in enumerate(series):
        path, last = [], None
        for at, value in points:
            px = round(left + (right - left) * (at - start) / (end - start))
            py = round(bottom - (bottom - top) * max(value, 0) / limit, 1)
            if last is None or at - last[0] > (end - start) / POINTS * 2.5:
                path.append(f"M{px:g} {py:g}h.1")  # a point without neighbours is visible
            elif py == last[1]:
                if path[-1].startswith("H") and "V" not in path[-1]:
                    path.pop()  # one horizontal line instead of several
                path.append(f"H{px:g}")
            else:
                path.append(f"H{px:g}V{py:g}" if step else f"L{px:g} {py:g}")
            last = (at, py)
        out.append(f'<path d="{"".join(path)}" class="l" stroke="{COLOURS[i % len(COLOURS)]}"/>')
    place, line, hidden = left - 50, y + height - 19, 0
    for i, (label, _) in enumerate(series):
        room = len(label) * 5.2 + 22
        if place + room > right and place > left - 50:
            place, line = left - 50, line + 13
        if line > y + height - 6 or i >= LEGEND:
            hidden = len(series) - i
            break
        out.append(f'<rect x="{place:g}" y="{line - 6:g}" width="9" height="4" fill="{COLOURS[i % len(COLOURS)]}"/>')
        out.append(text(place + 12, line, cut(label, width - 40, 9), *SMALL))
        place += room
    if hidden:
        out.append(text(right, y + height - 7, f"+{hidden} more", *SMALL, "end"))
    return out


def draw(dashboard, results, span, title, subtitle, reasons):
    width = 24 * CELL + 2 * GAP
    bottom = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"])
    height = HEAD + bottom * UNIT_HEIGHT + 2 * GAP
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="DejaVu Sans, Verdana, sans-serif" role="img">', f"<title>{escape(title)}</title>",
           f"<desc>{escape(subtitle)}</desc>", f'<rect width="{width}" height="{height}" fill="#eef1f4"/>',
           STYLE, text(GAP * 2, 28, title, 17, bold=True), text(GAP * 2, 50, subtitle, 12, "#555e65")]
    for panel in dashboard["panels"]:
        grid = panel["gridPos"]
        x, y = GAP + grid["x"] * CELL, HEAD + grid["y"] * UNIT_HEIGHT
        w, h = grid["w"] * CELL - GAP, grid["h"] * UNIT_HEIGHT - GAP
        if panel["type"] == "row":
            out.append(text(x + 6, y + 17, panel["title"], 14, bold=True))
            continue
        out.append(f'<g><title>{escape(panel["title"])}: {escape(panel["description"])}</title>'
                   f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="3" fill="#fff" stroke="#d2d8dd"/>')
        out.append(text(x + 10, y + 19, cut(panel["title"], w - 16), 11.5 if grid["w"] > 3 else 10, bold=True))
        series = [one for _, found in results[str(panel["id"])] for one in found]
        unit = panel["fieldConfig"]["defaults"]["unit"]
        if panel["type"] == "stat":
            out += draw_stat(series, x, y, w, h, unit)
        else:
            out += draw_lines(panel, series, x, y, w, h, unit, span, reasons.get(panel["title"]))
        out.append("</g>")
    return "\n".join([*out, "</svg>\n"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dashboard", default=os.path.join(HERE, "grafana-dashboard.json"))
    parser.add_argument("--prometheus", metavar="URL", help="address of a Prometheus server, such as http://127.0.0.1:9090")
    parser.add_argument("--results", metavar="FILE", help="draw results that --save wrote, without a Prometheus server")
    parser.add_argument("--save", metavar="FILE", help="write the results of the queries as JSON")
    parser.add_argument("--seconds", type=int, default=3600, help="time range (default 3600)")
    parser.add_argument("--end", type=float, help="end of the time range in Unix seconds (default: now)")
    parser.add_argument("--variable", action="append", default=[], metavar="NAME=REGEX", help="value of a variable (default: all)")
    parser.add_argument("--output", metavar="FILE", help="SVG to write")
    parser.add_argument("--reasons", metavar="FILE",
                        help="JSON object: panel title → why it may have no data; another panel without data is then an error")
    parser.add_argument("--title", default="Sluice dashboard")
    parser.add_argument("--subtitle", default="Drawn by packaging/monitoring/render.py from query results; this is not Grafana.")
    options = parser.parse_args()
    if (options.prometheus is None) == (options.results is None):
        parser.error("give either --prometheus or --results")
    with open(options.dashboard, encoding="utf-8") as file:
        dashboard = json.load(file)
    if options.results is not None:
        with open(options.results, encoding="utf-8") as file:
            saved = json.load(file)
    else:
        end = options.end or time.time()
        prometheus, start = Prometheus(options.prometheus), end - options.seconds
        values = expand_variables(dashboard, prometheus, start, end, dict(one.split("=", 1) for one in options.variable))
        step = max(1, math.ceil(options.seconds / POINTS))
        saved = {"start": start, "end": end, "panels": evaluate(dashboard, prometheus, start, end, step, values)}
    if options.save is not None:
        with open(options.save, "w", encoding="utf-8") as file:
            json.dump(saved, file)
    queries = [one for answers in saved["panels"].values() for one in answers]
    print(f"{len(saved['panels'])} panels, {len(queries)} queries, {sum(bool(found) for _, found in queries)} with data")
    reasons, status = {}, 0
    if options.reasons is not None:
        with open(options.reasons, encoding="utf-8") as file:
            reasons = json.load(file)
    for row, title, empty, whole in without_data(dashboard, saved["panels"]):
        print(f"{row} / {title}: {'no data' if whole else 'no data for ' + '; '.join(empty)}: {reasons.get(title, 'unexplained')}")
        if options.reasons is not None and title not in reasons:
            status = 1
    if options.output is not None:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(draw(dashboard, saved["panels"], (saved["start"], saved["end"]), options.title, options.subtitle, reasons))
    return status


if __name__ == "__main__":
    sys.exit(main())
