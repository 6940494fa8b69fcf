# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP requests to the daemon, sent with curl from the test network."""

import dataclasses
import json
import time

from . import addresses as a
from . import pace

HEALTH_PORT = 10256
METRICS_PORT = 10249


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int  # 0: no response
    headers: dict  # names in lower case
    body: str

    def json(self):
        return json.loads(self.body)


NO_ANSWER = Answer(0, {}, "")


def ask(trial, url, *options, place="node"):
    """The response to curl, which does not follow redirects."""
    done = trial.topology.run(place, "curl", "-sgi", "--noproxy", "*", "--max-time", f"{pace.stretched(10):.0f}", *options, url, check=False)
    if done.returncode != 0:
        return NO_ANSWER
    head, _, body = done.stdout.replace("\r\n", "\n").partition("\n\n")
    first, *rest = head.split("\n")
    pairs = [line.partition(": ") for line in rest]
    return Answer(int(first.split()[1]), {name.lower(): value for name, _, value in pairs}, body)


def health(trial, path="/healthz", *options, family=None, place=a.EXT.place):
    """Requests a health path from the outside client at the node address."""
    return ask(trial, url(a.NODE.ip(family or trial.family), HEALTH_PORT, path), *options, place=place)


def metrics(trial, path="/metrics", *options, family=a.V4):
    """Requests a metrics path from the node itself at its loopback address."""
    return ask(trial, url(a.LOOPBACK[family], METRICS_PORT, path), *options)


def url(ip, port, path):
    return f"http://{f'[{ip}]' if ':' in ip else ip}:{port}{path}"


def wait_status(trial, status, path="/healthz", seconds=15):
    """The first response with that status, and its time on the monotonic clock."""
    answer = trial.wait_until(lambda: (got := health(trial, path)).status == status and got,
                              f"{path} answers {status}", seconds)
    return answer or NO_ANSWER, time.monotonic()
