//! Imports between the modules of the crates point one way: each module uses only modules listed before it here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::pages::part;
use crate::support::root;

/// The modules, from the lowest layer to the highest.
const LAYERS: &[&str] = &[
    "scan", "words", "pointer", "error", "wire", "json", "schema", "hints", "limits", "yaml",
    "dialect", "models", "issue", "event", "call", "body", "escape", "engine", "owned", "chunks",
    "detect", "source", "sink", "encode", "rewrite", "layer", "tools", "prompt", "outcome",
];

/// The crates, and the module to which their top-level files belong if these have none of their own.
const CRATES: &[(&str, &str)] = &[("scan/src", "scan"), ("src", ""), ("tools/src", "tools")];

/// The library code of a file: without comments and tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The modules that a file uses through `crate::` or `toolglot::`, and the crates below.
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

/// Reads a folder: all of it is one module, or (`split`) each folder in it is one, and its files belong to `module` if that is
/// not empty.
fn read(path: &Path, module: &str, split: bool, all: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in fs::read_dir(path).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name");
        let own = split && (module.is_empty() || path.is_dir());
        let module = if own { name } else { module };
        if path.is_dir() && name != "tests" {
            read(&path, module, false, all);
        } else if path.extension().is_some_and(|end| end == "rs")
            && !matches!(name, "lib" | "tests")
        {
            let text = fs::read_to_string(&path).expect("a file");
            let names = used(&code(&text)).into_iter();
            let names = names.filter(|name| LAYERS.contains(&name.as_str()) && name != module);
            all.entry(module.to_owned()).or_default().extend(names);
        }
    }
}

/// The modules that each module uses.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::new();
    for (folder, module) in CRATES {
        read(&root().join(folder), module, *module != "scan", &mut all);
    }
    all
}

#[test]
fn imports_point_one_way() {
    let imports = imports();
    let layer = |name: &str| LAYERS.iter().position(|module| *module == name);
    let uses: usize = imports.values().map(BTreeSet::len).sum();
    assert!(uses > LAYERS.len(), "{uses} imports: nothing was read");
    for (module, names) in &imports {
        let own = layer(module).unwrap_or_else(|| panic!("{module} has no layer"));
        for name in names {
            assert!(
                layer(name) < Some(own),
                "{module} uses {name}, which is above it"
            );
        }
    }
}

#[test]
fn the_diagram_of_the_imports() {
    let imports = imports();
    // Whether `from` leads to `to`, directly or not.
    fn leads(imports: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
        let mut next = imports.get(from).into_iter().flatten();
        next.any(|name| name == to || leads(imports, name, to))
    }
    let mut text = String::from("```mermaid\nflowchart BT\n");
    for module in LAYERS {
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
