//! Text between blocks: the openers of blocks, reasoning, and framing.

use std::collections::BTreeMap;

use crate::naive::schema;

use super::Twin;
use super::channels;
use super::json::Reader;
use super::pattern::{Part, Pattern, Walk, fixed, literal, pattern, walk};
use super::spec::Reasoning;
use crate::naive::{may_be_link, quote_before};

/// An opener that is recognised in text.
struct Opener<'s> {
    literal: String,
    /// The literal is the first byte of the payload.
    peek: bool,
    probe: Vec<Pattern>,
    /// No evidence is required.
    sure: bool,
    offered: bool,
    /// It opens a call without its section.
    alone: bool,
    /// JSON that must show a call: within this many bytes, at this kind of place.
    bare: Option<(usize, &'s str)>,
}

impl Opener<'_> {
    /// Whether, if it is text, a later closer may be its own. Not so for a literal with many meanings.
    fn pairs(&self) -> bool {
        self.bare.is_none() && self.literal.len() > 1
    }
}

enum Opens {
    Yes,
    Text,
    /// The end of the reply truncates it: whether it is text, and tokens after it, is left open.
    Cut,
    /// What looked like a call in JSON is text up to there.
    Spoilt(usize),
}

fn looks_special(marker: &str) -> bool {
    ["<|", "|>", "｜", "]<]"]
        .iter()
        .any(|part| marker.contains(part))
}

/// Closers of thoughts, also with blanks: `</think >`, `</ think>`, `<|close|> think <|sep|>`.
fn with_blanks(closers: &[String]) -> Vec<String> {
    let mut out = closers.to_vec();
    for closer in closers {
        let shapes = [("</", ">"), ("[/", "]")];
        let plain = shapes.iter().find_map(|(open, close)| {
            let name = closer.strip_prefix(open)?.strip_suffix(close)?;
            Some(((*open).to_owned(), name, (*close).to_owned()))
        });
        let special = || {
            let (before, rest) = closer.split_once("|>")?;
            let (name, behind) = rest.split_once("<|")?;
            Some((format!("{before}|>"), name, format!("<|{behind}")))
        };
        let Some((before, name, behind)) = plain.or_else(special) else {
            continue;
        };
        let word = |c: char| c.is_ascii_alphanumeric() || "_-:".contains(c);
        if !name.is_empty() && name.chars().all(word) {
            for (one, other) in [("", " "), (" ", ""), (" ", " "), ("", "\n")] {
                out.push(format!("{before}{one}{name}{other}{behind}"));
            }
        }
    }
    out
}

