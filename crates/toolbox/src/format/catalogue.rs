//! Which formatters there are: those that are known, from `catalogue.json`, with what the settings say laid over them.

use std::collections::HashMap;

use serde::Deserialize;

/// Most formatters; further ones of the settings are left out.
pub const MAX_FORMATTERS: usize = 200;

/// A program that tidies a file in place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Formatter {
    /// What it is called.
    pub(super) name: String,
    /// The ends of the names of files that it is for.
    pub(super) extensions: Vec<String>,
    /// The program and its arguments, in which `$FILE` stands for the file.
    pub(super) command: Vec<String>,
    /// Variables that it is given.
    #[serde(default)]
    pub(super) environment: Vec<(String, String)>,
    /// Where its program is looked for before `PATH`: in this folder of each folder above the file.
    #[serde(default)]
    pub(super) beside: Option<String>,
    /// What tells that the project uses it, any of these. Without any it is for every project.
    #[serde(default)]
    pub(super) when: Vec<Sign>,
    /// Another one, which does the same: it has the first word, and is switched off together with this.
    #[serde(default)]
    pub(super) unless: Option<String>,
    /// What in its command stands for something that a file of the project says.
    #[serde(default)]
    pub(super) reads: Option<Reads>,
    /// What it must say of itself, because other programs have its name or it cannot do it yet.
    #[serde(default)]
    pub(super) proof: Option<Proof>,
    /// Whether it runs what stands in the project: a program, a plug-in, settings that are code.
    #[serde(default)]
    pub(super) runs_project: bool,
    /// Whether it counts only where the user tries what may change.
    #[serde(default)]
    pub(super) experimental: bool,
    /// Whether the settings switch it off.
    #[serde(skip)]
    pub(super) disabled: bool,
}

/// A file above the one that is formatted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sign {
    /// Its name.
    pub(super) file: String,
    /// A package that it must depend on.
    #[serde(default)]
    pub(super) needs: Option<String>,
    /// What must stand in it.
    #[serde(default)]
    pub(super) says: Option<String>,
}

/// A word of a command that a file of the project says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reads {
    /// What stands for it in the command.
    pub(super) word: String,
    /// The name of the file, in a folder above the one that is formatted.
    pub(super) file: String,
    /// What stands before it there; a quotation mark ends it.
    pub(super) behind: String,
    /// What it is where no file says it.
    pub(super) otherwise: String,
}

/// How a program shows that it is the one that is meant: it ends well, and says this.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Proof {
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) says: String,
}

/// What the settings say of a formatter. What is left out is as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// What it is called: one that is known, or a new one, which needs a command and extensions.
    pub name: String,
    /// Whether it is not used.
    pub disabled: bool,
    /// The program and its arguments, in which `$FILE` stands for the file. With it nothing else must tell that the
    /// project uses it.
    pub command: Option<Vec<String>>,
    /// Variables that it is given beside those that commands have.
    pub environment: Vec<(String, String)>,
    /// The ends of the names of files that it is for, such as `.rs`.
    pub extensions: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Catalogue {
    sets: HashMap<String, Vec<String>>,
    formatters: Vec<Formatter>,
}

/// Those that are known. Fails only where the file of the program itself is wrong, which a test forbids.
pub(super) fn known() -> Vec<Formatter> {
    let read = serde_json::from_str::<Catalogue>(include_str!("catalogue.json"));
    let Ok(Catalogue { sets, mut formatters }) = read else { return Vec::new() };
    for formatter in &mut formatters {
        let whole = formatter.extensions.iter().flat_map(|one| match sets.get(one) {
            Some(set) => set.clone(),
            None => vec![one.clone()],
        });
        formatter.extensions = whole.collect();
    }
    formatters
}

/// `known` with `wishes` laid over them, in their order, new ones behind. Also says what is wrong with wishes. Pure.
pub(super) fn with(mut known: Vec<Formatter>, wishes: Vec<Wish>) -> (Vec<Formatter>, Vec<String>) {
    let mut problems = Vec::new();
    for wish in wishes {
        let at = known.iter().position(|one| one.name == wish.name);
        let is_whole = wish.command.is_some() && wish.extensions.is_some();
        if at.is_none() && !is_whole && !wish.disabled {
            problems.push(format!("formatter.{} is not known, so it needs command and extensions", wish.name));
            continue;
        }
        if at.is_none() && (wish.disabled || known.len() >= MAX_FORMATTERS) {
            if !wish.disabled {
                problems.push(format!("formatter.{} is left out: there are {MAX_FORMATTERS} already", wish.name));
            }
            continue;
        }
        let one = match at.and_then(|at| known.get_mut(at)) {
            Some(one) => one,
            None => known.push_mut(Formatter { name: wish.name.clone(), ..Formatter::default() }),
        };
        lay(one, wish);
    }
    // Two that do the same go together.
    let off: Vec<String> = known.iter().filter(|one| one.disabled).map(|one| one.name.clone()).collect();
    let partners: Vec<Option<String>> = known.iter().map(|one| one.unless.clone()).collect();
    let pairs: Vec<(String, String)> =
        known.iter().zip(partners).filter_map(|(one, partner)| Some((one.name.clone(), partner?))).collect();
    for (one, other) in pairs {
        if off.contains(&one) || off.contains(&other) {
            known.iter_mut().filter(|it| it.name == one || it.name == other).for_each(|it| it.disabled = true);
        }
    }
    (known, problems)
}

