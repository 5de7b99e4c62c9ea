//! The variables a command gets. Pure.

use std::ffi::OsString;

/// Variables whose names are one of these, or end with one after an underscore, are not passed on.
const SECRET_WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASS", "PAT"];
/// Nor are those whose names end with one of these, as in `PGPASSWORD`.
const SECRET_ENDINGS: [&str; 5] = ["PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIALS", "APIKEY"];
/// What tells a program that an agent runs it.
const MARKS: [(&str, &str); 3] = [("HAFT", "1"), ("AGENT", "1"), ("OPENCODE", "1")];

/// The variables a command gets, from those of this program.
pub(crate) fn environment(
    ours: impl Iterator<Item = (OsString, OsString)>,
    secrets: &[String],
    added: &[(String, String)],
) -> Vec<(OsString, OsString)> {
    let secret = |name: &OsString| {
        let name = name.to_string_lossy().to_uppercase();
        let last_word = name.rsplit('_').next().unwrap_or(&name);
        SECRET_WORDS.contains(&last_word)
            || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
            || secrets.iter().any(|secret| secret.to_uppercase() == name)
    };
    let marks = MARKS.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let added = added.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    ours.filter(|(name, _)| !secret(name)).chain(marks).chain(added).collect()
}

/// Variables that lead to sockets of other programs, which a command in a cage cannot reach.
const SOCKETS: [&str; 2] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// Leads a command in a cage to where it may write: `set` takes the place of what these variables were.
pub(crate) fn lead(variables: &mut Vec<(OsString, OsString)>, set: &[(String, String)]) {
    let goes = |name: &OsString| SOCKETS.iter().any(|one| name == one) || set.iter().any(|(one, _)| name == &**one);
    variables.retain(|(name, _)| !goes(name));
    variables.extend(set.iter().map(|(name, value)| (name.into(), value.into())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caged_command_is_led_to_its_own_folders() {
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let mut variables = vec![pair("TMPDIR", "/tmp"), pair("A", "1"), pair("XDG_RUNTIME_DIR", "/run/user/1")];
        lead(&mut variables, &[("TMPDIR".to_owned(), "/s/tmp".to_owned())]);
        assert_eq!(variables, [pair("A", "1"), pair("TMPDIR", "/s/tmp")]);
    }
}
