//! The tables of .NET metadata: which there are, and where each row and column lies (ECMA-335, II.22 and II.24.2.6).

use super::Unreadable;
use super::bytes::Bytes;
use Column::{Blob, Fixed, Guid, OneOf, Row, Text};

/// A table's number.
pub(super) type Table = usize;

const MODULE: Table = 0x00;
const TYPE_REF: Table = 0x01;
pub(super) const TYPE_DEF: Table = 0x02;
const FIELD: Table = 0x04;
pub(super) const METHOD_DEF: Table = 0x06;
const PARAM: Table = 0x08;
const INTERFACE_IMPL: Table = 0x09;
const MEMBER_REF: Table = 0x0a;
const DECL_SECURITY: Table = 0x0e;
const STAND_ALONE_SIG: Table = 0x11;
const EVENT: Table = 0x14;
const PROPERTY: Table = 0x17;
const MODULE_REF: Table = 0x1a;
const TYPE_SPEC: Table = 0x1b;
const ASSEMBLY: Table = 0x20;
const ASSEMBLY_REF: Table = 0x23;
const FILE: Table = 0x26;
const EXPORTED_TYPE: Table = 0x27;
const MANIFEST_RESOURCE: Table = 0x28;
pub(super) const NESTED_CLASS: Table = 0x29;
const GENERIC_PARAM: Table = 0x2a;
const METHOD_SPEC: Table = 0x2b;
const GENERIC_PARAM_CONSTRAINT: Table = 0x2c;

/// Columns that are read: TypeDef's name, namespace and first method; MethodDef's name; both of NestedClass.
pub(super) const TYPE_NAME: usize = 1;
pub(super) const TYPE_NAMESPACE: usize = 2;
pub(super) const TYPE_METHODS: usize = 5;
pub(super) const METHOD_NAME: usize = 3;
pub(super) const NESTED: usize = 0;
pub(super) const ENCLOSING: usize = 1;

/// The number of tables that the format has room for.
const ROOM: usize = 64;
/// Where the row counts begin in the table stream.
const ROW_COUNTS: usize = 24;

/// What a column holds, which decides how wide it is.
#[derive(Clone, Copy)]
enum Column {
    /// So many bytes.
    Fixed(usize),
    /// A place in the heap of texts.
    Text,
    Guid,
    Blob,
    /// A row of a table.
    Row(Table),
    /// A row of one of several tables; so many bits say of which (II.24.2.6, coded indexes).
    OneOf(&'static [Table], u32),
}

const TYPE_DEF_OR_REF: Column = OneOf(&[TYPE_DEF, TYPE_REF, TYPE_SPEC], 2);
const HAS_CONSTANT: Column = OneOf(&[FIELD, PARAM, PROPERTY], 2);
#[rustfmt::skip]
const HAS_CUSTOM_ATTRIBUTE: Column = OneOf(
    &[
        METHOD_DEF, FIELD, TYPE_REF, TYPE_DEF, PARAM, INTERFACE_IMPL, MEMBER_REF, MODULE, DECL_SECURITY, PROPERTY,
        EVENT, STAND_ALONE_SIG, MODULE_REF, TYPE_SPEC, ASSEMBLY, ASSEMBLY_REF, FILE, EXPORTED_TYPE,
        MANIFEST_RESOURCE, GENERIC_PARAM, GENERIC_PARAM_CONSTRAINT, METHOD_SPEC,
    ],
    5,
);
const CUSTOM_ATTRIBUTE_TYPE: Column = OneOf(&[METHOD_DEF, MEMBER_REF], 3);
const HAS_FIELD_MARSHAL: Column = OneOf(&[FIELD, PARAM], 1);
const HAS_DECL_SECURITY: Column = OneOf(&[TYPE_DEF, METHOD_DEF, ASSEMBLY], 2);
const MEMBER_REF_PARENT: Column = OneOf(&[TYPE_DEF, TYPE_REF, MODULE_REF, METHOD_DEF, TYPE_SPEC], 3);
const HAS_SEMANTICS: Column = OneOf(&[EVENT, PROPERTY], 1);
const METHOD_DEF_OR_REF: Column = OneOf(&[METHOD_DEF, MEMBER_REF], 1);
const MEMBER_FORWARDED: Column = OneOf(&[FIELD, METHOD_DEF], 1);
const IMPLEMENTATION: Column = OneOf(&[FILE, ASSEMBLY_REF, EXPORTED_TYPE], 2);
const RESOLUTION_SCOPE: Column = OneOf(&[MODULE, MODULE_REF, ASSEMBLY_REF, TYPE_REF], 2);
const TYPE_OR_METHOD_DEF: Column = OneOf(&[TYPE_DEF, METHOD_DEF], 1);

/// The columns of a table; `None` for one that the standard does not have.
#[rustfmt::skip]
fn columns(table: Table) -> Option<&'static [Column]> {
    Some(match table {
        MODULE => &[Fixed(2), Text, Guid, Guid, Guid],
        TYPE_REF => &[RESOLUTION_SCOPE, Text, Text],
        TYPE_DEF => &[Fixed(4), Text, Text, TYPE_DEF_OR_REF, Row(FIELD), Row(METHOD_DEF)],
        FIELD => &[Fixed(2), Text, Blob],
        METHOD_DEF => &[Fixed(4), Fixed(2), Fixed(2), Text, Blob, Row(PARAM)],
        PARAM => &[Fixed(2), Fixed(2), Text],
        INTERFACE_IMPL => &[Row(TYPE_DEF), TYPE_DEF_OR_REF],
        MEMBER_REF => &[MEMBER_REF_PARENT, Text, Blob],
        0x0b /* Constant */ => &[Fixed(2), HAS_CONSTANT, Blob],
        0x0c /* CustomAttribute */ => &[HAS_CUSTOM_ATTRIBUTE, CUSTOM_ATTRIBUTE_TYPE, Blob],
        0x0d /* FieldMarshal */ => &[HAS_FIELD_MARSHAL, Blob],
        DECL_SECURITY => &[Fixed(2), HAS_DECL_SECURITY, Blob],
        0x0f /* ClassLayout */ => &[Fixed(2), Fixed(4), Row(TYPE_DEF)],
        0x10 /* FieldLayout */ => &[Fixed(4), Row(FIELD)],
        STAND_ALONE_SIG => &[Blob],
        0x12 /* EventMap */ => &[Row(TYPE_DEF), Row(EVENT)],
        EVENT => &[Fixed(2), Text, TYPE_DEF_OR_REF],
        0x15 /* PropertyMap */ => &[Row(TYPE_DEF), Row(PROPERTY)],
        PROPERTY => &[Fixed(2), Text, Blob],
        0x18 /* MethodSemantics */ => &[Fixed(2), Row(METHOD_DEF), HAS_SEMANTICS],
        0x19 /* MethodImpl */ => &[Row(TYPE_DEF), METHOD_DEF_OR_REF, METHOD_DEF_OR_REF],
        MODULE_REF => &[Text],
        TYPE_SPEC => &[Blob],
        0x1c /* ImplMap */ => &[Fixed(2), MEMBER_FORWARDED, Text, Row(MODULE_REF)],
        0x1d /* FieldRVA */ => &[Fixed(4), Row(FIELD)],
        ASSEMBLY => &[Fixed(4), Fixed(8), Fixed(4), Blob, Text, Text],
        0x21 /* AssemblyProcessor */ => &[Fixed(4)],
        0x22 /* AssemblyOS */ => &[Fixed(4), Fixed(4), Fixed(4)],
        ASSEMBLY_REF => &[Fixed(8), Fixed(4), Blob, Text, Text, Blob],
        0x24 /* AssemblyRefProcessor */ => &[Fixed(4), Row(ASSEMBLY_REF)],
        0x25 /* AssemblyRefOS */ => &[Fixed(4), Fixed(4), Fixed(4), Row(ASSEMBLY_REF)],
        FILE => &[Fixed(4), Text, Blob],
        EXPORTED_TYPE => &[Fixed(4), Fixed(4), Text, Text, IMPLEMENTATION],
        MANIFEST_RESOURCE => &[Fixed(4), Fixed(4), Text, IMPLEMENTATION],
        NESTED_CLASS => &[Row(TYPE_DEF), Row(TYPE_DEF)],
        GENERIC_PARAM => &[Fixed(2), Fixed(2), TYPE_OR_METHOD_DEF, Text],
        METHOD_SPEC => &[METHOD_DEF_OR_REF, Blob],
        GENERIC_PARAM_CONSTRAINT => &[Row(GENERIC_PARAM), TYPE_DEF_OR_REF],
        _ => return None,
    })
}

