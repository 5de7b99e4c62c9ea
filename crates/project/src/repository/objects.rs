//! Contents out of a repository, by one `git cat-file` for all that are wanted.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::Blob;

/// A running `git cat-file`. It ends with this.
#[derive(Debug)]
pub struct Blobs {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Blobs {
    /// Starts it for the repository of the work tree `top`. Nothing of its settings that runs anything is used, and nothing
    /// is fetched. `None` where there is no git.
    pub fn open(top: &Path) -> Option<Self> {
        let mut command = Command::new("git");
        command
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never"])
            .args(["-c", "core.commitGraph=false", "cat-file", "--batch"])
            .current_dir(top)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
            command.env_remove(name);
        }
        command
            .envs([("GIT_NO_LAZY_FETCH", "1"), ("GIT_NO_REPLACE_OBJECTS", "1"), ("GIT_OPTIONAL_LOCKS", "0")])
            .envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_PAGER", "cat"), ("GIT_CONFIG_NOSYSTEM", "1")]);
        let mut child = command.spawn().ok()?;
        let (input, output) = (child.stdin.take(), child.stdout.take()?);
        Some(Self { child, input, output: BufReader::new(output) })
    }

    /// The content called `blob`, if it has exactly `size` bytes.
    pub fn get(&mut self, blob: Blob, size: u64) -> Option<Vec<u8>> {
        let input = self.input.as_mut()?;
        writeln!(input, "{}", blob.to_hex()).ok()?;
        input.flush().ok()?;
        let mut line = String::new();
        (&mut self.output).take(200).read_line(&mut line).ok()?;
        let mut words = line.split_whitespace();
        let (name, kind, len) = (words.next()?, words.next()?, words.next());
        if kind != "blob" || name != blob.to_hex() {
            return None;
        }
        let len: u64 = len?.parse().ok()?;
        let mut content = Vec::new();
        if len == size {
            (&mut self.output).take(len).read_to_end(&mut content).ok()?;
        } else {
            std::io::copy(&mut (&mut self.output).take(len), &mut std::io::sink()).ok()?;
        }
        let mut end = [0];
        self.output.read_exact(&mut end).ok()?;
        (len == size && content.len() as u64 == size).then_some(content)
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        // It ends when nobody asks any more.
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tracked, Tree, Was};

    #[test]
    fn what_is_clean_comes_out_of_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let git = |args: &[&str]| {
            let done = Command::new("git").args(args).current_dir(&top).output().unwrap();
            assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "-q"]);
        std::fs::create_dir(top.join("dir")).unwrap();
        for (name, text) in [("a", "clean"), ("dir/b", "soon dirty"), ("c.bin", "filtered")] {
            std::fs::write(top.join(name), text).unwrap();
        }
        std::fs::write(top.join(".gitattributes"), "*.bin filter=x\n").unwrap();
        // Older than the index, so that git itself has no doubt.
        for name in ["a", "dir/b", "c.bin", ".gitattributes"] {
            let file = std::fs::File::options().append(true).open(top.join(name)).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 5)).unwrap();
        }
        git(&["add", "."]);
        std::fs::write(top.join("dir/b"), "dirty now!").unwrap();
        std::fs::write(top.join("new"), "new").unwrap();
        let mut tree = Tree::<u8>::new(top.clone(), None, vec![]).unwrap();
        let tracked = Tracked::read(&top).unwrap();
        let mut blobs = Blobs::open(&top).unwrap();
        let mut found = Vec::new();
        assert!(tree.look().unwrap().is_first);
        let mut all: Vec<_> = (0..tree.places()).flat_map(|place| tree.found_in(place)).collect();
        all.sort_by(|one, other| one.path.cmp(&other.path));
        for diff in all {
            assert_eq!(diff.was, Was::Unknown);
            let seen = diff.now.unwrap();
            let Some(blob) = tracked.blob(&diff.path, &seen) else { continue };
            let content = blobs.get(blob, seen.size).unwrap();
            found.push((
                diff.path.strip_prefix(&top).unwrap().display().to_string(),
                String::from_utf8(content).unwrap(),
            ));
            assert_eq!(blobs.get(blob, seen.size + 1), None);
        }
        let found: Vec<(&str, &str)> = found.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(found, [(".gitattributes", "*.bin filter=x\n"), ("a", "clean")]);
        assert_eq!(blobs.get(Blob::new(&[7; 20]).unwrap(), 1), None);
    }
}
