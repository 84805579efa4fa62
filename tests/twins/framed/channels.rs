//! Messages with headers: the header decides how the following bytes are read.

use super::Twin;
use super::pattern::{Pattern, Walk, literal, walk};
use super::spec::{Channels, Route};
use crate::naive::quote_before;

/// The contents of a header.
#[derive(Debug, Default)]
struct Header {
    start: String,
    role: String,
    recipient: String,
    channel: String,
    content: String,
    end: String,
}

/// How the beginning of a header continues.
enum Ends {
    /// It is a header, up to there.
    At(usize, Header),
    /// The byte there cannot be part of it.
    Broken(usize),
    Long,
    Cut,
}

/// How many markers that begin a header may occur in one.
const MAX_BEGUN: usize = 4;
const MAX_HEADER: usize = 512;

impl<'a> Twin<'a> {
    pub(super) fn messages(&mut self, channels: &'a Channels) {
        let input = self.input;
        let mut open = false;
        // Whether the open message held calls.
        let mut called = false;
        // Openers that were text, so that their closers are text too.
        let mut paired = 0;
        let mut doubt = false;
        // Whether the last message should have held calls but held none.
        let mut lost = false;
        // What the open message is, if another than the model is its author.
        let mut others = None;
        // Where something of the dialect ended.
        let mut near = None;
        let mut at = 0;
        // The text of the current line.
        let mut line = String::new();
        while at < input.len() {
            let here = |list: &[String]| {
                let fits = list.iter().filter(|m| input[at..].starts_with(m.as_str()));
                fits.map(String::len).max()
            };
            let first = (at == 0 && !channels.first.is_empty())
                .then(|| {
                    // The blank before it may be missing.
                    let glued = channels.first.trim_start().to_owned();
                    here(&[channels.first.clone(), glued])
                })
                .flatten();
            if let Some(start) = here(&channels.start).or(first) {
                // Left open: white space around the sign before a recipient.
                let sign = channels.recipient.trim_start();
                let loose = [format!("{sign} "), sign.replace('=', " =")];
                let rest = input[at..].split('\n').next().unwrap_or_default();
                self.out.open |= sign.len() > 1 && loose.iter().any(|sign| rest.contains(sign));
                let ends = read(channels, input, at, start);
                // Left open: a recipient, or a channel beside one, that is written twice.
                if let Ends::At(end, _) = &ends {
                    let sign = sign.trim_end_matches('=');
                    let header = &input[at..*end];
                    let times = |part: &str| header.matches(part).count();
                    let names = !sign.is_empty() && !channels.channel.is_empty();
                    let again = times(sign) > 1 || times(&channels.channel) > 1;
                    self.out.open |= names && again && times(sign) > 0;
                }
                // Left to the vectors of headers: code fences.
                self.out.open |= in_fence(&self.out.text);
                let cut = matches!(ends, Ends::Cut);
                let mut mentioned = false;
                let broken = match ends {
                    Ends::At(end, header) => match part(channels, &header, others) {
                        Some(route) if self.counts(channels, route, at..end, &line, near) => {
                            let call = route.kind.starts_with("call");
                            let said = in_sentence(&line) && !self.has_place(at, &line, near);
                            let end = match call || !said {
                                true => repeated(channels, route, input, end),
                                false => end,
                            };
                            let calls = self.out.calls.len();
                            let text = route.kind == "text";
                            let authored = route.role.is_some() || route.start.is_some();
                            others = Some(route).filter(|_| text && authored);
                            (at, open) = self.message(channels, route, at, end, &header);
                            let callable = route.kind.starts_with("call");
                            lost = callable && self.out.calls.len() == calls;
                            called = open && route.kind == "calls";
                            paired = 0;
                            near = Some(at);
                            if route.kind != "text" {
                                self.begun = true;
                                line.clear();
                            }
                            continue;
                        }
                        Some(_) => {
                            // Left open: whether the preceding message of calls is over,
                            self.out.open |= open && called;
                            // and whether its closer is text.
                            doubt = true;
                            mentioned = true;
                            end
                        }
                        None => end,
                    },
                    Ends::Broken(broken) => broken,
                    // Left open: where text begins in what was a header.
                    Ends::Long => {
                        self.out.open = true;
                        return;
                    }
                    Ends::Cut => {
                        // So is what of a header after text the end cuts.
                        self.out.open |= !self.out.text.trim().is_empty();
                        // What only its place makes a header is text up to the next one.
                        let next = first.and_then(|start| {
                            let rest = &input[at + start..];
                            let begins = channels.start.iter();
                            let begins = begins.filter_map(|marker| rest.find(marker.as_str()));
                            Some(at + start + begins.min()?)
                        });
                        next.unwrap_or(input.len())
                    }
                };
                // Left open: blanks in the token that it begins with. The engine reads them as it does those in a tag.
                let behind = input[at + start..].trim_start();
                let loose = behind.len() < input.len() - at - start;
                let mut tokens = self.spec.markup.iter();
                self.out.open |= loose
                    && tokens.any(|token| {
                        let rest = token.strip_prefix(&input[at..at + start]);
                        rest.is_some_and(|rest| !rest.is_empty() && behind.starts_with(rest))
                    });
                // The next header begins after a message, and the reply ends: not text.
                let role = &input[at + start..broken];
                let role = role.len() <= 16 && role.bytes().all(|b| b.is_ascii_lowercase());
                let blank = |near: usize| input[near..at].trim().is_empty() && at - near <= 64;
                if broken == input.len() && first.is_none() && role && near.is_some_and(blank) {
                    self.out.open |= open;
                    return;
                }
                let goes_on = cut && goes_on(channels, &input[at..]);
                let token = self.second(at, broken).filter(|_| !goes_on && !mentioned);
                if let Some(len) = token {
                    let end = at + len;
                    // Left open: other tokens beside it that are a message, or framing,
                    let behind = input[end..].trim_start();
                    let company = [&channels.start, &channels.close, &channels.end];
                    let mut company = company.into_iter().chain([&self.spec.framing]).flatten();
                    let beside = near.is_some_and(blank) || self.at_start();
                    let meets = company.any(|marker| behind.starts_with(marker.as_str()));
                    // and what follows a block without a call.
                    self.out.open |= meets && !beside || lost && near.is_some_and(blank);
                    let ends = behind.is_empty() && input.len() - end <= 64;
                    match (beside || meets || ends) && !self.is_quoted(at..end) {
                        true => near = Some(end),
                        false => {
                            self.out.text.push_str(&input[at..end]);
                            extend(&mut line, &input[at..end]);
                        }
                    }
                    at = end;
                    continue;
                }
                self.out.text.push_str(&input[at..broken]);
                extend(&mut line, &input[at..broken]);
                at = broken;
                paired += usize::from(first.is_none());
                continue;
            }
            let token = [&channels.close, &channels.end, &self.spec.framing];
            let token = token.into_iter().filter_map(|list| here(list)).max();
            let own = token.is_some() && !open && paired > 0 && here(&channels.close).is_some();
            paired -= usize::from(own);
            self.out.open |= token.is_some() && !open && doubt;
            // Where calls are left to another reader, a closer without an opener is meant for that reader.
            let blank = |near: usize| input[near..at].trim().is_empty() && at - near <= 64;
            let his = self.spec.units.is_empty()
                && here(&channels.close).is_some()
                && !near.is_some_and(blank);
            // Left open: other tokens beside it that are a message, or framing.
            let behind = token.map_or("", |len| input[at + len..].trim_start());
            let company = [&channels.start, &channels.close, &channels.end];
            let mut company = company.into_iter().chain([&self.spec.framing]).flatten();
            self.out.open |= his && company.any(|marker| behind.starts_with(marker.as_str()));
            let framing = |len: &usize| !self.is_quoted(at..at + len) && (open || !(own || his));
            if let Some(len) = token.filter(framing) {
                open &= here(&channels.close).is_none();
                others = others.filter(|_| here(&channels.close).is_none());
                at += len;
                // The next message begins like a line.
                line.clear();
                near = Some(at);
                continue;
            }
            let c = input[at..].chars().next().expect("not at the end");
            self.out.text.push(c);
            line.push(c);
            if c == '\n' {
                line.clear();
            }
            at += c.len_utf8();
        }
    }

