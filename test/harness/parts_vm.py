# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Part vm: kernels of Debian in virtual machines, with what this machine's may lack: mode ipvs, SCTP, and the old iptables as
a kernel of its time has it. In the long form everything, on each kernel. One machine runs at a time."""

import dataclasses
import subprocess

from parts_build import PROGRAMS, READY
from parts_system import BUT_TRAFFIC, ONLY_TRAFFIC, filtered, only_trial
from step import MACHINE, Step

RELEASES = ("6.1", "6.12")
BACKENDS = ("servers", "handover", "rules", "nftables", "nftables-crowd")
# There is more patience around a machine than in it: what hangs is to be reported by the machine, with its console.
PATIENCE = 300
# The longest chain of a run: steps that need nothing but the main build begin beside the compiler of the test programs, and what
# runs beside a machine has the processors that it leaves. One that has to wait for processors does more work for the same.
ABOUT = {"needs": READY, "weight": 1.0, "locks": ("virtual machine",), "nice": -5}


# Cases of mode ipvs that depend on the kernel, by what of it they depend on. The long form has all cases. Left out of the short
# form is what the core does whatever the mode (when it writes, what it makes of a change), what part system sees with other
# modes, and what differs in endpoints and not in the kind of rule, set or virtual server.
IPVS = {
    "what a virtual server does with a packet, and what rules and sets do around it": (
        "cases_clusterip.pod_to_cluster_ip", "cases_clusterip.node_and_outside_to_cluster_ip", "cases_no_endpoints.no_slice",
        "cases_affinity.one_memory_for_all_addresses", "cases_loadbalancer.source_ranges", "cases_nodeports.default_addresses",
        "cases_policies.external_local_outside", "cases_policies.external_local_without_local",
        "cases_policies.internal_local_without_local"),
    "its table of connections when real servers come and go": (
        "cases_no_endpoints.first_endpoint", "cases_conntrack.endpoint_removed", "cases_ipvs.endpoint_leaves",
        "cases_ipvsdrain.", "cases_ipvssettings.source_hashing_drains"),
    "what it gives back of what was written, and what it refuses": (
        "cases_ipvs.all_rules", "cases_ipvs.restore_fails", "cases_ipvsdrift.restart_writes_nothing", "cases_serviceskernel."),
    "the addresses that it makes the node's own, and how much of anything a tenant can cause": (
        "cases_hostiletraffic.", "cases_hostile.memory", "cases_hostile.largest_objects", "cases_hostile.more_than_fits",
        "cases_hostile.invalid_objects", "cases_hostile.log_and_metrics"),
    "what others change in it, and what is theirs": (
        "cases_ipvsdrift.servers_damaged_at_once", "cases_sync.everything_flushed", "cases_ipvs.foreign_virtual_servers",
        "in mode ipvs, in mode ipvs"),
}


def vm(run):
    made = [Step("vm", "selftest", ["python3", run.test("vm/selftest.py"), "--builddir", run.build], 600, expected=35, **ABOUT)]
    made += [_backends(run, release) for release in (RELEASES if run.long else RELEASES[:1])]
    return made + (_long(run) if run.long else _short(run))


def _short(run):
    return [
        # Mode ipvs under the conformance kit, as small as it can be.
        _kit(run, "6.1", 600, "--short", "--family", "v4", "--lanes", "1", "--only", "file", "--only", "contract",
             "--only", "cleanup"),
        _cases(run, "ipvs", 1300, "6.1", "--backend", "ipvs", "--short", "--lanes", "3", *_filters(
            *(name for names in IPVS.values() for name in names)), expected=210),
        # Every pair with ipvs in one family; kill -9 some times, as what lives on is in the kernel and does not count them.
        _cases(run, "ipvs-swap", 900, "6.1", "--backend", "ipvs", "--lanes", "1", "--family", "v4", "--source", "manifests",
               "--filter", "cases_swap.", "--filter", "cases_restart.", expected=170, environment={"SLUICE_TEST_RESTARTS": "4"}),
        _cases(run, "sctp", 300, "6.1", "--protocol", "sctp", "--source", "manifests", expected=25),
        # Each set and each kind of chain once, on a kernel that lists and removes otherwise than a new one; SCTP.
        _cases(run, "nftables", 900, "6.1", "--backend", "nftables", "--short", "--once", *_filters(
            "8", "56", "one_memory_for_all_addresses", "endpoints_change", "126", "stale_after_restart", "cases_nftables.counters"),
               expected=75),
        *_legacy(run),
    ]


def _legacy(run):
    """Each way of the rules once: cluster IP, no endpoints, policies, ranges, node ports, memory, repair. Part system has all
    cases where this machine's kernel still has the old iptables."""
    if subprocess.run(["unshare", "--net", "iptables-legacy", "-t", "nat", "-S"], capture_output=True, check=False).returncode == 0:
        return []
    return [_cases(run, "legacy", 900, "6.1", "--iptables", "legacy", "--short", "--family", "v4", "--protocol", "tcp",
                   *_filters("node_and_outside_to_cluster_ip", "no_endpoints.no_slice", "external_local_node", "56", "63",
                             "one_memory_for_all_addresses", "everything_flushed", "filter_flushed"))]


