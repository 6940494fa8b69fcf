#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the alert rules, the dashboard and the runbooks, and prints TAP: promtool accepts the rules and their tests, every
metric exists, every alert has tests and a runbook, every runbook has an alert, and every panel is complete.

Each check is first tested with input that it must reject.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from source_files import read, source_files  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = "packaging/monitoring"
ALERTS, TESTS, DASHBOARD = (f"{FOLDER}/{name}" for name in ("alerts.yaml", "alerts_test.yaml", "grafana-dashboard.json"))
# Generated from the catalogue of the daemon and the descriptors of the plugins.
CATALOGUE, RUNBOOKS, LISTED = "docs/reference/metrics.md", "docs/runbooks", "docs/subdir.am"
URL = "/usr/share/doc/sluice/runbooks/{}.md"
SECTIONS = ("Meaning", "Impact", "Diagnosis", "Fix", "Related metrics")
LONGEST = 80  # lines of a runbook
# Metrics that the daemon does not export: those of Prometheus and of node_exporter.
FOREIGN = {"up", "node_nf_conntrack_entries", "node_nf_conntrack_entries_limit", "node_nf_conntrack_stat_drop",
           "node_nf_conntrack_stat_early_drop", "node_nf_conntrack_stat_insert_failed"}
MODES = ("nftables", "iptables", "ipvs", "userspace")
VARIABLES = {"datasource", "job", "instance", "family"}
WORDS = {"by", "on", "and", "or", "unless", "offset", "without", "ignoring", "bool", "group_left", "group_right"}
MISSING = "promtool is missing: install the package prometheus, or run packaging/install-deps.sh test"


def alerts_of(text):
    """Name → the text of the rule."""
    parts = re.split(r"^ +- alert: (\w+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def expression(rule):
    return re.search(r"^ +expr: (.*?)^ +(?:for|labels):", rule, re.M | re.S).group(1)


def catalogue_of(text):
    """Name → type."""
    return dict(re.findall(r"^\| `(\w+)` \| (counter|gauge|histogram) \|", text, re.M))


def metrics_of(query):
    """Names of metrics in an expression, without functions, labels and variables."""
    query = re.sub(r'"(?:\\.|[^"\\])*"|\[[^]]*\]', "", query)
    query = re.sub(r"\b(?:by|on|without|ignoring)\s*\([^)]*\)|\{[^}]*\}", " ", query)
    return {name for name in re.findall(r"(?<![\w$.])[a-z_][a-z0-9_]*\b(?!\s*\()", query) if name not in WORDS}


def unknown_metrics(where, queries, catalogue):
    for query in queries:
        for name in sorted(metrics_of(query)):
            whole = re.sub(r"_(?:bucket|sum|count)$", "", name)
            if name in FOREIGN or catalogue.get(name, "histogram") != "histogram" or \
                    whole != name and catalogue.get(whole) == "histogram":
                continue
            yield f"{where}: {name} " + ("is a histogram: use a part of it" if name in catalogue else "is not in the reference")


def untested(alerts, tests):
    for name in alerts:
        for form in (f"{name} fires", f"{name} does not fire"):
            if not re.search(rf"^  - name: {form}$", tests, re.M):
                yield f"{TESTS}: there is no test '{form}'"


def incomplete_rules(alerts):
    for name, rule in alerts.items():
        for part in ("expr", "severity", "summary", "description", "runbook_url"):
            if not re.search(rf"^ +{part}: ", rule, re.M):
                yield f"{ALERTS}: {name} has no {part}"
        if f"runbook_url: {URL.format(name)}\n" not in rule:
            yield f"{ALERTS}: {name}: runbook_url is not {URL.format(name)}"
        if not name.startswith("Sluice"):
            yield f"{ALERTS}: {name} does not begin with Sluice"


def wrong_runbooks(alerts, pages, listed):
    """`pages` has the runbooks by name of file, with README.md; `listed` is the makefile that installs them."""
    names = {name[:-3] for name in pages if name != "README.md"}
    yield from (f"{name} has no runbook {RUNBOOKS}/{name}.md" for name in alerts if name not in names)
    yield from (f"{RUNBOOKS}/{name}.md has no alert" for name in sorted(names - set(alerts)))
    for file, text in pages.items():
        if not re.search(rf"\b{RUNBOOKS}/{re.escape(file)}(?!\w)", listed):
            yield f"{LISTED} does not install {RUNBOOKS}/{file}"
        if file == "README.md":
            yield from (f"{RUNBOOKS}/README.md does not list {name}" for name in alerts if f"]({name}.md)" not in text)
            continue
        headings = re.findall(r"^## (.*)$", text, re.M)
        if not text.startswith(f"# {file[:-3]}\n"):
            yield f"{RUNBOOKS}/{file}: the first line is not '# {file[:-3]}'"
        yield from (f"{RUNBOOKS}/{file}: there is no section {section}" for section in SECTIONS if section not in headings)
        if len(text.splitlines()) > LONGEST:
            yield f"{RUNBOOKS}/{file} has more than {LONGEST} lines"


def runbook_metrics(pages, catalogue):
    for file, text in pages.items():
        for name in sorted(set(re.findall(r"\b(?:sluice|kubeproxy|rest_client|process|node_nf)_[a-z0-9_]+[a-z0-9]\b", text))):
            if name not in catalogue and name not in FOREIGN and re.sub(r"_(?:bucket|sum|count)$", "", name) not in catalogue:
                yield f"{RUNBOOKS}/{file}: {name} is not in the reference"


def unknown_alerts(pages, alerts):
    """Names of alerts in documents that no alert has. SluiceConfiguration is the kind of a
    configuration file, SluiceSDK a package of CMake."""
    for file, text in pages.items():
        for name in sorted(set(re.findall(r"\bSluice(?!SDK|Configuration\b)[A-Z]\w*", text)) - set(alerts)):
            yield f"{file}: there is no alert {name}"


def queries_of(dashboard):
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]


