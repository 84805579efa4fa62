//! One dialect's prompt texts: templates from its file, or from the host, compiled.

use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};
use toolglot::DialectSet;
use toolglot::Tools;
use toolglot::json::{Map, Value as Json, json};
use toolglot::layer;
use toolglot::layer::Spec;
use toolglot::{EncodeCall, EncodeOptions, Encoder};

use super::chat::Chat;
use super::tool::{Facts, facts};
use super::{Lang, Part, PromptError, PromptOptions};
use crate::template::json;
use crate::{ChatTemplate, Inventory, NameRule, TemplateOptions};

/// Layouts that dialect files reference by name: the general ones, and those that several systems share.
const SHARED: &[(&str, &str)] = &[
    ("general-tools", include_str!("templates/general-tools.j2")),
    ("general-usage", include_str!("templates/general-usage.j2")),
    (
        "general-results",
        include_str!("templates/general-results.j2"),
    ),
    ("signatures", include_str!("templates/signatures.j2")),
    (
        "responses-in-tags",
        include_str!("templates/responses-in-tags.j2"),
    ),
];

/// A dialect's texts about tools for models: their definitions, how to call them, and results.
///
/// Built from the dialect's file; [`with`](Self::with) replaces a part by a template of the host. Immutable and cheap to
/// clone; share it between threads.
///
/// ```
/// use toolglot::DialectSet;
/// use toolglot_tools::prompt::{Layout, PromptOptions};
/// use toolglot_tools::{Inventory, Tool};
///
/// let set = DialectSet::defaults();
/// let tools = Inventory::of([Tool::new("weather").description("Tells the weather")])?;
/// let prompt = Layout::new(&set, "hermes")?.system(&tools, &PromptOptions::default())?;
/// assert!(prompt.contains("<tool_call>") && prompt.contains("weather"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Layout {
    pub(crate) env: Arc<Environment<'static>>,
    pub(crate) encoder: Encoder,
    pub(crate) spec: Arc<Spec>,
    rule: NameRule,
    /// The model's own chat template, and the parts that a host's template replaces.
    chat: Option<Chat>,
    replaced: Vec<Part>,
    /// Distinguishes this layout from others of the same dialect.
    pub(super) fingerprint: u64,
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layout")
            .field("dialect", &self.spec.id)
            .finish_non_exhaustive()
    }
}

impl Layout {
    /// Creates the layout of a dialect of the set.
    ///
    /// # Errors
    /// There is no such dialect, it has no calls, or a template in its file is invalid.
    pub fn new(set: &DialectSet, dialect: &str) -> Result<Self, PromptError> {
        let none = || PromptError::Dialect {
            dialect: dialect.to_owned(),
        };
        let encoder = Encoder::new(set, dialect).map_err(|_| none())?;
        let found = set.dialect(dialect).ok_or_else(none)?;
        let mut env = Environment::new();
        env.set_auto_escape_callback(|_| AutoEscape::None);
        env.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        env.set_syntax(syntax.expect("the usual marks differ"));
        env.add_filter("json", json::filter);
        env.add_filter("plain", json::plain);
        env.add_filter("as_json", json::as_json);
        env.add_filter("entities", entities);
        env.add_filter("cdata", cdata);
        let writer = encoder.clone();
        env.add_function("call", move |name: &str, arguments: Value| {
            written(&writer, &[(name.to_owned(), json::arguments(&arguments)?)])
        });
        let writer = encoder.clone();
        env.add_function("calls", move |list: Value| {
            let mut all = vec![];
            for pair in list.try_iter()? {
                let name = pair.get_item_by_index(0)?.to_string();
                all.push((name, json::arguments(&pair.get_item_by_index(1)?)?));
            }
            written(&writer, &all)
        });
        let mut layout = Self {
            env: Arc::new(env),
            rule: NameRule::of(found),
            spec: Arc::new(layer::spec(found).clone()),
            encoder,
            chat: None,
            replaced: vec![],
            fingerprint: 0,
        };
        for (name, text) in SHARED {
            layout = layout.shared(name, text)?;
        }
        let prompt = (*layout.spec.prompt).clone();
        let parts = [
            (Part::Tools, prompt.tools),
            (Part::Usage, prompt.usage),
            (Part::Results, prompt.results),
        ];
        for (part, text) in parts {
            let general = format!("general-{}", part.name());
            layout = layout.with(part, &text.unwrap_or(general))?;
        }
        Ok(layout)
    }

