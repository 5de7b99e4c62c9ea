//! What a model is told before the conversation: who it is and where.

use crate::setup::Setup;

/// The system prompt: the agent's own words, then where it is.
pub(crate) fn prompt(setup: &Setup) -> String {
    let place = &setup.place;
    let git = if place.worktree.is_some() { "yes" } else { "no" };
    format!(
        "{}\n\nWhere you are\n<env>\nWorking directory: {}\nGit repository: {git}\nPlatform: {}\nDate: {}\nModel: {}/{}\n</env>",
        setup.agent.prompt,
        place.directory.display(),
        std::env::consts::OS,
        date(setup.clock.now_ms()),
        setup.model.reference.provider_id,
        setup.model.reference.model_id,
    )
}

/// The day of `ms` (Unix milliseconds, UTC) as `2026-11-21`.
fn date(ms: u64) -> String {
    // Days since 0000-03-01, whose year ends with its leap day (the civil calendar's usual arithmetic).
    let days = ms / 86_400_000 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let row = |ms: u64, want: &str| assert_eq!(date(ms), want);
        row(0, "1970-01-01");
        row(951_782_400_000, "2000-02-29");
        row(1_795_292_340_480, "2026-11-21");
        row(4_107_542_400_000, "2100-03-01");
    }
}
