//! Writes a response of one protocol in another, or in the same one with the writer of its face.

use toolglot::NotDelivered;
use toolglot::rewrite::Same;
use toolglot::sink::openai::{Delta, Head, Reason};

use super::gathered::Spaces;
use super::reader::Reader;
use super::{Engine, Told};

/// Writes a streamed response.
pub trait Writer: Send {
    /// Appends a piece.
    fn piece(&mut self, piece: &Piece, head: &Head, out: &mut Vec<u8>);

    /// An event of a server with the same protocol, before its pieces: its other members are kept.
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
    /// An event of `/v1/responses` or `/v1/messages` that no reader knows, for a client of the same protocol.
    Other(serde_json::Value),
    /// The response is finished.
    End {
        reason: Why,
        void: Vec<u32>,
        left: NotDelivered,
    },
    /// The response was truncated, or is an error. `code`: what the server says beside the kind.
    Failed {
        message: String,
        kind: String,
        code: Option<String>,
    },
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
                code: None,
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
        self.told.native = self.reader.native();
        for piece in pieces {
            count(&piece, &mut self.told);
            let piece = match &mut self.spaces {
                Some(spaces) => spaces.piece(piece),
                None => Some(piece),
            };
            match &piece {
                Some(Piece::Call { .. } | Piece::Arguments { .. }) => self.text_only = false,
                Some(Piece::Failed { .. }) => self.failed = true,
                Some(
                    Piece::Begin
                    | Piece::Text(_)
                    | Piece::Thought(_)
                    | Piece::Other(_)
                    | Piece::End { .. },
                )
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
        Piece::Begin
        | Piece::Text(_)
        | Piece::Thought(_)
        | Piece::Arguments { .. }
        | Piece::Other(_) => {}
    }
}

impl Engine for Pieces {
    fn feed(&mut self, bytes: &[u8], _: &mut Vec<u8>) {
        let pieces = self.reader.feed(bytes);
        if self.reader.speaks_client() {
            self.writer.came(bytes);
        }
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
