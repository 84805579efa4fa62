//! Messages with headers: what a header says, and what its message is.

use super::spec::{self, RouteKind};

/// Longest header of a message.
pub(crate) const MAX_HEADER: u64 = 512;

/// Channels of one dialect.
#[derive(Debug)]
pub(crate) struct Channels {
    pub spec: spec::Channels,
    /// The reasoning that messages can be.
    pub reasoning: u16,
}

/// What a header says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Header<'h> {
    pub role: &'h str,
    pub recipient: &'h str,
    pub channel: &'h str,
    pub content: &'h str,
    pub end: &'h str,
}

impl spec::Channels {
    /// Reads a header, its markers included.
    pub fn read<'h>(&self, header: &'h str) -> Header<'h> {
        let ends = self.end.iter().filter(|end| header.ends_with(end.as_str()));
        let end = ends.max_by_key(|end| end.len());
        let (rest, end) = header.split_at(header.len() - end.map_or(0, String::len));
        let rest = self.last_begun(rest);
        let part = |before: &str| {
            let at = rest.find(before).filter(|_| !before.is_empty())?;
            let word = &rest[at + before.len()..];
            let len = word.find([' ', '<']).unwrap_or(word.len());
            Some((&word[..len], word[len..].trim_start()))
        };
        let word = |part: Option<(&'h str, &'h str)>| part.map_or("", |(word, _)| word);
        let (recipient, channel) = (part(&self.recipient), part(&self.channel));
        let mut content = word(part(&self.content));
        if content.is_empty() {
            // The type of the content may stand as a bare word after the recipient: `to=browser.search code`.
            let behind = recipient.or(channel).map_or("", |(_, behind)| behind);
            content = behind.split([' ', '<']).next().unwrap_or("");
        }
        let begin = self
            .start
            .iter()
            .find(|start| rest.starts_with(start.as_str()));
        let role = begin.map_or("", |start| &rest[start.len()..]);
        let role = role.split([' ', '<']).next().unwrap_or("");
        Header {
            role: if begin.is_some_and(|start| *start == self.channel) {
                ""
            } else {
                role
            },
            recipient: word(recipient),
            channel: word(channel),
            content,
            end,
        }
    }

    /// The header that counts where one is begun before the one before it has ended: the last.
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

    /// Whether what has come looks like the beginning of a header and not like prose: words right after the markers.
    pub fn shaped(&self, header: &str) -> bool {
        let marks = [&self.recipient, &self.channel, &self.content];
        let marks = marks
            .into_iter()
            .chain(&self.start)
            .filter(|mark| !mark.is_empty());
        let mut rest = header.to_owned();
        marks.for_each(|mark| rest = rest.replace(mark.as_str(), "\n"));
        let word = |c: char| c.is_ascii_alphanumeric() || "_.:-/".contains(c);
        let words = |part: &str| part.split(' ').filter(|word| !word.is_empty()).count();
        rest.split('\n').all(|part| {
            let part = part.strip_suffix(' ').unwrap_or(part);
            part.chars().all(|c| word(c) || c == ' ') && !part.starts_with(' ') && words(part) < 3
        })
    }

    /// What a message with that header is.
    pub fn route(&self, header: &Header<'_>) -> Option<RouteKind> {
        let fits = |wanted: &Option<Vec<String>>, have: &str| {
            wanted.as_ref().is_none_or(|wanted| {
                wanted.iter().any(|word| {
                    let begins = word.strip_suffix('*');
                    word == have || begins.is_some_and(|b| !have.is_empty() && have.starts_with(b))
                })
            })
        };
        let route = self.route.iter().find(|route| {
            fits(&route.role, header.role)
                && fits(&route.recipient, header.recipient)
                && fits(&route.channel, header.channel)
                && fits(&route.content, header.content)
                && fits(&route.end, header.end)
        });
        route.map(|route| route.kind)
    }

    /// What begins the next message: a header, or the rest of one.
    fn ended_by(&self) -> Vec<String> {
        let first = Some(&self.first).filter(|first| !first.is_empty());
        self.start.iter().chain(first).cloned().collect()
    }

    /// What messages are taken for that are reasoning.
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

/// Whether a byte can stand in a header.
pub(crate) fn in_header(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b" <>|_.:=-/+,[]".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_in_every_order() {
        let spec = spec::Channels {
            start: vec!["<|start|>".into(), "<|channel|>".into()],
            first: String::new(),
            end: vec!["<|message|>".into()],
            close: vec!["<|end|>".into()],
            recipient: " to=".into(),
            channel: "<|channel|>".into(),
            content: "<|constrain|>".into(),
            route: vec![],
        };
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
                "",
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
