//! `toolglot parse`: parses one output incrementally.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Read, Write};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::terminal::{Screen, one_line};
use anstream::{AutoStream, ColorChoice};
use toolglot::sink::openai::Head;
use toolglot::source::{Feeder, ServerError, Source, SourceError, Telling};
use toolglot::{Collect, DialectSet, Finish, Options, Parser, Sink, TextMode};
use toolglot_testkit::chunks::{Chunking, Cutter};
use toolglot_testkit::vectors::Log;

use crate::api::Format;
use crate::args::{Output as Shown, ParseArgs};
use crate::input::{self, Input};
use crate::output::{Chunks, Completion, Counted, Events, Masked, Output, Turn};
use crate::pretty::Pretty;
use crate::record::Record;
use crate::rewritten;
use crate::stop::{Stop, Verdict};
use crate::tools::{self, Hints};
use crate::validate::Check;

/// Size of one read.
const BUFFER: usize = 64 << 10;
/// Chunk size if a delay is set without a chunk size.
const WATCH: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");
/// Maximum number of response errors reported one by one.
const FAULTS: u64 = 20;

pub fn run(args: &ParseArgs, color: ColorChoice) -> Result<Verdict, Stop> {
    check(args)?;
    let set = args
        .set
        .sets()
        .map_err(Stop::because)?
        .get(&args.set.choice())
        .map_err(Stop::because)?;
    let mut options = Options::default();
    // Every output of this command is text, so no character may be split.
    options.text = TextMode::Chars;
    options.prefer = args.prefer;
    options.unknown_tool = args.unknown_tool;
    options.tool_choice = args.tool_choice.clone().unwrap_or_default();
    options.start = args.start.unwrap_or_default();
    options.untyped = args.untyped;
    if let Some(path) = &args.prompt_tail {
        options.set_prompt_tail(&input::whole(path)?);
    }
    let (hints, check) = match args.tools.as_deref() {
        None => (None, None),
        Some(path) if args.validate => {
            let inventory = tools::inventory(path)?;
            let hints = Hints::of_inventory(path, &inventory)?;
            (Some(hints), Some(Check::new(inventory)))
        }
        Some(path) => (Some(Hints::read(path)?), None),
    };
    let (tools, list) = hints.map(|hints| (hints.tools, hints.list)).unzip();
    options.tools = tools;
    let mut input = Input::open(&args.file)?;

    let head = Arc::new(Mutex::new(args.openai.head()));
    let mut output = output(args, &set, &options, color, &head);
    let tools = options.hinted().cloned();
    let mut sink = Counted {
        hints: tools.as_ref().map(|_| Collect::new()),
        inner: &mut *output,
        errors: 0,
        log: args.record.as_ref().map(|_| Log::new()),
        check,
    };
    let mut record = Record::new(args, list)?;
    let mut parser = Parser::new(&set, options);
    if let Some(prefill) = &args.prefill {
        parser.prefill(prefill.as_bytes(), &mut sink);
    }
    let mut stream = Stream::new(args, parser, head);
    chunks(args, &mut input, &mut |chunk| {
        if let Some(record) = &mut record {
            record.chunk(chunk);
        }
        sink.inner.body(chunk);
        stream.feed(chunk, &mut sink);
        sink.inner.flush().map_err(Stop::output)
    })?;
    let reason = stream.finish(args.finish, &mut sink);
    sink.hint(tools.as_ref());
    sink.checked(&set);
    if let (Some(record), Some(log)) = (record, &sink.log) {
        record.write(log)?;
    }
    if let Some(error) = &stream.error {
        sink.inner.fail(error);
    }
    sink.inner.end(reason).map_err(Stop::output)?;
    let errors = sink.errors > 0 || stream.faults > 0;
    // There is no reply, so this fails even without `--strict`.
    let failed = stream.error.is_some();
    Ok(Verdict::of(errors || failed, args.strict || failed))
}

/// A flag that has no effect with the requested output is an error, not ignored.
fn check(args: &ParseArgs) -> Result<(), Stop> {
    let completions = matches!(args.output, Shown::Openai | Shown::Completion);
    let wrong = if let Some(flag) = args.openai.given().filter(|_| !completions) {
        Some((flag, "--output openai or completion"))
    } else if let Some(flag) = args.mask.given().filter(|_| args.output != Shown::Mask) {
        Some((flag, "--output mask"))
    } else if args.original && args.output != Shown::Turn {
        Some(("--original", "--output turn"))
    } else if args.choice.is_some() && args.input != Format::OpenaiSse {
        Some(("--choice", "--input openai-sse"))
    } else if args.record.is_some() && args.prefill.is_some() {
        Some(("--record", "--prompt-tail, not --prefill"))
    } else if args.record.is_some() && args.input != Format::Text {
        Some(("--record", "--input text"))
    } else {
        None
    };
    match wrong {
        None => Ok(()),
        Some((flag, needed)) => Err(Stop::because(format!("{flag} needs {needed}"))),
    }
}

