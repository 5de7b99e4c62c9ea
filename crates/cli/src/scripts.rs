//! Tools and programs in TypeScript: the process that runs them, and which files may.

mod bounds;

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use futures::future::BoxFuture;
use haft_config::PluginConfig;
use haft_permission::Grant;
use haft_project::{Command, Target};
use haft_script::plugin::{Found, Grounds, Limits, Plugin};
use haft_script::{Bounds, Cache, Doors, Engine, Facts, Launch, Tell, ToolFiles, Ways};
use haft_tool::{Call, Source, ToolError};
use haft_toolbox::World;
use serde_json::Value;

use self::bounds::{Trusted, Within};
use crate::packages::{Installed, Packages};
use crate::wire::Ground;
use crate::{hosts, render};

/// What this program is asked with to run scripts, as its only argument.
const ASKED: &str = "--run-scripts-1";
/// What it is asked with by a host, as its only argument, to take the types off a file.
pub(crate) const STRIP: &str = "--strip-types-1";
/// Variables that scripts see of ours: what says nothing of the person and holds no key.
const SHOWN: [&str; 8] = ["LANG", "LC_ALL", "TZ", "TERM", "NODE_ENV", "CI", "EDITOR", "COLORTERM"];

/// Runs scripts, if this process was started for that. Must come before threads, logs, arguments.
pub(crate) fn serve_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let asked = args.next().filter(|_| args.next().is_none())?;
    if asked == std::ffi::OsStr::new(STRIP) {
        // It is in the cage of the host that asks.
        return Some(match haft_script::strip_types(std::io::stdin().lock()) {
            Ok(code) if render::say(&code).is_ok() => ExitCode::SUCCESS,
            Ok(_) => ExitCode::FAILURE,
            Err(why) => {
                render::complain(&why);
                ExitCode::FAILURE
            }
        });
    }
    if asked != std::ffi::OsStr::new(ASKED) {
        return None;
    }
    if let Err(why) = haft_sandbox::seal() {
        render::complain(&format!("scripts are not run: {why}"));
        return Some(ExitCode::FAILURE);
    }
    haft_script::serve();
    Some(ExitCode::SUCCESS)
}

/// The engine for scripts in this folder. Nothing is started before it is needed.
pub(crate) fn engine(ground: &Ground) -> Option<Engine> {
    let program = std::env::current_exe().ok()?;
    let launch = haft_sandbox::sealed(&program, &[ASKED.into()]);
    let shown = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    let facts = Facts {
        directory: ground.place.directory.clone(),
        env: SHOWN.iter().filter_map(|name| shown(name)).collect(),
        home: ground.folders.home.clone(),
    };
    Some(Engine::new(Launch { program: launch.program, args: launch.args }, facts))
}

/// The doors of what scripts ask for.
pub(crate) fn doors(world: &World) -> Doors {
    let (files, processes) = (world.files.clone(), world.processes.clone());
    Doors { files, processes, web: haft_net::Web::default(), ways: Arc::new(BuiltIn(world.clone())) }
}

/// Leave as the built-in tools ask for it.
struct BuiltIn(World);

impl Ways for BuiltIn {
    fn reach<'a>(&'a self, call: &'a Call, path: &'a str) -> BoxFuture<'a, Result<Target, ToolError>> {
        Box::pin(haft_toolbox::reach(&self.0.files, call, path))
    }

    fn run<'a>(
        &'a self,
        call: &'a Call,
        command: &'a str,
        dir: &'a str,
    ) -> BoxFuture<'a, Result<(Grant, Command), ToolError>> {
        Box::pin(haft_toolbox::leave_to_run(&self.0, call, command, dir))
    }
}

/// The folders whose files of tools count.
fn tool_folders(ground: &Ground) -> Vec<PathBuf> {
    let project = ground.place.worktree.as_ref().unwrap_or(&ground.place.directory);
    // Nearest last, so that it counts: the user's own before the project's, the project's root before what is nearer.
    let (mut near, mut own): (Vec<PathBuf>, Vec<PathBuf>) =
        ground.config.directories.iter().cloned().partition(|folder| folder.starts_with(project));
    if !ground.config.trusted {
        near.clear();
    }
    near.sort_by_key(|folder| folder.components().count());
    own.extend(near);
    own
}

/// Whether there are tools in files.
pub(crate) fn any_tools(ground: &Ground) -> bool {
    ToolFiles::any(&tool_folders(ground))
}

/// The tools in files, where there are any.
pub(crate) fn tool_files(ground: &Ground, engine: &Engine, doors: &Doors) -> Option<Arc<dyn Source>> {
    let project = ground.place.worktree.as_ref().unwrap_or(&ground.place.directory);
    let own = tool_folders(ground);
    if !ToolFiles::any(&own) {
        return None;
    }
    let trusted: Arc<dyn Bounds> = Arc::new(Trusted::of(project.clone(), &own, &[], bounds::Packages::All));
    let (project, others, home) = (project.clone(), own_folders(ground), ground.folders.home.clone());
    let bounds = move |file: &Path| -> Arc<dyn Bounds> {
        match file.starts_with(&project) {
            true => trusted.clone(),
            false => Arc::new(Within::own(file, &others, &home)),
        }
    };
    let cache = Cache::new(ground.folders.cache.join("tools"));
    let host = Some(hosts::of(ground));
    Some(Arc::new(ToolFiles::new(own, engine.clone(), host, doors.clone(), Box::new(bounds), cache, warn())))
}

