// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

//! The content of one nftables table: read from a listing, and compared with another one. All text has the form in
//! which `nft -n -s list table` prints it, so that a comparison needs no further knowledge.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// Of a set or map. The text is "set" or "map", and a line for each property.
    Set(String),
    /// The text is one line for each rule; first the line "type …" if it is a base chain.
    Chain(String),
    /// Of the set or map, with this key. The text is the verdict; empty for a set.
    Element(String, String),
}

impl fmt::Display for Object {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Object::Set(name) => write!(to, "set {}", name),
            Object::Chain(name) => write!(to, "chain {}", name),
            Object::Element(set, key) => write!(to, "element {} of {}", key, set),
        }
    }
}

pub type Ruleset = BTreeMap<Object, String>;

/// The objects of a listing, without the elements of dynamic sets, which are the memory of the kernel.
pub fn parse(listing: &str) -> Ruleset {
    let mut found = Ruleset::new();
    let (mut kind, mut name, mut lines) = ("", "", Vec::new());
    for line in listing.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let begins = line.strip_suffix(" {").and_then(|line| line.split_once(' '));
        match (kind, begins) {
            ("", Some((word @ ("set" | "map" | "chain"), text))) => (kind, name) = (word, text),
            ("", _) => {} // the table
            (_, _) if line != "}" => lines.push(line),
            _ => {
                add(&mut found, kind, name, &lines);
                kind = "";
                lines.clear();
            }
        }
    }
    found
}

fn add(found: &mut Ruleset, kind: &str, name: &str, lines: &[&str]) {
    if kind == "chain" {
        found.insert(Object::Chain(name.to_string()), lines.join("\n"));
        return;
    }
    let elements = lines.iter().position(|line| line.starts_with("elements = ")).unwrap_or(lines.len());
    let (properties, elements) = lines.split_at(elements);
    found.insert(Object::Set(name.to_string()), format!("{}\n{}", kind, properties.join("\n")));
    if !elements.is_empty() && !properties.iter().any(|line| line.starts_with("flags dynamic")) {
        add_elements(found, name, &elements.join(" "));
    }
}

/// `text`: "elements = { 10.96.0.80 . 6 . 80 : goto cluster/shop/cart/http/6, … }".
fn add_elements(found: &mut Ruleset, set: &str, text: &str) {
    let list = text.trim_start_matches("elements = {").trim_end_matches('}');
    for element in list.split(',') {
        let (key, verdict) = element.split_once(" : ").unwrap_or((element, ""));
        found.insert(Object::Element(set.to_string(), key.trim().to_string()), verdict.trim().to_string());
    }
}

/// One object with its text before and after; None: it does not exist.
pub struct Change<'a> {
    pub object: &'a Object,
    pub before: Option<&'a str>,
    pub after: Option<&'a str>,
}

impl Change<'_> {
    /// Whether the object must be made again, because nft cannot change what it is.
    pub fn needs_new_table(&self) -> bool {
        let base = |text: &str| text.lines().next().filter(|line| line.starts_with("type ")).map(str::to_string);
        match (self.object, self.before, self.after) {
            (Object::Set(_), Some(before), Some(after)) => before != after,
            (Object::Chain(_), Some(before), Some(after)) => base(before) != base(after),
            _ => false,
        }
    }
}

/// The commands that make the changes, in an order in which nothing refers to a missing object. `table`: "ip NAME".
pub fn commands<'a>(table: &str, changes: impl Iterator<Item = Change<'a>>) -> Vec<String> {
    let mut steps: [Vec<String>; 6] = Default::default();
    for Change { object, before, after } in changes.filter(|change| change.before != change.after) {
        match object {
            Object::Set(name) => match after {
                Some(text) => {
                    let (kind, properties) = text.split_once('\n').unwrap_or((text, ""));
                    steps[0].push(format!("add {} {} {} {{ {}; }}", kind, table, name, properties.replace('\n', "; ")));
                }
                None => steps[5].push(format!("delete set {} {}", table, name)),
            },
            Object::Chain(name) => {
                let mut rules = after.unwrap_or("").lines().peekable();
                let hook = rules.next_if(|line| line.starts_with("type ")).map(|line| format!(" {{ {} }}", line));
                if before.is_some() {
                    steps[1].push(format!("flush chain {} {}", table, name));
                } else {
                    steps[0].push(format!("add chain {} {}{}", table, name, hook.unwrap_or_default()));
                }
                steps[3].extend(rules.map(|rule| format!("add rule {} {} {}", table, name, rule)));
                if after.is_none() {
                    steps[4].push(format!("delete chain {} {}", table, name));
                }
            }
            Object::Element(set, key) => {
                if before.is_some() {
                    steps[2].push(format!("delete element {} {} {{ {} }}", table, set, key));
                }
                if let Some(verdict) = after {
                    let colon = if verdict.is_empty() { "" } else { " : " };
                    steps[3].push(format!("add element {} {} {{ {}{}{} }}", table, set, key, colon, verdict));
                }
            }
        }
    }
    steps.concat()
}
