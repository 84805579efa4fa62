//! Shrinks a failing recording, as long as it fails in the same way.
//!
//! There are two kinds of failure. If the log depends on the chunking, any byte and any split may be removed: the
//! expected result is the log of one chunk. If the log differs from the expected one, fewer bytes need another
//! expectation: the old one without the entries of the removed bytes (see [`super::project`]). So only independent parts
//! of the log can be removed: whole blocks, whole regions, and any character of text.
//!
//! Both use delta debugging: runs of halving length are removed as long as the rest still fails. The number of tries is bounded.

use toolglot::json::Value;

use super::entry::difference;
use super::file::Recording;
use super::project::{Parts, Unit};

/// Maximum number of runs of one search.
const TRIES: usize = 20_000;

/// How a recording fails.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// Its chunking gives a different log than one chunk.
    Cuts,
    /// Its log differs from the expected one. Holds the first entries that differ, without position and index.
    Expected(Box<[Value; 2]>),
}

/// Runs chunks of these lengths and returns the entries of the log.
pub type Run<'r> = dyn FnMut(&[u8], &[usize]) -> Vec<Value> + 'r;

/// How a recording fails; `None` if it does not.
pub fn failure(recording: &Recording, run: &mut Run<'_>) -> Option<Failure> {
    let whole = run(&recording.input, &[]);
    let cuts = recording.cuts.as_deref().unwrap_or_default();
    if run(&recording.input, cuts) != whole {
        return Some(Failure::Cuts);
    }
    signs(recording.expect.as_deref()?, &whole).map(|signs| Failure::Expected(Box::new(signs)))
}

/// A smaller recording that fails in the same way; `None` if this one does not fail.
pub fn minimise(recording: &Recording, run: &mut Run<'_>) -> Option<Recording> {
    let mut out = recording.clone();
    match failure(recording, run)? {
        Failure::Cuts => {
            let cuts = recording.cuts.as_deref().unwrap_or_default();
            let tokens = shrink(tokens(&recording.input, cuts), |tokens| {
                let (input, cuts) = chunks(tokens);
                run(&input, &cuts) != run(&input, &[])
            });
            let (input, cuts) = chunks(&tokens);
            out.expect = Some(run(&input, &[]));
            (out.input, out.cuts) = (input, Some(cuts));
        }
        Failure::Expected(signs_before) => {
            out.cuts = None;
            let expect = recording.expect.as_deref().unwrap_or_default();
            if let Some(parts) = Parts::new(&recording.input, expect) {
                let units: Vec<Unit> = shrink(parts.units(), |units| {
                    let (input, expect) = parts.project(units);
                    signs(&expect, &run(&input, &[])).as_ref() == Some(&*signs_before)
                });
                let (input, expect) = parts.project(&units);
                (out.input, out.expect) = (input, Some(expect));
            }
        }
    }
    Some(out)
}

/// The first entries that differ, without members that change when something before them is removed.
fn signs(expected: &[Value], got: &[Value]) -> Option<[Value; 2]> {
    let sign = |entry: Option<&Value>| {
        let mut entry = entry.cloned().unwrap_or_default();
        if let Some(fields) = entry.as_object_mut() {
            fields.retain(|key, _| key != "span" && key != "call" && key != "block");
            if fields.get("type").is_some_and(|kind| kind == "text") {
                fields.retain(|key, _| !key.starts_with("data"));
            }
        }
        entry
    };
    difference(expected, got).map(|(_, expected, got)| [sign(expected), sign(got)])
}

/// A byte, or the end of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    Cut,
}

fn tokens(input: &[u8], cuts: &[usize]) -> Vec<Token> {
    let mut out = vec![];
    let mut rest = input;
    for len in cuts {
        let (chunk, behind) = rest.split_at((*len).min(rest.len()));
        out.extend(chunk.iter().copied().map(Token::Byte));
        out.push(Token::Cut);
        rest = behind;
    }
    out.extend(rest.iter().copied().map(Token::Byte));
    out
}

fn chunks(tokens: &[Token]) -> (Vec<u8>, Vec<usize>) {
    let (mut input, mut cuts, mut len) = (vec![], vec![], 0);
    for token in tokens {
        match token {
            Token::Byte(byte) => {
                input.push(*byte);
                len += 1;
            }
            Token::Cut => cuts.push(std::mem::take(&mut len)),
        }
    }
    (input, cuts)
}

/// Removes items as long as `fails` holds.
fn shrink<T: Clone>(mut items: Vec<T>, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let (mut tries, mut size) = (0, items.len().div_ceil(2).max(1));
    loop {
        let (mut at, mut smaller) = (0, false);
        while at < items.len() && tries < TRIES {
            let end = items.len().min(at + size);
            let fewer = [&items[..at], &items[end..]].concat();
            tries += 1;
            match fails(&fewer) {
                true => (items, smaller) = (fewer, true),
                false => at = end,
            }
        }
        if tries >= TRIES || (size == 1 && !smaller) {
            return items;
        }
        size = (size / 2).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolglot::json::json;

    fn recording(input: &[u8], cuts: &[usize]) -> Recording {
        Recording {
            input: input.to_vec(),
            cuts: Some(cuts.to_vec()),
            ..Recording::default()
        }
    }

    /// A faulty parser: sees `<x>` only if no chunk ends inside it.
    fn forgetful(input: &[u8], cuts: &[usize]) -> Vec<Value> {
        let (mut at, mut seen) = (0, 0);
        for len in cuts.iter().copied().chain([usize::MAX]) {
            let end = at + len.min(input.len() - at);
            seen += input[at..end]
                .windows(3)
                .filter(|window| *window == b"<x>")
                .count();
            at = end;
        }
        vec![json!({"type": "seen", "count": seen})]
    }

    #[test]
    fn dependence_on_chunking_is_minimised() {
        let input = b"some text <x> and more <x> and the end of it".repeat(3);
        let found = recording(&input, &[3, 0, 9, 2, 40, 1]);
        assert_eq!(failure(&found, &mut forgetful), Some(Failure::Cuts));
        let small = minimise(&found, &mut forgetful).expect("it fails");
        assert_eq!(small.input, b"<x>");
        assert!(
            matches!(small.cuts.as_deref(), Some([1 | 2])),
            "{:?}",
            small.cuts
        );
        assert_eq!(
            small.expect,
            Some(vec![json!({"type": "seen", "count": 1})])
        );
        assert_eq!(failure(&small, &mut forgetful), Some(Failure::Cuts));
    }

    #[test]
    fn passing_recordings_are_not_minimised() {
        let mut fine = recording(b"<x>", &[]);
        assert_eq!(minimise(&fine, &mut forgetful), None);
        fine.expect = Some(forgetful(b"<x>", &[]));
        assert_eq!(minimise(&fine, &mut forgetful), None);
    }

    #[test]
    fn tokens_are_bytes_and_cuts() {
        for cuts in [&[][..], &[0], &[1, 0, 2], &[3]] {
            assert_eq!(
                chunks(&tokens(b"abc", cuts)),
                (b"abc".to_vec(), cuts.to_vec())
            );
        }
    }

    #[test]
    fn tries_are_bounded() {
        let mut tries = 0;
        shrink((0..100_000).collect::<Vec<u32>>(), |_| {
            tries += 1;
            false
        });
        assert_eq!(tries, TRIES);
    }
}
