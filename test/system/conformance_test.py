#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests conformance.py (TAP): the text of a cell after a run, and the report about a page that is not current."""

import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import conformance  # noqa: E402
from lib import cases, catalogue, page, verdicts  # noqa: E402
from lib.differences import NO_LOCAL, OTHER_PORT  # noqa: E402
from lib.tap import FAIL, PASS, SKIP  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "conformance.py")
FOUR = [(family, protocol) for family in ("v4", "v6") for protocol in ("tcp", "udp")]


def case(name="one", numbers=(1,), backends=cases.BACKENDS, variants=("nft", "legacy"), title="title"):
    def function():
        pass

    function.__module__, function.__name__ = "cases_area", name
    return cases.Case(function, numbers, title, None, ("v4", "v6"), ("tcp", "udp"), ("manifests",), backends, False, variants,
                      (), False, False, (), True)


def record(result=PASS, name="one", pair=("v4", "tcp"), reason="", **more):
    return {"test": f"cases_area.{name}", "parameters": [*pair, "manifests"], "result": result, "reason": reason, **more}


def cell(made, column, before, records, key="1", backend=None, units=()):
    """The cell of that column after a run for one backend that left these records."""
    results = verdicts.Results([{"backend": backend or column, "results": records}])
    return verdicts.cell(verdicts.Row(key, made, units), column, results, before)


# The page before, the results of the run, the page after; of a case for nftables mode.
CELLS = (
    ("a pass is shown", "skipped: x", [PASS], "passed"),
    ("a pass counts beside a skip", "–", [SKIP, PASS], "passed"),
    ("a failure keeps the cell", "passed", [PASS, FAIL], "passed"),
    ("a failure of a new case is shown", None, [FAIL], "failed"),
    ("a skip is shown with its reason", "long form", [SKIP], "skipped: no module"),
    ("a skip keeps a pass of another machine", "passed", [SKIP], "passed"),
    ("a skip keeps the reason of another machine", "skipped: x", [SKIP], "skipped: x"),
    ("without results a pass stays", "passed", [], "passed"),
    ("without results a skip stays", "skipped: x", [], "skipped: x"),
    ("what no run has shown is of the long form", "–", [], "long form"),
    ("a failure does not stay without results", "failed", [], "long form"),
)


def cells():
    for title, before, results, expected in CELLS:
        found = cell((case(),), "nftables", before, [record(one, reason="no module") for one in results])
        yield title, expected, found
    other = (case(backends=("iptables",)),)
    yield "no case for the mode", "–", cell(other, "nftables", "passed", [record()], backend="iptables-nft")
    yield "a mode that has no part in the case", "does not apply", cell(other, "ipvs", "–", [], key="125")
    yield "no test at all", "not covered", cell((), "nftables", None, [])
    yield "only unit tests", "–", cell((), "nftables", None, [], units=("x.cpp",))
    yield "a variant that the case is not for", "–", cell((case(variants=("nft",)),), "iptables-legacy", None, [])
    yield "a result of another case", "long form", cell((case(),), "nftables", None, [record(name="two")])


def visits():
    """A case for iptables mode that swaps to other modes."""
    swaps = (case("swaps", (), backends=("iptables",)),)
    ran = [record(name="swaps", modes=["nftables"])]

    def found(column, before=None, records=ran, backend="iptables-nft"):
        return cell(swaps, column, before, records, "cases_area.swaps", backend)

    yield "a mode that served in a case counts", "passed", found("nftables")
    yield "a mode that did not serve does not", "–", found("userspace", "passed")
    yield "a mode that served in an earlier run stays when the case has not run", "passed", found("nftables", "passed", [])
    yield "a mode that served in an earlier run stays when the case has failed", "passed", \
        found("nftables", "passed", [record(FAIL, "swaps")])
    yield "a run with the old iptables counts for no other mode", "–", found("nftables", backend="iptables-legacy")
    yield "a run in ipvs mode counts for the current iptables", "passed", \
        found("iptables-nft", records=[record(name="swaps", modes=["iptables"])], backend="ipvs")


def differing():
    met = NO_LOCAL.described_for("ipvs")

    def found(records, before=(), made=(case(),)):
        results = verdicts.Results([{"backend": "ipvs", "results": records}])
        return verdicts.differing(verdicts.Row("1", made), "ipvs", results, before)

    every = [record(pair=pair) for pair in FOUR]
    yield "a difference that a run met", {"no-local"}, found([record(differs=[met])])
    yield "a difference stays where a run had fewer parameters", {"no-local"}, found(every[:3], {"no-local"})
    yield "a difference stays where a case has not passed", {"no-local"}, found([*every[:3], record(FAIL, pair=FOUR[3])], {"no-local"})
    yield "a difference that a complete run did not meet is removed", set(), found(every, {"no-local"})
    yield "a difference stays where a second case of the number has not run", {"no-local"}, \
        found(every, {"no-local"}, (case("two"), case()))
    yield "a difference that the mode does not have any more is removed", {OTHER_PORT.name}, found([], {OTHER_PORT.name, "gone"})


