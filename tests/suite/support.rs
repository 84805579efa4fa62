//! What the tests share: the vectors, and streams made from them.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use toolglot::{
    Call, Collect, DialectSet, Event, Finish, NativeCall, Options, Parser, Sink, Tools, Turn,
};
use toolglot_testkit::options;
use toolglot_testkit::sets::{Choice, Sets};
use toolglot_testkit::vectors::{self, Log, Vector};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The vectors files, sorted.
pub fn vector_files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("tests/vectors")).expect("the vectors folder");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "jsonl"));
    files.sort();
    files
}

/// Fails if something of what was tried is wrong, and shows the first of it.
#[track_caller]
pub fn none_wrong(wrong: &[String], tried: impl Debug) {
    let shown = wrong[..wrong.len().min(40)].join("\n");
    assert!(wrong.is_empty(), "{} of {tried:?}:\n{shown}", wrong.len());
}

/// Compiled sets, shared by all tests of one run.
pub static SETS: LazyLock<Sets> = LazyLock::new(Sets::default);

/// The sets of many dialects.
pub static DEFAULTS: LazyLock<DialectSet> = LazyLock::new(DialectSet::defaults);
pub static ANY: LazyLock<DialectSet> = LazyLock::new(DialectSet::any);

/// Every vector of the repository.
pub static VECTORS: LazyLock<Vec<Vector>> = LazyLock::new(|| {
    let read = |path: &PathBuf| match vectors::read_file(path) {
        Ok(vectors) => vectors,
        Err(errors) => panic!("{}: {errors:?}", path.display()),
    };
    vector_files().iter().flat_map(read).collect()
});

/// A vector, ready to be run.
pub struct Case {
    pub id: &'static str,
    pub dialect: &'static str,
    pub input: &'static [u8],
    pub set: DialectSet,
    pub options: Options,
    pub native: Vec<NativeCall>,
    pub finish: Finish,
}

impl Case {
    /// A stream at its start.
    pub fn parser(&self) -> Parser {
        Parser::new(&self.set, self.options.clone())
    }

    /// Ends a stream: API tool calls, then the end.
    pub fn end(&self, parser: &mut Parser, sink: &mut dyn Sink) {
        for call in &self.native {
            parser.native_call(call, sink);
        }
        parser.finish(self.finish, sink);
    }

    /// The log of the whole input.
    pub fn log(&self) -> Log {
        let mut parser = self.parser();
        let mut log = Log::new();
        parser.feed(self.input, &mut log);
        self.end(&mut parser, &mut log);
        log
    }
}

/// Every vector with its dialect alone.
pub static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| VECTORS.iter().map(case).collect());

fn case(vector: &'static Vector) -> Case {
    let read = options::read(&vector.options).expect("options");
    let choice = Choice {
        switches: read.switches,
        ..Choice::of(&[&vector.dialect])
    };
    let mut options = read.options;
    options.tools = vector
        .tools
        .as_ref()
        .map(|tools| Arc::new(Tools::from_value(tools).expect("tools")));
    let native = vector
        .native_tool_calls
        .as_ref()
        .map(|calls| NativeCall::from_json(calls.get()).expect("native calls"));
    Case {
        id: &vector.id,
        dialect: &vector.dialect,
        input: &vector.input,
        set: SETS.get(&choice).expect("the set of a vector"),
        options,
        native: native.unwrap_or_default(),
        finish: Finish::from_name(&vector.finish).expect("a finish reason"),
    }
}

/// A sink that discards everything.
pub fn nothing(_: Event<'_>) {}

/// The turn of an output that comes in these pieces.
pub fn turn_of<'t>(
    mut parser: Parser,
    pieces: impl IntoIterator<Item = &'t [u8]>,
    finish: Finish,
) -> Turn {
    let mut turn = Collect::new();
    for piece in pieces {
        parser.feed(piece, &mut turn);
    }
    parser.finish(finish, &mut turn);
    turn.turn()
}

/// The turn of an output, after checking that it is the same byte by byte.
pub fn cut_turn(parser: impl Fn() -> Parser, text: &str, finish: Finish) -> Turn {
    let whole = turn_of(parser(), [text.as_bytes()], finish);
    let bytes = turn_of(parser(), text.as_bytes().chunks(1), finish);
    assert_eq!(bytes, whole, "{text:?}");
    whole
}

/// Whether two turns agree in text, reasoning, and names and arguments of calls.
pub fn says_the_same(one: &Turn, other: &Turn) -> bool {
    let calls = |turn: &Turn| -> Vec<_> {
        let call = |call: &Call| (call.name.clone(), call.arguments.clone());
        turn.calls.iter().map(call).collect()
    };
    one.text == other.text && one.reasoning == other.reasoning && calls(one) == calls(other)
}

/// An input with a carriage return before each end of a line that has none.
pub fn with_returns(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len() * 2);
    for &byte in input {
        if byte == b'\n' && out.last() != Some(&b'\r') {
            out.push(b'\r');
        }
        out.push(byte);
    }
    out
}

/// Places at which to split an input: all of them, or an even sample of a long one, with an offset that depends on
/// the length.
pub fn places(len: usize, most: usize) -> impl Iterator<Item = usize> {
    let most = some(most as u64) as usize;
    let step = (len / most.max(1)).max(1);
    (len % step..=len).step_by(step)
}

/// The number of random inputs to run out of `count`: a quarter in a quick run.
pub fn some(count: u64) -> u64 {
    if vectors::quick() { count / 4 } else { count }
}
