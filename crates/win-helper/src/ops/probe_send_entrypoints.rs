//! `probe_send_entrypoints`: whether the client's files have the methods through which a message could be sent
//! (boundary contract, section 6.6). It only reads files, on any system.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::assembly::{FileVersion, Image, Metadata, Unreadable, file_version};
use crate::data_file::Origin;
use crate::entrypoints::{self, Entrypoint};
use crate::fault::Fault;
use crate::ops::Safety;
use crate::progress::Progress;
use crate::protocol::{object, within};
use crate::regular_file;

/// The op's name.
pub const NAME: &str = "probe_send_entrypoints";

const MOST_PATH_CHARS: usize = 1_000;
/// The largest file that is read, in bytes.
const MOST_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// The most files of the folder that are looked at.
const MOST_FOLDER_FILES: usize = 20_000;

/// What it is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    install_dir: String,
}

/// What it answers.
#[derive(Debug, Serialize)]
pub struct Data {
    probe_mode: &'static str,
    summary: Summary,
    entrypoints: Vec<Finding>,
    entrypoints_origin: Origin,
    safety: Safety,
}

#[derive(Debug, Serialize)]
struct Summary {
    entrypoint_count: usize,
    available_count: usize,
    required_count: usize,
    required_available_count: usize,
    all_required_available: bool,
    b_route_entrypoint_preflight: &'static str,
}

#[derive(Debug, Serialize)]
struct Finding {
    id: String,
    assembly: String,
    type_name: String,
    method_name: String,
    required: bool,
    available: bool,
    /// What of it is not there; null when it is available.
    missing: Option<Missing>,
    files: [FileFacts; 1],
}

/// The first thing that was not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Missing {
    File,
    Metadata,
    Type,
    Method,
}

#[derive(Clone, Debug, Serialize)]
struct FileFacts {
    assembly: String,
    exists: bool,
    version: Option<String>,
    sha256: Option<String>,
}

impl Arguments {
    /// Reads them, strictly.
    pub fn parse(what: &str, json: &str) -> Result<Self, Fault> {
        let arguments: Self = object(what, json)?;
        within("the length of install_dir", arguments.install_dir.chars().count(), 1..=MOST_PATH_CHARS)?;
        if !is_on_a_drive(&arguments.install_dir) {
            let reason = "install_dir must be the whole path of a folder of this computer, such as C:\\Impp; paths of \
                          network shares and devices, and those that begin with \\\\?\\, are refused";
            return Err(Fault::InvalidRequest(reason.to_owned()));
        }
        Ok(arguments)
    }
}

/// Whether a path begins with a drive and its root, or elsewhere than on Windows with the root.
///
/// What is allowed is named, not what is refused: Windows signs in to whatever computer a path names, and has many ways
/// to name one (`\\server`, `//server`, `\\?\UNC\`, `\??\UNC\`, `\\.\`, or a path relative to a folder there).
fn is_on_a_drive(path: &str) -> bool {
    match path.as_bytes() {
        [letter, b':', b'\\' | b'/', ..] => letter.is_ascii_alphabetic(),
        [b'/', rest @ ..] => cfg!(not(windows)) && !rest.starts_with(b"/") && !rest.starts_with(b"\\"),
        _ => false,
    }
}

