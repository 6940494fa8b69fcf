# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the daemon has programmed the node, as probes, scrapers and operators see it."""

import math
import re
import time

from lib import observed, pace, shell
from lib.addresses import E1, E2
from lib.cases import POD, kept, own_daemon
from lib.metrics import scrape
from lib.objects import ready

ABOVE_BACKENDS = True

BOTH = ("IPv4", "IPv6")
FIRST_SYNC = "sluice_first_sync_completed"
AGE = "sluice_oldest_pending_change_age_seconds"
NOT_SYNCED = 3  # exit status of sluicectl status
REFUSED = "Memory allocation"  # what iptables prints on this error
LISTS = ("list_services", "list_endpoint_slices", "list_nodes", "list_service_cidrs")
PHASES = ("configuration", "preparation", "backend_load", "backend_probe", "connection", *LISTS, "store", "first_apply")
# The log has a tenth of a millisecond.
ROUNDING = 0.001


def sluicectl(t, *words):
    return shell.run([t.bench.programs.sluicectl, "--state-dir", t.bench.daemon.state_dir, *words], check=False)


def ages(t):
    return observed.health(t, "/sync").json()["families"]


@own_daemon(None, "without an API server the daemon has never programmed the node: /readyz, /sync, metrics and sluicectl status "
            "show it until the first sync")
def never_programmed(t):
    service = t.service([ready(E1)])
    t.settle()
    source, daemon = t.bench.source, t.bench.daemon
    daemon.stop()
    source.gate(True)
    daemon.start(source.daemon_flags(), t.bench.flags)
    answer, _ = observed.wait_status(t, 503, "/readyz")
    t.require(answer.json()["ready"] is False, f"/readyz says {answer.body}")
    for family in BOTH:
        t.require("since the start" in answer.json()["families"][family].get("reason", ""), f"/readyz says {answer.body}")
    t.require(observed.health(t, "/livez").status == 200, "/livez is not 200: a restart would not help")
    t.wait_until(lambda: all(ages(t)[family]["oldestPendingSeconds"] > 0.5 for family in BOTH), "/sync counts from the start")
    t.require(all(ages(t)[family]["lastUpdated"] is None for family in BOTH), f"/sync says {ages(t)}")
    now = scrape(t)
    for family in BOTH:
        t.require(now.get(FIRST_SYNC, ip_family=family) == 0, f"{FIRST_SYNC} of {family} is {now.get(FIRST_SYNC, ip_family=family)}")
        t.require(now.get(AGE, ip_family=family) > 0.5, f"{AGE} of {family} is {now.get(AGE, ip_family=family)}")
    said = sluicectl(t, "status")
    t.require(said.returncode == NOT_SYNCED and "not synced" in said.stdout, f"sluicectl status: {said}")
    waited = sluicectl(t, "status", "--wait=1s")
    t.require(waited.returncode == NOT_SYNCED, f"sluicectl status --wait=1s: {waited}")
    source.gate(False)
    done = sluicectl(t, "status", f"--wait={math.ceil(pace.stretched(60))}s")
    t.require(done.returncode == 0, f"sluicectl status --wait: {done}")
    answer = observed.health(t, "/readyz")
    t.require(answer.status == 200 and all(one == {"ready": True} for one in answer.json()["families"].values()),
              f"/readyz says {answer.body}")
    t.require(all(ages(t)[family]["lastUpdated"] is not None for family in BOTH), f"/sync says {ages(t)}")
    now = scrape(t)
    t.require(all(now.get(FIRST_SYNC, ip_family=family) == 1 for family in BOTH), f"{FIRST_SYNC} is not 1")
    t.expect(POD, service.cluster(), kept(E1))


@own_daemon(None, "the log and the metrics have each phase of the start; the phases sum up to the whole")
def traced_start(t):
    t.service([ready(E1)])
    t.settle()
    daemon = t.bench.daemon
    daemon.stop()
    already = daemon.log().count("first sync completed")
    t.require(already == 1, f"the first start logged its phases {already} times")
    begun = time.monotonic()
    daemon.start(t.bench.source.daemon_flags(), t.bench.flags)
    t.settle()
    t.wait_until(lambda: daemon.log().count("first sync completed") == 2, "the phases are logged")
    elapsed = time.monotonic() - begun
    line = [line for line in daemon.log().splitlines() if "first sync completed" in line][-1]
    whole, _, phases = line.partition(" ms after the start: ")
    whole = float(whole.rpartition(" ")[2]) / 1000
    logged = {name: float(milliseconds) / 1000 for name, milliseconds in re.findall(r"(\w+) (\d+\.\d) ms", phases)}
    t.require(list(logged) == [name for name in PHASES if name in logged], f"phases are not in order: {line}")
    missing = set(PHASES) - set(logged)
    t.require(missing <= {"list_service_cidrs"}, f"{missing} missing: {line}")
    t.require(0 < whole <= elapsed, f"{whole} s since the start, but only {elapsed} s since exec: {line}")
    source = logged["connection"] + max(logged.get(name, 0) for name in LISTS)
    backend = logged["backend_load"] + logged["backend_probe"]
    one_by_one = sum(logged[name] for name in ("configuration", "preparation", "store", "first_apply"))
    t.require(abs(one_by_one + max(source, backend) - whole) < ROUNDING, f"the phases do not sum up: {line}")
    now = scrape(t)
    t.require(abs(now.get("sluice_start_seconds") - whole) < ROUNDING, f"sluice_start_seconds differs from {line}")
    for name, seconds in logged.items():
        value = now.get("sluice_start_phase_seconds", phase=name)
        t.require(value is not None and abs(value - seconds) < ROUNDING, f"phase {name} is {value} s in the metrics: {line}")


@own_daemon(None, "a backend whose writes fail is not ready, and its error is in the status; after a success the error is gone "
            "and the time of the last failure stays", sources=["manifests"], backends=["iptables"])
def failing_backend(t):
    service = t.service([ready(E1)])
    t.settle()
    observed.wait_status(t, 200, "/readyz")
    tools = t.topology.tools

    def family():
        return next(one for one in t.status()["families"] if one["family"] == "IPv4")

    with tools.wrapped():
        tools.refuse(".", "nothing")
        t.defer(tools.accept_all)
        service.set_endpoints([ready(E2)])
        answer, _ = observed.wait_status(t, 503, "/readyz")
        t.require(REFUSED in answer.json()["families"]["IPv4"]["reason"], f"/readyz says {answer.body}")
        t.require(REFUSED in family()["last_error"], f"the status says {family()}")
        t.require(sluicectl(t, "status").returncode == NOT_SYNCED, "sluicectl status exits as if all were well")
        tools.accept_all()
        observed.wait_status(t, 200, "/readyz")
    now = family()
    t.require(now["last_error"] == "", f"the status still says {now['last_error']}")
    t.require(REFUSED in now["last_failure"]["error"] and now["last_failure"]["at"], f"the status says {now.get('last_failure')}")
    page = sluicectl(t, "status")
    t.require(page.returncode == 0 and "IPv4 last failure: " in page.stdout, f"sluicectl status: {page}")
    t.expect_soon(POD, service.cluster(), kept(E2))
