use crate::{DialectSet, Finish, Options, parse};

fn left(dialect: &str, input: &str, finish: Finish) -> String {
    let set = DialectSet::builtin(dialect).expect("a dialect");
    let turn = parse(&set, Options::default(), input.as_bytes(), finish);
    turn.not_delivered.to_json()
}

#[test]
fn a_truncated_block_is_dropped_and_listed() {
    let input = r#"Go. <tool_call>{"name": "f", "arguments": {"a": "#;
    let found = left("hermes", input, Finish::Length);
    let end = input.len();
    assert_eq!(
        found,
        format!(r#"{{"withheld":[],"dropped":[{{"span":[4,{end}],"kinds":["unclosed_block"]}}]}}"#)
    );
}

#[test]
fn nothing_is_listed_for_a_reply_that_is_delivered() {
    let input = r#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
    let found = left("hermes", input, Finish::Stop);
    assert_eq!(found, r#"{"withheld":[],"dropped":[]}"#);
}

#[test]
fn a_recovered_call_is_listed_with_its_kinds() {
    let input = "<tool_call>\n<function=f>\n<parameter=k>\n<parameter=m>\nv\n</parameter>\n</function>\n</tool_call>";
    let found = left("qwen3-coder", input, Finish::Stop);
    assert!(
        found.starts_with(r#"{"withheld":[{"name":"f","kinds":["unclosed_value"],"span":["#),
        "{found}"
    );
}
