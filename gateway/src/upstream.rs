//! The connection to the model server.

use std::error::Error;
use std::time::Duration;

use axum::http::{HeaderMap, Method};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};

/// Time limit for connecting.
const CONNECT: Duration = Duration::from_secs(30);

/// A server, and its clients.
pub struct Upstream {
    base: Url,
    /// Leaves bodies compressed, as they arrive.
    plain: Client,
    /// Decompresses bodies that are read.
    reading: Client,
}

impl Upstream {
    /// # Errors
    /// The address cannot be read; TLS cannot be set up.
    pub fn new(address: &str) -> Result<Self, String> {
        let base = Url::parse(address).map_err(|error| {
            format!("`{address}` is not the address of a server (http://localhost:8000): {error}")
        })?;
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err(format!("`{address}`: only http and https are asked"));
        }
        // Fails if the process has one already, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = |unpacks: bool| {
            let builder = match base.scheme() {
                "https" => Client::builder(),
                // The system's root certificates are not read: a machine without any can talk to itself.
                _ => Client::builder().tls_certs_only([]),
            };
            let builder = builder
                .redirect(Policy::none())
                .connect_timeout(CONNECT)
                .gzip(unpacks);
            builder.build().map_err(|error| words(&error))
        };
        Ok(Self {
            plain: client(false)?,
            reading: client(true)?,
            base,
        })
    }

    /// Maps a path of the gateway to the server. A path that the address already contains is not repeated (`http://host/v1`).
    fn url(&self, path: &str, query: Option<&str>) -> Url {
        let mut url = self.base.clone();
        let before = url.path().trim_end_matches('/');
        let last = before.rfind('/').map_or("", |at| &before[at..]);
        let twice = !last.is_empty()
            && path
                .strip_prefix(last)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let path = match twice {
            true => format!("{before}{}", &path[last.len()..]),
            false => format!("{before}{path}"),
        };
        url.set_path(&path);
        url.set_query(query);
        url
    }

    /// Sends a request; `read`: the answer will be read.
    pub async fn send(
        &self,
        method: Method,
        (path, query): (&str, Option<&str>),
        headers: HeaderMap,
        body: reqwest::Body,
        read: bool,
    ) -> Result<Response, reqwest::Error> {
        let client = if read { &self.reading } else { &self.plain };
        let request = client.request(method, self.url(path, query));
        request.headers(headers).body(body).send().await
    }
}

/// Formats an error with its causes, without the address, which may contain secrets.
pub fn words(error: &reqwest::Error) -> String {
    let mut words = match () {
        () if error.is_timeout() => "the server took too long".to_owned(),
        () if error.is_connect() => "the server cannot be reached".to_owned(),
        () if error.is_body() || error.is_decode() => "the response broke off".to_owned(),
        () => "the request failed".to_owned(),
    };
    let mut cause = error.source();
    while let Some(one) = cause {
        words.push_str(&format!(": {one}"));
        cause = one.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_address_are_not_repeated() {
        for (base, path, url) in [
            ("http://a:1", "/v1/models", "http://a:1/v1/models"),
            ("http://a:1/", "/v1/models", "http://a:1/v1/models"),
            ("http://a:1/v1", "/v1/models", "http://a:1/v1/models"),
            ("http://a:1/x/v1/", "/v1/models", "http://a:1/x/v1/models"),
            ("http://a:1/x", "/v1/models", "http://a:1/x/v1/models"),
            ("http://a:1/v1", "/v1beta", "http://a:1/v1/v1beta"),
        ] {
            let upstream = Upstream::new(base).unwrap();
            assert_eq!(upstream.url(path, None).as_str(), url);
        }
        assert!(Upstream::new("ftp://a").is_err());
        assert!(Upstream::new("localhost:80").is_err());
    }
}
