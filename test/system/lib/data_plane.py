# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots of everything that depends on the configuration: rules, sets, listening ports, sysctls, the running configuration.
Two snapshots of an unchanged system are equal."""

import collections
import json
import re

from . import addresses as a
from . import artifacts, foreign, observed

SET_BY_DEFAULT = ("net/netfilter/nf_conntrack_tcp_timeout_established", "net/netfilter/nf_conntrack_tcp_timeout_close_wait",
                  "net/ipv4/conf/all/route_localnet")
# A configuration without these settings leaves the current values unchanged.
LEFT_AS_THEY_ARE = ("net/netfilter/nf_conntrack_max", "net/netfilter/nf_conntrack_tcp_be_liberal",
                    "net/netfilter/nf_conntrack_udp_timeout", "net/netfilter/nf_conntrack_udp_timeout_stream")
# The kernel lists the elements of a set in hash order.
ELEMENTS = re.compile(r"elements = \{([^}]*)\}")


def exact(t, daemon):
    """Name → lines, including rule handles, which change if a rule is written again."""
    # Lowering the score again may need a capability.
    with open(f"/proc/{daemon.pid}/oom_score_adj", encoding="ascii") as file:
        score = file.read().strip()
    return {**meaning(t, daemon), "handles": foreign.ruleset(t.topology).splitlines(), "OOM score": [score],
            "other sysctls": _kernel(t, LEFT_AS_THEY_ARE)}


def meaning(t, daemon):
    """The same without handles, which differ after each write, and without settings that cannot be reverted."""
    run = t.topology.run
    # The configuration contains the metrics address: without an answer there, it is different.
    running = observed.ask(t, observed.url("127.0.0.1", observed.METRICS_PORT, "/configz"))
    return {
        **{f"rules of {family}": _by_chain(foreign.saved(t.topology, family)) for family in a.FAMILIES},
        "tables": _tables(run("node", "nft", "--stateless", "list", "ruleset").stdout),
        "sets": sorted(run("node", "ipset", "save").stdout.splitlines()),
        "listening ports": sorted(artifacts.listening_ports(daemon.pid)),
        "sysctls": _kernel(t, SET_BY_DEFAULT),
        "configuration": json.dumps(running.json(), indent=1).splitlines() if running.status == 200 else [str(running.status)],
        "backend": [(daemon.status() or {}).get("plugin", {}).get("id")],
    }


def difference(before, after):
    """The differences in one line; empty if there are none."""
    return "; ".join(f"{name}: {foreign.difference(_text(before[name]), _text(after[name]))[:300]}"
                     for name in before if before[name] != after[name])


def _kernel(t, names):
    return t.topology.run("node", "sh", "-c", f"cd /proc/sys; grep -H . {' '.join(names)}").stdout.splitlines()


def _text(lines):
    return "\n".join(map(str, lines))


def _by_chain(lines):
    """Chains sorted by name, each with its rules in order."""
    chains, table = collections.defaultdict(list), ""
    for line in lines:
        if line.startswith("*"):
            table = line
        elif line != "COMMIT":
            chains[table, line.lstrip(":").removeprefix("-A ").split()[0]].append(line)
    return [f"{table} {line}" for (table, _), rules in sorted(chains.items()) for line in rules]


def _tables(text):
    """The tables that do not belong to iptables-nft, whose listing by nft varies."""
    tables = re.split(r"(?m)^(?=table )", text)
    own = [one for one in tables if one and not any(one.startswith(f"table {name} {{") for name in artifacts.SHARED_TABLES)]
    return [line for one in sorted(own) for line in _sorted_parts(ELEMENTS.sub(_sorted_elements, one))]


def _sorted_parts(table):
    """Sorts chains and sets by name, because nft lists recreated ones last."""
    head, *parts = re.split(r"(?m)^\t(?=[a-z]+ \S+ \{$)", table)
    return [line for part in (head, *sorted(parts)) for line in part.strip().splitlines() if line not in ("", "}")]


def _sorted_elements(found):
    return "elements = {" + ", ".join(sorted(" ".join(one.split()) for one in found.group(1).split(","))) + "}"
