//! Takes the calls of a dialect apart.
//!
//! Everything is derived from texts that the encoder wrote for values that occur in them exactly once:
//!
//! * What all calls begin and end with, whatever the tool: `open` and `close`. Two calls in a row show what is `between`;
//!   three, that it is always the same.
//! * If a call contains its arguments as one JSON text, what precedes and follows it.
//! * Otherwise, for each parameter, what precedes its value, what follows it, and what separates it from the next one.

use std::sync::Arc;

use toolglot::json::{Map, Value as Json, json};
use toolglot::{EncodeCall, EncodeOptions, Encoder};

use super::expr::{Expr, Grammar};
use super::{GrammarError, schema};
use crate::Inventory;
use crate::prompt::Layout;

/// The calls of some tools.
#[derive(Clone, Debug)]
pub(super) struct Shapes {
    pub open: String,
    pub close: String,
    /// `None`: a block has one call.
    pub between: Option<String>,
    pub calls: Vec<Shape>,
}

/// The calls of one tool, without `open` and `close`.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub core: Core,
}

/// How arguments are written in a call.
#[derive(Clone, Debug)]
pub(super) enum Core {
    /// As one JSON text.
    Json {
        before: String,
        after: String,
        schema: Json,
    },
    /// One by one.
    Params(Params),
}

/// Parameters in the order of the schema.
#[derive(Clone, Debug)]
pub(super) struct Params {
    /// A call without parameters, if none is required.
    none: Option<String>,
    params: Vec<Param>,
    /// The text after the last value, and after its quote.
    after: String,
    /// What ends a text value.
    closer: String,
}

#[derive(Clone, Debug)]
struct Param {
    /// The text before it if it is the first.
    first: String,
    /// The text before it, after another value and its quote.
    next: String,
    /// The text after its own value but not after all others'.
    quote: String,
    needed: bool,
    value: Form,
}

/// The values that are possible.
#[derive(Clone, Debug)]
enum Form {
    /// Text without these characters, up to what follows.
    Text { never: Vec<char> },
    /// One of these.
    Choice(Vec<String>),
    /// JSON.
    Json(Json),
}

/// Names of no tool; they begin with different letters.
const OTHERS: [&str; 2] = ["Qzx_0", "zqx_1"];
/// Unique keys.
const KEYS: [&str; 2] = ["zqk", "zqj"];
/// Unique values.
const WORDS: [&str; 2] = ["zqv7z", "Xqw8x"];
/// Characters that a dialect may have to escape.
const SPECIAL: [char; 8] = ['<', '>', '&', '"', '\'', '\\', '\n', '`'];

/// A tool as it is called here.
struct Called<'t> {
    name: &'t str,
    schema: &'t Json,
}

/// Writes calls.
struct Writer<'l> {
    encoder: &'l Encoder,
    options: EncodeOptions,
    /// The tool that an error names if one of [`OTHERS`] was tried.
    first: &'l str,
    /// What ends a text value; `None` if arguments are one JSON text.
    closer: Option<String>,
}

/// The text around a value.
#[derive(Clone, Debug)]
struct Around {
    before: String,
    after: String,
}

impl Writer<'_> {
    fn say(&self, calls: &[(&str, Json)]) -> Result<String, GrammarError> {
        let call = |(name, arguments): &(&str, Json)| EncodeCall::new(*name, arguments.to_string());
        let list: Vec<EncodeCall> = calls.iter().map(call).collect();
        self.encoder.encode(&list, &self.options).map_err(|error| {
            let named = calls.first().map_or("", |(name, _)| name);
            let tool = if OTHERS.contains(&named) {
                self.first
            } else {
                named
            };
            GrammarError::Call {
                tool: tool.to_owned(),
                why: error.reason.to_string(),
            }
        })
    }

    /// The text around the JSON text of all arguments, if they are one.
    fn json(&self, tool: &str) -> Result<Option<Around>, GrammarError> {
        let arguments = json!({(KEYS[0]): WORDS[0]});
        let text = self.say(&[(tool, arguments.clone())])?;
        Ok(around(&text, &arguments.to_string()))
    }

    /// The text around the value of one argument.
    fn single(
        &self,
        tool: &str,
        key: &str,
        value: &Json,
        spelled: &str,
    ) -> Result<Around, GrammarError> {
        let text = self.say(&[(tool, one(key, value))])?;
        let none = || GrammarError::Value {
            tool: tool.to_owned(),
            param: key.to_owned(),
        };
        around(&text, spelled).ok_or_else(none)
    }
}

