# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A swap that fails at each of its steps, or whose process ends there: the old backend goes on or is replaced, no
connection fails, the next start or reload converges, and nothing unowned is left."""

import os
import shutil
import signal

from lib import metrics, observed, shell, swapping, traffic
from lib.addresses import E1, E2, FAMILIES, V4
from lib.cases import POD, kept, own_daemon
from lib.objects import ready

LONG = os.environ.get("SLUICE_LONG", "0") != "0"
STEPS = ("load", "probe", "claim", "hold", "apply", "verify", "switch-over", "retire", "drain", "release")
# From here on the new backend serves: failures are retried, and are no failure of the swap.
SERVED_FROM = STEPS.index("switch-over")
# Connections relayed in userspace mode end with the process: those pairs are for failures only.
PAIRS = (("iptables", "nftables"), ("nftables", "iptables"), ("nftables", "nftables"), ("iptables", "iptables"))
EVERY_PAIR = (*PAIRS, ("iptables", "userspace"), ("userspace", "userspace"), ("userspace", "nftables"), ("nftables", "userspace"),
              ("userspace", "iptables"))
DRAIN = 2
ATTEMPTS = 3

ONLY = {"sources": ["manifests"], "backends": ["iptables"], "slow": True}


class Ground:
    """A daemon with fault points, and traffic that must not be affected; with `held` it includes connections
    that outlive every drain."""

    def __init__(self, t, mode, program=None, held=True):
        self.t = t
        everywhere, local = swapping.services(t)
        self.fault = os.path.join(t.topology.directory, f"{t.bench.label}-fault")
        self.daemon = swapping.Swappable(t, mode, DRAIN, program, {"SLUICE_TEST_FAULT_FILE": self.fault})
        t.settle()
        self.flows = swapping.steady(everywhere, local) + (swapping.held(everywhere, local) if held else [])
        self.traffic = traffic.Traffic(t, self.flows).wait_flowing()
        self._before = self.traffic.progress()

    def arm(self, step, how):
        """Arms the fault for the next time that a swap comes to this step."""
        self.disarm()
        with open(self.fault + ".new", "w", encoding="ascii") as file:
            file.write(f"{step}:{how}\n")
        os.rename(self.fault + ".new", self.fault)

    def disarm(self):
        for path in (self.fault, self.fault + ".done"):
            if os.path.exists(path):
                os.unlink(path)

    def require_struck(self, occasion):
        """Requires that the fault struck, and disarms it."""
        self.t.wait_until(lambda: os.path.exists(self.fault + ".done"), f"{occasion}: it came to that",
                          self.daemon.settings["drain"] + 25)
        self.disarm()

    def begin(self, mode, occasion):
        """Starts with that mode, and nothing else on the node."""
        serving = self.daemon.serving()
        if serving != mode:
            self.daemon.swap(mode, drain=self._drain(serving, mode))
        self.require_serving(mode, f"before {occasion}")
        self.require_unharmed(f"before {occasion}")

    def change(self, one, other):
        if one == other:
            self.daemon.replace_plugin()
        self.daemon.write(other, drain=self._drain(one, other))

    def _drain(self, *modes):
        """Drain timeout of a swap between these modes in seconds. A userspace backend resets its connections when it expires, even
        after a rollback; a backend of another mode has no connections."""
        return swapping.drain(DRAIN, self.flows, self._before) if "userspace" in modes else DRAIN

    def require_unharmed(self, occasion):
        """No fault of the traffic since the last call."""
        counts = self.traffic.progress()
        traffic.require_unharmed(self.t, self.flows, traffic.since(self._before, counts), occasion, ended=False)
        self._before = counts

    def require_serving(self, mode, occasion):
        """That mode serves, all is synced, and nothing else is on the node once the drain is over."""
        self.daemon.daemon.wait_synced()
        self.t.require(self.daemon.serving() == mode, f"{occasion}: {self.daemon.serving()} serves, not {mode}")
        self.daemon.wait_retired(occasion, self.daemon.settings["drain"] + 25)
        self.daemon.mode = mode
        self.daemon.require_tidy(occasion)

    def end(self):
        counts = self.traffic.stop()
        traffic.require_unharmed(self.t, self.flows, counts, "altogether")
        self.t.remark(traffic.summary(self.flows, counts))


def chosen(number, pairs):
    """In the long form all of them, else one per call, in turn."""
    return pairs if LONG else (pairs[number % len(pairs)],)


def require_refused(ground, done, occasion, *words):
    text = done.stdout + done.stderr
    ground.t.require(done.returncode == 1, f"{occasion}: sluicectl reload: exit {done.returncode}: {text[-300:]}")
    ground.t.require(all(word in text for word in words), f"{occasion}: it does not say {', '.join(words)}: {text[-500:]}")


@own_daemon(None, "a step of a swap fails, each in turn: before the new backend serves the reload says which step and why, and "
            "the old one serves on; later steps are retried; the next reload succeeds", **ONLY)
def step_fails(t):
    ground = Ground(t, PAIRS[0][0], t.bench.programs.with_fault_points(), held=False)
    for number, step in enumerate(STEPS):
        for one, other in chosen(number, EVERY_PAIR):
            occasion = f"{one} → {other}, {step} fails"
            for _ in range(ATTEMPTS):
                ground.begin(one, occasion)
                ground.arm(step, "fail")
                ground.change(one, other)
                done = ground.daemon.reload()
                ground.daemon.wait_reloads_over()
                ground.require_struck(occasion)
                # On a busy machine the daemon may notice the changed file before the request of sluicectl: that reload failed, and
                # the one of sluicectl is the next, which succeeds.
                if number >= SERVED_FROM or done.returncode != 0:
                    break
            if number < SERVED_FROM:
                require_refused(ground, done, occasion, step)
                ground.require_serving(one, occasion)
                ground.require_unharmed(occasion)
                ground.daemon.mode = other
                ground.daemon.require_reload(f"after {occasion}")
            else:
                ground.t.require(done.returncode == 0, f"{occasion}: exit {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
            ground.require_serving(other, f"after {occasion}")
            ground.require_unharmed(f"after {occasion}")
    ground.end()


@own_daemon(None, "the process is killed between any two steps of a swap: no connection fails, the next start converges to the "
            "mode of the file, either the new one or the old one again, and nothing is left", families=FAMILIES, **ONLY)
def killed_between_steps(t):
    ground = Ground(t, PAIRS[0][0], t.bench.programs.with_fault_points())
    for number, step in enumerate(STEPS):
        for one, other in chosen(number, PAIRS):
            for back in (False, True) if LONG else (bool(number % 2),):
                occasion = f"{one} → {other}, killed before {step}, then {'back' if back else 'on'}"
                ground.begin(one, occasion)
                ground.arm(step, "kill")
                ground.change(one, other)
                ground.daemon.reload()
                status = ground.daemon.daemon.wait_ended(DRAIN + 20)
                ground.disarm()
                t.require(status == -signal.SIGKILL, f"{occasion}: it was not killed there: {status}")
                if status is None:
                    return
                ground.require_unharmed(occasion)
                if back:
                    ground.daemon.write(one)
                ground.daemon.start()
                ground.require_serving(one if back else other, f"the start after: {occasion}")
                ground.require_unharmed(f"the start after: {occasion}")
    ground.end()


@own_daemon(None, "a plugin that is missing, invalid, of another version, or of another owner: the reload is rejected "
            "with one error that names the file, nothing changes, and the mode before and after serves", families=(V4,), **ONLY)
def unusable_plugin(t):
    ground = Ground(t, "iptables")
    path = os.path.join(ground.daemon.plugins, "nftables.so")
    with open(path, "rb") as file:
        good = file.read()
    for what, content in (("missing", None), ("no library", b"nothing\n"), ("cut off", good[:len(good) // 2])):
        replace(path, content)
        ground.daemon.write("nftables")
        require_refused(ground, ground.daemon.reload(), what, "nftables")
        ground.require_serving("iptables", what)
        ground.require_unharmed(what)
        ground.daemon.write("iptables")
        ground.daemon.require_reload(f"{what}, taken back")
    replace(path, good)
    ground.daemon.swap("nftables")
    ground.require_serving("nftables", "the plugin is whole")
    ground.require_unharmed("the plugin is whole")


@own_daemon(None, "a third-party plugin fails in create, probe, claims, apply, half an apply or verify: the reload is rejected "
            "with its error, nothing of it is left, and no connection fails", families=(V4,), **ONLY)
def new_backend_fails(t):
    ground = Ground(t, "nftables")
    shutil.copy(t.bench.programs.test_plugin("faulty"), ground.daemon.plugins)
    more = ground.daemon.settings["more"]
    for number, fault in enumerate(("create", "probe", "claims", "apply", "apply-half", "verify")):
        family = (None, "ipv4", "ipv6")[number % 3]
        occasion = f"fault of {fault}, {family or 'both families'}"
        section = f"{{fault: {fault}{', family: ' + family if family else ''}}}"
        ground.daemon.write(more=f"{more}backend: faulty\nbackends: {{faulty: {section}}}\n")
        require_refused(ground, ground.daemon.reload(), occasion, "faulty", f"the requested fault of {fault}")
        ground.require_serving("nftables", occasion)
        ground.require_unharmed(occasion)
        left = leftovers_of(ground.daemon, "faulty")
        t.require(not left, f"{occasion}: {left} are left")
        ground.daemon.write(more=more)
        ground.daemon.require_reload(f"{occasion}, taken back")
    ground.end()


@own_daemon(None, "a third-party plugin serves, and fails to retire, or has connections for ever: it is removed at the "
            "second try, or when its drain timeout expires; the new backend serves from the start", families=(V4,), **ONLY)
def old_one_fails(t):
    service = t.service([ready(E1), ready(E2)])
    daemon = swapping.Swappable(t, "nftables", DRAIN)
    shutil.copy(t.bench.programs.test_plugin("faulty"), daemon.plugins)
    more = daemon.settings["more"]
    for fault in ("retire-once", "drain"):
        daemon.write(more=f"{more}backend: faulty\nbackends: {{faulty: {{fault: {fault}}}}}\n")
        daemon.require_reload(fault)
        t.require(daemon.serving() == "faulty", f"{fault}: {daemon.serving()} serves")
        daemon.wait_retired(fault, DRAIN + 15)
        daemon.write(more=more)
        daemon.require_reload(f"{fault}, and back")
        t.expect(POD, service.cluster(), kept(E1, E2))
        daemon.wait_retired(f"{fault}, and back", DRAIN + 15)
        daemon.require_tidy(fault)
        t.require(not leftovers_of(daemon, "faulty"), f"{fault}: {leftovers_of(daemon, 'faulty')} are left")


@own_daemon(None, "the probe of a third-party plugin hangs at a start: after ten seconds the log names it and its call, health "
            "and status too; SIGTERM ends the daemon; one that returns late serves", families=(V4,), **ONLY)
def new_backend_hangs_at_the_start(t):
    daemon = swapping.Swappable(t, "nftables", DRAIN)
    shutil.copy(t.bench.programs.test_plugin("faulty"), daemon.plugins)
    more = daemon.settings["more"]
    for seconds in (3600, 12):
        daemon.daemon.stop()
        daemon.write(more=f"{more}backend: faulty\nbackends: {{faulty: {{fault: hang-probe, seconds: {seconds}}}}}\n")
        daemon.start(wait=False)
        if seconds == 12:
            break
        for family in ("IPv4", "IPv6"):
            # The daemon logs it after ten seconds.
            t.require(daemon.daemon.wait_logged(f"backend faulty ({family}): probe has not returned", seconds=30) is not None,
                      f"no word of {family}: {daemon.daemon.log_tail()}")
        answer, _ = observed.wait_status(t, 503, "/readyz")
        t.require(all(one["reason"] == "probe of backend faulty has not returned" for one in answer.json()["families"].values()),
                  f"/readyz says {answer.body}")
        now = metrics.scrape(t)
        for name, wanted in (("sluice_first_sync_completed", 0), ("sluice_backend_overdue", 1)):
            found = [now.get(name, ip_family=family) for family in ("IPv4", "IPv6")]
            t.require(found == [wanted] * 2, f"{name} is {found}")
        waits = [now.count("sluice_oldest_pending_change_age_seconds", ip_family=family) for family in ("IPv4", "IPv6")]
        t.require(min(waits) > 5, f"changes wait for {waits} s")
        t.require(now.count("kubernetes_feature_enabled", stage="BETA") > 0, "no feature gates")
        families = daemon.status()["families"]
        t.require(len(families) == 2 and all(not one["synced"] and one["overdue"] == "probe" for one in families), f"status: {families}")
        asked = shell.run([t.bench.programs.sluicectl, "--state-dir", daemon.daemon.state_dir, "services"], check=False)
        t.require(asked.returncode == 1 and "has not started yet" in asked.stderr, f"sluicectl services: {asked}")
        t.require(daemon.daemon.stop() == 0, "SIGTERM does not end it")
    daemon.daemon.wait_synced()
    observed.wait_status(t, 200, "/readyz")
    daemon.daemon.stop()
    daemon.write(more=more)
    daemon.start()


def leftovers_of(daemon, name):
    """The state that test/plugins/faulty.cpp has in place of rules."""
    folder = os.path.join(daemon.daemon.state_dir, "backends", name)
    return sorted(one for one in os.listdir(folder) if one != "calls") if os.path.isdir(folder) else []


def replace(path, content):
    """As a package manager does it."""
    if content is None:
        os.unlink(path)
        return
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.chmod(path + ".new", 0o755)
    os.rename(path + ".new", path)
