//! One request and its response.

mod reply;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, TE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use toolglot::json::Value;
use toolglot::layer::readable;
use toolglot::sink::openai::{Calls, Settings};
use toolglot::{Options, ToolChoice, Tools, UnknownTool};

use crate::app::{App, Live};
use crate::choice::Choice;
use crate::config::{Api, Mode, Recovered, Rule};
use crate::engine::reader::Wire;
use crate::face::Face;
use crate::models::{Chosen, TAUGHT};
use crate::patience::{Patience, Unread};
use crate::settings::Lost;
use crate::upstream::words;
use crate::{headers, log, prompt, seed, translate};

/// Time limit for `/props`.
const PROPS: Duration = Duration::from_secs(3);

/// Why the gateway answers instead of the server.
struct Refusal {
    status: StatusCode,
    why: String,
}

impl Refusal {
    fn new(status: StatusCode, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { status, why }
    }

    fn odd(why: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, why)
    }

    fn late() -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "the server took too long")
    }

    fn silent() -> Self {
        let why = "the body of the request took too long";
        Self::new(StatusCode::REQUEST_TIMEOUT, why)
    }

    fn upstream(error: &reqwest::Error) -> Self {
        let status = match error.is_timeout() {
            true => StatusCode::GATEWAY_TIMEOUT,
            false => StatusCode::BAD_GATEWAY,
        };
        Self::new(status, words(error))
    }

    fn response(&self, face: Face) -> Response {
        let body = face.error(self.status, &self.why);
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status;
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            let wait = HeaderValue::from_static("1");
            response.headers_mut().insert("retry-after", wait);
        }
        response
    }
}

/// The state of an exchange.
struct Terms {
    app: Arc<App>,
    live: Arc<Live>,
    face: Face,
    api: Api,
    /// Both sides speak the same protocol.
    same: bool,
    wire: Wire,
    model: String,
    rule: Rule,
    chosen: Chosen,
    options: Options,
    /// The tools that the parser knows of.
    declared: Option<Value>,
    settings: Settings,
    /// What the request says about calls, if it can be understood.
    choice: Result<Choice, String>,
    /// The request, unchanged.
    asked: Value,
    /// The request as chat completions, as sent to the server.
    chat: Value,
    /// The request in the server's protocol, if it may be sent again.
    sent: Value,
    patience: Patience,
    /// The server's address, and the headers.
    path: String,
    query: Option<String>,
    headers: HeaderMap,
    /// The client wants a stream.
    streams: bool,
    /// The client reads trailers.
    trailers: bool,
    /// What the translated request lacks.
    lost: Lost,
}

impl Terms {
    /// The label of the dialect.
    fn dialect(&self) -> &str {
        self.chosen.dialect.as_deref().unwrap_or("unknown")
    }

    /// How often the model may be asked again. A response with several choices or log probabilities is only converted in place.
    fn rounds(&self) -> u32 {
        if self.wire == Wire::Responses {
            return 0;
        }
        let several = self.chat.get("n").and_then(Value::as_u64) > Some(1);
        let logs = self.asked.get("logprobs").and_then(Value::as_bool) == Some(true);
        match self.rule.recovered {
            Some(Recovered::Ask) if several || logs => 0,
            Some(Recovered::Ask) => self.rule.rounds.unwrap_or(1),
            Some(Recovered::Withhold | Recovered::Deliver) | None => 0,
        }
    }

    /// Sends the request to the server.
    async fn send(&self, body: reqwest::Body) -> Result<reqwest::Response, Refusal> {
        let live = &self.live;
        let place = (self.path.as_str(), self.query.as_deref());
        let headers = self.headers.clone();
        let sent = live.upstream.send(Method::POST, place, headers, body, true);
        let sent = tokio::time::timeout_at(self.patience.answer(), sent).await;
        sent.map_err(|_| Refusal::late())?
            .map_err(|error| Refusal::upstream(&error))
    }
}

/// Answers a request.
pub async fn serve(app: Arc<App>, request: Request) -> Response {
    let face = Face::of(request.method(), request.uri().path());
    let answered = answer(&app, face, request).await;
    answered.unwrap_or_else(|refusal| {
        app.metrics.refused();
        log::line(&format!("{}: {}", refusal.status.as_u16(), refusal.why));
        refusal.response(face.unwrap_or(Face::Chat))
    })
}

