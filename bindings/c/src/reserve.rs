//! Serves allocations when the system has no more memory, so that the current call can end properly.
//!
//! A region is a range of addresses that hands out blocks whose sizes are powers of two. Returned blocks are reused, and when
//! the last one is back the region is reset. One region is part of the library and costs no memory until it is used. Calls that
//! may need more bring another one: [`Extra`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Bytes of the library's own region.
const OWN: usize = 32 << 20;
/// The default alignment of blocks of at least this size.
const PAGE: usize = 4096;
/// The smallest block: large enough for the link of a free one. Also the alignment of [`Extra`].
const LEAST: usize = 16;
/// The offset of the first address of an [`Extra`] region, after its descriptor.
const HEAD: usize = size_of::<Region>().next_multiple_of(LEAST);
/// The number of block sizes: no region has a block of `1 << CLASSES` bytes.
const CLASSES: usize = usize::BITS as usize;
/// How often a thread retries when nothing is left, a millisecond apart, while others end their calls and return memory.
const PATIENCE: u32 = 2000;

#[repr(align(4096))]
struct Bytes(UnsafeCell<MaybeUninit<[u8; OWN]>>);

// SAFETY: only its blocks are used, each by its owner.
unsafe impl Sync for Bytes {}

static BYTES: Bytes = Bytes(UnsafeCell::new(MaybeUninit::uninit()));

/// A range of addresses and its used parts.
struct Region {
    start: *mut u8,
    len: usize,
    /// Nothing was handed out from here on.
    top: usize,
    /// The number of blocks in use.
    live: usize,
    /// The first free block of each size.
    free: [*mut u8; CLASSES],
    /// The call that brought it is over; returning the last block frees it.
    left: bool,
    next: *mut Region,
}

impl Region {
    const fn new(start: *mut u8, len: usize) -> Self {
        Self {
            start,
            len,
            top: 0,
            live: 0,
            free: [ptr::null_mut(); CLASSES],
            left: false,
            next: ptr::null_mut(),
        }
    }

    fn owns(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.start.addr()) < self.len
    }

    /// Bytes that were never handed out, or were returned by a reset.
    fn room(&self) -> usize {
        self.len - self.top
    }

    fn take(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let (class, size) = class(layout)?;
        let head = self.free[class];
        if !head.is_null() && head.addr().is_multiple_of(layout.align()) {
            // SAFETY: a free block holds the address of the next one.
            self.free[class] = unsafe { head.cast::<*mut u8>().read() };
            self.live += 1;
            return NonNull::new(head);
        }
        let align = layout.align().max(size.min(PAGE));
        let from =
            (self.start.addr() + self.top).checked_next_multiple_of(align)? - self.start.addr();
        let end = from.checked_add(size).filter(|end| *end <= self.len)?;
        self.top = end;
        self.live += 1;
        NonNull::new(self.start.wrapping_add(from))
    }

    fn give(&mut self, block: *mut u8, layout: Layout) {
        let Some((class, size)) = class(layout) else {
            return;
        };
        self.live -= 1;
        if self.live == 0 {
            self.top = 0;
            self.free = [ptr::null_mut(); CLASSES];
        } else if block.addr() - self.start.addr() + size == self.top {
            self.top -= size;
        } else {
            // SAFETY: the block is free, and large enough for an address.
            unsafe { block.cast::<*mut u8>().write(self.free[class]) };
            self.free[class] = block;
        }
    }
}

/// The size of a block, and the list that it belongs to.
fn class(layout: Layout) -> Option<(usize, usize)> {
    let size = layout.size().max(layout.align()).max(LEAST);
    let size = size.checked_next_power_of_two()?;
    Some((size.trailing_zeros() as usize, size))
}

/// The regions, behind a lock: it is held for a few steps, and only when memory is short.
struct Reserve {
    locked: AtomicBool,
    own: UnsafeCell<Region>,
    /// Regions that calls have brought.
    extra: UnsafeCell<*mut Region>,
    /// The number of them.
    brought: AtomicUsize,
    /// The total number of blocks in use.
    live: AtomicUsize,
}

// SAFETY: regions are accessed only under the lock.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve {
    locked: AtomicBool::new(false),
    own: UnsafeCell::new(Region::new(BYTES.0.get().cast(), OWN)),
    extra: UnsafeCell::new(ptr::null_mut()),
    brought: AtomicUsize::new(0),
    live: AtomicUsize::new(0),
};

/// All regions, with exclusive access.
struct Regions<'a> {
    own: &'a mut Region,
    extra: &'a mut *mut Region,
}

impl Reserve {
    fn with<R>(&self, run: impl FnOnce(Regions<'_>) -> R) -> R {
        let swap = || {
            self.locked
                .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
        };
        while swap().is_err() {
            std::thread::yield_now();
        }
        // SAFETY: we hold the lock.
        let regions = unsafe {
            Regions {
                own: &mut *self.own.get(),
                extra: &mut *self.extra.get(),
            }
        };
        let done = run(regions);
        self.locked.store(false, Ordering::Release);
        done
    }
}

impl Regions<'_> {
    /// The region that a block belongs to.
    fn of(&mut self, block: *mut u8) -> Option<&mut Region> {
        if self.own.owns(block) {
            return Some(self.own);
        }
        let mut at = *self.extra;
        // SAFETY: listed regions are alive, and ours while we hold the lock.
        while let Some(region) = unsafe { at.as_mut() } {
            if region.owns(block) {
                return Some(region);
            }
            at = region.next;
        }
        None
    }

