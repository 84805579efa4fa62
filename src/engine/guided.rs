//! Guided output: the host told the server to have a tool called, and the reply is its arguments, or calls, as bare JSON.
//!
//! It begins where the text of the reply begins: at its first byte, after a thought, or in a message. There a `{` or `[` is
//! examined until its meaning is clear. Calls show a name and then arguments. Anything else is the arguments of the named
//! tool or, if none was named, text. The rest of the reply is read as usual, the model's own markup included.

use serde::{Deserialize, Serialize};
use toolglot_scan::xml;

use super::bare::{Bare, Member, Shown};
use super::machine::{Chunk, Machine, Taken};
use super::{Mode, Region, State};
use crate::body::Opened;
use crate::dialect::{Family, Framed, guided, spec};
use crate::event::Span;
use crate::limits::{Options, ToolChoice};

/// How many bytes are examined before a bracket is decided without a name.
const WITHIN: u64 = 256;

/// Undecided JSON at the beginning of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Guess {
    bare: Bare,
}

/// What the JSON is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Arguments,
    Calls,
    Text,
}

/// Whether guided output is possible.
pub(super) fn looks(opts: &Options) -> bool {
    match opts.tool_choice {
        ToolChoice::Required | ToolChoice::Named(_) => true,
        ToolChoice::Auto | ToolChoice::None => false,
    }
}

impl Guess {
    /// Whether the state fits the bytes held back from `from` on.
    pub fn fits(&self, from: u64) -> bool {
        self.bare.start == from
    }
}

impl State {
    /// Whether guided output may begin with the next byte of text.
    pub fn may_be_guided(&self) -> bool {
        self.guided.is_some() && self.region == Region::Text && matches!(self.mode, Mode::Flow)
    }
}

