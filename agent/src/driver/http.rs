//! HTTP requests as executors. Requests go to listed hosts only, and to private addresses only if listed as such. Redirects are not
//! followed: neither a model nor a server can direct a call elsewhere.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Url};
use serde::Deserialize;
use toolglot::json::{Map, Value};

use super::function::content;
use super::process::{Input, Output};
use super::template::Template;
use super::{Executor, Gave, Piece, SetupError, Stream, pieces};
use crate::step::Start;

/// The hosts that tools may contact. An entry is a name or an address, with `:port` unless the port is the scheme's default.
///
/// See the example of [`Http`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Hosts {
    /// Hosts that must have public addresses.
    pub hosts: Vec<String>,
    /// Hosts that may have private addresses: of this machine, a local network, a cloud's internal services.
    pub private: Vec<String>,
}

/// The description of a request.
///
/// See the example of [`Http`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HttpSpec {
    /// The method, `POST` by default.
    #[serde(default = "post")]
    pub method: String,
    /// The URL. `{name}` after the host is replaced by an argument of the call, escaped so that it stays within its
    /// segment; `{{` and `}}` are literal braces.
    pub url: String,
    /// Headers. `${NAME}` in a value is replaced by a variable of the host's environment, which no model sees.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The content of the body: by default the arguments, but nothing for `GET` and `HEAD`.
    #[serde(default)]
    pub body: Option<Input>,
    /// The format of the response.
    #[serde(default)]
    pub output: Output,
    /// Maximum bytes of a response; a longer one is a failure. 1 MiB by default.
    #[serde(default = "mebibyte")]
    pub max_output: usize,
}

impl HttpSpec {
    /// Describes a `POST` of the arguments to a URL.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            method: post(),
            url: url.into(),
            headers: BTreeMap::new(),
            body: None,
            output: Output::default(),
            max_output: mebibyte(),
        }
    }
}

toolglot::setters! {
    HttpSpec:
    method: String,
    headers = BTreeMap<String, String>,
    body: Option<Input>,
    output = Output,
    max_output = usize,
}

toolglot::setters! {
    Hosts:
    hosts = Vec<String>,
    private = Vec<String>,
}

fn post() -> String {
    "POST".to_owned()
}

fn mebibyte() -> usize {
    1 << 20
}

/// Executes each call as a request.
///
/// ```
/// use toolglot_agent::driver::{Hosts, Http, HttpSpec};
///
/// let spec = HttpSpec::new("https://example.org/weather?city={city}").method("GET");
/// let hosts = Hosts::default().hosts(vec!["example.org".to_owned()]);
/// assert!(Http::new(spec.clone(), &Hosts::default()).is_err()); // the host is not listed
/// let weather = Http::new(spec, &hosts);
/// ```
#[derive(Clone, Debug)]
pub struct Http {
    client: Client,
    method: Method,
    url: Template,
    /// The URL without arguments. Its scheme, host and number of segments are fixed.
    place: Url,
    headers: HeaderMap,
    body: Input,
    output: Output,
    max: usize,
    private: bool,
}

impl Http {
    /// Creates an executor for requests to one of the hosts.
    ///
    /// # Errors
    /// The URL is invalid, has a placeholder in its host, or its host is not listed; a header is invalid or needs a
    /// variable that is not set.
    pub fn new(spec: HttpSpec, hosts: &Hosts) -> Result<Self, SetupError> {
        let refused = |why: &str| SetupError::Address {
            address: spec.url.clone(),
            why: why.to_owned(),
        };
        let url = Template::new(&spec.url)?;
        // The host must end before the first placeholder.
        let fixed = url
            .head()
            .split_once("://")
            .is_some_and(|(_, rest)| rest.contains(['/', '?']));
        if !url.plain() && !fixed {
            return Err(refused("the host cannot be an argument"));
        }
        let place = url.blank();
        let place = Url::parse(&place).map_err(|error| refused(&error.to_string()))?;
        if !matches!(place.scheme(), "http" | "https")
            || !place.username().is_empty()
            || place.password().is_some()
        {
            return Err(refused("only http and https without a user are asked"));
        }
        let host = host(&place);
        let private = hosts.private.contains(&host);
        if !private && !hosts.hosts.contains(&host) {
            return Err(SetupError::Host(host));
        }
        let method = Method::from_bytes(spec.method.as_bytes())
            .map_err(|_| SetupError::Method(spec.method.clone()))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &spec.headers {
            let key = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| SetupError::HeaderName(name.clone()))?;
            let value = variables(value)?;
            let mut value =
                HeaderValue::from_str(&value).map_err(|_| SetupError::HeaderValue(name.clone()))?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        let bare = method == Method::GET || method == Method::HEAD;
        let mut builder = super::tls::builder(place.scheme() == "https")
            .map_err(SetupError::Client)?
            .no_proxy();
        if !private {
            builder = builder.dns_resolver(Arc::new(Public));
        }
        Ok(Self {
            client: builder
                .build()
                .map_err(|error| SetupError::Client(super::tls::words(&error)))?,
            method,
            url,
            headers,
            body: spec
                .body
                .unwrap_or(if bare { Input::None } else { Input::Arguments }),
            output: spec.output,
            max: spec.max_output,
            private,
            place,
        })
    }

