//! Keeps the model's output for later use: the first reply of a model, recordings, and what the model is told of its reply.

use toolglot::json::{Value, json};
use toolglot::source::{Assembly, Item, Source, SourceError};
use toolglot::{
    DialectSet, Event, Finish, Grade, Kind, NativeCall, Options, Parser, Severity, Sink,
};

use crate::engine::Told;

/// Maximum number of bytes kept, and as many of the server's own calls.
const MAX: usize = 4 << 20;
/// Issues that are kept, and the most that the model is told of.
const WRONG: usize = 64;
const TOLD: usize = 8;

/// Reads alongside an engine.
pub struct Scribe {
    source: Box<dyn Source + Send>,
    calls: Assembly,
    pub said: Said,
}

/// The output of a model.
#[derive(Clone, Debug)]
pub struct Said {
    pub text: String,
    /// Lengths of the pieces.
    pub cuts: Vec<usize>,
    /// Thoughts that came beside the text.
    pub thoughts: String,
    /// Calls that the server found itself, and why one of them is broken.
    pub natives: Vec<(NativeCall, Option<Kind>)>,
    /// The bytes of text before the first of them was complete, and before it began.
    pub native_at: usize,
    pub begun_at: Option<usize>,
    /// It exceeded the limit.
    pub over: bool,
    /// How the response ended.
    pub finish: Finish,
}

impl Scribe {
    pub fn new(source: Box<dyn Source + Send>) -> Self {
        let said = Said {
            text: String::new(),
            cuts: vec![],
            thoughts: String::new(),
            natives: vec![],
            native_at: 0,
            begun_at: None,
            over: false,
            finish: Finish::Error,
        };
        Self {
            source,
            calls: Assembly::new(MAX as u64),
            said,
        }
    }

    /// Reads a whole body.
    pub fn whole(source: Box<dyn Source + Send>, body: &[u8]) -> Self {
        let mut scribe = Self::new(source);
        scribe.feed(body);
        scribe.end();
        scribe
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        let (said, calls) = (&mut self.said, &mut self.calls);
        self.source.feed(bytes, &mut |item| said.item(&item, calls));
    }

    pub fn end(&mut self) {
        let (said, calls) = (&mut self.said, &mut self.calls);
        self.source.end(&mut |item| said.item(&item, calls));
        while let Some(error) = calls.rest() {
            said.broken(&error);
        }
    }
}

impl Said {
    fn item(&mut self, item: &Item<'_>, calls: &mut Assembly) {
        match item {
            Item::Text(piece) if self.fits(piece) => {
                self.text.push_str(piece);
                self.cuts.push(piece.len());
            }
            Item::Reasoning(piece) if self.fits(piece) => self.thoughts.push_str(piece),
            Item::Call(piece) => {
                self.begun_at.get_or_insert(self.text.len());
                self.over |= calls.piece(piece).is_err();
            }
            Item::CallEnd(index) => {
                calls.end(*index);
                self.natives(calls, None);
            }
            Item::Finish(finish) => {
                self.finish = *finish;
                self.natives(calls, Some(*finish));
            }
            _ => {}
        }
    }

    /// The server's own calls in OpenAI's form, if there are any.
    pub fn native_calls(&self) -> Option<Value> {
        let calls = self.natives.iter().map(|(call, broken)| {
            let function =
                json!({"name": (call.name.as_str()), "arguments": (call.arguments.as_str())});
            let id = call.id.as_deref().unwrap_or_default();
            let mut call = json!({"id": id, "type": "function", "function": function});
            if let (Some(kind), Value::Object(call)) = (broken, &mut call) {
                call.insert("refused".to_owned(), kind.name().into());
            }
            call
        });
        (!self.natives.is_empty()).then(|| calls.collect())
    }

    fn fits(&mut self, piece: &str) -> bool {
        self.over |= self.text.len() + self.thoughts.len() + piece.len() > MAX;
        !self.over
    }

    /// Takes the complete calls.
    fn natives(&mut self, calls: &mut Assembly, finish: Option<Finish>) {
        while let Some(call) = calls.next(finish) {
            match call {
                Ok(call) => self.native(call, None),
                Err(error) => self.broken(&error),
            }
        }
    }

    fn broken(&mut self, error: &SourceError) {
        if let Some((name, kind)) = error.refused() {
            self.native(NativeCall::new(name, ""), Some(kind));
        }
    }

    fn native(&mut self, call: NativeCall, broken: Option<Kind>) {
        if self.natives.is_empty() {
            self.native_at = self.text.len();
        }
        self.natives.push((call, broken));
    }

    /// Returns what the model is told of this reply: errors, and warnings that are the reason why a call was withheld.
    pub fn wrong(&self, set: &DialectSet, options: &Options, told: &Told) -> String {
        let mut all = Wrong::default();
        let mut parser = Parser::new(set, options.clone());
        let (before, after) = self.text.split_at(self.native_at);
        parser.feed(before.as_bytes(), &mut all);
        for (call, broken) in &self.natives {
            match broken {
                Some(kind) => parser.native_refused(&call.name, *kind, &mut all),
                None => parser.native_call(call, &mut all),
            }
        }
        parser.feed(after.as_bytes(), &mut all);
        parser.finish(self.finish, &mut all);
        let reason = |kind: &str| told.kinds.iter().any(|own| own == kind);
        let mut words: Vec<&str> = all
            .0
            .iter()
            .filter(|(kind, warning, _)| !warning || reason(kind))
            .map(|(_, _, words)| words.as_str())
            .collect();
        words.dedup();
        words.truncate(TOLD);
        words.join("\n")
    }
}

/// Kind of an issue, whether it is a warning, and what the model is told of it.
#[derive(Default)]
struct Wrong(Vec<(&'static str, bool, String)>);

impl Sink for Wrong {
    fn event(&mut self, event: Event<'_>) {
        // A call is withheld for kinds that leave a doubt; not all of them are reported for the call itself.
        if let Event::Issue(issue) = &event
            && (issue.severity == Severity::Error || issue.kind.grade() == Grade::Recovered)
            && self.0.len() < WRONG
        {
            // For a call that is withheld, a warning is the reason.
            let refusal = issue.severity(Severity::Error);
            let warning = issue.severity == Severity::Warning;
            self.0
                .push((issue.kind.name(), warning, refusal.observation()));
        }
    }
}
