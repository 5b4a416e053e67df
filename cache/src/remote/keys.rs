//! Keys of signers: the one that signs here, and those that are trusted. Files of text, made by `vkfuse cache keygen`.
//!
//! A line is a word and 64 hexadecimal digits, and whatever follows is for people; empty lines and those that begin with
//! `#` say nothing. A file of trusted keys may have many lines: a new key is added before it first signs, and an old one
//! taken out when nothing of its owner is to be taken any more.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::key::push_hex;

pub(crate) const SIGNER: usize = 32;
pub(crate) const SIGNATURE: usize = 64;
const SECRET: &str = "vkfuse-secret-key-1";
const PUBLIC: &str = "vkfuse-public-key-1";
/// A file of keys is small.
const MOST: u64 = 1 << 20;

/// Why keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Others can read a secret key, or write into a file of keys.
    #[error("{}: others may {what} it; chmod {mode} it", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What others may do.
        what: &'static str,
        /// The rights that it should have.
        mode: &'static str,
    },
    /// A line is none of a file of keys.
    #[error("{}, line {line}: not a key of `vkfuse cache keygen`", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// There is no randomness.
    #[error("the system gives no random numbers")]
    NoRandom,
}

/// The keys of a process.
#[derive(Default)]
pub(crate) struct Keys {
    own: Option<SigningKey>,
    trusted: BTreeMap<[u8; SIGNER], VerifyingKey>,
}

impl Keys {
    pub(crate) fn read(trust: &[PathBuf], own: Option<&Path>) -> Result<Keys, KeyError> {
        let mut keys = Keys::default();
        for path in trust {
            let malformed = |line| KeyError::Malformed { path: path.clone(), line };
            for (line, bytes) in lines(path, PUBLIC, false)? {
                let key = VerifyingKey::from_bytes(&bytes).map_err(|_| malformed(line))?;
                // A weak key: anyone can make signatures for it.
                if key.is_weak() {
                    return Err(malformed(line));
                }
                keys.trusted.insert(bytes, key);
            }
        }
        if let Some(path) = own {
            let secret = lines(path, SECRET, true)?;
            let [(_, bytes)] = secret[..] else {
                return Err(KeyError::Malformed { path: path.to_owned(), line: secret.len() });
            };
            let key = SigningKey::from_bytes(&bytes);
            // The own key is trusted.
            keys.trusted.insert(key.verifying_key().to_bytes(), key.verifying_key());
            keys.own = Some(key);
        }
        Ok(keys)
    }

    pub(crate) fn signs(&self) -> bool {
        self.own.is_some()
    }

    pub(crate) fn signer(&self) -> Option<[u8; SIGNER]> {
        self.own.as_ref().map(|key| key.verifying_key().to_bytes())
    }

    pub(crate) fn sign(&self, digest: &[u8; 32]) -> Option<[u8; SIGNATURE]> {
        self.own.as_ref().map(|key| key.sign(digest).to_bytes())
    }

    pub(crate) fn trusts(&self, signer: &[u8; SIGNER]) -> bool {
        self.trusted.contains_key(signer)
    }

    pub(crate) fn verifies(
        &self,
        signer: &[u8; SIGNER],
        digest: &[u8; 32],
        signature: &[u8; SIGNATURE],
    ) -> bool {
        let signature = Signature::from_bytes(signature);
        self.trusted.get(signer).is_some_and(|key| key.verify_strict(digest, &signature).is_ok())
    }
}

/// Makes a new key: the secret in a file of that name, the public one in that name with `.pub`, for others to trust. Returns
/// the public line.
///
/// # Errors
/// [`KeyError::Io`], also where there is a file of one of the names already.
pub fn generate(file: &Path) -> Result<String, KeyError> {
    let mut seed = [0; SIGNER];
    getrandom::fill(&mut seed).map_err(|_| KeyError::NoRandom)?;
    let key = SigningKey::from_bytes(&seed);
    let public = line(PUBLIC, &key.verifying_key().to_bytes());
    create(file, &line(SECRET, &seed), 0o600)?;
    create(&public_of(file), &public, 0o644)?;
    Ok(public)
}

/// Where the public key lies beside a secret one.
pub(crate) fn public_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

fn line(word: &str, bytes: &[u8; 32]) -> String {
    let mut text = format!("{word} ");
    push_hex(&mut text, bytes, 256);
    text
}

fn create(path: &Path, text: &str, mode: u32) -> Result<(), KeyError> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let written = options.open(path).and_then(|mut file| writeln!(file, "{text}"));
    written.map_err(|error| KeyError::Io { path: path.to_owned(), error })
}

/// The keys in a file, with the numbers of their lines.
fn lines(path: &Path, word: &str, is_secret: bool) -> Result<Vec<(usize, [u8; 32])>, KeyError> {
    let failed = |error| KeyError::Io { path: path.to_owned(), error };
    let meta = fs::metadata(path).map_err(failed)?;
    if !meta.is_file() || meta.len() > MOST {
        return Err(failed(io::Error::from(io::ErrorKind::InvalidData)));
    }
    check_rights(path, &meta, is_secret)?;
    let text = fs::read_to_string(path).map_err(failed)?;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        let bytes = (words.next() == Some(word)).then(|| words.next().and_then(hex)).flatten();
        let malformed = || KeyError::Malformed { path: path.to_owned(), line: number + 1 };
        found.push((number + 1, bytes.ok_or_else(malformed)?));
    }
    Ok(found)
}

#[cfg(unix)]
fn check_rights(path: &Path, meta: &fs::Metadata, is_secret: bool) -> Result<(), KeyError> {
    use std::os::unix::fs::MetadataExt;
    let path = || path.to_owned();
    if is_secret && meta.mode() & 0o077 != 0 {
        return Err(KeyError::Open { path: path(), what: "read", mode: "600" });
    }
    if meta.mode() & 0o022 != 0 {
        return Err(KeyError::Open { path: path(), what: "write", mode: "go-w" });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_rights(_: &Path, _: &fs::Metadata, _: bool) -> Result<(), KeyError> {
    Ok(())
}

fn hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
