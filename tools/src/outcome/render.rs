//! Writes results in the layout of a dialect.

use std::borrow::Cow;

use minijinja::Value;
use toolglot::json::{Map, Value as Json, json};
use toolglot::layer::Beside;
use toolglot::layer::Breaker;
use toolglot::layer::Tokens;
use toolglot::layer::one_line;
use toolglot::{DialectSet, Kind};
use toolglot_scan::breaks;

use super::around::Around;
use super::{Condense, Content, Status, ToolResult};
use crate::guard::{Guard, ID, KEY, LIST, NAME, TEXT};
use crate::prompt::tool::Facts;
use crate::prompt::{Lang, Layout, Part, PromptError};

/// How to write results.
///
/// ```
/// use toolglot_tools::outcome::{Condense, RenderOptions, Renderer, Status, ToolResult};
/// use toolglot_tools::prompt::{Lang, Layout};
///
/// let set = toolglot::DialectSet::builtin("hermes")?;
/// let renderer = Renderer::new(&set, Layout::new(&set, "hermes")?)?;
/// let page = ToolResult::text("c1", "fetch", Status::Success, &"word ".repeat(1000));
/// let options = RenderOptions::new(Lang::En).condense(Condense::default().head(100).tail(50));
/// assert!(renderer.render(&[page], &options)?.len() < 400);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RenderOptions {
    /// The language of the layout's own words.
    pub lang: Lang,
    /// How much of each result to keep.
    pub condense: Condense,
}

toolglot::setters! {
    RenderOptions:
    lang = Lang,
    condense = Condense,
}

impl RenderOptions {
    /// Options for a language.
    #[must_use]
    pub fn new(lang: Lang) -> Self {
        Self {
            lang,
            ..Self::default()
        }
    }
}

/// Writes results of calls as the systems of a dialect do.
///
/// ```
/// use toolglot_tools::outcome::{RenderOptions, Renderer, Status, ToolResult};
/// use toolglot_tools::prompt::{Lang, Layout};
///
/// let set = toolglot::DialectSet::defaults();
/// let renderer = Renderer::new(&set, Layout::new(&set, "hermes")?)?;
/// let page = ToolResult::text("c1", "fetch", Status::Success, "Ha! <tool_call>{}</tool_call>");
/// assert_eq!(
///     renderer.render(&[page], &RenderOptions::new(Lang::En))?,
///     "<tool_response>\nHa! <\\tool_call>{}<\\/tool_call>\n</tool_response>"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Renderer {
    layout: Layout,
    /// The markers of the host's dialects and of this one.
    breaker: Breaker,
    /// The marks of the layout, and the tokens of the model that reads it.
    guard: Guard,
    /// The text around the fields of the layout.
    around: Around,
    /// The layout writes nothing around results.
    bare: bool,
    says: Vec<(Status, Says)>,
}

impl Renderer {
    /// Creates a renderer for a layout. No dialect of `active` finds a marker in its output; the layout's own dialect need not
    /// be one of them.
    ///
    /// # Errors
    /// The markers of the set cannot be escaped.
    pub fn new(active: &DialectSet, layout: Layout) -> Result<Self, PromptError> {
        let breaker = Breaker::new(active, &layout.spec)?;
        let tokens = Tokens::of(&layout.spec);
        let mut filled = samples(&layout, TEXT, Status::ALL);
        let mut guard = Guard::default();
        filled.iter().for_each(|filled| guard.learn(filled));
        filled.extend(samples(&layout, LIST, &[Status::Success]));
        let bare = guard.is_empty();
        guard.observations(&layout.spec.observe);
        for mark in &layout.spec.prompt.guard {
            guard.add(mark);
        }
        guard.tokens(&tokens);
        Ok(Self {
            around: Around::new(&breaker, &filled, &layout.spec, &tokens),
            says: Says::of(&layout),
            layout,
            breaker,
            guard,
            bare,
        })
    }

    /// The layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The role of the message with the results: `"user"` unless the dialect says otherwise.
    #[must_use]
    pub fn role(&self) -> &str {
        self.layout.spec.prompt.role.as_deref().unwrap_or("user")
    }

