//! Paths that are touched, and the folder they begin in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{MAX_TOUCHES, Walk};
use crate::analysis::{Dialect, Touch, Touching};
use crate::path::{is_harmless_device, normal};
use crate::state::{After, Places};
use crate::text::{Arg, Text};
use crate::word::short;

/// Most links that a text may make, and that one path may lead through.
const MAX_LINKS: usize = 64;

impl Walk<'_> {
    /// Notes that the file or folder `arg` is touched.
    pub(crate) fn touch(&mut self, arg: &Arg, how: Touching) {
        if arg.dynamic {
            self.unknown(&format!("the path {} is not known before the run", short(&arg.raw)));
        }
        let texts = if arg.dynamic { &[][..] } else { &arg.texts };
        for text in texts {
            self.touch_text(text, how);
        }
    }

    /// Notes the folders whose content the patterns in `arg` show.
    pub(crate) fn pattern_shows(&mut self, arg: &Arg) {
        for text in arg.texts.iter().filter(|text| text.glob_at().is_some()) {
            self.touch_text(text, Touching::Enter);
        }
    }

    /// The same for a path that is no word of its own, such as the value of an option.
    pub(crate) fn touch_path(&mut self, path: &str, how: Touching) {
        self.touch_text(&Text::new(path, crate::text::Kind::Plain), how);
    }

    fn touch_text(&mut self, text: &Text, how: Touching) {
        let whole = text.string();
        let cut = text.glob_at();
        let path: String = text.0.iter().take(cut.unwrap_or(usize::MAX)).map(|(c, _)| *c).collect();
        let rest: String = cut.map_or_else(String::new, |cut| text.0.iter().skip(cut).map(|(c, _)| *c).collect());
        if whole.is_empty() || whole == "-" || self.elsewhere > 0 {
            return;
        }
        let path = match (path.strip_prefix('~'), self.around.home.and_then(Path::to_str)) {
            // Values of options are not always expanded; where they are, this is meant.
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
            _ => path,
        };
        if Path::new(&path).is_relative() && self.places.lost {
            self.unknown("the working folder is not known before the run");
        }
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            self.out.network = true;
            let host = path.split('/').nth(3).filter(|_| cut.is_none()).and_then(crate::programs::hosts::of_machine);
            host.into_iter().for_each(|host| crate::programs::network::note(self, host));
            self.unknown("it opens a connection");
            return;
        }
        if rest.contains("**") && self.dialect == Dialect::Zsh {
            self.unknown(&format!("{} goes to any depth", short(&whole)));
        }
        if rest.contains("..") {
            self.unknown(&format!("{} may lead anywhere", short(&whole)));
        }
        let folders = self.places.folders.clone();
        let root = [PathBuf::from("/")];
        let absolute = Path::new(&path).is_absolute();
        let bases = if absolute { &root } else { folders.as_slice() };
        for base in bases {
            let full = base.join(&path);
            if is_harmless_device(&full) {
                continue;
            }
            // `.*` may match `..`.
            let name = path.rsplit('/').next().unwrap_or_default();
            if cut.is_some() && matches!(name, "." | "..") {
                let above = base.join(path.strip_suffix(name).unwrap_or(&path)).join("..");
                self.note(Touch { how, path: above, rest: String::new() });
            }
            self.note(Touch { how, path: full, rest: rest.clone() });
        }
    }

    /// Notes that anything in the folder `arg` may be written, without being named.
    pub(crate) fn fill(&mut self, arg: &Arg) {
        self.touch(arg, Touching::Write);
        let Some(folder) = arg.literal() else { return };
        for base in self.places.folders.clone().iter() {
            let folder = base.join(&folder);
            for begin in ["", "."] {
                self.note(Touch { how: Touching::Fill, path: folder.join(begin), rest: "*".to_owned() });
            }
        }
    }

    /// Looks at what follows as if it stood in `folder`, until the places are put back.
    pub(crate) fn start_in(&mut self, folder: &Arg) {
        self.places = match folder.literal().filter(|_| !folder.choice) {
            Some(folder) => {
                let at = |base: &PathBuf| Places::at(&base.join(&folder));
                let lost = self.places.lost && Path::new(&folder).is_relative();
                self.places
                    .folders
                    .iter()
                    .map(at)
                    .fold(Places { folders: std::rc::Rc::default(), lost }, |all, one| all.or(&one))
            }
            None => Places::lost(),
        };
    }

    /// Whether `path` may be a folder when the text comes to it.
    pub(crate) fn may_be_folder(&self, path: &str) -> bool {
        path.ends_with('/') || self.places.folders.iter().any(|base| (self.around.is_dir)(&base.join(path)))
    }

    /// Notes that the text makes a link.
    pub(crate) fn link(&mut self, end: &Path, target: &Path) {
        let link = (normal(end), normal(target));
        if self.links.len() >= MAX_LINKS {
            return self.unknown("it makes too many links");
        }
        if link.0 != link.1 && !self.links.contains(&link) {
            self.links.push(link);
        }
    }

    /// The same path through links that the text made before.
    fn linked(&self, path: &Path) -> Vec<PathBuf> {
        let path = normal(path);
        let through = |(end, target): &(PathBuf, PathBuf)| {
            let rest = path.strip_prefix(end).ok()?;
            Some(if rest.as_os_str().is_empty() { target.clone() } else { target.join(rest) })
        };
        self.links.iter().filter_map(through).collect()
    }

    fn note(&mut self, touch: Touch) {
        if self.links.is_empty() {
            return self.note_one(touch);
        }
        let mut todo = vec![touch];
        let mut round = 0;
        while let Some(touch) = todo.pop() {
            round += 1;
            if round > MAX_LINKS {
                return self.unknown("it makes too many links");
            }
            if self.touched.contains(&key(&touch)) {
                continue;
            }
            let others = self.linked(&touch.path).into_iter().map(|path| Touch { path, ..touch.clone() });
            todo.extend(others);
            self.note_one(touch);
        }
    }

    fn note_one(&mut self, touch: Touch) {
        if self.out.touches.len() >= MAX_TOUCHES {
            return self.unknown("it touches too many paths");
        }
        if self.touched.insert(key(&touch)) {
            self.out.touches.push(touch);
        }
    }

    /// Goes to another folder.
    pub(crate) fn enter(&mut self, folder: &str) -> After {
        let failed = self.places.clone();
        let mut done = Places { folders: std::rc::Rc::default(), lost: failed.lost && Path::new(folder).is_relative() };
        for base in failed.folders.iter() {
            let path = crate::path::normal(&base.join(folder));
            done = done.or(&Places::at(&path));
        }
        if failed.lost && Path::new(folder).is_absolute() {
            done = done.or(&Places::at(Path::new(folder)));
        }
        self.moved(&done);
        let certain = self.untouched && !done.lost && done.folders.iter().all(|folder| (self.around.is_dir)(folder));
        After { done, failed: if certain { Places::nowhere() } else { failed } }
    }

    /// Goes back to one of the folders before.
    pub(crate) fn back(&mut self) -> After {
        let done = self.visited.clone();
        self.moved(&done);
        After { done, failed: self.places.clone() }
    }

    /// Goes nobody knows where.
    pub(crate) fn lose(&mut self) -> After {
        let done = Places::lost();
        self.moved(&done);
        After { done, failed: self.places.clone() }
    }

    fn moved(&mut self, done: &Places) {
        if self.again > 0 {
            self.unknown("it changes the folder in a loop or a function");
        }
        self.visited = self.visited.clone().or(done);
    }

    /// Whether it went anywhere before.
    pub(crate) fn has_moved(&self) -> bool {
        self.visited.folders.len() > 1 || self.visited.lost
    }
}

fn key(touch: &Touch) -> (Touching, OsString, String) {
    (touch.how, touch.path.as_os_str().to_owned(), touch.rest.clone())
}
