//! Clients of model servers.

use std::time::Duration;

use reqwest::{Client, Response as Answer, StatusCode, Url};
use toolglot::json::{Map, Value};
use toolglot::source::{Anthropic, Ollama, OpenAi};

use super::{Model, Out, SetupError, Stream, pieces};
use crate::response::{Response, Said};
use crate::step::Ask;

/// Maximum bytes of an error response that are read.
const ERROR: usize = 4096;
/// The number of stop sequences that all servers accept.
const STOPS: usize = 4;

/// Default limit of tokens for Anthropic, whose interface requires one.
const TOKENS: u32 = 8192;

/// The interface of a server.
///
/// ```
/// use toolglot_agent::driver::{Api, ChatModel};
///
/// assert!(ChatModel::with_api("http://localhost:11434", "qwen3", Api::Ollama).is_ok());
/// assert_eq!("anthropic".parse(), Ok(Api::Anthropic));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Api {
    /// `/v1/chat/completions`, of any OpenAI-compatible server.
    #[default]
    OpenAi,
    /// Anthropic's `/v1/messages`.
    Anthropic,
    /// Ollama's `/api/chat`.
    Ollama,
}

toolglot::words! {
    Api, "interface":
    OpenAi = "openai",
    Anthropic = "anthropic",
    Ollama = "ollama",
}

impl Api {
    /// The end of the request's path, and what precedes it if the host's address has no path.
    const fn path(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenAi => ("/chat/completions", "/v1"),
            Self::Anthropic => ("/messages", "/v1"),
            Self::Ollama => ("/chat", "/api"),
        }
    }

    fn response(self) -> Response {
        match self {
            Self::OpenAi => Response::new(OpenAi::new()),
            Self::Anthropic => Response::new(Anthropic::new()),
            Self::Ollama => Response::new(Ollama::new()),
        }
    }
}

/// Asks a model on a server, with streaming. An agent of shape [`Text`](toolglot_tools::outcome::Shape::Text) teaches
/// its dialect in the messages; one of shape [`OpenAi`](toolglot_tools::outcome::Shape::OpenAi) (also for Ollama) or
/// [`Anthropic`](toolglot_tools::outcome::Shape::Anthropic) passes its tools to the server.
///
/// ```
/// use std::time::Duration;
/// use toolglot_agent::driver::ChatModel;
///
/// let model = ChatModel::new("http://localhost:8000", "m")?.key("secret").retries(1).patience(Duration::from_secs(60));
/// assert!(ChatModel::new("ftp://localhost", "m").is_err());
/// # drop(model);
/// # Ok::<(), toolglot_agent::driver::SetupError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChatModel {
    client: Client,
    api: Api,
    url: Url,
    model: String,
    key: Option<String>,
    retries: u32,
    patience: Duration,
    longest: Duration,
    more: Map,
}

impl ChatModel {
    /// Creates a client for a model on an OpenAI-compatible server, whose address may omit the path (`http://localhost:8000`,
    /// `https://host/v1`).
    ///
    /// # Errors
    /// The address is invalid; TLS cannot be set up.
    pub fn new(address: &str, model: &str) -> Result<Self, SetupError> {
        Self::with_api(address, model, Api::OpenAi)
    }

