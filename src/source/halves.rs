//! Documents in which characters are damaged: halves of surrogate pairs in the escapes of strings, bytes that are not UTF-8.
//!
//! A server that cuts text into UTF-16 units sends a character as two halves, the first at the end of a string and the second at
//! the beginning of one in the next document. They are joined in the second. What has no other half is read as U+FFFD and reported.

use std::borrow::Cow;

use super::SourceError;

/// The length of an escape of one unit.
const ESCAPE: usize = 6;

/// The first half of a character that the next document goes on with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Halves {
    first: Option<First>,
}

/// The escape of a first half, and the line of its document.
type First = ([u8; ESCAPE], u64);

/// What an escape of a string stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    First,
    Second,
    Other,
}

/// The unit that `bytes` begin with, if they are an escape with a number.
fn unit(bytes: &[u8]) -> Option<Unit> {
    let [b'\\', b'u', digits @ ..] = bytes.get(..ESCAPE)? else {
        return None;
    };
    let half = matches!(digits[0], b'd' | b'D');
    Some(match digits[1] {
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' if half => Unit::First,
        b'c'..=b'f' | b'C'..=b'F' if half => Unit::Second,
        _ => Unit::Other,
    })
}

impl Halves {
    /// Mends a document that begins at `line`, and that others may `follow`. Without damaged characters it is borrowed. Linear.
    pub fn mend<'d>(
        &mut self,
        (line, follow): (u64, bool),
        data: &'d [u8],
        mut lost: impl FnMut(SourceError),
    ) -> Cow<'d, [u8]> {
        let (has, before) = (may_be_damaged(data), self.first.take());
        if !has {
            orphaned(before, &mut lost);
            return Cow::Borrowed(data);
        }
        let text = String::from_utf8_lossy(data);
        if let Cow::Owned(_) = text {
            lost(SourceError::damaged(line, "bytes that are not UTF-8"));
        }
        let mended = self.escapes((line, follow), text.as_bytes(), before, &mut lost);
        match (mended, text) {
            (Some(mended), _) => Cow::Owned(mended),
            (None, Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
            (None, Cow::Borrowed(_)) => Cow::Borrowed(data),
        }
    }

    /// The first half of a character, if the body ends after it.
    pub fn end(&mut self, mut lost: impl FnMut(SourceError)) {
        orphaned(self.first.take(), &mut lost);
    }

    /// Joins halves and replaces those that are alone; nothing if there are none.
    fn escapes(
        &mut self,
        (line, follow): (u64, bool),
        data: &[u8],
        before: Option<First>,
        lost: &mut impl FnMut(SourceError),
    ) -> Option<Vec<u8>> {
        let mut before = before;
        let (mut out, mut copied, mut damaged) = (vec![], 0, false);
        // Where the last escape ended: a quotation mark before that opens no string.
        let (mut at, mut escaped) = (0, 0);
        while let Some(next) = memchr::memchr(b'\\', &data[at..]) {
            let start = at + next;
            let Some(unit) = unit(&data[start..]) else {
                at = (start + 2).min(data.len());
                escaped = at;
                continue;
            };
            at = start + ESCAPE;
            let begins = start > escaped && data[start - 1] == b'"';
            escaped = at;
            match unit {
                Unit::Other => continue,
                Unit::First if self::unit(&data[at..]) == Some(Unit::Second) => {
                    at += ESCAPE;
                    escaped = at;
                    continue;
                }
                Unit::First if follow && data.get(at) == Some(&b'"') && self.first.is_none() => {
                    let mut first = [0; ESCAPE];
                    first.copy_from_slice(&data[start..at]);
                    self.first = Some((first, line));
                    out.extend_from_slice(&data[copied..start]);
                }
                Unit::Second if begins && before.is_some() => {
                    out.extend_from_slice(&data[copied..start]);
                    out.extend(before.take().into_iter().flat_map(|(first, _)| first));
                    out.extend_from_slice(&data[start..at]);
                }
                Unit::First | Unit::Second => {
                    damaged = true;
                    out.extend_from_slice(&data[copied..start]);
                    out.extend_from_slice(b"\\ufffd");
                }
            }
            copied = at;
        }
        orphaned(before, lost);
        if damaged {
            lost(SourceError::damaged(line, HALF));
        }
        (copied > 0).then(|| {
            out.extend_from_slice(&data[copied..]);
            out
        })
    }
}