    /// The length of the token that begins like a header but, as the byte at `broken` shows, is not one.
    fn second(&self, at: usize, broken: usize) -> Option<usize> {
        // For a dialect without calls, the closer of messages also begins them.
        let reads = !self.spec.units.is_empty();
        let looked = &self.input.as_bytes()[at..self.input.len().min(broken + 1)];
        let stands = |marker: &&String| looked.starts_with(marker.as_bytes());
        let found = self.spec.markup.iter().filter(stands).map(String::len);
        found.max().filter(|_| reads)
    }

    /// Whether the header counts. In the middle of a line a call must follow it, or nothing that continues a sentence. After
    /// a header of a single marker a call must always follow, and other messages must not be in the middle of a line.
    fn counts(
        &self,
        channels: &Channels,
        route: &Route,
        header: std::ops::Range<usize>,
        line: &str,
        near: Option<usize>,
    ) -> bool {
        let input = self.input;
        let (at, end) = (header.start, header.end);
        let whole = channels.end.iter().any(|marker| *marker == input[at..end]);
        let place = self.has_place(at, line, near);
        match route.kind.as_str() {
            "call" | "calls" if whole || !place => {
                let end = repeated(channels, route, input, end);
                let probes = self.spec.units.iter().flat_map(|unit| &unit.probe);
                let probes: Vec<(&Pattern, ())> = probes.map(|p| (p, ())).collect();
                let rest = input[end..].trim_start();
                let mut sections = self.spec.section.iter().flat_map(|s| &s.open);
                let section = sections.any(|open| rest.starts_with(&literal(open)));
                let fits = |from: usize, probes: &[(&Pattern, ())]| matches!(walk(input, from, probes), Walk::Fits(fit) if fit.end - end <= 256);
                let from = input.len() - rest.len();
                // A call that needs no section shows itself.
                let mut units = self.spec.units.iter();
                let alone = units.any(|unit| {
                    let probes: Vec<_> = unit.probe.iter().map(|p| (p, ())).collect();
                    let mut heads = unit.open.iter().map(literal);
                    heads.any(|head| {
                        !head.is_empty()
                            && rest.starts_with(&head)
                            && fits(from + head.len(), &probes)
                    })
                });
                let inside = rest.strip_prefix('{').map(str::trim_start);
                let object = inside.is_some_and(|inside| inside.starts_with(['"', '\'', '}']));
                let shown = section && from - end <= 256 || fits(end, &probes) || alone;
                shown || probes.is_empty() && object
            }
            "call" | "calls" => true,
            _ if whole => place,
            _ => {
                let rest = &input[end..];
                let shown = begins_message(rest) && !is_quoted(line, rest);
                place || !in_sentence(line) || shown
            }
        }
    }

