//! Resolves names of dialects to compiled sets.
//!
//! A name is the id of a loaded dialect file, the id or an alias of a built-in dialect, or one of three words: `default` (the
//! default set), `any` (whatever a reply may contain, calls of declared tools only) and `all` (the default set and every other
//! built-in dialect that can be active beside it). Sets are compiled once and shared.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use toolglot::{BuildError, DialectSet, SetBuilder, builtin_files};

/// Number of sets in the cache. Beyond that the cache is emptied.
const CACHE: usize = 256;

/// The dialects of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Choice {
    /// Names, in order. Without any: the default set.
    pub names: Vec<String>,
    /// Whether all loaded files are active, named or not.
    pub files: bool,
    /// `(dialect, switch)` pairs.
    pub switches: Vec<(String, String)>,
}

impl Choice {
    /// Chooses only the named dialects.
    #[must_use]
    pub fn of(names: &[&str]) -> Self {
        Self {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Self::default()
        }
    }
}

/// Why a set cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// A dialect file cannot be read.
    #[error("cannot read the dialect file {path}: {why}")]
    Read {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
    /// Two files have the same id.
    #[error("the dialect files {first} and {second} have the same id")]
    Twice {
        /// One of the files.
        first: String,
        /// The other file.
        second: String,
    },
    /// The engine rejects a file.
    #[error(transparent)]
    Build(#[from] BuildError),
}

struct UserFile {
    id: String,
    origin: String,
    text: String,
}

/// The user's dialect files, and the sets compiled so far. Shared by threads.
#[derive(Default)]
pub struct Sets {
    files: Vec<UserFile>,
    cache: Mutex<HashMap<Choice, DialectSet>>,
}

impl Sets {
    /// Only the built-in dialects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads dialect files.
    ///
    /// # Errors
    /// A file cannot be read or is not a dialect.
    pub fn load<P: AsRef<Path>>(paths: &[P]) -> Result<Self, SetError> {
        let mut sets = Self::new();
        for path in paths {
            let path = path.as_ref();
            let read = |why: String| SetError::Read {
                path: path.display().to_string(),
                why,
            };
            let bytes = fs::read(path).map_err(|e| read(e.to_string()))?;
            let text = String::from_utf8(bytes)
                .map_err(|e| read(format!("it is not UTF-8 text ({})", e.utf8_error())))?;
            sets.add(&path.display().to_string(), &text)?;
        }
        Ok(sets)
    }

    /// Adds a dialect file from memory; `origin` names it in errors.
    ///
    /// # Errors
    /// The text is not a dialect, or another file has its id.
    pub fn add(&mut self, origin: &str, text: &str) -> Result<(), SetError> {
        let alone = DialectSet::builder().toml(origin, text).build()?;
        let id = alone
            .dialects()
            .next()
            .map(|dialect| dialect.id().to_owned())
            .unwrap_or_default();
        if let Some(have) = self.files.iter().find(|file| file.id == id) {
            return Err(SetError::Twice {
                first: have.origin.clone(),
                second: origin.to_owned(),
            });
        }
        self.files.push(UserFile {
            id,
            origin: origin.to_owned(),
            text: text.to_owned(),
        });
        Ok(())
    }

    /// The ids of the loaded files.
    pub fn file_ids(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.id.as_str())
    }

    /// The set for a choice, from the cache if possible.
    ///
    /// # Errors
    /// A name is unknown, or the dialects are incompatible.
    pub fn get(&self, choice: &Choice) -> Result<DialectSet, BuildError> {
        // Entries are only ever added complete, so they are valid even if a thread panicked while it held the lock.
        if let Some(set) = self
            .cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(choice)
        {
            return Ok(set.clone());
        }
        let set = self.builder(choice)?.build()?;
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= CACHE {
            cache.clear();
        }
        cache.insert(choice.clone(), set.clone());
        Ok(set)
    }

    fn builder(&self, choice: &Choice) -> Result<SetBuilder, BuildError> {
        let named = |file: &UserFile| choice.files || choice.names.contains(&file.id);
        let files = self.files.iter().filter(|file| named(file));
        let mut builder = files.fold(DialectSet::builder(), |b, file| {
            b.toml(&file.origin, &file.text)
        });
        let builtins = choice
            .names
            .iter()
            .filter(|name| !self.files.iter().any(|file| file.id == **name));
        let (words, ids): (Vec<&String>, Vec<&String>) = builtins.partition(|name| is_word(name));
        builder = ids.into_iter().fold(builder, |b, id| b.builtin(id));
        let has = |word: &str| words.iter().any(|have| *have == word);
        if choice.names.is_empty() || has("default") || has("all") {
            builder = builder.defaults();
        }
        if has("any") {
            builder = builder.any();
        }
        if has("all") {
            builder = all(builder)?;
        }
        Ok(choice
            .switches
            .iter()
            .fold(builder, |b, (dialect, name)| b.switch(dialect, name)))
    }
}

