// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

//! The objects that do not depend on Services: sets, maps, and the chains at the hooks. The layout is that of
//! kube-proxy's nftables mode.
#![forbid(unsafe_code)]

use std::net::IpAddr;

use sluice_abi as abi;

use super::desired::Part;
use super::model::{Detector, Failure, Node};

/// The words that differ between the families.
#[derive(Clone, Copy)]
pub struct Words {
    pub ip: &'static str,
    pub address: &'static str,
    pub loopback: &'static str,
}

pub fn words(family: abi::Family) -> Words {
    if family == abi::FAMILY_IPV6 {
        Words { ip: "ip6", address: "ipv6_addr", loopback: "::1" }
    } else {
        Words { ip: "ip", address: "ipv4_addr", loopback: "127.0.0.0/8" }
    }
}

/// What of the node the rules of service ports depend on.
pub struct Facts {
    pub words: Words,
    pub node_ip: IpAddr,
    /// "meta mark set …": masquerade this packet
    pub mark: String,
    /// matches for packets from pods of this node, and for all others; None if this is not known
    pub pods: Option<(String, String)>,
}

pub fn facts(family: abi::Family, node: &Node) -> Result<Facts, Failure> {
    let ip = words(family).ip;
    // An interface name is the only text of the configuration that becomes part of a rule.
    let interface = |name: &str, star: &str| {
        if name.chars().any(|one| one.is_control() || one.is_whitespace() || "\"\\*".contains(one)) {
            return Err(Failure::new(abi::CODE_INVALID, name, "nft cannot match an interface with this name"));
        }
        Ok(Some((format!("iifname \"{}{}\"", name, star), format!("iifname != \"{}{}\"", name, star))))
    };
    let pods = match &node.detector {
        Detector::None => None,
        Detector::Cidr(prefix) => Some((format!("{} saddr {}", ip, prefix), format!("{} saddr != {}", ip, prefix))),
        Detector::Interface(name) => interface(name, "")?,
        Detector::InterfacePrefix(name) => interface(name, "*")?,
    };
    let mark = format!("meta mark set meta mark | {:#010x}", node.masquerade_mark);
    Ok(Facts { words: words(family), node_ip: node.ip, mark, pods })
}

pub fn fixed_objects(facts: &Facts, node: &Node) -> Part {
    let Words { ip, address, loopback } = facts.words;
    let mut part = Part::default();
    let service = format!("{} . inet_proto . inet_service", address);
    part.set("cluster-ips", "set", &[&format!("type {}", address)]);
    part.set("nodeport-ips", "set", &[&format!("type {}", address)]);
    part.set("hairpin", "set", &[&format!("type {} . {}", address, address)]);
    for map in ["service-ips", "no-endpoint-services", "firewall-ips"] {
        part.set(map, "map", &[&format!("type {} : verdict", service)]);
    }
    for map in ["service-nodeports", "no-endpoint-nodeports"] {
        part.set(map, "map", &["type inet_proto . inet_service : verdict"]);
    }

    let everywhere = node.flags & abi::NODE_PORTS_MATCH_ALL != 0;
    for one in node.node_port_addresses.iter().filter(|one| !everywhere && !one.is_loopback()) {
        part.element("nodeport-ips", &one.to_string(), "");
    }
    // fib type 2: an address of this node. Connection state 0x8: new. Status 0x20: the destination is translated.
    let node_port = if everywhere {
        format!("fib daddr type 2 {} daddr != {} meta l4proto . th dport", ip, loopback)
    } else {
        format!("{} daddr @nodeport-ips meta l4proto . th dport", ip)
    };
    let to_service = format!("{} daddr . meta l4proto . th dport", ip);
    let without_endpoints = format!("ct state 0x8 {} vmap @no-endpoint-services", to_service);
    let other_ports = format!("ct state 0x8 {} daddr @cluster-ips reject", ip);
    let firewall = format!("ct state 0x8 {} vmap @firewall-ips", to_service);

    let mut services = Vec::new();
    if node.flags & abi::MASQUERADE_ALL != 0 {
        services.push(format!("{} daddr @cluster-ips {}", ip, facts.mark));
    } else if let Some((_, not_pods)) = &facts.pods {
        services.push(format!("{} daddr @cluster-ips {} {}", ip, not_pods, facts.mark));
    }
    services.push(format!("{} vmap @service-ips", to_service));
    services.push(format!("{} vmap @service-nodeports", node_port));
    part.chain("services", services);
    part.chain("reject-chain", vec!["reject".to_string()]);

    let mut hook = |name: &str, kind: &str, at: &str, priority: i32, rules: &[&str]| {
        let first = format!("type {} hook {} priority {}; policy accept;", kind, at, priority);
        part.chain(name, std::iter::once(first).chain(rules.iter().map(|rule| rule.to_string())).collect());
    };
    // Source ranges before the destination is translated, in the order of a packet's way.
    hook("firewall-prerouting", "filter", "prerouting", -110, &[&firewall]);
    hook("firewall-output", "filter", "output", -110, &[&firewall]);
    hook("nat-prerouting", "nat", "prerouting", -100, &["jump services"]);
    hook("nat-output", "nat", "output", -100, &["jump services"]);
    // Packets that still have the address of a Service here have no endpoint.
    let node_ports = format!("ct state 0x8 {} vmap @no-endpoint-nodeports", node_port);
    hook("filter-input", "filter", "input", 0, &[&node_ports, &without_endpoints]);
    hook("filter-forward", "filter", "forward", 0, &[&without_endpoints, &other_ports]);
    hook("filter-output", "filter", "output", 0, &[&without_endpoints, &other_ports]);
    let marked = format!(
        "meta mark & {0:#010x} != 0x00000000 meta mark set meta mark ^ {0:#010x} masquerade fully-random",
        node.masquerade_mark
    );
    let hairpin = format!("ct status 0x20 {0} saddr . {0} daddr @hairpin masquerade fully-random", ip);
    hook("nat-postrouting", "nat", "postrouting", 100, &[&marked, &hairpin]);
    part
}

/// The base chains that direct new connections. Masquerading is not among them: packets on their way need it.
pub const ENTRY_CHAINS: [&str; 7] = [
    "firewall-prerouting",
    "firewall-output",
    "nat-prerouting",
    "nat-output",
    "filter-input",
    "filter-forward",
    "filter-output",
];
