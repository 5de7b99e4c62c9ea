//! TLS: rustls with ring, and the system's certificates, which are read when they are first needed.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use rustls_platform_verifier::Verifier;

use crate::files::{BadFile, Identity, certificates, certified, no_list};

/// Whom to trust beside the system's list, and who to be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trust {
    /// Files of further certificates, each with what names it.
    pub(crate) ca: Vec<(PathBuf, &'static str)>,
    pub(crate) identity: Option<Identity>,
}

/// What a client needs to open TLS connections.
pub(crate) fn config(trust: Trust) -> Result<ClientConfig, Error> {
    let provider = provider();
    let known = Arc::new(Lazy::new(Arc::clone(&provider), trust));
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&known) as Arc<dyn ServerCertVerifier>);
    let mut config = match known.trust.identity {
        Some(_) => builder.with_client_cert_resolver(known),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The provider of this process. Whoever set one first wins; setting it here serves libraries that look for it.
fn provider() -> Arc<CryptoProvider> {
    if CryptoProvider::get_default().is_none() {
        // An error means that another thread was quicker, and its provider is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    CryptoProvider::get_default().map_or_else(|| Arc::new(rustls::crypto::ring::default_provider()), Arc::clone)
}

/// The platform's verifier and the user's own certificates, read by the first handshake. Reading the system's
/// certificates takes tens of milliseconds, which a run against `http://` or against nothing at all should not pay.
struct Lazy {
    provider: Arc<CryptoProvider>,
    trust: Trust,
    built: OnceLock<Result<Verifier, Error>>,
    certified: OnceLock<Result<Arc<CertifiedKey>, BadFile>>,
}

impl Lazy {
    fn new(provider: Arc<CryptoProvider>, trust: Trust) -> Self {
        Self { provider, trust, built: OnceLock::new(), certified: OnceLock::new() }
    }

    fn verifier(&self) -> Result<&Verifier, Error> {
        let built = self.built.get_or_init(|| {
            let more = certificates(&self.trust.ca).map_err(other)?;
            Verifier::new_with_extra_roots(more, Arc::clone(&self.provider)).map_err(|error| {
                let named = std::env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty());
                other(no_list(named.map(PathBuf::from), &error))
            })
        });
        // Where the user's own certificate cannot be had, a server would only say that there is none.
        self.certified().transpose().map_err(other)?;
        built.as_ref().map_err(Clone::clone)
    }

    fn certified(&self) -> Option<Result<Arc<CertifiedKey>, BadFile>> {
        let identity = self.trust.identity.as_ref()?;
        Some(self.certified.get_or_init(|| certified(identity, &self.provider)).clone())
    }
}

fn other(error: BadFile) -> Error {
    Error::Other(OtherError(Arc::new(error)))
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").field("built", &self.built.get().is_some()).finish_non_exhaustive()
    }
}

impl ResolvesClientCert for Lazy {
    fn resolve(&self, _hints: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let certified = self.certified()?.ok()?;
        certified.key.choose_scheme(schemes).map(|_| certified)
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl ServerCertVerifier for Lazy {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verifier()?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_read_by_the_first_question_only() {
        let lazy = Lazy::new(provider(), Trust::default());
        assert!(!lazy.supported_verify_schemes().is_empty());
        assert!(lazy.built.get().is_none());

        let nonsense = CertificateDer::from(vec![1, 2, 3]);
        let name = ServerName::try_from("example.com").unwrap();
        assert!(lazy.verify_server_cert(&nonsense, &[], &name, &[], UnixTime::now()).is_err());
        assert!(lazy.built.get().is_some());
    }
}
