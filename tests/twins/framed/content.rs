//! Text that is one argument.

use toolglot::json::{Map, Value};

use crate::naive::schema;

use super::pattern::{self, Fit};
use super::spec::{Content, ContentRule};
use super::{Place, Stop, Twin};

impl Twin<'_> {
    /// Reads a call whose opener matched, including its closer.
    pub(super) fn content(&mut self, index: usize, fit: &Fit<Place>) -> Result<usize, Stop> {
        let unit = &self.spec.units[index];
        let content = unit.content.as_ref().expect("content has its table");
        let name = self.tool(index, fit)?;
        let tag = fit.holes.get("tag").map_or("", String::as_str);
        let (attributes, closed) = pattern::attributes(tag);
        let own = attributes.into_iter().filter(|(key, _)| *key != unit.name);
        let own: Vec<(String, String)> = own.collect();
        let mut ends: Vec<(usize, usize)> = vec![];
        if closed {
            ends.push((fit.end, fit.end));
        }
        for close in unit.close.iter().map(pattern::literal) {
            let text = &self.input[fit.end..];
            // A program may have strings with the closer.
            let quoted = |at: usize| {
                let after = &text[at + close.len()..];
                let marks = |mark: char| text[..at].ends_with(mark) && after.starts_with(mark);
                !content.recipients.is_empty() && (marks('"') || marks('\''))
            };
            let mut found = text.match_indices(&close).map(|(at, _)| at);
            let found = found.find(|at| !quoted(*at));
            ends.extend(found.map(|len| (fit.end + len, fit.end + len + close.len())));
        }
        let quote = self.quote.take().filter(|_| !closed);
        self.spoken(fit.end, quote)?;
        let cut = self.cut_value(fit.end..self.input.len(), &[]);
        let (end, next) = ends.into_iter().min().ok_or(cut)?;
        let fits = |rule: &&ContentRule| rule.tools.is_empty() || rule.tools.contains(&name);
        let rule = content.rules.iter().find(fits);
        let has = |key: &String| own.iter().any(|(have, _)| have == key);
        if rule.is_some_and(|rule| !rule.requires.iter().all(has)) {
            return Ok(next);
        }
        let text = &self.input[fit.end..end];
        let text = rule.map_or_else(|| text.to_owned(), |rule| clean(rule, text, &own));
        let mut arguments = Map::new();
        if unit.attributes {
            arguments.extend(own.into_iter().map(|(k, v)| (k, Value::String(v))));
        }
        let Content {
            argument,
            recipients,
            ..
        } = content;
        let sole = schema::tool(self.tools, &name).and_then(|tool| {
            let params = schema::params(tool);
            let has = params.iter().any(|(name, _)| name == argument);
            let sole = schema::sole(tool).filter(|_| !has && !recipients.is_empty())?;
            Some(sole.to_owned())
        });
        let argument = sole.unwrap_or_else(|| argument.clone());
        arguments.insert(argument, Value::String(text));
        self.out.calls.push((name, Value::Object(arguments)));
        Ok(next)
    }
}

fn clean(rule: &ContentRule, text: &str, attributes: &[(String, String)]) -> String {
    let mut text = if rule.trim { text.trim() } else { text };
    let kept = |(key, ending): &(String, String)| {
        let mut own = attributes.iter();
        own.any(|(have, value)| have == key && value.ends_with(ending))
    };
    if rule.unfence && !rule.unless.iter().any(kept) {
        text = unfenced(text).unwrap_or(text);
    }
    match rule.newline {
        true => format!("{}\n", text.trim_end_matches(['\r', '\n'])),
        false => text.to_owned(),
    }
}

/// The lines inside a fence. Chosen: white space at their end belongs to the fence.
fn unfenced(text: &str) -> Option<&str> {
    let text = text.trim();
    let inner = text.trim_start_matches('`');
    let ticks = text.len() - inner.len();
    let (info, inner) = inner.split_once('\n')?;
    let one_word = !info.trim().contains([' ', '\t', '`']);
    let body = inner.trim_end_matches('`');
    let body_line = body.trim_end_matches([' ', '\t']);
    let closed = inner.len() - body.len() >= ticks;
    let own_line = body_line.is_empty() || body_line.ends_with('\n');
    (ticks >= 3 && one_word && closed && own_line).then(|| body_line.trim_end())
}
