//! Every vector with lines that end in CRLF: text, reasoning, calls, grades and kinds of issues are those of the vector, apart
//! from the carriage returns.

use toolglot::{Call, Turn};

use crate::support::{CASES, Case, none_wrong, turn_of, with_returns};

/// What a turn says, without carriage returns.
fn plain(turn: &Turn) -> Vec<String> {
    let call = |call: &Call| {
        let arguments = call.arguments.replace("\\r", "");
        format!("{} {arguments} {:?} {:?}", call.name, call.meta, call.grade)
    };
    let mut kinds: Vec<String> = turn.issues.iter().map(|i| i.kind.to_string()).collect();
    kinds.sort();
    kinds.dedup();
    let mut said: Vec<String> = turn.calls.iter().map(call).collect();
    said.extend([turn.text.clone(), turn.reasoning.clone(), kinds.join(" ")]);
    for part in &mut said {
        part.retain(|c| c != '\r');
    }
    said
}

/// Whether the vector's result depends on more than its lines: on counted bytes, or on what its options say of them.
fn counts(case: &Case) -> bool {
    case.id.contains("limit") || case.id.contains("lookahead") || case.id.contains("crlf")
}

#[test]
fn lines_may_end_in_crlf() {
    let mut tried = 0;
    let mut wrong = vec![];
    for case in CASES
        .iter()
        .filter(|case| case.input.contains(&b'\n') && !counts(case))
    {
        tried += 1;
        let text = with_returns(case.input);
        let one = plain(&turn_of(case.parser(), [case.input], case.finish));
        let other = plain(&turn_of(case.parser(), [&text[..]], case.finish));
        if one != other {
            let text = String::from_utf8_lossy(&text);
            wrong.push(format!("{}: {text:?}\n  {one:?}\n  {other:?}", case.id));
        }
    }
    assert!(tried > 1000, "{tried}");
    none_wrong(&wrong, tried);
}
