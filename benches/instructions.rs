//! How many instructions does a chunk cost, and does the cost grow as the input does?
//!
//! Times depend on what else the machine does, instruction counts do not. `ci/instructions.sh` runs this program under
//! callgrind, which writes a profile for every call of [`counted`] and ignores everything else. The program prints one line for
//! each such call, in order: what was measured, and its size. `ci/instructions.py` combines counts and lines.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeSet;
use std::hint::black_box;

use common::arguments::SHAPES;
use common::corpus::{self, Kind};
use common::{Count, every, one, retaining, yardsticks};
use toolglot::{DialectSet, Finish, Options, Parser, Retain, TextMode, builtin_files};

const KIB: usize = 1024;

/// The system allocator, except that growing always moves: whether there is room to grow in place depends on everything that
/// ran before.
struct Moving;

// SAFETY: both methods pass their arguments unchanged to the system allocator; the other methods are built on them.
unsafe impl GlobalAlloc for Moving {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Moving = Moving;

/// Runs `work` where callgrind counts it, on a heap whose free pieces are joined. glibc delays joining until a large request,
/// and would charge the pieces of earlier work to `work`.
fn measured(work: &mut dyn FnMut() -> u64) -> u64 {
    drop(black_box(Vec::<u8>::with_capacity(64 * KIB)));
    counted(work)
}

/// The part that callgrind counts. The result passes through memory, so that the call does not become a tail call.
#[inline(never)]
fn counted(work: &mut dyn FnMut() -> u64) -> u64 {
    black_box(work())
}

fn main() {
    let flag = |name: &str| std::env::args().any(|arg| arg == name);
    let reach = match (flag("--short"), flag("--long")) {
        (true, _) => Reach::Short,
        (false, true) => Reach::Long,
        (false, false) => Reach::Usual,
    };
    // The first call of anything resolves symbols and detects the processor; that cost is not counted.
    println!("skip warm-up 0 0");
    let mut parser = Parser::new(&DialectSet::defaults(), retaining(Retain::Block));
    measured(&mut || common::feed(&mut parser, b"a < b", &[5]).text);

    // With words as arguments, runs only these parts.
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let only = args.iter().find_map(|arg| arg.strip_prefix("--only="));
    let only = only.unwrap_or_default();
    let wanted = |part: &str| words.is_empty() || words.iter().any(|word| *word == part);
    if wanted("text") {
        yardsticks();
        text();
    }
    if wanted("sets") {
        sets();
    }
    if wanted("bodies") {
        bodies();
    }
    if wanted("growth") || wanted("arguments") {
        growing_arguments(reach);
    }
    if wanted("growth") || wanted("floods") {
        growing_floods(reach, only);
    }
    if wanted("growth") || wanted("markers") {
        markers(reach, only);
    }
}

/// The minimum cost of touching the bytes, as a scale for the other figures.
fn yardsticks() {
    let teddy = yardsticks::teddy();
    let text = Kind::English.text(512 * KIB).repeat(2);
    let cut = |len: usize, size: usize| (&text.as_bytes()[..len], every(len, size));
    for len in [32 * KIB, 64 * KIB] {
        let (input, ends) = cut(len, 4);
        println!("twice yardstick/null-calls/4-bytes {} {len}", ends.len());
        measured(&mut || yardsticks::null_calls(input, &ends));
    }
    for len in [512 * KIB, 1024 * KIB] {
        let (input, ends) = cut(len, 64 * KIB);
        println!("twice yardstick/memchr-absent/64-KiB {} {len}", ends.len());
        measured(&mut || yardsticks::memchr_absent(input, &ends));
    }
    for len in [512 * KIB, 1024 * KIB] {
        let (input, ends) = cut(len, 64 * KIB);
        println!("twice yardstick/packed-teddy/64-KiB {} {len}", ends.len());
        measured(&mut || yardsticks::teddy_absent(&teddy, input, &ends));
    }
}

/// What it takes to compile a set.
fn sets() {
    type Make = fn() -> DialectSet;
    let makes: [(&str, Make); 3] = [
        ("set/1-dialect", one),
        ("set/all-dialects", DialectSet::defaults),
        ("set/any", DialectSet::any),
    ];
    for (name, make) in makes {
        println!("once {name} 1 0");
        measured(&mut || make().dialects().len() as u64);
    }
}

/// Chunks of text: the same text once and twice, so that the costs that do not repeat cancel out.
fn text() {
    let sets = [
        ("1-dialect", one()),
        ("all-dialects", DialectSet::defaults()),
    ];
    // What a stream first meets is built for all.
    sets.iter()
        .flat_map(|(_, set)| set.dialects())
        .for_each(drop);
    for (dialects, set) in &sets {
        for kind in [Kind::English, Kind::Chinese, Kind::Code, Kind::Html] {
            let name = kind.name();
            twice(
                &format!("text/{name}/4-bytes/{dialects}"),
                set,
                &retaining(Retain::Block),
                "",
                &kind.text(32 * KIB),
                |text| every(text.len(), 4),
            );
            twice(
                &format!("text/{name}/pieces/{dialects}"),
                set,
                &retaining(Retain::Block),
                "",
                &kind.text(32 * KIB),
                corpus::pieces,
            );
            twice(
                &format!("text/{name}/1-KiB/{dialects}"),
                set,
                &retaining(Retain::Block),
                "",
                &kind.text(64 * KIB),
                |text| every(text.len(), KIB),
            );
            if matches!(kind, Kind::English | Kind::Chinese) {
                let mut whole = retaining(Retain::Block);
                whole.text = TextMode::Chars;
                twice(
                    &format!("text/{name}/4-bytes-in-characters/{dialects}"),
                    set,
                    &whole,
                    "",
                    &kind.text(32 * KIB),
                    |text| every(text.len(), 4),
                );
                twice(
                    &format!("text/{name}/pieces-in-characters/{dialects}"),
                    set,
                    &whole,
                    "",
                    &kind.text(32 * KIB),
                    corpus::pieces,
                );
            }
            let text = kind.text(512 * KIB);
            twice(
                &format!("text/{name}/64-KiB/{dialects}"),
                set,
                &retaining(Retain::Block),
                "",
                &text,
                |text| every(text.len(), 64 * KIB),
            );
        }
    }
}

/// Chunks inside one long argument.
fn bodies() {
    for shape in SHAPES {
        let set = shape.set();
        for (cut, size, len) in [
            ("4-bytes", 4, 16 * KIB),
            ("64-bytes", 64, 32 * KIB),
            ("64-KiB", 64 * KIB, 256 * KIB),
        ] {
            let call = shape.call(len);
            // Whole lines, so that twice the value is a valid value too.
            let value = &call[shape.before.len()..call.len() - shape.after.len()];
            twice(
                &format!("argument/{}/{cut}/retain-none", shape.dialect),
                &set,
                &shape.options(Retain::None),
                shape.before,
                value,
                |text| every(text.len(), size),
            );
        }
    }
    let reasoning = DialectSet::defaults();
    for (cut, size, len) in [("4-bytes", 4, 32 * KIB), ("64-KiB", 64 * KIB, 512 * KIB)] {
        twice(
            &format!("reasoning/english/{cut}/all-dialects"),
            &reasoning,
            &retaining(Retain::Block),
            "<think>",
            &Kind::English.text(len),
            |text| every(text.len(), size),
        );
    }
}

/// Measures one text and the same text twice, both after `before`.
fn twice(
    name: &str,
    set: &DialectSet,
    options: &Options,
    before: &str,
    text: &str,
    cut: impl Fn(&str) -> Vec<usize>,
) {
    let double = format!("{text}{text}");
    for input in [text, double.as_str()] {
        let ends = cut(input);
        let mut parser = Parser::new(set, options.clone());
        parser.feed(before.as_bytes(), &mut Count::default());
        println!("twice {name} {} {}", ends.len(), input.len());
        let mut count = Count::default();
        measured(&mut || {
            count = common::feed(&mut parser, input.as_bytes(), &ends);
            count.text
        });
        let out = count.text.max(count.params).max(count.args) as usize;
        // Some dialects deliver arguments only at the end of their call; they are never text.
        let waits = !before.is_empty() && out == 0;
        assert!(
            waits || out * 4 > input.len() * 3,
            "{name}: only {out} bytes came out"
        );
    }
}

/// One call whose argument doubles in length each time. The value repeats itself, so that every size has the same mixture.
fn growing_arguments(reach: Reach) {
    for shape in SHAPES {
        let set = shape.set();
        let unit = shape.call(4 * KIB);
        let unit = &unit[shape.before.len()..unit.len() - shape.after.len()];
        for (retained, retain) in [("none", Retain::None), ("block", Retain::Block)] {
            for chunk in CHUNKS {
                for len in chunk.sizes(reach) {
                    let call = format!("{}{}{}", shape.before, fill(unit, len), shape.after);
                    grow(
                        "argument",
                        &format!("{}/retain-{retained}", shape.dialect),
                        &set,
                        &shape.options(retain),
                        &call,
                        chunk,
                    );
                }
            }
        }
    }
}

/// Inputs on which a parser with a hidden second loop would become quadratic, with all dialects active.
fn growing_floods(reach: Reach, only: &str) {
    let set = DialectSet::defaults();
    for (name, make) in FLOODS.iter().filter(|(name, _)| name.contains(only)) {
        for chunk in CHUNKS {
            for len in chunk.sizes(reach) {
                grow(
                    "flood",
                    name,
                    &set,
                    &retaining(Retain::Block),
                    &make(len),
                    chunk,
                );
            }
        }
    }
    for (name, dialect, make) in FLOODS_ALONE {
        if !format!("{dialect}/{name}").contains(only) {
            continue;
        }
        let shape = SHAPES.iter().find(|shape| shape.dialect == *dialect);
        let shape = shape.expect("a dialect of a shape");
        let (set, options) = (shape.set(), shape.options(Retain::Block));
        for chunk in CHUNKS {
            for len in chunk.sizes(reach) {
                let input = make(len).replace("BEFORE", shape.before);
                grow(
                    "flood",
                    &format!("{dialect}/{name}"),
                    &set,
                    &options,
                    &input,
                    chunk,
                );
            }
        }
    }
}

/// Nothing but one marker, for every marker of a built-in dialect: bare, with a blank, and with a following word. Repeated
/// lookahead up to a limit does not grow with the input; it shows in the cost per byte.
fn markers(reach: Reach, only: &str) {
    let set = DialectSet::any();
    let mut all = BTreeSet::new();
    for (_, text) in builtin_files() {
        let file: toml::Table = toml::from_str(text).expect("a dialect file");
        literals(&toml::Value::Table(file), "", &mut all);
    }
    assert!(all.len() > 200, "{} markers", all.len());
    let options = retaining(Retain::Block);
    let all_behind: &[&str] = match reach {
        Reach::Short => &[" "],
        Reach::Usual | Reach::Long => &["", " ", "w "],
    };
    for marker in &all {
        for behind in all_behind {
            let name = format!("{marker}{behind}").replace(char::is_whitespace, "_");
            if !name.contains(only) {
                continue;
            }
            let input = fill(&format!("{marker}{behind}"), 4 * KIB);
            let mut parser = Parser::new(&set, options.clone());
            println!("bytes {name} 1 {}", input.len());
            measured(&mut || {
                let mut count = common::feed(&mut parser, input.as_bytes(), &[input.len()]);
                parser.finish(Finish::Stop, &mut count);
                count.text
            });
        }
    }
}

/// The markers without holes under the keys that name them.
fn literals(value: &toml::Value, key: &str, all: &mut BTreeSet<String>) {
    const KEYS: [&str; 8] = [
        "open", "close", "start", "end", "turn", "framing", "messages", "channel",
    ];
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                literals(value, key, all);
            }
        }
        toml::Value::Array(list) => {
            for value in list {
                literals(value, key, all);
            }
        }
        toml::Value::String(text)
            if KEYS.contains(&key) && text.len() > 1 && !text.contains('$') =>
        {
            all.insert(text.clone());
        }
        _ => {}
    }
}

