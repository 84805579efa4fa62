//! Lines of any length, in bounded memory.

use std::io::{self, BufRead, BufReader, Read};

use crate::input::Input;

/// A line without its newline.
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// Its length in the file, in bytes.
    pub bytes: u64,
    pub text: Text,
}

pub enum Text {
    Kept(Vec<u8>),
    /// It exceeds the limit and was skipped.
    TooLong,
}

/// Reads lines. Blank ones are skipped but counted.
pub struct Lines<R> {
    reader: R,
    max: u64,
    number: u64,
    /// The end was reached. A terminal would be read again.
    ended: bool,
}

impl Lines<BufReader<Input>> {
    pub fn input(&self) -> &Input {
        self.reader.get_ref()
    }

    /// Whether reading the next line may block; an estimate.
    pub fn is_waiting(&self) -> bool {
        self.reader.buffer().is_empty()
    }
}

impl<R: BufRead> Lines<R> {
    /// Reads lines of up to `max` bytes.
    pub fn new(reader: R, max: u64) -> Self {
        Self {
            reader,
            max,
            number: 0,
            ended: false,
        }
    }

    /// Returns the next line that is not blank.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let Some(line) = self.any_line()? else {
                return Ok(None);
            };
            match &line.text {
                Text::Kept(text) if text.iter().all(u8::is_ascii_whitespace) => {}
                Text::Kept(_) | Text::TooLong => return Ok(Some(line)),
            }
        }
    }

    fn any_line(&mut self) -> io::Result<Option<Line>> {
        if self.ended {
            return Ok(None);
        }
        let mut text = vec![];
        let mut bytes = (&mut self.reader)
            .take(self.max.saturating_add(1))
            .read_until(b'\n', &mut text)? as u64;
        self.ended = bytes == 0;
        if self.ended {
            return Ok(None);
        }
        self.number += 1;
        let ended = text.last() == Some(&b'\n');
        if ended {
            text.pop();
        } else if bytes > self.max {
            drop(text);
            bytes += self.reader.skip_until(b'\n')? as u64;
            return Ok(Some(Line {
                number: self.number,
                bytes,
                text: Text::TooLong,
            }));
        }
        if self.number == 1 && text.starts_with(b"\xef\xbb\xbf") {
            text.drain(..3);
        }
        Ok(Some(Line {
            number: self.number,
            bytes,
            text: Text::Kept(text),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8], max: u64) -> Vec<(u64, u64, Option<Vec<u8>>)> {
        let mut lines = Lines::new(input, max);
        let mut out = vec![];
        while let Some(line) = lines.next_line().expect("memory can be read") {
            let text = match line.text {
                Text::Kept(text) => Some(text),
                Text::TooLong => None,
            };
            out.push((line.number, line.bytes, text));
        }
        out
    }

    #[test]
    fn long_lines_are_skipped_and_counted() {
        let kept = |text: &[u8]| Some(text.to_vec());
        assert_eq!(
            lines(b"ab\n\n \r\ncdef\nabc", 3),
            [(1, 3, kept(b"ab")), (4, 5, None), (5, 3, kept(b"abc"))]
        );
        assert_eq!(lines(b"abc\nabcd", 3), [(1, 4, kept(b"abc")), (2, 4, None)]);
        assert_eq!(lines(b"", 3), []);
        assert_eq!(lines(b"\xef\xbb\xbf1", 9), [(1, 4, kept(b"1"))]);
    }
}
