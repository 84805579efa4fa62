//! How calls are written: hypotheses from what changes between turns that differ in one thing, from simple to rich.

use toolglot::json::{Value as Json, json};

use super::asked::{COUNT, KEYS, NUMBER, SAID, THOUGHT, TOOLS, Turn, VALUES};
use super::draft::{Draft, Keys, Params, Payload, Section, Unit};
use super::text::{
    boundaries, inner_pattern, is_marker, pattern, pieces, shared_ends, shared_starts, tokens,
};
use super::writer::Writer;

/// At most so many places where a call's markers may end are tried.
const SPLITS: usize = 6;

/// What the template writes for the turns that are compared.
pub(super) struct Seen {
    /// One call with one argument, with two, and with a number.
    one: String,
    both: Option<String>,
    number: Option<String>,
    /// Whether markup in a value is written as CDATA.
    cdata: bool,
    /// Two calls.
    two: Option<String>,
    /// A call after text, and after a thought.
    after_text: Option<String>,
    after_thought: Option<String>,
    /// Between a thought and text, and after any text.
    between: String,
    end: String,
    /// The beginning of the model's turn.
    header: String,
    /// The id of the first call.
    id: String,
}

impl Seen {
    pub fn new(writer: &Writer) -> Result<Self, crate::TemplateError> {
        let write = |turn: Turn| writer.write(&turn).map(|written| written.reply);
        let first = json!({(KEYS[0]): VALUES[0]});
        let second = json!({(KEYS[0]): VALUES[1]});
        let both = json!({(KEYS[0]): VALUES[0], (KEYS[1]): VALUES[1]});
        let one = || Turn::call(TOOLS[0], first.clone());
        let after = |turn: Turn, word: &str| {
            let text = writer.after(&turn).ok()?;
            text.split_once(word).map(|(_, after)| after.to_owned())
        };
        let between = after(Turn::text(SAID).thinking(THOUGHT), THOUGHT);
        let between = between.as_deref().and_then(|text| text.split_once(SAID));
        Ok(Self {
            one: write(one())?,
            both: write(Turn::call(TOOLS[0], both)).ok(),
            number: write(Turn::call(TOOLS[0], json!({(COUNT): NUMBER}))).ok(),
            cdata: write(Turn::call(TOOLS[0], json!({(KEYS[0]): "a <b> & c"})))
                .is_ok_and(|text| text.contains("<![CDATA[a <b> & c]]>")),
            two: write(one().and(TOOLS[1], second))
                .ok()
                .filter(|text| text.contains(VALUES[1]))
                .map(|text| same_names(&text))
                // Ids differ as values do.
                .map(|text| match writer.form.named_ids {
                    true => text,
                    false => text.replace(&writer.id(TOOLS[1], 1), &writer.id(TOOLS[0], 0)),
                }),
            after_text: after(one().saying(SAID), SAID),
            after_thought: after(one().thinking(THOUGHT), THOUGHT),
            between: between
                .map(|(between, _)| between.to_owned())
                .unwrap_or_default(),
            end: writer.end().unwrap_or_default(),
            header: writer.header()?,
            id: writer.id(TOOLS[0], 0),
        })
    }

