# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""All that a configuration decides, as it is on the node and in the daemon: rules, sets, addresses that are listened on, settings of
the kernel, the configuration in force. Two looks at the same are equal."""

import collections
import json
import re

from . import addresses as a
from . import artifacts, foreign, observed

SET_BY_DEFAULT = ("net/netfilter/nf_conntrack_tcp_timeout_established", "net/netfilter/nf_conntrack_tcp_timeout_close_wait",
                  "net/ipv4/conf/all/route_localnet")
# Who says nothing of these leaves them as they are, whoever set them before.
LEFT_AS_THEY_ARE = ("net/netfilter/nf_conntrack_max", "net/netfilter/nf_conntrack_tcp_be_liberal",
                    "net/netfilter/nf_conntrack_udp_timeout", "net/netfilter/nf_conntrack_udp_timeout_stream")
# A set's elements come in the order of the kernel's hash.
ELEMENTS = re.compile(r"elements = \{([^}]*)\}")


def exact(t, daemon):
    """Name → lines, down to the handles of rules: a rule that is written again is another one."""
    # Raised, the score may need a capability to be lowered.
    with open(f"/proc/{daemon.pid}/oom_score_adj", encoding="ascii") as file:
        score = file.read().strip()
    return {**meaning(t, daemon), "handles": foreign.ruleset(t.topology).splitlines(), "OOM score": [score],
            "other settings of the kernel": _kernel(t, LEFT_AS_THEY_ARE)}


def meaning(t, daemon):
    """The same without what is new each time that the same is written, or cannot be taken back."""
    run = t.topology.run
    # Its address is in the configuration; where nobody answers, there it is not.
    in_force = observed.ask(t, observed.url("127.0.0.1", observed.METRICS_PORT, "/configz"))
    return {
        **{f"rules of {family}": _by_chain(foreign.saved(t.topology, family)) for family in a.FAMILIES},
        "tables": _tables(run("node", "nft", "--stateless", "list", "ruleset").stdout),
        "sets": sorted(run("node", "ipset", "save").stdout.splitlines()),
        "ports that are listened on": sorted(artifacts.listening_ports(daemon.pid)),
        "settings of the kernel": _kernel(t, SET_BY_DEFAULT),
        "configuration": json.dumps(in_force.json(), indent=1).splitlines() if in_force.status == 200 else [str(in_force.status)],
        "backend": [(daemon.status() or {}).get("plugin", {}).get("id")],
    }


def difference(before, after):
    """What differs, in a line; empty when nothing does."""
    return "; ".join(f"{name}: {foreign.difference(_text(before[name]), _text(after[name]))[:300]}"
                     for name in before if before[name] != after[name])


def _kernel(t, names):
    return t.topology.run("node", "sh", "-c", f"cd /proc/sys; grep -H . {' '.join(names)}").stdout.splitlines()


def _text(lines):
    return "\n".join(map(str, lines))


def _by_chain(lines):
    """Chains sorted, the rules of each in their order."""
    chains, table = collections.defaultdict(list), ""
    for line in lines:
        if line.startswith("*"):
            table = line
        elif line != "COMMIT":
            chains[table, line.lstrip(":").removeprefix("-A ").split()[0]].append(line)
    return [f"{table} {line}" for (table, _), rules in sorted(chains.items()) for line in rules]


def _tables(text):
    """The tables that are not of iptables: what nft prints of those is not always the same."""
    tables = re.split(r"(?m)^(?=table )", text)
    own = [one for one in tables if one and not any(one.startswith(f"table {name} {{") for name in artifacts.NOBODYS_TABLES)]
    return [line for one in sorted(own) for line in _sorted_parts(ELEMENTS.sub(_sorted_elements, one))]


def _sorted_parts(table):
    """Its chains and sets by name: those that were made again come last."""
    head, *parts = re.split(r"(?m)^\t(?=[a-z]+ \S+ \{$)", table)
    return [line for part in (head, *sorted(parts)) for line in part.strip().splitlines() if line not in ("", "}")]


def _sorted_elements(found):
    return "elements = {" + ", ".join(sorted(" ".join(one.split()) for one in found.group(1).split(","))) + "}"
