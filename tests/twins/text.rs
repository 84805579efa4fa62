//! Plain text, reasoning, protected regions and code: everything outside blocks.
//!
//! The text is read character by character. A small line state tracks how many blanks precede a character on its
//! line and whether a code fence or an inline code run is open; only bytes before a marker decide whether it counts.

use super::{Block, Family, Outcome, Run, Torn, char_at, may_be_link, quote_before, stands};

const REASONING: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Those whose line ends count anywhere, the others only at the start of a line.
const SPANS: [(&str, &str); 9] = [
    ("<<<[TOOL_DEFINITION]>>>\n", "<<<[END_TOOL_DEFINITION]>>>"),
    ("[[VCP调用结果信息汇总:\n", "VCP调用结果结束]]"),
    ("[[AIO工具调用结果信息汇总:\n", "AIO工具调用结果结束]]"),
    ("[本轮工具调用摘要:]\n", "[本轮工具调用摘要结束]"),
    ("<<<DailyNoteStart>>>\n", "<<<DailyNoteEnd>>>"),
    ("<<<[ROLE_DIVIDE_USER]>>>", "<<<[END_ROLE_DIVIDE_USER]>>>"),
    (
        "<<<[ROLE_DIVIDE_ASSISTANT]>>>",
        "<<<[END_ROLE_DIVIDE_ASSISTANT]>>>",
    ),
    (
        "<<<[ROLE_DIVIDE_SYSTEM]>>>",
        "<<<[END_ROLE_DIVIDE_SYSTEM]>>>",
    ),
    ("<<<[DESKTOP_PUSH]>>>", "<<<[DESKTOP_PUSH_END]>>>"),
];

/// Whether a thought or a region begins anywhere in `part`.
pub(super) fn begins(part: &str) -> bool {
    let mut regions = SPANS.iter().flat_map(|pair| spellings(pair.0));
    let mut thoughts = REASONING.iter();
    thoughts.any(|pair| part.contains(pair.0)) || regions.any(|(open, _)| part.contains(&open))
}

/// How a region's opener is written, and whether that is a slip: blanks before the end of its line are none, a bracket too few or
/// too many and a name that stands twice are.
fn spellings(open: &str) -> Vec<(String, bool)> {
    let marker = open.trim_end_matches('\n');
    let end = &open[marker.len()..];
    let mut out = vec![(open.to_owned(), false)];
    if end == "\n" {
        let blanks = [" ", "  ", "\t", "\r", " \r", "  \r", "\t\r"];
        out.extend(blanks.map(|blank| (format!("{marker}{blank}\n"), false)));
    }
    let mut slip = |text: String| {
        if end == "\n" {
            out.push((format!("{text}\r\n"), true));
        }
        out.push((text + end, true));
    };
    for (two, one) in [("<<", "<"), ("[[", "[")] {
        if marker.starts_with(two) {
            slip(marker[1..].to_owned());
            slip(format!("{one}{marker}"));
        }
    }
    if marker.ends_with(">>") {
        slip(marker[..marker.len() - 1].to_owned());
        slip(format!("{marker}>"));
    }
    if let (Some(from @ 1..), Some(to)) = (marker.find('['), marker.rfind(']')) {
        slip(format!("{}{}", &marker[..=to], &marker[from..]));
    }
    out
}

