//! Checks rules that the sources must keep and that C cannot check.

use std::collections::BTreeSet;
use std::path::Path;

use crate::event;
use crate::library::toolglot_version;
use crate::status;

fn sources() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = std::fs::read_dir(folder).expect("the sources are there");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a source is text");
        (
            path.file_name()
                .expect("it has a name")
                .to_string_lossy()
                .into_owned(),
            text,
        )
    };
    files.map(read).collect()
}

/// Signature and body of every exported function.
fn exported() -> Vec<(String, String)> {
    let mut found = vec![];
    for (file, text) in sources() {
        if file == "tests.rs" {
            continue;
        }
        for part in text.split("#[unsafe(no_mangle)]\n").skip(1) {
            let end = part.find("\n}\n").expect("a function ends");
            let (head, body) = part[..end]
                .split_once(" {\n")
                .expect("a function has a body");
            let name = head
                .split_once("fn ")
                .and_then(|(_, rest)| rest.split_once('('));
            found.push((name.expect("it has a name").0.to_owned(), body.to_owned()));
        }
    }
    found
}

#[test]
fn every_body_is_guarded() {
    let all = exported();
    assert!(all.len() > 50);
    for (name, body) in all {
        let code: Vec<&str> = body
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("//"))
            .collect();
        let code = code.join("\n");
        let guards = ["guard::status(", "guard::value(", "guard::run(", "guarded("];
        let one = guards.iter().any(|guard| code.starts_with(guard));
        // A guard that is unsafe itself.
        let inside = code
            .strip_prefix("unsafe {\nhandle::change(")
            .and_then(|code| code.strip_suffix("\n}"));
        let (one, code) = inside.map_or((one, code.as_str()), |code| (true, code));
        // Nothing follows the guard: its call is the last expression.
        assert!(
            one && code.ends_with(')') && !code.contains(";\nguard::"),
            "{name} is not guarded"
        );
    }
}

#[test]
fn every_exported_function_is_in_the_header_and_the_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |place: &str| std::fs::read_to_string(root.join(place)).expect("it is committed");
    let (header, list) = (read("../../include/toolglot.h"), read("symbols.txt"));
    let mut names: BTreeSet<String> = exported().into_iter().map(|(name, _)| name).collect();
    names.remove("toolglot_test_panic");
    let listed: Vec<&str> = list.lines().collect();
    assert_eq!(listed, names.iter().map(String::as_str).collect::<Vec<_>>());
    for name in &names {
        assert!(
            header.contains(&format!("{name}(")),
            "{name} is not in the header"
        );
    }
    assert!(!header.contains("toolglot_test_panic"));
}

#[test]
fn the_version_is_the_packages() {
    // C tests check that the header has the same version.
    // SAFETY: the text is static and NUL-terminated.
    let said = unsafe { std::ffi::CStr::from_ptr(toolglot_version()) };
    assert_eq!(said.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn names_end_and_numbers_are_used_once() {
    let statuses = status::NAMES
        .iter()
        .map(|(code, name)| (i64::from(*code), *name));
    let events = event::NAMES
        .iter()
        .map(|(code, name)| (i64::from(*code), *name));
    for list in [statuses.collect::<Vec<_>>(), events.collect()] {
        let codes: BTreeSet<i64> = list.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes.len(), list.len());
        assert!(
            list.iter()
                .all(|(_, name)| name.ends_with('\0') && !name[..name.len() - 1].contains('\0'))
        );
    }
}

#[test]
fn unsafe_code_says_why_it_is_sound() {
    for (file, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if file == "tests.rs" || !(code.contains("unsafe {") || code.contains("unsafe impl")) {
                continue;
            }
            let before = lines[at.saturating_sub(4)..at].iter();
            let said = before.rev().any(|line| line.contains("// SAFETY:"));
            assert!(said, "{file}:{}: no SAFETY comment", at + 1);
        }
    }
}
