//! Where a chat template comes from: a model's folder, its files, a server, or text.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::{ChatTemplate, TemplateError, TemplateOptions, gguf};
use toolglot::json::{Map, Value as Json};

/// Maximum bytes of a JSON or text file with a template.
const MAX_FILE: u64 = 64 << 20;

/// The chat template of a model, and the tokens that it is rendered with.
///
/// Of several templates the one for tools counts (`tool_use`), else the default one.
///
/// ```
/// use toolglot_tools::TemplateSource;
///
/// let config = br#"{"chat_template": "{{ bos_token }}{{ messages[0].content }}", "bos_token": {"content": "<s>"}}"#;
/// let source = TemplateSource::from_bytes("tokenizer_config.json", config)?;
/// assert_eq!(source.variables["bos_token"], "<s>");
/// # Ok::<(), toolglot_tools::TemplateError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TemplateSource {
    /// The template's text.
    pub template: String,
    /// Its variables: `bos_token` and `eos_token`, where they are known.
    pub variables: Map,
    /// What it was read from, without folders.
    pub origin: String,
}

impl TemplateSource {
    /// Takes a template's text.
    pub fn text(template: impl Into<String>) -> Self {
        Self {
            template: template.into(),
            variables: Map::new(),
            origin: "a chat template".to_owned(),
        }
    }

    /// Reads a folder of Hugging Face (`chat_template.jinja`, `additional_chat_templates/`, `chat_template.json`,
    /// `tokenizer_config.json`), one of these files, the answer of llama.cpp's `/props`, a GGUF file (only its metadata) or
    /// any other file as a template's text.
    ///
    /// # Errors
    /// It cannot be read, or holds no template.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TemplateError> {
        let path = path.as_ref();
        let found = match path.is_dir() {
            true => folder(path),
            false => file(path),
        };
        found.map_err(|error| TemplateError::new(format!("{}: {error}", path.display())))
    }

    /// Reads the content of such a file. The name tells only what `origin` says; what it is, its first bytes tell.
    ///
    /// # Errors
    /// It holds no template.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, TemplateError> {
        if bytes.starts_with(b"GGUF") {
            return metadata(name, bytes);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| TemplateError::new("it is not UTF-8"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // A template may begin with a brace; a JSON file ends with one.
        let json = text.trim_start().starts_with(['{', '[']);
        match json.then(|| text.parse::<Json>()) {
            Some(Ok(json)) => config(name, &json),
            Some(Err(error)) if name.ends_with(".json") => {
                Err(TemplateError::new(format!("it is not JSON: {error}")))
            }
            _ => Ok(Self {
                origin: name.to_owned(),
                ..Self::text(text)
            }),
        }
    }

    /// Compiles it. Variables of the options replace its own.
    ///
    /// # Errors
    /// It is too long, or no template.
    pub fn compile(&self, options: &TemplateOptions) -> Result<ChatTemplate, TemplateError> {
        let mut options = options.clone();
        for (key, value) in &self.variables {
            if options.variables.get(key).is_none() {
                options.variables.insert(key.to_owned(), value.clone());
            }
        }
        ChatTemplate::new(&self.template, &options)
    }
}

fn file(path: &Path) -> Result<TemplateSource, TemplateError> {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let mut reader =
        BufReader::new(File::open(path).map_err(|error| TemplateError::new(error.to_string()))?);
    let mut start = vec![];
    let mut read = |most: u64, out: &mut Vec<u8>| -> Result<usize, TemplateError> {
        let read = (&mut reader).take(most).read_to_end(out);
        read.map_err(|error| TemplateError::new(error.to_string()))
    };
    read(4, &mut start)?;
    if start == b"GGUF" {
        return metadata(&name, start.as_slice().chain(reader));
    }
    read(MAX_FILE, &mut start)?;
    if start.len() as u64 >= MAX_FILE {
        return Err(TemplateError::new(format!(
            "it is longer than {MAX_FILE} bytes"
        )));
    }
    TemplateSource::from_bytes(&name, &start)
}

fn folder(path: &Path) -> Result<TemplateSource, TemplateError> {
    const CONFIG: &str = "tokenizer_config.json";
    let templates = [
        "additional_chat_templates/tool_use.jinja",
        "chat_template.jinja",
        "chat_template.json",
    ];
    let tokens = match path.join(CONFIG) {
        config if config.exists() => {
            let bytes = std::fs::read(&config)
                .map_err(|error| TemplateError::new(format!("{CONFIG}: {error}")))?;
            let json = serde_json::from_slice::<Json>(&bytes);
            json.map_err(|error| TemplateError::new(format!("{CONFIG}: {error}")))?
        }
        _ => Json::Null,
    };
    for name in templates {
        let place = path.join(name);
        if place.exists() {
            let mut found = file(&place)?;
            found.variables = variables(&tokens);
            return Ok(found);
        }
    }
    match tokens {
        Json::Null => Err(TemplateError::new(format!(
            "it holds none of {}, {CONFIG}",
            templates.join(", ")
        ))),
        json => config(CONFIG, &json),
    }
}

