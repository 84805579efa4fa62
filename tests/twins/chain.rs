//! Fields to calls in the key-quote dialects: names, numbered chains, shared and control fields.

use std::collections::BTreeSet;

use toolglot::json::Value;

use super::fields::{Field, arguments};
use super::key_quote::{KeyQuote, Kind};
use super::{Block, Run, name_of, schema};

/// A field of a block and the call of the chain that it belongs to.
struct Entry {
    /// As written.
    whole: String,
    key: String,
    value: String,
    index: Option<u32>,
    /// From `common_x`, which has the lowest precedence.
    common: bool,
}

impl KeyQuote {
    /// Normalises keys, so that equivalent ones are equal.
    fn fold(&self, key: &str) -> String {
        match self.kind {
            Kind::Tam => key.to_lowercase().replace('_', ""),
            Kind::Vcp => key.to_lowercase().replace(['_', '-'], ""),
            Kind::Tam2 => normal(key),
        }
    }

    /// The number of `commandN`.
    fn command_index(&self, key: &str) -> Option<u32> {
        let folded = self.fold(key);
        let rest = folded.strip_prefix("command")?;
        let digits = if self.kind == Kind::Tam2 {
            rest.strip_prefix('_').unwrap_or(rest)
        } else {
            rest
        };
        let fine = (1..=9).contains(&digits.len())
            && digits.bytes().all(|b| b.is_ascii_digit())
            && (digits == "0" || !digits.starts_with('0'));
        if fine { digits.parse().ok() } else { None }
    }

    /// Splits off the longest suffix that is a declared number.
    fn split(&self, key: &str, indices: &BTreeSet<u32>) -> Option<(String, u32)> {
        // Marks that do not matter may follow the number.
        let key = key.trim_end_matches(|c| c == '_' || c == '-' && self.kind == Kind::Vcp);
        let digits = key.len() - key.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (index, cut) = (key.len() - digits..key.len()).find_map(|cut| {
            indices
                .iter()
                .find(|n| n.to_string() == key[cut..])
                .map(|n| (*n, cut))
        })?;
        let mut stem = &key[..cut];
        if self.kind == Kind::Tam2 {
            stem = stem.strip_suffix('_').unwrap_or(stem);
        } else {
            // Underscores do not matter in these keys.
            stem = stem.trim_end_matches('_');
        }
        if stem.is_empty() {
            None
        } else {
            Some((stem.to_owned(), index))
        }
    }

    /// The calls of a block that ends at `end`.
    pub(super) fn calls(
        &self,
        run: &mut Run<'_>,
        end: usize,
        fields: Vec<(String, String)>,
    ) -> Block {
        let name_key = if self.kind == Kind::Vcp {
            "tool_name"
        } else {
            "command"
        };
        let name_key = self.fold(name_key);
        let indices: BTreeSet<u32> = fields
            .iter()
            .filter_map(|(key, _)| self.command_index(key))
            .collect();
        if indices.len() > run.setup.limits.chain {
            run.error("limit_chain");
            return Block::hidden(end);
        }
        let mut entries = self.entries(run.tools, &name_key, &indices, fields);
        self.orphans(run, &name_key, &indices, &mut entries);
        let same = |a: &Entry, b: &Entry| {
            a.index == b.index && a.common == b.common && self.fold(&a.key) == self.fold(&b.key)
        };
        let twice = |e: &&Entry| entries.iter().filter(|o| same(o, e)).count() > 1;
        let control = |e: &Entry| self.kind == Kind::Tam2 && is_control(&e.key);
        let doubled: Vec<&Entry> = entries
            .iter()
            .filter(twice)
            .filter(|e| !control(e))
            .collect();
        let mut turns: Vec<Option<u32>> = indices.into_iter().map(Some).collect();
        let plain_command = entries
            .iter()
            .any(|e| e.index.is_none() && self.fold(&e.key) == name_key);
        if turns.is_empty() || (self.kind != Kind::Vcp && plain_command) {
            turns.insert(0, None);
        }
        let mut calls = vec![];
        let mut broken = false;
        for turn in turns {
            if broken {
                run.error("not_run");
                continue;
            }
            let mine = self.of_turn(&entries, turn);
            let goes_on = self.kind == Kind::Tam2
                && mine
                    .iter()
                    .rfind(|e| e.key == "on_error" && !e.common)
                    .is_some_and(|e| e.value.trim().eq_ignore_ascii_case("continue"));
            // Unless its call is made.
            broken = !goes_on;
            let (names, args): (Vec<&Entry>, Vec<&Entry>) = mine
                .into_iter()
                .partition(|e| self.fold(&e.key) == name_key);
            let name = match names.last().map(|e| name_of(&e.value)) {
                Some(Ok(name)) => name,
                Some(Err(kind)) => {
                    run.error(kind);
                    continue;
                }
                None => {
                    run.error("missing_name");
                    continue;
                }
            };
            if name.len() > run.setup.limits.name {
                run.error("limit_name");
                return Block::hidden(end);
            }
            let typed = args.iter().filter(|e| e.index == turn);
            let typed = typed.filter_map(|e| e.key.strip_prefix("type_hint_"));
            let missing = |key: &&str| !args.iter().any(|e| e.key == *key);
            if self.kind == Kind::Tam2 {
                typed.filter(missing).for_each(|_| run.warn("orphan_param"));
            }
            let args = self.without_control(&args);
            // A list takes all its occurrences. Any other repeated field is reported, even if a numbered one replaces it.
            let params = schema::tool(run.tools, &name)
                .map(schema::params)
                .unwrap_or_default();
            let list = |e: &Entry| {
                let same = |key: &str| self.fold(key) == self.fold(&e.key);
                params
                    .iter()
                    .any(|(key, schema)| same(key) && schema::is_list(Some(schema)))
            };
            if doubled
                .iter()
                .any(|e| (e.index.is_none() || e.index == turn) && !list(e))
            {
                run.warn("duplicate_param");
            }
            if let Some(arguments) = arguments(run, &name, &args, &|key| self.fold(key)) {
                calls.push((name, arguments));
                broken = false;
            }
        }
        Block::calls(end, calls)
    }

