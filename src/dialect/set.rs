//! Dialects that are compiled together.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use memchr::memmem;
use serde::Deserialize;
use toolglot_scan::{Fnv, ROOT, Skip};

use super::decisions::{self, Decision};
use super::escape::{EscapeError, EscapeTable};
use super::inner::SetInner;
use super::plan::{self, Choice, Member};
use super::spec::{LazyPrompt, Spec};
use super::{Dialect, builtin, check, compile, sizes};
use crate::error::BuildError;
use crate::limits::Limits;

/// Dialects compiled together. Immutable, cheap to clone, shared by any number of streams on any threads.
///
/// ```
/// let set = toolglot::DialectSet::defaults();
/// assert!(set.dialects().any(|dialect| dialect.id() == "vcp"));
/// ```
#[derive(Clone)]
pub struct DialectSet {
    pub(crate) inner: Arc<SetInner>,
}

/// A valid but possibly surprising property of a set.
///
/// ```
/// use toolglot::DialectSet;
///
/// let text = r#"
/// id = "short"
/// title = "A short opener"
/// deltas = "live"
/// [framed]
/// unit = [{ open = ["<<"], close = [">>"], payload = "json" }]
/// "#;
/// let set = DialectSet::builder().toml("short.toml", text).build()?;
/// assert!(set.lints()[0].message.contains("opener `<<` is short"));
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lint {
    /// The dialect concerned.
    pub dialect: String,
    /// What it is, and why.
    pub message: String,
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dialect {}: {}", self.dialect, self.message)
    }
}

impl DialectSet {
    /// Starts a builder for a set.
    ///
    /// ```
    /// use toolglot::DialectSet;
    ///
    /// let set = DialectSet::builder().builtin("hermes").builtin("reasoning-think").build()?;
    /// assert_eq!(set.dialects().len(), 2);
    /// # Ok::<(), toolglot::BuildError>(())
    /// ```
    #[must_use]
    pub fn builder() -> SetBuilder {
        SetBuilder::default()
    }

    /// The default set: every built-in dialect that cannot fire on ordinary prose or code.
    ///
    /// # Panics
    /// Never: a test builds it.
    ///
    /// ```
    /// assert!(toolglot::DialectSet::defaults().dialects().all(|dialect| dialect.in_default_set()));
    /// ```
    #[must_use]
    pub fn defaults() -> Self {
        Self::builder()
            .defaults()
            .build()
            .expect("the built-in dialects fit together")
    }

    /// Every built-in tool-call dialect that can be active beside the others, for replies of unknown format: see
    /// [`SetBuilder::any`].
    ///
    /// # Panics
    /// Never: a test builds it.
    #[must_use]
    pub fn any() -> Self {
        Self::builder()
            .any()
            .build()
            .expect("the built-in dialects fit together")
    }

    /// One built-in dialect.
    ///
    /// # Errors
    /// There is no such dialect.
    ///
    /// ```
    /// use toolglot::DialectSet;
    ///
    /// assert_eq!(DialectSet::builtin("hermes")?.dialects().len(), 1);
    /// assert!(DialectSet::builtin("nothing").is_err());
    /// # Ok::<(), toolglot::BuildError>(())
    /// ```
    pub fn builtin(id: &str) -> Result<Self, BuildError> {
        Self::builder().builtin(id).build()
    }

    /// The dialects, in order.
    pub fn dialects(&self) -> impl ExactSizeIterator<Item = &Dialect> {
        self.inner.dialects.iter().map(Deref::deref)
    }

