//! Detection over every vector with calls: it names the vector's dialect, or one with the same markup.

use std::sync::LazyLock;

use toolglot::{Confidence, Detector, DialectSet, Evidence, Options, builtin_files};

use crate::support::{CASES, Case, VECTORS};

static DETECTOR: LazyLock<Detector> = LazyLock::new(Detector::builtin);

fn group(dialect: &str) -> Option<String> {
    let set = DialectSet::builtin(dialect).expect("a built-in dialect");
    set.dialects()
        .find_map(|dialect| dialect.group().map(str::to_owned))
}

/// Whether evidence names a dialect, or another of its group.
fn names(found: &Evidence, dialect: &str) -> bool {
    found.dialect == dialect || found.group.is_some() && found.group == group(dialect)
}

/// Vectors whose calls are in the text, read without switches.
fn cases() -> impl Iterator<Item = &'static Case> {
    let both = VECTORS.iter().zip(CASES.iter());
    both.filter_map(|(vector, case)| {
        let switched = |key: &String| key == "switches" || key.contains('.');
        let plain = case.native.is_empty() && !vector.options.keys().any(switched);
        (plain && !vector.expect.calls.is_empty()).then_some(case)
    })
}

#[test]
fn every_vector_with_calls_names_its_dialect() {
    let (mut missed, mut later, mut all) = (vec![], vec![], 0);
    for case in cases() {
        let found = DETECTOR.detect(case.input, &case.options);
        let own = |one: &Evidence| {
            let calls = one.complete + one.recovered;
            names(one, case.dialect) && calls > 0
        };
        match found.iter().position(own) {
            None => missed.push(case.id),
            Some(0) => {}
            Some(_) => later.push(format!("{} behind {}", case.id, found[0].dialect)),
        }
        all += 1;
    }
    eprintln!(
        "{} of {all} vectors name another dialect first: {later:#?}",
        later.len()
    );
    assert!(missed.is_empty(), "not named: {missed:?}");
    assert!(all > 100, "{all} vectors");
    assert!(
        later.len() * 4 <= all,
        "another dialect comes first: {later:#?}"
    );
}

#[test]
fn text_without_markers_is_not_evidence() {
    for text in [
        "",
        "Plain words, a < b, no calls.",
        "没有任何标记。",
        "```rust\nfn main() {}\n```\n",
    ] {
        assert_eq!(DETECTOR.detect(text.as_bytes(), &Options::default()), []);
        assert_eq!(DETECTOR.sightings(text.as_bytes()), []);
    }
}

#[test]
fn a_mention_is_a_sighting_but_not_evidence() {
    let text = b"The tag <tool_call> and the tag <ACTION> are only named here.";
    assert_eq!(DETECTOR.detect(text, &Options::default()), []);
    let seen = DETECTOR.sightings(text);
    let openers: Vec<&str> = seen.iter().map(|one| one.opener.as_str()).collect();
    assert!(
        openers.starts_with(&["<tool_call"]) && openers.contains(&"<ACTION>"),
        "{seen:?}"
    );
    assert!(seen[0].dialects.contains(&"tool-call-xml".to_owned()));
    assert_eq!((seen[0].span.start, seen[0].span.end), (8, 18));
}

#[test]
fn evidence_is_ordered_and_says_why() {
    let call = "<tool_call name=\"weather\"><param name=\"city\">Leith</param></tool_call>";
    let text = format!("{call}\n<ACTION><tide><port>Oban</port></tide></ACTION>\n{call}");
    let found = DETECTOR.detect(text.as_bytes(), &Options::default());
    let ids: Vec<&str> = found.iter().map(|one| one.dialect.as_str()).collect();
    assert!(ids.starts_with(&["tool-call-xml", "action"]), "{found:#?}");
    assert_eq!(found[0].confidence, Confidence::Strong);
    assert_eq!(
        found[0].reason,
        "2 complete calls; the default set reads it so"
    );
    assert_eq!(found[0].covered(), 2 * call.len() as u64);
    let order: Vec<Confidence> = found.iter().map(|one| one.confidence).collect();
    assert!(order.is_sorted_by(|one, next| one >= next));
}

#[test]
fn reasoning_is_weaker_than_calls_and_broken_blocks_are_weaker_still() {
    let found = DETECTOR.detect(
        "<think>\nhm\n</think>\n<|[REQUEST_TOOL]|>\ncommand:「始」f「末」\n".as_bytes(),
        &Options::default(),
    );
    let of = |id: &str| {
        found
            .iter()
            .find(|one| one.dialect == id)
            .expect("evidence")
    };
    assert_eq!(of("vcp").confidence, Confidence::Weak);
    assert_eq!(of("vcp").reason, "only markers of reasoning or framing");
    assert_eq!(of("tam").confidence, Confidence::Faint);
    assert_eq!(of("tam").reason, "1 broken block");
}

#[test]
fn a_group_is_named_with_every_member_that_fits() {
    let (vector, _) = builtin_files()
        .iter()
        .find(|(id, _)| *id == "tam")
        .expect("tam");
    let found = DETECTOR.detect(
        "<|[REQUEST_TOOL]|>\ncommand:「始」f「末」\n<|[END_TOOL]|>".as_bytes(),
        &Options::default(),
    );
    assert_eq!(
        (found[0].dialect.as_str(), found[0].group.as_deref()),
        (*vector, Some("tam"))
    );
}

#[test]
fn a_users_dialect_takes_part() {
    let (_, text) = builtin_files()
        .iter()
        .find(|(id, _)| *id == "vcp")
        .expect("vcp");
    let mine = text
        .replacen("id = \"vcp\"", "id = \"mine\"", 1)
        .replace("TOOL_REQUEST]", "MY_REQUEST]");
    let detector = Detector::builtin()
        .toml("mine.toml", &mine)
        .expect("a dialect");
    let input = "<<<[MY_REQUEST]>>>\ntool_name:「始」f「末」\n<<<[END_MY_REQUEST]>>>";
    let found = detector.detect(input.as_bytes(), &Options::default());
    assert_eq!(
        (found.len(), found[0].dialect.as_str(), found[0].chosen),
        (1, "mine", false)
    );
    assert!(Detector::builtin().toml("bad.toml", "id = ").is_err());
}
