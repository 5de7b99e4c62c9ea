//! `haft plugin …`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// `haft plugin`
#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// Install a package of the npm registry as a plug-in, with all that it needs
    Install(PluginInstall),
    /// The plug-ins that the settings name
    #[command(visible_alias = "ls")]
    List {
        /// As one JSON list
        #[arg(long)]
        json: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Take the newest versions of packages
    Update(PluginNamed),
    /// Take a package out of the settings, and its files away
    #[command(visible_alias = "rm")]
    Remove(PluginNamed),
}

/// `haft plugin install`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haft plugin install opencode-skills            the newest version, for this project
  haft plugin install @scope/name@1.2.3 --global for all of your projects
  haft plugin install                            all that the settings name and that is not there yet

The registry is that of npm's settings of yours: npm_config_registry, or your .npmrc. No script of a
package runs. What is installed is held to the checksums in plugin-lock.json from then on.")]
pub(crate) struct PluginInstall {
    /// The package, with a version if it is to be another than the newest
    pub spec: Option<String>,
    /// Into your own settings instead of this project's
    #[arg(long, requires = "spec")]
    pub global: bool,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// `haft plugin update`, `haft plugin remove`
#[derive(Debug, Args)]
pub(crate) struct PluginNamed {
    /// The package
    pub name: String,
    /// In your own settings instead of this project's
    #[arg(long)]
    pub global: bool,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}