    /// Whether a header at `at` is where messages begin.
    fn has_place(&self, at: usize, line: &str, near: Option<usize>) -> bool {
        let begins = line.len() <= 3 && line.trim_matches([' ', '\t']).is_empty();
        let blank = |near: usize| self.input[near..at].trim().is_empty() && at - near <= 64;
        begins || near.is_some_and(blank) || !self.begun && self.out.text.trim().is_empty()
    }

    /// Reads the message after a header. Returns where it continues, and whether a message is open there.
    fn message(
        &mut self,
        channels: &Channels,
        route: &Route,
        at: usize,
        end: usize,
        header: &Header,
    ) -> (usize, bool) {
        let input = self.input;
        match route.kind.as_str() {
            "text" => (end, true),
            "result" => {
                // Left open: where it ends.
                self.out.open = true;
                (input.len(), false)
            }
            "reasoning" => {
                self.begun = true;
                let mut from = end;
                let mut plain = String::new();
                let (to, len) = loop {
                    let find = |list: &[String], taken: bool| {
                        let ends = list.iter().filter_map(|marker| {
                            let len = input[from..].find(marker.as_str())?;
                            Some((from + len, if taken { marker.len() } else { 0 }))
                        });
                        ends.min()
                    };
                    let ends = [find(&channels.close, true), find(&channels.start, false)];
                    let ends = ends.into_iter().flatten().min();
                    let (to, len) = ends.unwrap_or((input.len(), 0));
                    let starts = channels.start.iter();
                    let starts = starts.filter(|start| input[to..].starts_with(start.as_str()));
                    let header = starts
                        .map(String::len)
                        .max()
                        .map(|len| read(channels, input, to, len));
                    let line = input[end..to].rsplit('\n').next().unwrap_or_default();
                    let mut begins = false;
                    if let Some(Ends::At(end, header)) = &header {
                        let mut close = channels.close.iter();
                        let closes = close.any(|close| input[to..*end].contains(close.as_str()));
                        let route = self::route(channels, header);
                        begins = route.is_some() && !closes;
                        let counts = route.is_none_or(|route| {
                            let calls = route.kind.starts_with("call");
                            match calls {
                                true => self.counts(channels, route, to..*end, line, None),
                                false => !in_sentence(line) || begins_message(&input[*end..]),
                            }
                        });
                        // Where the stream ends, nothing shows what it is.
                        let last = line.is_empty() && input[*end..].trim().is_empty();
                        if len == 0 && !(counts || last) {
                            // The thought mentions it.
                            plain.push_str(&input[from..to]);
                            from = *end;
                            continue;
                        }
                    }
                    // Left open: what the thought quotes, and markers that begin no header.
                    let marks = ['`', '~'];
                    self.out.open |= to < input.len()
                        && (quote_before(&input[..to]).is_some()
                            || len == 0 && (!begins || input[end..to].contains(marks)));
                    plain.push_str(&input[from..to]);
                    break (to, len);
                };
                // Left open: whether the rest of a header ends a thought.
                self.out.open |= !channels.first.is_empty() && plain.contains(&channels.first);
                self.out.reasoning.push_str(&input[end..to]);
                (to + len, false)
            }
            "call" => {
                let tool = self.tool_of(&header.recipient);
                (self.opened(at, end, Some(&tool)), false)
            }
            _ => {
                let end = self.opened(at, end, None);
                (end, !closed(channels, &input[..end]))
            }
        }
    }
}

