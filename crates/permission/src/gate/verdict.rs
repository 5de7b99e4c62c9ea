//! What rules and approvals say about an access. Pure.

use crate::access::{Access, Advice, Builtin, Denied};
use crate::approval::Approvals;
use crate::rule::{Action, Rule};
use crate::rules::Rules;
use crate::witness::By;

/// What rules and approvals say about an access.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    Allow(By),
    Ask,
    Deny(Denied, By),
}

impl From<(Denied, By)> for Verdict {
    fn from((denied, by): (Denied, By)) -> Self {
        Self::Deny(denied, by)
    }
}

/// Looks at each pattern in its order: the first one that is denied decides.
pub(super) fn judge(access: &Access, rules: &Rules, approvals: &Approvals) -> Verdict {
    let Access { permission, opaque, builtin, .. } = access;
    let mut named: Vec<String> = Vec::new();
    let (mut ask, mut approved) = (false, false);
    for pattern in &access.patterns {
        let (action, rule) = rules.decide(permission, pattern, *opaque);
        let built_in = || !rules.is_own(rule);
        let action = match (action, builtin) {
            (Action::Allow, Builtin::NeverAllows) if built_in() => Action::Ask,
            (Action::Ask, Builtin::NeverAsks) if rule.is_some() && built_in() => Action::Allow,
            (decided, Builtin::Counts | Builtin::NeverAllows | Builtin::NeverAsks) => decided,
        };
        match action {
            Action::Allow => name(&mut named, rule),
            Action::Deny => return deny(rule),
            Action::Ask => {
                let touchy = rules.is_touchy(permission, pattern);
                let covered = approvals.cover(permission, pattern, *opaque, touchy);
                (ask, approved) = (ask || !covered, approved || covered);
            }
        }
    }
    match (ask, approved) {
        (true, _) => Verdict::Ask,
        (false, true) => Verdict::Allow(By::Approval),
        (false, false) => Verdict::Allow(By::Rules(named)),
    }
}

/// `verdict` after somebody said `advice`. A denial stays one. What only a person can allow is not allowed by anybody
/// else; nor is a program whose parts were not told apart where a narrow denial may be meant for one of them.
pub(super) fn advised(verdict: Verdict, advice: &Advice, access: &Access, rules: &Rules) -> Verdict {
    match (verdict, advice) {
        (Verdict::Deny(denied, by), _) => Verdict::Deny(denied, by),
        (Verdict::Allow(_) | Verdict::Ask, Advice::Deny { by, reason }) => {
            let denied = Denied::Hook { by: by.clone(), reason: reason.clone(), ends: false };
            Verdict::Deny(denied, By::Hook(by.clone()))
        }
        (Verdict::Ask, Advice::Allow { by }) => {
            let is_doubtful = access.opaque && rules.narrow_denial(&access.permission).is_some();
            if !access.in_person && !is_doubtful { Verdict::Allow(By::Hook(by.clone())) } else { Verdict::Ask }
        }
        (Verdict::Allow(_), Advice::Ask { .. }) => Verdict::Ask,
        (verdict, Advice::None | Advice::Allow { .. } | Advice::Ask { .. }) => verdict,
    }
}

/// `verdict` after rules said what the plug-in may do that asks in its own name: a yes saves a question and nothing else.
pub(super) fn of_plugin(verdict: Verdict, access: &Access, rules: &Rules) -> Verdict {
    let Some((action, rule)) = access.plugin.as_deref().and_then(|plugin| rules.about_plugin(plugin)) else {
        return verdict;
    };
    let is_doubtful = access.opaque && rules.narrow_denial(&access.permission).is_some();
    match (verdict, action) {
        (Verdict::Allow(_) | Verdict::Ask, Action::Deny) => deny(Some(rule)),
        (Verdict::Allow(_), Action::Ask) => Verdict::Ask,
        (Verdict::Ask, Action::Allow) if !access.in_person && !is_doubtful => {
            Verdict::Allow(By::Rules(vec![rule.to_string()]))
        }
        (verdict, _) => verdict,
    }
}

/// A denial by `rule`.
pub(super) fn deny(rule: Option<&Rule>) -> Verdict {
    let mut named = Vec::new();
    name(&mut named, rule);
    Verdict::Deny(Denied::by(rule), By::Rules(named))
}

/// What it comes to where nobody can be asked.
pub(super) fn nobody(access: &Access) -> (Denied, By) {
    let denied = Denied::Nobody { permission: access.permission.clone(), what: access.patterns.join(", ") };
    (denied, By::Nobody)
}

fn name(named: &mut Vec<String>, rule: Option<&Rule>) {
    let Some(rule) = rule else { return };
    let rule = rule.to_string();
    if !named.contains(&rule) {
        named.push(rule);
    }
}
