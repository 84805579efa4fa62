use toolglot::{DialectSet, Event, Finish, NativeCall, Options, Parser, Sink, Span, TextMode};
use toolglot_testkit::json::acts;
use unicode_width::UnicodeWidthStr;

use super::*;

const MIXED: &str = include_str!("../../../examples/mixed.txt");
const MAIL: &str = concat!(
    r#"Mail: <tool_call>{"name": "mail", "arguments": {"to": ["ann", {"name": "小林", "pets": ["cat", "dog"]}], "#,
    r#""body": "你好，世界。这是一封很长的信，它必须在四十列和八十列的终端里换行，否则没有人看得懂。\n\n    code that is indented and long enough to wrap at either width of the terminals\n\u001b[2J\u202e\ud83d\ude00 end", "#,
    r#""note": "", "none": null, "rows": [[1, 2], [3]], "extra": {}, "deep": {"a": {"b": {"c": {"d": {"e": {"f": [1, "x\ny"]}}}}}}, "#,
    r#""long": "https://example.org/a/path/that/is/longer/than/any/row/of/a/terminal/that/has/eighty/columns/or/fewer"}}</tool_call> Done."#
);

/// What a terminal of this width shows for these pieces.
fn shown<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, width: Option<usize>) -> String {
    let mut options = Options::default();
    options.text = TextMode::Chars;
    let mut parser = Parser::new(&DialectSet::defaults(), options);
    view(width, |pretty| {
        for piece in pieces {
            parser.feed(piece, pretty);
            pretty.flush().expect("a list takes all");
        }
        parser.finish(Finish::Stop, pretty);
    })
}

/// What is shown of these events, without colours.
fn view(width: Option<usize>, events: impl FnOnce(&mut Pretty<&mut Vec<u8>>)) -> String {
    let mut out = vec![];
    let mut pretty = Pretty::new(&mut out, width);
    events(&mut pretty);
    pretty.end(Finish::Stop).expect("a list takes all");
    anstream::adapter::strip_str(&String::from_utf8(out).expect("UTF-8")).to_string()
}

fn whole(text: &str, width: Option<usize>) -> String {
    shown([text.as_bytes()], width)
}

#[test]
fn the_view_is_the_same_for_every_chunking() {
    for text in [MIXED, MAIL] {
        for width in [None, Some(100), Some(80), Some(40), Some(1)] {
            let have = whole(text, width);
            for size in [1, 2, 3, 7, 64] {
                let pieces = text.as_bytes().chunks(size);
                assert_eq!(shown(pieces, width), have, "{size} {width:?}");
            }
        }
    }
}

#[test]
fn rows_of_a_frame_fit_the_terminal() {
    for text in [MIXED, MAIL] {
        for width in [100, 80, 40, 30] {
            let have = whole(text, Some(width));
            let rows = have
                .lines()
                .filter(|row| row.starts_with(['┌', '│', '├', '└']));
            for row in rows {
                assert!(row.width() <= width, "{width}: {row}");
            }
        }
    }
}

