//! What a model is told before the conversation: who it is, where it is, and how to work there.

use haft_project::Place;
use haft_protocol::ModelRef;

/// The system prompt: the agent's own words, where it is (as of `now`, in Unix milliseconds), and the instructions.
pub(crate) fn prompt(words: &str, place: &Place, model: &ModelRef, now: u64, instructions: &str) -> String {
    let git = if place.worktree.is_some() { "yes" } else { "no" };
    format!(
        "{words}\n\nYou run on the model {}/{}.\n<env>\nWorking directory: {}\nWorkspace root folder: {}\nIs directory \
         a git repo: {git}\nPlatform: {}\nToday's date: {}\n</env>{instructions}",
        model.provider_id,
        model.model_id,
        place.directory.display(),
        place.root().display(),
        std::env::consts::OS,
        date(now),
    )
}

/// The day of `ms` (Unix milliseconds, UTC) as `Sat Nov 21 2026`.
fn date(ms: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let since_epoch = ms / 86_400_000;
    // Days since 0000-03-01, whose year ends with its leap day (the civil calendar's usual arithmetic).
    let days = since_epoch + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    // From January, counted from 0.
    let month = (month_from_march + 2) % 12;
    let year = year_of_era + era * 400 + u64::from(month <= 1);
    let name = |names: &[&'static str], at: u64| usize::try_from(at).map_or("", |at| names[at % names.len()]);
    format!("{} {} {day:02} {year}", name(&DAYS, since_epoch % 7), name(&MONTHS, month))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let row = |ms: u64, want: &str| assert_eq!(date(ms), want);
        row(0, "Thu Jan 01 1970");
        row(951_782_400_000, "Tue Feb 29 2000");
        row(1_795_292_340_480, "Sat Nov 21 2026");
        row(4_107_542_400_000, "Mon Mar 01 2100");
        row(1_798_675_200_000, "Thu Dec 31 2026");
    }
}
