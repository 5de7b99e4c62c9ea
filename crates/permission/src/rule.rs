//! Rules and how one is found. Pure.

use std::borrow::Cow;
use std::fmt;

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Yes.
    Allow,
    /// A person decides.
    Ask,
    /// No.
    Deny,
}

impl Action {
    /// The word that configuration files use.
    pub fn word(self) -> &'static str {
        match self {
            Action::Allow => "allow",
            Action::Ask => "ask",
            Action::Deny => "deny",
        }
    }

    /// The action that `word` stands for, if it stands for one.
    pub fn from_word(word: &str) -> Option<Self> {
        [Action::Allow, Action::Ask, Action::Deny].into_iter().find(|action| action.word() == word)
    }
}

/// One line of a policy: for this permission and what matches this pattern, do this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// A permission such as `edit`, or a pattern over their names.
    pub permission: String,
    /// A pattern over what is asked for.
    pub pattern: String,
    /// What then.
    pub action: Action,
}

impl Rule {
    /// A rule.
    pub fn new(permission: &str, pattern: &str, action: Action) -> Self {
        Self { permission: permission.to_owned(), pattern: pattern.to_owned(), action }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}: {}", self.permission, self.pattern, self.action.word())
    }
}

/// The last of `rules` that matches decides. Where none does, a person is asked and there is no rule to name.
///
/// A path with `..` in it is looked up as the path it comes to, so that a rule for `/tmp/*` says nothing about
/// `/tmp/../etc`.
pub fn decide<'a>(permission: &str, value: &str, rules: &'a [Rule]) -> (Action, Option<&'a Rule>) {
    let value = straight(permission, value);
    let (permission, value) = (Text::new(permission), Text::new(&value));
    let found = rules.iter().rev().find(|rule| permission.matches(&rule.permission) && value.matches(&rule.pattern));
    (found.map_or(Action::Ask, |rule| rule.action), found)
}

/// Permissions that are asked for with paths.
const PATHS: [&str; 3] = ["external_directory", "read", "edit"];

/// The path that `value` comes to, without looking at any disk; what is no path stays as it is.
fn straight<'a>(permission: &str, value: &'a str) -> Cow<'a, str> {
    let slashes = ['/', '\\'];
    if !PATHS.contains(&permission) || !value.split(slashes).any(|name| name == "." || name == "..") {
        return Cow::Borrowed(value);
    }
    let absolute = value.starts_with(slashes);
    let mut names: Vec<&str> = Vec::new();
    for name in value.split(slashes) {
        match name {
            "" | "." => {}
            ".." => match names.last() {
                Some(&last) if last != ".." => drop(names.pop()),
                _ if absolute => {}
                _ => names.push(name),
            },
            name => names.push(name),
        }
    }
    let path = names.join("/");
    match (absolute, path.is_empty()) {
        (true, _) => Cow::Owned(format!("/{path}")),
        (false, true) => Cow::Borrowed("."),
        (false, false) => Cow::Owned(path),
    }
}

/// The permission that the tool called `tool` asks under.
pub fn permission_of(tool: &str) -> &str {
    match tool {
        "write" | "multiedit" | "patch" | "apply_patch" => "edit",
        "view" | "list_mcp_resources" | "list_mcp_resource_templates" | "read_mcp_resource" => "read",
        "ls" => "list",
        other => other,
    }
}

/// Whether everything that the pattern `narrow` covers is covered by the pattern `wide`. May be `false` where it is so
/// all the same, and never the other way round.
pub fn covers(wide: &str, narrow: &str) -> bool {
    let bare = narrow.strip_suffix(" *");
    // A `?` of `wide` would take a `*` of `narrow` for one character.
    wide == narrow || !wide.contains('?') && matches(wide, narrow) && bare.is_none_or(|bare| matches(wide, bare))
}

