//! Every case runs under all splits into two; the joined log and the state must not depend on them.

use proptest::prelude::*;

use super::values::MAX_BLANKS;
use super::*;
use crate::event::Span;

#[derive(Default)]
struct Heard {
    json: String,
    text: String,
    end: u64,
}

impl Emit for Heard {
    fn json(&mut self, text: &str, span: Span) {
        assert!(!text.is_empty() && span.start >= self.end && span.end >= span.start);
        self.end = span.end;
        self.json.push_str(text);
    }
    fn text(&mut self, text: &str, _: Span) {
        self.text.push_str(text);
    }
}

#[derive(Debug, PartialEq)]
struct Log {
    json: String,
    text: String,
    /// Tokens with their offsets; `More` is left out.
    tokens: Vec<(u64, Token)>,
    keys: Vec<String>,
    end: u64,
    state: Lexer,
}

struct Case<'c> {
    syntax: Syntax,
    depth: u32,
    name: u32,
    decode: bool,
    force: bool,
    call: bool,
    input: &'c [u8],
}

fn case(syntax: Syntax, input: &[u8]) -> Case<'_> {
    Case {
        syntax,
        depth: 64,
        name: 1000,
        decode: false,
        force: false,
        call: false,
        input,
    }
}

impl Case<'_> {
    fn run(&self, cuts: &[usize]) -> Log {
        let rules = Rules {
            syntax: &self.syntax,
            max_depth: self.depth,
            max_name: self.name,
        };
        let mut lexer = Lexer::new(1);
        let mut heard = Heard::default();
        let mut log = (vec![], vec![]);
        let mut from = 0;
        let mut end = 0;
        let mut called = !self.call;
        'all: for to in cuts.iter().copied().chain([self.input.len()]) {
            let src = &self.input[from..to];
            let mut i = 0;
            while i < src.len() {
                let token;
                if called {
                    (i, token) = lexer.next(&rules, src, from as u64, i, &mut heard);
                } else {
                    (i, token) = lexer.open_call(&rules, src, from as u64, i, &mut heard);
                    called = true;
                }
                end = (from + i) as u64;
                if token != Token::More {
                    log.0.push((end, token));
                }
                match token {
                    Token::Key => log.1.push(lexer.key().to_owned()),
                    Token::Open(Shape::String) if self.decode => lexer.decode(),
                    Token::Open(Shape::Bare) if self.force => lexer.force_text(),
                    Token::Close if lexer.depth() == 0 => break 'all,
                    Token::Malformed(_) | Token::Limit(_) => break 'all,
                    _ => {}
                }
            }
            from = to;
        }
        Log {
            json: heard.json,
            text: heard.text,
            tokens: log.0,
            keys: log.1,
            end,
            state: lexer,
        }
    }

    /// The log of the whole, equal for every split into two.
    fn log(&self) -> Log {
        let whole = self.run(&[]);
        for cut in 0..=self.input.len() {
            let log = self.run(&[cut]);
            let shown = String::from_utf8_lossy(self.input);
            assert_eq!(log, whole, "{shown:?} cut at {cut}");
        }
        let every: Vec<usize> = (0..self.input.len()).collect();
        assert_eq!(self.run(&every), whole);
        whole
    }

    /// What was repaired, and where.
    fn slips(&self) -> Vec<(u64, Kind)> {
        let slip = |(_, token): &(u64, Token)| match token {
            Token::Repaired(kind, at) => Some((*at, *kind)),
            _ => None,
        };
        self.log().tokens.iter().filter_map(slip).collect()
    }

    /// The JSON text of the value, or what stopped it.
    fn json(&self) -> Result<String, Token> {
        let log = self.log();
        let last = log.tokens.last().map(|(_, token)| *token);
        match last {
            Some(token @ (Token::Malformed(_) | Token::Limit(_))) => Err(token),
            _ if log.end < self.input.len() as u64 => Err(Token::Close),
            _ if log.state.ends() => Ok(log.json),
            _ => Err(Token::More),
        }
    }
}

/// Strict JSON, without a slip.
fn strict(input: &[u8]) -> Result<String, Token> {
    let case = case(Syntax::default(), input);
    let slips = case.slips();
    match slips.first() {
        Some((at, kind)) => Err(Token::Repaired(*kind, *at)),
        None => case.json(),
    }
}

