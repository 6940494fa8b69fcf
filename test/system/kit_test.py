#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the conformance kit without a plugin, a daemon or packets (TAP)."""

import argparse
import dataclasses
import io
import itertools
import json
import os
import re
import sys
import tempfile
from xml.etree import ElementTree

import kit
from lib import addresses as a
from lib import cases, catalogue, declaration, differences, model, outcomes, profile, report, snapshot, tap

DESCRIBED = kit.plugin.Plugin("/nowhere/mine.so", "mine", "1.0", "g++", "1.0", ("IPv4", "IPv6", "delta", "affinity"))
# Cases that the model does not cover: addresses with leading zeros, and the node with the address of a load balancer.
UNREAD = {"cases_clusterip.leading_zeros"}


class NotTried(Exception):
    """The case needs a real node."""


class NoSource:
    def put(self, *made):
        pass

    delete = put


class NoNode:
    def __getattr__(self, name):
        raise NotTried(name)


class PaperBench:
    """The part of a bench for cases that only write objects and expect answers."""

    def __init__(self, kind):
        self.profile = kind
        self.backend = kind.backend
        self.source = self
        self.world = model.World(NoSource(), kind)
        self.allocator = a.Allocator()
        self.topology = NoNode()
        self.set_node_labels({cases.objects.ZONE_LABEL: a.ZONE})

    def put(self, *made):
        self.world.put(*made)

    def delete(self, *made):
        self.world.delete(*made)

    def set_node_labels(self, labels):
        self.put(cases.objects.node(labels))

    def __getattr__(self, name):
        raise NotTried(name)


class PaperTrial(cases.Trial):
    """Compares every expectation of a case with the model."""

    def __init__(self, bench, family, protocol):
        super().__init__(bench, "paper", family, protocol)
        self.compared = 0

    def settle(self):
        pass

    def _check(self, sender, front, expected):
        wanted = expected
        if wanted.kind == "served" and {source for _, source in wanted.sources} == {outcomes.OWN} and wanted != outcomes.UNTOUCHED:
            raise NotTried("a server of the case's own")
        if sender not in (a.POD, a.E1, a.E4, a.NODE, a.NODE_SECOND, a.EXT, a.EXT_OTHER):
            return None
        found = self.bench.world.expected(sender, front, self.family)
        self.compared += 1
        same = found is not None and found.kind == wanted.kind and set(found.sources) == set(wanted.sources)
        return None if same else f"{sender.name} → {front}: the case expects {wanted}, the model {found}"

    def expect_one(self, sender, fronts, expected, questions=12):
        self.expect(sender, fronts, expected)
        raise NotTried("which endpoint it was")

    def expect_shares(self, sender, front, hosts, questions=150):
        pass

    def listen(self, place, name, port, addresses=()):
        raise NotTried("a server of the case's own")

    def hammer(self, sender, front, **_options):
        raise NotTried("traffic")

    hold = hammer


class Report:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, holds, title, note=""):
        self.count += 1
        self.failed += not holds
        print(f"{'ok' if holds else 'not ok'} {self.count} - {title}" + (f"\n#   {note}" if note and not holds else ""), flush=True)


def on_paper(one, kind, family, protocol):
    """(problems, the number of compared expectations) of a case."""
    trial = PaperTrial(PaperBench(kind), family, protocol)
    try:
        one.function(trial)
    except (NotTried, cases.Skip):
        pass  # compared up to here
    return trial.problems, trial.compared


def model_and_cases(report_, everything):
    for kind in profile.BUILT_IN.values():
        problems, compared, cases_of = [], 0, set()
        for one in everything:
            if kit.group_of(one) != kit.CASES or not kit.concerns(one, kind) or one.config != cases.DEFAULT or one.test in UNREAD:
                continue
            for family, protocol in itertools.product(one.families, one.protocols):
                found, number = on_paper(one, kind, family, protocol)
                problems += [f"{one.test} ({family} {protocol}): {text}" for text in found]
                compared += number
                cases_of |= {one.test} if number else set()
        report_.check(not problems and compared > 800, f"mode {kind.backend}: the model expects what {len(cases_of)} cases do, "
                      f"{compared} times", "\n#   ".join(problems[:12]) or f"only {compared} were compared")


