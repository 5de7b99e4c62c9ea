//! What vendors and gateways call their failures, in lower case: pieces of codes and of messages, as they were seen.

/// Codes that say the conversation is too long.
pub(super) const TOO_LONG_CODES: [&str; 3] =
    ["context_length_exceeded", "context_window_exceeded", "request_too_large"];

/// Reasons that name the key, whatever the status says.
pub(super) const KEY_CODES: [&str; 2] = ["api_key_invalid", "api_key_expired"];

/// Words that say so.
pub(super) const TOO_LONG_TEXTS: [&str; 12] = [
    "maximum context length",
    "context length exceeded",
    "exceeds the context window",
    "context window exceeds",
    "exceed context limit",
    "exceed the context size",
    "exceeds the available context size",
    "prompt is too long",
    "input is too long",
    "reduce the length of the messages",
    "exceeds the maximum number of tokens allowed",
    "the input token count is",
];

/// Codes of what is paid for and used up.
pub(super) const QUOTA_CODES: [&str; 6] = [
    "insufficient_quota",
    "insufficient_balance",
    "billing",
    "credit",
    // What a subscription pays for is used up, or was never in it.
    "usage_limit_reached",
    "usage_not_included",
];

/// Words that say so.
pub(super) const QUOTA_TEXTS: [&str; 7] = [
    "current quota",
    "insufficient balance",
    "insufficient credit",
    "credit balance",
    "out of credit",
    "billing",
    "usage limit reached",
];

/// Codes of a limit that passes by itself.
pub(super) const LIMIT_CODES: [&str; 5] =
    ["rate_limit", "too_many_requests", "resource_exhausted", "throttling", "slow_down"];

/// Words that say so.
pub(super) const LIMIT_TEXTS: [&str; 7] = [
    "rate limit",
    "rate-limit",
    "rate_limit",
    "rate increased too quickly",
    "too many requests",
    "too_many_requests",
    "resource exhausted",
];

/// Codes of trouble at the vendor's that passes.
pub(super) const SERVER_CODES: [&str; 7] =
    ["overloaded", "unavailable", "server_error", "internal", "api_error", "timeout", "modelstreamerror"];

/// Words of such trouble, at the vendor's or on the way there. Those of connections come through gateways.
pub(super) const SERVER_TEXTS: [&str; 42] = [
    "overloaded",
    "service unavailable",
    "temporarily unavailable",
    "internal error",
    "internal_error",
    "server error",
    "server_error",
    "server-error",
    "server had an error",
    "provider returned error",
    "at capacity",
    "try again later",
    "try again in",
    "try your request again",
    "retry your request",
    "request timeout",
    "request timed out",
    "response timeout",
    "response timed out",
    "connection timeout",
    "connection timed out",
    "read timeout",
    "read timed out",
    "connection error",
    "connection lost",
    "connection refused",
    "connection reset",
    "broken pipe",
    "getaddrinfo",
    "enotfound",
    "eai_again",
    "connection was closed",
    "network error",
    "upstream connect",
    "reset before headers",
    "socket hang up",
    "fetch failed",
    "failed to fetch",
    "terminated",
    "econnreset",
    "econnrefused",
    "etimedout",
];
