//! The metadata of a GGUF file, which stands before its tensors.
//!
//! Source: the GGUF specification of ggml (`docs/gguf.md`), versions 1 to 3, little-endian.

use std::io::{self, Read};

use super::TemplateError;

/// Bounds: of names and of texts that are kept, of metadata, and of lists in lists.
const MAX_NAME: u64 = 64 << 10;
const MAX_TEXT: u64 = 4 << 20;
const MAX_PAIRS: u64 = 1 << 16;
const MAX_DEPTH: u32 = 4;

/// What a file says of its chat template.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Metadata {
    /// Templates by name: `default`, `tool_use`.
    pub templates: Vec<(String, String)>,
    pub bos_token: Option<String>,
    pub eos_token: Option<String>,
}

/// Reads the metadata; of the vocabulary only the two tokens are kept.
pub(super) fn read(input: impl Read) -> Result<Metadata, TemplateError> {
    let mut reader = Reader { input, version: 0 };
    reader.file().map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            TemplateError::new("the GGUF file ends within its metadata")
        }
        _ => TemplateError::new(format!("GGUF: {error}")),
    })
}

struct Reader<R> {
    input: R,
    version: u32,
}

fn wrong<T>(why: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}

impl<R: Read> Reader<R> {
    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut out = [0; N];
        self.input.read_exact(&mut out)?;
        Ok(out)
    }

    fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    /// A count: of four bytes in the first version.
    fn count(&mut self) -> io::Result<u64> {
        match self.version {
            1 => Ok(u64::from(self.u32()?)),
            _ => self.u64(),
        }
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let done = io::copy(&mut (&mut self.input).take(bytes), &mut io::sink())?;
        match done == bytes {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn text(&mut self, most: u64) -> io::Result<String> {
        let len = self.count()?;
        if len > most {
            return wrong("a text is too long");
        }
        let mut out = vec![];
        (&mut self.input).take(len).read_to_end(&mut out)?;
        if out.len() as u64 != len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        String::from_utf8(out).or_else(|_| wrong("a text is not UTF-8"))
    }

    fn skip_text(&mut self) -> io::Result<()> {
        let len = self.count()?;
        self.skip(len)
    }

    fn file(&mut self) -> io::Result<Metadata> {
        if &self.bytes()? != b"GGUF" {
            return wrong("the file does not begin with its magic");
        }
        self.version = self.u32()?;
        if !(1..=3).contains(&self.version) {
            return wrong("its version is not 1 to 3, or it is big-endian");
        }
        let _tensors = self.count()?;
        let pairs = self.count()?;
        if pairs > MAX_PAIRS {
            return wrong("it holds too much metadata");
        }
        let mut out = Metadata::default();
        let mut ids = [None; 2];
        let mut tokens: Vec<String> = vec![];
        for _ in 0..pairs {
            let key = self.text(MAX_NAME)?;
            let kind = self.u32()?;
            let template = key.strip_prefix("tokenizer.chat_template");
            match (key.as_str(), kind) {
                (_, 8) if template.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) => {
                    let name = template.unwrap_or_default().trim_start_matches('.');
                    let name = if name.is_empty() { "default" } else { name };
                    out.templates.push((name.to_owned(), self.text(MAX_TEXT)?));
                }
                ("tokenizer.ggml.bos_token_id", 4 | 5) => ids[0] = Some(self.u32()? as usize),
                ("tokenizer.ggml.eos_token_id", 4 | 5) => ids[1] = Some(self.u32()? as usize),
                ("tokenizer.ggml.tokens", 9) => tokens = self.tokens()?,
                _ => self.value(kind, 0)?,
            }
        }
        let token = |id: Option<usize>| id.and_then(|id| tokens.get(id).cloned());
        out.bos_token = token(ids[0]);
        out.eos_token = token(ids[1]);
        Ok(out)
    }

    /// The vocabulary. Ids may follow it, so all of it is kept while the metadata is read.
    fn tokens(&mut self) -> io::Result<Vec<String>> {
        let kind = self.u32()?;
        let count = self.count()?;
        if kind != 8 {
            (0..count).try_for_each(|_| self.value(kind, 1))?;
            return Ok(vec![]);
        }
        let mut out = vec![];
        let mut kept = 0;
        for _ in 0..count {
            let token = self.text(MAX_NAME)?;
            kept += token.len() as u64 + 24;
            if kept > 64 * MAX_TEXT {
                return wrong("its vocabulary is too large");
            }
            out.push(token);
        }
        Ok(out)
    }

    fn value(&mut self, kind: u32, depth: u32) -> io::Result<()> {
        match kind {
            0 | 1 | 7 => self.skip(1),
            2 | 3 => self.skip(2),
            4..=6 => self.skip(4),
            8 => self.skip_text(),
            10..=12 => self.skip(8),
            9 if depth < MAX_DEPTH => {
                let inner = self.u32()?;
                let count = self.count()?;
                // Every item takes a byte at least, so a false count ends with the file.
                match size(inner) {
                    Some(size) => self.skip(count.saturating_mul(size)),
                    None => (0..count).try_for_each(|_| self.value(inner, depth + 1)),
                }
            }
            9 => wrong("its lists are nested too deeply"),
            _ => wrong("a value has an unknown type"),
        }
    }
}

