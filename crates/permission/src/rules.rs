//! A ruleset: built-in rules, the user's own, a floor under the former, and a ceiling over all.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::access::PLUGIN;
use crate::rule::{Action, Rule, decide, decide_opaque, matches};

/// All rules that hold for an agent, in their order: the last that matches decides. Cheap to clone.
///
/// Built-in rules and the user's own stand in one list, because the order of both counts. The *guard* is a list of its
/// own: where a built-in rule would allow something, a row of the guard makes it a question. A rule of the user's own
/// that allows it is not asked twice. The *bounds* are a third one, of somebody who may only take away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    rows: Arc<Vec<Rule>>,
    /// Which rows are the user's own. Invariant: as long as `rows`.
    own: Arc<Vec<bool>>,
    guard: Arc<Vec<Rule>>,
    /// Rules of somebody who may only take away.
    bounds: Arc<Vec<Rule>>,
}

/// Tools that follow another one's rights as long as no rule names them.
const FOLLOWS: [(&str, &str); 3] = [("todoread", "todowrite"), ("codesearch", "websearch"), ("list", "glob")];

impl Rules {
    /// The same with these built-in rules on top.
    #[must_use]
    pub fn builtin(self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.with(rules, false)
    }

    /// The same with these rules of the user's own on top.
    #[must_use]
    pub fn own(self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.with(rules, true)
    }

    /// The same with `guard` under what is built in. Of its rows, too, the last that matches counts. Their patterns are
    /// in small letters, and hold for a value in any.
    #[must_use]
    pub fn guarded(self, guard: Vec<Rule>) -> Self {
        Self { guard: Arc::new(guard), ..self }
    }

    /// The same within `bounds`, rules of somebody who may take away and not give: where the last of them that matches
    /// asks or denies, and the others are less strict, it decides. One that allows only ends what those before it hold.
    #[must_use]
    pub fn bounded(mut self, bounds: impl IntoIterator<Item = Rule>) -> Self {
        Arc::make_mut(&mut self.bounds).extend(bounds);
        self
    }

    fn with(mut self, rules: impl IntoIterator<Item = Rule>, own: bool) -> Self {
        let rows = Arc::make_mut(&mut self.rows);
        rows.extend(rules);
        Arc::make_mut(&mut self.own).resize(rows.len(), own);
        self
    }

    /// The rules in their order, without the guard.
    pub fn rows(&self) -> &[Rule] {
        &self.rows
    }

    /// The guard's rows, as [`Rules::guarded`] took them.
    pub fn guard(&self) -> &[Rule] {
        &self.guard
    }

    /// The rules that only take away, as [`Rules::bounded`] took them.
    pub fn bounds(&self) -> &[Rule] {
        &self.bounds
    }

    /// What holds for `value` under `permission`, and the row that says so; `None` where nothing does, which asks.
    ///
    /// `opaque`: the value is a program whose parts were not told apart, see [`decide_opaque`].
    pub fn decide(&self, permission: &str, value: &str, opaque: bool) -> (Action, Option<&Rule>) {
        let key = self.key(permission);
        let (mut action, mut rule) = self.decide_unbounded(key, value, opaque);
        // A tool that follows another is held by what is said of either.
        for name in [permission, key] {
            if let Some((bound, by)) = self.bound(name, value, opaque)
                && strictness(bound) > strictness(action)
            {
                (action, rule) = (bound, Some(by));
            }
        }
        (action, rule)
    }

    /// What the bounds hold, and which of them does.
    fn bound(&self, permission: &str, value: &str, opaque: bool) -> Option<(Action, &Rule)> {
        let (action, rule) = decide(permission, value, &self.bounds);
        if let Some(rule) = rule.filter(|_| action != Action::Allow) {
            return Some((action, rule));
        }
        // A narrow one may be meant for a part of what was not told apart.
        let narrow = |rule: &&Rule| rule.action != Action::Allow && matches(&rule.permission, permission);
        let narrow = self.bounds.iter().find(narrow).filter(|_| opaque);
        narrow.map(|rule| (Action::Ask, rule))
    }

    fn decide_unbounded(&self, permission: &str, value: &str, opaque: bool) -> (Action, Option<&Rule>) {
        let look = if opaque { decide_opaque } else { decide };
        let (action, rule) = look(permission, value, &self.rows);
        if action != Action::Allow || self.is_own(rule) {
            return (action, rule);
        }
        match self.guarding(permission, value) {
            (Action::Ask | Action::Deny, Some(guard)) => (guard.action, Some(guard)),
            (Action::Allow, _) | (Action::Ask | Action::Deny, None) => (action, rule),
        }
    }

