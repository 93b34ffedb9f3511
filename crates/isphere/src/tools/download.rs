//! Saves files of a source in the inbound folder.

use govern::progress::Progress;

use super::envelope::Attempt;
use super::receive_files::FileView;
use crate::app::{Deadline, Isphere};
use crate::error::Error;
use crate::files::inbound::{Folder, Saved};
use crate::model::Warning;
use crate::sources::{Positioned, Source};

/// How many of the files that were not saved a warning names.
const NAMED: usize = 10;

/// Says of each file where it would be saved.
pub fn plan<'f>(
    app: &Isphere,
    output_dir: &str,
    files: impl Iterator<Item = &'f mut FileView>,
) -> Result<(), Error> {
    let mut folder = Folder::new(app.inbound.as_ref(), output_dir)?;
    for file in files {
        file.saved_path = Some(folder.plan(&file.file_name)?);
    }
    Ok(())
}

/// Saves the files one after the other and says of each where; how many were dealt with before time was up. A file that
/// fails among others is a warning, and its path and digest are null.
pub async fn save_all(
    app: &Isphere,
    source: &dyn Source,
    output_dir: &str,
    files: &mut [Positioned<FileView>],
    attempt: &mut Attempt,
    deadline: &Deadline,
    progress: &Progress,
) -> Result<usize, Error> {
    let inbound = app.downloads()?;
    let mut folder = Folder::new(Some(inbound), output_dir)?;
    let alone = files.len() == 1;
    let total = files.iter().map(|file| file.item.size_bytes).sum::<Option<u64>>();
    let mut bytes_before = 0;
    let (mut saved_any, mut failed, mut first_failure) = (false, Vec::new(), None);
    for (number, positioned) in files.iter_mut().enumerate() {
        let file = &mut positioned.item;
        let work = async {
            let download = source.download(&file.file_id).await?;
            let on_bytes = |bytes| progress.report(bytes_before + bytes, total, &file.file_name);
            Ok(inbound.save(&mut folder, &file.file_name, download, &on_bytes).await?)
        };
        match deadline.run(work).await {
            Ok(saved) => {
                if alone {
                    attempt.facts.file_sha256 = Some(saved.sha256.clone());
                }
                bytes_before += saved.size_bytes;
                note(file, saved);
                saved_any = true;
            }
            Err(Error::TimedOut { .. }) if saved_any => return Ok(number),
            Err(error @ Error::TimedOut { .. }) => return Err(error),
            Err(error) => {
                (file.saved_path, file.sha256) = (None, None);
                failed.push(file.file_id.clone());
                first_failure.get_or_insert(error);
            }
        }
    }
    if let Some(error) = first_failure {
        if !saved_any {
            return Err(error);
        }
        let (count, named) = (failed.len(), failed[..failed.len().min(NAMED)].join(", "));
        let message = format!("{count} files were not saved ({named}); the reason of the first: {error}");
        attempt.warn(Warning::new("FILES_NOT_SAVED", message));
    }
    Ok(files.len())
}

fn note(file: &mut FileView, saved: Saved) {
    file.saved_path = Some(saved.saved_path);
    file.sha256 = Some(saved.sha256);
    file.size_bytes = Some(saved.size_bytes);
}
