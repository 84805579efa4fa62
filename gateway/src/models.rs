//! Which dialect a model writes: by the configuration, or detected and cached.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use toolglot::{Confidence, Detector, DialectSet, Options};

use crate::log;

/// Maximum number of cached model names; clients choose them.
const KEPT: usize = 1024;
/// Name for several dialects.
const DEFAULT: &str = "default";
/// The dialect that a prompt teaches if nothing is known of a model. More models were trained on it than on any other, and it is plain
/// JSON in a tag.
pub const TAUGHT: &str = "hermes";

/// Name and text of a dialect whose marker no model writes.
const OFF: (&str, &str) = (
    "off",
    r#"
id = "off"
title = "No calls"
models = ["none"]
sources = ["none"]
group = "off"
deltas = "live"

[[framed.unit]]
open = ["\u0001off\u0001"]
close = ["\u0001on\u0001"]
payload = "json"
"#,
);

/// Detected dialects of models, and compiled sets.
pub struct Models {
    texts: BTreeMap<String, String>,
    detector: Mutex<Option<Arc<Detector>>>,
    sets: Mutex<HashMap<String, DialectSet>>,
    found: Mutex<Found>,
}

/// The detected dialects of models. The least recently used one is forgotten for a new one.
#[derive(Default)]
struct Found {
    models: HashMap<String, Model>,
    /// Counts uses.
    clock: u64,
}

struct Model {
    /// Its dialects, that of its calls first; empty while unknown.
    ids: Vec<String>,
    used: u64,
}

impl Found {
    fn get(&mut self, model: &str) -> Option<&[String]> {
        self.clock += 1;
        let found = self.models.get_mut(model)?;
        found.used = self.clock;
        Some(&found.ids)
    }

    /// Returns what was known before.
    fn put(&mut self, model: &str, ids: Vec<String>) -> Option<Vec<String>> {
        if self.models.len() >= KEPT && !self.models.contains_key(model) {
            let oldest = self.models.iter().min_by_key(|(_, model)| model.used);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                self.models.remove(&name);
            }
        }
        self.clock += 1;
        let used = self.clock;
        let before = self.models.insert(model.to_owned(), Model { ids, used });
        before.map(|before| before.ids)
    }
}

/// The dialects of one response.
#[derive(Clone)]
pub struct Chosen {
    pub set: DialectSet,
    /// The dialect, for prompts and labels. `None`: not known yet.
    pub dialect: Option<String>,
    /// The members of the set, for recordings.
    pub ids: Vec<String>,
    /// No evidence tells the dialect yet: the reply will.
    pub unproven: bool,
}

