//! The rung of macOS: the profile that its sandbox is told. Pure.
//!
//! Of several rules that fit, the last one decides, so the order is that of the mounts elsewhere: folders before what is in
//! them. Other than a mount, a rule also binds what is not there yet. This was written from what is known of the language
//! and has **not been run on a Mac**; its text is tested, its effect is not.

use std::fmt::Write;
use std::path::Path;

use crate::cage::{Cage, Network};
use crate::mounts::{Kind, Mount, What, plan};

/// What every program needs: to start others and signal them, to look up users and settings, to have a terminal.
const ALWAYS: &str = r#"(version 1)
(deny default)
(allow process-exec*)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow user-preference-read)
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-ioctl (literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$"))
(allow mach-lookup
    (global-name "com.apple.system.notification_center")
    (global-name "com.apple.system.opendirectoryd.libinfo")
    (global-name "com.apple.system.opendirectoryd.membership")
    (global-name "com.apple.system.logger"))
(allow file-read*)
(allow file-map-executable)
(deny file-read* (regex #"^/dev/(r?disk|bpf|auditpipe)"))
(allow file-write*
    (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx") (literal "/dev/dtracehelper")
    (regex #"^/dev/ttys[0-9]+$"))
"#;
/// Hosts, and what finds their addresses and checks their certificates. Sockets with a path are not among it.
const NETWORK: &str = r#"(allow network-outbound (remote ip))
(allow network-bind (local ip))
(allow network-inbound (local ip))
(allow system-socket (socket-domain AF_ROUTE))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup
    (global-name "com.apple.SystemConfiguration.configd")
    (global-name "com.apple.trustd")
    (global-name "com.apple.trustd.agent"))
"#;

/// The profile for `cage`.
///
/// # Errors
///
/// A path that is not text, or more paths than can be kept apart.
pub(crate) fn profile(cage: &Cage) -> Result<String, String> {
    let mut text = ALWAYS.to_owned();
    for Mount { path, what } in plan(cage, |_| Some(Kind::Folder))? {
        rules(&mut text, &quoted(&path)?, what);
    }
    match cage.network {
        Network::Closed => {}
        Network::Open => text.push_str(NETWORK),
    }
    for socket in &cage.sockets {
        line(&mut text, format_args!("(allow network-outbound (literal {}))", quoted(socket)?));
    }
    Ok(text)
}

fn rules(text: &mut String, path: &str, what: What) {
    match what {
        What::Writable => line(text, format_args!("(allow file-write* (subpath {path}))")),
        What::Frozen => line(text, format_args!("(deny file-write* (subpath {path}))")),
        // What cannot be removed cannot be renamed.
        What::Pinned => line(text, format_args!("(deny file-write-unlink (literal {path}))")),
        What::NoFile => line(text, format_args!("(deny file-read* file-write* (subpath {path}))")),
        What::NoFolder { passable } => {
            line(text, format_args!("(deny file-read* file-write* (subpath {path}))"));
            if passable {
                line(text, format_args!("(allow file-read-metadata (literal {path}))"));
            }
        }
        What::Shown { writable } => {
            line(text, format_args!("(allow file-read* (subpath {path}))"));
            let whether = if writable { "allow" } else { "deny" };
            line(text, format_args!("({whether} file-write* (subpath {path}))"));
        }
    }
}

fn line(text: &mut String, rule: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{rule}");
}

/// A path as a word of the language.
fn quoted(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or_else(|| format!("the name of {} is not text", path.display()))?;
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests;
