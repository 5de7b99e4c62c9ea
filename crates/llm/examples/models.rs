//! Packs the published list of models into the file that is built in, and back.
//!
//! ```sh
//! cargo run -p haft-llm --example models -- pack models.json     # writes crates/llm/data/models.{pack,sha256}
//! cargo run -p haft-llm --example models -- unpack > models.json
//! ```

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use haft_llm::catalogue::Catalogue;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pack", file] => {
            let list = std::fs::read(file).with_context(|| format!("cannot read {file}"))?;
            let packed = Catalogue::pack(&list)?;
            // The file must come out of it again: with blanks between its parts it would not.
            let again = Catalogue::open(packed.clone().into())?.published()?;
            if again.as_bytes() != list {
                bail!("{file} has blanks between its vendors; write it without (jq -cj .)");
            }
            let digest = ring::digest::digest(&ring::digest::SHA256, &list);
            let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            std::fs::write(data.join("models.pack"), packed)?;
            std::fs::write(data.join("models.sha256"), format!("{digest}  models.json\n"))?;
        }
        ["unpack"] => std::io::stdout().write_all(Catalogue::built_in().published()?.as_bytes())?,
        ["time", vendor, model] => {
            let begin = Instant::now();
            let catalogue = Catalogue::built_in();
            let read = begin.elapsed();
            let found = catalogue.model(vendor, model).is_some();
            let both = begin.elapsed();
            let mut out = std::io::stdout();
            writeln!(out, "{{\"index_us\":{},\"model_us\":{},\"found\":{found}}}", read.as_micros(), both.as_micros())?;
        }
        _ => bail!("say `pack FILE`, `unpack` or `time VENDOR MODEL`"),
    }
    Ok(())
}
