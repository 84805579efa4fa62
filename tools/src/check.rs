//! Turns a call as the model wrote it into one that a tool accepts.
//!
//! The name is resolved to a tool, keys get the schema's spelling, missing parameters their presets and defaults, values their
//! types, and the result is validated. Exactly what was validated is delivered: the arguments are parsed once, and written
//! anew.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use toolglot::json::{Map, Value};
use toolglot::layer::Doc;
use toolglot::layer::closest;
use toolglot::layer::fold;
use toolglot::layer::{self, read};
use toolglot::layer::{key, member, unions};
use toolglot::{Call, Turn};
use toolglot::{Dialect, DialectSet};
use toolglot::{Grade, Kind, KindSet};

use super::coerce::{ARGUMENTS, Change, ChangeKind, WORK, coerce, coerced};
use super::places::Places;
use super::schema::Plan;
use super::validate::{Violation, validate};
use super::{Inventory, Tool};

/// How to check a call.
///
/// ```
/// use toolglot_tools::{CheckOptions, Inventory, Tool, Unknown};
/// use toolglot::json::json;
///
/// let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
/// let inventory = Inventory::of([Tool::new("weather").parameters(schema)])?;
/// let given = r#"{"city": "Leith", "unit": "C"}"#;
/// assert!(!inventory.checked("weather", given, &CheckOptions::default()).valid());
/// let options = CheckOptions::default().unknown(Unknown::Allow);
/// assert!(inventory.checked("weather", given, &options).valid());
/// # Ok::<(), toolglot_tools::RegistryError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CheckOptions<'a> {
    /// The dialect of the call: its rules for names and keys, and its wording of observations. `None` for API tool calls.
    pub dialect: Option<&'a Dialect>,
    /// Arguments preset by the agent: the call's own take precedence over them, and they over the schema's defaults. A tool
    /// gets those of its parameters; one that takes any parameters gets all.
    pub preset: Option<&'a Map>,
    /// What happens to parameters that a tool does not have.
    pub unknown: Unknown,
    /// The positions of the parameters in the stream.
    pub places: Option<&'a Places>,
}

toolglot::setters! {
    CheckOptions<'a>:
    dialect: Option<&'a Dialect>,
    preset: Option<&'a Map>,
    unknown = Unknown,
    places: Option<&'a Places>,
}

impl<'a> CheckOptions<'a> {
    /// The defaults, for a dialect.
    #[must_use]
    pub fn of(dialect: &'a Dialect) -> Self {
        Self {
            dialect: Some(dialect),
            ..Self::default()
        }
    }
}

/// What happens to parameters that a schema does not name, unless the schema itself decides.
///
/// See the example of [`CheckOptions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unknown {
    /// They are violations.
    #[default]
    Refuse,
    /// They are passed on, as in JSON Schema.
    Allow,
}

/// The result of checking a call.
///
/// ```
/// use toolglot_tools::{CheckOptions, Inventory, Tool};
/// use toolglot::json::json;
///
/// let schema = json!({"type": "object", "properties": {"days": {"type": "integer"}}});
/// let inventory = Inventory::of([Tool::new("weather").parameters(schema)])?;
/// let checked = inventory.checked("weather", r#"{"days": "3"}"#, &CheckOptions::default());
/// assert!(checked.valid());
/// assert_eq!(checked.text(), r#"{"days":3}"#);
/// # Ok::<(), toolglot_tools::RegistryError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Checked {
    /// The tool, if there is one of this name.
    pub tool: Option<Arc<Tool>>,
    /// The name in the call.
    pub name: String,
    /// The arguments to pass on, if the call is valid. Each key occurs once.
    pub arguments: Map,
    /// How sure the parser is of the call; see [`Call::grade`]. A valid call that is recovered should not be executed without
    /// asking.
    pub grade: Grade,
    /// Why it is not complete.
    pub kinds: KindSet,
    /// How the arguments differ from those of the call.
    pub changes: Vec<Change>,
    /// What is wrong with them.
    pub violations: Vec<Violation>,
    /// What to tell the model, one line per violation; `None` if there are no violations.
    pub observation: Option<String>,
}

impl Checked {
    /// Whether there are no violations.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.violations.is_empty()
    }

    /// The arguments as JSON text: exactly what was validated.
    #[must_use]
    pub fn text(&self) -> String {
        Value::Object(self.arguments.clone()).to_string()
    }
}

