# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Services → one iptables-restore text per family, rule for rule as in the behaviour reference."""

import base64
import hashlib
import ipaddress
import os

import endpoints as ep

MISBEHAVIOUR = os.environ.get("SLUICE_STANDIN_MISBEHAVE", "")  # see standin.py
MARK = "0x00004000/0x00004000"
NODE_PORT_COMMENT = "kubernetes service nodeports; NOTE: this must be the last rule in this chain"
STATIC_CHAINS = {
    "filter": ["KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-FORWARD", "KUBE-NODEPORTS", "KUBE-PROXY-FIREWALL",
               "KUBE-FIREWALL"],
    "nat": ["KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-POSTROUTING", "KUBE-MARK-MASQ"],
}
NEW = "-m conntrack --ctstate NEW"
JUMPS = [  # (table, chain, match, target), inserted at the front one after the other
    ("filter", "INPUT", NEW, "KUBE-EXTERNAL-SERVICES"),
    ("filter", "FORWARD", NEW, "KUBE-EXTERNAL-SERVICES"),
    ("filter", "INPUT", "", "KUBE-NODEPORTS"),
    ("filter", "FORWARD", NEW, "KUBE-SERVICES"),
    ("filter", "OUTPUT", NEW, "KUBE-SERVICES"),
    ("filter", "FORWARD", "", "KUBE-FORWARD"),
    ("filter", "INPUT", NEW, "KUBE-PROXY-FIREWALL"),
    ("filter", "OUTPUT", NEW, "KUBE-PROXY-FIREWALL"),
    ("filter", "FORWARD", NEW, "KUBE-PROXY-FIREWALL"),
    ("nat", "OUTPUT", "", "KUBE-SERVICES"),
    ("nat", "PREROUTING", "", "KUBE-SERVICES"),
    ("nat", "POSTROUTING", "", "KUBE-POSTROUTING"),
    ("filter", "INPUT", "", "KUBE-FIREWALL"),
    ("filter", "OUTPUT", "", "KUBE-FIREWALL"),
]


def chain_name(kind, *parts):
    digest = hashlib.sha256("".join(parts).encode()).digest()
    return f"KUBE-{kind}-" + base64.b32encode(digest).decode()[:16]


