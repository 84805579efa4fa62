//! A prompt that ends anywhere in what the model would have written: in a thought, a call, a value or a marker.
//!
//! The reply is the rest. It is read alike however it is cut, and a call that it delivers is one of the whole. (Its grade may be
//! better: doubts of calls that ended in the prompt are not carried over.)

use toolglot::{Call, Grade, builtin_files};

use crate::support::{CASES, VECTORS, places, turn_of, with_returns};

/// Places tried per vector in a test run.
const PLACES: usize = 6;

/// The opener of the model's turn, if it is a token with the role.
fn turn(dialect: &str) -> Option<String> {
    let (_, text) = builtin_files().iter().find(|(id, _)| *id == dialect)?;
    let file: toml::Table = text.parse().ok()?;
    let list = file.get("turn")?.as_array()?;
    let mut turns = list.iter().filter_map(toml::Value::as_str);
    let turn = turns.find(|turn| turn.ends_with("assistant"))?;
    Some(format!("{turn}\n"))
}

fn delivered(calls: &[Call]) -> impl Iterator<Item = &Call> {
    calls.iter().filter(|call| call.grade != Grade::Recovered)
}

fn check(cuts: impl Fn(usize, usize) -> Vec<usize>) {
    let mut tried = 0;
    let mut wrong = vec![];
    for (number, (case, vector)) in CASES.iter().zip(VECTORS.iter()).enumerate() {
        let Ok(input) = std::str::from_utf8(case.input) else {
            continue;
        };
        let Some(turn) = turn(case.dialect).filter(|_| vector.options.is_empty()) else {
            continue;
        };
        if !case.native.is_empty() || input.len() > 2048 {
            continue;
        }
        let whole = turn_of(case.parser(), [case.input], case.finish);
        // What the prompt opens is vouched for: it is no mention, and the reply is the model's.
        if whole.calls.is_empty() {
            continue;
        }
        for at in cuts(number, input.len()) {
            let Some((head, rest)) = input.split_at_checked(at) else {
                continue;
            };
            let tail = format!("{turn}{head}").into_bytes();
            for tail in [with_returns(&tail), tail] {
                tried += 1;
                let mut options = case.options.clone();
                options.set_prompt_tail(&tail);
                let tail = String::from_utf8_lossy(&tail);
                let parser = || toolglot::Parser::new(&case.set, options.clone());
                let turn = turn_of(parser(), [rest.as_bytes()], case.finish);
                let bytes = turn_of(parser(), rest.as_bytes().chunks(1), case.finish);
                if turn != bytes {
                    wrong.push(format!("{} cut: {tail:?} + {rest:?}", case.id));
                }
                for call in delivered(&turn.calls) {
                    let plain = |text: &str| text.replace("\\r", "").replace('\r', "");
                    let same = |other: &Call| {
                        call.name == other.name && plain(&call.arguments) == plain(&other.arguments)
                    };
                    if !whole.calls.iter().any(same) {
                        wrong.push(format!("{} call: {tail:?} + {rest:?}: {call:?}", case.id));
                    }
                }
            }
        }
    }
    assert!(tried > 500, "{tried}");
    let shown = wrong[..wrong.len().min(80)].join("\n");
    assert!(wrong.is_empty(), "{} of {tried}:\n{shown}", wrong.len());
}

#[test]
fn a_reply_delivers_the_calls_of_the_whole() {
    check(|number, len| {
        let shift = number % (len / PLACES).max(1);
        places(len, PLACES)
            .map(|at| at + shift)
            .filter(|at| *at < len)
            .collect()
    });
}

#[test]
#[ignore = "ci/generators.sh"]
fn all() {
    check(|_, len| (0..len).collect());
}
