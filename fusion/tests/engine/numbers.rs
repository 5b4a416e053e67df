//! What the host wrote into a buffer counts as numbers, and no longer than it is there: anyone who changes it, the next run
//! of a list has the results of the unfused one.

use crate::support::{Rig, own};
use bytemuck::{Pod, Zeroable};
use vkfuse::{
    Accessor, Buffer, ContextOptions, Error, Event, FusedList, FusionProperties, FusionWrapper,
    Internalization, Outcome, Promote, Queue,
};

/// Elements of a line, where the list is one kernel, and lines.
const W: u32 = 64;
const H: u32 = 9;
const LEN: usize = (W * H) as usize;

/// The uniform block of the first kernel.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Block {
    offset: f32,
    width: u32,
}

/// Two kernels: the first one's line length is a number in a buffer, the second one's is `W`.
struct List {
    rig: Rig,
    /// The first kernel.
    lines: &'static str,
    block: Buffer<Block>,
    a: Buffer<f32>,
    b: Buffer<f32>,
    c: Buffer<f32>,
}

impl List {
    fn new(rig: Rig) -> List {
        List::of(rig, 1)
    }

    /// With the block at the start of a buffer of this many.
    fn of(rig: Rig, blocks: usize) -> List {
        let floats = |start: f32| {
            let all: Vec<f32> = (0..LEN).map(|i| start + i as f32).collect();
            rig.context.buffer_from(&all).unwrap()
        };
        let (a, b, c) = (floats(1.0), floats(2000.0), floats(0.0));
        let block = rig.context.buffer_from(&vec![Block { offset: 0.5, width: W }; blocks]).unwrap();
        List { lines: "library/lines", block, a, b, c, rig }
    }

    fn submit<'a>(&'a self, queue: &Queue, block: impl Fn() -> Accessor<'a>) -> Result<(), Error> {
        let (lines, grid) = (self.rig.kernel(self.lines), self.rig.kernel("library/grid"));
        queue.submit(|h| {
            h.arg(0, self.a.read()).arg(1, self.b.write()).arg(2, block());
            h.dispatch_items(&lines, [W, H, 1]);
        })?;
        queue.submit(|h| {
            h.arg(0, self.b.read()).arg(1, self.c.write()).push(&W).dispatch_items(&grid, [W, H, 1]);
        })?;
        Ok(())
    }

    /// Runs it in fusion mode, and checks the results, with the block as it is. Returns the number of dispatches.
    fn run(&self) -> u64 {
        self.run_with(|| self.block.read(), self.block.download().unwrap()[0])
    }

    fn run_with<'a>(&'a self, accessor: impl Fn() -> Accessor<'a>, block: Block) -> u64 {
        let wanted = self.begin(block);
        let fusion = FusionWrapper::new(&self.rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        self.submit(&self.rig.queue, accessor).unwrap();
        let event = fusion.complete_fusion(&FusionProperties::default().no_rewrites()).unwrap();
        self.end(&event, &wanted)
    }

    /// Fills the buffer between with what no kernel writes, and says what is to come out.
    fn begin(&self, Block { offset, width }: Block) -> Vec<f32> {
        let a = self.a.download().unwrap();
        let mut b: Vec<f32> = (0..LEN).map(|i| 2000.0 + i as f32).collect();
        self.b.upload(&b).unwrap();
        for y in 0..H {
            for x in 0..width.min(W) {
                let i = (y * width + x) as usize;
                b[i] = a[i] + offset;
            }
        }
        b.iter().map(|b| b * 3.0).collect()
    }

    fn end(&self, event: &Event, wanted: &[f32]) -> u64 {
        event.wait().unwrap();
        assert_eq!(self.c.download().unwrap(), wanted);
        event.report().unwrap().dispatches as u64
    }

    fn keep(&self) -> FusedList {
        let wanted = self.begin(self.block.download().unwrap()[0]);
        let fusion = FusionWrapper::new(&self.rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        self.submit(&self.rig.queue, || self.block.read()).unwrap();
        let (event, kept) = fusion.complete_and_keep(&FusionProperties::default().no_rewrites()).unwrap();
        self.end(&event, &wanted);
        kept
    }

    fn run_kept(&self, kept: &FusedList) -> u64 {
        let wanted = self.begin(self.block.download().unwrap()[0]);
        self.end(&kept.run().unwrap(), &wanted)
    }
}

/// A way to change the block.
type Change = fn(&List, Block);

