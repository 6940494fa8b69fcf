// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

//! The objects of one service port.
#![forbid(unsafe_code)]

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write;
use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr};

use sluice_abi as abi;

use super::desired::Part;
use super::layout::Facts;
use super::model::{Endpoint, Id, ServicePort};

/// Longer names are cut, so that names of chains and sets fit into the 255 bytes of nftables.
const LONGEST: usize = 160;

/// A part of the names of chains and sets: "shop/cart/http/6". Other characters than those of Kubernetes' names are
/// replaced, so that no name can become a command.
fn path(id: &Id) -> String {
    let mut text = String::new();
    for one in [&id.namespace, &id.name, &id.port] {
        for byte in one.bytes() {
            let _ = match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' => write!(text, "{}", byte as char),
                _ => write!(text, "_{:02x}", byte),
            };
        }
        text.push('/');
    }
    let _ = write!(text, "{}", id.protocol);
    if text.len() > LONGEST {
        let mut hasher = DefaultHasher::new();
        hasher.write(text.as_bytes());
        text.truncate(LONGEST - 17);
        let _ = write!(text, "_{:016x}", hasher.finish());
    }
    text
}

pub fn service_objects(facts: &Facts, port: &ServicePort) -> Part {
    let mut part = Part::default();
    Rules { facts, port, path: path(&port.id), ip: facts.words.ip }.add_all(&mut part);
    part
}

struct Rules<'a> {
    facts: &'a Facts,
    port: &'a ServicePort,
    path: String,
    ip: &'static str,
}