/// Where the header of a call ends whose last marker is repeated. Where that marker begins headers, too, so does any header.
fn repeated(channels: &Channels, route: &Route, input: &str, end: usize) -> usize {
    let begins = channels.end.iter().any(|end| channels.start.contains(end));
    if !(route.kind.starts_with("call") || begins) {
        return end;
    }
    let rest = input[end..].trim_start_matches(|c: char| c.is_ascii_whitespace());
    let from = input.len() - rest.len();
    let own = |marker: &&String| input[..end].ends_with(marker.as_str());
    let mut ends = channels.end.iter().filter(own);
    match ends.find(|marker| from - end <= 64 && rest.starts_with(marker.as_str())) {
        Some(marker) => repeated(channels, route, input, from + marker.len()),
        None => end,
    }
}

/// Whether a text has a code fence that may be open.
pub(super) fn in_fence(text: &str) -> bool {
    let fences = text.lines().map(str::trim_start);
    let fences = fences.filter(|line| line.starts_with("```") || line.starts_with("~~~"));
    fences.count() % 2 == 1
}

/// Adds text to the current line.
fn extend(line: &mut String, text: &str) {
    match text.rsplit_once('\n') {
        Some((_, last)) => last.clone_into(line),
        None => line.push_str(text),
    }
}

/// Whether a line ends in the middle of a sentence, after a blank or a mark.
pub(super) fn in_sentence(line: &str) -> bool {
    let last = line
        .chars()
        .last()
        .is_some_and(|c| c.is_ascii_alphanumeric());
    let said = line.trim_end_matches(|c: char| c.is_ascii_whitespace());
    !last && !said.is_empty() && !said.ends_with(['.', '!', '?', '。', '！', '？', '…'])
}

