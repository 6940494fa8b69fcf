# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Leftover state of a previous kube-proxy, created with the same programs and in the same form."""

from . import addresses as a

SERVICE_HASH = "XPGD46QRK7WJZT7O"
ENDPOINT_HASH = "SXIVWICOYRO3J4NJ"

_CANARIES = ":KUBE-PROXY-CANARY - [0:0]\n"
_PORTALS = '-m comment --comment "kubernetes service portals" -j KUBE-SERVICES'
_NEW = "-m conntrack --ctstate NEW "
_MASQUERADE = """-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0
-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
"""
_SERVICE_IP = {a.V4: "172.30.255.41", a.V6: "fd00:172:30::ff41"}
_ENDPOINT = {a.V4: "10.180.0.77", a.V6: "fd00:10:0:180::77"}

# The link of ipvs mode. Any type of link will do, and the kernel may lack dummy links.
LINK = "kube-ipvs0"
_SETS = {"KUBE-CLUSTER-IP": "hash:ip,port", "KUBE-LOOP-BACK": "hash:ip,port,ip", "KUBE-LOAD-BALANCER": "hash:ip,port",
         "KUBE-NODE-PORT-TCP": "bitmap:port range 0-65535"}
FOREIGN_SET = "KUBE-FOREIGN"

# Chains of kubelet, and a foreign rule, which must not change.
KUBELET = """*mangle
:KUBE-IPTABLES-HINT - [0:0]
:KUBE-KUBELET-CANARY - [0:0]
COMMIT
*nat
:KUBE-KUBELET-CANARY - [0:0]
:KUBE-MARK-DROP - [0:0]
-A KUBE-MARK-DROP -j MARK --set-xmark 0x8000/0x8000
COMMIT
*filter
:KUBE-FIREWALL - [0:0]
-A INPUT -j KUBE-FIREWALL
-A KUBE-FIREWALL -m comment --comment "kubernetes firewall for dropping marked packets" -m mark --mark 0x8000/0x8000 -j DROP
COMMIT
"""


def iptables_mode(family):
    """Includes a chain from before 1.25, and the jump for all packets from before 1.9."""
    ip, endpoint = _SERVICE_IP[family], _ENDPOINT[family]
    return f"""*mangle
{_CANARIES}COMMIT
*filter
{_CANARIES}:KUBE-SERVICES - [0:0]
:KUBE-EXTERNAL-SERVICES - [0:0]
:KUBE-FORWARD - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-PROXY-FIREWALL - [0:0]
-A INPUT {_NEW}-m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES
-A INPUT -m comment --comment "kubernetes health check service ports" -j KUBE-NODEPORTS
-A INPUT {_PORTALS}
-A FORWARD {_NEW}{_PORTALS}
-A OUTPUT {_NEW}{_PORTALS}
-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
-A FORWARD {_NEW}-m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL
-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT
COMMIT
*nat
{_CANARIES}:KUBE-SERVICES - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-POSTROUTING - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-SVC-{SERVICE_HASH} - [0:0]
:KUBE-XLB-{SERVICE_HASH} - [0:0]
:KUBE-SEP-{ENDPOINT_HASH} - [0:0]
-A PREROUTING {_PORTALS}
-A OUTPUT {_PORTALS}
-A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
{_MASQUERADE}-A KUBE-SERVICES -d {ip} -p tcp -m tcp --dport 80 -j KUBE-SVC-{SERVICE_HASH}
-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
-A KUBE-NODEPORTS -p tcp -m tcp --dport 32767 -j KUBE-XLB-{SERVICE_HASH}
-A KUBE-XLB-{SERVICE_HASH} -j KUBE-MARK-DROP
-A KUBE-SVC-{SERVICE_HASH} -j KUBE-SEP-{ENDPOINT_HASH}
-A KUBE-SEP-{ENDPOINT_HASH} -s {endpoint} -j KUBE-MARK-MASQ
-A KUBE-SEP-{ENDPOINT_HASH} -p tcp -m tcp -j DNAT --to-destination {f"[{endpoint}]" if family == a.V6 else endpoint}:80
COMMIT
"""


def ipvs_mode(family):
    """The rules of ipvs mode without those of KUBE-SERVICES; `make_ipvs` must create the sets first."""
    sets = {name: _set_name(name, family) for name in _SETS}
    return f"""*filter
:KUBE-FORWARD - [0:0]
:KUBE-NODE-PORT - [0:0]
:KUBE-PROXY-FIREWALL - [0:0]
:KUBE-SOURCE-RANGES-FIREWALL - [0:0]
:KUBE-IPVS-FILTER - [0:0]
:KUBE-IPVS-OUT-FILTER - [0:0]
-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
-A INPUT -m comment --comment "kubernetes health check rules" -j KUBE-NODE-PORT
-A INPUT -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL
-A FORWARD -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL
-A INPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER
-A OUTPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-OUT-FILTER
-A KUBE-SOURCE-RANGES-FIREWALL -j DROP
-A KUBE-IPVS-FILTER -m set --match-set {sets["KUBE-CLUSTER-IP"]} dst,dst -j RETURN
COMMIT
*nat
:KUBE-LOAD-BALANCER - [0:0]
:KUBE-NODE-PORT - [0:0]
:KUBE-MARK-MASQ - [0:0]
-A KUBE-NODE-PORT -p tcp -m set --match-set {sets["KUBE-NODE-PORT-TCP"]} dst -j KUBE-MARK-MASQ
-A KUBE-LOAD-BALANCER -m set --match-set {sets["KUBE-LOAD-BALANCER"]} dst,dst -j RETURN
-A KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ
COMMIT
"""