    /// The ids of the dialects, in order. No dialect is built for them.
    ///
    /// ```
    /// use toolglot::DialectSet;
    ///
    /// let set = DialectSet::builder().builtin("vcp").builtin("hermes").build()?;
    /// assert!(set.ids().eq(["vcp", "hermes"]));
    /// # Ok::<(), toolglot::BuildError>(())
    /// ```
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.inner.dialects.iter().map(Member::id)
    }

    /// The dialect with this id, or else with this alias. For an id no other dialect is built.
    ///
    /// ```
    /// let set = toolglot::DialectSet::defaults();
    /// assert_eq!(set.dialect("hermes").map(|dialect| dialect.in_default_set()), Some(true));
    /// assert_eq!(set.dialect("deepseek").map(|dialect| dialect.id()), Some("deepseek-v3"));
    /// assert!(set.dialect("nonesuch").is_none());
    /// ```
    #[must_use]
    pub fn dialect(&self, id: &str) -> Option<&Dialect> {
        let mut members = self.inner.dialects.iter();
        let by_id = members.find(|member| member.id() == id).map(Deref::deref);
        let known = |one: &&Dialect| one.aliases().iter().any(|alias| alias == id);
        by_id.or_else(|| self.dialects().find(known))
    }

    /// The maximum number of bytes of text that a stream with these dialects and limits ever holds back.
    ///
    /// ```
    /// use toolglot::{DialectSet, Limits};
    ///
    /// assert!(DialectSet::defaults().bound(&Limits::default()) > "<tool_call>".len());
    /// ```
    #[must_use]
    pub fn bound(&self, limits: &Limits) -> usize {
        self.inner.bound(limits)
    }

    /// Whether a piece of text may contain a marker: one ends in it, or it ends with the beginning of one. If not, no block and
    /// no reasoning begins in it, wherever it occurs in a reply's text. It ignores earlier text (a marker may have begun there,
    /// see [`Parser::may_hold_marker`](crate::Parser::may_hold_marker)), and what a dialect reads without a marker at the first
    /// byte of a reply (for example a header, or the continuation of the prompt).
    ///
    /// Cost: linear; several bytes at a time where nothing begins a marker. Allocates nothing.
    ///
    /// ```
    /// let set = toolglot::DialectSet::defaults();
    /// assert!(!set.may_hold_marker(b"Say a < b, and *stars*."));
    /// assert!(set.may_hold_marker(b"Say <tool_call>"));
    /// assert!(set.may_hold_marker(b"Say <tool"));
    /// ```
    #[must_use]
    pub fn may_hold_marker(&self, text: &[u8]) -> bool {
        let scanner = &self.inner.text;
        let (mut at, mut node, mut skip) = (0, ROOT, Skip::default());
        while at < text.len() {
            if node == ROOT {
                at = scanner.skip(text, at, &mut skip);
                if at == text.len() {
                    break;
                }
            }
            node = scanner.dfa.next(node, text[at]);
            if scanner.dfa.is_hit(node) {
                return true;
            }
            at += 1;
        }
        scanner.dfa.hold(node) > 0
    }

    /// The tables for escaping.
    pub(crate) fn escapes(&self) -> Result<Arc<EscapeTable>, EscapeError> {
        let build = || EscapeTable::new(&self.inner).map(Arc::new);
        self.inner.escapes.get_or_init(build).clone()
    }

    /// Valid but possibly surprising properties of the set.
    #[must_use]
    pub fn lints(&self) -> Vec<Lint> {
        check::lints(&self.inner.dialects)
    }

    /// Where the openers of its dialects meet: shared openers, shared prefixes and overlaps, with what decides between them and
    /// the lookahead that it needs.
    #[must_use]
    pub fn decisions(&self, limits: &Limits) -> Vec<Decision> {
        decisions::decisions(&self.inner.dialects, limits)
    }
}

impl fmt::Debug for DialectSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.inner.dialects.iter().map(Member::id))
            .finish()
    }
}

/// A dialect file that is to be part of a set.
#[derive(Clone, Debug)]
struct File {
    origin: String,
    /// A built-in one has been validated by tests.
    text: Text,
    /// Only calls with their own marker: bare ones could fire on prose.
    marked: bool,
    /// Only calls of declared tools: its markers could occur in prose.
    offered: bool,
}

#[derive(Clone, Debug)]
enum Text {
    Builtin(&'static str),
    Given(String),
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            Self::Builtin(text) => text,
            Self::Given(text) => text,
        }
    }
}

impl File {
    /// The text of a built-in file for which no switch is on.
    fn unchanged(&self, switches: &[(String, String)]) -> Option<&'static str> {
        match self.text {
            Text::Builtin(text) if switches.iter().all(|(id, _)| *id != self.origin) => Some(text),
            Text::Builtin(_) | Text::Given(_) => None,
        }
    }

    /// What the file says of the dialect, as far as it is in the set.
    fn spec(&self, switches: &[(String, String)]) -> Result<Spec, BuildError> {
        let mut spec = read(self, switches)?;
        if let Some(framed) = spec.framed.as_mut().filter(|_| self.marked) {
            framed.unit.retain(|unit| !unit.unmarked());
        }
        if self.offered {
            spec.only_offered();
        }
        Ok(spec)
    }

    fn group(&self) -> Option<String> {
        match &self.text {
            Text::Builtin(text) => group(text).map(str::to_owned),
            Text::Given(text) => Head::of(text)?.group,
        }
    }
}

