//! Cutting a long output to size and keeping the whole of it in a file.

use std::io;
use std::path::{Path, PathBuf};

use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt;

use crate::truncate::{self, Cut, Limits};
use crate::{Call, Delegate, Output, ToolError};

/// Most bytes of one output that are kept.
pub const MAX_KEPT: u64 = 256 * 1024 * 1024;

/// Cuts what is too long for a model, unless the tool says with `truncated` that it saw to that itself. The whole
/// text goes to [`Call::output_file`].
pub(crate) async fn cut_to_size(output: Output, limits: Limits, call: &Call) -> Output {
    if output.metadata.contains_key("truncated") {
        return output;
    }
    let Some(cut) = truncate::head(&output.text, limits) else { return output.meta("truncated", false) };
    let (file, path) = match Kept::create(call.output_file()).await {
        Ok(mut kept) => {
            kept.add(output.text.as_bytes()).await;
            let path = kept.path().display().to_string();
            (kept.finish().await, Some(path))
        }
        // The call itself worked, and what is left of its output is better than none.
        Err(error) => (format!("The rest could not be kept ({error})"), None),
    };
    let reader = path.as_ref().map(|_| reader_hint(call));
    let text = format!("{}\n\n{}\n\n{}", cut.kept, cut.marker(), hint(&cut, &file, reader.as_deref()));
    let output = Output { text, ..output }.meta("truncated", true);
    match path {
        Some(path) => output.meta("outputPath", path),
        None => output,
    }
}

/// Most that hooks may make of an output beyond what tools may: they add to what may be as long as it can be.
const ROOM_FOR_HOOKS: usize = 2;

/// Cuts what hooks made of an output that had its size already. What they added beyond all measure is not kept.
pub(crate) fn cut_again(output: Output, limits: Limits) -> Output {
    let most = Limits { lines: limits.lines * ROOM_FOR_HOOKS, bytes: limits.bytes * ROOM_FOR_HOOKS };
    let cut = truncate::head(&output.text, most).map(|cut| format!("{}\n\n{}", cut.kept, cut.marker()));
    match cut {
        Some(text) => Output { text, ..output },
        None => output,
    }
}

/// Cuts what a failing tool says, which may repeat what others wrote, to the size of an output. Nothing of it is kept.
pub(crate) fn cut_error(error: ToolError, limits: Limits) -> ToolError {
    let cut = |text: String| match truncate::head(&text, limits) {
        Some(cut) => format!("{}\n\n{}", cut.kept, cut.marker()),
        None => text,
    };
    match error {
        ToolError::BadInput(text) => ToolError::BadInput(cut(text)),
        ToolError::Failed(text) => ToolError::Failed(cut(text)),
        ToolError::Denied(_) | ToolError::Cancelled => error,
    }
}

/// Who looks through long texts for others, so that these need not take them in.
const READER: &str = "explore";

/// Who else can look through a long text that is kept in a file: a sentence for the model with a space before it. Empty
/// where the one whose call this is may not hand it on.
pub fn reader_hint(call: &Call) -> String {
    let may = |delegates: Vec<Delegate>| delegates.iter().any(|delegate| delegate.told && delegate.name == READER);
    match call.delegates().is_ok_and(may) {
        true => format!(" To look through much of it, give its path to {READER} with `task`."),
        false => String::new(),
    }
}

/// What is shown, where the rest is, and how to get at it. `reader` is the [`reader_hint`], `None` where nothing is kept.
fn hint(cut: &Cut<'_>, file: &str, reader: Option<&str>) -> String {
    let shown = if cut.inside_line {
        format!("Showing the first {} of {} bytes, a piece of one very long line", cut.kept.len(), cut.total_bytes)
    } else {
        // A line feed at the very end begins no line that anybody would count.
        let total = cut.total_lines - usize::from(cut.ends_with_feed);
        format!("Showing lines {}-{} of {total}", cut.first, cut.lines)
    };
    let next = match (reader, cut.inside_line) {
        (None, _) => "ask for less at once".to_owned(),
        (Some(_), true) => "grep it for what you need".to_owned(),
        (Some(_), false) => format!("read it with offset {}, or grep it for what you need", cut.lines + 1),
    };
    format!("{shown}. {file}: {next}.{}", reader.unwrap_or_default())
}

/// A file that an output goes to as it comes, readable by the user alone.
#[derive(Debug)]
pub struct Kept {
    path: PathBuf,
    file: File,
    room: u64,
    state: State,
}

/// Whether everything could be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Whole,
    Full,
    Failed(String),
}