fn is_word(name: &str) -> bool {
    ["default", "any", "all"].contains(&name)
}

/// Adds the missing dialects. Of two that clash, the later one is left out: the other has taken their group.
fn all(builder: SetBuilder) -> Result<SetBuilder, BuildError> {
    let mut missing: Vec<&str> = builtin_files().iter().map(|(id, _)| *id).collect();
    loop {
        let more = missing.iter().fold(builder.clone(), |b, id| b.builtin(id));
        let error = match more.clone().build() {
            Ok(_) => return Ok(more),
            Err(error) => error,
        };
        let later = match &error {
            BuildError::Clash { first, second, .. } => {
                let place = |id: &String| missing.iter().position(|have| have == id);
                place(first).max(place(second))
            }
            _ => None,
        };
        match later {
            Some(at) => missing.remove(at),
            None => return Err(error),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(set: &DialectSet) -> Vec<String> {
        set.dialects()
            .map(|dialect| dialect.id().to_owned())
            .collect()
    }

    #[test]
    fn no_name_is_the_default_set() {
        let sets = Sets::new();
        let default = ids(&DialectSet::defaults());
        assert_eq!(
            ids(&sets.get(&Choice::default()).expect("the default set")),
            default
        );
        assert_eq!(
            ids(&sets
                .get(&Choice::of(&["default"]))
                .expect("the default set")),
            default
        );
    }

    #[test]
    fn all_leaves_out_only_what_clashes() {
        let names = ids(&Sets::new().get(&Choice::of(&["all"])).expect("all"));
        let all = names
            .iter()
            .fold(DialectSet::builder(), |b, id| b.builtin(id));
        assert!(all.clone().build().is_ok());
        let out = builtin_files()
            .iter()
            .filter(|(id, _)| !names.iter().any(|name| name == id));
        for (id, _) in out {
            let more = all.clone().builtin(id).build();
            assert!(matches!(more, Err(BuildError::Clash { .. })), "{id}");
        }
    }

    #[test]
    fn all_holds_the_default_set() {
        let all = ids(&Sets::new()
            .get(&Choice::of(&["all"]))
            .expect("they fit together"));
        assert!(
            ids(&DialectSet::defaults())
                .iter()
                .all(|id| all.contains(id))
        );
    }

    #[test]
    fn any_reads_what_the_default_set_reads_and_more() {
        let sets = Sets::new();
        let of = |names: &[&str]| ids(&sets.get(&Choice::of(names)).expect("they fit together"));
        let any = of(&["any"]);
        let default = ids(&DialectSet::defaults());
        assert!(default.iter().all(|id| any.contains(id)));
        for id in ["json-bare", "markdown-json", "react-text", "yaml-xml"] {
            assert!(any.contains(&id.to_owned()), "{id}");
        }
        let other = of(&["any", "tam2"]);
        assert!(other.contains(&"tam2".to_owned()) && !other.contains(&"tam".to_owned()));
        assert_eq!(of(&["default", "any"]).len(), any.len());
    }

    #[test]
    fn a_name_beside_the_default_set_replaces_its_group() {
        let both = ids(&Sets::new()
            .get(&Choice::of(&["tam2", "default"]))
            .expect("they fit together"));
        assert!(
            both.contains(&"tam2".to_owned())
                && !both.contains(&"tam".to_owned())
                && both.contains(&"vcp".to_owned())
        );
    }

    #[test]
    fn a_file_is_asked_for_by_its_id() {
        let (_, text) = builtin_files()
            .iter()
            .find(|(id, _)| *id == "vcp")
            .expect("vcp is built in");
        let mut sets = Sets::new();
        sets.add("mine.toml", &text.replace("id = \"vcp\"", "id = \"mine\""))
            .expect("a dialect");
        assert_eq!(
            ids(&sets.get(&Choice::of(&["mine"])).expect("a set")),
            ["mine"]
        );
        assert_eq!(
            ids(&sets.get(&Choice::of(&["action"])).expect("a set")),
            ["action"]
        );
        let beside = Choice {
            files: true,
            ..Choice::of(&["action"])
        };
        assert_eq!(ids(&sets.get(&beside).expect("a set")), ["mine", "action"]);
        assert!(matches!(
            sets.add("again.toml", &text.replace("\"vcp\"", "\"mine\"")),
            Err(SetError::Twice { .. })
        ));
    }

    #[test]
    fn unknown_names_are_errors() {
        assert!(matches!(
            Sets::new().get(&Choice::of(&["vpc"])),
            Err(BuildError::Unknown { .. })
        ));
    }
}
