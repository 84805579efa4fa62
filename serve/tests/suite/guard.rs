//! The token, `Host`, `Origin`, and the headers of responses.

use serde_json::json;
use toolglot_serve::{Options, ServeError};

use crate::support::{Got, Up, client, raw, says, setup};

#[tokio::test]
async fn the_interface_needs_the_token() {
    let up = Up::with(says("hello")).await;
    let id = up.begin(&json!({"task": "Say hello."})).await;
    let one = format!("/api/runs/{id}");
    let (events, decisions) = (format!("{one}/events"), format!("{one}/decisions"));
    let cancel = format!("{one}/cancel");
    let other = format!("Bearer {}", "0".repeat(64));
    let (cut, lower) = (&up.token[1..], format!("bearer {}", up.token));
    for (method, path) in [
        ("GET", "/api/tools"),
        ("POST", "/api/calls"),
        ("GET", "/api/runs"),
        ("POST", "/api/runs"),
        ("GET", &one),
        ("GET", &events),
        ("POST", &decisions),
        ("POST", &cancel),
        ("GET", "/api/nothing"),
        ("DELETE", "/api/runs"),
    ] {
        for wrong in [
            "",
            "Bearer ",
            &other,
            &format!("Bearer {cut}"),
            &up.token,
            &lower,
        ] {
            let request = up.request(method, path).header("authorization", wrong);
            let got = Got::of(request.send().await.unwrap()).await;
            got.refused(401, "token", "printed");
            assert_eq!(got.header("www-authenticate"), "Bearer");
        }
        let twice = up
            .request(method, path)
            .bearer_auth(&up.token)
            .bearer_auth(&up.token);
        assert_eq!(twice.send().await.unwrap().status(), 401);
        // In the address it would be in logs and histories.
        let got = up.request(method, &format!("{path}?token={}", up.token));
        assert_eq!(got.send().await.unwrap().status(), 401);
    }
    assert_eq!(up.token.len(), 64);
    let second = Up::with(says("hello")).await;
    assert_ne!(second.token, up.token);
}

#[tokio::test]
async fn other_hosts_are_refused() {
    let up = Up::with(says("hello")).await;
    let port = up.url.rsplit(':').next().unwrap();
    for (host, status) in [
        (format!("127.0.0.1:{port}"), 200),
        (format!("localhost:{port}"), 200),
        (format!("LOCALHOST:{port}"), 200),
        // Through a tunnel the port is another.
        ("localhost:9".to_owned(), 200),
        ("[::1]".to_owned(), 200),
        (format!("evil.example:{port}"), 403),
        (format!("127.0.0.1.evil.example:{port}"), 403),
        (format!("localhost.evil.example:{port}"), 403),
        ("192.0.2.1".to_owned(), 403),
        ("localhost:x".to_owned(), 403),
        (String::new(), 403),
    ] {
        for path in ["/", "/api/tools"] {
            let request = up.request("GET", path).bearer_auth(&up.token);
            let got = Got::of(request.header("host", &host).send().await.unwrap()).await;
            assert_eq!(got.status, status, "{host} {path}");
            if status == 403 {
                got.refused(403, "host", "Host");
            }
        }
    }
    for heads in ["", "Host: localhost\r\nHost: evil.example\r\n"] {
        let got = raw(
            &up.url,
            &format!("GET / HTTP/1.1\r\n{heads}Connection: close\r\n\r\n"),
        )
        .await;
        assert!(got.starts_with("HTTP/1.1 403"), "{got}");
    }
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    let up = Up::with(says("hello")).await;
    let address = up.url.strip_prefix("http://").unwrap();
    for (origin, status) in [
        (format!("http://{address}"), 200),
        (format!("https://{address}"), 200),
        ("http://localhost".to_owned(), 403),
        ("http://127.0.0.1:1".to_owned(), 403),
        (format!("http://{address}.evil.example"), 403),
        (format!("http://evil.example/{address}"), 403),
        ("https://evil.example".to_owned(), 403),
        ("null".to_owned(), 403),
        (String::new(), 403),
    ] {
        let request = up.request("GET", "/api/tools").bearer_auth(&up.token);
        let got = Got::of(request.header("origin", &origin).send().await.unwrap()).await;
        assert_eq!(got.status, status, "{origin}");
        if status == 403 {
            got.refused(403, "origin", "another origin");
        }
    }
    let asked = up
        .request("OPTIONS", "/api/runs")
        .header("origin", "https://evil.example");
    let got = asked
        .header("access-control-request-method", "POST")
        .send()
        .await
        .unwrap();
    assert_eq!(got.status(), 403);
    assert!(!got.headers().contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn every_response_has_the_headers() {
    let up = Up::with(says("hello")).await;
    let id = up.begin(&json!({"task": "Say hello."})).await;
    let events = up.request("GET", &format!("/api/runs/{id}/events"));
    for (request, status) in [
        (up.request("GET", "/"), 200),
        (up.request("HEAD", "/"), 200),
        (up.request("GET", "/no/such"), 404),
        (up.request("GET", "/").header("host", "evil.example"), 403),
        (up.request("GET", "/api/tools"), 401),
        (up.request("GET", "/api/tools").bearer_auth(&up.token), 200),
        (up.request("GET", "/api/no").bearer_auth(&up.token), 404),
        (up.request("PUT", "/api/runs").bearer_auth(&up.token), 405),
        (events.bearer_auth(&up.token), 200),
    ] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status);
        let headers = response.headers();
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert_eq!(
            policy,
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
             img-src 'self' data:; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["x-frame-options"], "DENY");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert_eq!(headers["cross-origin-opener-policy"], "same-origin");
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
        assert!(["no-cache", "no-store"].contains(&headers["cache-control"].to_str().unwrap()));
    }
}

#[tokio::test]
async fn an_address_that_others_reach_must_be_allowed() {
    let mut options = Options::default();
    options.listen = "0.0.0.0:0".to_owned();
    let error = Up::try_start(setup(says("hello")), options.clone()).await;
    let error = error.err().unwrap();
    assert!(matches!(error, ServeError::Remote(_)), "{error}");
    assert!(error.to_string().contains("--allow-remote"), "{error}");

    options.remote = true;
    options.hosts.push("Agents.example".to_owned());
    let up = Up::start(setup(says("hello")), options).await;
    let port = up.url.rsplit(':').next().unwrap();
    for (host, status) in [
        ("192.0.2.1", 200),
        ("agents.example", 200),
        ("localhost", 200),
        ("evil.example", 403),
    ] {
        let request = client().get(format!("http://127.0.0.1:{port}/api/tools"));
        let request = request.header("host", host).bearer_auth(&up.token);
        assert_eq!(request.send().await.unwrap().status(), status, "{host}");
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_told() {
    let taken = Up::with(says("hello")).await;
    let taken = taken.url.strip_prefix("http://").unwrap().to_owned();
    // The first one is free by now.
    for listen in ["nowhere", "127.0.0.1", "127.0.0.1:99999"] {
        let mut options = Options::default();
        options.listen = listen.to_owned();
        let error = Up::try_start(setup(says("hello")), options)
            .await
            .err()
            .unwrap();
        assert!(
            error.to_string().starts_with(&format!("{listen}: ")),
            "{error}"
        );
    }
    let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut options = Options::default();
    options.listen = holder.local_addr().unwrap().to_string();
    assert_ne!(options.listen, taken);
    let error = Up::try_start(setup(says("hello")), options)
        .await
        .err()
        .unwrap();
    assert!(matches!(error, ServeError::Listen { .. }), "{error}");
}
