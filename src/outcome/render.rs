//! Results in the layout of a dialect.

use std::borrow::Cow;
use std::sync::Arc;

use crate::json::{Value as Json, json};
use minijinja::Value;

use super::{Condense, Content, Status, ToolResult};
use crate::dialect::spec::Spec;
use crate::dialect::{DialectSet, SetInner};
use crate::error::{breaks, one_line};
use crate::escape::{escape, escape_behind};
use crate::prompt::tool::Facts;
use crate::prompt::{Lang, Layout, Part, PromptError};
use crate::tools::guard::{Guard, ID, KEY, NAME, TEXT};

/// How results are written.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RenderOptions {
    /// The language of the layout's own words.
    pub lang: Lang,
    /// How much of each result stays.
    pub condense: Condense,
}

impl RenderOptions {
    /// In a language.
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
/// use toolglot::outcome::{RenderOptions, Renderer, Status, ToolResult};
/// use toolglot::prompt::{Lang, Layout};
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
    /// The host's dialects and this one.
    set: DialectSet,
    /// The marks of the layout.
    guard: Guard,
    /// It has none.
    bare: bool,
}

impl Renderer {
    /// For a layout. No dialect of `active` sees a marker in what it writes; the layout's own dialect need not be one of them.
    ///
    /// # Errors
    /// The markers of the set cannot be escaped.
    pub fn new(active: &DialectSet, layout: Layout) -> Result<Self, PromptError> {
        let set = with_own(active, &layout.spec);
        set.escapes()?;
        let mut guard = marks(&layout);
        let bare = guard.is_empty();
        guard.observations(&layout.spec.observe);
        for mark in &layout.spec.prompt.guard {
            guard.add(mark);
        }
        Ok(Self {
            layout,
            set,
            guard,
            bare,
        })
    }

    /// The layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whose message the results are: `"user"` unless the dialect says otherwise.
    #[must_use]
    pub fn role(&self) -> &str {
        self.layout.spec.prompt.role.as_deref().unwrap_or("user")
    }

    /// Whether the layout writes nothing around a result: then only messages keep results apart, and each has its own.
    #[must_use]
    pub(super) fn apart(&self) -> bool {
        self.bare
    }

    /// Results of one turn, batched as the layout does it. No results are no text.
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
        let facts = results.iter().enumerate().map(|(index, result)| {
            let facts = self.facts(index, result, options)?;
            Ok(Value::from_object(facts))
        });
        let all = facts.collect::<Result<Vec<Value>, PromptError>>()?;
        let mut context = self.layout.context(options.lang);
        context.insert("results", Value::from(all));
        self.layout.fill(Part::Results, context)
    }

    fn facts(
        &self,
        index: usize,
        result: &ToolResult,
        options: &RenderOptions,
    ) -> Result<Facts, PromptError> {
        let text = self.content(result, options)?;
        let observed = self.observed(result);
        let json = match result.content.as_slice() {
            [Content::Json(value)] => options.condense.pick(value).clone(),
            _ => Json::from(text.as_str()),
        };
        Ok(Facts::from([
            ("index", Value::from(index + 1)),
            ("id", Value::from(self.field(&result.id)?)),
            ("name", Value::from(self.field(&result.name)?)),
            ("status", Value::from(result.status.name())),
            ("ok", Value::from(result.status == Status::Success)),
            ("observed", Value::from(observed)),
            (
                "value",
                crate::prompt::json::value(&self.inside(&json, true)?),
            ),
            ("text", Value::from(text)),
            (
                "duration_ms",
                Value::from(result.duration.map(|d| d.as_millis() as u64)),
            ),
        ]))
    }

    /// What a result says, condensed and safe to stand after anything that does not end inside a marker.
    ///
    /// # Errors
    /// The markers of the set cannot be escaped.
    pub fn content(
        &self,
        result: &ToolResult,
        options: &RenderOptions,
    ) -> Result<String, PromptError> {
        let mut parts = vec![];
        // JSON whose strings are safe is safe, if no marker stands between them.
        let mut done = !result.content.is_empty() && result.status != Status::Denied;
        for content in &result.content {
            parts.push(match content {
                Content::Json(value) => {
                    let value = self.inside(options.condense.pick(value), false)?;
                    let frame = crate::prompt::json::text(&hollow(&value), None);
                    done &= value.is_object() | value.is_array() && self.escaped(&frame)? == frame;
                    Cow::Owned(crate::prompt::json::text(&value, None))
                }
                other => {
                    done = false;
                    plain(other, options.lang)
                }
            });
        }
        let text = parts.join("\n");
        let sentence = result.status.sentence(options.lang, result.duration);
        let text = match (text.is_empty(), result.status) {
            (true, _) => sentence,
            (false, Status::Denied) => match options.lang {
                Lang::Zh => format!("{sentence}：{text}"),
                Lang::En => format!("{sentence}: {text}"),
            },
            (false, _) => text,
        };
        let text = self.short(&text, options);
        if done {
            return Ok(text);
        }
        let text = self.safe(&text)?;
        Ok(if self.observed(result) {
            self.guard.within(&text)
        } else {
            self.guard.text(&text)
        })
    }

    /// Whether a failure is told in the dialect's own words for this very call, line by line: what a check said of it. Such
    /// words stand as they are; all others are what the tool says, whatever they begin with.
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

    /// A field of one line without markers and marks.
    fn field(&self, text: &str) -> Result<String, PromptError> {
        Ok(self.guard.field(&self.safe(text)?))
    }

    /// By the dialect's own rule, or else the host's.
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

    /// Without markers. No layout puts half of a marker beside a result: a plain name stays, and so does the start of any
    /// text. Its end does not, for another result may follow.
    fn safe(&self, text: &str) -> Result<String, PromptError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        if !text.is_empty() && text.bytes().all(plain) {
            return Ok(text.to_owned());
        }
        self.between("\n", text, "")
    }

    /// Without markers and marks between two quotation marks. JSON writes the usual ends of lines as escapes, others not.
    fn quoted(&self, text: &str, lines: bool) -> Result<String, PromptError> {
        let text = self.between("\"", text, "\"")?;
        let lines = lines || text.contains(|c: char| breaks(c) && !c.is_ascii());
        Ok(if lines {
            self.guard.text(&text)
        } else {
            self.guard.within(&text)
        })
    }

    /// Without markers where these stand beside it, and no marker begins before; anywhere, if one of them is part of a marker.
    fn between(&self, before: &str, text: &str, behind: &str) -> Result<String, PromptError> {
        let whole = format!("{before}{text}{behind}");
        let whole = utf8(escape_behind(&self.set, whole.as_bytes())?);
        let rest = whole.strip_prefix(before);
        match rest.and_then(|rest| rest.strip_suffix(behind)) {
            Some(own) => Ok(own.to_owned()),
            None => self.escaped(text),
        }
    }

    fn escaped(&self, text: &str) -> Result<String, PromptError> {
        Ok(utf8(escape(&self.set, text.as_bytes())?))
    }

    /// The same for every string and key of a value.
    fn inside(&self, value: &Json, lines: bool) -> Result<Json, PromptError> {
        Ok(match value {
            Json::String(text) => Json::String(self.quoted(text, lines)?),
            Json::Array(list) => {
                let list = list.iter().map(|item| self.inside(item, lines));
                Json::Array(list.collect::<Result<_, _>>()?)
            }
            Json::Object(map) => {
                let map = map
                    .iter()
                    .map(|(key, item)| Ok((self.quoted(key, lines)?, self.inside(item, lines)?)));
                Json::Object(map.collect::<Result<_, PromptError>>()?)
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        })
    }
}

