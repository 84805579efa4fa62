//! The laws over fragments of the vectors: their tags, brackets, quotes and words, mixed, doubled, truncated and swapped
//! between dialects; with each dialect alone and together with the default set, under many options and small limits.
//!
//! A test run tries a few thousand inputs. For more: `FRAGMENTS=200000 FRAGMENTS_SEED=7 cargo test hunt -- --ignored`.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LazyLock, Mutex, PoisonError};

use toolglot::{
    DialectSet, Fence, Finish, Limits, Options, ReasoningMode, Retain, Start, TextMode, Unclosed,
};

use crate::replay::checks::{Case, cuts};
use crate::support::{CASES, some};

/// Inputs per test run.
const INPUTS: u64 = 6000;
/// Maximum length of an input in bytes.
const MOST: usize = 700;

/// A generator with the same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.roll() % n.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Splits at the boundaries of markup: a tag, a word, a run of blanks or a mark is one piece.
fn split(input: &[u8]) -> Vec<&[u8]> {
    let mut out = vec![];
    let mut rest = input;
    while let Some(first) = rest.first() {
        let run = |same: fn(u8) -> bool| rest.iter().take_while(|b| same(**b)).count();
        let len = match first {
            b'<' | b'[' => {
                let end = if *first == b'<' { b'>' } else { b']' };
                let tag = rest.iter().take(48).position(|b| *b == end);
                let plain = |at: &usize| {
                    !rest[1..*at]
                        .iter()
                        .any(|b| matches!(b, b'<' | b'{' | b'\n'))
                };
                tag.filter(plain).map_or(1, |at| at + 1)
            }
            b if b.is_ascii_alphanumeric() || *b == b'_' => {
                run(|b| b.is_ascii_alphanumeric() || b == b'_')
            }
            b if b.is_ascii_whitespace() => run(|b| b.is_ascii_whitespace()),
            0x80.. => {
                // Keeps characters whole.
                let text = String::from_utf8_lossy(&rest[..rest.len().min(4)]);
                text.chars()
                    .next()
                    .map_or(1, |c| if c == '\u{fffd}' { 1 } else { c.len_utf8() })
            }
            _ => 1,
        };
        out.push(&rest[..len]);
        rest = &rest[len..];
    }
    out
}

/// The pieces of every vector.
static PIECES: LazyLock<Vec<Vec<&'static [u8]>>> =
    LazyLock::new(|| CASES.iter().map(|case| split(case.input)).collect());

/// The vectors of each dialect.
static BY_DIALECT: LazyLock<BTreeMap<&'static str, Vec<usize>>> = LazyLock::new(|| {
    let mut out: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, case) in CASES.iter().enumerate() {
        out.entry(case.dialect).or_default().push(index);
    }
    out
});

/// Each dialect together with the default set.
static BESIDE: LazyLock<BTreeMap<&'static str, Option<DialectSet>>> = LazyLock::new(|| {
    let beside = |id: &&'static str| {
        let set = DialectSet::builder().defaults().builtin(id).build();
        (*id, set.ok())
    };
    BY_DIALECT.keys().map(beside).collect()
});

/// Pieces that are rare in the vectors.
const EDGES: &[&str] = &[
    "",
    "\u{0}",
    "\\",
    "\\u",
    "\\ud800",
    "\\\"",
    "\"",
    "'",
    "``",
    "```",
    "<",
    "</",
    ">",
    "/>",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ";",
    "=",
    "-",
    "|",
    "\n",
    "\r\n",
    "  ",
    "\t",
    "é",
    "🌊",
    "1e5",
    "-1",
    "null",
    "true",
    "None",
    "[[",
    "]]",
    "{{",
    "}}",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "&lt;",
    "<think>",
    "</think>",
    "<|",
    "|>",
    "｜",
    "12345678901234567890",
    ".",
];

/// A run of pieces from a vector of the dialect.
fn fragment<'a>(dice: &mut Dice, of: &[usize]) -> &'a [&'static [u8]] {
    let pieces = &PIECES[*dice.pick(of)];
    let from = dice.below(pieces.len());
    let len = 1 + if dice.one_in(3) {
        dice.below(16)
    } else {
        dice.below(4)
    };
    &pieces[from.min(pieces.len())..(from + len).min(pieces.len())]
}

