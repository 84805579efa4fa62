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

#[test]
fn text_that_came_back_is_not_dropped() {
    let broken = [
        (
            "mistral",
            r#"[TOOL_CALLS][{"name":"f","arguments":{}}"#,
            r#",{"name":"g","arguments":{"a" 1}} 好"#,
        ),
        ("lfm2", "<|tool_call_start|>[f(a=1)", ", g(x) and so on"),
        (
            "kimi-k2",
            concat!(
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>",
                "{}<|tool_call_end|>"
            ),
            "<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{\"甲\" 1} 乙",
        ),
    ];
    for (dialect, good, back) in broken {
        let input = format!("{good}{back}");
        let set = DialectSet::builtin(dialect).expect("a dialect");
        let turn = parse(&set, Options::default(), input.as_bytes(), Finish::Stop);
        assert_eq!(
            (turn.calls.len(), turn.text.as_str()),
            (1, back),
            "{dialect}"
        );
        assert_eq!(
            turn.not_delivered.to_json(),
            r#"{"withheld":[],"dropped":[]}"#,
            "{dialect}"
        );
        // After a length limit the same bytes may be dropped; nothing is both dropped and delivered.
        for finish in [Finish::Length, Finish::Error] {
            let turn = parse(&set, Options::default(), input.as_bytes(), finish);
            let dropped: u64 = turn
                .not_delivered
                .dropped
                .iter()
                .map(|d| d.span.len())
                .sum();
            assert!(
                turn.text.is_empty() || dropped == 0,
                "{dialect}: {:?}",
                turn.text
            );
        }
    }
}

#[test]
fn a_result_that_the_model_invents_in_a_region_is_listed() {
    use crate::{Collect, Limits, Parser, Retain};

    let inputs = [
        (
            "gemma4",
            "<|tool_response>response:f{a:1}<tool_response|>",
            "x",
        ),
        (
            "gemma4",
            "好\n<|tool_response>response:f{天:1}<tool_response|>",
            "好",
        ),
        (
            "functiongemma",
            "<start_function_response>response:f{a:1}<end_function_response>",
            "\n",
        ),
        (
            "anthropic-function-calls",
            "Hi.\n<function_results>\nx\n</function_results>",
            "\n好",
        ),
    ];
    for (dialect, region, rest) in inputs {
        let input = format!("{region}{rest}");
        let from = region.find('<').unwrap_or(0);
        let want = format!(
            r#"{{"withheld":[],"dropped":[{{"span":[{from},{}],"kinds":["hallucinated_result"]}}]}}"#,
            region.len()
        );
        let set = DialectSet::builtin(dialect).expect("a dialect");
        let small = Limits::default().max_block(8);
        for options in [
            Options::default(),
            Options::default().retain(Retain::None),
            Options::default().limits(small),
        ] {
            let limited = options.limits.max_block == 8;
            for size in [1, 5, input.len()] {
                let mut parser = Parser::new(&set, options.clone());
                let mut collect = Collect::new();
                for piece in input.as_bytes().chunks(size) {
                    parser.feed(piece, &mut collect);
                }
                parser.finish(Finish::Stop, &mut collect);
                let found = collect.turn().not_delivered.to_json();
                let want = match limited {
                    true => want.replace(
                        "\"hallucinated_result\"",
                        "\"hallucinated_result\",\"limit_block\"",
                    ),
                    false => want.clone(),
                };
                assert_eq!(found, want, "{input:?} {size} {options:?}");
            }
        }
    }
}

#[test]
fn a_region_of_another_kind_is_not_dropped() {
    let found = left(
        "vcp",
        "a\n[[VCP调用结果信息汇总:\nx\nVCP调用结果结束]]\nb",
        Finish::Stop,
    );
    assert_eq!(found, r#"{"withheld":[],"dropped":[]}"#);
}