/// Every way to change it, and whether its contents are known afterwards.
const CHANGES: [(&str, Change, bool); 10] = [
    ("an upload", |list, block| list.block.upload_at(0, &[block]).unwrap(), true),
    ("a host write", |list, block| list.block.host_write(|all| all[0] = block).unwrap(), true),
    (
        "a host task",
        |list, block| {
            let inner = list.block.clone();
            let task = list
                .rig
                .queue
                .host_task([list.block.write()], move |scope| scope.write(&inner, |all| all[0] = block));
            task.unwrap().wait().unwrap();
        },
        true,
    ),
    ("a fill by the host", |list, block| list.block.fill(block).unwrap(), true),
    ("a fill", |list, block| drop(list.rig.queue.fill(list.block.write(), block).unwrap()), true),
    (
        "an update",
        |list, block| drop(list.rig.queue.update(list.block.write().range(0, 1), &[block]).unwrap()),
        true,
    ),
    (
        "a copy",
        |list, block| {
            let from = list.rig.context.buffer_from(&[block]).unwrap();
            drop(list.rig.queue.copy(from.read(), list.block.write().range(0, 1)).unwrap());
        },
        true,
    ),
    (
        "a copy of a part",
        |list, block| {
            let from = list.rig.context.buffer_from(&[Block { offset: 0.0, width: 3 }, block]).unwrap();
            drop(list.rig.queue.copy(from.read().range(1, 1), list.block.write().range(0, 1)).unwrap());
        },
        true,
    ),
    (
        "a copy of what is not remembered",
        |list, block| {
            let from = list.rig.context.buffer_from(&vec![block; 1000]).unwrap();
            drop(list.rig.queue.copy(from.read().range(7, 1), list.block.write().range(0, 1)).unwrap());
        },
        false,
    ),
    (
        "a kernel",
        |list, block| {
            let line = list.rig.kernel("library/line");
            let [offset, width]: [f32; 2] = bytemuck::cast(block);
            // A number that is a float's bits, made by adding 1 to it.
            let from = list.rig.context.buffer_from(&[offset - 1.0, width - 1.0]).unwrap();
            let submitted = list.rig.queue.submit(|h| {
                h.arg(0, from.read())
                    .arg(1, list.block.write().range(0, 1))
                    .push(&2u32)
                    .dispatch(&line, [1, 1, 1]);
            });
            submitted.unwrap();
        },
        false,
    ),
];

#[test]
fn numbers_count_as_long_as_they_are_there() {
    let list = List::new(rig!());
    for (what, change, stays) in CHANGES {
        for width in [W, 48, W, 17] {
            // A kernel makes numbers that are floats: none of the lengths is one.
            let block = Block { offset: width as f32, width };
            change(&list, block);
            let now = list.block.download().unwrap()[0];
            if what != "a kernel" {
                assert_eq!(now, block, "{what}");
            }
            for again in 0..4 {
                let dispatches = list.run();
                let known = stays && now.width == W;
                assert_eq!(dispatches, if known { 1 } else { 2 }, "{what}, {now:?}, run {again}");
            }
        }
    }
    list.rig.assert_no_validation_messages();
}

/// What the plan does not depend on may be anything.
#[test]
fn a_known_list_runs_again_whatever_else_the_block_holds() {
    let list = List::new(rig!());
    for run in 0..6 {
        list.block.upload(&[Block { offset: run as f32, width: W }]).unwrap();
        let before = list.rig.context.stats();
        assert_eq!(list.run(), 1);
        let ran = list.rig.context.stats() - before;
        assert_eq!(ran.made_again, u64::from(run >= 2), "run {run}");
    }
}

#[test]
fn a_kept_list_looks_at_its_numbers_each_time() {
    let list = List::new(rig!());
    let kept = list.keep();
    for (what, change, stays) in CHANGES {
        for width in [W, 48, W] {
            list.block.upload(&[Block { offset: 0.25, width: W }]).unwrap();
            assert_eq!(list.run_kept(&kept), 1, "before {what}");
            assert_eq!(list.run_kept(&kept), 1, "before {what}");
            change(&list, Block { offset: width as f32, width });
            for _ in 0..2 {
                let known = stays && width == W;
                assert_eq!(list.run_kept(&kept), if known { 1 } else { 2 }, "{what}, {width}");
            }
        }
    }
    list.rig.assert_no_validation_messages();
}

