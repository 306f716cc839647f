// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that this process shares with others who read and write it at any time: programs in the
//! kernel, through an array map of theirs.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A `T` in shared memory. Its fields are reached by their offsets (`offset_of!`), as atomics.
#[derive(Debug)]
pub struct SharedMemory<T> {
    address: NonNull<u8>,
    what: PhantomData<*mut T>,
}

// SAFETY: the mapping is of the process, not of a thread, and all safe access is through atomics.
unsafe impl<T> Send for SharedMemory<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SharedMemory<T> {}

impl<T> SharedMemory<T> {
    /// Maps the beginning of what a descriptor stands for, which stays mapped without it.
    ///
    /// *Errors:* it cannot be mapped for reading and writing.
    ///
    /// # Safety
    /// It is at least as long as a `T`, and stays so.
    pub unsafe fn map(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        // SAFETY: a fresh mapping, which takes the place of no other.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<T>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                descriptor.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::InvalidData)?;
        let what = PhantomData;
        Ok(Self { address, what })
    }

    /// The word at an offset.
    ///
    /// *Panics* if no word is there: it is beyond the end or between two.
    pub fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: aligned and within the mapping, as `at` sees to; the mapping lives as long.
        unsafe { AtomicU32::from_ptr(self.at(offset)) }
    }

    /// The double word at an offset.
    ///
    /// *Panics* as [`Self::word`].
    pub fn double_word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as in `word`.
        unsafe { AtomicU64::from_ptr(self.at(offset)) }
    }

    /// All of it, for what is too long for an atomic. Whoever reads it through a reference must
    /// know that nobody writes there meanwhile, and the other way round.
    pub fn as_ptr(&self) -> *mut T {
        self.address.as_ptr().cast()
    }

    fn at<W>(&self, offset: usize) -> *mut W {
        assert!(
            offset.is_multiple_of(align_of::<W>()) && offset + size_of::<W>() <= size_of::<T>(),
            "{} bytes at {offset} of {}",
            size_of::<W>(),
            size_of::<T>()
        );
        // SAFETY: within the mapping, as was just seen.
        unsafe { self.address.as_ptr().add(offset).cast() }
    }
}

impl<T> Drop for SharedMemory<T> {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, with this size; nothing borrows from it any more.
        unsafe { libc::munmap(self.address.as_ptr().cast(), size_of::<T>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;
    use std::os::fd::AsFd;
    use std::sync::atomic::Ordering::Relaxed;

    #[repr(C)]
    struct Pair {
        long: u64,
        short: u32,
        others: u32,
    }

    fn pair() -> (std::fs::File, SharedMemory<Pair>) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size_of::<Pair>() as u64).unwrap();
        // SAFETY: just made so long, and nobody else has it.
        let memory = unsafe { SharedMemory::map(file.as_fd()) };
        (file, memory.unwrap())
    }

    #[test]
    fn what_one_writes_the_others_read() {
        use std::os::unix::fs::FileExt;
        let (file, memory) = pair();
        memory
            .double_word(offset_of!(Pair, long))
            .store(u64::MAX - 1, Relaxed);
        memory.word(offset_of!(Pair, short)).store(7, Relaxed);
        let mut bytes = [0; 16];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(bytes[..8], (u64::MAX - 1).to_ne_bytes());
        assert_eq!(bytes[8..12], 7u32.to_ne_bytes());
        file.write_all_at(&9u32.to_ne_bytes(), 12).unwrap();
        assert_eq!(memory.word(offset_of!(Pair, others)).load(Relaxed), 9);
    }

    #[test]
    #[should_panic(expected = "8 bytes at 12 of 16")]
    fn there_is_nothing_between_two_words_or_beyond_the_end() {
        pair().1.double_word(12);
    }
}