/// Decides about a program text whose parts were not told apart, such as a shell line with `;` in it.
///
/// A pattern that matches the beginning of such a text says nothing about the rest. So only a rule for everything
/// (`*`) or for exactly this text allows it, and the former only while no narrower rule of this permission holds
/// anything back, because that one might be meant for a part of it.
pub fn decide_opaque<'a>(permission: &str, value: &str, rules: &'a [Rule]) -> (Action, Option<&'a Rule>) {
    let (action, rule) = decide(permission, value, rules);
    let Some(found) = rule.filter(|_| action == Action::Allow) else { return (action, rule) };
    let exact = found.pattern == value && !found.pattern.contains(['*', '?']);
    let held_back = || {
        rules
            .iter()
            .any(|rule| rule.action != Action::Allow && rule.pattern != "*" && matches(&rule.permission, permission))
    };
    if exact || (found.pattern == "*" && !held_back()) { (action, rule) } else { (Action::Ask, rule) }
}

/// Whether `pattern` covers the whole of `value`.
///
/// `*` stands for any run of characters (also `/`, line breaks, none), `?` for exactly one, everything else for
/// itself; `\` counts as `/` on both sides. A pattern that ends in a blank and `*` also matches without that tail:
/// `rm *` covers `rm`. A character outside Unicode's first plane counts as two, as it does in OpenCode, whose rules
/// are to mean the same here. Takes time in proportion to the product of both lengths at worst.
pub fn matches(pattern: &str, value: &str) -> bool {
    Text::new(value).matches(pattern)
}

/// What patterns are held against, looked at once for many of them.
struct Text<'a> {
    text: &'a str,
    /// Nearly all are plain, and a search asks for each of very many files: these are compared as they are.
    plain: bool,
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, plain: text.is_ascii() }
    }

    fn matches(&self, pattern: &str) -> bool {
        let (bytes, value) = (pattern.as_bytes(), self.text.as_bytes());
        // Most rules are about something else, and their first or last letter says so.
        if differ(bytes.first(), value.first()) || differ(bytes.last(), value.last()) {
            return false;
        }
        if self.plain && pattern.is_ascii() {
            return covers_whole(bytes, value);
        }
        let units = |text: &str| -> Vec<u16> { text.encode_utf16().collect() };
        covers_whole(&units(pattern), &units(self.text))
    }
}

/// Whether a byte of a pattern stands for itself and not for this byte of a value, which is the beginning or the end of
/// both. What may not be there at all (the blank before a last star) says nothing about an empty value.
fn differ(pattern: Option<&u8>, value: Option<&u8>) -> bool {
    let (Some(&pattern), Some(&value)) = (pattern, value) else { return false };
    let slash = |byte: u8| if byte == b'\\' { b'/' } else { byte };
    pattern.is_ascii() && !matches!(pattern, b'*' | b'?') && slash(pattern) != slash(value)
}

fn covers_whole<T: Copy + Into<u16>>(pattern: &[T], value: &[T]) -> bool {
    let bare = match pattern {
        [bare @ .., blank, star] if (*blank).into() == BLANK && (*star).into() == STAR => Some(bare),
        _ => None,
    };
    bare.is_some_and(|bare| wild(bare, value)) || wild(pattern, value)
}

const BLANK: u16 = b' ' as u16;
const STAR: u16 = b'*' as u16;
const MARK: u16 = b'?' as u16;

