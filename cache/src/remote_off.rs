//! What stands for the remote tier in a build without it: nothing, and the reason why.

use std::sync::Arc;
use std::time::Duration;

use crate::config::RemoteConfig;
use crate::entry::Entry;
use crate::event::Subscriber;
use crate::key::{Key, Part};
use crate::store::reason::RemoteMiss;
use crate::store::stats::Counters;

/// There is none.
pub(crate) enum Remote {}

pub(crate) struct Fetched<T> {
    pub(crate) value: T,
    pub(crate) is_trusted: bool,
}

impl Remote {
    pub(crate) fn open(
        _: &RemoteConfig,
        _: u64,
        _: Arc<Counters>,
        _: Option<Subscriber>,
    ) -> Result<Remote, String> {
        Err("this program was built without the feature `remote`".to_owned())
    }

    pub(crate) fn entry(&self, _: &Key) -> Result<Fetched<Entry>, RemoteMiss> {
        match *self {}
    }

    pub(crate) fn blob(&self, _: &Key, _: &Part) -> Result<Fetched<Vec<u8>>, RemoteMiss> {
        match *self {}
    }

    pub(crate) fn has_lied(&self) {
        match *self {}
    }

    pub(crate) fn put(&self, _: &Key, _: &Entry) {
        match *self {}
    }

    pub(crate) fn put_blob(&self, _: &Key, _: &Part, _: &[u8]) {
        match *self {}
    }

    pub(crate) fn drain(&self, _: Duration) -> bool {
        match *self {}
    }
}