/// Looks for every entry of the list in the folder.
pub fn run(arguments: &Arguments, progress: &Progress) -> Result<Data, Fault> {
    let (entries, entrypoints_origin) = entrypoints::load()?;
    let files = files_of(Path::new(&arguments.install_dir), progress)?;
    // Each file is read once, for all entries that name it.
    let mut assemblies: BTreeMap<String, Vec<Entrypoint>> = BTreeMap::new();
    let ids: Vec<String> = entries.iter().map(|entry| entry.id.clone()).collect();
    for entry in entries {
        assemblies.entry(entry.assembly.to_lowercase()).or_default().push(entry);
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (name, entries) in assemblies {
        findings.extend(look(files.get(&name).map(PathBuf::as_path), entries, progress));
    }
    findings.sort_by_key(|finding| ids.iter().position(|id| *id == finding.id));
    Ok(Data {
        probe_mode: "read_only_send_entrypoint_metadata",
        summary: summary(&findings),
        entrypoints: findings,
        entrypoints_origin,
        safety: Safety::default(),
    })
}

fn summary(findings: &[Finding]) -> Summary {
    let count = |wanted: fn(&Finding) -> bool| findings.iter().filter(|finding| wanted(finding)).count();
    let required_count = count(|finding| finding.required);
    let required_available_count = count(|finding| finding.required && finding.available);
    let all_required_available = required_available_count == required_count;
    Summary {
        entrypoint_count: findings.len(),
        available_count: count(|finding| finding.available),
        required_count,
        required_available_count,
        all_required_available,
        b_route_entrypoint_preflight: if all_required_available { "pass" } else { "fail" },
    }
}

/// What a folder holds, by its names in lower case, since Windows does not tell cases apart, and a copy of
/// the client's folder on another system should give the same answer.
fn files_of(folder: &Path, progress: &Progress) -> Result<HashMap<String, PathBuf>, Fault> {
    let unreadable = || Fault::InvalidRequest("install_dir must be a folder that can be read".to_owned());
    let mut files = HashMap::new();
    for (count, entry) in std::fs::read_dir(folder).map_err(|_| unreadable())?.enumerate() {
        if count == MOST_FOLDER_FILES {
            let message =
                format!("install_dir has more than {MOST_FOLDER_FILES} files; not all were looked at");
            progress.warn("MAX_FILES", message);
            break;
        }
        let entry = entry.map_err(|_| unreadable())?;
        files.insert(entry.file_name().to_string_lossy().to_lowercase(), entry.path());
    }
    Ok(files)
}

/// Looks into one file for the entries that name it; what keeps it from being read is warned of.
fn look(path: Option<&Path>, entries: Vec<Entrypoint>, progress: &Progress) -> Vec<Finding> {
    let name = entries.first().map(|entry| entry.assembly.clone()).unwrap_or_default();
    let warn = |reason: &str| progress.warn("FILE_NOT_READABLE", format!("`{name}`: {reason}"));
    let bytes = path.and_then(|path| {
        regular_file::read(path, MOST_FILE_BYTES).map_err(|reason| warn(&reason.to_string())).ok()
    });
    let opened = bytes.as_deref().map(open);
    if let Some((_, Err(reason))) = &opened {
        warn(&reason.to_string());
    }
    let sha256 = bytes.as_deref().map(sha256);
    let findings = entries.into_iter().map(|entry| {
        let (version, missing) = match &opened {
            None => (None, Some(Missing::File)),
            Some((version, Err(_))) => (*version, Some(Missing::Metadata)),
            Some((version, Ok(metadata))) => {
                let missing = missing(metadata, &entry).unwrap_or_else(|reason| {
                    warn(&reason.to_string());
                    Some(Missing::Metadata)
                });
                (*version, missing)
            }
        };
        let facts = FileFacts {
            assembly: entry.assembly.clone(),
            exists: path.is_some(),
            version: version.map(|version| version.to_string()),
            sha256: sha256.clone(),
        };
        let Entrypoint { id, assembly, type_name, method_name, required } = entry;
        let available = missing.is_none();
        Finding { id, assembly, type_name, method_name, required, available, missing, files: [facts] }
    });
    findings.collect()
}

/// Version and metadata of a file. A program without a version is still looked into.
fn open(bytes: &[u8]) -> (Option<FileVersion>, Result<Metadata<'_>, Unreadable>) {
    match Image::open(bytes) {
        Ok(image) => (file_version(image).unwrap_or_default(), Metadata::open(image)),
        Err(reason) => (None, Err(reason)),
    }
}

/// What of an entry the assembly does not define.
fn missing(metadata: &Metadata<'_>, entry: &Entrypoint) -> Result<Option<Missing>, Unreadable> {
    let Some(definition) = metadata.find(&entry.type_name)? else { return Ok(Some(Missing::Type)) };
    for name in definition.methods()? {
        if name? == entry.method_name.as_bytes() {
            return Ok(None);
        }
    }
    Ok(Some(Missing::Method))
}

/// The digest in lower-case hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
        text
    })
}