#[derive(Clone, Copy)]
enum Chunk {
    Bytes(usize),
    Whole,
}

const CHUNKS: [Chunk; 3] = [Chunk::Bytes(1), Chunk::Bytes(4), Chunk::Whole];

/// How far inputs grow.
#[derive(Clone, Copy)]
enum Reach {
    /// For every change.
    Short,
    /// To 1 MiB.
    Usual,
    /// To 4 MiB in one chunk.
    Long,
}

impl Chunk {
    /// Lengths of inputs, each twice the previous one.
    fn sizes(self, reach: Reach) -> impl Iterator<Item = usize> {
        let (first, count) = match (reach, self) {
            (Reach::Short, Self::Bytes(1)) => (4 * KIB, 3),
            (Reach::Short, Self::Bytes(_)) => (0, 0),
            (Reach::Short, Self::Whole) => (8 * KIB, 3),
            (Reach::Usual, _) => (16 * KIB, 7),
            (Reach::Long, Self::Bytes(_)) => (16 * KIB, 4),
            (Reach::Long, Self::Whole) => (16 * KIB, 9),
        };
        (0..count).map(move |n| first << n)
    }
}

fn grow(what: &str, name: &str, set: &DialectSet, options: &Options, input: &str, chunk: Chunk) {
    let (ends, label) = match chunk {
        Chunk::Whole => (vec![input.len()], "whole".to_owned()),
        Chunk::Bytes(size) => (every(input.len(), size), format!("{size}-bytes")),
    };
    let mut parser = Parser::new(set, options.clone());
    println!("grow {what}/{name}/{label} {} {}", ends.len(), input.len());
    measured(&mut || {
        let mut count = common::feed(&mut parser, input.as_bytes(), &ends);
        parser.finish(Finish::Stop, &mut count);
        count.text + count.params
    });
}

