//! Folders that only their owner may look into.

use std::{fs::DirBuilder, io, path::Path};

/// Makes the folder and those above it that are not there, each for its owner only. One that is there stays as it is.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
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
}
