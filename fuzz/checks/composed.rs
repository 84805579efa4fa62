//! Streams composed of what models write: markers, whole calls, prose, and slips in all of them.
//!
//! After the header of [`case`](super::case), each two bytes add a piece to the stream or change its end, so that a mutation of
//! the input is one slip in an output.
//!
//! | first byte, modulo 16 | what the second one chooses |
//! |---|---|
//! | 0-3 | a word of the set's dialect files |
//! | 4-6 | one or two calls as the dialect writes them |
//! | 7 | glue |
//! | 8 | prose |
//! | 9 | itself, as a byte |
//! | 10 | how many of the last bytes go |
//! | 11 | how many of the last bytes come again |
//! | 12 | which of the last bytes goes |
//! | 13 | before which of the last bytes a blank comes |
//! | 14 | before which of the last bytes a word comes |
//! | 15 | what the last piece is quoted with |

use std::sync::LazyLock;

use toolglot::{DialectSet, EncodeCall, EncodeOptions, Encoder};

use super::case::{Case, HEADER, SETS};
use super::chunking::check;

const LONGEST: usize = 1024;

const GLUE: [&str; 16] = [
    "\n",
    " ",
    "\n\n",
    "\r\n",
    "```\n",
    "```json\n",
    "`",
    "\"",
    "<",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\t",
    "\u{feff}",
];

const PROSE: [&str; 8] = [
    "Let me look.",
    "好的，我来查一下。",
    "a < b && c > d",
    "| name | value |\n|---|---|\n",
    "- one\n- two\n",
    "{\"a\": [1, 2]}",
    "<b>bold</b>",
    "🌧️\u{3000}é",
];

const ARGUMENTS: [&str; 8] = [
    "{}",
    r#"{"s": "v"}"#,
    r#"{"s": "多行\n“引号” \"x\"", "i": 3}"#,
    r#"{"any": {"a": [1, {"b": "</c>"}]}, "b": true}"#,
    r#"{"s": "", "l": []}"#,
    r#"{"file_path": "a/b.rs", "tags": ["x", "y z"]}"#,
    r#"{"n": -1.5e3, "x": null}"#,
    r#"{"s": "```\nfn main() {}\n```\n<tool_call>"}"#,
];

/// What a set's models write.
struct Words {
    words: Vec<String>,
    calls: Vec<String>,
}

static WORDS: LazyLock<Vec<Words>> = LazyLock::new(|| SETS.iter().map(Words::of).collect());

impl Words {
    fn of(set: &DialectSet) -> Self {
        let files = toolglot::builtin_files();
        let (mut words, mut calls) = (vec![], vec![]);
        for dialect in set.dialects() {
            words.extend(dialect.openers());
            words.extend(dialect.closers());
            let file = files.iter().find(|(id, _)| *id == dialect.id());
            let lines = file.into_iter().flat_map(|(_, text)| text.lines());
            let quoted = lines.flat_map(|line| line.split(['"', '\'']).skip(1).step_by(2));
            // Longer ones with blanks are sentences about the format.
            words.extend(
                quoted
                    .filter(|word| !word.is_empty() && word.matches(' ').count() < 3)
                    .map(|word| word.replace("\\n", "\n")),
            );
            calls.extend(written(set, dialect.id()));
        }
        words.sort();
        words.dedup();
        Self { words, calls }
    }
}

/// Calls in a dialect, as far as it can write them.
fn written(set: &DialectSet, id: &str) -> Vec<String> {
    let Ok(encoder) = Encoder::new(set, id) else {
        return vec![];
    };
    let call = |name: &str, arguments: &str| EncodeCall::new(name, arguments);
    let mut all: Vec<_> = ARGUMENTS
        .iter()
        .map(|arguments| vec![call("f", arguments)])
        .collect();
    all.push(vec![call("f", ARGUMENTS[1]), call("g", ARGUMENTS[3])]);
    all.iter()
        .filter_map(|calls| encoder.encode(calls, &EncodeOptions::default()).ok())
        .collect()
}

/// Composes a stream and checks that its events don't depend on the chunking.
pub fn composed(data: &[u8]) {
    let Some((header, acts)) = data.split_at_checked(HEADER) else {
        return;
    };
    let words = &WORDS[usize::from(header[0]) % SETS.len()];
    let mut whole = header.to_vec();
    let mut piece = HEADER;
    for act in acts.chunks_exact(2) {
        let (kind, which) = (
            act[0] % 16,
            usize::from(act[1]) << 4 | usize::from(act[0] >> 4),
        );
        let back = whole.len() - (usize::from(act[1]) % 32).min(whole.len() - HEADER);
        if kind < 10 {
            piece = whole.len();
        }
        match kind {
            0..4 => whole.extend_from_slice(pick(&words.words, which)),
            4..7 => whole.extend_from_slice(pick(&words.calls, which)),
            7 => whole.extend_from_slice(pick(&GLUE, which >> 4)),
            8 => whole.extend_from_slice(pick(&PROSE, which >> 4)),
            9 => whole.push(act[1]),
            10 => whole.truncate(back),
            11 => whole.extend_from_within(back..),
            12 => drop((back < whole.len()).then(|| whole.remove(back))),
            13 => whole.insert(back, b' '),
            14 => drop(whole.splice(back..back, pick(&words.words, which).iter().copied())),
            _ => {
                let mark = b"\"'`*|("[usize::from(act[1]) % 6];
                whole.insert(piece.min(whole.len()), mark);
                whole.push(mark);
            }
        }
        if whole.len() > LONGEST {
            whole.truncate(LONGEST);
            break;
        }
    }
    Case::read(&whole).each(check);
}

fn pick<S: AsRef<str>>(from: &[S], which: usize) -> &[u8] {
    match from {
        [] => &[],
        some => some[which % some.len()].as_ref().as_bytes(),
    }
}
