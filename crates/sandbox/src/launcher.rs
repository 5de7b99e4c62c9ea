//! The launcher: this binary again, started to give rights up and become another program.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::bwrap::Stage;
use crate::cage::{Cage, Session};
use crate::rung::CageError;

/// What a process is asked with to be a launcher, as its first argument. Changes with [`Spec`], so that a program that
/// was replaced while it ran is not misunderstood by its successor.
pub(crate) const ASKED: &str = "--enter-cage-1";
/// The second argument of a process that shall look around in its cage.
const LOOK: &str = "look-around";
/// Bytes that the description of a cage may have: the system hands no longer argument on.
const MAX_SPEC: usize = 120 * 1024;
/// The exit code when the program cannot be run, as of a shell.
const CANNOT_RUN: i32 = 126;
/// The exit code when there is no such program, as of a shell.
const NOT_FOUND: i32 = 127;

/// What holds around the launcher already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Layer {
    /// Nothing.
    Alone,
    /// Mounts, processes, shared memory and, where it is closed, the network are its own.
    Namespaces,
}

/// What a launcher is to set up.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    pub(crate) layer: Layer,
    pub(crate) session: Session,
    /// How far the namespaces are, with [`Layer::Namespaces`].
    pub(crate) stage: Option<Stage>,
    pub(crate) cage: Cage,
}

impl Spec {
    /// The argument that says it.
    pub(crate) fn text(&self) -> Result<String, CageError> {
        let text = serde_json::to_string(self).map_err(|error| CageError::Description(error.to_string()))?;
        if text.len() > MAX_SPEC {
            let text = format!("its paths take {} bytes and may take {MAX_SPEC}; name fewer of them", text.len());
            return Err(CageError::Description(text));
        }
        Ok(text)
    }
}

/// The arguments of a launcher that becomes `program` in `cage`.
pub(crate) fn arguments(
    cage: &Cage,
    session: Session,
    layer: Layer,
    stage: Option<Stage>,
    program: &Path,
    args: &[OsString],
) -> Result<Vec<OsString>, CageError> {
    let mut cage = cage.clone();
    if layer == Layer::Alone {
        // Frozen paths are for mounts alone.
        cage.frozen.clear();
    }
    let spec = Spec { layer, session, stage, cage }.text()?;
    let mut all: Vec<OsString> = vec![ASKED.into(), spec.into(), "--".into(), program.into()];
    all.extend_from_slice(args);
    Ok(all)
}

/// The arguments of a launcher that is in a cage already and says whether it is.
pub(crate) fn look_around() -> Vec<OsString> {
    vec![ASKED.into(), LOOK.into()]
}

/// Becomes the program of a [`Launch`](crate::Launch) if this process was started as one, and otherwise does nothing.
/// Must be the first thing in `main`: before threads, arguments, logs.
///
/// What fails before the program runs is said on standard error, and the process ends with 126.
pub fn enter_if_asked() {
    let mut args = std::env::args_os().skip(1);
    if args.next().as_deref() != Some(OsStr::new(ASKED)) {
        return;
    }
    let (code, why) = match act(&args.collect::<Vec<_>>()) {
        Ok(()) => std::process::exit(0),
        Err(failure) => failure,
    };
    // Nobody may be there to read it; the code says it too.
    let _ = writeln!(std::io::stderr(), "haft: {why}");
    std::process::exit(code)
}

/// Does what a launcher is asked for. Comes back only from looking around, and with what failed.
fn act(args: &[OsString]) -> Result<(), (i32, String)> {
    let not_set_up = |why: String| (CANNOT_RUN, format!("the cage could not be set up, so nothing was run: {why}"));
    match args {
        [look] if look == LOOK => look_at_ourselves().map_err(not_set_up),
        [spec, dashes, program, args @ ..] if dashes == "--" => {
            let spec = read(spec).and_then(|spec| enter(spec, program, args)).map_err(not_set_up)?;
            set_up(&spec).map_err(not_set_up)?;
            let (code, error) = become_program(program, args);
            Err((code, format!("{}: {error}", program.display())))
        }
        _ => Err(not_set_up("the arguments are not those of a launcher".to_owned())),
    }
}

fn read(spec: &OsStr) -> Result<Spec, String> {
    let text = spec.to_str().ok_or("its description is not text")?;
    serde_json::from_str(text).map_err(|error| format!("its description is not understood: {error}"))
}

/// Enters the namespaces: the first time by becoming `bwrap`, which starts this launcher again inside. What is left to
/// set up there is given back.
#[cfg(target_os = "linux")]
fn enter(spec: Spec, program: &OsStr, args: &[OsString]) -> Result<Spec, String> {
    match &spec.stage {
        None => Ok(spec),
        Some(Stage::Outside(bwrap)) => Err(crate::bwrap::outside(bwrap, &spec, program, args)),
        Some(Stage::Inside(inside)) => {
            crate::bwrap::inside(inside, &spec.cage)?;
            // What cannot be read need not be ruled out again.
            let Cage { write, network, sockets, limits, .. } = spec.cage;
            Ok(Spec { cage: Cage { write, network, sockets, limits, ..Cage::default() }, ..spec })
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn enter(spec: Spec, _program: &OsStr, _args: &[OsString]) -> Result<Spec, String> {
    Ok(spec)
}

#[cfg(target_os = "linux")]
use crate::kernel::{look_at_ourselves, set_up};

#[cfg(not(target_os = "linux"))]
fn set_up(_spec: &Spec) -> Result<(), String> {
    Err("this system has no such cage".to_owned())
}

#[cfg(not(target_os = "linux"))]
fn look_at_ourselves() -> Result<(), String> {
    Err("this system has no such cage".to_owned())
}

#[cfg(unix)]
fn become_program(program: &OsStr, args: &[OsString]) -> (i32, std::io::Error) {
    use std::os::unix::process::CommandExt;

    // Comes back only if it failed.
    let error = std::process::Command::new(program).args(args).exec();
    let code = if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN };
    (code, error)
}

#[cfg(not(unix))]
fn become_program(_program: &OsStr, _args: &[OsString]) -> (i32, std::io::Error) {
    (CANNOT_RUN, std::io::ErrorKind::Unsupported.into())
}
