//! JSON that is a call: `{"name": .., "arguments": {..}}`, a list of such, or the arguments alone.
//!
//! One lexer reads around the calls, another one inside the arguments, so that the arguments are emitted as they arrive.
//! Arguments in a string are decoded on the way. Arguments that precede their name are buffered until it comes. An object
//! under a synonym of their key is buffered until the call ends, because the right key may still come. Each buffer holds at
//! most `max_value` bytes. Members that no rule reads are reported. A call closes at its own last bracket.

mod arguments;
mod chosen;
mod fence;
mod item;
mod members;
#[cfg(test)]
mod tests;
mod values;
mod waiting;

use crate::dialect::payload::JsonTable;
use serde::{Deserialize, Serialize};

use super::given::is_fact;
use super::hidden::Torn;
use super::lexer::{Emit, Lexer, Rules, Token};
use super::live::{LiveCall, Source, Step, rules};
use super::{Out, Short};
use crate::event::Span;
use crate::kind::{Kind, KindSet};
use crate::limits::Limits;
use arguments::Arguments;
use fence::{Fence, Mark};
use members::{Called, Fact, Member, Spare, push_sort};
pub(super) use waiting::begins_member;

/// The depth to which values around a call are reported: list, object, wrapper, member.
const WATCH: u8 = 3;

/// The last byte of `…`.
pub(super) const ELLIPSIS_END: u8 = 0xA6;

/// The state of a payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    /// Reads around the calls; it rests while arguments are read.
    lexer: Lexer,
    /// Reads only the arguments of a call that is already open.
    bare: bool,
    item: Option<Item>,
    calls: u32,
    /// The bytes so far of an object that may be the arguments of the tool that the host named.
    head: Option<Vec<u8>>,
    /// The inside of the string that is the answer.
    answer: Option<Span>,
    follows: Follows,
    /// The arguments are in place of parameters: their owner closes the call.
    in_place: bool,
    /// A call whose object has ended, and where: what follows may be its arguments, torn off by a bracket too many, or
    /// further parameters.
    waiting: Option<(LiveCall, u64)>,
    /// Where the object ended whose call waits without a closer; what follows is read again.
    end: Option<u64>,
    /// A comma has come since.
    comma: bool,
    fence: Fence,
}

/// An object that is a call or contains calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Item {
    start: u64,
    /// How many brackets are open around it.
    depth: usize,
    /// How many brackets are open around the members that count.
    level: usize,
    /// What the last key says about its value, and where the key is.
    member: Member,
    key: Span,
    reading: Reading,
    /// A name has come.
    named: bool,
    /// The string under way.
    text: String,
    meta: Vec<(String, String)>,
    /// The name under another key, which counts if none comes.
    called: Option<Called>,
    /// Arguments that came before the name, and their offset.
    kept: Option<(u64, Vec<u8>)>,
    /// What is used as the arguments if none come.
    spare: Option<Spare>,
    /// The spare object is not used, because there were two.
    torn: bool,
    facts: Vec<Fact>,
    /// Arguments have come.
    argued: bool,
    /// Their key is also that of the schema in the definition of a tool: what they are, if they are a schema.
    parameters: Option<Span>,
    args: Option<Arguments>,
    /// What was repaired before the call was open.
    kinds: KindSet,
    /// It names no tool: its arguments are the answer.
    answers: bool,
    /// It is an object in a list that consists of the arguments alone.
    alone: bool,
    /// Where the arguments ended, if their key is the name: another key may follow.
    ended: Option<u64>,
}

/// What may follow the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Follows {
    /// Its owner does not read what came after it again.
    Unread,
    Anything,
    Closer,
    /// Another call of its section, or the section's closer. What came after it is read again.
    Section,
}

/// What happens to the value under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Reading {
    Nothing,
    Name {
        start: u64,
    },
    /// A name under another key.
    Called {
        start: u64,
    },
    Id {
        start: u64,
    },
    Sort,
    Kept {
        start: u64,
    },
    Spare {
        start: u64,
    },
    Args,
}

