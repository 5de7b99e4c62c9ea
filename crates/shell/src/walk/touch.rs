//! Paths that are touched, and the folder they begin in.

use std::path::{Path, PathBuf};

use super::{MAX_TOUCHES, Walk};
use crate::analysis::{Touch, Touching};
use crate::path::is_harmless_device;
use crate::state::{After, Places};
use crate::text::{Arg, Text};
use crate::word::short;

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
        if whole.is_empty() || whole == "-" {
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
            self.unknown("it opens a connection");
            return;
        }
        if rest.contains("..") {
            self.unknown(&format!("{} may lead anywhere", short(&whole)));
        }
        let folders = self.places.folders.clone();
        let absolute = Path::new(&path).is_absolute();
        let bases = if absolute { vec![PathBuf::from("/")] } else { folders };
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

    fn note(&mut self, touch: Touch) {
        if self.out.touches.len() >= MAX_TOUCHES {
            return self.unknown("it touches too many paths");
        }
        if self.touched.insert(touch.clone()) {
            self.out.touches.push(touch);
        }
    }

    /// Goes to another folder.
    pub(crate) fn enter(&mut self, folder: &str) -> After {
        let failed = self.places.clone();
        let mut done = Places { folders: Vec::new(), lost: failed.lost && Path::new(folder).is_relative() };
        for base in &failed.folders {
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