impl Rules<'_> {
    fn add_all(&self, part: &mut Part) {
        self.add_list(false, part);
        self.add_list(true, part);
        let used = |one: &&Endpoint| one.flags & (abi::ENDPOINT_IN_CLUSTER | abi::ENDPOINT_IN_LOCAL) != 0;
        for endpoint in self.port.endpoints.iter().filter(used) {
            if self.port.flags & abi::SESSION_AFFINITY != 0 {
                self.add_affinity(endpoint, part);
            }
            if endpoint.flags & abi::ENDPOINT_ON_THIS_NODE != 0 {
                part.element("hairpin", &format!("{0} . {0}", endpoint.ip), "");
            }
        }
        let external = self.add_external(part);
        let guarded = self.add_firewall(part);
        for frontend in &self.port.frontends {
            let service = format!("{} . {}", self.port.id.protocol, frontend.port);
            let (key, serve, refuse) = match frontend.kind {
                abi::FRONTEND_KIND_CLUSTER_IP | abi::FRONTEND_KIND_EXTERNAL_IP | abi::FRONTEND_KIND_LOAD_BALANCER => {
                    (format!("{} . {}", frontend.ip, service), "service-ips", "no-endpoint-services")
                }
                abi::FRONTEND_KIND_NODE_PORT => (service, "service-nodeports", "no-endpoint-nodeports"),
                _ => continue, // a later minor version may have other kinds
            };
            let is_cluster_ip = frontend.kind == abi::FRONTEND_KIND_CLUSTER_IP;
            let local = self.has(if is_cluster_ip { abi::INTERNAL_POLICY_LOCAL } else { abi::EXTERNAL_POLICY_LOCAL });
            let served = !self.list(local).is_empty();
            if is_cluster_ip {
                part.element("cluster-ips", &frontend.ip.to_string(), "");
                if served {
                    part.element(serve, &key, &self.to_list(local));
                }
            } else if external {
                part.element(serve, &key, &format!("goto external/{}", self.path));
            }
            // Also if pods and the node are served: the packets of other clients keep the address and meet this verdict.
            if !served {
                let dropped = local && self.has(abi::HAS_ANY_ENDPOINT);
                part.element(refuse, &key, if dropped { "drop" } else { "goto reject-chain" });
            }
            if guarded && frontend.kind == abi::FRONTEND_KIND_LOAD_BALANCER {
                part.element("firewall-ips", &key, &format!("goto firewall/{}", self.path));
            }
        }
    }

    fn has(&self, flag: abi::ServicePortFlag) -> bool {
        self.port.flags & flag != 0
    }

    fn list(&self, local: bool) -> Vec<&Endpoint> {
        self.port.endpoints.iter().filter(|one| one.flags & list_of(local).1 != 0).collect()
    }

    fn to_list(&self, local: bool) -> String {
        format!("goto {}/{}", list_of(local).0, self.path)
    }

    /// "shop/cart/http/6/10.1.0.11.8080": names of nftables contain no colons.
    fn path_of(&self, endpoint: &Endpoint) -> String {
        format!("{}/{}.{}", self.path, endpoint.ip.to_string().replace(':', "."), endpoint.port)
    }

    fn affinity_set(&self, endpoint: &Endpoint) -> String {
        // A set with another timeout is another set: nft cannot change it.
        format!("affinity/{}/{}", self.path_of(endpoint), self.port.affinity_seconds)
    }

    fn translation(&self, endpoint: &Endpoint) -> String {
        format!("meta l4proto {} dnat to {}", self.port.id.protocol, SocketAddr::new(endpoint.ip, endpoint.port))
    }

    /// A chain that selects an endpoint: that of the client's last connection, else any with the same probability.
    fn add_list(&self, local: bool, part: &mut Part) {
        let endpoints = self.list(local);
        let affinity = self.has(abi::SESSION_AFFINITY);
        let mut rules = Vec::new();
        if affinity {
            for one in &endpoints {
                let set = self.affinity_set(one);
                rules.push(format!("{} saddr @{} goto endpoint/{}", self.ip, set, self.path_of(one)));
            }
        }
        // One rule each: maps without names would make a table with many Services slow to load and to list.
        for (place, one) in endpoints.iter().enumerate() {
            let action = if affinity { format!("goto endpoint/{}", self.path_of(one)) } else { self.translation(one) };
            rules.push(match endpoints.len() - place {
                1 => action,
                left => format!("numgen random mod {} 0 {}", left, action),
            });
        }
        if !rules.is_empty() {
            part.chain(&format!("{}/{}", list_of(local).0, self.path), rules);
        }
    }

    /// A chain that remembers the client in a set, and translates. If the set is full, the packet is only translated.
    fn add_affinity(&self, endpoint: &Endpoint, part: &mut Part) {
        let set = self.affinity_set(endpoint);
        let kind = format!("type {}", self.facts.words.address);
        let timeout = format!("timeout {}s", self.port.affinity_seconds);
        part.set(&set, "set", &[&kind, "size 65535", "flags dynamic,timeout", &timeout]);
        let rules = vec![format!("update @{} {{ {} saddr }}", set, self.ip), self.translation(endpoint)];
        part.chain(&format!("endpoint/{}", self.path_of(endpoint)), rules);
    }

    /// The chain for addresses other than the cluster IP. Returns whether it exists.
    fn add_external(&self, part: &mut Part) -> bool {
        let local = self.has(abi::EXTERNAL_POLICY_LOCAL);
        let others = self.port.frontends.iter().any(|one| one.kind != abi::FRONTEND_KIND_CLUSTER_IP);
        let cluster = !self.list(false).is_empty();
        let to_cluster = self.to_list(false);
        let mut rules = Vec::new();
        if !local && cluster {
            rules.extend([self.facts.mark.clone(), to_cluster]);
        } else if cluster {
            // Pods and the node itself are no external clients.
            rules.extend(self.facts.pods.as_ref().map(|(pods, _)| format!("{} {}", pods, to_cluster)));
            rules.extend([format!("fib saddr type 2 {}", self.facts.mark), format!("fib saddr type 2 {}", to_cluster)]);
        }
        if local && !self.list(true).is_empty() {
            rules.push(self.to_list(true));
        }
        let exists = others && !rules.is_empty();
        if exists {
            part.chain(&format!("external/{}", self.path), rules);
        }
        exists
    }

    /// The chain that drops clients outside of the source ranges. Returns whether it exists.
    fn add_firewall(&self, part: &mut Part) -> bool {
        let ranges = &self.port.source_ranges;
        let is_balancer = |kind| kind == abi::FRONTEND_KIND_LOAD_BALANCER;
        let addresses: Vec<IpAddr> = self.port.frontends.iter().filter(|one| is_balancer(one.kind)).map(|one| one.ip).collect();
        if ranges.is_empty() || addresses.is_empty() {
            return false;
        }
        let mut rules: Vec<String> = ranges.iter().map(|one| format!("{} saddr {} return", self.ip, one)).collect();
        // If the address is on this node, the node uses it as source address.
        if ranges.iter().any(|one| one.contains(self.facts.node_ip)) {
            rules.extend(addresses.iter().map(|one| format!("{} saddr {} return", self.ip, one)));
        }
        rules.push("drop".to_string());
        part.chain(&format!("firewall/{}", self.path), rules);
        true
    }
}

/// The list that a policy selects: its name, and the flag of its endpoints.
fn list_of(local: bool) -> (&'static str, abi::EndpointFlag) {
    if local {
        ("local", abi::ENDPOINT_IN_LOCAL)
    } else {
        ("cluster", abi::ENDPOINT_IN_CLUSTER)
    }
}
