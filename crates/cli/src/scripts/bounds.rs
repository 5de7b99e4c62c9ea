//! Which files scripts may import: those of a project that the question of trust covered, byte for byte; for the user's own
//! what lies beside them; and installed packages.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use haft_script::{Bounds, Imported};

/// Most bytes of the files that are remembered as trusted; one alone may have as many.
const MAX_TRUSTED: u64 = 64 * 1024 * 1024;
/// Where packages are installed, in a folder.
const PACKAGES: &str = "node_modules";

/// The files in these folders, and no others.
pub(super) struct Within(Vec<PathBuf>);

impl Within {
    /// Those of a package and of what it needs, in `tree`.
    pub(super) fn package(tree: &Path) -> Self {
        Self(vec![real(tree)])
    }

    /// Those that `file`, one of the user's own, may import: what is code in their configuration folders `folders`, what lies
    /// in its own folder and package, and packages above it, but for what lies in `home` or above that.
    pub(super) fn own(file: &Path, folders: &[PathBuf], home: &Path) -> Self {
        let code = folders.iter().flat_map(|folder| {
            haft_config::code_folders().chain([PACKAGES]).map(|name| real(&folder.join(name))).collect::<Vec<_>>()
        });
        let is_code = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
        let is_below = |above: &&Path| above.parent().is_some() && !home.starts_with(above);
        let above: Vec<&Path> = file.ancestors().skip(1).take_while(is_below).collect();
        let package = above.iter().find(|above| above.join("package.json").is_file()).or(above.first());
        let package = package.filter(|_| !is_code(file)).map(|folder| real(folder));
        let packages = above.iter().map(|above| real(&above.join(PACKAGES)));
        // By itself it may run wherever it lies.
        let itself = std::iter::once(real(file));
        Self(code.chain(package).chain(packages).chain(itself).collect())
    }
}

impl Bounds for Within {
    fn check(&self, file: &Imported<'_>) -> Result<(), String> {
        match self.0.iter().any(|folder| file.real.starts_with(folder)) {
            true => Ok(()),
            false => Err(format!(
                "{} is none of the files that it may import: those of its own package",
                file.path.display()
            )),
        }
    }

    fn folders(&self) -> Vec<PathBuf> {
        self.0.clone()
    }
}

/// Whose packages a script of a project may import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packages {
    /// Those beside it and those of the project: it does what the agent may do, too.
    All,
    /// Those in configuration folders alone, which no command changes: what it says counts for the agent.
    Beside,
}

/// The files of a project that were there when it was trusted, and packages.
pub(super) struct Trusted {
    project: PathBuf,
    known: HashMap<PathBuf, blake3::Hash>,
    /// Folders of packages, without links.
    packages: Vec<PathBuf>,
    /// The folders in which `known` lies.
    code: Vec<PathBuf>,
}

impl Trusted {
    /// What is now in the configuration folders of `project` among `folders`, and those of `files` that are in it: what the
    /// settings name.
    pub(super) fn of(project: PathBuf, folders: &[PathBuf], files: &[PathBuf], packages: Packages) -> Self {
        let near: Vec<&PathBuf> = folders.iter().filter(|path| path.starts_with(&project)).collect();
        let code: Vec<PathBuf> =
            near.iter().flat_map(|folder| haft_config::code_folders().map(|name| folder.join(name))).collect();
        let known = known(code.clone(), files.iter().filter(|path| path.starts_with(&project)).cloned());
        let mut packages: Vec<PathBuf> = near
            .iter()
            .flat_map(|folder| {
                let above = folder.ancestors().skip(1).take_while(|above| above.starts_with(&project));
                let above = above.take(if packages == Packages::All { usize::MAX } else { 0 });
                std::iter::once(folder.as_path()).chain(above).map(|folder| real(&folder.join(PACKAGES)))
            })
            .collect();
        // A link that leads out of the project leads to what is no package.
        let top = real(&project);
        packages.retain(|folder| folder.starts_with(&top));
        packages.sort();
        packages.dedup();
        Self { project, known, packages, code }
    }
}

