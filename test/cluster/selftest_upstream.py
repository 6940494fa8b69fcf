#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the runner of upstream's tests without a cluster, and that the list, the committed results and the page agree.
Prints TAP."""

import re
import socket
import subprocess
import sys
import tempfile
import threading
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.dont_write_bytecode = True

from lib import ginkgo, tap  # noqa: E402
from lib.upstream import compare, documents, holding_proxy, junit, page, proxy_pods, selection  # noqa: E402
from lib.upstream.junit import FAILED, PASSED, SKIPPED, Result  # noqa: E402
from lib.upstream.listing import BadList, TestList  # noqa: E402

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent

POD, NODE, ZONE = "[sig-network] Services should serve pods [LinuxOnly]", "[sig-network] Services should serve nodes", \
    "[sig-network] Zones should be equal (a|b)"
CLOUD, OTHER = "[sig-network] Cloud should balance", "[sig-apps] Deployment should scale"
NAMES = [POD, NODE, ZONE, CLOUD, OTHER]
LIST = r"""
select = '^\[sig-network\] '
modes = ["nftables", "userspace"]
group = [{name = "main", about = "two nodes", nodes = 2},
         {name = "zones", about = "three zones", nodes = 3, zones = 3, patterns = ['\] Zones ']}]
exclude = [{needs = "a cloud", pattern = '\] Cloud ', reason = "a cloud balances"}]
known = [{mode = "userspace", test = 'serve pods', reason = "the relay connects itself"}]
"""
PARTIAL = LIST.replace('"userspace"]', '"ipvs", "userspace"]') + """
omit = [{mode = "ipvs", pattern = 'Zones ', reason = "too few nodes"}, {mode = "ipvs", pattern = 'Zones |nodes', reason = "slow"}]
"""
REPORT = """<testsuites><testsuite>
<testcase name="[SynchronizedBeforeSuite]" status="failed" time="3"><failure type="failed">[FAILED] n1 is not ready
In [SynchronizedBeforeSuite] at: e2e.go:1</failure></testcase>
<testcase name="[It] [sig-network] a" status="passed" time="1.5"></testcase>
<testcase name="[It] [sig-network] b" status="skipped" time="0.1"><skipped message="skipped - Test requires
 two nodes"></skipped></testcase>