/// The text of a part that is no JSON.
fn plain(content: &Content, lang: Lang) -> Cow<'_, str> {
    match content {
        Content::Text(text) => Cow::Borrowed(text),
        Content::Json(value) => Cow::Owned(crate::prompt::json::text(value, None)),
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

/// The value with empty strings.
fn hollow(value: &Json) -> Json {
    match value {
        Json::String(_) => Json::from(""),
        Json::Array(list) => list.iter().map(hollow).collect(),
        // Members with empty names would be one.
        Json::Object(map) => {
            let parts = map.values().enumerate();
            parts
                .map(|(index, item)| (index.to_string(), hollow(item)))
                .collect()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}

fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("escaping keeps UTF-8")
}

/// A picture for those who cannot see: what it is, and how big.
fn image(mime: &str, data: &str, lang: Lang) -> String {
    let padding = data.bytes().rev().take_while(|b| *b == b'=').count();
    let bytes = (data.len() / 4 * 3).saturating_sub(padding);
    match lang {
        Lang::Zh => format!("[图片 {mime}，{bytes} 字节]"),
        Lang::En => format!("[image {mime}, {bytes} bytes]"),
    }
}

/// What an observation begins with, up to the first thing that only the check knows.
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

/// The marks of a layout: what it writes around results of every kind, in both languages.
fn marks(layout: &Layout) -> Guard {
    let mut guard = Guard::default();
    let text = Json::from(TEXT);
    let object = json!({KEY: TEXT});
    for lang in [Lang::Zh, Lang::En] {
        let mut all = vec![];
        for status in Status::ALL {
            for (value, observed) in [(&text, false), (&text, true), (&object, false)] {
                all.push(Value::from_object(Facts::from([
                    ("index", Value::from(all.len() + 1)),
                    ("id", Value::from(ID)),
                    ("name", Value::from(NAME)),
                    ("status", Value::from(status.name())),
                    ("ok", Value::from(status == Status::Success)),
                    ("observed", Value::from(observed)),
                    ("value", crate::prompt::json::value(value)),
                    ("text", Value::from(TEXT)),
                    ("duration_ms", Value::from(1)),
                ])));
            }
        }
        let one = all.iter().map(|result| vec![result.clone()]);
        for results in one.chain([all.clone()]) {
            let mut context = layout.context(lang);
            context.insert("results", Value::from(results));
            // A template may refuse what it is not made for; then it writes nothing of it either.
            if let Ok(filled) = layout.fill(Part::Results, context) {
                guard.learn(&filled);
            }
        }
    }
    guard
}

/// The host's dialects and the layout's own. What cannot stand beside the others in a set is left out of it: its group, or its
/// markers, are there already.
fn with_own(active: &DialectSet, spec: &Spec) -> DialectSet {
    if active.dialects().any(|dialect| dialect.id() == spec.id) {
        return active.clone();
    }
    let dialects = active.inner.dialects.iter();
    let mut specs: Vec<Spec> = dialects.map(|dialect| dialect.spec.clone()).collect();
    specs.push(spec.clone());
    match SetInner::new(specs, 0) {
        Ok(inner) => DialectSet {
            inner: Arc::new(inner),
        },
        Err(_) => active.clone(),
    }
}
