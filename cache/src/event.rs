//! What the caches do, as typed events: for transcripts in tests, for traces, for counting.
//!
//! Events are sent outside every lock, in the thread that caused them; those of writes that are done later, in the thread of
//! the store that does them.

use std::fmt;
use std::sync::Arc;

use crate::key::{Field, KeyId, PartKind};
use crate::store::reason::{Disabled, Miss, RemoteMiss, Skip};

/// Receives events.
pub type Subscriber = Arc<dyn Fn(&Event) + Send + Sync>;

/// One thing that a cache did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`key` and `bytes` mean the same everywhere")]
pub enum Event {
    /// A builder is about to run.
    WillBuild { key: KeyId },
    /// It gave a value.
    DidBuild { key: KeyId, bytes: u64 },
    /// It failed or panicked.
    DidFail { key: KeyId, permanent: bool },
    /// A waiter builds after a failure that may pass.
    DidRetry { key: KeyId },
    /// A finished value was in memory.
    DidHitMemory { key: KeyId },
    /// The value came from a build in another thread.
    DidWait { key: KeyId },
    /// A stored failure was given.
    DidHitFailure { key: KeyId },
    /// An entry left memory for the limits.
    DidEvictMemory { key: KeyId, bytes: u64 },
    /// The store had the entry.
    DidHitDisk { key: KeyId, bytes: u64 },
    /// A lower store had the entry.
    DidHitLower { key: KeyId, layer: usize, bytes: u64 },
    /// The remote store had the entry, or the driver blob; `trusted` says whether a trusted signer made it.
    DidHitRemote { key: KeyId, bytes: u64, trusted: bool },
    /// The remote store gave nothing.
    DidMissRemote { key: KeyId, reason: RemoteMiss },
    /// The entry or driver blob is in the remote store now.
    DidUpload { key: KeyId, bytes: u64 },
    /// The entry or driver blob could not be put there.
    DidNotUpload { key: KeyId, reason: RemoteMiss },
    /// The remote store is off.
    DidDisableRemote { reason: String },
    /// The store did not have it.
    DidMissDisk { key: KeyId, miss: Miss },
    /// The entry is in the store now.
    DidPublish { key: KeyId, bytes: u64 },
    /// The entry or blob was not written.
    DidSkip { key: KeyId, skip: Skip },
    /// Entries and blobs left the store for its limits.
    DidEvictDisk { files: u64, bytes: u64 },
    /// A driver blob was found.
    DidHitBlob { key: KeyId, bytes: u64 },
    /// A driver blob was not found.
    DidMissBlob { key: KeyId, miss: Miss },
    /// A driver blob is in the store now.
    DidPublishBlob { key: KeyId, bytes: u64 },
    /// A blob is set aside, because a process died loading it.
    DidQuarantine { key: KeyId },
    /// Left-over temporary files were removed.
    DidSweep { files: u64 },
    /// The store is off.
    DidDisable { reason: Disabled },
    /// A lower store is not asked.
    DidDisableLower { reason: Disabled },
    /// The attributes of a key that is looked up; only sent when tracing.
    Attributes { key: KeyId, fields: Vec<(PartKind, Field)> },
}