    /// What belongs to the call of the text before it, the likeliest first; `call` is how the call goes on.
    fn leads<'t>(&self, before: &'t str, call: &str) -> Vec<&'t str> {
        let own = self.lead(before, call);
        let mut out = vec![own];
        // A thought that is empty without a call to say so: its closer may be the first marker.
        let ends = |context: &String| context.trim_start().starts_with(&format!("{own}{call}"));
        if self.after_thought.as_ref().is_some_and(ends)
            && let Some(first) = tokens(own).next().filter(|token| is_marker(token))
        {
            out.push(&own[first.len()..]);
        }
        out
    }

    fn lead<'t>(&self, before: &'t str, call: &str) -> &'t str {
        let mut own = before;
        for context in [&self.after_text, &self.after_thought]
            .into_iter()
            .flatten()
        {
            let starts = boundaries(before).into_iter().map(|at| &before[at..]);
            let same = |start: &&str| context.contains(&format!("{start}{call}"));
            if let Some(shorter) = starts
                .into_iter()
                .find(same)
                .filter(|start| start.len() < own.len())
            {
                own = shorter;
            }
        }
        // The end of an empty thought, and what follows it before a text; then the end of an empty text.
        let start = own.trim_start();
        let between = self.between.trim();
        let own = start
            .strip_prefix(between)
            .filter(|_| !between.is_empty())
            .unwrap_or(own);
        let start = own.trim_start();
        let ended = shared_starts(start, self.end.trim_start());
        let own = ended
            .first()
            .filter(|ended| !ended.is_empty())
            .map_or(own, |ended| &start[ended.len()..]);
        own
    }

    /// A call as the template wrote it, without what precedes it in a turn, under each hypothesis.
    pub fn samples(&self) -> Vec<String> {
        let mut out: Vec<String> = self
            .drafts()
            .into_iter()
            .map(|draft| draft.sample)
            .collect();
        out.sort();
        out.dedup();
        out
    }

    /// All hypotheses about the calls.
    pub fn drafts(&self) -> Vec<Draft> {
        let one = self.one.as_str();
        let Some(value) = one.find(VALUES[0]) else {
            return vec![];
        };
        let Some(key) = one[..value].rfind(KEYS[0]) else {
            return vec![];
        };
        let mut out = vec![];
        self.json(one, value, &mut out);
        let name = one[..key].rfind(TOOLS[0]);
        if let Some(name) = name {
            let found = Found {
                one,
                name,
                key,
                value,
            };
            self.arguments(&found, &mut out);
            self.python(&found, &mut out);
            self.braces(&found, &mut out);
            self.params(&found, &mut out);
        }
        out
    }

    /// The frames of calls that extend from one place to another, in the turn with one call and in the turn with two.
    fn frames(
        &self,
        (start, end): (usize, usize),
        places: Option<[(usize, usize); 2]>,
    ) -> Vec<Frame> {
        let one = self.one.as_str();
        let (call, after) = (&one[start..end], &one[end..]);
        let leads = self.leads(&one[..start], call);
        let alone = leads.iter().map(|before| Frame::new(before, call, after));
        let Some((two, [(start, first), (second, last)])) = self.two.as_deref().zip(places) else {
            return alone.collect();
        };
        let between = &two[first..second];
        // Several calls may be framed otherwise than one.
        let several = self.leads(&two[..start], &two[start..first]);
        let mut contexts: Vec<(&str, &str)> = leads.iter().map(|before| (*before, after)).collect();
        contexts.extend(several.iter().map(|before| (*before, &two[last..])));
        contexts.dedup();
        let mut out = vec![];
        for (before, after) in contexts {
            // The prompt may have written the beginning of the first opener.
            let opened = format!("{}{before}", self.header);
            for open in shared_ends(&opened, between).into_iter().take(SPLITS) {
                let rest = &between[..between.len() - open.len()];
                for close in shared_starts(after, rest).into_iter().take(SPLITS) {
                    let separator = rest[close.len()..].trim();
                    let outer = before
                        .len()
                        .checked_sub(open.len())
                        .map_or("", |at| &before[..at]);
                    let mut section = Section {
                        open: pattern(outer),
                        close: pattern(&after[close.len()..]),
                        separator: pattern(separator),
                    };
                    // What no section has opened ends the turn, or stands between blocks.
                    let mut others = vec![];
                    if section.open.is_empty() {
                        let Section {
                            close, separator, ..
                        } = std::mem::take(&mut section);
                        others = vec![close, separator];
                    }
                    let before = if open.len() > before.len() {
                        open
                    } else {
                        before
                    };
                    out.push(Frame {
                        open: open.to_owned(),
                        close: close.to_owned(),
                        section: (section != Section::default()).then_some(section),
                        others,
                        sample: format!("{before}{call}{after}"),
                        pair: Some(format!("{before}{}", &two[start..])),
                    });
                }
            }
        }
        // A separator is the last resort.
        out.sort_by_key(|frame| !frame.separator().is_empty());
        out
    }
}

/// The places of a call's parts in the turn with one call.
struct Found<'t> {
    one: &'t str,
    name: usize,
    key: usize,
    value: usize,
}

#[derive(Clone, Debug)]
struct Frame {
    open: String,
    close: String,
    section: Option<Section>,
    /// What stands after calls and between them, but belongs to no section.
    others: Vec<String>,
    /// A call in this frame, as the template wrote it, and two.
    sample: String,
    pair: Option<String>,
}

impl Frame {
    /// A call with nothing around it but these markers.
    fn new(open: &str, call: &str, close: &str) -> Self {
        Self {
            open: open.to_owned(),
            close: close.to_owned(),
            section: None,
            others: vec![],
            sample: format!("{open}{call}{close}"),
            pair: None,
        }
    }

    /// What stands between calls.
    fn separator(&self) -> &str {
        let own = self
            .section
            .as_ref()
            .map(|section| section.separator.as_str());
        own.or(self.others.get(1).map(String::as_str))
            .unwrap_or_default()
    }

