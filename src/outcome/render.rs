//! Results in the layout of a dialect.

use std::borrow::Cow;
use std::sync::Arc;

use crate::json::{Value as Json, json};
use minijinja::Value;

use super::{Condense, Content, Status, ToolResult};
use crate::dialect::spec::Spec;
use crate::dialect::{DialectSet, SetInner};
use crate::escape::escape;
use crate::prompt::tool::Facts;
use crate::prompt::{Lang, Layout, Part, PromptError};

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
    /// The host's dialects, this one, and the marks of the layout.
    guard: DialectSet,
}

impl Renderer {
    /// For a layout. No dialect of `active` sees a marker in what it writes; the layout's own dialect need not be one of them.
    ///
    /// # Errors
    /// The markers of the set cannot be escaped.
    pub fn new(active: &DialectSet, layout: Layout) -> Result<Self, PromptError> {
        let guard = guarded(active, &layout.spec);
        guard.escapes()?;
        Ok(Self { layout, guard })
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
        let json = match result.content.as_slice() {
            [Content::Json(value)] => options.condense.pick(value).clone(),
            _ => Json::from(text.as_str()),
        };
        Ok(Facts::from([
            ("index", Value::from(index + 1)),
            ("id", Value::from(self.safe(&result.id)?)),
            ("name", Value::from(self.safe(&result.name)?)),
            ("status", Value::from(result.status.name())),
            ("ok", Value::from(result.status == Status::Success)),
            ("value", crate::prompt::json::value(&self.inside(&json)?)),
            ("text", Value::from(text)),
            (
                "duration_ms",
                Value::from(result.duration.map(|d| d.as_millis() as u64)),
            ),
        ]))
    }

    /// What a result says, condensed and safe to stand behind anything that does not end inside a marker.
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
                    let value = self.inside(options.condense.pick(value))?;
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
        if done { Ok(text) } else { self.safe(&text) }
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

    /// Without markers between two quotation marks.
    fn quoted(&self, text: &str) -> Result<String, PromptError> {
        self.between("\"", text, "\"")
    }

    /// Without markers where these stand beside it; anywhere, if one of them is part of a marker.
    fn between(&self, before: &str, text: &str, behind: &str) -> Result<String, PromptError> {
        let whole = self.escaped(&format!("{before}{text}{behind}"))?;
        let rest = whole.strip_prefix(before);
        match rest.and_then(|rest| rest.strip_suffix(behind)) {
            Some(own) => Ok(own.to_owned()),
            None => self.escaped(text),
        }
    }

    fn escaped(&self, text: &str) -> Result<String, PromptError> {
        let bytes = escape(&self.guard, text.as_bytes())?;
        Ok(String::from_utf8(bytes).expect("escaping keeps UTF-8"))
    }

    /// The same for every string and key of a value.
    fn inside(&self, value: &Json) -> Result<Json, PromptError> {
        Ok(match value {
            Json::String(text) => Json::String(self.quoted(text)?),
            Json::Array(list) => {
                let list = list.iter().map(|item| self.inside(item));
                Json::Array(list.collect::<Result<_, _>>()?)
            }
            Json::Object(map) => {
                let map = map
                    .iter()
                    .map(|(key, item)| Ok((self.quoted(key)?, self.inside(item)?)));
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

/// A picture for those who cannot see: what it is, and how big.
fn image(mime: &str, data: &str, lang: Lang) -> String {
    let padding = data.bytes().rev().take_while(|b| *b == b'=').count();
    let bytes = (data.len() / 4 * 3).saturating_sub(padding);
    match lang {
        Lang::Zh => format!("[图片 {mime}，{bytes} 字节]"),
        Lang::En => format!("[image {mime}, {bytes} bytes]"),
    }
}

/// The host's dialects, the layout's own, and the marks of the layout as a dialect without calls. What cannot stand beside the
/// others in a set is left out of it: its group, or its markers, are there already.
fn guarded(active: &DialectSet, spec: &Spec) -> DialectSet {
    let specs: Vec<Spec> = active
        .inner
        .dialects
        .iter()
        .map(|dialect| dialect.spec.clone())
        .collect();
    let mut more = vec![];
    if !active.dialects().any(|dialect| dialect.id() == spec.id) {
        more.push(spec.clone());
    }
    for (index, mark) in spec.prompt.guard.iter().enumerate() {
        let file = json!({
            "id": format!("guard-{index}"), "title": "Marks of a layout", "plain": true, "deltas": "live", "framing": [mark],
        });
        more.extend(crate::json::from_value::<Spec>(&file).ok());
    }
    if more.is_empty() {
        return active.clone();
    }
    let build = |specs: Vec<Spec>| {
        let inner = SetInner::new(specs, 0).ok()?;
        Some(DialectSet {
            inner: Arc::new(inner),
        })
    };
    if let Some(set) = build([specs.clone(), more.clone()].concat()) {
        return set;
    }
    let (mut specs, mut set) = (specs, active.clone());
    for one in more {
        specs.push(one);
        match build(specs.clone()) {
            Some(more) => set = more,
            None => drop(specs.pop()),
        }
    }
    set
}