/// A document as it can be read: without a byte order mark, and with U+FFFD in place of what is no character.
pub fn readable(data: &[u8]) -> Cow<'_, [u8]> {
    let data = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    Halves::default().mend((1, false), data, |_| {})
}

/// Reports a first half whose second does not come.
fn orphaned(first: Option<First>, lost: &mut impl FnMut(SourceError)) {
    if let Some((_, line)) = first {
        lost(SourceError::damaged(line, HALF));
    }
}

const HALF: &str = "half of a surrogate pair";

/// Whether it may contain halves, or bytes that are not UTF-8.
fn may_be_damaged(data: &[u8]) -> bool {
    let escapes = [b"\\ud".as_slice(), b"\\uD"];
    let escaped = |escape: &&[u8]| memchr::memmem::find(data, escape).is_some();
    escapes.iter().any(escaped) || std::str::from_utf8(data).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documents as they are read, and how many errors they gave.
    fn mended(documents: &[&str]) -> (Vec<String>, usize) {
        let (mut halves, mut errors) = (Halves::default(), 0);
        let read = documents.iter().map(|document| {
            let read = halves.mend((1, true), document.as_bytes(), |_| errors += 1);
            String::from_utf8(read.into_owned()).expect("UTF-8")
        });
        let read = read.collect();
        halves.end(|_| errors += 1);
        (read, errors)
    }

    #[test]
    fn halves_of_a_character_are_joined_or_replaced() {
        for (documents, read, errors) in [
            (
                &[r#"["\ud83d"]"#, r#"["\ude00 x"]"#][..],
                &[r#"[""]"#, r#"["\ud83d\ude00 x"]"#][..],
                0,
            ),
            (
                &[r#"["a\uD83D"]"#, r#"["b"]"#],
                &[r#"["a"]"#, r#"["b"]"#],
                1,
            ),
            (&[r#"["\ud83d"]"#], &[r#"[""]"#], 1),
            (&[r#"["a \ud83d b"]"#], &[r#"["a \ufffd b"]"#], 1),
            (&[r#"["\ude00"]"#], &[r#"["\ufffd"]"#], 1),
            (&[r#"["\ud83d\ude00"]"#], &[r#"["\ud83d\ude00"]"#], 0),
            // The escape of a backslash, then letters.
            (&[r#"["\\ud83d"]"#], &[r#"["\\ud83d"]"#], 0),
            // The quotation mark is content: the half does not begin its string.
            (
                &[r#"["\ud83d"]"#, r#"["\"\ude00"]"#],
                &[r#"[""]"#, r#"["\"\ufffd"]"#],
                2,
            ),
            (&[r#"["\u00e9"]"#], &[r#"["\u00e9"]"#], 0),
        ] {
            let read: Vec<String> = read.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(mended(documents), (read, errors), "{documents:?}");
        }
    }

    #[test]
    fn a_single_document_is_readable() {
        for (document, read) in [
            (&b"\xef\xbb\xbf[\"a\"]"[..], &b"[\"a\"]"[..]),
            (br#"["a \ud83d"]"#, br#"["a \ufffd"]"#),
        ] {
            assert_eq!(&*readable(document), read);
        }
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_replaced() {
        let (mut halves, mut errors) = (Halves::default(), 0);
        let read = halves.mend((1, true), b"[\"a\xff\"]", |_| errors += 1);
        assert_eq!((&*read, errors), ("[\"a\u{fffd}\"]".as_bytes(), 1));
    }
}
