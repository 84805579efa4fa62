//! The twin of the line family: headers at the start of a line.
//!
//! Left open: what an action means if its line, or the white space before its name, holds another header. Such an
//! outcome is marked as open.

use toml::Table;
use toolglot::json::{Map, Value};

use crate::naive::generate::Gen;
use crate::naive::pieces::SENTENCES;
use crate::naive::schema;

use super::json::{Fault, Reader};
use super::pattern::{Fit, Pattern, Walk, is_blank, literal, pattern, walk};
use super::{Outcome, block::spaced};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    Thought,
    Action,
    Input,
    Observation,
    Answer,
    Object,
    Fenced,
    Blob,
}

/// The keys of an action in JSON, and the names that mean an answer.
struct Blob {
    name: String,
    arguments: String,
    answer: Vec<String>,
}

/// A dialect's headers.
pub struct Line {
    /// In text: an action with its name.
    text: Vec<(Pattern, Head)>,
    /// In a block.
    block: Vec<(Pattern, Head)>,
    input: Vec<(Pattern, Head)>,
    words: Vec<String>,
    null: Vec<String>,
    /// The parameter for an input that is not an object.
    plain: Option<String>,
    blob: Option<Blob>,
}

impl Line {
    /// Reads a dialect's file; `None` for other families.
    pub fn new(text: &str) -> Option<Self> {
        let file: Table = text.parse().expect("a built-in file is TOML");
        let table = file.get("line")?.as_table().expect("a table");
        let list = |key: &str| -> Vec<String> {
            let list = table.get(key).and_then(toml::Value::as_array);
            let word = |v: &toml::Value| v.as_str().expect("a string").to_owned();
            list.into_iter().flatten().map(word).collect()
        };
        let word = |table: &Table, key: &str| {
            table
                .get(key)
                .and_then(toml::Value::as_str)
                .map(str::to_owned)
        };
        let blob = table.get("blob").and_then(toml::Value::as_table);
        let blob = blob.map(|blob| Blob {
            name: word(blob, "name").expect("a key"),
            arguments: word(blob, "arguments").expect("a key"),
            answer: blob["answer"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|v| v.as_str().expect("a string").to_owned())
                .collect(),
        });
        let heads = [
            ("thought", Head::Thought),
            ("action", Head::Action),
            ("input", Head::Input),
            ("observation", Head::Observation),
            ("answer", Head::Answer),
        ];
        let (mut text, mut block, mut words) = (vec![], vec![], vec![]);
        for (key, head) in heads {
            let plain = list(key);
            let emphasised = plain.iter().flat_map(|header| emphasised(header));
            let all: Vec<String> = plain.iter().cloned().chain(emphasised).collect();
            let levels = (0..=6).flat_map(|level| {
                let hashes = if level > 0 {
                    "#".repeat(level) + " "
                } else {
                    String::new()
                };
                // Only a word can be a heading.
                let word = |header: &&String| {
                    header.starts_with(|c: char| c.is_alphanumeric() || "*_".contains(c))
                };
                let these = all.iter().filter(move |header| level == 0 || word(header));
                these.map(move |header| format!("{hashes}{header}"))
            });
            for header in levels.collect::<Vec<_>>() {
                let both = [header.clone(), format!("{header} ")];
                block.extend(both.iter().map(|p| (spaced(&pattern(p)), head)));
                match head {
                    Head::Input => {}
                    Head::Action => {
                        text.push((pattern(&format!("{header}$_$name$_\n")), head));
                        text.extend(blob.iter().flat_map(|blob| shown(&header, blob)));
                    }
                    _ => text.extend(both.iter().map(|p| (pattern(p), head))),
                }
                words.push(header);
            }
        }
        let mut input = block.clone();
        input.push((spaced(&pattern("$^{")), Head::Object));
        for info in ["", "json", "JSON"] {
            let fence = pattern(&format!("```{info}$_$^{{"));
            input.push((spaced(&fence), Head::Fenced));
        }
        Some(Self {
            text,
            block,
            input,
            words,
            null: list("null"),
            plain: word(table, "plain"),
            blob,
        })
    }
}

