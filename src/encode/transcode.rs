//! Converts a transcript from one dialect to another: text stays, calls are rewritten in place.
//!
//! Only valid calls are rewritten. A recovered call is a guess, and a broken block is not a call: rewritten they would look
//! complete, so they are errors, or their bytes stay unchanged. The result is read back, because text that contains a marker of
//! the new dialect must not become a call.

use toolglot_scan::lossy;

use super::doc::Doc;
use super::{EncodeCall, EncodeOptions, Encoder, NotRepresentable};
use crate::call::Turn;
use crate::dialect::DialectSet;
use crate::dialect::spec::{self, ReasoningAt};
use crate::engine::{Finish, Parser};
use crate::escape::{Part, Seams};
use crate::event::{Abandoned, CallState, Event, Sink, Span};
use crate::kind::{Grade, KindSet};
use crate::sink::Collect;

/// Why a recovered call is not written anew.
#[must_use]
pub fn recovered(name: &str, kinds: KindSet) -> String {
    format!("the call of {name} is recovered ({kinds}); written anew it would look complete")
}

/// Why a transcript cannot be converted to another dialect.
///
/// ```
/// use toolglot::{DialectSet, EncodeOptions, TranscodeError, transcode};
///
/// let (from, to) = (DialectSet::defaults(), DialectSet::builtin("tool-call-xml")?);
/// let input = br#"<tool_call>{"name": "f", "arguments": {"id": 7, "id": 8}}</tool_call>"#; // which one?
/// let error = transcode(&from, input, &to, "tool-call-xml", &EncodeOptions::default()).unwrap_err();
/// assert!(matches!(error, TranscodeError::Recovered { name, .. } if name == "f"));
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TranscodeError {
    /// The new dialect cannot express a call.
    #[error("bytes {}..{}: {why}", span.start, span.end)]
    NotRepresentable {
        /// The block of the call.
        span: Span,
        /// Which call of the block, and why.
        why: NotRepresentable,
    },
    /// A call is recovered.
    #[error("bytes {}..{}: {}", span.start, span.end, recovered(name, *kinds))]
    Recovered {
        /// Its block.
        span: Span,
        /// Its tool.
        name: String,
        /// Why it is recovered.
        kinds: KindSet,
    },
    /// A block contains no valid call.
    #[error("bytes {}..{}: the block contains no valid call", span.start, span.end)]
    Broken {
        /// The block.
        span: Span,
    },
    /// In the new dialect the result means something else, for example because its text contains a marker.
    #[error("read in the new dialect it would say something else: {what}")]
    Differs {
        /// The difference.
        what: String,
    },
}

/// Converts transcripts from the dialects of a set to another dialect.
///
/// ```
/// use toolglot::{DialectSet, EncodeOptions, Encoder, Transcoder};
///
/// let (from, to) = (DialectSet::builtin("tool-call-xml")?, DialectSet::builtin("hermes")?);
/// let transcoder = Transcoder::new(&from, Encoder::new(&to, "hermes")?, EncodeOptions::default());
/// let text = transcoder.run(br#"Hi <tool_call name="f"></tool_call>"#)?;
/// assert!(String::from_utf8(text)?.starts_with("Hi <tool_call>{"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Transcoder {
    from: DialectSet,
    to: Encoder,
    options: EncodeOptions,
    /// Why the transcripts ended.
    pub finish: Finish,
    /// Keep what cannot be written unchanged, instead of returning an error.
    pub keep: bool,
}

