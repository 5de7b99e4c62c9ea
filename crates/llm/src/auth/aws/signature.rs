//! Amazon's signature, version 4, by the library for it. Pure.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::{Failure, Keys};

/// For what a signature holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    pub(super) time: SystemTime,
}

/// The headers that sign a request. Of its own headers only those are signed that nobody on the way changes.
pub(super) fn headers(
    keys: &Keys,
    scope: Scope<'_>,
    method: &str,
    url: &Url,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Vec<(HeaderName, HeaderValue)>, Failure> {
    let wrong = |what: &str| Failure::wrong(format!("a request to {} cannot be signed: {what}", scope.service));
    let token = keys.token.as_ref().map(|token| token.expose().to_owned());
    let identity = Credentials::new(&keys.id, keys.secret.expose(), token, None, "haft").into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(scope.region)
        .name(scope.service)
        .time(scope.time)
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| wrong(&error.to_string()))?
        .into();
    let signed = headers.iter().filter(|(name, _)| **name == CONTENT_TYPE || name.as_str().starts_with("x-amz-"));
    let signed = signed.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let request = SignableRequest::new(method, url.as_str(), signed, SignableBody::Bytes(body));
    let request = request.map_err(|error| wrong(&error.to_string()))?;
    let (made, _) = sign(request, &params).map_err(|error| wrong(&error.to_string()))?.into_parts();
    let header = |(name, value): (&str, &str)| {
        let mut value = HeaderValue::from_str(value).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
    };
    let all: Option<Vec<_>> = made.headers().map(header).collect();
    all.ok_or_else(|| wrong("the keys have characters that cannot be sent"))
}

#[cfg(test)]
mod tests;
