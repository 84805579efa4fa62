//! Calls whose markers name the tool: a name and JSON, Python calls, braces.

use super::super::asked::{KEYS, NUMBER, TOOLS, VALUES};
use super::super::draft::{Draft, Payload};
use super::super::text::{boundaries, inner_pattern, pattern};
use super::frame::Frame;
use super::json::literal;
use super::params::{after_attributes, attribute_of};
use super::{Found, Seen};

/// How a call that its markers name may open.
pub(super) struct Opener {
    /// The frame before the name, the name, and what follows it up to the payload.
    pattern: String,
    /// The attribute that names the tool.
    attribute: Option<String>,
    /// What surrounds the name in an id.
    ids: Option<(String, String)>,
}

impl Opener {
    /// A call that opens so.
    pub fn draft(&self, frame: &Frame, payload: Payload) -> Draft {
        let mut draft = frame.unit(self.pattern.clone(), payload);
        draft.unit.name.clone_from(&self.attribute);
        draft.ids.clone_from(&self.ids);
        draft
    }
}

/// Calls whose markers name the tool.
impl Seen {
    /// The places of the names and of the payloads' ends in the turn with two calls; `end` finds the end of a payload.
    pub(super) fn two_names(
        &self,
        end: impl Fn(&str, usize) -> Option<usize>,
    ) -> Option<[(usize, usize); 2]> {
        let two = self.two.as_deref()?;
        let place = |name: &str, value: &str| {
            let value = two.find(value)?;
            let name = two[..value].rfind(name)?;
            Some((name, end(two, value)?))
        };
        let (first, done) = place(TOOLS[0], VALUES[0])?;
        let (second, end) = place(TOOLS[1], VALUES[1])?;
        (done <= second).then_some([(first, done), (second, end)])
    }