    /// Returns the URL with arguments.
    fn address(&self, given: &Map) -> Result<Url, String> {
        let text = self.url.fill(given, encoded);
        let text = text.ok_or_else(|| "an argument of the address is missing".to_owned())?;
        let url = Url::parse(&text).map_err(|error| format!("the address: {error}"))?;
        let path = text.split(['?', '#']).next().unwrap_or_default();
        let dots = path.split('/').any(|part| matches!(part, "." | ".."));
        let segments = |url: &Url| url.path().matches('/').count();
        // `.` and `..` segments would change the path, in every encoding.
        if dots || host(&url) != host(&self.place) || segments(&url) != segments(&self.place) {
            return Err("an argument would change the address".to_owned());
        }
        let literal = url
            .host_str()
            .unwrap_or_default()
            .trim_matches(['[', ']'])
            .parse::<IpAddr>();
        if let Ok(address) = literal
            && !self.private
            && !public(address)
        {
            return Err(format!(
                "{address} is a private address, which is not listed in `http.private`"
            ));
        }
        Ok(url)
    }

    async fn run(self, call: Start) -> Gave {
        let given: Map = serde_json::from_str(&call.arguments).unwrap_or_default();
        let url = self.address(&given)?;
        let mut request = self.client.request(self.method, url).headers(self.headers);
        if self.body == Input::Arguments {
            request = request
                .header("content-type", "application/json")
                .body(call.arguments);
        }
        let mut answer = request
            .send()
            .await
            .map_err(|error| super::tls::words(&error))?;
        let status = answer.status();
        if status.is_redirection() {
            let why = format!("HTTP {status}: it leads elsewhere, which is not followed");
            return Err(why.into());
        }
        let mut body = vec![];
        while let Some(chunk) = answer
            .chunk()
            .await
            .map_err(|error| super::tls::words(&error))?
        {
            body.extend_from_slice(&chunk);
            if body.len() > self.max {
                return Err(format!("the answer has more than {} bytes", self.max).into());
            }
        }
        let text = String::from_utf8_lossy(&body).into_owned();
        if !status.is_success() {
            let why = format!("HTTP {status}: {}", text.trim());
            return Err(why.trim_end_matches([' ', ':']).into());
        }
        match self.output {
            Output::Text => Ok(content(Value::from(text.as_str()))),
            Output::Json => match serde_json::from_str::<Value>(&text) {
                Ok(value) => Ok(content(value)),
                Err(error) => Err(format!("the answer is not JSON: {error}").into()),
            },
        }
    }
}

impl Executor for Http {
    fn start(&self, call: Start) -> Stream<Piece> {
        let http = self.clone();
        pieces(async move |_| Piece::Done(http.run(call).await))
    }
}

/// Returns a host in the form of list entries.
fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    }
}

/// Escapes text for a part of a segment or query: everything but letters, digits and `-._~`.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Inserts environment variables into a text.
fn variables(text: &str) -> Result<String, SetupError> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| SetupError::OpenVariable(text.to_owned()))?;
        out.push_str(before);
        out.push_str(&std::env::var(name).map_err(|_| SetupError::Variable(name.to_owned()))?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Resolves names to public addresses only. The connection itself uses it, so a name that changes between a check and
/// its use cannot bypass it.
struct Public;

impl Resolve for Public {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            match found.iter().find(|one| !public(one.ip())) {
                Some(one) => {
                    let (name, address) = (name.as_str(), one.ip());
                    Err(format!("{name} has the private address {address}, and is not listed in `http.private`").into())
                }
                None => Ok(Box::new(found.into_iter()) as Addrs),
            }
        })
    }
}

/// Returns whether an address is on the public internet.
fn public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => public4(address),
        IpAddr::V6(address) => public6(address),
    }
}

fn public4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        // Carrier-grade NAT; protocol assignments; benchmarking.
        || (a == 100 && b & 0xc0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && b & 0xfe == 18))
}

fn public6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let inner = |a: u16, b: u16| {
        let ([a, b], [c, d]) = (a.to_be_bytes(), b.to_be_bytes());
        public4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // IPv4 addresses in IPv6: mapped, translated, 6to4.
        [0, 0, 0, 0, 0, 0xffff, a, b] | [0x64, 0xff9b, 0, 0, 0, 0, a, b] | [0x2002, a, b, ..] => {
            inner(a, b)
        }
        // Otherwise only global unicast, without documentation, tunnels and local translation.
        [0x2001, b, ..] => b != 0xdb8 && b >= 0x200,
        [a, ..] => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_spelling() {
        for text in [
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "::7f00:1",
        ] {
            assert!(!public(text.parse().expect(text)), "{text}");
        }
        for text in [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:1.1.1.1",
        ] {
            assert!(public(text.parse().expect(text)), "{text}");
        }
    }
}
