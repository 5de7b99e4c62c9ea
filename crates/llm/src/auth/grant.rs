//! The grants of OAuth 2.0 as far as vendors use them: a code from a page (RFC 6749 with PKCE, RFC 7636), a code typed on
//! another device (RFC 8628), a new token for an old one, and a token for a program of its own.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use oauth2::basic::{
    BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenIntrospectionResponse, BasicTokenType,
};
use oauth2::{
    AsyncHttpClient, AuthType, AuthorizationCode, ClientId, ClientSecret, DeviceAuthorizationUrl,
    DeviceCodeErrorResponse, DeviceCodeErrorResponseType, ErrorResponse, ExtraTokenFields, HttpRequest, HttpResponse,
    PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, Scope, StandardDeviceAuthorizationResponse,
    StandardRevocableToken, StandardTokenResponse, TokenResponse, TokenUrl,
};
use reqwest::Url;
use serde::{Deserialize, Serialize};

use super::web::words;
use super::{AuthError, Context, PATIENCE, shown};
use crate::Secret;
use crate::failure::hide;

/// Shortest pause between two questions whether the person has signed in, whatever the server says.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// Longest that a server may ask us to wait between two questions whether the person has signed in.
const MAX_INTERVAL: Duration = Duration::from_secs(60);

/// What else stands beside a token.
#[derive(Serialize, Deserialize)]
struct Beside {
    id_token: Option<String>,
}

impl fmt::Debug for Beside {
    /// Leaves out the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beside").finish_non_exhaustive()
    }
}

impl ExtraTokenFields for Beside {}

type Answer = StandardTokenResponse<Beside, BasicTokenType>;
type Inner = oauth2::Client<
    BasicErrorResponse,
    Answer,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
>;

/// A program as a vendor knows it.
#[derive(Debug, Clone)]
pub(super) struct Client {
    /// The name under which the vendor knows it.
    pub(super) id: String,
    /// What the vendor wants beside the name; for programs on people's machines it is no secret.
    pub(super) secret: Option<Secret>,
    /// Where tokens are got.
    pub(super) token: Url,
}

/// What a vendor gives.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) access: String,
    /// `None` where the old one stays good.
    pub(super) refresh: Option<String>,
    pub(super) expires_in: Option<Duration>,
    pub(super) id_token: Option<String>,
}

/// A code that a person types in a browser.
pub(super) struct Device {
    pub(super) url: String,
    pub(super) code: String,
    pub(super) lasts: Duration,
    details: StandardDeviceAuthorizationResponse,
}

impl Client {
    fn inner(
        &self,
    ) -> oauth2::Client<
        BasicErrorResponse,
        Answer,
        BasicTokenIntrospectionResponse,
        StandardRevocableToken,
        BasicRevocationErrorResponse,
        oauth2::EndpointNotSet,
        oauth2::EndpointNotSet,
        oauth2::EndpointNotSet,
        oauth2::EndpointNotSet,
        oauth2::EndpointSet,
    > {
        let inner = Inner::new(ClientId::new(self.id.clone())).set_token_uri(TokenUrl::from_url(self.token.clone()));
        match &self.secret {
            Some(secret) => inner.set_client_secret(ClientSecret::new(secret.expose().to_owned())),
            // Without a secret the name stands in the body.
            None => inner.set_auth_type(AuthType::RequestBody),
        }
    }

    /// The tokens for a `code` that came back from the vendor's page to `redirect`.
    pub(super) async fn exchange(
        &self,
        code: String,
        verifier: String,
        redirect: &Url,
        context: &Context,
    ) -> Result<Tokens, AuthError> {
        let redirect = RedirectUrl::from_url(redirect.clone());
        let inner = self.inner().set_redirect_uri(redirect);
        let sent = [code.clone(), verifier.clone()];
        let request =
            inner.exchange_code(AuthorizationCode::new(code)).set_pkce_verifier(PkceCodeVerifier::new(verifier));
        let send = Wire(context.clone());
        self.tokens(request.request_async(&send).await, &[&sent[0], &sent[1]])
    }

    /// New tokens for the token `refresh`.
    pub(super) async fn renew(&self, refresh: &str, context: &Context) -> Result<Tokens, AuthError> {
        let inner = self.inner();
        let token = RefreshToken::new(refresh.to_owned());
        let send = Wire(context.clone());
        self.tokens(inner.exchange_refresh_token(&token).request_async(&send).await, &[refresh])
    }

    /// A token for the program itself.
    pub(super) async fn own(&self, context: &Context) -> Result<Tokens, AuthError> {
        let inner = self.inner();
        let send = Wire(context.clone());
        let secret = self.secret.as_ref().map(Secret::expose).unwrap_or_default();
        self.tokens(inner.exchange_client_credentials().request_async(&send).await, &[secret])
    }

