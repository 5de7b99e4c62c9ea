//! What waits for the person's answer: leave to do something, and questions. One at a time, the oldest first.

use std::collections::VecDeque;

use haft_permission::Gate;
use haft_protocol::{Ask, Inquiry, Reply};
use haft_session::Questions;

use crate::ask::{self, words};
use crate::question::{self, Typed};
use crate::render::Paint;

/// Most that wait here. The gate and the questions hold no more of their own.
const MAX_WAITING: usize = 512;

/// Those that wait.
#[derive(Debug, Default)]
pub(super) struct Asks {
    waiting: VecDeque<Open>,
    /// Whether the first one stands on the screen.
    shown: bool,
}

/// One that waits. `who`: the agent that asks, where that is not the one that the person talks to.
#[derive(Debug)]
enum Open {
    Leave { ask: Box<Ask>, who: Option<String> },
    Question { inquiry: Box<Inquiry>, who: Option<String>, answers: Vec<Vec<String>> },
}

/// Where answers go.
#[derive(Clone, Copy)]
pub(super) struct Desk<'a> {
    pub gate: &'a Gate,
    pub questions: &'a Questions,
}

impl Open {
    fn is_open(&self, desk: Desk<'_>) -> bool {
        match self {
            Open::Leave { ask, .. } => desk.gate.is_waiting(&ask.id),
            Open::Question { inquiry, .. } => desk.questions.is_waiting(&inquiry.id),
        }
    }

    fn is(&self, other: &Open) -> bool {
        match (self, other) {
            (Open::Leave { ask: one, .. }, Open::Leave { ask: other, .. }) => one.id == other.id,
            (Open::Question { inquiry: one, .. }, Open::Question { inquiry: other, .. }) => one.id == other.id,
            (Open::Leave { .. }, Open::Question { .. }) | (Open::Question { .. }, Open::Leave { .. }) => false,
        }
    }
}

impl Asks {
    /// Adds a wish for leave, unless it waits already.
    pub(super) fn leave(&mut self, ask: Box<Ask>, who: Option<String>) {
        self.put(Open::Leave { ask, who });
    }

    /// Adds a question, unless it waits already.
    pub(super) fn question(&mut self, inquiry: Box<Inquiry>, who: Option<String>) {
        self.put(Open::Question { inquiry, who, answers: Vec::new() });
    }

    fn put(&mut self, open: Open) {
        if self.waiting.len() < MAX_WAITING && !self.waiting.iter().any(|waiting| waiting.is(&open)) {
            self.waiting.push_back(open);
        }
    }

    /// Forgets those that need no answer any more. Whether the first one was among them.
    pub(super) fn settle(&mut self, desk: Desk<'_>) -> bool {
        let stale = self.is_stale(desk);
        if stale {
            self.shown = false;
        }
        self.waiting.retain(|open| open.is_open(desk));
        stale
    }