    /// A call in this frame; `open` is its pattern.
    fn unit(&self, open: String, payload: Payload) -> Draft {
        Draft {
            section: self.section.clone(),
            unit: Unit {
                open,
                close: pattern(&self.close),
                payload,
                name: None,
                bare: None,
                more: None,
                offered: false,
                probe: None,
            },
            ids: None,
            sample: self.sample.clone(),
            pair: self.pair.clone(),
            untyped_json: true,
            reasoning: vec![],
            anywhere: false,
            framing: self.others.iter().flat_map(|text| pieces(text)).collect(),
            messages: vec![],
            turn: vec![],
        }
    }
}

/// Calls that are JSON, or Python's spelling of it, and name their tools.
impl Seen {
    fn json(&self, one: &str, value: usize, out: &mut Vec<Draft>) {
        for start in openers(one, value) {
            let Some(found) = literal(&one[start..]) else {
                continue;
            };
            let end = start + found.len;
            let Some(keys) = (end > value).then(|| keys(&found.json, &self.id)).flatten() else {
                continue;
            };
            let list = found.json.is_array();
            let payload = Payload::Json {
                keys,
                python: found.python,
            };
            for frame in self.frames((start, end), self.two_literals()) {
                out.extend(json_units(&frame, &payload, list));
            }
            // A list holds all calls.
            if list || self.two.is_none() {
                let call = &one[start..end];
                let alone = Frame::new(self.lead(&one[..start], call), call, &one[end..]);
                out.splice(0..0, json_units(&alone, &payload, list));
            }
        }
    }

    /// The literals of both calls in the turn with two, if they are apart.
    fn two_literals(&self) -> Option<[(usize, usize); 2]> {
        let two = self.two.as_deref()?;
        let place = |name: &str, value: &str, from: usize| {
            let at = two.find(value)?;
            let start = openers(two, at).into_iter().find(|start| {
                *start >= from
                    && literal(&two[*start..]).is_some_and(|found| {
                        let text = &two[*start..*start + found.len];
                        text.contains(value) && text.contains(name)
                    })
            })?;
            Some((start, start + literal(&two[start..])?.len))
        };
        let first = place(TOOLS[0], VALUES[0], 0)?;
        let second = place(TOOLS[1], VALUES[1], first.1)?;
        Some([first, second])
    }
}

/// Calls whose markers name the tool.
impl Seen {
    /// The places of the names and of the payloads' ends in the turn with two calls; `end` finds the end of a payload.
    fn two_names(&self, end: impl Fn(&str, usize) -> Option<usize>) -> Option<[(usize, usize); 2]> {
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

    /// The pattern of an opener: the frame before the name, and what follows it up to the payload.
    fn opener(
        &self,
        open: &str,
        middle: &str,
    ) -> Vec<(String, Option<String>, Option<(String, String)>)> {
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
            let text = format!(
                "{}$_$id$_{}",
                pattern(&open[..first]),
                pattern(&middle[last..])
            );
            out.push((text, None, Some((before.to_owned(), digits.to_owned()))));
        }
        if let Some((start, attribute)) = attribute_of(open) {
            // A name that is written twice is read where the tag has it.
            let start = inner_pattern(start.trim_start()).replace(TOOLS[0], "$name");
            let text = format!(
                "{start}$tag{}",
                inner_pattern(after_attributes(middle).trim_end())
            );
            out.push((text, Some(attribute), None));
        }
        let hole = |text: &str, id: &str| match text.split_once(id) {
            Some((a, b)) => format!("{}$id{}", inner_pattern(a), inner_pattern(b)),
            None => inner_pattern(text),
        };
        let text = format!(
            "{}$name{}",
            hole(open.trim_start(), &self.id),
            hole(middle.trim_end(), &self.id)
        );
        out.push((text, None, None));
        out
    }

    fn arguments(&self, found: &Found<'_>, out: &mut Vec<Draft>) {
        let Found { one, name, key, .. } = *found;
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
            for (open, attribute, ids) in self.opener(&frame.open, middle) {
                let mut draft = frame.unit(open, payload.clone());
                draft.unit.name = attribute;
                draft.ids = ids;
                out.push(draft);
            }
        }
    }

    fn python(&self, found: &Found<'_>, out: &mut Vec<Draft>) {
        let Found {
            one,
            name,
            key,
            value,
        } = *found;
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

    fn braces(&self, found: &Found<'_>, out: &mut Vec<Draft>) {
        let Found {
            one,
            name,
            key,
            value,
        } = *found;
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

    fn params(&self, found: &Found<'_>, out: &mut Vec<Draft>) {
        let Found {
            one,
            name,
            key,
            value,
        } = *found;
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
            for (open, attribute, ids) in self.opener(&frame.open, middle) {
                let tree = params.close.contains("$key");
                let payload = match tree {
                    true => Payload::Tree(params.clone()),
                    false => Payload::Params(params.clone()),
                };
                let mut draft = frame.unit(open, payload);
                draft.unit.name = attribute;
                draft.ids = ids;
                out.push(draft);
            }
        }
    }
}

