//! Little-endian numbers out of bytes that are not trusted.

use super::Unreadable;

/// A part of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// `length` bytes from `at` on.
    pub fn part(self, at: usize, length: usize) -> Result<Bytes<'a>, Unreadable> {
        let end = at.checked_add(length).ok_or(Unreadable::Damaged)?;
        self.0.get(at..end).map(Bytes).ok_or(Unreadable::Damaged)
    }

    /// All bytes from `at` on.
    pub fn from(self, at: usize) -> Result<Bytes<'a>, Unreadable> {
        self.0.get(at..).map(Bytes).ok_or(Unreadable::Damaged)
    }

    /// At most `most` bytes from `at` on, up to a NUL, which is left out; without one all of them.
    pub fn text(self, at: usize, most: usize) -> Result<&'a [u8], Unreadable> {
        let rest = self.from(at)?.0;
        let rest = rest.get(..most).unwrap_or(rest);
        Ok(rest.split(|byte| *byte == 0).next().unwrap_or(rest))
    }

    pub fn u8(self, at: usize) -> Result<u8, Unreadable> {
        self.0.get(at).copied().ok_or(Unreadable::Damaged)
    }

    pub fn u16(self, at: usize) -> Result<u16, Unreadable> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub fn u32(self, at: usize) -> Result<u32, Unreadable> {
        self.array(at).map(u32::from_le_bytes)
    }

    /// A 32-bit number that is used as a size or place. On a system where it does not fit, no file has that place.
    pub fn size(self, at: usize) -> Result<usize, Unreadable> {
        usize::try_from(self.u32(at)?).map_err(|_| Unreadable::Damaged)
    }

    fn array<const N: usize>(self, at: usize) -> Result<[u8; N], Unreadable> {
        let rest = self.from(at)?.0;
        rest.first_chunk().copied().ok_or(Unreadable::Damaged)
    }
}
