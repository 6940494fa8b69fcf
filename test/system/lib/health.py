# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Requests from the outside client to health check node ports."""

import http.client
import json

from . import addresses as a
from . import netns_http, pace

FIRST_PORT = 24000  # below the range of ephemeral ports that the proxy may use
# The listener is opened after the rules are written, and the barrier waits only for rules.
PATIENCE = 10  # seconds


def port_for(service):
    return FIRST_PORT + service.number


def block_by_foreign_rule(trial, port):
    """Adds a rule of a host firewall that closes a port unless a rule of the proxy accepts it first."""
    tool = trial.topology.tools.program(trial.family)
    rule = ["INPUT", "-p", "tcp", "--dport", str(port), "-j", "DROP"]

    def change(how):
        # iptables-legacy fails if the daemon, which uses another lock file, writes at the same time.
        done = pace.wait_until(lambda: trial.topology.run("node", tool, "-w", how, *rule, check=False).returncode == 0, PATIENCE)
        trial.require(done, f"{tool} {how} {' '.join(rule)} fails repeatedly")

    change("-A")
    trial.defer(lambda: change("-D"))


def answer_of(trial, port):
    """(status, document) of the health port for the outside client; None if the port is closed."""
    place = trial.topology.namespace(a.EXT.place)
    connection = netns_http.NamespaceConnection(place, a.NODE.ip(trial.family), port)
    connection.timeout = pace.stretched(1)
    try:
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def let_through(trial, port):
    """Whether a SYN to the port is answered with SYN-ACK or RST."""
    place = trial.topology.namespace(a.EXT.place)
    try:
        netns_http.connect_in(place, (a.NODE.ip(trial.family), port), timeout=pace.stretched(0.5)).close()
    except ConnectionRefusedError:
        return True
    except TimeoutError:
        return False
    return True


def expect(trial, port, status):
    """Requires that status, and returns the document that came with it."""
    answer = None

    def answered():
        nonlocal answer
        answer = answer_of(trial, port)
        return answer and answer[0] == status

    if pace.wait_until(answered, PATIENCE):
        return answer[1]
    trial.require(False, f"health port {port}: expected status {status}, got {answer}")
    return {}