async fn answer(app: &Arc<App>, face: Option<Face>, request: Request) -> Result<Response, Refusal> {
    let live = app.live();
    let patience = Patience::new(&live.config.limits);
    let Ok(permit) = Arc::clone(&app.streams).try_acquire_owned() else {
        let why = "too many open exchanges";
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why));
    };
    let open = (app.metrics.open(), permit);
    let Some(face) = face else {
        app.metrics.passed();
        return reply::pass(&live, request, patience, open).await;
    };
    let (parts, body) = request.into_parts();
    let limit = live.config.limits.body;
    let body = patience.read(body, limit).await;
    let body = body.map_err(|unread| match unread {
        Unread::Late => Refusal::silent(),
        Unread::Broken => Refusal::odd("the body broke off"),
        Unread::Long => {
            let why = format!("the body has more than {limit} bytes");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why)
        }
    })?;
    // A body that only the server could read would be answered without the settings that it asks for.
    let asked: Value = serde_json::from_slice(&readable(&body))
        .map_err(|error| Refusal::odd(format!("the body is not JSON: {error}")))?;
    if !asked.is_object() {
        return Err(Refusal::odd("the body is not a JSON object"));
    }
    let mut terms = terms(app, &live, face, &parts.headers, asked, patience).await?;
    let prompt = terms.rule.mode == Some(Mode::Prompt);
    let again = terms.rounds() > 0;
    let body = match terms.same && !prompt {
        true => {
            terms.path = parts.uri.path().to_owned();
            terms.query = parts.uri.query().map(str::to_owned);
            // Nothing was translated.
            terms.lost = Lost::default();
            if again {
                terms.sent = terms.asked.clone();
            }
            body.into()
        }
        false => {
            if prompt {
                let choice = terms.choice.clone().map_err(Refusal::odd)?;
                let Terms {
                    chat, rule, chosen, ..
                } = &terms;
                let written = prompt::written(chat, rule, chosen, &choice);
                terms.chat = written.map_err(Refusal::odd)?;
            }
            let (path, mut body) =
                translate::request(terms.api, terms.same, &terms.chat, &mut terms.lost);
            if terms.same {
                let Terms { asked, lost, .. } = &mut terms;
                translate::keep(asked, &mut body, lost);
            }
            terms.lost.allowed().map_err(Refusal::odd)?;
            terms.path = path.to_owned();
            let text = body.to_string();
            if again {
                terms.sent = body;
            }
            text.into()
        }
    };
    let response = terms.send(body).await?;
    reply::reply(terms, response, open).await
}

