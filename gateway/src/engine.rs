//! Conversion of a response. An engine reads the bytes of a body, and writes the client's bytes.

pub mod blocks;
mod chat;
pub mod gathered;
pub mod pieces;
pub mod reader;
mod responses;

use toolglot::rewrite::Same;

pub use chat::{ChatStream, ChatWhole};
pub use responses::is_read;

/// The findings of an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Calls found in the text.
    pub calls: u64,
    /// Calls that were withheld from the client.
    pub withheld: u64,
    /// The issue kinds of those calls.
    pub kinds: Vec<String>,
    /// The server failed, or its response broke off.
    pub failed: bool,
    /// A filter stopped the output.
    pub filtered: bool,
    /// The server's own calls count: they came before anything was converted.
    pub native: bool,
}

impl Told {
    /// Reads the member `toolglot` of a response.
    pub fn left(&mut self, left: &serde_json::Value) {
        for list in ["withheld", "dropped"] {
            for one in left[list].as_array().into_iter().flatten() {
                self.withheld += 1;
                let kinds = one["kinds"].as_array().into_iter().flatten();
                for kind in kinds.filter_map(serde_json::Value::as_str) {
                    if !self.kinds.iter().any(|have| have == kind) {
                        self.kinds.push(kind.to_owned());
                    }
                }
            }
        }
        if let Some(void) = left["void"].as_array().filter(|_| self.withheld == 0) {
            self.withheld += void.len() as u64;
        }
    }

    /// Whether another reply may have the calls that this one lacks.
    pub fn asks(&self) -> bool {
        self.withheld > 0 && self.calls == 0 && !self.filtered
    }

    /// Returns the value of the header: kinds separated by commas.
    pub fn words(&self) -> String {
        match self.kinds.is_empty() {
            true => "withheld".to_owned(),
            false => self.kinds.join(","),
        }
    }
}

/// How a body is split into events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One document per line.
    Lines,
}

/// The lines of server-sent events.
pub fn lines(events: &[u8]) -> impl Iterator<Item = &[u8]> {
    events.split(|byte| matches!(byte, b'\n' | b'\r'))
}

/// The data of server-sent events, line by line.
pub fn data(events: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines(events).filter_map(|line| line.strip_prefix(b"data:"))
}

/// The same as documents; null for what is none.
pub fn documents(events: &[u8]) -> impl Iterator<Item = serde_json::Value> {
    data(events).map(|data| serde_json::from_slice(data).unwrap_or_default())
}

/// Converts a streamed response.
pub trait Engine: Send {
    /// Consumes bytes of the body and appends the output, except for what [`flush`](Self::flush) appends.
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>);

    /// The bytes since the last call of [`passed`](Self::passed) or of this are not forwarded: appends the output in their place.
    fn flush(&mut self, _: &mut Vec<u8>) {}

    /// Whether the output means the same as the body.
    fn same(&self) -> Same;

    /// The same for the last event alone, although the output is not the same any more.
    fn same_last(&self) -> Same {
        Same::No
    }

    /// These bytes were forwarded unchanged.
    fn passed(&mut self, _: &[u8]) {}

    /// The body ended: appends the rest, and separately what a complete body never contains: an error.
    fn finish(&mut self, out: &mut Vec<u8>, ending: &mut Vec<u8>);

    /// Appends the protocol's final event.
    fn close(&mut self, out: &mut Vec<u8>);

    /// Returns the findings.
    fn told(&self) -> &Told;

    /// The end is held: calls were withheld, and the client has seen nothing but text.
    fn asks(&self) -> bool {
        false
    }

    /// Whether the body itself reports the error that ended it.
    fn reported(&self) -> bool {
        false
    }

    /// The model was asked again: the next bytes are those of its second reply.
    fn again(&mut self) {}

    /// The model is not asked again: appends the held end.
    fn give_up(&mut self, _: &mut Vec<u8>) {}
}