<testcase name="[It] [sig-network] c" status="skipped" time="0"><skipped message="skipped"></skipped></testcase>
<testcase name="[It] [sig-network] d" status="failed" time="9"><failure message="" type="failed">[FAILED] connection refused
In [It] at: service.go:5</failure><system-err>much</system-err></testcase>
<testcase name="[It] [sig-network] f" status="interrupted" time="9"><failure message="Interrupted by User"></failure></testcase>
<testcase name="[It] [sig-network] e" status="panicked" time="9"><error message="" type="panicked"></error></testcase>
</testsuite></testsuites>"""

_tests = []


class Wrong(Exception):
    """What was expected and what was there."""


def test(title):
    def register(function):
        _tests.append((title, function))
        return function

    return register


def equal(got, expected):
    if got != expected:
        raise Wrong(f"expected {expected!r}, got {got!r}")


def holds(condition, what):
    if not condition:
        raise Wrong(what)


def made_list(text=LIST):
    return TestList(tomllib.loads(text))


def made_run(proxy, mode, results, version="1.36.2", text=LIST):
    """A run of the made list; `results` has the result of each test that differs from passed."""
    tests, run = made_list(text), documents.Run(proxy, mode)
    run.date, run.versions = "2026-01-01", {"kubernetes": version}
    for group in tests.groups:
        run.add(group, [Result(name, results.get(name, PASSED), "why" if name in results else "", 2)
                        for name in tests.tests_of(group, NAMES, mode)], 60)
    return run


@test("list: each test has one entry, and the group without patterns has the rest")
def _entries():
    tests = made_list()
    equal([tests.tests_of(group, NAMES) for group in tests.groups], [[NODE, POD], [ZONE]])
    equal([*tests.excluded(NAMES).values()], [[CLOUD]])
    equal([*tests.problems(NAMES)], [])


@test("list: a pattern without a test, a test with two entries and an unknown known failure are problems")
def _problems():
    stale = LIST.replace("Cloud ", "Clouds? here")
    holds("the pattern matches no test" in " ".join(made_list(stale).problems(NAMES)), "a pattern without a test is not found")
    twice = LIST.replace("Cloud ", "(Cloud|Zones) ")
    equal([*made_list(twice).problems(NAMES)], [f"2 entries match one test: {ZONE}"])
    unknown = LIST.replace("serve pods", "serve")
    holds("matches 2 tests" in " ".join(made_list(unknown).problems(NAMES)), "an ambiguous known failure is not found")
    excluded = LIST.replace("serve pods", "Cloud")
    holds("matches 0 tests" in " ".join(made_list(excluded).problems(NAMES)), "a known failure of an excluded test is not found")
    holds("no test matches" in " ".join(made_list().problems([])), "an empty list of tests is not found")


@test("list: an omitted test runs in other modes; the first entry that matches has the reason; one without a test is a problem")
def _omitted():
    tests = made_list(PARTIAL)
    equal([tests.tests_of(group, NAMES, "ipvs") for group in tests.groups], [[POD], []])
    equal([tests.tests_of(group, NAMES, "nftables") for group in tests.groups], [[NODE, POD], [ZONE]])
    equal([*tests.omitted(NAMES).values()], [[ZONE], [NODE]])
    equal([*tests.problems(NAMES)], [])
    stale = PARTIAL.replace("Zones |nodes", "Zones ")
    holds("the pattern omits no test in ipvs mode" in " ".join(made_list(stale).problems(NAMES)), "a stale entry is not found")


@test("list: malformed documents are rejected")
def _malformed():
    for text in ("", LIST.replace("nodes = 2", "knots = 2"), LIST.replace(r", patterns = ['\] Zones ']", "")):
        try:
            made_list(text)
        except BadList:
            continue
        raise Wrong(f"accepted: {text}")


@test("selection: the focus matches exactly the chosen tests, with escapes that Go has")
def _focus():
    focus = selection.focus([POD, ZONE])
    for name in (POD, ZONE):
        holds(re.search(focus, f"Kubernetes e2e suite {name}"), f"does not match {name}")
    for name in (NODE, POD + " longer", "[sig-network] Zones should be equal a"):
        holds(not re.search(focus, f"Kubernetes e2e suite {name}"), f"matches {name}")
    equal(set(re.findall(r"\\(.)", focus)) - set(r"\.+*?()|[]{}^$"), set())


@test("report: results have the test's own reasons, and tests that were not selected or were interrupted are omitted")
def _report():
    report = junit.parsed(ElementTree.fromstring(REPORT))
    equal([(one.test[-1], one.result, one.reason, one.seconds) for one in report.results],
          [("a", PASSED, "", 1.5), ("b", SKIPPED, "Test requires two nodes", 0.1), ("d", FAILED, "connection refused", 9),
           ("e", FAILED, "error", 9)])


@test("report: a failure of the suite is no result of a test")
def _suite():
    equal(junit.parsed(ElementTree.fromstring(REPORT)).broken, ["[SynchronizedBeforeSuite]: n1 is not ready"])


@test("report: a file that is no XML is rejected")
def _no_xml():
    try:
        junit.read(__file__)
    except junit.Malformed:
        return
    raise Wrong("accepted")


@test("results: a file has all of a run, one line for each test")
def _round_trip():
    run = made_run("sluice", "nftables", {POD: FAILED, ZONE: SKIPPED})
    with tempfile.TemporaryDirectory() as folder:
        documents.write(f"{folder}/{run.file}", run.text())
        documents.write_names(folder, "1.36.2", NAMES)
        equal([one.text() for one in documents.read_runs(folder)], [run.text()])
        equal(documents.read_names(folder), ("1.36.2", NAMES))
    equal(sum('"test"' in line for line in run.text().splitlines()), 3)


@test("results: a group that runs again replaces its results and keeps the others'")
def _again():
    run, tests = made_run("sluice", "nftables", {}), made_list()
    run.add(tests.groups[0], [Result(NODE, FAILED, "why", 1)], 5)
    equal({name: one.result for name, (_, one) in run.results.items()}, {NODE: FAILED, ZONE: PASSED})


@test("results: failed tests that run again replace their results, and the file and the page say so")
def _failed_again():
    run, tests = made_run("sluice", "nftables", {POD: FAILED}), made_list()
    equal(run.failed([POD, NODE, "[sig-network] new"]), [POD, "[sig-network] new"])
    run.add_again(tests.groups[0], [Result(POD, PASSED, "", 1)])
    with tempfile.TemporaryDirectory() as folder:
        documents.write(f"{folder}/{run.file}", run.text())
        [kept] = documents.read_runs(folder)
    equal((kept.text(), kept.attempts), (run.text(), {POD: 2}))
    holds("| Services should serve pods | passed (run 2) |" in page.text(tests, NAMES[:4], [kept]), "the page has no second run")
    run.add(tests.groups[0], [Result(POD, PASSED, "", 1)], 5)
    equal(run.attempts, {})
    run.add_again(tests.groups[0], [Result(NODE, PASSED, "", 1)])
    equal(run.attempts, {})


@test("results: a malformed file is rejected")
def _bad_file():
    with tempfile.TemporaryDirectory() as folder:
        documents.write(f"{folder}/upstream-sluice-nftables.json", "{}")
        try:
            documents.read_runs(folder)
        except documents.Unreadable:
            return
    raise Wrong("accepted")


def found(control, *runs):
    return " ".join(problem for run in runs for problem in compare.against(run, control, made_list()))


@test("comparison: a test that fails with Sluice only is a problem unless the list has it")
def _compared():
    control = made_run("kube-proxy", "iptables", {})
    equal(found(control, made_run("sluice", "userspace", {POD: FAILED}), made_run("sluice", "nftables", {})), "")
    holds("no known failure" in found(control, made_run("sluice", "nftables", {POD: FAILED})), "a regression is not found")
    holds("no known failure" in found(control, made_run("sluice", "userspace", {POD: FAILED, NODE: FAILED})),
          "a regression beside a known failure is not found")
    equal(found(made_run("kube-proxy", "iptables", {NODE: FAILED}), made_run("sluice", "nftables", {NODE: FAILED})), "")


@test("comparison: a known failure that passes, a missing control, result or version are problems")
def _stale():
    control = made_run("kube-proxy", "iptables", {})
    holds("listed as a known failure" in found(control, made_run("sluice", "userspace", {})), "a stale entry is not found")
    holds("expected one as the control" in " ".join(compare.problems([], made_list())), "a missing control is not found")
    missing = " ".join(compare.problems([control], made_list()))
    holds("expected ['nftables', 'userspace']" in missing, "a missing mode is not found")
    holds("1.35.0" in found(control, made_run("sluice", "nftables", {}, "1.35.0")), "another version is not found")
    short = made_run("sluice", "nftables", {})
    del short.results[NODE]
    holds("with kube-proxy only" in found(control, short), "a missing result is not found")


@test("comparison: missing tests, groups and tests of the wrong group are incomplete")
def _incomplete():
    tests, run = made_list(), made_run("sluice", "nftables", {})
    equal([*compare.incomplete([run], tests, NAMES)], [])
    equal(len([*compare.incomplete([run], tests, [*NAMES, "[sig-network] new"])]), 1)
    run.results[CLOUD] = ("main", Result(CLOUD, PASSED, "", 1))
    del run.groups["zones"]
    equal(len([*compare.incomplete([run], tests, NAMES)]), 2)


@test("comparison: a mode with omitted tests has its own control, which may have fewer tests")
def _partial():
    tests = made_list(PARTIAL)
    control, same = made_run("kube-proxy", "iptables", {}), documents.Run("kube-proxy", "ipvs")
    same.versions = control.versions
    same.add(tests.groups[0], [Result(POD, FAILED, "why", 1)], 5)

    def ipvs(results):
        run = made_run("sluice", "ipvs", results, text=PARTIAL)
        return [control, same, run, made_run("sluice", "nftables", {}), made_run("sluice", "userspace", {POD: FAILED})]

    equal([*compare.problems(ipvs({POD: FAILED}), tests)], [])
    equal([*compare.incomplete(ipvs({}), tests, NAMES)], [])
    same.add(tests.groups[0], [], 5)
    holds("no known failure" in " ".join(compare.problems(ipvs({POD: FAILED}), tests)), "a regression is not found")
    text = page.text(tests, NAMES[:4], ipvs({}))
    for line in ("| ipvs | slow | 1 | Services should serve nodes |",
                 "| Services should serve nodes | passed | – | – | passed | passed |"):
        holds(line in text, f"no line '{line}' in:\n{text}")


@test("results: some tests of a group replace their own results only")
def _some():
    run, tests = made_run("sluice", "nftables", {}), made_list()
    run.add_some(tests.groups[0], [Result(NODE, FAILED, "why", 1)], 5)
    equal({name: one.result for name, (_, one) in run.results.items()}, {NODE: FAILED, POD: PASSED, ZONE: PASSED})
    equal(run.groups["main"]["seconds"], 65)


@test("page: each test has a row with the results of all runs, failures stand out and have their reason")
def _page():
    runs = [made_run("kube-proxy", "iptables", {ZONE: SKIPPED}), made_run("sluice", "userspace", {POD: FAILED, ZONE: SKIPPED})]
    text = page.text(made_list(), NAMES[:4], runs)
    for line in ("| Services should serve pods | passed | **failed** |",
                 "| Sluice userspace | Services should serve pods | the relay connects itself |",
                 "| Zones should be equal (a\\|b) | all | why |",
                 "| kube-proxy iptables | 2 | 0 | 1 | 120 | 1.36.2 |",
                 "| a cloud | a cloud balances | 1 | Cloud should balance |",
                 "Of 4 tests of sig-network 3 run and 1 are excluded."):
        holds(line in text, f"no line '{line}' in:\n{text}")


class _Place:
    def __init__(self, name):
        self.name, self.folder = name, Path("/cluster/nodes") / name


class _Proxy:
    def command(self, node):
        return ["/usr/sbin/sluiced", f"--config={node.folder}/proxy.yaml", "--v=2"]


@test("pods of the proxy: one command line for all nodes, with the node's name from its variable")
def _pods():
    command = proxy_pods.common_command(_Proxy(), [_Place("n1"), _Place("n12")])
    equal(command, ["/usr/sbin/sluiced", "--config=/cluster/nodes/$(NODE_NAME)/proxy.yaml", "--v=2"])
    pod = proxy_pods.manifest(command, "image")["spec"]["template"]
    equal(pod["metadata"]["labels"], {"k8s-app": "kube-proxy"})
    equal(pod["spec"]["containers"][0]["command"], ["chroot", "/node", *command])


@test("holding proxy: a connection is kept open until the server listens, and ends when the server ends it")
def _holding():
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        server = reserved.getsockname()  # refuses connections until it listens
        client, inside = socket.socketpair()
        thread = threading.Thread(target=holding_proxy.serve, args=(inside, server), daemon=True)
        thread.start()
        client.sendall(b"question")
        client.settimeout(10)
        reserved.listen()
        with reserved.accept()[0] as connection:
            equal(connection.recv(100), b"question")
            connection.sendall(b"answer")
        equal(client.recv(100), b"answer")
        equal(client.recv(100), b"")
        thread.join(10)
        holds(not thread.is_alive(), "the connection of the proxy does not end")
        client.close()


@test("the time limit: an interrupted ginkgo and its processes receive SIGINT")
def _interrupted():
    parent = ("import signal, subprocess, sys\n"
              "signal.signal(signal.SIGINT, lambda *_: None)\n"
              "child = subprocess.Popen([sys.executable, '-c', \"print('ready', flush=True); import signal; signal.pause()\"],\n"
              "                         stderr=subprocess.DEVNULL)\n"
              "sys.exit(0 if child.wait() == -signal.SIGINT else 1)\n")
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        try:
            equal(process.stdout.readline(), "ready\n")
            ginkgo.interrupt(process)
            equal(process.wait(60), 0)
        finally:
            subprocess.run(["pkill", "-KILL", "-P", str(process.pid)], check=False)
            process.kill()


def committed():
    _, names = documents.read_names(HERE / "results")
    return TestList.read(HERE / "upstream_tests.toml"), names, documents.read_runs(HERE / "results")


@test("committed: each test of sig-network is in one group or excluded, and each pattern matches a test")
def _committed_list():
    tests, names, _ = committed()
    equal([*tests.problems(names)], [])


@test("committed: the results have each test of the list")
def _committed_results():
    tests, names, runs = committed()
    equal([*compare.incomplete(runs, tests, names)], [])


@test("committed: no test fails with Sluice that passes with kube-proxy, but known failures")
def _committed_failures():
    tests, _, runs = committed()
    equal([*compare.problems(runs, tests)], [])


@test("committed: docs/conformance-upstream.md is the page of the results; upstream.py page writes it")
def _committed_page():
    tests, names, runs = committed()
    text = (TREE / page.NAME).read_text(encoding="utf-8")
    holds(text == page.text(tests, names, runs), "the page differs from the results")


def main():
    results = tap.Results()
    for title, function in _tests:
        notes = []
        try:
            function()
        except Wrong as error:
            notes = [str(error)]
        except Exception as error:  # pylint: disable=broad-except  # a test that fails in another way than expected
            notes = [repr(error)]
        results.add({"name": title, "parameters": [], "result": tap.FAIL if notes else tap.PASS, "reason": ""}, notes)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
