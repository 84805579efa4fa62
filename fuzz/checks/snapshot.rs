//! Forged snapshots: with a valid checksum and a state that no stream has. They are rejected, or the restored stream can be
//! read to its end.

use toolglot::{Event, Parser};

use super::case::Case;

/// Length of magic, version and fingerprint; the checksum follows, then the state.
const CHECKSUM: usize = 4 + 2 + 8;
const HEAD: usize = CHECKSUM + 8;

/// Writes the valid checksum of the state.
pub fn repair(snapshot: &mut [u8]) {
    let state = &snapshot[HEAD..];
    let length = (state.len() as u64).to_le_bytes();
    let bytes = state.iter().chain(&length);
    let sum = bytes.fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    snapshot[CHECKSUM..HEAD].copy_from_slice(&sum.to_le_bytes());
}

/// The first bytes, pairs of a position and a byte, change the snapshot; the rest is a [`Case`]. Its stream is read up to
/// its stop before the snapshot, and the rest after.
pub fn snapshot(data: &[u8]) {
    let Some((changes, data)) = data.split_at_checked(6) else {
        return;
    };
    Case::read(data).each(|case| forged(case, changes));
}

fn forged(case: &Case<'_>, changes: &[u8]) {
    let mut nothing = |_: Event<'_>| {};
    let mut parser = Parser::new(&case.set, case.options.clone());
    parser.feed(&case.stream[..case.stop], &mut nothing);
    let mut forged = parser.snapshot();
    let state = forged.len() - HEAD;
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]]));
        forged[HEAD + place % state] = change[2];
    }
    repair(&mut forged);
    let Ok(mut parser) = Parser::restore(&case.set, case.options.clone(), &forged) else {
        return;
    };
    let _ = (parser.held(), parser.position(), parser.snapshot());
    for chunk in case.stream[case.stop..].chunks(7) {
        parser.feed(chunk, &mut nothing);
    }
    parser.finish(case.finish, &mut nothing);
}