/// Converts a transcript to the dialect `to` of its own set; see [`Transcoder`].
///
/// ```
/// use toolglot::{DialectSet, EncodeOptions, transcode};
/// let from = DialectSet::builtin("tool-call-xml")?;
/// let to = DialectSet::builtin("vcp")?;
/// let input = "Looking. <tool_call name=\"weather\"><param name=\"city\">Leith</param></tool_call> Done.";
/// let output = transcode(&from, input.as_bytes(), &to, "vcp", &EncodeOptions::default())?;
/// assert_eq!(
///     String::from_utf8(output)?,
///     "Looking. <<<[TOOL_REQUEST]>>>\ntool_name:「始」weather「末」,\ncity:「始」Leith「末」\n<<<[END_TOOL_REQUEST]>>> Done."
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first thing that cannot be written in the new dialect, with its position.
pub fn transcode(
    from: &DialectSet,
    input: &[u8],
    to: &DialectSet,
    dialect: &str,
    options: &EncodeOptions,
) -> Result<Vec<u8>, TranscodeError> {
    let encoder = Encoder::new(to, dialect).map_err(|why| TranscodeError::NotRepresentable {
        span: Span::default(),
        why,
    })?;
    Transcoder::new(from, encoder, options.clone()).run(input)
}

impl Transcoder {
    /// Converts from every dialect of a set to the encoder's.
    #[must_use]
    pub fn new(from: &DialectSet, to: Encoder, options: EncodeOptions) -> Self {
        Self {
            from: from.clone(),
            to,
            options,
            finish: Finish::Stop,
            keep: false,
        }
    }

    /// Converts one transcript. Text, reasoning and protected regions keep their bytes. Reasoning markers become those of the
    /// new dialect if it has some that count at that place; otherwise they stay. Other framing of the old dialect is dropped.
    ///
    /// # Errors
    /// The first thing that cannot be written, unless it is to be kept; or the result would be read as something else.
    pub fn run(&self, input: &[u8]) -> Result<Vec<u8>, TranscodeError> {
        let mut writer = Writer {
            coder: self,
            input,
            out: vec![],
            parts: vec![],
            calls: vec![],
            open: None,
            reasoning: Reasoning::Outside,
            written: vec![],
            kept: false,
            error: None,
        };
        let mut parser = Parser::new(&self.from, self.options.parsing());
        parser.feed(input, &mut writer);
        parser.finish(self.finish, &mut writer);
        writer.leave();
        if let Some(error) = writer.error.take() {
            return Err(error);
        }
        let made = self.guarded(&writer);
        self.compare(&writer, &made)?;
        Ok(made.out)
    }

    /// What was written, with each opener escaped that a reader of the old dialects would take: a block
    /// that is written anew, or what broke a recovered one, may have kept text from being a call.
    fn guarded(&self, writer: &Writer<'_>) -> Made {
        let mut made = Made::default();
        let mut take = |part: Part, bytes: &[u8]| {
            made.out.extend_from_slice(bytes);
            if part == Part::Text {
                made.text.extend_from_slice(bytes);
            }
            if part != Part::Block {
                made.around.extend_from_slice(bytes);
            }
        };
        let mut seams = Seams::new(&self.from, &self.options.parsing()).ok();
        let mut at = 0;
        for piece in &writer.parts {
            let bytes = &writer.out[at..piece.end];
            at = piece.end;
            match &mut seams {
                Some(seams) if bytes.is_empty() => seams.cut(),
                Some(seams) => seams.put(piece.part, bytes, piece.recovered, &mut take),
                None => take(piece.part, bytes),
            }
        }
        if let Some(seams) = &mut seams {
            seams.end(&mut take);
        }
        made
    }

    /// Reads the result in the new dialect and compares.
    fn compare(&self, writer: &Writer<'_>, made: &Made) -> Result<(), TranscodeError> {
        let differs = |what: String| Err(TranscodeError::Differs { what });
        let turn = self.read(&made.out);
        if turn.calls.len() != writer.written.len() {
            let (have, want) = (turn.calls.len(), writer.written.len());
            return differs(format!("{have} calls for {want}"));
        }
        for (have, want) in turn.calls.iter().zip(&writer.written) {
            let same = match (Doc::parse(&have.arguments), Doc::parse(&want.arguments)) {
                (Ok(have), Ok(want)) => have.same(&want),
                _ => false,
            };
            if have.grade != Grade::Complete || have.name != want.name || !same {
                return differs(format!(
                    "the call of {} at byte {}",
                    have.name, have.span.start
                ));
            }
        }
        // In a dialect without markers of thoughts those of the old one are text.
        let mut readings = [&made.text, &made.around].into_iter();
        let same = readings.any(|text| turn.text.as_bytes() == lossy(text).as_bytes());
        if !writer.kept && !same {
            return differs("its text".to_owned());
        }
        Ok(())
    }

