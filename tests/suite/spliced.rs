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
    Call, Collect, DialectSet, EncodeCall, EncodeOptions, Encoder, Event, Finish, Options, Parser,
    Sink, Tools, Transcoder, Turn, builtin_files,
};

use crate::markers::{MARKERS, set};
use crate::support::{ANY, places};

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
            "any" => ANY.clone(),
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
        let mut first = None;
        for size in sizes.iter().copied().chain([text.len()]) {
            let left = self.left(text, size);
            let same = first.get_or_insert_with(|| left.clone());
            if *same != left {
                return Some(self.say(text, &left[0], &format!("in pieces of {size}")));
            }
        }
        let mut whole = true;
        let same = |left: &[u8]| String::from_utf8_lossy(left) == String::from_utf8_lossy(text);
        self.feed(text, text.len(), &mut |event: Event<'_>| {
            let kept = matches!(
                event,
                Event::Text {
                    recovered: false,
                    ..
                } | Event::Issue(_)
            );
            whole &= kept;
        });
        if let Some(left) = first.iter().flatten().find(|left| whole && !same(left)) {
            return Some(self.say(text, left, "though nothing was removed"));
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
            // A value may contain a call of the old dialect; it is inside the new one.
            let written = toolglot::parse(&set(to), Options::default(), &out, Finish::Stop).calls;
            let within = |call: &Call| {
                let mut new = written.iter().map(|new| new.span);
                new.any(|new| new.start < call.span.end && call.span.start < new.end)
            };
            if let Some(call) = plain.read(&out).calls.iter().find(|call| !within(call)) {
                return Some(self.say(text, &out, &format!("in {to}: {:?}", call.name)));
            }
        }
        None
    }

    fn say(&self, text: &[u8], left: &[u8], what: &str) -> String {
        let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!(
            "{}: {:?} leaves {:?}: {what}",
            self.name,
            show(text),
            show(left)
        )
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
        let (one, two) = (
            EncodeCall::new("rm", r#"{"path":"/a"}"#),
            EncodeCall::new("rm", r#"{"path":"/x","n":1}"#),
        );
        let rm = [vec![one.clone()], vec![two, one]];
        Some(Blocks {
            id,
            ls: write(&[EncodeCall::new("ls", "{}")])?,
            rm: rm.iter().filter_map(|calls| write(calls)).collect(),
        })
    };
    builtin_files().iter().filter_map(of).collect()
});

static MANY: LazyLock<Vec<Reads>> = LazyLock::new(|| {
    let sets = [
        ("default", false),
        ("default", true),
        ("all", false),
        ("any", true),
    ];
    sets.iter()
        .map(|(name, declared)| Reads::new(name, *declared))
        .collect()
});

/// Puts a call into every place of another.
#[test]
fn a_call_inside_a_call_leaves_none() {
    let (mut tried, mut wrong) = (0, vec![]);
    for (n, blocks) in BLOCKS.iter().enumerate() {
        let other = &BLOCKS[(n * 7 + 3) % BLOCKS.len()].ls;
        let alone = [Reads::new(blocks.id, false), Reads::new(blocks.id, true)];
        for outer in &blocks.rm {
            for at in places(outer.len(), 160).filter(|at| outer.is_char_boundary(*at)) {
                let inner = if tried % 4 == 0 { other } else { &blocks.ls };
                let text = [&outer[..at], inner, &outer[at..]].concat();
                for reads in [&alone[tried % 2], &MANY[tried % MANY.len()]] {
                    wrong.extend(reads.law(text.as_bytes(), &[1 + tried % 9]));
                }
                tried += 1;
            }
        }
    }
    let count = wrong.len();
    wrong.truncate(60);
    assert!(
        wrong.is_empty(),
        "{count} of {tried}:\n{}",
        wrong.join("\n")
    );
    assert!(BLOCKS.len() > 50 && tried > 1000, "{tried}");
}

