//! Asking the person at the terminal what they want.

use haft_protocol::{Inquiry, Question};
use haft_session::Questions;
use tokio_util::sync::CancellationToken;

use crate::ask::typed;
use crate::ask::words::asker;
use crate::render::{Page, Paint, complain, size};

/// What a line that was typed means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Answer(Vec<String>),
    /// They do not want to answer.
    Dismissed,
    /// It must be asked again.
    Unclear,
}

/// Asks each question of `inquiry`, waits for the answers and passes them on. A question that is dismissed dismisses all.
/// Gives up when `stop` fires. `who`: the agent that asks, where that is not the one that the person talks to.
pub(crate) async fn answer(inquiry: &Inquiry, who: Option<&str>, questions: &Questions, stop: &CancellationToken) {
    let (paint, columns) = (Paint::new(true), size().columns);
    let mut answers = Vec::new();
    for (at, question) in inquiry.questions.iter().enumerate() {
        // Taken back meanwhile.
        if !questions.is_waiting(&inquiry.id) {
            return;
        }
        let place = (inquiry.questions.len() > 1).then(|| (at + 1, inquiry.questions.len()));
        let mut shown = asked(question, place, paint, columns);
        if let Some(who) = who {
            shown = format!("\n{}{shown}", paint.dim(&format!("{} asks:", asker(Some(who)))));
        }
        let typed = loop {
            let line = tokio::select! {
                line = typed(&shown) => line.ok().flatten(),
                () = stop.cancelled() => {
                    complain("");
                    return;
                }
            };
            let Some(line) = line else {
                // Ctrl-D leaves the cursor where it was.
                complain("");
                break Typed::Dismissed;
            };
            match understood(&line, question) {
                Typed::Unclear => shown = choices(question),
                clear @ (Typed::Answer(_) | Typed::Dismissed) => break clear,
            }
        };
        match typed {
            Typed::Answer(answer) => answers.push(answer),
            Typed::Dismissed | Typed::Unclear => {
                // What was taken back meanwhile needs no answer.
                let _ = questions.reject(&inquiry.id);
                return;
            }
        }
    }
    let _ = questions.reply(&inquiry.id, answers);
}

/// What `line` says to `question`: numbers of options, the words of one, or an answer of one's own.
pub(crate) fn understood(line: &str, question: &Question) -> Typed {
    let line = line.trim();
    if line.is_empty() || line == "\u{1b}" {
        return Typed::Dismissed;
    }
    // A key that is no letter.
    if line.contains(char::is_control) {
        return Typed::Unclear;
    }
    let several = question.multiple.unwrap_or_default();
    let own = question.custom.unwrap_or(true);
    if let Some(option) = question.options.iter().find(|option| option.label.eq_ignore_ascii_case(line)) {
        return Typed::Answer(vec![option.label.clone()]);
    }
    let words: Vec<&str> = line.split([',', ' ']).filter(|word| !word.is_empty()).collect();
    let numbers: Option<Vec<usize>> = words.iter().map(|word| word.parse().ok()).collect();
    match numbers {
        Some(numbers) if !question.options.is_empty() && !numbers.is_empty() => {
            let mut chosen = Vec::new();
            for number in &numbers {
                let Some(option) = number.checked_sub(1).and_then(|at| question.options.get(at)) else {
                    return Typed::Unclear;
                };
                if !chosen.contains(&option.label) {
                    chosen.push(option.label.clone());
                }
            }
            if several || chosen.len() == 1 { Typed::Answer(chosen) } else { Typed::Unclear }
        }
        _ if own => Typed::Answer(vec![line.to_owned()]),
        _ => Typed::Unclear,
    }
}

