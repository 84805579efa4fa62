//! A value in place of the object of a call's arguments: the text of the only parameter that it can be meant for.

use toolglot_scan::json;

use super::{LiveCall, Source, Step};
use crate::body::Out;
use crate::body::lexer::{Rules, forgiven};
use crate::body::typed::typed;
use crate::event::{Event, Span};
use crate::hints::{Coerced, Tool};
use crate::kind::Kind;

impl LiveCall {
    /// Lets a text replace the arguments, for the parameter `plain` if no schema says which one.
    pub fn plain(&mut self, plain: &str) {
        plain.clone_into(&mut self.plain);
    }

    /// Whether a text may replace the arguments.
    pub fn takes_text(&self) -> bool {
        !self.plain.is_empty()
    }

    /// Reads `text`, written as `raw` at its span, in place of the arguments. `doubt` is a further issue.
    pub fn single(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        text: &str,
        raw: (&[u8], Span),
        doubt: Option<Kind>,
    ) -> Step {
        let span = raw.1;
        let text = text.trim();
        let mut read = String::new();
        if text.starts_with(['"', '\''])
            && let Some((json, kinds)) = forgiven(text, rules.max_depth)
            && let Ok(inner) = serde_json::from_str(&json)
        {
            kinds
                .iter()
                .for_each(|kind| self.repaired(out, kind, span.start));
            read = inner;
        } else {
            read.push_str(text);
        }
        if let Some(kind) = doubt {
            self.recovered_at(out, kind, span, "");
        }
        if let Some((object, kinds)) = object(&read, rules) {
            kinds.for_each(|kind| self.repaired(out, kind, span.start));
            self.repaired(out, Kind::RepairedArguments, span.start);
            let source = Source {
                bytes: object.as_bytes(),
                base: span.start,
                until: span.end,
                raw: false,
            };
            return match self.feed(out, rules, source, 0) {
                (_, Step::More) => self.broken(out, Kind::MalformedBody, span.end),
                (_, step) => step,
            };
        }
        self.only(out, &read, raw);
        Step::Done
    }

    /// Reads a word that means "nothing" in place of the arguments.
    pub fn nothing(&mut self, out: &mut Out<'_>, word: &str, raw: (&[u8], Span)) -> Step {
        let span = raw.1;
        let param = out.tool(self.tool()).and_then(Tool::sole);
        if param.is_some_and(|param| param.required) {
            // The word may also be meant as the value.
            self.recovered_at(out, Kind::MissingInput, span, "");
            self.only(out, word.trim(), raw);
        } else {
            self.recovered_at(out, Kind::RepairedArguments, span, "");
            self.empty(out, span.end);
        }
        Step::Done
    }

    /// Writes the arguments: one parameter with the value `text`.
    fn only(&mut self, out: &mut Out<'_>, text: &str, (raw, span): (&[u8], Span)) {
        let param = out.tool(self.tool()).and_then(Tool::sole);
        let key = param.map_or(self.plain.clone(), |param| param.name.clone());
        let (kind, subject) = match param {
            Some(_) => (Kind::RepairedArguments, key.as_str()),
            None => (Kind::MalformedBody, ""),
        };
        self.recovered_at(out, kind, span, subject);
        if param.is_none() {
            out.unknown_param(self.tool(), &key, span);
        }
        let mut json = String::from("{");
        json::string(&key, &mut json);
        json.push_str(": ");
        let from = json.len();
        let schema = out.known(param.map(|param| &param.schema));
        let depth = out.limits().max_depth;
        let result = typed(text, schema, out.unknown(), depth, &mut json);
        for kind in result.kinds.iter() {
            self.repaired(out, kind, span.start);
        }
        match result.how {
            Coerced::Fits => {}
            Coerced::Mismatch => self.recovered_at(out, Kind::TypeMismatch, span, &key),
            Coerced::Malformed => {
                self.recovered_at(out, Kind::MalformedValue, span, &key);
                json.truncate(from);
                json::string(text, &mut json);
            }
        }
        json.push('}');
        out.event(Event::ParamOpen {
            name: &key,
            depth: 0,
            span: Span::new(span.start, span.start),
        });
        out.event(Event::ParamDelta { data: raw, span });
        out.event(Event::ParamClose { span });
        self.call.arg(out, &json, span);
        self.begun = true;
        self.call.remember(&key);
    }
}

/// The object that a text contains, and what was repaired.
fn object(text: &str, rules: &Rules<'_>) -> Option<(String, impl Iterator<Item = Kind>)> {
    let (object, kinds) = text
        .starts_with('{')
        .then(|| forgiven(text, rules.max_depth))??;
    let kinds: Vec<Kind> = kinds.iter().collect();
    object.ends_with('}').then(|| (object, kinds.into_iter()))
}