/// The bytes of a value of fixed size.
fn size(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn text(out: &mut Vec<u8>, text: &str) {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    }

    /// A file with a template, a vocabulary and other metadata, without tensors.
    pub(in crate::template) fn file(templates: &[(&str, &str)]) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend(3u32.to_le_bytes());
        out.extend(0u64.to_le_bytes());
        out.extend((5 + templates.len() as u64).to_le_bytes());
        text(&mut out, "general.architecture");
        out.extend(8u32.to_le_bytes());
        text(&mut out, "llama");
        text(&mut out, "numbers");
        out.extend(9u32.to_le_bytes());
        out.extend(9u32.to_le_bytes());
        out.extend(2u64.to_le_bytes());
        for _ in 0..2 {
            out.extend(6u32.to_le_bytes());
            out.extend(3u64.to_le_bytes());
            out.extend([0; 12]);
        }
        for (key, id) in [
            ("tokenizer.ggml.bos_token_id", 1u32),
            ("tokenizer.ggml.eos_token_id", 2),
        ] {
            text(&mut out, key);
            out.extend(4u32.to_le_bytes());
            out.extend(id.to_le_bytes());
        }
        text(&mut out, "tokenizer.ggml.tokens");
        out.extend(9u32.to_le_bytes());
        out.extend(8u32.to_le_bytes());
        out.extend(3u64.to_le_bytes());
        for token in ["a", "<s>", "</s>"] {
            text(&mut out, token);
        }
        for (key, template) in templates {
            text(&mut out, key);
            out.extend(8u32.to_le_bytes());
            text(&mut out, template);
        }
        out
    }

    #[test]
    fn the_metadata_is_read() {
        let bytes = file(&[
            ("tokenizer.chat_template", "a"),
            ("tokenizer.chat_template.tool_use", "b"),
        ]);
        let found = read(bytes.as_slice()).expect("a file");
        let want = [("default", "a"), ("tool_use", "b")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(found.templates, want);
        assert_eq!(found.bos_token.as_deref(), Some("<s>"));
        assert_eq!(found.eos_token.as_deref(), Some("</s>"));
    }

    #[test]
    fn a_broken_file_is_refused() {
        let bytes = file(&[("tokenizer.chat_template", "a")]);
        for end in 0..bytes.len() {
            let error = read(&bytes[..end]).expect_err("it is truncated");
            assert!(error.message.contains("ends within"), "{end}: {error}");
        }
        for (at, byte, why) in [
            (0, b'X', "magic"),
            (4, 9, "version"),
            (23, 255, "too much"),
            (31, 255, "too long"),
        ] {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            let error = read(bytes.as_slice()).expect_err(why);
            assert!(error.message.contains(why), "{at}: {error}");
        }
    }
}
