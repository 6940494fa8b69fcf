# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Rules that belong to somebody else, and proof that nobody touched them."""

import difflib
import re

OWN_TABLE = "somebody_else"
RULES = {
    "iptables-nft": """*filter
:FOREIGN-FILTER - [0:0]
-A INPUT -s 198.51.100.0/24 -m comment --comment "somebody else's" -j FOREIGN-FILTER
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
    "ip6tables-nft": """*filter
:FOREIGN-FILTER - [0:0]
-A INPUT -s 2001:db8:99::/48 -j FOREIGN-FILTER
-A FOREIGN-FILTER -p udp -m udp --dport 9999 -j DROP
COMMIT
*nat
:FOREIGN-NAT - [0:0]
-A PREROUTING -d 2001:db8:99::7/128 -j FOREIGN-NAT
COMMIT
""",
    "nft": f"""table inet {OWN_TABLE} {{
  set blocked {{ type ipv4_addr; elements = {{ 198.51.100.1, 198.51.100.2 }} }}
  chain input {{ type filter hook input priority 5; policy accept; ip saddr @blocked drop; }}
}}
""",
}


def add(topology):
    for tool in ("iptables-nft", "ip6tables-nft"):
        topology.run("node", f"{tool}-restore", "--noflush", stdin=RULES[tool])
    topology.run("node", "nft", "-f", "-", stdin=RULES["nft"])


def remove(topology):
    for tool in ("iptables-nft", "ip6tables-nft"):
        for line in RULES[tool].splitlines():
            if line.startswith("*"):
                table = line[1:]
            elif line.startswith("-A ") and not line.startswith("-A FOREIGN"):
                chain, rest = line[3:].split(" ", 1)
                topology.run("node", "sh", "-c", f"{tool} -w -t {table} -D {chain} {rest}")
        for table in re.findall(r"^\*(\w+)", RULES[tool], re.M):
            chain = f"FOREIGN-{table.upper()}"
            topology.run("node", tool, "-w", "-t", table, "-F", chain)
            topology.run("node", tool, "-w", "-t", table, "-X", chain)
    topology.run("node", "nft", "delete", "table", "inet", OWN_TABLE)


def picture(topology):
    """The foreign rules as the kernel holds them, handles included: rewriting one would change its handle."""
    return "\n".join(_saved(topology, "FOREIGN-") + _handles(topology, "FOREIGN-") + [_inet_table(topology)])


def ruleset(topology):
    """Every rule with its handle, without the counters."""
    return "\n".join(_saved(topology, "") + _handles(topology, "") + [_inet_table(topology)])


def difference(before, after):
    """The lines that differ, each with its sign; empty when nothing does."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))
    return " | ".join(line.strip() for line in lines[2:])


def _saved(topology, word):
    """The lines of iptables-save that hold the word. The text of `nft list` will not do for rules that iptables
    made: nft prints the same rule now with its target, now without."""
    lines = []
    for tool in ("iptables-nft", "ip6tables-nft"):
        for line in topology.run("node", f"{tool}-save").stdout.splitlines():
            if word in line and not line.startswith("#"):
                lines.append(re.sub(r" \[\d+:\d+\]$", "", line))
    return lines


def _handles(topology, word):
    """Chain by chain the handles of its rules, for the chains and the rules that hold the word."""
    lines, chain = [], ""
    for line in topology.run("node", "nft", "--handle", "list", "ruleset").stdout.splitlines():
        found = re.search(r"# handle \d+$", line)
        if re.match(r"\s*(table|chain) ", line):
            chain = line.strip()
        if found and (word in line or word in chain):
            lines.append(f"{chain}: {found.group()}")
    return lines


def _inet_table(topology):
    return topology.run("node", "nft", "--handle", "list", "table", "inet", OWN_TABLE, check=False).stdout
