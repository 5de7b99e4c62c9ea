//! How much may be used: limits that nobody below can raise again.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::cage::Limits;
use crate::launcher::Layer;

/// How much sooner the system ends this process and what comes of it when memory runs out, of at most 1,000.
const FIRST_TO_GO: i32 = 500;

/// Sets `limits`, and that no process leaves an image of its memory behind.
pub(super) fn set(limits: &Limits, layer: Layer) -> Result<(), String> {
    let Limits { processes, memory, file_size, open_files } = *limits;
    // The system counts all processes of the user, whoever started them; in a namespace it begins anew.
    let others = match layer {
        Layer::Alone => std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| running(&text)).unwrap_or(0),
        Layer::Namespaces => 0,
    };
    lower(Resource::Nproc, processes.map(|processes| processes.saturating_add(others)), "processes")?;
    lower(Resource::Data, memory, "memory")?;
    lower(Resource::Fsize, file_size, "the size of files")?;
    lower(Resource::Nofile, open_files, "open files")?;
    lower(Resource::Core, Some(0), "images of memory")?;
    go_first();
    Ok(())
}

fn lower(resource: Resource, most: Option<u64>, what: &str) -> Result<(), String> {
    let Some(most) = most else { return Ok(()) };
    setrlimit(resource, lowered(getrlimit(resource), most))
        .map_err(|errno| format!("the limit of {what} cannot be set: {errno}"))
}

/// `now`, but at most `most`, and never more again.
fn lowered(now: Rlimit, most: u64) -> Rlimit {
    let at_most = |limit: Option<u64>| limit.map_or(most, |limit| limit.min(most));
    Rlimit { current: Some(at_most(now.current)), maximum: Some(at_most(now.maximum)) }
}

/// The processes and threads of the machine, from the text of `/proc/loadavg`.
fn running(loadavg: &str) -> Option<u64> {
    loadavg.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// What is in a cage ends before the programs of the person does. Only a help: where it fails, nothing is promised less.
fn go_first() {
    const FILE: &str = "/proc/self/oom_score_adj";
    let now = std::fs::read_to_string(FILE).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if now.is_some_and(|now| now < FIRST_TO_GO) {
        let _ = std::fs::write(FILE, FIRST_TO_GO.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(now: (Option<u64>, Option<u64>), most: u64, want: (u64, u64)) {
        let got = lowered(Rlimit { current: now.0, maximum: now.1 }, most);
        assert_eq!((got.current, got.maximum), (Some(want.0), Some(want.1)));
    }

    #[test]
    fn a_limit_is_only_ever_lowered() {
        check((None, None), 10, (10, 10));
        check((Some(1024), None), 4096, (1024, 4096));
        check((Some(1024), Some(2048)), 4096, (1024, 2048));
        check((Some(1024), Some(4096)), 100, (100, 100));
    }

    #[test]
    fn what_runs_already_is_read_from_the_load() {
        assert_eq!(running("0.05 0.12 0.67 1/345 12345\n"), Some(345));
        for odd in ["", "0.05 0.12 0.67", "0.05 0.12 0.67 1", "0.05 0.12 0.67 1/x 5"] {
            assert_eq!(running(odd), None, "{odd}");
        }
    }
}
