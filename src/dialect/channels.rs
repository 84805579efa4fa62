//! Messages with headers: the parts of a header, and what its message is.

use std::borrow::Cow;
use std::ops::Range;

use super::spec::{self, RouteKind};

/// The maximum length of a message's header, in bytes.
pub(crate) const MAX_HEADER: u64 = 512;

/// The recipient of a message to all tools, written where a header cannot hold the tool's name.
pub(crate) const ALL_TOOLS: &str = "tools";

/// How many markers that begin a header may be in one: a role and a channel, each once more if the header is begun again. The
/// bound keeps endless repetitions from being re-read for each marker, up to the maximum header length.
const MAX_BEGUN: usize = 4;

/// The message headers of one dialect.
#[derive(Debug)]
pub(crate) struct Channels {
    pub spec: spec::Channels,
    /// The reasoning that messages can be.
    pub reasoning: u16,
}

/// A parsed header.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Header<'h> {
    /// The marker that it begins with.
    pub start: &'h str,
    pub role: &'h str,
    pub recipient: &'h str,
    pub channel: &'h str,
    pub content: &'h str,
    pub end: &'h str,
    /// It contains a word that no rule reads.
    pub unread: bool,
    /// The space before the recipient is missing, the mark before it contains whitespace, or a part is written twice.
    pub slipped: bool,
}

impl<'h> Header<'h> {
    fn name(&mut self, recipient: &'h str) {
        match self.recipient {
            "" if !recipient.is_empty() => self.recipient = recipient,
            // Where a header may name it, and again where another one would.
            have if have == recipient && !have.is_empty() => self.slipped = true,
            _ => self.unread = true,
        }
    }
}

/// The first word of `text`, up to a space or a marker.
fn word_of(text: &str) -> &str {
    let len = text.find([' ', '<']).unwrap_or(text.len());
    &text[..len]
}

/// Whether a word may be the name of a role or of a channel, or a type.
fn is_plain(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-/+".contains(&byte);
    word.bytes().all(plain)
}

/// Whether a word matches a route's condition.
fn fits_word(wanted: &str, have: &str) -> bool {
    let begins = wanted.strip_suffix('*');
    wanted == have || begins.is_some_and(|b| !have.is_empty() && have.starts_with(b))
}

