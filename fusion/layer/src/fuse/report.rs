//! What was done, for the standard error at the end of the process.

use super::worth::Why;
use crate::sink::lock;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the process began.
#[derive(Default)]
struct Counts {
    /// Command buffers that were submitted, and those that another one stood for.
    submitted: u64,
    replaced: u64,
    /// Dispatches of those, as recorded and as run.
    before: u64,
    after: u64,
    /// Lists that were planned, and those in which something is fused.
    planned: u64,
    fused: u64,
    /// Command buffers that were timed both ways, and nanoseconds on the device: the program's, and the layer's.
    timed: u64,
    on_device: [f64; 2],
    reasons: BTreeMap<String, u64>,
}

static COUNTS: Mutex<Option<Counts>> = Mutex::new(None);
/// Command buffers that were passed on unseen.
static PASSED: AtomicU64 = AtomicU64::new(0);
/// Command buffers of the layer's that stood for the same commands before.
static AGAIN: AtomicU64 = AtomicU64::new(0);

fn count(with: impl FnOnce(&mut Counts)) {
    with(lock(&COUNTS).get_or_insert_default());
}

/// A command buffer was submitted as it is, and why.
pub(super) fn kept(why: &str) {
    count(|counts| {
        counts.submitted += 1;
        *counts.reasons.entry(format!("command buffer: {why}")).or_default() += 1;
    });
}

/// Command buffers were submitted that were not looked at.
pub(super) fn passed(buffers: u64) {
    PASSED.fetch_add(buffers, Ordering::Relaxed);
}

/// A command buffer of the layer's stands for the same commands as before.
pub(super) fn again() {
    AGAIN.fetch_add(1, Ordering::Relaxed);
}

/// The layer looks away.
pub(super) fn looked_away(why: Why) {
    noted(match why {
        Why::Quiet => "looks away: nothing gains".to_owned(),
        Why::Building => "looks away: something is being built".to_owned(),
        Why::Costly => "looks away: it costs more than it gains".to_owned(),
    });
}

/// Another command buffer stood for one.
pub(super) fn replaced(before: u64, after: u64) {
    count(|counts| {
        counts.submitted += 1;
        counts.replaced += 1;
        counts.before += before;
        counts.after += after;
    });
}

/// A list was planned.
pub(super) fn planned(is_fused: bool, reasons: &[String]) {
    count(|counts| {
        counts.planned += 1;
        counts.fused += u64::from(is_fused);
        for reason in reasons {
            *counts.reasons.entry(format!("list: {reason}")).or_default() += 1;
        }
    });
}

/// A command buffer was timed both ways: nanoseconds on the device.
pub(super) fn timed(program: f64, layer: f64) {
    count(|counts| {
        counts.timed += 1;
        counts.on_device[0] += program;
        counts.on_device[1] += layer;
    });
}

/// Something else that was not done.
pub(super) fn noted(reason: String) {
    count(|counts| *counts.reasons.entry(reason).or_default() += 1);
}

/// Writes all of it.
pub(super) fn print() {
    let counts = lock(&COUNTS);
    let none = Counts::default();
    let Counts { submitted, replaced, before, after, planned, fused, timed, on_device, reasons } =
        counts.as_ref().unwrap_or(&none);
    let passed = PASSED.load(Ordering::Relaxed);
    let submitted = submitted + passed;
    let mut text = format!(
        "vkfuse: {replaced} of {submitted} command buffers replaced, {before} dispatches as {after}; \
         {fused} of {planned} lists fused\n"
    );
    if *timed > 0 {
        let [program, layer] = on_device.map(|time| time / 1000.0);
        let _ = writeln!(
            text,
            "vkfuse: {timed} were timed both ways: {program:.1} us on the device as recorded, {layer:.1} us replaced"
        );
    }
    let unseen = "command buffer: not looked at, for it would gain nothing".to_owned();
    let mut ranked: Vec<(&String, &u64)> = reasons.iter().collect();
    ranked.extend((passed > 0).then_some((&unseen, &passed)));
    let as_before = "command buffer: the same as before, and so is what stands for it".to_owned();
    let again = AGAIN.load(Ordering::Relaxed);
    ranked.extend((again > 0).then_some((&as_before, &again)));
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (reason, count) in ranked.into_iter().take(20) {
        let _ = writeln!(text, "vkfuse: {count:>6}  {reason}");
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}