def incomplete_dashboard(dashboard):
    panels = dashboard["panels"]
    names = {one["name"] for one in dashboard["templating"]["list"]}
    yield from (f"there is no variable {name}" for name in sorted(VARIABLES - names))
    rows = [panel["title"] for panel in panels if panel["type"] == "row"]
    yield from (f"there is no row for {mode} mode" for mode in MODES if f"{mode} mode" not in rows)
    if len({panel["id"] for panel in panels}) != len(panels):
        yield "two panels have the same id"
    taken = {}
    for panel in panels:
        title, grid = panel["title"], panel["gridPos"]
        if grid["x"] < 0 or grid["w"] < 1 or grid["h"] < 1 or grid["x"] + grid["w"] > 24:
            yield f"{title}: is not within the 24 columns"
        for cell in ((x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])):
            if taken.setdefault(cell, title) != title:
                yield f"{title}: overlaps {taken[cell]}"
                break
        if panel["type"] == "row":
            continue
        if not panel.get("description"):
            yield f"{title}: has no description"
        if not panel.get("fieldConfig", {}).get("defaults", {}).get("unit"):
            yield f"{title}: has no unit"
        if not panel.get("targets") or len({target["refId"] for target in panel["targets"]}) != len(panel["targets"]):
            yield f"{title}: has no queries, or two with the same refId"
        for target in panel.get("targets", ()):
            used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"}
            yield from (f"{title}: uses ${name}, which is no variable" for name in sorted(used - names))
            if not used & {"instance", "node_exporter"}:
                yield f"{title}: does not select by instance: {target['expr']}"


def as_rules(queries):
    """A file of recording rules with the queries, because promtool checks the syntax of rules."""
    lines = ["groups:", "  - name: dashboard", "    rules:"]
    for number, query in enumerate(queries):
        for name in ("$__rate_interval", "$__interval"):
            query = query.replace(name, "1m")
        lines += [f"      - record: panel_{number}", f"        expr: {json.dumps(query)}"]
    return "\n".join(lines) + "\n"


def promtool(*words):
    """Lines of complaint."""
    if shutil.which("promtool") is None:
        return [MISSING]
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    return [line for line in (done.stdout + done.stderr).splitlines() if line.strip()] or [f"promtool ends with {done.returncode}"]


def refused_queries(queries):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "queries.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(as_rules(queries))
        return promtool("check", "rules", path)


def blind():
    """Checks that accept wrong input, or reject right input."""
    catalogue = catalogue_of("| `sluice_a_total` | counter | x |\n| `sluice_b_seconds` | histogram | x |\n")
    for query, wrong in (("rate(sluice_a_total[5m]) > 1", False), ('sum by (le) (sluice_b_seconds_bucket{a="sluice_c"})', False),
                         ("sluice_b_seconds", True), ("sum(sluice_c) or vector(0)", True), ("up == 0", False),
                         ("sluice_a_total_count", True), ("1 - sluice_a_total{x=~\"$job\"} offset 1h", False)):
        if bool(list(unknown_metrics("x", [query], catalogue))) != wrong:
            yield f"metrics: {query}"
    rule = ("      - alert: SluiceA\n        expr: up == 0\n        labels:\n          severity: info\n        annotations:\n"
            f"          summary: x\n          description: x\n          runbook_url: {URL.format('SluiceA')}\n")
    if list(incomplete_rules(alerts_of(rule))) or alerts_of(rule).keys() != {"SluiceA"}:
        yield "a complete rule is rejected"
    for part in ("severity: info", "summary: x", "SluiceA.md"):
        if not list(incomplete_rules(alerts_of(rule.replace(part, "")))):
            yield f"a rule without {part} is accepted"
    tests = "  - name: SluiceA fires\n  - name: SluiceA does not fire\n"
    if list(untested(["SluiceA"], tests)) or not list(untested(["SluiceA"], tests[:25])):
        yield "tests of alerts"
    page = "# SluiceA\n" + "".join(f"## {section}\n" for section in SECTIONS)
    pages, listed = {"README.md": "[A](SluiceA.md)", "SluiceA.md": page}, f"x {RUNBOOKS}/README.md {RUNBOOKS}/SluiceA.md"
    if list(wrong_runbooks(["SluiceA"], pages, listed)):
        yield "good runbooks are rejected"
    for alerts, changed in ((["SluiceA", "SluiceB"], {}), ([], {}), (["SluiceA"], {"README.md": ""}),
                            (["SluiceA"], {"SluiceA.md": page.replace("## Fix\n", "")}),
                            (["SluiceA"], {"SluiceA.md": page + "\n" * LONGEST})):
        if not list(wrong_runbooks(alerts, {**pages, **changed}, listed)):
            yield f"runbooks: {alerts}, {changed}"
    if not list(wrong_runbooks(["SluiceA"], pages, "")):
        yield "a runbook that is not installed is accepted"
    if not list(runbook_metrics({"a.md": "`sluice_c_total`"}, catalogue)):
        yield "a metric of a runbook is not checked"
    if not list(unknown_alerts({"a.md": "see SluiceB"}, ["SluiceA"])) or list(unknown_alerts({"a.md": "SluiceA"}, ["SluiceA"])):
        yield "names of alerts in documents"
    yield from blind_dashboard()


