# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Random changes of a few Services with few endpoints, so that changes interact. A seed determines the sequence."""

import random

from . import addresses as a
from .objects import gone, not_ready, ready, terminating
from .services import ServiceUnderTest

MOST = 12  # Services at the same time
PODS = (a.E1, a.E2, a.E3, a.E4)
STATES = (ready, ready, ready, not_ready, terminating, gone)
RANGES = {a.V4: ["203.0.113.0/25"], a.V6: ["2001:db8:113::/49"]}


class RandomServices:
    def __init__(self, t, world, seed):
        self._t = t
        self._world = world
        self._random = random.Random(seed)
        self._services = []
        self._actions = {
            self._add: 6, self._delete: 2, self._change_endpoints: 8, self._policies: 3, self._ranges: 2, self._affinity: 2,
            self._rename: 1, self._swap_cluster_ips: 1, self._delete_slice: 1,
        }
        if "affinity" in t.bench.profile.lacks:
            del self._actions[self._affinity]
        if "source-ranges" in t.bench.profile.lacks:
            del self._actions[self._ranges]

    def step(self):
        """Makes one change, or many at once; returns a description."""
        many = 24 if self._random.random() < 0.08 else 1
        return "; ".join(self._one() for _ in range(many))

    def close(self):
        for service in self._services:
            service.delete()
        self._services.clear()

    def chance(self, probability):
        return self._random.random() < probability

    def pick(self, things):
        return self._random.choice(things)

    def _one(self):
        if not self._services:
            return self._add()
        actions = list(self._actions)
        return self._random.choices(actions, [self._actions[one] for one in actions])[0]()

    def _add(self):
        if len(self._services) >= MOST:
            return self._delete()
        number = self._t.bench.allocator.number()
        wanted = self._random.choice([{}, {"type": "NodePort", "node_port": True}, {"type": "LoadBalancer", "external": True},
                                      {"external_ip": True}])
        service = ServiceUnderTest(self._world, number, f"random-{number}", self._t.family, self._random.choice(["tcp", "udp"]),
                                   self._endpoints(), node_ports="node-ports" not in self._t.bench.profile.lacks, **wanted)
        self._services.append(service)
        return f"add {service.namespace} ({wanted or 'ClusterIP'})"

    def _delete(self):
        service = self._services.pop(self._random.randrange(len(self._services)))
        service.delete()
        return f"delete {service.namespace}"

    def _change_endpoints(self):
        service = self._any()
        made = self._endpoints()
        service.set_endpoints(made)
        return f"endpoints of {service.namespace}: " + (", ".join(
            f"{one.host.name}{'' if one.ready else ' terminating' if one.serving else ' not ready'}" for one in made) or "none")

    def _policies(self):
        service = self._any()
        word = self._random.choice(["external_policy", "internal_policy"])
        value = self._random.choice(["Local", "Cluster", None])
        service.update(**{word: value})
        return f"{word} of {service.namespace}: {value}"

    def _ranges(self):
        service = self._any()
        value = self._random.choice([RANGES[self._t.family], None])
        service.update(source_ranges=value)
        return f"source ranges of {service.namespace}: {value}"

    def _affinity(self):
        service = self._any()
        sticky = self._random.random() < 0.5
        spec = {name: value for name, value in (service.wanted["spec"] or {}).items() if name != "sessionAffinity"}
        service.update(spec={**spec, "sessionAffinity": "ClientIP"} if sticky else spec)
        return f"affinity of {service.namespace}: {sticky}"

    def _rename(self):
        """The slices keep the old port name until they are written again."""
        service = self._any()
        name = self._random.choice(["p80", "web"])
        service.update(ports=[(name, 80, self._random.choice([a.POD_PORT, a.ALT_PORT]))])
        return f"port of {service.namespace}: {name}"

    def _swap_cluster_ips(self):
        """Deletes two Services and creates them again with swapped cluster IPs."""
        if len(self._services) < 2:
            return self._add()
        one, other = self._random.sample(self._services, 2)
        ips = [service.wanted["spec"].get("clusterIP") if service.wanted["spec"] and "clusterIP" in service.wanted["spec"]
               else service.cluster().ip for service in (one, other)]
        for service, ip in ((one, ips[1]), (other, ips[0])):
            service.delete_service()
            service.wanted["spec"] = {**(service.wanted["spec"] or {}), "clusterIP": ip, "clusterIPs": [ip]}
        for service in (one, other):
            service.apply()
        return f"{one.namespace} and {other.namespace} swap their cluster IPs"

    def _delete_slice(self):
        service = self._any()
        if "slice1" not in service.slices():
            return self._change_endpoints()
        service.delete_slice()
        return f"delete the slice of {service.namespace}"

    def _any(self):
        return self._random.choice(self._services)

    def _endpoints(self):
        hosts = self._random.sample(PODS, self._random.choice([0, 1, 1, 2, 2, 3, 4]))
        return [self._random.choice(STATES)(host) for host in hosts]
