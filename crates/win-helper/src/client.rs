//! What is publicly known of the iSphere client: by this it is found.

/// Names of the client's processes, without `.exe` (boundary contract, section 6.5).
pub const PROCESS_NAMES: [&str; 4] = ["IMPlatformClient", "IMPP.ISphere", "iSphere", "importal"];

/// Files that the client loads (boundary contract, section 6.5).
pub const KEY_FILES: [&str; 5] =
    ["IMPlatformClient.exe", "smack.dll", "IMPP.Interface.dll", "IMPP.ServiceBase.dll", "IMPP.Service.dll"];

/// The word in the title of its windows.
pub const TITLE_WORD: &str = "iSphere";

/// How the class names of WinForms windows begin, of which the client's is one.
pub const WINDOW_CLASS_PREFIX: &str = "WindowsForms10.Window.";

/// A process name or file name without a trailing `.exe`, whatever its case.
pub fn without_exe(name: &str) -> &str {
    let stem = name.len().checked_sub(4).and_then(|at| name.split_at_checked(at));
    match stem {
        Some((stem, extension)) if extension.eq_ignore_ascii_case(".exe") => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_loses_exe_and_nothing_else() {
        assert_eq!(without_exe("IMPlatformClient.EXE"), "IMPlatformClient");
        assert_eq!(without_exe("IMPP.ISphere"), "IMPP.ISphere");
        assert_eq!(without_exe(".exe"), "");
        assert_eq!(without_exe("张三"), "张三");
        assert_eq!(without_exe(""), "");
    }
}