def wrong_models(report_, everything):
    """Cases detect a model with one mistake."""
    kind = profile.BUILT_IN["iptables"]
    for name, wrong in (("_hinted", lambda self, ready: ready), ("_in_ranges", lambda *_: True),
                        ("_local_only", lambda self, sender, where, every, *_: model._served(sender, every, outcomes.KEPT))):
        right = getattr(model.World, name)
        setattr(model.World, name, wrong)
        try:
            problems = [text for one in everything if kit.group_of(one) == kit.CASES and kit.concerns(one, kind) and
                        one.config == cases.DEFAULT and one.test not in UNREAD for text in on_paper(one, kind, a.V4, "tcp")[0]]
        finally:
            setattr(model.World, name, right)
        report_.check(problems, f"the cases detect a model without {name}")


def declarations(report_, everything):
    def read(text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.conformance")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return declaration.read(path, everything)

    def refused(text):
        try:
            read(text)
        except declaration.InvalidDeclaration as error:
            return str(error)
        return ""

    good = read("# mine\n\nrelays\ndiffers other-port, no-local\nunsupported 20, 21: planned for 1.1\nunsupported node-ports: no room\n")
    report_.check(good.traits == ("relays",) and good.differs == ("other-port", "no-local") and
                  [(one.what, one.reason, one.where) for one in good.unsupported] ==
                  [("20", "planned for 1.1", "mine.conformance:5"), ("21", "planned for 1.1", "mine.conformance:5"),
                   ("node-ports", "no room", "mine.conformance:6")], "a declaration is read", str(good))
    for text, why in (("unsupported 20\n", "a reason is missing"), ("unsupported 20:  \n", "a reason is missing"),
                      ("unsupported 4711: never\n", "'4711' is not a case"), ("differs something\n", "'something' is not a difference"),
                      ("relays yes\n", "is none of"), ("skip 20: please\n", "is none of")):
        report_.check(why in refused(text), f"refused: {text.strip()}", refused(text))
    of_descriptor = declaration.of_features(("IPv4",))
    report_.check([one.what for one in of_descriptor] == ["affinity", "dual-stack"] and
                  not declaration.of_features(("IPv4", "IPv6", "affinity")), "what the descriptor lacks is declared by it", str(of_descriptor))
    for one in everything:
        if one.test == "cases_policies.external_local_outside":
            report_.check(good.about(one, "tcp").what == "20", "--only finds a case by its number")
        if one.test == "cases_nodeports.one_subnet":
            report_.check(good.about(one, "udp").what == "node-ports", "--only finds a case by the ability that it needs")
    stray = {need for one in everything for need in one.needs} - set(declaration.ABILITIES)
    report_.check(not stray, "cases need what can be declared", str(stray))


# Chapters of the behaviour reference whose cases are not about packets.
NOT_OF_DATA_PLANES = {"Sync engine", "Health", "ipvs", "nftables", "userspace", "Process"}


def not_judged(report_, everything):
    """A third-party plugin is judged by every case about data planes, but for those with a stated reason."""
    numbers = {number for title, chapter in catalogue.SECTIONS.items() if title not in NOT_OF_DATA_PLANES for number in chapter}
    of_relays = kit.NOT_JUDGED | kit.NOT_JUDGED_OF_RELAYS
    for title, kind, reasons in (
            ("a plugin", profile.Profile("mine"), kit.NOT_JUDGED),
            ("one that declares every difference", profile.Profile("mine", frozenset(differences.ALL)), kit.NOT_JUDGED),
            ("one that relays", profile.Profile("mine", relays=True), of_relays)):
        skipped = numbers - {number for one in everything if kit.concerns(one, kind) for number in one.numbers}
        # One of these two is about it.
        either = {64 if kind.meets(differences.NEVER_LOOPBACK) else 70}
        report_.check(skipped == set(reasons) | either, f"{title} is judged by {len(numbers - skipped)} of {len(numbers)} cases "
                      "about data planes, and of the others is said why not", str(sorted(skipped ^ (set(reasons) | either))))
    for kind in profile.BUILT_IN.values():
        skipped = numbers - {number for one in everything if kit.concerns(one, kind) for number in one.numbers}
        known = kit.NOT_JUDGED | catalogue.NOT_APPLICABLE.get(kind.backend, {}) | (kit.NOT_JUDGED_OF_RELAYS if kind.relays else {})
        known = {number for number in known if number in numbers}
        known |= set() if kind.meets(differences.NEVER_LOOPBACK) else {70}
        report_.check(skipped <= known, f"all other cases apply to {kind.backend} mode", str(sorted(skipped - known)))


def selection(report_, everything):
    for kind in profile.BUILT_IN.values():
        numbered = [one for one in everything if kit.concerns(one, kind) and one.numbers]
        report_.check(len(numbered) > 80, f"{len(numbered)} numbered cases apply to {kind.backend} mode")
    not_judged(report_, everything)
    mine = profile.Profile("mine")
    strange = [one.test for one in everything if kit.concerns(one, mine) and one.test not in kit.EITHER_WAY and
               not set(cases.IN_KERNEL) <= set(one.backends)]
    report_.check(not strange, "cases of a single backend are not applied to a plugin", str(strange))
    declared = dataclasses.replace(declaration.Declaration(), differs=("no-local",), traits=("relays",))
    made = kit.profile_of(DESCRIBED, declared, False)
    report_.check(made.relays and made.meets(differences.NO_LOCAL) and not made.built_in, "the profile follows from the declarations")
    ours = kit.profile_of(dataclasses.replace(DESCRIBED, id="nftables"), declaration.Declaration(), False)
    report_.check(ours.built_in and ours.meets(differences.NODE_REJECTED), "a built-in backend has its own profile")


def a_run():
    """Records of every result, as of a run."""
    base = {"numbers": [20], "title": "t", "test": "cases_policies.x", "parameters": ["v4", "tcp"], "seconds": 1.5}
    return [{**base, "name": "case 20: passes", "result": tap.PASS, "reason": ""},
            {**base, "name": "case 20: fails", "result": tap.FAIL, "reason": "expected <this> & saw \"that\"\x01"},
            {**base, "name": "case 8: skipped", "numbers": [8], "result": tap.SKIP, "reason": "no SCTP"},
            {**base, "name": "kill: skipped", "numbers": [], "test": "kit_kill.idle", "result": tap.UNSUPPORTED,
             "reason": "declared unsupported by mine.conformance:1: why", "declared": "20"}]


def reports(report_):
    about = {"plugin": {"id": "mine", "version": "1.0"}, "daemon": "sluiced 0", "kernel": "6.1",
             "declaration": {"traits": [], "differs": {"no-local": "sentence"},
                             "unsupported": [{"what": "20", "reason": "why", "where": "mine.conformance:1"}]}}
    made = report.document(about, a_run())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report")
        report.write_json(path, made)
        with open(path, encoding="utf-8") as file:
            read = json.load(file)
        report_.check(read == made and read["schema"] == 1 and read["backend"] == "mine" and
                      read["counts"] == {"pass": 1, "fail": 1, "skip": 1, "unsupported": 1}, "the JSON has the counts", str(read["counts"]))
        report.write_junit(path, made)
        root = ElementTree.parse(path).getroot()
    tests = [(one.get("name"), [child.tag for child in one]) for one in root.iter("testcase")]
    report_.check(root.tag == "testsuites" and [tags for _, tags in tests] == [[], ["failure"], ["skipped"], ["skipped"]] and
                  sum(int(suite.get("tests")) for suite in root) == 4 and sum(int(suite.get("skipped")) for suite in root) == 2 and
                  tests[0][0] == "case 20: passes (v4 tcp)", "the JUnit file has every result", str(tests))
    message = next(root.iter("failure")).get("message")
    report_.check(message == "expected <this> & saw \"that\"?", "characters that are invalid in XML are replaced", repr(message))
    text = "\n".join(report.text(made))
    report_.check("Declared unsupported: 1" in text and "20 (mine.conformance:1): why; 1 run skipped" in text and
                  "Declared to differ (no-local)" in text and "Failed:\n  case 20: fails" in text and
                  "Cannot be run here:\n  case 8" in text, "the text has declarations and failures", text)
    out = io.StringIO()
    results = tap.Results(out)
    for record in a_run():
        results.add(record)
    results.finish()
    report_.check("# SKIP declared unsupported by mine.conformance:1: why" in out.getvalue() and
                  "1 failed, 1 skipped, 1 declared unsupported" in out.getvalue(), "TAP has the same counts", out.getvalue())


RULESET = """table ip nat {
	chain PREROUTING {
		type nat hook prerouting priority dstnat; policy accept;
	}
	chain POSTROUTING {
		type nat hook postrouting priority srcnat; policy accept;
		jump KUBE-POSTROUTING
	}
	chain KUBE-POSTROUTING {
		counter packets 0 bytes 0 masquerade
	}
	chain KUBE-FIREWALL {
		drop
	}
}
table inet mine {
	set clients {
		type ipv4_addr
		elements = { 10.0.0.2 expires 59s }
	}
}
"""


class PaperNode:
    """Answers the programs that a snapshot runs."""

    def __init__(self, ruleset, links="[]", routes=""):
        self._said = {("nft", "--stateless"): ruleset, ("ip", "-json"): links, ("ip", "-4", "route"): routes}

    def run(self, _place, *argv, **_):
        class Done:
            returncode = 0
            stdout = self._said.get(argv[:3], self._said.get(argv[:2], ""))
        return Done


def snapshots(report_):
    taken = snapshot.take(PaperNode(RULESET))
    report_.check(set(taken) == {"iptables/nat/POSTROUTING", "iptables/nat/KUBE-POSTROUTING", "nft/inet/mine"},
                  "a snapshot has chains of iptables, tables of others, no base chain without rules, nothing of kubelet's", str(set(taken)))
    report_.check("expires" not in taken["nft/inet/mine"], "running timers are not a difference")
    after = snapshot.take(PaperNode(RULESET.replace("masquerade", "return").replace("table inet mine", "table inet other"),
                                    routes="10.9.0.0/16 via 10.0.0.1 dev eth0\nbroadcast 10.0.0.255 dev eth0 table local\n"))
    found = snapshot.difference(taken, after)
    report_.check(found == [("iptables/nat/KUBE-POSTROUTING", "changed"), ("nft/inet/mine", "is gone"), ("nft/inet/other", "appeared"),
                            ("route/4 10.9.0.0/16 via 10.0.0.1 dev eth0", "appeared")], "what changed, came and went is reported",
                  str(found))
    report_.check(snapshot.describe(found, most=1) == "iptables/nat/KUBE-POSTROUTING changed and 3 more" and not snapshot.describe([]),
                  "the description of a difference")
    report_.check(snapshot.is_base_chain("ip6tables/filter/INPUT") and not snapshot.is_base_chain("iptables/nat/KUBE-INPUT") and
                  snapshot.covers("iptables/nat/KUBE-*", "iptables/nat/KUBE-SVC-A") and not snapshot.covers("nft/ip/a", "nft/ip/ab"),
                  "a claim covers what it names")


def manual_page():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "man", "sluice-conformance.1")
    with open(path, encoding="utf-8") as file:
        return file.read().replace("\\-", "-")


