//! One process of the helper: bytes in, bytes out, and nothing of it left running.
//!
//! What the program starts belongs to it: on Unix its process group, on Windows its job. Both are ended when the answer is
//! there, when the time is up, and when nobody waits for the answer any more. A program that leaves its group on
//! purpose, as Wine's server does, is not followed.

use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

#[cfg(windows)]
use process_wrap::tokio::JobObject;
#[cfg(unix)]
use process_wrap::tokio::ProcessGroup;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::error::HelperError;

/// The most bytes of an answer. The helper's own bounds keep the largest dump at about half of it.
pub const MOST_ANSWER_BYTES: u64 = 32 << 20;
/// How much of stderr is kept for the log.
const MOST_DIAGNOSIS_BYTES: usize = 2_000;

/// What is started.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program: the helper, or something that runs it.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Starts the program, writes `request` to its stdin and gives what it writes to stdout until its end. A program that
/// does not end within `limit`, writes too much or ends with another code than 0 has failed, whatever it wrote.
pub async fn run(program: &Program, request: &[u8], limit: Duration) -> Result<Vec<u8>, HelperError> {
    let (mut tree, pipes) = Tree::start(program)?;
    let mut diagnosis = Vec::new();
    let talk = timeout(limit, talk(&mut tree, pipes, request, &mut diagnosis));
    let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let outcome = talk.await.unwrap_or(Err(HelperError::TimedOut { limit_ms }));
    if outcome.is_err() && !diagnosis.is_empty() {
        let said = String::from_utf8_lossy(&diagnosis);
        tracing::warn!(stderr = govern::text::visible(&said).text.trim(), "the helper failed");
    }
    outcome
}

/// The pipes to a process.
struct Pipes {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

async fn talk(
    tree: &mut Tree,
    pipes: Pipes,
    request: &[u8],
    diagnosis: &mut Vec<u8>,
) -> Result<Vec<u8>, HelperError> {
    let Pipes { mut stdin, stdout, stderr } = pipes;
    let write = async move {
        // One that answers without having read is judged by its answer.
        let _ = stdin.write_all(request).await;
        drop(stdin);
        Ok(())
    };
    let answer = async {
        let (answer, (), status) = tokio::try_join!(read(stdout), write, tree.end())?;
        if status.success() { Ok(answer) } else { Err(HelperError::Ended { code: status.code() }) }
    };
    tokio::select! {
        biased;
        never = keep_beginning(stderr, diagnosis) => match never {},
        answer = answer => answer,
    }
}

async fn read(stdout: impl AsyncRead + Unpin) -> Result<Vec<u8>, HelperError> {
    let mut answer = Vec::new();
    stdout.take(MOST_ANSWER_BYTES + 1).read_to_end(&mut answer).await.map_err(HelperError::Pipe)?;
    if answer.len() as u64 > MOST_ANSWER_BYTES { Err(HelperError::TooLarge) } else { Ok(answer) }
}

/// Reads on, so that the program never waits for a full pipe, and never comes to an end, for something else may hold the
/// pipe open.
async fn keep_beginning(mut stderr: impl AsyncRead + Unpin, kept: &mut Vec<u8>) -> Infallible {
    let mut chunk = vec![0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let room = MOST_DIAGNOSIS_BYTES.saturating_sub(kept.len());
        kept.extend_from_slice(&chunk[..count.min(room)]);
    }
    std::future::pending().await
}

/// A process with all that it started; ended when dropped.
struct Tree {
    leader: Box<dyn ChildWrapper>,
    ended: bool,
}

impl Tree {
    fn start(program: &Program) -> Result<(Self, Pipes), HelperError> {
        let mut command = CommandWrap::with_new(&program.path, |command| {
            command
                .args(&program.arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        command.wrap(ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(JobObject);
        let mut leader = command.spawn().map_err(HelperError::NotStarted)?;
        let pipes = (leader.stdin().take(), leader.stdout().take(), leader.stderr().take());
        let tree = Self { leader, ended: false };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(HelperError::NotStarted(io::ErrorKind::BrokenPipe.into()));
        };
        Ok((tree, Pipes { stdin, stdout, stderr }))
    }

    /// Waits for the end of the program itself, then ends what it left behind, so that its pipes close.
    async fn end(&mut self) -> Result<ExitStatus, HelperError> {
        let status = self.leader.inner_mut().wait().await.map_err(HelperError::Pipe)?;
        self.kill();
        Ok(status)
    }

    /// Once only: later the number of the group may be another one's.
    fn kill(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            // It fails when nothing is left to end.
            let _ = self.leader.start_kill();
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.kill();
    }
}
