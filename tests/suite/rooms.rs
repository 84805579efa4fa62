//! Imports between the modules of the library point one way: each module uses only modules listed before it here. So do dependencies
//! between the crates, which all have one version.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::pages::part;
use crate::support::root;

/// The modules, from the lowest layer to the highest.
const LAYERS: &[&str] = &[
    "scan", "words", "pointer", "kind", "error", "wire", "json", "schema", "hints", "limits",
    "yaml", "dialect", "models", "issue", "event", "call", "body", "engine", "escape", "owned",
    "chunks", "detect", "source", "sink", "encode", "rewrite", "layer", "tools", "template",
    "prompt", "outcome", "derive",
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

/// The other crates, whose modules need no order, only one that exists. Python's classes name each other.
const OTHERS: &[&str] = &[
    "scan/src",
    "tools/src",
    "agent/src",
    "gateway/src",
    "serve/src",
    "cli/src",
    "testkit/src",
    "bindings/c/src",
    "bindings/wasm/src",
];

/// The modules that each top module of a crate uses.
fn within(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    fn read(path: &Path, top: Option<&str>, all: &mut BTreeMap<String, BTreeSet<String>>) {
        for entry in fs::read_dir(path).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().and_then(|name| name.to_str());
            let name = name.expect("a name");
            if matches!(name, "tests" | "lib" | "main") {
                continue;
            }
            if path.is_dir() {
                read(&path, Some(top.unwrap_or(name)), all);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = code(&fs::read_to_string(&path).expect("a file"));
                // In a file beside the root, the parent is the root.
                let text = match top {
                    None => text.replace("super::", "crate::"),
                    Some(_) => text,
                };
                let names = all.entry(top.unwrap_or(name).to_owned()).or_default();
                names.extend(used(&text));
            }
        }
    }
    let mut all = BTreeMap::new();
    read(folder, None, &mut all);
    let known: BTreeSet<String> = all.keys().cloned().collect();
    for (module, names) in &mut all {
        names.retain(|name| name != module && known.contains(name));
    }
    all
}

#[test]
fn no_crate_has_a_cycle_of_imports() {
    for folder in OTHERS {
        let mut left = within(&root().join(folder));
        assert!(left.len() > 1, "{folder}: nothing was read");
        // Takes away what uses nothing that is left.
        while let Some(floor) = left.iter().find(|(_, uses)| uses.is_empty()) {
            let floor = floor.0.clone();
            left.remove(&floor);
            left.values_mut().for_each(|uses| {
                uses.remove(&floor);
            });
        }
        assert!(left.is_empty(), "{folder}: {left:#?}");
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

/// The crates, from the lowest to the highest, with their folders. Each may use only those before it.
const ORDER: &[(&str, &str)] = &[
    ("toolglot-scan", "scan"),
    ("toolglot", "."),
    ("toolglot-tools", "tools"),
    ("toolglot-agent", "agent"),
    ("toolglot-testkit", "testkit"),
    ("toolglot-gateway", "gateway"),
    ("toolglot-serve", "serve"),
    ("toolglot-cli", "cli"),
    ("toolglot-c", "bindings/c"),
    ("toolglot-python", "bindings/python"),
    ("toolglot-wasm", "bindings/wasm"),
];

/// The manifest in a folder.
fn manifest(folder: &str) -> toml::Table {
    let file = root().join(folder).join("Cargo.toml");
    let text = fs::read_to_string(&file).expect("a manifest");
    text.parse().expect("TOML")
}

/// The names of the project's crates that are dependencies in a manifest, for tests or others, under the name that they have in a
/// registry.
fn dependencies(manifest: &toml::Table, kind: &str) -> Vec<String> {
    let list = manifest.get(kind).and_then(toml::Value::as_table);
    let package = |(name, given): (&String, &toml::Value)| {
        let package = given.get("package").and_then(toml::Value::as_str);
        package.unwrap_or(name).to_owned()
    };
    let names = list.into_iter().flatten().map(package);
    names.filter(|name| name.starts_with("toolglot")).collect()
}

#[test]
fn crates_depend_one_way() {
    let place = |name: &str| ORDER.iter().position(|(one, _)| *one == name);
    let mut count = 0;
    for (own, (name, folder)) in ORDER.iter().enumerate() {
        let manifest = manifest(folder);
        assert_eq!(manifest["package"]["name"].as_str(), Some(*name));
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for other in dependencies(&manifest, kind) {
                let below = place(&other).is_some_and(|place| place < own);
                assert!(below, "{name} uses {other}, which is not below it");
                count += 1;
            }
        }
    }
    assert!(
        count > ORDER.len(),
        "{count} dependencies: nothing was read"
    );
    // Every crate of the workspace but the tests is in the list.
    let members = manifest(".");
    let members = members["workspace"]["members"].as_array();
    for member in members
        .expect("members")
        .iter()
        .filter_map(toml::Value::as_str)
    {
        let known = ORDER.iter().any(|(_, folder)| *folder == member);
        assert!(known || member == "tests", "{member} has no place");
    }
}

#[test]
fn all_manifests_have_one_version() {
    let version = manifest(".")["workspace"]["package"]["version"].clone();
    let version = version.as_str().expect("a version");
    for (name, folder) in ORDER {
        let manifest = manifest(folder);
        let given = &manifest["package"]["version"];
        let inherited = given.get("workspace").and_then(toml::Value::as_bool) == Some(true);
        assert!(inherited || given.as_str() == Some(version), "{name}");
        // What a registry would have to have.
        let list = manifest.get("dependencies").and_then(toml::Value::as_table);
        for (other, given) in list.into_iter().flatten() {
            let asked = given.get("version").and_then(toml::Value::as_str);
            if other.starts_with("toolglot") && asked.is_some() {
                assert_eq!(asked, Some(version), "{name} asks for {other}");
            }
        }
    }
    let read = |file: &str| fs::read_to_string(root().join(file)).expect(file);
    let package: serde_json::Value =
        serde_json::from_str(&read("bindings/wasm/package.json")).expect("JSON");
    assert_eq!(package["version"], version, "bindings/wasm/package.json");
    // The wheel takes its version from the crate.
    let project: toml::Table = read("bindings/python/pyproject.toml")
        .parse()
        .expect("TOML");
    let dynamic = project["project"]["dynamic"].as_array();
    let dynamic =
        dynamic.is_some_and(|list| list.iter().any(|one| one.as_str() == Some("version")));
    assert!(dynamic && project["project"].get("version").is_none());
    let macro_of = format!("#define TOOLGLOT_VERSION \"{version}\"");
    assert!(read("include/toolglot.h").contains(&macro_of));
}
