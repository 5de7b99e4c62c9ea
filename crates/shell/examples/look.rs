//! `cargo run -p haft-shell --example look < lines`: what each line would do.

use std::io::{BufRead, Write};
use std::path::Path;

use haft_shell::{Surroundings, analyse};

fn main() -> std::io::Result<()> {
    let cwd = std::env::current_dir()?;
    let is_dir = |path: &Path| path.is_dir();
    let around = Surroundings::new(&cwd).home(Path::new("/home/u")).is_dir(&is_dir);
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let found = analyse(&line, &around);
        writeln!(out, "{line}")?;
        let commands: Vec<String> = found.commands.iter().map(|one| one.words.join(" ")).collect();
        writeln!(out, "    runs {commands:?}")?;
        let short = |paths: Vec<std::path::PathBuf>| -> Vec<String> {
            paths.iter().map(|path| path.strip_prefix(&cwd).unwrap_or(path).display().to_string()).collect()
        };
        writeln!(out, "    reads {:?} writes {:?}", short(found.reads()), short(found.writes()))?;
        writeln!(out, "    network {} {:?} always {:?}", found.network, found.hosts, found.always)?;
        writeln!(out, "    unknown {:?}", found.unknown)?;
    }
    Ok(())
}
