# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""ServiceCIDRs: unused addresses of the cluster IP ranges are dropped, case 127."""

import time

from lib import addresses as a
from lib import observed, pace
from lib.addresses import E1, E2, FAMILIES
from lib.cases import DROPPED, NODE, POD, REJECTED, UNTOUCHED, case, kept, own_daemon
from lib.objects import ready
from lib.services import CLUSTER_PORT, Front

NFTABLES = ["nftables"]
ATTEMPTS = 3
BOTH = [ready(E1), ready(E2)]
# In the range of Services, but never assigned to one.
UNASSIGNED = {a.V4: "172.30.250.9", a.V6: "fd00:172:30::fa09"}
UNUSED_PORT = CLUSTER_PORT + 1


def service_cidr(name, *cidrs):
    return {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": name},
            "spec": {"cidrs": list(cidrs)}}


def put(t, made):
    """Returns a function that removes it, now rather than at the end."""
    there = [made]

    def remove():
        while there:
            t.bench.source.delete(there.pop())

    t.bench.source.put(made)
    t.defer(remove)
    return remove


def unassigned(t):
    return Front(UNASSIGNED[t.family], CLUSTER_PORT, "tcp")


def unused_port(service):
    return Front(service.cluster().ip, UNUSED_PORT, "tcp")


def resource(t, kind="ServiceCIDR"):
    return next((one for one in t.status()["source"]["resources"] if one["kind"] == kind), None)


def asked(t, since):
    made, _ = t.bench.source.requests(since)
    return [one["path"] for one in made if "/servicecidrs" in one["path"] and
            one["headers"].get("user-agent", "").startswith("sluiced/")]


def now(t):
    return t.bench.source.requests(1 << 60)[1]


@case(127, "with a ServiceCIDR unused cluster IPs are dropped and closed ports of used ones rejected; it may come, "
      "change and go while the daemon runs", families=FAMILIES, protocols=["tcp"], backends=NFTABLES, exclusive=True)
def live(t):
    service = t.service(BOTH)
    t.settle()
    t.expect([POD, NODE], unassigned(t), UNTOUCHED)
    t.expect([POD, NODE], unused_port(service), REJECTED)
    remove = put(t, service_cidr("kubernetes", *a.SERVICE_CIDR.values()))
    for sender in (POD, NODE):
        t.expect_soon(sender, unassigned(t), DROPPED)
    t.expect([POD, NODE], unused_port(service), REJECTED)
    t.expect(POD, service.cluster(), kept(E1, E2))
    # Addresses outside of all of them are not affected, and a second object does not replace the first.
    elsewhere = {a.V4: "1.2.0.0/16", a.V6: "fd00:1:2::/64"}
    put(t, service_cidr("more", *elsewhere.values()))
    vip = Front(a.Allocator.vip(60000, t.family), CLUSTER_PORT, "tcp")
    t.expect_soon(POD, vip, DROPPED)
    t.expect(POD, unassigned(t), DROPPED)
    t.bench.source.put(service_cidr("more", "not a range"))
    t.expect_soon(POD, vip, UNTOUCHED)
    t.expect(POD, unassigned(t), DROPPED)
    t.require(t.bench.daemon.wait_logged("ServiceCIDR more", "spec.cidrs[0]", "not a range", seconds=2) is not None,
              "what is no range is not reported")
    remove()
    for sender in (POD, NODE):
        t.expect_soon(sender, unassigned(t), UNTOUCHED)
    t.expect([POD, NODE], unused_port(service), REJECTED)
    t.expect(POD, service.cluster(), kept(E1, E2))


@own_daemon(127, "a restart knows the ServiceCIDRs with its first sync and writes nothing", backends=NFTABLES)
def restart(t):
    service = t.service(BOTH)
    put(t, service_cidr("kubernetes", *a.SERVICE_CIDR.values()))
    t.settle()
    t.expect_soon(POD, unassigned(t), DROPPED)
    # The first sync waits one second for ServiceCIDRs. On a busy machine they may come later, and are written then.
    for _ in range(ATTEMPTS):
        t.bench.daemon.stop()
        t.bench.start_daemon()
        t.expect(POD, unassigned(t), DROPPED)
        t.expect(POD, service.cluster(), kept(E1, E2))
        of_family = next(one for one in t.status()["families"] if one["family"] == "IPv4")
        if of_family["last_apply"]["kernel_writes"] == 0 and of_family["full_syncs"] == 1:
            break
    t.require(of_family["last_apply"]["kernel_writes"] == 0 and of_family["full_syncs"] == 1,
              f"each restart wrote, the last: {of_family['full_syncs']} full syncs, last {of_family['last_apply']}")


@own_daemon(127, "with ServiceCIDRs as v1beta1 only these are read; a server without the API is like one without objects, "
            "which is logged once and not an error", backends=NFTABLES)