/// Takes the text of a string, or as much of it as matters.
struct Text<'t> {
    text: &'t mut String,
    sort: bool,
}

impl Emit for Text<'_> {
    fn json(&mut self, _: &str, _: Span) {}

    fn text(&mut self, text: &str, _: Span) {
        if self.sort {
            push_sort(self.text, text);
        } else {
            self.text.push_str(text);
        }
    }
}

impl Body {
    /// A call, or a list of calls.
    pub fn new() -> Self {
        Self {
            lexer: Lexer::new(WATCH),
            bare: false,
            item: None,
            calls: 0,
            head: None,
            answer: None,
            follows: Follows::Unread,
            in_place: false,
            waiting: None,
            end: None,
            comma: false,
            fence: Fence::Over,
        }
    }

    /// The inside of the string that is the answer, if one of the calls was the answer instead.
    pub fn answer(&self) -> Option<Span> {
        self.answer
    }

    /// A list of calls whose opening bracket was already consumed.
    pub fn in_list(table: &JsonTable) -> Self {
        let mut body = Self::new();
        let rules = Rules {
            syntax: &table.syntax,
            max_depth: u32::MAX,
            max_name: 0,
        };
        let mut text = String::new();
        for i in [0, 0] {
            // The first call reports the list, the second consumes its bracket.
            let (text, sort) = (&mut text, false);
            body.lexer
                .next(&rules, b"[", 0, i, &mut Text { text, sort });
        }
        body
    }

    /// The arguments of the call that `span` names.
    pub fn arguments(
        out: &mut Out<'_>,
        name: &str,
        meta: &[(String, String)],
        span: Span,
    ) -> Result<Self, Kind> {
        let mut live = LiveCall::open(out, name, meta, span, span.start)?;
        for (key, _) in meta.iter().filter(|(key, _)| !is_fact(key)) {
            live.recovered_at(out, Kind::ExtraKey, span, key);
        }
        Ok(Self::of(live))
    }

    /// The arguments of an open call.
    pub fn of(live: LiveCall) -> Self {
        let mut item = Item::new(live.span(0).start, 0);
        item.named = true;
        item.argued = true;
        item.reading = Reading::Args;
        item.args = Some(Arguments::new(live));
        Self {
            bare: true,
            item: Some(item),
            ..Self::new()
        }
    }

    /// The arguments of an open call in place of its parameters: it waits for what follows them.
    pub fn in_place(live: LiveCall) -> Self {
        let mut body = Self::of(live);
        body.wait();
        body
    }

    /// Lets the owner close the call, when it knows what follows its arguments.
    pub fn wait(&mut self) {
        self.in_place = true;
    }

    /// The same payload; a closer follows it if `closer`, and otherwise what was read after it is read again. It may be `in_section`.
    pub fn followed(self, closer: bool, in_section: bool) -> Self {
        let follows = match (closer, in_section) {
            (true, _) => Follows::Closer,
            (false, true) => Follows::Section,
            (false, false) => Follows::Anything,
        };
        let text = self.open_args().is_some_and(Arguments::takes_text);
        let fence = match closer && !text {
            true => Fence::Before,
            false => self.fence,
        };
        Self {
            follows,
            fence,
            ..self
        }
    }

    fn closes(&self) -> bool {
        self.follows == Follows::Closer
    }

    /// Where the payload ended, if what follows was read.
    pub fn closed(&self) -> Option<u64> {
        self.end
    }

    /// The arguments that are being read.
    #[inline]
    fn open_args(&self) -> Option<&Arguments> {
        let item = self.item.as_ref()?;
        item.args.as_ref().filter(|_| item.reading == Reading::Args)
    }

    /// What reads the open value.
    pub(super) fn lexer(&mut self) -> Option<&mut Lexer> {
        let item = self.item.as_mut()?;
        let args = item
            .args
            .as_mut()
            .filter(|_| item.reading == Reading::Args)?;
        args.lexer()
    }