def _long(run):
    made = []
    for release in RELEASES:
        made.append(_kit(run, release, 14400))
        made += [_cases(run, f"{mode}-{release}", 14400, release, "--backend", mode, *BUT_TRAFFIC)
                 for mode in ("iptables", "ipvs", "nftables", "userspace")]
        made += [_cases(run, f"{mode}-legacy-{release}", 14400, release, "--backend", mode, "--iptables", "legacy", *BUT_TRAFFIC)
                 for mode in ("iptables", "ipvs")]
        made.append(_cases(run, f"ipvs-swap-{release}", 36000, release, "--backend", "ipvs", "--lanes", "1", *ONLY_TRAFFIC))
    return made


def _filters(*words):
    return tuple(word for one in words for word in ("--filter", one))


def _machine(run, name, limit, release):
    return ["python3", run.test("vm/run"), "--builddir", run.build, "--kernel", release, "--limit", str(limit),
            "--results", run.log(f"vm-{name}"), "--console", run.log(f"vm-{name}.console"), "--"]


def _cases(run, name, limit, release, *words, expected=60, **more):
    """System tests in a virtual machine with that kernel."""
    records = run.log(f"vm-{name}", "results.json")
    command = ["/usr/bin/python3", run.test("system/run.py"), "--builddir", run.build,
               "--results", records, "--keep-logs", run.log(f"vm-{name}"), *words]
    return Step("vm", name, [*_machine(run, name, limit, release), *filtered(run, command)], limit + PATIENCE,
                again=only_trial, expected=expected, records=records, **ABOUT, **more)


def _kit(run, release, limit, *words):
    """Mode ipvs, judged as a plugin on that kernel."""
    name = f"kit-{release}"
    command = ["/usr/bin/python3", run.test("system/kit.py"), "--builddir", run.build,
               "--plugin", run.built("plugins/ipvs/.libs/ipvs.so"), "--json", run.log(f"vm-{name}", "kit.json"),
               "--keep-logs", run.log(f"vm-{name}"), *words]
    return Step("vm", name, [*_machine(run, name, limit, release), *command], limit + PATIENCE, again=only_trial, expected=60,
                after=(PROGRAMS,), programs=("test/tools/conformance-load", "test/tools/netecho"), **ABOUT)


def _backends(run, release):
    """Those without the daemon, all in one machine; what each printed is counted afterwards."""
    name = f"backends-{release}"
    folder = run.log(f"vm-{name}")
    # Part kernel has run the rules where matches of IPVS may be missing.
    programs = tuple(f"test/system/{one}" for one in ("ipvs_handover", "ipvs_roundtrip", "ipvs_rules_roundtrip",
                                                      "nftables_roundtrip", "nftables_crowd"))
    command = [*_machine(run, name, 1200, release), "env", f"SLUICE_BUILDDIR={run.build}", run.test("harness/backends_in_vm.sh"),
               "long" if run.long else "short", run.test("system"), run.built("test/system"), folder, *BACKENDS]
    return Step("vm", name, command, 1200 + PATIENCE, MACHINE, clean=(folder,), results=folder, machines=BACKENDS,
                after=(PROGRAMS,), programs=programs, again=_one_backend, expected=110, **ABOUT)


def _one_backend(step, failure):
    """The one program again, whole, in a machine of its own."""
    if not failure.source:
        return None
    return dataclasses.replace(step, command=[*step.command[:-len(BACKENDS)], failure.source], machines=(failure.source,), clean=())
