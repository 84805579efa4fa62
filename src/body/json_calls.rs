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

use crate::dialect::payload::JsonTable;
use serde::{Deserialize, Serialize};

use super::given::is_fact;
use super::hidden::Torn;
use super::lexer::{Emit, Lexer, Rules, Shape, Token, is_blank};
use super::live::{LiveCall, Source, Step, rules};
use super::{Out, Short, tool_name};
use crate::event::Span;
use crate::kind::{Kind, KindSet};
use crate::limits::Limits;
use arguments::Arguments;
use fence::{Fence, Mark};
use members::{Fact, Member, Spare, is_sort, push_sort};

/// The depth to which values around a call are reported: list, object, wrapper, member.
const WATCH: u8 = 3;

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
    Name { start: u64 },
    Id { start: u64 },
    Sort,
    Kept { start: u64 },
    Spare { start: u64 },
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
        let fence = match closer && !self.bare {
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

    /// Closes at `end` the call that awaits its arguments and has none.
    pub fn close_empty(&mut self, out: &mut Out<'_>, end: u64, doubts: KindSet) {
        if let Some(mut args) = self.item.take().and_then(|item| item.args) {
            args.live.recovered(doubts);
            args.live.empty(out, end);
            args.live.close(out, end);
            self.calls += 1;
        }
    }

    /// Whether the arguments of a call that is open are awaited.
    pub fn awaits(&self) -> bool {
        self.bare && self.open_args().is_some_and(Arguments::awaited)
    }

    /// Takes the call whose arguments are awaited.
    pub fn take_awaiting(&mut self) -> Option<LiveCall> {
        let args = self.item.take_if(|_| self.bare)?.args?;
        Some(args.live)
    }

    /// Whether a call has begun and not closed.
    pub fn under_way(&self) -> bool {
        self.item
            .as_ref()
            .is_some_and(|item| item.args.is_some() || item.kept.is_some() || !item.named)
            || self.waiting.is_some()
    }

    /// Ends the stream; `stopped` if the model ended it, so that nothing is truncated.
    pub fn finish(&mut self, out: &mut Out<'_>, stopped: bool) {
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

    /// Closes the call whose arguments have ended and whose key is its name.
    fn close_keyed(&mut self, out: &mut Out<'_>, doubt: Option<Kind>) {
        let Some(item) = &mut self.item else { return };
        let Some(end) = item.ended.take() else { return };
        if let Some(mut args) = item.args.take() {
            args.live.recovered(doubt.into_iter().collect());
            args.live.close(out, end);
            self.calls += 1;
        }
    }

    /// Closes the call that waited for what follows its object.
    pub fn close_waiting(&mut self, out: &mut Out<'_>, doubt: Option<Kind>) {
        if let Some((mut live, end)) = self.waiting.take() {
            live.recovered(doubt.into_iter().collect());
            live.close(out, end);
            self.calls += 1;
        }
    }

    /// The call in place of whose parameters an object has come, and where that ended.
    pub fn take_waiting(&mut self) -> Option<(LiveCall, u64)> {
        self.waiting.take_if(|_| self.in_place)
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

    /// Closes the call that waits, according to the first byte after its object that is no blank.
    fn after(&mut self, out: &mut Out<'_>, mut i: usize, end: usize) -> (usize, Step) {
        while i < end {
            let byte = out.seg[i];
            if is_blank(byte) {
                i += 1;
                continue;
            }
            if byte == b',' && !self.closes() && !self.comma {
                // It may separate two calls.
                self.comma = true;
                i += 1;
                continue;
            }
            let pos = out.base + i as u64;
            let member = self.goes_on(byte, pos);
            if member && !self.closes() {
                // It is no part of the block, so nothing else reports it.
                out.issue(Kind::MalformedBody, Span::new(pos, pos + 1), "");
            }
            self.close_waiting(out, member.then_some(Kind::MalformedBody));
            return (i, Step::Done);
        }
        if self.closes() {
            out.skip(out.base + end as u64);
        }
        (end, Step::More)
    }

    /// Whether the byte at `pos`, the first after the object, may belong to a member of it. No closer begins like one, or with
    /// a letter. Without a closer, a further object may follow, or words.
    fn goes_on(&self, byte: u8, pos: u64) -> bool {
        let Some((live, end)) = &self.waiting else {
            return false;
        };
        let comma = live.doubts(Kind::RepairedComma);
        let word = byte.is_ascii_alphanumeric();
        match self.closes() {
            true => begins_member(byte) || word && (comma || *end == pos),
            false => {
                let torn = comma || *end == pos && live.is_empty();
                matches!(byte, b'"' | b':') || word && torn
            }
        }
    }

    /// Closes the call of a list that waits, if `token` shows what follows it.
    fn settle(&mut self, out: &mut Out<'_>, token: Token) {
        let doubt = match token {
            Token::Open(Shape::Object) | Token::Close | Token::Limit(_) => None,
            Token::Open(_) | Token::Key | Token::Malformed(_) => Some(Kind::MalformedBody),
            Token::More | Token::Repaired(..) => return,
        };
        self.close_waiting(out, doubt);
    }

    /// Lets a call whose object ended at `pos` wait for what follows.
    fn waits(&mut self, live: LiveCall, pos: u64) -> Step {
        self.waiting = Some((live, pos));
        self.end = (!self.closes()).then_some(pos);
        Step::More
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

    /// Whether the list of calls lacks only its bracket before `byte`, which begins a token: no closer follows the list.
    fn list_ends_without(&self, byte: Option<&u8>) -> bool {
        let own = self.lexer.depth() == 1 && self.lexer.after_member();
        let between = self.item.is_none() && self.calls > 0 && own;
        between && self.follows == Follows::Anything && byte == Some(&b'<')
    }

    /// Whether the call's object lacks only its bracket before `byte`, which begins a marker or a token, or ends its list.
    fn ends_without(&self, byte: Option<&u8>) -> bool {
        self.item.as_ref().is_some_and(|item| {
            let around = match byte {
                // The bracket of the list around it may be missing, too.
                Some(b'<') => item.depth.min(1),
                Some(b']') => 1,
                _ => return false,
            };
            let whole = item.named && item.argued && item.args.is_some() && item.kept.is_none();
            let open = item.depth == around && self.lexer.depth() == around + 1;
            let own = open && self.lexer.after_member();
            whole && own && self.follows != Follows::Unread && !self.bare
        })
    }

    /// Ends a call whose object lacks its bracket at `pos`. More of it may have been meant.
    fn end_without(&mut self, out: &mut Out<'_>, pos: u64) -> Step {
        let args = self.item.take().and_then(|item| item.args);
        if let Some(mut args) = args {
            // The bracket is missing there.
            let span = Span::new(pos.saturating_sub(1), pos);
            args.live.recovered_at(out, Kind::MalformedBody, span, "");
            args.live.close(out, pos);
            self.calls += 1;
        }
        Step::Done
    }

    /// The offset at which the value under way is too long, and the limit that fires there.
    fn max(&self, out: &Out<'_>) -> (u64, Kind) {
        let limits = out.limits();
        let quotes = 2;
        match self.item.as_ref().map(|item| item.reading) {
            Some(Reading::Name { start } | Reading::Id { start }) => {
                let len = u64::from(limits.max_name) + quotes;
                (start.saturating_add(len + 1), Kind::LimitName)
            }
            Some(Reading::Kept { start } | Reading::Spare { start }) => {
                let end = start.saturating_add(limits.max_value);
                (end.saturating_add(1), Kind::LimitValue)
            }
            Some(Reading::Nothing | Reading::Sort | Reading::Args) | None => {
                (u64::MAX, Kind::LimitValue)
            }
        }
    }

    fn reads(&self, what: &Reading) -> bool {
        let item = self.item.as_ref();
        item.is_some_and(|item| item.reading == *what)
    }

    /// The buffer for the bytes of the value under way.
    fn keeping(&mut self) -> Option<&mut Vec<u8>> {
        let item = self.item.as_mut()?;
        match item.reading {
            Reading::Kept { .. } => item.kept.as_mut().map(|(_, bytes)| bytes),
            Reading::Spare { .. } => item.spare.as_mut().map(|spare| &mut spare.bytes),
            Reading::Nothing
            | Reading::Name { .. }
            | Reading::Id { .. }
            | Reading::Sort
            | Reading::Args => None,
        }
    }

    fn broken(&self, out: &mut Out<'_>, kind: Kind, span: Span) -> Step {
        out.issue(kind, span, "");
        Step::Malformed
    }

    fn repaired(&mut self, out: &mut Out<'_>, kind: Kind, at: u64) {
        let span = Span::new(at, at + 1);
        match &mut self.item {
            // It is read again when the name, or the end, has come.
            Some(item) if matches!(item.reading, Reading::Kept { .. } | Reading::Spare { .. }) => {}
            Some(Item {
                args: Some(args), ..
            }) => args.live.repaired(out, kind, at),
            Some(item) if item.kinds.contains(kind) => {}
            Some(item) => {
                item.kinds.insert(kind);
                out.issue(kind, span, "");
            }
            None => out.repaired(kind, span),
        }
    }

    /// Ends the arguments at `pos`. Returns a step if they are all of the payload.
    fn argued(&mut self, out: &mut Out<'_>, table: &JsonTable, pos: u64) -> Option<Step> {
        let item = self.item.as_mut()?;
        item.reading = Reading::Nothing;
        item.member = Member::Other;
        let alone = item.alone;
        if table.name_is_key && !self.bare && !alone {
            item.ended = Some(pos);
        }
        if (self.bare || alone)
            && let Some(mut args) = item.args.take()
        {
            if self.bare && args.live.names_another(out) {
                let span = args.live.span(pos);
                args.live.recovered_at(out, Kind::ExtraKey, span, "name");
            }
            if self.bare && self.in_place {
                self.waiting = Some((args.live, pos));
                return Some(Step::Done);
            }
            if self.bare && self.follows != Follows::Unread {
                return Some(self.waits(args.live, pos));
            }
            args.live.close(out, pos);
            self.calls += 1;
        }
        if alone {
            self.item = None;
        }
        if self.bare {
            return Some(Step::Done);
        }
        self.lexer.taken();
        None
    }

    /// Begins a value at `pos`.
    fn open(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        table: &JsonTable,
        shape: Shape,
        pos: u64,
    ) -> Option<Step> {
        let depth = self.lexer.depth();
        let Some(item) = &mut self.item else {
            return match shape {
                Shape::Array if depth == 0 => None,
                Shape::Object if depth <= 1 => {
                    self.item = Some(Item::new(pos, depth));
                    self.head = chosen::chosen(out).map(|_| vec![]);
                    None
                }
                _ => Some(self.broken(out, Kind::MalformedBody, Span::new(pos, pos + 1))),
            };
        };
        if depth != item.level {
            return None;
        }
        let start = pos;
        let wrapper = Shape::Object == shape && item.level == item.depth + 1;
        let member = match item.member {
            // The same key may be both.
            Member::Name if wrapper && table.wraps(self.lexer.key()) => Member::Wrapper,
            member => member,
        };
        match (member, shape) {
            (Member::Name, Shape::String) if !item.named => {
                item.reading = Reading::Name { start };
                self.lexer.decode();
            }
            (Member::Id, Shape::String) => {
                item.reading = Reading::Id { start };
                item.fact(self.lexer.key(), !item.named, true);
                self.lexer.decode();
            }
            (Member::Id | Member::Index, Shape::Number) => {
                item.fact(self.lexer.key(), false, false)
            }
            (Member::Sort, Shape::String) => {
                item.reading = Reading::Sort;
                self.lexer.decode();
            }
            (Member::Args, _) if item.args.is_some() && !item.argued => {
                item.argued = true;
                item.reading = Reading::Args;
            }
            (Member::Args, _) if !item.argued => {
                item.argued = true;
                item.reading = Reading::Kept { start };
                item.kept = Some((start, vec![]));
            }
            (Member::Synonym | Member::Wrapper, _)
                if self.head.is_some() && shape != Shape::Object =>
            {
                return self.as_arguments(out, rules);
            }
            (Member::Synonym, Shape::Object) if item.spare.is_none() && !item.argued => {
                self.head = None;
                item.reading = Reading::Spare { start };
                item.spare = Some(Spare {
                    key: self.lexer.key().to_owned(),
                    span: item.key,
                    start,
                    bytes: vec![],
                });
            }
            (Member::Name, _) if !item.named && self.head.is_some() => {
                return self.as_arguments(out, rules);
            }
            (Member::Name, _) if !item.named => {
                return Some(self.broken(out, Kind::MalformedBody, Span::new(pos, pos + 1)));
            }
            (Member::Wrapper, Shape::Object) if wrapper && table.wraps(self.lexer.key()) => {
                item.level += 1;
            }
            (Member::Wrapper, Shape::Object) if wrapper && !item.named && !item.argued => {
                item.level += 1;
                let at = item.key.start;
                self.repaired(out, Kind::RepairedArguments, at);
            }
            (member, _) => {
                item.torn |= member == Member::Synonym;
                let span = item.key;
                item.extra(out, self.lexer.key(), span);
            }
        }
        None
    }

    /// Ends a key at `pos`.
    fn key(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        table: &JsonTable,
        pos: u64,
    ) -> Option<Step> {
        if self.lexer.depth() != self.item.as_ref()?.level {
            return None;
        }
        if self.key_decides(out, table) {
            return self.as_arguments(out, rules);
        }
        let item = self.item.as_mut()?;
        let key = self.lexer.key();
        item.member = table.member(key);
        item.key = Span::new(self.lexer.key_at(), pos);
        if key == "parameters" {
            item.parameters = Some(item.key);
        }
        if !table.name_is_key {
            return None;
        }
        item.member = Member::Args;
        item.text = key.to_owned();
        let span = Span::new(self.lexer.key_at(), pos);
        if item.ended.is_some() {
            // The object of a call has one key.
            item.kinds.insert(Kind::ExtraKey);
            let key = item.text.clone();
            item.extra(out, &key, span);
            self.close_keyed(out, None);
        }
        let item = self.item.as_mut()?;
        item.start = span.start;
        item.argued = false;
        self.name(out, table, span)
    }

    /// Opens the call, whose name is at `span`.
    fn name(&mut self, out: &mut Out<'_>, table: &JsonTable, span: Span) -> Option<Step> {
        let item = self.item.as_mut()?;
        let text = std::mem::take(&mut item.text);
        if table.answer.iter().any(|answer| answer == text.trim()) {
            item.named = true;
            item.answers = true;
            return None;
        }
        let name = match tool_name(&text, out.limits().max_name) {
            Ok(name) => name,
            Err(Kind::LimitName) => return Some(Step::Limit(Kind::LimitName)),
            Err(kind) => return Some(self.broken(out, kind, span)),
        };
        item.named = true;
        match LiveCall::open(out, name, &item.meta, span, item.start) {
            Ok(mut live) => {
                live.recovered(item.kinds);
                live.plain(&table.plain);
                item.args = Some(Arguments::new(live));
                None
            }
            Err(kind) => Some(Step::Limit(kind)),
        }
    }

    /// Ends a value at `pos`.
    fn close(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        table: &JsonTable,
        pos: u64,
    ) -> Option<Step> {
        let depth = self.lexer.depth();
        let done = (depth == 0).then_some(Step::Done);
        let Some(item) = &mut self.item else {
            return done;
        };
        if depth == item.depth {
            return self.end(out, rules, table, pos).or(done);
        }
        if depth < item.level {
            // The wrapper closed.
            item.level = depth;
        }
        if depth > item.level {
            return None;
        }
        item.member = Member::Other;
        match std::mem::replace(&mut item.reading, Reading::Nothing) {
            Reading::Name { start } => {
                let name = item.text.clone();
                if self.name_decides(out, &name) {
                    return self.as_arguments(out, rules);
                }
                self.name(out, table, Span::new(start, pos))
                    .or_else(|| self.replay(out, rules))
            }
            Reading::Id { .. } => {
                let id = std::mem::take(&mut item.text);
                if !item.named {
                    item.meta = vec![("id".to_owned(), id)];
                }
                None
            }
            Reading::Sort => {
                let sort = std::mem::take(&mut item.text);
                if !is_sort(&sort) && self.head.is_some() {
                    return self.as_arguments(out, rules);
                }
                if is_sort(&sort) {
                    item.fact(self.lexer.key(), true, false);
                } else {
                    let span = item.key;
                    item.extra(out, self.lexer.key(), span);
                }
                None
            }
            Reading::Nothing | Reading::Kept { .. } | Reading::Spare { .. } | Reading::Args => None,
        }
    }

    /// Writes arguments that came before their name.
    fn replay(&mut self, out: &mut Out<'_>, rules: &Rules<'_>) -> Option<Step> {
        let item = self.item.as_mut().filter(|item| !item.answers)?;
        let (base, bytes) = item.kept.take()?;
        item.write(out, rules, base, &bytes)
    }

    /// Ends the object of a call at `pos`.
    fn end(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        table: &JsonTable,
        pos: u64,
    ) -> Option<Step> {
        let item = self.item.as_mut()?;
        if !item.named && self.head.is_some() {
            return self.as_arguments(out, rules);
        }
        if let Some(step) = self.unnamed(out, rules, table) {
            return Some(step);
        }
        let item = self.item.as_mut()?;
        if !item.named {
            let span = Span::new(item.start, pos);
            self.item = None;
            return Some(self.broken(out, Kind::MissingName, span));
        }
        if table.name_is_key {
            self.close_keyed(out, None);
            self.item = None;
            if self.calls > 0 {
                // The bracket around a valid call is removed with it.
                out.io.closed = pos;
            }
            return None;
        }
        if item.answers {
            self.answer = item.answer().or(self.answer);
            self.item = None;
            return None;
        }
        if let Some(step) = item.settle(out, rules) {
            return Some(step);
        }
        let item = self.item.take()?;
        let mut args = item.args?;
        if !item.argued && item.depth == 0 && self.follows != Follows::Unread {
            return Some(self.waits(args.live, pos));
        }
        if !item.argued && item.depth == 0 {
            args.live.empty(out, pos);
        } else if !item.argued {
            self.waiting = Some((args.live, pos));
            return None;
        }
        if let Some(span) = item.parameters.filter(|_| args.live.is_schema(out)) {
            // The definition of a tool, not a call of it.
            args.live
                .recovered_at(out, Kind::ExtraKey, span, "parameters");
        }
        args.live.close(out, pos);
        self.calls += 1;
        None
    }
}

/// Whether a byte after an object may belong to a member of it, torn off by a bracket too many.
pub(super) fn begins_member(byte: u8) -> bool {
    matches!(byte, b',' | b':' | b'"' | b'\'' | b'{')
}
