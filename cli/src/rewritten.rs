//! Responses in OpenAI's own form, written anew: what the server says of them stays.
//!
//! The events of the response are counted and checked as for every other output; what is written is made of its bytes.

use std::io::{self, Write};

use toolglot::rewrite::{self, Given, Rewriter};
use toolglot::{DialectSet, Event, Finish, Options, Sink};

use crate::api::{Format, OpenAiArgs};
use crate::args::{Output as Shown, ParseArgs};
use crate::output::{Completion, Output, sse, sse_end};

/// The output, if it is a response of a server that is written anew. A prefill belongs to text alone.
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
        // One choice of several, or another reason, is nothing that the server said.
        Shown::Completion if args.choice.is_none() && args.finish.is_none() => {
            Ok(Box::new(Whole::new(&args.openai, set, options, out)))
        }
        Shown::Pretty | Shown::Turn | Shown::Events | Shown::Completion | Shown::Mask => Err(out),
    }
}

fn given(args: &OpenAiArgs) -> Given {
    Given {
        id: args.id.clone(),
        created: args.created,
        model: args.model.clone(),
    }
}

/// The chunks of a response.
struct Chunks<W: Write> {
    out: W,
    written: Vec<u8>,
    rewriter: Rewriter,
    /// What the host says of the end.
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
        // What cannot be read is told by whoever reads the events of the same bytes.
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

/// A response that is not streamed; one that is streamed becomes a completion as text does.
struct Whole<W: Write> {
    body: Vec<u8>,
    set: DialectSet,
    options: Options,
    args: OpenAiArgs,
    streamed: Completion<W>,
}

impl<W: Write> Whole<W> {
    fn new(args: &OpenAiArgs, set: &DialectSet, options: &Options, out: W) -> Self {
        Self {
            body: vec![],
            set: set.clone(),
            options: options.clone(),
            args: args.clone(),
            streamed: Completion::new(out, set, args.settings(), args.head()),
        }
    }
}

impl<W: Write> Sink for Whole<W> {
    fn event(&mut self, event: Event<'_>) {
        self.streamed.event(event);
    }
}

impl<W: Write> Output for Whole<W> {
    fn body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, reason: Finish) -> io::Result<()> {
        if !self.body.trim_ascii_start().starts_with(b"{") {
            return self.streamed.end(reason);
        }
        let (settings, given) = (self.args.settings(), given(&self.args));
        let (json, _) =
            rewrite::completion(&self.set, &self.options, &settings, &given, &self.body);
        self.streamed.line(json)
    }
}
