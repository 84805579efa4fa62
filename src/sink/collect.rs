//! Collects events into a [`Turn`].

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::call::{Call, Report, Turn};
use crate::error::{Kind, KindSet};
use crate::event::{Arguments, CallState, Event, Sink, Span};

/// A sink that builds a [`Turn`]. Memory grows with the turn.
///
/// Calls of a block that is abandoned are taken back. In a call that repeats a parameter the last value counts.
#[derive(Clone, Debug, Default)]
pub struct Collect {
    text: Vec<u8>,
    reasoning: Vec<u8>,
    calls: Vec<Call>,
    open: Option<Call>,
    /// Provisional parameters of an open block: what `Retain::None` leaves of calls is not collected.
    block_calls: usize,
    errors: Vec<Report>,
}

impl Collect {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What has come so far. Calls are numbered as they stand in the turn, without those that were taken back.
    #[must_use]
    pub fn turn(mut self) -> Turn {
        for (index, call) in self.calls.iter_mut().enumerate() {
            call.index = index as u32;
        }
        Turn {
            text: String::from_utf8_lossy(&self.text).into_owned(),
            reasoning: String::from_utf8_lossy(&self.reasoning).into_owned(),
            calls: self.calls,
            errors: self.errors,
        }
    }

    fn close(&mut self, state: CallState, arguments: Arguments, span: Span) {
        let Some(mut call) = self.open.take() else {
            return;
        };
        call.span = span;
        call.recovered = match state {
            CallState::Complete => None,
            CallState::Recovered(kinds) => Some(kinds),
        };
        if arguments == Arguments::Params {
            // The arguments went by as parameters, so this is not the whole call.
            call.arguments = "{}".to_owned();
            call.recovered.get_or_insert_default();
        }
        if call
            .recovered
            .is_some_and(|kinds: KindSet| kinds.contains(Kind::DuplicateParam))
        {
            call.arguments = last_wins(&call.arguments).unwrap_or(call.arguments);
        }
        self.calls.push(call);
    }
}

impl Sink for Collect {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text { data, .. } => self.text.extend_from_slice(data),
            Event::Reasoning {
                data,
                framing: false,
                ..
            } => self.reasoning.extend_from_slice(data),
            Event::BlockOpen { .. } => self.block_calls = self.calls.len(),
            Event::CallOpen {
                call,
                name,
                meta,
                dialect,
                origin,
                span,
            } => {
                self.open = Some(Call {
                    index: call,
                    name: name.to_owned(),
                    arguments: String::new(),
                    recovered: None,
                    dialect: dialect.to_owned(),
                    origin,
                    meta: meta.to_vec(),
                    span,
                });
            }
            Event::ArgDelta { json, .. } => {
                if let Some(call) = &mut self.open {
                    call.arguments.push_str(json);
                }
            }
            Event::CallClose {
                state,
                arguments,
                span,
                ..
            } => self.close(state, arguments, span),
            Event::CallAbandoned { .. } => self.open = None,
            Event::BlockAbandoned { .. } => {
                self.open = None;
                self.calls.truncate(self.block_calls);
            }
            Event::Issue(issue) => self.errors.push(Report::from(&issue)),
            Event::Reasoning { framing: true, .. }
            | Event::Protected { .. }
            | Event::Raw { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. }
            | Event::BlockClose { .. } => {}
        }
    }
}

/// The members of a JSON object with their source text.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut list = vec![];
                while let Some(entry) = map.next_entry()? {
                    list.push(entry);
                }
                Ok(Members(list))
            }
        }
        input.deserialize_map(Read)
    }
}

/// The canonical text of an object that repeats keys: each key once, where it stood first, with its last value.
fn last_wins(text: &str) -> Option<String> {
    let members: Members = serde_json::from_str(text).ok()?;
    let mut last: std::collections::HashMap<&str, &str> = std::collections::HashMap::new();
    for (key, value) in &members.0 {
        last.insert(key, value.get());
    }
    let mut out = String::from("{");
    for (key, _) in &members.0 {
        if let Some(value) = last.remove(key.as_str()) {
            if out.len() > 1 {
                out.push(',');
            }
            crate::body::json::string(key, &mut out);
            out.push(':');
            out.push_str(value);
        }
    }
    out.push('}');
    Some(out)
}
