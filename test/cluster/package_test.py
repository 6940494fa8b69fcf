#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Replaces the real kube-proxy of a node by the Debian packages and their systemd unit, changes the mode, disturbs the daemon,
upgrades, removes and purges the packages, all under traffic. Prints TAP. Needs root, mmdebstrap and SLUICE_KUBE_BIN.

  package_test.py --builddir DIR [--only WORD]

DIR/packages has the packages. systemd is process 1 of a container in the network of the node. The tests are one story: each
begins with what the previous one left.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from lib import cgroups, network, package_root, package_system, pace, traffic_state  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.failure import ClusterError  # noqa: E402
from lib.package_proxy import CONFIGURATION, UNIT, SluicePackage  # noqa: E402
from lib.package_system import PackageSystem  # noqa: E402
from lib.proxies import METRICS_PORT, Proxy  # noqa: E402
from lib.traffic_program import Tests, parser, programs_or_reason, wait_for  # noqa: E402
from lib.traffic_stage import KUBE_PROXY, SLUICE, Stage  # noqa: E402

APT = ("apt-get", "-y", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0", "-o", "Dpkg::Options::=--force-confold")
DROP_IN = "/etc/systemd/system/sluiced.service.d/watchdog.conf"
WATCHDOG_SECONDS = 15
BACKEND = "sluice-backend-iptables"
CAPABILITY_NUMBERS = {"chown": 0, "dac_override": 1, "dac_read_search": 2, "setpcap": 8, "net_bind_service": 10, "net_admin": 12,
                      "net_raw": 13, "sys_chroot": 18, "sys_admin": 21, "sys_resource": 24}
PRIORITIES = {"error": "3", "warning": "4", "info": "6", "debug": "7"}  # of the journal, by level
FIELDS = {"ts", "level", "logger", "pid", "msg"}  # of each message


class Story:
    def __init__(self, stage, tests, options):
        self._stage, self._tests, self._node = stage, tests, stage.node
        self._builddir = Path(options.builddir).absolute()
        self._files = package_root.packages(self._builddir / "packages")
        self._empty = traffic_state.settled(stage.scene)  # without a proxy, with the chains of the kubelet
        self._fresh = stage.fresh(SLUICE, "iptables")
        self._kube_proxys = stage.fresh(KUBE_PROXY, "iptables")
        for node in stage.cluster.nodes[1:]:
            node.change_proxy(stage.proxy(KUBE_PROXY, "iptables"))
        self._system = PackageSystem(self._node, self._node.place.daemon(f"package-{self._node.name}"))
        self._system.create(package_root.build(stage.layout, self._files), self._files)
        self._system.start()

    # The unit.

    def _unit(self, name):
        return self._system.succeed("systemctl", "show", "--value", "-p", name, UNIT).strip()

    def _configure(self, mode):
        proxy = SluicePackage(mode, self._builddir)
        proxy.settings["logging"] = {"format": "json"}
        proxy.configure(self._node, self._system)
        return proxy

    def _serving(self, mode):
        """Waits until the daemon serves in that mode; returns what is wrong with the unit."""
        proxy = SluicePackage(mode, self._builddir)
        wait_for(lambda: self._unit("ActiveState") == "active" and Proxy.ready(proxy, self._node), f"{UNIT} serves in {mode} mode", 120)
        wanted = {"SubState": "running", "Result": "success", "Type": "notify", "UnitFileState": "enabled"}
        found = {name: self._unit(name) for name in wanted}
        # The unit is active, so READY=1 has arrived; the status comes the same way.
        wait_for(lambda: self._unit("StatusText").count("generation") == 2, "the status text has a generation of each family", 60)
        if self._unit("WatchdogUSec") in ("0", "infinity"):
            yield "the unit has no watchdog"
        if found != wanted:
            yield f"{UNIT}: {found}"
        yield from self._failed_units()

    def _failed_units(self):
        return [f"failed: {line}" for line in self._system.succeed("systemctl", "--failed", "--plain", "--no-legend").splitlines()]

    def _new_process(self, before, mode):
        """Another process than `before` serves."""
        wait_for(lambda: self._unit("MainPID") not in (before, "0"), "another process", 120)
        return self._serving(mode)

    def _same_process(self, before):
        after = self._unit("MainPID")
        return [] if after == before else [f"process {before} was replaced by {after}"]

    def _apt(self, *words):
        """Its output."""
        return "".join(self._system.said(*APT, *words, timeout=300))

    def _install(self, files):
        return self._apt("install", *(f"/srv/packages/{file.name}" for file in files))

    # Changes under traffic. Each returns problems.

    def install_beside(self):
        """The package notices the rules of another proxy."""
        said = self._install(self._files)
        state = self._system.run("systemctl", "is-enabled", UNIT).stdout.strip(), self._unit("ActiveState")
        if state != ("disabled", "inactive") or "rules of another proxy are active" not in said:
            yield f"{UNIT} is {state}: {said}"

    def take_over(self):
        """As docs/migrating.md says."""
        self._configure("nftables")
        self._system.succeed("sluiced", "--check", "--config", CONFIGURATION)
        self._node.stop_proxy()
        self._system.succeed("systemctl", "enable", "--now", UNIT)
        yield from self._serving("nftables")
        yield from self._stage.only("nftables", self._empty)

    def reload(self):
        before = self._unit("MainPID")
        self._configure("iptables")
        self._system.succeed("systemctl", "reload", UNIT, timeout=300)
        yield from self._serving("iptables")
        yield from self._stage.only("iptables", self._empty)
        yield from self._same_process(before)

    def reject(self):
        """An invalid configuration: the reload fails, and the daemon keeps the running one."""
        before = self._unit("MainPID")
        self._configure("no-such-mode")
        done = self._system.run("systemctl", "reload", UNIT, timeout=300)
        self._configure("iptables")
        if done.returncode == 0:
            yield "the reload of an invalid configuration succeeds"
        self._system.succeed("systemctl", "reload", UNIT, timeout=300)
        yield from self._serving("iptables")
        yield from self._same_process(before)

    def restart(self):
        before = self._unit("MainPID")
        self._system.succeed("systemctl", "restart", UNIT)
        return self._new_process(before, "iptables")

    def kill(self):
        before, restarts = self._unit("MainPID"), int(self._unit("NRestarts"))
        self._system.succeed("kill", "-KILL", before)
        yield from self._new_process(before, "iptables")
        if int(self._unit("NRestarts")) != restarts + 1:
            yield f"systemd started the daemon {int(self._unit('NRestarts')) - restarts} times"

    def hang(self):
        """A stopped process does not notify the watchdog."""
        self._system.write(DROP_IN, f"[Service]\nWatchdogSec={WATCHDOG_SECONDS * pace.SLOWNESS:g}s\n")
        self._system.succeed("systemctl", "daemon-reload")
        self._system.succeed("systemctl", "restart", UNIT)
        before = self._unit("MainPID")
        self._system.succeed("kill", "-STOP", before)
        yield from self._new_process(before, "iptables")
        if "Watchdog timeout" not in self._journal():
            yield f"no watchdog timeout in the journal: {self._journal()[-1000:]}"
        os.unlink(self._system.path(DROP_IN))
        self._system.succeed("systemctl", "daemon-reload")

    def upgrade(self):
        before = self._unit("MainPID")
        self._upgrade(self._files, "+upgrade")
        yield from self._new_process(before, "iptables")
        yield from self._system.succeed("dpkg", "--audit").splitlines()

    def upgrade_backend(self):
        before, reloads = self._unit("MainPID"), self._journal().count("Reloaded sluiced.service")
        self._upgrade([file for file in self._files if file.name.startswith(f"{BACKEND}_")], "+upgrade2")
        wait_for(lambda: self._journal().count("Reloaded sluiced.service") > reloads, "the package reloads the daemon", 120)
        yield from self._serving("iptables")
        yield from self._same_process(before)

    def _upgrade(self, files, suffix):
        with tempfile.TemporaryDirectory(prefix="sluice-upgrade-") as folder:
            newer = package_root.bumped(files, suffix, Path(folder))
            self._system.provide(newer)
            self._install(newer)
        for file in newer:
            name = file.name.partition("_")[0]
            version = self._system.succeed("dpkg-query", "-W", "-f", "${Version}", name)
            if not version.endswith(suffix):
                raise ClusterError(f"{name} has version {version}")

    def _journal(self):
        return self._system.succeed("journalctl", "-u", UNIT, "-o", "cat", "--no-pager")

    def restart_node(self):
        """The container is killed and starts again, after kubelet and containerd; its /run is empty then, the rules are there."""
        self._system.kill()
        self._stage.cluster.restart_node(self._node)
        self._system.start()
        return self._serving("iptables")

    def remove(self):
        """The rules and the configuration stay. Changes do not reach the rules, so endpoints must not end; all servers run."""
        self._apt("remove", *self._installed())
        if self._node.get(METRICS_PORT, "/proxyMode") is not None:
            yield "the daemon runs"
        if not self._system.path(CONFIGURATION).exists():
            yield f"{CONFIGURATION} is deleted"
        if not set(traffic_state.state(self._stage.scene)["iptables"]) - set(self._empty["iptables"]):
            yield "the rules are deleted"
        yield from self._failed_units()

    def _installed(self):
        said = self._system.succeed("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n", "sluice*")
        return [line.split()[-1] for line in said.splitlines() if not line.startswith("un")]

    def go_back(self):
        self._node.start_proxy(self._stage.proxy(KUBE_PROXY, "iptables"))

    def install_again(self):
        """The configuration is that of the operator, so the unit starts."""
        self._node.stop_proxy()
        self._install(self._files)
        return self._serving("iptables")

    # Without traffic.

    def privileges(self):
        """systemd and so the unit have no capability that is not in the list, and write no settings but those of the network."""
        line = next(line for line in self._system.path("/proc/1/status").read_text(encoding="ascii").splitlines() if "CapBnd" in line)
        names = {number: name for name, number in CAPABILITY_NUMBERS.items()}
        bits = int(line.split()[1], 16)
        for number in range(bits.bit_length()):
            if bits >> number & 1 and names.get(number) not in package_system.CAPABILITIES:
                yield f"systemd has capability {number}"
        for file in ("/sys/class/net/lo/mtu", "/proc/sys/kernel/panic"):
            if self._system.run("test", "-w", file).returncode == 0:
                yield f"{file} is writable"
        if self._system.run("test", "-w", "/proc/sys/net/ipv4/ip_forward").returncode:
            yield "settings of the network are not writable"

    def journal(self):
        """The messages of the daemon have fields, and so have their entries in the journal."""
        said = self._system.succeed("journalctl", "-u", UNIT, "-o", "json", "--no-pager")
        entries = [one for one in map(json.loads, said.splitlines()) if one.get("_COMM") == "sluiced"]
        messages = []
        for entry in entries:
            if (entry["_SYSTEMD_UNIT"], entry["SYSLOG_IDENTIFIER"]) != (UNIT, "sluiced"):
                yield f"entry {entry}"
            message = json.loads(entry["MESSAGE"]) if entry["MESSAGE"].startswith("{") else {}
            if not FIELDS.issubset(message):
                yield f"message {entry['MESSAGE']}"
            elif entry["PRIORITY"] != PRIORITIES[message["level"]]:
                yield f"priority {entry['PRIORITY']} of {entry['MESSAGE']}"
            messages.append(message.get("msg", ""))
        yield from (f"no message '{wanted}' in {len(messages)}" for wanted in ("sluiced 0.", "reload (", "generation")
                    if not any(wanted in one for one in messages))

    def purge(self):
        self._apt("purge", *self._installed())
        yield from traffic_state.wait_equal(self._stage.scene, self._empty)[:10]
        yield from (f"{name} is left" for name in ("/etc/sluice", "/var/lib/sluice", "/run/sluice", "/usr/sbin/sluiced")
                    if self._system.path(name).exists())
        yield from self._failed_units()

    def everywhere(self):
        """As `cluster proxy sluice-package iptables` does."""
        self._system.stop()
        self._system.remove()
        self._stage.cluster.change_proxies(SluicePackage("iptables", self._builddir))
        return traffic_state.wait_equal(self._stage.scene, self._fresh)[:10]

    def clean_up(self):
        for node in self._stage.cluster.nodes:
            node.stop_proxy(clean_up=True)
        return traffic_state.wait_equal(self._stage.scene, self._empty)[:10]

    def play(self):
        for name, change in (
                ("the packages are installed beside kube-proxy, which serves on", self.install_beside),
                ("kube-proxy (iptables) stops, and the unit starts in nftables mode", self.take_over),
                ("systemctl reload changes the mode to iptables", self.reload),
                ("systemctl reload rejects an invalid configuration", self.reject),
                ("systemctl restart", self.restart),
                ("the daemon is killed, and systemd starts it again", self.kill),
                ("the daemon hangs, and the watchdog of systemd starts it again", self.hang),
                ("an upgrade of the packages restarts the daemon", self.upgrade),
                ("an upgrade of a backend reloads the daemon", self.upgrade_backend),
                ("the node restarts: kubelet, containerd, and the system with the packages", self.restart_node),
                ("apt-get remove keeps rules and configuration", self.remove),
                ("kube-proxy (iptables) serves again", self.go_back),
                ("kube-proxy stops, and the installed packages serve again", self.install_again)):
            self._stage.check(self._tests, name, change)
        self._tests.check("systemd has only the capabilities that it and the unit need", self.privileges)
        self._tests.check("journalctl -u sluiced shows messages with fields", self.journal)
        self._tests.check("apt-get purge removes rules and files", self.purge)
        self._tests.check("the proxy sluice-package starts on all nodes", self.everywhere)
        self._stage.check(self._tests, "the proxy sluice-package serves on all nodes", lambda: [])
        self._tests.check("the proxy sluice-package is cleaned up", self.clean_up)


def main():
    options = parser(__doc__).parse_args()
    tests = Tests(options.only)
    programs, reason = programs_or_reason()
    reason = reason or package_system.unavailable()
    if reason:
        tests.skip("the Debian packages replace kube-proxy", reason)
        return tests.finish()
    with Stage(options, programs, Cluster) as stage:
        Story(stage, tests, options).play()
    tests.check("the removal of the cluster leaves no control group and no namespace",
                lambda: [*cgroups.of_systems(stage.layout), *network.existing(stage.layout)])
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
