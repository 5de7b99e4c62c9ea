//! Tools on a temporary project, for tests.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use haft_permission::{Access, Action, Rule};
use haft_project::{Files, Processes};
use haft_tool::fake::FakeHost;
use haft_tool::{Output, Registry, ToolError};
use serde_json::Value;

use crate::{AfterEdit, Options, World, builtin_with};

/// `base/project` with a folder `src` in it, `base/outside` beside it, and `base/outputs`.
pub(crate) struct Scene {
    pub(crate) registry: Registry,
    pub(crate) bench: FakeHost,
    base: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scene {
    /// Everything is allowed.
    pub(crate) fn new() -> Self {
        Self::with_rules(&[("*", "*", Action::Allow)])
    }

    pub(crate) fn with_rules(rules: &[(&str, &str, Action)]) -> Self {
        Self::with(rules, AfterEdit::default())
    }

    /// The same, where `after_edit` is done with files that tools wrote.
    pub(crate) fn with(rules: &[(&str, &str, Action)], after_edit: AfterEdit) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(folder.path()).unwrap();
        for name in ["project/src", "outside", "outputs"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        let rules = rules.iter().map(|(permission, pattern, action)| Rule::new(permission, pattern, *action)).collect();
        let bench = FakeHost::new(&base.join("outputs"), rules);
        let files = Files::new(base.join("project"), None);
        let processes = Processes::new("/bin/sh".into(), Vec::new());
        let options = Options { after_edit, ..Options::default() };
        let registry = builtin_with(&World { files, processes }, &options);
        Self { registry, bench, base, _folder: folder }
    }

    pub(crate) async fn run(&self, tool: &str, input: Value) -> Result<Output, ToolError> {
        self.registry.run(tool, input, &self.bench.call()).await
    }

    /// Runs the tool and checks that it fails with a text that contains `want`.
    #[track_caller]
    pub(crate) fn fails<'a>(&'a self, tool: &'a str, input: Value, want: &'a str) -> impl Future<Output = ()> + 'a {
        let place = std::panic::Location::caller();
        async move {
            let error = self.run(tool, input).await.expect_err(want).to_string();
            assert!(error.contains(want), "{place}: {error}");
        }
    }

    /// What was asked for under `permission`.
    pub(crate) fn asked(&self, permission: &str) -> Vec<Access> {
        self.bench.asked().into_iter().filter(|access| access.permission == permission).collect()
    }

    /// The absolute path of `name`, which may begin with `../`.
    pub(crate) fn path(&self, name: &str) -> String {
        let path = match name.strip_prefix("../") {
            Some(name) => self.base.join(name),
            None => self.base.join("project").join(name),
        };
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The same, with the folders above it.
    pub(crate) fn put_deep(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Empty files, the earlier ones of them newer.
    pub(crate) fn put_aged(&self, names: &[&str]) {
        for (age, name) in names.iter().enumerate() {
            self.put_deep(name, "");
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age as u64);
            std::fs::File::options().write(true).open(self.path(name)).unwrap().set_modified(time).unwrap();
        }
    }

    /// Changes a file and leaves its time as it was.
    pub(crate) fn put_keeping_time(&self, name: &str, text: &str) {
        let time = std::fs::metadata(self.path(name)).unwrap().modified().unwrap();
        self.put(name, text);
        std::fs::File::options().write(true).open(self.path(name)).unwrap().set_modified(time).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}