impl<'a> Twin<'a> {
    fn openers(&self) -> Vec<Opener<'a>> {
        let mut out: Vec<Opener<'a>> = vec![];
        let mut add = |open: &Pattern, probe: Vec<Pattern>, offered, alone, bare: Option<_>| {
            let literal = literal(open);
            let peek = matches!(open.first(), Some(Part::Peek(_)));
            // The first byte of a payload is not evidence by itself.
            if literal.is_empty() || (peek && probe.is_empty() && bare.is_none()) {
                return;
            }
            match out.iter_mut().find(|have| have.literal == literal) {
                Some(have) => {
                    have.sure |= probe.is_empty();
                    have.probe.extend(probe);
                    have.offered &= offered;
                }
                None => out.push(Opener {
                    peek,
                    literal,
                    sure: probe.is_empty(),
                    probe,
                    offered,
                    alone,
                    bare,
                }),
            }
        };
        // If openers determine `$x`, every spelling of them is recognised.
        let spelt = |open: &Pattern, probe: &[Pattern]| -> Vec<(Pattern, Vec<Pattern>)> {
            let fixes = self.spec.fixes.iter();
            let own = |fix: &String| {
                let probe = probe.iter().map(|p| fixed(p, fix)).collect();
                (fixed(open, fix), probe)
            };
            match self.spec.fixes.is_empty() {
                true => vec![(open.clone(), probe.to_vec())],
                false => fixes.map(own).collect(),
            }
        };
        if let Some(section) = &self.spec.section {
            for (open, probe) in section
                .open
                .iter()
                .flat_map(|open| spelt(open, &section.probe))
            {
                add(&open, probe, false, false, None);
            }
        }
        for unit in &self.spec.units {
            let open = unit.open.iter().filter(|_| self.spec.stands_alone());
            let bare = unit.bare.as_ref();
            let bare = bare.map(|(within, at)| (*within, at.as_str()));
            let alone = self.spec.section.is_some();
            for (open, probe) in open.flat_map(|open| spelt(open, &unit.probe)) {
                add(&open, probe, unit.offered, alone, bare);
            }
        }
        out
    }

    pub(super) fn text(&mut self) {
        let input = self.input;
        let openers = self.openers();
        // Left open: suffixes of thoughts.
        let mut marks = self.spec.reasoning.iter().flat_map(|entry| &entry.open);
        let suffixed = |open: &String| input.contains(&format!("{}:", open.trim_end_matches('>')));
        self.out.open |= marks.any(suffixed);
        let (closers, thoughts) = (self.closers(false), self.thought_closers());
        let last = self.closers(true);
        // So are closers of thoughts behind a quotation mark.
        let close = self.spec.reasoning.iter().flat_map(|entry| &entry.close);
        self.out.open |= close.into_iter().any(|close| {
            let close = close.trim_end_matches('>');
            let mut places = input.match_indices(close);
            places.any(|(at, _)| quote_before(&input[..at]).is_some())
        });
        // Openers of calls that count only in a section: elsewhere they are text.
        let units = self.spec.units.iter().filter(|_| !self.spec.stands_alone());
        let inner = units.flat_map(|unit| &unit.open).map(literal);
        let inner: Vec<String> = inner
            .filter(|open| open.starts_with('<') && open.len() > 2)
            .collect();
        // Openers that were text, so that their closers are text too: of calls and of thoughts.
        let (mut paired, mut mused, mut cut) = (0, 0, false);
        let mut at = 0;
        // The start of the line, for reasoning.
        let mut line = 0;
        // The end of what looked like a call in JSON: nothing in it begins another one.
        let mut spoilt = 0;
        // The end of a marker that opened nothing.
        let mut passed = 0;
        while at < input.len() {
            let mut spans = self.spec.spans.iter();
            let span = spans.find(|span| {
                input[at..].starts_with(&span.open)
                    && (span.at != "line-start" || begins_line(&input[line..at]))
            });
            if let Some(span) = span {
                // Left to the vectors: results that are shown in a code fence.
                self.out.open |= channels::in_fence(&self.out.text);
                let inner = at + span.open.len();
                let len = input[inner..].find(&span.close);
                if len.is_none() {
                    self.out.text.push_str(&input[at..]);
                }
                at = len.map_or(input.len(), |len| inner + len + span.close.len());
                line = at;
                continue;
            }
            let mut inner = inner.iter();
            paired += usize::from(inner.any(|open| input[at..].starts_with(open)));
            // Framing that is longer than an opener at the same place takes precedence.
            let framing = self.spec.framing.iter().chain(&self.spec.messages);
            let framing = framing.filter(|marker| input[at..].starts_with(marker.as_str()));
            // A token that begins the opener of a region, even of one that does not count here, is none.
            let mut spans = self.spec.spans.iter();
            let longer = spans.any(|span| input[at..].starts_with(&span.open));
            let framing = framing.filter(|_| !longer);
            let framing = framing.map(String::len).max().unwrap_or(0);
            let here = |o: &&Opener<'_>| {
                let own = framing <= o.literal.len() && (o.bare.is_none() || at >= spoilt);
                let own = own && at >= passed;
                own && input[at..].starts_with(&o.literal)
            };
            let all: Vec<&Opener<'_>> = openers.iter().filter(here).collect();
            match self.open_here(&all, at, line) {
                Some(Opens::Yes) => {
                    // Links are left to the vectors.
                    self.out.open |= may_be_link(&self.out.text, &input[at..]);
                    self.begun = true;
                    let before = (self.out.text.len(), &input[at..]);
                    at = self.block(at);
                    self.ended = at;
                    // A list may be the text of a link.
                    self.out.open |= input[..at].ends_with(']') && input[at..].starts_with('(');
                    // Left open: closers after a block that came back as text, of openers in it.
                    let first = |text: &str| text.chars().next();
                    let back = first(&self.out.text[before.0..]) == first(before.1);
                    let rest = &input[at..];
                    self.out.open |= back && closers.iter().any(|closer| rest.contains(closer));
                    line = at;
                    paired = 0;
                    continue;
                }
                // The model stopped at the opener of its next call.
                Some(Opens::Cut) if self.dangles(&all, at) => break,
                Some(Opens::Cut) => cut = true,
                Some(no) => {
                    paired += usize::from(all.iter().any(|opener| opener.pairs()));
                    if let Opens::Spoilt(end) = no {
                        spoilt = end;
                    }
                    // After a marker of equal bytes that opens nothing, the next one begins after it.
                    let equal = |o: &&&Opener<'_>| {
                        let bytes = o.literal.as_bytes();
                        bytes.windows(2).all(|pair| pair[0] == pair[1])
                    };
                    let passed_by = all.iter().find(equal).map_or(0, |o| o.literal.len());
                    passed = passed.max(at + passed_by);
                }
                None => {}
            }
            // Left open: a wrapper's tag with blanks or attributes, which the engine repairs or returns as text with its closer.
            let loose = |o: &Opener<'_>| {
                // Attributes required by the opener are not a slip, unlike a suffix.
                let shows = |probe: &Pattern| matches!(probe.first(), Some(Part::Hole("tag")));
                let shown = o.probe.iter().any(shows);
                let name = Some(o.literal.trim_end_matches('>')).filter(|n| n.starts_with('<'));
                let rest = name.and_then(|name| input[at..].strip_prefix(name));
                let inner = |c: char| !c.is_whitespace() && !"<>".contains(c);
                let rest = rest.map(|rest| rest.trim_start_matches(inner));
                !shown && rest.is_some_and(|rest| rest.starts_with([' ', '\n', '\t', '\r']))
            };
            self.out.open |= openers.iter().any(loose);
            let owed = self
                .owed
                .iter()
                .find(|c| input[at..].starts_with(c.as_str()));
            if let Some(len) = owed.map(String::len) {
                self.owed.clear();
                at += len;
                line = at;
                continue;
            }
            if let Some(end) = self.reason(at, line, &openers) {
                at = end;
                line = at;
                paired = 0;
                continue;
            }
            let stands = |marker: &&String| input[at..].starts_with(marker.as_str());
            let longest = |list: &[String]| list.iter().filter(stands).map(String::len).max();
            let mut opens = self.spec.reasoning.iter().flat_map(|entry| &entry.open);
            mused += usize::from(opens.any(|open| stands(&open)));
            let (closer, thought) = (longest(&closers), longest(&thoughts));
            let framing = (framing > 0).then_some(framing);
            // Left to the vectors: blanks and attributes in tokens that have none.
            let lists = [
                &self.spec.framing,
                &self.spec.messages,
                &self.spec.markup,
                &closers,
                &thoughts,
            ];
            let mut tokens = lists.into_iter().flatten();
            self.out.open |= tokens.any(|marker| is_slip(&input[at..], marker));
            if let Some(len) = closer.max(thought).max(framing) {
                self.out.open |= cut;
                // Left to the vectors: turns of other authors.
                let mut others = self.spec.others.iter();
                self.out.open |= others.any(|(open, named)| {
                    let name = input[at..].strip_prefix(open.as_str());
                    name.is_some_and(|rest| !named || rest.starts_with(char::is_alphanumeric))
                });
                // A token may be the closing tag of an opener.
                let token = framing.map(|len| &input[at..at + len]);
                let name = token.and_then(|token| token.strip_prefix("</"));
                let name = name.map(|name| name.trim_end_matches('>'));
                let named = name.is_some_and(|name| {
                    let mut names = openers.iter().filter_map(|o| o.literal.get(1..));
                    names.any(|have| have.starts_with(name))
                });
                let pair = match closer.is_some() || named {
                    true => &mut paired,
                    false => &mut mused,
                };
                let own = *pair > 0 && (framing.is_none() || named);
                // The last token of a closer follows.
                let ends = closer.is_none() || longest(&last) == closer;
                *pair -= usize::from(own && ends);
                if own || self.is_quoted(at..at + len) {
                    self.out.text.push_str(&input[at..at + len]);
                    let lines = input[at..at + len].rfind('\n');
                    line = lines.map_or(line, |lines| at + lines + 1);
                } else {
                    line = at + len;
                }
                at += len;
                continue;
            }
            self.out.open |= self.spec.markup.iter().any(|marker| stands(&marker));
            // A marker truncated by the end is framing if it contains a whole special token.
            let rest = &input[at..];
            let cut_off = |marker: &&String| {
                marker.starts_with(rest) && **marker != *rest && rest.contains("|>")
            };
            let literals: Vec<String> = openers.iter().map(|o| o.literal.clone()).collect();
            let reasoning = self.spec.reasoning.iter().flat_map(|entry| &entry.open);
            let framing = self
                .spec
                .framing
                .iter()
                .chain(&self.spec.messages)
                .chain(&closers)
                .chain(&thoughts);
            let mut markers = framing.chain(&literals).chain(reasoning);
            if markers.any(|marker| cut_off(&marker)) {
                // Left open behind an opener that the end truncates too.
                self.out.open |= cut;
                return;
            }
            let c = input[at..].chars().next().expect("not at the end");
            self.out.text.push(c);
            at += c.len_utf8();
            if c == '\n' {
                line = at;
            }
        }
    }

    /// Whether the token is between two quotation marks of one kind. Backtick quotations are left to the vectors too.
    pub(super) fn is_quoted(&mut self, token: std::ops::Range<usize>) -> bool {
        let text = &self.out.text;
        // Inline code ends with its line.
        let line = text.rsplit('\n').next().unwrap_or_default();
        self.out.open |= line.contains('`') || text.contains("```");
        let before = &self.input[..token.start];
        let brackets = [('[', ']'), ('(', ')'), ('【', '】'), ('（', '）')];
        let bracket = brackets.iter().find(|(open, _)| before.ends_with(*open));
        // A bracket or a quotation mark that begins a marker quotes nothing.
        let section = self.spec.section.iter().flat_map(|section| &section.open);
        let mut opens = section.chain(self.spec.units.iter().flat_map(|unit| &unit.open));
        // The one before bare arguments is no marker: it counts only behind a header.
        let mark =
            |open: &Pattern| Some(literal(open)).filter(|mark| !mark.is_empty() && mark != "\"");
        let marked = opens
            .any(|open| mark(open).is_some_and(|mark| self.input[token.end..].starts_with(&mark)));
        // Neither does one that ends a token.
        let mut tokens = self.spec.framing.iter().chain(&self.spec.messages);
        let ends = tokens.any(|token| before.ends_with(token.as_str()));
        // Left open: the marker may turn out to open nothing.
        let between = |(_, close): &&(char, char)| self.input[token.end..].starts_with(*close);
        self.out.open |= marked && bracket.is_some_and(|bracket| between(&bracket));
        let bracket = bracket.filter(|_| !ends);
        // A backtick that ends a block quotes nothing.
        if self.ended == token.start {
            return false;
        }
        let close = quote_before(before).or(bracket.map(|(_, close)| *close));
        let close = close.filter(|_| !marked);
        close.is_some_and(|close| self.input[token.end..].starts_with(close))
    }

    /// Closers of calls, which are framing where they close nothing: of several tokens each, or the `last` one.
    fn closers(&self, last: bool) -> Vec<String> {
        let blanks = |part: &Part| *part == Part::Blanks;
        let section = self.spec.section.iter().flat_map(|section| &section.close);
        let units = self.spec.units.iter().flat_map(|unit| &unit.close);
        // Without the suffix that a block's opener may have had.
        let named = self.spec.units.iter().any(|unit| unit.fix_name);
        let part = |part: &Part| matches!(part, Part::Byte(_) | Part::Hole("x"));
        let misspelt: Vec<Pattern> = self.spec.misspelt.iter().map(|p| pattern(p)).collect();
        // A closer that lacks only blanks still counts.
        let all: Vec<&Pattern> = section.clone().chain(units.clone()).collect();
        let tight = |p: &Pattern| -> Pattern {
            let blank = |part: &&Part| **part != Part::Byte(b' ');
            p.iter().filter(blank).cloned().collect()
        };
        let known = |close: &&Pattern| {
            let own = |other: &&Pattern| !misspelt.contains(other) && tight(other) == tight(close);
            all.iter().any(own)
        };
        let whole = |close: &&Pattern| !named && known(close);
        let none = String::new();
        let fixes = || self.spec.fixes.iter().chain([&none]);
        let spelt = |close: Pattern| -> Vec<String> {
            fixes().map(|fix| literal(&fixed(&close, fix))).collect()
        };
        let tokens = |close: &Pattern| -> Vec<Pattern> {
            let all: Vec<Pattern> = close.split(blanks).map(<[_]>::to_vec).collect();
            let from = if last { all.len() - 1 } else { 0 };
            all[from..].to_vec()
        };
        let all = section.chain(units).filter(whole).flat_map(tokens);
        let all = all.filter(|close| close.iter().all(part));
        let mut out: Vec<String> = all.flat_map(spelt).collect();
        out.retain(|close| close.trim().len() > 1 && close.bytes().any(|b| b != b'`'));
        out
    }

    fn thought_closers(&self) -> Vec<String> {
        let close = |entry: &Reasoning| entry.close.clone();
        let out: Vec<String> = self.spec.reasoning.iter().flat_map(close).collect();
        let mut out = with_blanks(&out);
        out.retain(|close| !close.trim().is_empty());
        out
    }

    /// Whether only white space and framing came before.
    pub(super) fn at_start(&self) -> bool {
        !self.begun && self.out.text.trim().is_empty()
    }

    /// Reads the reasoning that opens here; returns where text continues.
    fn reason(&mut self, at: usize, line: usize, openers: &[Opener<'_>]) -> Option<usize> {
        let input = self.input;
        let before = &input[line..at];
        let places = |word: &str| match word {
            "start" => self.at_start(),
            "line-start" => begins_line(before),
            _ => true,
        };
        let (entry, open) = self.spec.reasoning.iter().find_map(|entry| {
            let open = entry
                .open
                .iter()
                .find(|open| input[at..].starts_with(open.as_str()));
            open.filter(|_| places(&entry.at)).map(|open| (entry, open))
        })?;
        // Left to the vectors: code fences.
        self.out.open |= channels::in_fence(&self.out.text);
        let mut from = at + open.len();
        let again = |from: usize| {
            let mut again = entry.open.iter().filter(|_| entry.repeats);
            again.find(|open| input[from..].starts_with(open.as_str()))
        };
        while let Some(open) = again(from) {
            from += open.len();
        }
        let short = entry.label.strip_suffix('\n');
        let shortly = |label: &&str| {
            let rest = input[from..].strip_prefix(*label);
            rest.is_some_and(|rest| {
                entry
                    .close
                    .iter()
                    .any(|close| rest.starts_with(&close[..1]))
            })
        };
        let returns = entry.label.replace('\n', "\r\n");
        let labels = [&entry.label, &returns];
        if let Some(label) = labels
            .into_iter()
            .find(|label| input[from..].starts_with(label.as_str()))
        {
            from += label.len();
        } else if let Some(label) = short.filter(shortly) {
            from += label.len();
        }
        let closers = with_blanks(&entry.close);
        let found = closers.iter().filter_map(|close| {
            let at = from + input[from..].find(close.as_str())?;
            Some((at, close.len()))
        });
        let close = found.min();
        let calls = |mark: &&String| openers.iter().any(|o| o.literal == **mark);
        let mut ended_by = entry.ended_by.clone();
        ended_by.retain(|mark| !calls(&mark));
        // What a sentence mentions does not end it.
        let counts = |at: &usize| {
            let line = self.input[from..*at]
                .rsplit('\n')
                .next()
                .unwrap_or_default();
            let rest = &self.input[*at..];
            let mut after = ended_by
                .iter()
                .filter_map(|mark| rest.strip_prefix(mark.as_str()));
            after.any(|after| channels::begins_message(after) || !channels::in_sentence(line))
        };
        let mut ends = self.input[from..].char_indices().map(|(at, _)| from + at);
        let ended = ends.find(counts).map(|at| (at, 0));
        let mut places = input[from..].char_indices();
        let slip = |at: usize| {
            ended_by
                .iter()
                .any(|mark| is_slip(&input[from + at..], mark))
        };
        self.out.open |= places.any(|(at, _)| slip(at));
        let (mut end, mut len) = close
            .into_iter()
            .chain(ended)
            .min()
            .unwrap_or((input.len(), 0));
        if let Some(call) = self.ends_thought(from..end, openers, entry) {
            (end, len) = (call, 0);
            // Left open: whether the thought only mentions the section.
            let mut sections = self.spec.section.iter().flat_map(|s| &s.open);
            self.out.open |= sections.any(|open| input[from..call].contains(&literal(open)));
            self.owed.clone_from(&entry.close);
        }
        // Left open: code in thoughts, and closers in brackets.
        self.out.open |= input[from..end].contains('`');
        self.out.open |= input[from..end].ends_with(['(', '[', '（', '【']);
        self.begun = true;
        let mut text = input[from..end].to_owned();
        for open in entry.open.iter().filter(|_| entry.repeats) {
            text = text.replace(&format!("{open}{}", entry.label), "");
            text = text.replace(open, "");
        }
        self.out.reasoning.push_str(&text);
        Some(end + len)
    }

    /// The start of a call that ends a thought: at the start of a line or of the thought, or anywhere if the file names its opener.
    fn ends_thought(
        &self,
        thought: std::ops::Range<usize>,
        openers: &[Opener<'_>],
        entry: &Reasoning,
    ) -> Option<usize> {
        let mut line = thought.start;
        for (n, c) in self.input[thought.clone()].char_indices() {
            let at = thought.start + n;
            let mut again = entry.open.iter().filter(|_| entry.repeats);
            if let Some(open) = again.find(|open| self.input[at..].starts_with(open.as_str())) {
                line = at + open.len();
            }
            if line > at {
                continue;
            }
            let before = &self.input[line..at];
            let starts = begins_line(before);
            let quoted = quote_before(before).is_some();
            let opener = openers
                .iter()
                .filter(|o| starts || !quoted && entry.ended_by.contains(&o.literal))
                .find(|o| self.input[at..].starts_with(&o.literal));
            if let Some(opener) = opener.filter(|_| self.spec.ends_thought)
                && matches!(self.opens(opener, at, line, true), Opens::Yes)
            {
                return Some(at);
            }
            if c == '\n' {
                line = at + 1;
            }
        }
        None
    }

    /// Whether one of the openers that match there opens a block.
    fn open_here(&self, openers: &[&Opener<'_>], at: usize, line: usize) -> Option<Opens> {
        let all = openers.iter().map(|o| self.opens(o, at, line, false));
        let all: Vec<Opens> = all.collect();
        let rank = |opens: &Opens| match opens {
            Opens::Yes => 3,
            Opens::Cut => 2,
            Opens::Spoilt(_) => 1,
            Opens::Text => 0,
        };
        all.into_iter().max_by_key(rank)
    }

    /// Whether the input ends with one of these openers, and a call has just ended before it.
    fn dangles(&self, openers: &[&Opener<'_>], at: usize) -> bool {
        let blank = |text: &str| text.bytes().all(super::pattern::is_blank);
        let ends = |o: &&Opener<'_>| {
            let rest = &self.input[at + o.literal.len()..];
            o.bare.is_none() && !o.peek && blank(rest)
        };
        let between = self.input.get(self.ended..at);
        openers.iter().any(ends) && between.is_some_and(blank)
    }

    /// Whether the opener that matches there opens a block.
    fn opens(&self, opener: &Opener<'_>, at: usize, line: usize, thought: bool) -> Opens {
        let peek = opener.peek;
        let from = if peek { at } else { at + opener.literal.len() };
        if let Some((within, place)) = opener.bare {
            let before = &self.input[line..at];
            let fits = match place {
                "start" => self.at_start(),
                "line-start" => begins_line(before),
                _ => true,
            };
            if !fits {
                return Opens::Text;
            }
            return match self.shows(from, within, opener) {
                Ok(()) => Opens::Yes,
                Err(end) => Opens::Spoilt(end),
            };
        }
        if opener.sure {
            return Opens::Yes;
        }
        let patterns: Vec<(&Pattern, ())> = opener.probe.iter().map(|p| (p, ())).collect();
        let special = looks_special(&opener.literal);
        // A tag in a thought may be part of a quotation of its section.
        let asked = opener.offered || thought && opener.alone && !special;
        let named = |holes: &BTreeMap<&str, String>| {
            let attribute = holes.get("tag").is_none_or(|tag| tag.contains('='));
            let named = holes.get("name").is_none_or(|name| {
                let looks = special || name.is_empty() || looks_like_a_name(name);
                self.offers(name) || !asked && looks
            });
            attribute && named
        };
        // If the end truncates what may become a longer form, nothing is decided, unless it is all that came.
        let alone = self.input[from..].bytes().all(super::pattern::is_blank);
        let longer = |(probe, ()): &(&Pattern, ())| {
            let mut others = opener.probe.iter();
            let longer = others.any(|o| o.len() < probe.len() && probe.starts_with(o));
            longer && matches!(walk(self.input, from, &[(*probe, ())]), Walk::Cut(_))
        };
        if !alone && patterns.iter().any(longer) {
            return Opens::Text;
        }
        match walk(self.input, from, &patterns) {
            Walk::Fits(fit) if fit.end - from <= 256 && named(&fit.holes) => Opens::Yes,
            // A marker without evidence is text, even if the reply ends before the evidence could come.
            Walk::Fits(_) | Walk::Breaks(_) => Opens::Text,
            Walk::Cut(_) => Opens::Cut,
        }
    }

    pub(super) fn offers(&self, name: &str) -> bool {
        schema::tool(self.tools, name).is_some()
    }

    /// Whether JSON shows a call: a declared name, then the first byte of arguments. If not, returns how far it is text.
    fn shows(&self, from: usize, within: usize, opener: &Opener<'_>) -> Result<(), usize> {
        let mut start = from;
        if !opener.sure {
            let patterns: Vec<(&Pattern, ())> = opener.probe.iter().map(|p| (p, ())).collect();
            match walk(self.input, from, &patterns) {
                Walk::Fits(fit) => start = fit.end,
                Walk::Breaks(end) => return Err(end),
                Walk::Cut(_) => return Err(self.input.len()),
            }
        }
        let rules = &self.spec.json;
        let mut named = false;
        let mut others = false;
        let mut shown = None;
        let mut reader = Reader {
            input: self.input,
            at: start,
            python: rules.python,
        };
        if reader.peek() == Some(b'[') {
            reader.at += 1;
            reader.blanks();
        }
        let mut alone = None;
        // It may be the schema of a definition.
        let schema = |rest: &str| {
            let (mut string, mut shown) = (false, String::new());
            for c in rest.chars().take(256) {
                string ^= c == '"';
                if string || !c.is_whitespace() {
                    shown.push(c);
                }
            }
            let mut known = ["\"type\":\"object\"", "\"properties\":{", "\"$schema\":"].into_iter();
            known.any(|known| known.starts_with(&shown) || shown.starts_with(known))
        };
        let mut take = |reader: &mut Reader<'_>, key: String| {
            others |= !rules.name.contains(&key);
            if rules.name_is_key || named && rules.arguments.contains(&key) {
                let begins = match rules.python {
                    true => matches!(reader.peek(), Some(b'{' | b'"' | b'\'' | b'N')),
                    false => matches!(reader.peek(), Some(b'{' | b'"' | b'n')),
                };
                let schema = key == "parameters"
                    && reader.peek() == Some(b'{')
                    && schema(&reader.input[reader.at + 1..]);
                if begins && !schema && (named || self.offers(&key)) {
                    shown = Some(reader.at);
                }
                return Err(reader.fault());
            }
            // Arguments before a name are not evidence.
            if rules.arguments.contains(&key) {
                return Err(reader.fault());
            }
            let value = reader.value()?;
            if rules.name.contains(&key) {
                named = value.as_str().is_some_and(|name| self.offers(name));
                if !named {
                    return Err(reader.fault());
                }
                alone = value.as_str().map(str::to_owned);
            }
            Ok(())
        };
        let mut wrapped = false;
        let whole = reader.members(|reader, key| {
            if rules.wrapper.contains(&key) && reader.peek() == Some(b'{') {
                // Only its contents can show a call.
                wrapped = true;
                reader.members(&mut take)?;
                return Err(reader.fault());
            }
            take(reader, key)
        });
        // A name alone is a call if its tool requires nothing.
        let tool = alone.and_then(|name| schema::tool(self.tools, &name));
        if whole.is_ok()
            && !(others || wrapped)
            && tool.is_some_and(|tool| schema::required(tool).is_empty())
        {
            shown = Some(reader.at - 1);
        }
        match shown {
            Some(at) if at - start < within => Ok(()),
            _ => Err(reader.at.min(self.input.len())),
        }
    }
}

/// Whether a position is still at the start of its line, given the line's text before it.
fn begins_line(before: &str) -> bool {
    before.len() <= 3 && before.trim_matches([' ', '\t']).is_empty()
}

fn looks_like_a_name(name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(part)
}

/// Whether a text begins like a token, up to a place in a tag where blanks may occur, and continues with a blank.
fn is_slip(text: &str, token: &str) -> bool {
    let blank = |at: usize| text[at..].starts_with(|c: char| c.is_ascii_whitespace());
    let place = |at: &usize| {
        let ends = |c: char| c.is_alphanumeric() || "_/>｜".contains(c);
        token.is_char_boundary(*at) && token[..*at].ends_with(ends)
    };
    let mut places = (2..token.len()).filter(place);
    places.any(|at| text.starts_with(&token[..at]) && blank(at))
}