fn one(key: &str, value: &Json) -> Json {
    let map: Map = [(key.to_owned(), value.clone())].into_iter().collect();
    Json::Object(map)
}

/// The text before and after `what`, which must occur in `text` exactly once.
fn around(text: &str, what: &str) -> Option<Around> {
    let (before, after) = text.split_once(what)?;
    let once = !after.contains(what);
    once.then(|| Around {
        before: before.to_owned(),
        after: after.to_owned(),
    })
}

impl Shapes {
    pub fn new(layout: &Layout, tools: &Inventory) -> Result<Self, GrammarError> {
        if tools.tools().is_empty() {
            return Err(GrammarError::Empty);
        }
        let names = tools.names(layout.dialect(), layout.rule());
        let empty = json!({"type": "object", "properties": {}});
        let mut list = vec![];
        let mut called = vec![];
        for (tool, name) in tools.tools().iter().zip(&names) {
            let schema = tool.parameters.as_ref().unwrap_or(&empty);
            list.push(json!({"name": name, "parameters": schema}));
            called.push(Called { name, schema });
        }
        let text = json!({"type": "object", "properties": {(KEYS[0]): {"type": "string"}, (KEYS[1]): {"type": "string"}}});
        for other in OTHERS {
            list.push(json!({"name": other, "parameters": text}));
        }
        let wrong = |error: toolglot::ToolsError| GrammarError::Call {
            tool: String::new(),
            why: error.to_string(),
        };
        let hints = toolglot::Tools::from_value(&list.into()).map_err(wrong)?;
        let options = EncodeOptions::default().tools(Arc::new(hints));
        let mut writer = Writer {
            encoder: &layout.encoder,
            options,
            first: called.first().map_or("", |one| one.name),
            closer: None,
        };
        if writer.json(OTHERS[0])?.is_none() {
            writer.closer = Some(closer(&writer)?);
        }
        let cores = called.iter().map(|one| match &writer.closer {
            None => whole(&writer, one),
            Some(_) => params(&writer, one).map(Core::Params),
        });
        let cores = cores.collect::<Result<Vec<_>, _>>()?;
        let (open, close) = frame(&writer, &called)?;
        let calls: Option<Vec<Shape>> = cores
            .into_iter()
            .map(|core| {
                Some(Shape {
                    core: core.within(&open, &close)?,
                })
            })
            .collect();
        let form = || GrammarError::Form {
            tool: called[0].name.to_owned(),
        };
        let calls = calls.ok_or_else(form)?;
        for (call, one) in calls.iter().zip(&called) {
            if !call.core.regular() {
                return Err(GrammarError::Form {
                    tool: one.name.to_owned(),
                });
            }
        }
        let between = repeated(&writer, &called, &open, &close);
        Ok(Self {
            open,
            close,
            between,
            calls,
        })
    }
}

/// What ends a text value: the common text after it, whatever follows.
fn closer(writer: &Writer<'_>) -> Result<String, GrammarError> {
    let tool = OTHERS[0];
    let single = writer.single(tool, KEYS[0], &json!(WORDS[0]), WORDS[0])?;
    let both = writer.say(&[(tool, json!({(KEYS[0]): WORDS[0], (KEYS[1]): WORDS[1]}))])?;
    let form = || GrammarError::Form {
        tool: tool.to_owned(),
    };
    let behind = around(&both, WORDS[0]).ok_or_else(form)?.after;
    let middle = around(&behind, WORDS[1]).ok_or_else(form)?.before;
    // The beginning of the next tag is not part of it.
    let closer = prefix(&middle, &single.after).trim_end_matches('<');
    if closer.is_empty() {
        Err(form())
    } else {
        Ok(closer.to_owned())
    }
}