/// A built-in dialect of a set.
pub(super) fn chosen(choice: Choice) -> Dialect {
    let (id, text) = builtin::FILES[usize::from(choice.file)];
    let file = File {
        origin: id.to_owned(),
        text: Text::Builtin(text),
        marked: choice.marked,
        offered: choice.offered,
    };
    let dialect = file.spec(&[]).and_then(compile::dialect);
    dialect.expect("a test reads the built-in files")
}

/// The top of a built-in file, before its tables.
fn top(text: &str) -> &str {
    &text[..memmem::find(text.as_bytes(), b"\n[").unwrap_or(text.len())]
}

/// The group of a built-in file, without reading all of its top.
fn group(text: &str) -> Option<&str> {
    const KEY: &str = "\ngroup = \"";
    let top = top(text);
    let group = memmem::find(top.as_bytes(), KEY.as_bytes())? + KEY.len();
    top[group..].split('"').next()
}

/// Whether a built-in file is in the default set, likewise.
fn is_default(text: &str) -> bool {
    memmem::find(top(text).as_bytes(), b"\ndefault = false").is_none()
}

/// Whether a built-in file has a grammar of calls.
fn has_calls(text: &str) -> bool {
    let names = text.lines().filter_map(|line| line.strip_prefix('['));
    let mut names = names.filter_map(|line| line.trim_start_matches('[').split(['.', ']']).next());
    names.any(|name| GRAMMARS.contains(&name))
}

/// The name of the preset that reads every format.
const ANY: &str = "any";

/// Collects dialects for a [`DialectSet`]. Errors are reported by [`build`](Self::build).
///
/// ```
/// use toolglot::{DialectSet, builtin_files};
///
/// let (_, vcp) = builtin_files().iter().find(|(id, _)| *id == "vcp").expect("built in");
/// let mine = vcp.replace("id = \"vcp\"", "id = \"mine\"");
/// let set = DialectSet::builder().toml("mine.toml", &mine).switch("mine", "fuzzy").build()?;
/// assert_eq!(set.dialects().next().map(|dialect| dialect.id()), Some("mine"));
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SetBuilder {
    files: Vec<File>,
    switches: Vec<(String, String)>,
    unknown: Option<String>,
    /// The preset that reads every format.
    any: bool,
}

impl SetBuilder {
    /// Adds a built-in dialect by its id or an alias. The word `any` means [`any`](Self::any).
    #[must_use]
    pub fn builtin(mut self, id: &str) -> Self {
        if id == ANY {
            return self.any();
        }
        match find_builtin(id) {
            Some((id, text)) => self.add(id, text, false, false),
            None => self.unknown = self.unknown.or_else(|| Some(id.to_owned())),
        }
        self
    }

    /// Adds every built-in dialect of the default set that was not added yet and whose group is free.
    #[must_use]
    pub fn defaults(mut self) -> Self {
        self.free(is_default, true, false);
        self
    }

    /// Adds every built-in tool-call dialect that was not added yet and whose group is free: those of the default set, then the
    /// others. Calls without a marker count too: bare and fenced JSON, bare Python lists, tags named after tools, lines.
    ///
    /// Such a set is for replies of unknown format. It reads only calls of declared tools
    /// ([`Options::tools`](crate::Options::tools)): without tools, dialects without a marker of their own find nothing; with
    /// tools, calls of other tools are text ([`Options::unknown_tool`](crate::Options::unknown_tool) overrides this).
    #[must_use]
    pub fn any(mut self) -> Self {
        self.any = true;
        self
    }

    /// Adds the preset's dialects to those that were named.
    pub(super) fn fill(&mut self) {
        self.files.iter_mut().for_each(|file| file.marked = false);
        self.free(is_default, false, false);
        self.free(|text| !is_default(text) && has_calls(text), false, true);
    }

    /// Adds the `wanted` built-in dialects that were not added yet and whose group is free.
    fn free(&mut self, wanted: fn(&str) -> bool, marked: bool, offered: bool) {
        let mut groups: Vec<String> = self.files.iter().filter_map(File::group).collect();
        for (id, text) in builtin::FILES {
            let group = group(text);
            let taken = group.is_some_and(|group| groups.iter().any(|have| have == group));
            if wanted(text) && !taken {
                groups.extend(group.map(str::to_owned));
                self.add(id, text, marked, offered);
            }
        }
    }

