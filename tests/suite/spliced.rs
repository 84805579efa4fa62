//! Blocks inside blocks: what guarded sinks leave of them is no call for a reader of the same set.
//!
//! A block that is removed may have kept the text around it from being a call. So a whole call is put into every place of other
//! calls, and what is written is read again: with each dialect alone, with sets of many, and with the preset `any`, which needs
//! declared tools. The names of the tools are those of the calls.

use std::sync::{Arc, LazyLock};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use toolglot::sink::mask::{Mask, Show};
use toolglot::sink::openai::{Delta, Deltas, Settings};
use toolglot::{
    Collect, DialectSet, EncodeCall, EncodeOptions, Encoder, Finish, Options, Parser, Sink, Tools,
    Transcoder, Turn, builtin_files,
};

use crate::markers::{MARKERS, set};
use crate::support::places;

const TOOLS: &str = r#"[{"name": "rm", "parameters": {"properties": {"path": {"type": "string"}, "n": {"type": "integer"}}}},
    {"name": "ls", "parameters": {"properties": {}}}]"#;

/// A set as it reads, and whether tools are declared.
struct Reads {
    name: String,
    set: DialectSet,
    options: Options,
}

impl Reads {
    fn new(name: &str, declared: bool) -> Self {
        let set = match name {
            "any" => DialectSet::any(),
            name => set(name),
        };
        let mut options = Options::default();
        if declared {
            options.tools = Tools::from_json(TOOLS).ok().map(Arc::new);
        }
        Self {
            name: name.to_owned(),
            set,
            options,
        }
    }

    fn feed(&self, text: &[u8], size: usize, sink: &mut dyn Sink) {
        let mut parser = Parser::new(&self.set, self.options.clone());
        for piece in text.chunks(size.max(1)) {
            parser.feed(piece, sink);
        }
        parser.finish(Finish::Stop, sink);
    }

    fn read(&self, text: &[u8]) -> Turn {
        let mut turn = Collect::new();
        self.feed(text, text.len(), &mut turn);
        turn.turn()
    }

    /// What guarded sinks write.
    fn left(&self, text: &[u8], size: usize) -> [Vec<u8>; 4] {
        let masked = |rest: Show| {
            let mut out = vec![];
            let mask = Mask::new(|bytes: &[u8]| out.extend_from_slice(bytes));
            let mask = mask.guard_with(&self.set, &self.options);
            let mut mask = mask.reasoning(rest.clone()).protected(rest);
            self.feed(text, size, &mut mask);
            drop(mask);
            out
        };
        let mut turn = Collect::new().guard_with(&self.set, &self.options);
        self.feed(text, size, &mut turn);
        let mut content = String::new();
        let mut deltas = Deltas::new(Settings::default(), |delta: Delta<'_>| {
            if let Delta::Content(text) = delta {
                content.push_str(text);
            }
        })
        .guard_with(&self.set, &self.options);
        self.feed(text, size, &mut deltas);
        deltas.finish(Finish::Stop);
        drop(deltas);
        [
            masked(Show::Keep),
            masked(Show::With("~".to_owned())),
            turn.turn().text.into_bytes(),
            content.into_bytes(),
        ]
    }

    /// What breaks the law, if anything does.
    fn law(&self, text: &[u8], sizes: &[usize]) -> Option<String> {
        let (mut first, calls) = (None, self.read(text).calls);
        for size in sizes.iter().copied().chain([text.len()]) {
            let left = self.left(text, size);
            let same = first.get_or_insert_with(|| left.clone());
            if *same != left {
                return Some(self.say(text, &left[0], &format!("in pieces of {size}")));
            }
        }
        for (n, left) in first.iter().flatten().enumerate() {
            let again = self.read(left).calls;
            if !again.is_empty() {
                return Some(self.say(text, left, &format!("output {n}: {:?}", again[0].name)));
            }
        }
        for to in ["hermes", "pythonic"] {
            let encoder = Encoder::new(&set(to), to).expect("a built-in dialect");
            let coder = Transcoder::new(&self.set, encoder, EncodeOptions::default());
            let plain = Self {
                name: self.name.clone(),
                set: self.set.clone(),
                options: Options::default(),
            };
            let Ok(out) = coder.run(text) else {
                continue; // Refused: nothing is written.
            };
            let names = |turn: Turn| -> Vec<String> {
                turn.calls.into_iter().map(|call| call.name).collect()
            };
            let (before, after) = (names(plain.read(text)), names(plain.read(&out)));
            if !after.is_empty() && before != after {
                return Some(self.say(text, &out, &format!("in {to}: {before:?}, {after:?}")));
            }
        }
        let _ = calls;
        None
    }

    fn say(&self, text: &[u8], left: &[u8], what: &str) -> String {
        let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!("{}: {:?} leaves {:?}: {what}", self.name, show(text), show(left))
    }
}

fn call(name: &str, arguments: &str) -> EncodeCall {
    EncodeCall {
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        id: None,
    }
}