/// Between the submission and the end of the list.
#[test]
fn who_changes_a_number_of_a_listed_submission_ends_the_list_first() {
    let list = List::new(rig!());
    for (what, change, _) in CHANGES {
        list.block.upload(&[Block { offset: 1.0, width: W }]).unwrap();
        let wanted = list.begin(list.block.download().unwrap()[0]);
        let fusion = FusionWrapper::new(&list.rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        list.submit(&list.rig.queue, || list.block.read()).unwrap();
        let other = list.rig.context.queue(Default::default()).unwrap();
        drop(other);
        change(&list, Block { offset: 2.0, width: 48 });
        let event = fusion.complete_fusion(&FusionProperties::default().no_rewrites());
        if let Ok(event) = event {
            event.wait().unwrap();
        }
        list.rig.queue.wait().unwrap();
        // "A kernel" joins the list on the same queue instead, and comes after.
        assert_eq!(list.c.download().unwrap(), wanted, "{what}");
    }
    list.rig.assert_no_validation_messages();
}

/// What an address leads to may be written by anyone.
#[test]
fn numbers_behind_an_address_do_not_count() {
    let list = List::new(rig!());
    assert_eq!(list.run(), 1);
    if list.block.device_address().is_err() {
        return;
    }
    assert_eq!(list.run(), 2);
    list.block.upload(&[Block { offset: 2.0, width: W }]).unwrap();
    assert_eq!(list.run(), 2);
}

/// Contents that are known to be constant because the program says so.
#[test]
fn declared_contents_are_read_once() {
    let list = List::new(rig!());
    for width in [W, 48] {
        let block = Block { offset: 0.5, width };
        // From a buffer that is too large for its contents to be remembered.
        let from = list.rig.context.buffer_from(&vec![block; 1000]).unwrap();
        list.rig.queue.copy(from.read().range(0, 1), list.block.write()).map(drop).unwrap();
        assert_eq!(list.run(), 2);
        for _ in 0..3 {
            let dispatches = list.run_with(|| list.block.constant(), block);
            assert_eq!(dispatches, if width == W { 1 } else { 2 });
        }
    }
    // More than is remembered of what the host writes.
    let large = list.rig.context.buffer_from(&vec![Block { offset: 0.5, width: W }; 1000]).unwrap();
    let block = large.download().unwrap()[0];
    assert_eq!(list.run_with(|| large.read().range(0, 1), block), 2);
    assert_eq!(list.run_with(|| large.constant().range(0, 1), block), 1);
    assert_eq!(list.run_with(|| large.constant().range(0, 1), block), 1);
    list.rig.assert_no_validation_messages();
}

/// What was read because it was declared counts as long as no one writes it, in a buffer of any size.
#[test]
fn declared_contents_are_forgotten_whoever_changes_them() {
    for blocks in [1, 600, 2000, 8000] {
        let list = List::of(rig!(), blocks);
        let kept = {
            let fusion = FusionWrapper::new(&list.rig.queue).unwrap();
            fusion.start_fusion().unwrap();
            list.submit(&list.rig.queue, || list.block.constant().range(0, 1)).unwrap();
            fusion.complete_and_keep(&FusionProperties::default().no_rewrites()).unwrap().1
        };
        for (what, change, stays) in CHANGES {
            for width in [W, 48, W, 17] {
                let before = list.block.download_range(0..1).unwrap()[0];
                list.run_with(|| list.block.constant().range(0, 1), before);
                change(&list, Block { offset: width as f32, width });
                let now = list.block.download_range(0..1).unwrap()[0];
                let wanted = list.begin(now);
                list.end(&kept.run().unwrap(), &wanted);
                let known = blocks == 1 && stays && now.width == W;
                for _ in 0..3 {
                    let dispatches = list.run_with(|| list.block.read().range(0, 1), now);
                    assert_eq!(dispatches, if known { 1 } else { 2 }, "{blocks}, {what}, {now:?}");
                }
            }
        }
        list.rig.assert_no_validation_messages();
    }
}

/// Of memory of the user's no one knows who writes it, unless the user says so each time.
#[test]
fn imported_contents_count_where_they_are_declared() {
    let Some(own) = own::Own::open() else { return };
    let rig = Rig::over(own.context());
    let given = own.buffer(64, true);
    let mut list = List::new(rig);
    list.lines = "library/lines.storage";
    list.block = own::import(&list.rig.context, &given, 0..8);
    for width in [W, 48, W] {
        let block = Block { offset: 0.5, width };
        list.block.upload(&[block]).unwrap();
        assert_eq!(list.run(), 2);
        for _ in 0..3 {
            let dispatches = list.run_with(|| list.block.constant(), block);
            assert_eq!(dispatches, if width == W { 1 } else { 2 });
        }
        assert_eq!(list.run(), 2);
    }
}

/// A temporary stays inside where the numbers are known.
#[test]
fn numbers_let_a_temporary_stay_inside() {
    let list = List::new(rig!());
    list.b.set_promotion(Promote::Private);
    for (width, got) in [(W, Internalization::Private), (48, Internalization::None)] {
        list.block.upload(&[Block { offset: 0.5, width }]).unwrap();
        list.b.upload(&vec![0.0; LEN]).unwrap();
        let fusion = FusionWrapper::new(&list.rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        list.submit(&list.rig.queue, || list.block.read()).unwrap();
        let event = fusion.complete_fusion(&FusionProperties::default().no_rewrites()).unwrap();
        event.wait().unwrap();
        let report = event.report().unwrap();
        assert_eq!(report.plan.buffers[0].got, got);
        assert_eq!(event.outcome() == Outcome::Fused, width == W);
    }
    list.rig.assert_no_validation_messages();
}

/// The code of a list is validated with its numbers.
#[test]
fn lists_with_numbers_are_validated() {
    let options = ContextOptions::from_env().validation_layer(true).validate_code(true);
    let Some(rig) = Rig::with(options.cache(vkfuse::CacheOptions::default().no_disk())) else { return };
    let list = List::new(rig);
    let wanted = list.begin(list.block.download().unwrap()[0]);
    let fusion = FusionWrapper::new(&list.rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    list.submit(&list.rig.queue, || list.block.read()).unwrap();
    let event = fusion.complete_fusion(&FusionProperties::default().no_rewrites()).unwrap();
    assert_eq!(list.end(&event, &wanted), 1);
    let report = event.report().unwrap();
    assert_eq!(report.checks.len(), 1, "{:#?}", report.checks);
    assert_eq!(report.checks[0].agreed, Some(true), "{:#?}", report.checks);
}