impl Kept {
    /// Makes the file `path`, see [`Call::output_file`](crate::Call::output_file).
    ///
    /// # Errors
    ///
    /// When it is there already or cannot be made.
    pub async fn create(path: PathBuf) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let file = options.open(&path).await?;
        Ok(Self { path, file, room: MAX_KEPT, state: State::Whole })
    }

    /// Adds `bytes`. What is more than [`MAX_KEPT`] in all, or comes after a failure, is left out;
    /// [`Kept::finish`] tells.
    pub async fn add(&mut self, bytes: &[u8]) {
        if self.state != State::Whole {
            return;
        }
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let fits = &bytes[..bytes.len().min(room)];
        if let Err(error) = self.file.write_all(fits).await {
            self.state = State::Failed(error.to_string());
        } else if fits.len() < bytes.len() {
            self.state = State::Full;
        }
        self.room -= fits.len() as u64;
    }

    /// Ends the file and says in a few words for the model what is in it.
    pub async fn finish(mut self) -> String {
        if let Err(error) = self.file.flush().await {
            self.state = State::Failed(error.to_string());
        }
        let path = self.path.display();
        match self.state {
            State::Whole => format!("The whole output is in {path}"),
            State::Full => format!("The first {} MiB of the output are in {path}", MAX_KEPT / 1024 / 1024),
            State::Failed(error) => format!("A part of the output is in {path} (keeping the rest failed: {error})"),
        }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn cut(text: &str) -> (tempfile::TempDir, Output) {
        let folder = tempfile::tempdir().unwrap();
        let call = crate::fake::FakeHost::allowing_all(folder.path()).call();
        let output = cut_to_size(Output::new("t", text), Limits::default(), &call).await;
        (folder, output)
    }

    #[tokio::test]
    async fn a_long_output_is_cut_and_kept_whole() {
        let text: String = (1..=9120).map(|n| format!("{n}\n")).collect();
        let (folder, output) = cut(&text).await;
        let path = output.metadata["outputPath"].as_str().unwrap();
        assert_eq!(output.metadata["truncated"], true);
        assert!(path.starts_with(folder.path().to_str().unwrap()));
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
        let note = format!(
            "2000\n\n...7121 lines truncated...\n\nShowing lines 1-2000 of 9120. The whole output is in {path}: read it \
             with offset 2001, or grep it for what you need."
        );
        assert!(output.text.ends_with(&note), "{}", &output.text[output.text.len() - 400..]);
    }

    #[tokio::test]
    async fn who_may_hand_on_tasks_is_told_to_let_another_look() {
        let folder = tempfile::tempdir().unwrap();
        let host = crate::fake::FakeHost::allowing_all(folder.path());
        let text = "x\n".repeat(5000);
        let check = async |want: &str| {
            let output = cut_to_size(Output::new("t", text.clone()), Limits::default(), &host.call()).await;
            assert!(output.text.ends_with(want), "{}", &output.text[output.text.len() - 300..]);
        };
        host.delegates(&["general", ".explore"]);
        check("with offset 2001, or grep it for what you need.").await;
        host.delegates(&["general", "explore"]);
        check("or grep it for what you need. To look through much of it, give its path to explore with `task`.").await;
    }

    #[test]
    fn an_error_is_no_longer_than_an_output() {
        let row = |error: ToolError, want: &str| assert_eq!(cut_error(error, Limits::default()).to_string(), want);
        row(ToolError::Failed("no".to_owned()), "no");
        row(ToolError::Cancelled, &ToolError::Cancelled.to_string());
        let long = format!("{}\n\n...1000 lines truncated...", ["x"; 2000].join("\n"));
        row(ToolError::Failed(["x"; 3000].join("\n")), &long);
        row(ToolError::BadInput(["x"; 3000].join("\n")), &long);
    }

    #[tokio::test]
    async fn a_very_long_line_is_cut_inside() {
        let (_folder, output) = cut(&"漢".repeat(30_000)).await;
        assert!(output.text.starts_with("漢漢"));
        assert!(output.text.contains("Showing the first 51198 of 90000 bytes"), "{}", &output.text[51_000..]);
    }

    #[tokio::test]
    async fn what_fits_or_was_cut_by_the_tool_stays() {
        let (_folder, output) = cut("short").await;
        assert_eq!((output.text.as_str(), &output.metadata["truncated"]), ("short", &serde_json::Value::Bool(false)));
        let folder = tempfile::tempdir().unwrap();
        let call = crate::fake::FakeHost::allowing_all(folder.path()).call();
        let long = Output::new("t", "x\n".repeat(5000)).meta("truncated", false);
        assert_eq!(cut_to_size(long.clone(), Limits::default(), &call).await, long);
    }

    #[tokio::test]
    async fn where_nothing_can_be_kept_the_output_still_comes() {
        let call = crate::fake::FakeHost::allowing_all(Path::new("/no/such/folder")).call();
        let output = cut_to_size(Output::new("t", "x\n".repeat(5000)), Limits::default(), &call).await;
        assert!(output.text.contains("could not be kept") && output.text.ends_with("ask for less at once."));
        assert!(!output.metadata.contains_key("outputPath"));
    }

    #[tokio::test]
    async fn only_the_user_may_read_what_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut kept = Kept::create(path.clone()).await.unwrap();
        kept.add(b"one ").await;
        kept.add(b"two").await;
        assert_eq!(kept.finish().await, format!("The whole output is in {}", path.display()));
        assert_eq!(std::fs::read(&path).unwrap(), b"one two");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert!(Kept::create(path).await.is_err());
    }

    #[tokio::test]
    async fn there_is_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut kept = Kept::create(path.clone()).await.unwrap();
        kept.room = 5;
        kept.add(b"1234").await;
        kept.add(b"5678").await;
        kept.add(b"9").await;
        assert!(kept.finish().await.starts_with("The first 256 MiB"));
        assert_eq!(std::fs::read(&path).unwrap(), b"12345");
    }
}
