//! Law 3 and the second half of law 1: events come as early as possible. A parser that buffers and parses at the end fails here.
//!
//! All counts are taken from delivered events, never from the parser's own figures.

use toolglot::{DialectSet, Event, Options, Parser, Sink};
use toolglot_testkit::vectors::{Entry, Log, What};

use crate::support::{CASES, DEFAULTS, nothing, places};

/// Openers that only the next byte distinguishes from longer names.
const TAGS: [&str; 2] = ["<tool_call", "<tool_action"];

/// Whatever starts something in plain text, read from the dialect files.
fn starters(set: &DialectSet) -> Vec<String> {
    let files = toolglot::builtin_files()
        .iter()
        .filter(|(id, _)| set.dialects().any(|d| d.id() == *id));
    let mut out: Vec<String> = set.dialects().flat_map(|d| d.openers()).collect();
    let chosen = set.dialects().count() == 1;
    for (_, text) in files {
        let file: toml::Table = text.parse().expect("a dialect file");
        let texts = |value: &toml::Value| -> Vec<String> {
            match value {
                toml::Value::Array(list) => list
                    .iter()
                    .filter_map(|v| v.as_str().map(str::to_owned))
                    .collect(),
                one => one.as_str().map(str::to_owned).into_iter().collect(),
            }
        };
        for table in ["reasoning", "span"] {
            let list = file.get(table).and_then(|t| t.as_array());
            let entries: Vec<_> = list.into_iter().flatten().collect();
            out.extend(entries.iter().flat_map(|entry| texts(&entry["open"])));
            if table == "span" {
                let slips = entries.iter().flat_map(|entry| texts(&entry["open"]));
                out.extend(slips.flat_map(|open| slips_of(&open)));
            }
            if table == "reasoning" {
                let closers = entries.iter().filter_map(|entry| entry.get("close"));
                out.extend(closers.flat_map(texts));
            }
        }
        let channels = file.get("channels");
        let keys = ["turn", "others"].into_iter();
        let turns: Vec<String> = keys
            .filter_map(|key| file.get(key))
            .flat_map(texts)
            .collect();
        // The opener of a turn is recognised only where the host chose its dialect, unless it is a tag.
        let opens = |marker: &String| turns.iter().any(|turn| marker.starts_with(turn.as_str()));
        let here = |marker: &String| chosen || marker.starts_with('<') || !opens(marker);
        for key in ["framing", "messages", "markup", "others"] {
            let markers = file.get(key).into_iter().flat_map(texts);
            out.extend(markers.filter(here));
        }
        let turns = turns.iter().filter(|turn| channels.is_none() && here(turn));
        for turn in turns.cloned() {
            if turn.ends_with(char::is_alphanumeric) {
                out.push(format!("{turn}\n"));
            }
            out.push(turn);
        }
        for key in ["close", "end"] {
            let markers = channels.and_then(|table| table.get(key));
            out.extend(markers.into_iter().flat_map(texts));
        }
        // Closers of a model's own syntax may be framing; others are text in any case.
        if let (Some(framed), None) = (file.get("framed"), channels) {
            let units = framed.get("unit").and_then(|list| list.as_array());
            let units = units.into_iter().flatten();
            let closers = units
                .chain(framed.get("section"))
                .filter_map(|table| table.get("close"));
            let literal = |text: &String| !text.contains('$') && text.bytes().any(|b| b != b'`');
            out.extend(closers.flat_map(texts).filter(literal));
        }
    }
    out
}

/// The misspellings that open a protected region, and blanks before the end of its opener's line.
fn slips_of(open: &str) -> Vec<String> {
    let (marker, end) = match open.strip_suffix('\n') {
        Some(marker) => (marker, "\n"),
        None => (open, ""),
    };
    let mut out = vec![format!("{marker} {end}"), format!("{marker}\r{end}")];
    out.retain(|_| !end.is_empty());
    for bracket in ["<<", "[["] {
        if let Some(rest) = marker.strip_prefix(bracket) {
            let one = &bracket[..1];
            out.extend([format!("{one}{rest}{end}"), format!("{one}{marker}{end}")]);
        }
    }
    if let Some(rest) = marker.strip_suffix(">>") {
        out.extend([format!("{rest}>{end}"), format!("{marker}>{end}")]);
    }
    if let (Some(from @ 1..), Some(to)) = (marker.find('['), marker.rfind(']')) {
        out.push(format!("{}{}{end}", &marker[..=to], &marker[from..]));
    }
    out
}

