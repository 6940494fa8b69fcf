# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Health check node ports, asked from the outside client."""

import http.client
import json

from . import addresses as a
from . import netns_http, pace

FIRST_PORT = 24000  # below the ports that the kernel gives to a proxy that asks for any
# The listener is opened after the rules are written; the barrier only proves the rules.
PATIENCE = 10  # seconds


def port_for(service):
    return FIRST_PORT + service.number


def block_by_foreign_rule(trial, port):
    """A rule of the host's own firewall that closes a port unless the proxy opens it earlier."""
    tool = trial.topology.tools.program(trial.family)
    rule = ["INPUT", "-p", "tcp", "--dport", str(port), "-j", "DROP"]

    def change(how):
        # The old iptables fails if the daemon, which has another lock file, writes at the same time.
        done = pace.wait_until(lambda: trial.topology.run("node", tool, "-w", how, *rule, check=False).returncode == 0, PATIENCE)
        trial.require(done, f"{tool} {how} {' '.join(rule)} fails each time")

    change("-A")
    trial.defer(lambda: change("-D"))


def answer_of(trial, port):
    """(status, document) of the health port as the outside client sees it; None when it is closed."""
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
    """Whether a SYN to the port gets any answer: a listener's or the kernel's refusal, but not silence."""
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