fn python() -> Syntax {
    Syntax {
        python: true,
        ..Syntax::default()
    }
}

fn gemma() -> Syntax {
    let delims = vec!["<|\"|>".to_owned(), "zzy".to_owned()];
    let mark = |delim: &String| (delim.clone(), BareMark::Delimiter);
    Syntax {
        bare_values: delims.iter().map(mark).collect(),
        delims,
        bare_keys: true,
        ..Syntax::default()
    }
}

const SAMPLES: &[&str] = &[
    "{}",
    "[]",
    "0",
    "-0",
    "1.5e+9",
    "1E5",
    "\"\"",
    "\"a\"",
    "true",
    "false",
    "null",
    "[1,2]",
    "[1, 2 , 3]",
    "{\"a\":1}",
    "{ \"a\" : [ {} , [] ] , \"b\" : null }",
    "\"\\ud83d\\udea2\"",
    "\"\\/\\b\\f\\n\\r\\t\\\"\\\\\"",
    "\"größe/尺寸 📌\"",
    "\"\\u00e9\"",
    "{\"\":\"\"}",
    "[[[[1]]]]",
    "{\"a\":1,\"a\":2}",
    "[\"a long string that is more than one block of the scan\", \"b\"]",
    // Not JSON.
    "",
    " ",
    "-",
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "1e+",
    "0x1",
    "nul",
    "truE",
    "True",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{a:1}",
    "{'a':1}",
    "'a'",
    "[",
    "{",
    "]",
    "[1}",
    "{]",
    "\"\\x41\"",
    "\"\\u00g0\"",
    "\"\\u12\"",
    "\"a\nb\"",
    "\"\u{0}\"",
    "\"\u{1f}\"",
    "\"",
    "\"\\",
    "1a",
    "tru",
    "nulll",
    "[1",
    "{\"a\":1",
    "[\"a\"",
    "NaN",
    "Infinity",
    "\"a\"\"b\"",
    "[1],",
    "\u{7f}",
    "é",
];

#[test]
fn plain_json_is_what_serde_accepts_and_stays_unchanged() {
    for sample in SAMPLES {
        // A number ends at the byte that follows it.
        let sample = format!("[{sample}]");
        let real = serde_json::from_str::<serde::de::IgnoredAny>(&sample).is_ok();
        let ours = strict(sample.as_bytes());
        assert_eq!(ours.is_ok(), real, "{sample:?}: {ours:?}");
        if let Ok(json) = ours {
            assert_eq!(json, sample);
        }
    }
    // Blanks before the value are not part of it.
    assert_eq!(strict(b" \n{ }").as_deref(), Ok("{ }"));
    assert_eq!(
        strict(b"\"a\xffb\xe4\xb8\"").as_deref(),
        Ok("\"a\u{FFFD}b\u{FFFD}\"")
    );
}

#[test]
fn only_possible_slips_are_held_back() {
    let input = r#"{"k\u00e9": [12.5e-3, true, "größe \ud83d\udea2\n 📌 ", null], "x": {}}"#;
    for to in 0..=input.len() {
        let log = case(Syntax::default(), &input.as_bytes()[..to]).run(&[]);
        assert!(input.starts_with(&log.json));
        let waits = &input.as_bytes()[log.json.len()..to];
        let escape = waits.starts_with(b"\\") && waits.len() < 12;
        let char = waits.len() < 4 && waits.iter().all(|byte| *byte >= 0x80);
        let comma = waits == b"," || waits == b", ";
        assert!(escape || char || comma, "{:?}", waits.escape_ascii());
    }
}

