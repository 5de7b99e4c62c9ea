//! What stands at a path: the program's own look, which no model ever sees.

use std::fs::File;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, fstat, readlinkat, statat};
use rustix::io::Errno;

use crate::door::{self, FOLDER, kind};
use crate::files::READ;

/// What stands at a path.
#[derive(Debug)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// A plain file.
    File {
        /// It, at its beginning.
        file: File,
        /// Its size in bytes.
        size: u64,
        /// The last twelve bits of its mode.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads: any bytes.
        to: Vec<u8>,
    },
    /// A folder.
    Folder {
        /// The last twelve bits of its mode.
        mode: u32,
    },
    /// Something that nobody can tell, or that is neither: and why.
    Other(String),
}

impl Standing {
    /// What stands at the true path `path`. No link is followed, and no device opened. Behind a link nothing stands: what it
    /// leads to has another true path.
    pub fn at(path: &Path) -> Self {
        let found = match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => look(folder, Path::new(name)),
            _ => return Self::Folder { mode: 0o755 },
        };
        match found {
            Ok(standing) => standing,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Self::Nothing,
            Err(errno) => Self::Other(errno.to_string()),
        }
    }
}

fn look(folder: &Path, name: &Path) -> Result<Standing, Errno> {
    let folder = door::open(folder, FOLDER)?;
    let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match kind(&stat) {
        FileType::RegularFile => {
            let file = door::step(&folder, name, READ)?;
            let stat = fstat(&file)?;
            match kind(&stat) {
                FileType::RegularFile => Ok(Standing::File {
                    file: File::from(file),
                    size: u64::try_from(stat.st_size).unwrap_or(0),
                    mode: door::mode(&stat),
                }),
                _ => Ok(Standing::Other("it is no plain file".to_owned())),
            }
        }
        FileType::Symlink => Ok(Standing::Link { to: readlinkat(&folder, name, Vec::new())?.into_bytes() }),
        FileType::Directory => Ok(Standing::Folder { mode: door::mode(&stat) }),
        _ => Ok(Standing::Other("it is no plain file".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn each_kind_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::fs::write(top.join("file"), "abc").unwrap();
        symlink("file", top.join("link")).unwrap();
        symlink(&top, top.join("round")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(top.join("pipe")).status().unwrap().success());
        let row = |name: &str, want: fn(&Standing) -> bool| {
            let standing = Standing::at(&top.join(name));
            assert!(want(&standing), "{name}: {standing:?}");
        };
        row("file", |standing| matches!(standing, Standing::File { size: 3, .. }));
        row("link", |standing| matches!(standing, Standing::Link { to } if to == b"file"));
        row("", |standing| matches!(standing, Standing::Folder { .. }));
        row("none", |standing| matches!(standing, Standing::Nothing));
        row("none/none", |standing| matches!(standing, Standing::Nothing));
        row("file/none", |standing| matches!(standing, Standing::Nothing));
        row("pipe", |standing| matches!(standing, Standing::Other(_)));
        row("round/file", |standing| matches!(standing, Standing::Nothing));
    }
}
