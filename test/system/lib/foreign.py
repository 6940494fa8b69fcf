# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of other programs, and dumps which show that they are unchanged."""

import difflib
import re

from . import addresses as a

FOREIGN_TABLE = "foreign_table"
RULES = {
    a.V4: """*filter
:FOREIGN-FILTER - [0:0]
-A INPUT -s 198.51.100.0/24 -m comment --comment "foreign rule" -j FOREIGN-FILTER
-A FORWARD -s 198.51.100.0/24 -j FOREIGN-FILTER
-A FOREIGN-FILTER -p tcp -m tcp --dport 9999 -j DROP
COMMIT
*nat
:FOREIGN-NAT - [0:0]
-A PREROUTING -d 198.51.100.7/32 -j FOREIGN-NAT
-A FOREIGN-NAT -p tcp -m tcp --dport 8080 -j DNAT --to-destination 198.51.100.8:80
COMMIT
*mangle
:FOREIGN-MANGLE - [0:0]
-A PREROUTING -s 198.51.100.0/24 -j FOREIGN-MANGLE
-A FOREIGN-MANGLE -j MARK --set-xmark 0x77/0xff
COMMIT
""",
    a.V6: """*filter
:FOREIGN-FILTER - [0:0]
-A INPUT -s 2001:db8:99::/48 -j FOREIGN-FILTER
-A FOREIGN-FILTER -p udp -m udp --dport 9999 -j DROP
COMMIT
*nat
:FOREIGN-NAT - [0:0]
-A PREROUTING -d 2001:db8:99::7/128 -j FOREIGN-NAT
COMMIT
""",
}
NFT_RULES = f"""table inet {FOREIGN_TABLE} {{
  set blocked {{ type ipv4_addr; elements = {{ 198.51.100.1, 198.51.100.2 }} }}
  chain input {{ type filter hook input priority 5; policy accept; ip saddr @blocked drop; }}
}}
"""


def add(topology):
    for family, text in RULES.items():
        topology.run("node", topology.tools.program(family, "-restore"), "--noflush", stdin=text)
    topology.run("node", "nft", "-f", "-", stdin=NFT_RULES)


def remove(topology):
    for family, text in RULES.items():
        tool = topology.tools.program(family)
        for line in text.splitlines():
            if line.startswith("*"):
                table = line[1:]
            elif line.startswith("-A ") and not line.startswith("-A FOREIGN"):
                chain, rest = line[3:].split(" ", 1)
                topology.run("node", "sh", "-c", f"{tool} -w -t {table} -D {chain} {rest}")
        for table in re.findall(r"^\*(\w+)", text, re.M):
            chain = f"FOREIGN-{table.upper()}"
            topology.run("node", tool, "-w", "-t", table, "-F", chain)
            topology.run("node", tool, "-w", "-t", table, "-X", chain)
    topology.run("node", "nft", "delete", "table", "inet", FOREIGN_TABLE)


def dump(topology):
    """The foreign rules in the kernel, including handles, which change if a rule is rewritten."""
    return "\n".join(_saved(topology, "FOREIGN-") + _handles(topology, "FOREIGN-") + [_inet_table(topology)])


def ruleset(topology):
    """All rules with their handles, without counters."""
    return "\n".join(_saved(topology, "") + _handles(topology, "") + [_inet_table(topology)])


def difference(before, after):
    """The lines that differ, each with its sign; empty if there are none."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))
    return " | ".join(line.strip() for line in lines[2:])


def saved(topology, family, table=None):
    """The lines of iptables-save, without comments and counters."""
    only = ["-t", table] if table else []
    text = topology.run("node", topology.tools.program(family, "-save"), *only).stdout
    return [re.sub(r" \[\d+:\d+\]$", "", line) for line in text.splitlines() if not line.startswith("#")]


def _saved(topology, word):
    """The lines of iptables-save that contain the word. `nft list` is unusable for rules of iptables: it prints the same
    rule sometimes with and sometimes without its target."""
    return [line for family in a.FAMILIES for line in saved(topology, family) if word in line]


def _handles(topology, word):
    """The rule handles of each chain, for chains and rules that contain the word. Rules of iptables-legacy have no
    handles."""
    lines, chain = [], ""
    for line in topology.run("node", "nft", "--handle", "list", "ruleset").stdout.splitlines():
        found = re.search(r"# handle \d+$", line)
        if re.match(r"\s*(table|chain) ", line):
            chain = line.strip()
        if found and (word in line or word in chain):
            lines.append(f"{chain}: {found.group()}")
    return lines


def _inet_table(topology):
    return topology.run("node", "nft", "--handle", "list", "table", "inet", FOREIGN_TABLE, check=False).stdout
