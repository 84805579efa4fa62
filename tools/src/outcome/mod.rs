//! Writes the results of calls for models.
//!
//! [`Renderer`] writes [`ToolResult`]s in a dialect's own layout; [`messages`] builds the next messages of a conversation from
//! a turn and its results. A result is condensed, then escaped, so that no text of a tool, a file or a web page can be a call,
//! or end the result that contains it: see [`escape`](toolglot::escape()).

mod around;
mod condense;
mod messages;
mod render;
#[cfg(test)]
mod tests;
mod wire;

use std::time::Duration;

use toolglot::json::Value as Json;

use crate::prompt::Lang;

pub use condense::{Condense, Condenser};
pub use messages::{Assistant, MessageError, MessageOptions, Shape, call_ids, messages};
pub use render::{RenderOptions, Renderer};

/// The result of a call.
///
/// ```
/// use toolglot::json::json;
/// use toolglot_tools::outcome::{Status, ToolResult};
///
/// let read = ToolResult::json("call_0", "weather", json!({"sky": "grey"}));
/// let failed = ToolResult::text("call_1", "weather", Status::Error, "no such city");
/// assert_eq!((read.status, failed.status), (Status::Success, Status::Error));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The call's id.
    pub id: String,
    /// The tool's name, as the call spelled it.
    pub name: String,
    /// How it ended.
    pub status: Status,
    /// What it returned, in order. Without content it is an empty text, or for calls that were not carried out a sentence that
    /// says so.
    pub content: Vec<Content>,
    /// How long it took.
    pub duration: Option<Duration>,
}

impl ToolResult {
    /// A result with one text.
    #[must_use]
    pub fn text(id: &str, name: &str, status: Status, text: &str) -> Self {
        let content = if text.is_empty() {
            vec![]
        } else {
            vec![Content::Text(text.to_owned())]
        };
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            status,
            content,
            duration: None,
        }
    }

    /// A result with one JSON value.
    #[must_use]
    pub fn json(id: &str, name: &str, value: Json) -> Self {
        Self {
            content: vec![Content::Json(value)],
            ..Self::text(id, name, Status::Success, "")
        }
    }

    /// Sets the content.
    #[must_use]
    pub fn content(mut self, content: Vec<Content>) -> Self {
        self.content = content;
        self
    }

    /// Sets the duration.
    #[must_use]
    pub fn took(mut self, duration: Duration) -> Self {
        self.duration = Some(duration);
        self
    }
}

/// How a call ended.
///
/// See the example of [`ToolResult`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// It was carried out.
    Success,
    /// It failed, or was not understood.
    Error,
    /// A person refused it.
    Denied,
    /// It was stopped, or never started.
    Cancelled,
    /// It took too long.
    Timeout,
    /// It was never started: an earlier step failed, or a rule prevented it.
    NotRun,
}

toolglot::words! {
    Status, "status":
    Success = "success",
    Error = "error",
    Denied = "denied",
    Cancelled = "cancelled",
    Timeout = "timeout",
    NotRun = "not_run",
}

impl Status {
    /// What the model is told if there is no content. The wording of the denial is from the AIO design, section 11.3.
    fn sentence(self, lang: Lang, duration: Option<Duration>) -> String {
        let ms = duration.map(|duration| duration.as_millis());
        match (self, lang) {
            (Self::Success, _) => String::new(),
            (Self::Error, Lang::Zh) => "工具执行失败".to_owned(),
            (Self::Error, Lang::En) => "The tool failed".to_owned(),
            (Self::Denied, Lang::Zh) => "用户拒绝了该操作".to_owned(),
            (Self::Denied, Lang::En) => "The user refused this operation".to_owned(),
            (Self::Cancelled, Lang::Zh) => "该操作已取消".to_owned(),
            (Self::Cancelled, Lang::En) => "The operation was cancelled".to_owned(),
            (Self::NotRun, Lang::Zh) => "该调用未执行".to_owned(),
            (Self::NotRun, Lang::En) => "The call was not run".to_owned(),
            (Self::Timeout, Lang::Zh) => ms.map_or("工具执行超时".to_owned(), |ms| {
                format!("工具执行超时（{ms}ms）")
            }),
            (Self::Timeout, Lang::En) => ms.map_or("The tool timed out".to_owned(), |ms| {
                format!("The tool timed out after {ms} ms")
            }),
        }
    }
}

/// A part of a result.
///
/// ```
/// use toolglot_tools::outcome::{Content, Status, ToolResult};
///
/// let picture = Content::Image { mime: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
/// let result = ToolResult::text("call_0", "plot", Status::Success, "")
///     .content(vec![Content::Text("The plot:".to_owned()), picture]);
/// assert_eq!(result.content.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(String),
    /// A JSON value.
    Json(Json),
    /// An image.
    Image {
        /// Its media type, for example `image/png`.
        mime: String,
        /// Its bytes in base64.
        data: String,
    },
    /// A document: its address, and its text if it has one.
    Resource {
        /// The address.
        uri: String,
        /// Its media type.
        mime: Option<String>,
        /// Its text.
        text: Option<String>,
    },
}
