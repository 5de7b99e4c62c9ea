//! `haft completion`: a script that completes haft's arguments in a shell.

use anyhow::Result;
use clap::CommandFactory;

use crate::args::{Cli, Completion};
use crate::render;
use crate::report::Exit;

pub(crate) fn run(args: Completion) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "haft", &mut script);
    render::say(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What bash is told to offer behind `option` of `haft run`.
    fn offered(option: &str) -> String {
        let mut script = Vec::new();
        clap_complete::generate(clap_complete::Shell::Bash, &mut Cli::command(), "haft", &mut script);
        let script = String::from_utf8(script).unwrap();
        let (_, run) = script.split_once("\n        haft__subcmd__run)").unwrap();
        let (_, behind) = run.split_once(&format!("{option})\n")).unwrap();
        behind.split_once(";;").unwrap().0.to_owned()
    }

    #[test]
    fn files_are_offered_where_files_are_wanted() {
        assert!(offered("--file").contains("compgen -f") && offered("--record").contains("compgen -f"));
        assert!(offered("--dir").contains("plusdirs") && !offered("--dir").contains("compgen -f"));
        assert!(offered("--format").contains("default json"));
        for name in ["--agent", "--session", "--command", "--variant", "--title"] {
            assert!(!offered(name).contains("compgen -f"), "{name}: {}", offered(name));
        }
    }
}
