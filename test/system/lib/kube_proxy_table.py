# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The table that kube-proxy leaves in nftables mode, as text for nft: every kind of chain, set and map (BEH 7.2 to 7.6)."""

import base64
import dataclasses
import hashlib

from . import addresses as a

MARK = "0x4000"


@dataclasses.dataclass(frozen=True)
class Port:
    """One service port of kube-proxy."""

    name: str  # ns/name/protocol/port
    ip: str
    port: int
    endpoints: tuple  # addresses; the port is 80
    protocol: str = "tcp"
    node_port: int = 0
    external: str = ""
    ranges: tuple = ()  # source ranges of the external address
    sticky: bool = False

    @property
    def base(self):
        digest = hashlib.sha256(self.name.encode()).digest()
        return base64.b32encode(digest).decode()[:8] + "-" + self.name


def text(family, ports):
    ip = "ip" if family == a.V4 else "ip6"
    addr = "ipv4_addr" if family == a.V4 else "ipv6_addr"
    front = f"{addr} . inet_proto . inet_service"
    loopback = "ip daddr != 127.0.0.0/8" if family == a.V4 else "ip6 daddr != ::1"
    fill = {name: [] for name in ("cluster-ips", "service-ips", "service-nodeports", "hairpin-connections", "no-endpoint-services",
                                  "no-endpoint-nodeports", "firewall-ips")}
    objects = []
    for one in ports:
        _add(one, family, ip, addr, fill, objects)

    def elements(name):
        return f"elements = {{ {', '.join(fill[name])} }}" if fill[name] else ""

    return f"""table {ip} kube-proxy {{
  comment "rules for kube-proxy"
  set cluster-ips {{ type {addr}; comment "Active ClusterIPs"; {elements("cluster-ips")} }}
  set hairpin-connections {{ type {addr} . {addr} . inet_proto . inet_service; comment "service hairpin connections";
    {elements("hairpin-connections")} }}
  {chr(10).join(one for one in objects if one.startswith("set "))}
  chain reject-chain {{ reject comment "helper for @no-endpoint-services / @no-endpoint-nodeports"; }}
  {chr(10).join(one for one in objects if not one.startswith("set "))}
  map service-ips {{ type {front} : verdict; comment "ClusterIP, ExternalIP and LoadBalancer IP traffic"; {elements("service-ips")} }}
  map service-nodeports {{ type inet_proto . inet_service : verdict; comment "NodePort traffic"; {elements("service-nodeports")} }}
  map no-endpoint-services {{ type {front} : verdict; {elements("no-endpoint-services")} }}
  map no-endpoint-nodeports {{ type inet_proto . inet_service : verdict; {elements("no-endpoint-nodeports")} }}
  map firewall-ips {{ type {front} : verdict; {elements("firewall-ips")} }}
  chain services {{
    {ip} daddr @cluster-ips {ip} saddr != {a.CLUSTER_CIDR[family]} mark set mark or {MARK} comment "masquerade clusterIP traffic from outside cluster"
    {ip} daddr . meta l4proto . th dport vmap @service-ips
    fib daddr type local {loopback} meta l4proto . th dport vmap @service-nodeports
  }}
  chain service-endpoints-check {{ {ip} daddr . meta l4proto . th dport vmap @no-endpoint-services; }}
  chain nodeport-endpoints-check {{ fib daddr type local {loopback} meta l4proto . th dport vmap @no-endpoint-nodeports; }}
  chain firewall-check {{ {ip} daddr . meta l4proto . th dport vmap @firewall-ips; }}
  chain cluster-ips-check {{ {ip} daddr @cluster-ips reject comment "Reject traffic to invalid ports of ClusterIPs"; }}
  chain masquerading {{
    mark and {MARK} != 0 mark set mark xor {MARK} masquerade fully-random
    ct status dnat {ip} saddr . {ip} daddr . meta l4proto . th dport @hairpin-connections masquerade fully-random
  }}
  chain filter-prerouting-pre-dnat {{ type filter hook prerouting priority -110; ct state new jump firewall-check; }}
  chain filter-output-pre-dnat {{ type filter hook output priority -110; ct state new jump firewall-check; }}
  chain filter-input {{ type filter hook input priority 0; ct state new jump nodeport-endpoints-check; ct state new jump service-endpoints-check; }}
  chain filter-forward {{ type filter hook forward priority 0; ct state new jump service-endpoints-check; ct state new jump cluster-ips-check; }}
  chain filter-output {{ type filter hook output priority 0; ct state new jump service-endpoints-check; ct state new jump cluster-ips-check; }}
  chain nat-prerouting {{ type nat hook prerouting priority -100; jump services; }}
  chain nat-output {{ type nat hook output priority -100; jump services; }}
  chain nat-postrouting {{ type nat hook postrouting priority 100; jump masquerading; }}
}}
"""


