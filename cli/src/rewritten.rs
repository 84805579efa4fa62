//! Rewrites OpenAI responses: the server's other members stay.
//!
//! The events of the response are counted and checked as for every other output; the output is made from its bytes.

use std::io::{self, Write};

use toolglot::json::Value;
use toolglot::rewrite::{Completer, Given, Rewriter};
use toolglot::{DialectSet, Event, Finish, Options, Sink};

use crate::api::{Format, OpenAiArgs};
use crate::args::{Output as Shown, ParseArgs};
use crate::output::{Output, line, sse, sse_end};
use crate::validate::Delivered;

/// Returns the output, if the input is a server response to be rewritten. A prefill applies to text only.
pub fn output<W: Write + 'static>(
    args: &ParseArgs,
    set: &DialectSet,
    options: &Options,
    out: W,
) -> Result<Box<dyn Output>, W> {
    if args.input != Format::OpenaiSse || args.prefill.is_some() {
        return Err(out);
    }
    match args.output {
        Shown::Openai => Ok(Box::new(Chunks::new(args, set, options, out))),
        Shown::Completion => Ok(Box::new(Whole::new(args, set, options, out))),
        Shown::Pretty | Shown::Turn | Shown::Events | Shown::Mask => Err(out),
    }
}

pub fn given(args: &OpenAiArgs) -> Given {
    Given::default()
        .id(args.id.clone())
        .created(args.created)
        .model(args.model.clone())
}

/// The chunks of a response.
struct Chunks<W: Write> {
    out: W,
    written: Vec<u8>,
    rewriter: Rewriter,
    /// The host's reason for the end.
    finish: Option<Finish>,
}

impl<W: Write> Chunks<W> {
    fn new(args: &ParseArgs, set: &DialectSet, options: &Options, out: W) -> Self {
        let openai = &args.openai;
        let mut rewriter = Rewriter::new(set, options.clone())
            .settings(openai.settings())
            .spare(&openai.head())
            .given(given(openai));
        if let Some(choice) = args.choice {
            rewriter = rewriter.choice(choice);
        }
        Self {
            out,
            written: vec![],
            rewriter,
            finish: args.finish,
        }
    }
}

impl<W: Write> Sink for Chunks<W> {
    fn event(&mut self, _: Event<'_>) {}
}

impl<W: Write> Output for Chunks<W> {
    fn body(&mut self, bytes: &[u8]) {
        let Self {
            written, rewriter, ..
        } = self;
        // The reader of the events of the same bytes reports unreadable parts.
        let _ = rewriter.feed(bytes, &mut |json| sse(written, json.to_owned()));
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.written)?;
        self.written.clear();
        self.out.flush()
    }

    fn end(&mut self, _: Finish) -> io::Result<()> {
        let Self {
            written, rewriter, ..
        } = self;
        let end = rewriter.finish(self.finish, &mut |json| sse(written, json.to_owned()));
        sse_end(written, end.reason);
        self.flush()
    }
}

/// One object of a response, streamed or not.
struct Whole<W: Write> {
    out: W,
    completer: Option<Completer>,
    /// The host's reason for the end.
    finish: Option<Finish>,
    /// The choice whose calls are validated.
    choice: u64,
    checked: Vec<Delivered>,
}

impl<W: Write> Whole<W> {
    fn new(args: &ParseArgs, set: &DialectSet, options: &Options, out: W) -> Self {
        let openai = &args.openai;
        let mut completer = Completer::new(set, options.clone())
            .settings(openai.settings())
            .spare(&openai.head())
            .given(given(openai));
        if let Some(choice) = args.choice {
            completer = completer.choice(choice);
        }
        Self {
            out,
            completer: Some(completer),
            finish: args.finish,
            choice: args.choice.unwrap_or_default(),
            checked: vec![],
        }
    }
}

impl<W: Write> Sink for Whole<W> {
    fn event(&mut self, _: Event<'_>) {}
}

impl<W: Write> Output for Whole<W> {
    fn body(&mut self, bytes: &[u8]) {
        if let Some(completer) = &mut self.completer {
            // The reader of the events of the same bytes reports unreadable parts.
            let _ = completer.feed(bytes);
        }
    }

    fn checked(&mut self, calls: Vec<Delivered>) {
        self.checked = calls;
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, _: Finish) -> io::Result<()> {
        let Some(completer) = self.completer.take() else {
            return Ok(());
        };
        let json = completer.finish(self.finish).0;
        let json = deliver(&json, self.choice, &self.checked).unwrap_or(json);
        line(&mut self.out, json)
    }
}

/// Gives the valid calls of a choice the arguments that were validated; `None` if the completion has none.
fn deliver(json: &str, choice: u64, checked: &[Delivered]) -> Option<String> {
    let mut whole: Value = json.parse().ok()?;
    let mut choices = whole.get_mut("choices")?.as_array_mut()?.iter_mut();
    let is_it = |one: &&mut Value| one.get("index").and_then(Value::as_u64) == Some(choice);
    let message = choices.find(is_it)?.get_mut("message")?;
    for call in message.get_mut("tool_calls")?.as_array_mut()? {
        let function = call.get_mut("function")?;
        let have = |key| function.get(key).and_then(Value::as_str);
        let same = |one: &&Delivered| {
            // No arguments are written as an empty object.
            let written = Some(one.written.trim()).filter(|text| !text.is_empty());
            have("name") == Some(&one.name) && have("arguments") == written.or(Some("{}"))
        };
        if let Some(arguments) = checked
            .iter()
            .find(same)
            .and_then(|one| one.arguments.clone())
        {
            function["arguments"] = arguments.into();
        }
    }
    Some(whole.to_string())
}
