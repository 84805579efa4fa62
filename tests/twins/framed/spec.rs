//! A dialect's file, as far as the twin of framed dialects uses it.

use toml::{Table, Value};

use super::evidence::evidence;
use super::pattern::{Part, Pattern, pattern};

/// A framed dialect.
pub struct Spec {
    pub section: Option<Section>,
    pub units: Vec<Unit>,
    pub param: Option<Param>,
    /// The same for the payload `tree`.
    pub tree: Option<Param>,
    pub json: Json,
    pub python: Python,
    pub braces: Braces,
    pub ids: Vec<(String, String)>,
    /// The separator in a name that is written twice.
    pub doubled: String,
    pub reasoning: Vec<Reasoning>,
    /// Whether its calls end an open thought.
    pub ends_thought: bool,
    pub framing: Vec<String>,
    /// The openers of others' turns, and whether a name follows each.
    pub others: Vec<(String, bool)>,
    /// Framing that opens messages of text.
    pub messages: Vec<String>,
    /// Framing that is also ordinary markup.
    pub markup: Vec<String>,
    /// How a reply begins if the prompt has opened something.
    pub begins: Vec<Pattern>,
    pub channels: Option<Channels>,
    /// Tokens that end the model's turn.
    pub ends: Vec<Pattern>,
    /// What begins a header.
    pub headers: Vec<Pattern>,
    pub malformed_is_text: bool,
    pub unclosed_is_text: bool,
    /// Whether text of unknown type is read as JSON if possible.
    pub untyped_is_json: bool,
    /// Possible values of `$x`, if the spelling of an opener determines it.
    pub fixes: Vec<String>,
    /// Known misspellings of openers and closers.
    pub misspelt: Vec<String>,
    pub spans: Vec<Span>,
}

/// A region in which nothing is recognised.
pub struct Span {
    pub open: String,
    pub close: String,
    pub at: String,
}

/// Messages with headers.
pub struct Channels {
    pub start: Vec<String>,
    pub first: String,
    pub end: Vec<String>,
    pub close: Vec<String>,
    pub recipient: String,
    pub channel: String,
    pub content: String,
    pub routes: Vec<Route>,
}

/// What messages of a kind must have in their headers; empty means anything.
pub struct Route {
    pub kind: String,
    pub start: Option<Vec<String>>,
    pub role: Option<Vec<String>>,
    pub recipient: Option<Vec<String>>,
    pub channel: Option<Vec<String>>,
    pub content: Option<Vec<String>>,
    pub end: Option<Vec<String>>,
}

pub struct Section {
    pub open: Vec<Pattern>,
    pub close: Vec<Pattern>,
    pub optional: bool,
    pub separators: Vec<Pattern>,
    pub probe: Vec<Pattern>,
    pub prose: bool,
    /// The argument of every call that the section's attributes form.
    pub argument: Option<String>,
}

pub struct Unit {
    pub open: Vec<Pattern>,
    pub close: Vec<Pattern>,
    pub payload: String,
    pub probe: Vec<Pattern>,
    pub more: Vec<Pattern>,
    pub name: String,
    pub attributes: bool,
    pub offered: bool,
    /// Whether `$x` in its other markers is the tool's name.
    pub fix_name: bool,
    /// The number of bytes that may show that the opener opens a call, and where it counts.
    pub bare: Option<(usize, String)>,
    pub content: Option<Content>,
}

pub struct Content {
    pub argument: String,
    pub recipients: Vec<String>,
    pub rules: Vec<ContentRule>,
}

pub struct ContentRule {
    pub tools: Vec<String>,
    pub requires: Vec<String>,
    pub trim: bool,
    pub unfence: bool,
    pub unless: Vec<(String, String)>,
    pub newline: bool,
}

pub struct Param {
    pub open: Vec<Pattern>,
    pub close: Vec<String>,
    pub name: String,
    pub frame: String,
    /// Parameters whose frame is a newline, whatever the others have.
    pub newline: Vec<String>,
    pub line: bool,
    pub confirm: usize,
    pub cdata: bool,
    /// Whether entities are decoded.
    pub entities: bool,
    pub hint: Option<Hint>,
}

