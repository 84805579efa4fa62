//! The text with calls removed, live: for renderers, logs and sanitizers.
//!
//! Every byte that this sink writes is final. A block therefore leaves nothing, or its placeholder, only when it ends: until
//! then it may turn out to be text. If it does, it comes back verbatim.
//!
//! ```
//! use toolglot::sink::mask::{Mask, Show};
//! use toolglot::{DialectSet, Finish, Options, Parser};
//!
//! let mut shown = vec![];
//! let mut mask = Mask::new(|bytes: &[u8]| shown.extend_from_slice(bytes))
//!     .calls(Show::With("[calls {tools}]".to_owned()))
//!     .reasoning(Show::Drop);
//! let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
//! let reply = br#"Now: <tool_call name="f"><param name="a">1</param></tool_call> done."#;
//! parser.feed(reply, &mut mask);
//! parser.finish(Finish::Stop, &mut mask);
//! assert_eq!(shown, b"Now: [calls f] done.");
//! ```

use crate::dialect::DialectSet;
use crate::escape::Seams;
use crate::event::{Abandoned, Event, Sink};
use crate::limits::Options;

/// What to write for a part of the reply.
///
/// ```
/// use toolglot::sink::mask::{Mask, Show};
/// use toolglot::{DialectSet, Finish, Options, Parser};
///
/// let mut shown = vec![];
/// let mut mask = Mask::new(|bytes: &[u8]| shown.extend_from_slice(bytes))
///     .reasoning(Show::Drop)
///     .calls(Show::With("(uses {tools})".to_owned()));
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// parser.feed(br#"<think>Hm.</think><tool_call>{"name": "f", "arguments": {}}</tool_call>"#, &mut mask);
/// parser.finish(Finish::Stop, &mut mask);
/// assert_eq!(shown, b"(uses f)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Show {
    /// Its bytes, verbatim. For a block these are the retained ones ([`Retain::Block`](crate::Retain::Block)).
    #[default]
    Keep,
    /// Nothing.
    Drop,
    /// This text. For a block, `{tools}` in it is replaced by the names of its calls, joined by `, `.
    With(String),
}

/// A sink that writes the reply as bytes, with some parts replaced.
///
/// Text is written immediately and verbatim. By default blocks are dropped and everything else is kept. If everything is kept,
/// the output equals the input, except for bytes that were not retained.
///
/// The placeholder of a block is written when the block ends, if at least one of its calls is valid. A block without calls
/// leaves nothing; with [`Prefer::Native`](crate::Prefer::Native) no call is final yet when its block ends. [`Event::Raw`], the
/// rest of a block that exceeded a limit, is dropped unless blocks are kept. Reasoning and protected regions are replaced where
/// they begin, once for adjacent ones of one kind. API tool calls are not in the text and leave nothing.
///
/// Memory: the names of the open block's calls, if the placeholder uses them.
///
/// ```
/// use toolglot::sink::mask::{Mask, Show};
/// use toolglot::{DialectSet, Finish, Options, Parser};
///
/// let mut shown = vec![];
/// let mut mask = Mask::new(|bytes: &[u8]| shown.extend_from_slice(bytes)).calls(Show::Drop);
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// parser.feed(br#"One <tool_call name="f"></tool_call>two."#, &mut mask);
/// parser.finish(Finish::Stop, &mut mask);
/// assert_eq!(shown, b"One two.");
/// ```
#[derive(Debug)]
pub struct Mask<F> {
    take: F,
    seams: Option<Seams>,
    calls: Show,
    reasoning: Show,
    protected: Show,
    part: Part,
    /// The number of closed calls of the open block; their names follow.
    count: u32,
    names: String,
    open: String,
}

/// The current part of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Text,
    Reasoning,
    Protected,
}

impl<F: FnMut(&[u8])> Mask<F> {
    /// Writes to a closure.
    #[must_use]
    pub fn new(take: F) -> Self {
        Self {
            take,
            seams: None,
            calls: Show::Drop,
            reasoning: Show::Keep,
            protected: Show::Keep,
            part: Part::Text,
            count: 0,
            names: String::new(),
            open: String::new(),
        }
    }

