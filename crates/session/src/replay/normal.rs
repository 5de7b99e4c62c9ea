//! Text without what differs from run to run: times, ids, names of temporary files.

/// What stands for something that differs.
const ANY: &str = "…";
/// What the ids of haft begin with.
const IDS: [&str; 9] = ["ses_", "msg_", "prt_", "per_", "que_", "tool_", "task_", "job_", "evt_"];
/// How many letters and digits an id has behind that, at least.
const LEAST: usize = 20;
/// Folders for temporary files.
const TEMPORARY: [&str; 3] = ["/tmp/", "/var/tmp/", "/private/var/"];
/// Behind a number, what makes it a time that something took.
const UNITS: [&str; 8] = ["s", "ms", "us", "µs", "ns", "sec", "secs", "seconds"];

/// How the text of one run is made comparable with that of another.
#[derive(Debug, Clone, Default)]
pub struct Normal {
    /// Names that stand for others, such as the folder of the copy for that of the project. The first that fits counts.
    pub names: Vec<(String, String)>,
}

impl Normal {
    /// `text` without what differs from run to run.
    pub fn of(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in self.names.iter().filter(|(from, _)| !from.is_empty()) {
            text = text.replace(from.as_str(), to);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|letter| is_word(letter) != is_word(first)).unwrap_or(rest.len());
            let (piece, behind) = rest.split_at(end);
            rest = behind;
            if is_word(first) { out.push_str(&word(piece, behind)) } else { out.push_str(piece) }
        }
        out
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || "_-./:+~".contains(letter)
}

fn word(word: &str, behind: &str) -> String {
    if let Some(folder) = TEMPORARY.into_iter().find(|folder| word.starts_with(folder)) {
        return format!("{folder}{ANY}");
    }
    // A full stop or a colon behind it is no part of it.
    let bare = word.trim_end_matches(['.', ':']);
    let tail = &word[bare.len()..];
    // A file may be called by an id, and so may a folder on the way to it.
    let names: Vec<&str> = bare.split('/').collect();
    if names.iter().any(|name| kind(name).is_some()) {
        let named = |name: &&str| kind(name).map_or_else(|| (*name).to_owned(), |kind| format!("{kind}{ANY}"));
        return format!("{}{tail}", names.iter().map(named).collect::<Vec<_>>().join("/"));
    }
    if is_time(bare) || is_date(bare) || is_span(bare, behind) || is_address(bare) {
        return format!("{ANY}{tail}");
    }
    word.to_owned()
}

/// What the id `name` begins with, if it is one.
fn kind(name: &str) -> Option<&'static str> {
    let is_id = |rest: &str| rest.bytes().take_while(u8::is_ascii_alphanumeric).count() >= LEAST;
    IDS.into_iter().find(|kind| name.strip_prefix(kind).is_some_and(is_id))
}

/// `12:30:05`, perhaps with a fraction.
fn is_time(word: &str) -> bool {
    let pieces: Vec<&str> = word.split(':').collect();
    let digits = |piece: &str| piece.len() == 2 && piece.bytes().all(|byte| byte.is_ascii_digit());
    let second = |piece: &str| digits(piece.split('.').next().unwrap_or_default());
    matches!(pieces[..], [hour, minute, rest] if digits(hour) && digits(minute) && second(rest))
}

/// `2026-05-01`, perhaps with a time.
fn is_date(word: &str) -> bool {
    let day = word.get(..10).unwrap_or_default();
    let shape: String = day.chars().map(|letter| if letter.is_ascii_digit() { '9' } else { letter }).collect();
    let behind = word.get(10..).unwrap_or_default();
    shape == "9999-99-99" && (behind.is_empty() || behind.starts_with(['T', '_']))
}

/// `0.03s`, `12ms`, or `0.03` with a unit behind a blank.
fn is_span(word: &str, behind: &str) -> bool {
    let digits = word.trim_end_matches(|letter: char| letter.is_alphabetic());
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let unit = &word[digits.len()..];
    let next =
        behind.strip_prefix(' ').map_or("", |rest| rest.split(|letter| !is_word(letter)).next().unwrap_or_default());
    let next = next.trim_end_matches('.');
    is_number && (UNITS.contains(&unit) || unit.is_empty() && UNITS.contains(&next))
}

/// `0x7f31a0`, where something stood in memory.
fn is_address(word: &str) -> bool {
    let digits = word.strip_prefix("0x").unwrap_or_default();
    digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_goes() {
        let normal = Normal { names: vec![("/x/copy".to_owned(), "/home/me/p".to_owned())] };
        let row = |text: &str, want: &str| assert_eq!(normal.of(text), want, "{text}");
        row("in /x/copy/a.rs:12", "in /home/me/p/a.rs:12");
        row("ok. 3 passed; finished in 0.03s", "ok. 3 passed; finished in …");
        row("took 12 ms, not 12 apples", "took … ms, not 12 apples");
        row("Ran 3 tests in 0.001 seconds.", "Ran 3 tests in … seconds.");
        row("at 12:30:05 on 2026-05-01", "at … on …");
        row("2026-05-01T12:30:05.123Z x", "… x");
        row("see ses_ffe5dfc516cdeffeDn8wYAEJ52VB6r.", "see ses_….");
        row("all of it: out/tool_h01a205f87f67001rkHbTsATCVTWXC: grep it", "all of it: out/tool_…: grep it");
        row("in TREES/task_h01a20af1c284001B7qRRUUXNuzxX5/src/a.rs:7", "in TREES/task_…/src/a.rs:7");
        row("ses_1 stays", "ses_1 stays");
        row("task_that_has_a_long_name_of_words stays", "task_that_has_a_long_name_of_words stays");
        row("wrote /tmp/pytest-3/out.txt", "wrote /tmp/…");
        row("at 0x7f31a0ff", "at …");
        row("0x12 and version 1.2.3 and 1.5 stay", "0x12 and version 1.2.3 and 1.5 stay");
        row("src/a.rs:12:5: error", "src/a.rs:12:5: error");
    }
}
