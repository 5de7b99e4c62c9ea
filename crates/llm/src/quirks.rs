//! What single models and servers want otherwise, whatever the dialect: small rewrites of a [`Request`], before a dialect
//! writes it. What only one dialect has a word for stands beside that dialect.
//!
//! Each rewrite is pure and looks at one thing. Those of single messages come first, in the order of `SINGLE`; then
//! messages are taken apart, and the list is put in order. Nothing depends on what comes behind a message, so a longer
//! conversation begins with what the shorter one gave.

mod defaults;
mod files;
mod ids;
mod known;
mod sampling;
mod texts;
mod tools;
mod turns;

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use serde_json::{Map, Value};

use crate::kept::Kept;
use crate::rescue::{self, Rescue};
use crate::schema::Fits;
use crate::steering::{CACHE_KEY, LITELLM, STRICT, TEXT_CALLS};
use crate::{Chunk, LlmError, Message, Provider, Purpose, Request, ToolSpec};
pub use files::Accepts;
pub use ids::Ids;
pub(crate) use ids::plain;
pub use known::About;
pub use sampling::Sampling;
pub(crate) use texts::length;

/// What a model wants otherwise. The default changes nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quirks {
    /// The kinds of files it can be shown. `None`: not known, and everything is tried.
    pub accepts: Option<Accepts>,
    /// What the ids of calls may look like.
    pub ids: Ids,
    /// Whether a model refuses words of the user right behind the result of a call.
    pub answer_results: bool,
    /// Whether it cannot call tools, so that none are offered.
    pub no_tools: bool,
    /// Whether it takes one call an answer: several are told as one after the other.
    pub one_call: bool,
    /// Whether only words of the user may hold files: those of results stand behind them.
    pub files_behind_results: bool,
    /// Whether a result must say something.
    pub words_in_results: bool,
    /// Whether texts must not hold a NUL, which some vendors' stores refuse.
    pub no_nul: bool,
    /// Whether past calls are refused where no tool is offered; one that does nothing is offered then.
    pub placeholder: bool,
    /// How the schemas of tools are rewritten.
    pub fits: Fits,
    /// How it is sampled where nobody says.
    pub sampling: Sampling,
    /// Fields of each request that settings lay theirs over.
    pub defaults: Map<String, Value>,
    /// The field that names the conversation, for vendors that keep a cache for each.
    pub cache_key: Option<&'static str>,
    /// Whether calls that it writes as text are read as calls.
    pub rescue: Rescue,
}

/// A rewrite of one message. `None`: it stays as it is.
type Single = fn(&Quirks, &Message) -> Option<Message>;

/// The rewrites of single messages, in their order.
const SINGLE: [Single; 4] = [texts::without_nul, files::refused, ids::fitting, texts::with_words];

impl Quirks {
    /// What is known of a model by the name of its vendor and the vendor's name for it.
    pub fn of(vendor: &str, model: &str) -> Self {
        Self::about(&About { vendor, model, ..About::default() })
    }

    /// `provider`, asked in the way that this model wants.
    pub fn around(self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match self == Self::default() {
            true => provider,
            false => Arc::new(Quirked { provider, quirks: self, rewritten: Kept::default() }),
        }
    }

    /// Rewrites `request`. Messages that need no change are shared with those of the caller.
    pub fn apply(&self, request: Request) -> Request {
        self.apply_with(request, &Kept::default())
    }

    /// The same. Messages that were rewritten before are those of then, so that whoever gets the request knows them
    /// again. `rewritten` must be used with these quirks only.
    fn apply_with(&self, mut request: Request, rewritten: &Kept<Vec<Arc<Message>>>) -> Request {
        let told = |name: &str| request.extra.get(name);
        let placeholder = told(LITELLM).and_then(Value::as_bool).unwrap_or(self.placeholder);
        let cache_key = known::cache_key(told(CACHE_KEY), self.cache_key);
        let groups = rewritten.of(&request, |message| {
            let all = self.rewritten(message);
            let bytes = all.iter().map(|one| length(one)).sum();
            (Arc::new(all), bytes)
        });
        request.messages = turns::in_order(&groups).into();
        if self.answer_results {
            request.messages = turns::answered(request.messages.into()).into();
        }
        if self.no_nul {
            texts::clean(&mut request.system);
        }
        tools::offer(self, placeholder, &mut request);
        let fits = Fits { strict: self.fits.strict || self.strict(&request.extra), ..self.fits };
        for tool in Arc::make_mut(&mut request.tools) {
            tool.parameters = fits.sent(tool.parameters.take());
        }
        self.sampling.fill(&mut request);
        defaults::fill(self, cache_key, &mut request);
        request
    }

    /// A message as the messages that stand for it.
    fn rewritten(&self, message: &Arc<Message>) -> Vec<Arc<Message>> {
        let mut changed: Option<Message> = None;
        for rewrite in SINGLE {
            if let Some(more) = rewrite(self, changed.as_ref().unwrap_or(message)) {
                changed = Some(more);
            }
        }
        let whole = changed.map_or_else(|| message.clone(), Arc::new);
        match turns::apart(self, &whole) {
            Some(pieces) => pieces.into_iter().map(Arc::new).collect(),
            None => vec![whole],
        }
    }

    fn strict(&self, extra: &Map<String, Value>) -> bool {
        self.fits.openai && extra.get(STRICT) == Some(&Value::Bool(true))
    }
}

/// A provider that is asked otherwise.
struct Quirked {
    provider: Arc<dyn Provider>,
    quirks: Quirks,
    rewritten: Kept<Vec<Arc<Message>>>,
}

impl Provider for Quirked {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let mode = known::rescue(request.extra.get(TEXT_CALLS)).unwrap_or(self.quirks.rescue);
        let watch = rescue::Watch::of(mode, &request);
        let stream = self.provider.stream(self.quirks.apply_with(request, &self.rewritten));
        match watch {
            Some(watch) => watch.over(stream),
            None => stream,
        }
    }

    fn serves(&self, purpose: Purpose) -> bool {
        self.provider.serves(purpose)
    }

    fn body(&self, request: Request) -> Bytes {
        self.provider.body(self.quirks.apply_with(request, &self.rewritten))
    }

    fn tools(&self, specs: &[ToolSpec]) -> Value {
        if self.quirks.no_tools {
            return Value::Array(Vec::new());
        }
        let fitted =
            |spec: &ToolSpec| ToolSpec { parameters: self.quirks.fits.sent(spec.parameters.clone()), ..spec.clone() };
        self.provider.tools(&specs.iter().map(fitted).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests;
