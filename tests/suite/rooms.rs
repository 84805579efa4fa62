//! Imports between the modules of the crates point one way: each uses only modules that stand before it here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::pages::part;
use crate::support::root;

/// The modules from the lowest floor to the highest.
const FLOORS: &[&str] = &[
    "scan", "words", "pointer", "error", "wire", "json", "schema", "hints", "limits", "yaml",
    "dialect", "models", "issue", "event", "call", "body", "escape", "engine", "owned", "chunks",
    "detect", "source", "sink", "encode", "rewrite", "layer", "tools", "prompt", "outcome",
];

/// The crates, and which room their files are in that have none of their own.
const CRATES: &[(&str, &str)] = &[("scan/src", "scan"), ("src", ""), ("tools/src", "tools")];

/// What a file holds for the library itself: no comments, no tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The modules whose paths a file begins with `crate::` or `toolglot::`, and the crates below.
fn used(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if text.contains("toolglot_scan::") {
        names.insert("scan".to_owned());
    }
    let own = text.match_indices("crate::");
    for (at, path) in own.chain(text.match_indices("toolglot::")) {
        let rest = &text[at + path.len()..];
        let list = rest
            .strip_prefix('{')
            .and_then(|list| list.split('}').next());
        for path in list.unwrap_or(rest).split(',') {
            let word = |c: char| !c.is_alphanumeric() && c != '_';
            names.extend(path.trim().split(word).next().map(str::to_owned));
            if list.is_none() {
                break;
            }
        }
    }
    names
}

/// Reads a folder: all of it is one room, or (`rooms`) each folder in it is one and the files are in `module`, if that is named.
fn read(path: &Path, module: &str, rooms: bool, all: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in fs::read_dir(path).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name");
        let own = rooms && (module.is_empty() || path.is_dir());
        let module = if own { name } else { module };
        if path.is_dir() && name != "tests" {
            read(&path, module, false, all);
        } else if path.extension().is_some_and(|end| end == "rs")
            && !matches!(name, "lib" | "tests")
        {
            let text = fs::read_to_string(&path).expect("a file");
            let names = used(&code(&text)).into_iter();
            let names = names.filter(|name| FLOORS.contains(&name.as_str()) && name != module);
            all.entry(module.to_owned()).or_default().extend(names);
        }
    }
}

/// Which modules each uses.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::new();
    for (folder, room) in CRATES {
        read(&root().join(folder), room, *room != "scan", &mut all);
    }
    all
}

#[test]
fn imports_point_one_way() {
    let imports = imports();
    let floor = |name: &str| FLOORS.iter().position(|module| *module == name);
    let uses: usize = imports.values().map(BTreeSet::len).sum();
    assert!(uses > FLOORS.len(), "{uses} imports: nothing was read");
    for (module, names) in &imports {
        let own = floor(module).unwrap_or_else(|| panic!("{module} has no floor"));
        for name in names {
            assert!(
                floor(name) < Some(own),
                "{module} uses {name}, which stands above it"
            );
        }
    }
}

#[test]
fn the_picture_of_the_imports() {
    let imports = imports();
    // Whether `from` leads to `to`, over others too.
    fn leads(imports: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
        let mut next = imports.get(from).into_iter().flatten();
        next.any(|name| name == to || leads(imports, name, to))
    }
    let mut text = String::from("```mermaid\nflowchart BT\n");
    for module in FLOORS {
        for name in imports.get(*module).into_iter().flatten() {
            let mut others = imports[*module].iter().filter(|other| *other != name);
            if !others.any(|other| leads(&imports, other, name)) {
                let _ = writeln!(text, "  {module} --> {name}");
            }
        }
    }
    text.push_str("```\n");
    part("docs/ARCHITECTURE.md", "rooms", &text);
}
