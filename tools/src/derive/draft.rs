//! A dialect as it was read off, and its file.

use std::fmt::Write as _;

use toolglot::json::Value as Json;

/// Markers around all calls of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Section {
    pub open: String,
    pub close: String,
    pub separator: String,
}

/// Where JSON keeps a call's parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Keys {
    pub name: String,
    pub arguments: String,
    pub id: Option<String>,
    pub wrapper: Option<String>,
    /// The name is the key of the arguments.
    pub name_is_key: bool,
}

/// Parameters between tags.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Params {
    pub open: String,
    pub close: String,
    /// The attribute that names the parameter.
    pub name: Option<String>,
    /// The attribute with its type, and the types that are text. The pattern shows the type if there is no attribute.
    pub hint: Option<(Option<String>, Vec<String>)>,
    pub frame: &'static str,
    pub cdata: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Payload {
    Json {
        keys: Keys,
        python: bool,
    },
    Arguments {
        python: bool,
    },
    Python {
        brackets: &'static str,
        typed: bool,
    },
    Braces {
        prefix: String,
        delimiters: Vec<String>,
        all: bool,
    },
    Params(Params),
    Tree(Params),
}

impl Default for Payload {
    fn default() -> Self {
        Self::Arguments { python: false }
    }
}

impl Payload {
    fn word(&self) -> &'static str {
        match self {
            Self::Json { .. } => "json",
            Self::Arguments { .. } => "arguments",
            Self::Python { .. } => "python",
            Self::Braces { .. } => "braces",
            Self::Params(_) => "params",
            Self::Tree(_) => "tree",
        }
    }

    /// For people.
    pub fn described(&self) -> &'static str {
        match self {
            Self::Json { python: false, .. } => "JSON that names the tool",
            Self::Json { python: true, .. } => "Python literals that name the tool",
            Self::Arguments { python: false } => "a name, then a JSON object",
            Self::Arguments { python: true } => "a name, then Python literals",
            Self::Python { .. } => "Python calls",
            Self::Braces { .. } => "a name, then keys and values in braces",
            Self::Params(_) => "parameters between tags",
            Self::Tree(_) => "parameters as elements",
        }
    }
}

/// The form of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Unit {
    pub open: String,
    pub close: String,
    pub payload: Payload,
    /// The attribute that names the tool.
    pub name: Option<String>,
    /// Where a call without a marker may begin.
    pub bare: Option<&'static str>,
    /// What may precede a further call without an opener.
    pub more: Option<String>,
    /// Only declared tools are calls.
    pub offered: bool,
    pub probe: Option<String>,
}

/// A dialect as it was read off.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Draft {
    pub section: Option<Section>,
    pub unit: Unit,
    /// A call as the template wrote it, and two.
    pub sample: String,
    pub pair: Option<String>,
    /// What surrounds the name in an id that holds it.
    pub ids: Option<(String, String)>,
    pub reasoning: Vec<(String, String)>,
    pub framing: Vec<String>,
    pub turn: Vec<String>,
    /// How the user's turn begins, unless the model's does so too.
    pub others: Vec<String>,
}

