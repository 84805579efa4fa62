//! What a server sends instead of a response: errors in the many shapes of servers, proxies and frameworks.

use std::fmt;

use toolglot_scan::lossy;

use super::json::{Node, Object};

/// At most this much of a body that is not JSON goes into the message of an error.
pub(crate) const SHOWN: usize = 4096;
/// Members that hold the message of an error, in order of preference.
const WORDS: [&str; 11] = [
    "message",
    "msg",
    "error_message",
    "error_msg",
    "error_description",
    "error",
    "errors",
    "detail",
    "details",
    "title",
    "reason",
];
/// The maximum depth of the message.
const DEPTH: u32 = 4;

/// An error of the server, or of a proxy in front of it.
///
/// ```
/// use toolglot::source::ServerError;
///
/// let error = ServerError::new("The model is busy", "overloaded_error");
/// assert_eq!(error.to_string(), "The model is busy (overloaded_error)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerError {
    /// Its message.
    pub message: String,
    /// Its type, as the server names it (`overloaded_error`); `upstream_error` if the server names none.
    pub kind: String,
    /// The object that the server sent, on one line; `None` if it sent no JSON.
    pub json: Option<String>,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.kind == UNKNOWN {
            true => Ok(()),
            false => write!(f, " ({})", self.kind),
        }
    }
}

/// The type of an error that names none.
const UNKNOWN: &str = "upstream_error";

impl ServerError {
    /// Creates an error without the object that the server sent.
    #[must_use]
    pub fn new(message: &str, kind: &str) -> Self {
        Self {
            message: message.to_owned(),
            kind: kind.to_owned(),
            json: None,
        }
    }

    /// The error in OpenAI's form: `{"error":{"message":..,"type":..,"param":null,"code":null}}`, on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serializing a string cannot fail.
        let string = |text: &str| serde_json::to_string(text).unwrap_or_default();
        let (message, kind) = (string(&self.message), string(&self.kind));
        format!(r#"{{"error":{{"message":{message},"type":{kind},"param":null,"code":null}}}}"#)
    }

    /// The object as it came from an OpenAI-compatible server; otherwise in OpenAI's form.
    pub(crate) fn as_it_came(&self) -> String {
        self.json.clone().unwrap_or_else(|| self.to_json())
    }

    /// The error for an empty response.
    pub(crate) fn nothing() -> Self {
        Self {
            message: super::SourceError::Cut.to_string(),
            kind: "stream_error".to_owned(),
            json: None,
        }
    }

    /// An error with only a message.
    fn words(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            kind: UNKNOWN.to_owned(),
            json: None,
        }
    }

    /// Reads an object that has an `error` member as an error, whatever else it has.
    pub(crate) fn explicit(node: Node<'_>) -> Option<Self> {
        let root = node.object();
        explicit(&root).is_some().then(|| Self::read(node, &root))
    }

    /// Reads an object that is not part of a response as an error, if it looks like one.
    pub(crate) fn of(node: Node<'_>) -> Option<Self> {
        let root = node.object();
        let is = |key: &str| root.text(key).as_deref() == Some("error");
        let says = |key: &&str| root.text(key).is_some();
        let lists = |key: &str| !root.items(key).is_empty();
        let found = explicit(&root).is_some()
            || is("object")
            || is("type")
            || root.some("detail").is_some()
            || lists("errors")
            || WORDS.iter().any(says);
        found.then(|| Self::read(node, &root))
    }

    fn read(node: Node<'_>, root: &Object<'_>) -> Self {
        let inner = explicit(root);
        let message = inner.and_then(|inner| words(inner, DEPTH));
        let message = message.or_else(|| words(node, DEPTH));
        let fallback = || inner.unwrap_or(node).json().to_owned();
        let kind_of = |object: &Object<'_>| {
            let word = |key: &str| object.text(key).filter(|word| word != "error");
            let known = ["type", "code", "status", "error_type"].into_iter();
            known.filter_map(word).next().map(|word| word.into_owned())
        };
        let kind = inner.and_then(|inner| kind_of(&inner.object()));
        Self {
            message: message.unwrap_or_else(fallback),
            kind: kind.or_else(|| kind_of(root)).unwrap_or(UNKNOWN.to_owned()),
            json: Some(node.json().replace(['\n', '\r'], " ")),
        }
    }

    /// Reads the beginning of a body that contains no part of a response as an error: an error in a list, a proxy's error page,
    /// a line of text. Returns `None` if it is empty, or truncated JSON.
    pub(crate) fn foreign(start: &[u8]) -> Option<Self> {
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let text = lossy(start.trim_ascii());
        let data: Vec<&str> = text
            .lines()
            .filter_map(|l| l.strip_prefix("data:"))
            .collect();
        let text = match data.is_empty() {
            true => text.trim().to_owned(),
            false => data.join("\n").trim().to_owned(),
        };
        if text.is_empty() {
            return None;
        }
        let list = match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
            Ok(_) => Node::read(1, text.as_bytes()).ok()?,
            Err(error) if error.is_eof() && text.starts_with(['{', '[', '"']) => return None,
            Err(_) => return Some(Self::words(&text)),
        };
        let object = list.items().into_iter().find(|item| item.is_object());
        let node = object.unwrap_or(list);
        match node.is_object() {
            true => Some(Self::read(node, &node.object())),
            false => Some(Self::words(&node.string().unwrap_or(node.json().into()))),
        }
    }
}

/// The `error` member of an object, unless its value is `false`.
fn explicit<'a>(root: &Object<'a>) -> Option<Node<'a>> {
    root.some("error").filter(|error| error.json() != "false")
}

/// Returns the message of an error: a string, or the first one in a list or in an object under a member that is known to hold
/// it.
fn words(node: Node<'_>, depth: u32) -> Option<String> {
    if let Some(text) = node.string() {
        return Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    }
    let depth = depth.checked_sub(1)?;
    if node.is_object() {
        let object = node.object();
        let said = WORDS
            .iter()
            .find_map(|key| words(object.some(key)?, depth))?;
        let place: Vec<String> = object.items("loc").into_iter().map(plain).collect();
        return Some(match place.is_empty() {
            true => said,
            false => format!("{}: {said}", place.join(".")),
        });
    }
    let items = node.items().into_iter();
    let said: Vec<String> = items.filter_map(|item| words(item, depth)).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

fn plain(node: Node<'_>) -> String {
    node.string().unwrap_or(node.json().into()).into_owned()
}