    fn read(&self, text: &[u8]) -> Turn {
        let mut parser = Parser::new(&self.to.set, self.options.parsing());
        let mut turn = Collect::new();
        parser.feed_special(text, &mut turn);
        parser.finish(Finish::Stop, &mut turn);
        turn.turn()
    }
}

/// A transcript in the new dialect.
#[derive(Default)]
struct Made {
    out: Vec<u8>,
    /// The text in it.
    text: Vec<u8>,
    /// The same with thoughts and protected regions.
    around: Vec<u8>,
}

/// A parsed call.
struct Read {
    call: EncodeCall,
    state: CallState,
}

/// The state of the reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reasoning {
    Outside,
    /// Its markers are kept.
    Kept,
    /// Its markers are replaced by those of the new dialect.
    Anew,
}

/// A piece of the output.
struct Piece {
    part: Part,
    recovered: bool,
    end: usize,
}

struct Writer<'a> {
    coder: &'a Transcoder,
    input: &'a [u8],
    out: Vec<u8>,
    /// What `out` consists of.
    parts: Vec<Piece>,
    /// Calls of the open block.
    calls: Vec<Read>,
    open: Option<EncodeCall>,
    reasoning: Reasoning,
    /// Calls that were written.
    written: Vec<EncodeCall>,
    /// Something that could not be written was kept.
    kept: bool,
    error: Option<TranscodeError>,
}

impl Sink for Writer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text {
                span, recovered, ..
            } => {
                self.leave();
                let bytes = self.source(span).to_vec();
                self.write(Part::Text, &bytes);
                if let Some(piece) = self.parts.last_mut() {
                    piece.recovered = recovered;
                }
            }
            Event::Protected { kind, span, .. } => {
                self.leave();
                if kind == "framing" {
                    self.write(Part::Text, b"");
                } else {
                    self.copy(Part::Region, span);
                }
            }
            Event::Raw { span, .. } => {
                self.leave();
                self.copy(Part::Block, span);
            }
            Event::Reasoning { framing, span, .. } => self.reason(framing, span),
            Event::BlockOpen { .. } => self.calls.clear(),
            Event::CallOpen { name, meta, .. } => {
                let id = meta.iter().find(|(key, _)| key == "id");
                self.open = Some(EncodeCall {
                    name: name.to_owned(),
                    arguments: String::new(),
                    id: id.map(|(_, id)| id.clone()),
                });
            }
            Event::ArgDelta { json, .. } => {
                if let Some(call) = &mut self.open {
                    call.arguments.push_str(json);
                }
            }
            Event::CallClose { state, .. } => {
                let call = self.open.take();
                self.calls.extend(call.map(|call| Read { call, state }));
            }
            Event::CallAbandoned { .. } => self.open = None,
            Event::BlockClose { span, .. } => {
                self.leave();
                self.block(span);
            }
            Event::BlockAbandoned { span, becomes, .. } => {
                self.calls.clear();
                match becomes {
                    // The thought goes on.
                    Abandoned::Reasoning => {}
                    Abandoned::Text => self.leave(),
                    Abandoned::Drop => {
                        self.leave();
                        self.refuse(span, TranscodeError::Broken { span });
                    }
                }
            }
            Event::CallNamed { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. }
            | Event::Issue(_) => {}
        }
    }
}