/// The question, its options and what can be typed. `place`: which it is, of how many.
pub(crate) fn asked(question: &Question, place: Option<(usize, usize)>, paint: Paint, columns: usize) -> String {
    let place = place.map_or_else(String::new, |(at, all)| format!(" ({at} of {all})"));
    let mut page = Page::new(columns);
    page.put("? ", &format!("{}{place}", question.question), |line| paint.yellow(line));
    for (at, option) in question.options.iter().enumerate() {
        page.put(&format!("  {}  ", at + 1), &option.label, str::to_owned);
        if !option.description.is_empty() {
            page.put("     ", &option.description, |line| paint.dim(line));
        }
    }
    format!("\n{}{}", page.end(), choices(question))
}

pub(crate) fn choices(question: &Question) -> String {
    let most = question.options.len();
    let several = question.multiple.unwrap_or_default();
    let own = question.custom.unwrap_or(true);
    let mut ways = Vec::new();
    match (most, several) {
        (0, _) => {}
        (1, _) => ways.push("1".to_owned()),
        (_, false) => ways.push(format!("1-{most}")),
        (_, true) => ways.push(format!("1-{most}, also several (1,2)")),
    }
    if own || most == 0 {
        ways.push("your own words".to_owned());
    }
    format!("  {}, or nothing to leave it: ", ways.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use haft_protocol::Choice;

    fn question(labels: &[&str], multiple: Option<bool>, custom: Option<bool>) -> Question {
        let options = labels
            .iter()
            .map(|label| Choice { label: (*label).to_owned(), description: format!("As {label} as can be") })
            .collect();
        Question { question: "Which colour?".to_owned(), header: "Colour".to_owned(), options, multiple, custom }
    }

    #[track_caller]
    fn check(line: &str, question: &Question, want: Typed) {
        assert_eq!(understood(line, question), want, "{line:?}");
    }

    fn answer(words: &[&str]) -> Typed {
        Typed::Answer(words.iter().map(|&word| word.to_owned()).collect())
    }

    #[test]
    fn one_is_chosen_by_its_number_or_its_words() {
        let one = question(&["Red", "Blue"], None, None);
        check("2\n", &one, answer(&["Blue"]));
        check(" blue \n", &one, answer(&["Blue"]));
        check("green, and soon\n", &one, answer(&["green, and soon"]));
        check("2 metres\n", &one, answer(&["2 metres"]));
        for unclear in ["3\n", "0\n", "1,2\n", "\u{1b}[A\n"] {
            check(unclear, &one, Typed::Unclear);
        }
    }

    #[test]
    fn several_are_chosen_where_that_is_asked_for() {
        let several = question(&["Red", "Blue", "Green"], Some(true), Some(false));
        check("1,3\n", &several, answer(&["Red", "Green"]));
        check("3 1 3\n", &several, answer(&["Green", "Red"]));
        for unclear in ["1,4\n", "violet\n", ",\n"] {
            check(unclear, &several, Typed::Unclear);
        }
    }

    #[test]
    fn nothing_is_no_answer() {
        let one = question(&["Red"], None, None);
        for line in ["\n", "  \n", "\u{1b}\n", ""] {
            check(line, &one, Typed::Dismissed);
        }
        check("7\n", &question(&[], None, None), answer(&["7"]));
    }

    #[test]
    fn a_question_says_what_can_be_typed() {
        let hostile = question(&["Red\n  2  Blue", "\u{1b}[2Jx"], Some(true), None);
        expect![[r#"

            ? Which colour? (1 of 2)
              1  Red ⏎   2  Blue
                 As Red ⏎   2  Blue as can be
              2  \u{1b}[2Jx
                 As \u{1b}[2Jx as can be
              1-2, also several (1,2), your own words, or nothing to leave it: "#]]
        .assert_eq(&asked(&hostile, Some((1, 2)), Paint::OFF, 80));
        expect!["  1-2, or nothing to leave it: "].assert_eq(&choices(&question(&["a", "b"], None, Some(false))));
        expect!["  your own words, or nothing to leave it: "].assert_eq(&choices(&question(&[], None, None)));
    }
}