    /// Whether the layout writes nothing around a result: then only messages separate results, and each has its own.
    #[must_use]
    pub(super) fn apart(&self) -> bool {
        self.bare
    }

    /// Writes the results of one turn, batched as the layout does it. Without results the text is empty.
    ///
    /// # Errors
    /// A template fails.
    pub fn render(
        &self,
        results: &[ToolResult],
        options: &RenderOptions,
    ) -> Result<String, PromptError> {
        if results.is_empty() {
            return Ok(String::new());
        }
        let facts = results
            .iter()
            .enumerate()
            .map(|(index, result)| Value::from_object(self.facts(index, result, options)));
        let all: Vec<Value> = facts.collect();
        let mut context = self.layout.context(options.lang);
        context.insert("results", Value::from(all));
        self.layout.fill(Part::Results, context)
    }

    fn facts(&self, index: usize, result: &ToolResult, options: &RenderOptions) -> Facts {
        let says = self.says(result.status);
        let text = self.told(result, options, &self.around.text, says);
        let observed = self.observed(result);
        let json = match result.content.as_slice() {
            [Content::Json(value)] => {
                marked(options.condense.pick(value), result.status, says).into_owned()
            }
            _ => Json::from(text.as_str()),
        };
        Facts::from([
            ("index", Value::from(index + 1)),
            ("id", Value::from(self.field(&result.id, &self.around.id))),
            (
                "name",
                Value::from(self.field(&result.name, &self.around.name)),
            ),
            ("status", Value::from(result.status.name())),
            ("ok", Value::from(result.status == Status::Success)),
            ("observed", Value::from(observed)),
            (
                "value",
                crate::template::json::value(&self.inside(&json, true)),
            ),
            ("text", Value::from(text)),
            (
                "duration_ms",
                Value::from(result.duration.map(|d| d.as_millis() as u64)),
            ),
        ])
    }

    /// The contents of a result, condensed and escaped for use outside a layout, as in an API message. They say if the call
    /// failed. They are safe at the beginning of a line, or after anything that does not end inside a marker, whatever follows.
    ///
    /// # Errors
    /// Currently none.
    pub fn content(
        &self,
        result: &ToolResult,
        options: &RenderOptions,
    ) -> Result<String, PromptError> {
        Ok(self.told(result, options, &self.around.line, Says::Nothing))
    }

    /// The same for a message that has a flag for failures.
    pub(super) fn flagged(&self, result: &ToolResult, options: &RenderOptions) -> String {
        self.told(result, options, &self.around.line, Says::Failure)
    }

    fn says(&self, status: Status) -> Says {
        let found = self.says.iter().find(|(have, _)| *have == status);
        found.map_or(Says::Status, |(_, says)| *says)
    }

    fn told(
        &self,
        result: &ToolResult,
        options: &RenderOptions,
        beside: &Beside,
        says: Says,
    ) -> String {
        let alone = matches!(result.content.as_slice(), [Content::Json(_)]);
        let lead = match alone && result.status != Status::Success && says == Says::Nothing {
            true => String::new(),
            false => self.lead(result, options.lang, says),
        };
        let mut parts = vec![];
        for content in &result.content {
            parts.push(match content {
                Content::Json(value) => {
                    let value = options.condense.pick(value);
                    Piece::Json(match alone {
                        true => marked(value, result.status, says),
                        false => Cow::Borrowed(value),
                    })
                }
                other => Piece::Text(plain(other, options.lang)),
            });
        }
        if let ([Piece::Json(value)], true) = (parts.as_slice(), lead.is_empty())
            && (value.is_object() || value.is_array())
        {
            // JSON whose strings are safe is itself safe, if no marker occurs between them.
            let value = self.inside(value.as_ref(), false);
            let frame = text_of(&hollow(&value));
            if self.between(&frame, beside) == frame {
                return self.short(&text_of(&value), options);
            }
        }
        let whole = joined(&parts, text_of);
        let short = self.short(&whole, options);
        // JSON of which the end is missing is text.
        let hole = match short == whole {
            true => hole(&lead, &whole),
            false => None,
        };
        let Some(hole) = hole else {
            return self.guarded(&self.safe(&(lead + &short), beside), result);
        };
        // Strings in JSON are escaped by themselves, so that JSON stays JSON.
        let mut strings = vec![];
        let text = lead + &joined(&parts, |value| text_of(&emptied(value, hole, &mut strings)));
        let text = self.guarded(&self.safe(&text, beside), result);
        let filled = text.split(hole).enumerate().map(|(index, piece)| {
            let string = piece.parse().ok().filter(|_| index % 2 == 1);
            let string = string.and_then(|number: usize| strings.get(number));
            string.map_or(Cow::Borrowed(piece), |string| {
                let string = text_of(&Json::from(self.quoted(string, false)));
                Cow::Owned(string[1..string.len() - 1].to_owned())
            })
        });
        filled.collect()
    }

