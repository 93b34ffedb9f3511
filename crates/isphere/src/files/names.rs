//! The rules for names and paths, for files that come in and files that go out.
//!
//! The rules of Windows hold everywhere: a name that is harmless on one system must not become a device, a stream or
//! another file on the next.

use std::io;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use govern::arguments::ArgumentFault;
use thiserror::Error;

/// Most bytes of one name in UTF-8; what file systems allow.
pub const NAME_BYTES: usize = 255;
/// Most bytes of a path that a caller gives.
pub const PATH_BYTES: usize = 4096;

/// Characters that Windows keeps for itself in names; `:` would even open another stream of the file.
const RESERVED: [char; 9] = ['<', '>', ':', '"', '|', '?', '*', '/', '\\'];

/// Why a path or a name is refused. The messages complete "`path` must be …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NameFault {
    /// Nothing is there.
    #[error("not empty")]
    Empty,
    /// The path is longer than [`PATH_BYTES`].
    #[error("at most 4096 bytes long")]
    PathTooLong,
    /// A name in it is longer than [`NAME_BYTES`].
    #[error("made of names of at most 255 bytes each")]
    NameTooLong,
    /// It has a NUL or another control character.
    #[error("free of NUL and other control characters")]
    Control,
    /// It goes up a folder.
    #[error("free of `..`")]
    Parent,
    /// It is absolute and not inside the configured folder.
    #[error("relative to the configured folder, or an absolute path inside it")]
    Outside,
    /// A name is that of a device.
    #[error("free of device names such as CON, NUL or COM1, also with an extension")]
    Device,
    /// A name ends in a dot or a space, which Windows drops.
    #[error("made of names that do not end in a dot or a space")]
    TrailingDotOrSpace,
    /// A name has a character that Windows keeps for itself.
    #[error(r#"free of the characters < > : " | ? * and, inside a name, slashes and backslashes"#)]
    Reserved,
}

impl NameFault {
    /// The fault of the argument at the JSON path `argument`. What came is not repeated, for it may be long or secret.
    pub fn of_argument(self, argument: &str) -> ArgumentFault {
        ArgumentFault::new(argument, self.to_string(), "another path")
    }
}

/// What `path` means relative to `folder`: it is relative already, or absolute and inside. `.` is the folder itself,
/// an empty path in the answer. Whether anything is there is not looked at.
pub fn below(folder: &Path, path: &str) -> Result<PathBuf, NameFault> {
    if path.trim().is_empty() {
        return Err(NameFault::Empty);
    }
    if path.len() > PATH_BYTES {
        return Err(NameFault::PathTooLong);
    }
    if path.contains(char::is_control) {
        return Err(NameFault::Control);
    }
    let path = Path::new(path);
    let relative =
        if path.has_root() || path.is_absolute() { inside(folder, path)? } else { path.to_owned() };
    let mut names = PathBuf::new();
    for component in relative.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => {
                check(name.to_str().ok_or(NameFault::Control)?)?;
                names.push(name);
            }
            Component::ParentDir => return Err(NameFault::Parent),
            Component::RootDir | Component::Prefix(_) => return Err(NameFault::Outside),
        }
    }
    Ok(names)
}

/// An absolute path without the folder in front, whether the caller knows the folder as configured or as it really is.
fn inside(folder: &Path, path: &Path) -> Result<PathBuf, NameFault> {
    let spelled = std::path::absolute(folder);
    let real = folder.canonicalize();
    [spelled, real]
        .iter()
        .flatten()
        .find_map(|folder| path.strip_prefix(folder).ok())
        .map(Path::to_owned)
        .ok_or(NameFault::Outside)
}

/// Refuses what must not be the name of a file or folder.
pub fn check(name: &str) -> Result<(), NameFault> {
    if name.is_empty() {
        return Err(NameFault::Empty);
    }
    if name == ".." {
        return Err(NameFault::Parent);
    }
    if name.len() > NAME_BYTES {
        return Err(NameFault::NameTooLong);
    }
    if name.contains(char::is_control) {
        return Err(NameFault::Control);
    }
    if name.contains(RESERVED) {
        return Err(NameFault::Reserved);
    }
    if name.ends_with(['.', ' ']) {
        return Err(NameFault::TrailingDotOrSpace);
    }
    if is_device(name) { Err(NameFault::Device) } else { Ok(()) }
}

