//! What allocations are served from when the system has no more memory, so that the call under way comes to its end.
//!
//! A region is a range of addresses that hands out blocks whose sizes are powers of two; blocks that come back are used
//! again, and when the last one is back the region is as new. One region is part of the library and costs no memory until it
//! is used. Calls that may need more bring another along: [`Extra`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Bytes of the region that is part of the library.
const OWN: usize = 32 << 20;
/// What blocks are aligned to without being asked, if they are not smaller.
const PAGE: usize = 4096;
/// The smallest block: room for the link of a free one. What [`Extra`] is aligned to.
const LEAST: usize = 16;
/// Where the addresses of an [`Extra`] region begin, after its description.
const HEAD: usize = size_of::<Region>().next_multiple_of(LEAST);
/// Sizes of blocks: no region holds one of `1 << CLASSES` bytes.
const CLASSES: usize = usize::BITS as usize;
/// How often a thread that finds nothing left looks again, a millisecond apart: others end their calls and give back.
const PATIENCE: u32 = 2000;

#[repr(align(4096))]
struct Bytes(UnsafeCell<MaybeUninit<[u8; OWN]>>);

// SAFETY: only blocks of it are used, each by who was handed it.
unsafe impl Sync for Bytes {}

static BYTES: Bytes = Bytes(UnsafeCell::new(MaybeUninit::uninit()));

/// A range of addresses and what of it is in use.
struct Region {
    start: *mut u8,
    len: usize,
    /// From here on nothing was handed out.
    top: usize,
    /// Blocks that are in use.
    live: usize,
    /// The first free block of each size.
    free: [*mut u8; CLASSES],
    /// The call that brought it is over; the last block takes it away.
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

    /// Bytes that were never handed out, or are back all together.
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
            // SAFETY: the block is free, and has room for an address.
            unsafe { block.cast::<*mut u8>().write(self.free[class]) };
            self.free[class] = block;
        }
    }
}

/// The size of a block, and which list it belongs to.
fn class(layout: Layout) -> Option<(usize, usize)> {
    let size = layout.size().max(layout.align()).max(LEAST);
    let size = size.checked_next_power_of_two()?;
    Some((size.trailing_zeros() as usize, size))
}

/// The regions, after a lock: it is held for a few steps, and only when memory is short.
struct Reserve {
    locked: AtomicBool,
    own: UnsafeCell<Region>,
    /// Those that calls have brought.
    extra: UnsafeCell<*mut Region>,
    /// How many.
    brought: AtomicUsize,
    /// Blocks in use, in all.
    live: AtomicUsize,
}

// SAFETY: regions are only touched after the lock.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve {
    locked: AtomicBool::new(false),
    own: UnsafeCell::new(Region::new(BYTES.0.get().cast(), OWN)),
    extra: UnsafeCell::new(ptr::null_mut()),
    brought: AtomicUsize::new(0),
    live: AtomicUsize::new(0),
};

/// All regions, while nobody else has them.
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
        // SAFETY: the lock is ours.
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
    /// The region that a block is of.
    fn of(&mut self, block: *mut u8) -> Option<&mut Region> {
        if self.own.owns(block) {
            return Some(self.own);
        }
        let mut at = *self.extra;
        // SAFETY: those of the list are alive, and ours while the lock is.
        while let Some(region) = unsafe { at.as_mut() } {
            if region.owns(block) {
                return Some(region);
            }
            at = region.next;
        }
        None
    }

    /// Takes a region out of the list.
    fn remove(&mut self, gone: *mut Region) {
        let mut link: *mut *mut Region = self.extra;
        // SAFETY: the links are those of regions that are alive, and ours while the lock is.
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

/// Whether any block is in use. Who holds a block sees that.
#[inline]
pub(crate) fn in_use() -> bool {
    RESERVE.live.load(Ordering::Relaxed) != 0
}

/// Whether so many bytes can be had of the library's own region.
#[cold]
pub(crate) fn room(bytes: usize) -> bool {
    RESERVE.with(|regions| regions.own.room() >= bytes)
}

/// A block; of the region that the call has brought, if it has one. `None` where there is no room.
#[cold]
pub(crate) fn take(layout: Layout, extra: Option<Extra>) -> Option<NonNull<u8>> {
    for patience in 0..PATIENCE {
        let block = RESERVE.with(|regions| {
            // SAFETY: the region is alive as long as `extra`, and ours while the lock is.
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
        // SAFETY: layouts of this function have a size.
        let system = NonNull::new(unsafe { System.alloc(layout) });
        if system.is_some() {
            return system;
        }
    }
    None
}

/// Whether a block is of the reserve.
#[cold]
pub(crate) fn owns(block: *mut u8) -> bool {
    let own = block.addr().wrapping_sub(BYTES.0.get().addr()) < OWN;
    own || (RESERVE.brought.load(Ordering::Relaxed) != 0
        && RESERVE.with(|mut regions| regions.of(block).is_some()))
}

/// Takes a block back.
///
/// # Safety
/// The block is of [`take`] with this layout, the reserve [owns](owns) it, and nobody uses it any more.
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
        // SAFETY: nobody has a block of it, and nobody finds it.
        unsafe { discard(region) };
    }
}

/// Gives a region back to the system.
///
/// # Safety
/// The region is an [`Extra`] one that is in no list.
unsafe fn discard(region: *mut Region) {
    RESERVE.brought.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: promised; the system gave it for this layout.
    unsafe {
        let layout = Layout::from_size_align_unchecked((*region).len + HEAD, LEAST);
        System.dealloc(region.cast(), layout);
    }
}

/// A region more, for a call that may need more than the library has. It costs no memory until it is used, where the system
/// gives large blocks so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra(NonNull<Region>);

// SAFETY: the region after it is only touched after the lock.
unsafe impl Send for Extra {}
// SAFETY: as above.
unsafe impl Sync for Extra {}

impl Extra {
    /// `None` where the system has not so much.
    #[cold]
    pub fn new(len: usize) -> Option<Self> {
        const { assert!(align_of::<Region>() <= LEAST) };
        let layout = Layout::from_size_align(len.checked_add(HEAD)?, LEAST).ok()?;
        // SAFETY: the size is not 0.
        let region = NonNull::new(unsafe { System.alloc(layout) })?.cast::<Region>();
        let start = region.as_ptr().cast::<u8>().wrapping_add(HEAD);
        // SAFETY: the description has its place before the first block.
        unsafe { region.write(Region::new(start, len)) };
        RESERVE.with(|regions| {
            // SAFETY: it was just made, and nobody else has it.
            unsafe { (*region.as_ptr()).next = *regions.extra };
            *regions.extra = region.as_ptr();
        });
        RESERVE.brought.fetch_add(1, Ordering::Relaxed);
        Some(Self(region))
    }

    /// Gives the region back to the system: at once, or with its last block.
    ///
    /// # Safety
    /// Nobody uses this region any more, but for blocks of it.
    #[cold]
    pub unsafe fn end(self) {
        let region = self.0.as_ptr();
        let over = RESERVE.with(|mut regions| {
            // SAFETY: it is alive, and ours while the lock is.
            let it = unsafe { &mut *region };
            it.left = true;
            let over = it.live == 0;
            if over {
                regions.remove(region);
            }
            over
        });
        if over {
            // SAFETY: nobody has a block of it, and nobody finds it.
            unsafe { discard(region) };
        }
    }
}