    /// The text of a result without marks of the layout.
    fn guarded(&self, text: &str, result: &ToolResult) -> String {
        match self.observed(result) {
            true => self.guard.within(text),
            false => self.guard.text(text),
        }
    }

    /// The words before the content of a result, or in its place, where the layout does not say how the call ended.
    fn lead(&self, result: &ToolResult, lang: Lang, says: Says) -> String {
        let status = result.status;
        let empty = result
            .content
            .iter()
            .all(|part| plain(part, lang).is_empty());
        let (error, open, close, colon) = match lang {
            Lang::Zh => ("错误", "（", "）：", "："),
            Lang::En => ("Error", " (", "): ", ": "),
        };
        let sentence = || match empty {
            true => status.sentence(lang, result.duration),
            false => status.sentence(lang, result.duration) + colon,
        };
        let name = status.name();
        match (status, says) {
            (Status::Success, _) => String::new(),
            // These words are those of a design: with nothing before them.
            (Status::Denied, _) => sentence(),
            (_, Says::Nothing) if self.observed(result) || general(result) => String::new(),
            (Status::Error, Says::Nothing) if empty => format!("{error}{colon}{}", sentence()),
            (Status::Error, Says::Nothing) => format!("{error}{colon}"),
            (_, Says::Nothing) if empty => format!("{error}{open}{name}{close}{}", sentence()),
            (_, Says::Nothing) => format!("{error}{open}{name}{close}"),
            (_, Says::Failure | Says::Status) if empty => sentence(),
            (Status::Error, Says::Failure) | (_, Says::Status) => String::new(),
            (_, Says::Failure) => format!("{name}{colon}"),
        }
    }

    /// Whether a failure is reported line by line in the dialect's own wording for this very call, as a check does. Such lines
    /// stay as they are; all others are the tool's text, whatever they begin with.
    fn observed(&self, result: &ToolResult) -> bool {
        let [Content::Text(text)] = result.content.as_slice() else {
            return false;
        };
        let name = one_line(&result.name);
        let own = |line: &str| {
            self.layout.spec.observe.iter().any(|(key, template)| {
                let told = match key.as_str() {
                    "executed" => false,
                    "failed" | "other" => head(template, "").ne(&head(template, "x")),
                    _ => true,
                };
                told && line.starts_with(&head(template, &name))
            })
        };
        result.status == Status::Error && text.split(breaks).all(own)
    }

    /// A one-line field without markers and marks.
    fn field(&self, text: &str, beside: &Beside) -> String {
        self.guard.field(&self.safe(text, beside))
    }

    /// Shortens a text by the dialect's own rule, or else the host's.
    fn short(&self, text: &str, options: &RenderOptions) -> String {
        let prompt = &self.layout.spec.prompt;
        let Some(cut) = prompt.cut else {
            return options.condense.text(text, options.lang);
        };
        let kept = options.condense.head.saturating_add(options.condense.tail);
        let at = text
            .char_indices()
            .nth(cut)
            .map_or(text.len(), |(at, _)| at);
        let at = at.min(super::condense::floor(text, kept));
        if at == text.len() {
            return text.to_owned();
        }
        text[..at].to_owned() + prompt.mark.as_deref().unwrap_or("\n[...]")
    }

    /// Escapes markers. A plain name is unchanged, because no layout puts a partial marker next to a result.
    fn safe(&self, text: &str, beside: &Beside) -> String {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        if !text.is_empty() && text.bytes().all(plain) {
            return text.to_owned();
        }
        self.between(text, beside)
    }

