use super::*;
use crate::dialect::DialectSet;

/// Each name of the list maps to its dialects.
#[test]
fn names_lead_to_dialects() {
    let (mut wrong, mut tried) = (vec![], 0);
    let list = include_str!("../../tests/models/names.tsv").lines();
    for line in list.filter(|line| !line.starts_with('#')) {
        let (name, ids) = line.split_once('\t').unwrap_or((line, ""));
        let found = dialects(name);
        tried += 1;
        if found.all().collect::<Vec<_>>().join(" ") != ids {
            wrong.push(format!("{name}: {found:?}, not {ids}"));
        }
        let plain = found
            .reasoning
            .is_none_or(|id| id.starts_with("reasoning-"));
        assert!(plain && !found.calls.iter().any(|id| id.starts_with("reasoning-")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried >= 300, "{tried}");
    for nothing in ["", "v3", "8b", "mistral-small", "/", "a/"] {
        assert!(dialects(nothing).is_empty(), "{nothing}");
    }
}

/// The templates of the proof are named after models; each model has the dialect that reads its template.
#[test]
fn templates_are_read_by_the_dialects_of_their_models() {
    let text = include_str!("../../tests/templates/templates.toml");
    let table: toml::Table = toml::from_str(text).expect("a table");
    let (mut wrong, mut tried) = (vec![], 0);
    for (name, ids) in table["dialects"].as_table().expect("a table") {
        // Others are named after dialects, or only after a publisher and one word.
        if name.contains("template_") || ["Qwen-QwQ-32B", "qwen35"].contains(&name.as_str()) {
            continue;
        }
        let found = dialects(name);
        let ids = ids.as_array().expect("a list");
        tried += 1;
        if found.calls.first().copied() != ids[0].as_str() {
            wrong.push(format!("{name}: {found:?}, not {ids:?}"));
        }
        let thought = ids.get(1).and_then(toml::Value::as_str);
        if thought.is_some() && found.all().count() < 2 {
            wrong.push(format!("{name}: {found:?} has no thoughts as {ids:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 50, "{tried}");
}

/// The dialects of one model can be active in one set, whatever its name.
#[test]
fn the_dialects_of_a_model_fit_together() {
    let list = include_str!("../../tests/models/names.tsv").lines();
    let names = list.filter_map(|line| line.split('\t').next());
    let all = names.map(|name| dialects(name).all().collect::<Vec<_>>());
    let mut sets: Vec<_> = all.filter(|ids| ids.len() > 1).collect();
    sets.sort_unstable();
    sets.dedup();
    assert!(sets.len() > 20, "{}", sets.len());
    for ids in sets {
        let builder = ids
            .iter()
            .fold(DialectSet::builder(), |set, id| set.builtin(id));
        let set = builder
            .build()
            .unwrap_or_else(|why| panic!("{ids:?}: {why}"));
        assert!(set.ids().eq(ids));
    }
}

/// Every entry that is a name maps to its own dialect or one that shares the name.
#[test]
fn every_entry_finds_a_dialect() {
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect(id);
        let dialect = set.dialects().next().expect(id);
        for entry in dialect.models() {
            for name in [entry.clone(), entry.to_uppercase(), entry.replace(' ', "-")] {
                let parts = [",", " and ", " to ", "-and-", "-to-", " AND ", " TO "];
                let first = parts.iter().fold(name.as_str(), |first, part| {
                    first.split(part).next().unwrap_or_default()
                });
                assert!(!dialects(first).is_empty(), "{id}: {first}");
            }
        }
    }
}
