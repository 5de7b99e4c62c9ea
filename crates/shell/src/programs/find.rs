//! `find`: where it looks, what it runs on what it finds.

use crate::analysis::Touching;
use crate::judge::Command;
use crate::text::{Arg, Kind, Text};
use crate::walk::Walk;

/// What "always" may cover: nothing when it does more than look.
pub(crate) fn run(walk: &mut Walk<'_>, command: Command<'_>, always: Option<String>) -> Option<String> {
    let args = command.args;
    let starts = |arg: &&Arg| !arg.start.starts_with(['-', '(', '!', ')', ',']) || arg.dynamic;
    // Some options stand before the folders; the second line is BSD's.
    let before = |arg: &&Arg| {
        matches!(arg.start.as_str(), "-H" | "-L" | "-P" | "--" | "-O0" | "-O1" | "-O2" | "-O3")
            || matches!(arg.start.as_str(), "-E" | "-X" | "-d" | "-s" | "-x")
    };
    let skip = args.iter().take_while(before).count();
    if args.get(skip).is_some_and(|arg| arg.start == "-D" || arg.start == "-f") {
        walk.unknown("where find looks cannot be told");
    }
    let mut roots: Vec<Arg> = args.iter().skip(skip).take_while(starts).cloned().collect();
    let rest = args.get(skip + roots.len()..).unwrap_or_default();
    if roots.is_empty() {
        roots.push(Arg::plain("."));
    }
    walk.touch_all(&roots, Touching::Read);

    let (mut at, mut harmless) = (0, true);
    while let Some(arg) = rest.get(at) {
        at += 1;
        let Some(text) = arg.known().filter(|_| arg.one || !arg.dynamic) else {
            if arg.may_be_option() || !arg.one {
                walk.unknown("what find does is not known before the run");
            }
            continue;
        };
        match text.as_str() {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                harmless = false;
                let end = |arg: &Arg| arg.literal().is_some_and(|text| text == ";" || text == "+");
                let length = rest.get(at..).unwrap_or_default().iter().position(end);
                let Some(length) = length else {
                    walk.unknown("what find runs has no end");
                    return None;
                };
                let inner: Vec<Arg> = rest[at..at + length].iter().map(|arg| filled(arg, &roots)).collect();
                walk.run_by_another(&inner, false);
                at += length + 1;
            }
            "-delete" => {
                harmless = false;
                walk.touch_all(&roots, Touching::Write);
                // A rule about removing, or leave to look, is not got round with it.
                let named: Vec<&str> = roots.iter().map(|root| root.raw.as_str()).collect();
                let plainly = format!("rm -r {}", named.join(" "));
                if !walk.out.spellings.contains(&plainly) {
                    walk.out.spellings.push(plainly);
                }
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                harmless = false;
                if let Some(file) = rest.get(at) {
                    walk.touch(file, Touching::Write);
                }
                at += 1;
            }
            "-files0-from" => walk.unknown("where find looks is not known before the run"),
            "-newer" | "-samefile" | "-anewer" | "-cnewer" => {
                if let Some(file) = rest.get(at) {
                    walk.touch(file, Touching::Read);
                }
                at += 1;
            }
            _ => {}
        }
    }
    always.filter(|_| harmless)
}

/// An argument of what is run, with what is found in the place of `{}`.
fn filled(arg: &Arg, roots: &[Arg]) -> Arg {
    if !arg.known().is_some_and(|text| text.contains("{}")) {
        return arg.clone();
    }
    let text = arg.known().unwrap_or_default();
    let mut texts = Vec::new();
    let mut dynamic = text != "{}";
    for root in roots {
        dynamic |= root.dynamic;
        for root in &root.texts {
            // Anything beneath it, or itself.
            let mut found = root.clone();
            if !matches!(found.0.last(), Some(('/', _))) {
                found.0.push(('/', Kind::Quoted));
            }
            found.0.push(('*', Kind::Expanded));
            texts.push(found);
        }
    }
    let start = texts.first().map(Text::string).unwrap_or_default();
    Arg { texts, dynamic, choice: true, one: true, variable: true, start, ..arg.clone() }
}