impl Inventory {
    /// Checks a call.
    ///
    /// Linear in the arguments for schemas without references. With references and alternatives the work is counted, and
    /// exceeding the budget is a violation. Schemas are compiled on first use.
    #[must_use]
    pub fn check(&self, call: &Call, options: &CheckOptions<'_>) -> Checked {
        let mut checked = self.checked(&call.name, &call.arguments, options);
        checked.grade = call.grade;
        checked.kinds = call.kinds;
        let whole = match call.origin {
            toolglot::Origin::Text => Some(call.span),
            // That of an API call is not a range of the text.
            _ => None,
        };
        let Checked {
            changes,
            violations,
            ..
        } = &mut checked;
        for violation in violations {
            let place = options.places.and_then(|places| {
                let top = violation.path.split('/').nth(1)?;
                let renamed = changes.iter().find(|change| {
                    change.kind == ChangeKind::Key && change.path.strip_prefix('/') == Some(top)
                });
                let written = renamed.and_then(|change| change.before.as_ref()?.as_str());
                let plain = || key(top);
                places.find(whole?, &written.map_or_else(plain, str::to_owned))
            });
            violation.span = place.or(whole);
        }
        checked
    }

    /// Checks a call given by its name and the JSON text of its arguments.
    #[must_use]
    pub fn checked(&self, name: &str, arguments: &str, options: &CheckOptions<'_>) -> Checked {
        let mut out = Checked {
            tool: None,
            name: name.to_owned(),
            arguments: Map::new(),
            grade: Grade::Complete,
            kinds: KindSet::default(),
            changes: vec![],
            violations: vec![],
            observation: None,
        };
        let text = match arguments.trim() {
            "" => "{}",
            text => text,
        };
        match read(text, ARGUMENTS) {
            Ok(read) => {
                for path in read.twice {
                    let message = "the parameter occurs more than once";
                    out.violations
                        .push(Violation::new(Kind::DuplicateParam, path, message));
                }
                match read.value {
                    Value::Object(map) => out.arguments = map,
                    _ => out.refuse(Kind::MalformedJson, "the arguments are no JSON object"),
                }
            }
            Err(why) => {
                let message = format!("the arguments are no JSON object: {why}");
                out.refuse(Kind::MalformedJson, &message);
            }
        }
        match self.position(name, options.dialect) {
            Ok(at) => {
                let tool = &self.tools()[at];
                out.tool = Some(Arc::clone(tool));
                let readable = out.violations.iter().all(|v| v.kind != Kind::MalformedJson);
                if readable && tool.parameters.is_some() {
                    match self.plan(at) {
                        Ok(plan) => out.fit(plan, options),
                        Err(error) => out.violations.push(Violation::of_definition(error)),
                    }
                }
            }
            Err(near) => {
                let unknown = Violation::new(
                    Kind::UnknownTool,
                    String::new(),
                    format!("there is no tool {}", super::short::short(name)),
                );
                let near = near.first().map(String::as_str);
                out.violations.insert(0, unknown.meant(near));
            }
        }
        let named = |violation: &Violation| violation.observation(name, options.dialect);
        let mut lines: Vec<String> = out.violations.iter().map(named).collect();
        lines.dedup();
        out.observation = (!lines.is_empty()).then(|| lines.join("\n"));
        out
    }

    /// Checks the calls of a turn, in order, each with its dialect if the set has it. Violations give the position of the call
    /// in the stream.
    ///
    /// ```
    /// use toolglot::{DialectSet, Finish, Options, parse};
    /// use toolglot_tools::{CheckOptions, Inventory, Tool};
    ///
    /// let set = DialectSet::builtin("hermes")?;
    /// let reply = br#"<tool_call>{"name": "wether", "arguments": {}}</tool_call>"#;
    /// let turn = parse(&set, Options::default(), reply, Finish::Stop);
    /// let inventory = Inventory::of([Tool::new("weather")])?;
    /// let checked = inventory.check_turn(&turn, &set, &CheckOptions::default());
    /// assert_eq!(checked[0].violations[0].suggestion.as_deref(), Some("weather"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn check_turn(
        &self,
        turn: &Turn,
        set: &DialectSet,
        options: &CheckOptions<'_>,
    ) -> Vec<Checked> {
        let of = |call: &Call| {
            let dialect = set.dialect(&call.dialect);
            let options = CheckOptions {
                dialect: dialect.or(options.dialect),
                ..*options
            };
            self.check(call, &options)
        };
        turn.calls.iter().map(of).collect()
    }
}