#[test]
fn tokens_are_where_the_values_are() {
    let log = case(Syntax::default(), br#"{"k": 12, "o": {"x": []}}"#).log();
    use Token::{Close, Key, Open};
    let tokens = [
        (0, Open(Shape::Object)),
        (4, Key),
        (6, Open(Shape::Number)),
        (8, Close),
        (13, Key),
        (15, Open(Shape::Object)),
        (24, Close),
        (25, Close),
    ];
    assert_eq!(log.tokens, tokens);
    assert_eq!(log.keys, ["k", "o"]);
}

#[test]
fn strings_are_decoded_on_request() {
    let cases: &[(&str, &str)] = &[
        (r#""a\n\u00e9b""#, "a\néb"),
        (r#""\ud83d\udea2!""#, "🚢!"),
        (r#""\ud83dx\udea2""#, "\u{FFFD}x\u{FFFD}"),
        (r#""\ud83d\ud83d\udea2""#, "\u{FFFD}🚢"),
        (r#""\ud83d""#, "\u{FFFD}"),
        (r#""中\/文""#, "中/文"),
        (r#""""#, ""),
    ];
    for (input, text) in cases {
        let case = Case {
            decode: true,
            ..case(Syntax::default(), input.as_bytes())
        };
        let log = case.log();
        assert_eq!(log.text, *text);
        assert!(log.json == *input || text.contains('\u{FFFD}'), "{input}");
    }
    let log = case(Syntax::default(), br#"{"\ud83d\udea2\n": 1}"#).log();
    assert_eq!(log.keys, ["🚢\n"]);
}

#[test]
fn limits_fire_at_one_offset() {
    let deep = [b'['; 100_000];
    let log = case(Syntax::default(), &deep).run(&[]);
    assert_eq!(
        log.tokens.last(),
        Some(&(64, Token::Limit(Kind::LimitDepth)))
    );
    let deeper = [[b'['; 100_000], [b']'; 100_000]].concat();
    let any = Case {
        depth: u32::MAX,
        ..case(Syntax::default(), &deeper)
    };
    assert!(any.run(&[]).state.ends());
    let shallow = Case {
        depth: 3,
        ..case(Syntax::default(), b"[[[[]]]]")
    };
    assert_eq!(shallow.json(), Err(Token::Limit(Kind::LimitDepth)));
    for (syntax, key) in [
        (Syntax::default(), "{\"0123456789abcdef\": 1}"),
        (gemma(), "{0123456789abcdef: 1}"),
    ] {
        let short = |syntax, key| Case {
            name: 16,
            ..case(syntax, key)
        };
        assert!(short(syntax.clone(), key.as_bytes()).json().is_ok());
        let long = key.replace('0', "0000");
        let result = short(syntax, long.as_bytes()).json();
        assert_eq!(result, Err(Token::Limit(Kind::LimitName)));
    }
}

#[test]
fn slips_are_repaired_and_reported() {
    type Told = &'static [(u64, Kind)];
    let cases: &[(&str, &str, Told)] = &[
        ("[1,]", "[1]", &[(2, Kind::RepairedComma)]),
        ("{\"a\":1 , }", "{\"a\":1 }", &[(7, Kind::RepairedComma)]),
        ("[1 , 2]", "[1 , 2]", &[]),
        (
            "{\"a\":1 \"b\":2}",
            "{\"a\":1 ,\"b\":2}",
            &[(7, Kind::RepairedComma)],
        ),
        (
            "{\"k\": [\"a\"\n\"b\" {}{} [1] [2]]}",
            "{\"k\": [\"a\"\n,\"b\" ,{},{} ,[1] ,[2]]}",
            &[
                (11, Kind::RepairedComma),
                (15, Kind::RepairedComma),
                (17, Kind::RepairedComma),
                (20, Kind::RepairedComma),
                (24, Kind::RepairedComma),
            ],
        ),
        ("[{}{}]", "[{},{}]", &[(3, Kind::RepairedComma)]),
        (
            "{'a': 'it\"s\\'x'}",
            "{\"a\": \"it\\\"s'x\"}",
            &[
                (1, Kind::RepairedQuotes),
                (6, Kind::RepairedQuotes),
                (9, Kind::BareQuote),
                (11, Kind::RepairedQuotes),
            ],
        ),
        (
            "[True,False,None]",
            "[true,false,null]",
            &[
                (1, Kind::RepairedLiteral),
                (6, Kind::RepairedLiteral),
                (12, Kind::RepairedLiteral),
            ],
        ),
        ("{a_b:1}", "{\"a_b\":1}", &[(1, Kind::RepairedKey)]),
        (
            "{a: .5}",
            "{\"a\": 0.5}",
            &[(1, Kind::RepairedKey), (4, Kind::RepairedLiteral)],
        ),
        (
            "[07, -010.5, 000, 0.5]",
            "[7, -10.5, 0, 0.5]",
            &[
                (1, Kind::RepairedNumber),
                (6, Kind::RepairedNumber),
                (13, Kind::RepairedNumber),
                (14, Kind::RepairedNumber),
            ],
        ),
        (
            "['it's', 'a' , 'an 'odd' one']",
            "[\"it's\", \"a\", \"an 'odd' one\"]",
            &[],
        ),
        (
            "[\"\\ud83d\", \"\\udea2x\", \"\\ud83d\\ud83d\\udea2\", \"\\ud83d\\n\", \"\\ud83d\\u00e9\"]",
            "[\"\\ufffd\", \"\\ufffdx\", \"\\ufffd\\ud83d\\udea2\", \"\\ufffd\\n\", \"\\ufffd\\u00e9\"]",
            &[
                (2, Kind::LoneSurrogate),
                (12, Kind::LoneSurrogate),
                (23, Kind::LoneSurrogate),
                (45, Kind::LoneSurrogate),
                (57, Kind::LoneSurrogate),
            ],
        ),
        (
            "[\"a\nb\u{0}\"]",
            "[\"a\\nb\\u0000\"]",
            &[(3, Kind::RepairedNewline), (5, Kind::RepairedNewline)],
        ),
    ];
    for (input, json, kinds) in cases {
        let case = case(Syntax::default(), input.as_bytes());
        assert_eq!(case.json().as_deref(), Ok(*json), "{input:?}");
        if !input.contains("it's") {
            assert_eq!(case.slips(), *kinds, "{input:?}");
        }
    }
    let inner = case(Syntax::default(), b"['it's']").slips();
    assert_eq!(inner, [(1, Kind::RepairedQuotes), (4, Kind::BareQuote)]);
    for input in ["[,]", "{,}", "[1,,]", "{1a:1}", "[NaN]", "[Tru]", "{a b:1}"] {
        let case = case(Syntax::default(), input.as_bytes());
        assert!(case.json().is_err(), "{input}");
    }
    let blanks = format!("[1,{}2]", " ".repeat(600));
    let json = case(Syntax::default(), blanks.as_bytes()).run(&[]).json;
    assert_eq!(json.len(), "[1,2]".len() + MAX_BLANKS - 1);
    assert_eq!(
        case(Syntax::default(), blanks.as_bytes())
            .run(&[301, 302, 400])
            .json,
        json
    );
}

#[test]
fn python_literals_become_json() {
    let cases: &[(&str, &str)] = &[
        (
            "[True, False, None, true, false, null]",
            "[true, false, null, true, false, null]",
        ),
        ("(1, 'a',)", "[1, \"a\"]"),
        ("()", "[]"),
        ("{'a': (1,), \"b\": ''}", "{\"a\": [1], \"b\": \"\"}"),
        (
            "[1_000, .5, 5., 0x1F, +1, -0b11, 0o17, -.5, 5.e3, 0, 0.5, 0e1, -0]",
            "[1000, 0.5, 5.0, 31, 1, -3, 15, -0.5, 5.0e3, 0, 0.5, 0e1, -0]",
        ),
        (
            "[90071992547409931234567890, 0xFFFFFFFFFFFFFFFF]",
            "[90071992547409931234567890, 18446744073709551615]",
        ),
        (
            r"'\x41\'\a\v\0\101\q\\\n\U0001F600\xe9'",
            "\"A'\\u0007\\u000b\\u0000A\\\\q\\\\\\n😀é\"",
        ),
        ("'a\"b\tc'", "\"a\\\"b\\tc\""),
        ("'a\\\nb'", "\"ab\""),
        ("''''a''\n'b'''", ""),
        ("'''a''\n'b'''", "\"a''\\n'b\""),
        ("\"\"\"a\"b\"\"c\"\"\"", "\"a\\\"b\\\"\\\"c\""),
        ("\"\"\"\"\"\"", "\"\""),
        ("[\"\"]", "[\"\"]"),
        (r"'\ud83d\udea2'", "\"\\ud83d\\udea2\""),
        (r"'\U0000d83d'", "\"\\ufffd\""),
        (
            "['say 'hi'', \"a \"b\" c\"]",
            "[\"say 'hi'\", \"a \\\"b\\\" c\"]",
        ),
        ("'a\nb'", "\"a\\nb\""),
        ("007", "7"),
        ("[1, ]", "[1]"),
        ("{}", "{}"),
    ];
    for (input, json) in cases {
        let result = case(python(), format!("[{input}]").as_bytes()).json();
        if json.is_empty() {
            assert_eq!(result, Ok("[\"'a''\\n'b\"]".to_owned()), "{input}");
            continue;
        }
        assert_eq!(result, Ok(format!("[{json}]")), "{input}");
        let parsed = serde_json::from_str::<crate::json::Value>(json);
        assert!(parsed.is_ok(), "{json}");
    }
    let unsupported = Err(Token::Malformed(Kind::UnsupportedExpression));
    for input in [
        "[(1)]",
        "[1 + 2]",
        "[lambda: 0]",
        "[x]",
        "[f'x']",
        "[b'x']",
        "['a' 'b']",
        "[1j]",
        "[--5]",
        "['\\N{BULLET}']",
        "[Truex]",
        "[0x_g]",
        "[*a]",
        "{1: 2}",
        "[0x111111111111111111111111111111111]",
    ] {
        assert_eq!(
            case(python(), input.as_bytes()).json(),
            unsupported,
            "{input}"
        );
    }
    let malformed = Err(Token::Malformed(Kind::MalformedBody));
    for input in [
        "[1_]",
        "[1__0]",
        "['\\x4']",
        "[(1]",
        "[,]",
        "['\\U00110000']",
    ] {
        let result = case(python(), input.as_bytes()).json();
        assert!(
            result == malformed || (input.contains('_') && result == unsupported),
            "{input}: {result:?}"
        );
    }
}

#[test]
fn arguments_of_a_call_become_an_object() {
    let call = |input| Case {
        call: true,
        ..case(python(), input)
    };
    let cases: &[(&str, &str)] = &[
        ("()", "{}"),
        ("(a=1, b='x')", "{\"a\":1, \"b\":\"x\"}"),
        (
            "( a = [1, (2, 3)] ,\n class={'k': None}, )",
            "{ \"a\" : [1, [2, 3]] ,\n \"class\":{\"k\": null}}",
        ),
        ("(größe=1)", "{\"größe\":1}"),
    ];
    for (input, json) in cases {
        assert_eq!(
            call(input.as_bytes()).json().as_deref(),
            Ok(*json),
            "{input}"
        );
    }
    for input in [
        "(1)", "('a')", "(x)", "(x, y=1)", "(**{})", "(a==1)", "(a=b)", "(a=f(1))", "(a.b=1)",
    ] {
        let result = call(input.as_bytes()).json();
        assert_eq!(
            result,
            Err(Token::Malformed(Kind::UnsupportedExpression)),
            "{input}"
        );
    }
    assert_eq!(
        call(b"(a=1]").json(),
        Err(Token::Malformed(Kind::MalformedBody))
    );
}

#[test]
fn values_between_delimiters() {
    let cases: &[(&str, &str)] = &[
        (
            "{minutes:25,label:<|\"|>rye loaf<|\"|>}",
            "{\"minutes\":25,\"label\":\"rye loaf\"}",
        ),
        (
            "{o:{t:true,l:[1,-2.5],n:null,s:<|\"|><|<|\"\\\n<|\"|>}}",
            "{\"o\":{\"t\":true,\"l\":[1,-2.5],\"n\":null,\"s\":\"<|<|\\\"\\\\\\n\"}}",
        ),
        (
            "{a:hello world ,b:12 abc,c:tru,d:truex,e:-,f:1.,g:\"q\"}",
            "{\"a\":\"hello world\",\"b\":\"12 abc\",\"c\":\"tru\",\"d\":\"truex\",\"e\":\"-\",\"f\":\"1.\",\"g\":\"q\"}",
        ),
        ("{a: 1 , b: true }", "{\"a\": 1 , \"b\": true }"),
        ("{a:<b>\\\"x}", "{\"a\":\"<b>\\\\\\\"x\"}"),
        ("{<|\"|>k<|\"|>:größe \t b}", "{\"k\":\"größe \\t b\"}"),
        (
            "{a:None,b:True ,c:Nonexyz,d:'x, y',}",
            "{\"a\":null,\"b\":true,\"c\":\"Nonexyz\",\"d\":\"x, y\"}",
        ),
        ("{a:zzyzzzy}", "{\"a\":\"z\"}"),
        ("{a:zzyzzazzy}", "{\"a\":\"zza\"}"),
        ("{a:zzzy}", ""),
    ];
    for (input, json) in cases {
        let result = case(gemma(), input.as_bytes()).json();
        if json.is_empty() {
            assert_eq!(result.as_deref(), Ok("{\"a\":\"zzzy\"}"));
        } else {
            assert_eq!(result.as_deref(), Ok(*json), "{input}");
        }
    }
    let force = Case {
        force: true,
        ..case(gemma(), b"{a:123,b:true }")
    };
    assert_eq!(
        force.json().as_deref(),
        Ok("{\"a\":\"123\",\"b\":\"true\"}")
    );
    for input in ["{a:}", "{a}", "{a:,b:1}", "{:1}", "{<|x:1}"] {
        assert!(case(gemma(), input.as_bytes()).json().is_err(), "{input}");
    }
}

fn value() -> impl Strategy<Value = crate::json::Value> {
    use crate::json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
        "[\\x00-\\x7f]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-zé\"\\\\]{0,5}", inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn valid_json_stays_unchanged(value in value(), pretty: bool, cut in any::<prop::sample::Index>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.expect("a value");
        let text = format!("[{text}]");
        let case = case(Syntax::default(), text.as_bytes());
        let log = case.run(&[cut.index(text.len() + 1)]);
        prop_assert!(log.state.ends(), "{:?}", log);
        prop_assert_eq!(&log.json, &text);
        prop_assert!(!log.tokens.iter().any(|(_, token)| matches!(token, Token::Repaired(..))));
        prop_assert!(case.run(&(0..text.len()).collect::<Vec<_>>()) == case.run(&[]));
    }

    #[test]
    fn json_is_accepted_unchanged_and_output_is_json(
        value in value(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3u8, "[\\[\\]{},:\"\\\\0-9etu .+-]"), 1..3),
    ) {
        let mut text: Vec<char> = serde_json::to_string(&value).expect("a value").chars().collect();
        for (at, what, new) in edits {
            let at = at.index(text.len() + 1);
            let new = new.chars().next().expect("one");
            match what {
                0 => text.insert(at, new),
                1 if at < text.len() => { text.remove(at); }
                _ if at < text.len() => text[at] = new,
                _ => {}
            }
        }
        let text: String = text.into_iter().collect();
        let text = format!("[{text}]");
        let real = serde_json::from_str::<crate::json::Value>(&text);
        let ours = case(Syntax::default(), text.as_bytes()).run(&[]);
        let slips = ours.tokens.iter().any(|(_, token)| matches!(token, Token::Repaired(..)));
        if ours.state.ends() && ours.end == text.len() as u64 {
            let left = serde_json::from_str::<crate::json::Value>(&ours.json);
            let big = |e: &serde_json::Error| e.to_string().contains("out of range");
            prop_assert!(left.is_ok() || left.as_ref().is_err_and(big), "{text:?}: {}", ours.json);
            prop_assert!(slips || real.is_ok() || real.as_ref().is_err_and(big), "{text:?}");
        }
        if real.is_ok() {
            prop_assert!(!slips, "{text:?}");
            prop_assert_eq!(ours.json, text);
        }
    }

    #[test]
    fn nothing_depends_on_the_chunks(input in "([\\[\\](){}:=,'\"\\\\x0-9ntu_.<|>zy \n-]|\\\\ud83d|\\\\udea2|None){0,24}", first in any::<prop::sample::Index>(), second in any::<prop::sample::Index>()) {
        for (syntax, decode) in [(Syntax::default(), true), (Syntax::default(), false), (python(), true), (gemma(), false), (gemma(), true)] {
            let mut wrapped = String::from("[");
            wrapped.push_str(&input);
            let case = Case { decode, ..case(syntax, wrapped.as_bytes()) };
            let (a, b) = (first.index(wrapped.len() + 1), second.index(wrapped.len() + 1));
            prop_assert_eq!(case.run(&[a.min(b), a.max(b)]), case.run(&[]));
        }
    }
}
