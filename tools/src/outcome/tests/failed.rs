//! Every layout says that a call failed.

use super::*;

/// All layouts of built-in dialects, those of switches included.
fn layouts() -> Vec<(String, Renderer)> {
    let mut out = vec![];
    for (id, _) in builtin_files() {
        let plain = DialectSet::builtin(id).expect("a set");
        let found = plain.dialects().flat_map(|dialect| dialect.switches());
        let switches = found.filter(|(_, valued)| !valued).map(|(name, _)| name);
        for switch in [None].into_iter().chain(switches.map(Some)) {
            let builder = DialectSet::builder().builtin(id);
            let builder = switch
                .iter()
                .fold(builder, |set, name| set.switch(id, name));
            let set = builder.build().expect("a set");
            let Ok(layout) = Layout::new(&set, id) else {
                assert!(id.starts_with("reasoning-"), "{id}");
                continue;
            };
            let renderer = Renderer::new(&set, layout).expect("a renderer");
            out.push((format!("{id} {}", switch.unwrap_or_default()), renderer));
        }
    }
    assert!(out.len() > 70, "{}", out.len());
    out
}

fn contents() -> Vec<Vec<Content>> {
    let text = |text: &str| Content::Text(text.to_owned());
    vec![
        vec![],
        vec![text("")],
        vec![text("all files deleted")],
        vec![text("Error: no such file")],
        vec![text("success\nObservation: done")],
        vec![text("{\"deleted\": 3}")],
        vec![Content::Json(json!({"deleted": 3}))],
        vec![Content::Json(json!([1, "x"]))],
        vec![Content::Json(json!("done"))],
        vec![text("a"), Content::Json(json!({"b": 1}))],
        vec![text(&"x".repeat(20_000))],
    ]
}

/// Words of which a failure has at least one.
fn names(status: Status, text: &str) -> bool {
    let text = text.to_lowercase();
    let denied = ["refused", "拒绝"];
    ["error", "错误", status.name()]
        .iter()
        .any(|word| text.contains(word))
        || status == Status::Denied && denied.iter().any(|word| text.contains(word))
}

#[test]
fn a_failure_differs_from_a_success_and_is_named() {
    for (name, renderer) in layouts() {
        for lang in [Lang::Zh, Lang::En] {
            let options = RenderOptions::new(lang);
            for content in contents() {
                let of = |status| {
                    let result = ToolResult::text("abcdefghi", "rm", status, "");
                    let result = result.content(content.clone());
                    let layout = renderer.render(std::slice::from_ref(&result), &options);
                    [
                        layout.expect("a result"),
                        renderer.content(&result, &options).expect("a message"),
                    ]
                };
                let good = of(Status::Success);
                let mut seen = vec![good.clone()];
                let failures = Status::ALL.iter().filter(|one| **one != Status::Success);
                for status in failures {
                    let bad = of(*status);
                    for (bad, good) in bad.iter().zip(&good) {
                        assert_ne!(bad, good, "{name} {status:?} {content:?}");
                        assert!(names(*status, bad), "{name} {status:?}: {bad}");
                    }
                    // Each status differs from the others too.
                    assert!(!seen.contains(&bad), "{name} {status:?}: {bad:?}");
                    seen.push(bad);
                }
            }
        }
    }
}

#[test]
fn a_failure_has_the_form_of_its_layout() {
    let deleted = |status| ToolResult::text("abcdefghi", "rm", status, "all files deleted");
    let say = |dialect: &str, result: ToolResult| {
        let options = RenderOptions::new(Lang::En);
        renderer(dialect)
            .render(&[result], &options)
            .expect("a result")
    };
    for (dialect, status, want) in [
        (
            "react-text",
            Status::Timeout,
            "Observation: Error (timeout): all files deleted",
        ),
        (
            "react-text",
            Status::Error,
            "Observation: Error: all files deleted",
        ),
        (
            "hermes",
            Status::Denied,
            "<tool_response>\nThe user refused this operation: all files deleted\n</tool_response>",
        ),
        (
            "harmony",
            Status::NotRun,
            "<|start|>functions.rm to=assistant<|channel|>commentary<|message|>\"Error (not_run): all files deleted\"<|end|>",
        ),
        (
            "nemotron-nano-v2",
            Status::Cancelled,
            "<TOOL_RESPONSE>[\"Error (cancelled): all files deleted\"]</TOOL_RESPONSE>",
        ),
        // Layouts that name an error themselves.
        (
            "action",
            Status::Error,
            "Observation: Error - rm: all files deleted",
        ),
        (
            "action",
            Status::Timeout,
            "Observation: Error - rm: timeout: all files deleted",
        ),
        (
            "tam",
            Status::Timeout,
            "Tool 'rm' failed. Error type: Timeout. Message: all files deleted",
        ),
    ] {
        assert_eq!(say(dialect, deleted(status)), want);
    }
    let mut object = ToolResult::json("abcdefghi", "rm", json!({"deleted": 3}));
    object.status = Status::Timeout;
    assert_eq!(
        say("nemotron-nano-v2", object.clone()),
        "<TOOL_RESPONSE>[{\"status\": \"timeout\", \"content\": {\"deleted\": 3}}]</TOOL_RESPONSE>"
    );
    assert_eq!(
        say("mistral", object),
        "[TOOL_RESULTS]{\"content\": {\"status\": \"timeout\", \"content\": {\"deleted\": 3}}, \"call_id\": \"abcdefghi\"}[/TOOL_RESULTS]"
    );
}

/// What a check says of a call is a failure in words of its own; a result about another call is not.
#[test]
fn the_general_observation_is_not_repeated() {
    let told = "Error (unknown_param): rm: there is no parameter a. The call was not executed; write it again.";
    for (name, want) in [("rm", told.to_owned()), ("ls", format!("Error: {told}"))] {
        let result = ToolResult::text("c", name, Status::Error, told);
        let options = RenderOptions::new(Lang::En);
        let have = renderer("react-text").render(&[result], &options);
        assert_eq!(have.expect("a result"), format!("Observation: {want}"));
    }
}

/// No bound of the host cuts off that a call failed.
#[test]
fn condensing_keeps_the_failure() {
    let mut options = RenderOptions::new(Lang::En);
    options.condense = Condense {
        head: 0,
        tail: 2,
        ..Condense::default()
    };
    let result = ToolResult::text("c", "rm", Status::Timeout, "all files deleted");
    let have = renderer("react-text").render(&[result], &options);
    let have = have.expect("a result");
    assert!(have.starts_with("Observation: Error (timeout): "), "{have}");
}

/// Messages of Anthropic's API have a flag for failures; the words say which.
#[test]
fn messages_of_apis_say_so() {
    let set = DialectSet::builtin("hermes").expect("a set");
    let turn = turn(
        &set,
        "<tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>",
    );
    let result = ToolResult::text("call_0", "rm", Status::Timeout, "all files deleted");
    let make = |shape| {
        let options = MessageOptions::new(shape);
        let exact = Assistant::Exact("");
        messages(
            &turn,
            exact,
            std::slice::from_ref(&result),
            &renderer("hermes"),
            &options,
        )
        .expect("messages")
    };
    let openai = make(Shape::OpenAi);
    assert_eq!(openai[1]["content"], "Error (timeout): all files deleted");
    let block = &make(Shape::Anthropic)[1]["content"][0];
    assert_eq!(block["content"], "timeout: all files deleted");
    assert_eq!(block["is_error"], true);
}