/// The number of bytes at the end of `text` that may still begin a marker.
fn undecided(text: &[u8], starters: &[String]) -> usize {
    let live = |tail: &[u8]| {
        starters
            .iter()
            .any(|s| tail.len() < s.len() && s.as_bytes().starts_with(tail))
    };
    (0..=text.len())
        .map(|from| &text[from..])
        .find(|tail| live(tail))
        .map_or(0, <[u8]>::len)
}

/// Counts the delivered bytes of text and of values.
#[derive(Default)]
struct Count {
    text: u64,
    values: u64,
    arguments: usize,
}

impl Sink for Count {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text { span, .. } => self.text += span.len(),
            Event::ParamDelta { span, .. } => self.values += span.len(),
            Event::ArgDelta { json, .. } => self.arguments += json.len(),
            _ => {}
        }
    }
}

#[test]
fn text_waits_only_while_it_may_begin_a_marker() {
    let texts = [
        "plain words, a < b, <b>bold</b>, <tool, <tool_cal, <tool_callx name> <<[TOOL_REQUEST]>> <<<[TOOL_REQUES",
        "<<<<[TOOL_<<<[TOOL_REQUEST]>><|[REQUEST_TOOL]|<|<|[REQ<|[[[VCP<ACTIO<ACTIONS <think<thinkin<tool_actions>",
        "标记是 <|[REQUEST_TOOLS]|> 和 <|REQUEST_TOOL|>，还有 <|[REQUEST_TOOL]| [[VCP调用结果信息汇：[本轮工具调用摘",
    ];
    let mut ids: Vec<Vec<&str>> = toolglot::builtin_files()
        .iter()
        .map(|(id, _)| vec![*id])
        .collect();
    ids.push(DEFAULTS.dialects().map(|d| d.id()).collect());
    for ids in ids {
        let set = ids
            .iter()
            .fold(DialectSet::builder(), |b, id| b.builtin(id))
            .build()
            .expect("built-in dialects");
        let starters = starters(&set);
        for text in texts.iter().filter(|text| {
            !starters
                .iter()
                .any(|s| !TAGS.contains(&s.as_str()) && text.contains(s.as_str()))
        }) {
            let mut options = Options::default();
            options.start = toolglot::Start::Text;
            let mut parser = Parser::new(&set, options);
            let mut count = Count::default();
            for (n, byte) in text.bytes().enumerate() {
                parser.feed(&[byte], &mut count);
                let fed = &text.as_bytes()[..=n];
                let opened = starters.iter().any(|s| fed.ends_with(s.as_bytes()));
                if opened {
                    // The name of a tag is complete, and its next byte decides.
                    continue;
                }
                let waits = undecided(fed, &starters) as u64;
                assert_eq!(
                    count.text,
                    fed.len() as u64 - waits,
                    "{ids:?} after {:?}",
                    String::from_utf8_lossy(fed)
                );
                assert_eq!(parser.held() as u64, waits);
            }
        }
    }
}