/// Whether Windows takes this name, with or without an extension, for a device.
pub fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end_matches(' ').to_uppercase();
    if matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") {
        return true;
    }
    let number = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    // Windows counts the superscripts among the digits.
    number.is_some_and(|number| {
        let mut digits = number.chars();
        matches!((digits.next(), digits.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
    })
}

/// Opens a folder below `root` that was checked by [`below`], refusing a link in any place.
pub fn open_folder(root: &Dir, relative: &Path) -> io::Result<Dir> {
    let mut folder = root.try_clone()?;
    for component in relative.components() {
        folder = folder.open_dir_nofollow(component.as_os_str())?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> Result<PathBuf, NameFault> {
        below(Path::new("outbound"), text)
    }

    #[test]
    fn a_relative_path_is_taken_as_it_is() {
        assert_eq!(path("报表/三月 总表.xlsx"), Ok(PathBuf::from("报表/三月 总表.xlsx")));
        assert_eq!(path("./a.txt"), Ok(PathBuf::from("a.txt")));
        assert_eq!(path("."), Ok(PathBuf::new()));
        assert_eq!(path(".hidden"), Ok(PathBuf::from(".hidden")));
    }

    #[test]
    fn an_absolute_path_is_taken_when_it_lies_inside() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("outbound");
        std::fs::create_dir(&folder).unwrap();
        let inside = folder.join("a/b.txt");
        assert_eq!(below(&folder, inside.to_str().unwrap()), Ok(PathBuf::from("a/b.txt")));
        let beside = home.path().join("outbound-2/b.txt");
        assert_eq!(below(&folder, beside.to_str().unwrap()), Err(NameFault::Outside));
        let up = folder.join("../b.txt");
        assert_eq!(below(&folder, up.to_str().unwrap()), Err(NameFault::Parent));
        assert_eq!(path("/etc/passwd"), Err(NameFault::Outside));
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_may_be_named_through_a_link_or_as_it_really_is() {
        let home = tempfile::tempdir().unwrap();
        let (real, link) = (home.path().join("real"), home.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let real = real.canonicalize().unwrap();
        for spelled in [real.join("a"), link.join("a")] {
            assert_eq!(below(&link, spelled.to_str().unwrap()), Ok(PathBuf::from("a")));
        }
    }

    #[test]
    fn what_leads_elsewhere_or_is_no_plain_file_is_refused() {
        let long = "长".repeat(86);
        let cases = [
            ("", NameFault::Empty),
            ("  ", NameFault::Empty),
            ("../a", NameFault::Parent),
            ("a/../../b", NameFault::Parent),
            ("a\0b", NameFault::Control),
            ("a\nb", NameFault::Control),
            ("a/CON", NameFault::Device),
            ("nul.txt", NameFault::Device),
            ("Com1.tar.gz", NameFault::Device),
            ("lpt¹", NameFault::Device),
            ("aux .txt", NameFault::Device),
            ("a./b", NameFault::TrailingDotOrSpace),
            ("b ", NameFault::TrailingDotOrSpace),
            ("a.txt:stream", NameFault::Reserved),
            ("C:\\a", NameFault::Reserved),
            ("..\\a", NameFault::Reserved),
            (&long, NameFault::NameTooLong),
            (&"a/".repeat(2049), NameFault::PathTooLong),
        ];
        for (text, fault) in cases {
            assert_eq!(path(text), Err(fault), "{text:?}");
        }
    }

    #[test]
    fn names_that_only_begin_like_a_device_are_fine() {
        for name in ["CONTRACT.pdf", "com10", "nullable", "lpt", "aux1.txt", &"长".repeat(85)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_is_not_opened_through_a_link() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("a", home.path().join("link")).unwrap();
        let root = Dir::open_ambient_dir(home.path(), cap_std::ambient_authority()).unwrap();
        assert!(open_folder(&root, Path::new("a/b")).is_ok());
        assert!(open_folder(&root, Path::new("")).is_ok());
        assert!(open_folder(&root, Path::new("link/b")).is_err());
        assert!(open_folder(&root, Path::new("link")).is_err());
    }

    proptest! {
        #[test]
        fn what_passes_stays_below_the_folder(text in "[./\\\\:a\u{0}长 ]{0,12}") {
            if let Ok(relative) = path(&text) {
                let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
                prop_assert!(relative.components().all(plain));
            }
        }
    }
}