/// A call with its arguments as one JSON text.
fn whole(writer: &Writer<'_>, call: &Called<'_>) -> Result<Core, GrammarError> {
    let form = || GrammarError::Form {
        tool: call.name.to_owned(),
    };
    let around = writer.json(call.name)?.ok_or_else(form)?;
    Ok(Core::Json {
        before: around.before,
        after: around.after,
        schema: call.schema.clone(),
    })
}

/// A call with individual arguments.
fn params(writer: &Writer<'_>, call: &Called<'_>) -> Result<Params, GrammarError> {
    let form = || GrammarError::Form {
        tool: call.name.to_owned(),
    };
    let needed = |key: &str| {
        let list = call.schema.get("required").and_then(Json::as_array);
        list.is_some_and(|list| list.iter().any(|have| have == key))
    };
    let parts: Vec<(&String, &Json)> = properties(call.schema).collect();
    let mut found = vec![];
    for (key, schema) in &parts {
        let (sample, spelled, value) = value(writer, call.name, key, schema)?;
        let around = writer.single(call.name, key, &sample, &spelled)?;
        found.push((sample, spelled, value, around));
    }
    // A call with unknown parameters, or without required ones, is possible without arguments.
    let bare = !parts.iter().any(|(key, _)| needed(key));
    let none = if bare {
        Some(writer.say(&[(call.name, json!({}))]))
    } else {
        None
    };
    let none = match none {
        Some(Err(error)) if found.is_empty() => return Err(error),
        Some(text) => text.ok(),
        None => None,
    };
    let mut after = found
        .first()
        .map(|(.., around)| around.after.clone())
        .unwrap_or_default();
    for (.., around) in &found {
        after = suffix(&after, &around.after).to_owned();
    }
    let mut params = vec![];
    for (index, (sample, spelled, value, around)) in found.iter().enumerate() {
        let (key, _) = parts[index];
        let mut next = String::new();
        // After the first and after the previous one: it must be the same.
        let mut earlier: Vec<usize> = [0, index.saturating_sub(1)]
            .into_iter()
            .filter(|at| *at < index)
            .collect();
        earlier.dedup();
        for before in earlier {
            let (sample_before, spelled_before, _, around_before) = &found[before];
            let mut both = Map::new();
            both.insert(parts[before].0.clone(), sample_before.clone());
            both.insert(key.clone(), sample.clone());
            let text = writer.say(&[(call.name, Json::Object(both))])?;
            let rest = text
                .strip_prefix(&around_before.before)
                .and_then(|t| t.strip_prefix(spelled_before.as_str()));
            let rest = rest
                .and_then(|t| t.strip_suffix(&around.after))
                .and_then(|t| t.strip_suffix(spelled.as_str()));
            let quote = around_before.after.strip_suffix(&after).unwrap_or_default();
            let rest = rest.and_then(|t| t.strip_prefix(quote)).ok_or_else(form)?;
            if !next.is_empty() && next != rest {
                return Err(form());
            }
            rest.clone_into(&mut next);
        }
        params.push(Param {
            first: around.before.clone(),
            next,
            quote: around
                .after
                .strip_suffix(&after)
                .unwrap_or_default()
                .to_owned(),
            needed: needed(key),
            value: value.clone(),
        });
    }
    Ok(Params {
        none,
        params,
        after,
        closer: writer.closer.clone().unwrap_or_default(),
    })
}

