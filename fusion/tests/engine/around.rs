//! Lists around a kernel that runs alone: the others fuse, and the list is known, kept and rebound as any other.

use crate::support::Rig;
use vkfuse::{Buffer, Event, FusedList, FusionProperties, FusionWrapper, Outcome};

/// No multiple of what a work-group has.
pub(super) const N: u32 = 1000;

pub(super) fn line(rig: &Rig, from: &Buffer<f32>, to: &Buffer<f32>) {
    let kernel = rig.kernel("library/line");
    let submitted = rig.queue.submit(|h| {
        h.arg(0, from.read()).arg(1, to.write()).push(&N).dispatch_items(&kernel, [N, 1, 1]);
    });
    submitted.unwrap();
}

/// Two kernels from buffer 0 to buffer 2, one that runs alone from there to buffer 3, and two more, back to buffer 0.
pub(super) struct Around<'a> {
    pub(super) rig: &'a Rig,
    /// What buffer 0 holds at first.
    pub(super) before: Vec<f32>,
    /// And what it holds in the end.
    pub(super) after: Vec<f32>,
    /// Why the kernel runs alone.
    pub(super) why: &'a str,
}

impl Around<'_> {
    pub(super) fn buffers(&self) -> [Buffer<f32>; 5] {
        [(); 5].map(|()| self.rig.context.buffer_from(&vec![-1.0f32; N as usize]).unwrap())
    }

    /// Starts the list on these buffers, after the first is filled, and leaves it open.
    fn list(&self, buffers: &[Buffer<f32>; 5], alone: &dyn Fn()) -> FusionWrapper {
        let [a, b, c, d, e] = buffers;
        a.upload(&self.before).unwrap();
        let fusion = FusionWrapper::new(&self.rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        line(self.rig, a, b);
        line(self.rig, b, c);
        alone();
        line(self.rig, d, e);
        line(self.rig, e, a);
        fusion
    }

    pub(super) fn run(&self, buffers: &[Buffer<f32>; 5], alone: &dyn Fn()) -> Event {
        let event = self.list(buffers, alone).complete_fusion(&FusionProperties::default()).unwrap();
        event.wait().unwrap();
        event
    }

    pub(super) fn check(&self, event: &Event, buffers: &[Buffer<f32>; 5], what: &str) {
        event.wait().unwrap();
        assert_eq!(buffers[0].download().unwrap(), self.after, "{what}");
        assert_eq!(event.outcome(), Outcome::Split, "{what}");
        let report = event.report().unwrap();
        let groups: Vec<_> =
            report.plan.groups.iter().map(|group| (group.members.as_range().unwrap(), group.fused)).collect();
        assert_eq!(groups, [(0..2, true), (2..3, false), (3..5, true)], "{what}: {:#?}", report.plan);
        let why = format!("{:?}", report.plan.splits);
        assert!(why.contains(self.why), "{why}");
    }

    /// Keeps the list, runs it, and runs it rebound to other buffers, which leaves these alone.
    pub(super) fn kept_and_rebound(&self, buffers: &[Buffer<f32>; 5], alone: &dyn Fn()) -> FusedList {
        let (event, kept) =
            self.list(buffers, alone).complete_and_keep(&FusionProperties::default()).unwrap();
        self.check(&event, buffers, "kept");
        for round in 0..3 {
            buffers[0].upload(&self.before).unwrap();
            self.check(&kept.run().unwrap(), buffers, &format!("kept, round {round}"));
        }
        let others = self.buffers();
        let mut rebind = kept.rebind();
        for (old, new) in buffers.iter().zip(&others) {
            rebind = rebind.buffer(old, new);
        }
        let rebound = rebind.finish().unwrap();
        for round in 0..3 {
            others[0].upload(&self.before).unwrap();
            buffers.iter().for_each(|buffer| buffer.upload(&vec![7.0; N as usize]).unwrap());
            self.check(&rebound.run().unwrap(), &others, &format!("rebound, round {round}"));
            buffers.iter().for_each(|buffer| assert_eq!(buffer.download().unwrap(), vec![7.0; N as usize]));
        }
        kept
    }
}
