//! The format of an object in the remote store: the full key, a file of the store, and a signature over both.
//!
//! ```text
//! offset  size  field                                    all numbers little endian
//!      0     8  magic "VKFREMO\n"
//!      8     4  version (1)
//!     12     4  what: 1 entry, 2 driver blob
//!     16    32  public key of the signer (ed25519); zero if unsigned
//!     48    64  signature; zero if unsigned
//!    112     8  length of the key
//!    120     *  the key, as a `.src` file
//!      *     *  the body, as a `.bin` or `.blob` file
//! ```
//!
//! Signed is the BLAKE3, in a domain of its own, of everything but the signature. A `.src` file holds the recipe of the
//! code that its entry is, and it is compared with the one that is wanted here, byte by byte: which list this code stands for
//! is never the word of a stranger.

use crate::key::Key;
use crate::remote::keys::{Keys, SIGNATURE, SIGNER};
use crate::store::reason::RemoteMiss;

const MAGIC: [u8; 8] = *b"VKFREMO\n";
const VERSION: u32 = 1;
const HEAD: usize = 16;
const SIGNED_FROM: usize = HEAD + SIGNER + SIGNATURE;
const KEY: usize = SIGNED_FROM + 8;
const DOMAIN: &str = "vkfuse-cache remote object v1";
/// What a key may have.
const MOST_KEY: u64 = 16 << 20;

/// What an object holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Entry = 1,
    Blob = 2,
}

/// An object that is what was asked for.
pub(crate) struct Opened {
    pub(crate) body: Vec<u8>,
    /// Whether a trusted signer made it.
    pub(crate) is_trusted: bool,
}

/// What an object may have whose body has at most this many bytes.
pub(crate) fn most(body: u64) -> u64 {
    body.saturating_add(MOST_KEY)
}

fn digest(object: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
    hasher.update(&object[..HEAD + SIGNER]);
    hasher.update(&object[SIGNED_FROM..]);
    *hasher.finalize().as_bytes()
}

/// Makes an object, signed if there is a key for that.
pub(crate) fn seal(key: &Key, what: What, body: &[u8], keys: &Keys) -> Vec<u8> {
    let source = key.source();
    let mut out = Vec::with_capacity(KEY + source.len() + body.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(what as u32).to_le_bytes());
    out.extend_from_slice(&keys.signer().unwrap_or_default());
    out.extend_from_slice(&[0; SIGNATURE]);
    out.extend_from_slice(&(source.len() as u64).to_le_bytes());
    out.extend_from_slice(source);
    out.extend_from_slice(body);
    if let Some(signature) = keys.sign(&digest(&out)) {
        out[HEAD + SIGNER..SIGNED_FROM].copy_from_slice(&signature);
    }
    out
}

/// Takes an object apart that was asked for under a key. Nothing in it is believed that is not checked.
pub(crate) fn open(mut object: Vec<u8>, key: &Key, what: What, keys: &Keys) -> Result<Opened, RemoteMiss> {
    let number = |at: usize| Some(u32::from_le_bytes(object.get(at..at + 4)?.try_into().ok()?));
    if object.len() < KEY || object[..8] != MAGIC || number(8) != Some(VERSION) {
        return Err(RemoteMiss::Malformed);
    }
    if number(12) != Some(what as u32) {
        return Err(RemoteMiss::OtherKey);
    }
    let length = u64::from_le_bytes(std::array::from_fn(|at| object[SIGNED_FROM + at]));
    let end = usize::try_from(length).ok().and_then(|length| KEY.checked_add(length));
    let source = end.and_then(|end| object.get(KEY..end)).ok_or(RemoteMiss::Malformed)?;
    if source != key.source() {
        return Err(RemoteMiss::OtherKey);
    }
    let end = KEY + source.len();
    let signer: [u8; SIGNER] = std::array::from_fn(|at| object[HEAD + at]);
    let signature: [u8; SIGNATURE] = std::array::from_fn(|at| object[HEAD + SIGNER + at]);
    let is_trusted = match keys.trusts(&signer) {
        // It names a trusted signer that did not sign it.
        true if !keys.verifies(&signer, &digest(&object), &signature) => return Err(RemoteMiss::Forged),
        is_trusted => is_trusted,
    };
    object.drain(..end);
    Ok(Opened { body: object, is_trusted })
}
