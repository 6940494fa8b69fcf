# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The page docs/benchmarks/README.md, made from the results."""

import paths  # noqa: F401  # pylint: disable=unused-import
import plots
import results
from metrics import KUBE_PROXY, PARTS, SLUICE, metric as metric_of
from results import BUSY_PERCENT, number

PROGRAM = "test/bench/compare/compare.py"
HEAD = f"""# Sluice beside kube-proxy

<!-- Made by {PROGRAM} from results.json. Change neither by hand. -->

This page has the measured costs and gains of Sluice beside kube-proxy. A real kube-apiserver and etcd
serve both proxies in one run on one machine, and the proxies alternate. `make bench-compare
KUBE_BIN=DIR` measures and writes this page, [results.json](results.json) with all samples, and the
plots.

- *N × M*: N Services with M endpoints each, in EndpointSlices of at most 100.
- Values are medians; (p99) is in parentheses. A **ratio above 1 is better for Sluice**; a ratio
  below 1 is a cost of Sluice.
- *Other CPU*: share of the machine's CPU that other programs used while kube-proxy / Sluice was
  measured. Rows above {BUSY_PERCENT} % are marked with ⚠; their times are not reliable.
- Both proxies have default sync periods and the same configuration.
- ipvs mode runs in an emulated machine: only its ratios count.
"""
NOTES = {
    "sync": "CPU includes child processes and their kernel time.",
    "memory": "PSS counts a shared page by share; RSS counts it as a whole. *All parts* includes changes and churn.",
    "change": "A change replaces all endpoints of one EndpointSlice. With more than 100 endpoints a Service has several slices, and "
              "the first packet to a new endpoint is one of many: the time includes these connects. CPU is that of the proxy from "
              "one write to the next, 1.2 s rest included.",
    "churn50": "Each change replaces one endpoint of another EndpointSlice.",
    "churn500": "As before. The API server shares the processors and may accept fewer changes; the last columns say how many.",
    "restart": "The proxy stops in order; rules stay.",
    "connect": "Both rule sets stand at the same time in two nodes, and single connects alternate between them. A ratio in parentheses is "
               "the median of the ratios of adjacent connects, which is the more reliable one on a busy machine. *First* and *last*: "
               "the Service whose rule a packet meets first and last. The control has no Service: its ratio shows how equal the "
               "two nodes are.",
    "load": "32 connections or clients in a pod, one server, the last Service; turns of both proxies alternate.",
}


def text(found):
    if not found["rows"]:
        return f"{HEAD}\nThere are no results yet.\n"
    parts = [HEAD, *_machines(found)]
    for part, (title, metrics) in PARTS.items():
        rows = sorted((row for row in found["rows"] if row["part"] == part), key=results.order)
        if rows:
            parts += [f"## {title}\n", _wrapped(NOTES[part]), _table(rows, metrics, found), *_plots(part, found)]
    return "\n".join(parts)


def _wrapped(words):
    lines = [""]
    for word in words.split():
        if len(lines[-1]) + len(word) >= 100:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines) + "\n"


def _machines(found):
    yield "## Runs\n"
    yield "| run | machine | versions | commit |\n|---|---|---|---|"
    used = [row["run"] for row in found["rows"]]
    for letter, (name, about) in zip(letters(), found["runs"].items()):
        if name in used:
            yield (f"| {letter} | {about['processors']} × {about['processor']}, {about['memory_mib'] / 1024:.0f} GiB, Linux "
                   f"{about['kernel']}, {about['system']} | kube-proxy {about[KUBE_PROXY]}, Kubernetes {about.get('kubernetes', '–')}, "
                   f"Sluice {about[SLUICE]}, {about['iptables']}, {about['nft']} | {about['commit']}, {about['when']} |")
    yield ""


def letters():
    number_of = 0
    while True:
        yield chr(ord("A") + number_of % 26) * (number_of // 26 + 1)
        number_of += 1


def letter_of(found, run):
    return next(letter for letter, name in zip(letters(), found["runs"]) if name == run)


def _table(rows, metrics, found):
    heads = ["N × M", "mode"]
    for metric in metrics:
        heads += [f"{metric.title}, {metric.unit}: kube-proxy", "Sluice", "ratio"]
    heads += ["other CPU, %", "run"]
    lines = [heads, ["---"] * len(heads)]
    for row in rows:
        cells = [size(row["size"]), row["mode"]]
        for metric in metrics:
            values = row["metrics"].get(metric.name, {})
            cells += [cell(values, KUBE_PROXY), cell(values, SLUICE), ratio(values)]
        shares = row["others_percent"]
        cells.append(" / ".join(number(shares[one]) if one in shares else "–" for one in (KUBE_PROXY, SLUICE)) + (" ⚠" if row["busy"] else ""))
        cells.append(letter_of(found, row["run"]))
        lines.append(cells)
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    gave_up = dict.fromkeys(f"- {size(row['size'])}, {row['mode']}, {proxy}: {why.replace('|', '/')}"
                            for row in rows for proxy, why in row["gave_up"].items())
    return table + "\n" + ("\n" + "\n".join(gave_up) + "\n" if gave_up else "")


def size(text_of_size):
    services, endpoints = results.size_of(text_of_size)
    return f"{services:,} × {endpoints:,}"


def cell(values, proxy):
    found = values.get(proxy)
    if not found:
        return "–"
    return number(found["median"]) + (f" ({number(found['p99'])})" if "p99" in found else "")


def ratio(values):
    if "ratio" not in values:
        return "–"
    return f"**{number(values['ratio'])}**" + (f" ({number(values['pairs'])})" if "pairs" in values else "")


def _plots(part, found):
    for name, words in plots.words_of(part, found):
        yield f"![{words['title']}]({name})\n"


def quote(found, words):
    """A table for a document; `words` as in its mark: MODE NxM: PART.VALUE, …"""
    where, _, names = words.partition(": ")
    mode, size_words = where.split()
    lines = [f"<!-- quotes docs/benchmarks/results.json: {words} -->",
             f"| {size(size_words)}, {mode} | kube-proxy | Sluice | ratio |", "|---|---|---|---|"]
    for name in names.split(", "):
        part, _, value = name.partition(".")
        row = results.find(found, part, mode, size_words)
        values = row["metrics"].get(value, {}) if row else {}
        metric = metric_of(part, value)
        lines.append(f"| {PARTS[part][0]}: {metric.title}, {metric.unit} | {cell(values, KUBE_PROXY)} | {cell(values, SLUICE)} | {ratio(values).replace('*', '')} |")
    return "\n".join(lines) + "\n"