/// The table stream `#~`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables<'a> {
    stream: Bytes<'a>,
    heap_sizes: u8,
    rows: [usize; ROOM],
    start: [usize; ROOM],
    row_size: [usize; ROOM],
}

impl<'a> Tables<'a> {
    /// Finds out where each table lies; that all of them lie in the stream is checked here.
    pub fn open(stream: Bytes<'a>) -> Result<Self, Unreadable> {
        let heap_sizes = stream.u8(6)?;
        if heap_sizes & !0b111 != 0 {
            return Err(Unreadable::NotStandard);
        }
        let present = u64::from(stream.u32(8)?) | u64::from(stream.u32(12)?) << 32;
        let mut tables = Self { stream, heap_sizes, rows: [0; ROOM], start: [0; ROOM], row_size: [0; ROOM] };
        let mut at = ROW_COUNTS;
        for table in (0..ROOM).filter(|table| present >> table & 1 == 1) {
            tables.rows[table] = stream.size(at)?;
            at += 4;
        }
        for table in (0..ROOM).filter(|table| present >> table & 1 == 1) {
            let columns = columns(table).ok_or(Unreadable::NotStandard)?;
            tables.row_size[table] = columns.iter().map(|column| tables.width(*column)).sum();
            tables.start[table] = at;
            let length = tables.rows[table].checked_mul(tables.row_size[table]).ok_or(Unreadable::Damaged)?;
            stream.part(at, length)?;
            at += length;
        }
        Ok(tables)
    }

    /// How many rows a table has.
    pub fn rows(&self, table: Table) -> usize {
        self.rows[table]
    }

    /// A column that holds a place in a heap or a row of a table, which the standard counts from 1. `row` counts
    /// from 0.
    pub fn get(&self, table: Table, row: usize, column: usize) -> Result<usize, Unreadable> {
        let columns = columns(table).ok_or(Unreadable::NotStandard)?;
        if row >= self.rows[table] || column >= columns.len() {
            return Err(Unreadable::Damaged);
        }
        let before: usize = columns[..column].iter().map(|column| self.width(*column)).sum();
        let at = self.start[table] + self.row_size[table] * row + before;
        match self.width(columns[column]) {
            2 => self.stream.u16(at).map(usize::from),
            _ => self.stream.size(at),
        }
    }

    fn width(&self, column: Column) -> usize {
        let wide = match column {
            Fixed(bytes) => return bytes,
            Text => self.heap_sizes & 1 != 0,
            Guid => self.heap_sizes & 2 != 0,
            Blob => self.heap_sizes & 4 != 0,
            Row(table) => self.rows[table] > 0xffff,
            OneOf(tables, bits) => tables.iter().any(|table| self.rows[*table] > 0xffff >> bits),
        };
        if wide { 4 } else { 2 }
    }
}
