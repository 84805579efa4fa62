//! Ids of calls; the documentation of the parent module states the rule.

use std::collections::HashSet;
use std::fmt;

use super::Settings;

/// The host's rule: maps index and name of a call to its id.
type Rule = Box<dyn FnMut(u32, &str) -> String + Send>;

/// Gives every call of one stream an id. Memory grows with the number of calls.
pub(super) struct Ids {
    prefix: String,
    seed: u64,
    rule: Option<Rule>,
    number: u32,
    used: HashSet<String>,
}

impl Ids {
    pub fn new(settings: &Settings) -> Self {
        Self {
            prefix: settings.id_prefix.clone(),
            seed: settings.id_seed,
            rule: None,
            number: 0,
            used: HashSet::new(),
        }
    }

    pub fn rule(&mut self, rule: Rule) {
        self.rule = Some(rule);
    }

    /// Returns the id of a call.
    pub fn of(&mut self, index: u32, name: &str, meta: &[(String, String)]) -> String {
        let own = meta
            .iter()
            .find(|(key, value)| key == "id" && !value.is_empty());
        match own {
            Some((_, id)) if self.used.insert(id.clone()) => id.clone(),
            _ => self.make(index, name),
        }
    }

    fn make(&mut self, index: u32, name: &str) -> String {
        if let Some(rule) = &mut self.rule {
            let id = rule(index, name);
            self.used.insert(id.clone());
            return id;
        }
        loop {
            let id = format!("{}{:016x}{:08x}", self.prefix, self.seed, self.number);
            self.number = self.number.wrapping_add(1);
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ids")
            .field("prefix", &self.prefix)
            .field("seed", &self.seed)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
