//! Forwards the bytes of a streamed response to a client: unchanged while an engine converts nothing, and the engine's output
//! from then on.
//!
//! This is decided event by event. If text of an event waits because it may be the beginning of a marker, the whole event
//! waits; the dialects' lookahead bounds how much.

use memchr::memchr2;
use toolglot::rewrite::Same;
use toolglot::source::DEFAULT_MAX;

use crate::engine::{Engine, Framing, data, lines};

/// Which of the parts that no engine reads the client understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Everything: it speaks the protocol of the server.
    Same,
    /// Comments: its protocol has events too.
    Comments,
    /// Nothing.
    Nothing,
}

/// One streamed response.
pub struct Pump {
    framing: Framing,
    engine: Box<dyn Engine>,
    to: Client,
    /// Bytes may be forwarded unchanged: both sides speak one protocol, and nothing was converted yet.
    passing: bool,
    /// The current event.
    event: Vec<u8>,
    /// Its current line is empty so far.
    blank: bool,
    /// The last byte was a carriage return that ended a line.
    after_return: bool,
    /// The bytes that were forwarded last end in the middle of a line end.
    owes: bool,
    /// Waiting events, and their conversion.
    raw: Vec<u8>,
    made: Vec<u8>,
    /// The engine has finished.
    finished: bool,
}

impl Pump {
    pub fn new(framing: Framing, engine: Box<dyn Engine>, to: Client) -> Self {
        Self {
            framing,
            engine,
            to,
            passing: to == Client::Same,
            event: vec![],
            blank: true,
            after_return: false,
            owes: false,
            raw: vec![],
            made: vec![],
            finished: false,
        }
    }

    pub fn engine(&mut self) -> &mut dyn Engine {
        self.engine.as_mut()
    }

    /// Consumes the next bytes of the response, and appends the output.
    pub fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let end = match self.framing {
                Framing::Events => self.event_end(bytes),
                Framing::Lines => memchr::memchr(b'\n', bytes).map(|at| at + 1),
            };
            let Some(end) = end else {
                self.event.extend_from_slice(bytes);
                if self.event.len() > DEFAULT_MAX {
                    self.event(out);
                }
                return;
            };
            self.event.extend_from_slice(&bytes[..end]);
            self.event(out);
            bytes = &bytes[end..];
        }
    }

    /// Returns the end of the current event in these bytes: after the blank line.
    fn event_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(next) = memchr2(b'\n', b'\r', &bytes[at..]) {
            if next > 0 {
                self.blank = false;
                self.after_return = false;
            }
            at += next + 1;
            let newline = bytes[at - 1] == b'\n';
            if newline && std::mem::take(&mut self.after_return) {
                continue;
            }
            self.after_return = !newline;
            if std::mem::replace(&mut self.blank, true) {
                return Some(at);
            }
        }
        if at < bytes.len() {
            self.blank = false;
            self.after_return = false;
        }
        None
    }

    /// What the current event needs to be terminated.
    fn missing_end(&self) -> &'static [u8] {
        match (self.framing, self.blank, self.after_return) {
            (Framing::Lines, ..) | (Framing::Events, true, false) => b"\n",
            (Framing::Events, true, true) => b"\r\n",
            (Framing::Events, false, _) => b"\n\n",
        }
    }

    /// Processes the current event.
    fn event(&mut self, out: &mut Vec<u8>) {
        let mut event = std::mem::take(&mut self.event);
        // The rest of a line end whose beginning was sent.
        if self.raw.is_empty() && event.first() == Some(&b'\n') && (self.owes || !self.passing) {
            event.remove(0);
            if std::mem::take(&mut self.owes) {
                out.push(b'\n');
            }
        }
        let last = ends(&event, self.framing);
        let comment = self.framing == Framing::Events && !says(&event);
        if self.finished || comment {
            // A comment, or data after the end.
            let understood = match self.to {
                Client::Same => true,
                Client::Comments => comment,
                Client::Nothing => false,
            };
            match self.raw.is_empty() && self.made.is_empty() {
                _ if !understood => {}
                true => self.forward(&event, out),
                false => self.raw.extend_from_slice(&event),
            }
            return;
        }
        self.engine.feed(&event, &mut self.made);
        if !self.passing {
            self.engine.flush(&mut self.made);
        }
        if last {
            self.end(out);
            return match self.passing {
                true => self.forward(&event, out),
                false => self.engine.close(out),
            };
        }
        if self.passing {
            self.raw.extend_from_slice(&event);
            self.decide(out);
        } else if self.to == Client::Same && self.engine.same_last() == Same::Yes {
            // Of another choice than the one that was changed.
            self.made.clear();
            self.forward(&event, out);
        } else {
            self.owes = false;
            out.append(&mut self.made);
        }
    }

    fn forward(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
        self.owes = bytes.last() == Some(&b'\r');
    }

    /// Sends waiting events, if they need not wait.
    fn decide(&mut self, out: &mut Vec<u8>) {
        match self.engine.same() {
            Same::Yes => {
                self.engine.passed(&self.raw);
                let raw = std::mem::take(&mut self.raw);
                self.forward(&raw, out);
                self.made.clear();
            }
            Same::Waits => {}
            Same::No => {
                self.passing = false;
                self.raw.clear();
                self.engine.flush(&mut self.made);
                out.append(&mut self.made);
            }
        }
    }

    /// Ends the engine: sends the waiting events, and what only the end decides. Returns whether anything follows the server's events.
    fn end(&mut self, out: &mut Vec<u8>) -> bool {
        if std::mem::replace(&mut self.finished, true) {
            return false;
        }
        let mut ending = vec![];
        self.engine.finish(&mut self.made, &mut ending);
        if self.passing {
            match self.engine.same() {
                Same::Yes | Same::Waits => out.append(&mut self.raw),
                Same::No => {
                    self.passing = false;
                    self.raw.clear();
                    out.append(&mut self.made);
                }
            }
            self.made.clear();
        } else {
            out.append(&mut self.made);
        }
        // Bytes that were forwarded may have told the client already.
        let tells = !ending.is_empty() && (!self.passing || !self.engine.reported());
        if tells {
            out.append(&mut ending);
        }
        tells
    }

    /// Bytes of a second response follow.
    pub fn again(&mut self) {
        self.passing = false;
        self.finished = false;
        self.blank = true;
        self.after_return = false;
        self.engine.again();
    }

    /// No second response follows.
    pub fn give_up(&mut self, out: &mut Vec<u8>) {
        self.engine.give_up(out);
    }

    /// The body ended, or was truncated.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let mut added: &[u8] = &[];
        match Rest::of(&self.event, self.framing) {
            // Something may follow it here, if nothing did there.
            Rest::Whole => added = self.missing_end(),
            // No client can read it.
            Rest::Part => self.event.clear(),
            Rest::Other => {}
        }
        if !self.event.is_empty() {
            self.event.extend_from_slice(added);
            self.event(out);
        }
        let told = self.finished;
        let follows = self.end(out);
        if self.passing && !follows {
            out.truncate(out.len().saturating_sub(added.len()));
        }
        if !told && !self.passing {
            self.engine.close(out);
        }
    }
}

