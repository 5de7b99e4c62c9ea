//! The file with all that a command wrote, byte by byte, begun only when the output is too long to be shown whole.

use std::path::PathBuf;

use haft_tool::Kept;
use haft_tool::truncate::Limits;

/// Keeps an output.
#[derive(Debug)]
pub(crate) struct Keeper {
    place: PathBuf,
    limits: Limits,
    state: State,
}

#[derive(Debug)]
enum State {
    /// All there is so far, and how many line feeds are in it.
    Short(Vec<u8>, usize),
    File(Kept),
    /// There is no file, and will be none. The command still runs: its last lines are worth more.
    Lost,
}

impl Keeper {
    /// Keeps what is longer than `limits` at `place`, where nothing is yet.
    pub(crate) fn new(place: PathBuf, limits: Limits) -> Self {
        Self { place, limits, state: State::Short(Vec::new(), 0) }
    }

    pub(crate) async fn push(&mut self, piece: &[u8]) {
        match &mut self.state {
            State::Short(all, feeds) => {
                *feeds += piece.iter().filter(|&&byte| byte == b'\n').count();
                all.extend_from_slice(piece);
                if all.len() > self.limits.bytes || *feeds >= self.limits.lines {
                    self.begin().await;
                }
            }
            State::File(kept) => kept.add(piece).await,
            State::Lost => {}
        }
    }

    /// Where the file is, once there is one.
    pub(crate) fn path(&self) -> Option<String> {
        match &self.state {
            State::File(kept) => Some(kept.path().display().to_string()),
            State::Short(..) | State::Lost => None,
        }
    }

    /// Ends the file. With `wanted` there is one however short the output is, and without there is none. Gives its
    /// path and a few words for the model about what is in it.
    pub(crate) async fn finish(mut self, wanted: bool) -> Option<(String, String)> {
        if wanted && matches!(self.state, State::Short(..)) {
            self.begin().await;
        }
        let path = self.path()?;
        let State::File(kept) = self.state else { return None };
        let words = kept.finish().await;
        if wanted {
            return Some((path, words));
        }
        if let Err(error) = tokio::fs::remove_file(&path).await {
            tracing::warn!(path, %error, "an output that nobody needs could not be removed");
        }
        None
    }

    /// Begins the file with all there is so far.
    async fn begin(&mut self) {
        let State::Short(all, _) = std::mem::replace(&mut self.state, State::Lost) else { return };
        match Kept::create(self.place.clone()).await {
            Ok(mut kept) => {
                kept.add(&all).await;
                self.state = State::File(kept);
            }
            Err(error) => {
                tracing::warn!(path = %self.place.display(), %error, "a long output could not be kept");
            }
        }
    }
}
