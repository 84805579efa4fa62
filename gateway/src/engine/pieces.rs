//! Writes a response of one protocol in another, or in the same one with the writer of its face.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolglot::rewrite::{Given, Same};
use toolglot::sink::openai::{Delta, Deltas, Head, Reason, Settings, Usage};
use toolglot::source::{
    Anthropic, Feeder, Item, Ollama, OpenAi, Source, SourceError, Take, Telling,
};
use toolglot::{DialectSet, Finish, NotDelivered, Options, Parser, Prefer, Stage};

use super::gathered::Spaces;
use super::{Engine, Told, responses};
use crate::config::Api;

/// Writes a streamed response.
pub trait Writer: Send {
    /// Appends a piece.
    fn piece(&mut self, piece: &Piece, head: &Head, out: &mut Vec<u8>);

    /// An event of a server, before its pieces: if it speaks the same protocol, its other members are kept.
    fn came(&mut self, _: &[u8]) {}

    /// Bytes of a server with the same protocol were forwarded unchanged.
    fn passed(&mut self, _: &[u8]) {}

    /// Whether an event alone carries no information, so that the next one decides whether it is sent. `before`: the last one waits.
    fn waits(&self, _: &[u8], _before: bool) -> bool {
        false
    }

    /// Appends the protocol's final event.
    fn close(&mut self, _: &mut Vec<u8>) {}
}

/// Why a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Stop,
    Length,
    ToolCalls,
    /// A filter stopped it, or the model refused.
    Filter,
}

impl From<Reason> for Why {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Length => Self::Length,
            Reason::ToolCalls => Self::ToolCalls,
            _ => Self::Stop,
        }
    }
}

/// One unit of output for a client.
#[derive(Clone, Debug)]
pub enum Piece {
    /// The response begins.
    Begin,
    /// The next piece of text.
    Text(String),
    /// The next piece of a thought.
    Thought(String),
    /// A call begins.
    Call {
        index: u32,
        id: String,
        name: String,
    },
    /// The next piece of its arguments.
    Arguments { index: u32, json: String },
    /// The response is finished.
    End {
        reason: Why,
        void: Vec<u32>,
        left: NotDelivered,
    },
    /// The response was truncated, or is an error.
    Failed { message: String, kind: String },
}

impl From<Delta<'_>> for Piece {
    fn from(delta: Delta<'_>) -> Self {
        match delta {
            Delta::Role => Self::Begin,
            Delta::Content(text) => Self::Text(text.to_owned()),
            Delta::Reasoning { text, .. } => Self::Thought(text.to_owned()),
            Delta::Call { index, id, name } => Self::Call {
                index,
                id: id.to_owned(),
                name: name.to_owned(),
            },
            Delta::Arguments { index, json } => Self::Arguments {
                index,
                json: json.to_owned(),
            },
            Delta::Finish { reason, void, left } => Self::End {
                reason: reason.into(),
                void: void.to_vec(),
                left: left.clone(),
            },
            Delta::Error { message, kind } => Self::Failed {
                message: message.to_owned(),
                kind: kind.to_owned(),
            },
            // Nothing else is sent with these settings.
            _ => Self::Text(String::new()),
        }
    }
}

/// The rest of a response: the member `toolglot`.
pub fn beside(void: &[u32], left: &NotDelivered) -> Option<serde_json::Value> {
    if void.is_empty() && left.is_empty() {
        return None;
    }
    let mut beside = serde_json::to_value(left).unwrap_or_default();
    if let Some(object) = beside.as_object_mut()
        && !void.is_empty()
    {
        object.insert("void".to_owned(), void.into());
    }
    Some(beside)
}

/// State shared by both ends of a parser.
#[derive(Default)]
struct Shared {
    /// The output so far.
    queue: Vec<Piece>,
    /// Text and thoughts that were fed and have not come out.
    text: String,
    thought: String,
    /// The server parses its calls itself.
    native: bool,
    /// Calls in the text wait for the server's, which replace them.
    holds: bool,
    /// The output differs from the input.
    changed: bool,
    /// A filter stopped the output.
    filtered: bool,
    /// The server itself reports in the body what went wrong.
    reported: bool,
}

