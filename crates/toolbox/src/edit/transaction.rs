//! Changing one file: all edits or none, one question, one write.

use haft_permission::{Access, Effect};
use haft_project::{Files, FilesError, IfExists, Target};
use haft_protocol::FileChange;
use haft_tool::{Call, Output, TellModel, ToolError};
use serde_json::json;

use super::engine::{Applied, Refusal, Replacement, apply};
use super::explain::explain;
use super::how::How;
use crate::beside::beside;
use crate::diff::Diff;
use crate::format::{After, Written};
use crate::glob::missing;
use crate::reach::reach_file;
use crate::seen::{saw, unchanged};
use crate::text::{NO_TEXT, Text, count_lines, lf};

/// Largest file, in bytes, that is edited.
pub(super) const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Texts up to this size together, in bytes, are edited and compared where the caller runs: it takes less than a
/// millisecond or two.
const EDITED_AT_ONCE: usize = 16 * 1024;

/// A change that is worked out and not made yet.
struct Change {
    /// The old bytes; `None` makes the file.
    old: Option<Vec<u8>>,
    new: Vec<u8>,
    diff: Diff,
    places: usize,
    /// What was overlooked to find the places, see [`How`].
    how: Vec<How>,
}

/// Makes `edits` in the file at `path`.
///
/// # Errors
///
/// What the model is to do instead; then the file is as it was.
pub(crate) async fn change_file(
    files: &Files,
    after: &After,
    call: &Call,
    path: &str,
    edits: Vec<Replacement>,
) -> Result<Output, ToolError> {
    if edits.is_empty() {
        return Err(ToolError::BadInput("edits is empty; put in what is to be changed".to_owned()));
    }
    if let Some(same) = edits.iter().position(|edit| edit.old == edit.new) {
        let which = if edits.len() > 1 { format!("edit {} of {}: ", same + 1, edits.len()) } else { String::new() };
        let text = format!("{which}oldString and newString are the same, so there is nothing to change");
        return Err(ToolError::BadInput(text));
    }
    let target = reach_file(files, call, path).await?;
    let _turn = files.lock(&target).await;
    let mut change = if edits[0].old.is_empty() {
        creation(files, call, &target, edits).await?
    } else {
        replacement(files, call, &target, edits).await?
    };

    let path = target.path().display().to_string();
    let access = Access::new("edit", target.title())
        .with(Effect::Write(target.path().to_owned()))
        .show("filepath", path.as_str())
        .show("diff", change.diff.patch.as_str());
    let grant = call.ask(access).await?;
    let event = if change.old.is_some() { FileChange::Change } else { FileChange::Add };
    // Both are wanted once more only where something else is made of the file.
    let (old, new) =
        if after.may_tidy(target.path()) { (change.old.clone(), change.new.clone()) } else { Default::default() };
    let if_exists = change.old.take().map_or(IfExists::Fail, IfExists::ReplaceOnly);
    let stamp = files.write(&grant, &target, std::mem::take(&mut change.new), if_exists).await.tell_model()?;
    let written = Written { target: target.clone(), bytes: new, stamp };
    let left = after.tidied(call, &grant, vec![written]).await.pop();
    if let Some(bytes) = left.as_ref().and_then(|left| left.bytes.as_deref()) {
        change.diff = Diff::of_bytes(&path, old.as_deref(), Some(bytes)).await;
    }
    saw(call, &target, left.as_ref().map_or(stamp, |left| left.stamp));
    after.tell(target.path(), event);
    let said = said(&path, event, &change) + &left.map(|left| left.words()).unwrap_or_default();

    Ok(Output::new(target.title(), said)
        .meta("diagnostics", json!({}))
        .meta("filediff", change.diff.of_file(&path))
        .meta("diff", change.diff.patch)
        .meta("truncated", false))
}

