//! `key:「始」value「末」` between two block markers: tam, tam2 and vcp.

use super::{Block, Family, Run, char_at, quotation, stands, stands_ignore_case};

const COLONS: [char; 2] = [':', '：'];
const SEPARATORS: [char; 2] = [',', '，'];
/// Maximum number of blanks on either side of a colon.
const BLANKS: usize = 64;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Tam,
    Tam2,
    Vcp,
}

struct Quote {
    open: Vec<&'static str>,
    close: Vec<&'static str>,
    /// Closers of the other quote, which count at the end of a line.
    loose: Vec<&'static str>,
    ignore_case: bool,
    /// An ESCAPE quote, which only its own closer ends.
    escape: bool,
}

/// The grammar of one of the three dialects.
pub(super) struct KeyQuote {
    pub(super) kind: Kind,
    open: Vec<&'static str>,
    close: Vec<&'static str>,
    ignore_case: bool,
    /// How many more `>` belong to a marker.
    extra: usize,
    quotes: Vec<Quote>,
}

pub(super) fn tam() -> KeyQuote {
    KeyQuote {
        kind: Kind::Tam,
        open: vec!["<|[REQUEST_TOOL]|>"],
        close: vec!["<|[END_TOOL]|>"],
        ignore_case: false,
        extra: 0,
        quotes: vec![plain(vec!["「始」"], vec!["「末」"], vec![])],
    }
}

pub(super) fn tam2() -> KeyQuote {
    KeyQuote {
        kind: Kind::Tam2,
        ignore_case: true,
        quotes: vec![
            plain(vec!["»»»"], vec!["«««"], vec!["<<<"]),
            plain(vec![">>>"], vec!["<<<"], vec!["«««"]),
        ],
        ..tam()
    }
}

pub(super) fn vcp(fuzzy: bool) -> KeyQuote {
    let escape = Quote {
        open: vec!["「始ESCAPE」", "「始ESCAPE}", "{始ESCAPE」", "{始ESCAPE}"],
        close: vec!["「末ESCAPE」", "「末ESCAPE}", "{末ESCAPE」", "{末ESCAPE}"],
        loose: vec![],
        ignore_case: true,
        escape: true,
    };
    if fuzzy {
        return KeyQuote {
            kind: Kind::Vcp,
            open: vec![
                "<<[TOOL_REQUEST]>>",
                "<<<[TOOL_REQUEST]>>",
                "<<<<[TOOL_REQUEST]>>",
            ],
            close: vec![
                "<<[END_TOOL_REQUEST]>>",
                "<<<[END_TOOL_REQUEST]>>",
                "<<<<[END_TOOL_REQUEST]>>",
            ],
            ignore_case: true,
            extra: 2,
            quotes: vec![
                plain(
                    vec!["「始」", "{始}", "{始」", "「始}"],
                    vec!["「末」", "{末}", "{末」", "「末}"],
                    vec![],
                ),
                escape,
            ],
        };
    }
    KeyQuote {
        kind: Kind::Vcp,
        open: vec!["<<<[TOOL_REQUEST]>>>"],
        close: vec!["<<<[END_TOOL_REQUEST]>>>"],
        ignore_case: false,
        extra: 0,
        quotes: vec![plain(vec!["「始」"], vec!["「末」"], vec![]), escape],
    }
}

fn plain(open: Vec<&'static str>, close: Vec<&'static str>, loose: Vec<&'static str>) -> Quote {
    Quote {
        open,
        close,
        loose,
        ignore_case: false,
        escape: false,
    }
}

/// How a value ended.
enum End {
    /// By one of its closers; `next` is after it.
    Closed {
        text: usize,
        next: usize,
        mixed: bool,
    },
    /// By a line with a key, which is next.
    KeyLine { text: usize, next: usize },
    /// By the block's closer; text continues at `next`.
    Block { text: usize, next: usize },
    /// The stream ends inside.
    Stream,
}

impl Family for KeyQuote {
    fn opener(&self, input: &str, at: usize) -> Option<usize> {
        self.marker(input, at, &self.open)
    }

    fn closer(&self, input: &str, at: usize) -> Option<usize> {
        self.marker(input, at, &self.close)
    }