    /// Escapes markers and marks between two quotation marks. JSON escapes the usual line breaks, but not all.
    fn quoted(&self, text: &str, lines: bool) -> String {
        let text = self.between(text, &self.around.quotes);
        let lines = lines || text.contains(|c: char| breaks(c) && !c.is_ascii());
        if lines {
            self.guard.text(&text)
        } else {
            self.guard.within(&text)
        }
    }

    /// Escapes markers inside the text, and those that it forms together with its neighbours.
    fn between(&self, text: &str, beside: &Beside) -> String {
        let safe = self.breaker.escape(text.as_bytes(), beside);
        String::from_utf8(safe).expect("escaping keeps UTF-8")
    }

    /// The same for every string and key of a value.
    fn inside(&self, value: &Json, lines: bool) -> Json {
        match value {
            Json::String(text) => Json::String(self.quoted(text, lines)),
            Json::Array(list) => list.iter().map(|item| self.inside(item, lines)).collect(),
            Json::Object(map) => {
                let parts = map.iter();
                parts
                    .map(|(key, item)| (self.quoted(key, lines), self.inside(item, lines)))
                    .collect()
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        }
    }
}

/// What a layout itself writes about how a call ended. The rest is told with the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Says {
    /// A failure looks like a success.
    Nothing,
    /// That the call failed.
    Failure,
    /// Its status.
    Status,
}

impl Says {
    /// What a layout writes for each status, in the language in which it writes less.
    fn of(layout: &Layout) -> Vec<(Status, Self)> {
        let filled = [Lang::Zh, Lang::En].map(|lang| {
            let text = |status: &Status| {
                let result = sample(1, *status, TEXT, &Json::from(TEXT), false);
                let mut context = layout.context(lang);
                context.insert("results", Value::from(vec![result]));
                (*status, layout.fill(Part::Results, context).ok())
            };
            Status::ALL.iter().map(text).collect::<Vec<_>>()
        });
        let of = |status, texts: &[(Status, Option<String>)]| {
            let text = texts.iter().find(|(have, _)| *have == status);
            let text = text.map(|(_, text)| text);
            let mut others = texts.iter().filter(|(other, _)| *other != status);
            match others.find(|(_, other)| Some(other) == text) {
                Some((Status::Success, _)) => Self::Nothing,
                Some(_) => Self::Failure,
                None => Self::Status,
            }
        };
        let both = |status| filled.iter().map(|texts| of(status, texts)).min();
        let failures = Status::ALL.iter().filter(|one| **one != Status::Success);
        failures
            .filter_map(|status| Some((*status, both(*status)?)))
            .collect()
    }
}

/// A JSON result of a failed call, in an object that says so where the layout does not.
fn marked(value: &Json, status: Status, says: Says) -> Cow<'_, Json> {
    if status == Status::Success || says != Says::Nothing {
        return Cow::Borrowed(value);
    }
    Cow::Owned(json!({"status": status.name(), "content": value}))
}

/// Whether a text reports, line by line in the general wording of a check, that this very call failed.
fn general(result: &ToolResult) -> bool {
    let [Content::Text(text)] = result.content.as_slice() else {
        return false;
    };
    let name = one_line(&result.name);
    let own = |line: &str| {
        let rest = line.strip_prefix("Error (");
        rest.and_then(|rest| rest.split_once("): "))
            .is_some_and(|(kind, rest)| {
                let rest = rest.strip_prefix(name.as_str());
                let kinds = Kind::ALL.iter().map(|kind| kind.name());
                rest.is_some_and(|rest| rest.starts_with(": "))
                    && kinds.into_iter().any(|have| have == kind)
            })
    };
    result.status == Status::Error && text.split(breaks).all(own)
}

/// The text of a part that is not JSON.
fn plain(content: &Content, lang: Lang) -> Cow<'_, str> {
    match content {
        Content::Text(text) => Cow::Borrowed(text),
        Content::Json(value) => Cow::Owned(crate::template::json::text(value, None)),
        Content::Image { mime, data } => Cow::Owned(image(mime, data, lang)),
        Content::Resource {
            uri,
            text: Some(text),
            ..
        } => Cow::Owned(format!("{uri}\n{text}")),
        Content::Resource {
            uri, text: None, ..
        } => Cow::Borrowed(uri),
    }
}