impl Bounds for Trusted {
    fn check(&self, file: &Imported<'_>) -> Result<(), String> {
        let shown = file.path.display();
        match self.known.get(file.path) {
            Some(hash) if *hash == blake3::hash(file.bytes) => Ok(()),
            Some(_) => Err(changed(file.path)),
            None if self.packages.iter().any(|folder| file.real.starts_with(folder)) => Ok(()),
            None if file.path.starts_with(&self.project) => Err(format!(
                "{shown} is not among the files that the project was trusted with; keep what is imported beside what imports it, or in \
                 lib of the same configuration folder, and packages in its node_modules, and start haft again"
            )),
            None => Err(format!(
                "{shown} lies outside the project; import what lies in its configuration folders, or read the file in a call"
            )),
        }
    }

    fn folders(&self) -> Vec<PathBuf> {
        // What lies in the folders of code was held against what is known before.
        let code = self.code.iter().chain(self.known.keys()).filter_map(|path| path.canonicalize().ok());
        let mut all: Vec<PathBuf> = self.packages.iter().cloned().chain(code).collect();
        all.sort();
        // A folder says all that is in it.
        all.dedup_by(|next, before| next.starts_with(before));
        all
    }

    fn unchanged(&self) -> Result<(), String> {
        self.known.iter().try_for_each(|(path, hash)| match std::fs::read(path) {
            Ok(bytes) if blake3::hash(&bytes) == *hash => Ok(()),
            Ok(_) | Err(_) => Err(changed(path)),
        })
    }
}

fn changed(path: &Path) -> String {
    format!("{} has changed since the project was trusted; start haft again and look at what changed", path.display())
}

/// What all files below `open` hold now, and those called `files`.
fn known(mut open: Vec<PathBuf>, files: impl Iterator<Item = PathBuf>) -> HashMap<PathBuf, blake3::Hash> {
    let (mut known, mut room) = (HashMap::new(), MAX_TRUSTED);
    let mut add = |path: PathBuf| {
        if let Ok(meta) = std::fs::metadata(&path)
            && meta.is_file()
            && meta.len() <= room
            && let Ok(bytes) = std::fs::read(&path)
        {
            room -= meta.len();
            known.insert(path, blake3::hash(&bytes));
        }
    };
    files.for_each(&mut add);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && entry.file_name() != PACKAGES {
                open.push(path);
            } else {
                add(path);
            }
        }
    }
    known
}