/// An input made from vectors of one dialect, and sometimes of others.
fn input(dice: &mut Dice, base: usize) -> Vec<u8> {
    let own = &BY_DIALECT[CASES[base].dialect];
    let all: Vec<usize> = (0..CASES.len()).collect();
    let stray = [0, 0, 0, 6, 2][dice.below(5)];
    let mut pieces: Vec<&[u8]> = vec![];
    if dice.one_in(4) {
        for _ in 0..1 + dice.below(10) {
            let of = if stray > 0 && dice.one_in(stray) {
                &all
            } else {
                own
            };
            pieces.extend(fragment(dice, of));
        }
    } else {
        pieces.extend(&PIECES[base]);
    }
    for _ in 0..dice.below(6) {
        let at = dice.below(pieces.len() + 1);
        let len = if dice.one_in(2) { 1 } else { dice.below(12) };
        let range = at..(at + len).min(pieces.len());
        match dice.below(9) {
            0 | 1 => {
                pieces.drain(range);
            }
            2 => {
                let again = pieces[range].to_vec();
                pieces.splice(at..at, again);
            }
            3 => {
                let moved: Vec<&[u8]> = pieces.drain(range).collect();
                let to = dice.below(pieces.len() + 1);
                pieces.splice(to..to, moved);
            }
            4 | 5 => {
                let of = if stray > 0 && dice.one_in(stray) {
                    &all
                } else {
                    own
                };
                pieces.splice(at..at, fragment(dice, of).iter().copied());
            }
            6 => pieces.insert(at, dice.pick(EDGES).as_bytes()),
            7 if dice.one_in(3) => pieces.truncate(at),
            _ => {
                if let Some(piece) = pieces.get_mut(at) {
                    let cut = dice.below(piece.len() + 1);
                    *piece = if dice.one_in(2) {
                        &piece[..cut]
                    } else {
                        &piece[cut..]
                    };
                }
            }
        }
    }
    let mut out = pieces.concat();
    out.truncate(MOST);
    out
}

fn small_limits(dice: &mut Dice) -> Limits {
    let mut limits = Limits::default();
    for _ in 0..1 + dice.below(3) {
        match dice.below(10) {
            0 => limits.max_value = 8,
            1 => limits.max_block = 64,
            2 => limits.max_header = 16,
            3 => limits.max_depth = 3,
            4 => limits.max_params = 2,
            5 => limits.max_calls = 2,
            6 => limits.max_name = 8,
            7 => limits.max_value = dice.below(40) as u64,
            8 => limits.max_block = dice.below(120) as u64,
            _ => limits.max_header = dice.below(60) as u32,
        }
    }
    limits
}

fn options(dice: &mut Dice, base: &Options) -> Options {
    let mut options = base.clone();
    if dice.one_in(4) {
        options.text = TextMode::Chars;
    }
    if dice.one_in(4) {
        options.retain = Retain::None;
    }
    if dice.one_in(6) {
        options.reasoning = *dice.pick(&[ReasoningMode::Off, ReasoningMode::Text]);
    }
    options.calls_in_reasoning |= dice.one_in(4);
    if dice.one_in(8) {
        options.fence = Some(*dice.pick(&[Fence::Skip, Fence::Allow]));
    }
    if dice.one_in(4) {
        options.unclosed = Some(*dice.pick(&[Unclosed::Drop, Unclosed::Text, Unclosed::Salvage]));
    }
    if dice.one_in(8) {
        options.start = *dice.pick(&[Start::Text, Start::Reasoning]);
    }
    if dice.one_in(4) {
        options.tools = CASES[dice.below(CASES.len())].options.tools.clone();
    }
    if dice.one_in(3) {
        options.limits = small_limits(dice);
    }
    options
}

/// One input with everything to try on it.
struct Trial {
    base: usize,
    beside: bool,
    set: DialectSet,
    options: Options,
    finish: Finish,
    seed: u64,
}

fn trial(seed: u64, id: Option<&str>) -> (Trial, Vec<u8>) {
    let mut dice = Dice(seed);
    let ids: Vec<&str> = BY_DIALECT.keys().copied().collect();
    let id = id.unwrap_or_else(|| *dice.pick(ids.as_slice()));
    let base = *dice.pick(&BY_DIALECT[id]);
    let beside = BESIDE[id].clone().filter(|_| dice.one_in(3));
    let trial = Trial {
        base,
        beside: beside.is_some(),
        set: beside.unwrap_or_else(|| CASES[base].set.clone()),
        options: options(&mut dice, &CASES[base].options),
        finish: *dice.pick(Finish::ALL),
        seed: dice.roll(),
    };
    let input = input(&mut dice, base);
    (trial, input)
}

