//! What is logged.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use tracing::{
    Event as Record, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};

/// Keeps the log records in which a text is.
#[derive(Clone)]
pub(crate) struct Records {
    text: &'static str,
    kept: Arc<Mutex<Vec<String>>>,
}

impl Records {
    /// Nothing kept yet.
    pub(crate) fn with(text: &'static str) -> Records {
        Records { text, kept: Arc::default() }
    }

    /// Takes what is kept: the fields of each record.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.kept.lock().unwrap())
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}

impl Subscriber for Records {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("vkfuse")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Record<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        if fields.0.contains(self.text) {
            self.kept.lock().unwrap().push(fields.0);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
