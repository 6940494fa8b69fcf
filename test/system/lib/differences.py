# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Where mode ipvs is otherwise than mode iptables, by intention (BEH 6.6, and what follows from 6.3, 6.4 and 6.8).

A case that meets one of these asserts both outcomes and names the reason: `t.differs(LOCAL_FOR_ALL, kept(E1, E2), kept(E1))`.
Which cases do so is taken from the runs, for docs/conformance.md.
"""

OTHER_PORT = "a port of a service address that is no service port is rejected, and not left alone (BEH 6.8)"
LOCAL_FOR_ALL = ("external policy Local means local endpoints for everybody: pods and the node itself are not led to others, and "
                 "nobody is masqueraded (BEH 6.3, 6.8)")
NO_LOCAL = "external policy Local without a local endpoint: endpoints elsewhere are used, and nobody is dropped (BEH 6.6)"
INTERNAL_USES_OTHERS = ("internal policy Local without a local endpoint, when the Service is reachable from outside: the cluster IP "
                        "uses endpoints elsewhere (BEH 6.6)")
INTERNAL_REJECTED = ("internal policy Local without a local endpoint, when the Service is not reachable from outside: rejected, and "
                     "not dropped (BEH 6.6)")
EMPTY_BEHIND_RANGES = "a client outside of the source ranges is dropped before it is known that there is no endpoint (BEH 6.8)"
NODE_PASSES_RANGES = ("source ranges stop the node itself only when it sends from the balancer's address, which is what it does "
                      "unless told otherwise (BEH 6.8)")
NODE_REJECTED = "a process of the node is rejected at an external address without endpoints, as everybody is (BEH 6.6)"
NEVER_LOOPBACK = "node ports are never served on 127.0.0.1, and route_localnet is not touched (BEH 6.6)"
MEMORY_PER_FRONTEND = "each address of a Service has a memory of its own (BEH 6.6)"
UDP_MOVES = "a UDP client moves as soon as its endpoint gets no new clients, terminating or not (BEH 6.4)"