    /// Reports fields of steps that the chain lacks: those with the number of a known step, of the next one or of a field
    /// that other steps have, and those whose name resembles `command`. If more digits than a number of the chain were split
    /// off, they are restored if all of them name a step, or if a zero precedes that number.
    fn orphans(
        &self,
        run: &mut Run<'_>,
        name_key: &str,
        indices: &BTreeSet<u32>,
        entries: &mut [Entry],
    ) {
        let next = indices.last().map(|last| last + 1);
        let names = entries.iter().filter(|e| self.fold(&e.key) == name_key);
        let tools: Vec<&Value> = names
            .filter_map(|e| schema::tool(run.tools, e.value.trim()))
            .collect();
        let declared = |key: &str| {
            let mut params = tools.iter().flat_map(|tool| schema::params(tool));
            params.any(|(param, _)| self.fold(param) == self.fold(key))
        };
        let value = |c: char| "０１２３４５６７８９".chars().position(|wide| wide == c);
        let value = |c: char| c.to_digit(10).or(value(c).map(|n| n as u32));
        let stem =
            |whole: &str| -> String { whole.trim_end_matches(|c| value(c).is_some()).to_owned() };
        let exact = |e: &Entry| {
            let own = e.index.map(|n| n.to_string()).unwrap_or_default();
            own == e.whole[stem(&e.whole).len()..]
        };
        let in_steps: Vec<String> = entries
            .iter()
            .filter(|e| e.index.is_some() && exact(e))
            .map(|e| self.fold(&e.key))
            .collect();
        let mut lost = 0;
        for e in entries.iter_mut() {
            let stem = stem(&e.whole);
            let digits = &e.whole[stem.len()..];
            if stem.is_empty() || digits.is_empty() || e.index.is_some() && exact(e) {
                continue;
            }
            let number = digits
                .chars()
                .filter_map(value)
                .fold(0_u32, |number, digit| {
                    number.saturating_mul(10).saturating_add(digit)
                });
            let infix = if self.kind == Kind::Tam2 { "_" } else { "" };
            let name = stem.strip_suffix(infix).unwrap_or(&stem);
            let told = next.is_some_and(|next| number <= next);
            let told = told || in_steps.contains(&self.fold(name));
            let doubt = match e.index {
                None => {
                    let control = self.kind == Kind::Tam2 && is_control(&self.fold(name));
                    told || !control && nearly(name, "command")
                }
                Some(n) => told || e.whole.ends_with(&format!("0{n}")),
            };
            if !doubt || e.index.is_some() && declared(&e.key) {
                continue;
            }
            if e.index.take().is_some() {
                e.key.clone_from(&e.whole);
            }
            lost += usize::from(!declared(&e.whole));
        }
        for _ in 0..lost {
            run.warn("orphan_param");
        }
    }