    /// Prevents the rest of the text from being read as a call by another reader of the same set. Text that comes back from a
    /// retracted block is [escaped](crate::escape()). Once a part has been removed, each opener that another reader would take
    /// is escaped, and a marker that would be joined is broken. Reasoning or a protected region directly after such a part
    /// begins on a new line. All other text stays verbatim. Has no effect if blocks are kept: the output then reads as the
    /// input did.
    ///
    /// Text then waits while it may be part of an opener, for at most the longest lookahead: the rest comes when the parser
    /// [finishes](Sink::finished).
    ///
    /// ```
    /// use toolglot::sink::mask::{Mask, Show};
    /// use toolglot::{DialectSet, Finish, Options, Parser, parse};
    ///
    /// let set = DialectSet::builtin("hermes")?;
    /// let mut shown = vec![];
    /// let mut mask = Mask::new(|bytes: &[u8]| shown.extend_from_slice(bytes)).calls(Show::Drop).guard(&set);
    /// let mut parser = Parser::new(&set, Options::default());
    /// // Without the inner call, the text around it would be a call itself.
    /// let reply = br#"<tool_<tool_call>{"name": "f", "arguments": {}}</tool_call>call>{"name": "g", "arguments": {}}</tool_call>"#;
    /// parser.feed(reply, &mut mask);
    /// parser.finish(Finish::Stop, &mut mask);
    /// assert!(parse(&set, Options::default(), &shown, Finish::Stop).calls.is_empty());
    /// # Ok::<(), toolglot::BuildError>(())
    /// ```
    #[must_use]
    pub fn guard(self, set: &DialectSet) -> Self {
        self.guard_with(set, &Options::default())
    }

    /// As [`guard`](Self::guard), for a reader with these options. They matter if they declare tools: the preset `any` reads only
    /// calls of those. What they say about the prompt does not count.
    #[must_use]
    pub fn guard_with(mut self, set: &DialectSet, options: &Options) -> Self {
        self.seams = Seams::new(set, options).ok();
        self
    }

    /// Sets what to write for blocks.
    #[must_use]
    pub fn calls(mut self, show: Show) -> Self {
        self.calls = show;
        self
    }

    /// Sets what to write for reasoning, including its markers.
    #[must_use]
    pub fn reasoning(mut self, show: Show) -> Self {
        self.reasoning = show;
        self
    }

    /// Sets what to write for protected regions.
    #[must_use]
    pub fn protected(mut self, show: Show) -> Self {
        self.protected = show;
        self
    }

    /// Writes text, or the replacement of another part.
    fn write(&mut self, data: &[u8], recovered: bool) {
        self.guarded(data, |seams, out| seams.write(data, recovered, out));
    }

    /// Writes reasoning or a protected region, or a piece of one.
    fn keep(&mut self, data: &[u8]) {
        self.guarded(data, |seams, out| seams.keep(data, out));
    }

    /// Writes bytes, through the guard if there is one. If blocks are kept there is nothing to guard.
    fn guarded(&mut self, data: &[u8], through: impl FnOnce(&mut Seams, &mut F)) {
        match self.seams.as_mut().filter(|_| self.calls != Show::Keep) {
            Some(seams) => through(seams, &mut self.take),
            None => (self.take)(data),
        }
    }

    /// A part is removed here.
    fn cut(&mut self) {
        if let Some(seams) = &mut self.seams {
            seams.cut();
        }
    }

    /// Writes a piece of a part that is replaced where it begins.
    fn piece(&mut self, part: Part, data: &[u8]) {
        let begins = self.part != part;
        self.part = part;
        let show = match part {
            Part::Text => &Show::Keep,
            Part::Reasoning => &self.reasoning,
            Part::Protected => &self.protected,
        };
        match show {
            Show::Keep if part == Part::Text => self.write(data, false),
            Show::Keep => self.keep(data),
            Show::With(text) if begins => {
                let text = text.clone();
                self.write(text.as_bytes(), false);
                self.cut();
            }
            Show::With(_) | Show::Drop => self.cut(),
        }
    }

    fn block_open(&mut self) {
        self.count = 0;
        self.names.clear();
    }

