//! A private key that proves who one is: signed claims, as RFC 7519 has them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Map, Value};

/// A private key that signs claims. It does not print.
pub struct Signer(Pair);

enum Pair {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
}

/// Why a key cannot sign. Says nothing of the key itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    /// There is no key in the text.
    #[error("is no PEM text")]
    NoPem,
    /// The key is of a kind that is not known here, or broken.
    #[error("cannot be used: {0}")]
    Unknown(String),
    /// It can be read, and does not sign.
    #[error("cannot sign")]
    Signs,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.algorithm())
    }
}

impl Signer {
    /// The key that a PEM text holds: `PRIVATE KEY` (RSA, or an elliptic curve P-256 or P-384) or `RSA PRIVATE KEY`.
    /// Line ends may be written as the two letters that stand for them in settings.
    ///
    /// # Errors
    ///
    /// [`BadKey`] when there is none, or it is of another kind.
    pub fn of(pem: &str) -> Result<Self, BadKey> {
        let pem = pem.replace("\\n", "\n");
        let bytes = |label: &str| {
            let (_, rest) = pem.split_once(&format!("-----BEGIN {label}-----"))?;
            let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
            STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
        };
        if let Some(key) = bytes("PRIVATE KEY") {
            let chance = SystemRandom::new();
            if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &chance) {
                return Ok(Self(Pair::P256(pair)));
            }
            if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &key, &chance) {
                return Ok(Self(Pair::P384(pair)));
            }
            let pair = RsaKeyPair::from_pkcs8(&key);
            return pair.map(|pair| Self(Pair::Rsa(pair))).map_err(|why| BadKey::Unknown(why.to_string()));
        }
        if bytes("EC PRIVATE KEY").is_some() {
            let how = "`openssl pkcs8 -topk8 -nocrypt` writes it in the form that is read here";
            return Err(BadKey::Unknown(how.to_owned()));
        }
        let key = bytes("RSA PRIVATE KEY").ok_or(BadKey::NoPem)?;
        RsaKeyPair::from_der(&key).map(|pair| Self(Pair::Rsa(pair))).map_err(|why| BadKey::Unknown(why.to_string()))
    }

    /// What it signs with, as tokens name it: `RS256`, `ES256` or `ES384`.
    pub fn algorithm(&self) -> &'static str {
        match &self.0 {
            Pair::Rsa(_) => "RS256",
            Pair::P256(_) => "ES256",
            Pair::P384(_) => "ES384",
        }
    }

    /// `claims` as a signed token. `head` is what stands in its header beside the algorithm.
    ///
    /// # Errors
    ///
    /// [`BadKey::Signs`].
    pub fn token(&self, head: Map<String, Value>, claims: &Value) -> Result<String, BadKey> {
        let mut header = Map::new();
        header.insert("alg".to_owned(), self.algorithm().into());
        header.extend(head);
        let encode = |text: String| URL_SAFE_NO_PAD.encode(text);
        let said = format!("{}.{}", encode(Value::from(header).to_string()), encode(claims.to_string()));
        let signature = self.sign(said.as_bytes())?;
        Ok(format!("{said}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, BadKey> {
        let chance = SystemRandom::new();
        match &self.0 {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &chance, bytes, &mut signature).map_err(|_| BadKey::Signs)?;
                Ok(signature)
            }
            Pair::P256(pair) | Pair::P384(pair) => {
                Ok(pair.sign(&chance, bytes).map_err(|_| BadKey::Signs)?.as_ref().to_vec())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, EcdsaSigningAlgorithm, EcdsaVerificationAlgorithm, KeyPair,
        UnparsedPublicKey,
    };
    use serde_json::json;

    use super::*;

    fn pem(label: &str, bytes: &[u8]) -> String {
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(bytes))
    }

    #[test]
    fn a_key_of_a_curve_signs_what_its_other_half_proves() {
        let row = |with: &'static EcdsaSigningAlgorithm, proves: &'static EcdsaVerificationAlgorithm, name: &str| {
            let key = EcdsaKeyPair::generate_pkcs8(with, &SystemRandom::new()).unwrap();
            let pair = EcdsaKeyPair::from_pkcs8(with, key.as_ref(), &SystemRandom::new()).unwrap();
            let signer = Signer::of(&pem("PRIVATE KEY", key.as_ref()).replace('\n', "\\n")).unwrap();
            assert_eq!((signer.algorithm(), format!("{signer:?}")), (name, format!("Signer({name})")));
            let head = [("typ".to_owned(), json!("JWT"))].into_iter().collect();
            let token = signer.token(head, &json!({"iss": "me"})).unwrap();
            let parts: Vec<&str> = token.split('.').collect();
            let decoded =
                |part: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap() };
            assert_eq!(decoded(parts[0]), json!({"alg": name, "typ": "JWT"}));
            assert_eq!(decoded(parts[1]), json!({"iss": "me"}));
            let said = format!("{}.{}", parts[0], parts[1]);
            let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
            UnparsedPublicKey::new(proves, pair.public_key().as_ref()).verify(said.as_bytes(), &signature).unwrap();
        };
        row(&ECDSA_P256_SHA256_FIXED_SIGNING, &ECDSA_P256_SHA256_FIXED, "ES256");
        row(&ECDSA_P384_SHA384_FIXED_SIGNING, &ECDSA_P384_SHA384_FIXED, "ES384");
    }

    #[test]
    fn what_is_no_key_says_so_and_is_not_shown() {
        let row = |text: &str, want: &str| {
            let why = Signer::of(text).unwrap_err().to_string();
            assert!(why.starts_with(want) && !why.contains("QUJD"), "{why}");
        };
        row("QUJD", "is no PEM text");
        row("-----BEGIN PRIVATE KEY-----\n%\n-----END PRIVATE KEY-----\n", "is no PEM text");
        row(&pem("PRIVATE KEY", b"ABC"), "cannot be used: ");
        row(&pem("RSA PRIVATE KEY", b"ABC"), "cannot be used: ");
        row(&pem("EC PRIVATE KEY", b"ABC"), "cannot be used: `openssl pkcs8");
    }
}
