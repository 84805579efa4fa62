//! The names of errors. Every server has its own; a client decides by the name whether it asks again, so it gets one of its protocol.

use axum::http::StatusCode;

/// Anthropic's names of errors.
const ANTHROPIC: [&str; 10] = [
    "api_error",
    "authentication_error",
    "billing_error",
    "invalid_request_error",
    "not_found_error",
    "overloaded_error",
    "permission_error",
    "rate_limit_error",
    "request_too_large",
    "timeout_error",
];

/// OpenAI's codes of errors that clients know by heart.
const OPENAI: [&str; 8] = [
    "context_length_exceeded",
    "insufficient_quota",
    "invalid_api_key",
    "invalid_prompt",
    "model_not_found",
    "rate_limit_exceeded",
    "server_is_overloaded",
    "slow_down",
];

/// Anthropic's name of an error with this status.
pub fn of_status(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 | 503 => "overloaded_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    }
}

/// OpenAI's type and code of an error with this status, of which nothing else is known.
pub fn openai(status: StatusCode) -> (&'static str, Option<&'static str>) {
    match status.as_u16() {
        401 => ("authentication_error", Some("invalid_api_key")),
        429 => ("rate_limit_error", Some("rate_limit_exceeded")),
        400..500 => ("invalid_request_error", None),
        _ => ("upstream_error", None),
    }
}

/// Anthropic's name of an error in a stream, where no status tells what it is.
pub fn anthropic(kind: &str) -> &'static str {
    let own = ANTHROPIC.into_iter().find(|own| *own == kind);
    own.unwrap_or_else(|| of_status(status(kind)))
}

/// The code of such an error in `/v1/responses`.
pub fn code(kind: &str) -> &'static str {
    let own = OPENAI.into_iter().find(|own| *own == kind);
    own.unwrap_or_else(|| openai(status(kind)).1.unwrap_or("server_error"))
}

/// The status that the name of an error stands for: a number, a name like `rate_limit_error`, a class like `RateLimitError`.
fn status(kind: &str) -> StatusCode {
    if let Ok(status) = kind.parse() {
        return status;
    }
    let mut word = kind.to_ascii_lowercase();
    word.retain(|c| c.is_ascii_alphanumeric());
    let word = word.strip_suffix("error").unwrap_or(&word);
    match word {
        "badrequest"
        | "contextlengthexceeded"
        | "exceedcontextsize"
        | "invalidargument"
        | "invalidprompt"
        | "invalidrequest"
        | "unprocessableentity"
        | "validation" => StatusCode::BAD_REQUEST,
        "authentication" | "invalidapikey" | "unauthenticated" | "unauthorized" => {
            StatusCode::UNAUTHORIZED
        }
        "forbidden" | "permission" | "permissiondenied" => StatusCode::FORBIDDEN,
        "modelnotfound" | "notfound" => StatusCode::NOT_FOUND,
        "requesttoolarge" => StatusCode::PAYLOAD_TOO_LARGE,
        "insufficientquota" | "ratelimit" | "ratelimitexceeded" | "requests"
        | "resourceexhausted" | "tokens" | "toomanyrequests" => StatusCode::TOO_MANY_REQUESTS,
        "overloaded" | "serverisoverloaded" | "serviceunavailable" | "slowdown" | "unavailable" => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_errors_are_translated() {
        for (kind, name, openai) in [
            ("overloaded_error", "overloaded_error", "server_error"),
            ("billing_error", "billing_error", "server_error"),
            ("RateLimitError", "rate_limit_error", "rate_limit_exceeded"),
            ("429", "rate_limit_error", "rate_limit_exceeded"),
            (
                "RESOURCE_EXHAUSTED",
                "rate_limit_error",
                "rate_limit_exceeded",
            ),
            (
                "insufficient_quota",
                "rate_limit_error",
                "insufficient_quota",
            ),
            ("BadRequestError", "invalid_request_error", "server_error"),
            (
                "context_length_exceeded",
                "invalid_request_error",
                "context_length_exceeded",
            ),
            ("401", "authentication_error", "invalid_api_key"),
            ("unavailable_error", "overloaded_error", "server_error"),
            ("stream_error", "api_error", "server_error"),
            ("999999", "api_error", "server_error"),
        ] {
            assert_eq!((anthropic(kind), code(kind)), (name, openai), "{kind}");
        }
    }
}