    /// Creates a client for a server with another interface.
    ///
    /// # Errors
    /// The address is invalid; TLS cannot be set up.
    pub fn with_api(address: &str, model: &str, api: Api) -> Result<Self, SetupError> {
        let refused = |why: String| SetupError::Address {
            address: address.to_owned(),
            why,
        };
        let mut url = Url::parse(address).map_err(|error| refused(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("only http and https are asked".to_owned()));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        let (asked, before) = api.path();
        let path = match path.as_str() {
            "" => format!("{before}{asked}"),
            own if own.ends_with(asked) => path,
            own => format!("{own}{asked}"),
        };
        url.set_path(&path);
        let client = super::tls::builder(url.scheme() == "https").map_err(SetupError::Client)?;
        Ok(Self {
            client: client
                .build()
                .map_err(|error| SetupError::Client(super::tls::words(&error)))?,
            api,
            url,
            model: model.to_owned(),
            key: None,
            retries: 3,
            patience: Duration::from_secs(300),
            longest: Duration::from_secs(60),
            more: Map::new(),
        })
    }

    /// Sets the key, sent as a bearer token or in the interface's own way.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// Sets how often a request that was refused with status 429 or 5xx is retried; 3 times by default. A reply that has begun to arrive
    /// is never requested again.
    #[must_use]
    pub fn retries(mut self, times: u32) -> Self {
        self.retries = times;
        self
    }

    /// Sets how long the server may be silent; 5 minutes by default.
    #[must_use]
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// Sets the longest wait before a retry that the server may request (`Retry-After`); a minute by default. A longer one is a
    /// failure.
    #[must_use]
    pub fn longest_wait(mut self, time: Duration) -> Self {
        self.longest = time;
        self
    }

    /// Adds members to the request, for example `temperature`.
    #[must_use]
    pub fn more(mut self, members: Map) -> Self {
        self.more = members;
        self
    }

    fn body(&self, ask: &Ask) -> String {
        let mut body = self.more.clone();
        let mut put = |key: &str, value: Value| {
            body.insert(key.to_owned(), value);
        };
        put("model", Value::from(self.model.as_str()));
        put("stream", Value::Bool(true));
        if !ask.tools.is_empty() {
            put("tools", Value::Array(ask.tools.clone()));
        }
        let stop = ask.stop.iter().map(|stop| Value::from(stop.as_str()));
        match self.api {
            Api::OpenAi => {
                put("messages", Value::Array(ask.messages.clone()));
                if !ask.stop.is_empty() {
                    put("stop", stop.take(STOPS).collect());
                }
                if let Some(grammar) = &ask.grammar {
                    put("grammar", Value::from(grammar.as_str()));
                }
            }
            Api::Anthropic => {
                let (system, messages) = system(&ask.messages);
                put("messages", Value::Array(messages));
                if !system.is_empty() {
                    put("system", Value::from(system));
                }
                if !ask.stop.is_empty() {
                    put("stop_sequences", stop.collect());
                }
                if body.get("max_tokens").is_none() {
                    body.insert("max_tokens".to_owned(), TOKENS.into());
                }
            }
            Api::Ollama => {
                put("messages", ask.messages.iter().map(ollama).collect());
                if !ask.stop.is_empty() {
                    let mut options = match body.get("options") {
                        Some(Value::Object(own)) => own.clone(),
                        _ => Map::new(),
                    };
                    options.insert("stop".to_owned(), stop.collect());
                    body.insert("options".to_owned(), Value::Object(options));
                }
            }
        }
        Value::Object(body).to_string()
    }

    async fn run(self, ask: Ask, out: Out<Said>) -> Said {
        match self.answer(&ask).await {
            Ok(answer) => self.read(answer, &out).await,
            Err(why) => Said::Failed(why),
        }
    }

    /// Sends the request, with retries, and returns the response.
    async fn answer(&self, ask: &Ask) -> Result<Answer, String> {
        let body = self.body(ask);
        let mut tries = 0;
        loop {
            let mut request = self
                .client
                .post(self.url.clone())
                .header("content-type", "application/json");
            if self.api == Api::Anthropic {
                request = request.header("anthropic-version", "2023-06-01");
            }
            request = match (&self.key, self.api) {
                (None, _) => request,
                (Some(key), Api::Anthropic) => request.header("x-api-key", key),
                (Some(key), Api::OpenAi | Api::Ollama) => request.bearer_auth(key),
            };
            let sent = tokio::time::timeout(self.patience, request.body(body.clone()).send()).await;
            let answer = sent
                .map_err(|_| self.silent())?
                .map_err(|error| super::tls::words(&error))?;
            let status = answer.status();
            if status.is_success() {
                return Ok(answer);
            }
            let again = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
            if !again || tries >= self.retries {
                return Err(self.refused(answer).await);
            }
            let wait = match answer
                .headers()
                .get("retry-after")
                .map(|value| value.to_str().unwrap_or_default())
            {
                Some(told) => retry_after(told, std::time::SystemTime::now()),
                None => None,
            };
            let wait = wait.unwrap_or(Duration::from_millis(500) * 2_u32.saturating_pow(tries));
            if wait > self.longest {
                let wait = wait.as_secs();
                return Err(format!(
                    "{}; it asks to wait for {wait} s",
                    self.refused(answer).await
                ));
            }
            drop(answer);
            tokio::time::sleep(wait).await;
            tries += 1;
        }
    }

    fn silent(&self) -> String {
        format!(
            "the server was silent for {} s",
            self.patience.as_secs_f64()
        )
    }

    /// Describes an error response.
    async fn refused(&self, mut answer: Answer) -> String {
        let status = answer.status();
        if status.is_redirection() {
            return format!("HTTP {status}: it leads elsewhere, which is not followed");
        }
        let mut body = vec![];
        while let Ok(Ok(Some(chunk))) = tokio::time::timeout(self.patience, answer.chunk()).await {
            body.extend_from_slice(&chunk);
            if body.len() > ERROR {
                body.truncate(ERROR);
                break;
            }
        }
        let text = String::from_utf8_lossy(&body).into_owned();
        let read = serde_json::from_str::<Value>(&text).ok();
        let error = read.as_ref().and_then(|body| body.get("error"));
        let message = error.and_then(|error| error.get("message").unwrap_or(error).as_str());
        let words = message.unwrap_or(&text).trim();
        format!("HTTP {status}: {words}")
            .trim_end_matches([' ', ':'])
            .to_owned()
    }

    async fn read(&self, mut answer: Answer, out: &Out<Said>) -> Said {
        let mut response = self.api.response();
        loop {
            let next = tokio::time::timeout(self.patience, answer.chunk()).await;
            let said = match next {
                Err(_) => return Said::Failed(self.silent()),
                Ok(Err(error)) => return Said::Failed(super::tls::words(&error)),
                Ok(Ok(Some(bytes))) => response.feed(&bytes),
                Ok(Ok(None)) => response.end(),
            };
            for one in said {
                match one {
                    Said::End(_) | Said::Failed(_) => return one,
                    one => out.send(one).await,
                }
            }
        }
    }
}

impl Model for ChatModel {
    fn ask(&self, ask: Ask) -> Stream<Said> {
        let model = self.clone();
        pieces(async move |out| model.run(ask, out).await)
    }
}

/// Splits off the system messages at the beginning, which Anthropic's interface takes separately. All others are the model's or the
/// user's there: the results of tools, for which dialects have roles of their own, must not become instructions.
fn system(messages: &[Value]) -> (String, Vec<Value>) {
    let is = |message: &Value, role| message.get("role").and_then(Value::as_str) == Some(role);
    let begin = messages.iter().take_while(|one| is(one, "system")).count();
    let (system, others) = messages.split_at(begin);
    let texts = system
        .iter()
        .filter_map(|one| one.get("content").and_then(Value::as_str));
    let text = texts.collect::<Vec<_>>().join("\n\n");
    let others = others.iter().cloned().map(|mut message| {
        if !is(&message, "assistant") {
            message["role"] = "user".into();
        }
        message
    });
    (text, others.collect())
}

/// Converts a message for Ollama, where arguments of calls are objects instead of JSON text.
fn ollama(message: &Value) -> Value {
    let mut message = message.clone();
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        let arguments = call
            .get_mut("function")
            .and_then(|function| function.get_mut("arguments"));
        if let Some(arguments) = arguments
            && let Some(text) = arguments.as_str()
            && let Ok(object) = serde_json::from_str::<Map>(text)
        {
            *arguments = Value::Object(object);
        }
    }
    message
}

