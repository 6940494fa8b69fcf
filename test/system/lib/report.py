# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The report of a run of the conformance kit as text, JSON and JUnit XML."""

import json
import re
from xml.etree import ElementTree

from .catalogue import SECTIONS
from .tap import FAIL, PASS, SKIP, UNSUPPORTED

SCHEMA = 1
WORDS = {PASS: "passed", FAIL: "failed", SKIP: "cannot be run here", UNSUPPORTED: "declared unsupported"}
# Characters that XML does not allow.
UNPRINTABLE = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def section(record):
    """The section of a result: a chapter of the behaviour reference, or a group of the kit."""
    for title, cases in SECTIONS.items():
        if any(number in cases for number in record["numbers"]):
            return title
    return record["test"].partition(".")[0].removeprefix("cases_").removeprefix("kit_").replace("_", " ")


def counts(records):
    return {result: sum(record["result"] == result for record in records) for result in WORDS}


def document(about, records):
    """The complete JSON document. `about` describes the plugin, the daemon and the machine."""
    return {"schema": SCHEMA, "backend": about["plugin"]["id"], **about, "counts": counts(records),
            "results": [{**record, "section": section(record)} for record in records]}


def write_json(path, made):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(made, file, indent=1)
        file.write("\n")


def text(made):
    """The summary at the end of a run."""
    sections = {}
    for record in made["results"]:
        sections.setdefault(record["section"], []).append(record)
    yield f"sluice-conformance: {made['plugin']['id']} {made['plugin']['version']}, {made['daemon']}, Linux {made['kernel']}"
    width = max(map(len, sections), default=0)
    for title, records in sections.items():
        found = counts(records)
        yield f"  {title:{width}}  " + ", ".join(f"{found[result]} {word}" for result, word in WORDS.items()
                                                  if found[result] or result == PASS)
    yield from declared(made)
    for result, title in ((SKIP, "Cannot be run here"), (FAIL, "Failed")):
        names = [f"  {named(record)}: {record['reason'][:300]}" for record in made["results"] if record["result"] == result]
        if names:
            yield f"{title}:"
            yield from names


def declared(made):
    """All entries of the declaration."""
    about = made["declaration"]
    for trait in about["traits"]:
        yield f"Declared: {trait}"
    for name, sentence in about["differs"].items():
        yield f"Declared to differ ({name}): {sentence}"
    if not about["unsupported"]:
        return
    yield f"Declared unsupported: {len(about['unsupported'])}"
    for one in about["unsupported"]:
        runs = sum(record["result"] == UNSUPPORTED and record.get("declared") == one["what"] for record in made["results"])
        yield f"  {one['what']} ({one['where']}): {one['reason']}; {runs} {'run' if runs == 1 else 'runs'} skipped"


def named(record):
    return record["name"] + (f" ({' '.join(record['parameters'])})" if record["parameters"] else "")


def write_junit(path, made):
    root = ElementTree.Element("testsuites", name=f"sluice-conformance {made['plugin']['id']}")
    suites = {}
    for record in made["results"]:
        suites.setdefault(record["section"], []).append(record)
    for title, records in suites.items():
        found = counts(records)
        suite = ElementTree.SubElement(
            root, "testsuite", name=_clean(title), tests=str(len(records)), failures=str(found[FAIL]), errors="0",
            skipped=str(found[SKIP] + found[UNSUPPORTED]), time=f"{sum(record['seconds'] for record in records):.2f}")
        for record in records:
            one = ElementTree.SubElement(suite, "testcase", classname=_clean(record["test"]), name=_clean(named(record)),
                                         time=f"{record['seconds']:.2f}")
            if record["result"] == FAIL:
                ElementTree.SubElement(one, "failure", message=_clean(record["reason"])).text = _clean(record["reason"])
            elif record["result"] != PASS:
                ElementTree.SubElement(one, "skipped", message=_clean(f"{WORDS[record['result']]}: {record['reason']}"))
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _clean(content):
    return UNPRINTABLE.sub("?", content)
