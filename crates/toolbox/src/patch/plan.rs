//! What a patch comes to, file by file, before anything is touched. Pure.
//!
//! Sections work on what those before them left: a file may be changed twice, or go and come again.

use super::apply::apply;
use super::grammar::Section;
use crate::text::{NO_TEXT, Text};

/// The paths of a section as numbers of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The file that it is about.
    pub(super) file: usize,
    /// Where that goes; the same number where it stays.
    pub(super) to: usize,
}

/// What becomes of one file. Those of which nothing becomes are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Which file.
    pub(super) file: usize,
    pub(super) what: What,
}

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// It is made, or replaced as a whole.
    Add(Vec<u8>),
    /// Its content changes, or would if the patch did anything.
    Update(Vec<u8>),
    /// It comes from another file that goes.
    Move {
        from: usize,
        bytes: Vec<u8>,
    },
    Delete,
}

impl What {
    /// What the file holds then; `None` where it is gone.
    pub(super) fn bytes(&self) -> Option<&Vec<u8>> {
        match self {
            What::Add(bytes) | What::Update(bytes) | What::Move { bytes, .. } => Some(bytes),
            What::Delete => None,
        }
    }

    pub(super) fn bytes_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            What::Add(bytes) | What::Update(bytes) | What::Move { bytes, .. } => Some(bytes),
            What::Delete => None,
        }
    }
}

/// What a file holds while the patch is worked out.
#[derive(Debug, Clone)]
struct Now {
    bytes: Vec<u8>,
    /// The file on disk that it was; `None` for one that the patch makes.
    was: Option<usize>,
    /// Whether a section changed it where it is.
    touched: bool,
}

/// Works out what `sections` do to the files that `steps` name, one for each. `old` are the contents of the files, `None`
/// for one that is not there; `names` are for messages.
///
/// # Errors
///
/// A text for the model.
pub(super) fn plan(
    sections: &[Section],
    steps: &[Step],
    old: &[Option<Vec<u8>>],
    names: &[String],
) -> Result<Vec<Outcome>, String> {
    let disk = |(file, bytes): (usize, &Option<Vec<u8>>)| {
        bytes.as_ref().map(|bytes| Now { bytes: bytes.clone(), was: Some(file), touched: false })
    };
    let mut now: Vec<Option<Now>> = old.iter().enumerate().map(disk).collect();
    for (section, step) in sections.iter().zip(steps) {
        let name = &names[step.file];
        let gone = || {
            if old[step.file].is_some() {
                format!("{name} is not there any more: a section above has deleted or moved it")
            } else {
                missing(name, section)
            }
        };
        match section {
            Section::Add { lines, .. } => {
                let bytes: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
                now[step.file] = Some(Now { bytes: bytes.into_bytes(), was: None, touched: true });
            }
            Section::Delete { .. } => {
                if now[step.file].take().is_none() {
                    return Err(gone());
                }
            }
            Section::Update { hunks, .. } => {
                let Some(mut file) = now[step.file].take() else { return Err(gone()) };
                if !hunks.is_empty() {
                    let text = Text::read(&file.bytes).ok_or_else(|| {
                        format!("{name} is {NO_TEXT}, and a patch would damage it; change it with a program in bash")
                    })?;
                    let new = apply(&text.text, hunks).map_err(|refusal| format!("{name}, {refusal}"))?;
                    file.bytes = Text { text: new, ..text }.bytes().map_err(|error| format!("{name}: {error}"))?;
                    file.touched = true;
                }
                now[step.to] = Some(file);
            }
        }
    }
    Ok(outcomes(steps, old, &now))
}

fn missing(name: &str, section: &Section) -> String {
    match section {
        Section::Delete { .. } => format!("{name} does not exist, so it cannot be deleted; leave that section out"),
        Section::Add { .. } | Section::Update { .. } => {
            format!("{name} does not exist; look for the right path, or make it with `*** Add File: {{path}}`")
        }
    }
}

/// In the order in which the patch names the files.
fn outcomes(steps: &[Step], old: &[Option<Vec<u8>>], now: &[Option<Now>]) -> Vec<Outcome> {
    let mut order: Vec<usize> = Vec::new();
    for file in steps.iter().flat_map(|step| [step.file, step.to]) {
        if !order.contains(&file) {
            order.push(file);
        }
    }
    let moved = |file: usize| now.iter().enumerate().any(|(at, now)| at != file && was(now) == Some(file));
    let outcome = |file: usize| {
        let what = match (&old[file], &now[file]) {
            (None, None) => return None,
            (Some(_), None) if moved(file) => return None,
            (Some(_), None) => What::Delete,
            (_, Some(Now { bytes, was: None, .. })) => What::Add(bytes.clone()),
            (_, Some(Now { bytes, was: Some(from), .. })) if *from != file => {
                What::Move { from: *from, bytes: bytes.clone() }
            }
            (_, Some(Now { touched: false, .. })) => return None,
            (_, Some(Now { bytes, .. })) => What::Update(bytes.clone()),
        };
        Some(Outcome { file, what })
    };
    order.into_iter().filter_map(outcome).collect()
}

fn was(now: &Option<Now>) -> Option<usize> {
    now.as_ref().and_then(|now| now.was)
}

#[cfg(test)]
mod tests;
