# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Recording the events of a source, and replaying them."""

import json
import os
import re
import shutil

from lib import addresses as a
from lib.addresses import E1, E2, E3, FAMILIES
from lib.cases import DROPPED, EXT, POD, REJECTED, UNTOUCHED, kept, masqueraded, own_daemon
from lib.differences import NO_LOCAL
from lib.daemon import Daemon
from lib.objects import not_ready, ready, terminating

ABOVE_BACKENDS = True

PATIENCE = 20
SECRET = "annotations-are-private"


class ReplayDaemon(Daemon):
    """A daemon that knows only the node of the recording."""

    def command(self, source_flags, flags):
        words = super().command(source_flags, flags)
        at = words.index("--hostname-override")
        return words[:at] + words[at + 2:]


class SmallDiskDaemon(Daemon):
    """A daemon with a file system of 64 KiB of its own at `small_disk`."""

    small_disk = None

    def _enter(self, argv):
        mount = f'mount -t tmpfs -o size=64k tmpfs "{self.small_disk}" && exec "$@"'
        return super()._enter(["sh", "-c", mount, "sh", *argv])

    def path_inside(self, path):
        """The same file, as seen from outside of its mount namespace."""
        return f"/proc/{self._process.pid}/root{path}"


def restart_with(t, daemon, source_flags, *flags):
    """Replaces the running daemon by `daemon`; the rules are removed, too."""
    t.bench.daemon.stop()
    done = t.bench.cleanup()
    t.require(done.returncode == 0, f"--cleanup: {done.stderr[-300:]}")
    t.require(not service_rules(t), "rules of Services are left after --cleanup")
    t.bench.daemon = daemon
    daemon.start(source_flags, [*t.bench.flags, *flags])
    daemon.wait_synced()


def service_rules(t):
    """The rules in the kernel as text, in an order that does not depend on their history."""
    lines = []
    for tool in (t.topology.tools.program(family, "-save") for family in FAMILIES):
        for line in t.topology.run("node", tool).stdout.splitlines():
            if re.search(r"KUBE-(SVC|SEP|SVL|EXT|FW|SERVICES|NODEPORTS|EXTERNAL-SERVICES)", line):
                lines.append(f"{tool} " + re.sub(r"\[\d+:\d+\]", "", line))
    return sorted(line for line in lines if " -A " in line)


def differences(before, after):
    return [f"-{line}" for line in before if line not in after] + [f"+{line}" for line in after if line not in before]


def replayed_whole(t):
    found = re.search(r", (\d+) of (\d+) events$", t.bench.daemon.status()["source"]["detail"])
    return found is not None and found[1] == found[2]


def credentials(t):
    """Text that must not be in a recording: token, keys and certificates, and the server's address."""
    out = [SECRET, "https://", a.NODE2.v4 + ":"]
    for name in os.listdir(t.bench.source.tls_dir):
        with open(os.path.join(t.bench.source.tls_dir, name), encoding="utf-8", errors="replace") as file:
            # Lines that may occur by chance prove nothing.
            out += [line.strip() for line in file if len(line.strip()) > 20 and ": " not in line.strip()]
            file.seek(0)
            out += [line.split(": ", 1)[1].strip() for line in file if ": " in line and len(line) > 60]
    with open(os.path.join(t.bench.source.tls_dir, "token"), encoding="utf-8") as file:
        out.append(file.read().strip())
    return out


def changing_services(t):
    """Services of several shapes, changed in several ways; returns the expected outcomes."""
    steady = t.service([ready(E1), ready(E2)], type="LoadBalancer", external=True, annotations={"note": SECRET})
    local = t.service([not_ready(E1), ready(E2)], type="LoadBalancer", external=True, external_policy="Local")
    draining = t.service([terminating(E1)])
    moved, emptied, deleted = t.service([ready(E1)]), t.service([ready(E1)]), t.service([ready(E1)])
    t.settle()
    moved.set_endpoints([ready(E2), ready(E3)])
    emptied.set_endpoints([])
    gone = deleted.cluster()
    deleted.delete()
    t.settle()

    def expect():
        t.expect(POD, steady.cluster(), kept(E1, E2))
        t.expect(EXT, steady.vip(), masqueraded(E1, E2))
        t.expect(EXT, local.externals(), t.differs(NO_LOCAL, DROPPED, kept(E2)))
        t.expect(POD, draining.cluster(), kept(E1))
        t.expect(POD, moved.cluster(), kept(E2, E3))
        t.expect(POD, emptied.cluster(), REJECTED)
        t.expect(POD, gone, UNTOUCHED)

    return expect


@own_daemon(None, "a recording replayed on a fresh node gives the same rules and the same packets; no credential is in it",
            families=(a.V4, a.V6), sources=["apiserver", "manifests"], backends=["iptables"])
