//! JSON with positions: the end of a value, or the place where the text stops being JSON.

use toolglot::json::{Map, Value};

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The byte there does not fit.
    At(usize),
    /// The input ends.
    Cut,
}

pub struct Reader<'a> {
    pub input: &'a str,
    pub at: usize,
    /// Whether values have Python's spelling.
    pub python: bool,
}

impl Reader<'_> {
    pub fn blanks(&mut self) {
        let rest = self.input[self.at..].bytes();
        self.at += rest.take_while(|b| super::pattern::is_blank(*b)).count();
    }

    pub fn peek(&self) -> Option<u8> {
        self.input.as_bytes().get(self.at).copied()
    }

    pub fn fault(&self) -> Fault {
        match self.peek() {
            Some(_) => Fault::At(self.at),
            None => Fault::Cut,
        }
    }

    /// Consumes a byte, which must be the given one.
    pub fn take(&mut self, byte: u8) -> Result<(), Fault> {
        if self.peek() != Some(byte) {
            return Err(self.fault());
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a value after optional white space.
    pub fn value(&mut self) -> Result<Value, Fault> {
        self.blanks();
        if self.python {
            return super::python::value(self);
        }
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.list(),
            Some(b'"') => self.string().map(Value::String),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.fault()),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Fault> {
        for byte in word.bytes() {
            self.take(byte)?;
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        // A number ends at the first byte that is not part of it, and that byte must exist.
        let text = &self.input[from..self.at];
        if self.peek().is_none() {
            return Err(Fault::Cut);
        }
        Ok(serde_json::from_str(text).expect("a number of JSON"))
    }

    fn digits(&mut self) -> Result<(), Fault> {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.fault());
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    pub fn string(&mut self) -> Result<String, Fault> {
        let from = self.at;
        self.take(b'"')?;
        loop {
            match self.peek() {
                None => return Err(Fault::Cut),
                Some(b'"') => break,
                Some(0..0x20) => return Err(self.fault()),
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|b| b.is_ascii_hexdigit()) {
                                    return Err(self.fault());
                                }
                                self.at += 1;
                            }
                        }
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                            self.at += 1
                        }
                        _ => return Err(self.fault()),
                    }
                }
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let text = &self.input[from..self.at];
        match toolglot_testkit::vectors::value(text).expect("a string of JSON") {
            Value::String(text) => Ok(text),
            other => panic!("{other} is no string"),
        }
    }

    fn list(&mut self) -> Result<Value, Fault> {
        let mut out = vec![];
        self.items(b'[', b']', |reader| {
            out.push(reader.value()?);
            Ok(())
        })?;
        Ok(Value::Array(out))
    }

    fn object(&mut self) -> Result<Value, Fault> {
        let mut out = Map::new();
        self.members(|reader, key| {
            let value = reader.value()?;
            out.insert(key, value);
            Ok(())
        })?;
        Ok(Value::Object(out))
    }

    /// Reads the members of an object; `member` reads the value.
    pub fn members(
        &mut self,
        member: impl FnMut(&mut Self, String) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.members_named(|_| true, member)
    }

    /// The same where some keys are not allowed.
    pub fn members_named(
        &mut self,
        may: impl Fn(&str) -> bool,
        mut member: impl FnMut(&mut Self, String) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.items(b'{', b'}', |reader| {
            let key = match reader.python {
                true => super::python::string(reader)?,
                false => reader.string()?,
            };
            if !may(&key) {
                return Err(Fault::At(reader.at));
            }
            reader.blanks();
            reader.take(b':')?;
            reader.blanks();
            member(reader, key)
        })
    }

    /// A list of objects, between which commas may be missing.
    pub fn objects(
        &mut self,
        mut object: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.items(b'[', b']', |reader| {
            object(reader)?;
            reader.blanks();
            while reader.peek() == Some(b'{') {
                object(reader)?;
                reader.blanks();
            }
            Ok(())
        })
    }

    /// Reads what is between brackets, separated by commas.
    pub fn items(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.take(open)?;
        self.blanks();
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.blanks();
            item(self)?;
            self.blanks();
            if self.peek() == Some(close) {
                self.at += 1;
                return Ok(());
            }
            self.take(b',')?;
            self.blanks();
            if self.python && self.peek() == Some(close) {
                self.at += 1;
                return Ok(());
            }
        }
    }
}
