//! The grades of calls: their documentation matches the code.

use std::sync::Arc;

use toolglot::{
    Call, CallState, Collect, DialectSet, EncodeCall, EncodeOptions, Finish, Grade, Kind, KindSet,
    Options, Parser, Tools, Turn, builtin_files, encode,
};

use crate::support::CASES;

const PAGE: &str = include_str!("../../docs/POLICIES.md");
const CODE: &str = include_str!("../../src/kind.rs");
const TABLE: &str = include_str!("../../docs/DIALECTS.md");
const HEADER: &str = include_str!("../../include/toolglot.h");

/// What the code says about each kind, with its number.
fn said() -> Vec<(u16, String)> {
    let one = |line: &str| {
        let (head, rest) = line.trim().split_once(" \"")?;
        let code = head.split_once(" = ")?.1.parse().ok()?;
        let doc = rest.split('"').nth(2)?;
        Some((code, doc.replace("\\\\", "\\")))
    };
    CODE.lines().filter_map(one).collect()
}

#[test]
fn every_page_describes_a_kind_alike() {
    let said = said();
    let codes: Vec<u16> = said.iter().map(|(code, _)| *code).collect();
    let kinds: Vec<u16> = Kind::ALL.iter().map(|kind| kind.code()).collect();
    assert_eq!(codes, kinds);
    for (code, doc) in said {
        let kind = Kind::ALL
            .iter()
            .find(|kind| kind.code() == code)
            .expect("a kind");
        let row = format!("| {code} | `{kind}` | {} | {doc}", kind.severity().name());
        assert!(TABLE.contains(&row), "docs/DIALECTS.md: {row}");
        let name = kind.name().to_uppercase();
        let line = format!("\n#define TOOLGLOT_ISSUE_{name} {code}\n");
        let at = HEADER.find(&line).expect("a constant");
        let above: Vec<&str> = HEADER[..at]
            .rsplit("\n\n")
            .next()
            .into_iter()
            .flat_map(str::lines)
            .collect();
        let above: Vec<&str> = above
            .iter()
            .filter_map(|line| line.strip_prefix("// "))
            .collect();
        let want = format!("{doc} ({})", kind.severity().name());
        assert_eq!(above.join(" "), want, "include/toolglot.h");
    }
}

#[test]
fn the_page_sorts_every_kind_as_the_code_does() {
    let row = |line: &'static str| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let kind = Kind::from_name(cells.next()?.strip_suffix('`')?)?;
        let grade = Grade::from_name(cells.next()?)?;
        let why = cells.next()?.trim_end_matches(" |");
        assert!(why.len() > 10, "{kind}: {why}");
        Some((kind, grade))
    };
    let page: Vec<(Kind, Grade)> = PAGE.lines().filter_map(row).collect();
    let code: Vec<(Kind, Grade)> = Kind::ALL.iter().map(|kind| (*kind, kind.grade())).collect();
    assert_eq!(page, code);
}

#[test]
fn the_worst_kind_decides() {
    for a in Kind::ALL {
        for b in Kind::ALL {
            let mut kinds = KindSet::default();
            kinds.insert(*a);
            kinds.insert(*b);
            assert_eq!(kinds.grade(), a.grade().max(b.grade()), "{a} {b}");
            assert_eq!(CallState::from(kinds).grade(), kinds.grade());
            if kinds.grade() != Grade::Complete {
                assert_eq!(CallState::from(kinds).kinds(), kinds);
            }
        }
    }
    assert_eq!(KindSet::default().grade(), Grade::Complete);
    assert_eq!(CallState::from(KindSet::default()), CallState::Complete);
}

/// What the calls are written with: every value is text, and nothing is required.
const LOOSE: &str = r#"[
    {"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "string"}, "x": {"type": "string"}}}},
    {"name": "g", "parameters": {"type": "object", "properties": {"n": {"type": "string"}}}}]"#;
/// What they are read with.
const STRICT: &str = r#"[{"name": "f", "parameters": {"type": "object", "additionalProperties": false,
    "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}, "required": ["n"]}}]"#;

fn tools(json: &str) -> Arc<Tools> {
    Arc::new(Tools::from_json(json).expect("tools"))
}

/// A call that the strict tools exclude, written and read in a dialect; `None` if the dialect cannot write it.
fn excluded(set: &DialectSet, id: &str, (name, typed, text): (&str, &str, &str)) -> Option<Turn> {
    let mut loose = EncodeOptions::default();
    loose.tools = Some(tools(LOOSE));
    let write = |arguments, options| encode(set, id, &[EncodeCall::new(name, arguments)], options);
    let input = write(typed, &EncodeOptions::default()).or_else(|_| write(text, &loose));
    let mut options = Options::default();
    options.tools = Some(tools(STRICT));
    let mut parser = Parser::new(set, options);
    let mut turn = Collect::new();
    parser.feed(input.ok()?.as_bytes(), &mut turn);
    parser.finish(Finish::Stop, &mut turn);
    Some(turn.turn())
}

#[test]
fn what_the_declared_tools_exclude_leaves_a_call_complete() {
    let cases = [
        (Kind::UnknownTool, ("g", r#"{"n": 5}"#, r#"{"n": "5"}"#)),
        (
            Kind::UnknownParam,
            ("f", r#"{"n": 5, "x": "a"}"#, r#"{"n": "5", "x": "a"}"#),
        ),
        (Kind::MissingRequired, ("f", "{}", "{}")),
        (
            Kind::TypeMismatch,
            ("f", r#"{"n": 5.5}"#, r#"{"n": "5.5"}"#),
        ),
    ];
    for (kind, case) in cases {
        let (mut tried, mut told) = (0, 0);
        for (id, _) in builtin_files() {
            let set = DialectSet::builtin(id).expect("a built-in dialect");
            let Some(turn) = excluded(&set, id, case) else {
                continue;
            };
            for call in &turn.calls {
                assert_eq!(call.grade, Grade::Complete, "{id}, {kind}: {turn:?}");
                assert!(call.kinds.is_empty(), "{id}, {kind}: {turn:?}");
                let reported = turn.issues.iter().any(|issue| issue.kind == kind);
                // Typed values are left to validation.
                assert!(reported || kind == Kind::TypeMismatch, "{id}, {kind}");
                (tried, told) = (tried + 1, told + usize::from(reported));
            }
        }
        assert!(tried > 60 && told > 20, "{kind}: {tried}, {told}");
    }
}

#[test]
fn every_call_has_the_grade_of_its_kinds() {
    let mut tried = 0;
    for case in CASES.iter() {
        let mut parser = case.parser();
        let mut turn = Collect::new();
        parser.feed(case.input, &mut turn);
        parser.finish(case.finish, &mut turn);
        let wrong = |call: &&Call| {
            let row = |kind: Kind| kind.grade();
            let worst = call.kinds.iter().map(row).max().unwrap_or_default();
            call.grade != worst || call.kinds.iter().any(|kind| row(kind) == Grade::Complete)
        };
        let turn = turn.turn();
        assert_eq!(turn.calls.iter().find(wrong), None, "{}", case.id);
        tried += turn.calls.len();
    }
    assert!(tried > 2000, "{tried}");
}
