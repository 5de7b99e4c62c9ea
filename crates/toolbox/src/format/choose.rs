//! Which formatters are for a file in this project, and why not the others. Pure: what there is on the disk is asked of
//! [`Eyes`].

use std::path::{Path, PathBuf};

use super::catalogue::{Formatter, Reads, Sign};

/// What can be seen from a file.
pub(super) trait Eyes {
    /// The program called `name`, on `PATH`.
    fn program(&self, name: &str) -> Option<PathBuf>;
    /// The program at `path`, which is relative to the nearest folder above the file that has it.
    fn above(&self, path: &str) -> Option<PathBuf>;
    /// What the files called `name` hold in the folders above the file, nearest first.
    fn texts(&self, name: &str) -> Vec<String>;
    /// Whether `path` lies in the project.
    fn is_inside(&self, path: &Path) -> bool;
}

/// Why a formatter is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The settings say so.
    #[error("the settings switch it off")]
    Disabled,
    /// It is for other files.
    #[error("it is for other files")]
    OtherFiles,
    /// It counts only where the user tries what may change.
    #[error("it is experimental; HAFT_EXPERIMENTAL_OXFMT=1 has it count")]
    Experimental,
    /// Nothing in the project says that it is used.
    #[error("the project does not use it: there is no {0}")]
    NoSign(String),
    /// Its program is not there.
    #[error("{0} is not installed")]
    NoProgram(String),
    /// It would run what stands in the project.
    #[error("it runs what stands in the project, which is not trusted; --trust says that it is")]
    Untrusted,
    /// Another one, which is used, does the same.
    #[error("{0} does it")]
    Another(String),
}

/// Whether the formatter is for files called `name`.
pub(super) fn fits(formatter: &Formatter, name: &str) -> bool {
    formatter.extensions.iter().any(|end| name.len() > end.len() && name.ends_with(end.as_str()))
}

/// The program of each formatter, or why it is not used.
pub(super) fn choose(
    all: &[Formatter],
    trusted: bool,
    experimental: bool,
    eyes: &dyn Eyes,
) -> Vec<Result<PathBuf, Why>> {
    let alone: Vec<Result<PathBuf, Why>> =
        all.iter().map(|formatter| judge(formatter, trusted, experimental, eyes)).collect();
    let is_used = |name: &str| all.iter().zip(&alone).any(|(one, judged)| one.name == name && judged.is_ok());
    let last = |(formatter, judged): (&Formatter, &Result<PathBuf, Why>)| match &formatter.unless {
        Some(other) if judged.is_ok() && is_used(other) => Err(Why::Another(other.clone())),
        _ => judged.clone(),
    };
    all.iter().zip(&alone).map(last).collect()
}

fn judge(formatter: &Formatter, trusted: bool, experimental: bool, eyes: &dyn Eyes) -> Result<PathBuf, Why> {
    if formatter.disabled {
        return Err(Why::Disabled);
    }
    if formatter.experimental && !experimental {
        return Err(Why::Experimental);
    }
    if !formatter.when.is_empty() && !formatter.when.iter().any(|sign| shows(sign, eyes)) {
        return Err(Why::NoSign(in_words(&formatter.when)));
    }
    let program = program(formatter, eyes)?;
    match trusted || !(formatter.runs_project || eyes.is_inside(&program)) {
        true => Ok(program),
        false => Err(Why::Untrusted),
    }
}

fn program(formatter: &Formatter, eyes: &dyn Eyes) -> Result<PathBuf, Why> {
    let name = formatter.command.first().map(String::as_str).unwrap_or_default();
    let path = Path::new(name);
    let found = if path.is_absolute() {
        Some(path.to_owned())
    } else if name.contains('/') {
        eyes.above(name.trim_start_matches("./"))
    } else {
        let beside = formatter.beside.as_ref().and_then(|folder| eyes.above(&format!("{folder}/{name}")));
        beside.or_else(|| eyes.program(name))
    };
    found.ok_or_else(|| Why::NoProgram(name.to_owned()))
}

fn shows(sign: &Sign, eyes: &dyn Eyes) -> bool {
    let fits = |text: &String| {
        sign.says.as_ref().is_none_or(|says| text.contains(says.as_str()))
            && sign.needs.as_ref().is_none_or(|package| depends(text, package))
    };
    eyes.texts(&sign.file).iter().any(fits)
}

/// The keys of `package.json` and `composer.json` under which packages stand that a project depends on.
const DEPENDENCIES: [&str; 6] =
    ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "require", "require-dev"];

fn depends(text: &str, package: &str) -> bool {
    let Ok(serde_json::Value::Object(manifest)) = serde_json::from_str(text) else { return false };
    DEPENDENCIES.iter().any(|key| manifest.get(*key).is_some_and(|list| list.get(package).is_some()))
}

fn in_words(when: &[Sign]) -> String {
    let word = |sign: &Sign| match (&sign.needs, &sign.says) {
        (Some(package), _) => format!("{} that depends on {package}", sign.file),
        (None, Some(says)) => format!("{} that names {says}", sign.file),
        (None, None) => sign.file.clone(),
    };
    when.iter().map(word).collect::<Vec<_>>().join(", no ")
}

/// Longest word that is taken from a file of the project, in bytes.
const MAX_READ: usize = 32;

/// `command` with what files of the project say in it.
pub(super) fn filled(formatter: &Formatter, eyes: &dyn Eyes) -> Vec<String> {
    let Some(Reads { word, file, behind, otherwise }) = &formatter.reads else { return formatter.command.clone() };
    let is_plain = |said: &&str| said.len() <= MAX_READ && said.chars().all(|c| c.is_ascii_alphanumeric());
    let texts = eyes.texts(file);
    let said = texts.iter().find_map(|text| Some(text.split_once(behind.as_str())?.1.split_once('"')?.0));
    let said = said.filter(is_plain).unwrap_or(otherwise);
    formatter.command.iter().map(|one| one.replace(word.as_str(), said)).collect()
}

/// The words of `command` for `file`, with the program found at `program`. Pure.
///
/// In a word that is a script a name may be a command: where the file's is not plain it stays for whoever reads the script to
/// fill in, from the variable `FILE`.
pub(super) fn words(command: &[String], program: &Path, file: &str) -> Vec<String> {
    let is_plain = file.chars().all(|c| c.is_alphanumeric() || "/._-+@=:,".contains(c));
    let is_script = |word: &str| word.contains(|c: char| c.is_whitespace() || "'\"`;|&<>(){}".contains(c));
    let fill = |word: &String| match !is_plain && is_script(word) {
        true => word.clone(),
        false => word.replace("$FILE", file),
    };
    [program.display().to_string()].into_iter().chain(command.iter().skip(1).map(fill)).collect()
}

#[cfg(test)]
mod tests;
