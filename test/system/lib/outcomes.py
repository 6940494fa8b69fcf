# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What a sender may see when it talks to a Service, and how it is compared with what it did see."""

import dataclasses

from . import addresses as a

TIMEOUT_WHEN_SILENT_MS = 350
TIMEOUT_WHEN_ANSWERED_MS = 2500  # a refusal is an answer, too


# Whose address a server sees. Cases say what it is in the kernel's modes; THE_NODES is what a proxy that relays makes
# of both, and OWN is for servers that are no endpoints: what reaches them is not the proxy's.
KEPT, MASQUERADED, THE_NODES, OWN = "kept", "masqueraded", "the node's", "untouched"


@dataclasses.dataclass(frozen=True)
class Expected:
    """Served: every named server answers, nobody else does, and each sees the source as stated."""

    # served, rejected, dropped; closed: accepted and closed at once; vacant: no Service is there, and nobody else
    kind: str
    sources: tuple = ()  # (server name, whose address it sees)

    @property
    def servers(self):
        return {name for name, _ in self.sources}

    def __or__(self, other):
        return Expected("served", self.sources + other.sources)

    def __str__(self):
        if self.kind == "served":
            return "answers from " + ", ".join(f"{name} (source {source})" for name, source in self.sources)
        return self.kind


REJECTED = Expected("rejected")
DROPPED = Expected("dropped")
CLOSED = Expected("closed")
VACANT = Expected("vacant")


def kept(*hosts):
    return _served(hosts, KEPT)


def masqueraded(*hosts):
    return _served(hosts, MASQUERADED)


def untouched(*hosts):
    """Servers that are no endpoints answer, and the proxy has no part in it."""
    return _served(hosts, OWN)


def _served(hosts, source):
    return Expected("served", tuple((host if isinstance(host, str) else host.name, source) for host in hosts))


UNTOUCHED = untouched(a.OUTSIDE)


def as_relayed(expected, protocol):
    """What the expectation of a case means when connections end in the proxy, and others begin there: endpoints see
    an address of the node whoever the client is, and without an endpoint there is somebody to accept, but nobody to
    answer."""
    if expected == REJECTED:
        return CLOSED if protocol == "tcp" else DROPPED
    return Expected(expected.kind, tuple((name, OWN if source == OWN else THE_NODES) for name, source in expected.sources))


def mismatch(expected, lines, sender_ip, family):
    """None when the answers are as expected; else a sentence. `lines` are those of `netecho ask`."""
    wrong = misfit(expected, lines, sender_ip, family)
    if wrong:
        return wrong
    seen = {line.split()[1] for line in lines if line.startswith("ok ")}
    if expected.kind == "served" and seen != expected.servers:
        return f"expected {expected}, but never saw {', '.join(sorted(expected.servers - seen))}"
    return None


def misfit(expected, lines, sender_ip, family):
    """None when no answer is other than expected, though some expected one may be missing; else a sentence."""
    for line in lines:
        if not _fits(expected, line.split(), sender_ip, family):
            return f"expected {expected}, saw '{line}'"
    return None


def complete(expected, lines):
    """Whether more questions could not add anything to what was seen."""
    if expected.kind != "served":
        return True
    return {line.split()[1] for line in lines if line.startswith("ok ")} == expected.servers


def _fits(expected, words, sender_ip, family):
    if expected.kind == "rejected":
        return words == ["refused"]
    if expected.kind == "dropped":
        # A datagram dropped on the sender's own OUTPUT chain is reported to the sender as EPERM.
        return words in (["timeout"], ["error", "Operation", "not", "permitted"])
    if expected.kind == "closed":
        return words == ["error", "Connection", "reset", "by", "peer"]
    if expected.kind == "vacant":
        return words in (["refused"], ["timeout"])
    if words[0] != "ok":
        return False
    source = dict(expected.sources).get(words[1])
    if source in (KEPT, OWN):
        return words[2] == sender_ip
    there = source is not None and words[2] in a.node_addresses(family)
    return there and (source == THE_NODES or words[2] != sender_ip)
