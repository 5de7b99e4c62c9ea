//! Questions to the person: they wait here until a client answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_permission::Denied;
use haft_protocol::{Answers, AskedBy, Clock, Event, Inquiry, Question, QuestionId, SessionId};
use tokio::sync::oneshot;

/// Most questions that may wait at once. A further one fails as if nobody were there.
const MAX_WAITING: usize = 64;

/// The questions of a session and all sessions below it. A handle, cheap to clone.
#[derive(Clone)]
pub struct Questions {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    /// Whether somebody follows the events and answers.
    attended: bool,
    announce: Box<dyn Fn(Event) + Send + Sync>,
    waiting: Mutex<Vec<Waiting>>,
}

struct Waiting {
    inquiry: Inquiry,
    answer: oneshot::Sender<Result<Answers, Denied>>,
}

/// The question that an answer named does not wait (any more).
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no question {0} is waiting")]
pub struct NoQuestion(pub QuestionId);

impl Questions {
    /// Questions that somebody answers if `attended`. `announce` is called for each question and each answer, one
    /// that is taken back being rejected; it must not wait.
    pub fn new(clock: Clock, attended: bool, announce: impl Fn(Event) + Send + Sync + 'static) -> Self {
        let inner = Inner { clock, attended, announce: Box::new(announce), waiting: Mutex::default() };
        Self { inner: Arc::new(inner) }
    }

    /// Waits until somebody answers, without a limit of time. Dropping the future takes the questions back.
    ///
    /// # Errors
    ///
    /// [`Denied::Dismissed`] when they do not want to, [`Denied::Nobody`] when nobody is there.
    pub async fn ask(
        &self,
        session: &SessionId,
        tool: Option<AskedBy>,
        questions: Vec<Question>,
    ) -> Result<Answers, Denied> {
        let (answer, answered) = oneshot::channel();
        let id: QuestionId = self.inner.clock.mint();
        let inquiry = Inquiry { id: id.clone(), session_id: session.clone(), questions, tool };
        {
            let mut waiting = self.lock();
            if !self.inner.attended || waiting.len() >= MAX_WAITING {
                let what = inquiry.questions.iter().map(|one| one.question.as_str()).collect::<Vec<_>>().join(" ");
                return Err(Denied::Nobody { permission: "question".to_owned(), what });
            }
            waiting.push(Waiting { inquiry: inquiry.clone(), answer });
        }
        let _taken_back = TakeBack { questions: self, id: &id };
        (self.inner.announce)(Event::QuestionAsked(Box::new(inquiry)));
        answered.await.unwrap_or(Err(Denied::Closed))
    }

    /// Answers the question called `id`: for each of its questions the labels chosen and what was written.
    ///
    /// # Errors
    ///
    /// [`NoQuestion`] when it was answered or taken back before.
    pub fn reply(&self, id: &QuestionId, answers: Answers) -> Result<(), NoQuestion> {
        let waiting = self.take(id)?;
        let session_id = waiting.inquiry.session_id;
        (self.inner.announce)(Event::QuestionReplied { session_id, request_id: id.clone(), answers: answers.clone() });
        // Whoever asked may have gone meanwhile.
        let _ = waiting.answer.send(Ok(answers));
        Ok(())
    }

    /// Says that nobody will answer the question called `id`.
    ///
    /// # Errors
    ///
    /// [`NoQuestion`] when it was answered or taken back before.
    pub fn reject(&self, id: &QuestionId) -> Result<(), NoQuestion> {
        let waiting = self.take(id)?;
        let session_id = waiting.inquiry.session_id;
        (self.inner.announce)(Event::QuestionRejected { session_id, request_id: id.clone() });
        let _ = waiting.answer.send(Err(Denied::Dismissed));
        Ok(())
    }

    /// The questions that wait, oldest first.
    pub fn waiting(&self) -> Vec<Inquiry> {
        self.lock().iter().map(|waiting| waiting.inquiry.clone()).collect()
    }

    /// Whether the question called `id` still waits for an answer.
    pub fn is_waiting(&self, id: &QuestionId) -> bool {
        self.lock().iter().any(|waiting| waiting.inquiry.id == *id)
    }

    fn take(&self, id: &QuestionId) -> Result<Waiting, NoQuestion> {
        let mut waiting = self.lock();
        let at = waiting.iter().position(|waiting| waiting.inquiry.id == *id);
        Ok(waiting.remove(at.ok_or_else(|| NoQuestion(id.clone()))?))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waiting>> {
        // Each use leaves the list whole, so a panic elsewhere does no harm to it.
        self.inner.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a question back when the one who asked no longer waits.
struct TakeBack<'a> {
    questions: &'a Questions,
    id: &'a QuestionId,
}

impl Drop for TakeBack<'_> {
    fn drop(&mut self) {
        // Answered, it waits no more. Else clients that show it take it away.
        let _ = self.questions.reject(self.id);
    }
}
