//! Servers of the Model Context Protocol, over standard input and output or streamable HTTP.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ClientRequest, ContentBlock,
    Implementation, PaginatedRequestParams, ProgressNotificationParam, ProgressToken, Request,
    ServerResult,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestHandle, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use rmcp::{ClientHandler, Peer, RoleClient, ServiceExt};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use toolglot_tools::outcome::{Content, ToolResult};
use toolglot_tools::{Tool, read};

use super::process::Group;
use super::{Executor, Gave, Piece, Stream, pieces};
use crate::step::Start;

/// Number of pieces of progress that are queued; more are dropped, so that no call blocks the others.
const PROGRESS: usize = 16;

/// How long a process may take to end after its connection is closed.
const LAST: Duration = Duration::from_secs(3);

/// Limits of a server.
///
/// ```
/// use std::time::Duration;
/// use toolglot_agent::driver::McpLimits;
///
/// let limits = McpLimits::default().patience(Duration::from_secs(5)).tools(100);
/// assert_eq!((limits.tools, limits.result), (100, 4 << 20));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct McpLimits {
    /// How long it may take to answer any request except a call; 30 s by default. Calls have their own deadlines.
    pub patience: Duration,
    /// How many tools it may list; 1,024 by default.
    pub tools: usize,
    /// Maximum bytes of text and data in the result of a call; 4 MiB by default.
    pub result: usize,
}

toolglot::setters! {
    McpLimits:
    patience = Duration,
    tools = usize,
    result = usize,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(30),
            tools: 1024,
            result: 4 << 20,
        }
    }
}

/// Why a server cannot be used.
///
/// ```
/// use tokio::process::Command;
/// use toolglot_agent::driver::{Mcp, McpLimits};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let error = Mcp::process("files", Command::new("/nonexistent/server"), McpLimits::default()).await.unwrap_err();
/// assert_eq!(error.server, "files");
/// assert!(error.why.starts_with("it cannot be started"));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{server}: {why}")]
#[non_exhaustive]
pub struct McpError {
    /// The caller's name for the server.
    pub server: String,
    /// What is wrong.
    pub why: String,
}

