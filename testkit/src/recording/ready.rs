//! A recording with all its names resolved; it can be run under any chunking.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use toolglot::json::{Value, json};
use toolglot::{
    DialectSet, Event, Finish, Kind, NativeCall, Options, Parser, Prefer, Sink, Span, Tools,
};

use super::entry::entries;
use super::file::{Dialect, Recording};
use crate::options::{self, ReadOptions};
use crate::sets::{Choice, Sets};
use crate::vectors::{Log, panic_text};

/// Everything about a stream except its bytes.
pub struct Ready {
    set: DialectSet,
    options: Options,
    /// API tool calls, and why one of them is invalid.
    native: Vec<(NativeCall, Option<Kind>)>,
    native_at: usize,
    reasoning: String,
    finish: Finish,
}

/// The result of a run: its log, or the message of a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome(Result<Log, String>);

impl Outcome {
    /// The log as it is written to a file; a panic is an entry of its own.
    #[must_use]
    pub fn entries(&self) -> Vec<Value> {
        match &self.0 {
            Ok(log) => entries(log),
            Err(message) => vec![json!({"type": "panic", "message": message})],
        }
    }
}

impl Ready {
    /// Resolves dialects, options, tools and API tool calls.
    ///
    /// # Errors
    /// One of them does not exist or is unusable.
    pub fn new(recording: &Recording) -> Result<Self, String> {
        let ReadOptions {
            mut options,
            switches,
        } = options::read(&recording.options).map_err(|e| e.to_string())?;
        if let Some(tools) = &recording.tools {
            let tools = Tools::from_value(tools).map_err(|e| format!("tools: {e}"))?;
            options.tools = Some(Arc::new(tools));
        }
        let native = match &recording.native_tool_calls {
            Some(calls) => native(calls)?,
            None => vec![],
        };
        let spare = match options.prefer {
            Prefer::Native => 0,
            _ => usize::MAX,
        };
        let finish = Finish::from_name(&recording.finish)
            .ok_or_else(|| format!("there is no finish reason `{}`", recording.finish))?;
        Ok(Self {
            set: set(&recording.dialects, switches)?,
            options,
            native,
            native_at: recording.native_at.unwrap_or(spare),
            reasoning: recording.reasoning_content.clone().unwrap_or_default(),
            finish,
        })
    }

    /// Runs it with chunks of these lengths; the remaining bytes are one more chunk. A panic of the engine is an outcome.
    #[must_use]
    pub fn run(&self, input: &[u8], cuts: &[usize]) -> Outcome {
        let mut log = Log::new();
        let ran = panic::catch_unwind(AssertUnwindSafe(|| self.feed(input, cuts, &mut log)));
        Outcome(match ran {
            Ok(()) => Ok(log),
            Err(cause) => Err(panic_text(&*cause).to_owned()),
        })
    }

    fn feed(&self, input: &[u8], cuts: &[usize], sink: &mut dyn Sink) {
        if !self.reasoning.is_empty() {
            sink.event(Event::reasoning(
                self.reasoning.as_bytes(),
                Span::new(0, 0),
                false,
            ));
        }
        let mut left = Some(self.native_at.min(input.len()));
        let mut parser = Parser::new(&self.set, self.options.clone());
        let give = |parser: &mut Parser, sink: &mut dyn Sink| {
            for (call, refused) in &self.native {
                match refused {
                    Some(kind) => parser.native_refused(&call.name, *kind, sink),
                    None => parser.native_call(call, sink),
                }
            }
        };
        feed(input, cuts, &mut |mut chunk| {
            if let Some(before) = left.filter(|left| *left <= chunk.len()) {
                left = None;
                parser.feed(&chunk[..before], sink);
                give(&mut parser, sink);
                chunk = &chunk[before..];
            }
            left = left.map(|left| left - chunk.len());
            parser.feed(chunk, sink);
        });
        parser.finish(self.finish, sink);
    }
}

/// Reads API tool calls in OpenAI's form, and the member `refused` beside it.
fn native(calls: &Value) -> Result<Vec<(NativeCall, Option<Kind>)>, String> {
    let read = NativeCall::from_openai(calls).map_err(|e| e.to_string())?;
    let items = calls.as_array().into_iter().flatten();
    read.into_iter()
        .zip(items)
        .map(|(call, item)| {
            let Some(refused) = item.get("refused") else {
                return Ok((call, None));
            };
            match refused.as_str().and_then(Kind::from_name) {
                Some(kind) => Ok((call, Some(kind))),
                None => Err(format!("native_tool_calls: there is no kind {refused}")),
            }
        })
        .collect()
}

fn feed<'c>(mut rest: &'c [u8], cuts: &[usize], take: &mut dyn FnMut(&'c [u8])) {
    for len in cuts {
        let (chunk, behind) = rest.split_at((*len).min(rest.len()));
        take(chunk);
        rest = behind;
    }
    if !rest.is_empty() || cuts.is_empty() {
        take(rest);
    }
}

fn set(dialects: &[Dialect], switches: Vec<(String, String)>) -> Result<DialectSet, String> {
    let mut sets = Sets::new();
    let mut names = vec![];
    for dialect in dialects {
        match dialect {
            Dialect::Name(name) => names.push(name.clone()),
            Dialect::File { file, toml } => sets.add(file, toml).map_err(|e| e.to_string())?,
        }
    }
    // With files but no names, only the files are active, not the default set.
    if names.is_empty() {
        names.extend(sets.file_ids().map(str::to_owned));
    }
    let choice = Choice {
        names,
        files: true,
        switches,
    };
    sets.get(&choice).map_err(|e| e.to_string())
}
