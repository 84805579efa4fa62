//! Arguments given as attributes of a tag that has parameters inside.

use std::collections::HashSet;

use super::lexer::forgiven;
use crate::hints::Tool;
use crate::kind::{Kind, KindSet};

/// Attributes that are facts about a call or a parameter, not arguments.
const FACTS: [&str; 5] = ["id", "type", "index", "string", "recipient"];
/// Attributes that may contain all arguments; matched without regard to case.
pub(super) const ARGUMENTS: [&str; 5] = ["arguments", "args", "parameters", "params", "input"];

/// Whether an attribute's name says that it is not an argument.
pub(super) fn is_fact(key: &str) -> bool {
    FACTS.contains(&key) || key.starts_with("xml")
}

/// Whether an attribute's name says that it contains all arguments.
pub(super) fn is_arguments(key: &str) -> bool {
    ARGUMENTS.iter().any(|word| word.eq_ignore_ascii_case(key))
}

/// The meaning of attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Given<'a> {
    /// One of them contains the arguments: the object, its keys, and what was repaired.
    Object(String, Vec<String>, KindSet),
    /// Each is an argument.
    Each(Vec<Attribute<'a>>),
}

/// An attribute that is an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    pub key: &'a str,
    pub value: &'a str,
    /// Another attribute of its name follows; the last one wins.
    pub again: bool,
}

impl Attribute<'_> {
    /// What is reported about it: a key with a piece of markup in it may not be the key that was meant.
    pub fn kind(&self, tool: Option<&Tool>) -> Kind {
        match is_plain(self.key) || tool.is_some_and(|tool| tool.param(self.key).is_some()) {
            true => Kind::AttributeArguments,
            false => Kind::ExtraKey,
        }
    }
}

/// Whether a key looks like the name of an attribute.
fn is_plain(key: &str) -> bool {
    let mut chars = key.chars();
    let first = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    first && chars.all(|c| c.is_alphanumeric() || "_-.:".contains(c))
}

/// The arguments among the attributes of a call's tag. If the call has parameters inside (`inside`) and its tool is known,
/// only attributes that the tool declares count; [`unread`] returns the others.
pub(super) fn given<'a>(
    attributes: &'a [(String, String)],
    tool: Option<&Tool>,
    inside: bool,
    max_depth: u32,
) -> Given<'a> {
    let known = |key: &str| tool.is_some_and(|tool| tool.param(key).is_some());
    let counts = |key: &str| known(key) || !(is_fact(key) || inside && tool.is_some());
    let all: Vec<_> = attributes.iter().filter(|(key, _)| counts(key)).collect();
    if let [(key, value)] = all.as_slice()
        && !inside
        && !known(key)
        && is_arguments(key)
        && value.trim_start().starts_with('{')
        && let Some((json, kinds)) = forgiven(value, max_depth)
    {
        let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&json);
        if let Ok(object) = object {
            return Given::Object(
                json,
                object.into_iter().map(|(key, _)| key).collect(),
                kinds,
            );
        }
    }
    let mut later = HashSet::new();
    let mut each: Vec<_> = all
        .into_iter()
        .rev()
        .map(|(key, value)| Attribute {
            key,
            value,
            again: !later.insert(key.as_str()),
        })
        .collect();
    each.reverse();
    Given::Each(each)
}

/// The attributes of the tag of a call with parameters inside that are neither facts nor arguments of its tool.
pub(super) fn unread<'a>(
    attributes: &'a [(String, String)],
    tool: Option<&Tool>,
) -> impl Iterator<Item = &'a str> {
    let keys = attributes.iter().map(|(key, _)| key.as_str());
    keys.filter(move |key| !is_fact(key) && tool.is_some_and(|tool| tool.param(key).is_none()))
}