impl Checked {
    fn refuse(&mut self, kind: Kind, message: &str) {
        self.violations
            .push(Violation::new(kind, String::new(), message));
    }

    /// Converts the arguments to what the schema asks for, as far as that is unambiguous, and validates them.
    fn fit(&mut self, plan: &Plan, options: &CheckOptions<'_>) {
        let doc = plan.doc(WORK);
        let known = Known::new(&doc);
        self.rename(&known, options.dialect);
        self.fill(&known, &doc, options.preset);
        let mut value = Value::Object(std::mem::take(&mut self.arguments));
        self.changes.extend(coerce(&mut value, &doc));
        let mut found = match plan.validator(&value) {
            Ok(judge) => validate(plan, judge, &value),
            Err(error) => vec![Violation::of_definition(&error)],
        };
        for violation in &mut found {
            let filled = |change: &&Change| {
                let kinds = [ChangeKind::Preset, ChangeKind::Default];
                let rest = violation.path.strip_prefix(change.path.as_str());
                kinds.contains(&change.kind)
                    && rest.is_some_and(|r| r.is_empty() || r.starts_with('/'))
            };
            if let Some(change) = self.changes.iter().find(filled) {
                violation.not_written(change.kind);
            }
        }
        let Value::Object(map) = value else {
            return;
        };
        self.arguments = map;
        if options.unknown == Unknown::Refuse && known.closed {
            for name in self.arguments.keys().filter(|name| !known.has(name)) {
                let path = member("", name);
                let message = format!("there is no parameter {}", super::short::short(name));
                found.push(Violation::new(Kind::UnknownParam, path, message));
            }
        }
        // A misspelt parameter is not reported as missing, too.
        let meant: Vec<&str> = found
            .iter()
            .filter(|violation| violation.kind == Kind::UnknownParam)
            .filter_map(|violation| closest(&violation.subject, known.names()))
            .collect();
        let misspelt = |violation: &Violation| {
            violation.kind == Kind::MissingRequired && meant.contains(&violation.subject.as_str())
        };
        let forgotten: Vec<bool> = found.iter().map(|violation| !misspelt(violation)).collect();
        let mut forgotten = forgotten.into_iter();
        found.retain(|_| forgotten.next().unwrap_or(true));
        for violation in found {
            let top = violation.path.matches('/').count() == 1;
            let near = (violation.kind == Kind::UnknownParam && top)
                .then(|| closest(&violation.subject, known.names()))
                .flatten();
            self.violations.push(violation.meant(near));
        }
    }

    /// Gives keys the schema's spelling, using the dialect's rule for equivalent keys.
    fn rename(&mut self, known: &Known<'_>, dialect: Option<&Dialect>) {
        let Some(table) = dialect.and_then(|dialect| layer::spec(dialect).key_quote.as_ref())
        else {
            return;
        };
        let folds = table.fold.as_slice();
        if folds.is_empty() || self.arguments.keys().all(|key| known.has(key)) {
            return;
        }
        // Names that fold alike are ambiguous, so none is chosen.
        let mut folded: HashMap<String, Option<&str>> = HashMap::new();
        for name in known.names() {
            let same = folded.entry(fold(name, folds)).or_insert(Some(name));
            if *same != Some(name) {
                *same = None;
            }
        }
        for (key, value) in std::mem::take(&mut self.arguments) {
            let meant = match known.has(&key) {
                true => None,
                false => folded.get(&fold(&key, folds)).copied().flatten(),
            };
            let name = meant.map_or_else(|| key.clone(), str::to_owned);
            let path = member("", &name);
            if meant.is_some() {
                self.changes.push(Change {
                    path: path.clone(),
                    kind: ChangeKind::Key,
                    before: Some(key.into()),
                    after: name.clone().into(),
                });
            }
            if self.arguments.insert(name, value).is_some() {
                let message = "the parameter occurs more than once";
                self.violations
                    .push(Violation::new(Kind::DuplicateParam, path, message));
            }
        }
    }

