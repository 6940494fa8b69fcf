# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Expected outcomes of requests to a Service, and their comparison with the observed ones."""

import dataclasses

from . import addresses as a

TIMEOUT_WHEN_SILENT_MS = 350
TIMEOUT_WHEN_ANSWERED_MS = 2500  # also for rejections


# The source address that a server sees. OWN is for servers that are not endpoints, whose traffic the proxy does not touch.
KEPT, MASQUERADED, OWN = "kept", "masqueraded", "untouched"


@dataclasses.dataclass(frozen=True)
class Expected:
    """Served: exactly the named servers answer, and each sees the stated source."""

    # served, rejected, dropped; vacant: neither a Service nor another listener
    kind: str
    sources: tuple = ()  # (server name, source address that it sees)

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
VACANT = Expected("vacant")


def kept(*hosts):
    return _served(hosts, KEPT)


def masqueraded(*hosts):
    return _served(hosts, MASQUERADED)


def untouched(*hosts):
    """Servers that are not endpoints answer, and the proxy does not touch the traffic."""
    return _served(hosts, OWN)


def _served(hosts, source):
    return Expected("served", tuple((host if isinstance(host, str) else host.name, source) for host in hosts))


UNTOUCHED = untouched(a.OUTSIDE)


def mismatch(expected, lines, sender_ip, family):
    """None if the answers are as expected, or a sentence. `lines` is the output of `netecho ask`."""
    wrong = misfit(expected, lines, sender_ip, family)
    if wrong:
        return wrong
    servers = {line.split()[1] for line in lines if line.startswith("ok ")}
    if expected.kind == "served" and servers != expected.servers:
        return f"expected {expected}, but no answer from {', '.join(sorted(expected.servers - servers))}"
    return None


def misfit(expected, lines, sender_ip, family):
    """None if all answers are expected, although some may be missing, or a sentence."""
    for line in lines:
        if not _fits(expected, line.split(), sender_ip, family):
            return f"expected {expected}, saw '{line}'"
    return None


def complete(expected, lines):
    """Whether more requests cannot change the result."""
    if expected.kind != "served":
        return True
    return {line.split()[1] for line in lines if line.startswith("ok ")} == expected.servers


def _fits(expected, words, sender_ip, family):
    if expected.kind == "rejected":
        return words == ["refused"]
    if expected.kind == "dropped":
        # A datagram that the OUTPUT chain of the sender drops fails with EPERM.
        return words in (["timeout"], ["error", "Operation", "not", "permitted"])
    if expected.kind == "vacant":
        return words in (["refused"], ["timeout"])
    if words[0] != "ok":
        return False
    source = dict(expected.sources).get(words[1])
    if source in (KEPT, OWN):
        return words[2] == sender_ip
    return source == MASQUERADED and words[2] in a.node_addresses(family) and words[2] != sender_ip