/// A part of a result.
enum Piece<'a> {
    Text(Cow<'a, str>),
    Json(Cow<'a, Json>),
}

/// The parts, each on a line of its own.
fn joined(parts: &[Piece<'_>], mut json: impl FnMut(&Json) -> String) -> String {
    let text = |part: &Piece<'_>| match part {
        Piece::Text(text) => text.to_string(),
        Piece::Json(value) => json(value),
    };
    parts.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn text_of(value: &Json) -> String {
    crate::template::json::text(value, None)
}

/// A character that neither text has, for the places of strings.
fn hole(lead: &str, text: &str) -> Option<char> {
    ('\u{e000}'..='\u{f8ff}').find(|hole| !lead.contains(*hole) && !text.contains(*hole))
}

/// The value with the numbers of strings in place of them, between two of these characters.
fn emptied(value: &Json, hole: char, strings: &mut Vec<String>) -> Json {
    let number = |text: &str, strings: &mut Vec<String>| {
        strings.push(text.to_owned());
        format!("{hole}{}{hole}", strings.len() - 1)
    };
    match value {
        Json::String(text) => Json::String(number(text, strings)),
        Json::Array(list) => {
            let parts = list.iter().map(|item| emptied(item, hole, strings));
            parts.collect()
        }
        Json::Object(map) => {
            let mut parts = Map::new();
            for (key, item) in map.iter() {
                let key = number(key, strings);
                parts.insert(key, emptied(item, hole, strings));
            }
            Json::Object(parts)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}

/// The value with empty strings.
fn hollow(value: &Json) -> Json {
    match value {
        Json::String(_) => Json::from(""),
        Json::Array(list) => list.iter().map(hollow).collect(),
        // Members with empty names would collide.
        Json::Object(map) => {
            let parts = map.values().enumerate();
            parts
                .map(|(index, item)| (index.to_string(), hollow(item)))
                .collect()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}

/// Describes an image for models without vision: its type and size.
fn image(mime: &str, data: &str, lang: Lang) -> String {
    let padding = data.bytes().rev().take_while(|b| *b == b'=').count();
    let bytes = (data.len() / 4 * 3).saturating_sub(padding);
    match lang {
        Lang::Zh => format!("[图片 {mime}，{bytes} 字节]"),
        Lang::En => format!("[image {mime}, {bytes} bytes]"),
    }
}

/// The beginning of an observation, up to the first thing that only the check knows.
fn head(template: &str, tool: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '[']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(more) = rest.strip_prefix("{tool}") {
            out.push_str(tool);
            rest = more;
        } else if rest.starts_with('{') || rest.starts_with("[[") {
            return out;
        } else {
            out.push('[');
            rest = &rest[1..];
        }
    }
    out + rest
}

/// A result of unique words.
fn sample(index: usize, status: Status, told: &str, value: &Json, observed: bool) -> Value {
    Value::from_object(Facts::from([
        ("index", Value::from(index)),
        ("id", Value::from(ID)),
        ("name", Value::from(NAME)),
        ("status", Value::from(status.name())),
        ("ok", Value::from(status == Status::Success)),
        ("observed", Value::from(observed)),
        ("value", crate::template::json::value(value)),
        ("text", Value::from(told)),
        ("duration_ms", Value::from(1)),
    ]))
}

/// A layout filled with unique words, for results of every status, in both languages: the text around the words is its marks.
fn samples(layout: &Layout, told: &str, statuses: &[Status]) -> Vec<String> {
    let mut out = vec![];
    let text = Json::from(TEXT);
    let object = json!({KEY: TEXT});
    let kinds = [(&text, false), (&text, true), (&object, false)];
    for lang in [Lang::Zh, Lang::En] {
        let mut all = vec![];
        for status in statuses {
            for (value, observed) in kinds {
                all.push(sample(all.len() + 1, *status, told, value, observed));
            }
        }
        let one = all.iter().map(|result| vec![result.clone()]);
        for results in one.chain([all.clone()]) {
            let mut context = layout.context(lang);
            context.insert("results", Value::from(results));
            // A template may refuse input that it is not made for; then it writes nothing.
            out.extend(layout.fill(Part::Results, context));
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}
