//! The marks that a layout writes around what a tool gave, kept out of what the tool gave.
//!
//! A result is text from a stranger. If a line of it reads `Observation: ..`, the model that reads it takes it for another
//! result. So every mark of a layout is broken by a backslash where a result holds it: what the layout writes at the
//! beginning of a line counts at the beginning of a line, tags and bracketed marks count everywhere.
//!
//! No list says which marks these are. They are read off the layout itself: it is filled with words that stand nowhere else,
//! and what stands around them are its marks. So the layout of a host is guarded like a built-in one.
//!
//! Models don't read marks to the letter, so this does not either: case, blanks, characters without width, the numbers in a
//! mark, the depth of a heading and emphasis of a label make no difference. The cost is linear in the text for each mark.

use std::collections::BTreeMap;

use toolglot::layer::Tokens;
use toolglot::layer::{expand, one_line};
use toolglot_scan::{breaks, unseen};

/// What stands at the beginning of a line before a word: nothing, a heading, or the dot of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    None,
    Heading,
    Bullet,
}

/// A mark as it is compared: in small letters, without blanks, `0` for any number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    lead: Lead,
    core: Vec<char>,
}

/// The marks of a layout.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    /// Those that begin a line.
    lines: Vec<Mark>,
    /// Those that count anywhere.
    inside: Vec<Mark>,
    /// What stands between two fields of one line. It counts anywhere in a field that has one line.
    fields: Vec<Mark>,
    /// How special tokens are spelled, each of which counts anywhere: see [`Tokens::bars`].
    bars: Vec<(bool, bool)>,
}

/// Words that fill the fields of a layout and stand in none. The id is one that every template takes.
pub(crate) const ID: &str = "Qz1ident1";
pub(crate) const NAME: &str = "Qz2name2";
pub(crate) const TEXT: &str = "Qz3text3";
pub(crate) const KEY: &str = "Qz4key4";
/// [`TEXT`] in JSON, which a layout may write as it is where it writes another text as a string.
pub(crate) const LIST: &str = "[\"Qz3text3\"]";
const WORDS: [(&str, Field); 4] = [
    (ID, Field::Short),
    (NAME, Field::Short),
    (TEXT, Field::Text),
    (KEY, Field::Text),
];

/// A word that fills a field of a layout to find what stands around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// A field of one line: the id, the name.
    Short,
    /// What the tool gave.
    Text,
}