def replay_gives_the_same(t):
    path = os.path.join(t.topology.directory, f"{t.bench.label}.jsonl")
    api = t.bench.source_name == "apiserver"
    source_flags = t.bench.source.daemon_flags(*(["kubeconfig-token"] if api else []))
    recorder = Daemon(t.topology, t.bench.programs, t.bench.backend, t.bench.label + "-recorder")
    restart_with(t, recorder, source_flags, "--record", path)
    t.require(os.stat(path).st_mode & 0o7777 == 0o600, f"mode {os.stat(path).st_mode:o} of the recording")
    expect = changing_services(t)
    expect()
    recording = recorder.status()["recording"]
    t.require(recording["file"] == path and recording["events"] > 20 and recording["error"] == "",
              f"the status says {recording} of the recording")
    before = service_rules(t)
    t.require(len(before) > 50, f"only {len(before)} rules to compare")

    fresh = ReplayDaemon(t.topology, t.bench.programs, t.bench.backend, t.bench.label + "-replay")
    restart_with(t, fresh, ["--replay", path, "--replay-speed", "0"])
    t.wait_until(lambda: replayed_whole(t), "everything replayed", PATIENCE)
    t.wait_until(lambda: service_rules(t) == before, "the same rules", PATIENCE)
    changed = differences(before, service_rules(t))
    t.require(not changed, f"{len(changed)} rules differ, first: {changed[:2]}")
    expect()
    status = fresh.status()
    t.require(status["source"]["kind"] == "replay", f"the source is {status['source']}")
    t.require(status["node"]["name"] == a.NODE_NAME, f"the node is {status['node']}, not that of the recording")
    t.require(status["events"]["unusable"] == 0, f"events: {status['events']}")

    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = [word for word in credentials(t) if word in text] if api else [SECRET] * (SECRET in text)
    t.require(not found, f"{len(found)} words in the recording that should not be there")
    t.require(all(json.loads(line) for line in text.splitlines()), "a line is no JSON")
    done = t.bench.daemon.run(["--check", "--replay", path, *plugin_flags(t)])
    t.require(done.returncode == 0, f"--check: exit {done.returncode}: {done.stderr[-300:]}")


def plugin_flags(t):
    return ["--plugin-dir", t.bench.programs.plugin_dir(t.topology.directory)]


@own_daemon(None, "a full disk ends the recording and nothing else", sources=["manifests"], backends=["iptables"])
def full_disk(t):
    daemon = SmallDiskDaemon(t.topology, t.bench.programs, t.bench.backend, t.bench.label + "-small")
    daemon.small_disk = os.path.join(t.topology.directory, f"{t.bench.label}-disk")
    os.mkdir(daemon.small_disk)
    path = os.path.join(daemon.small_disk, "r.jsonl")
    restart_with(t, daemon, t.bench.source.daemon_flags(), "--record", path)
    service = t.service([ready(E1)])
    t.settle()
    for _ in range(200):
        service.set_endpoints([ready(E1), ready(E2)] * 20)
        service.set_endpoints([ready(E2)])
        t.settle()
        if daemon.status()["recording"]["error"]:
            break
    recording = daemon.status()["recording"]
    t.require(recording["error"] == "cannot write: No space left on device", f"the status says {recording}")
    ends = [line for line in daemon.log().splitlines() if "recording to" in line and "has ended" in line]
    t.require(len(ends) == 1, f"{len(ends)} lines in the log about the end of the recording")
    later = t.service([ready(E2)])
    t.settle()
    t.expect(POD, [service.cluster(), later.cluster()], kept(E2))
    kept_file = os.path.join(t.topology.directory, f"{t.bench.label}-kept.jsonl")
    shutil.copy(daemon.path_inside(path), kept_file)
    t.require(os.path.getsize(kept_file) > 32 * 1024, f"only {os.path.getsize(kept_file)} bytes were recorded")
    done = daemon.run(["--check", "--replay", kept_file, *plugin_flags(t)])
    t.require(done.returncode == 0, f"what was recorded cannot be replayed: {done.stderr[-300:]}")


@own_daemon(None, "corrupt, truncated and foreign recordings are reported by file and line", sources=["manifests"],
            backends=["iptables"])
def corrupt_recordings(t):
    path = os.path.join(t.topology.directory, f"{t.bench.label}.jsonl")
    lines = [json.dumps({"format": "sluice-recording", "version": 1, "program": "test", "node": a.NODE_NAME,
                         "started": "2026-11-21T06:00:00Z"})]
    lines += [json.dumps({"ms": 1, "type": f"LIST_{end}", "kind": kind})
              for kind in ("Service", "EndpointSlice", "Node") for end in ("BEGIN", "END")]

    def check(text, *flags):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = t.bench.daemon.run(["--check", "--replay", path, *plugin_flags(t), *flags])
        return done.returncode, done.stderr

    def expect(text, status, sentence, *flags):
        found = check(text, *flags)
        t.require(found[0] == status and sentence in found[1], f"expected {status} {sentence!r}, found {found}")

    whole = "\n".join(lines) + "\n"
    expect(whole, 0, "")
    expect(whole + '{"ms":2,"type":"MODI', 0, f"{path}:8: the last line is truncated and is ignored")
    expect(whole + "garbage\n" + whole, 1, f"{path}:8: is not valid JSON")
    expect(whole.replace('"version": 1', '"version": 2'), 1, "has version 2 of the format")
    expect("apiVersion: v1\n", 1, "does not begin with the header of a recording")
    expect(whole, 1, "names a second source of Services", "--manifests", path)
    expect(whole, 1, "would record what --replay plays back", "--record", path + ".new")
    expect(whole, 1, "replay-speed: is negative", "--replay-speed", "-1")