def older_servers(t):
    source = t.bench.source
    service = t.service(BOTH)
    put(t, service_cidr("kubernetes", *a.SERVICE_CIDR.values()))
    t.defer(lambda: source.admin("options", {"service_cidrs": "v1"}))
    for versions, unserved in (("v1beta1", DROPPED), ("none", UNTOUCHED)):
        t.bench.daemon.stop()
        source.admin("options", {"service_cidrs": versions})
        begun = now(t)
        started = time.monotonic()
        t.bench.start_daemon()
        t.expect_soon(POD, unassigned(t), unserved)
        t.expect(POD, service.cluster(), kept(E1, E2))
        t.expect(POD, unused_port(service), REJECTED)
        paths = asked(t, begun)
        t.require("/apis/networking.k8s.io/v1/servicecidrs" in paths and
                  "/apis/networking.k8s.io/v1beta1/servicecidrs" in paths, f"asked were {paths} ({versions})")
        # Much shorter than a start that waits for the list that the server does not have.
        t.require(time.monotonic() - started < pace.stretched(30), f"the start took {time.monotonic() - started:.0f} s ({versions})")
    t.require(t.bench.daemon.wait_logged("list servicecidrs", "does not have any", seconds=2) is not None,
              "it does not say that there are none")
    t.require(resource(t) is None, f"the status has {resource(t)}")
    t.require(len(asked(t, begun)) <= 4, f"it keeps asking: {asked(t, begun)}")


@own_daemon(127, "without permission to list ServiceCIDRs the rest is served at once, a warning names the rule, and the node is "
            "healthy", backends=NFTABLES)
def denied(t):
    source = t.bench.source
    service = t.service(BOTH)
    put(t, service_cidr("kubernetes", *a.SERVICE_CIDR.values()))
    t.bench.daemon.stop()
    source.fault(match="read", resource="servicecidrs", kind="status", code=403, reason="Forbidden", count=0)
    t.defer(source.clear_faults)
    begun = now(t)
    t.bench.start_daemon()
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.expect(POD, unassigned(t), UNTOUCHED)
    # After retries for as long as a server that starts may answer so.
    t.require(t.bench.daemon.wait_logged("list servicecidrs", "403", "resources: [servicecidrs]", "verbs: [list, watch]",
                                         seconds=30) is not None, "no warning names the rule")
    t.require(observed.health(t).status == 200, f"/healthz answers {observed.health(t).status}")
    later = t.service(BOTH)
    t.settle()
    t.expect(POD, later.cluster(), kept(E1, E2))
    said = [line for line in t.bench.daemon.log().splitlines() if "list servicecidrs" in line]
    t.require(len(said) == 1, f"it says so {len(said)} times: {said[:3]}")
    t.require(len(asked(t, begun)) <= 6, f"it keeps asking: {asked(t, begun)}")


@own_daemon(127, "a server that fails for ServiceCIDRs does not delay the first sync; they are listed once possible",
            backends=NFTABLES)
def failing(t):
    source = t.bench.source
    service = t.service(BOTH)
    put(t, service_cidr("kubernetes", *a.SERVICE_CIDR.values()))
    t.bench.daemon.stop()
    source.fault(match="read", resource="servicecidrs", kind="status", code=503, count=0)
    t.defer(source.clear_faults)
    t.bench.start_daemon()
    t.expect_soon(POD, service.cluster(), kept(E1, E2))
    t.expect(POD, unassigned(t), UNTOUCHED)
    t.require(resource(t) is not None and not resource(t)["connected"], f"the status has {resource(t)}")
    source.clear_faults()
    t.expect_soon(POD, unassigned(t), DROPPED, seconds=45)
    t.expect(POD, service.cluster(), kept(E1, E2))


@own_daemon(127, "a server that never answers the request for ServiceCIDRs does not delay the first sync or "
            "anything after it; they are applied once it answers", backends=NFTABLES)
def hanging(t):
    source = t.bench.source
    service = t.service(BOTH)
    put(t, service_cidr("kubernetes", *a.SERVICE_CIDR.values()))
    t.bench.daemon.stop()
    source.fault(match="read", resource="servicecidrs", kind="stall", count=0)
    t.defer(source.disconnect)
    t.defer(source.clear_faults)
    begun = now(t)
    t.bench.start_daemon()
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.expect(POD, unassigned(t), UNTOUCHED)
    later = t.service(BOTH)
    t.settle()
    t.expect(POD, later.cluster(), kept(E1, E2))
    made, _ = source.requests(begun)
    codes = [one["code"] for one in made if "/servicecidrs" in one["path"]]
    t.require(codes and not any(codes), f"asked for ServiceCIDRs it was answered {codes}, where 0 is never")
    t.require(observed.health(t).status == 200, f"/healthz answers {observed.health(t).status}")
    source.clear_faults()
    source.disconnect()
    t.expect_soon(POD, unassigned(t), DROPPED, seconds=45)
    t.expect(POD, service.cluster(), kept(E1, E2))


@own_daemon(None, "ServiceCIDRs are not requested for backends that do not use them", backends=["iptables", "ipvs", "userspace"])
def not_asked(t):
    t.bench.daemon.stop()
    begun = now(t)
    t.bench.start_daemon()
    t.settle()
    t.require(not asked(t, begun), f"asked were {asked(t, begun)}")
    t.require(resource(t) is None, f"the status has {resource(t)}")
