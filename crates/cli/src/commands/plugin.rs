//! `haft plugin`: packages as plug-ins. Nothing else in haft installs any.

use std::io::ErrorKind;

use anyhow::{Context, Result, bail};
use haft_config::{Config, PluginConfig, with_item};
use haft_package::{Registry, Settings, Spec, Tree};
use serde_json::{Value, json};

use super::mcp::{settings_file, write_settings};
use crate::args::{Plugin, PluginInstall, PluginNamed};
use crate::folders::Folders;
use crate::packages::{Packages, Whose, is_file, name_of};
use crate::render::{self, spelled};
use crate::report::{Exit, Usage};
use crate::trust::{self, Asking};
use crate::wire;

pub(crate) async fn run(command: Plugin) -> Result<Exit> {
    match command {
        Plugin::Install(args) => install(args).await,
        Plugin::List { json, dir } => list(&Desk::at(dir.as_deref())?, json),
        Plugin::Update(PluginNamed { name, global, dir }) => {
            let desk = Desk::at(dir.as_deref())?;
            let whose = whose(global);
            let known = desk.packages.lock(whose)?;
            if !known.plugins.values().any(|tree| tree.name == name_of(&name)) {
                let all: Vec<&str> = known.plugins.values().map(|tree| tree.name.as_str()).collect();
                return Err(Usage(format!("{name:?} is not installed; there is {}", all.join(", "))).into());
            }
            desk.add(&name, whose).await
        }
        Plugin::Remove(PluginNamed { name, global, dir }) => Desk::at(dir.as_deref())?.remove(&name, whose(global)),
    }
}

fn whose(global: bool) -> Whose {
    if global { Whose::Own } else { Whose::Project }
}

async fn install(args: PluginInstall) -> Result<Exit> {
    let desk = Desk::at(args.dir.as_deref())?;
    match &args.spec {
        Some(spec) => desk.add(spec, whose(args.global)).await,
        None => desk.complete().await,
    }
}

/// What the commands work with: no plug-in is begun for them.
struct Desk {
    packages: Packages,
    config: Config,
    npm: Settings,
}

impl Desk {
    fn at(dir: Option<&std::path::Path>) -> Result<Self> {
        let (folders, place) = (Folders::find()?, wire::place(dir)?);
        let config = trust::load(&folders, &place, &wire::sources(&folders, &place), Asking::Nobody)?;
        let npm = Settings::find(&folders.home, &|name| std::env::var(name).ok());
        Ok(Self { packages: Packages::new(&folders, &place), config, npm })
    }

    /// Installs the package that `spec` names, locks it and puts it into the settings, in the place of other versions.
    async fn add(&self, spec: &str, whose: Whose) -> Result<Exit> {
        let wanted = Spec::parse(spec).map_err(|error| Usage(error.to_string()))?;
        let registry = Registry::new(self.npm.clone())?;
        // Before anything is fetched: what cannot be written at the end is not begun.
        let path = settings_file(self.packages.settings(whose));
        let before = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let mut lock = self.packages.lock(whose)?;
        render::complain(&format!("looking for {} at {}", wanted.name, self.npm.registry(&wanted.name)));
        let tree = haft_package::resolve(&registry, &wanted).await?;
        let version = tree.version().unwrap_or_default().to_owned();
        let pinned = format!("{}@{version}", wanted.name);
        let after = with_item(&before, "plugin", Some(&pinned), &|item| name_of(item) == wanted.name);
        let after = match after {
            Ok(after) => after,
            Err(why) => bail!("{}: {why}; nothing was installed", path.display()),
        };
        haft_package::install(&registry, &tree, &self.packages.folder(&tree)).await?;
        let (others, count) = (tree.packages.len() - 1, tree.packages.len());
        tracing::info!(package = pinned, count, "installed");
        let old = lock.without(&wanted.name);
        lock.plugins.insert(pinned.clone(), tree.clone());
        self.packages.write(whose, &lock)?;
        write_settings(&path, &after)?;
        self.packages.used(&tree, whose);
        old.iter().for_each(|tree| self.packages.let_go(tree));
        let besides = if others == 0 { String::new() } else { format!(", and {others} packages that it needs") };
        render::complain(&format!("installed {pinned}{besides}; it is in {}", path.display()));
        if whose == Whose::Project {
            render::complain("it runs once this project's settings are trusted: `haft trust`");
        }
        Ok(Exit::Done)
    }

