//! Turns responses of model servers into events, and into OpenAI chat completions.

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use ::engine::json::{Value, json};

use crate::batch::{Batch, Wanted};
use crate::buffer::{self, toolglot_buffer};
use crate::engine::{self, toolglot_engine};
use crate::event::toolglot_batch;
use crate::guard;
use crate::handle::{self, Handle, Kind};
use crate::library::LIVE;
use crate::options::{self, Settings, toolglot_options};
use crate::raw;
use crate::status::{Done, Fault, TOOLGLOT_E_STATE, toolglot_status};
use crate::stream::reason;
use crate::tg::rewrite::{self, Given};
use crate::tg::sink::openai::{self, Calls, Delta, Deltas, Head, Recovered};
use crate::tg::source::{Anthropic, Ended, Feeder, Ollama, OpenAi, Source, SourceError, Telling};
use crate::tg::{
    Call, Collect, DialectSet, Dropped, Finish, Grade, Kind as Issue, KindSet, Options, Origin,
    Parser, Sink, Span, Turn,
};

/// `reason` of a host that leaves it to the response.
const OPEN: u32 = u32::MAX;

/// The input: text, or the bytes of a response.
enum Input {
    Text(Box<Parser>),
    Response(Box<Feeder<Box<dyn Source + Send>>>),
}

impl Input {
    /// The input of a response that is rewritten in OpenAI's form: what it says about itself goes into the head.
    fn told(
        set: &DialectSet,
        options: &Options,
        writing: &Writing,
        head: &Arc<Mutex<Head>>,
    ) -> Done<Self> {
        let choice = u64::from(writing.head.choice);
        let learn = writing.given.learn(Arc::clone(head));
        Self::through(set, options, &writing.source, choice, |source| {
            Box::new(Telling::new(source, learn))
        })
    }

    fn new(set: &DialectSet, options: &Options, source: &str, choice: u64) -> Done<Self> {
        Self::through(set, options, source, choice, |source| source)
    }

    fn through(
        set: &DialectSet,
        options: &Options,
        source: &str,
        choice: u64,
        wrap: impl FnOnce(Box<dyn Source + Send>) -> Box<dyn Source + Send>,
    ) -> Done<Self> {
        let parser = Parser::new(set, options.clone());
        let source: Box<dyn Source + Send> = match source {
            "text" => return Ok(Self::Text(Box::new(parser))),
            "openai" => Box::new(OpenAi::new().choice(choice)),
            "anthropic" => Box::new(Anthropic::new()),
            "ollama" => Box::new(Ollama::new()),
            other => return Err(Fault::arg(format!("there is no source {other}"))),
        };
        let feeder = Feeder::new(wrap(source), parser).max_native(options.limits.max_native);
        Ok(Self::Response(Box::new(feeder)))
    }