def blind_dashboard():
    def made(**changed):
        panel = {"id": 9, "type": "stat", "title": "x", "description": "x", "gridPos": {"x": 0, "y": 9, "w": 2, "h": 2},
                 "fieldConfig": {"defaults": {"unit": "s"}}, "targets": [{"refId": "A", "expr": 'up{instance=~"$instance"}'}]}
        rows = [{"id": i, "type": "row", "title": f"{mode} mode", "gridPos": {"x": 0, "y": i, "w": 24, "h": 1}}
                for i, mode in enumerate(MODES)]
        return {"panels": [*rows, {**panel, **changed}], "templating": {"list": [{"name": name} for name in VARIABLES]}}

    if list(incomplete_dashboard(made())):
        yield "a complete dashboard is rejected"
    for changed in ({"id": 1}, {"description": ""}, {"fieldConfig": {"defaults": {}}}, {"targets": []},
                    {"gridPos": {"x": 23, "y": 9, "w": 2, "h": 1}}, {"gridPos": {"x": 0, "y": 3, "w": 2, "h": 1}},
                    {"targets": [{"refId": "A", "expr": "up"}]}, {"targets": [{"refId": "A", "expr": 'up{instance="$node"}'}]},
                    {"type": "row", "id": 9, "gridPos": {"x": 0, "y": 0, "w": 1, "h": 1}}):
        if not list(incomplete_dashboard(made(**changed))):
            yield f"dashboard: {changed}"
    dashboard = made()
    dashboard["templating"]["list"].pop()
    if not list(incomplete_dashboard(dashboard)):
        yield "a missing variable is accepted"
    if not refused_queries(["sum(up"]):
        yield "a query with a wrong syntax is accepted"


def main():
    tap = Tap()
    alerts = alerts_of(read(ROOT, ALERTS))
    dashboard = json.loads(read(ROOT, DASHBOARD))
    catalogue = catalogue_of(read(ROOT, CATALOGUE))
    pages = {os.path.basename(name): read(ROOT, name) for name in source_files(ROOT)
             if os.path.dirname(name) == RUNBOOKS and name.endswith(".md")}
    queries = queries_of(dashboard)
    tap.check("wrong rules, runbooks and panels are found, and no others", blind())
    tap.check("promtool accepts the alert rules", promtool("check", "rules", os.path.join(ROOT, ALERTS)))
    tap.check("every alert fires and stays silent in its tests", promtool("test", "rules", os.path.join(ROOT, TESTS)))
    tap.check(f"{len(alerts)} alerts have both tests", [*untested(alerts, read(ROOT, TESTS)), *([] if alerts else ["no alerts"])])
    tap.check("every alert is complete", incomplete_rules(alerts))
    tap.check(f"{len(pages)} runbooks belong to the alerts", wrong_runbooks(alerts, pages, read(ROOT, LISTED)))
    tap.check("metrics of the alerts exist", unknown_metrics(ALERTS, map(expression, alerts.values()), catalogue))
    tap.check("metrics of the dashboard exist", unknown_metrics(DASHBOARD, queries, catalogue))
    tap.check("metrics of the runbooks exist", runbook_metrics(pages, catalogue))
    documents = {name: read(ROOT, name) for name in source_files(ROOT)
                 if name.endswith(".md") and not name.startswith("docs/decisions/")}
    tap.check("alerts that documents name exist", unknown_alerts(documents, alerts))
    tap.check("every panel has a description, a unit and queries by instance", incomplete_dashboard(dashboard))
    tap.check(f"promtool accepts {len(queries)} queries of the dashboard", refused_queries(queries))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