USERSPACE_MODE = """*nat
:KUBE-PORTALS-CONTAINER - [0:0]
:KUBE-PORTALS-HOST - [0:0]
:KUBE-NODEPORT-CONTAINER - [0:0]
:KUBE-NODEPORT-HOST - [0:0]
-A PREROUTING -m comment --comment "handle ClusterIPs; NOTE: this must be before the NodePort rules" -j KUBE-PORTALS-CONTAINER
-A OUTPUT -m comment --comment "handle ClusterIPs; NOTE: this must be before the NodePort rules" -j KUBE-PORTALS-HOST
-A PREROUTING -m addrtype --dst-type LOCAL -m comment --comment "handle service NodePorts; NOTE: this must be the last rule in the chain" -j KUBE-NODEPORT-CONTAINER
-A OUTPUT -m addrtype --dst-type LOCAL -m comment --comment "handle service NodePorts; NOTE: this must be the last rule in the chain" -j KUBE-NODEPORT-HOST
-A KUBE-PORTALS-CONTAINER -d 172.30.255.41/32 -p tcp -m comment --comment old -m tcp --dport 80 -j REDIRECT --to-ports 40001
COMMIT
*filter
:KUBE-NODEPORT-NON-LOCAL - [0:0]
-A INPUT -m comment --comment "Ensure that non-local NodePort traffic can flow" -j KUBE-NODEPORT-NON-LOCAL
COMMIT
"""


def nftables_mode(family, ip, port, endpoints):
    """The table of kube-proxy's nftables mode with one Service: its chains, maps and priorities."""
    ipx = "ip" if family == a.V4 else "ip6"
    addr = "ipv4_addr" if family == a.V4 else "ipv6_addr"
    choices = ", ".join(f"{number} : {host} . 80" for number, host in enumerate(endpoints))
    service = "service-ULMVA6XW-ns1/svc1/tcp/p80"
    return f"""table {ipx} kube-proxy {{
  comment "rules for kube-proxy"
  set cluster-ips {{ type {addr}; comment "Active ClusterIPs"; elements = {{ {ip} }} }}
  map service-ips {{
    type {addr} . inet_proto . inet_service : verdict
    elements = {{ {ip} . tcp . {port} : goto {service} }}
  }}
  chain {service} {{
    meta l4proto tcp dnat {ipx} addr . port to numgen random mod {len(endpoints)} map {{ {choices} }}
  }}
  chain services {{ {ipx} daddr . meta l4proto . th dport vmap @service-ips; }}
  chain masquerading {{ mark and 0x4000 != 0 mark set mark xor 0x4000 masquerade fully-random; }}
  chain cluster-ips-check {{ {ipx} daddr @cluster-ips reject; }}
  chain filter-forward {{ type filter hook forward priority 0; ct state new jump cluster-ips-check; }}
  chain filter-output {{ type filter hook output priority 0; ct state new jump cluster-ips-check; }}
  chain nat-prerouting {{ type nat hook prerouting priority -100; jump services; }}
  chain nat-output {{ type nat hook output priority -100; jump services; }}
  chain nat-postrouting {{ type nat hook postrouting priority 100; jump masquerading; }}
}}
"""


def restore(topology, family, text, variant=None):
    """Adds the rules with iptables-restore of that family, in the variant under test or in another one."""
    tool = topology.tools.program(family, "-restore")
    if variant:
        tool = tool.replace(topology.variant, variant)
    topology.run("node", tool, "-w", "--noflush", stdin=text)


def make_ipvs(topology):
    """Creates sets with a few entries, and the link with an address, before the rules of each family."""
    lines = [f"create {FOREIGN_SET} hash:ip"]
    for family, word in ((a.V4, "inet"), (a.V6, "inet6")):
        for name, kind in _SETS.items():
            lines.append(f"create {_set_name(name, family)} {kind}" +
                         ("" if kind.startswith("bitmap") else f" family {word}"))
        lines.append(f"add {_set_name('KUBE-CLUSTER-IP', family)} {_SERVICE_IP[family]},tcp:80")
        lines.append(f"add {_set_name('KUBE-NODE-PORT-TCP', family)} 30001")
    topology.run("node", "ipset", "restore", stdin="\n".join(lines) + "\n")
    topology.run("node", "ip", "link", "add", LINK, "type", "bridge")
    topology.run("node", "ip", "address", "add", _SERVICE_IP[a.V4] + "/32", "dev", LINK)


def sets(topology):
    return topology.run("node", "ipset", "list", "-n").stdout.split()


def tables(topology):
    """ "ip kube-proxy", … """
    return [line.removeprefix("table ") for line in topology.run("node", "nft", "list", "tables").stdout.splitlines()]


def has_link(topology, name=LINK):
    return topology.run("node", "ip", "link", "show", "dev", name, check=False).returncode == 0


def _set_name(name, family):
    return name if family == a.V4 else name.replace("KUBE-", "KUBE-6-", 1)
