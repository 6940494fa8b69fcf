#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks values that documents quote from docs/benchmarks/results.json, and the page and plots made from it. Prints TAP.

A table is a quote if the comment above it names the mode, the size, and one value for each of its rows:

    <!-- quotes docs/benchmarks/results.json: nftables 5000x10: sync.seconds, change.event_ms -->

A cell below a heading that begins with kube-proxy, Sluice or ratio has the median as the page of the results shows it, then
maybe the 99th percentile. A cell without a number says that there is no value.
"""

import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "test", "bench", "compare"))

import broken_trees  # noqa: E402
from source_files import read, source_files  # noqa: E402

import page  # noqa: E402
import plots  # noqa: E402
import results  # noqa: E402
import smoke_compare  # noqa: E402
from metrics import KUBE_PROXY, SLUICE  # noqa: E402

FOLDER = "docs/benchmarks"
RESULTS = f"{FOLDER}/results.json"
MARK = re.compile(r"<!-- quotes ([^\n]*?) -->\n+((?:\|[^\n]*\n)+)")
KEYS = re.compile(re.escape(RESULTS) + r": ([\w-]+) (\d+x\d+): (\w+\.\w+(?:, \w+\.\w+)*)$")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
COLUMNS = {"kube-proxy": KUBE_PROXY, "Sluice": SLUICE}


def results_of(root):
    return results.load(os.path.join(root, RESULTS))


def documents(root):
    """Name → text of pages that may quote."""
    for name in source_files(root):
        if name == "README.md" or name.startswith("docs/") and name.endswith(".md"):
            yield name, read(root, name) or ""


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def known(values, heading):
    """The numbers that a cell of this column may have, in order; None for a column of words."""
    if heading.startswith("ratio"):
        return [results.number(values[name]) for name in ("ratio", "pairs") if name in values]
    for begin, proxy in COLUMNS.items():
        if heading.startswith(begin):
            found = values.get(proxy, {})
            return [results.number(found[rank]) for rank in ("median", "p99") if rank in found]
    return None


def wrong_cells(name, table, names, rows):
    headings, *lines = [cells(line) for line in table.splitlines()]
    lines = lines[1:]
    if len(lines) != len(names):
        yield f"{name}: {len(lines)} rows quote {len(names)} values"
        return
    for value, line in zip(names, lines):
        part, _, metric = value.partition(".")
        values = rows.get(part, {}).get("metrics", {}).get(metric)
        if values is None:
            yield f"{name}: {value} is not in the results of this mode and size"
            continue
        for heading, cell in zip(headings, line):
            allowed = known(values, heading)
            said = NUMBER.findall(cell)
            if allowed is not None and said != allowed[:len(said)]:
                yield f"{name}: '{cell}' in column '{heading}', {value} has {', '.join(allowed) or 'no value'}"


def quotes(root):
    """Values that are not in the results."""
    found = results_of(root)
    for name, text in documents(root):
        for mark, table in MARK.findall(text):
            keys = KEYS.match(mark)
            if not keys:
                yield f"{name}: invalid mark '{mark}': use '{RESULTS}: MODE NxM: PART.VALUE, …'"
                continue
            mode, size, names = keys.groups()
            rows = {row["part"]: row for row in found["rows"] if (row["mode"], row["size"]) == (mode, size)}
            yield from wrong_cells(name, table, names.split(", "), rows)


def documents_made(root):
    """A page or plot that is not the one that the results make."""
    if not os.path.exists(os.path.join(root, RESULTS)):
        return
    made = {"README.md": page.text(results_of(root)), **plots.made(results_of(root))}
    there = {name.removeprefix(f"{FOLDER}/") for name in source_files(root) if name.startswith(f"{FOLDER}/")} - {"results.json"}
    for name in sorted(made.keys() | there):
        if name not in made:
            yield f"{FOLDER}/{name} is not made from {RESULTS}"
        elif name not in there or read(root, f"{FOLDER}/{name}") != made[name]:
            yield f"{FOLDER}/{name} is not the one that {RESULTS} makes; run {page.PROGRAM} --page"


def derived(root):
    """Medians, percentiles and ratios that do not follow from their samples."""
    for row in results_of(root)["rows"]:
        samples = {proxy: {} for proxy in (KUBE_PROXY, SLUICE)}
        for name, values in row["metrics"].items():
            for proxy in samples:
                if proxy in values:
                    samples[proxy][name] = values[proxy]["samples"]
        again = results.made_row(row["part"], row["mode"], row["size"], row["run"], samples, {}, {})
        for name, values in row["metrics"].items():
            fresh = again["metrics"].get(name, {})
            if values.get("ratio") != fresh.get("ratio") or any(
                    values[proxy]["median"] != fresh[proxy]["median"] for proxy in samples if proxy in values):
                yield f"{RESULTS}: {'.'.join((row['part'], name))} of {row['mode']} {row['size']} does not follow from its samples"


RULES = {
    "quoted values are in the results of the comparison": quotes,
    "page and plots are made from the results": documents_made,
    "medians and ratios follow from their samples": derived,
}


def violations(root, rule):
    return rule(root)


def saved(found):
    """The text of a file of results."""
    with tempfile.TemporaryDirectory(prefix="sluice-lint-") as folder:
        results.save(os.path.join(folder, "results.json"), found)
        return read(folder, "results.json")


GOOD = smoke_compare.made_up_results(smoke_compare.made_up("5000x10"))
TABLE = """# A

<!-- quotes docs/benchmarks/results.json: nftables 5000x10: {keys} -->
| what | kube-proxy v1 | Sluice | ratio |
|---|---|---|---|
| one change of 10 endpoints | {theirs} | {ours} | {ratio} |
"""


def table(keys="change.event_ms", theirs="8 ms (16)", ours="2 ms", ratio="4"):
    return TABLE.format(keys=keys, theirs=theirs, ours=ours, ratio=ratio)


def edited():
    """Results with a median that is not that of the samples."""
    text = json.loads(saved(GOOD))
    text["rows"][0]["metrics"]["event_ms"][SLUICE]["samples"] = [1.0]
    return json.dumps(text)


def good_tree():
    made = {"README.md": page.text(GOOD), **plots.made(GOOD)}
    return [(RESULTS, saved(GOOD)), ("README.md", table()), ("docs/a.md", table(theirs="8 ms", ratio="–")),
            ("docs/b.md", f"# B\n\n{page.quote(GOOD, 'nftables 5000x10: change.event_ms')}"),
            *((f"{FOLDER}/{name}", text) for name, text in made.items())]


def broken():
    """(rule, changed file, its text): each is written into the good tree."""
    yield from ((quotes, "docs/a.md", text) for text in (
        table(theirs="9 ms"), table(theirs="8 ms (17)"), table(ours="8 ms"), table(ratio="5"), table(keys="change.cpu_ms"),
        table(keys="sync.seconds"), table(keys="change.event_ms, change.event_ms"), table(keys="change"),
        table().replace("5000x10", "1000x10"), table().replace(" nftables", " ipvs")))
    yield documents_made, f"{FOLDER}/README.md", "# Another page\n"
    yield documents_made, f"{FOLDER}/stray.svg", "<svg/>"
    yield documents_made, f"{FOLDER}/change-event.svg", "<svg/>"
    yield derived, RESULTS, edited()


def main():
    # The base of broken trees is the good one.
    return broken_trees.run(RULES, violations, list(broken()), good_tree(), good_tree())


if __name__ == "__main__":
    sys.exit(main())
