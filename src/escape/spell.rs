//! Writes one-character markers as codes, and reads the codes.
//!
//! A one-character marker cannot be broken; it is written as the breaker, `x` and its bytes in hex: `{` is `\x7b`. Breakers
//! before such a marker, or before something that looks like its code, are doubled, so that an odd number before a code means
//! the marker and an even number the code itself.

use super::breaks::Way;
use crate::dialect::EscapeTable;

/// The state of one text.
#[derive(Clone, Debug)]
pub(super) struct Spell {
    way: Way,
    /// Breakers that are held back until it is known what follows them.
    breakers: usize,
    /// The beginning of a marker or a code.
    part: Vec<u8>,
}

/// The meaning of the held back bytes.
enum Found<'t> {
    Marker { code: &'t [u8] },
    Code { marker: &'t [u8], code: &'t [u8] },
    Part,
    Nothing,
}

impl Spell {
    pub fn new(way: Way) -> Self {
        Self {
            way,
            breakers: 0,
            part: vec![],
        }
    }

    pub fn push(&mut self, table: &EscapeTable, chunk: &[u8], out: &mut Vec<u8>) {
        for byte in chunk {
            self.step(table, *byte, out);
        }
    }

    fn step(&mut self, table: &EscapeTable, byte: u8, out: &mut Vec<u8>) {
        if self.part.is_empty() && byte == table.breaker {
            self.breakers += 1;
            return;
        }
        self.part.push(byte);
        match self.found(table) {
            Found::Part => {}
            Found::Marker { code } => {
                let breakers = self.take();
                match self.way {
                    Way::Escape => self.write(table, 2 * breakers + 1, code, out),
                    // Escaped text contains no such marker: this text was never escaped.
                    Way::Unescape => {
                        let part = std::mem::take(&mut self.part);
                        self.write(table, breakers, &part, out);
                    }
                }
            }
            Found::Code { marker, code } => {
                let breakers = self.take();
                match self.way {
                    Way::Escape => self.write(table, 2 * breakers, code, out),
                    Way::Unescape if breakers % 2 == 1 => {
                        self.write(table, breakers / 2, marker, out);
                    }
                    Way::Unescape => self.write(table, breakers / 2, code, out),
                }
            }
            Found::Nothing => self.give_up(table, byte, out),
        }
    }

    fn take(&mut self) -> usize {
        std::mem::take(&mut self.breakers)
    }

    fn write(&mut self, table: &EscapeTable, breakers: usize, rest: &[u8], out: &mut Vec<u8>) {
        out.resize(out.len() + breakers, table.breaker);
        out.extend_from_slice(rest);
        self.part.clear();
    }

    /// The held back bytes are neither; only the last of them may begin something, because no character and no code contains
    /// the beginning of another.
    fn give_up(&mut self, table: &EscapeTable, last: u8, out: &mut Vec<u8>) {
        let again = self.part.len() > 1;
        if again {
            self.part.pop();
        }
        let (breakers, part) = (self.take(), std::mem::take(&mut self.part));
        self.write(table, breakers, &part, out);
        if again {
            self.step(table, last, out);
        }
    }

    fn found<'t>(&self, table: &'t EscapeTable) -> Found<'t> {
        let mut part = false;
        for code in &table.codes {
            if self.part == code.marker {
                return Found::Marker { code: &code.code };
            }
            part |= code.marker.starts_with(&self.part);
            if self.breakers > 0 {
                if self.part == code.code {
                    return Found::Code {
                        marker: &code.marker,
                        code: &code.code,
                    };
                }
                part |= code.code.starts_with(&self.part);
            }
        }
        if part { Found::Part } else { Found::Nothing }
    }

    pub fn finish(&mut self, table: &EscapeTable, out: &mut Vec<u8>) {
        let (breakers, part) = (self.take(), std::mem::take(&mut self.part));
        self.write(table, breakers, &part, out);
    }
}