    /// Whether the first one needs no answer any more.
    pub(super) fn is_stale(&self, desk: Desk<'_>) -> bool {
        self.waiting.front().is_some_and(|open| !open.is_open(desk))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The first one, if it does not stand on the screen yet.
    pub(super) fn unshown(&mut self, paint: Paint, columns: usize) -> Option<String> {
        let open = self.waiting.front()?;
        if std::mem::replace(&mut self.shown, true) {
            return None;
        }
        Some(match open {
            Open::Leave { ask, who } => words::question(ask, who.as_deref(), paint, columns),
            Open::Question { inquiry, who, answers } => {
                let many = inquiry.questions.len();
                let place = (many > 1).then_some((answers.len() + 1, many));
                let asked = inquiry.questions.get(answers.len());
                let asked = asked.map(|asked| question::asked(asked, place, paint, columns)).unwrap_or_default();
                match who {
                    Some(who) => {
                        format!("\n{}{asked}", paint.dim(&format!("{} asks:", words::asker(Some(who)))))
                    }
                    None => asked,
                }
            }
        })
    }

    /// Answers the first one with a line; `None`: nobody wants to. Gives what to say where the line is not clear.
    pub(super) fn answer(&mut self, line: Option<&str>, desk: Desk<'_>, columns: usize) -> Option<String> {
        let open = self.waiting.front_mut()?;
        match open {
            Open::Leave { ask, .. } => {
                let reply = match line {
                    None => Reply::Reject { advice: None },
                    Some(line) => match ask::understood(line, !ask.always.is_empty()) {
                        Some(reply) => reply,
                        None => return Some(words::choices(ask, columns)),
                    },
                };
                // One that was taken back meanwhile needs no answer.
                let _ = desk.gate.reply(&ask.id, reply);
            }
            Open::Question { inquiry, answers, .. } => {
                let asked = inquiry.questions.get(answers.len());
                let typed = line.zip(asked).map_or(Typed::Dismissed, |(line, asked)| question::understood(line, asked));
                match typed {
                    Typed::Unclear => return asked.map(question::choices),
                    Typed::Dismissed => drop(desk.questions.reject(&inquiry.id)),
                    Typed::Answer(answer) => {
                        answers.push(answer);
                        if answers.len() < inquiry.questions.len() {
                            self.shown = false;
                            return None;
                        }
                        drop(desk.questions.reply(&inquiry.id, std::mem::take(answers)));
                    }
                }
            }
        }
        self.waiting.pop_front();
        self.shown = false;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    use haft_permission::{Access, Answerer, Asker, Rules};
    use haft_protocol::{Choice, Clock, Event, Question};

    /// Those who ask, and the events that tell of it.
    struct Scene {
        gate: Gate,
        questions: Questions,
        told: Arc<Mutex<Vec<Event>>>,
        clock: Clock,
    }

    impl Scene {
        fn new() -> Self {
            let (told, clock) = (Arc::new(Mutex::new(Vec::new())), Clock::scripted(1));
            let tell = |told: &Arc<Mutex<Vec<Event>>>| {
                let told = Arc::clone(told);
                move |event| told.lock().unwrap().push(event)
            };
            let gate = Gate::new(clock.clone(), Answerer::Person, tell(&told));
            Self { gate, questions: Questions::new(clock.clone(), true, tell(&told)), told, clock }
        }

        fn desk(&self) -> Desk<'_> {
            Desk { gate: &self.gate, questions: &self.questions }
        }

        fn asker(&self) -> Asker {
            Asker { session: self.clock.mint(), call: None }
        }

        /// All that was asked so far, waiting for the person.
        fn asks(&self) -> Asks {
            let mut asks = Asks::default();
            for event in self.told.lock().unwrap().iter().cloned() {
                match event {
                    Event::PermissionAsked(ask) => asks.leave(ask, None),
                    Event::QuestionAsked(inquiry) => asks.question(inquiry, Some("explore".to_owned())),
                    other => panic!("{other:?}"),
                }
            }
            asks
        }
    }

    fn access(command: &str) -> Access {
        Access { always: vec!["git *".to_owned()], ..Access::new("bash", command) }
    }

    #[tokio::test]
    async fn leave_is_asked_for_one_after_the_other() {
        let scene = Scene::new();
        let (rules, asker) = (Rules::default(), scene.asker());
        let mut one = std::pin::pin!(scene.gate.ask(&asker, &rules, access("git push")));
        let mut other = std::pin::pin!(scene.gate.ask(&asker, &rules, access("make")));
        assert!(futures::poll!(&mut one).is_pending() && futures::poll!(&mut other).is_pending());
        let mut asks = scene.asks();
        let shown = asks.unshown(Paint::OFF, 80).unwrap();
        assert!(shown.contains("git push") && !shown.contains("make"), "{shown}");
        assert_eq!(asks.unshown(Paint::OFF, 80), None, "it stands there");
        let again = asks.answer(Some(""), scene.desk(), 80).unwrap();
        assert!(again.contains("[y] yes, once"), "{again}");
        assert_eq!(asks.answer(Some("y"), scene.desk(), 80), None);
        assert!(one.await.is_ok());
        assert!(asks.unshown(Paint::OFF, 80).unwrap().contains("make"));
        assert_eq!(asks.answer(Some("use ninja"), scene.desk(), 80), None);
        assert!(other.await.unwrap_err().to_string().contains("use ninja"));
        assert!(asks.is_empty());
    }

    #[tokio::test]
    async fn what_was_taken_back_is_not_asked() {
        let scene = Scene::new();
        let (rules, asker) = (Rules::default(), scene.asker());
        let mut one = Box::pin(scene.gate.ask(&asker, &rules, access("git push")));
        assert!(futures::poll!(&mut one).is_pending());
        let mut asks = scene.asks();
        assert!(asks.unshown(Paint::OFF, 80).is_some() && !asks.is_stale(scene.desk()));
        drop(one);
        assert!(asks.settle(scene.desk()) && asks.is_empty());
    }

    #[tokio::test]
    async fn questions_are_put_in_turn_and_named_with_who_asks() {
        let scene = Scene::new();
        let option = |label: &str| Choice { label: label.to_owned(), description: String::new() };
        let question = |text: &str| Question {
            question: text.to_owned(),
            header: text.to_owned(),
            options: vec![option("Red"), option("Blue")],
            multiple: None,
            custom: None,
        };
        let asked = vec![question("Which colour?"), question("And the other?")];
        let id: haft_protocol::SessionId = scene.clock.mint();
        let mut answers = std::pin::pin!(scene.questions.ask(&id, None, asked));
        assert!(futures::poll!(&mut answers).is_pending());
        let mut asks = scene.asks();
        let shown = asks.unshown(Paint::OFF, 80).unwrap();
        assert!(shown.contains("The agent explore at its task asks:") && shown.contains("(1 of 2)"), "{shown}");
        assert!(asks.answer(Some("3"), scene.desk(), 80).is_some());
        assert_eq!(asks.answer(Some("2"), scene.desk(), 80), None);
        assert!(asks.unshown(Paint::OFF, 80).unwrap().contains("And the other?"));
        assert_eq!(asks.answer(Some("neither"), scene.desk(), 80), None);
        assert_eq!(answers.await.unwrap(), [["Blue"], ["neither"]]);
    }
}
