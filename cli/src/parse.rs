//! `toolglot parse`: one output, as it comes.

use std::io::{self, BufWriter, ErrorKind, Read};
use std::num::NonZeroUsize;
use std::thread;

use anstream::{AutoStream, ColorChoice};
use toolglot::{Options, Parser, TextMode};
use toolglot_cli::chunks::{Chunking, Cutter};
use toolglot_cli::vectors::Log;

use crate::args::{Output as Format, ParseArgs};
use crate::input::{self, Input};
use crate::output::{Counted, Events, Output, Turn};
use crate::pretty::Pretty;
use crate::record::Record;
use crate::stop::{Stop, Verdict};

/// How much is read at once.
const BUFFER: usize = 64 << 10;
/// Chunks of somebody who wants to watch and did not say how.
const WATCH: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");

pub fn run(args: &ParseArgs, color: ColorChoice) -> Result<Verdict, Stop> {
    let set = args
        .set
        .sets()
        .map_err(Stop::because)?
        .get(&args.set.choice())
        .map_err(Stop::because)?;
    let mut options = Options::default();
    // Every output of this command is text, so no character may be cut.
    options.text = TextMode::Chars;
    options.tools = input::tools(args.tools.as_deref())?;
    let mut input = Input::open(&args.file)?;

    let mut output = output(args.output, color);
    let mut sink = Counted {
        inner: &mut *output,
        errors: 0,
        log: args.record.as_ref().map(|_| Log::new()),
    };
    let mut record = Record::new(args)?;
    let mut parser = Parser::new(&set, options);
    chunks(args, &mut input, &mut |chunk| {
        if let Some(record) = &mut record {
            record.chunk(chunk);
        }
        parser.feed(chunk, &mut sink);
        sink.inner.flush().map_err(Stop::output)
    })?;
    parser.finish(args.finish, &mut sink);
    if let (Some(record), Some(log)) = (record, &sink.log) {
        record.write(log)?;
    }
    sink.inner.end().map_err(Stop::output)?;
    Ok(Verdict::of(sink.errors > 0, args.strict))
}

/// Colours, and the filter that takes them out where nobody wants them, are for people only: JSON goes out byte by byte.
fn output(format: Format, color: ColorChoice) -> Box<dyn Output> {
    let out = io::stdout().lock();
    match format {
        Format::Pretty => Box::new(Pretty::new(BufWriter::new(AutoStream::new(out, color)))),
        Format::Turn => Box::new(Turn::new(BufWriter::new(out))),
        Format::Events => Box::new(Events::new(BufWriter::new(out))),
    }
}

type Take<'a> = dyn FnMut(&[u8]) -> Result<(), Stop> + 'a;

/// Hands over the input chunk by chunk.
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
        // A chunk that was asked to be empty is not the end.
        if len.is_none_or(|len| chunk.len() < len) {
            return Ok(());
        }
    }
}
