//! What is made of a response. An engine reads the bytes of a body, and writes what a client gets.

mod chat;
pub mod pieces;

use toolglot::rewrite::Same;

pub use chat::{ChatStream, ChatWhole};

/// What an engine has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Calls that were made of the text.
    pub calls: u64,
    /// Calls that the client does not get.
    pub withheld: u64,
    /// The names of what was wrong with them.
    pub kinds: Vec<String>,
    /// The server failed, or its response broke off.
    pub failed: bool,
}

impl Told {
    /// Takes the member `toolglot` of a response.
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

    /// The words of a header: kinds with commas between them.
    pub fn words(&self) -> String {
        match self.kinds.is_empty() {
            true => "withheld".to_owned(),
            false => self.kinds.join(","),
        }
    }
}

/// Makes something of a streamed response.
pub trait Engine: Send {
    /// Takes bytes of the body and adds what they have become.
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>);

    /// Whether that says the same as the body.
    fn same(&self) -> Same;

    /// These bytes went out as they came.
    fn passed(&mut self, _: &[u8]) {}

    /// The body is at its end: adds the rest, and apart from it what no body of a server that came to its end has: an error.
    fn finish(&mut self, out: &mut Vec<u8>, ending: &mut Vec<u8>);

    /// Adds what the protocol has as its last word.
    fn close(&mut self, out: &mut Vec<u8>);

    /// What was found.
    fn told(&self) -> &Told;

    /// The end waits: calls were withheld, and the client has seen nothing but text.
    fn asks(&self) -> bool {
        false
    }

    /// What the model is told of it.
    fn wrong(&self) -> String {
        String::new()
    }

    /// The model was asked again: the next bytes are those of its second reply.
    fn again(&mut self) {}

    /// The model is not asked again: adds the end that waits.
    fn give_up(&mut self, _: &mut Vec<u8>) {}
}
