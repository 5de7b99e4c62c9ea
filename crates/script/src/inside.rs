//! The process that runs scripts. It has no rights: no files, no network, no other processes. Whatever a script wants of
//! the world it asks of haft, over two pipes.
//!
//! Each file of tools has a *realm* of its own: a thread with an engine of its own, so that none can change what another
//! one works with, and one that waits or loops holds up nobody else.

mod builtins;
mod modules;
mod natives;
mod realm;
mod strip;

pub use strip::strip_types;

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use crate::wire::{CANCEL, CLOSE, DROP, MAX_LINE, ToInside, WireError};

use self::realm::{Control, ToRealm};

/// The text of a part of the prelude.
pub(crate) fn parts(name: &str) -> Option<String> {
    builtins::text(name)
}

/// Most realms of one process.
pub const MAX_REALMS: usize = 64;
/// The stack of a realm's thread, in bytes. Scripts may use half of it.
const STACK: usize = 4 * 1024 * 1024;

/// Where answers and requests go: one line each, whole.
#[derive(Clone)]
pub(crate) struct Out {
    to: Arc<Mutex<dyn Write + Send>>,
    realm: u32,
}

impl Out {
    /// Sends `{"realm":…,REST}`; `rest` is JSON without braces.
    pub(crate) fn send(&self, rest: &str) {
        if rest.len() > MAX_LINE - 64 {
            return;
        }
        let line = format!("{{\"jsonrpc\":\"2.0\",\"realm\":{},{rest}}}\n", self.realm);
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        // Who reads nothing any more ends this process with its input.
        let _ = to.write_all(line.as_bytes()).and_then(|()| to.flush());
    }

    /// Answers the request `id`.
    pub(crate) fn reply(&self, id: u64, result: &str) {
        if result.len() > MAX_LINE / 2 {
            let message = format!("the result has {} bytes; at most {} can be given back", result.len(), MAX_LINE / 2);
            return self.fail(id, &WireError { message, ..WireError::default() });
        }
        self.send(&format!("\"id\":{id},\"result\":{result}"));
    }

    /// Answers it with an error.
    pub(crate) fn fail(&self, id: u64, error: &WireError) {
        let error = serde_json::to_string(error).unwrap_or_else(|_| "{\"message\":\"\"}".to_owned());
        self.send(&format!("\"id\":{id},\"error\":{error}"));
    }
}

struct Entry {
    inbox: mpsc::Sender<ToRealm>,
    control: Arc<Control>,
}

/// Runs scripts for whoever is at the other end of the standard streams, until the input ends. Threads are started on the
/// way; give up all rights before.
pub fn serve() {
    serve_over(BufReader::new(io::stdin()), Arc::new(Mutex::new(io::stdout())));
}

pub(crate) fn serve_over(mut from: impl BufRead, to: Arc<Mutex<dyn Write + Send>>) {
    let mut realms: HashMap<u32, Entry> = HashMap::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        match from.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // Only haft writes here: what is not understood is no message.
        let Ok(message) = serde_json::from_slice::<ToInside>(&line) else { continue };
        let out = Out { to: to.clone(), realm: message.realm };
        if message.method.as_deref() == Some(CLOSE) {
            if let Some(entry) = realms.remove(&message.realm) {
                entry.control.close();
            }
            continue;
        }
        if !realms.contains_key(&message.realm) {
            match open(message.realm, realms.len(), &out) {
                Ok(entry) => drop(realms.insert(message.realm, entry)),
                Err(message_text) => {
                    let error = WireError { message: message_text, ..WireError::default() };
                    message.id.inspect(|id| out.fail(*id, &error));
                    continue;
                }
            }
        }
        if let (Some(entry), Some(message)) = (realms.get(&message.realm), to_realm(message)) {
            match message {
                ToRealm::Drop { id } | ToRealm::Cancel { id } => entry.control.stop(id),
                ToRealm::Ask { .. } | ToRealm::Answer { .. } => {}
            }
            // A realm that ended reads nothing; its calls were answered.
            let _ = entry.inbox.send(message);
        }
    }
}

fn open(id: u32, count: usize, out: &Out) -> Result<Entry, String> {
    if count >= MAX_REALMS {
        return Err(format!("{MAX_REALMS} scripts are loaded, which is the most"));
    }
    let (inbox, messages) = mpsc::channel();
    let control = Arc::new(Control::default());
    let (out, theirs) = (out.clone(), control.clone());
    let run = move || realm::run(messages, out, theirs);
    let thread = std::thread::Builder::new().name(format!("realm-{id}")).stack_size(STACK).spawn(run);
    thread.map_err(|error| format!("no thread can be had for a script: {error}"))?;
    Ok(Entry { inbox, control })
}

fn to_realm(message: ToInside) -> Option<ToRealm> {
    let ToInside { id, method, params, result, error, .. } = message;
    let id = id?;
    let text = |raw: Option<Box<serde_json::value::RawValue>>| raw.map(|raw| raw.get().to_owned());
    Some(match method.as_deref() {
        Some(CANCEL) => ToRealm::Cancel { id },
        Some(DROP) => ToRealm::Drop { id },
        Some(method) => {
            ToRealm::Ask { id, method: method.to_owned(), params: text(params).unwrap_or_else(|| "null".to_owned()) }
        }
        None => match text(error) {
            Some(error) => ToRealm::Answer { id, answer: Err(error) },
            None => ToRealm::Answer { id, answer: Ok(text(result).unwrap_or_else(|| "null".to_owned())) },
        },
    })
}
