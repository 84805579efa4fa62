//! Whatever text a machine has: documentation, sources, pages. It contains no calls, and none of it may be lost.
//!
//! Run by `ci/prose.sh`: `PROSE` names folders, `PROSE_BYTES` says how much of them to read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolglot::{DialectSet, Event, Finish, Options, Parser, Tools};

use crate::markers::set;

/// The declared tools where the set reads only calls of declared tools; some have the names of elements, headers and functions.
const TOOLS: &str = r#"[
    {"name": "read_file", "parameters": {"properties": {"path": {"type": "string"}}}},
    {"name": "search_web", "parameters": {"properties": {"query": {"type": "string"}}}},
    {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}}},
    {"name": "run_command", "parameters": {"properties": {"command": {"type": "string"}}}},
    {"name": "execute_sql", "parameters": {"properties": {"statement": {"type": "string"}}}},
    {"name": "list", "parameters": {"properties": {"path": {"type": "string"}}, "required": ["path"]}},
    {"name": "map", "parameters": {"properties": {"query": {"type": "string"}}, "required": ["query"]}},
    {"name": "code", "parameters": {"properties": {"shell": {"type": "boolean"}}}},
    {"name": "time", "parameters": {"properties": {"zone": {"type": "string"}}}},
    {"name": "search", "parameters": {"properties": {"q": {"type": "string"}}, "required": ["q"]}},
    {"name": "print", "parameters": {"properties": {"text": {"type": "string"}}}}]"#;
/// The default folders.
const FOLDERS: &str = "/usr/share:/usr/lib:/usr/include:/usr/local:/opt";
/// Maximum bytes read of one file.
const MOST: u64 = 4 << 20;

/// The files in a folder, without following links.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path(), out),
            Ok(kind) if kind.is_file() => out.push(entry.path()),
            Ok(_) | Err(_) => {}
        }
    }
}

/// The result for one text.
#[derive(Default)]
struct Found {
    calls: usize,
    hidden: u64,
    framing: u64,
    told: BTreeMap<&'static str, usize>,
}

fn read(set: &DialectSet, options: &Options, text: &str, found: &mut Found) {
    let mut parser = Parser::new(set, options.clone());
    let mut sink = |event: Event<'_>| match event {
        Event::CallClose { .. } => found.calls += 1,
        Event::BlockClose { span, .. } | Event::Raw { span, .. } => {
            found.hidden += span.end - span.start;
        }
        Event::BlockAbandoned {
            span,
            becomes: toolglot::Abandoned::Drop,
            ..
        } => {
            found.hidden += span.end - span.start;
        }
        Event::Protected { span, .. } => found.framing += span.end - span.start,
        Event::Issue(issue) => *found.told.entry(issue.kind.name()).or_default() += 1,
        _ => {}
    };
    for chunk in text.as_bytes().chunks(1 << 14) {
        parser.feed(chunk, &mut sink);
    }
    parser.finish(Finish::Stop, &mut sink);
}

#[test]
#[ignore = "reads what the machine has; run by ci/prose.sh"]
fn the_prose_of_this_machine_is_text() {
    let folders = std::env::var("PROSE").unwrap_or_else(|_| FOLDERS.to_owned());
    let enough = std::env::var("PROSE_BYTES").map_or(100 << 20, |n| n.parse().expect("a number"));
    let mut paths = vec![];
    for folder in folders.split(':') {
        files(Path::new(folder), &mut paths);
    }
    let sets = ["default", "all", "any"].map(|name| (name, set(name)));
    // Tools of typical hosts, so that dialects without markers are tested too.
    let mut offered = Options::default();
    offered.tools = Some(Arc::new(Tools::from_json(TOOLS).expect("tools")));
    let (mut bytes, mut wrong) = (0, vec![]);
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        let small = std::fs::metadata(&path).is_ok_and(|data| data.len() <= MOST);
        let Some(text) = std::fs::read_to_string(&path).ok().filter(|_| small) else {
            continue;
        };
        bytes += text.len();
        for (name, set) in &sets {
            let mut found = Found::default();
            let options = match *name {
                "any" => offered.clone(),
                _ => Options::default(),
            };
            read(set, &options, &text, &mut found);
            if found.calls > 0 || found.hidden > 0 {
                let (calls, hidden) = (found.calls, found.hidden);
                let path = path.display();
                wrong.push(format!(
                    "{path} ({name}): {calls} calls, {hidden} bytes hidden"
                ));
            }
            *told.entry("bytes of framing").or_default() += found.framing as usize;
            for (kind, count) in found.told {
                *told.entry(kind).or_default() += count;
            }
        }
        if bytes >= enough {
            break;
        }
    }
    println!(
        "{bytes} bytes of text, each read with {} sets: {told:?}",
        sets.len()
    );
    assert!(
        bytes >= enough,
        "only {bytes} bytes in {folders}: name more folders in PROSE, or set PROSE_BYTES"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