#[test]
fn values_come_out_while_they_are_written() {
    let filler = "words < & \" 「 ] - plain 中文 ".repeat(40);
    // The dialect, what opens a value, its closer, and whether arguments are delivered too.
    let cases = [
        (
            "tam",
            "<|[REQUEST_TOOL]|>command:「始」f「末」\nk:「始」",
            "「末」",
            false,
        ),
        (
            "vcp",
            "<<<[TOOL_REQUEST]>>>tool_name:「始」f「末」\nk:「始」",
            "「末」",
            false,
        ),
        (
            "vcp",
            "<<<[TOOL_REQUEST]>>>tool_name:「始」f「末」\nk:「始ESCAPE」",
            "「末ESCAPE」",
            false,
        ),
        (
            "tam2",
            "<|[REQUEST_TOOL]|>command:»»»f«««\nk:»»»",
            "«««",
            false,
        ),
        (
            "tool-call-xml",
            "<tool_call name=\"f\"><param name=\"k\">",
            "</param>",
            true,
        ),
        (
            "tool-call-xml",
            "<tool_call name=\"f\"><param name=\"k\"><![CDATA[",
            "]]>",
            true,
        ),
        (
            "tool-action",
            "<tool_action name='f'><k value='",
            "'/>",
            true,
        ),
        ("tool-action", "<tool_action name='f'><k>", "</k>", true),
        ("action", "<ACTION><f><k>", "</k>", false),
    ];
    for (dialect, open, closer, live) in cases {
        let set = DialectSet::builtin(dialect).expect("a built-in dialect");
        let mut parser = Parser::new(&set, Options::default());
        parser.feed(open.as_bytes(), &mut nothing);
        let mut count = Count::default();
        for (n, byte) in filler.bytes().enumerate() {
            parser.feed(&[byte], &mut count);
            let waits = n as u64 + 1 - count.values;
            // The closer minus one byte, or one incomplete escape.
            let most = closer.len().max(12) as u64 - 1;
            assert!(
                waits <= most,
                "{dialect}: {waits} bytes wait after {open:?} and {n} bytes"
            );
            if live {
                assert!(
                    count.arguments as u64 + 4 + most > n as u64,
                    "{dialect}: arguments wait"
                );
            }
        }
        parser.feed(b" plain end.", &mut count);
        assert_eq!(
            count.values,
            filler.len() as u64 + 11,
            "{dialect}: nothing waits after plain words"
        );
    }
}

/// They belong to no event, whatever follows them.
#[test]
fn blanks_between_the_parts_of_a_call_do_not_wait() {
    for (dialect, before) in [
        ("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {}}"),
        ("qwen3-coder", "<tool_call>\n<function=f>"),
        ("minimax-m2", "<minimax:tool_call>\n<invoke name=\"f\">"),
        (
            "kimi-k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        ),
    ] {
        let set = DialectSet::builtin(dialect).expect("a built-in dialect");
        let mut parser = Parser::new(&set, Options::default());
        parser.feed(before.as_bytes(), &mut nothing);
        for blank in "\n \n".chars() {
            parser.feed(blank.to_string().as_bytes(), &mut nothing);
            assert_eq!(parser.held(), 0, "{dialect}");
        }
    }
}

#[test]
fn a_log_does_not_depend_on_later_input() {
    for case in CASES.iter() {
        let whole = case.log();
        for at in places(case.input.len(), 150) {
            let mut log = Log::new();
            case.parser().feed(&case.input[..at], &mut log);
            // Provisional and final deltas describe the same bytes in two ways; each kind is compared separately.
            begins(
                &log,
                &whole,
                |what| !matches!(what, What::ArgDelta { .. }),
                case.id,
                at,
            );
            begins(
                &log,
                &whole,
                |what| !matches!(what, What::ParamDelta),
                case.id,
                at,
            );
        }
    }
}

/// Checks that the entries of `early` that count are a prefix of those of `whole`; the last one may be longer in `whole`.
fn begins(early: &Log, whole: &Log, counts: impl Fn(&What) -> bool, id: &str, at: usize) {
    let early: Vec<&Entry> = early
        .entries()
        .iter()
        .filter(|entry| counts(&entry.what))
        .collect();
    let whole: Vec<&Entry> = whole
        .entries()
        .iter()
        .filter(|entry| counts(&entry.what))
        .collect();
    assert!(early.len() <= whole.len(), "{id} after {at} bytes");
    for (n, (early_one, late)) in early.iter().zip(whole).enumerate() {
        let goes_on = n + 1 == early.len()
            && early_one.what == late.what
            && late.data.starts_with(&early_one.data);
        assert!(
            *early_one == late || goes_on,
            "{id} after {at} bytes, entry {n}: {early_one} is not {late}"
        );
    }
}

#[test]
fn held_bytes_are_within_the_bound_of_the_set() {
    for case in CASES.iter() {
        let bound = case.set.bound(&case.options.limits);
        let mut parser = case.parser();
        for (n, byte) in case.input.iter().enumerate() {
            parser.feed(&[*byte], &mut nothing);
            assert!(
                parser.held() <= bound,
                "{}: {} bytes wait after {n}, the bound is {bound}",
                case.id,
                parser.held()
            );
        }
    }
}
