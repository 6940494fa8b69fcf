# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""State of other programs on the node, of every kind that `nft` and `ip` can create. A backend must not change it."""

NFT = """table inet foreign_table {
  set blocked { type ipv4_addr; elements = { 198.51.100.1, 198.51.100.2 } }
  chain input { type filter hook input priority 5; policy accept; ip saddr @blocked drop; }
}
table ip foreign_nat {
  chain dstnat { type nat hook prerouting priority dstnat - 5; ip daddr 198.51.100.7 tcp dport 8080 dnat to 198.51.100.8:80; }
}
table ip6 foreign_filter {
  map ports { type inet_service : verdict; elements = { 9999 : drop } }
  chain forward { type filter hook forward priority 5; ip6 saddr 2001:db8:99::/48 udp dport vmap @ports; }
}
"""
TABLES = ("inet foreign_table", "ip foreign_nat", "ip6 foreign_filter")
LINK = "foreign0"
IP = f"""link add name {LINK} type bridge
link set {LINK} up
addr add 198.51.100.77/24 dev {LINK}
addr add 2001:db8:99::77/64 dev {LINK} nodad
route add 198.51.101.0/24 via 198.51.100.78
route add 198.51.102.0/24 via 198.51.100.78 table 177
rule add from 198.51.100.0/24 lookup 177 priority 1777
"""


def create(t):
    """Creates the state; it is removed at the end of the case."""
    t.topology.run("node", "nft", "-f", "-", stdin=NFT)
    t.topology.run("node", "ip", "-batch", "-", stdin=IP)
    t.defer(lambda: remove(t))


def remove(t):
    for table in TABLES:
        t.topology.run("node", "nft", "delete", "table", *table.split(), check=False)
    t.topology.run("node", "ip", "-force", "-batch", "-", check=False,
                   stdin=f"rule del priority 1777\nroute flush table 177\nlink del {LINK}\n")


def dump(t):
    """The foreign state, including handles, which change if an object is written again."""
    lines = []
    for table in TABLES:
        done = t.topology.run("node", "nft", "--handle", "--stateless", "list", "table", *table.split(), check=False)
        lines.append(done.stdout or f"there is no table {table}")
    for words in (("link", "show", "dev", LINK), ("address", "show", "dev", LINK), ("rule",),
                  ("route", "show", "table", "177"), ("route", "show", "198.51.101.0/24")):
        lines.append(t.topology.run("node", "ip", *words, check=False).stdout or f"ip {' '.join(words)} shows nothing")
    return "\n".join(lines)