    /// Installs what the settings name and what is not here: what is locked as it is locked, else the newest that fits.
    async fn complete(&self) -> Result<Exit> {
        let registry = Registry::new(self.npm.clone())?;
        let mut count = 0;
        for plugin in self.named().filter(|plugin| self.packages.find(plugin).is_err()) {
            let whose = self.packages.whose(plugin);
            let spec = Spec::parse(&plugin.spec)?;
            let mut lock = self.packages.lock(whose)?;
            let known = lock.plugins.get(&plugin.spec).filter(|tree| tree.name == spec.name).cloned();
            let tree = match &known {
                Some(tree) => tree.clone(),
                None => haft_package::resolve(&registry, &spec).await?,
            };
            haft_package::install(&registry, &tree, &self.packages.folder(&tree)).await?;
            self.packages.used(&tree, whose);
            let version = tree.version().unwrap_or_default().to_owned();
            if known.is_none() {
                lock.plugins.insert(plugin.spec.clone(), tree);
                self.packages.write(whose, &lock)?;
                if whose == Whose::Project {
                    render::complain("its lock file has changed: `haft trust` before it runs");
                }
            }
            render::complain(&format!("installed {}@{version}", spec.name));
            count += 1;
        }
        if count == 0 {
            render::complain(match self.config.trusted {
                true => "everything that the settings name is installed",
                false => "nothing to install; what this project itself names counts once it is trusted: `haft trust`",
            });
        }
        Ok(Exit::Done)
    }

    /// Takes the package called `name` out of lock and settings.
    fn remove(&self, name: &str, whose: Whose) -> Result<Exit> {
        let name = name_of(name);
        let path = settings_file(self.packages.settings(whose));
        let mut lock = self.packages.lock(whose)?;
        let old = lock.without(name);
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        let after = with_item(&before, "plugin", None, &|item| !is_file(item) && name_of(item) == name);
        let after = match after {
            Ok(after) => after,
            Err(why) => bail!("{}: {why}; nothing was removed", path.display()),
        };
        if old.is_empty() && (before.trim().is_empty() || after == before) {
            return Err(
                Usage(format!("{name:?} is not in {}; `haft plugin list` shows what is", path.display())).into()
            );
        }
        if after != before {
            write_settings(&path, &after)?;
        }
        if !old.is_empty() {
            self.packages.write(whose, &lock)?;
            old.iter().for_each(|tree| self.packages.let_go(tree));
        }
        render::complain(&format!("removed {name} from {}", path.display()));
        Ok(Exit::Done)
    }

    /// The packages that the settings name.
    fn named(&self) -> impl Iterator<Item = &PluginConfig> {
        self.config.plugins.iter().filter(|plugin| !is_file(&plugin.spec))
    }
}

fn list(desk: &Desk, json: bool) -> Result<Exit> {
    let rows: Vec<Value> = desk.config.plugins.iter().map(|plugin| described(desk, plugin)).collect();
    if json {
        render::say_json(&Value::from(rows), false)?;
        return Ok(Exit::Done);
    }
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let width = rows.iter().map(|row| text(row, "plugin").chars().count()).max().unwrap_or_default();
    for row in &rows {
        let line = format!("{:width$}  {}  {}", text(row, "plugin"), text(row, "state"), text(row, "origin"));
        // Files of a project say what stands here.
        render::say(&spelled(line.trim_end()))?;
    }
    if rows.is_empty() {
        render::complain("the settings name no plug-ins; `haft plugin install PACKAGE` adds one");
    }
    Ok(Exit::Done)
}

fn described(desk: &Desk, plugin: &PluginConfig) -> Value {
    if is_file(&plugin.spec) {
        return json!({"plugin": plugin.spec, "state": "a file", "origin": plugin.origin});
    }
    let lock = desk.packages.lock(desk.packages.whose(plugin)).unwrap_or_default();
    let tree = lock.plugins.get(&plugin.spec);
    let (state, root) = match desk.packages.find(plugin) {
        Ok(found) => ("installed".to_owned(), Some(found.root)),
        Err(why) => (why, None),
    };
    json!({
        "plugin": plugin.spec, "state": state, "origin": plugin.origin,
        "version": tree.and_then(Tree::version), "packages": tree.map(|tree| tree.packages.len()), "folder": root,
    })
}