/// The configuration folders that are the user's own.
fn own_folders(ground: &Ground) -> Vec<PathBuf> {
    let project = ground.place.worktree.as_ref().unwrap_or(&ground.place.directory);
    ground.config.directories.iter().filter(|folder| !folder.starts_with(project)).cloned().collect()
}

/// Says what does not work.
fn warn() -> Tell {
    Arc::new(|text| render::complain(&format!("warning: {text}")))
}

/// The folders of a configuration folder that hold plug-ins.
const PLUGIN_FOLDERS: [&str; 2] = ["plugin", "plugins"];
/// Most plug-ins; further ones are left out.
const MAX_PLUGINS: usize = 50;

/// The plug-ins that the settings and the configuration folders name, in the order in which they are told of things. None
/// is begun here. Those of a project count once it is trusted; packages that are not installed are named and left out.
pub(crate) fn plugins(ground: &Ground, engine: &Engine) -> Vec<Arc<Plugin>> {
    let project = ground.place.worktree.as_ref().unwrap_or(&ground.place.directory);
    let is_own = |path: &Path| ground.config.trusted || !path.starts_with(project);
    let packages = Packages::new(&ground.folders, &ground.place);
    // A plug-in, with the folder that its files are in where it is a package.
    let mut found: Vec<(Found, Option<PathBuf>)> = Vec::new();
    for plugin in &ground.config.plugins {
        let PluginConfig { spec, options, .. } = plugin;
        match file(spec) {
            Some(file) if is_own(&file) => {
                found.push((Found { name: file.display().to_string(), file, options: options.clone() }, None));
            }
            Some(_) => {}
            None => match package(&packages, plugin) {
                Ok(package) => found.push(package),
                // Somebody may count on what it holds back.
                Err(why) => render::complain(&format!("warning: the plug-in {spec} is left out: {why}")),
            },
        }
    }
    let folders: Vec<PathBuf> = ground.config.directories.iter().filter(|folder| is_own(folder)).cloned().collect();
    for folder in folders.iter().flat_map(|folder| PLUGIN_FOLDERS.map(|name| folder.join(name))) {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_plugin(path)).collect();
        files.sort();
        let plugin = |file: PathBuf| Found { name: file.display().to_string(), file, options: Value::Null };
        found.extend(files.into_iter().map(|file| (plugin(file), None)));
    }
    if found.is_empty() {
        return Vec::new();
    }
    let files: Vec<PathBuf> =
        found.iter().filter(|(_, tree)| tree.is_none()).map(|(found, _)| found.file.clone()).collect();
    let trusted: Arc<dyn Bounds> = Arc::new(Trusted::of(project.clone(), &folders, &files, bounds::Packages::Beside));
    let grounds = Grounds {
        engine: engine.clone(),
        host: Some(hosts::of(ground)),
        bounds: trusted.clone(),
        stage: ground.backstage.stage.clone(),
        client: ground.backstage.clone(),
        directory: ground.place.directory.clone(),
        worktree: project.clone(),
        project: ground.place.project_id.clone(),
        tell: warn(),
        limits: Limits::default(),
    };
    let plugin = |(found, tree): (Found, Option<PathBuf>)| {
        let bounds: Arc<dyn Bounds> = match tree {
            Some(tree) => Arc::new(Within::package(&tree)),
            None if found.file.starts_with(project) => trusted.clone(),
            None => Arc::new(Within::own(&found.file, &own_folders(ground), &ground.folders.home)),
        };
        let grounds = Grounds { bounds, ..grounds.clone() };
        Arc::new(Plugin::new(found, grounds))
    };
    found.into_iter().take(MAX_PLUGINS).map(plugin).collect()
}

/// The package that `plugin` names, as it is locked and installed.
///
/// # Errors
///
/// Why it cannot be run, and what to do.
fn package(packages: &Packages, plugin: &PluginConfig) -> Result<(Found, Option<PathBuf>), String> {
    let Installed { tree, root } = packages.find(plugin)?;
    let file = haft_script::entry_of(&root).ok_or("its package.json names no file that there is")?;
    Ok((Found { name: plugin.spec.clone(), file, options: plugin.options.clone() }, Some(tree)))
}

/// The file that a `file://` address means.
fn file(address: &str) -> Option<PathBuf> {
    let mut rest = address.strip_prefix("file://")?.as_bytes();
    let mut path = Vec::with_capacity(rest.len());
    while let Some((&byte, behind)) = rest.split_first() {
        let hex = behind.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()).filter(|_| byte == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(escaped) => {
                path.push(escaped);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                path.push(byte);
                rest = behind;
            }
        }
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(path)))
}

fn is_plugin(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    [".ts", ".js"].iter().any(|end| name.ends_with(end)) && !name.ends_with(".d.ts") && path.is_file()
}