pub struct Hint {
    pub attribute: Option<String>,
    pub text: Vec<String>,
}

pub struct Json {
    pub name: Vec<String>,
    pub arguments: Vec<String>,
    pub wrapper: Vec<String>,
    pub name_is_key: bool,
    /// Whether its values have Python's spelling.
    pub python: bool,
}

pub struct Python {
    pub brackets: String,
    pub method: String,
    /// Quotes only delimit: the schema gives the type of the quoted text.
    pub quoted_typed: bool,
    /// Whether the list may hold calls in JSON instead.
    pub json: bool,
}

pub struct Braces {
    pub prefix: String,
    pub delimiters: Vec<String>,
    pub all_delimited: bool,
    /// The closers of calls.
    pub closers: Vec<String>,
}

pub struct Reasoning {
    pub open: Vec<String>,
    pub close: Vec<String>,
    pub label: String,
    /// Whether an opener inside is framing.
    pub repeats: bool,
    pub at: String,
    pub ended_by: Vec<String>,
}

pub(super) fn strings(table: &Table, key: &str, default: &[&str]) -> Vec<String> {
    match table.get(key) {
        None => default.iter().map(|s| (*s).to_owned()).collect(),
        Some(Value::String(one)) => vec![one.clone()],
        Some(value) => {
            let list = value.as_array().expect("a list").iter();
            list.map(|s| s.as_str().expect("strings").to_owned())
                .collect()
        }
    }
}

fn patterns(table: &Table, key: &str) -> Vec<Pattern> {
    let list = strings(table, key, &[]);
    list.iter().map(|s| pattern(s)).collect()
}

pub(super) fn word(table: &Table, key: &str, default: &str) -> String {
    let given = table.get(key).and_then(Value::as_str);
    given.unwrap_or(default).to_owned()
}