    /// The open string, if its next bytes can be delivered unchanged.
    pub fn short(&self, table: &JsonTable, limits: &Limits) -> Option<Short> {
        self.open_args()?.short(&table.syntax, limits)
    }

    /// What was open where the payload broke.
    pub(super) fn torn(&self, table: &JsonTable) -> Torn {
        let mut torn = Torn {
            brackets: Some(vec![]),
            ..Torn::default()
        };
        self.lexer.torn(&table.syntax, &mut torn);
        if let Some(args) = self.open_args() {
            args.torn(&table.syntax, &mut torn);
        }
        torn
    }

    /// Whether the payload reached its own end, even if it is not a call.
    pub fn ended(&self) -> bool {
        self.item.is_none() && self.lexer.done()
    }

    /// How many calls were closed.
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// Whether a call has begun and not closed.
    pub fn under_way(&self) -> bool {
        self.item
            .as_ref()
            .is_some_and(|item| item.args.is_some() || item.kept.is_some() || !item.named)
            || self.waiting.is_some()
    }

    /// Ends the stream at `end`; `stopped` if the model ended it, so that nothing is truncated.
    pub fn finish(&mut self, out: &mut Out<'_>, end: u64, stopped: bool) {
        // As before a token that a server may have removed.
        let keyed = self.item.as_ref().is_some_and(|item| item.ended.is_some());
        if stopped && !keyed && self.ends_without(Some(&b'<')) {
            self.end_without(out, end);
        }
        let doubt = (!stopped).then_some(Kind::UnclosedBlock);
        // Where a closer is due, the block reports that it is missing.
        if let (Some(kind), Some((_, end))) = (doubt, &self.waiting)
            && self.lexer.depth() == 0
            && !self.closes()
        {
            out.issue(kind, Span::new(end.saturating_sub(1), *end), "");
        }
        self.close_waiting(out, doubt);
        self.close_keyed(out, doubt);
    }

    /// Whether an issue of this kind was reported for the open call.
    pub fn doubts(&self, kind: Kind) -> bool {
        self.item.as_ref().is_some_and(|item| {
            let args = item.args.as_ref();
            item.kinds.contains(kind) || args.is_some_and(|args| args.live.doubts(kind))
        })
    }

    /// Abandons the open call, which ends at `end` at the latest.
    pub fn abandon(&mut self, out: &mut Out<'_>, end: u64) {
        self.close_keyed(out, Some(Kind::MalformedBody));
        let item = self.item.take();
        if let Some(args) = item.as_ref().and_then(|item| item.args.as_ref()) {
            out.call_abandon(args.live.span(end));
        }
        if let Some((live, _)) = self.waiting.take() {
            out.call_abandon(live.span(end));
        }
    }

