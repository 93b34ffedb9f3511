//! Folders and files that only their owner may look into.

use std::fs::{DirBuilder, OpenOptions};
use std::{io, path::Path};

/// Makes the folder and those above it that are not there, each for its owner only. One that is there stays as it is.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file to write it; one that is made by that is for its owner only. One that is there keeps its mode.
pub fn file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_new_folder_is_its_owners_alone() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("state/index");
        make_folder(&folder).unwrap();
        make_folder(&folder).unwrap();
        for made in [folder.as_path(), folder.parent().unwrap()] {
            assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_new_file_is_its_owners_alone() {
        let place = tempfile::tempdir().unwrap();
        let file = file_options().create_new(true).open(place.path().join("head")).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