impl Writer<'_> {
    fn source(&self, span: Span) -> &[u8] {
        let place = |at: u64| {
            usize::try_from(at)
                .unwrap_or(usize::MAX)
                .min(self.input.len())
        };
        &self.input[place(span.start)..place(span.end.max(span.start))]
    }

    /// Writes a piece; an empty one means that something was removed.
    fn write(&mut self, part: Part, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
        let (recovered, end) = (false, self.out.len());
        self.parts.push(Piece {
            part,
            recovered,
            end,
        });
    }

    fn copy(&mut self, part: Part, span: Span) {
        let bytes = self.source(span).to_vec();
        self.write(part, &bytes);
    }

    /// The input at `span` cannot be written.
    fn refuse(&mut self, span: Span, error: TranscodeError) {
        if self.coder.keep {
            self.kept = true;
            self.copy(Part::Block, span);
        } else {
            self.error.get_or_insert(error);
        }
    }

    /// A block ends.
    fn block(&mut self, span: Span) {
        let read = std::mem::take(&mut self.calls);
        if read.is_empty() {
            return self.refuse(span, TranscodeError::Broken { span });
        }
        let guess = read.iter().find_map(|read| match read.state {
            CallState::Complete | CallState::Repaired(_) => None,
            CallState::Recovered(kinds) => Some((kinds, &read.call.name)),
        });
        if let Some((kinds, name)) = guess {
            let name = name.clone();
            return self.refuse(span, TranscodeError::Recovered { span, name, kinds });
        }
        let calls: Vec<EncodeCall> = read.into_iter().map(|read| read.call).collect();
        match self.coder.to.encode(&calls, &self.coder.options) {
            Ok(text) => {
                self.write(Part::Block, text.as_bytes());
                self.written.extend(calls);
            }
            Err(why) => self.refuse(span, TranscodeError::NotRepresentable { span, why }),
        }
    }

    /// Handles reasoning, or one of its markers.
    fn reason(&mut self, framing: bool, span: Span) {
        let marker = self.source(span).to_vec();
        let closes = |spec: &spec::Reasoning| spec.close.iter().any(|c| c.as_bytes() == marker);
        let closer = framing
            && self
                .coder
                .from
                .inner
                .plan
                .reasoning
                .iter()
                .any(|r| closes(&r.spec));
        if self.reasoning == Reasoning::Outside {
            self.reasoning = Reasoning::Kept;
            let target = self.coder.to.dialect().spec.reasoning.first();
            if let Some(target) = target.filter(|target| self.counts(target, span)) {
                let open = target.open.first().map_or("", String::as_str);
                let open = [open, &target.label].concat();
                self.write(Part::Text, b"");
                self.write(Part::Region, open.as_bytes());
                self.reasoning = Reasoning::Anew;
            }
            if framing && self.reasoning == Reasoning::Anew {
                return;
            }
        }
        match self.reasoning {
            Reasoning::Anew if closer => self.leave(),
            // A label, or a repeated opener.
            Reasoning::Anew if framing => {}
            Reasoning::Anew | Reasoning::Kept | Reasoning::Outside => {
                self.copy(Part::Region, span);
                if closer {
                    self.reasoning = Reasoning::Outside;
                }
            }
        }
    }

    /// Whether markers of the new dialect would count here, and can enclose what follows.
    fn counts(&self, target: &spec::Reasoning, span: Span) -> bool {
        let line = self.out.rsplit(|b| *b == b'\n').next().unwrap_or_default();
        let blank = |bytes: &[u8]| {
            bytes
                .iter()
                .all(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'))
        };
        let here = match target.at {
            ReasoningAt::Anywhere => true,
            ReasoningAt::Start => blank(&self.out),
            ReasoningAt::LineStart => blank(line) && line.len() <= 3,
        };
        let start = usize::try_from(span.start)
            .unwrap_or(usize::MAX)
            .min(self.input.len());
        let rest = &self.input[start..];
        let own = |list: &[String]| {
            let mut marks = list.iter();
            marks.any(|mark| memchr::memmem::find(rest, mark.as_bytes()).is_some())
        };
        let shared = self
            .coder
            .from
            .inner
            .plan
            .reasoning
            .iter()
            .any(|r| r.spec.close == target.close);
        here && !target.implicit && (shared || !own(&target.close))
    }

    /// Reasoning ends here, if it was open.
    fn leave(&mut self) {
        if std::mem::replace(&mut self.reasoning, Reasoning::Outside) == Reasoning::Anew {
            let target = self.coder.to.dialect().spec.reasoning.first();
            let close = target.and_then(|target| target.close.first());
            let close = close.map_or(&[][..], |close| close.as_bytes()).to_vec();
            self.write(Part::Region, &close);
        }
    }
}