/// Whether an event carries data rather than only a comment.
fn says(event: &[u8]) -> bool {
    lines(event).any(|line| !line.is_empty() && line[0] != b':')
}

/// What the bytes at the end of a body are that no end of an event follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// An event that lacks only its end.
    Whole,
    /// A part of one.
    Part,
    /// Something else, or nothing.
    Other,
}

impl Rest {
    fn of(event: &[u8], framing: Framing) -> Self {
        let is_json = |data: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok();
        let (is_event, is_whole) = match framing {
            Framing::Lines => (event.first() == Some(&b'{'), is_json(event)),
            Framing::Events => {
                let fields: [&[u8]; 2] = [b"data:", b"event:"];
                let begins = |line: &[u8]| {
                    let of = |field: &&[u8]| line.starts_with(field) || field.starts_with(line);
                    !line.is_empty() && fields.iter().any(of)
                };
                let document = data(event).collect::<Vec<_>>().join(&b'\n');
                let is_whole = ends(event, framing) || is_json(&document);
                (lines(event).any(begins), is_whole)
            }
        };
        match (is_event, is_whole) {
            (false, _) => Self::Other,
            (true, true) => Self::Whole,
            (true, false) => Self::Part,
        }
    }
}

/// Whether an event is the last one of a stream: `[DONE]` of OpenAI, `message_stop` of Anthropic, `done` of Ollama. The server may
/// keep the connection open.
fn ends(event: &[u8], framing: Framing) -> bool {
    let last = |document: &[u8]| {
        let read = serde_json::from_slice::<Last>(document);
        read.is_ok_and(|last| last.done || last.kind.is_some_and(|kind| kind == "message_stop"))
    };
    match framing {
        // The data of other events is a document.
        Framing::Events => {
            event.len() < 1024
                && data(event).any(|data| data.trim_ascii() == b"[DONE]" || last(data))
        }
        Framing::Lines => memchr::memmem::find(event, b"\"done\"").is_some() && last(event),
    }
}

/// What the last event of a stream may say.
#[derive(serde::Deserialize)]
struct Last<'e> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<std::borrow::Cow<'e, str>>,
    #[serde(default)]
    done: bool,
}
