//! The desktop of a test: the fixture's windows on it, and the helper that looks at them.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A time limit that a test does not mean to reach; Wine takes up to a tenth of a second for an element.
pub const PATIENT_MS: u64 = 120_000;

/// All tests share one desktop. Those that name the window they ask about do so side by side; the others are alone.
static DESK: RwLock<()> = RwLock::new(());

/// Keeps tests that must be alone away.
pub fn shared() -> RwLockReadGuard<'static, ()> {
    DESK.read().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps all other tests away.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    DESK.write().unwrap_or_else(PoisonError::into_inner)
}

/// A program with a window, which ends with this value.
pub struct ChatWindow {
    program: Child,
    /// The window's handle, as the helper writes it.
    pub hwnd: String,
    /// The program's process.
    pub pid: u32,
}

impl ChatWindow {
    /// Opens the 64-bit fixture's window; its source lists the switches.
    pub fn open(switches: &[&str]) -> Self {
        Self::start("64", switches)
    }

    /// Opens the 32-bit fixture's window.
    pub fn open_32_bit(switches: &[&str]) -> Self {
        Self::start("32", switches)
    }

    fn start(bits: &str, switches: &[&str]) -> Self {
        let path = fixtures().join(bits).join("IMPlatformClient.exe");
        let mut program = Command::new(&path)
            .args(switches)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("the fixture {} does not start: {error}", path.display()));
        let mut ready = String::new();
        BufReader::new(program.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let mut said = ready.split_whitespace().skip(1).map(|word| word.split_once('=').unwrap().1);
        let hwnd = said.next().expect("the fixture said nothing").to_owned();
        let pid = said.next().unwrap().parse().unwrap();
        Self { program, hwnd, pid }
    }

    /// Waits until the program has ended by itself.
    pub fn wait_for_its_end(&mut self) {
        self.program.wait().unwrap();
    }
}

impl Drop for ChatWindow {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn fixtures() -> PathBuf {
    let folder = std::env::var_os("COUNTERSIGN_TEST_FIXTURES");
    folder.map(PathBuf::from).expect(
        "COUNTERSIGN_TEST_FIXTURES must name the folder with 64/IMPlatformClient.exe and 32/IMPlatformClient.exe; \
         cargo xtask windows test does so",
    )
}

/// What came back for one request.
pub struct Answer {
    /// The response's document.
    pub response: Value,
    /// From before the start of the process until after its end.
    pub took: Duration,
}

impl Answer {
    /// The data of a response that is a success.
    pub fn data(&self) -> &Value {
        assert_eq!(self.response["ok"], true, "{}", self.response);
        &self.response["data"]
    }

    /// The code of a response that is a failure.
    pub fn code(&self) -> &str {
        assert_eq!(self.response["ok"], false, "{}", self.response);
        self.response["error"]["code"].as_str().unwrap()
    }

    /// The codes of the warnings, in their order.
    pub fn warnings(&self) -> Vec<&str> {
        let warnings = self.response["warnings"].as_array().unwrap();
        warnings.iter().map(|warning| warning["code"].as_str().unwrap()).collect()
    }
}

/// Asks the helper with a time limit that is not meant to be reached.
pub fn ask(op: &str, arguments: &Value) -> Answer {
    ask_within(PATIENT_MS, op, arguments)
}

/// Asks the helper; whatever it answers, the process must have ended well and written one document and nothing else.
pub fn ask_within(timeout_ms: u64, op: &str, arguments: &Value) -> Answer {
    let request = json!({
        "protocol": "isphere.helper.v1", "request_id": "of-a-test", "op": op, "timeout_ms": timeout_ms,
        "args": arguments,
    });
    let start = Instant::now();
    let output = run(request.to_string().as_bytes());
    let took = start.elapsed();
    let response: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(response["protocol"], "isphere.helper.v1");
    assert_eq!(response["request_id"], "of-a-test");
    assert_eq!(response["op"], op);
    Answer { response, took }
}

/// Runs the helper with these bytes on its stdin.
pub fn run(stdin: &[u8]) -> Output {
    let mut helper = Command::new(env!("CARGO_BIN_EXE_ISphereWinHelper"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    helper.stdin.take().unwrap().write_all(stdin).unwrap();
    helper.wait_with_output().unwrap()
}

/// A window that has nothing to do with the client: Notepad's.
pub struct OtherWindow {
    program: Child,
    /// The window's handle, as the helper writes it.
    pub hwnd: String,
}

impl OtherWindow {
    /// Opens it and waits until it is listed.
    pub fn open() -> Self {
        const MOST_ATTEMPTS: usize = 100;
        let program = Command::new("notepad.exe").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let pid = program.id();
        // From here on a panic ends the program.
        let mut window = Self { program, hwnd: String::new() };
        for _ in 0..MOST_ATTEMPTS {
            let scan = ask("scan_windows", &json!({ "include_all_visible": true }));
            let windows = scan.data()["windows"].as_array().unwrap();
            if let Some(found) = windows.iter().find(|found| found["pid"] == pid) {
                window.hwnd.push_str(found["hwnd"].as_str().unwrap());
                return window;
            }
        }
        panic!("Notepad has no window");
    }
}

impl Drop for OtherWindow {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
