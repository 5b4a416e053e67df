//! Autotuned lists: whichever way a run goes, its results are the same, and after a while one way stays. Which one depends on time, so no test
//! asserts it.

use std::{path::PathBuf, time::Duration};

use crate::support::Rig;
use vkfuse::{
    Buffer, CacheOptions, Context, ContextOptions, Event, FusionProperties, FusionWrapper, report::Way,
};

const N: usize = 1 << 19;

/// A product that is read by indices: fused, each element is made of two that are loaded in the indices' order.
struct Gather {
    x: Buffer<f32>,
    y: Buffer<f32>,
    from: Buffer<u32>,
    t: Buffer<f32>,
    out: Buffer<f32>,
    expected: Vec<f32>,
}

impl Gather {
    fn new(rig: &Rig, from: impl Fn(usize) -> usize) -> Gather {
        let value = |i: usize| (i % 1013) as f32 - 500.0;
        let x: Vec<f32> = (0..N).map(value).collect();
        let y: Vec<f32> = (0..N).map(|i| value(i * 7 + 3)).collect();
        let index: Vec<u32> = (0..N).map(|i| from(i) as u32).collect();
        let expected = index.iter().map(|&i| x[i as usize] * y[i as usize]).collect();
        let [x, y] = [x, y].map(|data| rig.context.buffer_from(&data).unwrap());
        let from = rig.context.buffer_from(&index).unwrap();
        let [t, out] = [(); 2].map(|()| rig.context.buffer(N).unwrap());
        Gather { x, y, from, t, out, expected }
    }

    fn submit(&self, rig: &Rig) -> Result<(), vkfuse::Error> {
        let (product, gather) = (rig.kernel("seams/product"), rig.kernel("access/gather"));
        let n = N as u32;
        rig.queue.submit(|h| {
            h.arg(0, self.x.read()).arg(1, self.y.read()).arg(2, self.t.write()).push(&n);
            h.dispatch_items(&product, [n, 1, 1]);
        })?;
        rig.queue
            .submit(|h| {
                h.arg(0, self.t.read()).arg(1, self.from.read()).arg(2, self.out.write()).push(&n);
                h.dispatch_items(&gather, [n, 1, 1]);
            })
            .map(drop)
    }

    fn run(&self, rig: &Rig, properties: &FusionProperties) -> Event {
        let event = rig.queue.fuse_with(properties, |_| self.submit(rig)).unwrap();
        event.wait().unwrap();
        event
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(self.out.download().unwrap(), self.expected);
        self.out.fill(0.0).unwrap();
    }

    /// Runs until a way stays; every run has the results that it should have.
    #[track_caller]
    fn settle(&self, rig: &Rig) -> Vec<Way> {
        let mut ways = Vec::new();
        for _ in 0..400 {
            let report = self.run(rig, &FusionProperties::new()).report().unwrap();
            self.check();
            // However long the other way takes to build.
            rig.context.wait_for_builds();
            let choice = report.choice.clone().expect("a list in doubt");
            let dispatches = if choice.way == Way::Forced { 1 } else { 2 };
            assert_eq!(report.dispatches, dispatches, "{choice:?}");
            ways.push(choice.way);
            if choice.is_decided {
                return ways;
            }
        }
        panic!("no way stays: {ways:?}");
    }
}

fn persistent(folder: &PathBuf) -> Option<Rig> {
    let cache = CacheOptions::default().directory(folder);
    Context::with_options(ContextOptions::from_env().cache(cache)).ok().map(Rig::over)
}

#[test]
fn all_ways_have_the_same_results_and_one_stays() {
    let rig = rig!();
    let list = Gather::new(&rig, |i| (i * 5 + 3) % N);
    let ways = list.settle(&rig);
    assert_eq!(ways[0], Way::Usual, "what is not built yet is not waited for");
    assert!(ways.contains(&Way::Forced), "{ways:?}");
    let way = *ways.last().unwrap();
    // Known, replayed and looked at again now and then, it runs in that way or is measured anew; its results stay what they are.
    for _ in 0..70 {
        let choice = list.run(&rig, &FusionProperties::new()).report().unwrap().choice.clone().unwrap();
        assert!(choice.way == way || way == Way::Forced, "{choice:?}");
        list.check();
    }
    rig.assert_no_validation_messages();
}

