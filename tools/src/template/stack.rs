//! Stacks on which any value that a template can make is freed: the engine frees nested values by recursion, and a step may nest
//! a value once more.

use std::cell::Cell;

use super::TemplateError;

thread_local! {
    /// The steps for which the stack of this thread suffices.
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Runs it where the stack suffices for so many steps of a template: on a thread of its own, unless this one is such a thread.
///
/// # Errors
/// There is no memory for the stack.
#[cfg(not(target_family = "wasm"))]
pub fn deep<T: Send>(steps: u64, run: impl FnOnce() -> T + Send) -> Result<T, TemplateError> {
    // Without optimisation a level takes twice as much.
    const LEVEL: u64 = if cfg!(debug_assertions) { 1024 } else { 512 };
    if STEPS.get() >= steps {
        return Ok(run());
    }
    let stack = steps.saturating_mul(LEVEL).saturating_add(4 << 20);
    let stack = usize::try_from(stack).unwrap_or(usize::MAX);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(stack);
        let thread = thread.spawn_scoped(scope, || {
            STEPS.set(steps);
            run()
        });
        let thread = thread.map_err(|error| {
            TemplateError::new(format!("it gets no stack of {stack} bytes: {error}"))
        })?;
        let failed = |_| TemplateError::new("the template engine panicked");
        thread.join().map_err(failed)
    })
}

/// There are no threads, and a stack that overflows is an exception.
#[cfg(target_family = "wasm")]
pub fn deep<T>(_: u64, run: impl FnOnce() -> T) -> Result<T, TemplateError> {
    Ok(run())
}