    /// Adds a dialect file. `origin` identifies it in errors.
    ///
    /// ```
    /// use toolglot::{DialectSet, Finish, Options, parse};
    ///
    /// let text = r#"
    /// id = "call-tags"
    /// title = "JSON in call tags"
    /// deltas = "live"
    /// [framed]
    /// unit = [{ open = ["<call>"], close = ["</call>"], payload = "json" }]
    /// "#;
    /// let set = DialectSet::builder().toml("call-tags.toml", text).build()?;
    /// let reply = br#"<call>{"name": "f", "arguments": {}}</call>"#;
    /// assert_eq!(parse(&set, Options::default(), reply, Finish::Stop).calls[0].name, "f");
    /// # Ok::<(), toolglot::BuildError>(())
    /// ```
    #[must_use]
    pub fn toml(mut self, origin: &str, text: &str) -> Self {
        self.files.push(File {
            origin: origin.to_owned(),
            text: Text::Given(text.to_owned()),
            marked: false,
            offered: false,
        });
        self
    }

    /// Enables a named variation of a dialect, for example `("vcp", "fuzzy")`, or one with a value: `("hy-v4",
    /// "suffix=:7b2e")`.
    ///
    /// ```
    /// let vcp = |switch: &str| toolglot::DialectSet::builder().builtin("vcp").switch("vcp", switch).build();
    /// assert!(vcp("fuzzy").is_ok());
    /// assert!(vcp("fuzy").is_err()); // it has no such variation
    /// ```
    #[must_use]
    pub fn switch(mut self, dialect: &str, name: &str) -> Self {
        self.switches.push((dialect.to_owned(), name.to_owned()));
        self
    }

    /// Compiles the set. Linear in the size of the files; takes milliseconds for many of them. The default set and
    /// [`any`](Self::any) are there at once, and compile a built-in dialect when a stream first meets it.
    ///
    /// # Errors
    /// The first problem, with the key and the reason.
    pub fn build(mut self) -> Result<DialectSet, BuildError> {
        if self.any {
            self.fill();
        }
        if let Some(id) = self.unknown.take() {
            let names = builtin::FILES.iter().map(|(id, _)| *id);
            let suggestion = crate::hints::closest(&id, names).map(str::to_owned);
            return Err(BuildError::Unknown { id, suggestion });
        }
        if self.files.is_empty() {
            return Err(BuildError::Empty);
        }
        let planned = self.choices();
        let planned = planned.and_then(|(choices, any)| plan::planned(&choices, any));
        // While built-in files are edited, their plan may be an old one.
        let fits =
            |set: &SetInner| !cfg!(debug_assertions) || set.fingerprint == self.fingerprint();
        if let Some(inner) = planned.filter(fits) {
            let inner = Arc::new(inner);
            return Ok(DialectSet { inner });
        }
        let mut inner = SetInner::new(self.specs()?, self.fingerprint())?;
        inner.any = self.any;
        // The built-in files are right; of others, everything that is built when it is needed is built now.
        let files = self.files.iter().zip(&inner.dialects);
        let given = files.filter(|(file, _)| file.unchanged(&self.switches).is_none());
        inner.build(given.map(|(_, dialect)| dialect.deref()))?;
        Ok(DialectSet {
            inner: Arc::new(inner),
        })
    }

    /// The files of a set of built-in dialects without switches, and whether it reads any format.
    pub(super) fn choices(&self) -> Option<(Vec<Choice>, bool)> {
        let choice = |file: &File| {
            let place = builtin::FILES.iter().position(|(id, _)| *id == file.origin);
            file.unchanged(&self.switches)?;
            Some(Choice {
                file: place? as u16,
                marked: file.marked,
                offered: file.offered,
            })
        };
        let choices = self.files.iter().map(choice).collect::<Option<_>>();
        choices
            .filter(|_| self.switches.is_empty())
            .map(|choices| (choices, self.any))
    }

    /// What the files say.
    fn specs(&self) -> Result<Vec<Spec>, BuildError> {
        let specs = self.files.iter().map(|file| file.spec(&self.switches));
        let specs: Vec<Spec> = specs.collect::<Result<_, _>>()?;
        for (dialect, name) in &self.switches {
            if !specs.iter().any(|spec| spec.id == *dialect) {
                let why = format!("switch {name} is for a dialect that is not in the set");
                return Err(BuildError::Key {
                    dialect: dialect.clone(),
                    key: format!("switch.{name}"),
                    why,
                });
            }
        }
        Ok(specs)
    }

