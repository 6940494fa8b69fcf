# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Part vm: Debian's kernels in virtual machines, for features that this machine's kernel may lack: IPVS, SCTP and legacy
iptables. The long form runs everything on each kernel. One machine runs at a time; in the short form most steps share one."""

import dataclasses
import os
import subprocess

from parts_build import PROGRAMS, READY, TOOLS
from parts_cluster import no_kube_proxy
from parts_system import BUT_TRAFFIC, ONLY_TRAFFIC, filtered, only_trial
from shared_machines import plugins, run_words
from step import MACHINE, Step

RELEASES = ("6.1", "6.12")
BACKENDS = ("servers", "handover", "rules", "nftables", "nftables-crowd")
# Added to the limit of a step, so that the machine itself reports a hung command, with its console.
PATIENCE = 300
# The longest chain of a run. Steps that need only the main build begin while the test programs are compiled. Machines have a high
# priority, because an emulated machine that waits for processors needs more processor time.
ABOUT = {"needs": READY, "weight": 1.0, "locks": ("virtual machine",), "nice": -5}


# Cases in ipvs mode that depend on the kernel, with the reason. The long form has all cases. The short form excludes cases that
# depend on the core and not on the mode (when it writes, how it translates a change), cases that part system runs in other modes,
# and cases that differ in endpoints and not in the kind of rule, set or virtual server.
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
        "cases_ipvs.all_rules", "cases_ipvs.restore_fails", "cases_ipvsdrift.restart_writes_nothing", "cases_serviceskernel.",
        "cases_inspection.explanations_agree_with_packets", "cases_inspection.counters"),
    "the addresses that it makes the node's own, and how much of anything a tenant can cause": (
        "cases_hostiletraffic.", "cases_hostile.largest_objects", "cases_hostile.more_than_fits"),
    "what others change in it, and what is theirs": (
        "cases_ipvsdrift.drifted_servers_at_once", "cases_sync.everything_flushed", "cases_ipvs.foreign_virtual_servers",
        "cases_takeover.from_ipvs_to_ipvs"),
}


def vm(run):
    made = [Step("vm", "selftest", ["python3", run.test("vm/selftest.py"), "--builddir", run.build], 600, expected=35, **ABOUT)]
    return made + (_long(run) if run.long else _short(run))


def _short(run):
    """The steps that share a machine run in this order. The conformance kit precedes the others that use IPVS, so that the plugin
    is what makes the kernel load it."""
    alike = [
        _cases(run, "sctp", 300, "6.1", "--protocol", "sctp", "--source", "manifests", expected=10),
        # Each set and each kind of chain once, on a kernel that lists and removes differently from new ones; SCTP.
        _cases(run, "nftables", 900, "6.1", "--backend", "nftables", "--short", "--once", *_filters(
            "8", "56", "one_memory_for_all_addresses", "endpoints_change", "126", "stale_after_restart", "cases_nftables.counters",
            "cases_nftablesoffload.skips", "cases_nftablesoffload.endpoint", "cases_nftablesoffload.interfaces",
            "cases_nftablesoffload.swapped"), expected=140),
        # The smallest run of the conformance kit in ipvs mode.
        _kit(run, "6.1", 600, "--short", "--family", "v4", "--lanes", "1", "--only", "file", "--only", "contract",
             "--only", "cleanup"),
        _backends(run, "6.1"),
        _cases(run, "ipvs", 1300, "6.1", "--backend", "ipvs", "--short", "--lanes", "3", *_filters(
            *(name for names in IPVS.values() for name in names)), expected=180),
        # Every pair with ipvs in one family; a few kill -9 are enough, because the surviving state is in the kernel.
        _cases(run, "ipvs-swap", 900, "6.1", "--backend", "ipvs", "--lanes", "1", "--family", "v4", "--source", "manifests",
               "--filter", "cases_swap.", "--filter", "cases_restart.", expected=170, environment={"SLUICE_TEST_RESTARTS": "4"}),
    ]
    kube_proxy = _cases(run, "kube-proxy", 1300, "6.1", "--backend", "ipvs", "--short", "--family", "v4",
                        "--filter", "cases_takeover.real_one", expected=300, absent=no_kube_proxy)
    return [*(_sharing(step) for step in alike), kube_proxy, *_legacy(run)]


def _legacy(run):
    """Each kind of rules once: cluster IP, no endpoints, policies, source ranges, node ports, affinity, repair. If this
    machine's kernel has legacy iptables, part system runs all cases instead."""
    if subprocess.run(["unshare", "--net", "iptables-legacy", "-t", "nat", "-S"], capture_output=True, check=False).returncode == 0:
        return []
    return [_cases(run, "legacy", 900, "6.1", "--iptables", "legacy", "--short", "--family", "v4", "--protocol", "tcp",
                   *_filters("node_and_outside_to_cluster_ip", "no_endpoints.no_slice", "external_local_node", "56", "63",
                             "one_memory_for_all_addresses", "everything_flushed", "filter_flushed"))]