impl Guard {
    /// Whether nothing stands around a result.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.inside.is_empty() && self.fields.is_empty()
    }

    /// A mark in its own words: a label, which counts at the beginning of a line, or markup.
    pub(crate) fn add(&mut self, mark: &str) {
        let markup = markup(mark);
        match mark.starts_with(char::is_alphanumeric) {
            true => self.line(mark, true),
            false if markup.is_empty() => self.token(mark),
            false => {}
        }
        for mark in markup {
            if mark.starts_with('[') {
                self.token(mark);
            }
            push(&mut self.inside, Mark::tag(mark));
        }
    }

    /// The tokens of the model that reads the layout.
    pub(crate) fn tokens(&mut self, tokens: &Tokens) {
        tokens.turns.iter().for_each(|token| self.token(token));
        for token in &tokens.calls {
            push(&mut self.inside, Mark::new(token, Lead::None));
        }
        self.bars.clone_from(&tokens.bars);
    }

    /// What parts turns or messages, and what it is the counterpart of.
    fn token(&mut self, token: &str) {
        for (open, close) in [("<", "</"), ("[", "[/")] {
            if let Some(name) = token
                .strip_prefix(close)
                .or_else(|| token.strip_prefix(open))
            {
                push(
                    &mut self.inside,
                    Mark::new(&format!("{close}{name}"), Lead::None),
                );
                push(
                    &mut self.inside,
                    Mark::new(&format!("{open}{name}"), Lead::None),
                );
                return;
            }
        }
        push(&mut self.inside, Mark::new(token, Lead::None));
    }

    /// The marks of a layout whose fields are filled with [`ID`], [`NAME`], [`TEXT`] and [`KEY`].
    pub(crate) fn learn(&mut self, filled: &str) {
        for line in filled.split(breaks) {
            let (mut before, mut rest) = (None, line);
            loop {
                let found = WORDS
                    .iter()
                    .filter_map(|(word, field)| Some((rest.find(word)?, word.len(), *field)));
                let next = found.min_by_key(|(at, ..)| *at);
                self.piece(&rest[..next.map_or(rest.len(), |(at, ..)| at)], before);
                let Some((at, len, field)) = next else { break };
                (before, rest) = (Some(field), &rest[at + len..]);
            }
        }
    }

    /// What a line of the layout has at its beginning, or after a field.
    fn piece(&mut self, piece: &str, before: Option<Field>) {
        for mark in markup(piece) {
            push(&mut self.inside, Mark::tag(mark));
        }
        let marked = piece.trim_start().starts_with(OPENING);
        match before {
            None if marked => {}
            None => self.line(piece, true),
            Some(_) if piece.chars().filter(|c| c.is_alphanumeric()).count() < 2 => {}
            Some(field) => {
                if field == Field::Text {
                    push(&mut self.inside, Mark::new(piece, Lead::None));
                }
                push(&mut self.fields, Mark::new(first_word(piece), Lead::None));
            }
        }
    }

    /// The words of a dialect's observations.
    pub(crate) fn observations(&mut self, observe: &BTreeMap<String, String>) {
        for template in observe.values() {
            let end = template.find(['{']).unwrap_or(template.len());
            let end = template.find("[[").map_or(end, |at| at.min(end));
            self.line(&template[..end], false);
        }
    }

    /// What a line begins with. A label counts up to its colon if the rest may differ, a number not at all.
    fn line(&mut self, piece: &str, label: bool) {
        let (lead, core) = leading(piece);
        let label = core
            .char_indices()
            .find(|(_, c)| label && matches!(c, ':' | '：'))
            .map_or(core.len(), |(at, c)| at + c.len_utf8());
        let number = core
            .find(char::is_numeric)
            .filter(|at| core[..*at].contains(char::is_alphabetic));
        let core = &core[..number.unwrap_or(label).min(label)];
        let mark = Mark::new(core, lead);
        // A bracket or a quotation mark alone is JSON, in which a result stands as a string or a value.
        let json = matches!(mark.core[..], [c] if !c.is_alphanumeric());
        if !(json || mark.core.is_empty()) || lead != Lead::None {
            push(&mut self.lines, mark);
        }
    }

    /// Of the template of a sentence about a call that was carried out.
    pub(crate) fn of_sentence(template: &str) -> Self {
        let mut guard = Self::default();
        guard.learn(&expand(template, &[("{tool}", NAME), ("{result}", TEXT)]));
        guard
    }

    /// A text of several lines without the marks.
    pub(crate) fn text(&self, text: &str) -> String {
        self.broken(text, &[&self.inside], true)
    }

    /// The same of a text whose lines stay as they are.
    pub(crate) fn within(&self, text: &str) -> String {
        self.broken(text, &[&self.inside], false)
    }

    /// A field of one line: no line ends in it, and none of the marks of its line stands in it.
    pub(crate) fn field(&self, text: &str) -> String {
        self.broken(&one_line(text), &[&self.inside, &self.fields], true)
    }

    fn broken(&self, text: &str, inside: &[&Vec<Mark>], lines: bool) -> String {
        let mut out = String::with_capacity(text.len());
        let (mut start, mut word) = (lines, false);
        // After the character at which a mark of the line is broken.
        let mut due = None;
        for (at, c) in text.char_indices() {
            let rest = &text[at..];
            if start {
                let found = self.lines.iter().filter_map(|mark| mark.at_line(rest));
                due = found.min().map(|len| at + len);
            }
            start = lines && breaks(c);
            out.push(c);
            let end = at + c.len_utf8();
            // Of several angle brackets the last one begins the tag.
            let first = !(blank(c) || c == '<' && text[end..].starts_with('<'));
            let begins = same(c);
            let here = |mark: &Mark| {
                mark.core.first() == Some(&begins)
                    && !(word && mark.word_first())
                    && mark.follows(rest)
            };
            let token = || c == '<' && special(rest, &self.bars);
            if due == Some(end) || first && (inside.iter().copied().flatten().any(here) || token())
            {
                out.push('\\');
            }
            word = c.is_alphanumeric();
        }
        out
    }
}

impl Mark {
    fn new(text: &str, lead: Lead) -> Self {
        let mut core: Vec<char> = vec![];
        for c in text.chars().filter(|c| !blank(*c)).map(same) {
            if !(matches!(c, '0' | '<' | '>') && core.last() == Some(&c)) {
                core.push(c);
            }
        }
        Self { lead, core }
    }

    /// A tag counts whatever its attributes are, and its closer as well as its opener.
    fn tag(text: &str) -> Self {
        let mut mark = Self::new(text, Lead::None);
        if mark.is_tag() {
            if mark.core.get(1) == Some(&'/') {
                mark.core.remove(1);
            }
            if mark.core.last() == Some(&'>') {
                mark.core.pop();
            }
        }
        mark
    }

    fn is_tag(&self) -> bool {
        self.core.first() == Some(&'<')
    }

    fn word_first(&self) -> bool {
        self.core.first().is_some_and(char::is_ascii_alphanumeric)
    }

    /// If the line begins with the mark: how many bytes there are up to the character after which it is broken.
    fn at_line(&self, line: &str) -> Option<usize> {
        let (at, c) = line
            .char_indices()
            .find(|(_, c)| breaks(*c) || !blank(*c))
            .filter(|(_, c)| !breaks(*c))?;
        let (_, core) = leading(&line[at..]);
        let lead = &line[at..line.len() - core.len()];
        let len = match self.lead {
            Lead::None => line.len() - core.len() + core.chars().next()?.len_utf8(),
            Lead::Heading if lead.contains(['#', '*', '_']) => at + c.len_utf8(),
            Lead::Bullet if lead.contains(BULLETS) => at + c.len_utf8(),
            Lead::Heading | Lead::Bullet => return None,
        };
        self.follows(core).then_some(len)
    }