    /// Gives missing parameters the preset or else the default.
    fn fill(&mut self, known: &Known<'_>, doc: &Doc<'_>, preset: Option<&Map>) {
        let default = |schema: &&Value| {
            let parts = doc.parts(&[*schema]);
            let mut values = parts.iter().filter_map(|part| part.get("default"));
            // A definition made from `n: int = None` has one that its own type forbids; without it, the call is good.
            let fits = |value: &&Value| doc.fits(&coerced(value, schema, doc), schema, 0);
            values.find(fits).cloned()
        };
        let presets = preset.into_iter().flatten();
        for (name, value) in presets.filter(|(name, _)| known.takes(doc, name)) {
            if !self.arguments.contains_key(name) {
                self.give(name, ChangeKind::Preset, value.clone());
            }
        }
        for (name, schema) in &known.list {
            if !self.arguments.contains_key(name)
                && let Some(value) = default(schema)
            {
                self.give(name, ChangeKind::Default, value);
            }
        }
    }

    /// Adds an argument that the model did not write.
    fn give(&mut self, name: &str, kind: ChangeKind, value: Value) {
        self.changes.push(Change {
            path: member("", name),
            kind,
            before: None,
            after: value.clone(),
        });
        self.arguments.insert(name.to_owned(), value);
    }
}

/// The parameters of a tool, in the order of the schema.
struct Known<'s> {
    list: Vec<(&'s str, &'s Value)>,
    names: HashSet<&'s str>,
    /// Whether other parameters are refused, unless the schema itself decides.
    closed: bool,
}

/// What a schema says about a parameter of some name.
struct Room {
    /// It, or one of its alternatives, names the parameter.
    named: bool,
    /// It forbids no other parameters.
    open: bool,
}

impl Room {
    /// How deep alternatives are followed.
    const MAX_DEPTH: usize = 32;

    fn of(doc: &Doc<'_>, schema: &Value, name: &str, depth: usize) -> Self {
        let parts = doc.parts(&[schema]);
        let names = |part: &&Map| {
            part.get("properties")
                .is_some_and(|own| own.get(name).is_some())
        };
        let shut = |part: &&Map| {
            let no = |word: &str| part.get(word) == Some(&Value::Bool(false));
            let patterns = part.contains_key("patternProperties");
            no("unevaluatedProperties") || no("additionalProperties") && !patterns
        };
        let mut room = Self {
            named: parts.iter().any(names),
            open: !parts.iter().any(shut),
        };
        for branches in parts.iter().flat_map(|part| unions(part)) {
            if depth == Self::MAX_DEPTH || !doc.spend(1) {
                break;
            }
            let each = branches
                .iter()
                .map(|branch| Self::of(doc, branch, name, depth + 1));
            let each: Vec<Self> = each.collect();
            room.named |= each.iter().any(|branch| branch.named);
            room.open &= each.iter().any(|branch| branch.open);
        }
        room
    }
}

/// Keywords with which a schema may allow parameters that it does not name, or forbid them itself.
const OPEN: &[&str] = &[
    "additionalProperties",
    "patternProperties",
    "unevaluatedProperties",
    "anyOf",
    "oneOf",
    "if",
    "dependentSchemas",
    "dependencies",
    "$dynamicRef",
    "$recursiveRef",
];

impl<'s> Known<'s> {
    fn new(doc: &Doc<'s>) -> Self {
        let parts = doc.parts(&[doc.root]);
        let named = |part: &&'s Map| part.get("properties").and_then(Value::as_object);
        let open = |part: &&Map| OPEN.iter().any(|word| part.contains_key(word));
        let mut known = Known {
            list: vec![],
            names: HashSet::new(),
            closed: parts.iter().any(|part| named(part).is_some()) && !parts.iter().any(open),
        };
        for (name, schema) in parts.iter().filter_map(named).flatten() {
            if known.names.insert(name) {
                known.list.push((name, schema));
            }
        }
        // A parameter may be demanded without being described.
        let demanded = |part: &&'s Map| part.get("required").and_then(Value::as_array);
        let demanded = parts.iter().filter_map(demanded).flatten();
        known.names.extend(demanded.filter_map(Value::as_str));
        known
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether the tool takes a parameter of that name.
    fn takes(&self, doc: &Doc<'_>, name: &str) -> bool {
        let room = Room::of(doc, doc.root, name, 0);
        self.has(name) || room.named || room.open && !self.closed
    }

    fn names(&self) -> impl Iterator<Item = &'s str> {
        self.list.iter().map(|(name, _)| *name)
    }
}
