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
fn help_has_colours_as_asked() {
    for args in [&["--help"][..], &["parse", "--help"], &["parse", "--wrong"]] {
        for (color, has) in [("always", true), ("never", false)] {
            let ran = run(&[args, &["--color", color]].concat(), b"");
            let text = format!("{}{}", ran.out, ran.err);
            assert_eq!(text.contains('\u{1b}'), has, "{args:?} {color}");
        }
    }
}

/// Also in a build without some of the commands.
#[test]
fn examples_are_of_commands_that_exist() {
    let help = run(&["--help"], b"").out;
    let examples = help.split("Examples:\n").nth(1).expect("examples");
    for line in examples.lines().take_while(|line| !line.is_empty()) {
        let line = line.strip_prefix("  toolglot ").expect(line);
        let name = line.split(' ').next().expect("a command");
        assert_eq!(run(&[name, "--help"], b"").code, 0, "{line}");
    }
    assert_eq!(help.contains("`run`"), cfg!(feature = "agent"));
}

#[test]
fn every_command_has_help_with_examples() {
    for name in [
        "parse",
        "batch",
        "stats",
        "check",
        "detect",
        "replay",
        "escape",
        "unescape",
        "dialects",
        "validate",
        "tools",
        "completions",
        "man",
        #[cfg(feature = "agent")]
        "run",
        #[cfg(feature = "agent")]
        "call",
        #[cfg(feature = "gateway")]
        "gateway",
        #[cfg(feature = "serve")]
        "serve",
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
        &["check", "--cuts", "some", "x.jsonl"],
        &["completions"],
        &["completions", "csh"],
        &["man", "nix"],
        &["man", "parse", "--dir", "x"],
        &["detect", "--output", "turn"],
    ] {
        run(args, b"").refused(&[]);
    }
}

/// The commands, as listed in the help.
fn commands() -> Vec<String> {
    let help = run(&["--help"], b"").out;
    let names = help
        .lines()
        .take_while(|line| *line != "Options:")
        .filter(|line| line.starts_with("  "));
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    names
        .filter_map(name)
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn completions_know_every_command_and_option() {
    let commands = commands();
    assert!(commands.len() > 14, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&["completions", shell], b"");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{shell}");
        for word in commands
            .iter()
            .map(String::as_str)
            .chain(["dialect-file", "cuts"])
        {
            assert!(ran.out.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = crate::directory();
    let path = dir.join("man1");
    let whole = run(&["man", "--dir", path.to_str().expect("a path")], b"");
    assert_eq!(
        (whole.code, whole.out.as_str(), whole.err.as_str()),
        (0, "", "")
    );
    for name in commands() {
        let page = run(&["man", &name], b"");
        assert_eq!(page.code, 0, "{name}");
        let title = format!(".TH toolglot-{name} 1");
        for word in [title.as_str(), ".SH OPTIONS", "\\-\\-color", "Examples:"] {
            assert!(page.out.contains(word), "{name}: {word}");
        }
        let file = std::fs::read_to_string(path.join(format!("toolglot-{name}.1")));
        assert_eq!(file.expect("a page"), page.out, "{name}");
    }
    let root = run(&["man"], b"").out;
    assert!(
        root.starts_with(".ie") && root.contains(".TH toolglot 1") && root.contains("Exit status")
    );
    assert!(path.join("toolglot.1").exists() && path.join("toolglot-dialects-lint.1").exists());
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