    /// Whether `rule`, which [`Rules::decide`] gave, is not built in: one of the user's own, or one of the bounds.
    pub fn is_own(&self, rule: Option<&Rule>) -> bool {
        let Some(rule) = rule else { return false };
        let own = self.rows.iter().position(|row| std::ptr::eq(row, rule)).is_some_and(|at| self.own[at]);
        own || self.bounds.iter().any(|bound| std::ptr::eq(bound, rule))
    }

    /// A number for all that the rules say: the same for the same rules, and hardly ever for others.
    pub fn id(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        for rules in [&self.rows, &self.guard, &self.bounds] {
            rules.len().hash(&mut hasher);
            rules.iter().for_each(|rule| (&rule.permission, &rule.pattern, rule.action.word()).hash(&mut hasher));
        }
        self.own.hash(&mut hasher);
        hasher.finish()
    }

    /// Whether the guard names `value` in particular. What an "always" for more than it covers does not cover it.
    pub fn is_touchy(&self, permission: &str, value: &str) -> bool {
        let (action, rule) = self.guarding(self.key(permission), value);
        action != Action::Allow && rule.is_some_and(|rule| rule.pattern != "*")
    }

    /// What the guard says. On many disks `.GIT/config` is `.git/config`, and which kind this one is nobody knows.
    fn guarding(&self, permission: &str, value: &str) -> (Action, Option<&Rule>) {
        decide(permission, &value.to_lowercase(), &self.guard)
    }

    /// Whether `permission` is closed altogether, so that a model need not see the tools that ask under it: the last
    /// rule about it, whatever it is for, denies everything.
    pub fn hides(&self, permission: &str) -> bool {
        let closes = |rules: &[Rule], permission: &str| {
            let last = rules.iter().rev().find(|rule| matches(&rule.permission, permission));
            last.is_some_and(|rule| rule.pattern == "*" && rule.action == Action::Deny)
        };
        let key = self.key(permission);
        closes(&self.rows, key) || closes(&self.bounds, key) || closes(&self.bounds, permission)
    }

    /// The permissions that built-in rules close altogether, and that nothing opens again in general: what whoever works
    /// for this agent must not have either. Permissions that are patterns are left out.
    pub fn closed_by_builtin(&self) -> impl Iterator<Item = &str> {
        let denials = self.rows.iter().zip(self.own.iter()).filter(|(rule, own)| {
            !**own && rule.action == Action::Deny && rule.pattern == "*" && !rule.permission.contains(['*', '?'])
        });
        let names = denials.map(|(rule, _)| rule.permission.as_str());
        names.filter(|name| self.in_general(name) == Action::Deny)
    }

    /// What holds under `permission` for what no narrow rule is about.
    pub fn in_general(&self, permission: &str) -> Action {
        // No narrow pattern is about such a name.
        self.decide(permission, "\u{1}\u{2}\u{1}", false).0
    }

    /// The narrow denials that may be meant for a part of a program under `permission`.
    pub(crate) fn narrow_denial(&self, permission: &str) -> Option<&Rule> {
        let permission = self.key(permission);
        self.rows
            .iter()
            .chain(self.bounds.iter())
            .find(|rule| rule.action == Action::Deny && rule.pattern != "*" && matches(&rule.permission, permission))
    }

    /// What rules that name the permission `plugin` say of the plug-in called `name`, which is a path or a package with its
    /// version: the last that matches that, or [`plugin_name`]. `None`: nothing.
    pub(crate) fn about_plugin(&self, name: &str) -> Option<(Action, &Rule)> {
        let short = plugin_name(name);
        let about =
            |rule: &&Rule| rule.permission == PLUGIN && (matches(&rule.pattern, name) || matches(&rule.pattern, short));
        let said = self.rows.iter().rev().find(about);
        // A bound takes away and gives nothing.
        let bound = self.bounds.iter().rev().find(about);
        let stricter = bound.filter(|bound| strictness(bound.action) > said.map_or(0, |rule| strictness(rule.action)));
        stricter.or(said).map(|rule| (rule.action, rule))
    }

