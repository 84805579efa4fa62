//! Survives running out of memory.
//!
//! Rust aborts the process when an allocation fails, and an allocator must not unwind. So the library's allocator never fails:
//! allocations that the system refuses are served from the [reserve], and the thread records it. The call continues to its next
//! [`check`], which returns `TOOLGLOT_E_NOMEM`; its handle ends, all its memory is returned, and the reserve is whole again.
//!
//! What a call takes until then is bounded: it grows with what its handle holds and with its arguments. If that is little, the
//! library's own region suffices; if it is more, [`ensure`] obtains a region for it beforehand, and returns `TOOLGLOT_E_NOMEM`
//! if it cannot. Long chunks are processed in pieces. Only the events of a batch grow with the length of a chunk alone; they
//! can fail separately: [`grow`].
//!
//! Without failures the cost is counting bytes, and one branch when memory is freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

use crate::reserve::{self, Extra};
use crate::status::{Done, Fault};

/// Bytes that every call may take of the library's own region.
const SMALL: usize = 4 << 20;
/// Bytes that a call may take regardless of its arguments.
const LEAST: usize = 2 << 20;
/// Bytes that it may take per byte that its handle holds or that it is given.
const EACH: usize = 8;
/// Chunks are processed in pieces of this many bytes.
pub(crate) const PIECE: usize = 16 << 10;

/// The library's allocator: the system's, with the reserve as fallback.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// What a thread knows about its current call.
#[derive(Clone, Copy, Debug)]
struct State {
    /// An allocation of this call has failed.
    failed: bool,
    /// Bytes that are not the call's: `taken` minus these is what its handles hold.
    base: isize,
    /// Bytes that the call may take.
    quota: usize,
    /// The region for them, if the library's own does not suffice.
    extra: Option<Extra>,
}

impl State {
    const NEW: Self = Self {
        failed: false,
        base: 0,
        quota: SMALL,
        extra: None,
    };
}

struct Thread {
    #[cfg(feature = "test-panic")]
    watch: crate::watch::Watch,
    /// Bytes that the thread allocated and did not free. Another thread may free them, so the count can be negative.
    taken: Cell<isize>,
    /// The current allocation may fail.
    fallible: Cell<bool>,
    failed: Cell<bool>,
    base: Cell<isize>,
    quota: Cell<usize>,
    extra: Cell<Option<Extra>>,
}

thread_local! {
    // Without initializer and destructor, so that the access does not allocate.
    static THREAD: Thread = const {
        Thread {
            #[cfg(feature = "test-panic")]
            watch: crate::watch::Watch::new(),
            taken: Cell::new(0),
            fallible: Cell::new(false),
            failed: Cell::new(false),
            base: Cell::new(0),
            quota: Cell::new(SMALL),
            extra: Cell::new(None),
        }
    };
}

impl Thread {
    #[inline]
    fn count(&self, more: usize, less: usize) {
        let change = more.wrapping_sub(less) as isize;
        self.taken.set(self.taken.get().wrapping_add(change));
        #[cfg(feature = "test-panic")]
        if !self.fallible.get() {
            self.watch.peak(self.held());
        }
    }

    /// The bytes that the handles of the call hold, plus those that it has taken.
    fn held(&self) -> isize {
        self.taken.get().wrapping_sub(self.base.get())
    }

    fn swap(&self, state: State) -> State {
        State {
            failed: self.failed.replace(state.failed),
            base: self.base.replace(state.base),
            quota: self.quota.replace(state.quota),
            extra: self.extra.replace(state.extra),
        }
    }
}

#[inline]
fn count(more: usize, less: usize) {
    THREAD.with(|thread| thread.count(more, less));
}

/// Serves an allocation that the system refused.
#[cold]
#[inline(never)]
fn rescue(layout: Layout) -> *mut u8 {
    THREAD.with(|thread| {
        thread.failed.set(true);
        if thread.fallible.get() {
            return ptr::null_mut();
        }
        let block = reserve::take(layout, thread.extra.get());
        block.map_or(ptr::null_mut(), |block| {
            thread.count(layout.size(), 0);
            block.as_ptr()
        })
    })
}