/// The ways in which Markdown may emphasise a header, its colon inside or outside.
fn emphasised(header: &str) -> Vec<String> {
    let word = header.chars().next().is_some_and(char::is_alphanumeric);
    let Some(colon) = header.chars().last().filter(|c| ":：".contains(*c) && word) else {
        return vec![];
    };
    let label = header.strip_suffix(colon).expect("its last character");
    let marks = ["*", "**", "***", "_", "__"].iter();
    marks
        .flat_map(|m| {
            [
                format!("{m}{label}{colon}{m}"),
                format!("{m}{label}{m}{colon}"),
            ]
        })
        .collect()
}

/// The evidence for an action in JSON: everything up to the colon after its first key.
fn shown(header: &str, blob: &Blob) -> Vec<(Pattern, Head)> {
    let mut all = vec![];
    for fence in ["", "$_```", "$_```json", "$_```JSON"] {
        for list in ["$_", "$_[$_"] {
            for key in [&blob.name, &blob.arguments] {
                let json = format!("{header}{fence}{list}{{$_\"{key}\"$_:");
                all.push((pattern(&json), Head::Blob));
            }
        }
    }
    all
}

struct Twin<'a> {
    line: &'a Line,
    input: &'a str,
    tools: Option<&'a Value>,
    out: Outcome,
}

/// Reads an output.
pub fn read(line: &Line, input: &str, tools: Option<&Value>) -> Outcome {
    let mut twin = Twin {
        line,
        input,
        tools,
        out: Outcome::default(),
    };
    twin.text();
    // Left open: an object or a list after an action's header that names no tool may be the input of the action before.
    twin.out.open |= input.match_indices("Action").any(|(at, _)| {
        let line = input[at..].lines().next().unwrap_or_default();
        let Some((colon, sign)) = line.char_indices().find(|(_, c)| ":：".contains(*c)) else {
            return false;
        };
        let rest = &input[at + colon + sign.len_utf8()..];
        let rest = rest.trim_start_matches(['*', '_', ' ', '\t', '\r', '\n']);
        let fence = rest.strip_prefix("```");
        let info = fence.unwrap_or(rest);
        let rest = info
            .trim_start_matches("json")
            .trim_start_matches("JSON")
            .trim_start();
        let object = rest.strip_prefix('[').unwrap_or(rest).trim_start();
        let key = object.strip_prefix('{').map(str::trim_start);
        let names = key.is_some_and(|key| key.starts_with("\"action"));
        let header = line[..colon].contains("Input");
        let cut = fence.is_some() && rest.is_empty();
        !header && (cut || rest.starts_with(['[', '{'])) && !names
    });
    twin.out
}