fn locked<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Models {
    pub fn new(texts: BTreeMap<String, String>) -> Self {
        Self {
            texts,
            detector: Mutex::default(),
            sets: Mutex::default(),
            found: Mutex::default(),
        }
    }

    /// The dialects that a configuration names, separated by commas.
    ///
    /// # Errors
    /// One is unknown, or they cannot be combined.
    pub fn named(&self, names: &str) -> Result<Chosen, String> {
        let ids: Vec<String> = names.split(',').map(|id| id.trim().to_owned()).collect();
        let dialect = ids.first().filter(|id| *id != DEFAULT && *id != "any");
        Ok(Chosen {
            set: self.set(&ids)?,
            dialect: dialect.cloned(),
            unproven: dialect.is_none(),
            ids,
        })
    }

    /// For a model whose responses are not read: a set that finds nothing.
    ///
    /// # Errors
    /// None: the set can be built.
    pub fn none(&self) -> Result<Chosen, String> {
        let set = DialectSet::builder().toml(OFF.0, OFF.1).build();
        Ok(Chosen {
            set: set.map_err(|error| error.to_string())?,
            dialect: Some(OFF.0.to_owned()),
            unproven: false,
            ids: vec![OFF.0.to_owned()],
        })
    }

    /// The dialects of a model that no rule covers: the detected ones, or all possible ones. `prompt`: one is needed to teach it.
    pub fn auto(&self, model: &str, tools: bool, prompt: bool) -> Result<Chosen, String> {
        let found = locked(&self.found).get(model).map(<[String]>::to_vec);
        let mut ids = found.unwrap_or_default();
        let unproven = ids.is_empty();
        if unproven && prompt {
            ids.push(TAUGHT.to_owned());
        }
        let dialect = ids.first().cloned();
        ids.push(match (unproven, tools) {
            // The other dialects of the default set stay, for thoughts.
            (false, _) | (true, false) => DEFAULT.to_owned(),
            // Calls without a marker count if the tools are known.
            (true, true) => "any".to_owned(),
        });
        Ok(Chosen {
            set: self.set(&ids)?,
            dialect,
            unproven,
            ids,
        })
    }

    fn set(&self, ids: &[String]) -> Result<DialectSet, String> {
        let key = ids.join(",");
        if let Some(set) = locked(&self.sets).get(&key) {
            return Ok(set.clone());
        }
        let mut builder = DialectSet::builder();
        for (file, text) in &self.texts {
            builder = builder.toml(file, text);
        }
        for id in ids {
            builder = match id.as_str() {
                DEFAULT => builder.defaults(),
                id if self.texts.values().any(|text| names(text, id)) => builder,
                id => builder.builtin(id),
            };
        }
        let set = builder.build().map_err(|error| error.to_string())?;
        locked(&self.sets).insert(key, set.clone());
        Ok(set)
    }

    /// The texts of additional dialects, by their files.
    pub fn texts(&self) -> &BTreeMap<String, String> {
        &self.texts
    }

    /// Whether a model has not been looked up yet.
    pub fn is_new(&self, model: &str) -> bool {
        locked(&self.found).get(model).is_none()
    }

    /// Records that a model was looked up without a result.
    pub fn asked(&self, model: &str) {
        if self.is_new(model) {
            locked(&self.found).put(model, vec![]);
        }
    }

    /// Looks up the name of a model; returns whether the library knows its dialects.
    pub fn name(&self, model: &str) -> bool {
        let known = toolglot::models::dialects(model);
        if known.calls.is_empty() {
            return false;
        }
        let ids = known.all().map(str::to_owned).collect();
        self.keep(model, ids, "its name");
        true
    }

    /// Chooses the dialect from a chat template: the only one with the most markers in it.
    pub fn template(&self, model: &str, template: &str) {
        let mut score: BTreeMap<String, usize> = BTreeMap::new();
        for seen in self.detector().sightings(template.as_bytes()) {
            for id in seen.dialects {
                // A longer marker is stronger evidence.
                *score.entry(id).or_default() += seen.opener.len();
            }
        }
        let calls = |id: &String| !id.starts_with("reasoning-");
        let mut order: Vec<_> = score.into_iter().filter(|(id, _)| calls(id)).collect();
        order.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
        match order.as_slice() {
            [(id, most), rest @ ..] if rest.first().is_none_or(|(_, next)| next < most) => {
                self.keep(model, vec![id.clone()], "its chat template");
            }
            _ => {}
        }
    }

    /// Learns from a whole reply of an unknown model.
    pub fn reply(&self, model: &str, text: &str, options: &Options) {
        if !self.is_unknown(model) {
            return;
        }
        let found = self.detector().detect(text.as_bytes(), options);
        if let Some(first) = found.first()
            && first.confidence >= Confidence::Fair
        {
            self.keep(model, vec![first.dialect.clone()], "its reply");
        }
    }

    /// Whether nothing has told the dialect of a model yet.
    pub fn is_unknown(&self, model: &str) -> bool {
        let mut found = locked(&self.found);
        found.get(model).is_none_or(<[String]>::is_empty)
    }

    fn keep(&self, model: &str, ids: Vec<String>, why: &str) {
        let words = ids.join(", ");
        let before = locked(&self.found).put(model, ids);
        if before.is_none_or(|before| before.is_empty()) {
            log::line(&format!("model {model:?}: dialect {words}, by {why}"));
        }
    }

    fn detector(&self) -> Arc<Detector> {
        let mut detector = locked(&self.detector);
        Arc::clone(detector.get_or_insert_with(|| Arc::new(Detector::builtin())))
    }
}

