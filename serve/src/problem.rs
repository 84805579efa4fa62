//! Errors as clients get them: a status, a code for programs, and a sentence for people.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use toolglot::json::{Map, Value, json};

use crate::store::StoreError;

/// An answer that is an error.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// Other members.
    more: Map,
}

impl Problem {
    pub fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code,
            message: message.into(),
            more: Map::new(),
        }
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(400, "bad_request", message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "internal", message)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::new(500, "store", error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut error = self.more;
        error.insert("code".to_owned(), self.code.into());
        error.insert("message".to_owned(), self.message.into());
        let body = json!({"error": Value::Object(error)});
        (self.status, Json(body)).into_response()
    }
}

/// The answer to a method that a path does not take.
pub async fn method() -> Problem {
    Problem::new(405, "method", "this path does not take that method")
}