    /// The openers with this frame before the name, and this text between name and payload.
    pub(super) fn openers(&self, open: &str, middle: &str) -> Vec<Opener> {
        let mut out = vec![];
        // A name in an id: `functions.f:0`.
        let inside =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '#');
        let first = open.rfind(|c: char| !inside(c)).map_or(0, |at| {
            at + open[at..].chars().next().map_or(1, char::len_utf8)
        });
        let last = middle.find(|c: char| !inside(c)).unwrap_or(middle.len());
        let (before, after) = (&open[first..], &middle[..last]);
        let digits = after.trim_end_matches(|c: char| c.is_ascii_digit());
        if digits.len() < after.len() {
            out.push(Opener {
                pattern: format!(
                    "{}$_$id$_{}",
                    pattern(&open[..first]),
                    pattern(&middle[last..])
                ),
                attribute: None,
                ids: Some((before.to_owned(), digits.to_owned())),
            });
        }
        if let Some((start, attribute)) = attribute_of(open) {
            // A name that is written twice is read where the tag has it.
            let start = inner_pattern(start.trim_start()).replace(TOOLS[0], "$name");
            let rest = inner_pattern(after_attributes(middle).trim_end());
            out.push(Opener {
                pattern: format!("{start}$tag{rest}"),
                attribute: Some(attribute),
                ids: None,
            });
        }
        let hole = |text: &str| match text.split_once(self.id.as_str()) {
            Some((a, b)) => format!("{}$id{}", inner_pattern(a), inner_pattern(b)),
            None => inner_pattern(text),
        };
        out.push(Opener {
            pattern: format!(
                "{}$name{}",
                hole(open.trim_start()),
                hole(middle.trim_end())
            ),
            attribute: None,
            ids: None,
        });
        out
    }

    pub(super) fn arguments(&self, found: &Found<'_>, out: &mut Vec<Draft>) {
        let (one, name, key, _) = found.places();
        let Some(start) = one[..key]
            .rfind('{')
            .filter(|start| *start >= name + TOOLS[0].len())
        else {
            return;
        };
        let Some(object) = literal(&one[start..]) else {
            return;
        };
        let end = |text: &str, value: usize| {
            let start = text[..value].rfind('{')?;
            literal(&text[start..]).map(|found| start + found.len)
        };
        let middle = &one[name + TOOLS[0].len()..start];
        let payload = Payload::Arguments {
            python: object.python,
        };
        let done = start + object.len;
        for frame in self.frames((name, done), self.two_names(end)) {
            for opener in self.openers(&frame.open, middle) {
                out.push(opener.draft(&frame, payload.clone()));
            }
        }
    }

    pub(super) fn python(&self, found: &Found<'_>, out: &mut Vec<Draft>) {
        let (one, name, key, value) = found.places();
        let called = one[name + TOOLS[0].len()..].starts_with('(');
        if !called
            || !one[key + KEYS[0].len()..value]
                .trim_start()
                .starts_with('=')
        {
            return;
        }
        let end = |text: &str, value: usize| text[value..].find(')').map(|at| value + at + 1);
        let Some(done) = end(one, value) else { return };
        let before = self.lead(&one[..name], &one[name..done]);
        let after = &one[done..];
        let quoted = one[..value].ends_with(['"', '\'']);
        let number = self.number.as_deref().unwrap_or_default();
        let typed = quoted
            && (number.contains(&format!("\"{NUMBER}")) || number.contains(&format!("'{NUMBER}")));
        let mut frame = Frame::new(before, &one[name..done], after);
        if let (Some(open), Some(close)) = (
            before.trim_end().strip_suffix('['),
            after.trim_start().strip_prefix(']'),
        ) {
            frame.open = open.to_owned();
            frame.close = close.to_owned();
            let brackets = "required";
            out.extend(bare_python(&frame, Payload::Python { brackets, typed }));
            // A list around every call.
            let end = |text: &str, value: usize| {
                let done = end(text, value)?;
                text[done..].starts_with(']').then_some(done + 1)
            };
            let places = self
                .two_names(end)
                .map(|places| places.map(|(name, done)| (name - 1, done)));
            for frame in self.frames((name - 1, done + 1), places) {
                out.extend(bare_python(&frame, Payload::Python { brackets, typed }));
            }
        } else {
            for brackets in ["forbidden", "one"] {
                out.extend(bare_python(&frame, Payload::Python { brackets, typed }));
                for frame in self.frames((name, done), self.two_names(end)) {
                    out.extend(bare_python(&frame, Payload::Python { brackets, typed }));
                }
            }
        }
    }

    pub(super) fn braces(&self, found: &Found<'_>, out: &mut Vec<Draft>) {
        let (one, name, key, value) = found.places();
        let colon = one[key + KEYS[0].len()..value].strip_prefix(':');
        let (Some(delimiter), true) = (
            colon.map(str::trim),
            one[name + TOOLS[0].len()..].trim_start().starts_with('{'),
        ) else {
            return;
        };
        let end = |text: &str, value: usize| text[value..].find('}').map(|at| value + at + 1);
        let Some(done) = end(one, value) else { return };
        let number = self.number.as_deref().unwrap_or_default();
        let all = !delimiter.is_empty() && number.contains(&format!("{delimiter}{NUMBER}"));
        let delimiters = match delimiter {
            "\"" | "'" | "" => vec![],
            other => vec![other.to_owned()],
        };
        for frame in self.frames((name, done), self.two_names(end)) {
            // The text before the name is the markers', or the payload's.
            for at in boundaries(&frame.open).into_iter().rev() {
                let (open, prefix) = frame.open.split_at(at);
                let payload = Payload::Braces {
                    prefix: prefix.trim().to_owned(),
                    delimiters: delimiters.clone(),
                    all,
                };
                if !open.trim().is_empty() {
                    out.push(frame.unit(pattern(open), payload));
                }
            }
        }
    }
}

/// Python calls, with a marker or without.
fn bare_python(frame: &Frame, payload: Payload) -> Vec<Draft> {
    let open = pattern(&frame.open);
    if !open.is_empty() {
        return vec![frame.unit(open, payload)];
    }
    if !matches!(
        payload,
        Payload::Python {
            brackets: "required",
            ..
        }
    ) {
        return vec![];
    }
    let mut draft = frame.unit("$^[".to_owned(), payload);
    draft.unit.probe = Some("[$_$name(".to_owned());
    draft.unit.offered = true;
    vec![draft]
}
