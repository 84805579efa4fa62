use crate::{command, run};

#[test]
fn no_arguments_print_help() {
    let ran = run(&[], b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for word in [
        "Usage: toolglot",
        "parse",
        "batch",
        "check",
        "detect",
        "dialects",
        "Examples:",
        "Exit status",
    ] {
        assert!(ran.out.contains(word), "{word}");
    }
}

#[test]
fn every_command_has_help_with_examples() {
    for name in [
        "parse", "batch", "check", "detect", "replay", "escape", "unescape", "dialects",
        "validate", "tools",
    ] {
        let ran = run(&[name, "--help"], b"");
        assert_eq!(ran.code, 0, "{name}");
        assert!(ran.out.contains("Examples:"), "{name}: {}", ran.out);
    }
    assert!(run(&["--version"], b"").out.starts_with("toolglot 0."));
}

#[test]
fn wrong_usage_is_status_2() {
    for args in [
        &["prase"][..],
        &["parse", "--outputs", "turn"],
        &["parse", "--output", "xml"],
        &["parse", "--chunk", "0"],
        &["parse", "--chunk", "random:x"],
        &["parse", "--delay", "soon"],
        &["parse", "--finish", "done"],
        &["parse", "--switch", "fuzzy"],
        &["parse", "--color", "pink"],
        &["batch", "--jobs", "0"],
        &["batch", "--max-line", "0"],
        &["check"],
        &["detect", "--output", "turn"],
    ] {
        run(args, b"").refused(&[]);
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    // Much more than a pipe holds, so that writing must fail.
    let path = crate::file("long.txt", "some words\n".repeat(200_000));
    let lines = crate::file("long.jsonl", "{\"input\": \"some words\"}\n".repeat(50_000));
    for args in [
        &["parse", "--output", "pretty", &path][..],
        &["parse", "--output", "turn", &path],
        &["parse", "--output", "events", "--chunk", "64", &path],
        &["parse", "--output", "openai", "--chunk", "64", &path],
        &["parse", "--output", "mask", &path],
        &["batch", &lines],
    ] {
        let mut child = command(args).spawn().expect("the command starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the command ends");
        assert_eq!(
            (output.status.code(), output.stderr.len()),
            (Some(0), 0),
            "{args:?}"
        );
    }
}
