//! Variables that others than the person want a command to have: hooks, scripts.

/// Most variables, and most bytes of them all.
const MOST: usize = 256;
const MOST_BYTES: usize = 64 * 1024;
/// Beginnings of names of variables that say what a program is made of, whatever its command line says.
const LOADERS: [&str; 5] = ["LD_", "DYLD_", "GIT_CONFIG", "HAFT_", "XDG_"];
/// Names of variables that let a shell or an interpreter run something before what it was told to run. What a command line
/// does was looked at without them. `PATH` is not among them: to set it is what most such hooks are for.
const RUNNERS: [&str; 23] = [
    "BASH_ENV",
    "BASHOPTS",
    "ENV",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    // Where programs look for settings that name others to run.
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "NODE_OPTIONS",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PYTHONSTARTUP",
    "RUBYOPT",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "TMPDIR",
    "ZDOTDIR",
];

/// `variables` without those that would make another command of the one that was asked for, and without what is too much.
pub fn harmless(variables: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut bytes = 0;
    let fits = |(name, value): &(String, String)| {
        bytes += name.len() + value.len();
        let is_name = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
        let is_function = name.starts_with("BASH_FUNC_");
        let turns = is_function || RUNNERS.contains(&&**name) || LOADERS.iter().any(|begin| name.starts_with(begin));
        if turns || !is_name || bytes > MOST_BYTES {
            tracing::warn!(name, "a hook's variable is left out of the command's environment");
        }
        is_name && !turns && bytes <= MOST_BYTES
    };
    variables.into_iter().take(MOST).filter(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_run_something_else_is_left_out() {
        let given = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), "v".to_owned())).collect::<Vec<_>>();
        let kept = |names: &[&str]| harmless(given(names)).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(
            kept(&[
                "FOO",
                "LD_PRELOAD",
                "BASH_ENV",
                "PATH",
                "BASH_FUNC_ls%%",
                "",
                "A=B",
                "TOKEN",
                "HOME",
                "XDG_CONFIG_HOME",
                "NODE_OPTIONS",
            ]),
            ["FOO", "PATH", "TOKEN"]
        );
        assert_eq!(harmless(vec![("A".to_owned(), "x".repeat(MOST_BYTES))]), []);
        let many: Vec<_> = (0..2 * MOST).map(|at| (format!("V{at}"), String::new())).collect();
        assert_eq!(harmless(many).len(), MOST);
    }
}