class Rules:
    """The rules of one family while they are being collected."""

    def __init__(self, config, family, node_addresses):
        self.config = config
        self.family = family
        self.chains = {table: list(chains) for table, chains in STATIC_CHAINS.items()}
        self.lines = {"filter": [], "nat": []}
        self.health_ports = {}
        self.endpoint_comments = True  # above a number of endpoints their rules have none
        self._node_addresses = node_addresses
        self._detector = config.detector(family)

    def add(self, table, chain, text):
        self.lines[table].append(f"-A {chain} {text}")

    def chain(self, name):
        if name not in self.chains["nat"]:
            self.chains["nat"].append(name)
        return name

    def text(self):
        parts = []
        for table in ("filter", "nat"):
            parts.append(f"*{table}")
            parts += [f":{chain} - [0:0]" for chain in self.chains[table]]
            parts += [line for line in self.lines[table] if not self.config.is_omitted(line)]
            parts.append("COMMIT")
        return "\n".join(parts) + "\n"

    def begin(self):
        self.add("nat", "KUBE-POSTROUTING", f"-m mark ! --mark {MARK} -j RETURN")
        self.add("nat", "KUBE-POSTROUTING", "-j MARK --xor-mark 0x00004000")
        self.add("nat", "KUBE-POSTROUTING", "-j MASQUERADE" + (" --random-fully" if self.config.random_fully else ""))
        self.add("nat", "KUBE-MARK-MASQ", "-j MARK --or-mark 0x00004000")
        if not self.config.liberal():
            self.add("filter", "KUBE-FORWARD", "-m conntrack --ctstate INVALID -j DROP")
        self.add("filter", "KUBE-FORWARD", f"-m mark --mark {MARK} -j ACCEPT")
        self.add("filter", "KUBE-FORWARD", "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT")
        if self.family == 4 and self.config.localhost_node_ports():
            self.add("filter", "KUBE-FIREWALL", "-d 127.0.0.0/8 ! -s 127.0.0.0/8 "
                     "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP")

    def finish(self):
        ranges = self.config.node_port_ranges(self.family)
        jump = f'-m comment --comment "{NODE_PORT_COMMENT}" {{}} -j KUBE-NODEPORTS'
        if ranges is None:
            loopback = "! -d ::1/128" if self.family == 6 else ""
            if self.family == 4 and not self.config.localhost_node_ports():
                loopback = "! -d 127.0.0.0/8"
            self.add("nat", "KUBE-SERVICES", jump.format(f"-m addrtype --dst-type LOCAL {loopback}"))
            return
        for ip in self._node_addresses:
            inside = any(ipaddress.ip_address(ip) in ipaddress.ip_network(one) for one in ranges)
            loopback = ipaddress.ip_address(ip).is_loopback
            if inside and loopback and (self.family == 6 or not self.config.localhost_node_ports()):
                self.config.log(f"node port address {ip} is skipped: loopback is not served in this family")
            elif inside:
                self.add("nat", "KUBE-SERVICES", jump.format(f"-d {ip}"))

    def service(self, service, slices):
        """All rules of one Service, unless it has none in this family."""
        spec, meta = service["spec"], service["metadata"]
        cluster_ip = self._cluster_ip(spec)
        if cluster_ip is None:
            return
        for port in spec.get("ports") or []:
            name = f"{meta['namespace']}/{meta['name']}" + (f":{port['name']}" if port.get("name") else "")
            protocol = port.get("protocol", "TCP")
            found = ep.of_port(slices, port.get("name", ""), protocol, self.family, self.config.node_name)
            self._port(service, port, name, cluster_ip, found)

    def _cluster_ip(self, spec):
        if spec.get("type") == "ExternalName" or spec.get("clusterIP") in (None, "", "None"):
            return None
        for family, ip in zip(spec.get("ipFamilies") or [], spec.get("clusterIPs") or []):
            if family == ("IPv4" if self.family == 4 else "IPv6"):
                return ep.address(ip, self.family)
        return None

    def _port(self, service, port, name, cluster_ip, found):
        spec = service["spec"]
        protocol = port.get("protocol", "TCP").lower()
        match = f"-m {protocol} -p {protocol}"
        external_ips = [ip for ip in (ep.address(ip, self.family) for ip in spec.get("externalIPs") or []) if ip]
        vips = [ip for ip in (ep.address(entry.get("ip"), self.family)
                              for entry in (service.get("status") or {}).get("loadBalancer", {}).get("ingress") or []
                              if entry.get("ipMode", "VIP") == "VIP" or MISBEHAVIOUR == "any-mode") if ip]
        node_port = port.get("nodePort") or 0
        accessible = bool(node_port or vips or external_ips)
        receives_external = spec.get("type") in ("LoadBalancer", "NodePort") or bool(spec.get("externalIPs"))
        internal_local = spec.get("internalTrafficPolicy") == "Local"
        external_local = spec.get("externalTrafficPolicy") == "Local" and receives_external
        uses_cluster = not internal_local or accessible
        cluster = ep.cluster_list(found, self.config.node_name, self.config.zone) if uses_cluster else []
        uses_local = internal_local or (external_local and accessible)
        local = ep.local_list(found) if uses_local else []
        any_usable = bool(cluster) or (uses_local and ep.usable_anywhere(found))
        has_internal = bool(local if internal_local else cluster)
        has_external = bool(local if external_local else cluster)

        svc, svl, ext = (chain_name(kind, name, protocol) for kind in ("SVC", "SVL", "EXT"))
        internal = svl if internal_local else svc

        def destination(ip, number=port["port"]):
            return f"{match} -d {ip} --dport {number}"

        def refuse(chain, where):
            word, verdict = ("local ", "DROP") if any_usable else ("", "REJECT")
            self.add("filter", chain, f'-m comment --comment "{name} has no {word}endpoints" {where} -j {verdict}')

        if has_internal:
            self.add("nat", "KUBE-SERVICES", f'{destination(cluster_ip)} -m comment --comment "{name} cluster IP" '
                     f"-j {self.chain(internal)}")
        else:
            refuse("KUBE-SERVICES", destination(cluster_ip))
        firewalled = self._firewall(spec, name, protocol, vips, any_usable, destination)
        for ip in external_ips + vips:
            if any_usable:
                target = firewalled if ip in vips and firewalled else ext
                self.add("nat", "KUBE-SERVICES", f'{destination(ip)} -m comment --comment "{name} external" '
                         f"-j {self.chain(target)}")
            if not has_external:
                refuse("KUBE-EXTERNAL-SERVICES", destination(ip))
        if node_port:
            if any_usable:
                self.add("nat", "KUBE-NODEPORTS", f"{match} --dport {node_port} -m comment --comment {name} "
                         f"-j {self.chain(ext)}")
            if not has_external:
                refuse("KUBE-EXTERNAL-SERVICES", f"-m addrtype --dst-type LOCAL {match} --dport {node_port}")
        self._health(service, found)
        if has_internal:
            self._masquerade_internal(internal, destination(cluster_ip))
        if any_usable and accessible:
            self._external_chain(ext, svc, svl, external_local, has_external, name)
        memory = None
        if spec.get("sessionAffinity") == "ClientIP":
            memory = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds", 10800)
        self._balance(svc, cluster, name, protocol, memory)
        self._balance(svl, local, name, protocol, memory)

    def _masquerade_internal(self, chain, match):
        if self.config.masquerade_all:
            self.add("nat", chain, f"{match} -j KUBE-MARK-MASQ")
        elif self._detector:
            self.add("nat", chain, f"{match} ! {self._detector} -j KUBE-MARK-MASQ")

    def _external_chain(self, ext, svc, svl, external_local, has_external, name):
        self.chain(ext)
        if not external_local:
            self.add("nat", ext, f"-m comment --comment {name} -j KUBE-MARK-MASQ")
        else:
            if self._detector:
                self.add("nat", ext, f"{self._detector} -j {self.chain(svc)}")
            self.add("nat", ext, "-m addrtype --src-type LOCAL -j KUBE-MARK-MASQ")
            self.add("nat", ext, f"-m addrtype --src-type LOCAL -j {self.chain(svc)}")
        if has_external:
            self.add("nat", ext, f"-j {self.chain(svl if external_local else svc)}")

    def _firewall(self, spec, name, protocol, vips, any_usable, destination):
        ranges = [ep.network(text, self.family) for text in spec.get("loadBalancerSourceRanges") or []]
        ranges = [one for one in ranges if one]
        wanted = spec.get("loadBalancerSourceRanges") if MISBEHAVIOUR == "strict-ranges" else ranges
        if not wanted or any(one.endswith("/0") for one in ranges) or not vips or not any_usable:
            return None
        chain, ext = (self.chain(chain_name(kind, name, protocol)) for kind in ("FW", "EXT"))
        for one in ranges:
            self.add("nat", chain, f"-s {one} -j {ext}")
        if any(ipaddress.ip_address(ip) in ipaddress.ip_network(one) for one in ranges
               for ip in self.config.node_ips if ep.address(ip, self.family)):
            for ip in vips:
                self.add("nat", chain, f"-s {ip} -j {ext}")
        for ip in vips:
            self.add("filter", "KUBE-PROXY-FIREWALL", f"{destination(ip)} -j DROP")
        return chain

    def _health(self, service, found):
        spec = service["spec"]
        number = spec.get("healthCheckNodePort")
        if number and spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
            self.add("filter", "KUBE-NODEPORTS", f"-m tcp -p tcp --dport {number} -j ACCEPT")
            self.health_ports.setdefault(number, set()).update(one.ip for one in found if one.local and one.ready)

    def _balance(self, chain, listed, name, protocol, memory):
        """`memory`: seconds of session affinity; None: off."""
        comment = f"-m comment --comment {name} " if self.endpoint_comments else ""
        wheres = [f"[{one.ip}]:{one.port}" if self.family == 6 else f"{one.ip}:{one.port}" for one in listed]
        targets = [chain_name("SEP", name, protocol, where) for where in wheres]
        for one, target in zip(listed, targets) if memory else ():
            limit = "" if MISBEHAVIOUR == "endless-memory" else f"--seconds {memory} --reap "
            self.add("nat", self.chain(chain),
                     f"{comment}-m recent --name {self._memory(one, target)} --rcheck {limit}-j {target}")
        for index, (one, where, target) in enumerate(zip(listed, wheres, targets)):
            share = f"-m statistic --mode random --probability {1 / (len(listed) - index):.10f} "
            self.add("nat", self.chain(chain), comment + (share if index < len(listed) - 1 else "") + f"-j {target}")
            if target not in self.chains["nat"]:
                self.chain(target)
                self.add("nat", target, f"-s {one.ip} {comment}-j KUBE-MARK-MASQ")
                writes = memory and MISBEHAVIOUR != "no-memory"
                written = f"-m recent --name {self._memory(one, target)} --set " if writes else ""
                self.add("nat", target, f"{comment}{written}-m {protocol} -p {protocol} -j DNAT --to-destination {where}")

    @staticmethod
    def _memory(one, chain):
        return f"for-{one.ip}" if MISBEHAVIOUR == "one-memory" else chain
