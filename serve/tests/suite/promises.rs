//! The table in docs/PAGE.md names existing tests.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_table_of_the_page_names_existing_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/PAGE.md")).unwrap();
    let table = page.split("Of what the designs promise").nth(1).unwrap();
    let mut numbers = BTreeSet::new();
    for line in table.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", number, _, tests, ""] = cells.as_slice() else {
            continue;
        };
        let Ok(number) = number.parse::<u32>() else {
            continue;
        };
        assert!(numbers.insert(number), "{number} appears twice");
        let mut file = String::new();
        for word in tests.split('`').skip(1).step_by(2) {
            if word.contains('/') {
                file = std::fs::read_to_string(root.join(word)).expect(word);
                continue;
            }
            // A test of the page is named by the beginning of its sentence.
            let there = [format!("fn {word}("), format!("test(\"{word}")];
            assert!(
                there.iter().any(|one| file.contains(one)),
                "{number}: {word}"
            );
        }
        assert!(!file.is_empty(), "{number} names no test");
    }
    let wanted = [
        14, 22, 24, 30, 31, 36, 37, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 108, 110, 114,
    ];
    assert_eq!(numbers.into_iter().collect::<Vec<_>>(), wanted);
}