fn at<'p>(input: &str, from: usize, patterns: &'p [(Pattern, Head)]) -> Walk<Head> {
    let patterns: Vec<(&'p Pattern, Head)> = patterns.iter().map(|(p, h)| (p, *h)).collect();
    walk(input, from, &patterns)
}

impl Twin<'_> {
    fn text(&mut self) {
        let input = self.input;
        let mut from = 0;
        // The start of the line; `None` after a header on it.
        let mut line = Some(0);
        let mut thought = false;
        while from < input.len() {
            let begins = line.is_some_and(|line| {
                let before = &input[line..from];
                before.len() <= 3 && before.bytes().all(|b| matches!(b, b' ' | b'\t'))
            });
            let found = match begins.then(|| at(input, from, &self.line.text)) {
                Some(Walk::Fits(fit)) => {
                    self.out.open |= fit.action == Head::Action && self.spoilt(from, fit.end);
                    Some(fit)
                }
                Some(Walk::Cut(_)) if self.spoilt(from, input.len()) => {
                    self.out.open = true;
                    return;
                }
                // A truncated header leaves what was there before, unless it names a declared tool.
                Some(Walk::Cut(holes)) => self.last(from, holes.get("name")),
                Some(Walk::Breaks(end)) => {
                    self.out.open |= self.spoilt(from, end);
                    None
                }
                None => None,
            };
            let Some(fit) = found else {
                let c = input[from..].chars().next().expect("not at the end");
                let out = &mut self.out;
                if thought {
                    &mut out.reasoning
                } else {
                    &mut out.text
                }
                .push(c);
                from += c.len_utf8();
                if c == '\n' {
                    line = Some(from);
                }
                continue;
            };
            thought = fit.action == Head::Thought;
            (from, line) = match fit.action {
                Head::Action => {
                    let end = self.block(&fit, from);
                    (end, Some(end))
                }
                Head::Blob => {
                    let end = self.blob(from, fit.end);
                    (end, Some(end))
                }
                Head::Answer if self.out.calls.is_empty() => (fit.end, None),
                Head::Observation | Head::Answer => {
                    let end = self.hidden(fit.end, !self.out.calls.is_empty());
                    (end, Some(end))
                }
                _ => (fit.end, None),
            };
        }
    }

    /// Whether a header within the line begins there.
    fn spoilt(&self, from: usize, end: usize) -> bool {
        let line = &self.input[from..end];
        let heads: Vec<String> = self.line.text.iter().map(|(p, _)| literal(p)).collect();
        let own = heads.iter().filter(|head| line.starts_with(head.as_str()));
        let own = own.map(String::len).max().unwrap_or(0);
        heads.iter().any(|head| line[own..].contains(head.as_str()))
    }

    /// The action in which the input ends: it counts if the tool is declared.
    fn last(&self, from: usize, name: Option<&String>) -> Option<Fit<Head>> {
        let name = name?;
        let rest = self.input[from..].trim_end();
        let whole = rest.ends_with(name.as_str()) && schema::tool(self.tools, name).is_some();
        let null = rest.ends_with(name.as_str()) && self.line.null.contains(name);
        (whole || null).then(|| Fit {
            end: self.input.len(),
            action: Head::Action,
            holes: [("name", name.clone())].into(),
        })
    }

    /// Reads the rest of an action, and returns where text continues.
    fn block(&mut self, fit: &Fit<Head>, start: usize) -> usize {
        let name = fit.holes["name"].clone();
        let input = self.input;
        let mut end = fit.end;
        match at(input, end, &self.line.block) {
            Walk::Fits(fit) if fit.action == Head::Input => {
                end = fit.end;
                // What a second header of the input is, the vectors show.
                self.out.open |= self.input_follows(end);
            }
            Walk::Fits(next) => {
                let line = input[next.end..].split_inclusive('\n').next();
                let line = line.unwrap_or_default();
                if next.action == Head::Action && line.trim() == name {
                    // The line is repeated.
                    let end = next.end + line.len();
                    let holes = fit.holes.clone();
                    return self.block(&Fit { end, holes, ..next }, start);
                }
                let stood = self.without(&name);
                return self.behind(&next, end, stood);
            }
            Walk::Breaks(_) => {
                self.without(&name);
                return end;
            }
            Walk::Cut(_) => {
                if input[end..].trim().is_empty() {
                    self.without(&name);
                }
                return input.len();
            }
        }
        let fenced = match at(input, end, &self.line.input) {
            Walk::Fits(fit) if matches!(fit.action, Head::Object | Head::Fenced) => {
                end = fit.end;
                fit.action == Head::Fenced
            }
            Walk::Fits(fit) => {
                let stood = self.without(&name);
                return self.behind(&fit, end, stood);
            }
            Walk::Breaks(_) if self.line.null.contains(&name) || self.line.plain.is_none() => {
                return self.hidden(end, false);
            }
            Walk::Breaks(_) => return self.plain(&name, end),
            // The beginning of an object's fence, or of a header, is text if nothing follows.
            Walk::Cut(_) if !input[end..].trim().is_empty() => {
                self.out.open = true;
                return input.len();
            }
            Walk::Cut(_) => {
                self.without(&name);
                return input.len();
            }
        };
        if self.line.null.contains(&name) {
            return self.hidden(end, false);
        }
        let mut reader = Reader {
            input,
            at: end,
            python: false,
        };
        let mut arguments = Map::new();
        let read = reader.members(|reader, key| {
            arguments.insert(key, reader.value()?);
            Ok(())
        });
        match read {
            Ok(()) => self
                .out
                .calls
                .push((name.clone(), Value::Object(arguments))),
            Err(Fault::At(broken)) => return self.broken(broken, start),
            Err(Fault::Cut) => return input.len(),
        }
        let end = reader.at;
        self.tail(end, fenced)
    }

    /// Broken input is hidden up to a header; without a header it is text from `start` on.
    fn broken(&mut self, at: usize, start: usize) -> usize {
        // A header may be where the line begins with what broke it.
        let before = self.input[..at].trim_end_matches([' ', '\t']);
        let line = before.strip_suffix('\n').map_or(at, str::len);
        // The stream may end in one.
        self.out.open |= matches!(self::at(self.input, at, &self.line.block), Walk::Cut(_));
        let end = self.hidden(line, false);
        if end == self.input.len() {
            // A result that the model wrote after it would be hidden anyway.
            self.out.open |= self
                .line
                .words
                .iter()
                .any(|w| self.input[at..].contains(literal(&pattern(w)).as_str()));
            self.out.text.push_str(&self.input[start..]);
        }
        end
    }

    /// An input that is not an object: everything up to a header.
    fn plain(&mut self, name: &str, from: usize) -> usize {
        let input = self.input;
        let from = self.unspaced(from);
        let mut next = from;
        let mut header = None;
        while let Some(len) = input[next..].find('\n') {
            next += len + 1;
            if let Walk::Fits(fit) = at(input, next, &self.line.block) {
                header = Some((next, fit));
                break;
            }
        }
        let end = header.as_ref().map_or(input.len(), |(next, _)| *next);
        let text = input[from..end].trim();
        let tool = schema::tool(self.tools, name);
        let key = self.line.plain.clone().unwrap_or_default();
        // Left to the engine: which parameter takes it, quotations, fences, and words that mean nothing.
        self.out.open |= tool.is_some_and(|tool| !schema::required(tool).is_empty())
            || text.starts_with(['"', '\'', '`'])
            || self.line.null.iter().any(|null| null == text);
        let arguments = [(key, Value::String(text.to_owned()))]
            .into_iter()
            .collect();
        self.out
            .calls
            .push((name.to_owned(), Value::Object(arguments)));
        match header {
            Some((_, fit)) => self.behind(&fit, end, true),
            None => input.len(),
        }
    }

    /// An action in JSON that begins at `start`, with evidence up to `end`.
    fn blob(&mut self, start: usize, end: usize) -> usize {
        let input = self.input;
        let header = &input[start..end];
        let object = header.rfind('{').expect("it shows an object");
        let before = header[..object].trim_end();
        let list = before.ends_with('[');
        let fenced = before.trim_end_matches('[').contains("```");
        let at = if list { before.len() - 1 } else { object };
        let mut reader = Reader {
            input,
            at: start + at,
            python: false,
        };
        let value = match reader.value() {
            Ok(value) => value,
            Err(Fault::At(broken)) => {
                self.out.open |= list;
                return self.broken(broken, start);
            }
            Err(Fault::Cut) => {
                self.out.open |= list;
                return input.len();
            }
        };
        let end = reader.at;
        let items = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        for item in items {
            self.item(&item);
        }
        self.tail(end, fenced)
    }

    fn item(&mut self, item: &Value) {
        let blob = self.line.blob.as_ref().expect("it was shown");
        let name = item.get(&blob.name).and_then(Value::as_str);
        let arguments = item.get(&blob.arguments);
        let members = item.as_object().map_or(0, Map::len);
        let known = usize::from(name.is_some()) + usize::from(arguments.is_some());
        // Left to the engine: other keys, strings and answers.
        let (Some(name), true) = (name, members == known) else {
            self.out.open = true;
            return;
        };
        let empty = Value::Object(Map::new());
        match arguments.unwrap_or(&empty) {
            _ if blob.answer.iter().any(|answer| answer == name) => self.out.open = true,
            Value::Null => self.out.calls.push((name.to_owned(), empty)),
            object @ Value::Object(_) => self.out.calls.push((name.to_owned(), object.clone())),
            _ => self.out.open = true,
        }
    }

    /// The rest of the line after a complete object, and where text continues.
    fn tail(&mut self, end: usize, fenced: bool) -> usize {
        let input = self.input;
        let tail = pattern(if fenced { "$_```$_\n" } else { "$_\n" });
        // A newline is white space too, so the rest of the line is read by hand.
        let rest = &input[end..];
        let line = match fenced {
            false => rest
                .bytes()
                .take_while(|b| is_blank(*b))
                .any(|b| b == b'\n')
                .then(|| end + rest.find('\n').expect("there is one") + 1),
            true => match walk(input, end, &[(&tail[..tail.len() - 2].to_vec(), ())]) {
                Walk::Fits(fit) => {
                    let rest = &input[fit.end..];
                    let blanks = rest.bytes().take_while(|b| is_blank(*b)).count();
                    rest[..blanks].find('\n').map(|n| fit.end + n + 1)
                }
                _ => None,
            },
        };
        let Some(next) = line else {
            let rest_is_cut =
                fenced && "```".starts_with(rest.trim_start().get(..3).unwrap_or(rest.trim()));
            return if rest_is_cut && rest.trim_start().trim_start_matches('`').trim().is_empty() {
                input.len()
            } else {
                end
            };
        };
        match at(input, next, &self.line.block) {
            Walk::Fits(fit) => self.behind(&fit, next, true),
            _ => next,
        }
    }

    /// A header after an action: hidden with its lines, or the end of the block, whose bytes ended at `end`. A call
    /// hides the answer.
    fn behind(&mut self, fit: &Fit<Head>, end: usize, stood: bool) -> usize {
        self.out.open |= stood && fit.action == Head::Input;
        match fit.action {
            Head::Answer if !stood => self.unspaced(end),
            Head::Observation | Head::Input | Head::Answer => self.hidden(fit.end, stood),
            _ => self.unspaced(end),
        }
    }

    fn input_follows(&self, end: usize) -> bool {
        let next = at(self.input, end, &self.line.block);
        matches!(next, Walk::Fits(fit) if fit.action == Head::Input)
    }

    fn unspaced(&self, at: usize) -> usize {
        at + self.input[at..]
            .bytes()
            .take_while(|b| is_blank(*b))
            .count()
    }

    /// Hides lines up to a header that ends that. An answer ends it unless `answers` hides answers too.
    fn hidden(&mut self, from: usize, answers: bool) -> usize {
        let input = self.input;
        let mut next = from;
        while let Some(len) = input[next..].find('\n') {
            next += len + 1;
            if let Walk::Fits(fit) = at(input, next, &self.line.block) {
                let blanks = input[next..].bytes().take_while(|b| is_blank(*b)).count();
                match fit.action {
                    Head::Observation | Head::Input => next = fit.end,
                    Head::Answer if answers => next = fit.end,
                    _ => return next + blanks,
                }
            }
        }
        input.len()
    }

    /// Adds the call of an action without input; returns false if it is not a call.
    fn without(&mut self, name: &str) -> bool {
        let tool = schema::tool(self.tools, name);
        let needs = tool.is_some_and(|tool| !schema::required(tool).is_empty());
        let is = !needs && !self.line.null.iter().any(|null| null == name);
        if is {
            let call = (name.to_owned(), Value::Object(Map::new()));
            self.out.calls.push(call);
        }
        is
    }
}