/// Whether a quotation mark opens at the end of a line and closes where the rest begins.
fn is_quoted(line: &str, rest: &str) -> bool {
    let Some(close) = quote_before(line).filter(|close| rest.starts_with(*close)) else {
        return false;
    };
    let mut chars = line.chars().rev();
    let (open, before) = (chars.next(), chars.next());
    let word = before.is_some_and(|c| c.is_ascii_alphanumeric() || ".!?)]}%*_".contains(c));
    match open == Some(close) {
        true => !word,
        false => !matches!(open, Some('”' | '’' | '»')),
    }
}

/// Whether what follows a header does not continue a sentence.
pub(super) fn begins_message(after: &str) -> bool {
    let mut chars = after.chars();
    let (first, next) = (chars.next(), chars.next());
    match first {
        Some(' ' | '，' | '。' | '；' | '：' | '、' | '）') => false,
        Some(',' | '.' | ';' | ':' | '?' | '!' | ')') => {
            next.is_none_or(|next| !(next.is_ascii_whitespace() || next == '<'))
        }
        Some(_) | None => true,
    }
}

/// Whether a message has just been closed.
fn closed(channels: &Channels, text: &str) -> bool {
    let mut close = channels.close.iter();
    close.any(|close| text.ends_with(close.as_str()))
}

/// Whether a truncated header shows more than a role: a part of it, or the beginning of one.
fn goes_on(channels: &Channels, begun: &str) -> bool {
    let starts = channels.start.iter();
    let rest = starts.filter_map(|start| begun.strip_prefix(start.as_str()));
    let rest = rest.min_by_key(|rest| rest.len()).unwrap_or_default();
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let shows = |part: &&String| {
        let begins = rest.len() > 1 && part.starts_with(rest);
        !rest.is_empty() && !part.is_empty() && (rest.starts_with(part.as_str()) || begins)
    };
    let parts = [&channels.recipient, &channels.channel];
    parts.iter().any(shows)
}

/// Reads the header that begins at `at` with a marker of `start` bytes.
fn read(channels: &Channels, input: &str, at: usize, start: usize) -> Ends {
    let bytes = input.as_bytes();
    if channels.end.iter().any(|end| *end == input[at..at + start]) {
        let end = at + start;
        return Ends::At(end, parts(channels, &input[at..end]));
    }
    let mut gap = false;
    let may = |b: u8| b.is_ascii_alphanumeric() || b >= 0x80 || b" <>|_.:=-/+,[]".contains(&b);
    let from = at + start;
    for (index, byte) in bytes.iter().enumerate().skip(from) {
        if index >= at + MAX_HEADER {
            return Ends::Long;
        }
        // Chosen: a line end or a tab may precede a marker, with blanks beside it.
        let line = b"\n\r\t".contains(byte);
        if !(line || may(*byte)) || (gap && !line && !b" <".contains(byte)) {
            return match unended(channels, &input[at..index], &input[index..]) {
                Some(header) => Ends::At(index, header),
                None => Ends::Broken(index),
            };
        }
        gap = line || (gap && *byte == b' ');
        // Another header begins if this one does not look like a header so far.
        let begins = |marker: &String| {
            bytes[index..].starts_with(marker.as_bytes()) && !channels.end.contains(marker)
        };
        if channels.start.iter().any(begins) {
            let begun = |start: &String| input[at..index].matches(start.as_str()).count();
            let crowded = channels.start.iter().map(begun).sum::<usize>() >= MAX_BEGUN;
            if crowded || !looks(channels, &unbroken(&input[at..index])) {
                return Ends::Broken(index);
            }
        }
        let end = index + 1;
        let mut ends = channels.end.iter();
        if ends.any(|marker| bytes[from..end].ends_with(marker.as_bytes())) {
            return Ends::At(end, parts(channels, &unbroken(&input[at..end])));
        }
    }
    Ends::Cut
}

