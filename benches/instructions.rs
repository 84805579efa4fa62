//! How many instructions does a chunk cost, and does the cost grow as the input does?
//!
//! Times depend on what else the machine does, instructions do not. This program is run under callgrind by
//! `ci/instructions.sh`, which has a profile written for every call of [`measured`] and none of what happens between. The
//! program prints one line for each such call, in order: what was measured, and how large it was. `ci/instructions.py`
//! puts numbers and lines together.

mod common;

use std::hint::black_box;

use common::arguments::SHAPES;
use common::corpus::{self, Kind};
use common::{Count, every, one, retaining, yardsticks};
use toolglot::{DialectSet, Finish, Parser, Retain};

const KIB: usize = 1024;

/// What callgrind counts. What comes out passes through memory, lest the call becomes a jump that nobody returns from.
#[inline(never)]
fn measured(work: &mut dyn FnMut() -> u64) -> u64 {
    black_box(work())
}

fn main() {
    let short = std::env::args().any(|arg| arg == "--short");
    // The first call of anything resolves symbols and detects the processor; that is nobody's cost.
    println!("skip warm-up 0 0");
    let mut parser = Parser::new(&DialectSet::defaults(), retaining(Retain::Block));
    measured(&mut || common::feed(&mut parser, b"a < b", &[5]).text);

    yardsticks();
    text();
    tiny_arguments();
    growing_arguments(short);
    growing_floods(short);
}

/// The least that anybody could do, to read the other figures by.
fn yardsticks() {
    let teddy = yardsticks::teddy(&DialectSet::defaults());
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

/// Chunks of text: the same text once and twice as long, so that what does not repeat cancels.
fn text() {
    let sets = [
        ("1-dialect", one()),
        ("all-dialects", DialectSet::defaults()),
    ];
    for (dialects, set) in &sets {
        for kind in [Kind::English, Kind::Chinese, Kind::Code, Kind::Html] {
            let name = kind.name();
            twice(
                &format!("text/{name}/4-bytes/{dialects}"),
                set,
                Retain::Block,
                "",
                &kind.text(32 * KIB),
                |text| every(text.len(), 4),
            );
            twice(
                &format!("text/{name}/pieces/{dialects}"),
                set,
                Retain::Block,
                "",
                &kind.text(32 * KIB),
                corpus::pieces,
            );
            let text = kind.text(512 * KIB);
            twice(
                &format!("text/{name}/64-KiB/{dialects}"),
                set,
                Retain::Block,
                "",
                &text,
                |text| every(text.len(), 64 * KIB),
            );
        }
    }
}

/// Chunks of 4 bytes inside one long argument.
fn tiny_arguments() {
    for shape in SHAPES {
        let set = DialectSet::builtin(shape.dialect).expect("a built-in dialect");
        let call = shape.call(32 * KIB);
        let value = &call[shape.before.len()..call.len() - shape.after.len()];
        let name = format!("argument/{}/4-bytes/retain-none", shape.dialect);
        twice(&name, &set, Retain::None, shape.before, value, |text| {
            every(text.len(), 4)
        });
    }
}

/// Measures one text and the same text twice, both behind `before`.
fn twice(
    name: &str,
    set: &DialectSet,
    retain: Retain,
    before: &str,
    text: &str,
    cut: impl Fn(&str) -> Vec<usize>,
) {
    let double = format!("{text}{text}");
    for input in [text, double.as_str()] {
        let ends = cut(input);
        let mut parser = Parser::new(set, retaining(retain));
        parser.feed(before.as_bytes(), &mut Count::default());
        println!("twice {name} {} {}", ends.len(), input.len());
        let out = measured(&mut || {
            let count = common::feed(&mut parser, input.as_bytes(), &ends);
            if before.is_empty() {
                count.text
            } else {
                count.params
            }
        });
        assert!(
            out as usize + 64 > input.len(),
            "{name}: only {out} bytes came out"
        );
    }
}

/// One call whose argument grows, twofold each time. The value repeats itself, so that every size has the same mixture.
fn growing_arguments(short: bool) {
    for shape in SHAPES {
        let set = DialectSet::builtin(shape.dialect).expect("a built-in dialect");
        let unit = shape.call(4 * KIB);
        let unit = &unit[shape.before.len()..unit.len() - shape.after.len()];
        for (retained, retain) in [("none", Retain::None), ("block", Retain::Block)] {
            for chunk in CHUNKS {
                for len in chunk.sizes(short) {
                    let call = format!("{}{}{}", shape.before, fill(unit, len), shape.after);
                    grow(
                        "argument",
                        &format!("{}/retain-{retained}", shape.dialect),
                        &set,
                        retain,
                        &call,
                        chunk,
                    );
                }
            }
        }
    }
}

/// Inputs that a parser with a hidden second loop would choke on, all dialects active.
fn growing_floods(short: bool) {
    let set = DialectSet::defaults();
    for (name, make) in FLOODS {
        for chunk in CHUNKS {
            for len in chunk.sizes(short) {
                grow("flood", name, &set, Retain::Block, &make(len), chunk);
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Chunk {
    Bytes(usize),
    Whole,
}

const CHUNKS: [Chunk; 3] = [Chunk::Bytes(1), Chunk::Bytes(4), Chunk::Whole];

impl Chunk {
    /// Lengths of inputs, each twice the one before. A short run is for every change, a long one for a release.
    fn sizes(self, short: bool) -> impl Iterator<Item = usize> {
        let (first, count) = match (short, self) {
            (false, _) => (16 * KIB, 7),
            (true, Self::Bytes(_)) => (8 * KIB, 3),
            (true, Self::Whole) => (16 * KIB, 3),
        };
        (0..count).map(move |n| first << n)
    }
}

fn grow(what: &str, name: &str, set: &DialectSet, retain: Retain, input: &str, chunk: Chunk) {
    let (ends, label) = match chunk {
        Chunk::Whole => (vec![input.len()], "whole".to_owned()),
        Chunk::Bytes(size) => (every(input.len(), size), format!("{size}-bytes")),
    };
    let mut parser = Parser::new(set, retaining(retain));
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
];

fn fill(part: &str, len: usize) -> String {
    part.repeat(len / part.len())
}

/// The part with running numbers in place of `#`.
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