/// Handles notifications of a server.
#[derive(Clone, Debug)]
struct Ears {
    calls: Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<String>>>>,
    changed: watch::Sender<u64>,
    /// Cancellations on their way to the server.
    cancels: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Ears {
    fn cancels(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.cancels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn calls(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, mpsc::Sender<String>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for Ears {
    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        if let Some(call) = self.calls().get(&told.progress_token) {
            // A slow receiver misses some.
            let _ = call.try_send(progress(&told));
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.send_modify(|times| *times += 1);
    }

    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("toolglot", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(rmcp::model::ClientCapabilities::default(), own)
    }
}

fn progress(told: &ProgressNotificationParam) -> String {
    let done = match told.total {
        Some(total) => format!("{}/{total}", told.progress),
        None => told.progress.to_string(),
    };
    match &told.message {
        Some(message) => format!("{message} ({done})"),
        None => done,
    }
}

/// A connection to a server. Dropping it closes the connection and kills the process that it started, with that process's group.
///
/// ```no_run
/// use std::sync::Arc;
/// use toolglot_agent::driver::{Executors, Mcp, McpLimits};
/// use toolglot_tools::Inventory;
///
/// # async {
/// let mcp = Mcp::http("files", "http://localhost:8000/mcp", None, McpLimits::default()).await?;
/// let mut executors = Executors::new();
/// let mut tools = mcp.tools().await?;
/// for tool in &mut tools {
///     tool.agent_callable = tool.id == "files:read";
///     executors.add(&tool.id, Arc::new(mcp.executor()));
/// }
/// let inventory = Inventory::of(tools)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # };
/// ```
#[derive(Debug)]
pub struct Mcp {
    service: RunningService<RoleClient, Ears>,
    name: String,
    limits: McpLimits,
    process: Option<(Child, Group)>,
}

impl Mcp {
    /// Starts a server as a process and talks to it over its standard input and output. Its standard error is the host's. It leads its
    /// own process group, which is killed when the connection ends.
    ///
    /// # Errors
    /// It cannot be started, or does not complete the handshake within [`McpLimits::patience`].
    pub async fn process(
        name: &str,
        command: Command,
        limits: McpLimits,
    ) -> Result<Self, McpError> {
        let fail = |error: std::io::Error| McpError {
            server: name.to_owned(),
            why: format!("it cannot be started: {error}"),
        };
        let mut command = command;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(fail)?;
        let group = Group::of(&child);
        let pipes = child.stdout.take().zip(child.stdin.take());
        let pipes = pipes.ok_or_else(|| fail(std::io::ErrorKind::BrokenPipe.into()))?;
        let mut mcp = Self::over(name, pipes, limits).await?;
        mcp.process = Some((child, group));
        Ok(mcp)
    }

    /// Connects to a server by streamable HTTP, with a key as bearer token if there is one. Redirects are not followed.
    ///
    /// # Errors
    /// The address cannot be used, or no server completes the handshake within [`McpLimits::patience`].
    pub async fn http(
        name: &str,
        address: &str,
        key: Option<&str>,
        limits: McpLimits,
    ) -> Result<Self, McpError> {
        let fail = |why: String| McpError {
            server: name.to_owned(),
            why,
        };
        let url = reqwest::Url::parse(address).map_err(|error| fail(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(fail("only http and https are asked".to_owned()));
        }
        let client = super::tls::builder(url.scheme() == "https").map_err(fail)?;
        let client = client
            .build()
            .map_err(|error| fail(super::tls::words(&error)))?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(address)
            .max_json_response_size(limits.result.saturating_mul(2))
            .max_sse_event_size(limits.result.saturating_mul(2));
        if let Some(key) = key {
            config = config.auth_header(key);
        }
        let transport = StreamableHttpClientTransport::with_client(client, config);
        Self::over(name, transport, limits).await
    }

    /// Talks to a server over any transport of `rmcp`, for example a pair of a reader and a writer.
    ///
    /// # Errors
    /// No server completes the handshake within [`McpLimits::patience`].
    pub async fn over<T, E, A>(
        name: &str,
        transport: T,
        limits: McpLimits,
    ) -> Result<Self, McpError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let fail = |why: String| McpError {
            server: name.to_owned(),
            why,
        };
        let ears = Ears {
            calls: Arc::default(),
            changed: watch::Sender::new(0),
            cancels: Arc::default(),
        };
        let served = tokio::time::timeout(limits.patience, ears.serve(transport)).await;
        let service = served
            .map_err(|_| fail(silent(limits.patience)))?
            .map_err(|error| fail(format!("the connection failed: {error}")))?;
        Ok(Self {
            service,
            name: name.to_owned(),
            limits,
            process: None,
        })
    }

    fn fail(&self, why: impl Into<String>) -> McpError {
        McpError {
            server: self.name.clone(),
            why: why.into(),
        }
    }

    /// Returns the tools that the server lists now, prefixed with its name (`server:tool`). Listed tools are not
    /// callable until the host makes them so ([`Tool::agent_callable`]).
    ///
    /// # Errors
    /// The server does not answer, lists too many tools, or lists invalid ones.
    pub async fn tools(&self) -> Result<Vec<Tool>, McpError> {
        let all = tokio::time::timeout(self.limits.patience, self.listed()).await;
        let list = all.map_err(|_| self.fail(silent(self.limits.patience)))??;
        let text = serde_json::to_string(&serde_json::json!({ "tools": list }));
        let text = text.map_err(|error| self.fail(error.to_string()))?;
        let read =
            read::listing(&self.name, &text).map_err(|error| self.fail(error.to_string()))?;
        if let Some(odd) = read.odd.first() {
            return Err(self.fail(odd.to_string()));
        }
        Ok(read::prefixed(&self.name, read.tools))
    }

    async fn listed(&self) -> Result<Vec<rmcp::model::Tool>, McpError> {
        let mut list = vec![];
        let mut page: Option<PaginatedRequestParams> = None;
        loop {
            let found = self.service.list_tools(page.take()).await;
            let found =
                found.map_err(|error| self.fail(format!("its tools cannot be listed: {error}")))?;
            list.extend(found.tools);
            if list.len() > self.limits.tools {
                return Err(self.fail(format!("it lists more than {} tools", self.limits.tools)));
            }
            match found.next_cursor {
                // Endless pages are stopped by the time limit or the number of tools.
                Some(next) => {
                    page = Some(PaginatedRequestParams::default().with_cursor(Some(next)))
                }
                None => return Ok(list),
            }
        }
    }

    /// Changes whenever the server announces that its list of tools has changed. Call [`tools`](Self::tools) then; runs keep the tools
    /// they started with.
    #[must_use]
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.service.service().changed.subscribe()
    }

    /// Returns an executor for the server's tools, by their ids with or without its name as prefix.
    #[must_use]
    pub fn executor(&self) -> McpTools {
        McpTools {
            peer: self.service.peer().clone(),
            ears: self.service.service().clone(),
            prefix: format!("{}:", self.name),
            limits: self.limits,
        }
    }

    /// Returns whether the connection is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Waits until the server has been told which calls are cancelled, or does not listen. Call it before the runtime ends.
    pub async fn settle(&self) {
        let cancels = std::mem::take(&mut *self.service.service().cancels());
        let all = async {
            for sent in cancels {
                let _ = sent.await;
            }
        };
        let _ = tokio::time::timeout(LAST, all).await;
    }

    /// Closes the connection, and waits for that. A process has a moment to end by itself before it is killed.
    pub async fn close(mut self) {
        self.settle().await;
        // The connection ends whether or not closing succeeds.
        let _ = self.service.close_with_timeout(LAST).await;
        if let Some((child, _)) = &mut self.process {
            let _ = tokio::time::timeout(LAST, child.wait()).await;
        }
    }
}

fn silent(patience: Duration) -> String {
    format!("it was silent for {} s", patience.as_secs_f64())
}

/// Executes calls on a server. A call that is dropped is cancelled there.
///
/// See the example of [`Mcp`].
#[derive(Clone, Debug)]
pub struct McpTools {
    peer: Peer<RoleClient>,
    ears: Ears,
    prefix: String,
    limits: McpLimits,
}

impl Executor for McpTools {
    fn start(&self, call: Start) -> Stream<Piece> {
        let own = self.clone();
        pieces(async move |out| {
            let (mut asked, mut progress) = match own.ask(&call).await {
                Ok(asked) => asked,
                Err(why) => return Piece::Done(Err(why.into())),
            };
            loop {
                tokio::select! {
                    biased;
                    Some(text) = progress.recv() => out.send(Piece::Progress(text)).await,
                    answer = asked.answer() => return Piece::Done(match answer {
                        Ok(answer) => gave(answer, own.limits),
                        Err(why) => Err(why.into()),
                    }),
                }
            }
        })
    }
}

impl McpTools {
    async fn ask(&self, call: &Start) -> Result<(Asked, mpsc::Receiver<String>), String> {
        let name = call.tool.strip_prefix(&self.prefix).unwrap_or(&call.tool);
        let arguments = serde_json::from_str(&call.arguments)
            .map_err(|error| format!("the arguments are not an object: {error}"))?;
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(Request::new(params));
        let sent = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let handle = sent.await.map_err(|error| words(&error))?;
        // If the server is faster than this, the first pieces are missed.
        let (to, progress) = mpsc::channel(PROGRESS);
        self.ears.calls().insert(handle.progress_token.clone(), to);
        let asked = Asked {
            token: handle.progress_token.clone(),
            handle: Some(handle),
            ears: self.ears.clone(),
        };
        Ok((asked, progress))
    }
}

/// A call sent to the server. It is cancelled if dropped before its answer.
struct Asked {
    handle: Option<RequestHandle<RoleClient>>,
    token: ProgressToken,
    ears: Ears,
}

impl Asked {
    /// Waits for the answer. Cancel-safe: may be dropped and called again until the answer arrives.
    async fn answer(&mut self) -> Result<ServerResult, String> {
        let Some(handle) = &mut self.handle else {
            return Err("the server has answered already".to_owned());
        };
        let answer = (&mut handle.rx).await;
        self.handle = None;
        match answer {
            Ok(answer) => answer.map_err(|error| words(&error)),
            Err(_) => Err(words(&rmcp::ServiceError::TransportClosed)),
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.ears.calls().remove(&self.token);
        // The cancellation is sent in the background.
        if let (Some(handle), Ok(runtime)) =
            (self.handle.take(), tokio::runtime::Handle::try_current())
        {
            let cancel = handle.cancel(Some("the call was cancelled".to_owned()));
            let sent = runtime.spawn(async {
                // The server may be gone.
                let _ = cancel.await;
            });
            let mut cancels = self.ears.cancels();
            cancels.retain(|sent| !sent.is_finished());
            cancels.push(sent);
        }
    }
}

fn words(error: &rmcp::ServiceError) -> String {
    match error {
        rmcp::ServiceError::McpError(error) => {
            format!("the server refused the call: {}", error.message)
        }
        rmcp::ServiceError::TransportClosed => "the connection to the server is over".to_owned(),
        other => format!("the server did not answer: {other}"),
    }
}

/// Converts a server's answer to the result of a call.
fn gave(answer: ServerResult, limits: McpLimits) -> Gave {
    let result = match answer {
        ServerResult::CallToolResult(result) => result,
        ServerResult::InputRequiredResult(_) => {
            return Err("the server asks for input, which is not supported".into());
        }
        ServerResult::CreateTaskResult(task) => {
            let text = serde_json::to_string(&task).unwrap_or_default();
            return Ok(vec![Content::Text(text)]);
        }
        _ => return Err("the server answered with something that is not a result".into()),
    };
    let failed = result.is_error == Some(true);
    let content = content(result)?;
    let size: usize = content.iter().map(size).sum();
    if size > limits.result {
        let why = format!(
            "the result has {size} bytes, more than {} are not taken",
            limits.result
        );
        return Err(why.into());
    }
    if !failed {
        return Ok(content);
    }
    let texts = content.iter().filter_map(|one| match one {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let words = texts.collect::<Vec<_>>().join("\n");
    Err(match words.is_empty() {
        true => "the tool failed and did not say why".into(),
        false => words.into(),
    })
}

fn content(result: CallToolResult) -> Result<Vec<Content>, String> {
    let structured = result
        .structured_content
        .filter(|_| result.content.is_empty());
    let mut parts = vec![];
    for block in result.content {
        parts.push(match block {
            // Messages to a model cannot hold audio.
            ContentBlock::Audio(audio) => serde_json::json!({
                "type": "text",
                "text": format!("[audio: {}, {} bytes of base64]", audio.mime_type, audio.data.len()),
            }),
            block => serde_json::to_value(&block).map_err(|error| error.to_string())?,
        });
    }
    if let Some(value) = structured {
        parts.push(serde_json::json!({"type": "json", "json": value}));
    }
    // `ToolResult` parses content parts in this protocol's form.
    let text = serde_json::json!({"name": "", "content": parts}).to_string();
    let result: ToolResult = serde_json::from_str(&text)
        .map_err(|error| format!("the result cannot be read: {error}"))?;
    Ok(result.content)
}

fn size(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Json(value) => value.to_string().len(),
        Content::Image { data, .. } => data.len(),
        Content::Resource { uri, text, .. } => uri.len() + text.as_ref().map_or(0, String::len),
        _ => 0,
    }
}