    /// Removes a region from the list.
    fn remove(&mut self, gone: *mut Region) {
        let mut link: *mut *mut Region = self.extra;
        // SAFETY: the links are those of live regions, and ours while we hold the lock.
        unsafe {
            while !(*link).is_null() && *link != gone {
                link = &raw mut (**link).next;
            }
            if *link == gone {
                *link = (*gone).next;
            }
        }
    }
}

/// Whether any block is in use. The owner of a block always sees `true`.
#[inline]
pub(crate) fn in_use() -> bool {
    RESERVE.live.load(Ordering::Relaxed) != 0
}

/// Whether the library's own region has that many bytes left.
#[cold]
pub(crate) fn room(bytes: usize) -> bool {
    RESERVE.with(|regions| regions.own.room() >= bytes)
}

/// Takes a block, from the region that the call has brought, if any. `None` if there is not enough space.
#[cold]
pub(crate) fn take(layout: Layout, extra: Option<Extra>) -> Option<NonNull<u8>> {
    for patience in 0..PATIENCE {
        let block = RESERVE.with(|regions| {
            // SAFETY: the region is alive as long as `extra`, and ours while we hold the lock.
            let brought = extra.and_then(|extra| unsafe { (*extra.0.as_ptr()).take(layout) });
            brought.or_else(|| regions.own.take(layout))
        });
        if block.is_some() {
            RESERVE.live.fetch_add(1, Ordering::Relaxed);
            return block;
        }
        if layout.size() > OWN {
            return None;
        }
        if patience > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        // SAFETY: layouts of this function are not zero-sized.
        let system = NonNull::new(unsafe { System.alloc(layout) });
        if system.is_some() {
            return system;
        }
    }
    None
}

/// Whether a block belongs to the reserve.
#[cold]
pub(crate) fn owns(block: *mut u8) -> bool {
    let own = block.addr().wrapping_sub(BYTES.0.get().addr()) < OWN;
    own || (RESERVE.brought.load(Ordering::Relaxed) != 0
        && RESERVE.with(|mut regions| regions.of(block).is_some()))
}

/// Returns a block.
///
/// # Safety
/// The block is from [`take`] with this layout, the reserve [owns](owns) it, and it is not used any more.
#[cold]
pub(crate) unsafe fn give(block: *mut u8, layout: Layout) {
    let done = RESERVE.with(|mut regions| {
        let region = regions.of(block)?;
        region.give(block, layout);
        let over = region.left && region.live == 0;
        let region: *mut Region = region;
        if over {
            regions.remove(region);
        }
        Some((region, over))
    });
    RESERVE.live.fetch_sub(1, Ordering::Relaxed);
    if let Some((region, true)) = done {
        // SAFETY: no block of it is in use, and it is not listed.
        unsafe { discard(region) };
    }
}

/// Returns a region to the system.
///
/// # Safety
/// The region is an [`Extra`] one that is in no list.
unsafe fn discard(region: *mut Region) {
    RESERVE.brought.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: guaranteed by the caller; the system allocated it with this layout.
    unsafe {
        let layout = Layout::from_size_align_unchecked((*region).len + HEAD, LEAST);
        System.dealloc(region.cast(), layout);
    }
}

/// An additional region, for a call that may need more than the library has. If the system allocates large blocks lazily, it
/// costs no memory until it is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra(NonNull<Region>);

// SAFETY: the region is accessed only under the lock.
unsafe impl Send for Extra {}
// SAFETY: as above.
unsafe impl Sync for Extra {}

impl Extra {
    /// `None` if the system does not have that much.
    #[cold]
    pub fn new(len: usize) -> Option<Self> {
        const { assert!(align_of::<Region>() <= LEAST) };
        let layout = Layout::from_size_align(len.checked_add(HEAD)?, LEAST).ok()?;
        // SAFETY: the size is not 0.
        let region = NonNull::new(unsafe { System.alloc(layout) })?.cast::<Region>();
        let start = region.as_ptr().cast::<u8>().wrapping_add(HEAD);
        // SAFETY: the descriptor has its place before the first block.
        unsafe { region.write(Region::new(start, len)) };
        RESERVE.with(|regions| {
            // SAFETY: it was just allocated, and has no other owner.
            unsafe { (*region.as_ptr()).next = *regions.extra };
            *regions.extra = region.as_ptr();
        });
        RESERVE.brought.fetch_add(1, Ordering::Relaxed);
        Some(Self(region))
    }

    /// Returns the region to the system: immediately, or with its last block.
    ///
    /// # Safety
    /// This region is not used any more, except for blocks of it.
    #[cold]
    pub unsafe fn end(self) {
        let region = self.0.as_ptr();
        let over = RESERVE.with(|mut regions| {
            // SAFETY: it is alive, and ours while we hold the lock.
            let it = unsafe { &mut *region };
            it.left = true;
            let over = it.live == 0;
            if over {
                regions.remove(region);
            }
            over
        });
        if over {
            // SAFETY: no block of it is in use, and it is not listed.
            unsafe { discard(region) };
        }
    }
}