/// Combines the settings of the configuration and of the request.
async fn terms(
    app: &Arc<App>,
    live: &Arc<Live>,
    face: Face,
    from: &HeaderMap,
    asked: Value,
    patience: Patience,
) -> Result<Terms, Refusal> {
    let api = live.config.api.unwrap_or_default();
    let model = asked
        .get("model")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut rule = live.config.rule(model);
    if rule.enabled == Some(false) {
        rule.mode = None;
        rule.recovered = None;
    }
    let prompt = rule.mode == Some(Mode::Prompt);
    let responses = live.config.responses && face == Face::Responses && !prompt;
    let wire = Wire::of(api, responses);
    let same = face.is(api) || wire == Wire::Responses;
    let mut lost = Lost::default();
    let chat = match face.to_chat(&asked, &mut lost) {
        Ok(chat) => chat,
        // The server reports it in its own words, or reads what other servers do not. What decides about calls counts all the same.
        Err(_) if same && !prompt => face.settings(&asked),
        Err(why) => return Err(Refusal::odd(why)),
    };
    let choice = Choice::of(&chat);
    let declared = declared(&chat, choice.as_ref().ok());
    let options = options(live, &rule, declared.as_ref(), choice.as_ref().ok());
    let chosen = match rule.dialect.as_deref() {
        _ if rule.enabled == Some(false) => live.models.none(),
        Some(names) if names != "auto" => live.models.named(names),
        Some(_) | None => {
            look_up(live, from, model, prompt).await;
            let tools = options
                .tools
                .as_deref()
                .is_some_and(|tools| !tools.is_empty());
            live.models.auto(model, tools, prompt)
        }
    };
    let fail = |why| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, why);
    let chosen = chosen.map_err(fail)?;
    let mut settings = Settings::default();
    settings.recovered = rule.recovered.unwrap_or_default().sink();
    settings.id_seed = seed::fresh();
    if face == Face::Chat {
        settings.forced =
            matches!(&choice, Ok(choice) if matches!(choice.choice, ToolChoice::Named(_)));
    }
    if face != Face::Chat || rule.recovered == Some(Recovered::Ask) {
        // These protocols cannot express a retracted call.
        settings.calls = Calls::AtClose;
    }
    let te = from
        .get_all(TE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let trailers = te
        .flat_map(|value| value.split(','))
        .any(|one| one.trim().eq_ignore_ascii_case("trailers"));
    let mut headers = headers::read_request(from);
    let anthropic = api == Api::Anthropic;
    let key = live.config.key.as_deref();
    headers::key(&mut headers, key, api, same);
    if anthropic && !headers.contains_key("anthropic-version") {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    if !same {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    Ok(Terms {
        app: Arc::clone(app),
        live: Arc::clone(live),
        face,
        api,
        same,
        wire,
        model: model.to_owned(),
        rule,
        chosen,
        options,
        declared,
        settings,
        streams: face.streams(&asked),
        asked,
        chat,
        sent: Value::Null,
        patience,
        choice,
        path: String::new(),
        query: None,
        headers,
        trailers,
        lost,
    })
}

/// The tools that the parser knows of. An empty list in a request declares none.
fn declared(chat: &Value, choice: Option<&Choice>) -> Option<Value> {
    if choice.is_some_and(|choice| choice.choice == ToolChoice::None) {
        return Some(Value::Array(vec![]));
    }
    let tools = chat.get("tools")?;
    let some = tools.as_array().is_some_and(|tools| !tools.is_empty());
    (some && Tools::from_value(tools).is_ok()).then(|| tools.clone())
}

/// The settings of the parser.
fn options(live: &Live, rule: &Rule, declared: Option<&Value>, choice: Option<&Choice>) -> Options {
    let mut options = Options::default().limits(live.config.limits.parser.clone());
    options.prefer = rule.prefer.unwrap_or_default();
    let tools = declared.and_then(|tools| Tools::from_value(tools).ok());
    options.tools = tools.map(Arc::new);
    let Some(choice) = choice else {
        return options;
    };
    if choice.single {
        options.limits.max_calls = options.limits.max_calls.min(1);
    }
    let prompt = rule.mode == Some(Mode::Prompt);
    match &choice.choice {
        // No tool is declared, so a call is text. It is escaped, because it would be a call for the next reader.
        ToolChoice::None => options.unknown_tool = Some(UnknownTool::Text),
        // The prompt's grammar makes the dialect, not bare arguments.
        _ if prompt => {}
        choice => options.tool_choice = choice.clone(),
    }
    options
}

/// Looks up a new model: by its name, or else once by the chat template that llama.cpp's server returns.
async fn look_up(live: &Live, from: &HeaderMap, model: &str, prompt: bool) {
    if !live.models.is_new(model) || live.models.name(model) {
        return;
    }
    live.models.asked(model);
    if live.config.api.unwrap_or_default() == Api::OpenAi {
        ask_for_template(live, from, model).await;
    }
    if prompt && live.models.is_unknown(model) {
        log::line(&format!(
            "model {model:?}: dialect {TAUGHT}, because nothing tells another one"
        ));
    }
}

async fn ask_for_template(live: &Live, from: &HeaderMap, model: &str) {
    let mut to = headers::read_request(from);
    to.remove(CONTENT_TYPE);
    to.remove(CONTENT_LENGTH);
    headers::key(&mut to, live.config.key.as_deref(), Api::OpenAi, false);
    let body = reqwest::Body::from("");
    let ask = async {
        let place = ("/props", None);
        let sent = live
            .upstream
            .send(Method::GET, place, to, body, true)
            .await
            .ok()?;
        let sent = sent.error_for_status().ok()?;
        let props: serde_json::Value = serde_json::from_slice(&sent.bytes().await.ok()?).ok()?;
        Some(props["chat_template"].as_str()?.to_owned())
    };
    if let Ok(Some(template)) = tokio::time::timeout(PROPS, ask).await {
        live.models.template(model, &template);
    }
}

/// Builds the head of a response to a client.
fn head(from: &reqwest::Response, rewritten: bool) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = from.status();
    *response.headers_mut() = headers::end_to_end(from.headers());
    if rewritten {
        response.headers_mut().remove(CONTENT_LENGTH);
        response.headers_mut().remove(CONTENT_ENCODING);
    }
    response
}