#[test]
fn what_was_found_out_is_remembered_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_owned();
    let Some(rig) = persistent(&folder) else { return };
    let list = Gather::new(&rig, |i| i);
    let ways = list.settle(&rig);
    assert!(rig.context.flush_cache(Duration::from_secs(20)));
    drop((list, rig));
    let rig = persistent(&folder).unwrap();
    let list = Gather::new(&rig, |i| i);
    let choice = list.run(&rig, &FusionProperties::new()).report().unwrap().choice.clone().unwrap();
    list.check();
    assert!(choice.is_decided);
    assert_eq!(choice.way, *ways.last().unwrap());
    assert!(choice.measured.iter().all(|one| one.runs == 0), "{choice:?}");
}

#[test]
fn a_list_that_is_not_to_be_measured_is_not() {
    let rig = rig!();
    let list = Gather::new(&rig, |i| N - 1 - i);
    for _ in 0..20 {
        let report = list.run(&rig, &FusionProperties::new().autotune(false)).report().unwrap();
        assert_eq!((report.choice.clone(), report.dispatches), (None, 2));
        list.check();
    }
    // One that has to be one kernel is.
    let report = list.run(&rig, &FusionProperties::new().force_fusion()).report().unwrap();
    assert_eq!((report.choice.clone(), report.dispatches), (None, 1));
    list.check();
}

#[test]
fn a_kept_list_is_measured_too() {
    let rig = rig!();
    let list = Gather::new(&rig, |i| (i * 9 + 1) % N);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    list.submit(&rig).unwrap();
    let (_, kept) = fusion.complete_and_keep(&FusionProperties::new()).unwrap();
    let mut is_decided = false;
    for run in 0..400 {
        let choice = kept.run().unwrap().report().unwrap().choice.clone().unwrap();
        rig.queue.wait().unwrap();
        list.check();
        is_decided |= choice.is_decided;
        if is_decided && run > 100 {
            break;
        }
    }
    assert!(is_decided);
    rig.assert_no_validation_messages();
}

/// What stays inside in the usual way is given no memory only to be measured.
#[test]
fn nothing_is_allocated_for_a_measurement() {
    const ROWS: usize = 32;
    const COLUMNS: usize = 1 << 16;
    let rig = rig!();
    let data: Vec<f32> = (0..ROWS * COLUMNS).map(|i| (i % 719) as f32 * 0.01).collect();
    let x = rig.context.buffer_from(&data).unwrap();
    let (most, powers) =
        (rig.context.scratch::<f32>(ROWS).unwrap(), rig.context.buffer::<f32>(data.len()).unwrap());
    let (row_max, exp_sub) = (rig.kernel("softmax/row_max"), rig.kernel("softmax/exp_sub"));
    let columns = COLUMNS as u32;
    for _ in 0..20 {
        let event = rig.queue.fuse(|queue| {
            queue.submit(|h| {
                h.arg(0, x.read())
                    .arg(1, most.write())
                    .push(&columns)
                    .dispatch(&row_max, [ROWS as u32, 1, 1]);
            })?;
            queue.submit(|h| {
                h.arg(0, x.read()).arg(1, most.read()).arg(2, powers.write()).push(&columns);
                h.dispatch(&exp_sub, [ROWS as u32, 1, 1]);
            })?;
            Ok(())
        });
        let report = event.unwrap().report().unwrap();
        assert_eq!((report.choice.clone(), report.dispatches), (None, 1), "{:?}", report.plan);
    }
    rig.queue.wait().unwrap();
    assert!(most.download().is_err(), "it has no memory");
    rig.assert_no_validation_messages();
}
