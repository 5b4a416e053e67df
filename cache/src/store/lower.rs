//! Lower stores: folders that are asked after the store and never written.
//!
//! They come with an image of a container or a package. The administrator may own them, and the file system may be one
//! that can only be read, or is on a network: no lock is taken and no time stamp set.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::StoreConfig;
use crate::disk::Disk;
use crate::event::Event;
use crate::store::inner::Inner;
use crate::store::reason::Disabled;

/// A lower store, or the reason why it is not asked.
pub(crate) struct Lower {
    path: PathBuf,
    state: Result<Inner, Disabled>,
}

impl Lower {
    pub(crate) fn open(path: &Path, config: &StoreConfig, disk: Arc<dyn Disk>) -> Lower {
        let state = Inner::open_lower(path, config, disk);
        if let (Err(reason), Some(subscriber)) = (&state, &config.subscriber) {
            subscriber(&Event::DidDisableLower { reason: reason.clone() });
        }
        Lower { path: path.to_owned(), state }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn inner(&self) -> Option<&Inner> {
        self.state.as_ref().ok()
    }

    pub(crate) fn problem(&self) -> Option<&Disabled> {
        self.state.as_ref().err()
    }
}