    /// The permission whose rules hold for `permission`.
    fn key<'a>(&self, permission: &'a str) -> &'a str {
        let followed = FOLLOWS.iter().find(|(name, _)| *name == permission).map(|(_, followed)| *followed);
        let named = || self.rows.iter().any(|rule| rule.permission == permission);
        followed.filter(|_| !named()).unwrap_or(permission)
    }
}

/// How much an action holds back.
fn strictness(action: Action) -> u8 {
    match action {
        Action::Allow => 0,
        Action::Ask => 1,
        Action::Deny => 2,
    }
}

/// Rules of the user's own alone.
impl From<Vec<Rule>> for Rules {
    fn from(rules: Vec<Rule>) -> Self {
        Self::default().own(rules)
    }
}

/// What rules may call the plug-in `name`: a file without its folder and ending, a package without its version.
pub fn plugin_name(name: &str) -> &str {
    let path = std::path::Path::new(name);
    if path.is_absolute() {
        return path.file_stem().and_then(|stem| stem.to_str()).unwrap_or(name);
    }
    match name.rsplit_once('@') {
        Some((package, _)) if !package.is_empty() => package,
        Some(_) | None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Action::{Allow, Ask, Deny};

    fn rows(rows: &[(&str, &str, Action)]) -> Vec<Rule> {
        rows.iter().map(|(permission, pattern, action)| Rule::new(permission, pattern, *action)).collect()
    }

    /// Everything is allowed as built in, and the guard asks for commands and for `.git`.
    fn guarded() -> Rules {
        let guard = rows(&[("bash", "*", Ask), ("edit", "*.git/*", Ask), ("edit", "*.git/info/*", Allow)]);
        Rules::default().builtin(rows(&[("*", "*", Allow)])).guarded(guard)
    }

    #[track_caller]
    fn check(rules: &Rules, permission: &str, value: &str, want: Action) {
        assert_eq!(rules.decide(permission, value, false).0, want, "{permission} {value}");
    }

    #[test]
    fn the_guard_asks_where_only_a_built_in_rule_allows() {
        let rules = guarded();
        check(&rules, "bash", "ls", Ask);
        check(&rules, "edit", ".git/config", Ask);
        check(&rules, "edit", ".git/info/exclude", Allow);
        check(&rules, "edit", "a.rs", Allow);
        check(&rules, "edit", "sub/.Git/Config", Ask);
        assert!(rules.is_touchy("edit", ".GIT/config") && !rules.is_touchy("edit", "A.rs"));
        check(&rules.clone().builtin(rows(&[("bash", "*", Allow)])), "bash", "ls", Ask);
        assert_eq!(rules.decide("bash", "ls", false).1, Some(&Rule::new("bash", "*", Ask)));
    }

    #[test]
    fn a_rule_of_the_users_own_that_allows_is_not_guarded() {
        check(&guarded().own(rows(&[("bash", "git *", Allow)])), "bash", "git status", Allow);
        check(&guarded().own(rows(&[("bash", "git *", Allow)])), "bash", "rm x", Ask);
        check(&guarded().own(rows(&[("*", "*", Allow)])), "edit", ".git/config", Allow);
        // Whose rule decides counts, not whether there is one.
        check(&guarded().own(rows(&[("bash", "*", Allow)])).builtin(rows(&[("*", "*", Allow)])), "bash", "ls", Ask);
    }

    #[test]
    fn the_guard_opens_nothing() {
        check(&guarded().builtin(rows(&[("*", "*", Deny)])), "bash", "ls", Deny);
        check(&guarded().own(rows(&[("edit", "*", Deny)])), "edit", ".git/info/exclude", Deny);
        check(&guarded().own(rows(&[("edit", "*", Ask)])), "edit", ".git/info/exclude", Ask);
        check(&Rules::default().guarded(rows(&[("*", "*", Allow)])), "edit", "x", Ask);
    }

    #[test]
    fn programs_are_guarded_too() {
        assert_eq!(guarded().decide("bash", "a; b", true).0, Ask);
        assert_eq!(guarded().own(rows(&[("bash", "*", Allow)])).decide("bash", "a; b", true).0, Allow);
        assert_eq!(guarded().own(rows(&[("bash", "a*", Allow)])).decide("bash", "a; b", true).0, Ask);
    }

    #[test]
    fn bounds_take_away_and_never_give() {
        let own = rows(&[("bash", "*", Ask), ("bash", "ls", Allow), ("bash", "rm *", Deny), ("read", "*", Deny)]);
        let bounds =
            [("*", "*", Ask), ("bash", "*", Ask), ("bash", "git *", Deny), ("edit", "a*", Allow), ("read", "*", Allow)];
        let rules = guarded().own(own).bounded(rows(&bounds));
        check(&rules, "bash", "ls", Ask);
        check(&rules, "bash", "rm x", Deny);
        check(&rules, "bash", "git push", Deny);
        check(&rules, "edit", "x", Ask);
        check(&rules, "edit", "a.rs", Allow);
        check(&rules, "read", "x", Deny);
        check(&rules, "edit", "sub/.git/config", Ask);
        let first = guarded().bounded(rows(&bounds)).own(rows(&[("bash", "*", Allow)]));
        assert_eq!(first.decide("bash", "git push", false), (Deny, Some(&Rule::new("bash", "git *", Deny))));
        assert_eq!(rules.rows().len(), 5, "they stand apart");
    }

    #[test]
    fn bounds_hold_what_follows_another_and_what_is_not_told_apart() {
        let free = || Rules::default().own(rows(&[("*", "*", Allow)]));
        for bounds in [[("list", "*", Deny)], [("glob", "*", Deny)]] {
            let rules = free().bounded(rows(&bounds));
            check(&rules, "list", "x", Deny);
            assert!(rules.hides("list"));
        }
        assert!(!free().bounded(rows(&[("bash", "rm *", Deny)])).hides("bash"));
        let rules = free().bounded(rows(&[("bash", "rm *", Deny)]));
        assert_eq!(rules.decide("bash", "ls; rm x", true).0, Ask);
        assert_eq!(rules.decide("bash", "ls; rm x", false).0, Allow);
        assert_eq!(rules.narrow_denial("bash"), Some(&Rule::new("bash", "rm *", Deny)));
        assert_eq!(free().bounded(rows(&[("read", "a", Deny)])).decide("bash", "ls; rm x", true).0, Allow);
    }

    #[test]
    fn a_tool_that_is_denied_altogether_is_hidden() {
        let row = |list: &[(&str, &str, Action)], name: &str, want: bool| {
            assert_eq!(Rules::from(rows(list)).hides(name), want, "{name} under {list:?}");
        };
        row(&[("bash", "*", Deny), ("bash", "git *", Allow)], "bash", false);
        row(&[("bash", "git *", Allow), ("bash", "*", Deny)], "bash", true);
        row(&[("edit", "*", Deny)], "edit", true);
        row(&[("edit", "*", Deny)], "read", false);
        row(&[("web*", "*", Deny)], "webfetch", true);
        row(&[("*", "*", Deny), ("read", "*", Allow)], "read", false);
        row(&[], "read", false);
    }

    #[test]
    fn restored_tools_follow_another_until_a_rule_names_them() {
        for (name, followed) in FOLLOWS {
            let rules = Rules::from(rows(&[("*", "*", Allow), (followed, "*", Deny)]));
            assert!(rules.hides(name));
            check(&rules, name, "x", Deny);
            let rules = rules.own(rows(&[(name, "*", Allow)]));
            assert!(!rules.hides(name));
            check(&rules, name, "x", Allow);
            check(&rules, followed, "x", Deny);
        }
    }

    #[test]
    fn narrow_rules_say_nothing_in_general() {
        let row = |list: &[(&str, &str, Action)], want: Action| {
            assert_eq!(Rules::from(rows(list)).in_general("edit"), want, "{list:?}");
        };
        row(&[("*", "*", Allow), ("edit", "docs/*", Deny)], Allow);
        row(&[("*", "*", Allow), ("edit", "*", Deny), ("edit", "plans/*.md", Allow)], Deny);
        row(&[("edit", "a*", Allow)], Ask);
    }

    #[test]
    fn what_is_built_in_as_closed_is_told_apart_from_the_users_own() {
        let check = |rules: Rules, want: &str| {
            assert_eq!(rules.closed_by_builtin().collect::<Vec<_>>().join(" "), want);
        };
        let plan = || guarded().builtin(rows(&[("edit", "*", Deny), ("edit", "plans/*.md", Allow)]));
        check(plan(), "edit");
        check(plan().own(rows(&[("webfetch", "*", Deny)])), "edit");
        // The user opened it again, or closed only a part, or everything by a pattern.
        check(plan().own(rows(&[("edit", "*", Allow)])), "");
        check(guarded().builtin(rows(&[("edit", "*.lock", Deny), ("*", "*", Deny), ("*", "*", Allow)])), "");
    }
}