def taking_over(family, ports):
    """The transaction with which kube-proxy takes over an existing table: it recreates base chains and flushes its other chains
    (BEH 7.4). It does not remove unknown objects."""
    whole = text(family, ports)
    ip = "ip" if family == a.V4 else "ip6"
    lines = []
    for line in whole.splitlines():
        words = line.split()
        if words[:1] != ["chain"]:
            continue
        if words[3:4] == ["type"]:
            declared = line[line.index("type"):line.index(";") + 1]
            lines.append(f"add chain {ip} kube-proxy {words[1]} {{ {declared} }}")
            lines.append(f"delete chain {ip} kube-proxy {words[1]}")
    for line in whole.splitlines():
        words = line.split()
        if words[:1] == ["chain"] and words[3:4] != ["type"]:
            lines.append(f"add chain {ip} kube-proxy {words[1]}")
            lines.append(f"flush chain {ip} kube-proxy {words[1]}")
    return f"add table {ip} kube-proxy\n" + "\n".join(lines) + "\n" + whole


def _add(one, family, ip, addr, fill, objects):
    key = f"{one.protocol} . {one.port}"
    if f"{one.ip}" not in fill["cluster-ips"]:
        fill["cluster-ips"].append(one.ip)
    if not one.endpoints:
        fill["no-endpoint-services"].append(f'{one.ip} . {key} comment "{one.name}" : goto reject-chain')
        if one.node_port:
            fill["no-endpoint-nodeports"].append(f'{one.protocol} . {one.node_port} comment "{one.name}" : goto reject-chain')
        return
    count = len(one.endpoints)
    if one.sticky:
        rules = []
        for endpoint in one.endpoints:
            name = f"{one.base}__{endpoint.replace(':', '.')}/80"
            objects.append(f"set affinity-{name} {{ type {addr}; flags dynamic,timeout; timeout 3h; }}")
            objects.append(f"chain endpoint-{name} {{ update @affinity-{name} {{ {ip} saddr }}; "
                           f"meta l4proto {one.protocol} dnat {ip} to {_where(endpoint, 80)}; }}")
            rules.append(f"{ip} saddr @affinity-{name} goto endpoint-{name}")
        targets = ", ".join(f"{at} : goto endpoint-{one.base}__{endpoint.replace(':', '.')}/80"
                            for at, endpoint in enumerate(one.endpoints))
        rules.append(f"numgen random mod {count} vmap {{ {targets} }}")
    else:
        choices = ", ".join(f"{at} : {endpoint} . 80" for at, endpoint in enumerate(one.endpoints))
        rules = [f"meta l4proto {one.protocol} dnat {ip} addr . port to numgen random mod {count} map {{ {choices} }}"]
    objects.append(f"chain service-{one.base} {{ {'; '.join(rules)}; }}")
    fill["service-ips"].append(f"{one.ip} . {key} : goto service-{one.base}")
    fill["hairpin-connections"].append(f"{one.endpoints[0]} . {one.endpoints[0]} . {one.protocol} . 80")
    if one.external or one.node_port:
        objects.append(f'chain external-{one.base} {{ mark set mark or {MARK} comment "masquerade"; goto service-{one.base}; }}')
    if one.external:
        fill["service-ips"].append(f"{one.external} . {key} : goto external-{one.base}")
    if one.node_port:
        fill["service-nodeports"].append(f"{one.protocol} . {one.node_port} : goto external-{one.base}")
    if one.ranges:
        objects.append(f"chain firewall-{one.base} {{ {ip} saddr != {{ {', '.join(one.ranges)} }} drop; }}")
        fill["firewall-ips"].append(f"{one.external} . {key} : goto firewall-{one.base}")


def _where(endpoint, port):
    return f"[{endpoint}]:{port}" if ":" in endpoint else f"{endpoint}:{port}"
