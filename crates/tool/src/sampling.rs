//! A model's answer for somebody else: a server of tools that wants the model of the session to write something.

/// What is asked of the session's model, apart from the conversation: it knows nothing of that, and calls no tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    /// What it is told before all else. Empty: nothing.
    pub system: String,
    /// What was said, oldest first.
    pub messages: Vec<Said>,
    /// Most tokens that it may write.
    pub max_output: u64,
    /// How much chance there is in it; the model's own if left out.
    pub temperature: Option<f64>,
}

/// A message of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Whether a model said it.
    pub by_model: bool,
    /// The words.
    pub text: String,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// The words.
    pub text: String,
    /// The name of the model that wrote them.
    pub model: String,
    /// Whether there was more, which it might not write.
    pub cut: bool,
}
