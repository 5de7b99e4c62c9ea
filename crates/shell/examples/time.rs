//! `cargo run --release -p haft-shell --example time`: how long the analysis of some command lines takes.

use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use haft_shell::{Surroundings, analyse};

fn main() -> std::io::Result<()> {
    let around = Surroundings::new(Path::new("/home/u/p")).home(Path::new("/home/u"));
    let plain = "cargo test -p foo --all-targets 2>&1 | tail -n 20 && git status --short; ";
    let mixed = "for f in src/*.rs; do sed -i \"s/$A/b/\" \"$f\" || echo \"$(basename \"$f\")\" >> log; done\n";
    let doc =
        format!("cat > notes.txt <<'EOF'\n{}EOF\n", "some text that is written to a file, as models do\n".repeat(19));
    let word = format!("echo {}", "word ".repeat(200));
    let lines = [
        ("plain", plain.repeat(14)),
        ("mixed", mixed.repeat(11)),
        ("here-document", doc),
        ("one command", word),
        ("short", "git status".to_owned()),
    ];
    let mut out = std::io::stdout().lock();
    for (name, line) in lines {
        let mut times: Vec<f64> = (0..500)
            .map(|_| {
                let begun = Instant::now();
                black_box(analyse(black_box(&line), &around));
                begun.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        writeln!(
            out,
            "{name}, {} bytes: median {:.0} µs, 95 % {:.0} µs, known {}",
            line.len(),
            times[250],
            times[475],
            analyse(&line, &around).is_known()
        )?;
    }
    Ok(())
}
