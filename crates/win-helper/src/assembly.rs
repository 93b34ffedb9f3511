//! What a program file says of itself: its version, and for a .NET assembly its types and methods (ECMA-335).
//!
//! The file is only read, never loaded or run, and its bytes are not trusted: every access is checked, nothing is
//! allocated by a number that the file names, and the work is bounded by the file's size.

mod bytes;
mod image;
mod metadata;
mod tables;
mod version;

use thiserror::Error;

pub use image::Image;
pub use metadata::{Metadata, TypeDefinition};
pub use version::{FileVersion, file_version};

/// Why a file could not be read as what it should be.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Unreadable {
    /// It has no headers of a Windows program.
    #[error("it is not a Windows program")]
    NotProgram,
    /// It is a program, but without metadata of .NET.
    #[error("it is not a .NET assembly")]
    NotDotNet,
    /// Something lies outside of the file, or outside of the part in which it should be.
    #[error("it is damaged or cut short")]
    Damaged,
    /// It uses something that ECMA-335 does not have.
    #[error("its metadata is not of the standard's form; an obfuscator may have changed it")]
    NotStandard,
}
