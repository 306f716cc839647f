// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laws of one's own in the kernel. The list of laws is compiled into the programs: those with a
//! law of one's own are compiled with its header, and lie at the end of the law's file.

use crate::error::{Error, Result};
use crate::programs::Purpose;
use ebb_algorithms::{LawInfo, Side};

#[cfg(feature = "own")]
mod building;

#[cfg(feature = "own")]
pub use building::{BuildError, add_programs};

include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// What a file with programs ends with, behind the programs of each end: the number of the sources
/// that they were compiled from, the bytes of each end's, and these letters.
const MAGIC: &[u8; 8] = b"EBBPROGS";
const TRAILER_BYTES: usize = 3 * size_of::<u64>() + MAGIC.len();

/// The programs that run a law, where they are not those that are compiled into Ebb.
///
/// *Errors*: [`Error::NoPrograms`]: its file has none of this Ebb's.
fn programs_of(law: &LawInfo) -> Result<Option<&'static [u8]>> {
    let Some(file) = ebb_algorithms::own_law_file(law) else {
        return Ok(None);
    };
    let lacks = |problem| Error::NoPrograms {
        law: law.name,
        problem,
    };
    let programs = Programs::at_the_end_of(file).ok_or(lacks("no programs for the kernel"))?;
    if programs.layout != LAYOUT {
        return Err(lacks("programs of another Ebb"));
    }
    let of_its_end = match law.side() {
        Side::Receiver => programs.receiver,
        Side::Sender => programs.sender,
    };
    match of_its_end {
        [] => Err(lacks("no programs for the kernel")),
        programs => Ok(Some(programs)),
    }
}

/// As [`programs_of`]. Whoever lets go needs no law, and what Ebb's programs keep of a connection is no
/// more than what others keep.
pub(crate) fn programs_for(purpose: &Purpose<'_>) -> Result<Option<&'static [u8]>> {
    match purpose {
        Purpose::Law(law) => programs_of(law),
        Purpose::Release(..) => Ok(None),
    }
}

/// Whether the kernel backend has this law: all of Ebb's that see packets, and those of one's own
/// whose file has this Ebb's programs.
pub fn has_programs(law: &LawInfo) -> bool {
    !law.is_for_counters() && programs_of(law).is_ok()
}

/// What lies at the end of a law's file.
struct Programs<'a> {
    layout: u64,
    receiver: &'a [u8],
    sender: &'a [u8],
}

impl<'a> Programs<'a> {
    /// None if there is nothing, or not the whole.
    fn at_the_end_of(file: &'a [u8]) -> Option<Self> {
        let (rest, trailer) = file.split_at_checked(file.len().checked_sub(TRAILER_BYTES)?)?;
        let (numbers, magic) = trailer.split_at(TRAILER_BYTES - MAGIC.len());
        let (numbers, []) = numbers.as_chunks() else {
            return None;
        };
        let [layout, receiver_bytes, sender_bytes] = numbers else {
            return None;
        };
        let before = |rest: &'a [u8], bytes: &[u8; 8]| {
            let bytes = usize::try_from(u64::from_le_bytes(*bytes)).ok()?;
            rest.split_at_checked(rest.len().checked_sub(bytes)?)
        };
        let (rest, sender) = before(rest, sender_bytes)?;
        let (_, receiver) = before(rest, receiver_bytes)?;
        (magic == MAGIC).then_some(Self {
            layout: u64::from_le_bytes(*layout),
            receiver,
            sender,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `add_programs` writes it.
    fn file(law: &[u8], receiver: &[u8], sender: &[u8]) -> Vec<u8> {
        let numbers = [7, receiver.len() as u64, sender.len() as u64].map(u64::to_le_bytes);
        [law, receiver, sender, numbers.as_flattened(), MAGIC].concat()
    }

    #[test]
    fn programs_are_found_at_the_end() {
        let file = file(b"law", b"receiver", b"");
        let programs = Programs::at_the_end_of(&file).unwrap();
        assert_eq!(programs.layout, 7);
        assert_eq!(programs.receiver, b"receiver");
        assert_eq!(programs.sender, b"");
    }

    #[test]
    fn a_file_without_them_has_none() {
        let mut cut = file(b"", b"receiver", b"sender");
        cut.remove(0);
        for file in [&b""[..], b"law", &[0; 100], &cut] {
            assert!(Programs::at_the_end_of(file).is_none(), "{file:?}");
        }
    }
}
