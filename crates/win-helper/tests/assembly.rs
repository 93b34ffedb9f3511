//! The reader of program files, on a small assembly and on what is none.

#![allow(clippy::unwrap_used, reason = "a test may")]

use listing::{CLIENT, listing};
use win_helper::assembly::{Image, Metadata, Unreadable, file_version};

mod listing;

fn metadata(file: &[u8]) -> Result<Metadata<'_>, Unreadable> {
    Metadata::open(Image::open(file)?)
}

fn has_type(name: &str) -> bool {
    metadata(CLIENT).unwrap().find(name).unwrap().is_some()
}

/// The place of the optional header of the small assembly.
fn optional_header() -> usize {
    usize::from(CLIENT[0x3c]) + 24
}

#[test]
fn types_and_methods_are_listed_in_the_order_of_the_assembly() {
    let types = listing(CLIENT).unwrap();
    let manager = "IMPP.Client.Core.Plugins.Manager.AppContextManager";
    let expected = [
        ("<Module>", vec![]),
        (manager, vec![".ctor", "SendTxtMessageByJid", "SendTxtMessageByJid"]),
        (&format!("{manager}+Queue"), vec![".ctor", "Flush"]),
        (&format!("{manager}+Queue+Item"), vec![".ctor", "发送"]),
        ("IMPP.Client.Core.Plugins.Manager.ISender`1", vec!["Send"]),
        (
            "IMPP.Client.Other.AppContextManager",
            vec![".ctor", "IMPP.Client.Core.Plugins.Manager.ISender<string>.Send", "Echo"],
        ),
        ("Program", vec![".ctor", "Main"]),
    ];
    let expected: Vec<(String, Vec<String>)> = expected
        .into_iter()
        .map(|(name, methods)| (name.to_owned(), methods.into_iter().map(str::to_owned).collect()))
        .collect();
    assert_eq!(types, expected);
}

#[test]
fn a_type_is_found_by_its_whole_name() {
    for name in [
        "IMPP.Client.Core.Plugins.Manager.AppContextManager",
        "IMPP.Client.Core.Plugins.Manager.AppContextManager+Queue",
        "IMPP.Client.Core.Plugins.Manager.AppContextManager+Queue+Item",
        "IMPP.Client.Core.Plugins.Manager.ISender`1",
        "Program",
    ] {
        assert!(has_type(name), "{name}");
    }
}

#[test]
fn a_part_of_a_name_or_another_nesting_is_not_the_type() {
    for name in [
        "",
        "+",
        ".",
        "AppContextManager",
        "Manager.AppContextManager",
        "Queue",
        "AppContextManager+Queue",
        "IMPP.Client.Core.Plugins.Manager.Queue",
        "IMPP.Client.Core.Plugins.Manager.AppContextManager.Queue",
        "IMPP.Client.Core.Plugins.Manager.AppContextManager+Item",
        "IMPP.Client.Other.AppContextManager+Queue",
        "IMPP.Client.Core.Plugins.Manager.AppContextManager+",
        "Outer+Program",
        "impp.client.core.plugins.manager.appcontextmanager",
    ] {
        assert!(!has_type(name), "{name}");
    }
}

#[test]
fn the_file_version_is_read() {
    let version = file_version(Image::open(CLIENT).unwrap()).unwrap().unwrap();
    assert_eq!(version.to_string(), "5.8.1.307");
}

#[test]
fn what_is_no_program_is_told_from_a_program_without_dotnet() {
    for file in [&b""[..], b"MZ", b"\x7fELF", b"PK\x03\x04", &[0; 4096]] {
        assert_eq!(metadata(file).unwrap_err(), Unreadable::NotProgram);
    }
    let mut native = CLIENT.to_vec();
    let cli_directory = optional_header() + 96 + 14 * 8;
    native[cli_directory..cli_directory + 8].fill(0);
    assert_eq!(metadata(&native).unwrap_err(), Unreadable::NotDotNet);
    assert!(file_version(Image::open(&native).unwrap()).unwrap().is_some());
}

#[test]
fn a_program_without_a_version_has_none() {
    let mut bare = CLIENT.to_vec();
    let resources = optional_header() + 96 + 2 * 8;
    bare[resources..resources + 8].fill(0);
    assert_eq!(file_version(Image::open(&bare).unwrap()), Ok(None));
}

#[test]
fn uncompressed_metadata_is_refused_as_not_standard() {
    let mut changed = CLIENT.to_vec();
    let name = changed.windows(4).position(|bytes| bytes == b"#~\0\0").unwrap();
    changed[name + 1] = b'-';
    assert_eq!(metadata(&changed).unwrap_err(), Unreadable::NotStandard);
}

#[test]
fn a_file_that_ends_anywhere_before_its_end_is_never_a_panic() {
    for length in 0..CLIENT.len() {
        let _ = listing(&CLIENT[..length]);
        let _ = Image::open(&CLIENT[..length]).and_then(file_version);
    }
}
