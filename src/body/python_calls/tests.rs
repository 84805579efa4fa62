use proptest::prelude::*;

use super::*;
use crate::body::live::rig::{self, Payload};
use crate::dialect::payload::{JsonTable, Syntax};
use crate::limits::Options;

impl Payload for Body {
    type Table = PythonTable;
    fn start(_: &mut Out<'_>, _: &PythonTable) -> Self {
        Self::new()
    }
    fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &PythonTable,
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

fn table(brackets: Brackets) -> PythonTable {
    PythonTable {
        syntax: Syntax {
            python: true,
            ..Syntax::default()
        },
        brackets,
        goes_on: b".(".to_vec(),
        ..PythonTable::default()
    }
}

fn check(table: &PythonTable, options: &Options, cases: &[(&str, &str)]) {
    for (input, want) in cases {
        assert_eq!(rig::line::<Body>(table, options, input), *want, "{input}");
    }
}

#[test]
fn a_list_of_calls() {
    let cases = [
        (
            "[f(a=1, b='x'), g()]<",
            r#"f {"a":1, "b":"x"}; g {} |  | done 1"#,
        ),
        (
            "[book(room='B2', tags=['a', \"b\"], meta={'vip': True, 'n': None, 'neg': -4})]",
            r#"book {"room":"B2", "tags":["a", "b"], "meta":{"vip": true, "n": null, "neg": -4}} |  | done 0"#,
        ),
        (
            "[a(b='a] b', c=\"f(x), d\")]",
            r#"a {"b":"a] b", "c":"f(x), d"} |  | done 0"#,
        ),
        (
            " [ \n a.b-c ( x = 1 , ) ,\n d(class=2) , ] ",
            r#"a.b-c { "x" : 1 }; d {"class":2} |  | done 1"#,
        ),
        (
            "[größe(ä=true)]",
            r#"größe {"ä":true} {RepairedLiteral} | repaired_literal | done 0"#,
        ),
        ("[]", " |  | done 0"),
        (
            "[f(a=1, a=2)]",
            r#"f {"a":1, "a":2} {DuplicateParam} | duplicate_param | done 0"#,
        ),
        ("[f(a='Unt", " |  | more"),
        ("[f(a=1), g(b=", r#"f {"a":1} |  | more"#),
        // The text after the call decides whether this is a list of calls.
        ("[f(a=1)", " |  | more"),
    ];
    check(&table(Brackets::Required), &Options::default(), &cases);
    check(&table(Brackets::Optional), &Options::default(), &cases[..2]);
}

#[test]
fn values_that_are_not_literals_are_refused() {
    let unsupported = " | unsupported_expression | malformed";
    let malformed = " | malformed_body | malformed";
    let cases = [
        ("[f(1)]", unsupported),
        ("[f(a)]", unsupported),
        ("[f(**{'a': 1})]", unsupported),
        ("[f(a=b)]", unsupported),
        ("[f(a=lambda: 1)]", unsupported),
        ("[f(a=g(1))]", unsupported),
        ("[f(a=1 + 2)]", unsupported),
        ("[f(a=f'{x}')]", unsupported),
        ("[1, 2, see notes]", malformed),
        ("[foo, bar]", malformed),
        ("f()", malformed),
        ("[f(a=1]", malformed),
        (
            "[f() g()]",
            "f {} {MalformedBody} | malformed_body | malformed",
        ),
        ("[f(), 1]", "f {} | malformed_body | malformed"),
        ("[{}]", malformed),
    ];
    check(&table(Brackets::Required), &Options::default(), &cases);
}

#[test]
fn calls_on_lines() {
    let cases = [
        (
            "\ntune(band=\"FM\", mhz=98.5, stereo=true)\nring()\n</x>",
            r#"tune {"band":"FM", "mhz":98.5, "stereo":true} {RepairedLiteral}; ring {} | repaired_literal | done 4"#,
        ),
        ("a(), b(),</x>", "a {}; b {} |  | done 4"),
        ("a()b()\n", "a {}; b {} |  | more"),
        // The expression may continue.
        ("a()b()", "a {} |  | more"),
        (
            "a().b()",
            "a {} {MalformedBody} | malformed_body | malformed",
        ),
        ("</x>", " |  | done 4"),
        ("[a()]", " |  | done 5"),
        ("a b()", " | malformed_body | malformed"),
    ];
    check(&table(Brackets::Forbidden), &Options::default(), &cases);
    check(&table(Brackets::Optional), &Options::default(), &cases[..4]);
}

#[test]
fn quotes_may_be_delimiters() {
    let table = PythonTable {
        method: ".call".to_owned(),
        typed: true,
        ..table(Brackets::Forbidden)
    };
    let options = rig::tools(
        r#"[{"name": "t", "parameters": {"properties": {"port": {"type": "string"}, "days": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}}}}}]"#,
    );
    let cases = [
        (
            "t.call(port=\"7\", days=\"4\")\n",
            r#"t {"port":"7", "days":4} |  | more"#,
        ),
        (
            "t.call(days='\\x34\\'')\n",
            "t {\"days\":\"4'\"} | type_mismatch | more",
        ),
        (
            "t.call(tags='[\"née\"]', days=3)\n",
            r#"t {"tags":["née"], "days":3} |  | more"#,
        ),
        (
            "t.call(tags='[\"n', days=3)\n",
            " | malformed_value | malformed",
        ),
        (
            "t(other='1')\n",
            r#"t {"other":"1"} | unknown_param | more"#,
        ),
        (".call()", " |  | done 7"),
    ];
    check(&table, &options, &cases);
    let one = PythonTable {
        brackets: Brackets::One,
        ..table
    };
    let cases = [("t.call(days='4') and so on", "t {\"days\":4} |  | done 10")];
    check(&one, &options, &cases);
}

#[test]
fn the_list_may_be_json() {
    let table = PythonTable {
        json: Some(JsonTable {
            name: vec!["name".to_owned()],
            args: vec!["arguments".to_owned()],
            ..JsonTable::default()
        }),
        ..table(Brackets::Required)
    };
    let cases = [
        (
            "[{\"name\": \"a\", \"arguments\": {\"x\": 1}}, {\"name\": \"b\"}]<",
            r#"a {"x": 1}; b {} |  | done 1"#,
        ),
        ("[ {\"name\": ", " |  | more"),
        (
            "{\"name\": \"a\", \"arguments\": {\"x\": 1}}<",
            r#"a {"x": 1} |  | done 1"#,
        ),
        ("[a()]", "a {} |  | done 0"),
    ];
    check(&table, &Options::default(), &cases);
}

#[test]
fn limits_fire_at_one_offset() {
    let mut options = Options::default();
    options.limits.max_name = 4;
    options.limits.max_value = 6;
    options.limits.max_calls = 1;
    options.limits.max_depth = 2;
    let cases = [
        ("[abcd(efgh='1234')]", r#"abcd {"efgh":"1234"} |  | done 0"#),
        ("[abcde()]", " |  | limit_name"),
        ("[a(efghi=1)]", " |  | limit_name"),
        ("[a(b='12345')]", " |  | limit_value"),
        ("[a(b='123456789')]", " |  | limit_value"),
        ("[a(b=[[]])]", " |  | limit_depth"),
        ("[a(), b()]", "a {} |  | limit_calls"),
    ];
    check(&table(Brackets::Required), &options, &cases);
}

const PARTS: &[&str] = &[
    "[",
    "]",
    "(",
    ")",
    "a",
    "g.call",
    "(k=",
    "b=",
    "'x'",
    "\"",
    "'",
    "\\",
    "x41",
    "\\101",
    "0",
    "0x1f",
    "1_0",
    ".5",
    "5.",
    "None",
    "true",
    "{'k':",
    "}",
    ",",
    " ",
    "\n",
    "é",
    "[a(k=",
    "), g()]",
    "**",
    "lambda",
    "'''",
    "-",
    "long_name_here",
    "'long long long value'",
    "s='7'",
    "a(l='[1]', b='true')",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn nothing_depends_on_the_chunks(
        parts in prop::collection::vec(prop::sample::select(PARTS), 0..14),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 2),
        typed: bool,
    ) {
        let input = parts.concat();
        let mut options = rig::tools(r#"[{"name": "a", "parameters": {"properties": {"k": {"type": "integer"},
            "l": {"type": "array"}, "s": {"type": "string"}, "b": {"type": "boolean"}}}}]"#);
        options.limits.max_value = 12;
        options.limits.max_name = 12;
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.sort_unstable();
        for table in [Brackets::Required, Brackets::Forbidden, Brackets::Optional, Brackets::One].map(|brackets| PythonTable { method: ".call".to_owned(), typed, ..table(brackets) }) {
            let whole = rig::run::<Body>(&table, &options, input.as_bytes(), &[]);
            let cut = rig::run::<Body>(&table, &options, input.as_bytes(), &cuts);
            prop_assert_eq!(&cut, &whole, "{:?} {:?}", input, cuts);
        }
    }
}