impl Machine<'_> {
    /// Before any text: the index of the bracket that begins guided output, if the next bytes lead to one.
    pub fn guided_from(&mut self, chunk: Chunk<'_>, at: usize) -> Option<usize> {
        if !self.st.may_be_guided() {
            return None;
        }
        let rest = chunk.seg.get(at..)?;
        let blanks = rest.iter().take_while(|byte| xml::is_space(**byte)).count();
        rest.get(blanks)
            .filter(|byte| matches!(byte, b'{' | b'['))?;
        let before = chunk.base + at as u64;
        // A bracket decides a token that waits for what follows it; a blank may belong to a longer one.
        if self.st.waiting.is_some_and(|token| token.is_sure()) {
            if blanks > 0 {
                return None;
            }
            self.settle_token(chunk, before, false);
        }
        // Bytes held back for a marker must be blank as well, or this is not the beginning of the text.
        let held = self.bytes(chunk, self.st.from(), before);
        let from = self.st.guided.filter(|_| held.trim_ascii().is_empty())?;
        (before + blanks as u64 >= from).then_some(at + blanks)
    }

    /// Begins guided output, possibly, at a bracket at index `at`.
    pub fn guess(&mut self, chunk: Chunk<'_>, at: usize) {
        let start = chunk.base + at as u64;
        self.deliver(chunk, start);
        self.flow_end(chunk);
        self.st.io.cursor.hold(start);
        self.st.node = toolglot_scan::ROOT;
        self.st.mode = Mode::Guess(Guess {
            bare: Bare::new(start),
        });
    }

    /// Consumes bytes from index `at` on until their meaning is clear.
    pub fn guessing(&mut self, chunk: Chunk<'_>, mut at: usize) -> Taken {
        while let Some(byte) = chunk.seg.get(at).copied() {
            let Mode::Guess(mut guess) = self.st.mode else {
                break;
            };
            let pos = chunk.base + at as u64;
            at += 1;
            let decided = self.look(chunk, &mut guess, byte, pos);
            self.st.mode = Mode::Guess(guess);
            if let Some(is) = decided {
                let again = self.decide(chunk, guess, is, pos + 1);
                return Taken { to: at, again };
            }
        }
        Taken {
            to: at,
            again: None,
        }
    }

    fn look(&self, chunk: Chunk<'_>, guess: &mut Guess, byte: u8, pos: u64) -> Option<Is> {
        let start = guess.bare.start;
        let end = pos + 1;
        let shown = match guess.bare.step(byte, pos, false) {
            Shown::Key(key) => {
                let member = self.means(&self.bytes(chunk, key.start, key.end));
                if member == Member::Other && self.chosen().is_some() && self.is_own(chunk, key) {
                    // In a list, each object is the arguments of a call.
                    return Some(match self.is_list(chunk, start) {
                        true => Is::Calls,
                        false => Is::Arguments,
                    });
                }
                let arguments = matches!(member, Member::Arguments | Member::Synonym);
                if arguments && guess.bare.only_name().is_none() && self.knows_chosen() {
                    // The host gave the name.
                    return Some(Is::Calls);
                }
                match guess.bare.member(member, &[]) {
                    true => Shown::More,
                    false => Shown::None,
                }
            }
            shown => shown,
        };
        match shown {
            _ if end - start > WITHIN => Some(self.otherwise(start, chunk)),
            Shown::More | Shown::Key(_) => None,
            Shown::Call(name) | Shown::Definition(name, _) => Some(self.calls(chunk, name)),
            Shown::Name(_) | Shown::None => {
                // A list that begins with an object without arguments.
                let mut looked = self.bytes(chunk, start, end);
                looked.retain(|byte| !xml::is_space(*byte));
                if looked == b"[{}" && self.chosen().is_some() {
                    return Some(Is::Calls);
                }
                // The name of a declared tool alone is a call without arguments.
                let name = guess.bare.only_name().filter(|_| byte == b'}');
                Some(match name.filter(|name| self.is_on_offer(chunk, *name)) {
                    Some(name) => self.calls(chunk, name),
                    None => self.otherwise(start, chunk),
                })
            }
        }
    }

    /// The tool that the host named.
    fn chosen(&self) -> Option<&str> {
        match &self.opts.tool_choice {
            ToolChoice::Named(name) => Some(name),
            ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => None,
        }
    }

    /// Whether the parameters of the named tool are known.
    fn knows_chosen(&self) -> bool {
        let tools = self.opts.tools.as_deref();
        let tool = self.chosen().and_then(|name| tools?.get(name));
        tool.is_some_and(|tool| !tool.params.is_empty())
    }

    fn is_on_offer(&self, chunk: Chunk<'_>, name: Span) -> bool {
        let name = self.bytes(chunk, name.start, name.end);
        let tools = self.opts.tools.as_deref();
        std::str::from_utf8(&name).is_ok_and(|name| tools.is_some_and(|t| t.get(name).is_some()))
    }

    fn is_list(&self, chunk: Chunk<'_>, start: u64) -> bool {
        self.bytes(chunk, start, start + 1) == b"["
    }

    /// Whether a key can only be a parameter, because it is not a fact about a call.
    fn is_own(&self, chunk: Chunk<'_>, key: Span) -> bool {
        let key = self.bytes(chunk, key.start, key.end);
        !["type", "id", "index"]
            .iter()
            .any(|fact| fact.as_bytes() == key)
    }

    /// The meaning of a key in a call, unless it is a parameter of the named tool.
    fn means(&self, key: &[u8]) -> Member {
        let tools = self.opts.tools.as_deref();
        let tool = self.chosen().and_then(|name| tools?.get(name));
        let text = std::str::from_utf8(key).unwrap_or_default();
        if tool.is_some_and(|tool| tool.param(text).is_some()) {
            return Member::Other;
        }
        match guided::dialect(guided::CALLS).map(|dialect| &dialect.family) {
            Some(Family::Framed(table)) => super::opening::member(table, key),
            _ => Member::Other,
        }
    }

    /// Decides JSON in the form of a call with that name.
    fn calls(&self, chunk: Chunk<'_>, name: Span) -> Is {
        let start = match self.st.mode {
            Mode::Guess(guess) => guess.bare.start,
            _ => name.start,
        };
        let fits = match self.chosen() {
            // If the parameters are unknown, arguments may contain a name and arguments, too.
            Some(named) => {
                self.knows_chosen() || self.bytes(chunk, name.start, name.end) == named.as_bytes()
            }
            None => true,
        };
        match fits {
            true => Is::Calls,
            false if self.is_list(chunk, start) => Is::Calls,
            false => Is::Arguments,
        }
    }

    /// Decides JSON that does not have the form of a call.
    fn otherwise(&self, start: u64, chunk: Chunk<'_>) -> Is {
        match self.chosen() {
            Some(_) if !self.is_list(chunk, start) => Is::Arguments,
            Some(_) | None => Is::Text,
        }
    }

    /// Acts on the decision, made before `end`; returns the bytes to read again.
    fn decide(&mut self, chunk: Chunk<'_>, guess: Guess, is: Is, end: u64) -> Option<Vec<u8>> {
        let start = guess.bare.start;
        self.st.mode = Mode::Flow;
        // The bracket may begin a marker all the same, and the text follow that.
        self.st.guided = Some(start + 1);
        let name = match (is, self.chosen()) {
            (Is::Arguments, Some(name)) => name.to_owned(),
            _ => String::new(),
        };
        let number = match is {
            Is::Arguments => Some(guided::ARGUMENTS),
            Is::Calls => Some(guided::CALLS),
            Is::Text => None,
        };
        if let Some(number) = number {
            let opened = Opened {
                name: &name,
                meta: &[],
                span: Span::new(start, start),
                at: start,
            };
            self.open(chunk, (self.set.dialects.len() + number) as u16, opened);
            if let Some(block) = &mut self.st.io.block {
                block.unmarked = true;
            }
        }
        self.st.io.cursor.hold(start);
        Some(self.rewind(chunk, start, end))
    }

    /// Whether right after a marker of JSON calls there begins what only a guided model would write: a list of calls, or no
    /// arguments.
    pub fn guided_after(
        &self,
        chunk: Chunk<'_>,
        (literal, after): (&str, u64),
        table: &Framed,
        byte: u8,
        end: u64,
    ) -> bool {
        let reads = |unit: &spec::Unit| unit.payload == spec::Payload::Json;
        let marker = literal.len() > 1 && table.spec.section.is_none();
        if !looks(self.opts) || !marker || !table.spec.unit.iter().all(reads) {
            return false;
        }
        let looked = self.bytes(chunk, after.min(end - 1), end - 1);
        let looked = looked.trim_ascii();
        match looked.strip_prefix(literal.as_bytes()).unwrap_or(looked) {
            [] => byte == b'[',
            [b'[', ..] => true,
            [b'{'] => byte == b'}' && self.chosen().is_some(),
            _ => false,
        }
    }

    /// Decides at the end of the stream.
    pub fn guess_ends(&mut self, chunk: Chunk<'_>, guess: Guess, end: u64) {
        let is = self.otherwise(guess.bare.start, chunk);
        if let Some(again) = self.decide(chunk, guess, is, end) {
            self.again(again);
        }
    }
}
