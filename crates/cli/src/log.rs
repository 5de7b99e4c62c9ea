//! The log file: bounded, rotated at start, never in anybody's way.

mod told;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::MakeWriterExt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use self::told::Told;
use crate::render;

/// Size at which a new file is begun when the program starts, in bytes.
const ROTATE_AT: u64 = 2 * 1024 * 1024;
/// Old files that are kept.
const KEPT: usize = 3;
/// Most bytes that one process writes.
const MAX_WRITTEN: u64 = 8 * 1024 * 1024;

/// Starts to log into `folder`, and to stderr as well if `print`. If `verbose`, stderr is told in a line what haft does as
/// it does it. A log that cannot be written is no reason not to work.
pub(crate) fn start(folder: &Path, print: bool, verbose: bool) {
    let level = std::env::var("HAFT_LOG").unwrap_or_else(|_| if print { "debug" } else { "info" }.to_owned());
    // What libraries tell is noise below a warning.
    let filter = EnvFilter::try_new(format!("warn,{}", own(&level))).unwrap_or_else(|_| EnvFilter::new("warn"));
    let file = Bounded { inner: Mutex::new(open(folder).map(|file| (file, 0))) };
    let base = tracing_subscriber::fmt::layer().with_ansi(false).with_target(true);
    let base = match print {
        true => base.with_writer(file.and(|| Beside)).boxed(),
        false => base.with_writer(file).boxed(),
    };
    let told = verbose.then(|| Told.with_filter(EnvFilter::new("off,haft=info")));
    // Only a second start could fail, and then the first one goes on.
    drop(tracing_subscriber::registry().with(base.with_filter(filter)).with(told).try_init());
}

/// Standard error, above what is drawn on the terminal.
struct Beside;

impl Write for Beside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        render::print_beside(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A bare level means haft's own crates, whose targets all begin with the name.
fn own(level: &str) -> String {
    if level.contains(['=', ',']) { level.to_owned() } else { format!("haft={level}") }
}

fn open(folder: &Path) -> Option<File> {
    std::fs::create_dir_all(folder).ok()?;
    let path = folder.join("haft.log");
    if std::fs::metadata(&path).is_ok_and(|meta| meta.len() >= ROTATE_AT) {
        let old = |n: usize| folder.join(format!("haft.log.{n}"));
        for n in (1..KEPT).rev() {
            // The first rotations have nothing to move yet.
            let _ = std::fs::rename(old(n), old(n + 1));
        }
        let _ = std::fs::rename(&path, old(1));
    }
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().create(true).append(true).mode(0o600).open(path).ok()
}

/// A file and how much this process wrote to it.
struct Bounded {
    inner: Mutex<Option<(File, u64)>>,
}

struct Line<'a>(&'a Bounded);

impl<'a> MakeWriter<'a> for Bounded {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        Line(self)
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.0.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((file, written)) = inner.as_mut() {
            *written += bytes.len() as u64;
            if *written > MAX_WRITTEN || file.write_all(bytes).is_err() {
                *inner = None;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_writes_no_more_than_its_share() {
        let folder = tempfile::tempdir().unwrap();
        let file = Bounded { inner: Mutex::new(open(folder.path()).map(|file| (file, 0))) };
        let line = vec![b'x'; 64 * 1024];
        for _ in 0..300 {
            file.make_writer().write_all(&line).unwrap();
        }
        let size = std::fs::metadata(folder.path().join("haft.log")).unwrap().len();
        assert_eq!(size, MAX_WRITTEN);
    }

    #[test]
    fn a_full_file_is_put_aside_and_few_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.log");
        for round in 0..KEPT + 3 {
            std::fs::write(&path, vec![b'x'; ROTATE_AT as usize + round]).unwrap();
            open(folder.path()).unwrap();
        }
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["haft.log", "haft.log.1", "haft.log.2", "haft.log.3"]);
        assert_eq!(std::fs::metadata(path).unwrap().len(), 0);
    }
}
