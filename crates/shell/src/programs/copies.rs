//! Copying, moving and linking: what comes to stand where.

use std::path::{Path, PathBuf};

use crate::analysis::Touching;
use crate::judge::Command;
use crate::text::Arg;
use crate::walk::Walk;

/// Notes what `from` becomes when `to` is a folder, and where a link leads that is made there.
pub(crate) fn into(walk: &mut Walk<'_>, command: Command<'_>, from: &[&Arg], to: &Arg) {
    let Some(goal) = to.literal() else { return };
    let recursive = command.name == "mv" || command.texts().iter().flatten().any(|text| is_recursive(text));
    let over = |text: &String| {
        text.starts_with("--no-t") || (text.starts_with('-') && !text.starts_with("--") && text.contains('T'))
    };
    if recursive && command.name != "rsync" && command.texts().iter().flatten().any(over) && walk.may_be_folder(&goal) {
        walk.fill(to);
    }
    for arg in from {
        for text in arg.texts.iter().filter(|_| !arg.dynamic) {
            let Some(source) = text.literal() else {
                if walk.may_be_folder(&goal) && may_match_anything(&text.string()) {
                    walk.fill(to);
                }
                continue;
            };
            if command.name == "rsync" && source.ends_with('/') {
                walk.fill(to);
            }
            let name = Path::new(&source).file_name().and_then(|name| name.to_str());
            if walk.may_be_folder(&goal) {
                match name.filter(|_| !source.ends_with("/.") && !source.ends_with("/..")) {
                    Some(name) => walk.touch_path(&format!("{}/{name}", goal.trim_end_matches('/')), Touching::Write),
                    // `cp -r a/. b`: all that is in it.
                    None if recursive => walk.fill(to),
                    None => {}
                }
            }
            if command.name == "ln" {
                link(walk, &source, &goal, name);
            }
        }
    }
}

/// Whether the last name of a pattern begins with a dot, or says nothing.
fn may_match_anything(pattern: &str) -> bool {
    let last = pattern.rsplit('/').next().unwrap_or_default();
    last.starts_with('.') || last.trim_matches(['*', '?']).is_empty() || last.starts_with('[')
}

fn is_recursive(text: &str) -> bool {
    text == "--recursive" || text == "--archive" || (text.starts_with('-') && text.contains(['r', 'R', 'a']))
}

/// A link may be gone through later in the same text, when no disk knows of it yet.
fn link(walk: &mut Walk<'_>, source: &str, goal: &str, name: Option<&str>) {
    for base in walk.places.folders.clone().iter() {
        let goal = base.join(goal);
        let mut ends = vec![goal.clone()];
        ends.extend(name.map(|name| goal.join(name)));
        for end in ends {
            let from = end.parent().map_or_else(|| base.join(source), |above| above.join(source));
            // A link that is not relative to the folder it is in would be relative to the working folder.
            let targets: [PathBuf; 2] = [from, base.join(source)];
            for target in targets {
                walk.link(&end, &target);
            }
        }
    }
}