/// Frees a block that may belong to the reserve.
///
/// # Safety
/// The block is from the allocator, with this layout, and is not used any more.
#[cold]
#[inline(never)]
unsafe fn give(block: *mut u8, layout: Layout) {
    // SAFETY: guaranteed by the caller; the block belongs to the reserve or to the system.
    unsafe {
        if reserve::owns(block) {
            reserve::give(block, layout);
        } else {
            System.dealloc(block, layout);
        }
    }
}

/// Moves a block to one of another size.
///
/// # Safety
/// As for `GlobalAlloc::realloc`.
#[cold]
#[inline(never)]
unsafe fn relocate(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // SAFETY: guaranteed by the caller: with this alignment the size is a valid layout.
    unsafe {
        let moved = ALLOCATOR.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !moved.is_null() {
            ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
            ALLOCATOR.dealloc(block, layout);
        }
        moved
    }
}

// SAFETY: blocks come from the system or the reserve; both give a block to one owner, and get it back to where it came from.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() {
            return rescue(layout);
        }
        count(layout.size(), 0);
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            count(layout.size(), 0);
            return block;
        }
        let block = rescue(layout);
        if !block.is_null() {
            // SAFETY: it has this many bytes.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe {
            if reserve::in_use() {
                give(block, layout);
            } else {
                System.dealloc(block, layout);
            }
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if reserve::in_use() && reserve::owns(block) {
                return relocate(block, layout, size);
            }
            let moved = System.realloc(block, layout, size);
            if !moved.is_null() {
                count(size, layout.size());
                return moved;
            }
            relocate(block, layout, size)
        }
    }
}

/// A call of the host. Calls from callbacks nest.
#[derive(Debug)]
pub(crate) struct Scope {
    outer: State,
    taken: isize,
}

impl Scope {
    #[inline]
    pub fn enter() -> Self {
        THREAD.with(|thread| {
            let taken = thread.taken.get();
            #[cfg(feature = "test-panic")]
            thread.watch.begin(0, SMALL);
            let state = State {
                base: taken,
                ..State::NEW
            };
            Self {
                outer: thread.swap(state),
                taken,
            }
        })
    }
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        THREAD.with(|thread| {
            #[cfg(feature = "test-panic")]
            thread.watch.end();
            let within = thread.taken.get().wrapping_sub(self.taken);
            self.outer.base = self.outer.base.wrapping_add(within);
            let State { extra, .. } = thread.swap(self.outer);
            // SAFETY: the call that it was for is over.
            extra.into_iter().for_each(|extra| unsafe { extra.end() });
        });
    }
}

/// The memory that a handle holds.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    bytes: isize,
    /// The region for its calls, if they may need one.
    extra: Option<(Extra, usize)>,
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Holding {
    /// What the current call has taken so far.
    pub fn of_call() -> Self {
        Self {
            bytes: isize::try_from(taken()).unwrap_or(isize::MAX),
            extra: None,
        }
    }

    /// Releases the region, which no call uses.
    #[inline]
    fn leave(&mut self) {
        if let Some((extra, _)) = self.extra.take() {
            // SAFETY: no call uses it any more.
            unsafe { extra.end() };
        }
    }

    /// Whether a call with an argument of that many bytes, which it processes in pieces, may be brief: the library's own region
    /// suffices for it, and nothing has failed.
    #[inline]
    pub fn is_brief(&self, given: usize) -> bool {
        THREAD.with(|thread| {
            need(self.bytes, given.min(PIECE)) <= SMALL
                && self.extra.is_none()
                && thread.extra.get().is_none()
                && !thread.failed.get()
                && !reserve::in_use()
        })
    }

    /// Runs the body of a [brief](Self::is_brief) call, which may change the handle's value. Does what [`Scope`] and
    /// [`Holding::during`] do together, where nothing but a count changes. Also returns whether an allocation failed.
    #[inline]
    pub fn briefly<R>(&mut self, body: impl FnOnce() -> R) -> (R, bool) {
        THREAD.with(|thread| {
            let (base, taken) = (thread.base.get(), thread.taken.get());
            thread.base.set(taken.wrapping_sub(self.bytes));
            #[cfg(feature = "test-panic")]
            thread.watch.begin(self.bytes, need(self.bytes, 0));
            let done = body();
            #[cfg(feature = "test-panic")]
            thread.watch.end();
            self.bytes = thread.held().max(0);
            let within = thread.taken.get().wrapping_sub(taken);
            thread.base.set(base.wrapping_add(within));
            if thread.extra.get().is_some() {
                self.keep(thread);
            }
            (done, thread.failed.replace(false))
        })
    }

    /// Keeps the region that a call has brought, for the next one.
    fn keep(&mut self, thread: &Thread) {
        let quota = thread.quota.replace(SMALL);
        self.extra = thread.extra.take().map(|extra| (extra, quota));
    }

    /// Runs a body that may change the handle's value.
    pub fn during<R>(&mut self, body: impl FnOnce() -> R) -> R {
        THREAD.with(|thread| {
            let rest = thread.held();
            let base = &thread.base;
            base.set(base.get().wrapping_sub(self.bytes));
            let first = thread.extra.get().is_none();
            if let Some((extra, quota)) = self.extra.take_if(|_| first) {
                thread.extra.set(Some(extra));
                thread.quota.set(quota);
            }
            let done = body();
            self.bytes = thread.held().wrapping_sub(rest).max(0);
            base.set(thread.taken.get().wrapping_sub(rest));
            if first {
                self.keep(thread);
                if need(self.bytes, 0) < SMALL / 2 {
                    self.leave();
                }
            }
            done
        })
    }
}