def manual(report_):
    """The manual page names every option, ability, trait and group, and no other option."""
    page = manual_page()
    known = {word for action in kit.parser_of_options()._actions if action.help != argparse.SUPPRESS
             for word in action.option_strings if word.startswith("--")} - {"--help", "--builddir"}
    named = set(re.findall(r"--[a-z][a-z-]+", page)) - {"--cleanup"}
    report_.check(named == known, "the manual page names every option, and no other", str(sorted(named ^ known)))
    missing = [word for word in (*declaration.ABILITIES, *declaration.TRAITS, *kit.GROUPS, kit.FILE, kit.CASES)
               if not re.search(rf"\b{word}\b", page)]
    report_.check(not missing, "the manual page names every group, trait and ability", str(missing))


def not_judged_in_manual(report_):
    """Excluded cases that are no declaration of the plugin's are in the manual page."""
    page = manual_page()
    for title, numbers in (("a plugin", kit.NOT_JUDGED), ("one that relays", kit.NOT_JUDGED_OF_RELAYS)):
        *first, last = map(str, numbers)
        said = f"{', '.join(first)} and {last}"
        report_.check(said in page, f"the manual page lists the cases that do not apply to {title}", said)


def unsupported_trials(report_, everything):
    """Declared cases are not run, or run and not held against the plugin."""
    one = next(one for one in everything if one.test == "cases_policies.external_local_outside")
    for verifies, fails, works in ((False, True, None), (True, True, False), (True, False, True)):
        ran = []

        def function(trial, fails=fails, ran=ran):
            ran.append(trial)
            trial.require(not fails, "it does not work")

        declared = declaration.Declaration(unsupported=(declaration.Unsupported("20", "why", "file:1"),))
        bench = PaperBench(dataclasses.replace(profile.BUILT_IN["iptables"], declared=declared, verifies=verifies))
        results = tap.Results(io.StringIO())
        cases.run_trial(results, dataclasses.replace(one, function=function), bench, a.V4, "tcp", "manifests")
        record = results.records[0]
        report_.check(bool(ran) == verifies and record.get("works") == works and
                      record["result"] == (tap.PASS if works else tap.UNSUPPORTED) and "why" in record["reason"],
                      f"declared unsupported, {'tried' if verifies else 'not tried'}, {'fails' if fails else 'works'}", str(record))


def main():
    everything = kit.load_cases()
    result = Report()
    declarations(result, everything)
    selection(result, everything)
    reports(result)
    unsupported_trials(result, everything)
    snapshots(result)
    manual(result)
    not_judged_in_manual(result)
    model_and_cases(result, everything)
    wrong_models(result, everything)
    print(f"1..{result.count}")
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