/// Makes the file with the first edit's new text; further edits work on that.
async fn creation(
    files: &Files,
    call: &Call,
    target: &Target,
    mut edits: Vec<Replacement>,
) -> Result<Change, ToolError> {
    let path = target.path().display().to_string();
    let own = call.ask(Access::internal(vec![Effect::Read(target.path().to_owned())])).await?;
    match files.open(&own, target).await {
        Err(FilesError::Missing { .. }) => {}
        Ok(_) => {
            return Err(ToolError::Failed(format!(
                "{path} exists, so oldString cannot be empty; put there what is to be replaced, or replace the \
                 whole file with write"
            )));
        }
        Err(error) => return Err(error).tell_model(),
    }
    let first = edits.remove(0).new;
    Work { path, old: None, file: Text::new(&first), edits }.change().await
}

async fn replacement(
    files: &Files,
    call: &Call,
    target: &Target,
    edits: Vec<Replacement>,
) -> Result<Change, ToolError> {
    // What is refused is explained with lines of the file, so this is a look at it like any other.
    let access = Access::new("read", target.title()).with(Effect::Read(target.path().to_owned()));
    let grant = call.ask(missing::with_reading(access, files, target)).await?;
    let (bytes, stamp) = match files.read_stamped(&grant, target, MAX_FILE).await {
        Err(FilesError::Missing { .. }) => {
            let otherwise = "Look for the right path, or make the file with an empty oldString";
            return Err(ToolError::Failed(missing::told_or(files, &grant, target, otherwise).await));
        }
        read => read.map_err(|error| cannot_read(target, error))?,
    };
    unchanged(call, target, stamp)?;
    let path = target.path().display().to_string();
    let (bytes, file) = Text::read_beside(bytes).await;
    let Some(file) = file else {
        let advice = "and editing would damage it; change it with a program in bash";
        return Err(ToolError::Failed(format!("{path} is {NO_TEXT}, {advice}")));
    };
    Work { path, old: Some(bytes), file, edits }.change().await
}

/// All that is needed to work out a change.
struct Work {
    path: String,
    /// The bytes of the file; `None` for one that the first edit makes.
    old: Option<Vec<u8>>,
    file: Text,
    /// Without the one that makes the file.
    edits: Vec<Replacement>,
}

impl Work {
    /// Works it out without holding up whoever else runs on this thread.
    async fn change(self) -> Result<Change, ToolError> {
        let size = self.file.text.len() + self.edits.iter().map(|edit| edit.old.len() + edit.new.len()).sum::<usize>();
        if size <= EDITED_AT_ONCE { self.made() } else { beside(move || self.made()).await }
    }

    fn made(self) -> Result<Change, ToolError> {
        let Self { path, old, file, edits } = self;
        let before = usize::from(old.is_none());
        let refused = |refusal: Refusal| {
            let refusal = Refusal { edit: refusal.edit + before, ..refusal };
            ToolError::Failed(explain(&path, &refusal, edits.len() + before))
        };
        let Applied { content, places, how } = apply(&file.text, &edits).map_err(refused)?;
        let was = if old.is_some() { lf(&file.text) } else { "".into() };
        let diff = Diff::new(&path, &was, &lf(&content));
        let new = Text { text: content, ..file }.bytes().tell_model()?;
        Ok(Change { old, new, diff, places, how })
    }
}

fn said(path: &str, event: FileChange, change: &Change) -> String {
    let Diff { additions, deletions, .. } = change.diff;
    let mut text = match (event, change.places) {
        (FileChange::Add, _) => format!("Created {path} ({}).", count_lines(additions)),
        (_, 1) => format!("Edited {path} (lines: +{additions} -{deletions})."),
        (_, places) => format!("Edited {path} in {places} places (lines: +{additions} -{deletions})."),
    };
    if let Some(what) = change.how.iter().max().and_then(|how| how.overlooked()) {
        text.push_str(&format!(" oldString was not exact ({what}); the file's own text was kept where it stays."));
    }
    text
}

fn cannot_read(target: &Target, error: FilesError) -> ToolError {
    let path = target.path().display();
    ToolError::Failed(match error {
        FilesError::TooBig { size, max, .. } => {
            format!("{path} has {size} bytes; edit takes files of up to {max}. Change it with a program in bash")
        }
        error => return Err::<(), _>(error).tell_model().err().unwrap_or(ToolError::Cancelled),
    })
}
