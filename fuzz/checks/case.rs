//! Reads dialects, options and chunking from the first bytes of an input; the rest is the stream.
//!
//! | byte | what it chooses |
//! |---|---|
//! | 0 | the dialect set |
//! | 1 | text mode, retention, reasoning, fences, unclosed blocks |
//! | 2 | start, tools, API tool call, special token, trust, reuse of the parser |
//! | 3 | which limit is small, and how small |
//! | 4 | finish reason, kind of chunking |
//! | 5, 6, 7 | where to split, or a seed |

use std::cell::OnceCell;
use std::sync::{Arc, LazyLock};

use toolglot::{
    DialectSet, Fence, Finish, Limits, NativeCall, Options, Parser, Prefer, ReasoningMode, Retain,
    Start, TextMode, Tools, Unclosed,
};

use super::choice::Choice;
use super::watch::Watch;

pub const HEADER: usize = 8;

/// Everything about a stream except its chunking.
pub struct Case<'d> {
    pub set: DialectSet,
    /// Whether that is the default set.
    pub defaults: bool,
    pub options: Options,
    /// What a parser with this set and these options may hold.
    pub bound: OnceCell<usize>,
    pub stream: &'d [u8],
    pub finish: Finish,
    /// Bytes that are one special token.
    pub special: Option<(usize, usize)>,
    /// Where the API tool call is given.
    pub native: Option<usize>,
    /// Whether the parser has parsed another stream before.
    pub reused: bool,
    /// Chunks end here; sorted, and never inside the special token.
    pub cuts: Vec<usize>,
    /// The split at which state and log are compared.
    pub stop: usize,
    /// Which comparisons are made.
    pub choice: Choice,
}

/// The default set comes first.
pub static SETS: LazyLock<Vec<DialectSet>> = LazyLock::new(|| {
    let mut sets = vec![DialectSet::defaults()];
    for (id, _) in toolglot::builtin_files() {
        let alone = DialectSet::builtin(id).expect("a built-in dialect");
        for dialect in alone.dialects() {
            for (name, takes_value) in dialect.switches() {
                let value = if takes_value { "=:0a1b" } else { "" };
                let switch = format!("{name}{value}");
                let builder = DialectSet::builder().builtin(id).switch(id, &switch);
                sets.push(builder.build().expect("a switch of a built-in dialect"));
            }
            if !dialect.in_default_set() {
                sets.push(
                    DialectSet::builder()
                        .builtin(id)
                        .defaults()
                        .build()
                        .expect("it fits the others"),
                );
            }
        }
        sets.push(alone);
    }
    sets
});

/// Short names that the fuzzer finds, and every type.
pub static TOOLS: LazyLock<Arc<Tools>> = LazyLock::new(|| {
    let text = r#"[{"name": "f", "parameters": {"type": "object", "required": ["s"], "properties": {
        "s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
        "l": {"type": "array", "items": {"type": "integer"}}, "x": {"type": ["string", "null"]},
        "o": {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object"}}}},
        "any": {}, "file_path": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}}},
        {"name": "g", "parameters": {}}]"#;
    Arc::new(Tools::from_json(text).expect("tools that can be read"))
});

impl<'d> Case<'d> {
    /// A stream in one chunk that ends by itself.
    pub fn whole(set: &DialectSet, options: Options, stream: &'d [u8]) -> Self {
        Self {
            set: set.clone(),
            defaults: false,
            bound: OnceCell::new(),
            options,
            stream,
            finish: Finish::Stop,
            special: None,
            native: None,
            reused: false,
            cuts: vec![],
            stop: 0,
            choice: Choice::ALL,
        }
    }

    pub fn read(data: &'d [u8]) -> Self {
        let mut header = [0; HEADER];
        let given = data.len().min(HEADER);
        header[..given].copy_from_slice(&data[..given]);
        let [set, mode, extra, limit, cut, a, b, c] = header;
        let stream = &data[given..];
        let place = |byte: u8| match stream.len() {
            len @ 0..256 => usize::from(byte) % (len + 1),
            len => len * usize::from(byte) / 255,
        };
        let mut options = options(mode, extra);
        options.limits = limits(limit);
        let mut ends = [place(a), place(b)];
        ends.sort_unstable();
        let special = (extra & 32 != 0).then_some((ends[0], ends[1]));
        let native = (extra & 16 != 0).then(|| place(c));
        let index = usize::from(set) % SETS.len();
        let mut case = Self {
            defaults: index == 0,
            finish: Finish::ALL[usize::from(cut) % 8 % Finish::ALL.len()],
            special,
            native,
            reused: extra & 128 != 0,
            stop: place(c),
            choice: Choice::of(data),
            ..Self::whole(&SETS[index], options, stream)
        };
        let mut cuts = match cut >> 3 {
            0 => vec![place(a), place(b)],
            size @ 1..=24 => (1..)
                .map(|n| n * usize::from(size))
                .take_while(|at| *at < stream.len())
                .collect(),
            few => scattered([a, b, c], usize::from(few - 24), stream.len()),
        };
        case.stop = case.outside(case.stop);
        case.native = case.native.map(|at| case.outside(at));
        cuts.push(case.stop);
        cuts.retain(|at| case.outside(*at) == *at);
        cuts.sort_unstable();
        case.cuts = cuts;
        case
    }

