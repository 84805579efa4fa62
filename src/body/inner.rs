//! Finds tags in the content of a value that open a parameter, as their attribute shows: a closer may be missing before
//! them.

use serde::{Deserialize, Serialize};
use toolglot_scan::lossy;
use toolglot_scan::xml::{self, Header, HeaderStep};

/// Tags and attributes with longer names do not belong to a parameter.
const MAX_NAME: usize = 128;

/// Searches for such tags, if the dialect has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inner {
    /// The attribute that contains a parameter's value; empty if tags in content have no meaning.
    attribute: String,
    /// A tag of this name needs no attribute.
    plain: String,
    /// A tag is under way.
    looks: bool,
    open: Open,
    /// The name of the last tag that was found.
    found: Option<String>,
}

/// The tag that began last. Its memory is reused for the next one, so that markup in a value allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    name: Vec<u8>,
    /// The state after the name.
    header: Option<Header>,
    /// The current attribute.
    attribute: Vec<u8>,
}

/// The effect of a byte.
enum Seen {
    More,
    /// The wanted attribute has a value.
    Value,
    None,
}

impl Inner {
    pub fn new(attribute: &str) -> Self {
        Self {
            attribute: attribute.to_owned(),
            ..Self::default()
        }
    }

    /// Lets a tag of that name open a parameter without an attribute.
    pub fn with_plain(self, plain: &str) -> Self {
        Self {
            plain: plain.to_owned(),
            ..self
        }
    }

    /// Whether a tag is under way.
    pub fn looks(&self) -> bool {
        self.looks
    }

    /// Begins a tag after its `<`.
    pub fn begin(&mut self) {
        self.end();
        self.looks = !self.attribute.is_empty();
    }

    /// Forgets the tag, so that the state is the same whether its bytes were read one by one or not.
    fn end(&mut self) {
        self.looks = false;
        self.open.name.clear();
        self.open.header = None;
        self.open.attribute.clear();
    }

    /// Whether a tag was found.
    pub fn found_tag(&self) -> bool {
        self.found.is_some()
    }

    /// Takes the tag that was found last.
    pub fn take(&mut self) -> Option<String> {
        self.found.take()
    }

    /// Consumes bytes of the tag that is under way, up to one that shows what it is or that may begin a construct. Returns how
    /// many.
    pub fn run(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        // Most tags have no attribute, and most of what begins like one is none.
        if self.plain.is_empty() && self.open.header.is_none() {
            let len = bytes.iter().take_while(|b| !ENDS[usize::from(**b)]);
            let len = len.take(MAX_NAME).count();
            if bytes.get(len) == Some(&b'>') {
                self.end();
                return len + 1;
            }
        }
        while self.looks {
            if self.open.header.is_none() {
                at += self.open.name(&bytes[at..]);
            }
            match bytes.get(at) {
                None | Some(b'<' | b'&') => break,
                Some(byte) => self.step(*byte),
            }
            at += 1;
        }
        at
    }

    /// Consumes a byte of the tag that is under way.
    pub fn step(&mut self, byte: u8) {
        let open = &mut self.open;
        if !self.looks {
            return;
        }
        let named = byte == b'>' && open.header.is_none() && !open.name.is_empty();
        if named && open.name == self.plain.as_bytes() {
            self.found = Some(self.plain.clone());
            self.end();
            return;
        }
        match open.step(byte, self.attribute.as_bytes()) {
            Seen::More => {}
            Seen::None => self.end(),
            Seen::Value => {
                self.found = Some(lossy(&open.name).into_owned());
                self.end();
            }
        }
    }
}

/// Which bytes may belong to the name of a tag.
const NAME: [bool; 256] = {
    let mut all = [false; 256];
    let mut byte = 0;
    while byte < all.len() {
        all[byte] = xml::is_name(byte as u8) && !matches!(byte as u8, b'!' | b'?');
        byte += 1;
    }
    all
};

/// What ends a tag, gives an attribute its value, or may begin something else.
const ENDS: [bool; 256] = {
    let mut all = [false; 256];
    all[b'>' as usize] = true;
    all[b'=' as usize] = true;
    all[b'<' as usize] = true;
    all[b'&' as usize] = true;
    all
};

impl Open {
    /// Consumes the bytes that belong to the name, and returns how many they are.
    fn name(&mut self, bytes: &[u8]) -> usize {
        let room = MAX_NAME.saturating_sub(self.name.len());
        let fits = bytes
            .iter()
            .take(room)
            .take_while(|byte| NAME[usize::from(**byte)]);
        let len = fits.count();
        self.name.extend_from_slice(&bytes[..len]);
        len
    }

    fn step(&mut self, byte: u8, wanted: &[u8]) -> Seen {
        let Some(before) = self.header else {
            if self.name(&[byte]) == 1 {
                return Seen::More;
            }
            if !xml::is_space(byte) || self.name.is_empty() {
                return Seen::None;
            }
            self.header = Some(Header::Space);
            return Seen::More;
        };
        let mut header = before;
        if header.step(byte) != HeaderStep::More || self.attribute.len() > MAX_NAME {
            return Seen::None;
        }
        self.header = Some(header);
        match (before, header) {
            (Header::Name, Header::Name) => self.attribute.push(byte),
            (_, Header::Name) => {
                self.attribute.clear();
                self.attribute.push(byte);
            }
            (Header::BeforeValue, Header::Value(_)) if self.attribute == wanted => {
                return Seen::Value;
            }
            _ => {}
        }
        Seen::More
    }
}