impl Trial {
    fn case<'d>(&self, stream: &'d [u8]) -> Case<'d> {
        let mut dice = Dice(self.seed);
        let mut cuts: Vec<usize> = (0..dice.below(8))
            .map(|_| dice.below(stream.len() + 1))
            .collect();
        cuts.sort_unstable();
        Case {
            finish: self.finish,
            reused: dice.one_in(8),
            cuts,
            stop: dice.below(stream.len() + 1),
            ..Case::whole(&self.set, self.options.clone(), stream)
        }
    }

    /// What goes wrong, if anything.
    fn fails(&self, stream: &[u8]) -> Option<String> {
        let run = || cuts(&self.case(stream));
        catch_unwind(AssertUnwindSafe(run)).err().map(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
                .unwrap_or_default()
        })
    }

    /// The shortest input found that goes wrong in the same way.
    fn shrink(&self, input: Vec<u8>, why: &str) -> Vec<u8> {
        let key = key(why);
        let same = |input: &[u8]| self.fails(input).is_some_and(|why| self::key(&why) == key);
        let mut best = input;
        let mut size = best.len() / 2;
        while size > 0 {
            let mut at = 0;
            while at < best.len() {
                let mut less = best.clone();
                less.drain(at..(at + size).min(less.len()));
                if same(&less) {
                    best = less;
                } else {
                    at += size.div_ceil(2).max(1);
                }
            }
            size /= 2;
        }
        best
    }

    fn tell(&self, input: &[u8], why: &str) -> String {
        let case = &CASES[self.base];
        format!(
            "--- {} ({}{}), {:?}\n{:?}\ninput: \"{}\"\n{why}\n",
            case.dialect,
            case.id,
            if self.beside { ", default set" } else { "" },
            self.finish,
            {
                let mut options = self.options.clone();
                options.tools = None;
                options
            },
            input.escape_ascii(),
        )
    }
}

/// What failures of one kind have in common.
fn key(why: &str) -> String {
    let head: String = why
        .chars()
        .filter(|c| !c.is_ascii_digit())
        .take(60)
        .collect();
    head
}

/// Failures of inputs `from..to`, one per kind and dialect.
fn hunt_in(seeds: std::ops::Range<u64>, id: Option<&str>, most: usize) -> Vec<String> {
    let seen = Mutex::new(BTreeMap::new());
    let threads = 2;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (seen, seeds) = (&seen, seeds.clone());
            scope.spawn(move || {
                for seed in seeds.filter(|seed| seed % threads == thread) {
                    let (trial, input) = trial(seed, id);
                    let Some(why) = trial.fails(&input) else {
                        continue;
                    };
                    let key = (CASES[trial.base].dialect, key(&why));
                    let mut locked = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    if locked.contains_key(&key) || locked.len() >= most {
                        continue;
                    }
                    locked.insert(key.clone(), String::new());
                    drop(locked);
                    let small = trial.shrink(input, &why);
                    let why = trial.fails(&small).unwrap_or_default();
                    let mut locked = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    locked.insert(key, format!("seed {seed} {}", trial.tell(&small, &why)));
                }
            });
        }
    });
    let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    seen.into_values().collect()
}

fn hunt(seeds: std::ops::Range<u64>, id: Option<&str>, most: usize) {
    let failures = hunt_in(seeds, id, most);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn fragments_of_the_vectors_keep_the_laws() {
    hunt(0..some(INPUTS), None, 4);
}

#[test]
#[ignore = "as long as one likes"]
fn hunt_for_long() {
    std::panic::set_hook(Box::new(|_| {}));
    let number = |name: &str, or: u64| std::env::var(name).map_or(or, |n| n.parse().unwrap_or(or));
    let seed = number("FRAGMENTS_SEED", 1) << 32;
    let count = number("FRAGMENTS", 20_000);
    let id = std::env::var("FRAGMENTS_DIALECT").ok();
    for failure in hunt_in(seed..seed + count, id.as_deref(), 40) {
        println!("{failure}");
    }
}
