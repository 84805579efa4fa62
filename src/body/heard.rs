//! What a stream remembers of the calls in its text because the host may add API tool calls: what is compared with those or,
//! if API tool calls are preferred, the calls themselves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Arguments, Span};
use crate::kind::KindSet;
use crate::limits::Prefer;

/// Under [`Prefer::Text`], the most bytes of one call's arguments that are remembered, and of all calls together.
const MAX_ARGUMENTS: usize = 1024;
const MAX_TOTAL: usize = 16 * 1024;

/// A call of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    pub name: String,
    /// Missing if they need no comparison or were too long to remember.
    pub arguments: Option<String>,
    /// Nobody gets it, at least so far.
    pub lost: bool,
}

/// Calls in the text, as far as API tool calls make it necessary to remember them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Heard {
    pub calls: Vec<Said>,
    /// Under [`Prefer::Text`]: how many of them preceded the last block.
    settled: usize,
    /// Good calls whose arguments were not remembered, by name.
    pub unread: BTreeMap<String, u32>,
    /// Short arguments are among those: there was no room for more.
    pub full: bool,
    /// Bytes of arguments. Wider than an offset, because arguments may be longer than their source.
    bytes: u128,
    /// Calls that are held back until an API tool call comes or the stream ends.
    pub held: Vec<Held>,
    /// The open call, if it is held back.
    open: Option<Box<Held>>,
}

/// How much was remembered when a block opened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mark {
    calls: usize,
    held: usize,
}

/// A call that is held back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// Its number.
    pub call: u32,
    pub name: String,
    pub meta: Vec<(String, String)>,
    /// The index of its dialect.
    pub dialect: Option<u16>,
    /// Where its name is.
    pub named: Span,
    /// The source of its arguments, from the first byte to the last.
    pub source: Option<Span>,
    pub json: String,
    /// Its arguments were emitted as parameters.
    pub params: bool,
    pub kinds: KindSet,
    pub span: Span,
    /// It is too long to be held back.
    over: bool,
}

impl Held {
    /// Its size, as counted against the limit.
    fn len(&self) -> u128 {
        let meta = self.meta.iter().map(|(key, value)| key.len() + value.len());
        (self.name.len() + self.json.len() + meta.sum::<usize>()) as u128
    }

    /// How its arguments are delivered.
    pub fn arguments(&self) -> Arguments {
        match self.params {
            true => Arguments::Params,
            false => Arguments::Deltas,
        }
    }
}

impl Heard {
    /// Opens a call that is not held back.
    pub fn open(&mut self, name: &str, prefer: Prefer) {
        let arguments = match prefer {
            Prefer::Native => return,
            Prefer::Both => Some(String::new()),
            // Pieces of arguments allocate nothing.
            Prefer::Text if self.bytes < MAX_TOTAL as u128 => {
                Some(String::with_capacity(MAX_ARGUMENTS))
            }
            Prefer::Text => {
                self.full = true;
                None
            }
        };
        self.calls.push(Said {
            name: name.to_owned(),
            arguments,
            lost: true,
        });
    }

    /// Whether pieces of the open call's arguments are remembered.
    #[inline]
    pub fn listens(&self, prefer: Prefer) -> bool {
        let open = || {
            self.calls
                .last()
                .is_some_and(|call| call.lost && call.arguments.is_some())
        };
        prefer != Prefer::Text || open()
    }

    /// Opens a call that is held back.
    pub fn hold(
        &mut self,
        call: u32,
        name: &str,
        meta: &[(String, String)],
        dialect: Option<u16>,
        named: Span,
    ) {
        self.open = Some(Box::new(Held {
            call,
            name: name.to_owned(),
            meta: meta.to_vec(),
            dialect,
            named,
            source: None,
            json: String::new(),
            params: false,
            kinds: KindSet::default(),
            span: named,
            over: false,
        }));
    }

    /// Whether the open call is held back.
    pub fn holds(&self) -> bool {
        self.open.is_some()
    }

    /// Closes the last call. It is one that nobody gets only if it is withheld or its block is later abandoned.
    pub fn close(&mut self, withheld: bool, prefer: Prefer) {
        if let Some(call) = self.calls.last_mut().filter(|_| prefer != Prefer::Native) {
            call.lost = withheld;
        }
        if withheld && prefer == Prefer::Text {
            self.forget_arguments();
        } else if let Some(call) = self.calls.last_mut()
            && let Some(arguments) = &mut call.arguments
        {
            arguments.shrink_to_fit();
        }
    }

    /// Closes the open call that is held back. Returns it if it is too long for that.
    pub fn keep(
        &mut self,
        kinds: KindSet,
        arguments: Arguments,
        span: Span,
        max: u64,
    ) -> Option<Held> {
        let mut call = *self.open.take()?;
        let bytes = self.bytes.saturating_add(call.len());
        if call.over || bytes > u128::from(max) {
            return Some(call);
        }
        self.bytes = bytes;
        call.kinds = kinds;
        call.params = arguments == Arguments::Params;
        call.span = span;
        self.held.push(call);
        None
    }

