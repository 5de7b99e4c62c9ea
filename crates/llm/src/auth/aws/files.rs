//! The two files in which Amazon's programs keep profiles.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::Failure;
use super::sources::Environment;

/// Longest file that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// The keys of a section.
pub(super) type Section = BTreeMap<String, String>;

/// What stands in both files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Profiles {
    pub(super) profiles: BTreeMap<String, Section>,
    pub(super) sso_sessions: BTreeMap<String, Section>,
}

impl Profiles {
    /// `config` and `credentials` as they are written. Of keys that both give a profile, those of `credentials` hold.
    pub(super) fn parse(config: &str, credentials: &str) -> Self {
        let mut all = Self::default();
        for (name, section) in sections(config) {
            match name.split_once(char::is_whitespace).map(|(kind, name)| (kind, name.trim())) {
                Some(("profile", name)) => all.profiles.entry(name.to_owned()).or_default().extend(section),
                Some(("sso-session", name)) => all.sso_sessions.entry(name.to_owned()).or_default().extend(section),
                None if name == "default" => all.profiles.entry(name).or_default().extend(section),
                // What Amazon's programs do not take for a profile either.
                Some(_) | None => {}
            }
        }
        for (name, section) in sections(credentials) {
            all.profiles.entry(name).or_default().extend(section);
        }
        all
    }
}

/// The sections of a file. Lines that are further in belong to the key above, and mean nothing here.
fn sections(text: &str) -> Vec<(String, Section)> {
    let mut all: Vec<(String, Section)> = Vec::new();
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) || line.starts_with([' ', '\t']) {
            continue;
        }
        if let Some(rest) = bare.strip_prefix('[') {
            let name = rest.split(']').next().unwrap_or_default().replace(['"', '\''], "");
            all.push((name.trim().to_owned(), Section::new()));
        } else if let (Some((_, section)), Some((key, value))) = (all.last_mut(), bare.split_once('=')) {
            let value = [" #", " ;", "\t#", "\t;"]
                .into_iter()
                .fold(value, |value, mark| value.split_once(mark).map_or(value, |(value, _)| value));
            section.insert(key.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    all
}

/// Where the two files are: `config`, then `credentials`.
pub(super) fn places(env: &Environment) -> [Option<PathBuf>; 2] {
    let place = |variable: &str, name: &str| match env.get(variable) {
        Some(path) => Some(home(path, env)),
        None => Some(env.home()?.join(".aws").join(name)),
    };
    [place("AWS_CONFIG_FILE", "config"), place("AWS_SHARED_CREDENTIALS_FILE", "credentials")]
}

/// A path that may begin with `~/`.
fn home(path: &str, env: &Environment) -> PathBuf {
    match (path.strip_prefix("~/"), env.home()) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_) | None, _) => PathBuf::from(path),
    }
}

/// What stands in the files now. One that is not there holds nothing.
pub(super) fn read(env: &Environment) -> Result<Profiles, Failure> {
    let [config, credentials] = places(env).map(|path| path.map_or(Ok(None), |path| small(&path)));
    Ok(Profiles::parse(&config?.unwrap_or_default(), &credentials?.unwrap_or_default()))
}

/// The whole of a small file, or `None` where there is none.
pub(super) fn small(path: &Path) -> Result<Option<String>, Failure> {
    let wrong = |what: &str| Failure::wrong(format!("{} cannot be read: {what}", path.display()));
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    // A pipe would be waited for.
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err(wrong("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| wrong(&error.to_string()))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(wrong("it is longer than 1 MiB"));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The region that a profile names, if it and the files are there: `profile`, else that of the environment.
pub fn region_of_profile(profile: Option<&str>, env: &Environment) -> Option<String> {
    let profiles = read(env).ok()?;
    let name = profile.unwrap_or_else(|| env.profile());
    profiles.profiles.get(name)?.get("region").filter(|region| !region.is_empty()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_amazon_writes_them() {
        let config = "# comment\n[default]\nregion = eu-west-1 # here\ns3 =\n  addressing_style = path\n\
                      [profile \"my work\"]\nRole_Arn=arn:aws:iam::1:role/x\nsource_profile = default\n\
                      [sso-session corp]\nsso_region = us-east-1\n[services x]\na = b\n[other]\nregion = no\nlost\n";
        let credentials = "[default]\naws_access_key_id = a=b#c\nregion=us-west-2\n[other]\naws_access_key_id = z\n";
        let got = Profiles::parse(config, credentials);
        let lines: Vec<_> = got.profiles.iter().chain(&got.sso_sessions).map(|one| format!("{one:?}")).collect();
        assert_eq!(
            lines,
            [
                r#"("default", {"aws_access_key_id": "a=b#c", "region": "us-west-2", "s3": ""})"#,
                r#"("my work", {"role_arn": "arn:aws:iam::1:role/x", "source_profile": "default"})"#,
                r#"("other", {"aws_access_key_id": "z"})"#,
                r#"("corp", {"sso_region": "us-east-1"})"#,
            ]
        );
        assert_eq!(Profiles::parse("a = b\n]\n[", ""), Profiles::default());
    }

    #[test]
    fn a_file_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        assert_eq!(small(&path), Ok(None));
        std::fs::write(&path, "x".repeat(MAX_FILE as usize)).unwrap();
        assert!(small(&path).unwrap().is_some());
        std::fs::write(&path, "x".repeat(MAX_FILE as usize + 1)).unwrap();
        assert_eq!(
            small(&path),
            Err(Failure::Wrong(format!("{} cannot be read: it is longer than 1 MiB", path.display())))
        );
        assert!(small(folder.path()).is_err());
    }

    #[test]
    fn the_files_are_where_the_environment_says() {
        let env = |pairs: &[(&str, &str)]| {
            let pairs: BTreeMap<_, _> = pairs.iter().copied().collect();
            places(&Environment::of(&|name| pairs.get(name).map(|value| (*value).to_owned())))
        };
        let both = |config: &str, credentials: &str| [Some(PathBuf::from(config)), Some(PathBuf::from(credentials))];
        assert_eq!(env(&[("HOME", "/h")]), both("/h/.aws/config", "/h/.aws/credentials"));
        let moved = [("HOME", "/h"), ("AWS_CONFIG_FILE", "~/c"), ("AWS_SHARED_CREDENTIALS_FILE", "/x/k")];
        assert_eq!(env(&moved), both("/h/c", "/x/k"));
        assert_eq!(env(&[]), [None, None]);
    }
}