impl spec::Channels {
    /// Reads a header, including its markers. What directly follows a marker is its part. Of the other words one is the
    /// recipient and one the content type; no rule reads the rest.
    pub(crate) fn read<'h>(&self, header: &'h str) -> Header<'h> {
        let (mut out, mut given_up) = self.read_last(header);
        while !given_up.is_empty() {
            let (begun, before) = self.read_last(given_up);
            given_up = before;
            if let Some(whole) = self.continued(&begun, &out) {
                out = whole;
                continue;
            }
            out.unread |= self.has_words(&begun);
            if !self.names_author(&out) && self.names_author(&begun) {
                // Only a part of it began again.
                (out.start, out.role) = (begun.start, begun.role);
            }
        }
        let calls = |kind| matches!(kind, RouteKind::Call | RouteKind::Calls);
        let kind = self.route(&out);
        out.unread |= self.is_unknown(&out) && kind.is_some_and(calls);
        // The name of a tool, in the header of a message that calls none: a word of the message, or a call was meant.
        let plain = matches!(kind, Some(RouteKind::Text | RouteKind::Reasoning));
        out.unread |= !out.role.is_empty() && self.recipient.is_empty() && plain;
        out
    }

    /// Reads a header from where it begins again. What comes before that was given up.
    fn read_last<'h>(&self, header: &'h str) -> (Header<'h>, &'h str) {
        let ends = self.end.iter().filter(|end| header.ends_with(end.as_str()));
        let end = ends.max_by_key(|end| end.len());
        let (rest, end) = header.split_at(header.len() - end.map_or(0, String::len));
        let last = self.last_begun(rest);
        let given_up = &rest[..rest.len() - last.len()];
        let mut rest = last;
        let starts = self.start.iter();
        let start = starts.filter(|start| rest.starts_with(start.as_str()));
        let start = start.max_by_key(|start| start.len()).map_or(0, String::len);
        let mut out = Header {
            start: &rest[..start],
            end,
            ..Header::default()
        };
        // The rest of a header that the prompt has begun.
        let glued = self.recipient.starts_with(' ') && !rest.starts_with(' ');
        out.slipped = glued && self.recipient_at(rest).is_some();
        let named = !self.recipient.is_empty() && rest.contains(&self.recipient);
        while !rest.is_empty() {
            let begins = |marker: &&String| !marker.is_empty() && rest.starts_with(marker.as_str());
            let parts = [&self.channel, &self.content].into_iter();
            let Some(marker) = parts.chain(&self.start).find(begins) else {
                rest = match (rest.strip_prefix(' '), self.recipient_at(rest)) {
                    (Some(after), _) => after,
                    (None, Some((recipient, plain))) => {
                        out.slipped |= !plain;
                        out.name(word_of(recipient));
                        &recipient[word_of(recipient).len()..]
                    }
                    (None, None) => {
                        let due = !out.recipient.is_empty() || !(named || out.channel.is_empty());
                        self.bare(&mut out, rest, due)
                    }
                };
                continue;
            };
            let mut after = &rest[marker.len()..];
            let word = after.trim_start_matches(' ');
            if ![&self.channel, &self.content].contains(&marker)
                && self.recipient_at(word).is_none()
            {
                after = word;
            }
            let part = word_of(after);
            let (word, recipient) = self.unglued(part);
            rest = &after[part.len()..];
            if *marker == self.channel {
                out.channel = word;
                out.unread |= !is_plain(word);
            } else if *marker == self.content {
                out.unread |= !out.content.is_empty();
                out.content = if word.is_empty() { out.content } else { word };
            } else {
                out.role = word;
                // A header with nothing else is the name of a tool.
                let roles = self.route.iter().filter_map(|route| route.role.as_ref());
                let listed = roles.flatten().any(|wanted| fits_word(wanted, word));
                out.unread |= !(listed || is_plain(word) || self.recipient.is_empty());
            }
            if let Some(recipient) = recipient {
                out.slipped |= self.recipient.starts_with(' ');
                out.name(recipient);
            }
        }
        // Without the marker before it, the channel may be at the end of the name.
        let ends = |name: &String| {
            let before = out.recipient.strip_suffix(name.as_str());
            !name.is_empty() && before.is_some_and(|before| !before.is_empty())
        };
        out.unread |= out.channel.is_empty() && self.names().any(ends);
        (out, given_up)
    }

    /// The channels that its routes name.
    fn names(&self) -> impl Iterator<Item = &String> {
        let routes = self.route.iter();
        let names = routes.filter_map(|route| route.channel.as_ref()).flatten();
        names.filter(|name| *name != "*")
    }

    /// One header of two parts, where the second only goes on what the first has begun: the channel is written again before the
    /// content type.
    fn continued<'h>(&self, begun: &Header<'h>, rest: &Header<'h>) -> Option<Header<'h>> {
        let names = !begun.recipient.is_empty() && rest.recipient.is_empty();
        let again = rest.start == self.channel && rest.channel == begun.channel;
        let typed = begun.content.is_empty() && !rest.content.is_empty();
        (names && again && typed && !begun.unread).then_some(Header {
            content: rest.content,
            end: rest.end,
            unread: rest.unread,
            slipped: true,
            ..*begun
        })
    }

    /// Whether its routes name a word as a content type.
    fn is_type(&self, word: &str) -> bool {
        let types = self.route.iter().filter_map(|route| route.content.as_ref());
        types.flatten().any(|content| content == word)
    }

    /// Whether a header that was given up contains words of a message: its end is missing.
    fn has_words(&self, header: &Header<'_>) -> bool {
        let known = header.content.is_empty() || self.is_type(header.content);
        let glued = |name: &String| {
            let rest = header.channel.strip_prefix(name.as_str());
            !name.is_empty() && rest.is_some_and(|rest| !rest.is_empty())
        };
        header.unread || !known || self.names().any(glued)
    }

    /// Reads the first word of `rest`, which is not part of a header, and returns what follows it. The word may be the content
    /// type if that is `due` (`to=browser.search code`).
    fn bare<'h>(&self, out: &mut Header<'h>, rest: &'h str, due: bool) -> &'h str {
        // Text that begins like a marker is a separate word.
        let ends = rest.char_indices().skip(1).find(|(_, c)| " <".contains(*c));
        let (word, after) = rest.split_at(ends.map_or(rest.len(), |(at, _)| at));
        match out.content {
            "" if due || self.is_type(word) => {
                out.content = word;
                out.unread |= !is_plain(word);
            }
            _ => out.unread = true,
        }
        after
    }

    /// The recipient, if `rest` begins with the mark before it, perhaps with whitespace inside; and whether that whitespace
    /// exists.
    fn recipient_at<'h>(&self, rest: &'h str) -> Option<(&'h str, bool)> {
        let mark = self.recipient.trim_start();
        match rest.strip_prefix(mark) {
            Some(after) if !mark.is_empty() && !after.starts_with(' ') => {
                return Some((after, true));
            }
            _ => {}
        }
        let stem = rest.strip_prefix(mark.strip_suffix('=')?)?;
        let sign = stem.trim_start_matches(' ');
        let after = sign.strip_prefix('=')?;
        let name = after.trim_start_matches(' ');
        // An empty part is not part of the next one.
        match name.starts_with(mark) {
            true => Some((after, true)),
            false => Some((name, false)),
        }
    }

    /// Splits a part of a header that contains the recipient without the space before it (`commentaryto=functions.f`).
    fn unglued<'h>(&self, word: &'h str) -> (&'h str, Option<&'h str>) {
        let mark = self.recipient.trim_start();
        let parts = word.split_once(mark).filter(|_| !mark.is_empty());
        match parts.filter(|(before, _)| is_plain(before)) {
            Some((before, recipient)) => (before, Some(recipient)),
            None => (word, None),
        }
    }

    /// The header that counts if one is begun before the previous one has ended: the last.
    fn last_begun<'h>(&self, header: &'h str) -> &'h str {
        let starts = self.start.iter().filter(|start| **start != self.channel);
        let again = starts.filter_map(|start| header.rfind(start.as_str()));
        let header = again.max().map_or(header, |at| &header[at..]);
        let twice = header
            .rfind(&self.channel)
            .filter(|at| header[..*at].contains(&self.channel));
        twice
            .filter(|_| !self.channel.is_empty())
            .map_or(header, |at| &header[at..])
    }

    /// Whether the bytes so far look like the beginning of a header and not like prose: words directly after the markers.
    pub fn shaped(&self, header: &str) -> bool {
        // The name of an author, and that of a tool, may be in any script.
        let word = |c: char, name: bool| {
            c.is_ascii_alphanumeric() || "_.:-/".contains(c) || name && c.is_alphanumeric()
        };
        let shaped = |part: &str, name: bool| {
            let part = part.strip_suffix(' ').unwrap_or(part);
            let words = part.split(' ').filter(|word| !word.is_empty()).count();
            let fits = part.chars().all(|c| word(c, name) || c == ' ');
            fits && !part.starts_with(' ') && words < 3
        };
        let (mut rest, mut name) = (header, false);
        loop {
            let mut places = rest.char_indices();
            let next = places.find_map(|(at, _)| Some((at, self.part_begins(&rest[at..])?)));
            match next {
                Some((at, _)) if !shaped(&rest[..at], name) => return false,
                Some((at, len)) => {
                    let marker = &rest[at..at + len];
                    name = marker != self.channel && marker != self.content;
                    rest = &rest[at + len..];
                }
                None => return shaped(rest, name),
            }
        }
    }

    /// The length of the beginning of a header part, if `rest` starts with one: a marker, or an unambiguous recipient mark.
    fn part_begins(&self, rest: &str) -> Option<usize> {
        if let Some(stem) = self.recipient.strip_suffix('=') {
            let sign = |after: &str| {
                [" = ", " =", "= ", "="]
                    .into_iter()
                    .find(|s| after.starts_with(s))
            };
            if let Some(sign) = rest.strip_prefix(stem).and_then(sign) {
                return Some(stem.len() + sign.len());
            }
        }
        let marks = [self.recipient.trim_start(), &self.channel, &self.content].into_iter();
        let mut marks = marks.chain(self.start.iter().map(String::as_str));
        let mark = marks.find(|mark| !mark.is_empty() && rest.starts_with(mark));
        mark.map(str::len)
    }

    /// Whether the header has so many begin markers that the next one begins another header.
    pub fn crowded(&self, header: &[u8]) -> bool {
        let begins = |at: &usize| {
            let mut starts = self.start.iter();
            starts.any(|start| header[*at..].starts_with(start.as_bytes()))
        };
        (0..header.len()).filter(begins).count() >= MAX_BEGUN
    }

    /// What a message with that header is. An author whom no model's header names writes text, whatever else it names.
    pub(crate) fn route(&self, header: &Header<'_>) -> Option<RouteKind> {
        match self.is_stranger(header) {
            true => Some(RouteKind::Text),
            false => self.matching(header).map(|route| route.kind),
        }
    }

    /// Whether the author's name is in another script than the names that models write.
    fn is_stranger(&self, header: &Header<'_>) -> bool {
        let names = !self.recipient.is_empty() && self.names_author(header);
        let roles = self.route.iter().filter_map(|route| route.role.as_ref());
        let mut known = roles.flatten().chain(&self.model);
        let foreign = names && header.role.starts_with(|c: char| !c.is_ascii());
        foreign && !known.any(|name| fits_word(name, header.role))
    }

    /// Whether a header names the author of its message. Other headers begin a further part of the open message.
    pub(crate) fn names_author(&self, header: &Header<'_>) -> bool {
        !header.start.is_empty() && header.start != self.channel
    }

    /// Whether nobody whom the dialect knows as the model wrote a message.
    pub(crate) fn is_unknown(&self, header: &Header<'_>) -> bool {
        let known = self.model.iter().any(|word| fits_word(word, header.role));
        !self.model.is_empty() && !header.role.is_empty() && !known
    }

    /// What a message is whose header names another author than the model.
    pub(crate) fn of_others(&self, header: &Header<'_>) -> Option<RouteKind> {
        if self.is_stranger(header) {
            return Some(RouteKind::Text);
        }
        let route = self.matching(header)?;
        let mut words = self.model.iter();
        let model = words.any(|word| fits_word(word, header.role) || word == header.start);
        let named = route.role.is_some() || route.start.is_some();
        match route.kind {
            RouteKind::Result => Some(route.kind),
            RouteKind::Text if named && !model && self.names_author(header) => Some(route.kind),
            RouteKind::Text | RouteKind::Reasoning | RouteKind::Call | RouteKind::Calls => None,
        }
    }

    fn matching(&self, header: &Header<'_>) -> Option<&spec::Route> {
        let fits = |wanted: &Option<Vec<String>>, have: &str| {
            let one = |wanted: &String| fits_word(wanted, have);
            wanted.as_ref().is_none_or(|wanted| wanted.iter().any(one))
        };
        self.route.iter().find(|route| {
            fits(&route.start, header.start)
                && fits(&route.role, header.role)
                && fits(&route.recipient, header.recipient)
                && fits(&route.channel, header.channel)
                && fits(&route.content, header.content)
                && fits(&route.end, header.end)
        })
    }

    /// What begins the next message: a header, or the rest of one.
    fn ended_by(&self) -> Vec<String> {
        let first = Some(&self.first).filter(|first| !first.is_empty());
        self.start.iter().chain(first).cloned().collect()
    }

    /// The reasoning for which reasoning messages are taken.
    pub fn reasoning(&self) -> spec::Reasoning {
        spec::Reasoning {
            open: vec![],
            close: self.close.clone(),
            at: spec::ReasoningAt::Anywhere,
            nested: false,
            repeats: false,
            implicit: false,
            first: false,
            label: String::new(),
            ended_by: self.ended_by(),
            after_call: spec::AfterCall::Text,
            suffix: false,
        }
    }
}

