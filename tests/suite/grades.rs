//! Grades of calls: the page that explains them says what the code does.

use toolglot::{CallState, Grade, Kind, KindSet};

const PAGE: &str = include_str!("../../docs/POLICIES.md");

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
