//! The checking mode, and accesses out of range outside of it.

use vkfuse::rust::{Captures, Item, OutOfRange, Read, Write, kernel};

#[derive(Captures)]
struct Shift {
    by: u32,
    x: Read<u32>,
    y: Write<u32>,
}

#[kernel]
impl Shift {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        let mut local = [1_u32, 2, 3];
        local[i] += 1;
        self.y.set(i, self.x.get(i + self.by) + local[i]);
    }
}

#[test]
fn accesses_out_of_range_are_skipped_and_reported() {
    let rig = rig!();
    let x = rig.context.buffer_from(&[10_u32, 20, 30, 40]).expect("a buffer");
    let y = rig.context.buffer_from(&[0_u32; 8]).expect("a buffer");
    // Both buffers have neighbours in the same memory object; what is outside of the accessor must not be reached.
    let kernel = Shift { by: 1, x: x.read().into(), y: y.write().range(0, 4).into() };
    let found = rig.queue.check_for(6, &kernel).expect("runs");
    assert_eq!(y.download().expect("downloads"), [22, 33, 44, 0, 0, 0, 0, 0]);
    let violation = |capture: Option<&str>, index, item| OutOfRange {
        capture: capture.map(str::to_owned),
        index,
        item: [item, 0, 0],
    };
    let mut expected = vec![
        violation(Some("x"), 4, 3),
        violation(Some("x"), 5, 4),
        violation(Some("x"), 6, 5),
        violation(Some("y"), 4, 4),
        violation(Some("y"), 5, 5),
    ];
    // An element is read and written where it is added to.
    for item in 3..6 {
        expected.extend([violation(None, item, item), violation(None, item, item)]);
    }
    expected.sort_unstable();
    assert_eq!(found.first, expected);
    assert_eq!(found.count, expected.len() as u64);

    rig.queue
        .submit(|h| {
            h.parallel_for(6, &kernel);
        })
        .expect("submits");
    assert_eq!(y.download().expect("downloads"), [22, 33, 44, 0, 0, 0, 0, 0]);
    let fine = Shift { by: 0, x: x.read().into(), y: y.write().into() };
    assert_eq!(rig.queue.check_for(3, &fine).expect("runs").count, 0);
    rig.assert_no_validation_messages();
}

#[derive(Captures)]
struct Asserts {
    limit: u32,
    y: Write<u32>,
}

#[kernel]
impl Asserts {
    fn kind(&self, i: u32) -> u32 {
        match i {
            0 => 5,
            1..=3 => 6,
            4 => unreachable!(),
            _ => 7,
        }
    }

    fn run(&self, item: Item<1>) {
        let i = item.index();
        assert!(i < self.limit, "beyond {}", self.limit);
        self.y[i] = self.kind(i);
    }
}

#[test]
fn assertions_are_reported_and_change_nothing() {
    let rig = rig!();
    let y = rig.context.buffer_from(&[1_u32; 6]).expect("a buffer");
    let kernel = Asserts { limit: 5, y: y.write().into() };
    let found = rig.queue.check_for(6, &kernel).expect("runs");
    assert_eq!((found.count, found.first.len()), (2, 0));
    let [beyond, reached] = &found.failed[..] else { panic!("{:?}", found.failed) };
    let ends = |what: &str, end: &str| what.contains("checked.rs:") && what.ends_with(end);
    let (beyond, reached) =
        if beyond.what.contains("assert!") { (beyond, reached) } else { (reached, beyond) };
    assert!(ends(&beyond.what, "assert!(i < self.limit)"), "{beyond:?}");
    assert!(ends(&reached.what, "unreachable!()"), "{reached:?}");
    assert_eq!([beyond.item[0], reached.item[0]], [5, 4]);
    assert_eq!(y.download().expect("downloads"), [5, 6, 6, 6, 0, 7]);
    let fine = Asserts { limit: 4, y: y.write().into() };
    assert_eq!(rig.queue.check_for(4, &fine).expect("runs").count, 0);
    rig.assert_no_validation_messages();
}