fn lay(one: &mut Formatter, wish: Wish) {
    one.disabled = wish.disabled;
    if let Some(command) = wish.command {
        one.command = command;
        // Who says what to run means it.
        (one.when, one.proof, one.beside, one.experimental) = (Vec::new(), None, None, false);
        (one.reads, one.unless) = (None, None);
    }
    if let Some(extensions) = wish.extensions {
        let dotted = |one: String| if one.starts_with('.') { one } else { format!(".{one}") };
        one.extensions = extensions.into_iter().filter(|one| !one.is_empty()).map(dotted).collect();
    }
    one.environment.extend(wish.environment);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(name: &str) -> Wish {
        Wish { name: name.to_owned(), ..Wish::default() }
    }

    fn texts(list: &[&str]) -> Option<Vec<String>> {
        Some(list.iter().map(|&text| text.to_owned()).collect())
    }

    #[test]
    fn the_catalogue_can_be_read_and_makes_sense() {
        let known = known();
        assert_eq!(known.len(), 26);
        for Formatter { name, extensions, command, unless, .. } in &known {
            assert!(extensions.iter().all(|end| end.starts_with('.')), "{name}: {extensions:?}");
            assert_eq!(command.iter().filter(|word| *word == "$FILE").count(), 1, "{name}");
            assert!(
                !command.iter().any(|word| word.starts_with('$') && word != "$FILE") || name == "rustfmt",
                "{name}"
            );
            assert!(unless.as_ref().is_none_or(|other| known.iter().any(|one| one.name == *other)), "{name}");
            assert_eq!(known.iter().filter(|one| one.name == *name).count(), 1, "{name}");
        }
    }

    #[test]
    fn settings_are_laid_over_what_is_known() {
        let wishes = vec![
            Wish { command: texts(&["prettierd", "$FILE"]), ..wish("prettier") },
            Wish { disabled: true, ..wish("gofmt") },
            Wish {
                extensions: texts(&["rs", ".rs.in"]),
                environment: vec![("A".into(), "b".into())],
                ..wish("rustfmt")
            },
            Wish { command: texts(&["own", "$FILE"]), extensions: texts(&[".own"]), ..wish("own") },
        ];
        let (all, problems) = with(known(), wishes);
        assert!(problems.is_empty(), "{problems:?}");
        let find = |name: &str| all.iter().find(|one| one.name == name).unwrap();
        let prettier = find("prettier");
        assert!(prettier.when.is_empty() && prettier.beside.is_none() && prettier.runs_project);
        assert!(prettier.extensions.contains(&".css".to_owned()));
        assert!(find("gofmt").disabled && !find("ruff").disabled);
        assert_eq!(find("rustfmt").extensions, [".rs", ".rs.in"]);
        assert_eq!((find("rustfmt").command.len(), find("rustfmt").environment.len()), (4, 1));
        assert_eq!(all.last().unwrap().name, "own");
    }

    #[test]
    fn those_that_do_the_same_are_switched_off_together() {
        for name in ["ruff", "uv"] {
            let (all, _) = with(known(), vec![Wish { disabled: true, ..wish(name) }]);
            let off: Vec<&str> = all.iter().filter(|one| one.disabled).map(|one| one.name.as_str()).collect();
            assert_eq!(off, ["ruff", "uv"]);
        }
    }

    #[test]
    fn a_new_one_needs_a_command_and_extensions() {
        let count = known().len();
        let row = |wishes: Vec<Wish>, more: usize, said: &str| {
            let (all, problems) = with(known(), wishes);
            assert_eq!(all.len(), count + more);
            assert!(problems.concat().contains(said) && problems.is_empty() == said.is_empty(), "{problems:?}");
        };
        row(vec![Wish { command: texts(&["x"]), ..wish("new") }], 0, "formatter.new is not known");
        row(vec![Wish { extensions: texts(&[".x"]), ..wish("new") }], 0, "formatter.new is not known");
        row(vec![Wish { disabled: true, ..wish("new") }], 0, "");
        let many = (0..MAX_FORMATTERS).map(|at| {
            let name = format!("f{at}");
            Wish { name, command: texts(&["x"]), extensions: texts(&[".x"]), ..Wish::default() }
        });
        row(many.collect(), MAX_FORMATTERS - count, "there are 200 already");
    }
}