type Make = fn(usize) -> String;

const TAM: &str = "<|[REQUEST_TOOL]|>\ncommand:「始」f「末」\n";
const CALL: &str = "<tool_call name=\"f\">";

/// Each makes an input of about `len` bytes.
const FLOODS: &[(&str, Make)] = &[
    ("less-than", |len| "<".repeat(len)),
    ("open-brackets", |len| "[".repeat(len)),
    ("tag-beginnings", |len| fill("<tool_call", len)),
    ("tags-without-an-end", |len| fill("<tool_call name=\"", len)),
    ("tags-with-blanks", |len| {
        fill("<tool_call                ", len)
    }),
    ("tags-without-names", |len| fill("<tool_call>", len)),
    ("calls-never-closed", |len| {
        fill("<tool_call name=\"f\"><param name=\"p\">", len)
    }),
    ("empty-calls", |len| fill("<tool_call name=\"f\"/>", len)),
    ("block-openers", |len| fill("<|[REQUEST_TOOL]|>", len)),
    ("block-openers-cut", |len| fill("<|[REQUEST_TOOL]|", len)),
    ("block-closers", |len| fill("<|[END_TOOL]|>", len)),
    ("block-closers-in-a-value", |len| {
        format!("{TAM}k:「始」{}", fill("<|[END_TOOL]|>", len))
    }),
    ("bracket-openers", |len| fill("<<<[TOOL_REQUEST]>>", len)),
    ("value-openers", |len| {
        format!("{TAM}{}", fill("k:「始", len))
    }),
    ("value-closers-cut", |len| {
        format!("{TAM}k:「始」{}", fill("「末", len))
    }),
    ("values-in-a-value", |len| {
        format!("{TAM}k:「始」{}", fill("\nk:「始", len))
    }),
    ("keys", |len| format!("{TAM}{}", fill("key:", len))),
    ("one-key", |len| format!("{TAM}{}", fill("key", len))),
    ("colons", |len| format!("{TAM}k{}", fill(": ", len))),
    ("keys-in-a-value", |len| {
        format!("{TAM}k:「始」{}", fill("\nkey:", len))
    }),
    ("newlines-in-a-value", |len| {
        format!("{TAM}k:「始」{}", fill("\nk:\n\n", len))
    }),
    ("comments", |len| format!("{TAM}{}", fill("# no\n", len))),
    ("fields", |len| {
        format!("{TAM}{}<|[END_TOOL]|>", numbered("k#:「始」v「末」\n", len))
    }),
    ("one-field-again", |len| {
        format!("{TAM}{}<|[END_TOOL]|>", fill("k:「始」v「末」\n", len))
    }),
    ("chain-of-ten-thousand", |len| {
        format!(
            "<|[REQUEST_TOOL]|>\n{}<|[END_TOOL]|>",
            numbered("command#:「始」f「末」\n", len)
        )
    }),
    ("params", |len| {
        format!(
            "{CALL}{}</tool_call>",
            numbered("<param name=\"k#\">v</param>", len)
        )
    }),
    ("one-param-again", |len| {
        format!(
            "{CALL}{}</tool_call>",
            fill("<param name=\"k\">v</param>", len)
        )
    }),
    ("param-closers", |len| {
        format!("{CALL}<param name=\"p\">{}", fill("</param>", len))
    }),
    ("param-closers-and-blanks", |len| {
        format!("{CALL}<param name=\"p\">{}", fill("</param>        ", len))
    }),
    ("param-closers-cut", |len| {
        format!("{CALL}<param name=\"p\">{}", fill("</para", len))
    }),
    ("ampersands", |len| {
        format!("{CALL}<param name=\"p\">{}", "&".repeat(len))
    }),
    ("entities", |len| {
        format!("{CALL}<param name=\"p\">{}", fill("&amp;&nope;", len))
    }),
    ("cdata-openers", |len| {
        format!("{CALL}<param name=\"p\">{}", fill("<![CDATA[", len))
    }),
    ("cdata-closers-cut", |len| {
        format!("{CALL}<param name=\"p\"><![CDATA[{}", fill("]]", len))
    }),
    ("value-never-closed", |len| {
        format!("{CALL}<param name=\"p\">{}", fill("words ", len))
    }),
    ("header-never-closed", |len| {
        format!("<tool_call {}", fill("a=\"b\" ", len))
    }),
    ("nested-elements", |len| {
        format!("<ACTION>{}", fill("<a>", len))
    }),
    ("nested-and-closed", |len| {
        format!("<ACTION><f>{}</f></ACTION>", fill("<a><b>v</b></a>", len))
    }),
    ("elements", |len| {
        format!("<ACTION><f>{}</f></ACTION>", numbered("<k#>v</k#>", len))
    }),
    ("closers-of-nothing", |len| {
        format!("<ACTION><f>{}", fill("</x>", len))
    }),
    ("comment-openers", |len| {
        format!("<ACTION>{}", fill("<!--", len))
    }),
    ("block-openers-of-elements", |len| fill("<ACTION>", len)),
    ("quotes", |len| {
        format!("<tool_action name=\"f\"><p value=\"{}", "\"".repeat(len))
    }),
    ("quotes-and-slashes", |len| {
        format!("<tool_action name=\"f\"><p value=\"{}", fill("\"/", len))
    }),
    ("attributes", |len| {
        format!(
            "<tool_action name=\"f\">{}</tool_action>",
            numbered("<k# value=\"v\"/>", len)
        )
    }),
    ("backticks", |len| "`".repeat(len)),
    ("fences", |len| fill("```\n", len)),
    ("markers-in-code", |len| fill("`<<<[TOOL_REQUEST]>>>`", len)),
    ("reasoning-openers", |len| fill("<think>", len)),
    ("reasoning-lines", |len| fill("<think>\nx</think>\n", len)),
    ("protected-openers", |len| fill("[本轮工具调用摘要", len)),
    ("newlines", |len| "\n".repeat(len)),
    ("blank-lines", |len| fill("\n \n\r\n", len)),
    ("marker-beginnings", |len| fill("<tool_c", len)),
    ("marker-beginnings-in-words", |len| {
        fill("functool Action ", len)
    }),
    ("letters-that-begin-markers", |len| fill("f", len)),
    ("words-that-are-markers", |len| fill("functools ", len)),
    ("actions", |len| fill("Action: ", len)),
    ("pipes", |len| fill("<|", len)),
    ("special-tokens", |len| fill("<|tool_call|", len)),
    ("special-tokens-without-calls", |len| {
        fill("<|tool_call|>", len)
    }),
    ("closers-of-no-block", |len| fill("</tool_call>", len)),
    ("openers-with-failing-probes", |len| {
        fill("<tool_call>{x", len)
    }),
    ("openers-and-brackets", |len| fill("<tool_call>[{", len)),
    ("openers-of-lists", |len| fill("[TOOL_CALLS] [", len)),
    ("functions-without-names", |len| fill("<function=", len)),
    ("message-headers", |len| fill("<|start|>assistant", len)),
    ("channels", |len| fill("<|channel|>commentary ", len)),
    ("thoughts-half-closed", |len| {
        format!("<think>{}", fill("</thin", len))
    }),
    ("lines-of-fences", |len| fill("```json\n{\n", len)),
    ("less-than-in-code", |len| fill("`<`", len)),
];

