//! The grades of calls: their documentation matches the code.

use toolglot::{CallState, Grade, Kind, KindSet};

const PAGE: &str = include_str!("../../docs/POLICIES.md");
const CODE: &str = include_str!("../../src/error.rs");
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
            assert_eq!(CallState::from(kinds).kinds(), kinds);
        }
    }
    assert_eq!(KindSet::default().grade(), Grade::Complete);
    assert_eq!(CallState::from(KindSet::default()), CallState::Complete);
}
