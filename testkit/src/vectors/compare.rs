//! Compares the expectation of a vector with the result. White space, numbers and kinds of issues are compared by the
//! rules of `docs/VECTORS.md`.

use toolglot::json::Value;
use toolglot::{Call, Grade, Kind, KindSet, Severity, Turn};

use super::halves;
use super::load::{Expect, ExpectCall};
use super::number::same_number;

/// Everything that differs from the expectation, one sentence each.
#[must_use]
pub(super) fn differences(expect: &Expect, turn: &Turn) -> Vec<String> {
    let mut out = vec![];
    let (mut wanted, mut got) = (expect.text.as_str(), turn.text.as_str());
    if expect.trim {
        (wanted, got) = (wanted.trim(), got.trim());
    }
    text("text", wanted, got, &mut out);
    text(
        "reasoning",
        expect.reasoning.trim(),
        turn.reasoning.trim(),
        &mut out,
    );
    calls(expect, turn, &mut out);
    withheld(expect, turn, &mut out);
    issues(expect, turn, &mut out);
    out
}

fn text(what: &str, wanted: &str, got: &str, out: &mut Vec<String>) {
    if wanted != got {
        out.push(format!("{what}: expected {wanted:?}, got {got:?}"));
    }
}

fn calls(expect: &Expect, turn: &Turn, out: &mut Vec<String>) {
    for index in 0..expect.calls.len().max(turn.calls.len()) {
        let place = format!("calls[{index}]");
        match (expect.calls.get(index), turn.calls.get(index)) {
            (Some(wanted), None) => out.push(format!(
                "{place}: expected {} {}, got no call",
                wanted.name, wanted.arguments
            )),
            (None, Some(got)) => out.push(format!(
                "{place}: expected no call, got {} {}",
                got.name, got.arguments
            )),
            (Some(wanted), Some(got)) => {
                text(&format!("{place}.name"), &wanted.name, &got.name, out);
                arguments(
                    &format!("{place}.arguments"),
                    &wanted.arguments,
                    &got.arguments,
                    out,
                );
                grade(&place, wanted, got, out);
            }
            (None, None) => {}
        }
    }
}

/// Without an expected grade a call may be complete or repaired.
fn grade(place: &str, wanted: &ExpectCall, got: &Call, out: &mut Vec<String>) {
    match &wanted.grade {
        Some(grade) => text(&format!("{place}.grade"), grade, got.grade.name(), out),
        None if got.grade == Grade::Recovered => {
            let kinds = names(got.kinds).join(", ");
            out.push(format!(
                "{place}.grade: expected none, got recovered ({kinds})"
            ));
        }
        None => {}
    }
    if let Some(kinds) = &wanted.kinds {
        let sorted = |mut names: Vec<&str>| {
            names.sort_unstable();
            names.join(", ")
        };
        let wanted = sorted(kinds.iter().map(String::as_str).collect());
        let place = format!("{place}.kinds");
        text(&place, &wanted, &sorted(names(got.kinds)), out);
    }
}

fn names(kinds: KindSet) -> Vec<&'static str> {
    kinds.iter().map(Kind::name).collect()
}

/// The withheld calls, by name, and by kinds where the vector gives them.
fn withheld(expect: &Expect, turn: &Turn, out: &mut Vec<String>) {
    let Some(wanted) = &expect.withheld else {
        return;
    };
    let got = &turn.not_delivered.withheld;
    let listed = |list: Vec<&str>| list.join(", ");
    let wanted_names = wanted.iter().map(|one| one.name.as_str()).collect();
    let got_names = got.iter().map(|one| one.name.as_str()).collect();
    text("withheld", &listed(wanted_names), &listed(got_names), out);
    for (index, (wanted, got)) in wanted.iter().zip(got).enumerate() {
        if let Some(kinds) = &wanted.kinds {
            let place = format!("withheld[{index}].kinds");
            text(&place, &kinds.join(", "), &names(got.kinds).join(", "), out);
        }
        if let Some(span) = wanted
            .span
            .filter(|span| *span != [got.span.start, got.span.end])
        {
            let (from, to) = (got.span.start, got.span.end);
            out.push(format!(
                "withheld[{index}].span: expected {span:?}, got [{from}, {to}]"
            ));
        }
    }
}

fn arguments(place: &str, wanted: &Value, got: &str, out: &mut Vec<String>) {
    match halves::value(got) {
        Ok(value) => value_difference(place, wanted, &value, out),
        Err(error) => out.push(format!(
            "{place}: expected {wanted}, got {got:?}, which is not JSON ({error})"
        )),
    }
}