impl Shared {
    fn came(&mut self, item: &Item<'_>) {
        match item {
            Item::Text(text) => self.text.push_str(text),
            Item::Reasoning(text) => self.thought.push_str(text),
            // Text that waits may be a call.
            Item::Call(_) if self.holds && !self.text.is_empty() => self.changed |= !self.native,
            Item::Call(_) => self.native |= !self.changed,
            Item::Said(said) => self.filtered |= said.filter.is_some(),
            Item::Error(SourceError::Api { error, .. }) => {
                // Other errors are those of a body that no client can read.
                self.reported |= error.json.is_some();
            }
            _ => {}
        }
    }

    fn goes(&mut self, mut piece: Piece) {
        if let Piece::End { reason, .. } = &mut piece
            && self.filtered
        {
            *reason = Why::Filter;
        }
        let take = |waits: &mut String, text: &str| {
            let same = waits.starts_with(text);
            if same {
                waits.drain(..text.len());
            }
            same
        };
        let same = match &piece {
            Piece::Begin | Piece::Failed { .. } => true,
            Piece::Text(text) => take(&mut self.text, text),
            Piece::Thought(text) => take(&mut self.thought, text),
            Piece::Call { .. } | Piece::Arguments { .. } => false,
            // Input that has not come out by now was framing, and is hidden.
            Piece::End { void, left, .. } => {
                let all = self.text.is_empty() && self.thought.is_empty();
                all && void.is_empty() && left.is_empty()
            }
        };
        self.changed |= !same && !self.native;
        self.queue.push(piece);
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A source that records its items.
struct Tap {
    source: Box<dyn Source + Send>,
    shared: Arc<Mutex<Shared>>,
}

impl Source for Tap {
    fn feed(&mut self, bytes: &[u8], take: &mut Take<'_>) {
        let shared = &self.shared;
        self.source.feed(bytes, &mut |item| {
            locked(shared).came(&item);
            take(item);
        });
    }

    fn end(&mut self, take: &mut Take<'_>) {
        let shared = &self.shared;
        self.source.end(&mut |item| {
            locked(shared).came(&item);
            take(item);
        });
    }
}

/// The form of a server's responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Chat,
    Responses,
    Messages,
    Ollama,
}

impl Wire {
    /// `responses`: the server answers `/v1/responses` itself.
    pub fn of(api: Api, responses: bool) -> Self {
        match api {
            Api::OpenAi if responses => Self::Responses,
            Api::OpenAi => Self::Chat,
            Api::Anthropic => Self::Messages,
            Api::Ollama => Self::Ollama,
        }
    }