/// Calls of a dialect: of `ls`, of `rm`, of `rm` twice.
struct Blocks {
    id: &'static str,
    ls: String,
    rm: Vec<String>,
}

static BLOCKS: LazyLock<Vec<Blocks>> = LazyLock::new(|| {
    let mut options = EncodeOptions::default();
    options.tools = Tools::from_json(TOOLS).ok().map(Arc::new);
    let of = |(id, _): &(&'static str, &str)| {
        let own = set(id);
        let write = |calls: &[EncodeCall]| toolglot::encode(&own, id, calls, &options).ok();
        let (one, two) = (call("rm", r#"{"path":"/a"}"#), call("rm", r#"{"path":"/x","n":1}"#));
        let rm = [vec![one.clone()], vec![two, one]];
        Some(Blocks {
            id,
            ls: write(&[call("ls", "{}")])?,
            rm: rm.iter().filter_map(|calls| write(calls)).collect(),
        })
    };
    builtin_files().iter().filter_map(of).collect()
});

static MANY: LazyLock<Vec<Reads>> = LazyLock::new(|| {
    let sets = [("default", false), ("default", true), ("all", false), ("any", true)];
    sets.iter().map(|(name, declared)| Reads::new(name, *declared)).collect()
});

/// Puts a call into every place of another.
#[test]
fn a_call_inside_a_call_leaves_none() {
    let (mut tried, mut wrong) = (0, vec![]);
    for (n, blocks) in BLOCKS.iter().enumerate() {
        let other = &BLOCKS[(n * 7 + 3) % BLOCKS.len()].ls;
        let alone = [Reads::new(blocks.id, false), Reads::new(blocks.id, true)];
        for outer in &blocks.rm {
            for at in places(outer.len(), 400).filter(|at| outer.is_char_boundary(*at)) {
                for inner in [&blocks.ls, other] {
                    let text = [&outer[..at], inner, &outer[at..]].concat();
                    for reads in alone.iter().chain(&*MANY) {
                        tried += 1;
                        wrong.extend(reads.law(text.as_bytes(), &[1 + tried % 9]));
                    }
                }
            }
        }
    }
    let count = wrong.len();
    wrong.truncate(60);
    assert!(wrong.is_empty(), "{count} of {tried}:\n{}", wrong.join("\n"));
    assert!(BLOCKS.len() > 50 && tried > 1000, "{tried}");
}

/// A piece of text.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let markers: Vec<&str> = MARKERS.iter().map(|marker| marker.text.as_str()).collect();
    let calls: Vec<&str> = BLOCKS
        .iter()
        .flat_map(|blocks| blocks.rm.iter().chain([&blocks.ls]))
        .map(String::as_str)
        .collect();
    let words = vec![
        "word ", "中文", "\n", " ", "{", "}", "[", "]", "\"", "'", "`", "```\n", "<", ">", "ls", "rm", "(", ")", ":",
        "# x\n", "=\"", ",", "<think>", "</think>",
    ];
    let part = |(text, a, b): (&str, Index, Index)| {
        let (a, b) = (a.index(text.len() + 1), b.index(text.len() + 1));
        text.as_bytes()[a.min(b)..a.max(b)].to_vec()
    };
    let whole = |text: &str| text.as_bytes().to_vec();
    prop_oneof![
        3 => select(markers).prop_map(whole),
        4 => select(calls.clone()).prop_map(whole),
        4 => (select(calls), any::<Index>(), any::<Index>()).prop_map(part),
        3 => select(words).prop_map(whole),
    ]
}

/// Calls of one dialect, in which calls of any are put, and in them others.
fn nested() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let layer = (piece(), any::<Index>());
    let outer = (any::<Index>(), any::<bool>(), vec(layer, 1..5), vec(piece(), 0..3), any::<bool>());
    outer.prop_map(|(which, two, layers, around, own)| {
        let which = which.index(BLOCKS.len());
        let blocks = &BLOCKS[which];
        let mut text = blocks.rm[usize::from(two && blocks.rm.len() > 1)].clone().into_bytes();
        for (n, (piece, at)) in layers.into_iter().enumerate() {
            let piece = match own && n == 0 {
                true => blocks.ls.clone().into_bytes(),
                false => piece,
            };
            let at = at.index(text.len() + 1);
            text.splice(at..at, piece);
        }
        for (n, piece) in around.into_iter().enumerate() {
            let at = if n % 2 == 0 { 0 } else { text.len() };
            text.splice(at..at, piece);
        }
        (which, text)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn calls_in_calls_in_calls_leave_none((which, text) in nested(), set in 0..6_usize, size in 1..9_usize) {
        let wrong = match set.checked_sub(2) {
            Some(many) => MANY[many].law(&text, &[size]),
            None => Reads::new(BLOCKS[which].id, set == 0).law(&text, &[size]),
        };
        prop_assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    }
}