fn maybe(table: &Table, key: &str) -> Option<String> {
    table.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn pairs(list: Option<&Value>) -> Vec<(String, String)> {
    let pair = |value: &Value| {
        let pair = value.as_array().expect("a pair");
        let text = |n: usize| pair[n].as_str().expect("a string").to_owned();
        (text(0), text(1))
    };
    let list = list.and_then(Value::as_array);
    list.into_iter().flatten().map(pair).collect()
}

fn content(value: &Value) -> Content {
    let table = value.as_table().expect("a table");
    let rules = table.get("rule").and_then(Value::as_array);
    let rule = |value: &Value| {
        let rule = value.as_table().expect("a table");
        ContentRule {
            tools: strings(rule, "tools", &[]),
            requires: strings(rule, "requires", &[]),
            trim: is(rule, "trim"),
            unfence: is(rule, "unfence"),
            unless: pairs(rule.get("unless")),
            newline: is(rule, "newline"),
        }
    };
    Content {
        argument: word(table, "argument", ""),
        recipients: strings(table, "recipients", &[]),
        rules: rules.into_iter().flatten().map(rule).collect(),
    }
}

fn channels(value: &Value) -> Channels {
    let table = value.as_table().expect("a table");
    let route = |value: &Value| {
        let route = value.as_table().expect("a table");
        let part = |key| route.contains_key(key).then(|| strings(route, key, &[]));
        Route {
            kind: word(route, "kind", ""),
            start: part("start"),
            role: part("role"),
            recipient: part("recipient"),
            channel: part("channel"),
            content: part("content"),
            end: part("end"),
        }
    };
    let routes = table["route"].as_array().expect("routes").iter();
    Channels {
        start: strings(table, "start", &[]),
        first: word(table, "first", ""),
        end: strings(table, "end", &[]),
        close: strings(table, "close", &[]),
        recipient: word(table, "recipient", ""),
        channel: word(table, "channel", ""),
        content: word(table, "content", ""),
        routes: routes.map(route).collect(),
    }
}

fn is(table: &Table, key: &str) -> bool {
    table.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn number(table: &Table, key: &str, default: usize) -> usize {
    let given = table.get(key).and_then(Value::as_integer);
    given.map_or(default, |n| usize::try_from(n).expect("a size"))
}

/// The openers of turns, with and without their line end, unless the file calls them markup.
fn turns(file: &Table) -> Vec<String> {
    let markup = strings(file, "markup", &[]);
    strings(file, "turn", &[])
        .into_iter()
        .filter(|turn| !markup.contains(turn))
        .flat_map(|turn| match turn.ends_with(char::is_alphanumeric) {
            true => vec![format!("{turn}\n"), turn],
            false => vec![turn],
        })
        .collect()
}

/// Tokens, those that end with their line also with CRLF.
fn lines(tokens: Vec<String>) -> Vec<String> {
    let line = |token: &&String| token.contains('\n') && !token.contains('\r');
    let returns = tokens
        .iter()
        .filter(line)
        .map(|token| token.replace('\n', "\r\n"));
    let returns: Vec<_> = returns.collect();
    [tokens, returns].concat()
}

/// Dialects that the twin does not support: if messages themselves say what is reasoning, and a thought between markers may
/// begin in any of them. No built-in dialect has both.
fn is_beyond(file: &Table) -> bool {
    file.contains_key("channels") && file.contains_key("reasoning")
}

fn begins(file: &Table) -> Vec<Pattern> {
    let list = file.get("begins").and_then(Value::as_array);
    let tables = list.into_iter().flatten().filter_map(Value::as_table);
    tables.flat_map(|table| patterns(table, "reply")).collect()
}

fn fixes(framed: &Table) -> Vec<String> {
    let fixed = framed.get("fixed").and_then(Value::as_table);
    let all = fixed.into_iter().flatten();
    let all = all.map(|(_, fix)| fix.as_str().expect("a string").to_owned());
    let all: std::collections::BTreeSet<String> = all.collect();
    all.into_iter().collect()
}

fn spans(file: &Table) -> Vec<Span> {
    let list = file.get("span").and_then(Value::as_array);
    let tables = list.into_iter().flatten().filter_map(Value::as_table);
    let span = |table: &Table| Span {
        open: word(table, "open", ""),
        close: word(table, "close", ""),
        at: word(table, "at", "line-start"),
    };
    tables.map(span).collect()
}

impl Spec {
    /// Reads a dialect's file; `None` if the dialect is not framed and has no messages, or is not supported.
    pub fn new(text: &str) -> Option<Self> {
        let file: Table = text.parse().expect("a built-in file is TOML");
        let empty = Table::new();
        let framed = match file.get("framed") {
            Some(framed) => framed.as_table().expect("a table"),
            None if file.contains_key("channels") => &empty,
            None => return None,
        };
        if is_beyond(&file) {
            return None;
        }
        let units = framed.get("unit").and_then(Value::as_array);
        let table = |key: &str| framed.get(key).and_then(Value::as_table);
        let (of_section, of_unit) = evidence(framed);
        let read =
            |list: &Vec<String>| -> Vec<Pattern> { list.iter().map(|p| pattern(p)).collect() };
        let section = table("section").map(|section| Section {
            open: patterns(section, "open"),
            close: patterns(section, "close"),
            optional: is(section, "optional"),
            separators: patterns(section, "separators"),
            probe: read(&of_section),
            prose: is(section, "prose"),
            argument: maybe(section, "argument"),
        });
        let unit = |value: &Value| {
            let unit = value.as_table().expect("a unit");
            let bare = unit.get("bare").and_then(Value::as_table);
            Unit {
                open: patterns(unit, "open"),
                close: patterns(unit, "close"),
                payload: word(unit, "payload", ""),
                probe: read(&of_unit(unit)),
                more: patterns(unit, "more"),
                name: word(unit, "name", "name"),
                attributes: is(unit, "attributes"),
                offered: is(unit, "offered"),
                fix_name: is(unit, "fix_name"),
                content: unit.get("content").map(content),
                bare: bare.map(|b| (256, word(b, "at", ""))),
            }
        };
        let param = |param: &Table| Param {
            open: patterns(param, "open"),
            close: strings(param, "close", &[]),
            name: word(param, "name", "name"),
            frame: word(param, "frame", "verbatim"),
            newline: strings(param, "newline", &[]),
            line: is(param, "line"),
            confirm: number(param, "confirm", 64),
            cdata: is(param, "cdata"),
            entities: is(param, "entities"),
            hint: param
                .get("hint")
                .and_then(Value::as_table)
                .map(|hint| Hint {
                    attribute: hint
                        .get("attribute")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                    text: strings(hint, "text", &[]),
                }),
        };
        let json = table("json").unwrap_or(&empty);
        let python = table("python").unwrap_or(&empty);
        let braces = table("braces").unwrap_or(&empty);
        let reasoning = file.get("reasoning").and_then(Value::as_array);
        let reasoning = reasoning.into_iter().flatten().map(|value| {
            let table = value.as_table().expect("a table");
            Reasoning {
                open: strings(table, "open", &[]),
                close: strings(table, "close", &[]),
                label: word(table, "label", ""),
                repeats: is(table, "repeats"),
                at: word(table, "at", "line-start"),
                ended_by: strings(table, "ended_by", &[]),
            }
        });
        let channels = file.get("channels").map(channels);
        // Where messages have headers, the opener of a turn begins one.
        let others = strings(&file, "others", &[]);
        let (turns, begun) = match channels {
            Some(_) => (vec![], turns(&file)),
            None => (turns(&file), vec![]),
        };
        let starts = || channels.iter().flat_map(|channels| &channels.start);
        let tokens = strings(&file, "framing", &[]);
        let ends = channels.iter().flat_map(|channels| &channels.close);
        let ends = tokens.iter().chain(ends);
        let ends = ends.filter(|end| !end.contains('$') && starts().all(|start| start != *end));
        Some(Self {
            ends: ends.map(|end| pattern(end)).collect(),
            headers: starts().map(|start| pattern(start)).collect(),
            section,
            units: units.into_iter().flatten().map(unit).collect(),
            param: table("param").map(param),
            tree: table("tree").map(param),
            json: Json {
                name: strings(json, "name", &["name"]),
                arguments: strings(json, "arguments", &["arguments", "parameters"]),
                wrapper: strings(json, "wrapper", &[]),
                name_is_key: is(json, "name_is_key"),
                python: is(json, "python"),
            },
            python: Python {
                brackets: word(python, "brackets", "required"),
                method: word(python, "method", ""),
                quoted_typed: is(python, "quoted_typed"),
                json: is(python, "json"),
            },
            braces: Braces {
                prefix: word(braces, "prefix", ""),
                delimiters: strings(braces, "delimiters", &[]),
                all_delimited: is(braces, "all_delimited"),
                closers: units
                    .into_iter()
                    .flatten()
                    .flat_map(|unit| strings(unit.as_table().expect("a unit"), "close", &[]))
                    .collect(),
            },
            ids: pairs(framed.get("ids")),
            doubled: word(framed, "doubled", ""),
            reasoning: reasoning.collect(),
            ends_thought: is(&file, "ends_thought"),
            framing: lines([strings(&file, "framing", &[]), turns, others.clone()].concat()),
            others: others
                .into_iter()
                .map(|other| {
                    let named = strings(&file, "turn", &[])
                        .iter()
                        .any(|turn| turn.starts_with(&other));
                    (other, named)
                })
                .collect(),
            messages: strings(&file, "messages", &[]),
            markup: lines([strings(&file, "markup", &[]), begun].concat()),
            begins: begins(&file),
            channels,
            malformed_is_text: word(&file, "malformed", "drop") == "text",
            unclosed_is_text: word(&file, "unclosed", "drop") == "text",
            untyped_is_json: word(&file, "untyped", "string") == "json",
            fixes: fixes(framed),
            misspelt: strings(framed, "misspelt", &[]),
            spans: spans(&file),
        })
    }

    /// How the parameters of a unit are written.
    pub fn params(&self, unit: usize) -> &Param {
        let tree = self.units[unit].payload == "tree";
        let param = if tree { &self.tree } else { &self.param };
        param.as_ref().expect("parameters have their table")
    }

    /// Whether its calls are in code fences.
    pub fn fenced(&self) -> bool {
        let mut opens = self.units.iter().flat_map(|unit| &unit.open).flatten();
        opens.any(|part| *part == Part::Hole("ticks"))
    }

    /// Whether units may occur outside a section.
    pub fn stands_alone(&self) -> bool {
        self.section.as_ref().is_none_or(|section| section.optional)
    }
}
