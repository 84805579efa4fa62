//! Reads a response of any protocol: text through a parser, and the server's own calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolglot::rewrite::{Given, Same};
use toolglot::sink::openai::{Delta, Deltas, Head, Settings, Usage};
use toolglot::source::{
    Anthropic, CallPiece, Flow, Item, Ollama, OpenAi, ServerError, Source, SourceError, Take,
    Telling,
};
use toolglot::{DialectSet, Finish, Options, Parser, Prefer, Stage, UnknownTool};

use super::pieces::{Piece, Why};
use super::{blocks, responses};
use crate::config::Api;

/// State shared by both ends of a parser.
#[derive(Default)]
struct Shared {
    /// The output so far.
    queue: Vec<Piece>,
    /// Text and thoughts that were fed and have not come out.
    text: String,
    thought: String,
    /// The server's own calls.
    native: Native,
    /// Calls in the text wait for the server's, which replace them.
    holds: bool,
    /// The output differs from the input.
    changed: bool,
    /// A filter stopped the output.
    filtered: bool,
    /// The server itself reports in the body what went wrong.
    reported: bool,
    /// The code of that error.
    code: Option<String>,
    /// Why a part of the body could not be read, if one could not: the reply lacks it.
    unread: Option<String>,
}

/// The server's own calls. The first one counts if nothing was converted before it: then they all do, and a call in later text is
/// text.
#[derive(Default)]
enum Native {
    /// None came, or calls of the text came before: the parser decides.
    #[default]
    No,
    /// They are forwarded piece by piece, unchecked: the index of each.
    Forwarded(Vec<Option<u64>>),
    /// They are checked and written when they are complete.
    Checked,
}

impl Shared {
    fn came(&mut self, item: &Item<'_>) {
        match item {
            Item::Text(text) => self.text.push_str(text),
            Item::Reasoning(text) => self.thought.push_str(text),
            Item::Said(said) => self.filtered |= said.filter.is_some(),
            Item::Error(SourceError::Api { error, .. }) => {
                // Other errors are those of a body that no client can read.
                self.reported |= error.json.is_some();
                self.code = error.json.as_deref().and_then(code);
            }
            Item::Error(error @ (SourceError::Json { .. } | SourceError::TooLong { .. })) => {
                self.unread.get_or_insert_with(|| error.to_string());
            }
            _ => {}
        }
    }

    /// The error of a reply that lacks what could not be read. A client that gets the bytes unchanged reads them itself.
    fn lacks(&self, same: bool) -> Option<ServerError> {
        let why = self.unread.as_ref().filter(|_| !same || self.changed)?;
        let message = format!("a part of the response could not be read: {why}");
        Some(ServerError::new(&message, "upstream_error"))
    }

    /// Whether a call of the server is the first that counts.
    fn begins_native(&mut self) -> bool {
        if !matches!(self.native, Native::No) {
            return false;
        }
        // Text that waits may be a call, which is replaced.
        self.changed |= self.holds && !self.text.is_empty();
        !self.changed
    }

    fn counts_native(&self) -> bool {
        !matches!(self.native, Native::No)
    }

    /// Forwards a piece of a call of the server.
    fn call(&mut self, piece: &CallPiece<'_>) {
        let Native::Forwarded(indices) = &mut self.native else {
            return;
        };
        let known = indices.iter().rposition(|index| *index == piece.index);
        let place = known.filter(|_| piece.name.is_none());
        let index = place.unwrap_or_else(|| {
            indices.push(piece.index);
            indices.len() - 1
        });
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        if place.is_none() {
            let word = |word: Option<&str>| word.unwrap_or_default().to_owned();
            let (id, name) = (word(piece.id), word(piece.name));
            self.queue.push(Piece::Call { index, id, name });
        }
        if !piece.arguments.is_empty() {
            let json = piece.arguments.to_owned();
            self.queue.push(Piece::Arguments { index, json });
        }
    }

