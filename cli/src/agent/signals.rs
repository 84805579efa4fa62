//! Ctrl-C, and the other signals that end a process.

use std::io::{self, IsTerminal, Write};

/// Completes when the process should end. Listening starts at once.
pub fn interrupted() -> impl Future<Output = ()> + Send {
    let signal = signalled();
    async move {
        signal.await;
        if io::stderr().is_terminal() {
            // The line may contain a question, and the terminal's echo of the key.
            let _ = writeln!(io::stderr());
        }
    }
}

#[cfg(unix)]
fn signalled() -> impl Future<Output = ()> + Send {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    // Tools have process groups of their own: a signal that ends this process must end them too.
    let listen = |kind| signal(kind).ok();
    let mut kinds = [
        listen(SignalKind::interrupt()),
        listen(SignalKind::terminate()),
        listen(SignalKind::hangup()),
    ];
    std::future::poll_fn(move |context| {
        let ready = |one: &mut Option<Signal>| {
            one.as_mut()
                .is_some_and(|signal| signal.poll_recv(context).is_ready())
        };
        match kinds.iter_mut().any(ready) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
}

#[cfg(not(unix))]
async fn signalled() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