/// Whether a marker closes only those messages that are calls: it is then preferred for writing calls, and not used for
/// messages.
pub(crate) fn ends_calls(spec: &spec::Spec, marker: &str) -> bool {
    let messages = spec.channels.as_ref().map(|channels| &channels.close);
    let units = spec.framed.iter().flat_map(|framed| &framed.unit);
    let mut first = units.filter_map(|unit| unit.close.first());
    let closes = |close: &Vec<String>| close.iter().skip(1).any(|close| close == marker);
    messages.is_some_and(closes) && first.any(|close| close == marker)
}

impl spec::Channels {
    /// Prepares a header for reading: without white space between its parts that separates nothing, and with markers that
    /// follow themselves once. Returns whether there was any.
    pub(crate) fn tidied<'h>(&self, header: &'h str) -> (Cow<'h, str>, bool) {
        let (mut header, mut odd) = joined(header);
        let parts = [&self.channel, &self.content].into_iter();
        for marker in parts.chain(&self.end).filter(|marker| !marker.is_empty()) {
            while let Some(again) = repetition(marker, &header) {
                let mut once = header.into_owned();
                once.replace_range(again, "");
                (header, odd) = (Cow::Owned(once), true);
            }
        }
        (header, odd)
    }
}

/// Where a marker follows itself in a header: the repetition, with the blanks before it.
fn repetition(marker: &str, header: &str) -> Option<Range<usize>> {
    // Most headers are too short, and a search takes time to prepare.
    if header.len() < 2 * marker.len() {
        return None;
    }
    let mut last = None;
    let mut places = header.match_indices(marker).map(|(at, _)| at);
    places.find_map(|at| {
        let end = last.replace(at + marker.len())?;
        let blank = header.get(end..at)?.bytes().all(|byte| byte == b' ');
        blank.then_some(end..at + marker.len())
    })
}

