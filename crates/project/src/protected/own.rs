//! What haft itself wrote, with leave, while a command ran: that is no damage of the command's.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Component, Path, PathBuf};

use super::names::{self, Ground, Kind, Verdict};
use super::shape::{Contents, Folder, Limits, Shape, Taking};
use super::survey::now;

/// Most writes that are remembered; the oldest are forgotten, and put back as if a command had made them.
pub(super) const MAX_OWN: usize = 256;

/// Writes of ours, the newest last.
#[derive(Debug, Default)]
pub(super) struct Own {
    writes: VecDeque<Write>,
}

#[derive(Debug)]
struct Write {
    path: PathBuf,
    moment: i128,
    /// What was there then; `None` if it was removed.
    shape: Option<Shape>,
}

/// What is protected, by path.
type Shapes = BTreeMap<PathBuf, (Kind, Shape)>;

impl Own {
    /// Notes that the file at `path` was written or removed just now.
    pub(super) fn note(&mut self, path: &Path) {
        if top(Path::new("/"), path).is_none() {
            return;
        }
        let known = Contents::new();
        let shape = Taking::new(Limits::default(), now(), &known).take(path);
        if self.writes.len() == MAX_OWN {
            self.writes.pop_front();
        }
        self.writes.push_back(Write { path: path.to_owned(), moment: now(), shape });
    }

    /// Lays what was written after `moment` below `roots` over what was there then. `None` if that is nothing.
    pub(super) fn laid_over(&self, shapes: &Shapes, moment: i128, roots: &[PathBuf]) -> Option<Shapes> {
        let mut writes = self.writes.iter().filter(|write| write.moment > moment).peekable();
        writes.peek()?;
        let mut shapes = shapes.clone();
        for Write { path, shape, .. } in writes {
            let known = path.ancestors().find_map(|above| Some((above.to_owned(), shapes.get(above)?.0)));
            let root = roots.iter().find(|root| path.starts_with(root));
            if let Some((top, kind)) = known.or_else(|| top(root?, path)) {
                lay(&mut shapes, &top, kind, path, shape.clone());
            }
        }
        Some(shapes)
    }
}

/// The highest that is protected on the way from the folder `root` to the file `path`, by its name.
fn top(root: &Path, path: &Path) -> Option<(PathBuf, Kind)> {
    let mut ground = match names::at(root) {
        Verdict::Into(ground) => ground,
        Verdict::Protected(_) | Verdict::Passed => Ground::Plain,
    };
    let mut at = root.to_owned();
    let mut below = path.strip_prefix(root).ok()?.components().peekable();
    while let Some(name) = below.next() {
        at.push(name);
        match names::judge(ground, name.as_os_str().as_encoded_bytes(), below.peek().is_some()) {
            Verdict::Protected(kind) => return Some((at, kind)),
            Verdict::Into(next) => ground = next,
            Verdict::Passed => return None,
        }
    }
    None
}

fn lay(shapes: &mut Shapes, top: &Path, kind: Kind, path: &Path, shape: Option<Shape>) {
    let below: Vec<Component<'_>> =
        path.strip_prefix(top).map(|below| below.components().collect()).unwrap_or_default();
    let Some((last, folders)) = below.split_last() else {
        match shape {
            Some(shape) => _ = shapes.insert(top.to_owned(), (kind, shape)),
            None => _ = shapes.remove(top),
        }
        return;
    };
    let empty = || Shape::Folder(Folder { mode: 0o755, entries: BTreeMap::new(), whole: true });
    let mut at = &mut shapes.entry(top.to_owned()).or_insert_with(|| (kind, empty())).1;
    for name in folders {
        let Shape::Folder(folder) = at else { return };
        at = folder.entries.entry(name.as_os_str().to_owned()).or_insert_with(empty);
    }
    let Shape::Folder(folder) = at else { return };
    match shape {
        Some(shape) => _ = folder.entries.insert(last.as_os_str().to_owned(), shape),
        None => _ = folder.entries.remove(last.as_os_str()),
    }
}
