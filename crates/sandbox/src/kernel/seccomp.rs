//! System calls that are refused, because they lead out of the cage or are a way to attack the kernel that no ordinary
//! command needs.

mod calls;
mod conditions;
mod steps;

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch};

use crate::launcher::Layer;

/// What the filters depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    /// What holds around this process already.
    pub(super) layer: Layer,
    /// Whether there may be sockets for a network: that of the machine, or one of its own.
    pub(super) inet: bool,
    /// Whether there may be sockets with a path.
    pub(super) unix: bool,
    pub(super) owners: Owners,
}

/// What becomes of changes of a file's owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owners {
    /// What the system does.
    Free,
    /// They are not permitted.
    Refused,
    /// Nothing, and no error: unpacking an archive as root must not fail of it.
    Ignored,
}

/// System calls by number, and when they are meant.
type Conditions = BTreeMap<i64, Vec<SeccompRule>>;

/// Filters this process and all that come of it. Calls of another processor's kind end the process.
pub(super) fn apply(facts: &Facts) -> Result<(), String> {
    let program = program(facts).map_err(|error| format!("a filter is wrong: {error}"))?;
    seccompiler::apply_filter(&program).map_err(|error| format!("system calls cannot be filtered: {error}"))
}

/// One program for all calls and answers.
fn program(facts: &Facts) -> Result<BpfProgram, String> {
    let conditions = calls::conditions(facts);
    let looked: Vec<i64> = conditions.keys().copied().collect();
    steps::program(&lists(facts), looked.into_iter(), looking(conditions).map_err(|error| error.to_string())?)
}

/// The program for the calls that are refused for their arguments. It also ends what makes calls of another processor's
/// kind.
fn looking(conditions: Conditions) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(conditions, SeccompAction::Allow, refused, arch)?.try_into()
}

/// The calls that are answered with an error whatever their arguments are, and the error.
fn lists(facts: &Facts) -> [(Vec<i64>, u32); 4] {
    [
        (calls::refused(facts), libc::EPERM),
        // As of an older kernel, so that the caller takes another call, which can be looked into.
        (calls::unknown(), libc::ENOSYS),
        // As of a file system that does not have it.
        (calls::unsupported(facts), libc::EOPNOTSUPP),
        // Nothing is done, and no error is given.
        (calls::without_effect(facts), 0),
    ]
    .map(|(calls, errno)| (calls, errno.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> impl Iterator<Item = Facts> {
        let layers = [Layer::Alone, Layer::Namespaces];
        layers.into_iter().flat_map(|layer| {
            [Owners::Free, Owners::Refused, Owners::Ignored].into_iter().flat_map(move |owners| {
                (0..4).map(move |bits| Facts { layer, inet: bits & 1 != 0, unix: bits & 2 != 0, owners })
            })
        })
    }

    /// The kernel takes programs of at most 4,096 steps.
    #[test]
    fn every_filter_can_be_made_and_is_not_long() {
        for facts in facts() {
            let program = program(&facts).unwrap();
            assert!(program.len() < 700, "{facts:?}: {}", program.len());
        }
    }

    #[test]
    fn every_number_gets_its_answer() {
        let arguments = [[0; 6], [u64::MAX; 6], [1, 2, 0o100, 0o4755, 3, 4], [2, 0x5412, 2, 0, 0, 0]];
        for facts in facts() {
            let program = program(&facts).unwrap();
            let conditions = calls::conditions(&facts);
            let looking = looking(conditions.clone()).unwrap();
            // The kind of this processor is what the library's program asks for in its second step.
            let (lists, processor) = (lists(&facts), looking[1].k);
            for (number, arguments) in (0..700).flat_map(|number| arguments.map(|arguments| (number, arguments))) {
                let call = i64::from(number);
                let listed = lists.iter().find(|(calls, _)| calls.contains(&call));
                let want = match listed {
                    Some((_, error)) => libc::SECCOMP_RET_ERRNO | error,
                    None if conditions.contains_key(&call) => steps::run(&looking, number, processor, arguments),
                    None => libc::SECCOMP_RET_ALLOW,
                };
                assert_eq!(steps::run(&program, number, processor, arguments), want, "{facts:?} {number}");
                let other = steps::run(&program, number, processor ^ 1, arguments);
                assert_eq!(other, libc::SECCOMP_RET_KILL_PROCESS, "{facts:?} {number}");
            }
        }
    }

    #[test]
    fn no_call_gets_two_answers() {
        for facts in facts() {
            let lists =
                [calls::refused(&facts), calls::unknown(), calls::unsupported(&facts), calls::without_effect(&facts)];
            let mut all = lists.concat();
            all.extend(calls::conditions(&facts).into_keys());
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{facts:?}");
        }
    }
}
