//! The text of a layout around its fields: whether a result ends inside a marker depends on what follows it.

use toolglot::layer::Beside;
use toolglot::layer::Breaker;
use toolglot::layer::Spec;
use toolglot::layer::Tokens;

use crate::guard::{ID, KEY, LIST, NAME, TEXT};

/// What is next to each field of a layout, and to texts outside of fields.
#[derive(Clone, Debug)]
pub(super) struct Around {
    pub text: Beside,
    pub name: Beside,
    pub id: Beside,
    /// A line of its own, with nothing else known.
    pub line: Beside,
    /// Two quotation marks.
    pub quotes: Beside,
}

/// What precedes a field and what follows it.
#[derive(Default)]
struct Sides {
    before: Vec<Vec<u8>>,
    behind: Vec<Vec<u8>>,
}

impl Sides {
    fn add(&mut self, before: &str, behind: &str) {
        for (list, new) in [(&mut self.before, before), (&mut self.behind, behind)] {
            if !list.iter().any(|have| have == new.as_bytes()) {
                list.push(new.as_bytes().to_vec());
            }
        }
    }
}

impl Around {
    /// Derives the neighbours from a layout filled with samples. The text it writes ends a line or a message: a line break or a
    /// token of the model follows.
    pub fn new(breaker: &Breaker, filled: &[String], spec: &Spec, tokens: &Tokens) -> Self {
        let turns = spec.framing.iter().chain(&spec.turn).chain(&tokens.turns);
        let ends: Vec<&str> = turns.map(String::as_str).chain(["\n"]).collect();
        let mut out = [Sides::default(), Sides::default(), Sides::default()];
        for filled in filled {
            let places = places(filled);
            let mut start = 0;
            for (index, (at, word, field)) in places.iter().enumerate() {
                let before = match start {
                    0 => format!("\n{}", &filled[..*at]),
                    from => filled[from..*at].to_owned(),
                };
                start = at + word.len();
                let rest = &filled[start..];
                let Some(beside) = out.get_mut(*field) else {
                    continue;
                };
                match places.get(index + 1) {
                    Some((next, ..)) => beside.add(&before, &rest[..next - start]),
                    None => {
                        for end in &ends {
                            beside.add(&before, &format!("{rest}{end}"));
                        }
                    }
                }
            }
        }
        let pair = |before: &str, behind: &str| {
            let [before, behind] = [before, behind].map(|side| vec![side.as_bytes().to_vec()]);
            breaker.beside(&before, behind)
        };
        let [text, name, id] = out.map(|sides| match sides.before.is_empty() {
            false => breaker.beside(&sides.before, sides.behind),
            true => pair("\n", ""),
        });
        Self {
            text,
            name,
            id,
            line: pair("\n", ""),
            quotes: pair("\"", "\""),
        }
    }
}

/// The positions of the sample words in a filled layout: the position, the word, and the number of the field.
fn places(filled: &str) -> Vec<(usize, &'static str, usize)> {
    let mut out = vec![];
    let fields = [(LIST, 0), (TEXT, 0), (NAME, 1), (ID, 2), (KEY, 3)];
    for (word, field) in fields {
        for (at, _) in filled.match_indices(word) {
            let inside =
                |(have, word, _): &(usize, &str, usize)| (*have..have + word.len()).contains(&at);
            if !out.iter().any(inside) {
                out.push((at, word, field));
            }
        }
    }
    out.sort_unstable();
    out
}
