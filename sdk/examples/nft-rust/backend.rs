// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

//! The backend: one object serves one IP family; all calls come from one thread.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sluice_abi as abi;

use super::desired::Desired;
use super::layout::{facts, fixed_objects, words, ENTRY_CHAINS};
use super::model::{Failure, Id, Transaction};
use super::nft::Nft;
use super::rules::service_objects;
use super::ruleset::{commands, Change, Object, Ruleset};
use super::Host;

const TABLE: &str = "sluice-nft-rust";

/// Packets need much less from the first hook to the last one.
const PACKETS_LEAVE: Duration = Duration::from_millis(200);

/// All kinds of objects and expressions that the rules use.
const TRIAL: [&str; 9] = [
    "add set {table} clients { type {address}; size 65535; flags dynamic,timeout; timeout 1s; }",
    "add map {table} services { type {address} . inet_proto . inet_service : verdict; }",
    "add chain {table} nat { type nat hook prerouting priority -100; policy accept; }",
    "add chain {table} masquerading { type nat hook postrouting priority 100; policy accept; }",
    "add chain {table} refuse",
    "add rule {table} refuse ct state 0x8 reject",
    "add rule {table} nat update @clients { {ip} saddr }",
    "add rule {table} nat fib daddr type 2 numgen random mod 2 0 {ip} daddr . meta l4proto . th dport vmap @services",
    "add rule {table} masquerading ct status 0x20 meta mark set meta mark ^ 0x1 masquerade fully-random",
];

/// Statistics of one apply().
#[derive(Default)]
pub struct Counted {
    pub writes: usize,
    pub objects: usize,
    pub waited: Duration,
}

pub struct Backend {
    host: Host,
    family: abi::Family,
    nft: Nft,
    desired: Desired,
    generation: u64,
    node_version: u64,
    /// what Nft::generation() was when the kernel had the desired state
    verified: Option<u32>,
    /// when retire() removed the entry chains
    closed: Option<Instant>,
}

impl Backend {
    /// Must not change the node. The daemon passes a flag if another backend serves: nothing depends on it here, because
    /// every change is one transaction of the kernel and stays within the table.
    pub fn new(host: Host, family: abi::Family, options: &[String], folder: String) -> Result<Backend, Failure> {
        if let Some(key) = options.first() {
            return Err(Failure::new(abi::CODE_INVALID, key, "unknown option; the backend nft-rust has none"));
        }
        if folder.is_empty() {
            return Err(Failure::new(abi::CODE_UNSUPPORTED, "", "the daemon has no state directory; set --state-dir"));
        }
        let nft = Nft { table: format!("{} {}", words(family).ip, TABLE), folder: PathBuf::from(folder), waited: Duration::ZERO };
        Ok(Backend {
            host,
            family,
            nft,
            desired: Desired::default(),
            verified: None,
            generation: 0,
            node_version: 0,
            closed: None,
        })
    }

    /// The daemon can remove this kind without the plugin.
    pub fn claim(&self) -> String {
        format!("nft/{}/{}", words(self.family).ip, TABLE)
    }

    /// Tries all that the rules use in a table of another name; nothing remains.
    pub fn probe(&mut self) -> Result<(), Failure> {
        let table = format!("{}-trial", self.nft.table);
        let (ip, address) = (words(self.family).ip, words(self.family).address);
        let filled = |line: &&str| line.replace("{table}", &table).replace("{ip}", ip).replace("{address}", address);
        let trial: Vec<String> = std::iter::once(format!("add table {}", table)).chain(TRIAL.iter().map(filled)).collect();
        self.nft.check(&trial)
    }

    pub fn apply(&mut self, transaction: &Transaction, counted: &mut Counted) -> Result<(), Failure> {
        let before = self.nft.waited;
        let outcome = self.write(transaction, counted);
        counted.waited = self.nft.waited - before;
        counted.objects = self.desired.len();
        if outcome.is_err() {
            self.generation = 0; // the next transaction is full
            return outcome;
        }
        self.generation = transaction.generation;
        self.node_version = transaction.node.version;
        self.host.debug(|| format!("generation {}: {} commands", transaction.generation, counted.writes));
        Ok(())
    }