    /// Feeds bytes; returns what could not be read.
    fn feed(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Vec<String> {
        match self {
            Self::Text(parser) => {
                parser.feed(bytes, sink);
                vec![]
            }
            Self::Response(feeder) => told(&feeder.feed(bytes, sink)),
        }
    }

    /// Ends the input.
    fn finish(&mut self, reason: Option<Finish>, sink: &mut dyn Sink) -> Ended {
        match self {
            Self::Text(parser) => {
                let reason = reason.unwrap_or_default();
                parser.finish(reason, sink);
                Ended::new(reason)
            }
            Self::Response(feeder) => feeder.finish(reason, sink),
        }
    }

    fn parser(&self) -> &Parser {
        match self {
            Self::Text(parser) => parser,
            Self::Response(feeder) => feeder.parser(),
        }
    }
}

fn told(errors: &[SourceError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// The reason that a host gave, if any.
fn given(number: u32) -> Done<Option<Finish>> {
    match number {
        OPEN => Ok(None),
        number => reason(number).map(Some),
    }
}

/// What readers and rewriters have in common. Each instance counts as a live stream.
#[derive(Default)]
struct Ending {
    errors: Vec<String>,
    reason: Option<Finish>,
}

impl Ending {
    fn new() -> Self {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Self::default()
    }

    fn open(&self) -> Done {
        match self.reason {
            None => Ok(()),
            Some(_) => Err(Fault::new(TOOLGLOT_E_STATE, "the response is finished")),
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads a response into events.
pub struct toolglot_wasm_reader {
    _private: (),
}

struct Reader {
    input: Input,
    batch: Batch,
    wanted: Wanted,
    ending: Ending,
}

impl Kind for Reader {
    const MAGIC: u32 = 0x7467_7264;
    const NAME: &'static str = "the reader";
}

fn reader(reader: *const toolglot_wasm_reader) -> *const Handle<Reader> {
    reader.cast()
}

/// Makes a reader for the responses of one API.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_reader_new(
    engine: *const toolglot_engine,
    options: *const toolglot_options,
    source: *const c_void,
    source_len: usize,
    choice: u32,
    out: *mut *mut toolglot_wasm_reader,
) -> toolglot_status {
    // SAFETY: the contract of the header.
    guard::status(|| unsafe {
        let (out, source) = (raw::out(out)?, raw::text(source, source_len)?);
        let Settings {
            options, wanted, ..
        } = options::settings(options)?;
        let input = handle::read(engine::handle(engine), |engine| {
            Input::new(&engine.set, &options, source, u64::from(choice))
        })?;
        let made = Reader {
            input,
            batch: Batch::default(),
            wanted,
            ending: Ending::new(),
        };
        out.write(handle::new(made)?.cast());
        Ok(())
    })
}

/// Takes the next bytes of the body.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_reader_feed(
    reader: *mut toolglot_wasm_reader,
    data: *const c_void,
    len: usize,
    out: *mut toolglot_batch,
) -> toolglot_status {
    // SAFETY: the contract of the header.
    guard::status(|| unsafe {
        handle::write(self::reader(reader), |it| {
            it.ending.open()?;
            let (out, bytes) = (raw::out(out)?, raw::bytes(data, len)?);
            it.batch.begin(&[], it.wanted);
            let errors = it.input.feed(bytes, &mut it.batch);
            it.ending.errors.extend(errors);
            out.write(it.end());
            Ok(())
        })
    })
}

/// Ends the body, with the reason of the response or the given one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_reader_finish(
    reader: *mut toolglot_wasm_reader,
    reason: u32,
    out: *mut toolglot_batch,
) -> toolglot_status {
    // SAFETY: the contract of the header.
    guard::status(|| unsafe {
        handle::write(self::reader(reader), |it| {
            it.ending.open()?;
            let (out, reason) = (raw::out(out)?, given(reason)?);
            it.batch.begin(&[], it.wanted);
            let ended = it.input.finish(reason, &mut it.batch);
            it.ending.errors.extend(told(&ended.errors));
            it.ending.reason = Some(ended.reason);
            out.write(it.end());
            Ok(())
        })
    })
}

impl Reader {
    fn end(&mut self) -> toolglot_batch {
        let parser = self.input.parser();
        self.batch.end(parser.held(), parser.position())
    }
}

/// Writes what a reader reports besides events: `errors`, `reason`, `held`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_reader_about(
    reader: *mut toolglot_wasm_reader,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header.
    unsafe {
        crate::host::answer(buffer, || {
            handle::write(self::reader(reader), |it| {
                Ok(json!({
                    "errors": it.ending.errors,
                    "reason": it.ending.reason.map(Finish::name),
                    "held": it.input.parser().held(),
                }))
            })
        })
    }
}

/// Frees a reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_reader_free(reader: *mut toolglot_wasm_reader) {
    // SAFETY: the contract of the header.
    guard::run(|| unsafe { handle::free(self::reader(reader).cast_mut()) })
}

/// How to write a response.
struct Writing {
    source: String,
    head: Head,
    /// Overrides what the server says about its response.
    given: Given,
    /// The choice of a server's response to write; `None` means all of them.
    choice: Option<u32>,
    settings: openai::Settings,
}

impl Writing {
    /// Reads the JSON text that JavaScript writes after checking its members.
    fn read(text: &str) -> Done<Self> {
        let said: Value =
            serde_json::from_str(text).map_err(|error| Fault::arg(error.to_string()))?;
        let word = |key: &str| said.get(key).and_then(Value::as_str).map(str::to_owned);
        let flag = |key: &str| said.get(key).and_then(Value::as_bool).unwrap_or(false);
        let number = |key: &str| said.get(key).and_then(Value::as_u64);
        let choice = number("choice").and_then(|choice| u32::try_from(choice).ok());
        let mut settings = openai::Settings::default();
        if flag("close") {
            settings.calls = Calls::AtClose;
        }
        if flag("recovered") {
            settings.recovered = Recovered::Deliver;
        }
        settings.reasoning = word("reasoning");
        settings.protected = flag("protected");
        settings.forced = flag("forced");
        settings.id_prefix = word("idPrefix").unwrap_or_default();
        settings.id_seed = number("idSeed").unwrap_or_default();
        Ok(Self {
            source: word("source").unwrap_or_default(),
            head: Head::default()
                .id(word("id").or_else(|| word("madeId")).unwrap_or_default())
                .created(
                    number("created")
                        .or_else(|| number("now"))
                        .unwrap_or_default(),
                )
                .model(word("model").unwrap_or_default())
                .choice(choice.unwrap_or_default()),
            given: Given::default()
                .id(word("id"))
                .created(number("created"))
                .model(word("model")),
            choice,
            settings,
        })
    }
}

type Lines = Arc<Mutex<Vec<u8>>>;
type Push = Box<dyn FnMut(Delta<'_>) + Send>;

/// One output: text, or a response of another API.
struct One {
    input: Input,
    deltas: Deltas<Push>,
    lines: Lines,
}

enum Way {
    One(Box<One>),
    /// A response of OpenAI's own shape: whatever is not rewritten stays.
    Openai(Box<rewrite::Rewriter>),
}

/// Writes chunks.
pub struct toolglot_wasm_rewriter {
    _private: (),
}

struct Rewriter {
    way: Way,
    ending: Ending,
}

impl Kind for Rewriter {
    const MAGIC: u32 = 0x7467_7277;
    const NAME: &'static str = "the rewriter";
}

fn rewriter(rewriter: *const toolglot_wasm_rewriter) -> *const Handle<Rewriter> {
    rewriter.cast()
}

impl Rewriter {
    fn new(set: &DialectSet, options: Options, writing: Writing) -> Done<Self> {
        let way = if writing.source == "openai" {
            let Writing {
                head,
                given,
                choice,
                settings,
                ..
            } = writing;
            let mut made = rewrite::Rewriter::new(set, options).settings(settings);
            made = made.spare(&head).given(given);
            if let Some(choice) = choice {
                made = made.choice(u64::from(choice));
            }
            Way::Openai(Box::new(made))
        } else {
            let head = Arc::new(Mutex::new(writing.head.clone()));
            let input = Input::told(set, &options, &writing, &head)?;
            let lines = Lines::default();
            let out = Arc::clone(&lines);
            let push: Push = Box::new(move |delta: Delta<'_>| {
                let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
                let head = head.lock().unwrap_or_else(PoisonError::into_inner);
                line(&mut out, &delta.to_json(&head));
            });
            let deltas = Deltas::new(writing.settings, push).guard_with(set, &options);
            Way::One(Box::new(One {
                input,
                deltas,
                lines,
            }))
        };
        Ok(Self {
            way,
            ending: Ending::new(),
        })
    }

    fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut lines = vec![];
        let errors = match &mut self.way {
            Way::One(one) => one.input.feed(bytes, &mut one.deltas),
            Way::Openai(made) => told(&made.feed(bytes, &mut |one| line(&mut lines, one))),
        };
        self.ending.errors.extend(errors);
        self.with_own(lines)
    }

