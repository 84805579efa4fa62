//! Assembles API tool calls from their pieces.

use std::collections::VecDeque;

use super::{CallPiece, SourceError};
use crate::engine::{Finish, NativeCall};

/// At most this many calls may be incomplete.
const MAX_CALLS: usize = 4096;

/// API tool calls that are being assembled, in the order in which they began. They come out in the same order. At most 4,096
/// may be incomplete at once.
///
/// ```
/// use toolglot::Finish;
/// use toolglot::source::{Assembly, CallPiece};
///
/// let mut calls = Assembly::new(1 << 20);
/// calls.piece(&CallPiece::default().index(0).id("c1").name("f").arguments("{\"a\":"))?;
/// calls.piece(&CallPiece::default().index(0).arguments("1}"))?;
/// calls.end(Some(0));
/// let call = calls.next(Some(Finish::ToolCalls)).expect("a call")?;
/// assert_eq!((call.name.as_str(), call.arguments.as_str()), ("f", r#"{"a":1}"#));
/// # Ok::<(), toolglot::source::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Assembly {
    calls: VecDeque<Pending>,
    /// Bytes of all of them.
    bytes: u64,
    max: u64,
}

#[derive(Clone, Debug)]
struct Pending {
    index: Option<u64>,
    call: NativeCall,
    /// The server reported that it is complete.
    ended: bool,
    /// It was too long; the rest of it is ignored.
    over: bool,
    /// A piece of it may be missing.
    torn: bool,
}

impl Pending {
    fn len(&self) -> u64 {
        let id = self.call.id.as_ref().map_or(0, String::len);
        (id + self.call.name.len() + self.call.arguments.len()) as u64
    }

    /// Whether a piece continues this call.
    fn takes(&self, piece: &CallPiece<'_>) -> bool {
        if self.ended || (piece.index.is_some() && piece.index != self.index) {
            return false;
        }
        let named = piece.name.is_some();
        match (piece.id, &self.call.id) {
            (Some(new), Some(old)) => new == old || !named,
            (Some(_), None) => piece.index.is_some() || !named || self.call.name.is_empty(),
            (None, _) => piece.index.is_some() || !named,
        }
    }
}

impl Assembly {
    /// Creates an assembly whose incomplete calls may hold `max` bytes in total: ids, names and arguments.
    #[must_use]
    pub fn new(max: u64) -> Self {
        Self {
            calls: VecDeque::new(),
            bytes: 0,
            max,
        }
    }

    pub(super) fn max(&mut self, max: u64) {
        self.max = max;
    }

    /// Adds a piece.
    ///
    /// # Errors
    /// There are too many calls, or too many bytes. The rest of that call is ignored.
    pub fn piece(&mut self, piece: &CallPiece<'_>) -> Result<(), SourceError> {
        let found = self.calls.iter().rposition(|call| call.takes(piece));
        let place = match found {
            Some(place) => place,
            None if self.calls.len() >= MAX_CALLS => {
                let name = super::short(piece.name.unwrap_or_default());
                return Err(SourceError::TooManyCalls { name });
            }
            None => {
                self.calls.push_back(Pending {
                    index: piece.index,
                    call: NativeCall::default(),
                    ended: false,
                    over: false,
                    torn: false,
                });
                self.calls.len() - 1
            }
        };
        let pending = &mut self.calls[place];
        if pending.over {
            return Ok(());
        }
        let before = pending.len();
        let call = &mut pending.call;
        if call.id.is_none() {
            call.id = piece.id.map(str::to_owned);
        }
        let name = piece.name.filter(|name| *name != call.name);
        call.name.push_str(name.unwrap_or_default());
        call.arguments.push_str(piece.arguments);
        self.bytes = self.bytes - before + pending.len();
        if self.bytes > self.max {
            self.bytes -= pending.len();
            pending.over = true;
            let name = super::short(&pending.call.name);
            pending.call = NativeCall::default();
            return Err(SourceError::TooManyCalls { name });
        }
        Ok(())
    }

    /// Notes that a part of the response could not be read: pieces of the calls that are incomplete may be missing, so none of them is
    /// delivered.
    pub fn gap(&mut self) {
        let open = self.calls.iter_mut().filter(|call| !call.ended);
        open.for_each(|call| call.torn = true);
    }

    /// Marks the call of an index as complete; with `None`, all calls.
    pub fn end(&mut self, index: Option<u64>) {
        for call in &mut self.calls {
            call.ended |= index.is_none() || call.index == index;
        }
    }

    /// Returns the next call, once it is complete. A call without arguments is complete only when another one has begun or the finish
    /// reason is known: a length limit may have truncated it after its name. A call that has no name, or that was truncated, is an
    /// error.
    pub fn next(&mut self, finish: Option<Finish>) -> Option<Result<NativeCall, SourceError>> {
        loop {
            let first = self.calls.front()?;
            let last = self.calls.len() == 1;
            let bare = last && first.call.arguments.trim().is_empty() && !first.over;
            if !first.ended || (bare && finish.is_none()) {
                return None;
            }
            let pending = self.calls.pop_front()?;
            if pending.over {
                continue;
            }
            self.bytes -= pending.len();
            let cut = pending.torn
                || match finish {
                    Some(Finish::Stop | Finish::ToolCalls) | None => false,
                    Some(Finish::Length | Finish::Error | Finish::Cancelled) => bare,
                };
            return Some(check(pending.call, cut));
        }
    }

    /// Returns the error for a call that never ended, once the response has.
    pub fn rest(&mut self) -> Option<SourceError> {
        loop {
            let pending = self.calls.pop_front()?;
            if !pending.over {
                self.bytes -= pending.len();
                let name = super::short(&pending.call.name);
                return Some(SourceError::CutCall { name });
            }
        }
    }
}

fn check(call: NativeCall, cut: bool) -> Result<NativeCall, SourceError> {
    if call.name.is_empty() {
        Err(SourceError::NoName)
    } else if cut {
        let name = super::short(&call.name);
        Err(SourceError::CutCall { name })
    } else {
        Ok(call)
    }
}
