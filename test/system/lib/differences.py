# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Intended differences of ipvs and nftables mode from iptables mode (BEH 6.3, 6.4, 6.6, 6.8, 7.2 and 7.5).

A case that depends on a difference asserts both outcomes and names it: `t.differs(LOCAL_FOR_ALL, kept(E1, E2), kept(E1))`.
The results of the runs show which cases do so, for docs/conformance.md.
"""


class Difference:
    """A name, a sentence, and the chapter of BEH for each mode with this difference. A plugin may declare the same difference, see
    lib/declaration.py."""

    def __init__(self, name, sentence, **chapters):
        self.name = name
        self.sentence = sentence
        self._chapters = chapters
        ALL[name] = self

    def concerns(self, backend):
        return backend in self._chapters

    def described_for(self, backend):
        return f"{self.sentence} (BEH {self._chapters[backend]})" if self.concerns(backend) else f"{self.sentence} (declared)"


def names_of(backend):
    """The names of all differences of that mode."""
    return frozenset(name for name, one in ALL.items() if one.concerns(backend))


ALL = {}  # name → Difference

OTHER_PORT = Difference("other-port",
    "a port of a cluster IP that is not a service port is rejected instead of ignored", ipvs="6.8", nftables="7.5")
LOCAL_FOR_ALL = Difference("local-for-all",
    "external policy Local means local endpoints for all clients: pods and the node do not reach remote endpoints, "
    "and there is no masquerading", ipvs="6.3, 6.8")
NO_LOCAL = Difference("no-local",
    "external policy Local without a local endpoint: remote endpoints are used, and nothing is dropped", ipvs="6.6")
INTERNAL_USES_OTHERS = Difference("internal-uses-others",
    "internal policy Local without a local endpoint, if the Service is reachable from outside: the cluster IP "
    "uses remote endpoints", ipvs="6.6")
INTERNAL_REJECTED = Difference("internal-rejected",
    "internal policy Local without a local endpoint, if the Service is not reachable from outside: rejected "
    "instead of dropped", ipvs="6.6")
EMPTY_BEHIND_RANGES = Difference("empty-behind-ranges",
    "a client outside of the source ranges is dropped even if there is no endpoint",
    ipvs="6.8", nftables="7.5")
NODE_PASSES_RANGES = Difference("node-passes-ranges",
    "source ranges apply to the node itself only if it sends from the load balancer address, which it does "
    "by default", ipvs="6.8")
NODE_REJECTED = Difference("node-rejected",
    "a process of the node is rejected at an external address without endpoints, like any other client",
    ipvs="6.6", nftables="7.5")
NEVER_LOOPBACK = Difference("never-loopback",
    "node ports are never served on 127.0.0.1, and route_localnet is not changed", ipvs="6.6", nftables="7.5")
MEMORY_PER_FRONTEND = Difference("memory-per-frontend",
    "each address of a Service has separate session affinity", ipvs="6.6")
UDP_MOVES = Difference("udp-moves",
    "a UDP client moves as soon as its endpoint gets no new clients, even if it is still serving", ipvs="6.4")
PRIMARY_ONLY = Difference("primary-only",
    "node ports are served only on the addresses of the Node object by default", nftables="7.5")
INVALID_PASSES = Difference("invalid-passes",
    "a packet in conntrack state INVALID is not dropped", nftables="7.5")
NOT_LET_THROUGH = Difference("not-let-through",
    "packets that other tables drop stay dropped: there are no rules that accept packets of Services", nftables="7.5")