#[test]
fn arguments_are_entries() {
    let have = whole(MAIL, Some(60));
    let want = "\
Mail: 
┌ mail  hermes
│ to:
│   - ann
│   - name: 小林
│     pets:
│       - cat
│       - dog
│ body:
│   你好，世界。这是一封很长的信，它必须在四十列和八十列的终
│   端里换行，否则没有人看得懂。
│
│       code that is indented and long enough to wrap at
│         either width of the terminals
│   ␛[2J\u{fffd}😀 end
│ note: \"\"
│ none: null
│ rows:
│   - [1, 2]
│   - [3]
│ extra: {}
│ deep:
│   a:
│     b:
│       c:
│         d:
│           e: {\"f\": [1, \"x\\ny\"]}
│ long:
│   https://example.org/a/path/that/is/longer/than/any/row/o
│   f/a/terminal/that/has/eighty/columns/or/fewer
└ ✓ call 0
Done.

1 call, 0 errors, 0 warnings, 0 repaired, 0 recovered
";
    assert_eq!(have, want);
}

#[test]
fn a_frame_begins_with_the_name_of_its_tool() {
    let have = whole(MIXED, None);
    let heads: Vec<&str> = have
        .lines()
        .filter(|row| row.starts_with(['┌', '├']))
        .collect();
    let want = [
        "┌ sky-forecast  vcp",
        "┌ note-book  vcp",
        "├ note-book",
        "┌ write_file  tool-call-xml",
        "┌ invite_observers  action",
        "┌ set-alarm  tool-action",
        "┌ Mount.Slew  tam",
        "├ Camera.Expose",
        "┌ publish  tool-call-xml",
    ];
    assert_eq!(heads, want);
    // What names a tool is not repeated.
    assert!(!have.contains("│ tool_name") && !have.contains("│ command2: Camera"));
    assert!(have.contains("│ command2: pin\n"), "{have}");
    assert!(have.ends_with("\n8 calls, 2 errors, 2 warnings, 0 repaired, 0 recovered\n"));
}

#[test]
fn a_block_without_a_name_has_a_frame() {
    let block = "<ACTION><!-- nothing --></ACTION>";
    let have = whole(block, None);
    assert!(have.contains("┌ action\n") && have.contains("└ "), "{have}");
    // What waits for a name is bounded.
    let have = view(None, |pretty| {
        pretty.event(Event::block_open("vcp", Span::new(0, 0)));
        pretty.event(Event::param_open("text", 0, Span::new(0, 0)));
        for _ in 0..HELD {
            pretty.event(Event::param_delta(b"word ", Span::new(0, 0)));
        }
        assert!(
            pretty
                .block
                .as_ref()
                .is_some_and(|block| block.held.is_empty())
        );
        pretty.event(Event::param_close(Span::new(0, 0)));
        pretty.event(Event::call_named(0, 0, "late", true, Span::new(0, 0)));
    });
    assert!(have.starts_with("┌ vcp\n│ text:\n│   word word"), "{have}");
    assert!(have.contains("├ late\n"), "{have}");
}

#[test]
fn calls_of_an_api_have_a_frame() {
    let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    let have = view(Some(80), |pretty| {
        let call = NativeCall::new("f", r#"{"a": "x\ny", "b": 1}"#).id("call_7".to_owned());
        parser.feed(b"Hi", pretty);
        parser.native_call(&call, pretty);
        parser.native_call(&NativeCall::new("g", "{}"), pretty);
        parser.finish(Finish::ToolCalls, pretty);
    });
    let want = "\
Hi
┌ f  API
│ a:
│   x
│   y
│ b: 1
└ ✓ call 0  id=call_7
┌ g  API
└ ✓ call 1

2 calls, 0 errors, 0 warnings, 0 repaired, 0 recovered
";
    assert_eq!(have, want);
}

#[test]
fn repaired_and_recovered_calls_are_counted() {
    let text = r#"<tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>"#;
    let have = whole(text, None);
    assert!(
        have.contains("└ ~ call 0  repaired: repaired_comma\n"),
        "{have}"
    );
    assert!(have.ends_with("\n1 call, 0 errors, 1 warning, 1 repaired, 0 recovered\n"));
}

#[test]
fn nothing_that_a_terminal_acts_on_gets_through() {
    let all: String = (0..0x3000).filter_map(char::from_u32).collect();
    let json = serde_json::to_string(&all).expect("JSON");
    let escaped = toolglot_testkit::json::escaped(json.clone());
    let mut texts = vec![all.clone(), format!("<think>{all}</think>")];
    for json in [json, escaped] {
        let mut arguments = format!(r#"{{{json}: {json}, "a": [{json}, [1, {json}]]}}"#);
        texts.push(format!(
            r#"<tool_call>{{"name": {json}, "arguments": {arguments}}}</tool_call>"#
        ));
        arguments.insert_str(0, r#"<tool_call>{"name": "f", "arguments": "#);
        texts.push(arguments.clone() + "}</tool_call>");
        texts.push(arguments);
    }
    let xml = format!("<param name=\"x\">{all}</param><param name=\"{all}\">1</param></tool_call>");
    texts.push(format!("<tool_call name=\"f\">{xml}"));
    texts.push(format!("<tool_call name=\"{all}\">{xml}"));
    for text in &texts {
        for width in [None, Some(80)] {
            for size in [text.len(), 5] {
                let have = shown(text.as_bytes().chunks(size), width);
                let bad = have.chars().find(|&c| acts(c) && c != '\n' && c != '\t');
                assert_eq!(bad, None, "{width:?} {size}");
            }
        }
    }
}

#[test]
fn a_long_argument_streams() {
    let pieces = [
        "word ".repeat(1000),
        "x".repeat(5000),
        "\u{301}".repeat(2500),
        "好".repeat(1500),
    ];
    for piece in &pieces {
        let blank = " ".repeat(5000);
        for text in [piece, &blank] {
            for width in [None, Some(80)] {
                let mut out = vec![];
                let mut pretty = Pretty::new(&mut out, width);
                let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
                parser.feed(br#"<tool_call>{"name": "f", "arguments": {"#, &mut pretty);
                let open = format!("\"{}\": \"{piece}", "name".repeat(1000));
                parser.feed(open.as_bytes(), &mut pretty);
                for _ in 0..50 {
                    parser.feed(text.as_bytes(), &mut pretty);
                }
                pretty.flush().expect("a list takes all");
                let held = pretty.out.lines.waits() + pretty.out.waits();
                assert!(held < 8192, "{held}");
            }
        }
    }
}

#[test]
fn issues_that_wait_are_bounded() {
    let text = "```\n<<<[TOOL_REQUEST]>>>\n```\n".repeat(100);
    let have = whole(&text, Some(80));
    assert_eq!(
        have.matches("warning hidden_by_code").count(),
        ISSUES,
        "{have}"
    );
    assert!(have.contains("\nand 80 more\n"), "{have}");
    assert!(have.ends_with("\n0 calls, 0 errors, 100 warnings, 0 repaired, 0 recovered\n"));
}

#[test]
fn colours_end_with_their_row() {
    let mut out = vec![];
    let mut pretty = Pretty::new(&mut out, Some(40));
    let set = DialectSet::defaults();
    let mut parser = Parser::new(&set, Options::default());
    parser.feed(MIXED.as_bytes(), &mut pretty);
    parser.finish(Finish::Stop, &mut pretty);
    pretty.end(Finish::Stop).expect("a list takes all");
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(
        text.contains("\u{1b}[1m\u{1b}[36m"),
        "the name has a colour"
    );
    for row in text.lines().filter(|row| row.contains('\u{1b}')) {
        let last = row.rfind("\u{1b}[").expect("a colour");
        assert!(row[last..].starts_with("\u{1b}[0m"), "{row:?}");
    }
}