/// Whether the text of a dialect has this id.
fn names(text: &str, id: &str) -> bool {
    let table: Option<toml::Table> = text.parse().ok();
    let own = table.as_ref().and_then(|table| table.get("id"));
    own.and_then(toml::Value::as_str) == Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_tells_the_dialect_and_it_is_kept() {
        let models = Models::new(BTreeMap::new());
        assert!(models.is_new("m"));
        models.template("m", "{{ '<\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}>' }}{{ '<\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>function' }}");
        models.asked("m");
        assert!(!models.is_new("m"));
        let found = models.auto("m", true, false).unwrap().dialect;
        assert!(found.is_some_and(|id| id.starts_with("deepseek")), "kept");
        assert_eq!(models.auto("other", true, false).unwrap().ids, ["any"]);
    }

    #[test]
    fn a_name_that_the_library_knows_tells_the_dialect() {
        let models = Models::new(BTreeMap::new());
        assert!(!models.name("gpt-2") && models.is_new("gpt-2"));
        assert!(models.name("glm-4.6-q4_k_m.gguf"));
        let chosen = models.auto("glm-4.6-q4_k_m.gguf", true, false).unwrap();
        assert_eq!(chosen.dialect.as_deref(), Some("glm45"));
        // Models that write calls in several ways, or have a separate dialect for thoughts.
        for name in [
            "Qwen/Qwen3-8B",
            "Llama-4-Scout-17B-16E",
            "ibm-granite/granite-3.2-8b-instruct",
        ] {
            assert!(models.name(name), "{name}");
            let ids = models.auto(name, true, false).unwrap().ids;
            assert!(ids.len() > 2, "{name}: {ids:?}");
        }
    }

    #[test]
    fn every_model_that_has_a_name_has_a_set() {
        let models = Models::new(BTreeMap::new());
        let list = include_str!("../../tests/models/names.tsv").lines();
        let names = list.filter_map(|line| line.split_once('\t'));
        for (name, ids) in names.filter(|(name, _)| models.name(name)) {
            let chosen = models.auto(name, true, false);
            let chosen = chosen.unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(ids.split(' ').eq(&chosen.ids[..chosen.ids.len() - 1]));
        }
    }

    #[test]
    fn the_first_reply_tells_the_dialect() {
        let models = Models::new(BTreeMap::new());
        let reply = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
        models.reply("m", reply, &Options::default());
        assert_eq!(
            models.auto("m", false, false).unwrap().dialect.as_deref(),
            Some("hermes")
        );
        models.reply("m", "<function=f>{}</function>", &Options::default());
        assert_eq!(
            models.auto("m", false, false).unwrap().dialect.as_deref(),
            Some("hermes")
        );
    }

    #[test]
    fn the_least_recently_used_name_is_forgotten() {
        let models = Models::new(BTreeMap::new());
        assert!(models.name("glm-4.6"));
        for number in 0..KEPT {
            models.asked(&format!("m{number}"));
            assert!(!models.is_new("glm-4.6"));
        }
        assert!(models.is_new("m0") && !models.is_new("m1"));
        assert_eq!(locked(&models.found).models.len(), KEPT);
    }

    #[test]
    fn a_prompt_teaches_a_dialect_until_a_reply_shows_another() {
        let models = Models::new(BTreeMap::new());
        let chosen = models.auto("m", true, true).unwrap();
        assert_eq!(
            (chosen.dialect.as_deref(), chosen.unproven),
            (Some(TAUGHT), true)
        );
        let reply = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>";
        models.reply("m", reply, &Options::default());
        let chosen = models.auto("m", true, true).unwrap();
        assert!(chosen.dialect.is_some_and(|id| id.starts_with("glm")) && !chosen.unproven);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let models = Models::new(BTreeMap::new());
        assert!(models.named("no-such").is_err());
        assert_eq!(
            models
                .named("hermes, reasoning-think")
                .unwrap()
                .dialect
                .as_deref(),
            Some("hermes")
        );
    }
}