/// Sets, a reply, and what the mask leaves of it: one of each way in which removing a block makes a call of the rest.
const LEFT: [(&[&str], &str, &str); 17] = [
    // Openers that cannot be broken beside the seam.
    (
        &["pythonic", "any"],
        "[[ls(path=\"/b\")]rm(path=\"/a\")]",
        "\\x5brm(path=\"/a\")]",
    ),
    (
        &["xlam"],
        "[[{\"name\":\"ls\",\"arguments\":{}}]{\"name\":\"rm\",\"arguments\":{\"path\":\"/a\"}}]",
        "\\x5b{\"name\":\"rm\",\"arguments\":{\"path\":\"/a\"}}]",
    ),
    (
        &["json-bare"],
        "{{\"name\":\"ls\",\"arguments\":{}}\"name\":\"rm\",\"arguments\":{\"path\":\"/a\"}}",
        "\\x7b\"name\":\"rm\",\"arguments\":{\"path\":\"/a\"}}",
    ),
    (
        &["cline-xml"],
        "<<ls></ls>rm>\n<path>/a</path>\n</rm>",
        "\\x3crm>\n<path>/a</path>\n</rm>",
    ),
    // A list of which one item is spoilt.
    (
        &["lfm2", "default"],
        "<|tool_call_start|>[<|tool_call_start|>[ls()]<|tool_call_end|>rm(path=\"/x\"), rm(path=\"/a\")]<|tool_call_end|>",
        "<\\|tool_call_start|>[rm(path=\"/x\"), rm(path=\"/a\")]<|tool_call_end|>",
    ),
    // Lines that are no fields may precede the first field.
    (
        &["tam", "default"],
        "<|[REQUEST_TOOL]|>\n# 说明\ncomm<|[REQUEST_TOOL]|>\ncommand:「始」ls「末」\n<|[END_TOOL]|>and:「始」rm「末」\npath:「始」/a「末」\n<|[END_TOOL]|>",
        "<\\|[REQUEST_TOOL]|>\n# 说明\ncommand:「始」rm「末」\npath:「始」/a「末」\n<|[END_TOOL]|>",
    ),
    // An opener of a call in a section, and in a message.
    (
        &["step3"],
        "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke n<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"ls\"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>ame=\"rm\"><steptml:parameter name=\"path\">/a</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
        "<\\｜tool_calls_begin｜><\\｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"rm\"><steptml:parameter name=\"path\">/a</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
    ),
    (
        &["default"],
        "<|message_sep|>\nfunction call<|role_sep|>\n{<|message_sep|>\nfunction call<|role_sep|>\n{\"name\":\"ls\",\"arguments\":{}}\"name\":\"rm\",\"arguments\":{\"path\":\"/a\"}}",
        "<\\|message_sep|>\nfunction call<|role_sep|>\n{\"name\":\"rm\",\"arguments\":{\"path\":\"/a\"}}",
    ),
    // A call in a quoted attribute of an opener.
    (
        &["action", "default"],
        "<ACTION><rm path=\"/<ACTION><ls></ls></ACTION>a\"></rm></ACTION>",
        "<\\ACTION><rm path=\"/a\"></rm></ACTION>",
    ),
    (
        &["hermes"],
        "<tool_call k=\"第 1 > 0 个<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\">\n{\"name\":\"rm\",\"arguments\":{\"path\":\"/\"}}\n</tool_call>",
        "<\\tool_call k=\"第 1 > 0 个\">\n{\"name\":\"rm\",\"arguments\":{\"path\":\"/\"}}\n</tool_call>",
    ),
    (
        &["tool-call-xml", "default"],
        "<tool_call id=\"x<tool_call name=\"ls\"></tool_call>y\" name=\"rm\"></tool_call>",
        "<\\tool_call id=\"xy\" name=\"rm\"></tool_call>",
    ),
    // What remains begins the reply, and goes on with a header.
    (
        &["harmony", "default"],
        "<|channel|>commentary<|channel|>commentary to=functions.ls<|message|>{}<|call|> to=functions.rm <|constrain|>json<|message|>{\"path\":\"/a\"}<|call|>",
        " \\to=functions.rm <|constrain|>json<|message|>{\"path\":\"/a\"}<|call|>",
    ),
    (
        &["harmony", "default"],
        "<|channel|>final<|message|>to=functions.rm {\"path\":\"/\"}<|return|>",
        "<|channel|>final<|message|>to=functions.rm {\"path\":\"/\"}<|return|>",
    ),
    // What remains is in code, or no longer.
    (
        &["vcp", "default"],
        "a<<<[TOOL_REQUEST]>>>\ntool_name:「始」ls「末」\n<<<[END_TOOL_REQUEST]>>>```a ` <<<[TOOL_REQUEST]>>>`` then\n<<<[TOOL_REQUEST]>>>\ntool_name:「始」rm「末」\n<<<[END_TOOL_REQUEST]>>>",
        "a```a ` <<<[TOOL_REQUEST]>>>`` then\n<\\<<[TOOL_REQUEST]>>>\ntool_name:「始」rm「末」\n<<<[END_TOOL_REQUEST]>>>",
    ),
    // A mention that no reader takes stays as it is, after a removed block too, and at the end.
    (
        &["hermes", "default"],
        "<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>Use <tool_call> or [x] {y}",
        "Use <tool_call> or [x] {y}",
    ),
    (&["hermes", "default"], "Use <tool_call>", "Use <tool_call>"),
    (
        &["hermes", "default"],
        "<tool_<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>call> yes",
        "<tool_\\call> yes",
    ),
];