    /// Runs a check, and again with the default set: most hosts choose that, so half of the runs use it.
    pub fn each(mut self, check: impl Fn(&Self)) {
        let choice = self.choice;
        self.choice = choice.within(2);
        if self.defaults || choice.takes(0, 2) {
            check(&self);
        }
        if !self.defaults && choice.takes(1, 2) {
            self.choose(&SETS[0]);
            check(&self);
        }
    }

    pub fn choose(&mut self, set: &DialectSet) {
        self.defaults = false;
        self.bound = OnceCell::new();
        self.set = set.clone();
    }

    fn bound(&self) -> usize {
        *self
            .bound
            .get_or_init(|| self.set.bound(&self.options.limits))
    }

    /// The same position, or the start of the special token if it is inside the token.
    fn outside(&self, at: usize) -> usize {
        match self.special {
            Some((start, end)) if start < at && at < end => start,
            _ => at,
        }
    }

    /// A parser at the start of the stream.
    pub fn parser(&self) -> Parser {
        let mut parser = Parser::new(&self.set, self.options.clone());
        if self.reused {
            let mut ignore = |_: toolglot::Event<'_>| {};
            parser.feed(self.stream, &mut ignore);
            if self.stream.len().is_multiple_of(2) {
                parser.finish(self.finish, &mut ignore);
            }
            parser.reset();
        }
        parser
    }

    /// Feeds `from..to`, in chunks that end at the given places. Gives the API tool call after the byte before `native`,
    /// so that it is given exactly once, whatever the ranges.
    pub fn feed(
        &self,
        parser: &mut Parser,
        watch: &mut Watch<'_>,
        from: usize,
        to: usize,
        cuts: &[usize],
    ) {
        let mut ends: Vec<usize> = cuts.to_vec();
        ends.extend(self.special.iter().flat_map(|(start, end)| [*start, *end]));
        ends.extend(self.native);
        ends.push(to);
        ends.retain(|at| (from..=to).contains(at));
        ends.sort_unstable();
        let mut at = from;
        for end in ends {
            let chunk = &self.stream[at..end];
            watch.fed = end as u64;
            if self.special == Some((at, end)) && at < end {
                parser.feed_special(chunk, watch);
            } else {
                parser.feed(chunk, watch);
            }
            if at < end && self.native == Some(end) {
                parser.native_call(&call(), watch);
            }
            watch.between_chunks(parser, self.bound());
            at = end;
        }
    }
}

fn call() -> NativeCall {
    NativeCall::new("f", r#"{"s":"v"}"#).id("n1".to_owned())
}

fn options(mode: u8, extra: u8) -> Options {
    let mut options = Options::default();
    if mode & 1 != 0 {
        options.text = TextMode::Chars;
    }
    if mode & 2 != 0 {
        options.retain = Retain::None;
    }
    if mode & 4 != 0 {
        options.reasoning = [ReasoningMode::Off, ReasoningMode::Text][usize::from(extra >> 5 & 1)];
    }
    options.calls_in_reasoning = mode & 8 != 0;
    options.fence = [None, Some(Fence::Skip), Some(Fence::Allow), None][usize::from(mode >> 4 & 3)];
    options.unclosed =
        [None, Some(Unclosed::Drop), Some(Unclosed::Text), None][usize::from(mode >> 6)];
    if extra & 1 != 0 {
        options.start = Start::Reasoning;
    }
    if extra & 2 != 0 {
        options.tools = Some(TOOLS.clone());
    }
    options.prefer =
        [Prefer::Text, Prefer::Native, Prefer::Both, Prefer::Text][usize::from(extra >> 2 & 3)];
    options.trusted_only = extra & 64 != 0;
    options
}

/// The low half of the byte selects which limit is small, the high half how small.
fn limits(byte: u8) -> Limits {
    const SIZES: [u32; 16] = [0, 1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 48, 64, 100, 128, 200];
    let size = SIZES[usize::from(byte >> 4)];
    let mut limits = Limits::default();
    match byte & 15 {
        1 => limits.max_value = u64::from(size),
        2 => limits.max_block = u64::from(size),
        3 => limits.max_calls = size,
        4 => limits.max_chain = size,
        5 => limits.max_depth = size,
        6 => limits.max_params = size,
        7 => limits.max_name = size,
        8 => limits.max_header = size,
        9 => limits.max_lookahead = size,
        10 => limits.max_issues = size,
        11 => limits.max_native = u64::from(size),
        12 => {
            limits.max_value = u64::from(size);
            limits.max_block = u64::from(size) * 2;
            limits.max_name = size;
            limits.max_header = size;
            limits.max_calls = size;
        }
        _ => {}
    }
    limits
}

/// Irregular places, the same for the same seed; some occur twice, for empty chunks.
fn scattered(seed: [u8; 3], count: usize, len: usize) -> Vec<usize> {
    let mut state = u64::from_le_bytes([seed[0], seed[1], seed[2], 1, 0, 0, 0, 0]);
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % (len + 1)
    };
    (0..count * 4).map(|_| next()).collect()
}
