# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The configuration changes under a running daemon: each setting takes effect, alone, without a failed connection or
another list request; a change that is impossible or invalid is rejected with an error that names it, and changes nothing."""

import dataclasses
import contextlib
import os
import random
import shutil
import signal
import socket
import time

from lib import data_plane, foreign, kubeconfigs, netns_http, observed, pace, swapping, traffic
from lib import config_mutations
from lib.addresses import CLUSTER_CIDR, E1, E2, NODE, NODE2, NODE_SECOND, V4, V6
from lib.cases import EXT, IN_KERNEL, POD, REJECTED, UNTOUCHED, kept, masqueraded, own_daemon
from lib.daemon import DaemonError
from lib.objects import ready

LONG = os.environ.get("SLUICE_LONG", "0") != "0"
MUTATIONS = int(os.environ.get("SLUICE_TEST_MUTATIONS") or (10_000 if LONG else 100))
SEED = int(os.environ.get("SLUICE_TEST_SEED") or MUTATIONS)
BOTH = [ready(E1), ready(E2)]
SOON = 8


class Ground:
    """A daemon with its configuration file, Services, and traffic that no reload may disturb; `wanted` selects flows. `masquerades`:
    the settings change which clients are masqueraded, so traffic may show either address."""

    def __init__(self, t, wanted=lambda flow: True, masquerades=False, **settings):
        self.t = t
        self.service = t.service(BOTH, type="LoadBalancer", external=True)
        self.everywhere, local = swapping.services(t)
        self.daemon = swapping.Swappable(t, t.bench.backend, **settings)
        t.settle()
        flows = swapping.steady(self.everywhere, local, every_ms=20) + swapping.held(self.everywhere, local)
        self.flows = [dataclasses.replace(flow, kept=flow.kept and not masquerades) for flow in flows if wanted(flow)]
        self.traffic = traffic.Traffic(t, self.flows).wait_flowing()
        self._lists = self.lists()

    def lists(self):
        """The number of list requests per kind of object."""
        return {one["kind"]: one["lists"] for one in self.daemon.status()["source"]["resources"]}

    def change(self, occasion, **settings):
        """Writes the settings into the file and applies them."""
        self.daemon.write(**settings)
        return self.daemon.require_reload(occasion).stdout

    def require_listed_once(self, occasion):
        lists = self.lists()
        self.t.require(lists == self._lists, f"{occasion}: objects were listed again: {self._lists}, then {lists}")
        self._lists = lists

    def end(self, occasion):
        counts = self.traffic.stop()
        traffic.require_unharmed(self.t, self.flows, counts, occasion)
        self.t.remark(traffic.summary(self.flows, counts))


DEBUG = " delta, "


def debug_lines(ground):
    """The number of log lines of a change that only a higher verbosity has."""
    before = ground.daemon.daemon.log().count(DEBUG)
    ground.t.settle()
    return ground.daemon.daemon.log().count(DEBUG) - before


def node_value(t, name):
    return t.topology.run("node", "cat", f"/proc/sys/net/netfilter/{name}").stdout.strip()


def answers(t, port, path):
    return observed.ask(t, observed.url("127.0.0.1", port, path)).status


@own_daemon(None, "settings of the process change at run time: listen addresses, logging, health, profiling, kernel settings; "
            "nothing is listed again, no rule is written, no connection is disturbed", sources=["apiserver", "manifests"], slow=True)
def of_the_process(t):
    ground = Ground(t)
    daemon = ground.daemon
    t.settle()
    before = foreign.ruleset(t.topology)
    said = ground.change("metrics", fields="metricsBindAddress: 127.0.0.1:11249\n")
    t.require(answers(t, 11249, "/metrics") == 200 and answers(t, 10249, "/metrics") == 0,
              f"metrics: 11249 answers {answers(t, 11249, '/metrics')}, 10249 {answers(t, 10249, '/metrics')}; {said}")
    ground.change("healthz", fields="metricsBindAddress: 127.0.0.1:11249\nhealthzBindAddress: 0.0.0.0:11256\n")
    t.require(answers(t, 11256, "/healthz") == 200 and answers(t, 10256, "/healthz") == 0, "healthz is at a wrong address")
    t.require(answers(t, 11249, "/metrics") == 200, "metrics went with healthz")
    ground.change("both as before", fields="enableProfiling: true\n")
    t.require(answers(t, 10256, "/healthz") == 200 and answers(t, 10249, "/metrics") == 200, "they are not back")
    t.require(answers(t, 10249, "/debug/pprof/") != 0, "the metrics address is gone with profiling")
    ground.change("kernel settings", fields="conntrack: {tcpEstablishedTimeout: 7777s}\noomScoreAdj: 123\n")
    t.require(node_value(t, "nf_conntrack_tcp_timeout_established") == "7777", "the timeout of established connections is wrong")
    with open(f"/proc/{daemon.daemon.pid}/oom_score_adj", encoding="ascii") as file:
        score = file.read().strip()
        t.require(score == "123", f"the OOM score is {score}")
    t.require(foreign.ruleset(t.topology) == before, f"rules were written: {foreign.difference(before, foreign.ruleset(t.topology))[:400]}")
    quiet = debug_lines(ground)
    ground.change("logging", fields="", logging="verbosity: 6")
    t.settle()  # the line is written after the work
    t.wait_until(lambda: daemon.daemon.log().count(DEBUG) > 0, "a change brings debug lines with a higher verbosity")
    ground.change("logging, back", logging="verbosity: 2")
    quiet_again = debug_lines(ground)
    t.require(quiet == quiet_again == 0, f"debug lines of a change: {quiet} before, {quiet_again} after")
    begun = len(daemon.daemon.log())
    ground.change("JSON", logging="format: json, verbosity: 2")
    t.settle()
    t.wait_until(lambda: '"level":' in daemon.daemon.log()[begun:], "the log is JSON")
    ground.require_listed_once("of the process")
    ground.end("of the process")


@own_daemon(None, "settings of the rules change at run time: masquerading, its mark, node port addresses, the cluster's range, "
            "external addresses, the pause between two syncs; nothing is listed again and no connection fails",
            sources=["apiserver", "manifests"], backends=IN_KERNEL, slow=True)
def of_the_rules(t):
    ground = Ground(t, masquerades=True)
    service = ground.service
    t.expect(POD, service.cluster(), kept(E1, E2))
    ground.change("masqueradeAll", parts=", masqueradeAll: true" if not t.ipvs else "")
    if not t.ipvs:
        t.expect_soon(POD, service.cluster(), masqueraded(E1, E2), SOON)
    ground.change("the mark", parts=", masqueradeBit: 20" if not t.ipvs else "")
    t.expect_soon(POD, service.cluster(), kept(E1, E2), SOON)
    t.expect(POD, service.external(), masqueraded(E1, E2))
    if t.bench.backend == "iptables":
        marks = [line for line in foreign.saved(t.topology, V4, "nat") if "KUBE-MARK-MASQ -j MARK" in line]
        t.require(len(marks) == 1 and "0x100000/0x100000" in marks[0], f"the mark is another: {marks}")
    ground.change("node ports", parts="", fields="nodePortAddresses: [192.168.0.0/24, 'fd00:192:168::/64']\n")
    t.expect_soon(EXT, service.at(NODE_SECOND.ip(t.family)), REJECTED, SOON)
    t.expect(EXT, service.at(NODE.ip(t.family)), masqueraded(E1, E2))
    ground.change("node ports, everywhere", fields="nodePortAddresses: [0.0.0.0/0, '::/0']\n")
    t.expect_soon(EXT, service.at(NODE_SECOND.ip(t.family)), masqueraded(E1, E2), SOON)
    ground.change("the cluster's range", fields="", cidrs="10.1.0.0/16,fd00:11::/48")
    t.expect_soon(POD, service.cluster(), masqueraded(E1, E2), SOON)
    ground.change("the cluster's range, back", cidrs=",".join(CLUSTER_CIDR.values()))
    t.expect_soon(POD, service.cluster(), kept(E1, E2), SOON)
    ground.change("external addresses", fields="featureGates: {AllowServiceExternalIPs: false}\n")
    t.expect_soon(POD, service.external(), UNTOUCHED, SOON)
    t.expect(POD, service.vip(), masqueraded(E1, E2))
    ground.change("external addresses, back", fields="")
    t.expect_soon(POD, service.external(), masqueraded(E1, E2), SOON)
    ground.change("the pause", pause="3s", period="4s")
    begun = time.monotonic()
    for endpoints in ([ready(E1)], [ready(E2)], [ready(E1)]):
        service.set_endpoints(endpoints)
        t.expect_soon(POD, service.cluster(), kept(*(one.host for one in endpoints)))
    seconds = time.monotonic() - begun
    t.require(seconds > 5.5, f"three changes take {seconds:.1f} s, with two pauses of 3 s")
    ground.change("no pause", pause="1ms", period="2s")
    t.settle()
    ground.require_listed_once("of the rules")
    ground.end("of the rules")


@own_daemon(None, "every replacement of the file is noticed without a request: written in place, renamed, a link of a ConfigMap, "
            "removed and back; SIGHUP works too; an equal file is no change", sources=["manifests"], backends=IN_KERNEL,
            above=True)
def ways(t):
    ground = Ground(t)
    daemon = ground.daemon

    def metrics_at(port):
        return f"metricsBindAddress: 127.0.0.1:{port}\n"

    def expect_at(port, how):
        t.wait_until(lambda: answers(t, port, "/metrics") == 200, f"{how} is noticed", 10)

    daemon.settings["fields"] = metrics_at(12001)
    with open(daemon.path, "w", encoding="utf-8") as file:
        file.write(daemon.text())
    expect_at(12001, "what is written in place")
    daemon.write(fields=metrics_at(12002))
    expect_at(12002, "another file by that name")
    half = daemon.text(fields=metrics_at(12003))
    with open(daemon.path, "w", encoding="utf-8") as file:
        file.write(half[:len(half) // 2])
        file.flush()
        time.sleep(1.5)  # fixed time: half a file must not take effect
        t.require(answers(t, 12002, "/metrics") == 200, "half a file took effect")
        file.write(half[len(half) // 2:])
    expect_at(12003, "the other half")
    os.rename(daemon.path, daemon.path + ".away")
    time.sleep(1)  # fixed time: a removed file must not take effect
    t.require(answers(t, 12003, "/metrics") == 200, "a file that is away took effect")
    done = daemon.reload()
    t.require(done.returncode == 1 and daemon.path in done.stdout + done.stderr, f"without a file: {done.returncode}, {done.stderr}")
    daemon.write(fields=metrics_at(12004))
    expect_at(12004, "a file that is back")
    daemon.wait_reloads_over()
    count = daemon.status()["reload"]["count"]
    daemon.write()
    os.utime(daemon.path)
    time.sleep(1.5)  # fixed time: the same file again must not be a reload
    t.require(daemon.status()["reload"]["count"] == count, "the same file again was a reload")
    os.kill(daemon.daemon.pid, signal.SIGHUP)
    t.wait_until(lambda: daemon.status()["reload"]["count"] > count, "SIGHUP leads to a reload")
    t.require(daemon.status()["reload"]["last"]["result"] == "unchanged", f"SIGHUP: {daemon.status()['reload']}")
    as_config_map(t, daemon, metrics_at, expect_at)
    ground.require_listed_once("ways")
    ground.end("ways")


def as_config_map(t, daemon, metrics_at, expect_at):
    """The file is a link into a folder that is a link, and that folder is replaced."""
    folder = os.path.join(daemon.directory, "mounted")
    os.mkdir(folder)

    def publish(number):
        versions = os.path.join(folder, f"..version-{number}")
        os.mkdir(versions)
        with open(os.path.join(versions, "config.yaml"), "w", encoding="utf-8") as file:
            file.write(daemon.text())
        os.symlink(os.path.basename(versions), os.path.join(folder, "..data_tmp"))
        os.rename(os.path.join(folder, "..data_tmp"), os.path.join(folder, "..data"))

    daemon.settings["fields"] = metrics_at(12005)
    publish(1)
    os.symlink("..data/config.yaml", os.path.join(folder, "config.yaml"))
    daemon.path = os.path.join(folder, "config.yaml")
    daemon.daemon.kill()
    daemon.start()
    expect_at(12005, "a start with a link")
    for number in (2, 3):
        daemon.settings["fields"] = metrics_at(12004 + number)
        publish(number)
        expect_at(12004 + number, f"the folder exchanged, time {number - 1},")
        shutil.rmtree(os.path.join(folder, f"..version-{number - 1}"))


@own_daemon(None, "settings that cannot change at run time are rejected by name with the reason; invalid ones with file and "
            "line; in both cases nothing of the file is applied, no rule is written, and the same file without it is applied",
            sources=["manifests"], above=True)
def refused(t):
    ground = Ground(t)
    daemon = ground.daemon
    before = foreign.ruleset(t.topology)
    more = daemon.settings["more"]
    for words, change in ((("hostnameOverride",), {"node": "another"}),
                          (("stateDir",), {"state_dir": "/run/elsewhere"}),
                          (("record",), {"more": more + "record: /tmp/elsewhere\n"}),
                          (("masqueradeBit", "32 is not a bit"), {"parts": ", masqueradeBit: 32"}),
                          (("nodePortAddresses",), {"fields": "nodePortAddresses: [nonsense]\nmetricsBindAddress: 127.0.0.1:12010\n"}),
                          ((":",), {"fields": "kind: : broken\n"}),
                          (("drainTimeout",), {"drain": -1}),
                          (("nosuchfield",), {"more": more + "nosuchfield: 1\n"}),
                          (("not installed",), {"more": more + "backend: com.example.none\n"})):
        daemon.write_text(daemon.text(**{"fields": "metricsBindAddress: 127.0.0.1:12010\n", **change}))
        done = daemon.reload()
        text = done.stdout + done.stderr
        t.require(done.returncode == 1 and all(word in text for word in words),
                  f"{change}: exit {done.returncode}, not said {words}: {text[-400:]}")
        t.require(answers(t, 12010, "/metrics") == 0 and answers(t, 10249, "/metrics") == 200, f"{change}: part of it is applied")
        status = daemon.status()
        t.require(status["reload"]["last"]["result"] == "failed", f"{change}: the status says {status['reload']}")
    t.require(foreign.ruleset(t.topology) == before, f"rules were written: {foreign.difference(before, foreign.ruleset(t.topology))[:400]}")
    ground.change("without any of it", fields="metricsBindAddress: 127.0.0.1:12010\n")
    t.require(answers(t, 12010, "/metrics") == 200, "the good file is not applied")
    ground.require_listed_once("refused")
    ground.end("refused")


@own_daemon(None, "the kubeconfig is replaced by another one, at another path and then in place: the new credentials are used, "
            "changes keep arriving, no connection fails; an unusable one is rejected", sources=["apiserver"], above=True)
def kubeconfig(t):
    ground = Ground(t)
    source, daemon = t.bench.source, ground.daemon
    cluster = {"certificate-authority-data": kubeconfigs.data(source.tls_dir, "ca.crt")}
    token = kubeconfigs.write(os.path.join(daemon.directory, "token.conf"), cluster,
                              {"tokenFile": os.path.join(source.tls_dir, "token")})
    since = source.requests()[1]
    ground.change("another kubeconfig", kubeconfig=token)
    expect_watched(t, source, since, lambda one: one["certificate"] is None)
    t.settle()
    since = source.requests()[1]
    with contextlib.suppress(FileNotFoundError):
        os.unlink(token + ".new")
    kubeconfigs.write(token + ".new", cluster, {"client-certificate": os.path.join(source.tls_dir, "client.crt"),
                                               "client-key": os.path.join(source.tls_dir, "client.key")})
    os.rename(token + ".new", token)
    expect_watched(t, source, since, lambda one: one["certificate"] is not None)
    t.settle()
    broken = os.path.join(daemon.directory, "broken.conf")
    with open(broken, "w", encoding="utf-8") as file:
        file.write("no kubeconfig\n")
    daemon.write_text(daemon.text(kubeconfig=broken))
    done = daemon.reload()
    t.require(done.returncode == 1 and broken in done.stdout + done.stderr, f"a broken one: {done.returncode}, {done.stdout}{done.stderr}")
    t.settle()
    ground.end("kubeconfig")


@own_daemon(None, "a reload to an API server that accepts connections and never answers, and back: both reloads end, metrics "
            "and status answer all the time, no connection fails, and changes arrive again", sources=["apiserver"])
def silent_server(t):
    ground = Ground(t)
    daemon = ground.daemon
    # The kernel completes handshakes up to the backlog, and no process reads.
    silent = netns_http.made_in(t.topology.namespace(NODE2.name), lambda: socket.create_server((NODE2.v4, 0), backlog=100))
    t.defer(silent.close)
    config = kubeconfigs.write(
        os.path.join(daemon.directory, "silent.conf"), {
            "certificate-authority-data": kubeconfigs.data(t.bench.source.tls_dir, "ca.crt"),
            "server": f"https://{NODE2.v4}:{silent.getsockname()[1]}"}, {"tokenFile": os.path.join(t.bench.source.tls_dir, "token")})
    before = daemon.settings["kubeconfig"]
    ground.change("silent server", kubeconfig=config)
    for _ in range(5):
        status, answer = daemon.status(), observed.metrics(t)
        t.require(status.get("source") and answer.status == 200, f"status: {status.get('source')}, metrics: {answer.status}")
    t.require(config in str(daemon.status()["source"]), f"the source changed: {daemon.status()['source']}")
    ground.service.set_endpoints([ready(E2)])
    # The first objects of the list arrive long before the others: those of the barrier before those of this Service.
    source = t.bench.source
    source.fault(match="initial", resource="endpointslices", kind="status", code=500, count=1)
    source.fault(match="read", resource="endpointslices", kind="stall", after_events=2, seconds=1, count=1)
    t.defer(source.clear_faults)
    ground.change("back", kubeconfig=before)
    t.settle()
    t.expect(POD, ground.service.cluster(), kept(E2))
    ground.end("silent server")


@own_daemon(None, "the client's certificate and key are replaced atomically, as by kubelet, and the old ones rejected from then "
            "on: the next connection uses the new ones, nothing is listed or started again, no connection fails",
            sources=["apiserver"], above=True)
def certificates(t):
    folder = os.path.join(t.topology.directory, "rotated")
    os.mkdir(folder)
    current = os.path.join(folder, "current.pem")
    source = t.bench.source

    def publish(number):
        """Both in one file, and a link to it."""
        path = os.path.join(folder, f"{number}.pem")
        with open(path, "wb") as file:
            for name in ("client.crt", "client.key"):
                with open(os.path.join(source.tls_dir, name), "rb") as half:
                    file.write(half.read())
        os.symlink(path, current + ".new")
        os.rename(current + ".new", current)

    publish(0)
    config = kubeconfigs.write(os.path.join(folder, "kubeconfig"),
                               {"certificate-authority-data": kubeconfigs.data(source.tls_dir, "ca.crt")},
                               {"client-certificate": current, "client-key": current})
    ground = Ground(t, kubeconfig=config)
    pid = ground.daemon.daemon.pid
    for number in (1, 2):
        before = {one["certificate"]["serial"] for one in source.requests()[0] if one["certificate"]}
        reloads, since = ground.daemon.status()["reload"]["count"], source.requests()[1]
        source.rotate_client(lambda number=number: publish(number))
        # The other connections follow the first one that is opened again, or all are opened again.
        source.admin("cut", {"how": "abrupt", "resource": "services" if number == 1 else ""})
        expect_watched(t, source, since, lambda one, before=before: one["certificate"] and one["certificate"]["serial"] not in before)
        t.wait_until(lambda reloads=reloads: ground.daemon.status()["reload"]["count"] > reloads, "the replacement is noticed")
        last = ground.daemon.status()["reload"]["last"]
        t.require(last["result"] == "success" and any("certificates" in one for one in last["sentences"]), f"the reload: {last}")
        t.settle()
        ground.require_listed_once(f"rotation {number}")
    refused = [line for line in ground.daemon.daemon.log().splitlines() if "answers 401" in line]
    # A request that began with the old one may reach a server that rejects it already; there is no retry with the old one.
    t.require(len(refused) <= 2, f"the old certificate was used after two rotations: {refused}")
    ground.daemon.daemon.check_alive()
    t.require(ground.daemon.daemon.pid == pid, "another process")
    ground.end("certificates")


def expect_watched(t, source, since, accepted):
    """Waits until all kinds are watched with such requests."""
    def kinds():
        return {one["resource"] for one in source.requests(since)[0] if one["verb"] == "watch" and one["code"] == 200 and accepted(one)}
    t.wait_until(lambda: {"services", "endpointslices"} <= kinds(), "everything is watched with the new credentials", 15)


@own_daemon(None, f"{MUTATIONS} mutilated files: each is rejected whole, or applied and undone by the good one; the daemon "
            "lives, its clients notice nothing, and in the end the state is the initial one", sources=["manifests"],
            backends=IN_KERNEL, above=True, slow=True)
def mutilated(t):
    # Node ports change with the accepted settings; cluster IPs stay in any case.
    ground = Ground(t, lambda flow: "node port" not in flow.name, fields="nodePortAddresses: [192.168.0.0/24]\n", drain=1)
    daemon = ground.daemon
    # Leftover state of each mode, such as built-in chains of iptables, is there from here on.
    for mode in [mode for mode in ("iptables", "nftables", "userspace") if mode != daemon.mode] + [daemon.mode]:
        daemon.swap(mode)
    daemon.wait_retired("every mode once", 20)
    texts = [daemon.text().encode(), complete(t, daemon)]
    original = data_plane.meaning(t, daemon.daemon)
    before = data_plane.exact(t, daemon.daemon)
    chance = random.Random(SEED)
    outcomes = {0: 0, 1: 0}
    for number in range(MUTATIONS):
        ways, text = config_mutations.mutate(chance, texts)
        what = f"file {number} of seed {SEED} ({', '.join(ways)})"
        try:
            done = load(daemon, text)
            outcomes[done.returncode] += 1
            if done.returncode == 0:
                daemon.write()
                daemon.require_reload(f"{what} undone")
                wrong = not_restored(t, daemon, original)
                before = data_plane.exact(t, daemon.daemon)
            else:
                wrong = data_plane.difference(before, data_plane.exact(t, daemon.daemon))
        except (OSError, KeyError, DaemonError) as error:
            keep_file(t, text, number)
            ended = daemon.daemon.wait_ended(10)
            t.require(False, f"{what}: {type(error).__name__}: {error}" if ended is None else
                      f"{what}: the daemon ended with status {ended}: {daemon.daemon.log_tail(3)}")
            return
        if wrong:
            keep_file(t, text, number)
            t.require(False, f"{what}: exit {done.returncode}, and then: {wrong}; it said: {(done.stdout + done.stderr)[-300:]}")
            return
    t.require(min(outcomes.values()) > 0, f"accepted {outcomes[0]}, refused {outcomes[1]}: the files test only one of both")
    ground.change("the good file")
    wrong = not_restored(t, daemon, original)
    t.require(not wrong, f"in the end: {wrong}")
    daemon.require_tidy("in the end")
    t.remark(f"{outcomes[0]} files applied, {outcomes[1]} rejected")
    ground.require_listed_once("mutilated files")
    ground.end("mutilated files")


def load(daemon, text):
    """Writes that file, and waits for `sluicectl reload`."""
    with open(daemon.path + ".new", "wb") as file:
        file.write(text)
    os.rename(daemon.path + ".new", daemon.path)
    return daemon.reload()


def complete(t, daemon):
    """The same configuration with all of its fields."""
    path = os.path.join(daemon.directory, "complete.yaml")
    done = daemon.daemon.run(["--config", daemon.path, "--write-config-to", path])
    t.require(done.returncode == 0, f"--write-config-to: exit {done.returncode}: {done.stderr[-300:]}")
    with open(path, "rb") as file:
        text = file.read()
    done = load(daemon, text)
    t.require("nothing has changed" in done.stdout, f"the complete file is a different configuration: {done.stdout}{done.stderr}")
    return text


def not_restored(t, daemon, original):
    """What differs from the original after a while; empty when all is restored, and stays so."""
    begun = time.monotonic()
    equal = 0
    while equal < 2:
        wrong = data_plane.difference(original, data_plane.meaning(t, daemon.daemon))
        # A change of the mutilated file may still be written, and undone afterwards.
        equal = 0 if wrong or daemon.retiring() or not caught_up(t) else equal + 1
        if equal == 0 and time.monotonic() - begun > pace.stretched(20):
            return wrong or f"{daemon.retiring()} has not retired"
    return ""


def caught_up(t):
    """Returns whether the kernel has the daemon's whole state."""
    ages = [line.rsplit(" ", 1)[1] for line in observed.metrics(t).body.splitlines()
            if line.startswith("sluice_oldest_pending_change_age_seconds{")]
    return bool(ages) and all(float(age) == 0 for age in ages)


def keep_file(t, text, number):
    with open(os.path.join(t.topology.directory, f"mutilated-{number}.log"), "wb") as file:
        file.write(text)
