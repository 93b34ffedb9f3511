//! Running processes, their programs and their bitness.

use ::windows::Win32::Foundation::{ERROR_INVALID_PARAMETER, HANDLE};
use ::windows::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use ::windows::Win32::System::SystemInformation::{
    IMAGE_FILE_MACHINE, IMAGE_FILE_MACHINE_AMD64, IMAGE_FILE_MACHINE_ARM64, IMAGE_FILE_MACHINE_I386,
    IMAGE_FILE_MACHINE_UNKNOWN,
};
use ::windows::Win32::System::Threading::{
    GetCurrentProcess, IsWow64Process2, OpenProcess, PROCESS_ACCESS_RIGHTS, PROCESS_NAME_WIN32,
    PROCESS_QUERY_LIMITED_INFORMATION, QueryFullProcessImageNameW,
};
use ::windows::core::{Owned, PWSTR};

use super::{refused, until_nul};
use crate::client::without_exe;
use crate::desktop::{DesktopError, Process, ProcessDetails};

/// The most processes that are listed; a desktop has some hundreds.
const MOST_PROCESSES: usize = 20_000;
/// The longest path that Windows gives, in UTF-16 units.
const MOST_PATH_UNITS: usize = 32_768;

/// All running processes, by id.
pub fn processes() -> Result<Vec<Process>, DesktopError> {
    let failed = |error| refused("list the processes", &error);
    // SAFETY: plain values go in; the new handle is owned by this function.
    let snapshot =
        unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0).map(|handle| Owned::new(handle)) }
            .map_err(failed)?;
    let mut entry = PROCESSENTRY32W { dwSize: size_of_u32::<PROCESSENTRY32W>(), ..Default::default() };
    let mut found = Vec::new();
    // SAFETY: the snapshot is open, and `entry` says its own size.
    let mut next = unsafe { Process32FirstW(*snapshot, &raw mut entry) };
    while next.is_ok() && found.len() < MOST_PROCESSES {
        let name = until_nul(&entry.szExeFile);
        found.push(Process { pid: entry.th32ProcessID, name: without_exe(&name).to_owned() });
        // SAFETY: as above.
        next = unsafe { Process32NextW(*snapshot, &raw mut entry) };
    }
    found.sort_by_key(|process| process.pid);
    Ok(found)
}

/// Program and bitness of a process; an error for one that Windows protects, such as an elevated one.
pub fn process_details(pid: u32) -> Result<ProcessDetails, DesktopError> {
    let process = open(pid, PROCESS_QUERY_LIMITED_INFORMATION)?;
    Ok(ProcessDetails { executable_path: executable_path(*process), bitness: bitness(*process) })
}

/// Whether the operating system is a 64-bit one, whatever this program is.
pub fn is_64_bit_os() -> bool {
    // SAFETY: the pseudo handle of the own process needs no closing.
    machines(unsafe { GetCurrentProcess() }).is_some_and(|(_, native)| native != IMAGE_FILE_MACHINE_I386)
}

/// Opens a process for queries. Windows refuses it for processes with more rights than this one.
pub fn open(pid: u32, rights: PROCESS_ACCESS_RIGHTS) -> Result<Owned<HANDLE>, DesktopError> {
    // SAFETY: plain values go in; the new handle is owned by the caller.
    let opened = unsafe { OpenProcess(rights, false, pid).map(|handle| Owned::new(handle)) };
    opened.map_err(|error| match error.code() {
        // So Windows calls a process that is not there.
        code if code == ERROR_INVALID_PARAMETER.to_hresult() => DesktopError::NoSuchProcess,
        _ => refused("look into a process", &error),
    })
}

/// The size of a structure that states it in itself.
pub fn size_of_u32<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(u32::MAX)
}

fn executable_path(process: HANDLE) -> Option<String> {
    let mut buffer = vec![0_u16; MOST_PATH_UNITS];
    let mut units = u32::try_from(buffer.len()).ok()?;
    let text = PWSTR(buffer.as_mut_ptr());
    // SAFETY: the handle is open, and `units` says how much of `buffer` may be written.
    unsafe { QueryFullProcessImageNameW(process, PROCESS_NAME_WIN32, text, &raw mut units) }.ok()?;
    let units = usize::try_from(units).ok()?;
    buffer.get(..units).map(String::from_utf16_lossy)
}

fn bitness(process: HANDLE) -> Option<&'static str> {
    let (emulated, native) = machines(process)?;
    match if emulated == IMAGE_FILE_MACHINE_UNKNOWN { native } else { emulated } {
        IMAGE_FILE_MACHINE_I386 => Some("x86"),
        IMAGE_FILE_MACHINE_AMD64 => Some("x64"),
        IMAGE_FILE_MACHINE_ARM64 => Some("arm64"),
        _ => None,
    }
}

/// The machine that a process is emulated for, unknown if it is not, and the machine itself.
fn machines(process: HANDLE) -> Option<(IMAGE_FILE_MACHINE, IMAGE_FILE_MACHINE)> {
    let mut emulated = IMAGE_FILE_MACHINE_UNKNOWN;
    let mut native = IMAGE_FILE_MACHINE_UNKNOWN;
    // SAFETY: the handle is open; both values are written during the call only.
    unsafe { IsWow64Process2(process, &raw mut emulated, Some(&raw mut native)) }.ok()?;
    Some((emulated, native))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_is_listed_and_described() {
        let own = std::process::id();
        let program = std::env::current_exe().unwrap();
        let listed = processes().unwrap().into_iter().find(|process| process.pid == own).unwrap();
        assert_eq!(listed.name, program.file_stem().unwrap().to_str().unwrap());
        let details = process_details(own).unwrap();
        assert_eq!(details.executable_path.as_deref(), program.to_str());
        assert!(details.bitness.is_some() && is_64_bit_os());
    }

    #[test]
    fn a_process_that_ended_is_not_there() {
        // Process ids are multiples of four.
        assert_eq!(process_details(0x7FFF_FFFD), Err(DesktopError::NoSuchProcess));
    }
}
