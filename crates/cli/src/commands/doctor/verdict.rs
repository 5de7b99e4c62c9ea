//! What a check came to. Pure.

/// What a promise is worth here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// What was tried was refused.
    Held,
    /// It was done, and undone when the command had ended.
    Repaired,
    /// It was done, or nobody could tell.
    Failed,
    /// There is nothing to try it with, or it is known that the way of holding cages does not cover it.
    Unsupported,
}

impl Status {
    pub(super) fn word(self) -> &'static str {
        match self {
            Status::Held => "held",
            Status::Repaired => "repaired",
            Status::Failed => "failed",
            Status::Unsupported => "unsupported",
        }
    }
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub id: &'static str,
    pub group: &'static str,
    /// What was tried, in words.
    pub tried: &'static str,
    pub status: Status,
    pub reason: String,
}

/// What a command in the cage says of its attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// It was not refused.
    Done,
    /// It was refused.
    Refused(String),
    /// There is nothing to try.
    Nothing(String),
    /// It said nothing: it was not run, or did not get to the end.
    Lost(String),
}

/// What an answer begins with.
const ANSWER: &str = "attempt: ";

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Answer::Done => write!(f, "{ANSWER}done"),
            Answer::Refused(why) => write!(f, "{ANSWER}refused {why}"),
            Answer::Nothing(why) => write!(f, "{ANSWER}nothing {why}"),
            Answer::Lost(why) => write!(f, "{ANSWER}lost {why}"),
        }
    }
}

impl Answer {
    /// From what a command wrote, whatever else there is.
    pub(super) fn read(output: &str) -> Self {
        let Some(line) = output.lines().find_map(|line| line.strip_prefix(ANSWER)) else {
            let said = output.split_whitespace().collect::<Vec<_>>().join(" ");
            return Answer::Lost(format!("it did not get to the end: {said}"));
        };
        match line.split_once(' ').unwrap_or((line, "")) {
            ("done", _) => Answer::Done,
            ("refused", why) => Answer::Refused(why.to_owned()),
            ("nothing", why) => Answer::Nothing(why.to_owned()),
            (_, why) => Answer::Lost(why.to_owned()),
        }
    }
}

/// What a check came to that got `answer`, and where `effect` is what was found of it from outside, if anything can be.
/// Where it is `wanted`, it is to happen.
pub(super) fn verdict(answer: &Answer, effect: Option<bool>, wanted: bool) -> (Status, String) {
    let (status, reason) = match (answer, effect) {
        // What is seen from outside counts more than what is said inside.
        (_, Some(true)) => (Status::Failed, "it was done"),
        (Answer::Done, Some(false)) => (Status::Repaired, "it was done, and put back when the command had ended"),
        (Answer::Done, None) => (Status::Failed, "it was not refused"),
        (Answer::Refused(why), _) => (Status::Held, why.as_str()),
        (Answer::Nothing(why), _) => (Status::Unsupported, why.as_str()),
        (Answer::Lost(why), _) => (Status::Failed, why.as_str()),
    };
    match (wanted, status) {
        (false, _) => (status, reason.to_owned()),
        (true, Status::Failed) if !matches!(answer, Answer::Lost(_)) => (Status::Held, "it works".to_owned()),
        (true, Status::Unsupported) => (status, reason.to_owned()),
        (true, Status::Held | Status::Repaired | Status::Failed) => {
            (Status::Failed, format!("it should work, and did not: {reason}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Answer {
        Answer::Refused("Permission denied".to_owned())
    }

    fn lost() -> Answer {
        Answer::Lost("no such tool".to_owned())
    }

    #[test]
    fn what_is_seen_counts_more_than_what_is_said() {
        let row = |answer: Answer, effect, want| assert_eq!(verdict(&answer, effect, false).0, want, "{answer}");
        row(refused(), Some(false), Status::Held);
        row(refused(), None, Status::Held);
        row(refused(), Some(true), Status::Failed);
        row(Answer::Done, Some(true), Status::Failed);
        row(Answer::Done, Some(false), Status::Repaired);
        row(Answer::Done, None, Status::Failed);
        row(Answer::Nothing("no disk".to_owned()), None, Status::Unsupported);
    }

    #[test]
    fn what_was_not_tried_is_not_held() {
        assert_eq!(verdict(&lost(), Some(false), false), (Status::Failed, "no such tool".to_owned()));
        assert_eq!(verdict(&lost(), None, true).0, Status::Failed);
    }

    #[test]
    fn what_is_wanted_has_to_work() {
        assert_eq!(verdict(&Answer::Done, Some(true), true).0, Status::Held);
        assert_eq!(verdict(&refused(), Some(false), true).0, Status::Failed);
        assert_eq!(verdict(&Answer::Done, Some(false), true).0, Status::Failed);
    }

    #[test]
    fn an_answer_is_found_in_what_a_command_wrote() {
        for answer in [Answer::Done, refused(), Answer::Nothing("x y".to_owned()), lost()] {
            assert_eq!(Answer::read(&format!("noise\n{answer}\n(exit code 1)")), answer);
        }
        assert_eq!(
            Answer::read("sh: not\n found"),
            Answer::Lost("it did not get to the end: sh: not found".to_owned())
        );
    }
}