/// Single dialects with a declared tool. `BEFORE` is replaced with the opener of a call with a long string.
const FLOODS_ALONE: &[(&str, &str, Make)] = &[
    ("string-never-closed", "hermes", |len| {
        format!("BEFORE{}", fill("words ", len))
    }),
    ("backslashes", "hermes", |len| {
        format!("BEFORE{}", fill("\\\\", len))
    }),
    ("line-breaks", "hermes", |len| {
        format!("BEFORE{}", fill("x\n", len))
    }),
    ("escapes", "hermes", |len| {
        format!("BEFORE{}", fill("\\u0041", len))
    }),
    ("surrogates", "hermes", |len| {
        format!("BEFORE{}", fill("\\ud800", len))
    }),
    ("closers-in-a-string", "hermes", |len| {
        format!("BEFORE{}", fill("</tool_call>", len))
    }),
    ("brackets", "hermes", |len| {
        format!("{HERMES}[{}", fill("[", len))
    }),
    ("objects", "hermes", |len| {
        format!("{HERMES}{}", fill("{\"a\":", len))
    }),
    ("parameters", "hermes", |len| {
        format!("{HERMES}{{{}", numbered("\"k#\": 1, ", len))
    }),
    ("one-key-again", "hermes", |len| {
        format!("{HERMES}{{{}", fill("\"k\": 1, ", len))
    }),
    ("one-number", "hermes", |len| {
        format!("{HERMES}{{\"k\": {}", fill("1", len))
    }),
    ("blanks", "hermes", |len| {
        format!("{HERMES}{{{}", fill(" ", len))
    }),
    ("keys-before-the-name", "hermes", |len| {
        format!(
            "<tool_call>\n{{{}\"name\": \"write\"",
            numbered("\"k#\": 1, ", len)
        )
    }),
    ("arguments-before-the-name", "hermes", |len| {
        format!(
            "<tool_call>\n{{\"arguments\": {{\"a\": \"{}",
            fill("words ", len)
        )
    }),
    ("calls", "mistral-array", |len| {
        format!(
            "[TOOL_CALLS] [{}",
            fill("{\"name\": \"write\", \"arguments\": {}}, ", len)
        )
    }),
    ("ends-of-a-header", "harmony", |len| {
        format!(
            "<|start|>assistant to=functions.write{}",
            fill("<|message|>", len)
        )
    }),
    ("calls-without-commas", "kimi-k2", |len| {
        fill(
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.write:0",
            len,
        )
    }),
    ("closers-cut", "qwen3-coder", |len| {
        format!("BEFORE{}", fill("</parameter", len))
    }),
    ("closers", "qwen3-coder", |len| {
        format!("BEFORE{}", fill("\n</parameter>\n", len))
    }),
    ("second-name", "qwen3-coder", |len| {
        format!(
            "<tool_call>\n<function=write>\n<parameter=a>\nv\n</parameter>\n<parameter={}",
            fill("n", len)
        )
    }),
    ("one-line", "qwen3-coder", |len| {
        format!("BEFORE{}", fill("words ", len))
    }),
    ("parameters", "qwen3-coder", |len| {
        format!(
            "<tool_call>\n<function=write>\n{}",
            numbered("<parameter=k#>\nv\n</parameter>\n", len)
        )
    }),
    ("one-parameter-again", "qwen3-coder", |len| {
        format!(
            "<tool_call>\n<function=write>\n{}",
            fill("<parameter=k>\nv\n</parameter>\n", len)
        )
    }),
    ("functions", "qwen3-coder", |len| {
        fill("<tool_call>\n<function=write>\n", len)
    }),
    ("newlines", "qwen3-coder", |len| {
        format!("BEFORE{}", fill("\n", len))
    }),
    ("closers", "minimax-m2", |len| {
        format!("BEFORE{}", fill("</parameter>\n<", len))
    }),
    ("pairs", "glm45", |len| {
        format!(
            "<tool_call>write\n{}",
            numbered("<arg_key>k#</arg_key>\n<arg_value>v</arg_value>\n", len)
        )
    }),
    ("closers-cut", "glm45", |len| {
        format!("BEFORE{}", fill("</arg_value", len))
    }),
    ("brackets", "lfm2", |len| {
        format!("<|tool_call_start|>{}", fill("[", len))
    }),
    ("lists", "lfm2", |len| {
        format!("<|tool_call_start|>[write(a={}", fill("[", len))
    }),
    ("calls", "lfm2", |len| {
        format!("<|tool_call_start|>[{}", fill("write(a=1), ", len))
    }),
    ("parameters", "lfm2", |len| {
        format!("<|tool_call_start|>[write({}", numbered("k#=1, ", len))
    }),
    ("backslashes", "lfm2", |len| {
        format!("BEFORE{}", fill("\\\\", len))
    }),
    ("strings-side-by-side", "lfm2", |len| {
        format!("BEFORE{}", fill("' '", len))
    }),
    ("braces", "gemma4", |len| {
        format!("<|tool_call>call:write{{{}", fill("a:{", len))
    }),
    ("quotes-cut", "gemma4", |len| {
        format!("BEFORE{}", fill("<|\"|", len))
    }),
    ("nested-tags", "minimax-m3", |len| {
        format!("BEFORE{}", fill("]<]minimax[>[<a>", len))
    }),
    ("closers-of-others", "minimax-m3", |len| {
        format!("BEFORE{}", fill("]<]minimax[>[</a>", len))
    }),
    ("brackets", "minimax-m3", |len| {
        format!("BEFORE{}", fill("]<]", len))
    }),
    ("indentation", "yaml-xml", |len| {
        let mut text = String::new();
        for depth in 0.. {
            if text.len() >= len {
                break;
            }
            text.push_str(&" ".repeat(depth % 100));
            text.push_str("a:\n");
        }
        yaml(&text)
    }),
    ("dashes", "yaml-xml", |len| {
        yaml(&format!("a:\n{}b\n", fill("- ", len)))
    }),
    ("items", "yaml-xml", |len| {
        yaml(&format!("a:\n{}", fill("  - b\n", len)))
    }),
    ("keys", "yaml-xml", |len| yaml(&numbered("k#: v\n", len))),
    ("one-key-again", "yaml-xml", |len| {
        yaml(&fill("k: v\n", len))
    }),
    ("blank-lines", "yaml-xml", |len| {
        yaml(&format!("a: |\n  x\n{}", fill("\n", len)))
    }),
    ("brackets", "yaml-xml", |len| {
        yaml(&format!("a: {}\n", fill("[", len)))
    }),
    ("quotes", "yaml-xml", |len| {
        yaml(&format!("a: \"{}\"\n", fill("b\\\"\n", len)))
    }),
    ("openers", "yaml-xml", |len| fill("<write>\n", len)),
    ("closers-cut", "bolt-action", |len| {
        format!("BEFORE{}", fill("</boltActio", len))
    }),
    ("lines", "react-text", |len| {
        fill("Thought: x\nAction: write\n", len)
    }),
    ("lines-of-inputs", "react-text", |len| {
        fill("Action: write\nAction Input: {\n", len)
    }),
    ("thoughts", "react-text", |len| fill("Thought: x\n", len)),
    ("openers", "markdown-json", |len| {
        fill("```json\n{\"name\"", len)
    }),
    ("backticks", "markdown-json", |len| fill("```", len)),
    ("braces", "json-bare", |len| fill("{", len)),
    ("openers", "json-bare", |len| fill("{\"name\": ", len)),
    ("lists", "json-bare", |len| fill("[{", len)),
    ("closers-in-a-string", "harmony", |len| {
        format!("BEFORE{}", fill("<|call|>", len))
    }),
];

/// A call whose arguments are YAML, which is parsed when the call closes.
fn yaml(text: &str) -> String {
    format!("<write>\n{text}</write>")
}

const HERMES: &str = "<tool_call>\n{\"name\": \"write\", \"arguments\": ";

fn fill(part: &str, len: usize) -> String {
    part.repeat(len / part.len())
}

/// Replaces `#` in the part with running numbers.
fn numbered(part: &str, len: usize) -> String {
    let mut out = String::with_capacity(len + part.len());
    for number in 1_u32.. {
        if out.len() >= len {
            break;
        }
        out.push_str(&part.replace('#', &number.to_string()));
    }
    out
}
