//! Certificates and keys in files: read when they are first needed, with errors that name the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// Largest file of certificates, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Who this user is to servers that want to know it by certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The file with the certificate, and those between it and the one that is trusted, in PEM.
    pub cert: PathBuf,
    /// The file with its key, in PEM and without a password.
    pub key: PathBuf,
}

/// A file with certificates or keys cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} (named by {by}) {why}")]
pub struct BadFile {
    /// The file.
    pub path: String,
    /// The setting or the variable that names it.
    pub by: &'static str,
    /// What is wrong with it.
    pub why: String,
}

/// The certificates in the files at `paths`, each named by a setting or a variable.
pub(crate) fn certificates(paths: &[(PathBuf, &'static str)]) -> Result<Vec<CertificateDer<'static>>, BadFile> {
    let mut all = Vec::new();
    for (path, by) in paths {
        all.extend(certificates_in(path, by)?);
    }
    Ok(all)
}

fn certificates_in(path: &Path, by: &'static str) -> Result<Vec<CertificateDer<'static>>, BadFile> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path, by)?).collect();
    match found {
        Ok(found) if found.is_empty() => Err(bad(path, by, "holds no certificate in PEM form".to_owned())),
        Ok(found) => match found.iter().find_map(|cert| RootCertStore::empty().add(cert.clone()).err()) {
            Some(error) => Err(bad(path, by, format!("holds a certificate that cannot be read ({error})"))),
            None => Ok(found),
        },
        Err(error) => Err(bad(path, by, format!("cannot be read as PEM ({error})"))),
    }
}

/// The certificate and the key of `identity`.
pub(crate) fn certified(identity: &Identity, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, BadFile> {
    const CERT: &str = "network.client_cert";
    const KEY: &str = "network.client_key";
    let chain = certificates_in(&identity.cert, CERT)?;
    let text = read(&identity.key, KEY)?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        let locked = text.windows(9).any(|word| word == b"ENCRYPTED");
        let why = match error {
            _ if locked => "is protected by a password; take that off with `openssl pkey`".to_owned(),
            Error::NoItemsFound => "holds no key in PEM form".to_owned(),
            error => format!("cannot be read as PEM ({error})"),
        };
        bad(&identity.key, KEY, why)
    })?;
    let found = CertifiedKey::from_der(chain, key, provider);
    found.map(Arc::new).map_err(|error| bad(&identity.key, KEY, format!("is no key for the certificate ({error})")))
}

/// What it means that the system's own list cannot be used: the file that `SSL_CERT_FILE` names, where there is one.
pub(crate) fn no_list(named: Option<PathBuf>, error: &rustls::Error) -> BadFile {
    let why = format!("cannot be used as a list of trusted certificates ({error})");
    match named {
        Some(file) => bad(&file, "SSL_CERT_FILE", why),
        None => BadFile {
            path: "the system's list".to_owned(),
            by: "the system",
            why: format!("{why}; install it (often called ca-certificates), or name a file in network.ca"),
        },
    }
}

fn read(path: &Path, by: &'static str) -> Result<Vec<u8>, BadFile> {
    let size = std::fs::metadata(path).map_err(|error| bad(path, by, format!("cannot be read: {error}")))?.len();
    if size > MAX_FILE {
        return Err(bad(path, by, "is larger than 4 MiB".to_owned()));
    }
    std::fs::read(path).map_err(|error| bad(path, by, format!("cannot be read: {error}")))
}

fn bad(path: &Path, by: &'static str, why: String) -> BadFile {
    BadFile { path: path.display().to_string(), by, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_not_there_is_named() {
        let error = rustls::Error::General("none".to_owned());
        let told = no_list(Some("/x.pem".into()), &error).to_string();
        assert_eq!(
            told,
            "/x.pem (named by SSL_CERT_FILE) cannot be used as a list of trusted certificates (unexpected error: none)"
        );
        assert!(no_list(None, &error).to_string().ends_with("or name a file in network.ca"));
    }

    #[test]
    fn a_file_is_named_that_is_too_large_or_holds_nonsense() {
        let folder = tempfile::tempdir().unwrap();
        let row = |text: &[u8], want: &str| {
            let file = folder.path().join("ca.pem");
            std::fs::write(&file, text).unwrap();
            let told = certificates(&[(file.clone(), "network.ca")]).unwrap_err().to_string();
            assert_eq!(told, format!("{} (named by network.ca) {want}", file.display()));
        };
        row(&vec![b'x'; 4 * 1024 * 1024 + 1], "is larger than 4 MiB");
        row(b"", "holds no certificate in PEM form");
        let nonsense = b"-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n";
        row(nonsense, "holds a certificate that cannot be read (invalid peer certificate: BadEncoding)");
    }
}