def _long(run):
    made = []
    for release in RELEASES:
        made += [_backends(run, release), _kit(run, release, 14400)]
        made += [_cases(run, f"{mode}-{release}", 14400, release, "--backend", mode, *BUT_TRAFFIC)
                 for mode in ("iptables", "ipvs", "nftables", "userspace")]
        made += [_cases(run, f"{mode}-legacy-{release}", 14400, release, "--backend", mode, "--iptables", "legacy", *BUT_TRAFFIC)
                 for mode in ("iptables", "ipvs")]
        made.append(_cases(run, f"ipvs-swap-{release}", 36000, release, "--backend", "ipvs", "--lanes", "1", *ONLY_TRAFFIC))
    return made


def _filters(*words):
    return tuple(word for one in words for word in ("--filter", one))


def _step(run, name, limit, release, command, *about, **more):
    """A step in a virtual machine with that kernel, with the folder `vm-NAME` of the logs for its results."""
    folder = run.log(f"vm-{name}")
    machine = run_words(run, release, limit, f"{folder}.console", folder)
    return Step("vm", name, [*machine, *command], limit + PATIENCE, *about, kernel=release, writes=(folder,), **ABOUT, **more)


def _sharing(step):
    """The step, which may share its machine with others of the run."""
    return dataclasses.replace(step, guest=tuple(step.command[step.command.index("--") + 1:]))


def _cases(run, name, limit, release, *words, expected=60, **more):
    """System tests in a virtual machine with that kernel."""
    records = run.log(f"vm-{name}", "results.json")
    command = ["/usr/bin/python3", run.test("system/run.py"), "--builddir", run.build, "--plugin-dir", plugins(run),
               "--results", records, "--keep-logs", run.log(f"vm-{name}"), *words]
    return _step(run, name, limit, release, filtered(run, command), again=only_trial, expected=expected, records=records,
                 after=(PROGRAMS,), programs=(TOOLS,), **more)


def _kit(run, release, limit, *words):
    """The conformance kit with the ipvs plugin on that kernel."""
    name = f"kit-{release}"
    command = ["/usr/bin/python3", run.test("system/kit.py"), "--builddir", run.build,
               "--plugin", os.path.join(plugins(run), "ipvs.so"), "--json", run.log(f"vm-{name}", "kit.json"),
               "--keep-logs", run.log(f"vm-{name}"), *words]
    return _step(run, name, limit, release, command, again=only_trial, expected=60,
                 after=(PROGRAMS,), programs=("test/tools/conformance-load", "test/tools/netecho"))


def _backends(run, release):
    """Tests of backends without the daemon, all in one machine; their TAP output is counted afterwards."""
    name = f"backends-{release}"
    folder = run.log(f"vm-{name}")
    # Part kernel runs the rules that do not need IPVS matches.
    programs = tuple(f"test/system/{one}" for one in ("ipvs_handover", "ipvs_roundtrip", "ipvs_rules_roundtrip",
                                                      "nftables_roundtrip", "nftables_crowd"))
    command = ["env", f"SLUICE_BUILDDIR={run.build}", run.test("harness/backends_in_vm.sh"), "long" if run.long else "short",
               run.test("system"), run.built("test/system"), folder, *BACKENDS]
    return _step(run, name, 1200, release, command, MACHINE, clean=(folder,), results=folder, machines=BACKENDS,
                 after=(PROGRAMS,), programs=programs, again=_one_backend, expected=110)


def _one_backend(step, failure):
    """The step that runs the failed program again, completely, in a machine of its own."""
    if not failure.source:
        return None
    return dataclasses.replace(step, command=[*step.command[:-len(BACKENDS)], failure.source], machines=(failure.source,), clean=())
