//! The ladder: with what this machine can hold a cage, best first.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bwrap::{Bwrap, Stage};
use crate::cage::{Cage, Session};
use crate::launcher::{self, Layer};
use crate::{bwrap, gaps, probe, seatbelt};

/// How a process names the program that it runs itself.
const OURSELVES: &str = "/proc/self/exe";
/// The program that runs others under a profile of macOS.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// With what a cage is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// Mounts, processes and network of its own, made by `bwrap`, and what [`Rung::Landlock`] has on top.
    Namespaces,
    /// Landlock and a filter of system calls, which need no privileges.
    Landlock,
    /// The sandbox of macOS.
    Seatbelt,
    /// Nothing.
    None,
}

impl Rung {
    /// Those that this system knows, best first.
    fn ladder() -> &'static [Rung] {
        if cfg!(target_os = "linux") {
            &[Rung::Namespaces, Rung::Landlock]
        } else if cfg!(target_os = "macos") {
            &[Rung::Seatbelt]
        } else {
            &[]
        }
    }

    /// Its name, as in a report.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Namespaces => "namespaces",
            Rung::Landlock => "landlock",
            Rung::Seatbelt => "seatbelt",
            Rung::None => "none",
        }
    }
}

/// A rung that was tried and does not hold here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The rung.
    pub rung: Rung,
    /// Why not, as the end of "cannot be used, because ".
    pub why_not: String,
}

/// Something that a cage promises and the rung in use does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The promise, as a word; [`Sandbox::gaps`] has the list.
    pub promise: &'static str,
    /// What is so instead, and why. One sentence.
    pub instead: String,
}

/// What to look at before a rung is chosen.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Try this rung alone.
    pub only: Option<Rung>,
    /// Folders that a `bwrap` on the path must not come from: whoever can write them could bring their own.
    pub not_from: Vec<PathBuf>,
    /// The program whose `main` begins with [`enter_if_asked`](crate::enter_if_asked); this very program without one.
    pub launcher: Option<PathBuf>,
}

/// Holds cages on this machine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    rung: Rung,
    tried: Arc<[Tried]>,
    gaps: Arc<[Gap]>,
    /// How [`Rung::Namespaces`] is made here.
    bwrap: Option<Arc<Bwrap>>,
    /// The launcher as this program reaches it, also when its file was replaced.
    launcher: Arc<Path>,
}

/// What to start instead of the program, with the folder and the environment that the program shall have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program to start.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// Why there is no cage.
#[derive(Debug, thiserror::Error)]
pub enum CageError {
    /// No rung holds here.
    #[error("this machine has nothing to hold commands in a cage with: {0}")]
    NoRung(String),
    /// What is to be allowed cannot be handed to the launcher.
    #[error("the cage cannot be described: {0}")]
    Description(String),
}

impl Sandbox {
    /// Tries the rungs, best first, each with a short program in a cage. Takes some 10 to 50 ms; the answer holds as
    /// long as this program runs.
    pub fn find(options: &Options) -> Self {
        let mut tried = Vec::new();
        for &rung in Rung::ladder() {
            if options.only.is_some_and(|only| only != rung) {
                continue;
            }
            match Self::on(rung, options) {
                Ok(sandbox) => return Self { tried: tried.into(), ..sandbox },
                Err(why_not) => tried.push(Tried { rung, why_not }),
            }
        }
        Self { tried: tried.into(), ..Self::unproved(Rung::None, None, options) }
    }

    /// A sandbox on `rung`, or why this machine cannot have it.
    fn on(rung: Rung, options: &Options) -> Result<Self, String> {
        let ways = match rung {
            Rung::Namespaces => Bwrap::ways(&bwrap::find(options)?).into_iter().map(Some).collect(),
            Rung::Landlock | Rung::Seatbelt | Rung::None => vec![None],
        };
        let mut why_not = "no way to use it is known".to_owned();
        for way in ways {
            let sandbox = Self::unproved(rung, way, options);
            match probe::holds(&sandbox, &sandbox.launcher) {
                Ok(()) => return Ok(sandbox),
                Err(why) => why_not = why,
            }
        }
        Err(why_not)
    }

    fn unproved(rung: Rung, bwrap: Option<Bwrap>, options: &Options) -> Self {
        let launcher = options.launcher.clone().unwrap_or_else(|| OURSELVES.into());
        let gaps = gaps::of(rung).into_iter().chain(bwrap.iter().flat_map(Bwrap::gaps)).collect();
        let (bwrap, launcher) = (bwrap.map(Arc::new), launcher.into());
        Self { rung, tried: Arc::default(), gaps, bwrap, launcher }
    }

    /// The rung in use.
    pub fn rung(&self) -> Rung {
        self.rung
    }

    /// The better rungs, and why they are not in use.
    pub fn tried(&self) -> &[Tried] {
        &self.tried
    }

    /// What the rung in use does not hold. The promises are named by words: `attributes`, `devices`, `frozen`, `hidden`,
    /// `memory`, `ownership`, `priorities`, `processes`, `shared-memory`, `signals`, `sockets`, `terminals`, `truncate`,
    /// `unix-sockets`.
    pub fn gaps(&self) -> Vec<Gap> {
        self.gaps.to_vec()
    }

    /// What to start so that `program` runs with `args` in `cage`. A program without a slash is looked for on the path.
    ///
    /// # Errors
    ///
    /// [`CageError`]. Nothing is ever started without a cage instead.
    pub fn launch(
        &self,
        cage: &Cage,
        session: Session,
        program: &Path,
        args: &[OsString],
    ) -> Result<Launch, CageError> {
        match self.rung {
            Rung::Namespaces => {
                let stage = self.bwrap.as_deref().map(|bwrap| Stage::Outside(bwrap.clone()));
                let args = launcher::arguments(cage, session, Layer::Namespaces, stage, program, args)?;
                Ok(Launch { program: self.launcher.to_path_buf(), args })
            }
            Rung::Landlock => Ok(Launch {
                program: self.launcher.to_path_buf(),
                args: launcher::arguments(cage, session, Layer::Alone, None, program, args)?,
            }),
            Rung::Seatbelt => {
                let start = [
                    "-p".into(),
                    seatbelt::profile(cage).map_err(CageError::Description)?.into(),
                    program.as_os_str().to_owned(),
                ];
                Ok(Launch {
                    program: SANDBOX_EXEC.into(),
                    args: start.into_iter().chain(args.iter().cloned()).collect(),
                })
            }
            Rung::None => Err(CageError::NoRung(self.why_none())),
        }
    }

    /// Why no rung is in use, as the end of a sentence.
    fn why_none(&self) -> String {
        let why = |tried: &Tried| format!("{} cannot be used, because {}", tried.rung.name(), tried.why_not);
        let all: Vec<String> = self.tried.iter().map(why).collect();
        if all.is_empty() { "no way is known on this system".to_owned() } else { all.join("; ") }
    }
}