impl Event {
    /// The name of the event, as in transcripts.
    pub fn name(&self) -> &'static str {
        match self {
            Event::WillBuild { .. } => "will-build",
            Event::DidBuild { .. } => "did-build",
            Event::DidFail { .. } => "did-fail",
            Event::DidRetry { .. } => "did-retry",
            Event::DidHitMemory { .. } => "did-hit-memory",
            Event::DidWait { .. } => "did-wait",
            Event::DidHitFailure { .. } => "did-hit-failure",
            Event::DidEvictMemory { .. } => "did-evict-memory",
            Event::DidHitDisk { .. } => "did-hit-disk",
            Event::DidHitLower { .. } => "did-hit-lower",
            Event::DidHitRemote { .. } => "did-hit-remote",
            Event::DidMissRemote { .. } => "did-miss-remote",
            Event::DidUpload { .. } => "did-upload",
            Event::DidNotUpload { .. } => "did-not-upload",
            Event::DidDisableRemote { .. } => "did-disable-remote",
            Event::DidMissDisk { .. } => "did-miss-disk",
            Event::DidPublish { .. } => "did-publish",
            Event::DidSkip { .. } => "did-skip",
            Event::DidEvictDisk { .. } => "did-evict-disk",
            Event::DidHitBlob { .. } => "did-hit-blob",
            Event::DidMissBlob { .. } => "did-miss-blob",
            Event::DidPublishBlob { .. } => "did-publish-blob",
            Event::DidQuarantine { .. } => "did-quarantine",
            Event::DidSweep { .. } => "did-sweep",
            Event::DidDisable { .. } => "did-disable",
            Event::DidDisableLower { .. } => "did-disable-lower",
            Event::Attributes { .. } => "attributes",
        }
    }

    /// The key that the event is about.
    pub fn key(&self) -> Option<KeyId> {
        self.parts().0
    }

    /// Key, number of bytes or files under its name, and words about it.
    fn parts(&self) -> (Option<KeyId>, Vec<(&'static str, u64)>, Option<String>) {
        let mut numbers = Vec::new();
        let mut words = None;
        let key = match self {
            Event::WillBuild { key }
            | Event::DidRetry { key }
            | Event::DidHitMemory { key }
            | Event::DidWait { key }
            | Event::DidHitFailure { key }
            | Event::DidQuarantine { key }
            | Event::Attributes { key, .. } => Some(*key),
            Event::DidBuild { key, bytes }
            | Event::DidEvictMemory { key, bytes }
            | Event::DidHitDisk { key, bytes }
            | Event::DidPublish { key, bytes }
            | Event::DidUpload { key, bytes }
            | Event::DidHitBlob { key, bytes }
            | Event::DidPublishBlob { key, bytes } => {
                numbers.push(("bytes", *bytes));
                Some(*key)
            }
            Event::DidHitRemote { key, bytes, trusted } => {
                numbers.push(("bytes", *bytes));
                words = Some(String::from(if *trusted { "trusted" } else { "untrusted" }));
                Some(*key)
            }
            Event::DidMissRemote { key, reason } | Event::DidNotUpload { key, reason } => {
                words = Some(reason.to_string());
                Some(*key)
            }
            Event::DidDisableRemote { reason } => {
                words = Some(reason.clone());
                None
            }
            Event::DidHitLower { key, layer, bytes } => {
                numbers.extend([("layer", *layer as u64), ("bytes", *bytes)]);
                Some(*key)
            }
            Event::DidFail { key, permanent } => {
                words = Some(String::from(if *permanent { "permanent" } else { "transient" }));
                Some(*key)
            }
            Event::DidMissDisk { key, miss } | Event::DidMissBlob { key, miss } => {
                words = Some(miss.to_string());
                Some(*key)
            }
            Event::DidSkip { key, skip } => {
                words = Some(skip.to_string());
                Some(*key)
            }
            Event::DidEvictDisk { files, bytes } => {
                numbers.extend([("files", *files), ("bytes", *bytes)]);
                None
            }
            Event::DidSweep { files } => {
                numbers.push(("files", *files));
                None
            }
            Event::DidDisable { reason } | Event::DidDisableLower { reason } => {
                words = Some(reason.to_string());
                None
            }
        };
        (key, numbers, words)
    }

    /// The event as one line of JSON, for `VKFUSE_CACHE_TRACE`.
    pub fn to_json(&self) -> String {
        let mut out = format!("{{\"event\":\"{}\"", self.name());
        let (key, numbers, words) = self.parts();
        if let Some(key) = key {
            out.push_str(&format!(",\"key\":\"{key:#}\""));
        }
        for (name, number) in numbers {
            out.push_str(&format!(",\"{name}\":{number}"));
        }
        if let Event::DidMissDisk { miss, .. } | Event::DidMissBlob { miss, .. } = self {
            out.push_str(&format!(",\"kind\":\"{}\"", miss.name()));
        }
        if let Event::DidSkip { skip, .. } = self {
            out.push_str(&format!(",\"kind\":\"{}\"", skip.name()));
        }
        if let Some(words) = words {
            out.push_str(",\"reason\":");
            push_json(&mut out, &words);
        }
        if let Event::Attributes { fields, .. } = self {
            out.push_str(",\"attributes\":[");
            for (index, (part, field)) in fields.iter().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                out.push_str(&format!("{comma}{{\"part\":\"{part}\",\"name\":"));
                push_json(&mut out, &field.name);
                out.push_str(",\"value\":");
                push_json(&mut out, &field.value.to_string());
                out.push('}');
            }
            out.push(']');
        }
        out.push('}');
        out
    }
}

impl fmt::Display for Event {
    /// One line: name, key, numbers, words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let (key, numbers, words) = self.parts();
        if let Some(key) = key {
            write!(f, " {key}")?;
        }
        for (_, number) in numbers {
            write!(f, " {number}")?;
        }
        match words {
            Some(words) => write!(f, " ({words})"),
            None => Ok(()),
        }
    }
}

/// Appends a JSON string.
fn push_json(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}