#[test]
fn what_a_removed_block_kept_from_being_a_call_is_none() {
    for (sets, text, left) in LEFT {
        for (name, declared) in sets.iter().flat_map(|name| [(name, false), (name, true)]) {
            let reads = Reads::new(name, declared);
            let wrong = reads.law(text.as_bytes(), &[1, 2, 3, 7, 50]);
            assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
            let [mask, ..] = reads.left(text.as_bytes(), text.len());
            if declared {
                assert_eq!(String::from_utf8_lossy(&mask), left, "{name}: {text}");
            }
        }
    }
}

/// Text waits no longer than two parsers hold it back, and is the same in the end.
#[test]
fn text_waits_for_a_bounded_time() {
    for reads in [
        &MANY[0],
        &MANY[3],
        &Reads::new("tam", false),
        &Reads::new("lfm2", true),
    ] {
        let most = 2 * reads.set.bound(&reads.options.limits) + 4;
        for opener in [
            "<tool_call>",
            "<|[REQUEST_TOOL]|>\n# x\n",
            "[",
            "<|tool_call_start|>[",
            "<ACTION>\n",
            "中",
        ] {
            let text = [opener.repeat(6000 / opener.len()), "words ".repeat(900)].concat();
            let (mut parser, mut fed) = (Parser::new(&reads.set, reads.options.clone()), 0);
            let (mut out, lag) = (std::cell::RefCell::new(vec![]), std::cell::Cell::new(0));
            let mask = Mask::new(|bytes: &[u8]| out.borrow_mut().extend_from_slice(bytes));
            let mut mask = mask.guard_with(&reads.set, &reads.options);
            for byte in text.as_bytes().chunks(1) {
                parser.feed(byte, &mut mask);
                fed += 1;
                lag.set(lag.get().max(fed - out.borrow().len()));
            }
            parser.finish(Finish::Stop, &mut mask);
            drop(mask);
            assert_eq!(
                String::from_utf8_lossy(out.get_mut()),
                text,
                "{}",
                reads.name
            );
            assert!(
                lag.get() <= most,
                "{}: {opener:?} waits for {} of {most}",
                reads.name,
                lag.get()
            );
        }
    }
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
        "word ", "中文", "\n", " ", "{", "}", "[", "]", "\"", "'", "`", "```\n", "<", ">", "ls",
        "rm", "(", ")", ":", "# x\n", "=\"", ",", "<think>", "</think>",
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
    let outer = (
        any::<Index>(),
        any::<bool>(),
        vec(layer, 1..5),
        vec(piece(), 0..3),
        any::<bool>(),
    );
    outer.prop_map(|(which, two, layers, around, own)| {
        let which = which.index(BLOCKS.len());
        let blocks = &BLOCKS[which];
        let mut text = blocks.rm[usize::from(two && blocks.rm.len() > 1)]
            .clone()
            .into_bytes();
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
