//! Every public type, trait and function has an example that is compiled, or names the item whose example shows it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::root;

/// The recorded API of each crate (`ci/public-api`), and its sources.
const CRATES: &[(&str, &str)] = &[
    ("toolglot-scan", "scan/src"),
    ("toolglot", "src"),
    ("toolglot-tools", "tools/src"),
    ("toolglot-agent", "agent/src"),
];

/// How documentation names the item whose example it shares.
const SHARED: &str = "See the example of [`";

/// The documentation of items, by name: several crates' modules may have an item of one name.
type Docs = BTreeMap<String, Vec<String>>;

/// The name of the item that a line declares, if the item is public.
fn declared(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ")?;
    let line = line.trim_start_matches("const ");
    let line = line.trim_start_matches("async ");
    let (kind, rest) = line.split_once(' ')?;
    let word = |c: char| !c.is_alphanumeric() && c != '_';
    matches!(kind, "struct" | "enum" | "trait" | "fn").then(|| rest.split(word).next())?
}

/// The names of the types, traits and free functions in the recorded API of a crate, and how many items have each.
fn listed(package: &str) -> BTreeMap<String, usize> {
    let path = root().join(format!("ci/public-api/{package}.txt"));
    let own = format!("{}::", package.replace('-', "_"));
    let mut all = BTreeMap::new();
    for line in fs::read_to_string(path).expect("a record").lines() {
        let line = line.trim_start_matches("#[non_exhaustive] ");
        let item = line.strip_prefix("pub ").unwrap_or_default();
        let item = item.trim_start_matches("const ");
        let Some((kind @ ("struct" | "enum" | "trait" | "fn"), path)) = item.split_once(' ') else {
            continue;
        };
        let path = path.split('(').next().unwrap_or_default();
        let generic = path.contains(">::");
        let path = path.split(['<', ' ']).next().unwrap_or_default();
        let path = path.trim_end_matches(':').strip_prefix(&own);
        let Some(path) = path.filter(|_| !generic) else {
            continue;
        };
        let (module, name) = path.rsplit_once("::").unwrap_or(("", path));
        // A method's path has its type before its name.
        let within = module.rsplit("::").next().unwrap_or_default();
        if kind != "fn" || !within.starts_with(char::is_uppercase) {
            *all.entry(name.to_owned()).or_default() += 1;
        }
    }
    all
}

/// Collects the documentation of all public items and methods in a folder.
fn read(folder: &Path, docs: &mut Docs) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read(&path, docs);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).expect("a file");
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            for (at, line) in lines.iter().enumerate() {
                let Some(name) = declared(line) else {
                    continue;
                };
                let from = lines[..at].iter().rposition(|line| line.is_empty());
                let above = lines[from.map_or(0, |from| from + 1)..at].iter();
                let own: Vec<&str> = above.filter_map(|line| line.strip_prefix("///")).collect();
                docs.entry(name.to_owned())
                    .or_default()
                    .push(own.join("\n"));
            }
        }
    }
}

/// Whether documentation has an example that is compiled.
fn has_example(doc: &str) -> bool {
    let fences = doc
        .lines()
        .filter_map(|line| line.trim().strip_prefix("```"));
    fences.step_by(2).any(|kind| matches!(kind, "" | "no_run"))
}

/// Whether documentation shows its item.
fn shows(doc: &str, docs: &Docs) -> bool {
    let other = doc.split_once(SHARED).and_then(|(_, rest)| {
        let name = rest.split(['`', '(']).next()?.rsplit("::").next()?;
        docs.get(name)
    });
    has_example(doc) || other.is_some_and(|docs| docs.iter().any(|doc| has_example(doc)))
}

#[test]
fn every_public_item_has_an_example() {
    let mut missing = vec![];
    for (package, folder) in CRATES {
        let mut docs = Docs::new();
        read(&root().join(folder), &mut docs);
        for (name, count) in listed(package) {
            let own = docs.get(&name).map_or(&[][..], Vec::as_slice);
            // Private modules may have items of the same name.
            let shown = own.iter().filter(|doc| shows(doc, &docs)).count();
            if shown < count.min(own.len()).max(1) {
                missing.push(format!("{package}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "without an example: {missing:#?}");
}
