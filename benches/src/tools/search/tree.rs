//! A large project that is made up, always the same one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Raised when the tree is to look different, so that an old one is not taken for it.
const VERSION: u32 = 1;
/// Source files. A twentieth more are ignored by the project, and some are binary.
const FILES: usize = 60_000;
/// Files in a folder.
const PER_FOLDER: usize = 12;
/// Folders in a package.
const PER_PACKAGE: usize = 20;
/// The text that files are cut from, in lines.
const CORPUS: usize = 60_000;
/// A word that one in a thousand files holds.
pub(super) const RARE: &str = "rarely_seen_token";

/// Where it is and how large.
pub(super) struct Tree {
    pub(super) path: PathBuf,
    /// Files in it.
    pub(super) files: usize,
    /// Bytes of them together.
    pub(super) bytes: u64,
}

/// The tree below `folder`, made first where it is not there yet.
pub(super) fn at(folder: &Path) -> Result<Tree> {
    let path = folder.join(format!("tree-{VERSION}"));
    let done = folder.join(format!("tree-{VERSION}.size"));
    if let Some((files, bytes)) = fs::read_to_string(&done).ok().and_then(|text| parse(&text)) {
        return Ok(Tree { path, files, bytes });
    }
    if path.exists() {
        fs::remove_dir_all(&path).with_context(|| format!("cannot remove the rest of {}", path.display()))?;
    }
    let mut maker = Maker { random: Random(VERSION.into()), files: 0, bytes: 0 };
    maker.make(&path).with_context(|| format!("cannot make {}", path.display()))?;
    fs::write(&done, format!("{} {}", maker.files, maker.bytes))?;
    Ok(Tree { path, files: maker.files, bytes: maker.bytes })
}

fn parse(text: &str) -> Option<(usize, u64)> {
    let (files, bytes) = text.split_once(' ')?;
    Some((files.parse().ok()?, bytes.parse().ok()?))
}

struct Maker {
    random: Random,
    files: usize,
    bytes: u64,
}

impl Maker {
    fn make(&mut self, root: &Path) -> Result<()> {
        let corpus: Vec<String> = (0..CORPUS).map(|_| self.line()).collect();
        fs::create_dir_all(root.join(".git"))?;
        self.put(&root.join(".git/HEAD"), b"ref: refs/heads/main\n")?;
        self.put(&root.join(".gitignore"), b"target/\n*.log\n*.tmp\n/out\n.DS_Store\n!keep.log\n")?;
        let mut folder = root.to_owned();
        for number in 0..FILES {
            if number % PER_FOLDER == 0 {
                folder = self.folder(root, number / PER_FOLDER)?;
            }
            self.file(&folder, number, &corpus)?;
        }
        Ok(())
    }

    /// The folder with this number, and what stands at the head of its package.
    fn folder(&mut self, root: &Path, number: usize) -> Result<PathBuf> {
        let (package, inner) = (number / PER_PACKAGE, number % PER_PACKAGE);
        let top = root.join(format!("packages/group{:02}/package{package:03}", package % 25));
        let folder = match inner {
            0 => top.clone(),
            1..=4 => top.join(format!("src/module{inner}")),
            5..=12 => top.join(format!("src/module{}/part{}", inner % 4 + 1, inner / 4)),
            13..=16 => top.join(format!("src/module{}/part1/deep/er{inner}", inner % 4 + 1)),
            _ => top.join(format!("tests/cases{inner}")),
        };
        fs::create_dir_all(&folder)?;
        if inner == 0 {
            self.put(&top.join(".gitignore"), b"build/\n/dist\n*.o\n*.pyc\nnode_modules/\n")?;
            self.put(&top.join("package_special.toml"), b"[package]\nname = \"x\"\n")?;
            for ignored in ["target/debug", "build"] {
                fs::create_dir_all(top.join(ignored))?;
                for made in 0..6 {
                    self.put(&top.join(ignored).join(format!("made{made}.o")), &[b'x'; 4096])?;
                }
            }
        }
        Ok(folder)
    }

    fn file(&mut self, folder: &Path, number: usize, corpus: &[String]) -> Result<()> {
        let ending = ["rs", "ts", "py", "go", "md", "json", "c", "h"][self.random.below(8)];
        // Many small ones and a few large ones, 10 KB in the middle of it.
        let lines = match self.random.below(100) {
            0..=49 => 20 + self.random.below(150),
            50..=89 => 150 + self.random.below(400),
            90..=98 => 500 + self.random.below(1200),
            _ => 3000 + self.random.below(6000),
        };
        if self.random.below(40) == 0 {
            let bytes: Vec<u8> = (0..lines * 30).map(|_| self.random.below(256) as u8).collect();
            return self.put(&folder.join(format!("image{number}.png")), &bytes);
        }
        let start = self.random.below(corpus.len() - lines);
        let mut text = corpus[start..start + lines].concat();
        if self.random.below(1000) == 0 {
            text.push_str(&format!("// {RARE}\n"));
        }
        self.put(&folder.join(format!("file{number}.{ending}")), text.as_bytes())
    }

    /// A line that could stand in a program.
    fn line(&mut self) -> String {
        const WORDS: [&str; 40] = [
            "value", "index", "buffer", "request", "session", "config", "state", "item", "result", "error", "path",
            "name", "count", "message", "parser", "token", "node", "child", "parent", "cache", "client", "server",
            "writer", "reader", "length", "offset", "event", "queue", "handler", "context", "builder", "record",
            "field", "table", "column", "key", "map", "list", "stream", "packet",
        ];
        let mut word = || WORDS[self.random.below(WORDS.len())];
        let (a, b, c) = (word(), word(), word());
        let indent = " ".repeat(4 * self.random.below(5));
        match self.random.below(60) {
            0 => format!("pub fn {a}_{b}_handler({c}: &str) -> Result<(), Error> {{\n"),
            1..=3 => format!("fn {a}_{b}({c}: usize) -> Option<{b}> {{\n"),
            4..=9 => "\n".to_owned(),
            10..=15 => format!("{indent}}}\n"),
            16..=20 => format!("{indent}return {a}.{b}({c});\n"),
            21..=30 => format!("{indent}// The {a} of a {b} is kept until its {c} has been written.\n"),
            31..=40 => format!("{indent}if {a}.{b}() > {c}.len() {{\n"),
            _ => format!("{indent}let {a}_{b} = {c}.{a}({b}, \"{c}\")?;\n"),
        }
    }

    fn put(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        fs::write(path, bytes)?;
        self.files += 1;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    /// Below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_is_there_is_known_by_its_size() {
        assert_eq!(parse("12 345"), Some((12, 345)));
        assert_eq!(parse(""), None);
        assert_eq!(parse("12 x"), None);
    }

    #[test]
    fn numbers_are_the_same_every_time_and_below_the_end() {
        let numbers = || {
            let mut random = Random(1);
            (0..100).map(|_| random.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(), numbers());
        assert!((0..10).all(|number| numbers().contains(&number)));
    }
}