/// One output.
pub fn sample(line: &Line, seed: u64) -> String {
    let mut g = Gen::new(seed);
    let header = |g: &mut Gen, line: &Line| {
        let at = g.below(line.words.len());
        line.words[at].replace("$digits", "7")
    };
    for _ in 0..=g.below(5) {
        let head = header(&mut g, line);
        g.push(head.clone());
        let gap = g.pick(&[" ", " ", "", "  "]);
        g.push(gap);
        let value = match g.below(10) {
            0..4 => g.pick(&["go", "read_file", "None", "a b", "查", "t-1"]),
            4..8 => g.pick(&[
                "{\"path\": \"a\"}",
                "{}",
                "{\"n\": [1, {\"x\": null}]}",
                "```json\n{\"n\": 1}\n```",
                "{\"n\": }",
                "{\"s\": \"\\nAction: x\\n\"}",
                "```\n{}\n```",
                "{\"n\": 1} and more",
                "text",
                "a b",
                "```json\n{\"action\": \"read_file\", \"action_input\": {\"path\": \"b\"}}\n```",
                "{\"action\": \"t-1\", \"action_input\": null}",
                "[{\"action_input\": {}, \"action\": \"go\"}, {\"action\": \"x\"}]",
                "{\"action\": \"x\", \"action_input\": }",
                "[1]",
                "{\"cut",
            ]),
            _ => g.pick(SENTENCES),
        };
        g.push(value);
        let end = g.pick(&["\n", "\n", "\n", "\n\n", " \n", "\n  ", "\n     ", ""]);
        g.push(end);
    }
    if g.chance(30) {
        g.mutate(|g| header(g, line));
    }
    g.finish()
}
