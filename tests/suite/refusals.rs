//! Every rule of `docs/ENCODE.md`, from both sides: a call that is just refused, and a similar one that is written.

use std::sync::Arc;

use toolglot::{DialectSet, EncodeCall, EncodeOptions, Reason, Tools, builtin_files};

/// One tool with a parameter of each type.
const TYPED: &str = r#"[{"name": "f", "parameters": {"properties": {
    "s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
    "l": {"type": "array"}, "o": {"type": "object"}, "e": {"type": ["string", "null"]},
    "ls": {"type": "array", "items": {"type": "string"}}}}}, {"name": "g"}]"#;

type Call<'c> = (&'c str, &'c str);

fn write(id: &str, call: Call<'_>, options: &EncodeOptions) -> Result<String, (String, Reason)> {
    let set = match id.strip_suffix("-untyped") {
        Some(id) => untyped(id),
        None => DialectSet::builtin(id).expect("a dialect"),
    };
    let id = set.dialects().next().map_or("", |dialect| dialect.id());
    let call = EncodeCall::new(call.0.to_owned(), call.1.to_owned());
    let text = toolglot::encode(&set, id, &[call], options);
    text.map_err(|error| (error.pointer, error.reason))
}

/// A dialect without the fields that type others.
fn untyped(id: &str) -> DialectSet {
    let mut files = builtin_files().iter();
    let (_, text) = files.find(|(have, _)| *have == id).expect("a dialect");
    let text = text.replace("type_prefix", "#");
    let set = DialectSet::builder().toml("untyped", &text).build();
    set.expect("a dialect")
}

/// The reason without its details.
fn word(reason: &Reason) -> String {
    let text = format!("{reason:?}");
    text.split([' ', '{']).next().unwrap_or_default().to_owned()
}

/// `yes` is written, and `no` is refused for that reason.
#[track_caller]
fn both(id: &str, reason: &str, yes: Call<'_>, no: Call<'_>) {
    both_with(id, reason, yes, no, &EncodeOptions::default());
}

fn offered() -> EncodeOptions {
    let mut options = EncodeOptions::default();
    options.tools = Some(Arc::new(Tools::from_json(TYPED).expect("tools")));
    options
}

#[track_caller]
fn typed(id: &str, reason: &str, yes: &str, no: &str) {
    both_with(id, reason, ("f", yes), ("f", no), &offered());
}

#[track_caller]
fn both_with(id: &str, reason: &str, yes: Call<'_>, no: Call<'_>, options: &EncodeOptions) {
    if let Err(error) = write(id, yes, options) {
        panic!("{id} does not write {yes:?}: {error:?}");
    }
    match write(id, no, options) {
        Ok(text) => panic!("{id} writes {no:?}: {text}"),
        Err((_, have)) => assert_eq!(word(&have), reason, "{id} {no:?}: {have:?}"),
    }
}

/// A call of `f`.
const fn f(arguments: &str) -> Call<'_> {
    ("f", arguments)
}

