//! `toolglot escape` and `toolglot unescape`: stream text through, in bounded memory.

use std::io::{ErrorKind, Read, Write};

use crate::terminal::Screen;
use toolglot::{Escaper, Unescaper};

use crate::args::EscapeArgs;
use crate::input::Input;
use crate::stop::{Stop, Verdict};

/// Size of one read.
const BUFFER: usize = 64 << 10;

/// The direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Escape,
    Unescape,
}

/// Consumes bytes, or the end of the text, and appends settled output.
type Filter = Box<dyn FnMut(Option<&[u8]>, &mut Vec<u8>)>;

pub fn run(args: &EscapeArgs, way: Way) -> Result<Verdict, Stop> {
    let mut filter = filter(args, way)?;
    let mut input = Input::open(&args.file)?;
    let mut out = Screen::stdout();
    let (mut buffer, mut ready) = (vec![0; BUFFER], vec![]);
    loop {
        let chunk = match input.read(&mut buffer) {
            Ok(0) => None,
            Ok(len) => Some(&buffer[..len]),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(input.error(&error)),
        };
        ready.clear();
        filter(chunk, &mut ready);
        out.write_all(&ready).map_err(Stop::output)?;
        if chunk.is_none() {
            out.flush().map_err(Stop::output)?;
            return Ok(Verdict::Clean);
        }
    }
}

fn filter(args: &EscapeArgs, way: Way) -> Result<Filter, Stop> {
    let sets = args.set.sets().map_err(Stop::because)?;
    let set = sets.get(&args.set.choice()).map_err(Stop::because)?;
    Ok(match way {
        Way::Escape => {
            let mut escaper = Escaper::new(&set).map_err(Stop::because)?;
            Box::new(move |chunk, out| match chunk {
                Some(chunk) => escaper.push(chunk, out),
                None => escaper.finish(out),
            })
        }
        Way::Unescape => {
            let mut unescaper = Unescaper::new(&set).map_err(Stop::because)?;
            Box::new(move |chunk, out| match chunk {
                Some(chunk) => unescaper.push(chunk, out),
                None => unescaper.finish(out),
            })
        }
    })
}
