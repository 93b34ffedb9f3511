//! The file version of a Windows program: the fixed part of its VS_VERSIONINFO resource.

use std::fmt;

use super::Unreadable;
use super::bytes::Bytes;
use super::image::{Image, RESOURCES};

/// RT_VERSION, the type of the resource.
const VERSION_RESOURCE: u32 = 16;
/// What VS_FIXEDFILEINFO begins with.
const SIGNATURE: u32 = 0xfeef_04bd;
/// Where it lies in VS_VERSIONINFO: behind three numbers of 16 bits, the text `VS_VERSION_INFO` with its NUL
/// in UTF-16, and padding to 4 bytes.
const FIXED_INFO: usize = 40;

/// A file version, such as 5.8.1.307.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersion([u16; 4]);

impl fmt::Display for FileVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, build, revision] = self.0;
        write!(formatter, "{major}.{minor}.{build}.{revision}")
    }
}

/// The file version; `None` when the program has none.
pub fn file_version(image: Image<'_>) -> Result<Option<FileVersion>, Unreadable> {
    let Some(resources) = image.directory(RESOURCES)? else { return Ok(None) };
    // Three levels: type, name, language. A program has one version; in how many languages does not matter.
    let Some(names) = entry(resources, 0, |id| id == VERSION_RESOURCE)? else { return Ok(None) };
    let Some(languages) = entry(resources, names.below()?, |_| true)? else { return Ok(None) };
    let Some(leaf) = entry(resources, languages.below()?, |_| true)? else { return Ok(None) };
    let address = resources.u32(leaf.data()?)?;
    let info = image.at(address)?.from(FIXED_INFO)?;
    if info.u32(0)? != SIGNATURE {
        return Err(Unreadable::Damaged);
    }
    Ok(Some(FileVersion([info.u16(10)?, info.u16(8)?, info.u16(14)?, info.u16(12)?])))
}

/// Where an entry of a resource directory leads: the highest bit tells a further directory from a leaf.
#[derive(Clone, Copy)]
struct Entry(u32);

impl Entry {
    const DIRECTORY: u32 = 0x8000_0000;

    fn below(self) -> Result<usize, Unreadable> {
        let place = self.0.checked_sub(Self::DIRECTORY).ok_or(Unreadable::Damaged)?;
        usize::try_from(place).map_err(|_| Unreadable::Damaged)
    }

    fn data(self) -> Result<usize, Unreadable> {
        if self.0 >= Self::DIRECTORY {
            return Err(Unreadable::Damaged);
        }
        usize::try_from(self.0).map_err(|_| Unreadable::Damaged)
    }
}

/// The first entry of the directory `at` whose id is wanted.
fn entry(resources: Bytes<'_>, at: usize, wanted: impl Fn(u32) -> bool) -> Result<Option<Entry>, Unreadable> {
    let directory = resources.from(at)?;
    // Those with names come first, then those with numbers.
    let count = usize::from(directory.u16(12)?) + usize::from(directory.u16(14)?);
    for index in 0..count {
        let place = 16 + index * 8;
        if wanted(directory.u32(place)?) {
            return Ok(Some(Entry(directory.u32(place + 4)?)));
        }
    }
    Ok(None)
}