    fn fingerprint(&self) -> u64 {
        let mut fingerprint = Fnv::default();
        for file in &self.files {
            fingerprint.add(file.text.as_str().as_bytes());
            fingerprint.add(&[u8::from(file.marked) | u8::from(file.offered) << 1]);
        }
        for (dialect, name) in &self.switches {
            fingerprint.add(dialect.as_bytes());
            fingerprint.add(name.as_bytes());
        }
        fingerprint.add(&[u8::from(self.any)]);
        fingerprint.0
    }

    /// The plan of the set, and the fingerprint of its files.
    #[cfg(test)]
    pub(super) fn plan(&self) -> Result<(u64, plan::Plan), BuildError> {
        let dialects = self.specs()?.into_iter().map(compile::dialect);
        let dialects: Vec<Dialect> = dialects.collect::<Result<_, _>>()?;
        check::set(&dialects)?;
        assert!(super::Written::all(&dialects)?.is_empty());
        Ok((self.fingerprint(), plan::Plan::new(&dialects)))
    }

    fn add(&mut self, id: &str, text: &'static str, marked: bool, offered: bool) {
        if !self.files.iter().any(|file| file.origin == id) {
            self.files.push(File {
                origin: id.to_owned(),
                text: Text::Builtin(text),
                marked,
                offered,
            });
        }
    }
}

fn find_builtin(id: &str) -> Option<(&'static str, &'static str)> {
    let by_id = builtin::FILES.iter().find(|(have, _)| *have == id);
    // Heads are read only if the name is not an id.
    let by_alias = || {
        let mut heads = builtin::FILES.iter().zip(Head::all());
        heads.find_map(|(file, head)| head.aliases.iter().any(|a| a == id).then_some(file))
    };
    by_id.or_else(by_alias).copied()
}

/// The part of a file that determines where it belongs.
#[derive(Deserialize)]
pub(crate) struct Head {
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    pub models: Vec<String>,
    pub group: Option<String>,
    /// It has a grammar of calls.
    #[serde(skip)]
    pub calls: bool,
}

/// The tables that are grammars of calls.
const GRAMMARS: [&str; 6] = [
    "key_quote",
    "element_tree",
    "named_params",
    "attribute_params",
    "framed",
    "line",
];

impl Head {
    /// Those of the built-in files, in their order.
    pub fn all() -> &'static [Self] {
        static ALL: OnceLock<Vec<Head>> = OnceLock::new();
        ALL.get_or_init(|| {
            let heads = builtin::FILES.iter().map(|(_, text)| Self::of(text));
            heads.collect::<Option<_>>().expect("a test reads them")
        })
    }

    /// Reads no more than the top of a file, where its tables don't begin before all of it.
    pub fn of(text: &str) -> Option<Self> {
        let head: Result<Self, _> = toml::from_str(top(text)).or_else(|_| toml::from_str(text));
        Some(Self {
            calls: has_calls(text),
            ..head.ok()?
        })
    }
}

fn read(file: &File, switches: &[(String, String)]) -> Result<Spec, BuildError> {
    let origin = file.origin.as_str();
    let (text, prompt) = match file.unchanged(switches) {
        Some(text) => {
            let (text, prompt) = LazyPrompt::split(text);
            (text, Some(prompt))
        }
        None => (file.text.as_str(), None),
    };
    let fail = |error: toml::de::Error| {
        let message = error.to_string().trim_end().to_owned();
        BuildError::Toml {
            origin: origin.to_owned(),
            message,
        }
    };
    sizes::file(origin, text)?;
    let spec: Spec = toml::from_str(text).map_err(fail)?;
    if let Some(prompt) = prompt {
        return Ok(Spec { prompt, ..spec });
    }
    let table: toml::Table = toml::from_str(text).map_err(fail)?;
    sizes::values(&spec, &table)?;
    // Every switch must be valid, even if nothing enables it.
    for (name, layer) in &spec.switch {
        let layer = filled(layer, SAMPLE);
        let one: Spec = switched(&table, &[layer]).map_err(|error| {
            let why = error.to_string().trim_end().to_owned();
            check::key(&spec, &format!("switch.{name}"), &why)
        })?;
        check::dialect(&one)
            .map_err(|error| check::key(&spec, &format!("switch.{name}"), &error.to_string()))?;
    }
    let mut layers = vec![];
    for (_, switch) in switches.iter().filter(|(id, _)| *id == spec.id) {
        let (name, value) = match switch.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (switch.as_str(), None),
        };
        let wrong = |why: &str| check::key(&spec, &format!("switch.{name}"), why);
        let Some(layer) = spec.switch.get(name) else {
            let names = spec.switch.keys().map(String::as_str);
            let names = names.collect::<Vec<_>>().join(", ");
            return Err(wrong(&format!("there is no such switch; it has: {names}")));
        };
        let layer = match (value, takes_value(layer)) {
            (Some(value), true) => filled(layer, value),
            (None, false) => layer.clone(),
            (None, true) => return Err(wrong(&format!("it takes a value: {name}=VALUE"))),
            (Some(_), false) => return Err(wrong("it takes no value")),
        };
        layers.push(layer);
    }
    if layers.is_empty() {
        return Ok(spec);
    }
    switched(&table, &layers).map_err(fail)
}