    fn write(&mut self, transaction: &Transaction, counted: &mut Counted) -> Result<(), Failure> {
        let delta = !transaction.full;
        if delta && (transaction.base_generation != self.generation || transaction.node.version != self.node_version) {
            return Err(Failure::new(abi::CODE_NEED_FULL, "", "delta builds on another generation, or facts about the node changed"));
        }
        let facts = facts(self.family, &transaction.node)?;
        self.verified = None;
        if transaction.full {
            self.desired = Desired::default();
        }
        let mut touched = BTreeMap::new();
        self.desired.replace(&Id::default(), fixed_objects(&facts, &transaction.node), &mut touched);
        for port in &transaction.service_ports {
            if [abi::PROTOCOL_TCP, abi::PROTOCOL_UDP, abi::PROTOCOL_SCTP].contains(&port.id.protocol) {
                self.desired.replace(&port.id, service_objects(&facts, port), &mut touched);
            } else {
                let failure = Failure::new(abi::CODE_UNSUPPORTED, &port.id.to_string(), "unknown protocol");
                self.host.service_port_failed(&port.id, &failure);
            }
        }
        for id in &transaction.removed {
            self.desired.remove(id, &mut touched);
        }
        // The cost of a delta depends on its size. A full transaction is compared with the kernel, so that a restart
        // without a change writes nothing.
        let lines = if delta {
            self.lines(touched.iter().map(|(object, before)| (object, before.as_deref())))
        } else {
            let found = self.nft.list()?;
            self.lines_against(&found)
        };
        if !lines.is_empty() {
            self.nft.load(&lines)?;
        }
        counted.writes = lines.len();
        Ok(())
    }

    /// The commands that bring these objects from their text to the desired one.
    fn lines<'a>(&'a self, before: impl Iterator<Item = (&'a Object, Option<&'a str>)>) -> Vec<String> {
        let change = |(object, before)| Change { object, before, after: self.desired.text(object) };
        commands(&self.nft.table, before.map(change))
    }

    /// The commands that replace the content of the table; None: there is no table.
    fn lines_against(&self, found: &Option<Ruleset>) -> Vec<String> {
        let empty = Ruleset::new();
        let known = found.as_ref().unwrap_or(&empty);
        let union: BTreeSet<&Object> = self.desired.objects().chain(known.keys()).collect();
        let pairs = || union.iter().map(|object| (*object, known.get(object).map(String::as_str)));
        let mut changes = pairs().map(|(object, before)| Change { object, before, after: self.desired.text(object) });
        let table = &self.nft.table;
        if !changes.any(|change| change.needs_new_table()) && found.is_some() {
            return self.lines(pairs());
        }
        let mut lines = vec![format!("add table {}", table)];
        if found.is_some() {
            lines.extend([format!("delete table {}", table), format!("add table {}", table)]);
        }
        lines.extend(self.lines(self.desired.objects().map(|object| (object, None))));
        lines
    }

    /// Lists the table only if nf_tables has changed since the last time.
    pub fn verify(&mut self) -> Result<(), Failure> {
        let generation = self.nft.generation();
        if generation.is_some() && generation == self.verified {
            return Ok(());
        }
        let drift = match self.nft.list()? {
            None => "the table is missing".to_string(),
            Some(found) => match self.desired.difference(&found) {
                None => {
                    self.verified = generation;
                    return Ok(());
                }
                Some(object) => format!("drift: {} differs from what was written", object),
            },
        };
        Err(Failure::new(abi::CODE_NEED_FULL, &format!("table {}", self.nft.table), &drift))
    }

    /// Another backend is active now. Its rules translate new connections as soon as the entry chains are gone. The
    /// kernel continues to translate established connections while any table has a NAT chain, as those of Sluice's modes
    /// have, so they need not be drained.
    pub fn retire(&mut self, drain_seconds: u32, claims: &[String]) -> Result<(), Failure> {
        if claims.contains(&self.claim()) {
            return Ok(()); // another build of this backend
        }
        if drain_seconds == 0 || self.closed.map_or(false, |closed| closed.elapsed() >= PACKETS_LEAVE) {
            return self.cleanup();
        }
        if self.closed.is_none() {
            let found = self.nft.list()?.unwrap_or_default();
            let there = |name: &&&str| found.contains_key(&Object::Chain(name.to_string()));
            let line = |name: &&str| format!("delete chain {} {}", self.nft.table, name);
            let lines: Vec<String> = ENTRY_CHAINS.iter().filter(there).map(line).collect();
            self.nft.load(&lines)?;
            self.closed = Some(Instant::now());
        }
        Err(Failure::new(abi::CODE_RETRY, "", "packets on their way may need to be masqueraded"))
    }

    /// Also removes what an earlier process has left. Works without a table, too.
    pub fn cleanup(&mut self) -> Result<(), Failure> {
        self.nft.load(&[format!("add table {}", self.nft.table), format!("delete table {}", self.nft.table)])
    }
}
