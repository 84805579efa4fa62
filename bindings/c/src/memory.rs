//! When memory runs out.
//!
//! Rust ends the process when an allocation fails, and an allocator must not unwind. So the library's allocator lets none
//! fail: what the system refuses comes from the [reserve], and the thread notes that it is so. The call goes on to its next
//! [`check`], which answers `TOOLGLOT_E_NOMEM`; its handle ends, all that it held goes back, and the reserve is whole again.
//!
//! How much a call takes until then has a bound: it grows with what its handle holds and what it is given. The library's own
//! region suffices where that is little; where it is more, [`ensure`] gets a region for it beforehand, and answers
//! `TOOLGLOT_E_NOMEM` if it cannot. Long chunks are taken in pieces. What grows with the length of a chunk alone, the events
//! of a batch, has its own way to fail: [`grow`].
//!
//! Without failures this costs a count of bytes, and one branch where they are given back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

use crate::reserve::{self, Extra};
use crate::status::{Done, Fault};

/// What every call may take of the library's own region.
const SMALL: usize = 4 << 20;
/// What a call may take whatever it is given.
const LEAST: usize = 2 << 20;
/// What it may take for each byte that its handle holds or that it is given.
const EACH: usize = 8;
/// Chunks are taken in pieces of so many bytes.
pub(crate) const PIECE: usize = 16 << 10;

/// The library's allocator: that of the system, and the reserve where that fails.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// What a thread knows of the call that it is in.
#[derive(Clone, Copy, Debug)]
struct State {
    /// An allocation of this call has failed.
    failed: bool,
    /// Bytes that are not the call's: `taken` less these are what its handles hold.
    base: isize,
    /// What the call may take.
    quota: usize,
    /// Of what, where the library's own region is not enough.
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
    /// Bytes that the thread took and did not give back. Others may do that, so they can be less than none.
    taken: Cell<isize>,
    /// An allocation may fail.
    fallible: Cell<bool>,
    failed: Cell<bool>,
    base: Cell<isize>,
    quota: Cell<usize>,
    extra: Cell<Option<Extra>>,
}

thread_local! {
    // With neither initializer nor destructor, so that it allocates nothing itself.
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

    /// What the handles of the call hold, and what it has taken beside.
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

/// What the system has refused.
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

/// Gives back what may be of the reserve.
///
/// # Safety
/// The block is of the allocator, with this layout, and nobody uses it any more.
#[cold]
#[inline(never)]
unsafe fn give(block: *mut u8, layout: Layout) {
    // SAFETY: promised; it is of the reserve, or of the system.
    unsafe {
        if reserve::owns(block) {
            reserve::give(block, layout);
        } else {
            System.dealloc(block, layout);
        }
    }
}

/// Moves a block to where more or fewer bytes have room.
///
/// # Safety
/// As for `GlobalAlloc::realloc`.
#[cold]
#[inline(never)]
unsafe fn relocate(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // SAFETY: promised: with this alignment the size is a layout.
    unsafe {
        let moved = ALLOCATOR.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !moved.is_null() {
            ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
            ALLOCATOR.dealloc(block, layout);
        }
        moved
    }
}

// SAFETY: blocks are of the system or of the reserve, which give each to one owner and take it back where it is from.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() {
            return rescue(layout);
        }
        count(layout.size(), 0);
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised.
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
        // SAFETY: promised.
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
        // SAFETY: promised.
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

/// A call of the host. Calls of callbacks nest.
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

/// What a handle holds.
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
    /// What the call under way has taken so far.
    pub fn of_call() -> Self {
        Self {
            bytes: isize::try_from(taken()).unwrap_or(isize::MAX),
            extra: None,
        }
    }

    /// Gives back the region, which no call uses.
    #[inline]
    fn leave(&mut self) {
        if let Some((extra, _)) = self.extra.take() {
            // SAFETY: no call uses it any more.
            unsafe { extra.end() };
        }
    }

    /// Runs what may change the handle's value.
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
                let quota = thread.quota.replace(SMALL);
                self.extra = thread.extra.take().map(|extra| (extra, quota));
                if need(self.bytes, 0) < SMALL / 2 {
                    self.leave();
                }
            }
            done
        })
    }
}

/// Answers `TOOLGLOT_E_NOMEM` if an allocation of this call has failed.
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

/// What the call under way has taken so far, and what its handles hold.
pub(crate) fn taken() -> usize {
    usize::try_from(THREAD.with(Thread::held)).unwrap_or_default()
}

/// What a call may take whose handles hold so much, and that is given so much.
fn need(held: isize, given: usize) -> usize {
    let held = usize::try_from(held).unwrap_or_default();
    let each = held.saturating_add(given).saturating_mul(EACH);
    each.saturating_add(LEAST)
}

/// The call is given so many bytes: what it may take for them will be there, or it has failed.
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

/// Sees that the reserve has so many bytes for this call.
#[cold]
#[inline(never)]
fn bring(thread: &Thread, need: usize) -> Done {
    if need <= thread.quota.get() && (thread.extra.get().is_some() || reserve::room(SMALL)) {
        return Ok(());
    }
    // Some more, so that a handle that grows does not ask each time.
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

/// Makes room for more items, or notes that there is none.
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

/// Runs what takes or gives back memory that has its own way to fail, and does not count.
pub(crate) fn apart<R>(run: impl FnOnce() -> R) -> R {
    THREAD.with(|thread| {
        let before = thread.taken.get();
        let done = run();
        let change = thread.taken.get().wrapping_sub(before);
        thread.base.set(thread.base.get().wrapping_add(change));
        done
    })
}
