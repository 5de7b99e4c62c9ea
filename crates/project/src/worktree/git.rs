//! Calls of git that run nothing of the repository.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::WorktreeError;

/// The names that git wrote with a zero behind each, in order.
pub(super) fn paths(names: &[u8]) -> Vec<PathBuf> {
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut all: Vec<PathBuf> = names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec()))).collect();
    all.sort();
    all.dedup();
    all
}

/// The settings that switch off every filter that `top` knows.
pub(super) fn filters(top: &Path) -> Result<Vec<String>, WorktreeError> {
    let named = git(top, &[], &["config", "-z", "--name-only", "--get-regexp", r"^filter\..*"])?.stdout;
    let mut quiet = Vec::new();
    for name in named.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok()) {
        let Some((driver, _)) = name.strip_prefix("filter.").and_then(|name| name.rsplit_once('.')) else { continue };
        quiet.extend(["clean=", "smudge=", "process=", "required=false"].map(|end| format!("filter.{driver}.{end}")));
    }
    quiet.sort();
    quiet.dedup();
    Ok(quiet)
}

/// Runs git in `folder` with `settings` over all others.
pub(super) fn git<A: AsRef<OsStr>>(folder: &Path, settings: &[String], args: &[A]) -> Result<Output, WorktreeError> {
    command(folder, settings, args).output().map_err(WorktreeError::NoGit)
}

/// Runs `command` with `input`.
pub(super) fn fed(mut command: Command, input: &[u8]) -> Result<Output, WorktreeError> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(WorktreeError::NoGit)?;
    // It reads all before it writes; one that ends early says why.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input));
    child.wait_with_output().map_err(WorktreeError::NoGit)
}

/// git in `folder` with `settings` over all others.
pub(super) fn command<A: AsRef<OsStr>>(folder: &Path, settings: &[String], args: &[A]) -> Command {
    let quiet = [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.autocrlf=false",
        "core.untrackedCache=false",
        "gc.auto=0",
        "maintenance.auto=false",
        "submodule.recurse=false",
        "protocol.allow=never",
    ];
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).arg("--no-pager");
    for setting in quiet.into_iter().chain(settings.iter().map(String::as_str)) {
        command.arg("-c").arg(setting);
    }
    // What the caller's own git is about is not this.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_COMMON_DIR", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    let fixed =
        [("GIT_TERMINAL_PROMPT", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_LITERAL_PATHSPECS", "1"), ("LC_ALL", "C")];
    command.args(args.iter().map(AsRef::as_ref)).envs(fixed).stdin(Stdio::null());
    command
}

/// What git wrote, if it did what it was to.
pub(super) fn said(output: Output, what: &str) -> Result<Vec<u8>, WorktreeError> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let why = why.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it did not say why").to_owned();
    Err(WorktreeError::Git { what: what.to_owned(), why })
}