    /// A call closed. Its name is kept only if the placeholder uses it.
    fn call_close(&mut self) {
        self.count += 1;
        if matches!(&self.calls, Show::With(text) if text.contains(TOOLS)) {
            if !self.names.is_empty() {
                self.names.push_str(", ");
            }
            self.names.push_str(&self.open);
        }
    }

    fn block_end(&mut self, raw: &[u8], valid: bool) {
        match &self.calls {
            Show::Keep => (self.take)(raw),
            Show::With(text) if valid && self.count > 0 => {
                let text = text.replace(TOOLS, &self.names);
                self.write(text.as_bytes(), false);
                self.cut();
            }
            Show::With(_) | Show::Drop => self.cut(),
        }
    }
}

/// The placeholder for the names of a block's calls.
const TOOLS: &str = "{tools}";

impl<F: FnMut(&[u8])> Sink for Mask<F> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text {
                data,
                recovered: true,
                ..
            } => {
                self.part = Part::Text;
                self.write(data, true);
            }
            Event::Text { data, .. } => self.piece(Part::Text, data),
            Event::Reasoning { data, .. } => self.piece(Part::Reasoning, data),
            Event::Protected { data, .. } => self.piece(Part::Protected, data),
            Event::Raw { data, .. } => {
                self.part = Part::Text;
                if self.calls == Show::Keep {
                    (self.take)(data);
                } else {
                    self.cut();
                }
            }
            Event::BlockOpen { .. } => self.block_open(),
            Event::CallOpen { name, .. } => name.clone_into(&mut self.open),
            Event::CallClose { .. } => self.call_close(),
            Event::BlockClose { raw, .. } => self.block_end(raw, true),
            // The bytes follow.
            Event::BlockAbandoned {
                becomes: Abandoned::Text | Abandoned::Reasoning,
                ..
            } => {}
            Event::BlockAbandoned {
                becomes: Abandoned::Drop,
                raw,
                ..
            } => self.block_end(raw, false),
            Event::ArgDelta { .. }
            | Event::CallNamed { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. }
            | Event::CallAbandoned { .. }
            | Event::Issue(_) => {}
        }
    }

    fn finished(&mut self) {
        if let Some(seams) = &mut self.seams {
            seams.finish(&mut self.take);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DialectSet, Finish, Options, Parser};

    static SET: std::sync::LazyLock<DialectSet> = std::sync::LazyLock::new(DialectSet::defaults);

    const REPLY: &str = "中文 <tool_call name=\"f\"><param name=\"a\">1</param></tool_call> and \
        <ACTION><g><x>1</x></g><h><y>2</y></h></ACTION>! <tool_call name=\"cut\"><param name=\"a\">";

    fn masked(reply: &[u8], cuts: &[usize], calls: Show) -> String {
        let mut shown = vec![];
        let mut mask = Mask::new(|bytes: &[u8]| shown.extend_from_slice(bytes)).calls(calls);
        let mut parser = Parser::new(&SET, Options::default());
        let mut from = 0;
        for to in cuts.iter().copied().chain([reply.len()]) {
            parser.feed(&reply[from..to], &mut mask);
            from = to;
        }
        parser.finish(Finish::Stop, &mut mask);
        drop(mask);
        String::from_utf8(shown).expect("whole characters")
    }

    #[test]
    fn blocks_are_dropped_and_retracted_ones_come_back() {
        let text = masked(REPLY.as_bytes(), &[], Show::Drop);
        assert_eq!(
            text,
            "中文  and ! <tool_call name=\"cut\"><param name=\"a\">"
        );
    }

    #[test]
    fn every_split_gives_the_same_bytes() {
        let with = || Show::With("<{tools}>".to_owned());
        let whole = masked(REPLY.as_bytes(), &[], with());
        assert_eq!(
            whole,
            "中文 <f> and <g, h>! <tool_call name=\"cut\"><param name=\"a\">"
        );
        for cut in 0..=REPLY.len() {
            assert_eq!(masked(REPLY.as_bytes(), &[cut], with()), whole, "{cut}");
        }
        let all: Vec<usize> = (0..REPLY.len()).collect();
        assert_eq!(masked(REPLY.as_bytes(), &all, with()), whole);
    }

    #[test]
    fn left_over_text_is_not_a_call() {
        let left = [
            "<tool_action name=\"rm\"><x value=\"1\"/><tool_action name=\"safe\"><y value=\"2\"/></tool_action></tool_action>",
            "<tool_<ACTION><g><x>1</x></g></ACTION>call name=\"rm\"><param name=\"x\">1</param></tool_call>",
            "<AC<tool_call name=\"f\"></tool_call>TION><删><a>1</a></删></ACTION>",
            "Hm <ACTION><f/></ACTION><think>maybe\n<tool_call name=\"rm\"></tool_call>\n</think>ok",
            "好 <ACTION><f/></ACTION>  <function_results>\n<ACTION><删/></ACTION>\n</function_results>",
            "a <ACTION><f></ACTION><think>\n<ACTION><rm/></ACTION>\n</think>",
            "看 <tool_action name=\"删\"><tool_action name=\"查\"></tool_action><x value=\"1\"/></tool_action>",
            "<<<[TOOL_<ACTION><g/></ACTION>REQUEST]>>>\ntool_name:「始」rm「末」\n<<<[END_TOOL_REQUEST]>>>",
        ];
        for reply in left {
            for size in [reply.len(), 1, 7] {
                let mut shown = vec![];
                let mut mask = Mask::new(|bytes: &[u8]| shown.extend_from_slice(bytes)).guard(&SET);
                let mut parser = Parser::new(&SET, Options::default());
                for chunk in reply.as_bytes().chunks(size) {
                    parser.feed(chunk, &mut mask);
                }
                parser.finish(Finish::Stop, &mut mask);
                drop(mask);
                let turn = crate::parse(&SET, Options::default(), &shown, Finish::Stop);
                let shown = String::from_utf8_lossy(&shown);
                assert!(turn.calls.is_empty(), "{reply}: {shown}");
            }
        }
    }

    #[test]
    fn keeping_everything_gives_the_input() {
        let text = masked(REPLY.as_bytes(), &[7], Show::Keep);
        assert_eq!(text, REPLY);
    }

    #[test]
    fn reasoning_is_kept_dropped_or_replaced_once() {
        use crate::event::Span;
        let span = Span::new(0, 0);
        let thought = |data, framing| Event::Reasoning {
            data,
            span,
            framing,
        };
        let events = [
            thought(b"<think>".as_slice(), true),
            thought(b"a", false),
            thought(b"b", false),
            thought(b"</think>", true),
            Event::Text {
                data: b"c",
                span,
                recovered: false,
            },
            thought(b"d", false),
        ];
        for (show, expected) in [
            (Show::Keep, "<think>ab</think>cd"),
            (Show::Drop, "c"),
            (Show::With("~".to_owned()), "~c~"),
        ] {
            let mut shown = vec![];
            let mut mask = Mask::new(|bytes: &[u8]| shown.extend_from_slice(bytes)).reasoning(show);
            events.iter().for_each(|event| mask.event(*event));
            drop(mask);
            assert_eq!(String::from_utf8_lossy(&shown), expected);
        }
    }

    #[test]
    fn protected_regions_and_raw_bytes_follow_their_own_rule() {
        use crate::event::Span;
        let span = Span::new(0, 0);
        let events = [
            Event::Protected {
                kind: "note",
                data: b"p",
                span,
            },
            Event::BlockOpen { dialect: "d", span },
            Event::BlockAbandoned {
                span,
                becomes: Abandoned::Drop,
                raw: b"[block",
            },
            Event::Raw {
                data: b" raw]",
                span,
            },
        ];
        for (calls, protected, expected) in [
            (Show::Keep, Show::Keep, "p[block raw]"),
            (Show::Drop, Show::Keep, "p"),
            (Show::With("!".to_owned()), Show::Drop, ""),
            (Show::Drop, Show::With("#".to_owned()), "#"),
        ] {
            let mut shown = vec![];
            let mut mask = Mask::new(|bytes: &[u8]| shown.extend_from_slice(bytes))
                .calls(calls)
                .protected(protected);
            events.iter().for_each(|event| mask.event(*event));
            drop(mask);
            assert_eq!(String::from_utf8_lossy(&shown), expected);
        }
    }
}