    fn block(&self, run: &mut Run<'_>, start: usize) -> Block {
        let input = run.input;
        let mut at = start + self.opener(input, start).expect("an opener stands here");
        if !self.shows(run, at) {
            run.warn("lookalike_marker");
            return Block::text(at);
        }
        let quote = quotation(run, start);
        let mentioned = |at: usize| quote.is_some_and(|quote| input[at..].starts_with(quote));
        let mut fields: Vec<(String, String)> = vec![];
        let mut junk = Junk::default();
        // Chosen: the position right after the opener is a line start for comments.
        let mut line_start = true;
        let end = loop {
            if at >= input.len() {
                return junk.cut(run);
            }
            if let Some(len) = self.closer(input, at) {
                junk.ends_block(run);
                break at + len;
            }
            if self.opener(input, at).is_some() {
                junk.ends_block(run);
                run.error("unclosed_block");
                return Block {
                    end: at,
                    text: run.unclosed_is_text,
                    calls: vec![],
                };
            }
            let c = char_at(input, at).expect("at is a character boundary");
            if self.comment(input, at, line_start) {
                junk.ends(run);
                while at < input.len() && !stands(input, at, "\n") && !self.any_marker(input, at) {
                    junk.quoted &= !self.value_closer(input, at);
                    at += char_at(input, at).map_or(1, char::len_utf8);
                }
                line_start = false;
                continue;
            }
            if c.is_whitespace() {
                if c == '\n' {
                    line_start = true;
                    junk.ends(run);
                }
                at += c.len_utf8();
                continue;
            }
            line_start = false;
            if SEPARATORS.contains(&c) {
                at += c.len_utf8();
                continue;
            }
            if self.unclear(input, at) {
                junk.open |= self.ends_in_key(input, at);
                return junk.cut(run);
            }
            let key_end = key_end(input, at);
            if key_end == at {
                junk.open = true;
                let half = self.behind_half_opener(input, at);
                junk.quoted |= input[at..half].chars().count() > 1;
                junk.quoted &= !self.value_closer(input, at);
                at += c.len_utf8();
                continue;
            }
            if key_end - at > run.setup.limits.name {
                return Block::limit(run, self, "limit_name", at);
            }
            let Some((kind, mut from)) = self.value_open(input, key_end) else {
                junk.open = true;
                let behind = self.behind_colon(input, key_end);
                at = self.behind_half_opener(input, behind);
                junk.quoted |= input[behind..at].chars().count() > 1;
                junk.quoted &= !self.value_closer(input, behind);
                line_start = at == behind && input[key_end..at].contains('\n');
                continue;
            };
            junk.ends(run);
            junk.quoted = false;
            if fields.len() == run.setup.limits.params {
                return Block::limit(run, self, "limit_params", at);
            }
            let key = &input[at..key_end];
            if fields.is_empty() && mentioned(from) {
                return Block::text(from);
            }
            while let Some(open) = kind.open.iter().find(|open| kind.fits(input, from, open)) {
                run.warn("repeated_marker");
                from += open.len();
            }
            let mut by_closer = false;
            let (text, next, closed) = match self.value(run, kind, from) {
                End::Closed { text, next, mixed } => {
                    by_closer = !mixed;
                    if mixed {
                        run.warn("mixed_delimiters");
                    }
                    (text, next, None)
                }
                End::KeyLine { text, next } => {
                    run.warn("unclosed_value");
                    (text, next, None)
                }
                End::Block { text, next } => {
                    run.warn("unclosed_value");
                    (text, next, Some(next))
                }
                End::Stream if input.len() - from > run.setup.limits.value => {
                    (input.len(), input.len(), None)
                }
                End::Stream => {
                    run.error("unclosed_value");
                    let block = junk.cut(run);
                    // Its opener is only mentioned.
                    let text = block.text || quote.is_some();
                    return Block { text, ..block };
                }
            };
            if text - from > run.setup.limits.value {
                return Block::limit(run, self, "limit_value", from + run.setup.limits.value);
            }
            fields.push((key.to_owned(), self.finished(&input[from..text], kind)));
            if self.swallows(kind, &input[from..text]) {
                run.warn("bare_markup");
            }
            at = next;
            if by_closer && fields.len() == 1 && mentioned(at) {
                return Block::text(at);
            }
            let again = |at: usize| {
                let at = skip(input, at, char::is_whitespace);
                let close = kind.close.iter().find(|close| kind.fits(input, at, close));
                close.filter(|_| by_closer).map(|close| at + close.len())
            };
            while let Some(end) = again(at) {
                run.warn("repeated_marker");
                at = end;
            }
            if let Some(end) = closed {
                break end;
            }
        };
        if fields.is_empty() {
            run.error(if junk.seen {
                "malformed_body"
            } else {
                "empty_block"
            });
            return Block::hidden(end);
        }
        self.calls(run, end, fields)
    }
}