/// A sample of a parameter's value, its spelling, and the possible values.
fn value(
    writer: &Writer<'_>,
    tool: &str,
    key: &str,
    schema: &Json,
) -> Result<(Json, String, Form), GrammarError> {
    let none = || GrammarError::Value {
        tool: tool.to_owned(),
        param: key.to_owned(),
    };
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Json::String(kind)) => vec![kind],
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
        _ => vec![],
    };
    let listed = schema.get("enum").and_then(Json::as_array).cloned();
    let fixed = schema.get("const").map(|value| vec![value.clone()]);
    let choices = listed
        .or(fixed)
        .or_else(|| (kinds == ["boolean"]).then(|| vec![json!(true), json!(false)]));
    if let Some(choices) = choices.filter(|list| !list.is_empty()) {
        let spelled = spelled(writer, tool, key, &choices)?;
        let first = (choices[0].clone(), spelled[0].clone());
        return Ok((first.0, first.1, Form::Choice(spelled)));
    }
    let structured = !kinds.is_empty() && !kinds.contains(&"string");
    if structured {
        let sample = match kinds[0] {
            "integer" => json!(9_081_726),
            "number" => json!(9_081.75),
            "boolean" => json!(true),
            "array" => json!([WORDS[0]]),
            "object" => json!({(KEYS[0]): WORDS[0]}),
            _ => Json::Null,
        };
        let sample = if kinds[0] == "array" {
            fitting(schema, sample)
        } else {
            sample
        };
        let text = sample.to_string();
        let said = writer.say(&[(tool, one(key, &sample))])?;
        around(&said, &text).ok_or_else(none)?;
        return Ok((sample, text, Form::Json(schema.clone())));
    }
    let sample = json!(WORDS[0]);
    let plain = writer.single(tool, key, &sample, WORDS[0])?;
    let raw = |special: &char| {
        let text = format!("zq{special}qz");
        let said = writer.say(&[(tool, one(key, &json!(text)))]);
        said.is_ok_and(|said| said == format!("{}{text}{}", plain.before, plain.after))
    };
    let never = SPECIAL
        .into_iter()
        .filter(|special| !raw(special))
        .collect();
    Ok((sample, WORDS[0].to_owned(), Form::Text { never }))
}

/// A list whose item has the type that the schema requires.
fn fitting(schema: &Json, list: Json) -> Json {
    match schema
        .get("items")
        .and_then(|items| items.get("type"))
        .and_then(Json::as_str)
    {
        Some("integer") => json!([9_081_726]),
        Some("number") => json!([9_081.75]),
        Some("boolean") => json!([true]),
        Some("object") => json!([{(KEYS[0]): WORDS[0]}]),
        Some("array") => json!([[]]),
        _ => list,
    }
}

/// The spelling of each of some values: the difference between a call with the value and a call with a word.
fn spelled(
    writer: &Writer<'_>,
    tool: &str,
    key: &str,
    values: &[Json],
) -> Result<Vec<String>, GrammarError> {
    let texts = values
        .iter()
        .map(|value| writer.say(&[(tool, one(key, value))]));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    let plain = |value: &Json| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let none = || GrammarError::Value {
        tool: tool.to_owned(),
        param: key.to_owned(),
    };
    let candidate = |text: &str, value: &Json| {
        let mut ways = vec![plain(value)];
        ways.extend([value.to_string()]);
        let title = plain(value);
        let mut letters = title.chars();
        ways.extend(
            letters
                .next()
                .map(|first| first.to_uppercase().collect::<String>() + letters.as_str()),
        );
        ways.into_iter()
            .find_map(|way| around(text, &way).map(|around| (way, around)))
    };
    let (first, frame) = candidate(&texts[0], &values[0]).ok_or_else(none)?;
    let mut out = vec![first];
    for text in &texts[1..] {
        let inner = text
            .strip_prefix(&frame.before)
            .and_then(|text| text.strip_suffix(&frame.after));
        out.push(inner.ok_or_else(none)?.to_owned());
    }
    Ok(out)
}

