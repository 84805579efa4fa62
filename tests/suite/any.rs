//! The preset `any`, calls of undeclared tools, and hints at calls that nobody read.

use std::sync::Arc;

use toolglot::{
    Collect, DialectSet, EncodeCall, EncodeOptions, Finish, Kind, Options, Parser, ToolChoice,
    Tools, Turn, UnknownTool, builtin_files, encode,
};

use crate::support::{ANY, DEFAULTS, places};

const TOOLS: &str = r#"[
    {"name": "read_file", "parameters": {"properties": {"path": {"type": "string"}}}},
    {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}},
    {"name": "查天气", "parameters": {"properties": {"城市": {"type": "string"}}}}]"#;
const OTHERS: &str = r#"[{"name": "zz_other", "parameters": {"properties": {}}}]"#;

fn tools(json: &str) -> Option<Arc<Tools>> {
    Some(Arc::new(Tools::from_json(json).expect("tools")))
}

fn options(json: &str, unknown: Option<UnknownTool>) -> Options {
    let mut options = Options::default();
    options.tools = tools(json);
    options.unknown_tool = unknown;
    options
}

fn cut(set: &DialectSet, options: &Options, pieces: &[&[u8]]) -> Turn {
    let mut parser = Parser::new(set, options.clone());
    let mut turn = Collect::new();
    for piece in pieces {
        parser.feed(piece, &mut turn);
    }
    parser.finish(Finish::Stop, &mut turn);
    turn.hint(options.tools.as_ref());
    turn.turn()
}

/// The turn of a text, the same for every 2-way split and byte by byte.
fn turn(set: &DialectSet, options: &Options, text: &str) -> Turn {
    let text_bytes = text.as_bytes();
    let whole = cut(set, options, &[text_bytes]);
    let bytes: Vec<&[u8]> = text_bytes.chunks(1).collect();
    assert_eq!(cut(set, options, &bytes), whole, "{text}");
    for at in places(text.len(), 40) {
        let (a, b) = text_bytes.split_at(at);
        assert_eq!(cut(set, options, &[a, b]), whole, "{text} at {at}");
    }
    whole
}

fn names(turn: &Turn) -> Vec<&str> {
    turn.calls.iter().map(|call| &*call.name).collect()
}

