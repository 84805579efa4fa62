use proptest::prelude::*;

use super::*;
use crate::body::live::rig::{self, Payload};
use crate::dialect::payload::Syntax;
use crate::limits::Options;

impl Payload for Body {
    type Table = JsonTable;
    fn start(_: &mut Out<'_>, _: &JsonTable) -> Self {
        Self::new()
    }
    fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &JsonTable,
        i: usize,
        end: usize,
    ) -> (usize, Step) {
        self.feed(out, table, i, end)
    }
    fn abandon(&mut self, out: &mut Out<'_>, end: u64) {
        self.abandon(out, end);
    }
    fn calls(&self) -> u32 {
        self.calls()
    }
}

fn table() -> JsonTable {
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    JsonTable {
        syntax: Syntax::default(),
        name: list(&["name", "function"]),
        args: list(&["arguments", "parameters"]),
        id: list(&["id"]),
        wrapper: list(&["function"]),
        name_is_key: false,
        ..JsonTable::default()
    }
}

fn line(table: &JsonTable, input: &str) -> String {
    rig::line::<Body>(table, &Options::default(), input)
}

#[test]
fn calls_are_objects_and_lists_of_them() {
    let cases = [
        (
            r#"{"name": "a", "arguments": {"x": [1, {"y": "}"}]}} "#,
            r#"a {"x": [1, {"y": "}"}]} |  | done 1"#,
        ),
        ("\n{\"name\":\"a\"}\n<", "a {} |  | done 2"),
        (r#"{"name": "a", "arguments": null}"#, "a {} |  | done 0"),
        (
            r#"{"type": "function", "name": "a", "parameters": {}, "index": 0, "id": "7"}"#,
            "a {} |  | done 0",
        ),
        (
            r#"{"arguments": {"x": "é"}, "name": "a"}"#,
            r#"a {"x": "é"} |  | done 0"#,
        ),
        (
            r#"{"arguments": "{\"x\": 1}", "name": "a"}"#,
            r#"a {"x": 1} |  | done 0"#,
        ),
        (
            r#"{"function": {"name": "a", "arguments": {}}, "id": "7"}"#,
            "a {} |  | done 0",
        ),
        (r#"{"function": "a", "arguments": {}}"#, "a {} |  | done 0"),
        (
            r#"[{"name": "a", "arguments": {}}, {"name": "b", "arguments": {"k": 1e2}}]"#,
            r#"a {}; b {"k": 1e2} |  | done 0"#,
        ),
        ("[]", " |  | done 0"),
        (
            r#"{"name": "a", "arguments": {"x": 1}, "arguments2": []}"#,
            r#"a {"x": 1} {ExtraKey} | extra_key | done 0"#,
        ),
        (
            r#"{"name": "\u0061", "arguments": {"s": "\ud83d\udea2\/"}}"#,
            r#"a {"s": "\ud83d\udea2\/"} |  | done 0"#,
        ),
        (
            r#"{"name": "a", "arguments": {"x": 1, "x": 2}}"#,
            r#"a {"x": 1, "x": 2} {DuplicateParam} | duplicate_param | done 0"#,
        ),
    ];
    for (input, want) in cases {
        assert_eq!(line(&table(), input), want, "{input}");
    }
}

#[test]
fn arguments_in_a_string_are_decoded() {
    let cases = [
        (
            r#""{\"x\": \"a\\n\\\"b\", \"y\": [1, 2]}""#,
            r#"a {"x": "a\n\"b", "y": [1, 2]} |  | done 0"#,
        ),
        (
            r#"" {\"x\":\"\u00e9\ud83d\udea2\"}\n ""#,
            r#"a {"x":"é🚢"} |  | done 0"#,
        ),
        (r#""""#, "a {} |  | done 0"),
        (r#"" ""#, "a {} |  | done 0"),
        (r#""{\"x\": 1""#, " | malformed_body | malformed"),
        (r#""{\"x\": 1} y""#, " | malformed_body | malformed"),
        (r#""[1]""#, " | malformed_body | malformed"),
        (r#""{\"x\": nope}""#, " | malformed_body | malformed"),
        (
            r#""{\"x\": 1, \"x\": 2}""#,
            r#"a {"x": 1, "x": 2} {DuplicateParam} | duplicate_param | done 0"#,
        ),
        (
            r#""\ud83d""#,
            " | malformed_body lone_surrogate | malformed",
        ),
    ];
    for (value, want) in cases {
        let input = format!(r#"{{"name": "a", "arguments": {value}}}"#);
        assert_eq!(line(&table(), &input), want, "{input}");
    }
}

#[test]
fn malformed_calls_are_reported_where_they_break() {
    let cases = [
        (r#"{"arguments": {}}"#, " | missing_name | malformed"),
        ("{}", " | missing_name | malformed"),
        (r#"{"name": ""}"#, " | missing_name | malformed"),
        (r#"{"name": "a b"}"#, " | malformed_body | malformed"),
        (r#"{"name": 1}"#, " | malformed_body | malformed"),
        (
            r#"{"name": "a", "arguments": [1]}"#,
            " | malformed_body | malformed",
        ),
        (
            r#"{"name": "a", "arguments": 7}"#,
            " | malformed_body | malformed",
        ),
        (
            r#"{"arguments": [1], "name": "a"}"#,
            " | malformed_body | malformed",
        ),
        ("1", " | malformed_body | malformed"),
        ("[1]", " | malformed_body | malformed"),
        ("[[{}]]", " | malformed_body | malformed"),
        ("nope", " | malformed_body | malformed"),
        ("{nope", " | repaired_key | more"),
        (
            r#"[{"name": "a"}, {"name": "b", "arguments": {"x": 0a}}]"#,
            "a {} | malformed_body | malformed",
        ),
        (
            r#"[{"name": "a"}, {"name": "b", "arguments": {"x": "#,
            "a {} |  | more",
        ),
        (r#"{"name": "a", "arguments": {"x": 1}"#, " |  | more"),
    ];
    for (input, want) in cases {
        assert_eq!(line(&table(), input), want, "{input}");
    }
}

#[test]
fn synonyms_of_the_arguments_key_are_read_or_reported() {
    let repaired = r#"a {"q": 1} {RepairedArguments} | repaired_arguments | done 0"#;
    let extra = |n: usize| {
        format!(
            "a {{}} {{ExtraKey}} | {} | done 0",
            ["extra_key"; 4][..n].join(" ")
        )
    };
    let cases = [
        (r#"{"name": "a", "args": {"q": 1}}"#, repaired.to_owned()),
        (r#"{"args": {"q": 1}, "name": "a"}"#, repaired.to_owned()),
        (
            r#"{"name": "a", "Arguments": {"q": 1}, "type": "function"}"#,
            repaired.to_owned(),
        ),
        (
            r#"{"function": {"name": "a", "INPUT": {"q": 1}}, "index": 3}"#,
            repaired.to_owned(),
        ),
        (r#"{"name": "a", "params": {"q": 1}, "args": {}}"#, extra(2)),
        (r#"{"name": "a", "args": "{\"q\": 1}"}"#, extra(1)),
        (r#"{"name": "a", "arguements": {"q": 1}}"#, extra(1)),
        (
            r#"{"name": "a", "path": "/x", "deep": {"arguments": {}}}"#,
            extra(2),
        ),
        (r#"{"name": "a", "type": "all"}"#, extra(1)),
        (r#"{"name": "a", "index": 3, "id": "7"}"#, extra(2)),
        (r#"{"name": "a", "name": "b"}"#, extra(1)),
        (
            r#"{"name": "a", "arguments": {}, "parameters": {"q": 1}}"#,
            extra(1),
        ),
        (
            r#"{"name": "a", "arguments": {}, "args": {"q": 1}}"#,
            extra(1),
        ),
        (
            r#"{"args": {"q": 1}, "name": "a", "arguments": {}}"#,
            extra(1),
        ),
        (
            r#"{"type": "function", "name": "a"}"#,
            "a {} |  | done 0".to_owned(),
        ),
    ];
    for (input, want) in cases {
        assert_eq!(line(&table(), input), want, "{input}");
    }
    // The value may be meant for a tool's parameter of that name.
    let options = rig::tools(
        r#"[{"name": "a", "parameters": {"properties": {"input": {"type": "object"}}}}]"#,
    );
    let line = |input| rig::line::<Body>(&table(), &options, input);
    assert_eq!(line(r#"{"name": "a", "input": {"q": 1}}"#), extra(1));
    assert_eq!(
        line(r#"{"name": "a", "args": {"input": {}}}"#),
        r#"a {"input": {}} {RepairedArguments} | repaired_arguments | done 0"#
    );
}

#[test]
fn names_may_be_keys() {
    let table = JsonTable {
        name_is_key: true,
        ..JsonTable::default()
    };
    let cases = [
        (
            r#"[{"a": {"x": 1}}, {"b": {}}]"#,
            r#"a {"x": 1}; b {} |  | done 0"#,
        ),
        (
            r#"[{"a": null}, {"b": {"c": {}}}]"#,
            r#"a {}; b {"c": {}} |  | done 0"#,
        ),
        // An object has one key: what another one means is a guess.
        (
            r#"{"a": {}, "b": {"c": {}}}"#,
            r#"a {} {ExtraKey}; b {"c": {}} {ExtraKey} | extra_key | done 0"#,
        ),
        ("[{}]", " | missing_name | malformed"),
        (r#"[{"a": 1}]"#, " | malformed_body | malformed"),
        (
            r#"[{"a": {}}, {"b c": {}}]"#,
            "a {} | malformed_body | malformed",
        ),
    ];
    for (input, want) in cases {
        assert_eq!(line(&table, input), want, "{input}");
    }
}

#[test]
fn slips_and_python_are_read() {
    let cases = [
        (
            "{'name': 'a', arguments: {x: True,},}",
            "a {\"x\": true} {RepairedComma, RepairedQuotes, RepairedLiteral, RepairedKey} | repaired_quotes repaired_key repaired_literal repaired_comma | done 0",
        ),
        (r#"{"name": "a", "arguments": {}}"#, "a {} |  | done 0"),
        (
            "{arguments: {x: 'y'}, name: \"a\"}",
            "a {\"x\": \"y\"} {RepairedQuotes, RepairedKey} | repaired_key repaired_quotes | done 0",
        ),
        ("[{\"name\": \"a\"},]", "a {} | repaired_comma | done 0"),
    ];
    for (input, want) in cases {
        assert_eq!(line(&table(), input), want, "{input}");
    }
    let python = JsonTable {
        syntax: Syntax {
            python: true,
            ..Syntax::default()
        },
        ..table()
    };
    assert_eq!(
        line(
            &python,
            "[{'name': 'a', 'arguments': {'ok': True, 'n': None, 't': ('x',)}}, {'name': 'b'}]"
        ),
        "a {\"ok\": true, \"n\": null, \"t\": [\"x\"]}; b {} |  | done 0"
    );
}

#[test]
fn members_come_out_as_parameters() {
    let log = rig::log::<Body>(
        &table(),
        &Options::default(),
        br#"{"id": "i7", "name": "a", "arguments": {"k": "v\n" , "o": {"x": [1]}}}"#,
    );
    let want = [
        "CallOpen { call: 0, name: \"a\", meta: [(\"id\", \"i7\")], dialect: \"\", origin: Text, span: Span { start: 21, end: 24 } }",
        "ParamOpen { name: \"k\", depth: 0, span: Span { start: 40, end: 43 } }",
        "data \\\"v\\\\n\\\"",
        "ParamClose { span: Span { start: 45, end: 50 } }",
        "ParamOpen { name: \"o\", depth: 0, span: Span { start: 53, end: 56 } }",
        "data {\\\"x\\\": [1]}",
        "ParamClose { span: Span { start: 58, end: 68 } }",
        "CallClose { call: 0, state: Complete, arguments: Deltas, span: Span { start: 0, end: 70 } }",
    ];
    assert_eq!(log.params, want);
    let args: String = log
        .events
        .iter()
        .filter_map(|event| event.strip_prefix("arg "))
        .collect();
    assert_eq!(args, r#"{"k": "v\n" , "o": {"x": [1]}}"#);
}

#[test]
fn hints_warn_and_change_nothing() {
    let options = rig::tools(
        r#"[{"name": "a", "parameters": {"properties": {"n": {"type": "integer"}, "r": {}}, "required": ["r"]}}]"#,
    );
    let line = |input| rig::line::<Body>(&table(), &options, input);
    assert_eq!(
        line(r#"{"name": "a", "arguments": {"n": "7", "q": 1}}"#),
        "a {\"n\": \"7\", \"q\": 1} | unknown_param missing_required | done 0"
    );
    assert_eq!(line(r#"{"name": "b"}"#), "b {} | unknown_tool | done 0");
}

#[test]
fn limits_fire_at_one_offset() {
    let mut options = Options::default();
    options.limits.max_value = 8;
    options.limits.max_name = 4;
    options.limits.max_params = 2;
    options.limits.max_calls = 1;
    options.limits.max_depth = 3;
    let cases = [
        (
            r#"{"name": "a", "x": "01234567890", "arguments": {"x": "012345"}}"#,
            "a {\"x\": \"012345\"} {ExtraKey} | extra_key | done 0",
        ),
        (
            r#"{"name": "a", "id": "0", "arguments": {"x": "0123456"}}"#,
            " |  | limit_value",
        ),
        (
            r#"{"name": "a", "id": "0", "arguments": {"x": 123456789}}"#,
            " |  | limit_value",
        ),
        (
            r#"{"parameters": {"x": 12}, "name": "a"}"#,
            " |  | limit_name",
        ),
        (r#"{"name": "abcd"}"#, "abcd {} |  | done 0"),
        (r#"{"name": "abcde"}"#, " |  | limit_name"),
        (
            r#"{"name": "a", "function": {}, "arguments": {"abcde": 1}}"#,
            " | extra_key | limit_name",
        ),
        (r#"[{"name": "a"}, {"name": "b"}]"#, "a {} |  | limit_calls"),
    ];
    for (input, want) in cases {
        let table = JsonTable {
            // Keys around the call are subject to the same limit.
            args: vec!["a".to_owned()],
            ..table()
        };
        let input = input
            .replace("\"arguments\"", "\"a\"")
            .replace("\"function\"", "\"f\"");
        assert_eq!(rig::line::<Body>(&table, &options, &input), want, "{input}");
    }
    let short = JsonTable {
        args: vec!["a".to_owned()],
        ..table()
    };
    let line = |input| rig::line::<Body>(&short, &options, input);
    assert_eq!(
        line(r#"{"a": {"x": 12}, "name": "a"}"#),
        " |  | limit_value"
    );
    assert_eq!(
        line(r#"{"a": {"x":1}, "name": "a"}"#),
        "a {\"x\":1} |  | done 0"
    );
    assert_eq!(
        line(r#"{"name": "a", "a": {"x":1,"y":2,"z":3}}"#),
        " |  | limit_params"
    );
    assert_eq!(
        line(r#"{"name": "a", "a": {"x":[[[1]]]}}"#),
        " |  | limit_depth"
    );
    assert_eq!(
        line(r#"{"name": "a", "a": "{\"x\": \"01234567\"}"}"#),
        " |  | limit_value"
    );
}

/// The arguments alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Bare(Body);

impl Payload for Bare {
    type Table = JsonTable;
    fn start(out: &mut Out<'_>, _: &JsonTable) -> Self {
        let meta = [("id".to_owned(), "1".to_owned())];
        Self(Body::arguments(out, "a", &meta, Span::new(0, 0)).expect("a call"))
    }
    fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &JsonTable,
        i: usize,
        end: usize,
    ) -> (usize, Step) {
        self.0.feed(out, table, i, end)
    }
    fn abandon(&mut self, out: &mut Out<'_>, end: u64) {
        self.0.abandon(out, end);
    }
    fn calls(&self) -> u32 {
        self.0.calls()
    }
}

#[test]
fn arguments_may_be_alone() {
    let cases = [
        (" {\"x\": 1}\n```", "a {\"x\": 1} |  | done 4"),
        ("null,", "a {} |  | done 1"),
        ("\"{}\"", "a {} |  | done 0"),
        (
            "[]",
            "a {} {RepairedArguments} | repaired_arguments | done 0",
        ),
        ("[1]", " | malformed_body | malformed"),
        ("{\"x\": tru}", " | malformed_body | malformed"),
        ("{\"x\": ", " |  | more"),
    ];
    for (input, want) in cases {
        let line = rig::line::<Bare>(&table(), &Options::default(), input);
        assert_eq!(line, want, "{input}");
    }
}

/// A list whose bracket was consumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct InList(Body);

impl Payload for InList {
    type Table = JsonTable;
    fn start(_: &mut Out<'_>, table: &JsonTable) -> Self {
        Self(Body::in_list(table))
    }
    fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &JsonTable,
        i: usize,
        end: usize,
    ) -> (usize, Step) {
        self.0.feed(out, table, i, end)
    }
    fn abandon(&mut self, out: &mut Out<'_>, end: u64) {
        self.0.abandon(out, end);
    }
    fn calls(&self) -> u32 {
        self.0.calls()
    }
}

#[test]
fn a_list_may_have_begun() {
    let input = r#" {"name": "a"}, {"name": "b"}]x"#;
    let line = rig::line::<InList>(&table(), &Options::default(), input);
    assert_eq!(line, "a {}; b {} |  | done 1");
}

const PARTS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\n",
    "\"name\":",
    "\"a\"",
    "\"arguments\":",
    "\"id\":",
    "\"function\":",
    "\"",
    "\\\"",
    "{\\\"k\\\":",
    "\\ud83d",
    "\\udea2",
    "\\u00e9",
    "é",
    "1",
    "-2.5",
    "true",
    "None",
    "null",
    "'x'",
    "key",
    "{\"name\":\"a\",\"arguments\":{\"k\":",
    "{\"name\":\"a\",\"arguments\":\"{",
    "}\"",
    "{\"arguments\":",
    "\"name\":\"b\"}",
    "{}",
    "\"a\":1",
    "\"long value, longer than it may be\"",
    "\u{1}",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn nothing_depends_on_the_chunks(
        parts in prop::collection::vec(prop::sample::select(PARTS), 0..14),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 2),
        keyed: bool,
    ) {
        let input = parts.concat();
        let mut options = Options::default();
        options.limits.max_value = 12;
        options.limits.max_name = 12;
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.sort_unstable();
        let table = JsonTable { name_is_key: keyed, ..table() };
        let whole = rig::run::<Body>(&table, &options, input.as_bytes(), &[]);
        let cut = rig::run::<Body>(&table, &options, input.as_bytes(), &cuts);
        prop_assert_eq!(&cut, &whole, "{:?} {:?}", input, cuts);
        let whole = rig::run::<Bare>(&table, &options, input.as_bytes(), &[]);
        let cut = rig::run::<Bare>(&table, &options, input.as_bytes(), &cuts);
        prop_assert_eq!(&cut, &whole, "{:?} {:?}", input, cuts);
    }
}