/// A file that has a template among its members.
fn config(name: &str, json: &Json) -> Result<TemplateSource, TemplateError> {
    let found = match json.get("chat_template") {
        Some(Json::String(text)) => Some(text.clone()),
        Some(Json::Array(list)) => {
            let part =
                |one: &Json, key: &str| one.get(key).and_then(Json::as_str).map(str::to_owned);
            let named = list
                .iter()
                .filter_map(|one| Some((part(one, "name")?, part(one, "template")?)));
            choose(named.collect())
        }
        _ => None,
    };
    // What llama.cpp's server has beside the default one.
    let tools = json
        .get("chat_template_tool_use")
        .and_then(Json::as_str)
        .map(str::to_owned);
    let Some(template) = tools.or(found) else {
        return Err(TemplateError::new("it has no `chat_template`"));
    };
    Ok(TemplateSource {
        template,
        variables: variables(json),
        origin: name.to_owned(),
    })
}

/// The tokens in a configuration: as texts, or as objects with their content.
fn variables(json: &Json) -> Map {
    let mut out = Map::new();
    for key in ["bos_token", "eos_token"] {
        let value = json.get(key);
        let token = value.and_then(|token| token.get("content").unwrap_or(token).as_str());
        if let Some(token) = token {
            out.insert(key.to_owned(), Json::from(token));
        }
    }
    out
}

fn metadata(name: &str, input: impl Read) -> Result<TemplateSource, TemplateError> {
    let found = gguf::read(input)?;
    let Some(template) = choose(found.templates) else {
        return Err(TemplateError::new(
            "its metadata has no `tokenizer.chat_template`",
        ));
    };
    let mut variables = Map::new();
    for (key, token) in [
        ("bos_token", found.bos_token),
        ("eos_token", found.eos_token),
    ] {
        if let Some(token) = token {
            variables.insert(key.to_owned(), Json::from(token));
        }
    }
    Ok(TemplateSource {
        template,
        variables,
        origin: name.to_owned(),
    })
}

/// The template for tools, else the default one, else the first.
fn choose(templates: Vec<(String, String)>) -> Option<String> {
    let rank = |name: &str| match name {
        "tool_use" => 0,
        "default" => 1,
        _ => 2,
    };
    let best = templates.into_iter().min_by_key(|(name, _)| rank(name));
    best.map(|(_, template)| template)
}

#[cfg(test)]
mod tests {
    use super::super::gguf::tests::file as gguf_file;
    use super::*;

    fn read(name: &str, bytes: &[u8]) -> Result<String, String> {
        let found = TemplateSource::from_bytes(name, bytes);
        found
            .map(|source| source.template)
            .map_err(|error| error.message)
    }

    #[test]
    fn every_kind_of_file_is_read() {
        for (name, bytes) in [
            ("chat_template.jinja", "{{ 1 }}".as_bytes()),
            ("tokenizer_config.json", br#"{"chat_template": "{{ 1 }}"}"#),
            ("props", br#"{"chat_template": "no", "chat_template_tool_use": "{{ 1 }}"}"#),
            ("config", br#"{"chat_template": [{"name": "default", "template": "no"}, {"name": "tool_use", "template": "{{ 1 }}"}]}"#),
            ("model.gguf", &gguf_file(&[("tokenizer.chat_template", "{{ 1 }}")])),
        ] {
            assert_eq!(read(name, bytes).as_deref(), Ok("{{ 1 }}"), "{name}");
        }
    }

    #[test]
    fn what_holds_no_template_is_refused() {
        for (name, bytes, why) in [
            ("a.json", b"{\"chat_template\": ".as_slice(), "not JSON"),
            ("a.json", b"{}", "no `chat_template`"),
            ("a.jinja", b"\xff", "not UTF-8"),
            ("a.gguf", &gguf_file(&[]), "no `tokenizer.chat_template`"),
        ] {
            let error = read(name, bytes).expect_err(why);
            assert!(error.contains(why), "{error}");
        }
        let error = TemplateSource::open("no such file").expect_err("no file");
        assert!(error.message.starts_with("no such file: "), "{error}");
    }
}