/// The contents of a header without an end, if it is that of a call whose arguments follow at once.
fn unended(channels: &Channels, header: &str, behind: &str) -> Option<Header> {
    let shows = behind.strip_prefix('{')?.trim_start();
    let blanks = behind.len() - 1 - shows.len();
    let shows = shows.starts_with(['"', '}']) && blanks < 64;
    let header = parts(
        channels,
        &format!("{}{}", unbroken(header), channels.end[0]),
    );
    let called = route(channels, &header).is_some_and(|route| route.kind == "call");
    (shows && called).then_some(header)
}

/// A header without line ends and the adjacent blanks.
fn unbroken(header: &str) -> String {
    let mut parts = header.split(['\n', '\r', '\t']);
    let first = parts.next().unwrap_or_default();
    let mut out = first.to_owned();
    for part in parts {
        out.truncate(out.trim_end_matches(' ').len());
        out.push_str(part.trim_start_matches(' '));
    }
    out
}

/// Whether the beginning of a header is one or two words after each of its markers, not prose.
fn looks(channels: &Channels, header: &str) -> bool {
    let marks = [&channels.recipient, &channels.channel, &channels.content];
    let mut text = header.to_owned();
    for mark in marks.into_iter().filter(|mark| !mark.is_empty()) {
        let after = if *mark == channels.recipient {
            "\n@"
        } else {
            "\n"
        };
        text = text.replace(mark.as_str(), after);
    }
    // The name of an author, and that of a tool, may be in any script.
    for start in &channels.start {
        text = text.replace(start.as_str(), "\n@");
    }
    text.lines().all(|part| {
        let (part, name) = match part.strip_prefix('@') {
            Some(part) => (part, true),
            None => (part, false),
        };
        let any = |c: char| name && c.is_alphanumeric();
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.:-/ ".contains(c) || any(c);
        let words = part.split_whitespace().count();
        let gaps = part.strip_suffix(' ').unwrap_or(part);
        part.chars().all(fits) && !gaps.starts_with(' ') && words <= 2
    })
}

fn parts(channels: &Channels, header: &str) -> Header {
    let header = &channels
        .end
        .iter()
        .chain([&channels.channel, &channels.content])
        .filter(|marker| !marker.is_empty())
        .fold(header.to_owned(), |mut header, marker| {
            // Blanks between a marker and itself separate nothing.
            loop {
                let mut places = header.match_indices(marker.as_str());
                let again = places.find_map(|(at, _)| {
                    let after = &header[at + marker.len()..];
                    let rest = after.trim_start_matches(' ');
                    let blanks = after.len() - rest.len();
                    rest.starts_with(marker.as_str()).then_some((at, blanks))
                });
                let Some((at, blanks)) = again else {
                    return header;
                };
                let end = at + marker.len();
                header.replace_range(end..end + blanks + marker.len(), "");
            }
        });
    let mut ends = channels.end.iter();
    let end = ends.find(|end| header.ends_with(end.as_str()));
    let end = end.expect("that is how it ended").clone();
    let text = header.strip_suffix(&end).expect("it ends so");
    // Of two beginnings the last one counts.
    let starts = channels
        .start
        .iter()
        .filter(|start| **start != channels.channel);
    let begun = starts.filter_map(|start| text.rfind(start.as_str())).max();
    let text = &text[begun.unwrap_or(0)..];
    // If only a part begins again, the author stays.
    let whole = text;
    let again = !channels.channel.is_empty() && text.matches(&channels.channel).count() > 1;
    let text = match text.rfind(&channels.channel).filter(|_| again) {
        Some(at) => &text[at..],
        None => text,
    };
    let sign = channels.recipient.trim_start();
    let glued = !sign.is_empty() && text.starts_with(sign);
    let text = &if glued {
        format!(" {text}")
    } else {
        text.to_owned()
    };
    let word = |text: &str| text.split([' ', '<']).next().unwrap_or_default().to_owned();
    // Empty parts are skipped.
    let said = |before: &str| -> Vec<String> {
        let parts = text.split(before).skip(1).map(word);
        let parts = parts.filter(|word| !word.is_empty() && !before.is_empty());
        parts.collect()
    };
    let recipient = said(&channels.recipient).into_iter().next();
    let channel = said(&channels.channel).into_iter().next();
    let mut content = said(&channels.content).pop().unwrap_or_default();
    if content.is_empty() {
        content = bare(channels, text);
    }
    let start = channels
        .start
        .iter()
        .find(|start| whole.starts_with(start.as_str()));
    let role = start.filter(|start| **start != channels.channel);
    let role = role.map_or("", |start| whole[start.len()..].trim_start());
    let named = !channels.recipient.is_empty() && role.starts_with(channels.recipient.trim_start());
    let role = if named { "" } else { role };
    Header {
        start: start.cloned().unwrap_or_default(),
        role: word(role),
        recipient: recipient.unwrap_or_default(),
        channel: channel.unwrap_or_default(),
        content,
        end,
    }
}

