//! Where a project ends: which files are its own, however they are named.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::sandbox::located;

/// The border of a project.
#[derive(Debug, Clone, Default)]
pub(crate) struct Border {
    /// Its top folder, absolute and as it was found.
    pub top: PathBuf,
    /// The same without links.
    real: PathBuf,
}

impl Border {
    pub(crate) fn new(top: &Path) -> Self {
        Self { top: top.to_path_buf(), real: top.canonicalize().unwrap_or_else(|_| top.to_path_buf()) }
    }

    /// Whether the file `path`, absolute, is the project's: neither its name nor a link leads out of it, and it is none
    /// that a project keeps its secrets in. One that is not there is where its name says.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        let named = located(&path.to_string_lossy(), Path::new("/"), Path::new("~"));
        if !named.starts_with(&self.top) && !named.starts_with(&self.real) {
            return false;
        }
        match path.canonicalize() {
            Ok(real) => real.starts_with(&self.real) && !is_secret(&real),
            Err(error) => error.kind() == ErrorKind::NotFound && !is_secret(&named),
        }
    }
}

/// Whether reading `path` asks by default.
fn is_secret(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let env = name.ends_with(".env") || name.contains(".env.") && !name.ends_with(".env.example");
    env || path.components().any(|part| part.as_os_str() == ".git")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_and_links_that_lead_out_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("p/sub/.git")).unwrap();
        for file in ["p/a", "p/.env", "p/x.env.local", "p/.env.example", "p/sub/.git/config", "secret"] {
            fs::write(root.join(file), "").unwrap();
        }
        symlink(root.join("secret"), root.join("p/out")).unwrap();
        symlink(&root, root.join("p/up")).unwrap();
        symlink(".env", root.join("p/plain")).unwrap();
        symlink(root.join("p"), root.join("alias")).unwrap();
        for top in ["p", "alias"] {
            let border = Border::new(&root.join(top));
            let check = |path: &str, want: bool| assert_eq!(border.holds(&root.join(path)), want, "{path}");
            check("p/a", true);
            check("p/sub/../a", true);
            check("p/sub/none", true);
            check("p/out", false);
            check("p/up/secret", false);
            check("p/../secret", false);
            check("p/.env", false);
            check("p/plain", false);
            check("p/x.env.local", false);
            check("p/.env.example", true);
            check("p/sub/.git/config", false);
            check("p/sub/.env", false);
        }
    }
}