    fn goes(&mut self, mut piece: Piece) {
        if let Piece::End { reason, .. } = &mut piece {
            if *reason == Why::Stop && matches!(self.native, Native::Forwarded(_)) {
                *reason = Why::ToolCalls;
            }
            if self.filtered {
                *reason = Why::Filter;
            }
        }
        if let Piece::Failed { code, .. } = &mut piece {
            *code = self.code.take();
        }
        let take = |waits: &mut String, text: &str| {
            let same = waits.starts_with(text);
            if same {
                waits.drain(..text.len());
            }
            same
        };
        let same = match &piece {
            Piece::Begin | Piece::Other(_) | Piece::Failed { .. } => true,
            Piece::Text(text) => take(&mut self.text, text),
            Piece::Thought(text) => take(&mut self.thought, text),
            Piece::Call { .. } | Piece::Arguments { .. } => false,
            // Input that has not come out by now was framing, and is hidden.
            Piece::End { void, left, .. } => {
                let all = self.text.is_empty() && self.thought.is_empty();
                all && void.is_empty() && left.is_empty()
            }
        };
        self.changed |= !same;
        self.queue.push(piece);
    }
}

/// The code of an error, in any of the places where servers of OpenAI's protocols put it.
fn code(json: &str) -> Option<String> {
    let read: serde_json::Value = serde_json::from_str(json).ok()?;
    let places = ["/error/code", "/response/error/code", "/code"];
    let code = places
        .iter()
        .find_map(|place| read.pointer(place)?.as_str());
    code.map(str::to_owned)
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
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
    source: Box<dyn Source + Send>,
    flow: Flow,
    /// Takes the server's own calls, once they count and have to be checked.
    own: Option<Flow>,
    deltas: Deltas<Door>,
}

/// Converts bytes of a response to pieces.
pub struct Reader {
    wire: Wire,
    /// The server's own calls may be forwarded.
    same: bool,
    /// A block is open that the source does not know.
    in_other: bool,
    set: DialectSet,
    options: Options,
    settings: Settings,
    head: Arc<Mutex<Head>>,
    shared: Arc<Mutex<Shared>>,
    line: Line,
}

impl Reader {
    /// `same`: the client speaks the protocol of the server.
    pub fn new(
        (wire, same): (Wire, bool),
        set: &DialectSet,
        options: &Options,
        settings: &Settings,
        head: Head,
    ) -> Self {
        let shared = Shared {
            holds: options.prefer == Prefer::Native,
            ..Shared::default()
        };
        let (head, shared) = (Arc::new(Mutex::new(head)), Arc::new(Mutex::new(shared)));
        let line = Line::new(wire, set, options, settings, &head, &shared);
        Self {
            wire,
            same,
            in_other: false,
            set: set.clone(),
            options: options.clone(),
            settings: settings.clone(),
            head,
            shared,
            line,
        }
    }

    /// Whether the server speaks the protocol of the client.
    pub fn speaks_client(&self) -> bool {
        self.same
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
        self.read(|source, take| source.feed(bytes, take));
        if self.wire == Wire::Messages && self.same {
            let others = blocks::others(bytes, &mut self.in_other);
            let queue = &mut locked(&self.shared).queue;
            queue.extend(others.into_iter().map(Piece::Other));
        }
        if self.line.flow.parser().stage() == Stage::TagContent {
            locked(&self.shared).changed = true;
        }
        self.pieces()
    }

