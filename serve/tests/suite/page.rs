//! The files of the page.

use std::path::Path;

use toolglot_serve::{Options, ServeError};

use crate::support::{Got, Up, client, folder, raw, says, setup};

/// Whether the page was built before this program.
fn built() -> bool {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../page/dist/index.html")
        .is_file()
}

#[tokio::test]
async fn a_program_without_the_page_says_so() {
    let up = Up::with(says("hello")).await;
    let got = Got::of(client().get(&up.url).send().await.unwrap()).await;
    assert_eq!(got.status, 200);
    assert_eq!(got.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(got.text.contains("without its page"), !built());
}

/// A server of a folder with some files, and a secret beside the folder.
async fn served(name: &str) -> (Up, std::path::PathBuf) {
    let folder = folder(name);
    let page = folder.join("page");
    std::fs::create_dir_all(page.join("pkg")).unwrap();
    std::fs::write(folder.join("secret.txt"), "secret").unwrap();
    for (file, text) in [
        ("index.html", "<!doctype html>hello"),
        ("main.js", "export {}"),
        ("style.css", "p {}"),
        ("sandbox.js", "onmessage"),
        ("icon.svg", "<svg/>"),
        ("a b.json", "{}"),
        ("noend", "?"),
        (".hidden", "secret"),
        ("pkg/engine.wasm", "\0asm"),
        ("pkg/index.html", "pkg"),
    ] {
        std::fs::write(page.join(file), text).unwrap();
    }
    let mut options = Options::default();
    options.page = Some(page.clone());
    (Up::start(setup(says("hello")), options).await, page)
}

#[tokio::test]
async fn files_have_their_types() {
    let (up, _) = served("types").await;
    for (path, kind, text) in [
        ("/", "text/html; charset=utf-8", "<!doctype html>hello"),
        (
            "/index.html",
            "text/html; charset=utf-8",
            "<!doctype html>hello",
        ),
        ("/main.js", "text/javascript; charset=utf-8", "export {}"),
        ("/style.css", "text/css; charset=utf-8", "p {}"),
        ("/icon.svg", "image/svg+xml", "<svg/>"),
        ("/a%20b.json", "application/json", "{}"),
        ("/noend", "application/octet-stream", "?"),
        ("/pkg/engine.wasm", "application/wasm", "\0asm"),
        ("/pkg/", "text/html; charset=utf-8", "pkg"),
        (
            "/main.js?v=1",
            "text/javascript; charset=utf-8",
            "export {}",
        ),
    ] {
        let got = Got::of(
            client()
                .get(format!("{}{path}", up.url))
                .send()
                .await
                .unwrap(),
        )
        .await;
        assert_eq!(
            (got.status, got.header("content-type")),
            (200, kind),
            "{path}"
        );
        assert_eq!(got.text, text, "{path}");
    }
}

#[tokio::test]
async fn only_the_worker_may_run_code_from_text() {
    let (up, _) = served("worker").await;
    for (path, worker) in [
        ("/sandbox.js", true),
        ("/main.js", false),
        ("/pkg/sandbox.js", false),
    ] {
        let got = client()
            .get(format!("{}{path}", up.url))
            .send()
            .await
            .unwrap();
        let policy = got.headers()["content-security-policy"].to_str().unwrap();
        assert_eq!(
            policy == "default-src 'none'; script-src 'unsafe-eval'",
            worker,
            "{path}"
        );
        assert_eq!(policy.contains("connect-src 'self'"), !worker, "{path}");
    }
}

#[tokio::test]
async fn browsers_ask_again_and_get_what_changed() {
    let (up, page) = served("etag").await;
    let url = format!("{}/main.js", up.url);
    let first = Got::of(client().get(&url).send().await.unwrap()).await;
    assert_eq!(first.header("cache-control"), "no-cache");
    let tag = first.header("etag").to_owned();
    for (known, status) in [
        (tag.clone(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"x\", {tag}"), 304),
        ("*".to_owned(), 304),
        ("\"x\"".to_owned(), 200),
    ] {
        let request = client().get(&url).header("if-none-match", &known);
        let got = Got::of(request.send().await.unwrap()).await;
        assert_eq!((got.status, got.header("etag")), (status, &*tag), "{known}");
        assert_eq!(got.text.is_empty(), status == 304);
    }
    std::fs::write(page.join("main.js"), "export default 1").unwrap();
    let got = client()
        .get(&url)
        .header("if-none-match", &tag)
        .send()
        .await
        .unwrap();
    assert_eq!(got.text().await.unwrap(), "export default 1");
    let head = client().head(&url).send().await.unwrap();
    assert_eq!(head.headers()["content-length"], "16");
}

#[tokio::test]
async fn nothing_outside_the_folder_is_served() {
    let (up, page) = served("outside").await;
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secret.txt", page.join("link.txt")).unwrap();
        std::os::unix::fs::symlink("..", page.join("up")).unwrap();
    }
    let absolute = page.with_file_name("secret.txt").display().to_string();
    for path in [
        "/../secret.txt",
        "/pkg/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e%2fsecret.txt",
        "/..%5csecret.txt",
        "/pkg/..%00/secret.txt",
        "/link.txt",
        "/up/secret.txt",
        "/.hidden",
        "/./main.js",
        "//main.js",
        "/pkg",
        "/main.js/",
        "/nothing",
        &format!("/{absolute}"),
        &absolute.replace('/', "%2f"),
    ] {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let got = raw(&up.url, &request).await;
        assert!(!got.contains("secret"), "{path}: {got}");
        let refused = ["HTTP/1.1 404", "HTTP/1.1 400"]
            .iter()
            .any(|line| got.starts_with(line));
        assert!(refused, "{path}: {got}");
    }
}

#[tokio::test]
async fn a_folder_that_is_none_is_told() {
    let folder = folder("none");
    std::fs::write(folder.join("file"), "").unwrap();
    for name in ["missing", "file"] {
        let mut options = Options::default();
        options.page = Some(folder.join(name));
        let error = Up::try_start(setup(says("hello")), options)
            .await
            .err()
            .unwrap();
        assert!(matches!(error, ServeError::Page { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}
