# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The smallest comparison, for CI: the program's own tests with made-up samples, then one tiny size, if the programs of
Kubernetes are there. Whether the values are good is not judged."""

import math
import os
import tempfile

import paths  # noqa: F401  # pylint: disable=unused-import
import page
import plan
import plots
import results
from metrics import KUBE_PROXY, PARTS, PROXIES, SLUICE
from others import Others

MODE = "nftables"
MAY_BE_ZERO = ("cpu_ms", "cpu_percent", "cpu_seconds", "changed_cpu_seconds")


def make_tiny(wanted):
    wanted.sizes, wanted.modes = plan.SMOKE_SIZE, MODE
    wanted.rounds, wanted.changes, wanted.churn_seconds = 1, 2, 1
    wanted.probe_rounds, wanted.probes, wanted.load_rounds, wanted.load_seconds = 2, 5, 1, 0.1
    wanted.patience, wanted.change_patience = 30, 10


def run(wanted, why, measure):
    """Prints TAP; `why`: the programs are missing; `measure(wanted)` returns an exit status."""
    lines = list(checks())
    if why:
        lines.append((f"beside a real kube-proxy # SKIP {why}", None))
    else:
        with tempfile.TemporaryDirectory(prefix="sluice-compare-") as folder:
            wanted.json = os.path.join(folder, "results.json")
            status = measure(wanted)
            found = results.load(wanted.json)
        lines.append(("beside a real kube-proxy: every part is measured", f"exit status {status}" if status else None))
        lines += [(f"{part}: {metric.name}", problem(found, part, metric)) for part in wanted.parts
                  for metric in PARTS[part][1]]
    for number, (title, error) in enumerate(lines, 1):
        print(f"{'not ok' if error else 'ok'} {number} - {title}")
        if error:
            print("\n".join("#   " + line for line in error.splitlines()))
    print(f"1..{len(lines)}")
    return 1 if any(error for _, error in lines) else 0


def problem(found, part, metric):
    row = results.find(found, part, MODE, plan.SMOKE_SIZE)
    if row is None:
        return "not measured"
    if row["gave_up"]:
        return str(row["gave_up"])
    for proxy in PROXIES:
        value = row["metrics"].get(metric.name, {}).get(proxy, {}).get("median")
        if not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0 or \
                value == 0 and metric.name not in MAY_BE_ZERO:
            return f"{proxy}: {value}"
    return None


# The program's own tests.

def made_up(size="100x10", run="r", ours=2.0, theirs=8.0, gave_up=None, others=1.0, part="change", name="event_ms"):
    samples = {SLUICE: {name: [ours] * 3}}
    if not gave_up:
        samples[KUBE_PROXY] = {name: [theirs, theirs, theirs * 2]}
    return results.made_row(part, MODE, size, run, samples, {KUBE_PROXY: gave_up} if gave_up else {},
                            {SLUICE: [others], KUBE_PROXY: [others]})


def made_up_results(*rows):
    about = {"when": "never", "commit": "0", "processors": 2, "processor": "made up", "memory_mib": 1024, "kernel": "6",
             "system": "none", "iptables": "1", "nft": "1", SLUICE: "0.1.0", KUBE_PROXY: "v1"}
    found = {"runs": {name: about for name in dict.fromkeys(row["run"] for row in rows)}, "rows": []}
    for row in rows:
        results.keep(found, row)
    return found


def checks():
    def check(title, passed):
        return f"the comparison itself: {title}", None if passed else "it does not hold"

    values = made_up()["metrics"]["event_ms"]
    yield check("median, p99 and ratio of medians", (values[KUBE_PROXY]["median"], values[KUBE_PROXY]["p99"], values["ratio"]) == (8, 16, 4))
    pairs = made_up(part="connect", name="pod_last_us")
    results.with_pairs(pairs, "pod_last_us", 3.5)
    yield check("the ratio of pairs stands beside that of medians", "**4** (3.5)" in page.text(made_up_results(pairs)))
    more = made_up(part="load", name="requests_per_second")["metrics"]["requests_per_second"]
    yield check("a ratio below 1 says that Sluice is worse, also where more is better", more["ratio"] == 0.25)
    yield check("a row beside busy programs is marked", made_up(others=11.0)["busy"] and not made_up(others=9.0)["busy"])
    lost = made_up(gave_up="no Service answers after 300 s")
    yield check("a proxy that gave up has no value and no ratio", KUBE_PROXY not in lost["metrics"]["event_ms"]
                and "ratio" not in lost["metrics"]["event_ms"])
    found = made_up_results(made_up(), made_up("1000x10"), made_up(ours=1.0))
    yield check("a later row replaces that of the same part, mode and size", len(found["rows"]) == 2
                and results.find(found, "change", MODE, "100x10")["metrics"]["event_ms"]["ratio"] == 8)
    with tempfile.TemporaryDirectory(prefix="sluice-compare-") as folder:
        path = os.path.join(folder, "results.json")
        results.save(path, found)
        yield check("saved results are loaded again", sorted(map(results.key, results.load(path)["rows"])) ==
                    sorted(map(results.key, found["rows"])) and results.load(path)["runs"] == found["runs"])
    text = page.text(made_up_results(made_up(), made_up("5000x10", gave_up="no Service answers", others=20.0)))
    yield check("the page has value, p99, ratio and the proxy that gave up", "| 8 (16) | 2 (2) | **4** |" in text
                and "- 5,000 × 10, nftables, kube-proxy: no Service answers" in text and "20 / 20 ⚠" in text)
    drawn = plots.made(made_up_results(made_up(), made_up("1000x10", ours=3.0)))
    yield check("a plot has both proxies and links from the page", list(drawn) == ["change-event.svg"]
                and "kube-proxy, nftables" in drawn["change-event.svg"] and "(change-event.svg)" in text)
    yield check("turns alternate A B, B A", plan.orders(2) == [(SLUICE, KUBE_PROXY), (KUBE_PROXY, SLUICE)])
    yield check("shares of rounds add up", sum(plan.share_of_round(31, 4, number) for number in range(4)) == 31)
    others = Others()
    sum(range(300_000))
    yield check("the share of other programs is a share", 0 <= others.percent() <= 100)
