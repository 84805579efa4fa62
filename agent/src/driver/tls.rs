//! Common settings of HTTP clients: rustls with the system's root certificates, no redirects, errors as one line.

use std::error::Error;
use std::sync::Arc;

use reqwest::ClientBuilder;
use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// Returns a client builder without redirects. The system's root certificates are loaded only if TLS is `needed`, so that a machine
/// without any can use plain HTTP.
pub fn builder(needed: bool) -> Result<ClientBuilder, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let fail = |error: rustls::Error| format!("TLS cannot be set up: {error}");
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(fail)?;
    let config = match needed {
        true => config
            .with_platform_verifier()
            .map_err(fail)?
            .with_no_client_auth(),
        false => config
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth(),
    };
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .redirect(Policy::none()))
}

/// Describes an error with its causes, without the URL, which may contain secrets.
pub fn words(error: &reqwest::Error) -> String {
    let mut words = match () {
        () if error.is_timeout() => "the server took too long".to_owned(),
        () if error.is_connect() => "the server cannot be reached".to_owned(),
        () => "the request failed".to_owned(),
    };
    let mut cause = error.source();
    while let Some(one) = cause {
        words.push_str(&format!(": {one}"));
        cause = one.source();
    }
    words
}
