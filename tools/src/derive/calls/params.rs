//! Calls whose parameters stand between tags.

use super::super::asked::{COUNT, KEYS, NUMBER, TOOLS, VALUES};
use super::super::draft::{Draft, Params, Payload};
use super::super::text::{inner_pattern, pattern, shared_ends, shared_starts};
use super::{Found, SPLITS, Seen};

impl Seen {
    pub(super) fn params(&self, found: &Found<'_>, out: &mut Vec<Draft>) {
        let (one, name, key, value) = found.places();
        let Some(both) = self.both.as_deref() else {
            return;
        };
        let done = value + VALUES[0].len();
        let place = |word: &str| both.find(word);
        let (Some(first), Some(second_value)) = (place(VALUES[0]), place(VALUES[1])) else {
            return;
        };
        let first = first + VALUES[0].len();
        let Some(second) = both[..second_value]
            .rfind(KEYS[1])
            .filter(|second| *second >= first)
        else {
            return;
        };
        let head = &one[name + TOOLS[0].len()..key];
        let inside = &one[key + KEYS[0].len()..value];
        let between = &both[first..second];
        let tail = &one[done..];
        // What the number's tag has in place of the text's.
        let number = self.number.as_deref().and_then(|text| {
            let value = text.find(&NUMBER.to_string())?;
            let key = text[..value].rfind(COUNT)?;
            Some(&text[key + COUNT.len()..value])
        });
        for open in shared_ends(head, between).into_iter().take(SPLITS) {
            if open.trim().is_empty() {
                continue;
            }
            for close in shared_starts(tail, &between[..between.len() - open.len()])
                .into_iter()
                .take(SPLITS)
            {
                if close.trim().is_empty()
                    || !between[close.len()..between.len() - open.len()]
                        .trim()
                        .is_empty()
                {
                    continue;
                }
                for mut params in tags(open, inside, close, number) {
                    params.cdata = self.cdata;
                    self.param_units(
                        found,
                        (&head[..head.len() - open.len()], done + close.len()),
                        &params,
                        out,
                    );
                }
            }
        }
    }

    /// Calls whose parameters are written so; the call's own opener ends with `middle`, its payload at `end`.
    fn param_units(
        &self,
        found: &Found<'_>,
        (middle, end): (&str, usize),
        params: &Params,
        out: &mut Vec<Draft>,
    ) {
        let name = found.name;
        let length = end - found.value;
        let ends =
            |text: &str, value: usize| (value + length <= text.len()).then_some(value + length);
        // The second value has another length.
        let longer = VALUES[1].len() - VALUES[0].len();
        let places = self
            .two_names(ends)
            .map(|[first, (second, end)]| [first, (second, end + longer)]);
        for frame in self.frames((name, end), places) {
            if frame.close.trim().is_empty()
                && frame
                    .section
                    .as_ref()
                    .is_none_or(|section| section.close.is_empty())
            {
                continue;
            }
            let payload = match params.close.contains("$key") {
                true => Payload::Tree(params.clone()),
                false => Payload::Params(params.clone()),
            };
            for opener in self.openers(&frame.open, middle) {
                out.push(opener.draft(&frame, payload.clone()));
            }
        }
    }
}

/// The parameters' tags: what precedes the key, what stands between key and value, and what follows the value.
fn tags(open: &str, inside: &str, close: &str, number: Option<&str>) -> Vec<Params> {
    let newline = inside.ends_with('\n') && close.starts_with('\n');
    let frames: &[&'static str] = match newline {
        true => &["newline", "trim"],
        false => &["verbatim", "trim"],
    };
    let mut forms: Vec<Params> = vec![];
    let form = |open: String| Params {
        open,
        close: pattern(&close.replace(KEYS[0], "\u{0}")).replace('\u{0}', "$key"),
        ..Params::default()
    };
    if let Some((start, attribute)) = attribute_of(open) {
        let rest = pattern(after_attributes(inside));
        let mut params = form(format!("{}$tag{rest}", pattern(start)));
        params.name = Some(attribute);
        if let Some(hint) = number.and_then(|number| different_attribute(inside, number)) {
            params.hint = Some(hint);
        }
        forms.push(params);
    } else if let Some(number) = number.filter(|number| *number != inside) {
        // A type between markers.
        let start = shared_starts(inside, number)
            .into_iter()
            .next()
            .unwrap_or_default();
        let end = shared_ends(
            &inside[start.len()..],
            &number[start.len().min(number.len())..],
        );
        let end = end.into_iter().next().unwrap_or_default();
        let text = &inside[start.len()..inside.len() - end.len()];
        let open = format!(
            "{}$key{}$type{}",
            pattern(open),
            inner_pattern(start),
            pattern(end)
        );
        let mut params = form(open);
        params.hint = Some((None, vec![text.trim().to_owned()]));
        forms.push(params);
    }
    forms.push(form(format!(
        "{}$key{}",
        pattern(open),
        inner_pattern(inside.trim_end())
    )));
    let framed = |params: &Params| {
        frames
            .iter()
            .map(|frame| Params {
                frame,
                ..params.clone()
            })
            .collect::<Vec<_>>()
    };
    forms.iter().flat_map(framed).collect()
}

/// The attribute whose value the text goes on with, and the tag before its attributes: `<invoke name="`.
pub(super) fn attribute_of(open: &str) -> Option<(&str, String)> {
    let text = open
        .strip_suffix(['"', '\''])?
        .trim_end()
        .strip_suffix('=')?;
    let start = text.rfind(char::is_whitespace)?;
    let attribute = text[start..].trim();
    let tag = text.rfind('<')?;
    let end = tag + text[tag..].find(char::is_whitespace)?;
    (!attribute.is_empty()).then(|| (&text[..end], attribute.to_owned()))
}

/// What follows the attributes of a tag, whose last value is open: `" index="1">`.
pub(super) fn after_attributes(text: &str) -> &str {
    let mut rest = text.strip_prefix(['"', '\'']).unwrap_or(text);
    while let Some((name, after)) = rest.split_once("=\"") {
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':');
        if !name.starts_with(char::is_whitespace) || !name.trim().chars().all(word) {
            break;
        }
        let Some((_, after)) = after.split_once('"') else {
            break;
        };
        rest = after;
    }
    rest
}

/// The attribute that differs between a text and a number, and its value for texts.
fn different_attribute(text: &str, number: &str) -> Option<(Option<String>, Vec<String>)> {
    let pairs = |text: &str| -> Vec<(String, String)> {
        let mut out = vec![];
        let mut rest = text;
        while let Some(at) = rest.find("=\"") {
            let name = rest[..at]
                .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
                .unwrap_or_default();
            let value = &rest[at + 2..];
            let end = value.find('"').unwrap_or(value.len());
            out.push((name.to_owned(), value[..end].to_owned()));
            rest = &value[end..];
        }
        out
    };
    let other = pairs(number);
    let own = pairs(text);
    let found = own.into_iter().find(|pair| !other.contains(pair))?;
    Some((Some(found.0), vec![found.1]))
}
