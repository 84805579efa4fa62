use super::*;
use crate::hints::Tools;
use crate::json::{Value, json};

fn value(text: &str) -> Result<Option<Value>, Fault> {
    Ok(read(text, &Limits::default(), |_| None)?.value)
}

#[test]
fn what_is_read() {
    let cases = [
        ("", json!(null)),
        ("\n# nothing\n", json!(null)),
        ("---\na: 1\n", json!({"a": 1})),
        (
            "a: 1\nb: two # three\nc: x#y",
            json!({"a": 1, "b": "two", "c": "x#y"}),
        ),
        (
            "  a: 1\n  b:\n    c: 2\n  d: 3",
            json!({"a": 1, "b": {"c": 2}, "d": 3}),
        ),
        (
            "a:\n- 1\n- b\nc:\n  - - 1\n    - 2\n  -\n    x: y\n",
            json!({"a": [1, "b"], "c": [[1, 2], {"x": "y"}]}),
        ),
        (
            "a:\n  - k: 1\n    l:\n      - 2\n  - k: 3",
            json!({"a": [{"k": 1, "l": [2]}, {"k": 3}]}),
        ),
        (
            "a: |\n  x\n    y\n\n  z\n\nb: 1",
            json!({"a": "x\n  y\n\nz\n", "b": 1}),
        ),
        (
            "a: |-\n  x\n\nb: |+\n  y\n\nc: >\n  p\n  q\n\n  r\n    s\n  t\n",
            json!({"a": "x", "b": "y\n\n", "c": "p q\nr\n  s\nt\n"}),
        ),
        ("a: |2\n    x\n", json!({"a": "  x\n"})),
        ("a: |\nb: >-\n", json!({"a": "", "b": ""})),
        (
            "a: 'it''s'\nb: \"\\u00e9\\n\\x41\\ud83d\\ude00\"\n'c d': 1\n\"e: f\": 2",
            json!({"a": "it's", "b": "é\nA😀", "c d": 1, "e: f": 2}),
        ),
        (
            "a: 'x\n  y\n\n  z'\nb: \"p \\\n  q\"",
            json!({"a": "x y\nz", "b": "p q"}),
        ),
        ("a: \"p \\\r\n  q\"\r\n", json!({"a": "p q"})),
        ("a: \"p \\\n\n  \n  q\"", json!({"a": "p \n\nq"})),
        (
            "a: \u{3000}好\u{3000} # c\nb: [\u{a0}x ]\nc: '\u{3000}\n  y'",
            json!({"a": "\u{3000}好\u{3000}", "b": ["\u{a0}x"], "c": "\u{3000} y"}),
        ),
        (
            "a: [1, 'b', [c], {d: e, f}, ]\nb: {}\nc: {g: [], \"h\":1}",
            json!({"a": [1, "b", ["c"], {"d": "e", "f": null}], "b": {}, "c": {"g": [], "h": 1}}),
        ),
        ("a: [1, # one\n  2\n]\nb: 3", json!({"a": [1, 2], "b": 3})),
        ("{a: 1, b: [x: y]}", json!({"a": 1, "b": [{"x": "y"}]})),
        ("{a: 1,\n b: {c: d}}\n", json!({"a": 1, "b": {"c": "d"}})),
        (
            "a: one\n  two\n\n  three\nb: 1",
            json!({"a": "one two\nthree", "b": 1}),
        ),
        ("a: http://x.y/z", json!({"a": "http://x.y/z"})),
        (
            "a:\nb: ~\nc: null",
            json!({"a": null, "b": null, "c": null}),
        ),
        (
            "a: True\nb: yes\nc: 0070\nd: 0x1F\ne: 0o17\nf: +5\ng: .5\nh: 1.\nj: .nan\nk: 1_000",
            json!({"a": true, "b": "yes", "c": 70, "d": 31, "e": 15, "f": 5, "g": 0.5, "h": 1,  "j": ".nan", "k": "1_000"}),
        ),
        (
            "a: 雪\r\nb: 'x'\r\nc: |\r\n  y\r\n",
            json!({"a": "雪", "b": "x", "c": "y\n"}),
        ),
        ("a: 1\na: 2\n", json!({"a": 2})),
    ];
    for (text, want) in cases {
        let got = value(text).expect(text);
        assert_eq!(got.unwrap_or(Value::Null), want, "{text:?}");
    }
}