    fn finish(&mut self, reason: Option<Finish>) -> Vec<u8> {
        let mut lines = vec![];
        let (reason, errors) = match &mut self.way {
            Way::One(one) => {
                let ended = one.input.finish(reason, &mut one.deltas);
                if let Some(error) = &ended.error {
                    one.deltas.fail(&error.message, &error.kind);
                }
                one.deltas.finish(ended.reason);
                (ended.reason, told(&ended.errors))
            }
            Way::Openai(made) => {
                let end = made.finish(reason, &mut |one| line(&mut lines, one));
                (end.reason, told(&end.errors))
            }
        };
        self.ending.reason = Some(reason);
        self.ending.errors.extend(errors);
        self.with_own(lines)
    }

    fn with_own(&self, lines: Vec<u8>) -> Vec<u8> {
        match &self.way {
            Way::One(one) => {
                std::mem::take(&mut *one.lines.lock().unwrap_or_else(PoisonError::into_inner))
            }
            Way::Openai(_) => lines,
        }
    }

    fn void(&self) -> Vec<u32> {
        match &self.way {
            Way::One(one) => one.deltas.void().to_vec(),
            Way::Openai(made) => {
                let first = made.void().into_iter().next();
                first.map(|(_, calls)| calls).unwrap_or_default()
            }
        }
    }
}