impl KeyQuote {
    /// Whether a field or the block's closer follows the opener that ends at `from`. If the opener is alone on its line,
    /// other lines may precede the field.
    fn shows(&self, run: &Run<'_>, from: usize) -> bool {
        // If a marker begins before the evidence is complete, that marker comes next.
        let next =
            |end: usize| self.kind == Kind::Vcp && super::text::begins(&run.input[from..end]);
        self.shown(run, from).is_some_and(|end| !next(end))
    }

    /// The end of the evidence for the opener.
    fn shown(&self, run: &Run<'_>, from: usize) -> Option<usize> {
        let input = run.input;
        let most = from + run.setup.limits.lookahead.max(128);
        let (mut at, mut line, mut alone, mut junk) = (from, false, false, false);
        while at < input.len().min(most) {
            if let Some(len) = self.closer(input, at).filter(|_| !junk) {
                return Some(at + len).filter(|end| *end <= most);
            }
            if self.opener(input, at).is_some() {
                return None;
            }
            let c = char_at(input, at).expect("a character");
            if c.is_whitespace() {
                line |= c == '\n';
                alone |= c == '\n';
                at += c.len_utf8();
                continue;
            }
            let comment = self.comment(input, at, line);
            line = false;
            if !comment && SEPARATORS.contains(&c) {
                at += c.len_utf8();
                continue;
            }
            if !comment {
                let end = key_end(input, at);
                if end > at
                    && let Some((_, value)) = self.value_open(input, end)
                {
                    return Some(value).filter(|end| *end <= most);
                }
                if !alone {
                    return None;
                }
                junk = true;
                at = if end > at {
                    self.behind_colon(input, end)
                } else {
                    at
                };
            }
            while at < input.len() && !stands(input, at, "\n") && self.opener(input, at).is_none() {
                at += char_at(input, at).map_or(1, char::len_utf8);
            }
        }
        None
    }

    fn marker(&self, input: &str, at: usize, markers: &[&str]) -> Option<usize> {
        let fits = if self.ignore_case {
            stands_ignore_case
        } else {
            stands
        };
        let len = markers.iter().find(|marker| fits(input, at, marker))?.len();
        let more = input.as_bytes()[at + len..]
            .iter()
            .take(self.extra)
            .take_while(|b| **b == b'>')
            .count();
        Some(len + more)
    }

    fn any_marker(&self, input: &str, at: usize) -> bool {
        self.opener(input, at).is_some() || self.closer(input, at).is_some()
    }

    fn comment(&self, input: &str, at: usize, line_start: bool) -> bool {
        match self.kind {
            Kind::Vcp => stands(input, at, "//"),
            Kind::Tam | Kind::Tam2 => line_start && stands(input, at, "#"),
        }
    }

    /// After a key: blanks, colon, blanks of any kind, value opener. Returns the quote and the start of its value.
    fn value_open(&self, input: &str, key_end: usize) -> Option<(&Quote, usize)> {
        let colon = blanks(input, key_end, |c| c.is_whitespace() && c != '\n')?;
        let c = char_at(input, colon).filter(|c| COLONS.contains(c))?;
        let at = blanks(input, colon + c.len_utf8(), char::is_whitespace)?;
        for quote in &self.quotes {
            if let Some(open) = quote.open.iter().find(|open| quote.fits(input, at, open)) {
                return Some((quote, at + open.len()));
            }
        }
        None
    }

    /// After a key without a value: the end of the colon and the following blanks, if there is a colon.
    fn behind_colon(&self, input: &str, key_end: usize) -> usize {
        let colon = skip(input, key_end, |c| c.is_whitespace() && c != '\n');
        match char_at(input, colon).filter(|c| COLONS.contains(c)) {
            Some(c) => skip(input, colon + c.len_utf8(), char::is_whitespace),
            None => key_end,
        }
    }