    /// The fields with their position in the chain.
    fn entries(
        &self,
        tools: Option<&Value>,
        name_key: &str,
        indices: &BTreeSet<u32>,
        fields: Vec<(String, String)>,
    ) -> Vec<Entry> {
        let name_of_call = |index: u32| {
            let wanted = |key: &str| match self.kind {
                Kind::Vcp => self.fold(key) == name_key,
                Kind::Tam | Kind::Tam2 => self.command_index(key) == Some(index),
            };
            fields
                .iter()
                .rev()
                .find(|(key, _)| wanted(key))
                .map(|(_, value)| value.trim().to_owned())
        };
        let entry = |(key, value): &(String, String)| {
            let key = if self.kind == Kind::Tam2 {
                normal(key)
            } else {
                key.clone()
            };
            let mut out = Entry {
                whole: key.clone(),
                key: key.clone(),
                value: value.clone(),
                index: None,
                common: false,
            };
            if let Some((stem, index)) = self.split(&key, indices) {
                let tool = name_of_call(index).and_then(|name| schema::tool(tools, &name));
                let has = |wanted: &str| {
                    let wanted = self.fold(wanted);
                    tool.is_some_and(|tool| {
                        schema::params(tool)
                            .iter()
                            .any(|(key, _)| self.fold(key) == wanted)
                    })
                };
                if self.command_index(&key).is_some() || has(&stem) || !has(&key) {
                    out.key = stem;
                    out.index = Some(index);
                }
            }
            let shared = out.key.strip_prefix("common_").map(str::to_owned);
            if let Some(rest) = shared.filter(|_| self.kind == Kind::Tam2) {
                out.key = rest;
                out.common = true;
            }
            out
        };
        fields.iter().map(entry).collect()
    }

    /// The entries of one call: its own, and the unsuffixed ones that none of its own replaces.
    fn of_turn<'e>(&self, entries: &'e [Entry], turn: Option<u32>) -> Vec<&'e Entry> {
        let rank = |e: &Entry| (e.index.is_some(), !e.common);
        let mine: Vec<&Entry> = entries
            .iter()
            .filter(|e| e.index.is_none() || e.index == turn)
            .collect();
        let best = |e: &Entry| {
            mine.iter()
                .filter(|o| self.fold(&o.key) == self.fold(&e.key))
                .map(|o| rank(o))
                .max()
        };
        mine.iter()
            .copied()
            .filter(|e| Some(rank(e)) == best(e))
            .collect()
    }

    /// The arguments: the remaining fields without control fields, with the types that hints give.
    fn without_control(&self, entries: &[&Entry]) -> Vec<Field> {
        let field = |e: &Entry| Field::new(&e.key, &e.value);
        if self.kind != Kind::Tam2 {
            return entries.iter().map(|e| field(e)).collect();
        }
        let hint = |key: &str| {
            let wanted = format!("type_hint_{key}");
            entries
                .iter()
                .rev()
                .find(|e| e.key == wanted)
                .map(|e| e.value.as_str())
        };
        let mut out = vec![];
        for e in entries {
            if is_control(&e.key) {
                continue;
            }
            let json = hint(&e.key).is_some_and(|word| word.eq_ignore_ascii_case("json"));
            out.push(Field { json, ..field(e) });
        }
        out
    }
}

/// Replaces every run of other characters than letters and digits with one underscore, trims underscores, and lowercases.
fn normal(key: &str) -> String {
    let words = key
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

/// Fields of the second revision that are not arguments.
fn is_control(key: &str) -> bool {
    ["on_error", "retry", "request_id", "comment"].contains(&key) || key.starts_with("type_hint_")
}

/// Whether at most a third of the letters must be inserted, deleted, changed, or swapped with a neighbour.
fn nearly(key: &str, word: &str) -> bool {
    let letters = |text: &str| -> Vec<char> {
        let kept = text.chars().filter(|c| c.is_alphanumeric());
        kept.flat_map(char::to_lowercase).collect()
    };
    let (key, word) = (letters(key), letters(word));
    if key.is_empty() || key.iter().map(|c| c.len_utf8()).sum::<usize>() > 64 {
        return false;
    }
    let mut steps = vec![vec![0; word.len() + 1]; key.len() + 1];
    for i in 0..=key.len() {
        for j in 0..=word.len() {
            if i == 0 || j == 0 {
                steps[i][j] = i + j;
                continue;
            }
            let same = usize::from(key[i - 1] != word[j - 1]);
            let mut best = (steps[i - 1][j] + 1).min(steps[i][j - 1] + 1);
            best = best.min(steps[i - 1][j - 1] + same);
            // The last pair of swapped letters, with the letters between them.
            let row = (1..i).rev().find(|row| key[row - 1] == word[j - 1]);
            let column = (1..j).rev().find(|column| word[column - 1] == key[i - 1]);
            if let (Some(row), Some(column)) = (row, column) {
                let between = (i - row - 1) + (j - column - 1);
                best = best.min(steps[row - 1][column - 1] + between + 1);
            }
            steps[i][j] = best;
        }
    }
    steps[key.len()][word.len()] <= key.len() / 3
}
