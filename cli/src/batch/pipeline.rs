//! One thread reads, several parse, the calling one takes the results in the order of the input.
//!
//! Work travels in numbered portions, so that their order can be restored. What is between reader and taker is bounded in bytes and
//! in portions ([`Budget`]), so memory does not grow with the length of the file.

use std::collections::BTreeMap;
use std::process;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use indicatif::ProgressBar;

use super::budget::Budget;
use super::record::{Answers, Defaults};
use crate::stop::Stop;

/// Bytes of input in flight; a longer line travels alone.
const UNDER_WAY: u64 = 64 << 20;

/// Something with its place in the order, and the bytes of input that it stands for.
struct Portion<T> {
    number: u64,
    bytes: u64,
    what: T,
}

/// Reads with `next` until it returns `None`, works on several threads, and takes each result.
pub fn run<W: Send, T: Send>(
    (jobs, defaults): (usize, &Defaults),
    next: impl FnMut() -> Result<Option<(u64, W)>, Stop> + Send,
    work: impl Fn(&mut Answers<'_>, W) -> T + Sync,
    take: impl FnMut(T) -> Result<(), Stop>,
    bar: &ProgressBar,
) -> Result<(), Stop> {
    let budget = Budget::new(UNDER_WAY, 4 * jobs as u64);
    let (tasks, waiting) = mpsc::channel();
    let waiting = Mutex::new(waiting);
    let (done, finished) = mpsc::channel();
    thread::scope(|scope| {
        let reader = scope.spawn(|| read(next, &budget, tasks));
        for _ in 0..jobs {
            let done = done.clone();
            scope.spawn(|| each(&mut Answers::new(defaults), &work, &waiting, done));
        }
        drop(done);
        if let Err(stop) = in_order(&finished, &budget, bar, take) {
            // The reader may wait for input that never comes. Without an output there is nothing left to do.
            bar.finish_and_clear();
            process::exit(i32::from(stop.report()));
        }
        bar.finish_and_clear();
        reader
            .join()
            .map_err(|_| Stop::because("the reader ended early"))?
    })
}

fn read<W>(
    mut next: impl FnMut() -> Result<Option<(u64, W)>, Stop>,
    budget: &Budget,
    tasks: Sender<Portion<W>>,
) -> Result<(), Stop> {
    for number in 0.. {
        let Some((bytes, what)) = next()? else {
            break;
        };
        budget.take(bytes);
        let task = Portion {
            number,
            bytes,
            what,
        };
        if tasks.send(task).is_err() {
            break;
        }
    }
    Ok(())
}

fn each<W, T>(
    answers: &mut Answers<'_>,
    work: &impl Fn(&mut Answers<'_>, W) -> T,
    waiting: &Mutex<Receiver<Portion<W>>>,
    done: Sender<Portion<T>>,
) {
    loop {
        let task = waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(Portion {
            number,
            bytes,
            what,
        }) = task
        else {
            return;
        };
        let result = Portion {
            number,
            bytes,
            what: work(answers, what),
        };
        if done.send(result).is_err() {
            return;
        }
    }
}

fn in_order<T>(
    finished: &Receiver<Portion<T>>,
    budget: &Budget,
    bar: &ProgressBar,
    mut take: impl FnMut(T) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut early = BTreeMap::new();
    let mut next = 0;
    while let Ok(done) = finished.recv() {
        early.insert(done.number, done);
        while let Some(done) = early.remove(&next) {
            next += 1;
            take(done.what)?;
            bar.inc(done.bytes);
            budget.give_back(done.bytes);
        }
    }
    Ok(())
}
