# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Rules that belong to somebody else, and proof that nobody touched them."""

import re

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
    "nft": """table inet somebody_else {
  set blocked { type ipv4_addr; elements = { 198.51.100.1, 198.51.100.2 } }
  chain input { type filter hook input priority 5; policy accept; ip saddr @blocked drop; }
}
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
    topology.run("node", "nft", "delete", "table", "inet", "somebody_else")


def picture(topology):
    """The foreign rules as the kernel holds them, handles included: rewriting one would change its handle."""
    text = topology.run("node", "nft", "--handle", "list", "ruleset").stdout
    lines, inside = [], False
    for line in text.splitlines():
        if re.match(r"\s*chain FOREIGN-", line) or line.startswith("table inet somebody_else"):
            inside = True
        if inside or "FOREIGN-" in line:
            # Counters move with traffic; the rule stays the same rule.
            lines.append(re.sub(r"counter packets \d+ bytes \d+", "counter", line))
        if inside and line in ("\t}", "}"):
            inside = False
    return "\n".join(lines)


def ruleset(topology):
    """Every rule with its handle, without the counters."""
    text = topology.run("node", "nft", "--handle", "list", "ruleset").stdout
    return re.sub(r"counter packets \d+ bytes \d+", "counter", text)