/// One call in the dialect's own syntax; `None` if the dialect cannot write it.
fn written(set: &DialectSet, id: &str) -> Option<String> {
    let call = EncodeCall::new("read_file", r#"{"path":"a b"}"#);
    let mut options = EncodeOptions::default();
    options.tools = tools(TOOLS);
    encode(set, id, &[call], &options).ok()
}

/// Dialects whose group has another member in the set, with different markers.
const OTHER_MEMBER: [&str; 1] = ["tam2"];

#[test]
fn any_reads_what_every_dialect_writes() {
    let any = ANY.clone();
    let mut wrong = vec![];
    let mut tried = 0;
    for (id, _) in builtin_files() {
        let own = DialectSet::builtin(id).expect("a built-in dialect");
        let Some(text) = written(&own, id) else {
            continue;
        };
        tried += 1;
        for text in [text.clone(), format!("I look it up.\n{text}\n")] {
            let alone = turn(&own, &options(TOOLS, None), &text);
            let turn = turn(&any, &options(TOOLS, None), &text);
            let same = |a: &toolglot::Call, b: &toolglot::Call| {
                a.name == b.name && a.arguments == b.arguments && a.grade == b.grade
            };
            let fits = turn.calls.len() == alone.calls.len()
                && turn.calls.iter().zip(&alone.calls).all(|(a, b)| same(a, b));
            if !fits && !OTHER_MEMBER.contains(id) {
                wrong.push(format!(
                    "{id}: {text:?}: {:?} {:?}",
                    turn.calls, turn.issues
                ));
            }
        }
    }
    assert!(tried > 60, "{tried}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn any_reads_only_calls_of_declared_tools() {
    let any = ANY.clone();
    for (text, calls) in [
        (r#"{"name": "read_file", "arguments": {"path": "a"}}"#, 1),
        (
            r#"Here: {"name": "read_file", "parameters": {"path": "a"}} done"#,
            1,
        ),
        (
            "好的:\n```json\n{\"name\": \"查天气\", \"arguments\": {\"城市\": \"里斯\"}}\n```\n",
            1,
        ),
        (
            "<tools>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tools>",
            1,
        ),
        ("[read_file(path=\"a\"), get_weather(city=\"b\")]", 2),
        ("<read_file>\n<path>a</path>\n</read_file>", 1),
        ("<get_weather>\ncity: Leith\ndays: 3\n</get_weather>", 1),
        (
            "Thought: I look.\nAction: read_file\nAction Input: {\"path\": \"a\"}\n",
            1,
        ),
        (">>>read_file\n{\"path\": \"a\"}", 1),
        (
            r#"[{"name": "read_file", "arguments": {"path": "a"}}, {"name": "get_weather", "arguments": {"city": "b"}}]"#,
            2,
        ),
    ] {
        let read = turn(&any, &options(TOOLS, None), text);
        assert_eq!(read.calls.len(), calls, "{text}: {read:?}");
        assert!(read.not_delivered.is_empty(), "{text}: {read:?}");
        let other = turn(&any, &options(OTHERS, None), text);
        assert_eq!((names(&other).len(), &*other.text), (0, text));
        // Without tools nothing is declared, and these calls have no markers of their own.
        let none = turn(&any, &Options::default(), text);
        assert_eq!((names(&none).len(), &*none.text), (0, text));
    }
    let marked = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
    assert_eq!(names(&turn(&any, &Options::default(), marked)), ["f"]);
    let delivered = options(TOOLS, Some(UnknownTool::Deliver));
    assert_eq!(names(&turn(&any, &delivered, marked)), ["f"]);
}

#[test]
fn any_leaves_prose_alone() {
    let any = ANY.clone();
    for text in [
        "Thought: the reader of a log sees lines like\nObservation: 42\nFinal Answer: none of these is a call.\n",
        "Action: fetch_page\nAction Input: {\"url\": \"x\"}\n",
        "<div>\n<p>get_weather</p>\n</div> and {\"name\": \"Ann\", \"age\": 3}",
        "[1, 2] [see](x) {a} get_weather(city) `read_file`",
        "<read_file> reads a file. It takes a path.",
        "工具 <read_file> 读文件。\n```json\n{\"name\": \"小明\", \"arguments\": \"无\"}\n```\n",
        ">>> print(1)\n>>>what\n{\"a\": 1}\n",
    ] {
        let read = turn(&any, &options(TOOLS, None), text);
        assert_eq!((read.calls.len(), &*read.text), (0, text));
        assert!(read.reasoning.is_empty(), "{read:?}");
    }
}

/// Elements of markup that have the names of tools hold what no tool has as a parameter.
#[test]
fn elements_with_the_names_of_tools_are_markup() {
    const NAMED: &str = r#"[
        {"name": "code", "parameters": {"properties": {"shell": {"type": "boolean"}}}},
        {"name": "map", "parameters": {"properties": {"query": {"type": "string"}}, "required": ["query"]}},
        {"name": "时", "parameters": {"properties": {"区": {"type": "string"}}}}]"#;
    let any = ANY.clone();
    for text in [
        "<code><var>n</var> ++</code>",
        "<code><a href=\"#x\">XML_Parse</a></code>",
        "<code><code>struct x</code></code>",
        "<code>{}</code> 与 <code>{'query': 1}</code>",
        "<map><area shape=\"rect\"/></map> <map></map> <map/>",
        "<map>\narea: 1\n</map>\n<code>\n{}\n</code>",
        "<时><区域>里斯</区域></时>",
        "<code><shells>1</shells></code> <code>{\"shells\": 1}</code> <code><she",
    ] {
        let read = turn(&any, &options(NAMED, None), text);
        assert_eq!((read.calls.len(), &*read.text), (0, text));
    }
    for text in [
        "<code><shell>true</shell></code>",
        "<code>\n<shell>\ntrue\n</shell>\n</code>",
        "<code>{ \"shell\": true}</code>",
        "<code></code>",
        "<时><区>里斯</区></时>",
    ] {
        let read = turn(&any, &options(NAMED, None), text);
        assert_eq!((read.calls.len(), &*read.text), (1, ""), "{text}");
    }
}

#[test]
fn an_undeclared_tool_is_delivered_text_or_dropped() {
    let mut tried = 0;
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let Some(text) = written(&set, id) else {
            continue;
        };
        let own = turn(&set, &options(OTHERS, Some(UnknownTool::Deliver)), &text);
        if own.calls.is_empty() {
            // It reads only calls of declared tools.
            continue;
        }
        tried += 1;
        let told = |turn: &Turn| turn.issues.iter().any(|r| r.kind == Kind::UnknownTool);
        assert!(told(&own), "{id}: {own:?}");
        let read = turn(&set, &options(OTHERS, Some(UnknownTool::Text)), &text);
        assert!(read.calls.is_empty() && told(&read), "{id}: {read:?}");
        assert!(read.text.contains("read_file"), "{id}: {read:?}");
        assert!(read.not_delivered.is_empty(), "{id}: {read:?}");
        let read = turn(&set, &options(OTHERS, Some(UnknownTool::Drop)), &text);
        assert!(read.calls.is_empty() && told(&read), "{id}: {read:?}");
        assert!(!read.text.contains("read_file"), "{id}: {read:?}");
        let dropped = read.not_delivered.dropped.first();
        assert!(
            dropped.is_some_and(|d| d.kinds.contains(Kind::UnknownTool)),
            "{id}: {read:?}"
        );
    }
    assert!(tried > 50, "{tried}");
}

#[test]
fn beside_a_valid_call_an_undeclared_tool_is_left_out() {
    for (id, text) in [
        (
            "kimi-k2",
            "a<|tool_calls_section_begin|><|tool_call_begin|>functions.zz:0<|tool_call_argument_begin|>{\"x\": 1}<|tool_call_end|><|tool_call_begin|>functions.read_file:1<|tool_call_argument_begin|>{\"path\": \"p\"}<|tool_call_end|><|tool_calls_section_end|>b",
        ),
        (
            "mistral-array",
            "a[TOOL_CALLS][{\"name\": \"read_file\", \"arguments\": {\"path\": \"p\"}}, {\"name\": \"zz\", \"arguments\": {\"x\": 1}}]",
        ),
        (
            "deepseek-v32",
            "a<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"zz\">\n<｜DSML｜parameter name=\"x\" string=\"false\">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"read_file\">\n<｜DSML｜parameter name=\"path\" string=\"true\">p</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>b",
        ),
        (
            "action",
            "a<ACTION><read_file><path>p</path></read_file><zz><x>1</x></zz></ACTION>b",
        ),
        (
            "llama4-pythonic",
            "<|python_start|>[zz(x=1), read_file(path=\"p\")]<|python_end|>",
        ),
    ] {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        for way in [UnknownTool::Text, UnknownTool::Drop] {
            let read = turn(&set, &options(TOOLS, Some(way)), text);
            assert_eq!(names(&read), ["read_file"], "{id}: {read:?}");
            assert!(!read.text.contains("zz"), "{id}: {read:?}");
            let dropped = read.not_delivered.dropped.first();
            assert!(
                dropped.is_some_and(|d| d.kinds.contains(Kind::UnknownTool)),
                "{id}: {read:?}"
            );
        }
    }
}

/// A call that becomes text is not searched for other calls: a quoted call is not a call.
#[test]
fn a_call_that_is_text_hides_what_it_quotes() {
    let text = "<tool_call>{\"name\": \"zz\", \"arguments\": {\"q\": \"</x><tool_call>{\\\"name\\\": \\\"read_file\\\"}\"}}</tool_call>";
    for set in [DEFAULTS.clone(), ANY.clone()] {
        let read = turn(&set, &options(TOOLS, Some(UnknownTool::Text)), text);
        assert_eq!((names(&read).len(), &*read.text), (0, text));
    }
}

#[test]
fn a_bare_call_that_nobody_reads_is_hinted_at() {
    let defaults = DialectSet::defaults();
    for (text, hints) in [
        (
            "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}",
            1,
        ),
        (
            "Sure.\n```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"a\"}}\n```",
            1,
        ),
        (
            "<tools>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}</tools>",
            1,
        ),
        (
            "好: {\"name\": \"查天气\", \"arguments\": {\"城市\": \"里斯\"}}",
            1,
        ),
        (
            "[{\"name\": \"read_file\", \"arguments\": {}}, {\"name\": \"get_weather\", \"arguments\": {}}]",
            2,
        ),
        ("{\"name\": \"other\", \"arguments\": {\"path\": \"a\"}}", 0),
        ("read_file takes {\"path\": \"a\"}", 0),
        ("get_weather(city=\"北京\")", 1),
        ("\n查天气(城市='里斯')\n", 1),
        ("```python\nread_file(path=\"a\")\n```", 1),
        ("read_file(path=\"a\") reads it.", 0),
        ("read_file(\"a\")", 0),
        ("other(path=\"a\")", 0),
        (
            "<tool_call>{\"name\": \"read_file\", \"arguments\": {}}</tool_call> {\"name\": \"read_file\", \"arguments\": {}}",
            0,
        ),
    ] {
        let read = turn(&defaults, &options(TOOLS, None), text);
        let told: Vec<_> = read
            .issues
            .iter()
            .filter(|r| r.kind == Kind::BareCall)
            .collect();
        assert_eq!(told.len(), hints, "{text}: {read:?}");
        assert!(hints == 0 || (read.calls.is_empty() && read.text == text));
        for report in told {
            let span = report.span.start as usize..report.span.end as usize;
            let call = &text[span];
            let python = call.contains('(') && call.ends_with(')');
            assert!(python || call.contains("name"), "{text}: {report:?}");
        }
        let none = turn(&defaults, &Options::default(), text);
        assert!(
            none.issues.iter().all(|r| r.kind != Kind::BareCall),
            "{none:?}"
        );
        // The request allows no call.
        let mut denied = options(TOOLS, None);
        denied.tool_choice = ToolChoice::None;
        assert!(denied.hinted().is_none());
        let denied = toolglot::parse(&defaults, denied, text.as_bytes(), Finish::Stop);
        assert!(
            denied.issues.iter().all(|r| r.kind != Kind::BareCall),
            "{denied:?}"
        );
    }
}