    /// Retracts the open call.
    pub fn abandon(&mut self, prefer: Prefer) {
        match prefer {
            Prefer::Text => self.forget_arguments(),
            Prefer::Native => self.open = None,
            Prefer::Both => drop(self.calls.pop()),
        }
    }

    /// Forgets the arguments of the last call.
    fn forget_arguments(&mut self) {
        let arguments = self.calls.last_mut().and_then(|call| call.arguments.take());
        let len = arguments.map_or(0, |arguments| arguments.len());
        self.bytes = self.bytes.saturating_sub(len as u128);
    }

    /// Takes a piece of the open call's arguments. Returns true if the piece is held back; otherwise the caller emits it.
    /// Keeps nothing of a call that is too long.
    pub fn takes(&mut self, json: &str, span: Span, max: u64, prefer: Prefer) -> bool {
        let Some(call) = &mut self.open else {
            match prefer {
                Prefer::Text => self.hears(json, max),
                Prefer::Both | Prefer::Native => self.push(json, max),
            }
            return false;
        };
        let source = call.source.get_or_insert(span);
        source.end = source.end.max(span.end);
        let bytes = self.bytes + (call.json.len() + json.len()) as u128;
        call.over |= bytes > u128::from(max);
        match call.over {
            true => call.json = String::new(),
            false => call.json.push_str(json),
        }
        true
    }

    /// Appends to the arguments of the last call. Beyond `max` bytes in total nothing is remembered.
    fn push(&mut self, json: &str, max: u64) {
        let Some(call) = self.calls.last_mut() else {
            return;
        };
        self.bytes = self.bytes.saturating_add(json.len() as u128);
        match &mut call.arguments {
            Some(text) if self.bytes <= u128::from(max) => text.push_str(json),
            _ => call.arguments = None,
        }
    }

    /// The same under [`Prefer::Text`], where only short arguments are remembered.
    #[inline]
    pub fn hears(&mut self, json: &str, max: u64) {
        if self.listens(Prefer::Text) {
            self.push_short(json, max);
        }
    }

    /// Whether [`Heard::hears`] can take that many bytes without allocating.
    #[inline]
    pub fn has_room(&self, len: usize) -> bool {
        let last = self.calls.last();
        let text = last.and_then(|call| call.arguments.as_ref());
        text.is_none_or(|text| text.capacity() - text.len() >= len)
    }

    fn push_short(&mut self, json: &str, max: u64) {
        let Some(call) = self.calls.last_mut() else {
            return;
        };
        let Some(text) = &mut call.arguments else {
            return;
        };
        let total = self.bytes + json.len() as u128;
        let short = text.len() + json.len() <= MAX_ARGUMENTS && total <= MAX_TOTAL as u128;
        if short && total <= u128::from(max) {
            text.push_str(json);
            self.bytes = total;
        } else {
            self.full |= text.len() + json.len() <= MAX_ARGUMENTS;
            self.forget_arguments();
        }
    }

    /// Returns all calls that were held back.
    pub fn release(&mut self) -> Vec<Held> {
        self.bytes = 0;
        std::mem::take(&mut self.held)
    }

    /// Opens a block and returns what is remembered so far.
    pub fn mark(&mut self, prefer: Prefer) -> Mark {
        if prefer == Prefer::Text {
            self.settle();
        }
        Mark {
            calls: self.calls.len(),
            held: self.held.len(),
        }
    }

    /// Good calls of the last block are counted, unless their arguments were remembered. Of the others only the name counts.
    fn settle(&mut self) {
        let last = self.calls.split_off(self.settled.min(self.calls.len()));
        for mut call in last {
            if call.lost {
                let len = call.arguments.take().map_or(0, |arguments| arguments.len());
                self.bytes = self.bytes.saturating_sub(len as u128);
            } else if call.arguments.is_none() {
                let unread = self.unread.entry(call.name).or_default();
                *unread = unread.saturating_add(1);
                continue;
            }
            self.calls.push(call);
        }
        self.settled = self.calls.len();
    }

    /// Ends the text under [`Prefer::Text`].
    pub fn end(&mut self) {
        self.settle();
    }

    /// Abandons the block: everything after the mark is retracted.
    pub fn forget(&mut self, mark: Mark, prefer: Prefer) {
        self.open = None;
        match prefer {
            Prefer::Text => {
                let void = self.calls.iter_mut().skip(mark.calls);
                void.for_each(|call| call.lost = true);
            }
            Prefer::Native | Prefer::Both => self.calls.truncate(mark.calls),
        }
        let forgotten = self.held.iter().skip(mark.held).map(Held::len);
        self.bytes = self.bytes.saturating_sub(forgotten.sum());
        self.held.truncate(mark.held);
    }
}
