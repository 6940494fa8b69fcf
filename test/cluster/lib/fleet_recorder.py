# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What the members of a fleet ask of the API server in one phase, and how much they receive."""

import datetime
import time
from dataclasses import dataclass

from . import fleet_network

FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass
class Request:
    ip: str
    seconds: float  # since the phase began
    verb: str
    uri: str


@dataclass
class Phase:
    """The numbers are per member, but `requests` is a list of all."""

    name: str
    seconds: float
    received: float
    sent: float
    requests: list
    connections: float
    watches: float

    def each(self, members):
        """The number of requests of each member."""
        return [sum(1 for request in self.requests if request.ip == member.ip) for member in members]

    def line(self, members):
        each = self.each(members)
        return (f"{self.name:8} {self.seconds:6.1f} s  received {self.received / 1000:9.1f} kB  sent {self.sent / 1000:7.1f} kB  "
                f"requests {sum(each) / len(each):5.1f} (most {max(each)})  watches {self.watches:.1f}  "
                f"connections {self.connections:.1f}")

    def record(self, members):
        each = self.each(members)
        return {"phase": self.name, "seconds": self.seconds, "received": self.received, "sent": self.sent,
                "requests": sum(each) / len(each), "mostRequests": max(each), "watches": self.watches,
                "connections": self.connections}


class Recorder:
    """Records phases of a fleet, one after the other. The server must write an audit log."""

    def __init__(self, fleet):
        self._fleet, self.phases = fleet, []

    def during(self, name, work):
        """Calls `work()` and records what happened meanwhile."""
        count = len(self._fleet.members)
        wall, begun, bytes_before = time.time(), time.monotonic(), fleet_network.traffic(self._fleet.numbers)
        seen = len(self._fleet.server.audit())
        work()
        passed = fleet_network.traffic(self._fleet.numbers) - bytes_before
        ips = {member.ip for member in self._fleet.members}
        phase = Phase(name, time.monotonic() - begun, passed.received / count, passed.sent / count,
                      [_request(line, wall) for line in self._fleet.server.audit()[seen:]],
                      sum(number for ip, number in fleet_network.connections().items() if ip in ips) / count,
                      self._fleet.watches() / count)
        self.phases.append(phase)
        return phase


def received_at(line):
    """When the API server received the request of this line of its audit log, in seconds since 1970."""
    received = datetime.datetime.strptime(line["requestReceivedTimestamp"], FORMAT)
    return received.replace(tzinfo=datetime.timezone.utc).timestamp()


def _request(line, wall):
    return Request(line["sourceIPs"][0], received_at(line) - wall, line["verb"], line["requestURI"])
