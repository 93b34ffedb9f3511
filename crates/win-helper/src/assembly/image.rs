//! The headers of a Windows program, as far as they say where its parts are (PE/COFF specification, sections 2 to 4).

use super::Unreadable;
use super::bytes::Bytes;

/// A data directory's number in the optional header.
pub(super) const RESOURCES: usize = 2;
/// The data directory of .NET.
pub(super) const CLI_HEADER: usize = 14;

const SECTION_HEADER_SIZE: usize = 40;

/// The file of a Windows program.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    file: Bytes<'a>,
    /// The data directories: 8 bytes each, address and size.
    directories: Bytes<'a>,
    /// The section headers.
    sections: Bytes<'a>,
}

impl<'a> Image<'a> {
    /// Reads the headers.
    pub fn open(file: &'a [u8]) -> Result<Self, Unreadable> {
        let file = Bytes(file);
        if file.0.get(..2) != Some(b"MZ") {
            return Err(Unreadable::NotProgram);
        }
        let signature = file.size(0x3c).map_err(|_| Unreadable::NotProgram)?;
        let header = file.from(signature).map_err(|_| Unreadable::NotProgram)?;
        if header.0.get(..4) != Some(b"PE\0\0") {
            return Err(Unreadable::NotProgram);
        }
        let section_count = usize::from(header.u16(6)?);
        let optional_size = usize::from(header.u16(20)?);
        let optional = header.part(24, optional_size)?;
        // 32-bit and 64-bit programs differ by the width of some fields in between.
        let directories_at = match optional.u16(0)? {
            0x10b => 96,
            0x20b => 112,
            _ => return Err(Unreadable::NotProgram),
        };
        let announced = optional.size(directories_at - 4)?;
        let directories = optional.from(directories_at)?;
        let room = directories.0.len() / 8;
        Ok(Self {
            file,
            directories: directories.part(0, announced.min(room) * 8)?,
            sections: header.part(24 + optional_size, section_count * SECTION_HEADER_SIZE)?,
        })
    }

    /// The bytes of a data directory, up to the end of its section; `None` when the program has none.
    pub(super) fn directory(self, number: usize) -> Result<Option<Bytes<'a>>, Unreadable> {
        match self.directories.u32(number * 8) {
            Ok(0) | Err(_) => Ok(None),
            Ok(address) => self.at(address).map(Some),
        }
    }

    /// The bytes from an address of the loaded program on, up to the end of what its section has in the file.
    pub(super) fn at(self, address: u32) -> Result<Bytes<'a>, Unreadable> {
        for header in self.sections.0.chunks_exact(SECTION_HEADER_SIZE).map(Bytes) {
            let start = header.u32(12)?;
            let size = header.u32(16)?;
            if let Some(within) = address.checked_sub(start).filter(|within| *within < size) {
                let within = usize::try_from(within).map_err(|_| Unreadable::Damaged)?;
                let length = header.size(16)?;
                let place = header.size(20)?;
                // The last section of a file that was cut short has less than it announces.
                let rest = self.file.from(place)?;
                return rest.part(0, length.min(rest.0.len()))?.from(within);
            }
        }
        Err(Unreadable::Damaged)
    }
}
