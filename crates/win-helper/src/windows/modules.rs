//! The files that a process has loaded: as modules, or only mapped, as .NET does with its assemblies.

use std::collections::HashSet;

use ::windows::Win32::Foundation::{ERROR_BAD_LENGTH, ERROR_INVALID_PARAMETER, HANDLE};
use ::windows::Win32::Storage::FileSystem::QueryDosDeviceW;
use ::windows::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, MODULEENTRY32W, Module32FirstW, Module32NextW, TH32CS_SNAPMODULE,
    TH32CS_SNAPMODULE32,
};
use ::windows::Win32::System::Memory::{MEM_IMAGE, MEM_MAPPED, MEMORY_BASIC_INFORMATION, VirtualQueryEx};
use ::windows::Win32::System::ProcessStatus::K32GetMappedFileNameW;
use ::windows::Win32::System::Threading::{PROCESS_QUERY_INFORMATION, PROCESS_VM_READ};
use ::windows::core::{HSTRING, Owned};

use super::processes::{open, size_of_u32};
use super::until_nul;
use crate::desktop::{DesktopError, Module, Modules};

/// The most modules of one process; a client has some hundreds.
const MOST_MODULES: usize = 5_000;
/// The most regions of one process that are looked at; a client has some thousands.
const MOST_REGIONS: usize = 500_000;
/// The longest path that is read, in UTF-16 units.
const MOST_PATH_UNITS: usize = 4_096;
/// How often the list of modules is asked for while the process is loading some.
const MOST_ATTEMPTS: usize = 10;
/// The files that hold code. Others that a process has mapped, such as its user's documents, are nobody's business.
const CODE: [&str; 2] = [".dll", ".exe"];

/// The files with code that a process has loaded.
pub fn modules(pid: u32) -> Result<Modules, DesktopError> {
    let mut found = Found::default();
    let listed = listed_modules(pid, &mut found)?;
    let mapped = match open(pid, PROCESS_QUERY_INFORMATION | PROCESS_VM_READ) {
        Ok(process) => mapped_files(*process, &mut found),
        Err(DesktopError::NoSuchProcess) => return Err(DesktopError::NoSuchProcess),
        // What the loader lists is worth telling.
        Err(_) => false,
    };
    Ok(Modules { found: found.modules, complete: listed && mapped })
}

/// Modules, each path once.
#[derive(Default)]
struct Found {
    modules: Vec<Module>,
    paths: HashSet<String>,
}

impl Found {
    fn add(&mut self, path: String) {
        if self.paths.insert(path.to_lowercase()) {
            let name = path.rsplit('\\').next().unwrap_or_default().to_owned();
            self.modules.push(Module { name, path });
        }
    }

    fn is_full(&self) -> bool {
        self.modules.len() >= MOST_MODULES
    }
}

/// Adds what the process' loader lists; tells whether that could be read to its end.
fn listed_modules(pid: u32, found: &mut Found) -> Result<bool, DesktopError> {
    let Some(snapshot) = snapshot(pid)? else { return Ok(false) };
    let mut entry = MODULEENTRY32W { dwSize: size_of_u32::<MODULEENTRY32W>(), ..Default::default() };
    // SAFETY: the snapshot is open, and `entry` says its own size.
    let mut next = unsafe { Module32FirstW(*snapshot, &raw mut entry) };
    while next.is_ok() && !found.is_full() {
        found.add(until_nul(&entry.szExePath));
        // SAFETY: as above.
        next = unsafe { Module32NextW(*snapshot, &raw mut entry) };
    }
    Ok(!found.is_full())
}

/// A list of the modules; `None` when Windows refuses it.
fn snapshot(pid: u32) -> Result<Option<Owned<HANDLE>>, DesktopError> {
    let flags = TH32CS_SNAPMODULE | TH32CS_SNAPMODULE32;
    for _ in 0..MOST_ATTEMPTS {
        // SAFETY: plain values go in; the new handle is owned by the caller.
        match unsafe { CreateToolhelp32Snapshot(flags, pid).map(|handle| Owned::new(handle)) } {
            Ok(snapshot) => return Ok(Some(snapshot)),
            // The process is loading modules right now, and Windows asks to try again.
            Err(error) if error.code() == ERROR_BAD_LENGTH.to_hresult() => {}
            Err(error) if error.code() == ERROR_INVALID_PARAMETER.to_hresult() => {
                return Err(DesktopError::NoSuchProcess);
            }
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}

/// Adds the files that the process has mapped; tells whether its whole memory could be looked at.
fn mapped_files(process: HANDLE, found: &mut Found) -> bool {
    let drives = drives();
    let mut address = 0_usize;
    for _ in 0..MOST_REGIONS {
        let mut region = MEMORY_BASIC_INFORMATION::default();
        let asked = std::ptr::with_exposed_provenance(address);
        // SAFETY: the handle is open; the address is only a number to it, and `region` has the size that is named.
        let filled = unsafe { VirtualQueryEx(process, Some(asked), &raw mut region, size_of_val(&region)) };
        if filled == 0 {
            // Past the last region Windows has nothing to tell; at the first one it refuses.
            return address != 0;
        }
        let start = region.BaseAddress.expose_provenance();
        // A file has several regions; the first one speaks for it.
        let first = region.AllocationBase == region.BaseAddress;
        if first && (region.Type == MEM_MAPPED || region.Type == MEM_IMAGE) {
            if found.is_full() {
                return false;
            }
            if let Some(path) = mapped_file(process, asked).filter(|path| holds_code(path)) {
                found.add(with_drive(&path, &drives));
            }
        }
        match start.checked_add(region.RegionSize) {
            Some(next) if next > address => address = next,
            _ => return true,
        }
    }
    false
}

/// The file that is mapped at an address, as `\Device\HarddiskVolume3\...`.
fn mapped_file(process: HANDLE, address: *const std::ffi::c_void) -> Option<String> {
    let mut buffer = [0; MOST_PATH_UNITS];
    // SAFETY: the handle is open, and at most the length of the slice is written.
    let units = unsafe { K32GetMappedFileNameW(process, address, &mut buffer) };
    let units = usize::try_from(units).ok().filter(|units| *units > 0)?;
    buffer.get(..units).map(String::from_utf16_lossy)
}

fn holds_code(path: &str) -> bool {
    let path = path.to_lowercase();
    CODE.iter().any(|extension| path.ends_with(extension))
}

/// The drive letters, each with the device it stands for.
fn drives() -> Vec<(String, String)> {
    let devices = ('A'..='Z').filter_map(|letter| {
        let drive = format!("{letter}:");
        let mut buffer = [0; MOST_PATH_UNITS];
        // SAFETY: the name ends with a NUL, and at most the length of the slice is written.
        let units = unsafe { QueryDosDeviceW(&HSTRING::from(&drive), Some(&mut buffer)) };
        (units > 0).then(|| (drive, until_nul(&buffer)))
    });
    devices.collect()
}

/// A device path as one with a drive letter, where one stands for its device. Wine gives the drive letter itself,
/// behind the prefix of its namespace.
fn with_drive(path: &str, drives: &[(String, String)]) -> String {
    if let Some(path) = path.strip_prefix(r"\??\") {
        return path.to_owned();
    }
    let on = |device: &str| path.strip_prefix(device).filter(|rest| rest.starts_with('\\'));
    let named = drives.iter().find_map(|(drive, device)| Some(format!("{drive}{}", on(device)?)));
    named.unwrap_or_else(|| path.to_owned())
}
