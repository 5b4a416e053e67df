//! Looks away from a device, and looks again.

use super::device::Fuser;
use super::worth::{Outcome, Why};
use super::{IS_OVER, SETTINGS, at_end_once, report};
use crate::chain::Device;
use crate::sink::{is_stopped, lock, noted};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Whether a submission is passed on as it is, of a device that was not followed so far; it has `count` command buffers.
pub(crate) fn passes(device: &Device, count: impl FnOnce() -> u64) -> bool {
    if is_stopped() || IS_OVER.load(Ordering::Relaxed) {
        return true;
    }
    let passes = noted("vkQueueSubmit", || {
        at_end_once();
        let Ok(fuser) = &device.fuser else { return false };
        let mut account = lock(&fuser.account);
        let follows = account.passed(Instant::now(), device.gate.has_news(), !fuser.builder.is_idle());
        if follows {
            let mut objects = lock(&device.objects);
            device.gate.open(|| objects.forget_contents());
        }
        !follows
    });
    if passes {
        report::passed(count());
    }
    passes
}

/// Puts a command buffer that was followed on the account.
pub(super) fn book(device: &Device, fuser: &Fuser, start: Instant, followed: &Followed) {
    let mut account = lock(&fuser.account);
    let spent = followed.recording + start.elapsed();
    let why = account.followed(Instant::now(), spent, followed.outcome, fuser.trials.are_open());
    if let Some(why) = why.filter(|why| !SETTINGS.waits || *why != Why::Costly) {
        let _objects = lock(&device.objects);
        device.gate.close();
        report::looked_away(why);
    }
}

/// What came of following a command buffer.
pub(super) struct Followed {
    pub(super) outcome: Outcome,
    /// The time that its recording took of the layer's.
    pub(super) recording: Duration,
}