/// Removes runs of whitespace that contain a newline or tab from a header, and returns whether there were any. Such a run
/// precedes a marker and separates nothing.
fn joined(header: &str) -> (Cow<'_, str>, bool) {
    let breaks = |c: char| matches!(c, '\n' | '\r' | '\t');
    if !header.contains(breaks) {
        return (Cow::Borrowed(header), false);
    }
    let mut out = String::with_capacity(header.len());
    for part in header.split(breaks) {
        let part = if out.is_empty() {
            part
        } else {
            part.trim_start_matches(' ')
        };
        out.push_str(part.trim_end_matches(' '));
    }
    (Cow::Owned(out), true)
}

/// Whether a byte can be part of a header.
pub(crate) fn in_header(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b" <>|_.:=-/+,[]".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harmony() -> spec::Channels {
        spec::Channels {
            start: vec!["<|start|>".into(), "<|channel|>".into()],
            first: String::new(),
            end: vec!["<|message|>".into()],
            close: vec!["<|end|>".into()],
            recipient: " to=".into(),
            channel: "<|channel|>".into(),
            content: "<|constrain|>".into(),
            model: vec![],
            route: vec![],
        }
    }

    #[test]
    fn unread_words_are_detected() {
        let spec = harmony();
        for (header, recipient, unread, slipped) in [
            (
                "<|start|>assistant<|channel|>commentary to=f json",
                "f",
                false,
                false,
            ),
            (
                "<|channel|>analysis <|constrain|>json to=f",
                "f",
                false,
                false,
            ),
            (
                "<|start|> assistant to=f<|channel|>commentary code",
                "f",
                false,
                false,
            ),
            (
                "<|channel|>commentaryto=functions.f",
                "functions.f",
                false,
                true,
            ),
            (
                "<|start|>assistantto=f<|channel|>commentary",
                "f",
                false,
                true,
            ),
            (
                "<|channel|>commentary<|constrain|>jsonto=f",
                "f",
                false,
                true,
            ),
            ("<|channel|>commentary to= f", "f", false, true),
            ("<|channel|>commentary to = f json", "f", false, true),
            ("<|channel|>commentary too=f", "", true, false),
            ("<|channel|>commentary to:f", "", true, false),
            ("<|channel|>commentary to=", "", true, false),
            ("<|channel|>commentary functions.f", "", true, false),
            ("<|channel|>commentary to=f to=g", "f", true, false),
            (
                "<|start|>assistant to=f<|channel|>commentary to=f",
                "f",
                false,
                true,
            ),
            ("<|channel|>commentary 工具 to=f", "f", true, false),
            ("<|channel|>分析 to=f", "f", true, false),
            ("<|channel|>final a b", "", true, false),
            ("<|channel|>final<|x|>", "", true, false),
            ("<|start|>assistant,f<|channel|>final", "", true, false),
        ] {
            let header = format!("{header}<|message|>");
            let got = spec.read(&header);
            assert_eq!(
                (got.recipient, got.unread, got.slipped),
                (recipient, unread, slipped),
                "{header}: {got:?}"
            );
        }
    }

    #[test]
    fn headers_are_read_in_every_order() {
        let spec = harmony();
        for (text, recipient, channel, content) in [
            ("<|channel|>analysis<|message|>", "", "analysis", ""),
            (
                "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
                "functions.f",
                "commentary",
                "json",
            ),
            (
                "<|start|>assistant to=f<|channel|>analysis code<|message|>",
                "f",
                "analysis",
                "code",
            ),
            (
                "<|channel|>analysis to=browser.search code<|message|>",
                "browser.search",
                "analysis",
                "code",
            ),
            ("<|start|>assistant<|message|>", "", "", ""),
        ] {
            let got = spec.read(text);
            assert_eq!(
                (got.recipient, got.channel, got.content),
                (recipient, channel, content),
                "{text}"
            );
        }
    }
}
