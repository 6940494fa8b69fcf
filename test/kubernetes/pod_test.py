#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the DaemonSet of each overlay: its containers with exactly the mounts, privileges and arguments of the manifest, on
a node made of a network namespace, with the test API server. Checks that they work, that the role allows exactly the
requests that are made, that each capability is needed, and that a changed ConfigMap is applied. Prints TAP. Needs root.

  pod_test.py --builddir DIR --image DIR [--overlay NAME] [--short]

--image is a root filesystem of packaging/image/rootfs.sh; --short skips overlays that differ from another one only in
addresses, and lists beside watches.
"""

import argparse
import copy
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
SRC = HERE.parents[1]

import kustomize  # noqa: E402
from node import Node, NodeError, allowed_by, asked_of, of_kind, wait_for  # noqa: E402
import stock  # noqa: E402

SYS_RESOURCE = 24
# Allowed to every account (the role system:discovery, which a cluster binds to all authenticated users).
DISCOVERY = re.compile(r"/(api|apis)(/[^/]+)*/?$|/version/?$|/healthz$|/livez$|/readyz$")
# Expected warnings.
CONNTRACK = "nf_conntrack_max"  # of the machine; no network namespace but its own can write it
OOM_SCORE = "oom_score_adj"
EVERYWHERE = "no node-port addresses are set"
PORT_REUSE = "net.ipv4.tcp_tw_reuse"  # docs/kubernetes/README.md says what to do
DEPRECATED = "ipvs mode is deprecated"
SLOW = "ms, its limit is"  # on an emulated processor
# What is logged without a capability.
LACKED = {
    "NET_ADMIN": r"you must be root|CAP_NET_ADMIN|Operation not permitted",
    "NET_RAW": r"the legacy tables, which this node has, cannot be read: .*CAP_NET_RAW",
    "NET_BIND_SERVICE": r"cannot be held: Permission denied",
}

@dataclass
class Scene:
    """A pod on a node."""

    overlay: str
    legacy: bool = False  # iptables-legacy is in use on the node, and the daemon must use it, too
    data: dict = None  # of the ConfigMap, if the overlay has none
    change: tuple = ("drainTimeout: 1h", "drainTimeout: 30m")
    known: set = field(default_factory=lambda: {CONNTRACK})
    short: bool = True
    needs: tuple = ()  # each capability in the long form, the last one in any
    prepares: str = ""  # a setting that only the init container can write


SCENES = [
    Scene("base", needs=("NET_ADMIN",)),
    Scene("overlays/iptables", legacy=True, needs=("NET_ADMIN", "NET_RAW")),
    Scene("overlays/ipvs", legacy=True, known={CONNTRACK, DEPRECATED, SLOW}, needs=("NET_ADMIN", "NET_RAW")),
    Scene("overlays/userspace", legacy=True, known={CONNTRACK, PORT_REUSE}, needs=("NET_ADMIN", "NET_RAW", "NET_BIND_SERVICE")),
    # The configuration of kubeadm has the default OOM score, which needs a capability that the pod lacks.
    Scene("overlays/kubeadm", legacy=True, data=stock.data(stock.KUBEADM, "iptables"), change=('mode: ""', "mode: nftables"),
          known={CONNTRACK, OOM_SCORE, EVERYWHERE}, needs=("NET_ADMIN", "NET_RAW"),
          prepares="route_localnet"),
    Scene("overlays/k3s", short=False),
    Scene("overlays/kind", short=False),
]


class Tests:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, title, problems):
        """Passes when there is none."""
        self.count += 1
        problems = list(problems)
        self.failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.count} - {title}")
        for line in "\n".join(map(str, problems)).splitlines():
            print(f"#   {line}")
        sys.stdout.flush()

    def skip(self, title, why):
        self.count += 1
        print(f"ok {self.count} - {title} # SKIP {why}", flush=True)

    def finish(self):
        print(f"1..{self.count}")
        return 1 if self.failed or not self.count else 0


def may_lower_score():
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"CapEff:\s*(\w+)", status).group(1), 16) >> SYS_RESOURCE & 1


def kernel_has_ipvs():
    if not Path("/proc/net/ip_vs").exists():
        os.system("modprobe -q ip_vs 2>/dev/null")
    return Path("/proc/net/ip_vs").exists()


def is_synced(status):
    return bool(status and status["families"]) and all(one["synced"] for one in status["families"])


class Pod:
    """The checks of one scene."""

    def __init__(self, scene, options, objects):
        self.scene = scene
        self.sluicectl = options.builddir / "core/sluicectl"
        self.objects = objects
        self.node = None
        self.process = None
        self.known = scene.known | (set() if may_lower_score() else {OOM_SCORE})

    @property
    def main(self):
        return self.node.pod["containers"][0]

    def status(self):
        return self.node.status(self.sluicectl)

    def unknown_complaints(self):
        return [line for line in self.node.complaints() if not any(word in line for word in self.known)]

    def check_configuration(self):
        """By the daemon itself, in the container as it is."""
        words = [*self.main["command"], *self.main.get("args", [])]
        status, output = self.node.run(self.main, command=[words[0], "--check", *words[1:]])
        return [] if status == 0 and output.rstrip().endswith("configuration is usable") else [f"status {status}: {output}"]

    def prepare(self):
        status, output = self.node.run(self.node.pod["initContainers"][0])
        return ([f"status {status}: {output}"] if status != 0 else []) + self.unknown_complaints()

    def serve(self, without=(), seconds=90):
        """Starts the daemon and waits for the first sync; returns the problems."""
        self.process = self.node.start(self.main, without)
        try:
            wait_for(lambda: self.process.poll() is not None or is_synced(self.status()), "a first sync", seconds)
        except NodeError as error:
            return [error, self.node.log()]
        if self.process.poll() is not None:
            return [f"it ended with status {self.process.returncode}", self.node.log()]
        not_programmed = [one for family in self.status()["families"] for one in family["not_programmed"]]
        return not_programmed + self.unknown_complaints() + self._in_the_wrong_tables()

    def _in_the_wrong_tables(self):
        """Without access to iptables-legacy, the daemon would find no rules there and write to the nft tables."""
        using = [line for line in self.node.log().splitlines() if "] using iptables" in line]
        return [line for line in using if "(legacy)" not in line] if self.scene.legacy else []

    def probes(self):
        ports = {one["name"]: one["containerPort"] for one in self.main["ports"]}
        for name in ("livenessProbe", "readinessProbe"):
            get = self.main[name]["httpGet"]
            status = self.node.get(ports.get(get["port"], get["port"]), get["path"])
            if status != 200:
                yield f"{name}: {status}"

    def reload(self):
        """A change is applied; an error is rejected twice, with one event and a count, keeping the running configuration."""
        name = next(one for one in self.node.volume.data if one.startswith("config."))
        before = dict(self.node.volume.data)
        wrong = {**before, name: before[name].replace("mode:", "mode: nowhere #", 1)}
        for text in (wrong, before, wrong):
            count = self._reloads()
            self.node.volume.write(text)
            wait_for(lambda count=count: self._reloads() > count, "a reload", 40)
            result = self.status()["reload"]["last"]["result"]
            if (result == "failed") != (text is wrong):
                return [f"a {'wrong' if text is wrong else 'right'} configuration: {self.status()['reload']}"]
        if not is_synced(self.status()):
            return ["the running configuration was not kept"]
        old, new = self.scene.change
        count = self._reloads()
        self.node.volume.write({**before, name: before[name].replace(old, new)})
        wait_for(lambda: self._reloads() > count, "a reload", 40)
        last = self.status()["reload"]["last"]
        return [] if last["result"] == "success" else [f"{old} to {new}: {last}"]

    def _reloads(self):
        status = self.status()
        return status["reload"]["count"] if status else -1

    def forbidden(self, role):
        """Requests that the role does not allow."""
        allowed = allowed_by(role)
        for one in self._asked():
            if isinstance(one, str):
                if not DISCOVERY.match(one):
                    yield one
            elif one not in allowed:
                yield one

    def idle(self, role):
        """Permissions without a request."""
        return sorted(allowed_by(role) - {one for one in self._asked() if not isinstance(one, str)})

    def _asked(self):
        return sorted({asked_of(one) for one in self.node.requests() if not one["path"].startswith("/_test/")}, key=str)

    def wait_for_requests(self, role):
        """Waits for the events, which are written asynchronously."""
        try:
            wait_for(lambda: not self.idle(role), "a request for each permission", 20)
        except NodeError:
            pass

    def end(self):
        """Stops the container as a runtime does; the daemon is its first process."""
        self.node.terminate(self.process)
        try:
            status = self.process.wait(self.node.pod["terminationGracePeriodSeconds"])
        except subprocess.TimeoutExpired:
            return ["does not end"]
        return [] if status == 0 else [f"status {status}", self.node.log()]


def blind_to_role(pod, role):
    """Whether the checks would find a missing or an extra permission."""
    for number, rule in enumerate(role["rules"]):
        less = copy.deepcopy(role)
        del less["rules"][number]
        if not list(pod.forbidden(less)):
            yield f"a missing rule is not found: {rule}"
    more = copy.deepcopy(role)
    more["rules"].append({"apiGroups": [""], "resources": ["endpoints"], "verbs": ["list"]})
    if not pod.idle(more):
        yield "an unused permission is not found"


def play(scene, options, tests, folder):
    objects = kustomize.render(SRC / "packaging/kubernetes" / scene.overlay)
    role = of_kind(objects, "ClusterRole")
    title = scene.overlay
    pod = Pod(scene, options, objects)
    with Node(objects, options.image, folder / "all", scene.data, streaming=False, legacy=scene.legacy) as pod.node:
        tests.check(f"{title}: the daemon accepts the ConfigMap", pod.check_configuration())
        tests.check(f"{title}: the init container prepares the node", pod.prepare())
        tests.check(f"{title}: serves with its capabilities and without warnings", pod.serve())
        tests.check(f"{title}: the probes are answered", pod.probes())
        tests.check(f"{title}: a changed ConfigMap is applied, an invalid one is rejected", pod.reload())
        pod.wait_for_requests(role)
        tests.check(f"{title}: the role allows all requests", pod.forbidden(role))
        tests.check(f"{title}: the role allows nothing else", pod.idle(role))
        tests.check(f"{title}: the checks of the role find errors", blind_to_role(pod, role))
        tests.check(f"{title}: ends in time", pod.end())
    if not options.short:
        with Node(objects, options.image, folder / "streaming", scene.data, legacy=scene.legacy) as pod.node:
            tests.check(f"{title}: serves with streaming lists", pod.prepare() + pod.serve())
            tests.check(f"{title}: the role allows all requests with streaming lists", pod.forbidden(role))
    if scene.prepares:
        with Node(objects, options.image, folder / "unprepared", scene.data, legacy=scene.legacy) as pod.node:
            found = [one for one in pod.serve() if scene.prepares in str(one)]
            tests.check(f"{title}: needs its init container", [] if found else [f"no complaint of {scene.prepares} without it"])
    for capability in scene.needs[-1:] if options.short else scene.needs:
        with Node(objects, options.image, folder / capability, scene.data, legacy=scene.legacy) as pod.node:
            problems = pod.prepare()
            found = "\n".join(map(str, pod.serve(without=(capability,))))
            missing = [] if re.search(LACKED[capability], found) else [f"without it, {LACKED[capability]} is not logged: {found}"]
            tests.check(f"{title}: needs {capability}", problems + missing)
    if scene.needs:
        given = of_kind(objects, "DaemonSet")["spec"]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"]["add"]
        tests.check(f"{title}: has no other capability", set(given) - set(scene.needs))


STOCK = "stock DaemonSet"


def play_stock(installer, options, tests, folder):
    """After `kubectl set image`: no state directory on the node, no init container, the name and flags of kube-proxy."""
    title = f"{STOCK} of {installer}"
    recording, mode = stock.DAEMON_SETS[installer]
    pod = Pod(Scene(title, known={CONNTRACK, OOM_SCORE, EVERYWHERE}), options, [])
    objects = [stock.daemon_set(recording, mode), stock.ROLE]
    with Node(objects, options.image, folder, stock.data(recording, mode), streaming=False) as pod.node:
        tests.check(f"{title}: the daemon accepts flags and ConfigMap", pod.check_configuration())
        for occasion in ("serves under the name of kube-proxy without warnings", "the next pod serves as well"):
            tests.check(f"{title}: {occasion}", stock_serves(pod))
            tests.check(f"{title}: ends in time", pod.end())
        tests.check(f"{title}: the role of kube-proxy allows all requests", pod.forbidden(stock.ROLE))


def stock_serves(pod):
    pod.process = pod.node.start(pod.main)
    try:
        wait_for(lambda: pod.process.poll() is not None or answers(pod.node, "/readyz"), "/readyz answers 200", 90)
    except NodeError as error:
        return [error, pod.node.log()]
    if pod.process.poll() is not None:
        return [f"it ended with status {pod.process.returncode}", pod.node.log()]
    return pod.unknown_complaints()


def answers(node, path):
    try:
        return node.get(10256, path) == 200
    except OSError:
        return False


def ended(*_):
    raise SystemExit(143)  # runs the cleanup of namespaces


def main():
    signal.signal(signal.SIGTERM, ended)
    parser = argparse.ArgumentParser()
    parser.add_argument("--builddir", required=True, type=Path)
    parser.add_argument("--image", required=True, type=Path)
    parser.add_argument("--overlay")
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    options.builddir, options.image = options.builddir.resolve(), options.image.resolve()
    tests = Tests()
    for scene in SCENES:
        if options.overlay not in (None, scene.overlay):
            continue
        if options.short and not scene.short:
            tests.skip(scene.overlay, "in the long form: other addresses than base, and nothing else")
            continue
        if scene.overlay == "overlays/ipvs" and not kernel_has_ipvs():
            tests.skip(scene.overlay, "this kernel has no IPVS")
            continue
        with tempfile.TemporaryDirectory(prefix="sluice-pod-") as folder:
            try:
                play(scene, options, tests, Path(folder))
            except (NodeError, OSError, subprocess.SubprocessError) as error:
                tests.check(f"{scene.overlay}: can be tried", [error])
    for installer in stock.DAEMON_SETS:
        if options.overlay not in (None, STOCK, installer):
            continue
        with tempfile.TemporaryDirectory(prefix="sluice-pod-") as folder:
            try:
                play_stock(installer, options, tests, Path(folder))
            except (NodeError, OSError, subprocess.SubprocessError) as error:
                tests.check(f"{STOCK} of {installer}: can be tried", [error])
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