/// Returns `TOOLGLOT_E_NOMEM` if an allocation of this call has failed.
#[inline]
pub(crate) fn check() -> Done {
    match failed() {
        false => Ok(()),
        true => Err(Fault::no_memory()),
    }
}

/// Whether an allocation of this call has failed.
#[inline]
pub(crate) fn failed() -> bool {
    THREAD.with(|thread| thread.failed.get())
}

/// The bytes that the current call has taken so far, plus those that its handles hold.
pub(crate) fn taken() -> usize {
    usize::try_from(THREAD.with(Thread::held)).unwrap_or_default()
}

/// The bytes that a call may take, given the bytes that its handles hold and those of its arguments.
fn need(held: isize, given: usize) -> usize {
    let held = usize::try_from(held).unwrap_or_default();
    let each = held.saturating_add(given).saturating_mul(EACH);
    each.saturating_add(LEAST)
}

/// Announces an argument of that many bytes: ensures the memory that the call may take for it, or fails.
#[inline]
pub(crate) fn ensure(bytes: usize) -> Done {
    THREAD.with(|thread| {
        let need = need(thread.held(), bytes);
        #[cfg(feature = "test-panic")]
        thread.watch.begin(thread.held(), need);
        if need <= thread.quota.get() && !reserve::in_use() {
            return Ok(());
        }
        bring(thread, need)
    })
}

/// Ensures that the reserve has `need` bytes for this call.
#[cold]
#[inline(never)]
fn bring(thread: &Thread, need: usize) -> Done {
    if need <= thread.quota.get() && (thread.extra.get().is_some() || reserve::room(SMALL)) {
        return Ok(());
    }
    // Half as much again, so that a growing handle does not ask each time.
    let more = need.saturating_add(need / 2);
    let brought = [more, need].into_iter();
    let mut brought = brought.filter_map(|quota| Some((Extra::new(quota)?, quota)));
    let Some((extra, quota)) = brought.next() else {
        thread.failed.set(true);
        return Err(Fault::no_memory());
    };
    thread.quota.set(quota);
    if let Some(old) = thread.extra.replace(Some(extra)) {
        // SAFETY: the call has another one now.
        unsafe { old.end() };
    }
    Ok(())
}

/// Reserves space for more items, or records that there is none.
#[cold]
#[inline(never)]
pub(crate) fn grow<T>(list: &mut Vec<T>, more: usize) -> bool {
    THREAD.with(|thread| {
        let fallible = thread.fallible.replace(true);
        let done = apart(|| list.try_reserve(more).is_ok());
        thread.fallible.set(fallible);
        if !done {
            thread.failed.set(true);
        }
        done
    })
}

/// Runs a body whose allocations are not counted, because they can fail on their own.
pub(crate) fn apart<R>(run: impl FnOnce() -> R) -> R {
    THREAD.with(|thread| {
        let before = thread.taken.get();
        let done = run();
        let change = thread.taken.get().wrapping_sub(before);
        thread.base.set(thread.base.get().wrapping_add(change));
        done
    })
}
