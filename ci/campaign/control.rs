//! Faults that a sanitizer of the Rust compiler must find: `control FAULT`. Exit status 0 means that it was not found.
//! ci/campaign/sanitizers.sh compiles and runs it.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

fn main() {
    let fault = std::env::args().nth(1).expect("the name of a fault");
    match fault.as_str() {
        "overflow" => {
            let bytes = black_box(vec![1_u8; 32]);
            // SAFETY: none. This reads a byte behind the vector, on purpose.
            black_box(unsafe { *bytes.as_ptr().add(black_box(32)) });
        }
        "freed" => {
            let bytes = black_box(vec![1_u8; 32]);
            let at = bytes.as_ptr();
            drop(bytes);
            // SAFETY: none. This reads what was freed, on purpose.
            black_box(unsafe { *black_box(at) });
        }
        "race" => {
            static mut COUNT: u64 = 0;
            static STARTED: AtomicU32 = AtomicU32::new(0);
            let count = || {
                // Both run at the same time, but nothing orders what they write.
                STARTED.fetch_add(1, Ordering::Relaxed);
                while STARTED.load(Ordering::Relaxed) < 2 {
                    std::hint::spin_loop();
                }
                for _ in 0..100_000 {
                    // SAFETY: none. Two threads write it without order, on purpose.
                    unsafe { COUNT = black_box(COUNT + 1) };
                }
            };
            let other = std::thread::spawn(count);
            count();
            other.join().expect("the other thread");
        }
        other => panic!("no fault {other}"),
    }
}
