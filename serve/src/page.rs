//! The files of the page: those in the program, or those of a folder.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::guard::{POLICY, hex};
use crate::problem::{self, Problem};

/// Names and contents of the files that were there when the program was built.
static BUILT: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

const ABSENT: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>toolglot serve</title>
<h1>toolglot serve</h1>
<p>The server works, but it was built without its page. <code>ci/page.sh</code> builds the page into <code>page/dist</code>; then
build this program again, or start it with <code>--page page/dist</code>. docs/SERVE.md describes the interface for programs.</p>
</html>
";

/// The worker in which the page runs functions that the person at the page wrote: it may do that, and nothing else.
const WORKER: &str = "sandbox.js";
const WORKER_POLICY: &str = "default-src 'none'; script-src 'unsafe-eval'";

/// Where the files are.
pub enum Pages {
    Built,
    /// A folder, by its canonical path.
    Folder(PathBuf),
}

impl Pages {
    /// # Errors
    /// The folder cannot be read, or is none.
    pub fn new(folder: Option<&Path>) -> std::io::Result<Self> {
        let Some(folder) = folder else {
            return Ok(Self::Built);
        };
        let folder = folder.canonicalize()?;
        std::fs::read_dir(&folder)?;
        Ok(Self::Folder(folder))
    }

    /// Returns the content of a file by its name, with `/` between folders.
    fn read(&self, name: &str) -> Option<Cow<'static, [u8]>> {
        match self {
            Self::Built if BUILT.is_empty() && name == "index.html" => {
                Some(Cow::Borrowed(ABSENT.as_bytes()))
            }
            Self::Built => {
                let found = BUILT.binary_search_by_key(&name, |(own, _)| own).ok()?;
                Some(Cow::Borrowed(BUILT[found].1))
            }
            Self::Folder(folder) => {
                // A link may lead out of the folder.
                let path = folder.join(name).canonicalize().ok()?;
                let inside = path.starts_with(folder) && path.is_file();
                inside.then(|| std::fs::read(path).ok().map(Cow::Owned))?
            }
        }
    }
}

/// Returns the name of a file from the path of a request; `None` if it cannot be one.
fn name(path: &str) -> Option<String> {
    let path = decoded(path.strip_prefix('/')?)?;
    let path = match path.is_empty() || path.ends_with('/') {
        true => format!("{path}index.html"),
        false => path,
    };
    // `C:` and `\` mean something on some systems.
    let odd =
        |part: &str| part.is_empty() || part.starts_with('.') || part.contains(['\\', ':', '\0']);
    (!path.split('/').any(odd)).then_some(path)
}

/// Decodes `%41`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = vec![];
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

/// Returns the media type of a file by its ending.
fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "jsonl" | "md" | "toml" | "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "webmanifest" => "application/manifest+json",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// Whether the client has this version already.
fn known(headers: &HeaderMap, tag: &str) -> bool {
    let all = headers.get_all(IF_NONE_MATCH).iter();
    let mut all = all.filter_map(|value| value.to_str().ok());
    all.any(|value| {
        let mut tags = value.split(',').map(str::trim);
        tags.any(|one| one == "*" || one.trim_start_matches("W/") == tag)
    })
}

pub async fn serve(State(pages): State<Arc<Pages>>, request: Request) -> Response {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return problem::method().await.into_response();
    }
    let absent = || Problem::new(404, "not_found", "there is nothing at this path").into_response();
    let Some(name) = name(request.uri().path()) else {
        return absent();
    };
    let kind = kind(&name);
    let policy = if name == WORKER {
        WORKER_POLICY
    } else {
        POLICY
    };
    let read = tokio::task::spawn_blocking(move || pages.read(&name)).await;
    let Some(content) = read.ok().flatten() else {
        return absent();
    };
    let tag = format!("\"{}\"", &hex(&Sha256::digest(&content))[..32]);
    // The browser asks each time, and gets what has changed.
    let fresh = [
        (CACHE_CONTROL, "no-cache"),
        (ETAG, &tag),
        (CONTENT_SECURITY_POLICY, policy),
    ];
    match known(request.headers(), &tag) {
        true => (StatusCode::NOT_MODIFIED, fresh).into_response(),
        false => (fresh, [(CONTENT_TYPE, kind)], content).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside() {
        for (path, file) in [
            ("/", Some("index.html")),
            ("/a/", Some("a/index.html")),
            ("/a/b.js", Some("a/b.js")),
            ("/%61.js", Some("a.js")),
            ("/..", None),
            ("/../x", None),
            ("/a/../x", None),
            ("/%2e%2e/x", None),
            ("/..%2fx", None),
            ("/a//b", None),
            ("//etc/passwd", None),
            ("/a\\..\\b", None),
            ("/C:/x", None),
            ("/a%00", None),
            ("/.git/config", None),
            ("/%", None),
            ("/%g1", None),
            ("/%ff", None),
            ("x", None),
        ] {
            assert_eq!(name(path).as_deref(), file, "{path}");
        }
    }
}