/// The first bare word that may be the content type: one that a route asks for, or one after the recipient if there is none
/// after the channel.
fn bare(channels: &Channels, text: &str) -> String {
    let lists = channels.routes.iter().filter_map(|r| r.content.as_ref());
    let listed: Vec<&String> = lists.flatten().collect();
    let sign = channels.recipient.trim_start();
    let named = !sign.is_empty() && text.contains(&channels.recipient);
    let (mut begun, mut named_yet) = (false, false);
    let mut rest = text;
    loop {
        let marks = [&channels.channel, &channels.content].into_iter();
        let mut marks = marks.chain(&channels.start).filter(|m| !m.is_empty());
        let marker = marks.find(|mark| rest.starts_with(mark.as_str()));
        if let Some(marker) = marker {
            begun |= *marker == channels.channel;
            rest = &rest[marker.len()..];
            let part = ![&channels.channel, &channels.content].contains(&marker);
            let behind = rest.trim_start_matches(' ');
            if part && (sign.is_empty() || !behind.starts_with(sign)) {
                rest = behind;
            }
            rest = &rest[rest.find([' ', '<']).unwrap_or(rest.len())..];
            continue;
        }
        let Some(c) = rest.chars().next() else {
            return String::new();
        };
        let len = rest[c.len_utf8()..].find([' ', '<']);
        let len = len.map_or(rest.len(), |len| len + c.len_utf8());
        let word = &rest[..len];
        match c {
            ' ' => rest = &rest[1..],
            _ if !sign.is_empty() && word.starts_with(sign) => {
                named_yet |= word.len() > sign.len();
                rest = &rest[len..];
            }
            _ if named_yet || (begun && !named) || listed.iter().any(|list| *list == word) => {
                return word.to_owned();
            }
            _ => rest = &rest[len..],
        }
    }
}

/// What a header begins. Without an author of its own, it begins a further part of the open message of `others`.
fn part<'c>(
    channels: &'c Channels,
    header: &Header,
    others: Option<&'c Route>,
) -> Option<&'c Route> {
    let authored = !header.start.is_empty() && header.start != channels.channel;
    // An author whose name is in another script is nobody whom the dialect knows.
    let stranger = header.role.starts_with(|c: char| !c.is_ascii());
    if authored && stranger && !channels.recipient.is_empty() {
        let texts = || channels.routes.iter().filter(|route| route.kind == "text");
        let others = texts().find(|route| route.role.is_some());
        return others.or_else(|| texts().next());
    }
    let own = route(channels, header)?;
    Some(others.filter(|_| !authored).unwrap_or(own))
}

fn route<'c>(channels: &'c Channels, header: &Header) -> Option<&'c Route> {
    let fits = |wanted: &Option<Vec<String>>, have: &String| {
        let one = |word: &String| match word.strip_suffix('*') {
            Some(begin) => !have.is_empty() && have.starts_with(begin),
            None => word == have,
        };
        wanted.as_ref().is_none_or(|wanted| wanted.iter().any(one))
    };
    channels.routes.iter().find(|route| {
        fits(&route.start, &header.start)
            && fits(&route.role, &header.role)
            && fits(&route.recipient, &header.recipient)
            && fits(&route.channel, &header.channel)
            && fits(&route.content, &header.content)
            && fits(&route.end, &header.end)
    })
}