/// What all calls begin and end with.
fn frame(writer: &Writer<'_>, called: &[Called<'_>]) -> Result<(String, String), GrammarError> {
    let mut befores: Vec<String> = vec![];
    let mut afters: Vec<String> = vec![];
    let mut add = |around: Around| {
        let after = around.after.as_str();
        let closer = writer.closer.as_deref().unwrap_or_default();
        afters.push(after.strip_prefix(closer).unwrap_or(after).to_owned());
        befores.push(around.before);
    };
    for other in OTHERS {
        add(match writer.closer {
            None => writer.json(other)?.ok_or(GrammarError::Form {
                tool: other.to_owned(),
            })?,
            Some(_) => writer.single(other, KEYS[0], &json!(WORDS[0]), WORDS[0])?,
        });
    }
    if writer.closer.is_some() {
        let bare = OTHERS.into_iter().chain(called.iter().map(|one| one.name));
        let bare = bare.filter_map(|name| writer.say(&[(name, json!({}))]).ok());
        bare.for_each(|text| {
            add(Around {
                before: text.clone(),
                after: text,
            })
        });
    }
    let mut open = befores[0].as_str();
    let mut close = afters[0].as_str();
    befores.iter().for_each(|text| open = prefix(open, text));
    afters.iter().for_each(|text| close = suffix(close, text));
    Ok((open.to_owned(), close.to_owned()))
}

/// The text between two calls, if it is the same between further ones.
fn repeated(writer: &Writer<'_>, called: &[Called<'_>], open: &str, close: &str) -> Option<String> {
    let calls: Vec<(&str, Json)> = OTHERS
        .iter()
        .map(|name| (*name, json!({(KEYS[0]): WORDS[0]})))
        .chain(called.first().map(|one| (one.name, json!({}))))
        .collect();
    let two = writer.say(&calls[..2]).ok()?;
    let ones: Vec<String> = calls
        .iter()
        .map(|one| writer.say(std::slice::from_ref(one)))
        .collect::<Result<_, _>>()
        .ok()?;
    let inner = |text: &str| {
        text.strip_prefix(open)?
            .strip_suffix(close)
            .map(str::to_owned)
    };
    let cores: Vec<String> = ones.iter().map(|text| inner(text)).collect::<Option<_>>()?;
    let between = inner(&two)?
        .strip_prefix(&cores[0])?
        .strip_suffix(&cores[1])?
        .to_owned();
    for order in [vec![0, 1, 0], vec![1, 0, 2, 1], vec![2, 2]] {
        let some: Vec<(&str, Json)> = order.iter().map(|at| calls[*at].clone()).collect();
        let want: Vec<&str> = order.iter().map(|at| cores[*at].as_str()).collect();
        let have = writer.say(&some).ok()?;
        if inner(&have)? != want.join(&between) {
            return None;
        }
    }
    Some(between)
}

impl Core {
    /// Removes what all calls have in common.
    fn within(self, open: &str, close: &str) -> Option<Self> {
        let begin = |text: &str| text.strip_prefix(open).map(str::to_owned);
        let end = |text: &str| text.strip_suffix(close).map(str::to_owned);
        Some(match self {
            Self::Json {
                before,
                after,
                schema,
            } => Self::Json {
                before: begin(&before)?,
                after: end(&after)?,
                schema,
            },
            Self::Params(mut params) => {
                if let Some(none) = &params.none {
                    params.none = Some(end(&begin(none)?)?);
                }
                for param in &mut params.params {
                    param.first = begin(&param.first)?;
                }
                if !params.params.is_empty() {
                    params.after = end(&params.after)?;
                }
                Self::Params(params)
            }
        })
    }