/// The placeholder in a switch's strings for the host's value.
const VALUE: &str = "${value}";
/// The value with which switches are validated when their file is read.
const SAMPLE: &str = ":0a1b";

pub(super) fn takes_value(layer: &toml::Table) -> bool {
    fn holds(value: &toml::Value) -> bool {
        match value {
            toml::Value::String(text) => text.contains(VALUE),
            toml::Value::Array(items) => items.iter().any(holds),
            toml::Value::Table(table) => takes_value(table),
            _ => false,
        }
    }
    layer.values().any(holds)
}

/// A switch with the host's value inserted.
fn filled(layer: &toml::Table, value: &str) -> toml::Table {
    fn fill(item: &toml::Value, value: &str) -> toml::Value {
        match item {
            toml::Value::String(text) => text.replace(VALUE, value).into(),
            toml::Value::Array(items) => {
                toml::Value::Array(items.iter().map(|item| fill(item, value)).collect())
            }
            toml::Value::Table(table) => filled(table, value).into(),
            other => other.clone(),
        }
    }
    let fill = |(key, item): (&String, _)| (key.clone(), fill(item, value));
    layer.iter().map(fill).collect()
}

/// The dialect with some of its switches enabled.
fn switched(table: &toml::Table, layers: &[toml::Table]) -> Result<Spec, toml::de::Error> {
    let mut table = table.clone();
    layers.iter().for_each(|layer| overlay(&mut table, layer));
    table.try_into()
}

/// Overlays one table on another: tables are merged, everything else is replaced.
fn overlay(base: &mut toml::Table, layer: &toml::Table) {
    for (key, value) in layer {
        match (base.get_mut(key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => overlay(below, above),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::family::Family;
    use super::*;

    #[test]
    fn built_in_files_pass_all_checks_of_files() {
        for (id, text) in builtin::FILES {
            let set = DialectSet::builder().toml(id, text).build();
            assert!(set.is_ok(), "{id}: {set:?}");
        }
    }

    #[test]
    fn what_is_read_later_is_in_its_place() {
        for (id, text) in builtin::FILES {
            let set = DialectSet::builtin(id).expect(id);
            let whole: Spec = toml::from_str(text).expect(id);
            let read = &set.inner.dialects[0].spec;
            assert_eq!(format!("{whole:?}"), format!("{read:?}"), "{id}");
            assert_eq!(
                text.contains("\n[prompt]\n"),
                text.contains("[prompt]"),
                "{id}"
            );
        }
    }

    #[test]
    fn the_top_of_a_file_is_its_head() {
        for (id, text) in builtin::FILES {
            let head = Head::of(text).expect(id);
            let whole: Head = toml::from_str(text).expect(id);
            assert_eq!(group(text), head.group.as_deref(), "{id}");
            let spec: Spec = toml::from_str(text).expect(id);
            assert_eq!(is_default(text), spec.default, "{id}");
            let fields = |head: Head| (head.aliases, head.models, head.group);
            let calls = head.calls;
            assert_eq!(fields(head), fields(whole), "{id}");
            let set = DialectSet::builtin(id).expect(id);
            assert_eq!(
                calls,
                !matches!(set.inner.dialects[0].family, Family::Plain),
                "{id}"
            );
        }
        // A table seems to begin in a text.
        let head =
            Head::of("title = \"\"\"\n[framed]\n\"\"\"\ngroup = \"g\"\n").expect("it is TOML");
        assert_eq!(head.group.as_deref(), Some("g"));
    }
}
