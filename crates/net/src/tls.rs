//! TLS: rustls with ring, and the system's certificates, which are read when they are first needed.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// What a client needs to open TLS connections.
pub(crate) fn config() -> Result<ClientConfig, Error> {
    let provider = provider();
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Lazy::new(provider)))
        .with_no_client_auth();
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

/// The platform's verifier, built by the first certificate that it is asked about. Reading the system's certificates
/// takes tens of milliseconds, which a run against `http://` or against nothing at all should not pay.
struct Lazy {
    provider: Arc<CryptoProvider>,
    built: OnceLock<Result<Verifier, Error>>,
}

impl Lazy {
    fn new(provider: Arc<CryptoProvider>) -> Self {
        Self { provider, built: OnceLock::new() }
    }

    fn verifier(&self) -> Result<&Verifier, Error> {
        self.built.get_or_init(|| Verifier::new(Arc::clone(&self.provider))).as_ref().map_err(Clone::clone)
    }
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").field("built", &self.built.get().is_some()).finish_non_exhaustive()
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
        let lazy = Lazy::new(provider());
        assert!(!lazy.supported_verify_schemes().is_empty());
        assert!(lazy.built.get().is_none());

        let nonsense = CertificateDer::from(vec![1, 2, 3]);
        let name = ServerName::try_from("example.com").unwrap();
        assert!(lazy.verify_server_cert(&nonsense, &[], &name, &[], UnixTime::now()).is_err());
        assert!(lazy.built.get().is_some());
    }
}
