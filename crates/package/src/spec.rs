//! What people write for a package. Pure.

use crate::error::PackageError;

/// Longest name of a package, in bytes.
const MAX_NAME: usize = 214;
/// Longest version, range or tag, in bytes.
const MAX_RANGE: usize = 256;

/// A package and which of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Its name, such as `left-pad` or `@scope/name`.
    pub name: String,
    /// A version, a range or a tag; `latest` where nothing was said.
    pub range: String,
}

impl Spec {
    /// Reads `name`, `name@1.2.3`, `@scope/name@^2`.
    ///
    /// # Errors
    ///
    /// [`PackageError::Spec`], also for what is fetched from elsewhere than a registry.
    pub fn parse(text: &str) -> Result<Self, PackageError> {
        let wrong = |why| PackageError::Spec { spec: text.chars().take(MAX_RANGE).collect(), why };
        let at = text.get(1..).and_then(|rest| rest.find('@')).map(|at| at + 1);
        let (name, range) = match at {
            Some(at) => text.split_at(at),
            None => (text, "@latest"),
        };
        let range = range.trim_start_matches('@').trim();
        if !is_name(name) {
            return Err(wrong("a name is small letters, digits, - . _, and may begin with @scope/"));
        }
        let elsewhere = ["git", "http:", "https:", "file:", "link:", "workspace:", "github:", "./", "/", "npm:"];
        if elsewhere.iter().any(|start| range.starts_with(start)) || range.contains('/') {
            return Err(wrong("only packages of the registry are installed"));
        }
        if range.len() > MAX_RANGE {
            return Err(wrong("its version is too long"));
        }
        let range = if range.is_empty() { "latest" } else { range };
        Ok(Self { name: name.to_owned(), range: range.to_owned() })
    }
}

/// Whether `name` may be the name of a package: then it is a path of one or two plain parts.
pub(crate) fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        let starts = part.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '~');
        starts && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~!'()*".contains(c))
    };
    name.len() <= MAX_NAME
        && match name.strip_prefix('@') {
            Some(rest) => rest.split_once('/').is_some_and(|(scope, name)| part(scope) && part(name)),
            None => part(name) && name != "node_modules",
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_are_told_apart() {
        let row = |text: &str, name: &str, range: &str| {
            let spec = Spec::parse(text).unwrap();
            assert_eq!((spec.name.as_str(), spec.range.as_str()), (name, range), "{text}");
        };
        row("a", "a", "latest");
        row("a@", "a", "latest");
        row("a@1.2.3", "a", "1.2.3");
        row("@s/p", "@s/p", "latest");
        row("@s/p@^2 || 3", "@s/p", "^2 || 3");
        row("a@beta", "a", "beta");
    }

    #[test]
    fn what_is_no_package_of_a_registry_is_refused() {
        for text in [
            "",
            "@",
            "@s",
            "@s/",
            "../x",
            "a/b",
            "/a",
            ".a",
            "a b",
            "a@file:../x",
            "a@git+ssh://x",
            "a@https://x/y.tgz",
            "a@u/r",
            "node_modules",
            "@s/..",
            "@../a",
        ] {
            assert!(Spec::parse(text).is_err(), "{text}");
        }
        assert!(Spec::parse(&"a".repeat(MAX_NAME + 1)).is_err());
        assert!(Spec::parse(&format!("a@{}", "1".repeat(MAX_RANGE + 1))).is_err());
    }
}