/// Recurses over values that `serde_json` read, which bounds their depth.
fn value_difference(place: &str, wanted: &Value, got: &Value, out: &mut Vec<String>) {
    match (wanted, got) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, wanted) in a {
                match b.get(key) {
                    Some(got) => value_difference(&format!("{place}.{key}"), wanted, got, out),
                    None => out.push(format!("{place}.{key}: expected {wanted}, got nothing")),
                }
            }
            for (key, got) in b.iter().filter(|(key, _)| !a.contains_key(key)) {
                out.push(format!("{place}.{key}: expected nothing, got {got}"));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (wanted, got)) in a.iter().zip(b).enumerate() {
                value_difference(&format!("{place}[{index}]"), wanted, got, out);
            }
        }
        (Value::Number(a), Value::Number(b)) if same_number(&a.to_string(), &b.to_string()) => {}
        (a, b) if a == b => {}
        (a, b) => out.push(format!("{place}: expected {a}, got {b}")),
    }
}

fn issues(expect: &Expect, turn: &Turn, out: &mut Vec<String>) {
    for kind in &expect.errors {
        if !turn.issues.iter().any(|report| report.kind.name() == kind) {
            let got: Vec<&str> = turn
                .issues
                .iter()
                .map(|report| report.kind.name())
                .collect();
            out.push(format!("errors: expected {kind}, got [{}]", got.join(", ")));
        }
    }
    // Where an expected kind is always an error, other issues may occur too. A kind that can have either severity
    // permits no others, but may itself have any severity, and so may everything else listed.
    let only_warnings = expect
        .errors
        .iter()
        .filter_map(|name| Kind::from_name(name))
        .all(|k| k.severity() == Severity::Warning);
    if !only_warnings {
        return;
    }
    for report in turn
        .issues
        .iter()
        .filter(|report| report.severity == Severity::Error)
    {
        if !expect.errors.iter().any(|kind| report.kind.name() == kind) {
            let place = format!("bytes {}..{}", report.span.start, report.span.end);
            out.push(format!(
                "errors: expected no error, got {} ({}, {place})",
                report.kind, report.message
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolglot::{Report, Span};

    fn turn() -> Turn {
        let report = Report::new(Kind::BareMarkup, Severity::Warning, Span::new(0, 1));
        let call = Call::new(
            "f",
            r#"{"n": 1.0, "s": "x", "l": [1, {"k": 12345678901234567890123}]}"#,
        )
        .dialect("d".to_owned())
        .span(Span::new(0, 1));
        Turn::default()
            .text(" t\n".to_owned())
            .reasoning("r\n".to_owned())
            .calls(vec![call])
            .issues(vec![report])
    }

    const EXPECT: &str = r#"{"text": "t", "trim": true, "reasoning": "r", "errors": ["bare_markup"], "withheld": [],
        "calls": [{"name": "f", "grade": "complete", "kinds": [], "arguments": {"l": [1e0, {"k": 12345678901234567890123}], "s": "x", "n": 1}}]}"#;

    fn differ(expect: &str) -> Vec<String> {
        differences(
            &serde_json::from_str(expect).expect("an expectation"),
            &turn(),
        )
    }

    #[test]
    fn white_space_numbers_and_key_order_may_differ() {
        assert_eq!(differ(EXPECT), Vec::<String>::new());
    }

    #[test]
    fn every_change_is_seen() {
        for (from, to, message) in [
            (r#""t","#, r#""u","#, r#"text: expected "u", got "t""#),
            ("true", "false", r#"text: expected "t", got " t\n""#),
            (r#""r""#, r#""q""#, r#"reasoning: expected "q", got "r""#),
            (
                r#""f""#,
                r#""g""#,
                r#"calls[0].name: expected "g", got "f""#,
            ),
            (
                "0123}",
                "0124}",
                "calls[0].arguments.l[1].k: expected 12345678901234567890124, got 12345678901234567890123",
            ),
            (
                r#""n""#,
                r#""m""#,
                "calls[0].arguments.m: expected 1, got nothing",
            ),
            ("1e0,", "1e0, 2,", "calls[0].arguments.l: expected [1e0,2,{"),
            (
                "complete",
                "recovered",
                r#"calls[0].grade: expected "recovered", got "complete""#,
            ),
            (
                "bare_markup",
                "bare_quote",
                "errors: expected bare_quote, got [bare_markup]",
            ),
        ] {
            let all = differ(&EXPECT.replacen(from, to, 1));
            assert!(
                all.iter().any(|text| text.starts_with(message)),
                "{message}: {all:?}"
            );
        }
        let dropped = r#"{"text": "t", "trim": true, "reasoning": "r", "errors": [], "calls": []}"#;
        assert!(differ(dropped)[0].starts_with("calls[0]: expected no call, got f {"));
    }

    #[test]
    fn errors_are_allowed_only_where_one_is_expected() {
        let mut turn = turn();
        turn.issues[0].severity = Severity::Error;
        let differ = |errors: &str| {
            let text = EXPECT.replace(r#"["bare_markup"]"#, errors);
            differences(&serde_json::from_str(&text).expect("an expectation"), &turn).len()
        };
        assert_eq!(differ(r#"["bare_markup"]"#), 0);
        assert_eq!(differ("[]"), 1);
        turn.issues[0].kind = Kind::UnclosedBlock;
        let expect: Expect =
            serde_json::from_str(&EXPECT.replace("bare_markup", "unclosed_block")).expect("one");
        assert_eq!(differences(&expect, &turn).len(), 0);
    }
}