    /// Whether every text value is followed by the text's closer, whatever follows.
    fn regular(&self) -> bool {
        let Self::Params(params) = self else {
            return true;
        };
        let list = params.params.iter().enumerate();
        let texts = list.filter(|(_, param)| matches!(param.value, Form::Text { .. }));
        let fits = |(index, param): (usize, &Param)| {
            let later = params.params[index + 1..].iter().map(|later| &later.next);
            let mut behind = later.chain([&params.after]);
            behind.all(|text| format!("{}{text}", param.quote).starts_with(&params.closer))
        };
        texts.into_iter().all(fits)
    }

    /// The rule of a call.
    pub fn expr(&self, name: &str, grammar: &mut Grammar, schemas: bool) -> Expr {
        match self {
            Self::Json {
                before,
                after,
                schema,
            } => {
                let value = json_value(schema, &format!("{name}a"), grammar, schemas);
                let text = |text: &str| Expr::Text(text.to_owned());
                Expr::Seq(vec![text(before), value, text(after)])
            }
            Self::Params(params) => params.expr(name, grammar, schemas),
        }
    }
}

fn json_value(schema: &Json, name: &str, grammar: &mut Grammar, schemas: bool) -> Expr {
    let value = if schemas {
        Expr::Schema(schema.clone())
    } else {
        schema::expr(schema, name, grammar, 0)
    };
    grammar.add(name, value);
    Expr::Rule(name.to_owned())
}

impl Params {
    fn expr(&self, name: &str, grammar: &mut Grammar, schemas: bool) -> Expr {
        for (index, param) in self.params.iter().enumerate() {
            let rule = format!("{name}v{index}");
            let value = match &param.value {
                Form::Text { never } => grammar.until(&self.closer, never),
                Form::Choice(texts) => Expr::Or(texts.iter().cloned().map(Expr::Text).collect()),
                Form::Json(schema) => json_value(schema, &format!("{rule}j"), grammar, schemas),
            };
            grammar.add(&rule, value);
        }
        let mut ways = vec![];
        for index in 0..self.params.len() {
            ways.push(self.from(name, index, &self.params[index].first));
            if self.params[index].needed {
                break;
            }
        }
        ways.extend(self.none.clone().map(Expr::Text));
        // What may follow each parameter.
        for (index, param) in self.params.iter().enumerate() {
            // A text value includes its closer.
            let taken = match param.value {
                Form::Text { .. } => self.closer.as_str(),
                Form::Choice(_) | Form::Json(_) => "",
            };
            let behind = |text: &str| {
                let all = format!("{}{text}", param.quote);
                all.strip_prefix(taken).map(str::to_owned)
            };
            let mut next = vec![];
            let mut ended = true;
            for later in index + 1..self.params.len() {
                if let Some(text) = behind(&self.params[later].next) {
                    next.push(self.from(name, later, &text));
                }
                if self.params[later].needed {
                    ended = false;
                    break;
                }
            }
            if ended && let Some(text) = behind(&self.after) {
                next.push(Expr::Text(text));
            }
            grammar.add(&format!("{name}n{index}"), Expr::Or(next));
        }
        Expr::Or(ways)
    }

    /// A parameter after this text, and all that may follow.
    fn from(&self, name: &str, index: usize, before: &str) -> Expr {
        let rule = |kind: char| Expr::Rule(format!("{name}{kind}{index}"));
        Expr::Seq(vec![Expr::Text(before.to_owned()), rule('v'), rule('n')])
    }
}

fn properties(schema: &Json) -> impl Iterator<Item = (&String, &Json)> {
    schema
        .get("properties")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
}

/// The common prefix.
fn prefix<'t>(one: &'t str, other: &str) -> &'t str {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    &one[..same.map(|(c, _)| c.len_utf8()).sum()]
}

/// The common suffix.
fn suffix<'t>(one: &'t str, other: &str) -> &'t str {
    let same = one
        .chars()
        .rev()
        .zip(other.chars().rev())
        .take_while(|(a, b)| a == b);
    let len: usize = same.map(|(c, _)| c.len_utf8()).sum();
    &one[one.len() - len..]
}
