//! Why a request failed.

use std::time::Duration;

use crate::Limit;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a request failed. Variants differ only where the caller acts differently; a message names the vendor, what
/// happened and, where somebody can do something about it, what.
#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    /// Wait `after` if the vendor named a time.
    #[error("{provider} limits how often it may be asked: {message}")]
    RateLimited {
        /// The vendor.
        provider: String,
        /// What it said.
        message: String,
        /// How long it asks to wait.
        after: Option<Duration>,
    },
    /// The vendor has trouble of its own; the same request may work later.
    #[error("{provider} failed{}: {message}", status.map(|status| format!(" with status {status}")).unwrap_or_default())]
    Server {
        /// The vendor.
        provider: String,
        /// The HTTP status, if the failure came as one.
        status: Option<u16>,
        /// What it said.
        message: String,
        /// How long it asks to wait.
        after: Option<Duration>,
    },
    /// The history no longer fits; compact it and try again.
    #[error("the conversation is too long for {model}: {message}")]
    TooLong {
        /// The model.
        model: String,
        /// What the vendor said.
        message: String,
    },
    /// No retry will help until the user signs in, or gives another key.
    #[error("{provider} rejected the credentials{}: {message}", status.map(|status| format!(" (status {status})")).unwrap_or_default())]
    Unauthorized {
        /// The vendor.
        provider: String,
        /// The HTTP status, if the failure came as one.
        status: Option<u16>,
        /// What it said.
        message: String,
    },
    /// The account is out of money or quota. No retry will help.
    #[error("{provider} says that the quota is used up: {message}")]
    Quota {
        /// The vendor.
        provider: String,
        /// What it said.
        message: String,
    },
    /// The vendor did not take the request. The same one will not work.
    #[error("{provider} did not take the request{}: {message}", status.map(|status| format!(" (status {status})")).unwrap_or_default())]
    Rejected {
        /// The vendor.
        provider: String,
        /// The HTTP status, if the failure came as one.
        status: Option<u16>,
        /// What it said.
        message: String,
    },
    /// No answer came, or it broke off; the same request may work.
    #[error("the connection to {provider} at {address} failed")]
    Transport {
        /// The vendor.
        provider: String,
        /// Where it was looked for.
        address: String,
        /// What happened.
        #[source]
        source: BoxError,
    },
    /// It was silent for longer than one of the limits; the same request may work.
    #[error(
        "{provider} {} within {after:?}; that limit is {} of the provider's options, in milliseconds",
        limit.missed(), limit.option()
    )]
    TimedOut {
        /// The vendor.
        provider: String,
        /// Which limit.
        limit: Limit,
        /// How long it is.
        after: Duration,
    },
    /// It cannot be reached this way, and no retry will help: haft is offline, its certificate is not trusted, what answers
    /// there speaks something else, or a file of the settings cannot be used.
    #[error("{provider} at {address} cannot be reached: {reason}")]
    Unreachable {
        /// The vendor.
        provider: String,
        /// Where it was looked for.
        address: String,
        /// Why, and what can be done about it.
        reason: String,
    },
    /// The stream ended before the answer did; the same request may work.
    #[error("the answer of {provider} was cut off before its end")]
    CutOff {
        /// The vendor.
        provider: String,
    },
    /// The vendor answered with something this dialect cannot read.
    #[error("{provider} answered with something that is not {wanted}: {excerpt}")]
    Malformed {
        /// The vendor.
        provider: String,
        /// What was expected.
        wanted: &'static str,
        /// How the answer begins.
        excerpt: String,
    },
    /// A scenario or a recording has nothing (fitting) to say. No retry will help.
    #[error("{0}")]
    Script(String),
}