/// Reads the whole input. `vcp` enables what only that dialect has: reasoning, regions, code.
pub(super) fn read(mut run: Run<'_>, family: &dyn Family, vcp: bool) -> Outcome {
    let input = run.input;
    let skip_code = run
        .setup
        .fence
        .as_deref()
        .map_or(vcp, |word| word == "skip");
    let reasoning = vcp && run.setup.reasoning;
    let mut line = Line::start();
    let mut at = 0;
    if run.setup.start_in_reasoning {
        at = reason(&mut run, family, at, None);
    }
    while at < input.len() {
        let hidden = skip_code && line.in_code();
        let marker = if let Some(len) = family.opener(input, at) {
            Some(Marker::Open(len))
        } else if let Some(len) = family.orphan(input, at) {
            Some(Marker::Close(len))
        } else if let Some(pair) = REASONING
            .iter()
            .find(|(open, _)| reasoning && line.is_start() && stands(input, at, open))
        {
            Some(Marker::Reasoning(*pair))
        } else {
            let quoted = quote_before(&run.outcome.text).is_some() && !line.is_start();
            let counts = |pair: &(&str, &str), slip: bool| {
                line.is_start() || (pair.0.ends_with('\n') && !quoted && !slip)
            };
            let opener = |pair: &'static (&'static str, &'static str)| {
                let all = spellings(pair.0).into_iter();
                let mut all =
                    all.filter(|(open, slip)| stands(input, at, open) && counts(pair, *slip));
                all.next()
                    .map(|(open, _)| Marker::Span((open.len(), pair.1)))
            };
            SPANS.iter().filter(|_| vcp).find_map(opener)
        };
        match marker {
            // In a code sample, its opener was reported already.
            Some(Marker::Close(len)) if hidden => push_text(&mut run, &mut line, &mut at, len),
            Some(marker) if hidden => {
                run.warn("hidden_by_code");
                push_text(&mut run, &mut line, &mut at, marker.len());
            }
            Some(Marker::Close(len)) => {
                run.warn("orphan_close");
                run.torn = Torn::No;
                push_text(&mut run, &mut line, &mut at, len);
            }
            Some(Marker::Open(_)) => {
                let from = at;
                // Links are left to the vectors.
                run.outcome.open |= may_be_link(&run.outcome.text, &input[at..]);
                let marker = family.opener(input, at).unwrap_or(0);
                at = block(&mut run, family, at);
                if at == from + marker && run.outcome.text.ends_with(&input[from..at]) {
                    // The marker was text.
                    input[from..at].chars().for_each(|c| line.char(c));
                } else {
                    line = line.again();
                    if at == input.len() && run.outcome.text.ends_with(&input[from..]) {
                        line.comes_back(&input[from..]);
                    }
                }
            }
            Some(Marker::Reasoning(pair)) => {
                at = reason(&mut run, family, at + pair.0.len(), Some(pair));
                line = Line::start();
            }
            Some(Marker::Span((open, close))) => {
                let body = at + open;
                at = match input[body..].find(close) {
                    Some(len) => body + len + close.len(),
                    None => {
                        run.warn("unclosed_span");
                        run.outcome.text.push_str(&input[at..]);
                        input.len()
                    }
                };
                // Chosen: the position right after a region counts as a line start, as after a block.
                line = line.again();
            }
            None => {
                let mark = char_at(input, at).filter(|c| line.is_mark(*c));
                let marks = input[at..].chars().take_while(|c| Some(*c) == mark);
                let run_len = marks.count();
                if let Some(mark) = mark {
                    line.marks(mark, run_len);
                    said(&mut run, &input[at..at + run_len]);
                    at += run_len;
                } else {
                    let len = char_at(input, at)
                        .expect("at is a character boundary")
                        .len_utf8();
                    push_text(&mut run, &mut line, &mut at, len);
                }
            }
        }
    }
    if skip_code && line.fence.is_some() {
        run.warn("unclosed_fence");
    }
    run.outcome
}