#[test]
fn what_every_dialect_asks() {
    both("hermes", "Arguments", f("{}"), f("[]"));
    both(
        "hermes",
        "Arguments",
        f(r#"{"a":{"b":1,"c":1}}"#),
        f(r#"{"a":{"b":1,"b":1}}"#),
    );
    both("hermes", "Name", ("a:b/c.d-é", "{}"), ("", "{}"));
    for name in [
        " f", "f ", "a b", "a\u{a0}b", "a\u{1}", "a\u{7f}", "a<", "a>", "a\"", "a'", "a`", "a「",
        "a“", "a«",
    ] {
        both("hermes", "Name", ("f", "{}"), (name, "{}"));
    }
    both(
        "tam",
        "Surrogate",
        f(r#"{"a":"\ud83c\udf0a"}"#),
        f(r#"{"a":"\ud83c"}"#),
    );
    let pair = r#"{"a":["\ud83c\udf0a"]}"#;
    both("hermes", "Surrogate", f(pair), f(r#"{"\ud83c":1}"#));
    both("hermes", "Surrogate", f(pair), f(r#"{"a":["\ud83c"]}"#));
    let set = DialectSet::builtin("reasoning-think").expect("a dialect");
    for id in ["tam", "reasoning-think", ""] {
        let error = toolglot::encode(&set, id, &[], &EncodeOptions::default()).expect_err(id);
        assert_eq!(word(&error.reason), "Dialect");
    }
}

#[test]
fn limits() {
    let limited = |set: &dyn Fn(&mut toolglot::Limits)| {
        let mut options = offered();
        set(&mut options.limits);
        options
    };
    let check = |id: &str, yes: Call<'_>, no: Call<'_>, set: &dyn Fn(&mut toolglot::Limits)| {
        both_with(id, "Limit", yes, no, &limited(set));
    };
    check("hermes", ("abcdefghi", "{}"), ("abcdefghij", "{}"), &|l| {
        l.max_name = 9
    });
    // The name of its own field is too long.
    check("deepseek-v31", f("{}"), ("abcd", "{}"), &|l| l.max_name = 3);
    check(
        "qwen3-coder",
        f(r#"{"abc":"x"}"#),
        f(r#"{"abcd":"x"}"#),
        &|l| l.max_name = 3,
    );
    check("yaml-xml", f("{}"), f(r#"{"a":{"abcd":1}}"#), &|l| {
        l.max_name = 3
    });
    check("hermes", f(r#"{"a":1}"#), f(r#"{"a":1,"b":2}"#), &|l| {
        l.max_params = 1
    });
    for id in ["hermes", "tool-call-xml", "bolt-action", "minimax-m3"] {
        let call = |text: &str| format!(r#"{{"artifact":{{}},"content":"{text}"}}"#);
        let call = |text: &str| match id {
            "bolt-action" => call(text),
            _ => format!(r#"{{"content":"{text}"}}"#),
        };
        let long = if id == "hermes" { "abc" } else { "abcde" };
        let (yes, no) = (call(long), call(&format!("{long}f")));
        check(id, f(&yes), f(&no), &|l| l.max_value = 5);
    }
    for (id, yes, no) in [
        ("hermes", 3, 4),
        ("pythonic", 3, 4),
        ("gemma4", 3, 4),
        ("minimax-m3", 3, 4),
    ] {
        let deep = |n: usize| {
            let (open, close) = ("{\"k\":", "}");
            format!("{{\"a\":{}\"x\"{}}}", open.repeat(n), close.repeat(n))
        };
        check(id, f(&deep(yes - 1)), f(&deep(no - 1)), &|l| {
            l.max_depth = 3
        });
    }
    let set = DialectSet::builtin("hermes").expect("a dialect");
    let calls = ["f", "g"].map(|name| EncodeCall::new(name, "{}"));
    let options = limited(&|l| l.max_calls = 1);
    assert!(toolglot::encode(&set, "hermes", &calls[..1], &options).is_ok());
    assert!(toolglot::encode(&set, "hermes", &calls, &options).is_err());
    let text = toolglot::encode(&set, "hermes", &calls[..1], &EncodeOptions::default());
    let len = text.expect("a call").len() as u64;
    for (max, fits) in [(len, false), (len + 1, true)] {
        let options = limited(&|l| l.max_block = max);
        assert_eq!(
            toolglot::encode(&set, "hermes", &calls[..1], &options).is_ok(),
            fits
        );
    }
}

#[test]
fn untyped_text() {
    for id in [
        "tam",
        "action",
        "tool-call-xml",
        "tool-action",
        "minimax-m3",
    ] {
        typed(id, "Coerced", r#"{"i":"5x"}"#, r#"{"i":"5"}"#);
        typed(id, "Coerced", r#"{"ls":["x"]}"#, r#"{"ls":"x"}"#);
        typed(id, "Coerced", r#"{"n":1.5}"#, r#"{"i":1.5}"#);
        typed(id, "Coerced", r#"{"b":true}"#, r#"{"n":true}"#);
        typed(id, "Coerced", r#"{"e":"x"}"#, r#"{"e":"null"}"#);
        typed(id, "Untyped", r#"{"i":5}"#, r#"{"x":5}"#);
        typed(id, "Untyped", r#"{"s":"5"}"#, r#"{"s":5}"#);
        both(id, "Untyped", f(r#"{"s":"null"}"#), f(r#"{"s":null}"#));
    }
    // Elements show that something is a list; text does not.
    both("tam", "Untyped", f("{}"), f(r#"{"x":["a","b"]}"#));
    both(
        "minimax-m3",
        "Shape",
        f(r#"{"x":["a","b"]}"#),
        f(r#"{"x":[]}"#),
    );
}

#[test]
fn key_quote() {
    let key = |id: &str, yes: &str, no: &str| {
        let call = |key: &str| format!("{{{key:?}:\"v\"}}");
        both(id, "Key", f(&call(yes)), f(&call(no)));
    };
    for no in ["a b", "", "a:", "a「", "a/"] {
        key("tam", "a_b-c.d1", no);
    }
    key("tam", "#a".trim_start_matches('#'), "#a");
    key("tam", "commando", "command");
    key("tam", "commando", "Com_mand");
    key("vcp", "tool_named", "tool-Name");
    for no in [
        "retry",
        "comment",
        "common_a",
        "type_hint_a",
        "request_id",
        "Ab",
        "a-b",
    ] {
        key("tam2", "retries", no);
    }
    both(
        "tam",
        "Key",
        f(r#"{"ab":"1","b":"2"}"#),
        f(r#"{"ab":"1","a_b":"2"}"#),
    );
    both(
        "tam",
        "Key",
        f(r#"{"a1":"1"}"#),
        f(r#"{"a1":"1","command1":"x"}"#),
    );
    typed("tam", "Key", r#"{"ls":["a"]}"#, r#"{"L_S":"a"}"#);
    let value = |id: &str, reason: &str, yes: &str, no: &str| {
        let call = |text: &str| format!("{{\"a\":{text:?}}}");
        both(id, reason, f(&call(yes)), f(&call(no)));
    };
    value("tam", "Marker", "「末", "「末」");
    value("tam", "Marker", "「末」".trim_end_matches('」'), "x「末」y");
    value("tam2-untyped", "Marker", "x <<< y", "x <<<\ny");
    value("tam2-untyped", "Blanks", "a b", " a");
    // As JSON, with a field that says so, they are written.
    both(
        "tam2",
        "Key",
        f(r#"{"a":" x <<<\ny"}"#),
        f(r#"{"retry":"v"}"#),
    );
    value("tam", "Marker", "x k:「始」", "\nk:「始」");
    value("tam", "Marker", "<|[END_TOOL]|>", "<|[END_TOOL]|>\n「始」");
    let far = |n: usize| format!("<|[END_TOOL]|>{}", "x".repeat(n));
    value("tam", "Marker", &far(900), &far(1100));
    value("vcp", "Marker", "「末」", "「末」「末ESCAPE」");
    value(
        "vcp",
        "Marker",
        "<<<[TOOL_REQUEST]>>>「末」",
        "<<<[TOOL_REQUEST_ESCAPE]>>>「末」",
    );
}

#[test]
fn elements_of_a_block() {
    let key = |yes: &str, no: &str| {
        let call = |key: &str| format!("{{{key:?}:\"v\"}}");
        both("action", "Key", f(&call(yes)), f(&call(no)));
    };
    for no in [
        "", "1a", "-a", "a b", "a=", "a&", "a'", "a<", "a/", "ACTION",
    ] {
        key("a1-/_é", no);
    }
    both("action", "Name", ("a1/b", "{}"), ("1a", "{}"));
    both("action", "Name", ("action", "{}"), ("ACTION", "{}"));
    for (yes, no) in [
        (r#"{"x":["a","b"]}"#, r#"{"x":["a"]}"#),
        (r#"{"x":"a"}"#, r#"{"x":[]}"#),
        (r#"{"x":{"y":"a"}}"#, r#"{"x":{}}"#),
    ] {
        both("action", "Shape", f(yes), f(no));
        typed("action", "Shape", r#"{"ls":["a"],"l":[],"o":{}}"#, no);
    }
    let deep = |n: usize| format!("{}\"x\"{}", "{\"k\":".repeat(n), "}".repeat(n));
    both("action", "Limit", f(&deep(127)), f(&deep(129)));
    both(
        "action",
        "Surrogate",
        f(r#"{"x":" <a>&\n]]> "}"#),
        f(r#"{"x":"\udc00"}"#),
    );
}

#[test]
fn tags_with_attributes() {
    both(
        "tool-call-xml",
        "Key",
        f(r#"{"a b<>\"&\n.":"v"}"#),
        f(r#"{"":"v"}"#),
    );
    both(
        "tool-call-xml",
        "Key",
        f(r#"{"a b":"v"}"#),
        f(r#"{"a ":"v"}"#),
    );
    for no in ["", "!a", "a?", "a b", "a=", "a/", "tool_action"] {
        let no = format!("{{{no:?}:\"v\"}}");
        both(
            "tool-action",
            "Key",
            f(r#"{"a!_é":"</tool_action>\"\n"}"#),
            f(&no),
        );
    }
}

#[test]
fn framed_names_and_keys() {
    both("qwen3-coder", "Name", ("a+b", "{}"), ("a b", "{}"));
    both("qwen3-coder", "Name", ("a+b", "{}"), ("a=b", "{}"));
    both(
        "kimi-k2",
        "Name",
        ("a:b", "{}"),
        ("a<|tool_call_argument_begin|>", "{}"),
    );
    both("seed-oss", "Key", f(r#"{"a b":"v"}"#), f(r#"{"a>b":"v"}"#));
    both("seed-oss", "Key", f(r#"{"a b":"v"}"#), f(r#"{" ab":"v"}"#));
    both("seed-oss", "Key", f(r#"{"a b":"v"}"#), f(r#"{"":"v"}"#));
    both("glm45", "Key", f(r#"{"a/b":"v"}"#), f(r#"{"a<b":"v"}"#));
    let long = |n: usize| "a".repeat(n);
    both("glm45", "Limit", (&long(230), "{}"), (&long(260), "{}"));
    both("harmony", "Name", ("a.b", "{}"), (&long(600), "{}"));
    for id in [
        "json-bare",
        "markdown-json",
        "cline-xml",
        "morph-xml",
        "yaml-xml",
    ] {
        both_with(id, "Name", ("g", "{}"), ("h", "{}"), &offered());
    }
    both("react-text", "Name", ("Nones", "{}"), ("None", "{}"));
}

#[test]
fn parameters_between_tags() {
    let value = |id: &str, reason: &str, yes: &str, no: &str| {
        let call = |text: &str| format!("{{\"a\":{text:?}}}");
        both(id, reason, f(&call(yes)), f(&call(no)));
    };
    // Half a closer before the whole one would leave the value in doubt.
    value("seed-oss", "Marker", "</paramete", "</parameter>");
    value("qwen3-coder", "Marker", "x <parameter", "x\n<parameter=b>");
    // The newline before a value would belong to its first line.
    value("qwen3-coder", "Marker", "parameter=b>", "<parameter=b>");
    value("qwen3-coder", "Marker", "</ parameters>", "</ parameter >");
    value(
        "minimax-m2",
        "Marker",
        "<parameter>",
        "<parameter name=\"b\">",
    );
    value("qwen3-coder", "Blanks", "\nx", "\nx\r");
    value("qwen3-coder", "Blanks", "x\r", "\nx\r");
    // CDATA may contain a closer, but not its own end, and no end of CDATA may follow it.
    value("minicpm5", "Marker", "</param>", "]]></param>");
    value("minicpm5", "Marker", "]]>", "</param>]]>");
    value("minicpm5", "Marker", "</param>", "<![CDATA[</param>]]>");
}

#[test]
fn python_and_braces() {
    both("pythonic", "Name", ("a.b-c1é", "{}"), ("1a", "{}"));
    both("pythonic", "Name", ("a.b", "{}"), ("a:b", "{}"));
    for no in ["", "1a", "a-b", "a.b", "a b"] {
        let no = format!("{{{no:?}:1}}");
        both("pythonic", "Key", f(r#"{"_a1é":1}"#), f(&no));
    }
    typed(
        "llama31-builtin",
        "Coerced",
        r#"{"i":"5x"}"#,
        r#"{"i":"5"}"#,
    );
    for (id, mark) in [("gemma4", "<|\\\"|>"), ("functiongemma", "<escape>")] {
        let call = |text: &str| format!("{{\"a\":\"{text}\"}}");
        both(
            id,
            "Marker",
            f(&call(&mark[..mark.len() - 1])),
            f(&call(mark)),
        );
        let key = |text: &str| format!("{{\"{text}\":\"a\"}}");
        both(id, "Marker", f(&key("a b")), f(&key(mark)));
        both(
            id,
            "Surrogate",
            f(&call("\\ud83c\\udf0a")),
            f(&call("\\ud83c")),
        );
        both(id, "Name", ("a:b", "{}"), ("a(b", "{}"));
        typed(id, "Coerced", r#"{"i":5,"x":5,"s":"5"}"#, r#"{"s":5}"#);
    }
    typed("functiongemma", "Coerced", r#"{"i":"5x"}"#, r#"{"i":"5"}"#);
}

#[test]
fn text_as_an_argument() {
    let bolt = |rest: &str| format!(r#"{{"artifact":{{"id":"x"}}{rest}}}"#);
    let check = |name: &str, reason: &str, yes: &str, no: &str| {
        both("bolt-action", reason, (name, &bolt(yes)), (name, &bolt(no)));
    };
    let text = |text: &str| format!(",\"filePath\":\"a.rs\",\"content\":{text:?}");
    let page = |text: &str| format!(",\"filePath\":\"a.md\",\"content\":{text:?}");
    check("shell", "Missing", r#","content":"""#, "");
    check("file", "Missing", &text("x\n"), r#","content":"x\n""#);
    both(
        "bolt-action",
        "Missing",
        f(r#"{"artifact":{},"content":""}"#),
        f(r#"{"content":""}"#),
    );
    check("shell", "Untyped", r#","content":"5""#, r#","content":5"#);
    check(
        "shell",
        "Untyped",
        r#","content":"","x":"5""#,
        r#","content":"","x":5"#,
    );
    // The section's argument may be an attribute of the call instead.
    both(
        "bolt-action",
        "Untyped",
        f(r#"{"artifact":"x","content":""}"#),
        f(r#"{"artifact":["x"],"content":""}"#),
    );
    both(
        "bolt-action",
        "Untyped",
        f(r#"{"artifact":{"a":"5"},"content":""}"#),
        f(r#"{"artifact":{"a":5},"content":""}"#),
    );
    for no in ["", "a b", "a=", "a<", "a\\\"", "a/", "type"] {
        let no = format!(",\"content\":\"\",\"{no}\":\"v\"");
        check(
            "shell",
            "Key",
            r#","content":"","typ":"<\"\n'>","a-b.é":"v""#,
            &no,
        );
    }
    check(
        "shell",
        "Marker",
        &text("</boltAction"),
        &text("</boltAction>"),
    );
    check("shell", "Blanks", &text("a\n b"), &text("a\n"));
    check("shell", "Blanks", &text("a\n b"), &text(" a"));
    // A file ends with one newline; a fence keeps any text before it, and a fence inside it.
    for yes in ["a\n", " a\n", "\n\na\n", "```js\na\n```\n", "\n", "`\n"] {
        check("file", "Blanks", &text(yes), &text("a"));
    }
    check("file", "Blanks", &text("a\n"), &text("a\n\n"));
    check("file", "Blanks", &text(" a\n"), &text("a \n"));
    check("file", "Blanks", &page("```js\na\n```\n"), &page(" a\n"));
}

#[test]
fn elements_as_arguments() {
    let offered = |no: &str, reason: &str, yes: &str| {
        for id in ["minimax-m3", "morph-xml"] {
            typed(id, reason, yes, no);
        }
    };
    for no in ["1a", "a&", "a=", "a'", "a/", "-", "a\\u0001"] {
        offered(&format!("{{\"{no}\":\"v\"}}"), "Key", r#"{"a.b-é1":"v"}"#);
        let no = format!("{{\"x\":{{\"{no}\":\"v\"}}}}");
        offered(&no, "Key", r#"{"x":{"a.b-é1":"v"}}"#);
        // As JSON they are written.
        let json = no.replace("\"x\"", "\"o\"");
        offered(&no, "Key", &json);
    }
    offered(r#"{"x":{}}"#, "Shape", r#"{"o":{},"x":{"y":"z"}}"#);
    offered(r#"{"x":[]}"#, "Shape", r#"{"l":[],"x":["y"]}"#);
    offered(
        r#"{"x":{"item":"a"}}"#,
        "Shape",
        r#"{"x":{"item":"a","b":""},"o":{"item":"a"}}"#,
    );
    offered(
        r#"{"x":{"item":["a","b"]}}"#,
        "Shape",
        r#"{"x":{"b":["a","b"]}}"#,
    );
    offered(r#"{"o":" "}"#, "Coerced", r#"{"s":" ","e":" ","o":"x"}"#);
    offered(
        r#"{"o":["a"]}"#,
        "Coerced",
        r#"{"o":{"a":["a"]},"l":["a"]}"#,
    );
    offered(r#"{"l":{"a":"b"}}"#, "Coerced", r#"{"l":[{"a":"b"}]}"#);
    offered(r#"{"x":"\ud800"}"#, "Surrogate", r#"{"x":"\ud83c\udf0a"}"#);
    let deep = |n: usize| format!("{{\"x\":{}\"x\"{}}}", "{\"k\":".repeat(n), "}".repeat(n));
    offered(&deep(128), "Limit", &deep(127));
    // With entities everything is text; without them text must not look like elements.
    let mark = "]<]minimax[>[<";
    for (yes, no) in [
        (
            "]<]minimax[>a".to_owned(),
            format!("{mark}a>]<]minimax[>[</a>"),
        ),
        ("]<]minimax[>".to_owned(), format!("{mark}a>")),
        ("x<a></a>".to_owned(), "]<]minimax[>[</x>".to_owned()),
    ] {
        let call = |key: &str, text: &str| format!("{{\"{key}\":\"{text}\"}}");
        typed("minimax-m3", "Marker", &call("x", &yes), &call("x", &no));
        typed("morph-xml", "Untyped", &call("x", &no), r#"{"x":5}"#);
        let object = |key: &str, text: &str| format!("{{\"{key}\":{{\"k\":\"{text}\"}}}}");
        typed("minimax-m3", "Marker", &object("o", &no), &call("x", &no));
    }
    typed(
        "minimax-m3",
        "Marker",
        r#"{"s":"<a>]<]minimax[>[</a>"}"#,
        r#"{"s":"]<]minimax[>[</s>"}"#,
    );
    typed(
        "minimax-m3",
        "Key",
        r#"{"invoked":"v"}"#,
        r#"{"invoke":"v"}"#,
    );
}

#[test]
fn yaml() {
    let hard = r#"{"":"</f>","a: b":"- x #\u0000\n","k\u0085":{"":[null,-0,1E+400,14.0,{"</f>":"\ud83c\udf0a"}]},"---":[],"~":{}}"#;
    typed("yaml-xml", "Surrogate", hard, r#"{"x":["\ud800"]}"#);
    typed("yaml-xml", "Surrogate", hard, r#"{"x":{"\ud800":1}}"#);
    typed("yaml-xml", "Coerced", r#"{"s":"5"}"#, r#"{"s":5}"#);
    typed("yaml-xml", "Coerced", r#"{"i":"5"}"#, r#"{"i":5.5}"#);
    typed("yaml-xml", "Coerced", r#"{"i":null}"#, r#"{"s":null}"#);
    typed("yaml-xml", "Coerced", r#"{"b":true}"#, r#"{"ls":[true]}"#);
}

#[test]
fn tags_named_after_tools() {
    typed("cline-xml", "Blanks", r#"{"s":"a b"}"#, r#"{"s":"a\n"}"#);
    typed(
        "cline-xml",
        "Blanks",
        r#"{"content":" a "}"#,
        r#"{"content":"\na\r"}"#,
    );
    typed("cline-xml", "Marker", r#"{"s":"</f>"}"#, r#"{"s":"</s>"}"#);
    typed(
        "cline-xml",
        "Key",
        r#"{"f":"a"}"#.replace("\"f\"", "\"x\"").as_str(),
        r#"{"g":"a"}"#,
    );
    typed("morph-xml", "Key", r#"{"x":"a"}"#, r#"{"g":"a"}"#);
    // After a value only the tool's own parameters are parameters; one other may come first.
    typed(
        "cline-xml",
        "Key",
        r#"{"s":"a","x":"b"}"#,
        r#"{"x":"a","y":"b"}"#,
    );
    typed("cline-xml", "Key", r#"{"x-1":"a"}"#, r#"{"x y":"a"}"#);
    let mut tools = EncodeOptions::default();
    let text = r#"[{"name":"think"},{"name":"thinking"}]"#;
    tools.tools = Some(Arc::new(Tools::from_json(text).expect("tools")));
    both_with(
        "cline-xml",
        "Name",
        ("think", "{}"),
        ("thinking", "{}"),
        &tools,
    );
}

#[test]
fn names_with_a_rest_of_markup() {
    for (id, _) in builtin_files() {
        for name in ["=f", ":f", ".f", "f(", "f:", "：天气", "f】", "*f"] {
            let call = (name, "{}");
            let refused = write(id, call, &EncodeOptions::default());
            let (_, reason) = refused.expect_err(name);
            // A dialect of reasoning alone writes no calls.
            let wanted = match id.starts_with("reasoning-") {
                true => "Dialect",
                false => "Name",
            };
            assert_eq!(word(&reason), wanted, "{id}: {name}");
        }
    }
    let named = |name: &str| {
        let mut options = EncodeOptions::default();
        let tools = format!("[{{\"name\": \"{name}\"}}]");
        options.tools = Some(Arc::new(Tools::from_json(&tools).expect("tools")));
        write("hermes", (name, "{}"), &options)
    };
    assert!(named("=f").is_ok() && named("f：").is_ok());
}

#[test]
fn keys_that_may_be_steps() {
    for id in ["vcp", "tam", "tam2"] {
        for no in ["comand1", "command01", "commands2", "commnd_7"] {
            let no = format!("{{\"{no}\": \"a\"}}");
            both(id, "Key", ("f", r#"{"image1": "a"}"#), ("f", &no));
        }
    }
}
