//! Contents that were declared to be constant: read when that is said, unless they are known.

use std::sync::Arc;

use crate::{
    error::Error, report::outcome::CancelCause, runtime::context::ContextInner,
    submission::accessor::Accessor,
};

/// Bytes of a range that is read because it was declared to be constant.
const MOST: u64 = 64 << 10;

impl ContextInner {
    /// Reads what an accessor spans, so that it counts as numbers. Mistakes in it are found when the submission is checked.
    pub(crate) fn learn(self: &Arc<Self>, accessor: &Accessor<'_>) -> Result<(), Error> {
        let buffer = &accessor.buffer;
        let (offset, len) = accessor.bytes();
        let is_inside = offset.checked_add(len).is_some_and(|end| end <= buffer.size);
        let is_of_use = buffer.texture.is_none() && (1..=MOST).contains(&len);
        if !is_inside || !is_of_use || !Arc::ptr_eq(&buffer.device, &self.device) {
            return Ok(());
        }
        // All of a small one: another range of it may be asked for next.
        let range = if buffer.size <= MOST { 0..buffer.size } else { offset..offset + len };
        let is_known = |bytes: &[u8]| bytes.len() as u64 >= len;
        let start = buffer.span(offset..offset + len).start;
        if !buffer.imported && self.lock().deps.holds(&buffer.shared, start).is_some_and(is_known) {
            return Ok(());
        }
        let touch = buffer.touch(range.clone(), true, false);
        let (_hold, points) = self.hold(buffer, touch, CancelCause::Constant)?;
        if buffer.unreadable(touch.span).is_none() {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            let lane = points.first().map_or(0, |point| point.queue);
            self.gpu.queue(lane as usize)?.download(buffer.allocate()?, range.start, &mut bytes, &points)?;
            self.lock().deps.know(&buffer.shared, touch.span.start, &bytes);
        }
        Ok(())
    }
}