    fn value_closer(&self, input: &str, at: usize) -> bool {
        self.quotes.iter().any(|quote| {
            let closes = |close: &&'static str| {
                let here = input.get(at..at + close.len());
                here.is_some_and(|here| {
                    here == *close || quote.ignore_case && here.eq_ignore_ascii_case(close)
                })
            };
            quote.close.iter().any(closes)
        })
    }

    /// Chosen: an incomplete value opener is junk, and is not read again.
    fn behind_half_opener(&self, input: &str, from: usize) -> usize {
        let mut at = from;
        while let Some(c) = char_at(input, at) {
            let longer = &input[from..at + c.len_utf8()];
            let begins = |open: &&'static str| {
                open.get(..longer.len())
                    .is_some_and(|head| head.eq_ignore_ascii_case(longer))
            };
            if !self
                .quotes
                .iter()
                .any(|quote| quote.open.iter().any(begins))
            {
                break;
            }
            at += c.len_utf8();
        }
        at
    }

    /// Whether the stream ends at `at` in the beginning of a comment or of a marker of the block.
    fn ends_in_sign(&self, input: &str, at: usize) -> bool {
        let mut signs = self.open.iter().chain(&self.close);
        let comment = self.kind == Kind::Vcp && begins(input, "//", false, at);
        comment || signs.any(|sign| begins(input, sign, self.ignore_case, at))
    }

    /// Whether the stream ends at `at` in what may be a key, and nothing else.
    fn ends_in_key(&self, input: &str, at: usize) -> bool {
        let key_end = key_end(input, at);
        let rest = skip(input, key_end, |c| c.is_whitespace() && c != '\n');
        key_end > at && rest == input.len() && !self.ends_in_sign(input, at)
    }

    /// Whether the stream ends before it is clear what is at `at`: a marker, a comment or a field.
    fn unclear(&self, input: &str, at: usize) -> bool {
        if self.ends_in_sign(input, at) {
            return true;
        }
        let key_end = key_end(input, at);
        let colon = skip(input, key_end, |c| c.is_whitespace() && c != '\n');
        if key_end == at || colon == input.len() {
            return key_end > at;
        }
        let Some(c) = char_at(input, colon).filter(|c| COLONS.contains(c)) else {
            return false;
        };
        let open = skip(input, colon + c.len_utf8(), char::is_whitespace);
        let opens = |quote: &Quote| {
            let mut signs = quote.open.iter();
            signs.any(|sign| begins(input, sign, quote.ignore_case, open))
        };
        self.quotes.iter().any(opens)
    }

    /// Whether a field begins in a value: there is an opener, and the 32 bytes up to its end hold a key and a colon, preceded
    /// by nothing, by the beginning, a line end or a separator; or only white space precedes the opener.
    fn swallows(&self, quote: &Quote, value: &str) -> bool {
        if quote.escape {
            return false;
        }
        let quotes = self.quotes.iter().filter(|other| !other.escape);
        let opens = quotes.flat_map(|other| &other.open);
        let mut places = opens.flat_map(|open| value.match_indices(*open));
        places.any(|(at, open)| {
            let mut from = (at + open.len()).saturating_sub(32).min(at);
            while !value.is_char_boundary(from) {
                from += 1;
            }
            let before = value[from..at].trim_end();
            if before.is_empty() {
                return true;
            }
            let Some(head) = before.strip_suffix(COLONS) else {
                return false;
            };
            let blank = |c: char| c.is_whitespace() && c != '\n';
            let head = head.trim_end_matches(blank);
            let key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
            let rest = head.trim_end_matches(key);
            let lead = rest.trim_end_matches(blank);
            rest != head && (lead.is_empty() || lead.ends_with('\n') || lead.ends_with(SEPARATORS))
        })
    }

    /// Whether the line at `at` starts with a key and a value's opener.
    fn key_line(&self, input: &str, at: usize) -> bool {
        let key = skip(input, at, |c| c.is_whitespace() && c != '\n');
        let end = key_end(input, key);
        end > key && self.value_open(input, end).is_some()
    }

    fn value(&self, run: &Run<'_>, quote: &Quote, from: usize) -> End {
        let input = run.input;
        for at in from..input.len() {
            if let Some((len, mixed)) = quote.closer(input, at) {
                return End::Closed {
                    text: at,
                    next: at + len,
                    mixed,
                };
            }
            if quote.escape {
                continue;
            }
            if self.kind != Kind::Vcp && stands(input, at, "\n") && self.key_line(input, at + 1) {
                return End::KeyLine {
                    text: without_return(input, from, at),
                    next: at,
                };
            }
            if let Some(len) = self.closer(input, at) {
                let ended = End::Block {
                    text: without_newline(input, from, at),
                    next: at + len,
                };
                match self.own_closer_first(run, quote, at + len) {
                    Some((at, len, mixed)) => {
                        return End::Closed {
                            text: at,
                            next: at + len,
                            mixed,
                        };
                    }
                    None => return ended,
                }
            }
        }
        End::Stream
    }

    /// After a block's closer in an open value: the value's own closer, if it comes before any sign that the value had ended.
    fn own_closer_first(
        &self,
        run: &Run<'_>,
        quote: &Quote,
        from: usize,
    ) -> Option<(usize, usize, bool)> {
        let input = run.input;
        let limit = from + run.setup.limits.lookahead;
        let mut opener_seen = false;
        for at in from..input.len().min(limit) {
            if let Some((len, mixed)) = quote.closer(input, at) {
                return (at + len <= limit).then_some((at, len, mixed));
            }
            if stands(input, at, "\n") && self.key_line(input, at + 1) {
                return None;
            }
            opener_seen |= self.opener(input, at).is_some();
            if opener_seen && input.is_char_boundary(at) {
                let end = key_end(input, at);
                if end > at && self.value_open(input, end).is_some() {
                    return None;
                }
            }
        }
        None
    }

    fn finished(&self, raw: &str, quote: &Quote) -> String {
        match self.kind {
            Kind::Tam2 => raw.trim().to_owned(),
            Kind::Vcp if quote.escape => raw
                .replace("<<<[TOOL_REQUEST_ESCAPE]>>>", "<<<[TOOL_REQUEST]>>>")
                .replace(
                    "<<<[END_TOOL_REQUEST_ESCAPE]>>>",
                    "<<<[END_TOOL_REQUEST]>>>",
                ),
            Kind::Tam | Kind::Vcp => raw.to_owned(),
        }
    }
}