def made(text, records, registry):
    return conformance.made(text, [{"backend": "nftables", "results": records}], registry, {})


def pages():
    registry = [case(), case("two", (), title="with a | in it")]
    ran = [record(name=name, pair=pair, differs=[OTHER_PORT.described_for("nftables")]) for name in ("one", "two") for pair in FOUR]
    text = made("", ran, registry)
    yield "a page is read back unchanged", text, made(text, [], registry)
    old = page.OldPage(text)
    yield "cells and differences are read", (["passed", "passed"], ["other-port"], ["other-port"]), \
        ([old.cell(key, "nftables") for key in ("1", "cases_area.two")], sorted(old.names("1", "nftables")),
         sorted(old.names("cases_area.two", "nftables")))
    yield "a difference is marked", 2, sum("cases_area" in line and "passed ≠ |" in line for line in text.splitlines())
    renamed = made(text, [], [registry[0], case("two", (), title="another title")])
    yield "a new title is a change of one line, and its cells stay", (2, True), \
        (len(conformance.difference(text, renamed)), "another title" in renamed and page.OldPage(renamed).cell("cases_area.two", "nftables") == "passed")
    many = made(text, ran, registry + [case(f"more{number}", (), title=f"{number}") for number in range(99)])
    found = conformance.difference(text, many)
    yield "a long difference is cut", (conformance.MOST_LINES, "… and 70 more lines"), (len(found), found[-1])
    wide = "| 1 | " + 500 * "x" + " |"
    shown = conformance.difference(f"{wide} passed |", f"{wide} long form |")
    yield "a long row is shown where it differs", (True, True), (shown[0].startswith("- | 1 |…"), shown[1].endswith("long form |"))


def registered():
    registry = conformance.run.load_cases()
    names = [one.test for one in registry]
    yield "every case has a unique name, as rows of the page have", [], sorted({name for name in names if names.count(name) > 1})
    areas = {area for several in catalogue.AREAS.values() for area in several}
    yield "every section of the page has cases", set(), areas - {one.area for one in registry if not one.numbers}


def program(*words):
    done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True, check=False,
                          env={**os.environ, "SLUICE_LONG": "1"})
    return done.returncode, done.stdout + done.stderr


def programs(folder):
    path, results, skipped = (os.path.join(folder, name) for name in ("page.md", "one.json", "skipped.json"))
    with open(results, "w", encoding="utf-8") as file:
        json.dump({"backend": "nftables", "results": []}, file)
    with open(skipped, "w", encoding="utf-8") as file:
        json.dump({"skipped": "no such kernel"}, file)
    status, said = program("--check", path, results)
    yield "a missing page is not current", (1, True), (status, "not ok 1 - " in said)
    status, _ = program(path, results)
    yield "an update writes the page", (0, 0), (status, program("--check", path, results)[0])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    yield "titles are those of the short form in every form", True, "20 swaps in a row" in text
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("unnamed port", "no name"))
    status, said = program("--check", path, folder, "--update-command", "make it so")
    yield "another title makes the page stale, and the command and the lines are printed", (1, True), \
        (status, "#   update it with: make it so\n#   - | 7 | no name" in said and "\n#   + | 7 | unnamed port" in said)
    program(path, results)
    status, said = program("--check", path, "--step", "system/one", results, "--step", "system/two", skipped, "--absent", "vm/three")
    yield "a step that this machine or this run does not run is a skip", (0, True), \
        (status, "ok 2 - results of system/two # SKIP no such kernel" in said and said.count("# SKIP") == 2 and "vm/three" in said)
    status, said = program("--check", path, "--step", "system/one", os.path.join(folder, "none.json"))
    yield "a missing result file fails, with the part to run", (1, True), \
        (status, "not ok 1 - results of system/one\n" in said and "test/run.sh --part system/one" in said)
    with open(results, "w", encoding="utf-8") as file:
        file.write("{")
    status, said = program("--check", path, folder)
    yield "a corrupt result file is an error that names it", (2, True), (status, f"cannot read results from {results}: " in said)
    with open(results, "w", encoding="utf-8") as file:
        json.dump({"results": [], "schema": 1}, file)
    yield "other JSON files in a folder are ignored", 0, program("--check", path, folder)[0]
    yield "an explicit other JSON file is an error", 2, program("--check", path, results)[0]


def main():
    number = failed = 0
    with tempfile.TemporaryDirectory(prefix="sluice-conformance-") as folder:
        for group in (cells(), visits(), differing(), pages(), registered(), programs(folder)):
            for title, expected, found in group:
                number += 1
                failed += expected != found
                print(f"{'ok' if expected == found else 'not ok'} {number} - {title}", flush=True)
                if expected != found:
                    print(f"#   expected {expected!r}\n#   found    {found!r}")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
