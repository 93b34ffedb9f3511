//! The types and methods that a .NET assembly defines (ECMA-335, II.24.2).

use std::ops::Range;

use super::Unreadable;
use super::bytes::Bytes;
use super::image::{CLI_HEADER, Image};
use super::tables::{
    ENCLOSING, METHOD_DEF, METHOD_NAME, NESTED, NESTED_CLASS, TYPE_DEF, TYPE_METHODS, TYPE_NAME,
    TYPE_NAMESPACE, Tables,
};

/// The most bytes of a name. A longer one is cut, so that it equals no name that is looked for (II.22: names have at
/// most 1023 bytes).
const MOST_NAME_BYTES: usize = 1024;
/// What the metadata begins with: `BSJB`.
const SIGNATURE: u32 = 0x424a_5342;

/// The metadata of an assembly.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'a> {
    tables: Tables<'a>,
    names: Bytes<'a>,
}

/// A type that the assembly defines.
#[derive(Clone, Copy, Debug)]
pub struct TypeDefinition<'m, 'a> {
    metadata: &'m Metadata<'a>,
    /// Its row in TypeDef, counted from 0.
    row: usize,
}

impl<'a> Metadata<'a> {
    /// Finds tables and names of a program that is an assembly.
    pub fn open(image: Image<'a>) -> Result<Self, Unreadable> {
        let header = image.directory(CLI_HEADER)?.ok_or(Unreadable::NotDotNet)?;
        let metadata = image.at(header.u32(8)?)?;
        let metadata = metadata.part(0, header.size(12)?.min(metadata.0.len()))?;
        if metadata.u32(0)? != SIGNATURE {
            return Err(Unreadable::Damaged);
        }
        let (mut tables, mut names) = (None, None);
        // Behind the signature: versions, then the length of a text and the text.
        let mut at = metadata.size(12)?.checked_add(16).ok_or(Unreadable::Damaged)?;
        let streams = metadata.from(at)?.u16(2)?;
        at += 4;
        for _ in 0..streams {
            let stream = metadata.from(at)?;
            // II.24.2.2: the names of streams have at most 32 bytes with their NUL, and are padded to 4.
            let name = stream.text(8, 32)?;
            match name {
                b"#~" if tables.is_none() => tables = Some(stream_bytes(metadata, stream)?),
                b"#Strings" if names.is_none() => names = Some(stream_bytes(metadata, stream)?),
                b"#-" => return Err(Unreadable::NotStandard),
                _ => {}
            }
            at += 8 + (name.len() / 4 + 1) * 4;
        }
        let (Some(tables), Some(names)) = (tables, names) else { return Err(Unreadable::Damaged) };
        Ok(Self { tables: Tables::open(tables)?, names })
    }

    /// All types, in the order of the assembly.
    pub fn types(&self) -> impl Iterator<Item = TypeDefinition<'_, 'a>> {
        (0..self.tables.rows(TYPE_DEF)).map(|row| TypeDefinition { metadata: self, row })
    }

    /// The type of this name, written as reflection does: `Namespace.Type`, `Namespace.Outer+Inner`.
    pub fn find(&self, full_name: &str) -> Result<Option<TypeDefinition<'_, 'a>>, Unreadable> {
        for definition in self.types() {
            if definition.is_named(full_name)? {
                return Ok(Some(definition));
            }
        }
        Ok(None)
    }

    fn name(&self, table: usize, row: usize, column: usize) -> Result<&'a [u8], Unreadable> {
        self.names.text(self.tables.get(table, row, column)?, MOST_NAME_BYTES)
    }
}

impl<'a> TypeDefinition<'_, 'a> {
    /// Its name without namespace, in UTF-8 when the assembly keeps to the standard.
    pub fn name(&self) -> Result<&'a [u8], Unreadable> {
        self.metadata.name(TYPE_DEF, self.row, TYPE_NAME)
    }

    /// Its namespace; empty for one that has none, and for one inside another type.
    pub fn namespace(&self) -> Result<&'a [u8], Unreadable> {
        self.metadata.name(TYPE_DEF, self.row, TYPE_NAMESPACE)
    }

    /// The type in which this one is defined.
    pub fn enclosing(&self) -> Result<Option<Self>, Unreadable> {
        let tables = &self.metadata.tables;
        // The table is sorted by its first column (II.22.32).
        let mut range = 0..tables.rows(NESTED_CLASS);
        while !range.is_empty() {
            let middle = range.start + range.len() / 2;
            let nested = tables.get(NESTED_CLASS, middle, NESTED)?;
            match nested.cmp(&(self.row + 1)) {
                std::cmp::Ordering::Less => range.start = middle + 1,
                std::cmp::Ordering::Greater => range.end = middle,
                std::cmp::Ordering::Equal => {
                    let row = tables.get(NESTED_CLASS, middle, ENCLOSING)?;
                    let row = row.checked_sub(1).ok_or(Unreadable::Damaged)?;
                    return Ok(Some(Self { metadata: self.metadata, row }));
                }
            }
        }
        Ok(None)
    }

    /// The names of its methods, in the order of the assembly; overloaded ones once each.
    pub fn methods(&self) -> Result<impl Iterator<Item = Result<&'a [u8], Unreadable>>, Unreadable> {
        let metadata = self.metadata;
        Ok(self.method_rows()?.map(move |row| metadata.name(METHOD_DEF, row, METHOD_NAME)))
    }

    /// Its rows in MethodDef, counted from 0: up to where those of the next type begin.
    fn method_rows(&self) -> Result<Range<usize>, Unreadable> {
        let tables = &self.metadata.tables;
        let all = tables.rows(METHOD_DEF);
        let start =
            tables.get(TYPE_DEF, self.row, TYPE_METHODS)?.checked_sub(1).ok_or(Unreadable::Damaged)?;
        let end = if self.row + 1 < tables.rows(TYPE_DEF) {
            tables.get(TYPE_DEF, self.row + 1, TYPE_METHODS)?.checked_sub(1).ok_or(Unreadable::Damaged)?
        } else {
            all
        };
        if start > end || end > all {
            return Err(Unreadable::Damaged);
        }
        Ok(start..end)
    }

    /// Whether this is its full name; compared from the innermost type outwards.
    fn is_named(&self, full_name: &str) -> Result<bool, Unreadable> {
        let mut definition = *self;
        let mut parts = full_name.rsplit('+').peekable();
        while let Some(part) = parts.next() {
            let outermost = parts.peek().is_none();
            let (namespace, name) =
                if outermost { part.rsplit_once('.').unwrap_or(("", part)) } else { ("", part) };
            if definition.name()? != name.as_bytes() || definition.namespace()? != namespace.as_bytes() {
                return Ok(false);
            }
            match definition.enclosing()? {
                None => return Ok(outermost),
                Some(_) if outermost => return Ok(false),
                Some(outer) => definition = outer,
            }
        }
        Ok(false)
    }
}

/// The bytes of a stream, whose header begins with its place and its length.
fn stream_bytes<'a>(metadata: Bytes<'a>, header: Bytes<'a>) -> Result<Bytes<'a>, Unreadable> {
    metadata.part(header.size(0)?, header.size(4)?)
}