/// Text, or the response of an API.
struct Stream {
    reader: Reader,
    /// Errors in a response.
    faults: u64,
    /// The server's error in place of a response.
    error: Option<ServerError>,
}

enum Reader {
    Text(Parser),
    Api(Feeder<Box<dyn Source>>),
}

impl Stream {
    fn new(args: &ParseArgs, parser: Parser, head: Arc<Mutex<Head>>) -> Self {
        let reader = match args.input.source(args.choice) {
            None => Reader::Text(parser),
            Some(source) => {
                let learn = rewritten::given(&args.openai).learn(head);
                let source: Box<dyn Source> = Box::new(Telling::new(source, learn));
                Reader::Api(Feeder::new(source, parser))
            }
        };
        Self {
            reader,
            faults: 0,
            error: None,
        }
    }

    fn feed(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        match &mut self.reader {
            Reader::Text(parser) => {
                parser.feed(chunk, sink);
            }
            Reader::Api(feeder) => {
                let errors = feeder.feed(chunk, sink);
                self.tell(&errors);
            }
        }
    }

    fn finish(&mut self, reason: Option<Finish>, sink: &mut dyn Sink) -> Finish {
        match &mut self.reader {
            Reader::Text(parser) => {
                let reason = reason.unwrap_or_default();
                parser.finish(reason, sink);
                reason
            }
            Reader::Api(feeder) => {
                let ended = feeder.finish(reason, sink);
                self.error = ended.error;
                self.tell(&ended.errors);
                if self.faults > FAULTS {
                    let more = self.faults - FAULTS;
                    let _ = writeln!(io::stderr(), "toolglot: {more} more errors in the input");
                }
                ended.reason
            }
        }
    }

    fn tell(&mut self, errors: &[SourceError]) {
        for error in errors {
            self.faults += 1;
            if self.faults <= FAULTS {
                // If standard error is closed, the exit status must suffice.
                let _ = writeln!(io::stderr(), "toolglot: {}", one_line(&error.to_string()));
            }
        }
    }
}

/// Colours, and the filter that removes them, are for people only: JSON is written byte for byte.
fn output(
    args: &ParseArgs,
    set: &DialectSet,
    options: &Options,
    color: ColorChoice,
    head: &Arc<Mutex<Head>>,
) -> Box<dyn Output> {
    let out = match rewritten::output(args, set, options, io::stdout().lock()) {
        Ok(output) => return output,
        Err(out) => out,
    };
    let openai = &args.openai;
    match args.output {
        Shown::Pretty => {
            let width =
                terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into());
            Box::new(Pretty::new(
                BufWriter::new(AutoStream::new(out, color)),
                width,
            ))
        }
        Shown::Turn => Box::new(Turn::new(BufWriter::new(out), args.original)),
        Shown::Events => Box::new(Events::new(BufWriter::new(out))),
        Shown::Openai => Box::new(Chunks::new(
            out,
            (set, options),
            openai.settings(),
            Arc::clone(head),
        )),
        Shown::Completion => {
            let head = Arc::clone(head);
            Box::new(Completion::new(
                out,
                (set, options),
                openai.settings(),
                head,
            ))
        }
        Shown::Mask => Box::new(Masked::new(
            Screen::new(out, io::stdout().is_terminal()),
            (set, options),
            args.mask.calls(),
            args.mask.reasoning(),
        )),
    }
}

type Take<'a> = dyn FnMut(&[u8]) -> Result<(), Stop> + 'a;

/// Feeds the input chunk by chunk.
fn chunks(args: &ParseArgs, input: &mut Input, take: &mut Take<'_>) -> Result<(), Stop> {
    let mut wait = |chunk: &[u8]| {
        take(chunk)?;
        if let Some(delay) = args.delay {
            thread::sleep(delay);
        }
        Ok(())
    };
    match args.chunk.or(args.delay.map(|_| Chunking::Size(WATCH))) {
        None => as_it_comes(input, &mut wait),
        Some(chunking) => cut(chunking, input, &mut wait),
    }
}

fn as_it_comes(input: &mut Input, take: &mut Take<'_>) -> Result<(), Stop> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(len) => take(&buffer[..len])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(input.error(&error)),
        }
    }
}

fn cut(chunking: Chunking, input: &mut Input, take: &mut Take<'_>) -> Result<(), Stop> {
    let mut cutter = Cutter::new(chunking);
    let mut chunk = vec![];
    loop {
        let len = cutter.next_len();
        input.exactly(len.unwrap_or(usize::MAX), &mut chunk)?;
        take(&chunk)?;
        // A requested empty chunk is not the end.
        if len.is_none_or(|len| chunk.len() < len) {
            return Ok(());
        }
    }
}