    /// Creates a layout from a model's own chat template: definitions and results are what the template writes, including its
    /// turn tokens. The dialect determines how calls are read, and which marks no result may contain.
    ///
    /// A template is as trustworthy as the source of the model's files; [`TemplateOptions`] bound its steps, depth, size and
    /// output.
    ///
    /// ```
    /// use toolglot_tools::prompt::{Layout, PromptOptions, TemplateOptions};
    /// use toolglot_tools::{Inventory, Tool};
    ///
    /// let template = "{% if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}\
    ///     {% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}";
    /// let set = toolglot::DialectSet::builtin("hermes")?;
    /// let layout = Layout::from_template(&set, "hermes", template, &TemplateOptions::default())?;
    /// let tools = Inventory::of([Tool::new("ping").description("Does nothing")])?;
    /// let prompt = layout.tools(&tools, &PromptOptions::default())?;
    /// assert!(prompt.starts_with("<|im_start|>system\n{\"type\": \"function\", \"function\": {\"name\": \"ping\""));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dialect, or the template cannot be parsed. Errors while it is filled are reported then.
    pub fn from_template(
        set: &DialectSet,
        dialect: &str,
        template: &str,
        options: &TemplateOptions,
    ) -> Result<Self, PromptError> {
        Self::of_template(set, dialect, &ChatTemplate::new(template, options)?)
    }

    /// The same with a template that is compiled.
    pub(crate) fn of_template(
        set: &DialectSet,
        dialect: &str,
        template: &ChatTemplate,
    ) -> Result<Self, PromptError> {
        let mut layout = Self::new(set, dialect)?;
        layout.fingerprint ^= template.fingerprint();
        layout.chat = Some(Chat::new(template));
        layout.replaced.clear();
        Ok(layout)
    }

    /// Replaces a part by a template, or by a shared one, by name.
    ///
    /// # Errors
    /// It is not a template, or no shared one has that name.
    pub fn with(self, part: Part, template: &str) -> Result<Self, PromptError> {
        let word = !template.is_empty()
            && template
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-');
        let text = if word {
            if self.env.get_template(template).is_err() {
                let message = format!("there is no shared layout `{template}`");
                return Err(PromptError::Template {
                    part: part.name().to_owned(),
                    message,
                });
            }
            format!("{{% include \"{template}\" %}}")
        } else {
            template.to_owned()
        };
        let mut layout = self.shared(part.name(), &text)?;
        layout.replaced.push(part);
        Ok(layout)
    }

    /// Adds or replaces a template that others can name or include.
    ///
    /// # Errors
    /// It is not a template.
    pub fn shared(mut self, name: &str, template: &str) -> Result<Self, PromptError> {
        let mut print = toolglot_scan::Fnv(self.fingerprint);
        print.add(name.as_bytes());
        print.add(template.as_bytes());
        self.fingerprint = print.0;
        let env = Arc::make_mut(&mut self.env);
        env.add_template_owned(name.to_owned(), template.to_owned())
            .map_err(|error| PromptError::template(name, &error))?;
        Ok(self)
    }

    /// The id of its dialect.
    #[must_use]
    pub fn dialect(&self) -> &str {
        &self.spec.id
    }

    /// The sources of the layout; empty if it is the general one.
    #[must_use]
    pub fn sources(&self) -> &[String] {
        &self.spec.prompt.sources
    }

    /// The rule for tool names in calls.
    #[must_use]
    pub fn rule(&self) -> NameRule {
        self.rule
    }

    /// The definitions of tools, for `{{tools}}`.
    ///
    /// # Errors
    /// A template fails.
    pub fn tools(
        &self,
        tools: &Inventory,
        options: &PromptOptions<'_>,
    ) -> Result<String, PromptError> {
        self.render(Part::Tools, tools, options)
    }

    /// How tools are called, for `{{tool_usage}}`.
    ///
    /// # Errors
    /// A template fails.
    pub fn usage(
        &self,
        tools: &Inventory,
        options: &PromptOptions<'_>,
    ) -> Result<String, PromptError> {
        self.render(Part::Usage, tools, options)
    }

    /// Both, combined as in the dialect's systems.
    ///
    /// # Errors
    /// A template fails.
    pub fn system(
        &self,
        tools: &Inventory,
        options: &PromptOptions<'_>,
    ) -> Result<String, PromptError> {
        let definitions = self.tools(tools, options)?;
        let usage = self.usage(tools, options)?;
        if definitions.is_empty() || usage.is_empty() {
            return Ok(definitions + &usage);
        }
        let between = self.spec.prompt.between.as_deref().unwrap_or("\n\n");
        Ok(definitions + between + &usage)
    }

