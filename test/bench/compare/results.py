# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The file of results: rows by part, mode and size, which later runs replace one by one.

    {"runs": {ID: machine, versions, commit},
     "rows": [{"part", "mode", "size", "run",
               "gave_up": {PROXY: why},
               "others_percent": {PROXY: share of the machine's CPU that other programs used},
               "busy": true if that was above BUSY_PERCENT,
               "metrics": {NAME: {"unit", "ratio", "pairs": ratio of pairs, PROXY: {"median", "p99", "samples"}}}}]}

A ratio above 1 is better for Sluice.
"""

import json
import os
import statistics

import paths  # noqa: F401  # pylint: disable=unused-import
import summary
from metrics import KUBE_PROXY, PARTS, PROXIES, SLUICE

BUSY_PERCENT = 10
DIGITS = 4


def rounded(value):
    return float(f"{value:.{DIGITS}g}")


def empty():
    return {"runs": {}, "rows": []}


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return empty()


def save(path, found):
    """One line for each metric, so that a difference can be read. An interrupted write leaves the old file."""
    used = {row["run"] for row in found["rows"]}
    runs = {name: about for name, about in found["runs"].items() if name in used}
    rows = [_row_text(row) for row in sorted(found["rows"], key=order)]
    text = f'{{\n"runs": {json.dumps(runs, ensure_ascii=False, indent=1)},\n"rows": [\n{",".join(rows)}\n]\n}}\n'
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def _row_text(row):
    about = json.dumps({key: value for key, value in row.items() if key != "metrics"}, ensure_ascii=False)
    lines = [f' {json.dumps(name)}: {json.dumps(values, ensure_ascii=False)}' for name, values in row["metrics"].items()]
    return f'{about[:-1]}, "metrics": {{\n' + ",\n".join(lines) + "}}"


def size_of(text):
    services, endpoints = text.split("x")
    return int(services), int(endpoints)


def order(row):
    return (list(PARTS).index(row["part"]), row["mode"], *size_of(row["size"]))


def key(row):
    return row["part"], row["mode"], row["size"]


def find(found, part, mode, size):
    return next((row for row in found["rows"] if key(row) == (part, mode, size)), None)


def keep(found, row):
    """Replaces the row with the same part, mode and size."""
    found["rows"] = [one for one in found["rows"] if key(one) != key(row)] + [row]


def made_row(part, mode, size, run, samples, gave_up, others):
    """`samples`: proxy → metric → list; `others`: proxy → shares, one for each measurement."""
    row = {"part": part, "mode": mode, "size": size, "run": run, "gave_up": gave_up,
           "others_percent": {proxy: rounded(statistics.mean(each)) for proxy, each in others.items() if each}}
    row["busy"] = any(share > BUSY_PERCENT for share in row["others_percent"].values())
    row["metrics"] = {}
    for metric in PARTS[part][1]:
        values = {"unit": metric.unit}
        for proxy in PROXIES:
            # Rounded first, so that the median follows from the samples in the file.
            found = [rounded(one) for one in samples.get(proxy, {}).get(metric.name, ())]
            if found:
                values[proxy] = {"median": rounded(statistics.median(found)),
                                 **({"p99": rounded(summary.percentile(found, 99))} if metric.ranked else {}),
                                 "samples": found}
        ratio = _ratio(metric, values)
        if ratio is not None:
            values["ratio"] = ratio
        if len(values) > 1:
            row["metrics"][metric.name] = values
    return row


def _ratio(metric, values):
    if not all(values.get(proxy, {}).get("median") for proxy in PROXIES):
        return None
    ours, theirs = values[SLUICE]["median"], values[KUBE_PROXY]["median"]
    return rounded(theirs / ours if metric.less_is_better else ours / theirs)


def with_p99(row, proxy, name, value):
    """Replaces the p99 of the samples by that of single values, where a sample is a median of many."""
    if proxy in row["metrics"].get(name, {}):
        row["metrics"][name][proxy]["p99"] = rounded(value)


def with_pairs(row, name, value):
    """Adds the median ratio of pairs that were measured one directly after the other, which drift of the machine does not change."""
    if name in row["metrics"]:
        row["metrics"][name]["pairs"] = rounded(value)


def number(value):
    """A value as tables show it: three digits."""
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 or value == 0 else f"{value:.1g}"
