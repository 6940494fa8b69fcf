# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Where modes ipvs and nftables are otherwise than mode iptables, by intention (BEH 6.6, 7.5, and what follows from 6.3, 6.4,
6.8 and 7.2).

A case that meets one of these asserts both outcomes and names the reason: `t.differs(LOCAL_FOR_ALL, kept(E1, E2), kept(E1))`.
Which cases do so is taken from the runs, for docs/conformance.md.
"""


class Difference:
    """A name, one sentence, and for each mode that it is true of where BEH says so. Any plugin may declare that it is true of
    it as well, see lib/declaration.py."""

    def __init__(self, name, sentence, **chapters):
        self.name = name
        self.sentence = sentence
        self._chapters = chapters
        ALL[name] = self

    def concerns(self, backend):
        return backend in self._chapters

    def said_of(self, backend):
        return f"{self.sentence} (BEH {self._chapters[backend]})" if self.concerns(backend) else f"{self.sentence} (declared)"


def names_of(backend):
    """Of everything that is otherwise with that mode."""
    return frozenset(name for name, one in ALL.items() if one.concerns(backend))


ALL = {}  # name → Difference

OTHER_PORT = Difference("other-port",
    "a port of a cluster IP that is no service port is rejected, and not left alone", ipvs="6.8", nftables="7.5")
LOCAL_FOR_ALL = Difference("local-for-all",
    "external policy Local means local endpoints for everybody: pods and the node itself are not led to others, "
    "and nobody is masqueraded", ipvs="6.3, 6.8")
NO_LOCAL = Difference("no-local",
    "external policy Local without a local endpoint: endpoints elsewhere are used, and nobody is dropped", ipvs="6.6")
INTERNAL_USES_OTHERS = Difference("internal-uses-others",
    "internal policy Local without a local endpoint, when the Service is reachable from outside: the cluster IP "
    "uses endpoints elsewhere", ipvs="6.6")
INTERNAL_REJECTED = Difference("internal-rejected",
    "internal policy Local without a local endpoint, when the Service is not reachable from outside: rejected, "
    "and not dropped", ipvs="6.6")
EMPTY_BEHIND_RANGES = Difference("empty-behind-ranges",
    "a client outside of the source ranges is dropped before it is known that there is no endpoint",
    ipvs="6.8", nftables="7.5")
NODE_PASSES_RANGES = Difference("node-passes-ranges",
    "source ranges stop the node itself only when it sends from the balancer's address, which is what it does "
    "unless told otherwise", ipvs="6.8")
NODE_REJECTED = Difference("node-rejected",
    "a process of the node is rejected at an external address without endpoints, as everybody is",
    ipvs="6.6", nftables="7.5")
NEVER_LOOPBACK = Difference("never-loopback",
    "node ports are never served on 127.0.0.1, and route_localnet is not touched", ipvs="6.6", nftables="7.5")
MEMORY_PER_FRONTEND = Difference("memory-per-frontend",
    "each address of a Service has a memory of its own", ipvs="6.6")
UDP_MOVES = Difference("udp-moves",
    "a UDP client moves as soon as its endpoint gets no new clients, terminating or not", ipvs="6.4")
PRIMARY_ONLY = Difference("primary-only",
    "node ports are served on the addresses of the Node object only, unless told otherwise", nftables="7.5")
INVALID_PASSES = Difference("invalid-passes",
    "a packet that connection tracking calls invalid is not dropped", nftables="7.5")
NOT_LET_THROUGH = Difference("not-let-through",
    "what other tables drop stays dropped: there are no rules that accept on behalf of Services", nftables="7.5")
