//! Texts of any length, made from a few stored paragraphs.

const ENGLISH: &str = include_str!("../data/english.txt");
const CHINESE: &str = include_str!("../data/chinese.txt");
const CODE: &str = include_str!("../data/code.txt");
const PAGE: &str = include_str!("../data/page.txt");

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// English prose: no byte that begins a marker.
    English,
    /// Chinese prose: three bytes per character, no byte that begins a marker.
    Chinese,
    /// Rust-like code: about 19 `<` per KiB.
    Code,
    /// HTML: about 45 `<` per KiB.
    Html,
}

pub const KINDS: [Kind; 4] = [Kind::English, Kind::Chinese, Kind::Code, Kind::Html];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::English => "english",
            Self::Chinese => "chinese",
            Self::Code => "code",
            Self::Html => "html",
        }
    }

    fn seed(self) -> &'static str {
        match self {
            Self::English => ENGLISH,
            Self::Chinese => CHINESE,
            Self::Code => CODE,
            Self::Html => PAGE,
        }
    }

    /// At least `len` bytes, ending with a whole character.
    pub fn text(self, len: usize) -> String {
        let parts: Vec<&str> = self.seed().split("\n\n").collect();
        let mut out = String::with_capacity(len + 1024);
        let mut random = Random(1);
        let mut last = parts.len();
        for number in 1_u32.. {
            if out.len() >= len {
                break;
            }
            let mut part = random.below(parts.len());
            if part == last {
                part = (part + 1) % parts.len();
            }
            last = part;
            out.push_str(&parts[part].replace("{n}", &number.to_string()));
            out.push_str("\n\n");
        }
        let cut = (0..=len)
            .rev()
            .find(|at| out.is_char_boundary(*at))
            .unwrap_or(0);
        out.truncate(cut);
        out
    }
}

/// A linear congruential generator: the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Where pieces end that are about as long as the tokens of a language model.
///
/// This is a simple rule, not a tokenizer: a word with the preceding blank, split into pieces of at most seven letters; one or two
/// Chinese characters; a run of one kind of punctuation or blanks, at most four; up to three digits. It gives 4.1 bytes per piece for
/// the English text here, 4.6 for the Chinese and 3.0 for the code. Lengths vary like those of tokens, which is what matters here.
pub fn pieces(text: &str) -> Vec<usize> {
    let mut ends = vec![];
    let mut class = Class::Blank;
    let mut count = 0;
    for (at, c) in text.char_indices() {
        let next = Class::of(c);
        let joins = match (class, next) {
            // A blank belongs to the following word.
            (Class::Blank, Class::Letter) => count == 1 && text[..at].ends_with(' '),
            (Class::Letter, Class::Letter) => count < 8,
            (Class::Wide, Class::Wide) => count < 1 + at / 3 % 2,
            (Class::Digit, Class::Digit) => count < 3,
            (Class::Blank, Class::Blank) => count < 4,
            (Class::Mark(a), Class::Mark(b)) => a == b && count < 4,
            _ => false,
        };
        if joins {
            count += 1;
        } else {
            if at > 0 {
                ends.push(at);
            }
            count = 1;
        }
        class = next;
    }
    ends.push(text.len());
    ends
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    Letter,
    Digit,
    Wide,
    Mark(char),
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            ' ' | '\n' | '\t' => Self::Blank,
            c if c.is_ascii_alphabetic() => Self::Letter,
            c if c.is_ascii_digit() => Self::Digit,
            c if !c.is_ascii() => Self::Wide,
            c => Self::Mark(c),
        }
    }
}