impl Quote {
    fn fits(&self, input: &str, at: usize, marker: &str) -> bool {
        if self.ignore_case {
            stands_ignore_case(input, at, marker)
        } else {
            stands(input, at, marker)
        }
    }

    /// The length of a closer at `at`, and whether it belongs to the other quote.
    fn closer(&self, input: &str, at: usize) -> Option<(usize, bool)> {
        if let Some(own) = self.close.iter().find(|close| self.fits(input, at, close)) {
            return Some((own.len(), false));
        }
        let foreign = self.loose.iter().find(|close| stands(input, at, close))?;
        let blank = |c: char| (c.is_whitespace() && c != '\n') || SEPARATORS.contains(&c);
        let behind = skip(input, at + foreign.len(), blank);
        stands(input, behind, "\n").then_some((foreign.len(), true))
    }
}

/// Junk in a block. Chosen: a piece of it is reported once it has ended, so the end of the stream may come first.
#[derive(Default)]
struct Junk {
    open: bool,
    seen: bool,
    /// It contains a value's opener, or most of one, and no closer since.
    quoted: bool,
}

impl Junk {
    /// A marker of the block ends it, which may be quoted.
    fn ends_block(&mut self, run: &mut Run<'_>) {
        self.ends(run);
        if self.quoted {
            run.warn("open_string");
        }
    }

    fn ends(&mut self, run: &mut Run<'_>) {
        if self.open {
            run.error("junk_in_block");
            self.seen = true;
        }
        self.open = false;
    }

    /// The stream ends inside: if junk was seen, the block becomes text.
    fn cut(mut self, run: &mut Run<'_>) -> Block {
        self.ends(run);
        let block = Block::unclosed(run);
        Block {
            text: block.text || self.seen,
            ..block
        }
    }
}

/// Whether the input ends at `at` in the beginning of a sign.
fn begins(input: &str, sign: &str, fold: bool, at: usize) -> bool {
    let rest = &input[at..];
    rest.len() < sign.len() && sign.is_char_boundary(rest.len()) && {
        let start = &sign[..rest.len()];
        start == rest || (fold && start.eq_ignore_ascii_case(rest))
    }
}

fn key_end(input: &str, at: usize) -> usize {
    skip(input, at, |c| {
        c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
    })
}

/// The end of the blanks at `at`; `None` if there are too many.
fn blanks(input: &str, at: usize, blank: impl Fn(char) -> bool) -> Option<usize> {
    let end = skip(input, at, blank);
    Some(end).filter(|end| input[at..*end].chars().count() <= BLANKS)
}

fn skip(input: &str, at: usize, wanted: impl Fn(char) -> bool) -> usize {
    let rest = &input[at..];
    at + rest.find(|c| !wanted(c)).unwrap_or(rest.len())
}

/// The end of a value that extends to `end`, without one final newline.
fn without_newline(input: &str, from: usize, end: usize) -> usize {
    if end > from && stands(input, end - 1, "\n") {
        without_return(input, from, end - 1)
    } else {
        end
    }
}

/// Chosen: CR LF is one newline.
fn without_return(input: &str, from: usize, end: usize) -> usize {
    if end > from && stands(input, end - 1, "\r") {
        end - 1
    } else {
        end
    }
}
