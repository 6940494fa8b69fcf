// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

//! The desired content of the table, and which service port needs which object.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use super::model::Id;
use super::ruleset::{Object, Ruleset};

/// The objects of one service port, or of the node.
#[derive(Default)]
pub struct Part(Ruleset);

impl Part {
    pub fn set(&mut self, name: &str, kind: &str, properties: &[&str]) {
        self.0.insert(Object::Set(name.to_string()), format!("{}\n{}", kind, properties.join("\n")));
    }

    pub fn chain(&mut self, name: &str, rules: Vec<String>) {
        self.0.insert(Object::Chain(name.to_string()), rules.join("\n"));
    }

    pub fn element(&mut self, set: &str, key: &str, verdict: &str) {
        self.0.insert(Object::Element(set.to_string(), key.to_string()), verdict.to_string());
    }
}

struct Entry {
    text: String,
    users: usize,
}

#[derive(Default)]
pub struct Desired {
    objects: BTreeMap<Object, Entry>,
    parts: BTreeMap<Id, Vec<Object>>,
}

impl Desired {
    /// Replaces the objects of `id`. `touched` gets the objects with their text before the first change.
    pub fn replace(&mut self, id: &Id, part: Part, touched: &mut BTreeMap<Object, Option<String>>) {
        let old = self.parts.remove(id).unwrap_or_default();
        for object in old.iter().chain(part.0.keys()) {
            if !touched.contains_key(object) {
                touched.insert(object.clone(), self.text(object).map(str::to_string));
            }
        }
        // Several service ports may need one object, such as an address in a set. The daemon passes an address and port
        // with one service port only, so they need the same text.
        for object in &old {
            let users = self.objects.get_mut(object).map_or(0, |entry| {
                entry.users -= 1;
                entry.users
            });
            if users == 0 {
                self.objects.remove(object);
            }
        }
        self.parts.insert(id.clone(), part.0.keys().cloned().collect());
        for (object, text) in part.0 {
            let entry = self.objects.entry(object).or_insert(Entry { text: String::new(), users: 0 });
            entry.text = text;
            entry.users += 1;
        }
    }

    pub fn remove(&mut self, id: &Id, touched: &mut BTreeMap<Object, Option<String>>) {
        self.replace(id, Part::default(), touched);
        self.parts.remove(id);
    }

    pub fn text(&self, object: &Object) -> Option<&str> {
        self.objects.get(object).map(|entry| entry.text.as_str())
    }

    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.keys()
    }

    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// An object that differs from `found`.
    pub fn difference<'a>(&'a self, found: &'a Ruleset) -> Option<&'a Object> {
        let wanted = self.objects().find(|object| found.get(object).map(String::as_str) != self.text(object));
        wanted.or_else(|| found.keys().find(|object| !self.objects.contains_key(object)))
    }
}