enum Marker {
    Open(usize),
    Close(usize),
    Reasoning((&'static str, &'static str)),
    Span((usize, &'static str)),
}

impl Marker {
    fn len(&self) -> usize {
        match self {
            Self::Open(len) | Self::Close(len) => *len,
            Self::Reasoning(pair) => pair.0.len(),
            Self::Span((len, _)) => *len,
        }
    }
}

fn push_text(run: &mut Run<'_>, line: &mut Line, at: &mut usize, len: usize) {
    let part = &run.input[*at..*at + len];
    part.chars().for_each(|c| line.char(c));
    said(run, part);
    *at += len;
}

/// Adds text between blocks.
fn said(run: &mut Run<'_>, part: &str) {
    run.outcome.text.push_str(part);
    if let Torn::Line(words, line) = &mut run.torn {
        *words |= !part.trim_ascii().is_empty();
        *line |= part.contains('\n');
        if *words && *line {
            run.torn = Torn::No;
        }
    }
}

/// Reads one block, applies the limits that concern it as a whole, and returns where text continues.
fn block(run: &mut Run<'_>, family: &dyn Family, at: usize) -> usize {
    let blocks = run.blocks;
    let (torn, mention) = (run.torn, quote_before(&run.outcome.text).is_some());
    let mut block = family.block(run, at);
    if torn == Torn::No && mention && run.torn != Torn::Closer {
        run.torn = Torn::No;
    }
    if torn != Torn::No && run.blocks > blocks {
        run.error("nested_open");
    }
    if block.end - at > run.setup.limits.block {
        let full = at + run.setup.limits.block;
        block = Block::limit(run, family, "limit_block", full);
    }
    if run.outcome.calls.len() + block.calls.len() > run.setup.limits.calls {
        run.error("limit_calls");
        block = Block::hidden(block.end);
    }
    if block.text {
        run.outcome.text.push_str(&run.input[at..block.end]);
    }
    run.outcome.calls.append(&mut block.calls);
    block.end
}

/// Reads reasoning from `from` on. Without a pair, the prompt opened it, and the first closer of any pair ends it.
fn reason(
    run: &mut Run<'_>,
    family: &dyn Family,
    from: usize,
    pair: Option<(&'static str, &'static str)>,
) -> usize {
    let input = run.input;
    let mut line = Line::start();
    let mut depth = 1;
    let mut at = from;
    while at < input.len() {
        if run.setup.calls_in_reasoning && family.opener(input, at).is_some() {
            at = block(run, family, at);
            line = Line::start();
            continue;
        }
        let ends = |(_, close): &&(&str, &str)| stands(input, at, close);
        let close = match &pair {
            Some(pair) => Some(pair).filter(ends),
            None => REASONING.iter().find(ends),
        };
        if let Some((_, close)) = close {
            depth -= 1;
            if depth == 0 {
                return at + close.len();
            }
            run.outcome.reasoning.push_str(close);
            at += close.len();
            line = Line::start();
            continue;
        }
        // Chosen: an opener inside counts under the same condition as outside, at a line start.
        if let Some((open, _)) = pair.filter(|(open, _)| line.is_start() && stands(input, at, open))
        {
            depth += 1;
            run.outcome.reasoning.push_str(open);
            at += open.len();
            line = Line::start();
            continue;
        }
        let c = char_at(input, at).expect("at is a character boundary");
        line.char(c);
        run.outcome.reasoning.push(c);
        at += c.len_utf8();
    }
    run.error("unclosed_reasoning");
    input.len()
}

/// The state of the current line.
struct Line {
    /// Blanks since the line start, if there is nothing else so far.
    blanks: Option<usize>,
    /// The line so far.
    text: String,
    /// Where the content of the innermost list item begins, or 0.
    list: usize,
    /// The line before was blank.
    gap: bool,
    /// The run that opened the current fence.
    fence: Option<(char, usize)>,
    /// Whether the fence was opened on this line.
    fence_line: bool,
    /// The length of the backtick run that opened inline code.
    inline: Option<usize>,
}

impl Line {
    /// A line start: of the stream, or right after a block, reasoning or region.
    fn start() -> Self {
        Self {
            blanks: Some(0),
            text: String::new(),
            list: 0,
            gap: false,
            fence: None,
            fence_line: false,
            inline: None,
        }
    }

    /// Right after a block or a region, in the same list.
    fn again(&self) -> Self {
        Self {
            list: self.list,
            gap: self.gap,
            ..Self::start()
        }
    }

    fn in_code(&self) -> bool {
        self.fence.is_some() || self.inline.is_some()
    }

    fn is_start(&self) -> bool {
        self.blanks.is_some_and(|n| n <= 3)
    }

    fn char(&mut self, c: char) {
        match c {
            '\n' => {
                let blank = self.text.trim().is_empty();
                if self.fence.is_none() {
                    self.list = items(&self.text, self.list, self.gap).1;
                }
                self.gap = blank;
                self.text.clear();
                self.blanks = Some(0);
                self.fence_line = false;
                self.inline = None;
            }
            ' ' | '\t' => {
                self.blanks = self.blanks.map(|n| n + 1);
                self.text.push(c);
            }
            _ => {
                self.blanks = None;
                self.text.push(c);
            }
        }
    }

    /// Continues with a block that became text.
    fn comes_back(&mut self, text: &str) {
        self.blanks = None;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let run = rest.chars().take_while(|next| *next == c).count();
            let run = if self.is_mark(c) { run } else { 0 };
            match run {
                0 => self.char(c),
                _ => self.marks(c, run),
            }
            rest = &rest[run.max(c.len_utf8())..];
        }
    }

    /// Whether runs of a character may be code here.
    fn is_mark(&self, c: char) -> bool {
        c == '`' || (c == '~' && self.places())
    }

    /// Whether a fence may begin or end here.
    fn places(&self) -> bool {
        let (place, list) = match self.fence {
            Some(_) => (
                Some(columns(&self.text)).filter(|_| self.text.trim().is_empty()),
                self.list,
            ),
            None => items(&self.text, self.list, self.gap),
        };
        place.is_some_and(|at| at <= list + 3)
    }

    fn marks(&mut self, mark: char, run: usize) {
        let starts = self.places();
        let at = columns(&self.text);
        if starts && self.fence.is_none() {
            self.list = match self.text.trim().is_empty() {
                true => self.list.min(at),
                false => items(&self.text, self.list, self.gap).1,
            };
        }
        self.text.extend(std::iter::repeat_n(mark, run));
        match (self.fence, self.inline) {
            // A second run of the same length on the line: it was inline code.
            (Some((own, open)), _) if self.fence_line => {
                if own == '`' && (mark, run) == (own, open) {
                    self.fence = None;
                }
            }
            (Some((own, open)), _) => {
                if starts && mark == own && run >= open {
                    self.fence = None;
                }
            }
            (None, Some(open)) => {
                if run == open {
                    self.inline = None;
                }
            }
            (None, None) if starts && run >= 3 => {
                self.fence = Some((mark, run));
                self.fence_line = true;
            }
            (None, None) if mark == '~' => {}
            (None, None) => self.inline = Some(run),
        }
        self.blanks = None;
    }
}

/// How many columns a beginning of a line takes.
fn columns(text: &str) -> usize {
    text.chars()
        .fold(0, |at, c| if c == '\t' { at + 4 - at % 4 } else { at + 1 })
}

/// The column after the blanks and the markers of list items in `line`, if it holds nothing else, and where the content of the
/// innermost item begins after it.
fn items(line: &str, list: usize, gap: bool) -> (Option<usize>, usize) {
    let mut list = list;
    let mut from = 0;
    loop {
        let rest = &line[from..];
        let word = rest.trim_start_matches([' ', '\t']);
        let start = line.len() - word.len();
        let at = columns(&line[..start]);
        if word.is_empty() {
            return (Some(at), list);
        }
        if at < list && gap {
            list = at;
        }
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let marker = match word.as_bytes() {
            [b'-' | b'*' | b'+', ..] => 1,
            bytes if (1..=9).contains(&digits) => match bytes.get(digits) {
                Some(b'.' | b')') => digits + 1,
                _ => return (None, list),
            },
            _ => return (None, list),
        };
        let behind = &word[marker..];
        let content = behind.trim_start_matches([' ', '\t']);
        if at > list + 3 || (content.len() == behind.len() && !behind.is_empty()) {
            return (None, list);
        }
        let end = at + marker;
        let next = columns(&line[..line.len() - content.len()]);
        list = if content.is_empty() || next - end > 4 {
            end + 1
        } else {
            next
        };
        if content.is_empty() {
            let blanks = !behind.is_empty();
            return (
                blanks.then_some(next),
                if blanks && next - end <= 4 {
                    next
                } else {
                    end + 1
                },
            );
        }
        from = line.len() - content.len();
    }
}
