// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

//! The desired state as plain Rust types: copies of what the daemon passes. plugin.rs makes them.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::IpAddr;

use sluice_abi as abi;

/// The identity of a service port. The order is that of the daemon.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub namespace: String,
    pub name: String,
    pub port: String,
    pub protocol: abi::Protocol,
}

impl fmt::Display for Id {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let colon = if self.port.is_empty() { "" } else { ":" };
        write!(to, "{}/{}{}{}", self.namespace, self.name, colon, self.port)
    }
}

pub struct Frontend {
    pub kind: abi::FrontendKind,
    pub ip: IpAddr,
    pub port: u16,
}

pub struct Endpoint {
    pub ip: IpAddr,
    pub port: u16,
    pub flags: abi::EndpointFlag,
}

pub struct Prefix {
    pub ip: IpAddr,
    pub length: u8,
}

impl Prefix {
    pub fn contains(&self, ip: IpAddr) -> bool {
        let (mine, other, width) = match (self.ip, ip) {
            (IpAddr::V4(mine), IpAddr::V4(other)) => (u32::from(mine) as u128, u32::from(other) as u128, 32),
            (IpAddr::V6(mine), IpAddr::V6(other)) => (u128::from(mine), u128::from(other), 128),
            _ => return false,
        };
        (mine ^ other).checked_shr(width - self.length as u32).unwrap_or(0) == 0
    }
}

/// As nft prints it: without the length if it is one address.
impl fmt::Display for Prefix {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        if self.length == if self.ip.is_ipv4() { 32 } else { 128 } {
            return write!(to, "{}", self.ip);
        }
        write!(to, "{}/{}", self.ip, self.length)
    }
}

pub struct ServicePort {
    pub id: Id,
    pub flags: abi::ServicePortFlag,
    pub affinity_seconds: u32,
    pub frontends: Vec<Frontend>,
    pub source_ranges: Vec<Prefix>,
    pub endpoints: Vec<Endpoint>,
}

/// How to recognize traffic from pods of this node.
pub enum Detector {
    None,
    Cidr(Prefix),
    Interface(String),
    InterfacePrefix(String),
}

pub struct Node {
    pub version: u64,
    pub flags: abi::NodeFlag,
    pub ip: IpAddr,
    pub masquerade_mark: u32,
    pub detector: Detector,
    pub node_port_addresses: Vec<IpAddr>,
}

pub struct Transaction {
    pub full: bool,
    pub base_generation: u64,
    pub generation: u64,
    pub node: Node,
    pub service_ports: Vec<ServicePort>,
    pub removed: Vec<Id>,
}

/// What failed, with the code that the daemon gets.
pub struct Failure {
    pub code: abi::Code,
    pub os_errno: i32,
    pub object: String,
    pub message: String,
}

impl Failure {
    pub fn new(code: abi::Code, object: &str, message: &str) -> Failure {
        Failure { code, object: object.to_string(), message: message.to_string(), os_errno: 0 }
    }

    pub fn of(object: &str, error: &std::io::Error) -> Failure {
        Failure { os_errno: error.raw_os_error().unwrap_or(0), ..Failure::new(abi::CODE_KERNEL, object, &error.to_string()) }
    }
}
