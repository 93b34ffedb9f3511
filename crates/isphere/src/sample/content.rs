//! The files that people send: names, and bytes that really are what the name says.

use std::fmt::Write;

use super::{
    draw::{Draw, Kind},
    people,
};
use crate::model::ContentType;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Tables: a header and rows of comma-separated values.
    Csv,
    /// Minutes and notes in plain text.
    Text,
    /// A report.
    Html,
    /// One page in English.
    Pdf,
    /// A screenshot.
    Bmp,
}

/// A file without the message it came with.
pub(super) struct File {
    /// Its name, the same one for some files, as people name them.
    pub(super) name: String,
    /// What it is.
    pub(super) format: Format,
    draw: Draw,
}

impl Format {
    /// The MIME type.
    pub(super) fn mime_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv",
            Self::Text => "text/plain",
            Self::Html => "text/html",
            Self::Pdf => "application/pdf",
            Self::Bmp => "image/bmp",
        }
    }

    /// The type of the message that carries it.
    pub(super) fn content_type(self) -> ContentType {
        if self == Self::Bmp { ContentType::Image } else { ContentType::File }
    }
}

impl File {
    /// The file `number` of the organisation.
    pub(super) fn new(seed: u64, number: u64) -> Self {
        let mut draw = Draw::new(seed, Kind::File, number);
        let matter = people::matter(&mut draw);
        let (format, stem, extension) = draw.pick(&[
            (Format::Csv, "清单", "csv"),
            (Format::Csv, "报价单", "csv"),
            (Format::Text, "会议纪要", "txt"),
            (Format::Html, "报告 最终版", "html"),
            (Format::Pdf, "合同（盖章）", "pdf"),
            (Format::Bmp, "截图", "bmp"),
            (Format::Bmp, "IMG_2026", "bmp"),
        ]);
        Self { name: format!("{matter}-{stem}.{extension}"), format, draw }
    }

    /// Its bytes, at most some 10 KB.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut draw = self.draw.clone();
        match self.format {
            Format::Csv => csv(&mut draw).into_bytes(),
            Format::Text => text(&mut draw).into_bytes(),
            Format::Html => html(&mut draw).into_bytes(),
            Format::Pdf => pdf(&mut draw).into_bytes(),
            Format::Bmp => bmp(&mut draw),
        }
    }
}

/// With the byte order mark that spreadsheets need to read Chinese.
fn csv(draw: &mut Draw) -> String {
    let mut text = String::from("\u{feff}序号,事项,数量,单价\r\n");
    for number in 1..=5 + draw.below(120) {
        let matter = people::matter(draw);
        let (count, cents) = (draw.below(1_000), draw.below(100_000));
        // Writing to a String cannot fail.
        let _ = write!(text, "{number},{matter},{count},{}.{:02}\r\n", cents / 100, cents % 100);
    }
    text
}

fn text(draw: &mut Draw) -> String {
    let mut text = String::from("会议纪要\n");
    for number in 1..=3 + draw.below(60) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{number}. {}：负责人 {}", people::matter(draw), people::person(draw).display);
    }
    text
}

fn html(draw: &mut Draw) -> String {
    let mut text = String::from(
        "<!doctype html>\n<html lang=\"zh\"><meta charset=\"utf-8\"><title>报告</title>\n<table>\n",
    );
    for _ in 0..=draw.below(80) {
        // Writing to a String cannot fail.
        let _ =
            writeln!(text, "<tr><td>{}</td><td>{}</td></tr>", people::matter(draw), draw.below(1_000_000));
    }
    text + "</table>\n</html>\n"
}

/// The least that a reader opens: catalogue, page list, page, font and the line that the page shows.
fn pdf(draw: &mut Draw) -> String {
    let page = format!("BT /F1 24 Tf 72 720 Td (Contract HT-{:08}) Tj ET", draw.below(100_000_000));
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{page}\nendstream", page.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut text = String::from("%PDF-1.4\n");
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    // Writing to a String cannot fail.
    for (number, object) in (1..).zip(&objects) {
        let _ = writeln!(table, "{:010} 00000 n ", text.len());
        let _ = writeln!(text, "{number} 0 obj\n{object}\nendobj");
    }
    let start = text.len();
    let _ = write!(
        text,
        "{table}trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    );
    text
}

/// 24 bits a pixel, rows from the bottom, each padded to 4 bytes: the widths are multiples of 4, so none is needed.
fn bmp(draw: &mut Draw) -> Vec<u8> {
    const HEADERS: u32 = 14 + 40;
    let (width, height) = (4 * (4 + draw.below(12)), 16 + draw.below(48));
    let (width, height) =
        (u32::try_from(width).expect("it is small"), u32::try_from(height).expect("it is small"));
    let pixels = width * height * 3;
    let mut bytes = b"BM".to_vec();
    for field in
        [HEADERS + pixels, 0, HEADERS, 40, width, height, 1 | 24 << 16, 0, pixels, 2_835, 2_835, 0, 0]
    {
        bytes.extend(field.to_le_bytes());
    }
    for _ in 0..height {
        let [blue, green, red, ..] = draw.bits().to_le_bytes();
        for _ in 0..width {
            bytes.extend([blue, green, red]);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{File, Format};

    fn file_of(format: Format) -> File {
        (0..1_000).map(|number| File::new(1, number)).find(|file| file.format == format).unwrap()
    }

    #[test]
    fn a_picture_has_the_size_that_its_header_says() {
        let bytes = file_of(Format::Bmp).bytes();
        assert_eq!(&bytes[..2], b"BM");
        assert_eq!(u32::from_le_bytes(bytes[2..6].try_into().unwrap()) as usize, bytes.len());
    }

    #[test]
    fn the_table_of_a_pdf_points_at_its_objects() {
        let text = String::from_utf8(file_of(Format::Pdf).bytes()).unwrap();
        let (_, table) = text.split_once("xref\n0 6\n").unwrap();
        for (number, entry) in table.lines().skip(1).take(5).enumerate() {
            let offset: usize = entry[..10].parse().unwrap();
            assert!(text[offset..].starts_with(&format!("{} 0 obj", number + 1)));
        }
    }

    #[test]
    fn no_file_is_large() {
        assert!((0..500).all(|number| File::new(1, number).bytes().len() < 16_384));
    }
}