    /// Whether a text begins with the mark.
    fn follows(&self, text: &str) -> bool {
        let mut rest = text;
        let mut last = ' ';
        for (index, want) in self.core.iter().enumerate() {
            rest = rest.trim_start_matches(blank);
            // Emphasis of a label ends before its colon or after it.
            if last.is_alphanumeric() && !want.is_alphanumeric() && !EMPHASIS.contains(want) {
                rest = rest.trim_start_matches(|c| blank(c) || EMPHASIS.contains(&c));
            }
            if self.is_tag() && index == 1 && *want != '/' {
                rest = rest
                    .strip_prefix('/')
                    .unwrap_or(rest)
                    .trim_start_matches(blank);
            }
            let mut chars = rest.chars();
            last = match chars.next().map(same) {
                Some(have) if have == *want => have,
                Some(_) | None => return false,
            };
            rest = chars.as_str();
            if matches!(last, '0' | '<' | '>') {
                rest = rest.trim_start_matches(|c| same(c) == last);
            }
        }
        // A longer word is another one. Chinese has no blanks between words.
        let longer = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !(last.is_ascii_alphanumeric() && rest.trim_start_matches(unseen).starts_with(longer))
    }
}

/// Whether a text begins with a special token in one of these forms, whatever its name is: `<|NAME|>`.
fn special(text: &str, bars: &[(bool, bool)]) -> bool {
    let bar = ['|', '｜'];
    let Some(rest) = text.strip_prefix('<').filter(|_| !bars.is_empty()) else {
        return false;
    };
    let rest = rest.trim_start_matches('/');
    let inner = rest.strip_prefix(bar);
    let rest = inner.unwrap_or(rest);
    let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.' | '▁');
    let mut ends = rest.char_indices().take(MAX_TOKEN);
    let Some((len, _)) = ends.find(|(_, c)| !name(*c)) else {
        return false;
    };
    let closed = rest[len..].trim_start_matches(bar);
    let form = (inner.is_some(), closed.len() < rest.len() - len);
    len > 0 && closed.starts_with('>') && bars.contains(&form)
}

/// No special token has a longer name.
const MAX_TOKEN: usize = 96;

/// What a mark in brackets begins with.
const OPENING: [char; 4] = ['<', '[', '「', '»'];

/// What words are emphasised with.
const EMPHASIS: [char; 4] = ['*', '_', '`', '~'];

/// What begins an entry of a list.
const BULLETS: [char; 4] = ['-', '*', '+', '•'];

fn push(marks: &mut Vec<Mark>, mark: Mark) {
    if !marks.contains(&mark) {
        marks.push(mark);
    }
}

fn blank(c: char) -> bool {
    c.is_whitespace() || unseen(c)
}

/// A character as it is compared.
fn same(c: char) -> char {
    match c {
        '：' => ':',
        '｜' => '|',
        c if c.is_numeric() => '0',
        c => c.to_lowercase().next().unwrap_or(c),
    }
}

/// What stands before the first word of a line, and the rest.
fn leading(line: &str) -> (Lead, &str) {
    let rest = line.trim_start_matches(|c| {
        matches!(c, '#' | '>' | '_' | '`' | '~') || BULLETS.contains(&c) || (blank(c) && !breaks(c))
    });
    let lead = &line[..line.len() - rest.len()];
    let kind = if lead.contains('#') {
        Lead::Heading
    } else if lead.contains(BULLETS) {
        Lead::Bullet
    } else {
        Lead::None
    };
    (kind, rest)
}

/// A mark between two fields, up to its first word and the sign that follows it.
fn first_word(piece: &str) -> &str {
    let Some(from) = piece.find(char::is_alphanumeric) else {
        return piece;
    };
    let len = piece[from..].find(|c: char| !c.is_alphanumeric());
    let end = len.map_or(piece.len(), |len| from + len);
    let sign = piece[end..].chars().next().filter(|c| !blank(*c));
    &piece[..end + sign.map_or(0, char::len_utf8)]
}

/// The tags and bracketed marks in a text: what has no blank, from an opening bracket to the last closing one, and what closes
/// with two brackets.
fn markup(text: &str) -> Vec<&str> {
    let mut found = vec![];
    for word in text.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find(OPENING) {
            let own = &rest[at..];
            let name = own.trim_start_matches(OPENING);
            let next = name.find(OPENING).unwrap_or(name.len());
            let close = name[..next].rfind(['>', ']', '」', '«']);
            let len = close.map_or(next, |at| {
                at + name[at..].chars().next().map_or(0, char::len_utf8)
            });
            let mark = &own[..own.len() - name.len() + len];
            if mark.contains(char::is_alphanumeric) {
                found.push(mark);
            }
            rest = &own[mark.len()..];
        }
        if rest.ends_with("]]") && rest.contains(char::is_alphanumeric) {
            found.push(rest);
        }
    }
    found
}