fn line(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(json.as_bytes());
    out.push(b'\n');
}

/// Makes a rewriter. `writing` is JSON; see [`Writing::read`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_rewriter_new(
    engine: *const toolglot_engine,
    options: *const toolglot_options,
    writing: *const c_void,
    len: usize,
    out: *mut *mut toolglot_wasm_rewriter,
) -> toolglot_status {
    // SAFETY: the contract of the header.
    guard::status(|| unsafe {
        let (out, writing) = (raw::out(out)?, Writing::read(raw::text(writing, len)?)?);
        let options = options::settings(options)?.options;
        let made = handle::read(engine::handle(engine), |engine| {
            Rewriter::new(&engine.set, options, writing)
        })?;
        out.write(handle::new(made)?.cast());
        Ok(())
    })
}

/// Takes the next bytes and writes the resulting chunks, one per line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_rewriter_feed(
    rewriter: *mut toolglot_wasm_rewriter,
    data: *const c_void,
    len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            handle::write(self::rewriter(rewriter), |it| {
                it.ending.open()?;
                *buffer = it.feed(raw::bytes(data, len)?);
                Ok(())
            })
        })
    })
}

/// Ends the response and writes the last chunks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_rewriter_finish(
    rewriter: *mut toolglot_wasm_rewriter,
    reason: u32,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            handle::write(self::rewriter(rewriter), |it| {
                it.ending.open()?;
                *buffer = it.finish(given(reason)?);
                Ok(())
            })
        })
    })
}

/// Writes what a rewriter reports besides chunks: `errors`, `reason`, `void`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_rewriter_about(
    rewriter: *mut toolglot_wasm_rewriter,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header.
    unsafe {
        crate::host::answer(buffer, || {
            handle::write(self::rewriter(rewriter), |it| {
                Ok(json!({
                    "errors": it.ending.errors,
                    "reason": it.ending.reason.map(Finish::name),
                    "void": it.void(),
                }))
            })
        })
    }
}

/// Frees a rewriter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_rewriter_free(rewriter: *mut toolglot_wasm_rewriter) {
    // SAFETY: the contract of the header.
    guard::run(|| unsafe { handle::free(self::rewriter(rewriter).cast_mut()) })
}

