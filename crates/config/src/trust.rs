//! Whether a project's own settings count like the user's.

use crate::stake::Stakes;

/// Who decides whether a project's settings, agents and commands count like the user's own.
///
/// Without trust they hold back and do not give: `ask` and `deny` count, `allow` does not; words for the model count, and
/// nothing is run. See [`Stakes`] for what is left out then.
#[derive(Clone, Copy)]
pub enum Trust<'a> {
    /// They do.
    Given,
    /// They do not.
    Withheld,
    /// This says so. It is called once, with what was read and will be used, and only where something is at stake.
    Asked(&'a dyn Fn(&Stakes) -> bool),
}

impl std::fmt::Debug for Trust<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Trust::Given => "Given",
            Trust::Withheld => "Withheld",
            Trust::Asked(_) => "Asked",
        })
    }
}

#[cfg(test)]
mod tests;
