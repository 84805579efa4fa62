use proptest::prelude::*;

use super::*;
use crate::body::live::rig::{self, Payload};
use crate::dialect::payload::{BareMark, Syntax};
use crate::limits::Options;

impl Payload for Body {
    type Table = BraceTable;
    const HOLDS: u64 = 8;
    fn start(_: &mut Out<'_>, _: &BraceTable) -> Self {
        Self::new()
    }
    fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &BraceTable,
        i: usize,
        end: usize,
    ) -> (usize, Step) {
        let (i, step) = self.feed(out, table, i, end);
        if let Some((mut call, end)) = self.take() {
            call.close(out, end);
        }
        (i, step)
    }
    fn abandon(&mut self, out: &mut Out<'_>, end: u64) {
        self.abandon(out, end);
    }
    fn calls(&self) -> u32 {
        u32::from(self.end.is_some())
    }
}

fn table(delim: &str, typed: bool) -> BraceTable {
    BraceTable {
        syntax: Syntax {
            delims: vec![delim.to_owned()],
            bare_keys: true,
            bare_values: vec![(delim.to_owned(), BareMark::Delimiter)],
            ..Syntax::default()
        },
        prefix: "call:".to_owned(),
        typed,
    }
}

fn check(table: &BraceTable, options: &Options, cases: &[(&str, &str)]) {
    for (input, want) in cases {
        assert_eq!(rig::line::<Body>(table, options, input), *want, "{input}");
    }
}

#[test]
fn values_are_typed_by_their_spelling() {
    let options = rig::tools(
        r#"[{"name": "a", "parameters": {"properties": {"s": {"type": "string"}, "u": {"type": ["string", "integer"]},
            "n": {"type": "number"}, "o": {}, "l": {}}}}]"#,
    );
    let cases = [
        (
            "call:a{n:25,s:<|\"|>rye loaf<|\"|>}<tool_call|>",
            r#"a {"n":25,"s":"rye loaf"} |  | done 12"#,
        ),
        (
            "call:a{s:<|\"|>Zoë }<tool_call|> b, {c}<|\"|>,o:{h:true,l:[1,-2],m:null,b:{s:<|\"|>L<|\"|>}}}",
            r#"a {"s":"Zoë }<tool_call|> b, {c}","o":{"h":true,"l":[1,-2],"m":null,"b":{"s":"L"}}} |  | done 0"#,
        ),
        (" call:a{}", "a {} |  | done 0"),
        ("call:a{n:<|\"|>7<|\"|>}", r#"a {"n":"7"} |  | done 0"#),
        (
            "call:a{s:hello world,l:[<|\"|>p,q<|\"|>,x]}",
            r#"a {"s":"hello world","l":["p,q","x"]} |  | done 0"#,
        ),
        ("call:a{s:12,u:12}", r#"a {"s":"12","u":12} |  | done 0"#),
        ("call:a{q:1}", r#"a {"q":1} | unknown_param | done 0"#),
        ("call:a{n:", " |  | more"),
        ("call:a", " |  | more"),
        ("cal:a{}", " | malformed_body | malformed"),
        ("call:a b{}", " | malformed_body | malformed"),
        ("call:{}", " | missing_name | malformed"),
        ("call:a<", " | malformed_body | malformed"),
        ("call:a{n:1]", " | malformed_body | malformed"),
        ("call:a{n 1}", " | malformed_body | malformed"),
        (
            "call:a{n:1,n:2}",
            r#"a {"n":1,"n":2} {DuplicateParam} | duplicate_param | done 0"#,
        ),
    ];
    check(&table("<|\"|>", false), &options, &cases);
}

#[test]
fn values_are_typed_by_the_schema() {
    let options = rig::tools(
        r#"[{"name": "a", "parameters": {"properties": {"s": {"type": "string"}, "n": {"type": "number"},
            "b": {"type": "boolean"}, "l": {"type": "array", "items": {"type": "string"}}}}}]"#,
    );
    let cases = [
        (
            "call:a{s:<escape>east < bed<escape>,n:<escape>1.5<escape>,b:<escape>false<escape>}<",
            r#"a {"s":"east < bed","n":1.5,"b":false} |  | done 1"#,
        ),
        (
            "call:a{l:<escape>[\"née\"]<escape>}",
            r#"a {"l":["née"]} |  | done 0"#,
        ),
        (
            "call:a{l:<escape>one<escape>,n:2}",
            r#"a {"l":["one"],"n":2} |  | done 0"#,
        ),
        (
            "call:a{n:<escape>x<esc<escape>}",
            r#"a {"n":"x<esc"} | type_mismatch | done 0"#,
        ),
        (
            "call:a{n:<b> x\"y  ,b:<<escape>,s:z}",
            r#"a {"n":"<b> x\"y","b":"<<escape>","s":"z"} {BareQuote} | bare_quote type_mismatch type_mismatch | done 0"#,
        ),
        (
            "call:a{l:<escape>[1<escape>}",
            " | malformed_value | malformed",
        ),
        (
            "call:a{x:<escape>1<escape>}",
            r#"a {"x":"1"} | unknown_param | done 0"#,
        ),
    ];
    check(&table("<escape>", true), &options, &cases);
}

#[test]
fn limits_fire_at_one_offset() {
    let mut options = Options::default();
    options.limits.max_name = 4;
    options.limits.max_value = 6;
    let cases = [
        (
            "call:abcd{efgh:123456}",
            r#"abcd {"efgh":123456} |  | done 0"#,
        ),
        ("call:abcde{}", " |  | limit_name"),
        ("call:a{efghi:1}", " |  | limit_name"),
        ("call:a{b:1234567}", " |  | limit_value"),
        ("call:a{b:words and words}", " |  | limit_value"),
        (
            "call:a{b:                    1}",
            r#"a {"b":                    1} |  | done 0"#,
        ),
    ];
    check(&table("<|\"|>", false), &options, &cases);
}

const PARTS: &[&str] = &[
    "call:",
    "call:a{",
    "a",
    "{",
    "}",
    "k:",
    "<|\"|>",
    "<|",
    "|>",
    "1",
    "-2.",
    "true",
    "tru",
    "word",
    " ",
    "\n",
    ",",
    ":",
    "[",
    "]",
    "é",
    "\"",
    "\\",
    "s:<|\"|>x<|\"|>",
    "l:",
    "long_name_here",
    "long long long value",
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
        let table = table("<|\"|>", typed);
        let whole = rig::run::<Body>(&table, &options, input.as_bytes(), &[]);
        let cut = rig::run::<Body>(&table, &options, input.as_bytes(), &cuts);
        prop_assert_eq!(&cut, &whole, "{:?} {:?}", input, cuts);
    }
}
