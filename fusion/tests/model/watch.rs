//! A watchdog: a sequence that does not end in time is printed, and the process ends.

use std::{
    process,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// What the watched work has done so far.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn push(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    pub fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }
}

/// Watches until it is dropped.
pub struct Watch {
    done: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Watch {
    /// Ends the process if this is not dropped within `limit`.
    pub fn start(limit: Duration, title: String, log: &Log) -> Watch {
        let done = Arc::new((Mutex::new(false), Condvar::new()));
        let (theirs, log) = (done.clone(), log.clone());
        let watching = move || {
            let ended = theirs.0.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = theirs.1.wait_timeout_while(ended, limit, |ended| !*ended);
            if !*waited.unwrap_or_else(PoisonError::into_inner).0 {
                eprintln!("HANG after {limit:?}: {title}\n{}", log.text());
                process::abort();
            }
        };
        Watch { done, thread: Some(thread::spawn(watching)) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *self.done.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.done.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
