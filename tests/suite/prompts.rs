//! A prompt that ends anywhere in what the model would have written: in a thought, a call, a value or a marker.
//!
//! The reply is the rest. It is read alike however it is cut, and a call that it delivers is one that the whole delivers. After
//! the turn of another author, the reply is the model's: such prompts are left out.

use toolglot::{Call, Grade, builtin_files};

use crate::support::{CASES, VECTORS, none_wrong, places, turn_of, with_returns};

/// Places tried per vector in a test run.
const PLACES: usize = 6;

/// What a dialect's file says about turns.
struct Turns {
    /// What opens the model's turn.
    own: Vec<String>,
    /// What begins the turns of other authors.
    others: Vec<String>,
}

impl Turns {
    fn of(dialect: &str) -> Option<Self> {
        let (_, text) = builtin_files().iter().find(|(id, _)| *id == dialect)?;
        let file: toml::Table = text.parse().expect("a built-in file");
        let list = |key: &str| -> Vec<String> {
            let list = file.get(key).and_then(toml::Value::as_array);
            let list = list.into_iter().flatten().filter_map(toml::Value::as_str);
            list.map(str::to_owned).collect()
        };
        let (own, mut others) = (list("turn"), list("others"));
        let tokens = own.iter().filter_map(|turn| {
            let end = turn.find("|>").map(|at| at + 2);
            let end = end.filter(|end| *end < turn.len())?;
            Some(turn[..end].to_owned())
        });
        others.extend(tokens);
        Some(Self { own, others })
    }

    /// The opener of the model's turn, if it is a token with the role.
    fn opener(&self) -> Option<String> {
        let turn = self.own.iter().find(|turn| turn.ends_with("assistant"))?;
        Some(format!("{turn}\n"))
    }

    /// Whether another author's turn begins after the model's last one.
    fn is_anothers(&self, tail: &str) -> bool {
        let ends = |turn: &String| tail.rfind(turn.as_str()).map(|at| at + turn.len());
        let rest = &tail[self.own.iter().filter_map(ends).max().unwrap_or(0)..];
        self.others.iter().any(|token| rest.contains(token))
    }
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
        let Some(turns) = Turns::of(case.dialect).filter(|_| vector.options.is_empty()) else {
            continue;
        };
        let Some(turn) = turns.opener() else {
            continue;
        };
        if !case.native.is_empty() || input.len() > 2048 {
            continue;
        }
        let whole = turn_of(case.parser(), [case.input], case.finish);
        for at in cuts(number, input.len()) {
            let Some((head, rest)) = input.split_at_checked(at) else {
                continue;
            };
            let tail = format!("{turn}{head}");
            if turns.is_anothers(&tail) {
                continue;
            }
            let tail = tail.into_bytes();
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
                    let same = |other: &Call| -> bool {
                        call.name == other.name && plain(&call.arguments) == plain(&other.arguments)
                    };
                    if !delivered(&whole.calls).any(same) {
                        wrong.push(format!("{} call: {tail:?} + {rest:?}: {call:?}", case.id));
                    }
                }
            }
        }
    }
    assert!(tried > 500, "{tried}");
    none_wrong(&wrong, tried);
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
