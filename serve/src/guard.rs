//! Who may ask: the token, the `Host` and the `Origin` of a request, and the headers of every response.
//!
//! A page of another site can make a browser send requests here. It cannot read the token, `Origin` tells where it comes from,
//! and a name of its own that it lets resolve to this machine (DNS rebinding) is not one of the server's names.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use crate::problem::Problem;

/// The protocol of the WebSocket of events.
pub const PROTOCOL: &str = "toolglot.v1";
/// Beside it, the token.
const TOKEN_PROTOCOL: &str = "toolglot.token.";

/// The content security policy: the server's own files, and nothing else.
pub const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The headers of a response that has no others of these names.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// What a request must show.
pub struct Guard {
    token: String,
    /// Only addresses of this machine are accepted in `Host`.
    loopback: bool,
    names: Vec<String>,
}

impl Guard {
    pub fn new(address: SocketAddr, hosts: &[String]) -> Result<Self, getrandom::Error> {
        let names = hosts.iter().map(|name| name.to_ascii_lowercase());
        Ok(Self {
            token: secret()?,
            loopback: address.ip().is_loopback(),
            names: names.chain(["localhost".to_owned()]).collect(),
        })
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    fn host(&self, headers: &HeaderMap) -> Result<String, Problem> {
        let wrong = |what: &str| {
            let names = self.names.join(", ");
            Err(Problem::new(
                403,
                "host",
                format!(
                    "the request's Host is {what}; this server is known by its address, and as {names}"
                ),
            ))
        };
        let Some(host) = only(headers, &header::HOST) else {
            return wrong("missing or not unique");
        };
        let host = host.to_ascii_lowercase();
        let known = match name(&host) {
            Some(Name::Address(ip)) => ip.is_loopback() || !self.loopback,
            // An address cannot be made to resolve to another, a name can.
            Some(Name::Word(word)) => self.names.iter().any(|name| name == word),
            None => false,
        };
        match known {
            true => Ok(host),
            false => wrong("another name"),
        }
    }

    fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let host = self.host(headers)?;
        if !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let origin = only(headers, &header::ORIGIN).unwrap_or_default();
        let origin = origin.to_ascii_lowercase();
        let schemes = ["http://", "https://"];
        let own = schemes
            .iter()
            .any(|scheme| origin.strip_prefix(scheme) == Some(&host));
        match own {
            true => Ok(()),
            false => Err(Problem::new(
                403,
                "origin",
                "the request comes from a page of another origin",
            )),
        }
    }

    fn authorized(&self, headers: &HeaderMap) -> bool {
        let bearer = only(headers, &header::AUTHORIZATION);
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let mut protocols = protocols(headers);
        let protocol = protocols.find_map(|one| one.strip_prefix(TOKEN_PROTOCOL));
        bearer
            .or(protocol)
            .is_some_and(|token| same(token, &self.token))
    }
}

enum Name<'h> {
    Address(IpAddr),
    Word(&'h str),
}

/// Returns the name in a `Host`, without its port.
fn name(host: &str) -> Option<Name<'_>> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let digits = |port: &str| port.parse::<u16>().is_ok();
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(digits) {
        return None;
    }
    match name.parse() {
        Ok(ip) => Some(Name::Address(ip)),
        Err(_) => Some(Name::Word(name)),
    }
}

/// Returns the value of a header that occurs once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    match all.next() {
        None => first.to_str().ok(),
        Some(_) => None,
    }
}

/// Returns the protocols that a WebSocket client offers.
fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let all = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let all = all.filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).map(str::trim)
}

/// Compares secrets in a time that does not depend on where they differ.
pub fn same(given: &str, secret: &str) -> bool {
    given.as_bytes().ct_eq(secret.as_bytes()).into()
}

/// Returns 256 random bits as hexadecimal digits.
pub fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks every request, and adds headers to every response.
pub async fn outside(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.check(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        headers.entry(name).or_insert(value);
    }
    response
}

/// Checks the token of a request to the interface.
pub async fn inside(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    match guard.authorized(request.headers()) {
        true => next.run(request).await,
        false => {
            let problem = Problem::new(
                401,
                "token",
                "the token is missing or wrong; it is in the address that the server printed when it started",
            );
            let mut response = problem.into_response();
            let way = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, way);
            response
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_with_or_without_a_port() {
        let read = |host| match name(host) {
            Some(Name::Address(ip)) => ip.to_string(),
            Some(Name::Word(word)) => word.to_owned(),
            None => "none".to_owned(),
        };
        for (host, name) in [
            ("127.0.0.1:80", "127.0.0.1"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]:80", "::1"),
            ("[::1]", "::1"),
            ("localhost:8080", "localhost"),
            ("localhost", "localhost"),
            ("localhost:x", "none"),
            ("localhost:", "none"),
            ("localhost:99999", "none"),
            ("[::1", "none"),
            ("[::1]x", "none"),
            ("::1", "none"),
            ("", ""),
        ] {
            assert_eq!(read(host), name, "{host}");
        }
    }
}