impl Draft {
    /// The literal parts of its markers, which a value may hold.
    pub fn markers(&self) -> Vec<String> {
        let mut patterns = vec![&self.unit.open, &self.unit.close];
        patterns.extend(
            self.section
                .iter()
                .flat_map(|section| [&section.open, &section.close]),
        );
        if let Payload::Params(params) | Payload::Tree(params) = &self.unit.payload {
            patterns.extend([&params.open, &params.close]);
        }
        patterns.extend(
            self.reasoning
                .iter()
                .flat_map(|(open, close)| [open, close]),
        );
        let literal = |text: &&String| {
            text.replace("$_", "")
                .split("$^")
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let filled = |text: String| {
            let holes = [
                ("$name", "ping"),
                ("$key", "text"),
                ("$id", "0"),
                ("$tag", " name=\"ping\""),
                ("$type", "string"),
            ];
            holes
                .iter()
                .fold(text, |text, (hole, word)| text.replace(hole, word))
                .replace("$$", "$")
        };
        let all = patterns.iter().map(literal).map(filled);
        all.filter(|text| !text.is_empty()).collect()
    }

    /// The draft with the outer markers of a call as a section: `<tool_call>$_<function=$name>`.
    pub fn with_section(&self) -> Option<Self> {
        let (outer, open) = self.unit.open.split_once("$_")?;
        let (close, end) = self.unit.close.rsplit_once("$_")?;
        if self.section.is_some() || outer.contains('$') || !open.starts_with(['<', '[']) {
            return None;
        }
        let mut out = self.clone();
        out.section = Some(Section {
            open: outer.to_owned(),
            close: end.to_owned(),
            separator: String::new(),
        });
        open.clone_into(&mut out.unit.open);
        close.clone_into(&mut out.unit.close);
        Some(out)
    }

    /// The text of the file.
    pub fn toml(&self, id: &str, title: &str, notes: &[String]) -> String {
        let mut out = String::new();
        for note in notes {
            let _ = writeln!(out, "# {}", note.replace(['\n', '\r'], " "));
        }
        self.head(&mut out, id, title);
        // As templates write values that are no texts.
        if matches!(self.unit.payload, Payload::Params(_) | Payload::Tree(_)) {
            out.push_str("untyped = \"json\"\n");
        }
        if let Some((before, between)) = &self.ids {
            let (before, between) = (quoted(before), quoted(between));
            let _ = writeln!(out, "\n[framed]\nids = [[{before}, {between}]]");
        }
        self.payload(&mut out);
        if let Some(section) = &self.section {
            let _ = writeln!(
                out,
                "\n[framed.section]\nopen = [{}]",
                quoted(&section.open)
            );
            list(&mut out, "close", std::slice::from_ref(&section.close));
            list(
                &mut out,
                "separators",
                std::slice::from_ref(&section.separator),
            );
            // A call's own opener is evidence enough, unless it is no marker.
            if self.unit.open.starts_with(['<', '[']) && self.unit.open.len() > 3 {
                out.push_str("optional = true\n");
            }
        }
        self.unit(&mut out);
        self.params(&mut out);
        self.thoughts(&mut out);
        out
    }

    /// The text of a file without calls.
    pub fn reasoning_toml(&self) -> String {
        let mut out = String::new();
        self.head(&mut out, "derived", "Derived");
        self.thoughts(&mut out);
        out
    }

    fn head(&self, out: &mut String, id: &str, title: &str) {
        let _ = writeln!(out, "id = {}\ntitle = {}", quoted(id), quoted(title));
        list(out, "turn", &self.turn);
        list(out, "others", &self.others);
        list(out, "framing", &self.framing);
        out.push_str("deltas = \"live\"\n");
    }

    fn thoughts(&self, out: &mut String) {
        for (open, close) in &self.reasoning {
            let _ = writeln!(
                out,
                "\n[[reasoning]]\nopen = {}\nclose = {}",
                quoted(open),
                quoted(close)
            );
        }
    }

    fn payload(&self, out: &mut String) {
        match &self.unit.payload {
            Payload::Json { keys, python } => {
                let usual = ["name", "arguments", "parameters"];
                let known = |key: &str| usual.contains(&key);
                if known(&keys.name)
                    && known(&keys.arguments)
                    && keys.wrapper.is_none()
                    && !keys.name_is_key
                    && !python
                    && keys.id.as_deref().is_none_or(|id| id == "id")
                {
                    return;
                }
                out.push_str("\n[framed.json]\n");
                if keys.name_is_key {
                    out.push_str("name_is_key = true\n");
                } else {
                    list(out, "name", std::slice::from_ref(&keys.name));
                    list(out, "arguments", std::slice::from_ref(&keys.arguments));
                }
                list(out, "id", keys.id.as_slice());
                list(out, "wrapper", keys.wrapper.as_slice());
                if *python {
                    out.push_str("python = true\n");
                }
            }
            Payload::Arguments { python: true } => out.push_str("\n[framed.json]\npython = true\n"),
            Payload::Python { brackets, typed } => {
                if (*brackets, *typed) != ("required", false) {
                    let _ = writeln!(out, "\n[framed.python]\nbrackets = \"{brackets}\"");
                }
                if *typed {
                    out.push_str("quoted_typed = true\n");
                }
            }
            Payload::Braces {
                prefix,
                delimiters,
                all,
            } => {
                let _ = writeln!(out, "\n[framed.braces]\nprefix = {}", quoted(prefix));
                list(out, "delimiters", delimiters);
                if *all {
                    out.push_str("all_delimited = true\n");
                }
            }
            Payload::Arguments { python: false } | Payload::Params(_) | Payload::Tree(_) => {}
        }
    }

    fn unit(&self, out: &mut String) {
        let unit = &self.unit;
        let _ = writeln!(out, "\n[[framed.unit]]\nopen = [{}]", quoted(&unit.open));
        list(out, "close", std::slice::from_ref(&unit.close));
        let _ = writeln!(out, "payload = \"{}\"", unit.payload.word());
        if let Some(name) = unit.name.as_ref().filter(|name| *name != "name") {
            let _ = writeln!(out, "name = {}", quoted(name));
        }
        list(out, "probe", unit.probe.as_slice());
        list(out, "more", unit.more.as_slice());
        if let Some(at) = unit.bare {
            let _ = writeln!(out, "bare = {{ at = \"{at}\" }}");
        }
        if unit.offered {
            out.push_str("offered = true\n");
        }
    }

    fn params(&self, out: &mut String) {
        let (word, params) = match &self.unit.payload {
            Payload::Params(params) => ("param", params),
            Payload::Tree(params) => ("tree", params),
            _ => return,
        };
        let _ = writeln!(
            out,
            "\n[framed.{word}]\nopen = [{}]\nclose = [{}]",
            quoted(&params.open),
            quoted(&params.close)
        );
        if let Some(name) = params.name.as_ref().filter(|name| *name != "name") {
            let _ = writeln!(out, "name = {}", quoted(name));
        }
        if params.frame != "verbatim" {
            let _ = writeln!(out, "frame = \"{}\"", params.frame);
        }
        if params.cdata {
            out.push_str("cdata = true\n");
        }
        if let Some((attribute, text)) = &params.hint {
            let attribute = attribute
                .as_ref()
                .map(|name| format!("attribute = {}, ", quoted(name)));
            let text: Vec<String> = text.iter().map(|text| quoted(text)).collect();
            let _ = writeln!(
                out,
                "hint = {{ {}text = [{}] }}",
                attribute.unwrap_or_default(),
                text.join(", ")
            );
        }
    }
}

/// A list of texts, or nothing if all are empty.
fn list(out: &mut String, key: &str, texts: &[String]) {
    let texts: Vec<String> = texts
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| quoted(text))
        .collect();
    if !texts.is_empty() {
        let _ = writeln!(out, "{key} = [{}]", texts.join(", "));
    }
}

/// A text as TOML writes it.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c >= ' ' && c != '\u{7f}';
    if text.contains(['"', '\\']) && !text.contains('\'') && text.chars().all(plain) {
        return format!("'{text}'");
    }
    // JSON's escapes are TOML's, which wants one more.
    Json::from(text).to_string().replace('\u{7f}', "\\u007F")
}