/// Writes one `chat.completion` object for an output or a response. `writing` is JSON; see [`Writing::read`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_completion(
    engine: *const toolglot_engine,
    options: *const toolglot_options,
    writing: *const c_void,
    writing_len: usize,
    data: *const c_void,
    len: usize,
    reason: u32,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            let writing = Writing::read(raw::text(writing, writing_len)?)?;
            let (data, reason) = (raw::bytes(data, len)?, given(reason)?);
            let options = options::settings(options)?.options;
            let json = handle::read(engine::handle(engine), |engine| {
                completion(&engine.set, &options, &writing, data, reason)
            })?;
            *buffer = json.into_bytes();
            Ok(())
        })
    })
}

fn completion(
    set: &DialectSet,
    options: &Options,
    writing: &Writing,
    data: &[u8],
    finish: Option<Finish>,
) -> Done<String> {
    if writing.source == "openai" {
        let mut completer = rewrite::Completer::new(set, options.clone())
            .settings(writing.settings.clone())
            .spare(&writing.head)
            .given(writing.given.clone());
        if let Some(choice) = writing.choice {
            completer = completer.choice(u64::from(choice));
        }
        let _ = completer.feed(data);
        return Ok(completer.finish(finish).0);
    }
    let written = |turn: &Turn, head: &Head, reason| {
        openai::completion(turn, head, &writing.settings, reason)
    };
    if writing.source == "turn" {
        let reason = finish.unwrap_or_default();
        return Ok(written(&turn(data)?, &writing.head, reason));
    }
    let head = Arc::new(Mutex::new(writing.head.clone()));
    let mut input = Input::told(set, options, writing, &head)?;
    let mut collect = Collect::new().guard_with(set, options);
    input.feed(data, &mut collect);
    let ended = input.finish(finish, &mut collect);
    Ok(match ended.error {
        Some(error) => error.to_json(),
        None => {
            let head = head.lock().unwrap_or_else(PoisonError::into_inner);
            written(&collect.turn(), &head, ended.reason)
        }
    })
}

/// Reads a turn from the JSON text that JavaScript makes of it. Members that are not part of a turn are empty here.
fn turn(data: &[u8]) -> Done<Turn> {
    let wrong = |why: &str| Fault::arg(format!("output: {why}"));
    let said: Value = serde_json::from_slice(data).map_err(|error| wrong(&error.to_string()))?;
    let word = |from: &Value, key: &str| {
        let text = from.get(key).and_then(Value::as_str);
        text.map(str::to_owned).unwrap_or_default()
    };
    let list = |from: &Value, key: &str| {
        let list = from.get(key).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let span = |from: &Value| {
        let end = |at: usize| list(from, "span").get(at).and_then(Value::as_u64);
        Span::new(end(0).unwrap_or_default(), end(1).unwrap_or_default())
    };
    let kinds = |from: &Value| {
        let mut kinds = KindSet::default();
        let names = list(from, "kinds");
        let found = names.iter().filter_map(Value::as_str);
        found
            .filter_map(Issue::from_name)
            .for_each(|kind| kinds.insert(kind));
        kinds
    };
    let mut out = Turn::default()
        .text(word(&said, "text"))
        .reasoning(word(&said, "reasoning"));
    for (index, call) in (0..).zip(list(&said, "calls")) {
        let grade = Grade::from_name(&word(&call, "grade"));
        let native = call.get("native").and_then(Value::as_bool).unwrap_or(false);
        let pair = |pair: &Value| {
            let part = |at: usize| pair.get(at).and_then(Value::as_str).map(str::to_owned);
            Some((part(0)?, part(1)?))
        };
        out.calls.push(
            Call::new(word(&call, "name"), word(&call, "arguments"))
                .index(index)
                .grade(grade.ok_or_else(|| wrong("the grade of a call is unknown"))?)
                .kinds(kinds(&call))
                .dialect(word(&call, "dialect"))
                .origin(if native { Origin::Native } else { Origin::Text })
                .meta(list(&call, "meta").iter().filter_map(pair).collect())
                .span(span(&call)),
        );
    }
    out.not_delivered.dropped = list(&said, "dropped")
        .iter()
        .map(|one| Dropped::new(span(one), kinds(one)))
        .collect();
    Ok(out)
}