    /// Passes what the source finds to the parsers.
    fn read(&mut self, feed: impl FnOnce(&mut dyn Source, &mut Take<'_>)) {
        let (set, options, same) = (&self.set, &self.options, self.same);
        let shared = &self.shared;
        let Line {
            source,
            flow,
            own,
            deltas,
        } = &mut self.line;
        // An unreadable part is not text.
        let mut errors = vec![];
        feed(source, &mut |item| {
            locked(shared).came(&item);
            if matches!(item, Item::Call(_) | Item::CallEnd(_)) {
                // Text in a block changes, whatever the block turns out to be.
                let open = flow.parser().stage() == Stage::TagContent;
                locked(shared).changed |= open;
                let begins = matches!(item, Item::Call(_)) && locked(shared).begins_native();
                if begins {
                    locked(shared).native = match same {
                        true => Native::Forwarded(vec![]),
                        false => Native::Checked,
                    };
                    *own = (!same).then(|| checks(set, options));
                }
                if begins || (locked(shared).counts_native() && !open && flow.parser().held() > 0) {
                    // Text that waits comes before the call.
                    flow.finish(Some(Finish::Stop), deltas, &mut errors);
                    *flow = reads_text(set, options);
                    // Something has arrived.
                    flow.take(Item::Text(""), deltas, &mut errors);
                }
            }
            let forwarded = matches!(locked(shared).native, Native::Forwarded(_));
            if let (Item::Error(error), Some(own)) = (&item, own.as_mut())
                && error.is_gap()
            {
                own.take(Item::Error(error.clone()), deltas, &mut errors);
            }
            match (&item, own.as_mut()) {
                (Item::Call(piece), None) if forwarded => locked(shared).call(piece),
                (Item::CallEnd(_), None) if forwarded => {}
                (Item::Call(_) | Item::CallEnd(_), Some(own)) => {
                    own.take(item, deltas, &mut errors);
                }
                _ => flow.take(item, deltas, &mut errors),
            }
        });
    }

    pub fn finish(&mut self) -> Vec<Piece> {
        self.read(|source, take| source.end(take));
        let Line {
            flow, own, deltas, ..
        } = &mut self.line;
        let reason = flow.finish(None, deltas, &mut vec![]);
        if let Some(own) = own {
            // A call without arguments is complete only now.
            own.take(Item::Finish(reason), deltas, &mut vec![]);
            own.finish(None, deltas, &mut vec![]);
        }
        let lacks = locked(&self.shared).lacks(self.same);
        let reason = match lacks {
            Some(_) => Finish::Error,
            None => reason,
        };
        let error = flow.error(false).or(lacks);
        if let Some(error) = &error {
            deltas.fail(&error.message, &error.kind);
        }
        let filtered = error.is_none() && locked(&self.shared).filtered;
        locked(&self.shared).filtered = filtered;
        deltas.finish(match reason {
            // The parser was told that this is no stop; the reply is complete nevertheless.
            Finish::Error if filtered => Finish::Length,
            // The client waits for a response, whatever the server did.
            Finish::Cancelled => Finish::Error,
            reason => reason,
        });
        self.pieces()
    }

    /// Whether the server's own calls count, because they came before anything was converted.
    pub fn native(&self) -> bool {
        locked(&self.shared).counts_native()
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
            false if shared.text.is_empty() && shared.thought.is_empty() => Same::Yes,
            false => Same::Waits,
        }
    }
}

/// Reads text that follows the first call of the server: calls of both kinds exclude each other, so those in it are text.
fn reads_text(set: &DialectSet, options: &Options) -> Flow {
    let mut options = options.clone();
    options.tools = Some(Arc::default());
    options.unknown_tool = Some(UnknownTool::Text);
    let max_native = options.limits.max_native;
    Flow::new(Parser::new(set, options), max_native)
}

/// Checks the server's own calls, and delivers each when it is complete.
fn checks(set: &DialectSet, options: &Options) -> Flow {
    let options = options.clone().prefer(Prefer::Native);
    let max_native = options.limits.max_native;
    Flow::new(Parser::new(set, options), max_native)
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
        let parser = Parser::new(set, options.clone());
        let others = Arc::clone(shared);
        let source = match wire {
            Wire::Responses => Box::new(responses::Responses::with_others(move |event| {
                locked(&others).queue.push(Piece::Other(event));
            })),
            Wire::Chat | Wire::Messages | Wire::Ollama => wire.source(),
        };
        Self {
            source: Box::new(Telling::new(source, tell)),
            flow: Flow::new(parser, options.limits.max_native),
            own: None,
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
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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