fn wild<T: Copy + Into<u16>>(pattern: &[T], value: &[T]) -> bool {
    let unify = |unit: T| if unit.into() == u16::from(b'\\') { u16::from(b'/') } else { unit.into() };
    let (mut p, mut v) = (0, 0);
    // Where to go back to: after the last star, and the value's place it is tried at.
    let mut star: Option<(usize, usize)> = None;
    while v < value.len() {
        match pattern.get(p).copied().map(unify) {
            Some(STAR) => {
                star = Some((p + 1, v));
                p += 1;
            }
            Some(c) if c == MARK || c == unify(value[v]) => {
                p += 1;
                v += 1;
            }
            Some(_) | None => {
                let Some((after, tried)) = star else { return false };
                star = Some((after, tried + 1));
                (p, v) = (after, tried + 1);
            }
        }
    }
    pattern[p..].iter().all(|&c| c.into() == STAR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Action::{Allow, Ask, Deny};

    #[track_caller]
    fn check(pattern: &str, value: &str, want: bool) {
        assert_eq!(matches(pattern, value), want, "{pattern:?} against {value:?}");
    }

    #[test]
    fn stars_cover_any_run_of_characters() {
        check("*", "", true);
        check("*", "a\nb/c", true);
        check("src/*.rs", "src/deep/a.rs", true);
        check("src/*.rs", "src/a.rsx", false);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("**", "x", true);
    }

    #[test]
    fn a_question_mark_is_exactly_one_character() {
        check("??", "😀", true);
        check("?", "😀", false);
        check("a?", "ab", true);
        check("a?", "aé", true);
        check("a?", "a", false);
        check("a?", "abc", false);
    }

    #[test]
    fn a_trailing_blank_and_star_may_be_missing() {
        check("rm *", "rm", true);
        check("rm *", "rm -rf x", true);
        check("rm *", "rmdir", false);
        check("rm *", "rm ", true);
    }

    #[test]
    fn backslashes_are_slashes() {
        check("src\\*", "src/a", true);
        check("src/*", "src\\a", true);
    }

    #[test]
    fn no_pattern_takes_for_ever() {
        // A way back for each star would take more steps than there are atoms.
        let many = "*a".repeat(400);
        check(&format!("{many}b"), &"a".repeat(10_000), false);
        check(&format!("{many}*b"), &format!("{}b", "a".repeat(10_000)), true);
        check(&"*".repeat(10_000), &"a".repeat(10_000), true);
        check(&format!("{}x", "?*".repeat(400)), &format!("{}x", "é".repeat(10_000)), true);
    }

    #[test]
    fn what_is_asked_for_is_never_a_pattern() {
        check("/tmp/a", "/tmp/*", false);
        check("/tmp/?/*", "/tmp/*", false);
        check("rm x", "rm *", false);
        check("/tmp/*", "/*", false);
        check("/tmp/*", "/tmp/*", true);
    }

    #[test]
    fn likeness_is_not_enough() {
        check("git *", "Git status", false);
        check("git *", "git\u{a0}status", false);
        check("git *", "git\tstatus", false);
        check("git *", " git status", false);
        check("git *", "g\u{456}t status", false);
        check("é", "e\u{301}", false);
        check("a", "a\0", false);
        check("a", "a\n", false);
        check("a\n*", "a", false);
        check("a\t*", "a", false);
        check("a *b", "a", false);
        check(" *", "", true);
        check(" *", "a", false);
        check("\\*", "/a", true);
        check("*\\", "a/", true);
        check("a\\", "a/", true);
        check("é*", "é", true);
        check("*é", "xé", true);
        check("", "", true);
        check("", "a", false);
        check("a", "", false);
        check("", "a", false);
    }

    #[test]
    fn hard_patterns_take_no_long_time() {
        check(&"*a".repeat(2_000), &"a".repeat(20_000), true);
        check(&format!("{}b", "*a".repeat(2_000)), &"a".repeat(20_000), false);
    }

    #[test]
    fn brackets_and_braces_stand_for_themselves() {
        check("[ab]", "a", false);
        check("{a,b}", "{a,b}", true);
        check("a.b", "axb", false);
    }

    #[test]
    fn a_pattern_covers_another_where_all_that_it_matches_is_matched() {
        let row = |wide: &str, narrow: &str, want: bool| assert_eq!(covers(wide, narrow), want, "{wide} {narrow}");
        row("*", "git *", true);
        row("git *", "git push *", true);
        row("git *", "git *", true);
        row("*", "*", true);
        row("git push *", "git *", false);
        row("?", "*", false);
        row("?", "?", true);
        row("web*", "webfetch", true);
        row("webfetch", "web*", false);
        row("rm **", "rm *", false);
    }

    #[test]
    fn a_path_is_looked_up_as_what_it_comes_to() {
        let row = |value: &str, want: &str| assert_eq!(straight("read", value), want, "{value}");
        row("/tmp/../etc/*", "/etc/*");
        row("/../../etc", "/etc");
        row("src/./a.rs", "src/a.rs");
        row("./secrets/x", "secrets/x");
        row("src\\..\\x", "x");
        row("../../x/../y", "../../y");
        row("a/..", ".");
        row("src/..a/...", "src/..a/...");
        row("a//b", "a//b");
        assert_eq!(straight("bash", "ls ./a/../b"), "ls ./a/../b");
        decides(&[("external_directory", "/tmp/*", Allow)], "external_directory", "/tmp/../etc/*", Ask);
        decides(&[("read", "*", Allow), ("read", "secrets/*", Deny)], "read", "./src/../secrets/x", Deny);
    }

    #[test]
    fn tools_that_share_a_permission() {
        for (tool, want) in
            [("write", "edit"), ("apply_patch", "edit"), ("read_mcp_resource", "read"), ("bash", "bash")]
        {
            assert_eq!(permission_of(tool), want);
        }
    }

    fn rules(rows: &[(&str, &str, Action)]) -> Vec<Rule> {
        rows.iter().map(|(permission, pattern, action)| Rule::new(permission, pattern, *action)).collect()
    }

    #[track_caller]
    fn decides(rows: &[(&str, &str, Action)], permission: &str, value: &str, want: Action) {
        assert_eq!(decide(permission, value, &rules(rows)).0, want, "{permission} {value}");
    }

    #[test]
    fn the_last_matching_rule_wins() {
        let rows = &[("*", "*", Allow), ("bash", "rm *", Deny), ("bash", "rm -i *", Allow)];
        decides(rows, "bash", "rm -rf x", Deny);
        decides(rows, "bash", "rm -i x", Allow);
        decides(rows, "bash", "ls", Allow);
        decides(rows, "edit", "rm x", Allow);
        decides(&[("edit", "secret*", Deny), ("*", "*", Allow)], "edit", "secret.txt", Allow);
    }

    #[test]
    fn without_a_rule_a_person_is_asked() {
        decides(&[], "bash", "ls", Ask);
        decides(&[("edit", "*", Allow)], "bash", "ls", Ask);
    }

    #[track_caller]
    fn decides_opaque(rows: &[(&str, &str, Action)], value: &str, want: Action) {
        assert_eq!(decide_opaque("bash", value, &rules(rows)).0, want, "{value}");
    }

    #[test]
    fn a_prefix_says_nothing_about_the_rest_of_a_program() {
        decides_opaque(&[("bash", "git status *", Allow)], "git status; rm -rf ~", Ask);
        decides_opaque(&[("bash", "*", Allow)], "git status; rm -rf ~", Allow);
        decides_opaque(&[("*", "*", Allow)], "a; b", Allow);
        decides_opaque(&[("bash", "a; b", Allow)], "a; b", Allow);
        decides_opaque(&[("bash", "a; ?", Allow)], "a; ?", Ask);
        decides_opaque(&[("bash", "*", Allow), ("bash", "rm *", Deny)], "ls; rm x", Ask);
        decides_opaque(&[("bash", "*", Allow), ("edit", "x", Deny)], "ls; rm x", Allow);
        decides_opaque(&[("bash", "*", Deny)], "ls; rm x", Deny);
    }

    #[test]
    fn only_the_very_text_allows_a_program() {
        for (pattern, value) in [
            ("a 'b'", "a 'b' "),
            ("a 'b'", "A 'b'"),
            ("a 'b' *", "a 'b'"),
            ("a 'b' *", "a 'b' *"),
            ("a ?b?", "a 'b'"),
            ("a/b;c", "a\\b;c"),
            ("a\\b;c", "a/b;c"),
            ("a\\;b", "a/;b"),
            ("a;b", "a;b\nrm x"),
            ("**", "a;b"),
            ("* *", "a;b"),
            ("?*", "a;b"),
        ] {
            decides_opaque(&[("bash", pattern, Allow)], value, Ask);
        }
        decides_opaque(&[("bash", "a\\;b", Allow)], "a\\;b", Allow);
        // A pattern for it is no exact text, and takes the place of one that is.
        decides_opaque(&[("bash", "a;b", Allow), ("bash", "a*", Allow)], "a;b", Ask);
        // Held back, wherever it stands and however the permission is named.
        decides_opaque(&[("bash", "rm *", Deny), ("*", "*", Allow)], "ls; rm x", Ask);
        decides_opaque(&[("b*", "rm *", Ask), ("bash", "*", Allow)], "ls; rm x", Ask);
    }
}