    /// Consumes the chunk from index `i` up to `end`.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &JsonTable,
        i: usize,
        end: usize,
    ) -> (usize, Step) {
        if self.waiting.is_some() && self.lexer.depth() == 0 {
            return self.after(out, i, end);
        }
        match self.fenced(out, i, end) {
            (i, Step::More) => self.read(out, table, Source::chunk(out, end), i),
            (i, broken) => {
                out.skip(out.base + i as u64);
                (i, broken)
            }
        }
    }

    /// Consumes the source from index `i` on. No fence is open, and no call waits.
    pub fn read(
        &mut self,
        out: &mut Out<'_>,
        table: &JsonTable,
        source: Source<'_>,
        i: usize,
    ) -> (usize, Step) {
        let rules = rules(out, &table.syntax);
        let (i, step) = self.run(out, table, &rules, source, i);
        out.skip(source.pos(i));
        (i, step)
    }

    /// Whether the payload that breaks before `byte` is an example: where a key or a value is due, and with nothing of the call but its
    /// name.
    pub fn is_example(&self, byte: u8) -> bool {
        let Some(item) = self.item.as_ref().filter(|_| self.calls == 0) else {
            return false;
        };
        let stands = match byte {
            // `...`, or the last byte of `…`, at which the payload breaks.
            b'.' | ELLIPSIS_END => true,
            // `<function-name>`. Behind the name it may begin a marker.
            b'<' => !item.named,
            _ => false,
        };
        let kept = item.kept.is_some() || item.spare.is_some() || item.called.is_some();
        match &item.args {
            _ if kept || !stands => false,
            Some(args) if item.reading == Reading::Args => args.untouched(),
            Some(_) if item.argued => false,
            Some(_) | None => self.lexer.due(),
        }
    }

    /// Whether no string, number or word is open.
    pub fn between(&self) -> bool {
        match self.open_args() {
            Some(args) => args.between(),
            None => self.lexer.between(),
        }
    }

    /// Reads the opener of a code fence, if the payload begins with one.
    fn fenced(&mut self, out: &mut Out<'_>, mut i: usize, end: usize) -> (usize, Step) {
        while i < end && self.fence != Fence::Over {
            let (byte, pos) = (out.seg[i], out.base + i as u64);
            match self.fence.read(byte, pos) {
                Mark::Fence => i += 1,
                Mark::Payload => {}
                Mark::Opened(span) => out.repaired(Kind::RepairedMarker, span),
                Mark::Broken => {
                    let kind = Kind::MalformedBody;
                    return (i, self.broken(out, kind, Span::new(pos, pos + 1)));
                }
            }
        }
        (i, Step::More)
    }

    fn run(
        &mut self,
        out: &mut Out<'_>,
        table: &JsonTable,
        rules: &Rules<'_>,
        source: Source<'_>,
        mut i: usize,
    ) -> (usize, Step) {
        loop {
            let reading = self
                .item
                .as_mut()
                .filter(|item| item.reading == Reading::Args);
            if let Some(args) = reading.and_then(|item| item.args.as_mut()) {
                let step;
                (i, step) = args.feed(out, rules, source, i);
                if step != Step::Done {
                    return (i, step);
                }
                if let Some(step) = self.argued(out, table, source.pos(i)) {
                    return (i, step);
                }
            }
            let (max, kind) = self.max(out);
            let mut none = String::new();
            let sort = self.reads(&Reading::Sort);
            let text = self.item.as_mut().map_or(&mut none, |item| &mut item.text);
            let bytes = source.clip(max);
            let mut text = Text { text, sort };
            let (to, token) = self.lexer.next(rules, bytes, source.base, i, &mut text);
            if let Some(kept) = self.keeping() {
                kept.extend_from_slice(&bytes[i..to]);
            }
            self.look(&bytes[i..to]);
            let pos = source.pos(to);
            if pos >= max {
                return (to, Step::Limit(kind));
            }
            i = to;
            if self.waiting.is_some() {
                self.settle(out, token);
            }
            let step = match token {
                Token::More => Some(Step::More),
                Token::Open(shape) => self.open(out, rules, table, shape, pos),
                Token::Key => self.key(out, rules, table, pos),
                Token::Close => self.close(out, rules, table, pos),
                Token::Repaired(kind, at) => {
                    self.repaired(out, kind, at);
                    source.line(kind)
                }
                Token::Malformed(_) if self.ends_without(source.bytes.get(i)) => {
                    // The bracket of its list is read, and the marker after it is not.
                    let list = source.bytes.get(i) == Some(&b']');
                    return (i + usize::from(list), self.end_without(out, pos));
                }
                Token::Malformed(kind) => {
                    let span = Span::new(pos, pos + 1);
                    let ends = self.list_ends_without(source.bytes.get(i));
                    let step = self.broken(out, kind, span);
                    Some(if ends { Step::Done } else { step })
                }
                Token::Limit(kind) => Some(Step::Limit(kind)),
            };
            if let Some(step) = step {
                return (i, step);
            }
        }
    }
}