/// Calls in JSON, with a marker or without.
fn json_units(frame: &Frame, payload: &Payload, list: bool) -> Vec<Draft> {
    let open = pattern(&frame.open);
    if !open.is_empty() {
        return vec![frame.unit(open, payload.clone())];
    }
    // Without a marker the JSON itself must show a call, unless a section has begun.
    let bracket = match list {
        true => "$^[",
        false => "$^{",
    };
    let mut draft = frame.unit(bracket.to_owned(), payload.clone());
    if frame
        .section
        .as_ref()
        .is_some_and(|section| !section.open.is_empty())
    {
        return vec![draft];
    }
    draft.section = None;
    let separator = frame.separator().to_owned();
    draft.unit.more = Some(format!("$_{separator}$_{bracket}").replace("$_$_", "$_"));
    ["start", "line-start", "anywhere"]
        .into_iter()
        .map(|at| {
            let mut draft = draft.clone();
            draft.unit.bare = Some(at);
            draft
        })
        .collect()
}

/// The text with the second call's name as the first one's, except right before its arguments: a name may be written twice.
fn same_names(two: &str) -> String {
    let value = two.find(VALUES[1]).unwrap_or(two.len());
    let Some(at) = two[..value].rfind(TOOLS[1]) else {
        return two.to_owned();
    };
    let (before, after) = two.split_at(at);
    format!("{}{after}", before.replace(TOOLS[1], TOOLS[0]))
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
fn attribute_of(open: &str) -> Option<(&str, String)> {
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
fn after_attributes(text: &str) -> &str {
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

/// Places before `end` at which a literal with brackets may begin, outermost first.
fn openers(text: &str, end: usize) -> Vec<usize> {
    let all = text[..end].char_indices();
    all.filter(|(_, c)| matches!(c, '{' | '['))
        .map(|(at, _)| at)
        .take(64)
        .collect()
}

/// A literal at the beginning of a text.
struct Literal {
    json: Json,
    len: usize,
    python: bool,
}

fn literal(text: &str) -> Option<Literal> {
    let len = balanced(text)?;
    let own = &text[..len];
    if let Ok(json) = own.parse::<Json>() {
        return Some(Literal {
            json,
            len,
            python: false,
        });
    }
    // The values that were asked for hold no quotes.
    let swapped = own.replace('\'', "\"");
    swapped.parse::<Json>().ok().map(|json| Literal {
        json,
        len,
        python: true,
    })
}

/// The length of a bracket with its contents.
fn balanced(text: &str) -> Option<usize> {
    let mut open = vec![];
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => open.push('}'),
            (None, '[') => open.push(']'),
            (None, '}' | ']') => {
                if open.pop() != Some(c) {
                    return None;
                }
                if open.is_empty() {
                    return Some(at + c.len_utf8());
                }
            }
            (None, _) => {}
        }
    }
    None
}

/// The keys of a call in JSON, if it is one.
fn keys(json: &Json, id: &str) -> Option<Keys> {
    let call = match json {
        Json::Array(list) => list.first()?,
        other => other,
    };
    let map = call.as_object()?;
    let arguments = |value: &Json| {
        let read = value.as_str().and_then(|text| text.parse::<Json>().ok());
        read.as_ref().unwrap_or(value).get(KEYS[0]).is_some()
    };
    if map.len() == 1 && map.get(TOOLS[0]).is_some_and(arguments) {
        return Some(Keys {
            name_is_key: true,
            ..Keys::default()
        });
    }
    let named = |value: &Json| value.as_str() == Some(TOOLS[0]);
    let key = |map: &toolglot::json::Map, fits: &dyn Fn(&Json) -> bool| {
        map.iter()
            .find(|(_, value)| fits(value))
            .map(|(key, _)| key.clone())
    };
    let id = key(map, &|value| value.as_str() == Some(id));
    if let (Some(name), Some(arguments)) = (key(map, &named), key(map, &arguments)) {
        return Some(Keys {
            name,
            arguments,
            id,
            ..Keys::default()
        });
    }
    let mut inner = map.iter().filter_map(|(wrapper, value)| {
        let map = value.as_object()?;
        Some(Keys {
            name: key(map, &named)?,
            arguments: key(map, &arguments)?,
            id: id.clone(),
            wrapper: Some(wrapper.clone()),
            name_is_key: false,
        })
    });
    inner.next()
}
