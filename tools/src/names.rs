//! Spells tool ids where not every character is allowed.

use std::collections::HashSet;

use toolglot::Dialect;
use toolglot::layer::{self, Framed};

/// The characters that a name may have.
///
/// ```
/// use toolglot_tools::NameRule;
///
/// assert_eq!(NameRule::Flat.spell("fs:read"), "fs_read");
/// assert_eq!(NameRule::Xml.spell("2fa"), "_2fa");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NameRule {
    /// Any: the id unchanged.
    Id,
    /// The flat name `tool_method`: `:`, `.` and `/` become underscores.
    Flat,
    /// An XML element name: a letter or `_`, then letters, digits, `_`, `-` and `.`.
    Xml,
    /// A function name for the OpenAI and Anthropic APIs: up to 64 ASCII letters, digits, `_` and `-`.
    Api,
}

/// The maximum length of [`NameRule::Api`].
const API_LEN: usize = 64;

impl NameRule {
    /// The rule for names in a dialect: XML's if names are tags, the APIs' if they are between markers, so that no name
    /// contains a marker, and none if they are quoted.
    #[must_use]
    pub fn of(dialect: &Dialect) -> Self {
        let spec = layer::spec(dialect);
        let tags = |framed: &Framed| framed.unit.iter().any(|unit| unit.fix_name);
        if spec.element_tree.is_some() || spec.framed.as_ref().is_some_and(tags) {
            Self::Xml
        } else if spec.framed.is_some() || spec.line.is_some() {
            Self::Api
        } else {
            Self::Id
        }
    }

    /// Spells the id by this rule. Different ids may give the same name; an inventory makes them unique.
    #[must_use]
    pub fn spell(self, id: &str) -> String {
        let spell = |keep: fn(char) -> bool| -> String {
            id.chars().map(|c| if keep(c) { c } else { '_' }).collect()
        };
        match self {
            Self::Id => id.to_owned(),
            Self::Flat => spell(|c| !matches!(c, ':' | '.' | '/')),
            Self::Xml => {
                let name = spell(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
                let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
                if begins { name } else { format!("_{name}") }
            }
            Self::Api => {
                let mut name = spell(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
                name.truncate(API_LEN);
                if name.is_empty() {
                    "_".to_owned()
                } else {
                    name
                }
            }
        }
    }

    /// Spells the ids by this rule, each differently: a name that is taken gets `_2`, `_3` and so on. The first of equal names
    /// is unchanged, so that adding a tool never renames an earlier one.
    pub(super) fn unique<'t>(self, ids: impl Iterator<Item = &'t str>) -> Vec<String> {
        self.named(ids.map(|id| (id, None)))
    }

    /// The same with some names given: they are unchanged, and the others differ from them. Of equal given names the first is
    /// unchanged.
    pub(super) fn named<'t>(
        self,
        ids: impl Iterator<Item = (&'t str, Option<String>)>,
    ) -> Vec<String> {
        let ids: Vec<_> = ids.collect();
        let given: HashSet<&String> = ids.iter().filter_map(|(_, given)| given.as_ref()).collect();
        let mut taken: HashSet<String> = HashSet::new();
        let mut next = std::collections::HashMap::<String, u64>::new();
        let name = |(id, own): &(&str, Option<String>)| {
            if let Some(own) = own.as_ref().filter(|own| taken.insert((*own).clone())) {
                return own.clone();
            }
            let plain = self.spell(own.as_deref().unwrap_or(id));
            let mut name = plain.clone();
            let number = next.entry(plain.clone()).or_insert(2);
            while given.contains(&name) || !taken.insert(name.clone()) {
                let mark = format!("_{number}");
                *number += 1;
                let room = match self {
                    Self::Api => API_LEN - mark.len(),
                    Self::Id | Self::Flat | Self::Xml => plain.len(),
                };
                name = plain.chars().take(room).collect::<String>() + &mark;
            }
            name
        };
        ids.iter().map(name).collect()
    }
}
