//! Forwarding of headers.

use axum::http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

use crate::config::Api;

/// The header with the key of Anthropic's clients.
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Removes hop-by-hop headers: the known ones, and those that `Connection` names (RFC 9110, 7.6.1).
pub fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let mut out = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let hop = [
            CONNECTION,
            KEEP_ALIVE,
            PROXY_AUTHENTICATE,
            PROXY_AUTHORIZATION,
            TE,
            TRAILER,
            TRANSFER_ENCODING,
            UPGRADE,
        ];
        if !hop.contains(name) && !named.contains(name) {
            out.append(name.clone(), value.clone());
        }
    }
    out
}

/// Returns the headers for a server.
pub fn request(headers: &HeaderMap) -> HeaderMap {
    let mut out = end_to_end(headers);
    out.remove(HOST);
    out.remove(CONTENT_LENGTH);
    out
}

/// Returns the headers for a server whose response the gateway will read.
pub fn read_request(headers: &HeaderMap) -> HeaderMap {
    let mut out = request(headers);
    out.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    out
}

/// Replaces the client's key with the gateway's, or puts the client's where the server's protocol expects it. A client that speaks this
/// protocol (`same`) has put it there itself.
pub fn key(headers: &mut HeaderMap, key: Option<&str>, api: Api, same: bool) {
    use axum::http::header::AUTHORIZATION;
    let anthropic = api == Api::Anthropic;
    if key.is_none() && same {
        return;
    }
    let bearer = |headers: &HeaderMap| {
        let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
        value.strip_prefix("Bearer ").map(str::to_owned)
    };
    let own = |headers: &HeaderMap| {
        let value = headers.get(X_API_KEY)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let given = key.map(str::to_owned).or_else(|| match anthropic {
        true if headers.contains_key(X_API_KEY) => None,
        true => bearer(headers),
        false if headers.contains_key(AUTHORIZATION) => None,
        false => own(headers),
    });
    let Some(given) = given else { return };
    headers.remove(AUTHORIZATION);
    headers.remove(X_API_KEY);
    let (name, value) = match anthropic {
        true => (X_API_KEY, given),
        false => (AUTHORIZATION, format!("Bearer {given}")),
    };
    if let Ok(mut value) = HeaderValue::from_str(&value) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn headers_of_one_connection_end_there() {
        let out = request(&map(&[
            ("connection", "keep-alive, X-Own"),
            ("keep-alive", "3"),
            ("x-own", "1"),
            ("te", "trailers"),
            ("host", "a"),
            ("x-other", "2"),
        ]));
        assert_eq!(out, map(&[("x-other", "2")]));
    }

    #[test]
    fn keys_are_replaced_or_go_where_the_server_looks_for_them() {
        let mut headers = map(&[("authorization", "Bearer a")]);
        key(&mut headers, None, Api::OpenAi, false);
        key(&mut headers, None, Api::Anthropic, true);
        assert_eq!(headers["authorization"], "Bearer a");
        key(&mut headers, None, Api::Anthropic, false);
        assert_eq!(
            (headers.len(), &headers["x-api-key"]),
            (1, &HeaderValue::from_static("a"))
        );
        key(&mut headers, Some("b"), Api::OpenAi, true);
        assert_eq!(
            (headers.len(), &headers["authorization"]),
            (1, &HeaderValue::from_static("Bearer b"))
        );
        assert!(headers["authorization"].is_sensitive());
    }
}
