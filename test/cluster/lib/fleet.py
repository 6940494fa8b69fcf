# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A fleet: members of one program against one API server, and the check that all have its last state."""

from . import fleet_network, pace
from .failure import ClusterError
from .fleet_members import create_nodes, of_all

OWN_SERVICE = {"10.96.0.1"}  # the Service `kubernetes`
KINDS = ("services", "endpointslices", "nodes", "servicecidrs")  # that proxies watch
PATIENCE = 120


class Fleet:
    """A context: the members run inside it."""

    def __init__(self, server, services, members):
        self.server, self.services, self.members = server, services, members
        self._own_watches = dict.fromkeys(KINDS, 0)
        self.numbers = [member.number for member in members]

    def __enter__(self):
        fleet_network.add_members(self.numbers)
        create_nodes(self.server.api, self.members)
        self._own_watches = self._all_watches()
        return self

    def __exit__(self, *_):
        for member in self.members:
            member.stop()
        fleet_network.remove_members(self.numbers)
        for member in self.members:
            self.server.api.must("DELETE", f"/api/v1/nodes/{member.name}")

    def start(self):
        for member in self.members:
            member.start()

    def different(self):
        """Members whose rules are not the last state, each with what differs."""
        wanted = self.services.cluster_ips() | self.services.endpoint_addresses()

        def difference(member):
            member.check()
            found = member.programmed() - OWN_SERVICE
            return member.name, len(wanted - found), len(found - wanted)

        return [one for one in of_all(self.members, difference) if one[1] or one[2]]

    def wait_converged(self, seconds=PATIENCE):
        if pace.wait_until(lambda: not self.different(), seconds, every=0.5):
            return
        late = self.different()
        first = "; ".join(f"{name}: {missing} addresses missing, {extra} too many" for name, missing, extra in late[:5])
        raise ClusterError(f"{len(late)} of {len(self.members)} members do not have the last state: {first}")

    def wait_watches(self, kinds, seconds):
        """Whether every member watches these kinds, after a while."""
        return pace.wait_until(lambda: all(self.watches_of(kind) == len(self.members) for kind in kinds), seconds, every=0.5)

    def watches(self):
        """Running watches of the members."""
        return sum(self.watches_of(kind) for kind in KINDS)

    def watches_of(self, kind):
        """As the API server counts them, without its own."""
        return self._all_watches()[kind] - self._own_watches[kind]

    def _all_watches(self):
        found = dict.fromkeys(KINDS, 0)
        for name, labels, value in self.server.api.metrics():
            if name == "apiserver_longrunning_requests" and labels["verb"] == "WATCH" and labels["resource"] in KINDS:
                found[labels["resource"]] += int(value)
        return found