    fn render(
        &self,
        part: Part,
        tools: &Inventory,
        options: &PromptOptions<'_>,
    ) -> Result<String, PromptError> {
        let hints = tools.hints(&self.spec.id, self.rule);
        let hints = hints.map_err(|error| PromptError::Schema {
            message: error.to_string(),
        })?;
        let encoding = EncodeOptions::default().tools(Arc::new(hints));
        let names = tools.names(&self.spec.id, self.rule);
        let facts = tools.tools().iter().zip(&names).map(|(tool, name)| {
            let knowledge = options.knowledge.and_then(|knowledge| knowledge(tool));
            let facts = facts(tool, name, knowledge.as_deref(), &self.encoder, &encoding);
            Value::from_object(facts)
        });
        let all: Vec<Value> = facts.collect();
        let mut context = self.context(options.lang);
        context.insert("tools", Value::from(all));
        context.insert("examples", Value::from(options.examples));
        self.fill(part, context)
    }

    /// The variables of every template.
    pub(crate) fn context(&self, lang: Lang) -> Facts {
        Facts::from([
            ("lang", Value::from(lang.name())),
            ("dialect", Value::from(self.spec.id.as_str())),
            ("title", Value::from(self.spec.title.as_str())),
        ])
    }

    pub(crate) fn fill(&self, part: Part, context: Facts) -> Result<String, PromptError> {
        if let Some(chat) = self
            .chat
            .as_ref()
            .filter(|_| !self.replaced.contains(&part))
        {
            return chat.part(part, &context);
        }
        let template = self.env.get_template(part.name());
        let template = template.map_err(|error| PromptError::template(part.name(), &error))?;
        let text = template.render(Value::from_object(context));
        let text = text.map_err(|error| PromptError::template(part.name(), &error))?;
        // Blocks at the end of a template leave newlines.
        Ok(text.trim_matches('\n').to_owned())
    }
}

/// The filter `entities`: XML's five special characters as hexadecimal references.
fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '<' | '>' | '"' | '\'' => out.push_str(&format!("&#x{:X};", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// The filter `cdata`: a value as the content of an XML element. Lists, objects and text with markup are written as CDATA.
fn cdata(value: &Value) -> Result<String, Error> {
    let text = json::plain(value)?;
    let structure = value.as_str().is_none() && text.starts_with(['{', '[']);
    Ok(if structure || text.contains(['<', '&']) {
        format!("<![CDATA[{}]]>", text.replace("]]>", "]]]]><![CDATA[>"))
    } else {
        text
    })
}

/// Sample calls as the dialect writes them; types are derived from their values.
fn written(encoder: &Encoder, calls: &[(String, Json)]) -> Result<String, Error> {
    let mut schemas = Map::new();
    for (name, arguments) in calls {
        let list = schemas.or_insert(name, || json!({}));
        let parts = arguments.as_object().into_iter().flatten();
        for (key, value) in parts {
            list[key.as_str()] = typed(value);
        }
    }
    let tools: Vec<Json> = schemas
        .into_iter()
        .map(|(name, parts)| json!({"name": name, "parameters": {"type": "object", "properties": parts}}))
        .collect();
    let options =
        EncodeOptions::default().tools(Tools::from_value(&Json::from(tools)).ok().map(Arc::new));
    let calls: Vec<EncodeCall> = calls
        .iter()
        .map(|(name, arguments)| EncodeCall::new(name.clone(), arguments.to_string()))
        .collect();
    let wrong = |why: String| Error::new(ErrorKind::InvalidOperation, why);
    encoder
        .encode(&calls, &options)
        .map_err(|error| wrong(error.to_string()))
}

/// A schema for a value.
fn typed(value: &Json) -> Json {
    match value {
        Json::Null => json!({"type": "null"}),
        Json::Bool(_) => json!({"type": "boolean"}),
        Json::Number(_) => json!({"type": "number"}),
        Json::String(_) => json!({"type": "string"}),
        Json::Array(list) => match list.first() {
            Some(first) => json!({"type": "array", "items": typed(first)}),
            None => json!({"type": "array"}),
        },
        Json::Object(map) => {
            let parts: Map = map
                .iter()
                .map(|(key, part)| (key.clone(), typed(part)))
                .collect();
            json!({"type": "object", "properties": parts})
        }
    }
}