    /// Returns a reader.
    pub fn source(self) -> Box<dyn Source + Send> {
        match self {
            Self::Chat => Box::new(OpenAi::new()),
            Self::Responses => Box::<responses::Responses>::default(),
            Self::Messages => Box::new(Anthropic::new()),
            Self::Ollama => Box::new(Ollama::new()),
        }
    }
}

type Door = Box<dyn FnMut(Delta<'_>) + Send>;

/// A parser, and its source.
struct Line {
    feeder: Feeder<Tap>,
    deltas: Deltas<Door>,
}

/// Converts bytes of a response to pieces.
pub struct Reader {
    wire: Wire,
    set: DialectSet,
    options: Options,
    settings: Settings,
    head: Arc<Mutex<Head>>,
    shared: Arc<Mutex<Shared>>,
    line: Line,
}

impl Reader {
    pub fn new(
        wire: Wire,
        set: &DialectSet,
        options: &Options,
        settings: &Settings,
        head: Head,
    ) -> Self {
        let holds = options.prefer == Prefer::Native;
        let shared = Shared {
            holds,
            ..Shared::default()
        };
        let (head, shared) = (Arc::new(Mutex::new(head)), Arc::new(Mutex::new(shared)));
        let line = Line::new(wire, set, options, settings, &head, &shared);
        Self {
            wire,
            set: set.clone(),
            options: options.clone(),
            settings: settings.clone(),
            head,
            shared,
            line,
        }
    }

    pub fn head(&self) -> Head {
        dated(locked(&self.head).clone())
    }

    /// A second response replaces the first.
    pub fn again(&mut self) {
        // Call ids must differ from those of the first.
        self.settings.id_seed = self.settings.id_seed.wrapping_add(1);
        locked(&self.shared).changed = true;
        let (options, settings) = (&self.options, &self.settings);
        self.line = Line::new(
            self.wire,
            &self.set,
            options,
            settings,
            &self.head,
            &self.shared,
        );
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Piece> {
        if self.wire == Wire::Chat {
            learn(&mut locked(&self.head), bytes);
        }
        let Line { feeder, deltas } = &mut self.line;
        // An unreadable part is not text.
        let _ = feeder.feed(bytes, deltas);
        if feeder.parser().stage() == Stage::TagContent {
            locked(&self.shared).changed = true;
        }
        self.pieces()
    }

    pub fn finish(&mut self) -> Vec<Piece> {
        let Line { feeder, deltas } = &mut self.line;
        let ended = feeder.finish(None, deltas);
        if let Some(error) = &ended.error {
            deltas.fail(&error.message, &error.kind);
        }
        let filtered = ended.error.is_none() && locked(&self.shared).filtered;
        locked(&self.shared).filtered = filtered;
        deltas.finish(match ended.reason {
            // The parser was told that this is no stop; the reply is complete nevertheless.
            Finish::Error if filtered => Finish::Length,
            // The client waits for a response, whatever the server did.
            Finish::Cancelled => Finish::Error,
            reason => reason,
        });
        self.pieces()
    }

    /// Whether the body itself reports the error that ended it.
    pub fn reported(&self) -> bool {
        locked(&self.shared).reported
    }

    fn pieces(&self) -> Vec<Piece> {
        std::mem::take(&mut locked(&self.shared).queue)
    }

    pub fn same(&self) -> Same {
        let shared = locked(&self.shared);
        match shared.changed {
            true => Same::No,
            false if shared.native => Same::Yes,
            false if shared.text.is_empty() && shared.thought.is_empty() => Same::Yes,
            false => Same::Waits,
        }
    }
}

impl Line {
    fn new(
        wire: Wire,
        set: &DialectSet,
        options: &Options,
        settings: &Settings,
        head: &Arc<Mutex<Head>>,
        shared: &Arc<Mutex<Shared>>,
    ) -> Self {
        let out = Arc::clone(shared);
        let door: Door = Box::new(move |delta| locked(&out).goes(Piece::from(delta)));
        let tell = Given::default().learn(Arc::clone(head));
        let tap = Tap {
            source: Box::new(Telling::new(wire.source(), tell)),
            shared: Arc::clone(shared),
        };
        let parser = Parser::new(set, options.clone());
        Self {
            feeder: Feeder::new(tap, parser).max_native(options.limits.max_native),
            deltas: Deltas::new(settings.clone(), door).guard_with(set, options),
        }
    }
}

/// Sets a time if the server sent none.
pub fn dated(mut head: Head) -> Head {
    if head.created == 0 {
        head.created = crate::seed::now();
    }
    head
}

/// Reads the metadata of an OpenAI response. Events come whole.
fn learn(head: &mut Head, bytes: &[u8]) {
    let new = head.created == 0;
    let counts = memchr::memmem::find(bytes, b"\"usage\"").is_some();
    if !new && !counts {
        return;
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let documents = text
        .lines()
        .map(|line| line.strip_prefix("data:").unwrap_or(line));
    let whole = text.trim_start().starts_with('{').then_some(text);
    for document in whole.into_iter().chain(documents) {
        let Ok(read) = serde_json::from_str::<serde_json::Value>(document) else {
            continue;
        };
        head.said(
            read["id"].as_str(),
            read["created"].as_u64(),
            read["model"].as_str(),
        );
        let usage = &read["usage"];
        if let Some(prompt) = usage["prompt_tokens"].as_u64() {
            head.usage = Some(
                Usage::default()
                    .prompt(prompt)
                    .completion(usage["completion_tokens"].as_u64().unwrap_or_default())
                    .cached(usage["prompt_tokens_details"]["cached_tokens"].as_u64()),
            );
        }
        if whole.is_some() {
            return;
        }
    }
}

/// Writes pieces of a streamed response.
pub struct Pieces {
    reader: Reader,
    writer: Box<dyn Writer>,
    told: Told,
    /// The client has seen nothing but text.
    text_only: bool,
    failed: bool,
    /// The end, held back while the model may be asked again.
    end: Option<Piece>,
    holds: bool,
    /// The last event alone carries no information.
    waits: bool,
    /// For protocols whose text comes in blocks.
    spaces: Option<Spaces>,
    /// Pieces that are written unless the bytes that they were made from are forwarded.
    pending: Vec<Piece>,
}

impl Pieces {
    /// `holds`: the end waits for a decision, because the model may be asked again.
    pub fn new(
        reader: Reader,
        writer: Box<dyn Writer>,
        holds: bool,
        spaces: Option<Spaces>,
    ) -> Self {
        Self {
            reader,
            writer,
            told: Told::default(),
            text_only: true,
            failed: false,
            end: None,
            holds,
            waits: false,
            spaces,
            pending: vec![],
        }
    }

    fn take(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            count(&piece, &mut self.told);
            let piece = match &mut self.spaces {
                Some(spaces) => spaces.piece(piece),
                None => Some(piece),
            };
            match &piece {
                Some(Piece::Call { .. } | Piece::Arguments { .. }) => self.text_only = false,
                Some(Piece::Failed { .. }) => self.failed = true,
                Some(Piece::Begin | Piece::Text(_) | Piece::Thought(_) | Piece::End { .. })
                | None => {}
            }
            self.pending.extend(piece);
        }
    }

    fn write(&mut self, out: &mut Vec<u8>, mut ending: Option<&mut Vec<u8>>) {
        let head = self.reader.head();
        for piece in std::mem::take(&mut self.pending) {
            if self.holds && matches!(piece, Piece::End { .. }) {
                self.end = Some(piece);
                continue;
            }
            let failed = matches!(piece, Piece::Failed { .. });
            match ending.as_deref_mut().filter(|_| failed) {
                Some(ending) => self.writer.piece(&piece, &head, ending),
                None => self.writer.piece(&piece, &head, out),
            }
        }
    }

    /// Returns the held end.
    pub fn let_go(&mut self, out: &mut Vec<u8>) {
        if let Some(piece) = self.end.take() {
            let head = self.reader.head();
            self.writer.piece(&piece, &head, out);
        }
    }
}

/// Counts the content of a piece.
pub fn count(piece: &Piece, told: &mut Told) {
    match piece {
        Piece::Call { .. } => told.calls += 1,
        Piece::End { reason, void, left } => {
            told.filtered = *reason == Why::Filter;
            if let Some(left) = beside(void, left) {
                told.left(&left);
            }
        }
        Piece::Failed { .. } => told.failed = true,
        Piece::Begin | Piece::Text(_) | Piece::Thought(_) | Piece::Arguments { .. } => {}
    }
}

impl Engine for Pieces {
    fn feed(&mut self, bytes: &[u8], _: &mut Vec<u8>) {
        let pieces = self.reader.feed(bytes);
        self.writer.came(bytes);
        self.waits = self.writer.waits(bytes, self.waits);
        self.take(pieces);
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        self.write(out, None);
    }

    fn same(&self) -> Same {
        let waits = self.waits || self.spaces.as_ref().is_some_and(Spaces::waits);
        match self.reader.same() {
            Same::Yes if waits => Same::Waits,
            same => same,
        }
    }

    fn passed(&mut self, bytes: &[u8]) {
        self.writer.passed(bytes);
        self.pending.clear();
    }

    fn finish(&mut self, out: &mut Vec<u8>, ending: &mut Vec<u8>) {
        let pieces = self.reader.finish();
        self.take(pieces);
        self.write(out, Some(ending));
        if !self.asks() {
            self.let_go(out);
        }
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if !self.failed && self.end.is_none() {
            self.writer.close(out);
        }
    }

    fn told(&self) -> &Told {
        &self.told
    }

    fn asks(&self) -> bool {
        self.end.is_some() && self.text_only && self.told.asks()
    }

    fn reported(&self) -> bool {
        self.reader.reported()
    }

    fn again(&mut self) {
        self.end = None;
        self.told = Told::default();
        self.reader.again();
    }

    fn give_up(&mut self, out: &mut Vec<u8>) {
        self.holds = false;
        if self.end.is_some() {
            self.let_go(out);
            self.writer.close(out);
        }
    }
}