#[test]
fn malformed_text_is_reported_with_its_place() {
    let cases = [
        ("a: 1\n  b: 2", 8),
        ("a: 1\n b: 2", 7),
        ("a:\n    b: 1\n  c: 2", 14),
        ("a: b\0c", 4),
        ("雪: [x]\n[y]: 1", 7),
        ("a: *x", 3),
        ("a: &x 1", 3),
        ("a: !!str 1", 3),
        ("a: 'x", 3),
        ("a: \"\\q\"", 3),
        ("a: [1, 2", 8),
        ("a: [1 }", 6),
        ("a: 'x' y", 7),
        ("a: 1\n---\nb: 2", 5),
        ("a: 1\n- b", 7),
        ("a: |x\n  y", 3),
    ];
    for (text, want) in cases {
        match value(text) {
            Err(Fault::Malformed { at, .. }) => assert_eq!(at, want, "{text:?}"),
            other => panic!("{text:?}: {other:?}"),
        }
    }
}

#[test]
fn limits_hold_and_nothing_recurses() {
    let limits = Limits::default();
    let depth = limits.max_depth as usize;
    let nested = |n: usize| format!("a: {}{}", "[".repeat(n), "]".repeat(n));
    assert!(value(&nested(depth - 1)).is_ok());
    let limit = |kind| Some(Fault::Limit(kind));
    assert_eq!(value(&nested(1_000_000)).err(), limit(Kind::LimitDepth));
    let dashes = format!("a:\n {}x", "- ".repeat(100_000));
    assert_eq!(value(&dashes).err(), limit(Kind::LimitDepth));
    let long = format!("{}: 1", "雪".repeat(limits.max_name as usize / 3 + 1));
    assert_eq!(value(&long).err(), limit(Kind::LimitName));
    let many = "a: 1\n".repeat(limits.max_params as usize + 1);
    assert_eq!(value(&many).err(), limit(Kind::LimitParams));
}

#[test]
fn the_schema_comes_before_the_core_types() {
    let tools = Tools::from_json(
        r#"[{"name": "t", "parameters": {"type": "object", "properties": {
            "s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": ["string", "null"]},
            "l": {"type": "array", "items": {"type": "string"}}, "b": {"type": "boolean"}}}}]"#,
    )
    .expect("tools");
    let cases = [
        ("s: 0070", json!({"s": "0070"}), 0),
        ("s:", json!({"s": ""}), 0),
        ("i: 0x10", json!({"i": 16}), 0),
        ("i: x", json!({"i": "x"}), 1),
        ("i: '4'", json!({"i": "4"}), 1),
        ("n: null", json!({"n": null}), 0),
        ("n: 7", json!({"n": "7"}), 0),
        ("l: [1, no]", json!({"l": ["1", "no"]}), 0),
        ("l: one", json!({"l": ["one"]}), 0),
        ("b: True", json!({"b": true}), 0),
        ("b: yes", json!({"b": "yes"}), 1),
    ];
    for (text, want, misfits) in cases {
        let param = |name: &str| Some(&tools.get("t")?.param(name)?.schema);
        let yaml = read(text, &Limits::default(), param).expect(text);
        assert_eq!(yaml.value, Some(want), "{text}");
        assert_eq!(yaml.misfits.len(), misfits, "{text}");
    }
}

/// Scrambled text never panics, and is read in linear time.
#[test]
fn any_text_is_read_or_refused() {
    let parts = [
        "a: ", "- ", "\n", "  ", "[", "]", "{", "}", "'", "\"", ":", "#", "|\n", ">-\n", "x", "\\",
        ",", "\t", "é", "\r\n",
    ];
    let mut seed = 7_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push_str(parts[(seed >> 33) as usize % parts.len()]);
        }
        let _ = value(&text);
    }
}

#[test]
fn numbers_keep_their_digits() {
    for (text, number) in [
        ("-1.5e3", "-1.5e3"),
        ("12e03", "12e03"),
        ("1234567890123456789012345", "1234567890123456789012345"),
        ("-007", "-7"),
        (".50", "0.50"),
    ] {
        let got = value(&format!("a: {text}")).expect(text).expect(text);
        assert_eq!(got.to_string(), format!("{{\"a\":{number}}}"));
    }
}
