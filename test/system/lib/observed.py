# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP requests to the daemon, sent from the test network."""

import dataclasses
import http.client
import json
import socket
import time
import urllib.parse

from . import addresses as a
from . import netns_http, pace

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


def ask(trial, url, method="GET", headers=None, body=None, place="node"):
    """The response to a request from that place, without redirects; NO_ANSWER if there is none, or not a complete and valid one."""
    topology, limit = trial.topology, pace.stretched(10)
    return netns_http.made_in(topology.namespace(place), lambda: exchange(url, method, headers, body, limit))


def health(trial, path="/healthz", method="GET", family=None, place=a.EXT.place):
    """Requests a health path from the outside client at the node address."""
    return ask(trial, url(a.NODE.ip(family or trial.family), HEALTH_PORT, path), method, place=place)


def metrics(trial, path="/metrics", method="GET", headers=None, body=None, family=a.V4):
    """Requests a metrics path from the node itself at its loopback address."""
    return ask(trial, url(a.LOOPBACK[family], METRICS_PORT, path), method, headers, body)


def set_verbosity(trial, level):
    """Requests another verbosity as docs/reference/paths.md says."""
    return metrics(trial, "/debug/flags/v", "PUT", {"Content-Type": "application/x-www-form-urlencoded"}, level)


def url(ip, port, path):
    return f"http://{f'[{ip}]' if ':' in ip else ip}:{port}{path}"


def wait_status(trial, status, path="/healthz", seconds=15):
    """The first response with that status, and its time on the monotonic clock."""
    answer = trial.wait_until(lambda: (got := health(trial, path)).status == status and got,
                              f"{path} answers {status}", seconds)
    return answer or NO_ANSWER, time.monotonic()


class _Limited(socket.socket):
    """A socket that receives until a time on the monotonic clock, however many parts arrive."""

    def __init__(self, connected, end):
        super().__init__(fileno=connected.detach())
        self._end = end

    def recv_into(self, *words):
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer is not complete in time")
        self.settimeout(left)
        return super().recv_into(*words)


def exchange(url, method="GET", headers=None, body=None, limit=10):
    """Like ask() from this thread's network namespace, within `limit` seconds in total."""
    end = time.monotonic() + limit
    to = urllib.parse.urlsplit(url)
    content = body and body.encode()
    sent = {"Accept": "*/*", **(headers or {}), **({"Content-Length": len(content)} if content else {})}
    connection = http.client.HTTPConnection(to.hostname, to.port, timeout=limit)
    try:
        connection.connect()
        connection.sock = _Limited(connection.sock, end)
        connection.putrequest(method, to._replace(scheme="", netloc="").geturl(), skip_accept_encoding=True)
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders(content)
        answer = connection.getresponse()
        received = answer.read()
    except (OSError, http.client.HTTPException):
        return NO_ANSWER
    finally:
        connection.close()
    # The library ignores an invalid length, and the headers after an invalid line.
    if answer.msg.defects or not answer.headers.get("content-length", "0").isdecimal():
        return NO_ANSWER
    return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, received.decode())