/// Parses how long a server asks to wait: seconds, or a date (RFC 9110, IMF-fixdate).
fn retry_after(text: &str, now: std::time::SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let parts: Vec<&str> = text.split([' ', ':']).collect();
    let [_, day, month, year, hour, minute, second, "GMT"] = parts.as_slice() else {
        return None;
    };
    let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month = months.iter().position(|name| name == month)? as u64;
    let number = |text: &str| text.parse::<u64>().ok();
    let (day, year) = (
        number(day)?,
        number(year).filter(|year| (1970..10_000).contains(year))?,
    );
    // Days since 1970, counting years from March.
    let (year, month) = if month < 2 {
        (year - 1, month + 10)
    } else {
        (year, month - 2)
    };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    let days = days.checked_sub(719_469)?;
    let time = days * 86_400 + number(hour)? * 3600 + number(minute)? * 60 + number(second)?;
    let then = std::time::UNIX_EPOCH + Duration::from_secs(time);
    Some(then.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_ask_to_wait_in_seconds_or_until_a_date() {
        let now = std::time::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let wait = |text: &str| retry_after(text, now).map(|wait| wait.as_secs());
        assert_eq!(wait("7"), Some(7));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT"), Some(0));
        assert_eq!(wait("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(
            wait("Thu, 29 Feb 1996 00:00:00 GMT"),
            Some(825_552_000 - 784_111_777)
        );
        assert_eq!(wait("Sun, 06 Nov 1993 08:50:37 GMT"), Some(0));
        for odd in ["", "soon", "-3", "Sun, 06 Now 1994 08:49:37 GMT"] {
            assert_eq!(wait(odd), None, "{odd}");
        }
    }
}