    /// Asks for a code to type, at `device`, for leave to do what `scopes` say.
    pub(super) async fn device(&self, device: &Url, scopes: &[&str], context: &Context) -> Result<Device, AuthError> {
        let inner = self.inner().set_device_authorization_url(DeviceAuthorizationUrl::from_url(device.clone()));
        let scopes = scopes.iter().map(|scope| Scope::new((*scope).to_owned()));
        let send = Wire(context.clone());
        let asked = inner.exchange_device_code().add_scopes(scopes).request_async(&send).await;
        let details: StandardDeviceAuthorizationResponse = asked.map_err(|error| basic(device, error))?;
        let wanted = |wanted| AuthError::Malformed { at: shown(device), wanted };
        let url = details
            .verification_uri_complete()
            .map_or_else(|| details.verification_uri().to_string(), |complete| complete.secret().clone());
        let safe = Url::parse(&url).is_ok_and(|url| url.scheme() == "https" || super::is_loopback(&url));
        if !safe || url.len() > 2048 {
            return Err(wanted("a page to sign in at, with https"));
        }
        let code = details.user_code().secret().clone();
        if code.is_empty() || code.len() > 64 || code.contains(|letter: char| letter.is_control()) {
            return Err(wanted("a code to type"));
        }
        Ok(Device { url, code, lasts: details.expires_in().min(PATIENCE), details })
    }

    /// Waits until the person has typed the code, or it expires.
    pub(super) async fn typed(&self, device: Device, context: &Context) -> Result<Tokens, AuthError> {
        let Device { lasts, details, .. } = device;
        let inner = self.inner();
        let send = Wire(context.clone());
        let waits = context.clone();
        let pause = move |time: Duration| waits.pause(time.clamp(MIN_INTERVAL, MAX_INTERVAL));
        let waiting = inner.exchange_device_access_token(&details);
        match waiting.request_async(&send, pause, Some(lasts)).await {
            Err(RequestTokenError::ServerResponse(refused)) => {
                Err(hidden(self.refused(&refused), &[details.device_code().secret()]))
            }
            answer => self.tokens(answer.map_err(|error| plain(&self.token, error)), &[]),
        }
    }

    fn refused(&self, refused: &DeviceCodeErrorResponse) -> AuthError {
        match refused.error() {
            DeviceCodeErrorResponseType::AccessDenied => AuthError::Denied,
            DeviceCodeErrorResponseType::ExpiredToken => AuthError::Expired,
            other => {
                let description = refused.error_description().map(String::as_str);
                AuthError::Refused { at: shown(&self.token), message: words(other.as_ref(), description) }
            }
        }
    }

    /// The tokens in an answer to a question in which the secrets `sent` stood.
    fn tokens<E: Into<Failed>>(&self, answer: Result<Answer, E>, sent: &[&str]) -> Result<Tokens, AuthError> {
        let answer = answer.map_err(|error| match error.into() {
            Failed::Basic(error) => hidden(basic(&self.token, *error), sent),
            Failed::Known(error) => error,
        })?;
        let access = answer.access_token().secret().clone();
        if access.is_empty() || access.len() > haft_vault::MAX_TEXT {
            return Err(AuthError::Malformed { at: shown(&self.token), wanted: "a token" });
        }
        Ok(Tokens {
            access,
            refresh: answer.refresh_token().map(|token| token.secret().clone()).filter(|token| !token.is_empty()),
            expires_in: answer.expires_in(),
            id_token: answer.extra_fields().id_token.clone(),
        })
    }
}

/// The crate's way to the network.
struct Wire(Context);

impl<'c> AsyncHttpClient<'c> for Wire {
    type Error = AuthError;
    type Future = BoxFuture<'static, Result<HttpResponse, AuthError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        let context = self.0.clone();
        Box::pin(async move { context.send(request).await })
    }
}

type BasicError = RequestTokenError<AuthError, BasicErrorResponse>;

/// The two ways in which an answer can be no token.
enum Failed {
    Basic(Box<BasicError>),
    Known(AuthError),
}

impl From<BasicError> for Failed {
    fn from(error: BasicError) -> Self {
        Failed::Basic(Box::new(error))
    }
}

impl From<AuthError> for Failed {
    fn from(error: AuthError) -> Self {
        Failed::Known(error)
    }
}

/// The same without what was sent: some servers repeat the token that they refuse.
fn hidden(error: AuthError, sent: &[&str]) -> AuthError {
    match error {
        AuthError::Refused { at, message } => {
            let secrets: Vec<Secret> =
                sent.iter().filter(|text| !text.is_empty()).map(|text| Secret::new(*text)).collect();
            AuthError::Refused { at, message: hide(&message, &secrets).into_owned() }
        }
        other => other,
    }
}

fn basic(at: &Url, error: BasicError) -> AuthError {
    match error {
        RequestTokenError::ServerResponse(refused) => {
            let description = refused.error_description().map(String::as_str);
            AuthError::Refused { at: shown(at), message: words(refused.error().as_ref(), description) }
        }
        other => plain(at, other),
    }
}

/// An error in which the server said nothing that could be read. The crate's own words could repeat the answer, and with
/// it a token.
fn plain<T: ErrorResponse>(at: &Url, error: RequestTokenError<AuthError, T>) -> AuthError {
    match error {
        RequestTokenError::Request(error) => error,
        RequestTokenError::ServerResponse(_) | RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            AuthError::Malformed { at: shown(at), wanted: "a token" }
        }
    }
}