/// `path` behind all links, where it is there.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with a project `p`, the user's own `own`, a plug-in of theirs in `dev`, and what is none of these.
    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        for name in [
            "p/.haft/tool/a.ts",
            "p/.haft/lib/b.ts",
            "p/.haft/other/c.ts",
            "p/.haft/node_modules/x/index.js",
            "p/node_modules/y/index.js",
            "p/src/d.ts",
            "p/plug.ts",
            "own/plugin/e.ts",
            "own/shared/f.ts",
            "own/haft.json",
            "dev/package.json",
            "dev/src/g.ts",
            "dev/lib/h.ts",
            "secret",
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "one").unwrap();
        }
        symlink(root.join("secret"), root.join("p/.haft/node_modules/link")).unwrap();
        symlink(root.join("secret"), root.join("p/node_modules/link")).unwrap();
        (scratch, root)
    }

    fn trusted(root: &Path, packages: Packages) -> Trusted {
        let at = |name: &str| root.join(name);
        Trusted::of(at("p"), &[at("p/.haft"), at("own")], &[at("p/plug.ts"), at("dev/src/g.ts")], packages)
    }

    #[track_caller]
    fn check(bounds: &dyn Bounds, root: &Path, name: &str, want: Result<(), &str>) {
        let path = root.join(name);
        let (real, bytes) = (path.canonicalize().unwrap(), fs::read(&path).unwrap());
        match (bounds.check(&Imported { path: &path, real: &real, bytes: &bytes }), want) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(want)) => assert!(error.contains(want), "{name}: {error}"),
            (got, want) => panic!("{name}: {got:?}, not {want:?}"),
        }
    }

    #[test]
    fn what_is_trusted_is_what_is_imported() {
        let (_scratch, root) = scratch();
        let bounds = trusted(&root, Packages::All);
        for name in ["p/.haft/tool/a.ts", "p/.haft/lib/b.ts", "p/plug.ts"] {
            check(&bounds, &root, name, Ok(()));
        }
        for name in ["p/.haft/node_modules/x/index.js", "p/node_modules/y/index.js"] {
            check(&bounds, &root, name, Ok(()));
        }
        for name in ["p/.haft/other/c.ts", "p/src/d.ts"] {
            check(&bounds, &root, name, Err("not among the files that the project was trusted with"));
        }
        for name in ["secret", "own/haft.json", "own/shared/f.ts", "dev/lib/h.ts"] {
            check(&bounds, &root, name, Err("lies outside the project"));
        }
        for name in ["p/.haft/node_modules/link", "p/node_modules/link"] {
            check(&bounds, &root, name, Err("not among"));
        }
        fs::write(root.join("p/.haft/lib/b.ts"), "two").unwrap();
        check(&bounds, &root, "p/.haft/lib/b.ts", Err("has changed since"));
        assert!(bounds.unchanged().unwrap_err().contains("lib/b.ts"));
    }

    #[test]
    fn what_counts_for_the_agent_comes_from_where_no_command_writes() {
        let (_scratch, root) = scratch();
        let bounds = trusted(&root, Packages::Beside);
        check(&bounds, &root, "p/.haft/node_modules/x/index.js", Ok(()));
        check(&bounds, &root, "p/node_modules/y/index.js", Err("not among"));
        let folders = bounds.folders();
        let below = |name: &str| folders.iter().any(|folder| root.join(name).starts_with(folder));
        assert!(below("p/.haft/tool/a.ts") && below("p/.haft/node_modules/x") && below("p/plug.ts"));
        assert!(!below("p/src/d.ts") && !below("p/node_modules/y") && !below("p/.haft/other/c.ts") && !below("secret"));
    }

    #[test]
    fn ones_own_imports_what_lies_beside_it() {
        let (_scratch, root) = scratch();
        let own = |file: &str, home: &str| Within::own(&root.join(file), &[root.join("own")], &root.join(home));
        let bounds = own("own/plugin/e.ts", "home");
        for name in ["own/plugin/e.ts", "own/shared/f.ts"] {
            check(&bounds, &root, name, Ok(()));
        }
        for name in ["own/haft.json", "secret", "dev/src/g.ts"] {
            check(&bounds, &root, name, Err("none of the files that it may import"));
        }
        let bounds = own("dev/src/g.ts", "home");
        check(&bounds, &root, "dev/lib/h.ts", Ok(()));
        check(&bounds, &root, "secret", Err("none of the files"));
        // A home may have a package.json, and is no package.
        fs::write(root.join("package.json"), "{}").unwrap();
        fs::remove_file(root.join("dev/package.json")).unwrap();
        let bounds = own("dev/src/g.ts", "");
        check(&bounds, &root, "dev/src/g.ts", Ok(()));
        check(&bounds, &root, "dev/lib/h.ts", Err("none of the files"));
        check(&bounds, &root, "secret", Err("none of the files"));
    }

    #[test]
    fn a_package_has_its_own_files_alone() {
        let (_scratch, root) = scratch();
        let bounds = Within::package(&root.join("p/node_modules"));
        check(&bounds, &root, "p/node_modules/y/index.js", Ok(()));
        for name in ["p/node_modules/link", "p/src/d.ts", "p/node_modules/../src/d.ts"] {
            check(&bounds, &root, name, Err("none of the files"));
        }
    }
}
