//! A submission that certainly leaves what it is passed is an error; one that may is none.

use vkfuse::{
    Accessor, ContextOptions, Error, Event, FusionProperties, FusionWrapper, OverrunAccess, SubmitError,
};

use crate::support::Rig;

fn submit(
    rig: &Rig,
    kernel: &str,
    [x, y, z]: [Accessor<'_>; 3],
    (n, items): (u32, u32),
) -> Result<Event, Error> {
    let kernel = rig.kernel(kernel);
    rig.queue.submit(|h| {
        h.arg(0, x).arg(1, y).arg(2, z).push(&n).dispatch_items(&kernel, [items, 1, 1]);
    })
}

#[test]
fn a_range_too_short_for_the_invocations_is_an_error() {
    let rig = rig!();
    let long = rig.context.buffer::<f32>(1024).unwrap().named("long");
    let short = rig.context.buffer::<f32>(1000).unwrap().named("short");
    let all = || [long.read(), long.read(), long.write()];
    submit(&rig, "chain/mul", all(), (1024, 1024)).unwrap();
    // The guard keeps them inside.
    let [x, y, _] = all();
    submit(&rig, "chain/mul", [x, y, short.write()], (1000, 1024)).unwrap();
    let [x, y, _] = all();
    let error = submit(&rig, "chain/mul", [x, y, short.write()], (1001, 1024)).unwrap_err();
    let Error::Submit { problem, .. } = &error else { panic!("{error}") };
    let SubmitError::Overrun { at, len, access, buffer, .. } = problem else { panic!("{error}") };
    let expected = OverrunAccess { invocation: [1000, 0, 0], writes: true, bytes: (4000, 4004) };
    assert_eq!((*at, *len, &**access), (2.into(), 4000, &expected));
    assert_eq!(&**buffer, "short");
    // A range of a longer buffer, and a read; twice, because what was right once need not be looked at again.
    for _ in 0..2 {
        let [_, y, z] = all();
        let error = submit(&rig, "chain/mul", [long.read().range(512, 500), y, z], (501, 512)).unwrap_err();
        assert!(
            error.to_string().contains("invocation [500, 0, 0] reads bytes 2000..2004 of the 2000"),
            "{error}"
        );
    }
    // In a list it is the same, and the list goes on without it.
    let done = rig.queue.fuse(|_| {
        let [x, y, _] = all();
        submit(&rig, "chain/mul", [x, y, short.write()], (1024, 1024)).unwrap_err();
        submit(&rig, "chain/mul", all(), (1024, 1024)).map(drop)
    });
    done.unwrap().wait().unwrap();
    rig.assert_no_validation_messages();
}

/// Other push constants of a kept list are checked as those of a submission are.
#[test]
fn other_push_constants_of_a_kept_list_are_checked() {
    let rig = rig!();
    let [x, y, between] = [1024; 3].map(|len| rig.context.buffer::<f32>(len).unwrap());
    let short = rig.context.buffer::<f32>(1000).unwrap();
    let wrapper = FusionWrapper::new(&rig.queue).unwrap();
    wrapper.start_fusion().unwrap();
    submit(&rig, "chain/mul", [x.read(), y.read(), between.write()], (1000, 1024)).unwrap();
    submit(&rig, "chain/mul", [between.read(), y.read(), short.write()], (1000, 1024)).unwrap();
    let (_, list) = wrapper.complete_and_keep(&FusionProperties::new()).unwrap();
    for _ in 0..3 {
        for error in [
            list.rebind().push(1, &1001u32).run().map(drop).unwrap_err(),
            list.rebind().push(1, &1001u32).finish().map(drop).unwrap_err(),
        ] {
            assert!(error.to_string().contains("invocation [1000, 0, 0] writes bytes 4000..4004"), "{error}");
        }
        list.rebind().push(0, &1001u32).push(1, &999u32).run().unwrap().wait().unwrap();
        list.run().unwrap().wait().unwrap();
    }
    rig.assert_no_validation_messages();
}

/// A kernel that checks the length itself, and robust access.
#[test]
fn what_is_guarded_or_robust_is_right() {
    let rig = rig!();
    let x = rig.context.buffer::<f32>(100).unwrap();
    let kernel = rig.kernel("forms/length");
    let event = rig.queue.submit(|h| {
        h.arg(0, x.read()).arg(1, x.write()).dispatch_items(&kernel, [4096, 1, 1]);
    });
    event.unwrap();
    rig.queue.wait().unwrap();
    rig.assert_no_validation_messages();
    let robust = ContextOptions::from_env().validation_layer(true).robust_buffer_access(true);
    let Ok(context) = vkfuse::Context::with(robust) else { return };
    let rig = Rig::over(context);
    let short = rig.context.buffer::<f32>(1000).unwrap();
    submit(&rig, "chain/mul", [short.read(), short.read(), short.write()], (1024, 1024)).unwrap();
    rig.queue.wait().unwrap();
}

/// A work-group does a row in pieces, in a loop: too many rows, rows that are too long, and those that fit.
#[test]
fn a_range_too_short_for_the_rounds_of_loops_is_an_error() {
    let rig = rig!();
    let kernel = rig.kernel("patterns/row");
    let [x, y] = ["x", "y"].map(|name| rig.context.buffer::<f32>(1024).unwrap().named(name));
    let submit = |groups: u32, n: u32| {
        rig.queue.submit(|h| {
            h.arg(0, x.read()).arg(1, y.write()).push(&n).dispatch(&kernel, [groups, 1, 1]);
        })
    };
    for _ in 0..2 {
        submit(4, 256).unwrap();
        submit(1, 1024).unwrap();
        submit(1024, 1).unwrap();
        submit(4, 0).unwrap();
        for (groups, n) in [(8, 256), (5, 256), (1, 1025), (4, 257), (1025, 1)] {
            let Err(error) = submit(groups, n) else { panic!("{groups} rows of {n}") };
            let is_overrun = matches!(&error, Error::Submit { problem: SubmitError::Overrun { .. }, .. });
            assert!(is_overrun, "{groups} rows of {n}: {error}");
        }
    }
    rig.queue.wait().unwrap();
    rig.assert_no_validation_messages();
}

/// Work-group ids from a base on: the rows are those behind it.
#[test]
fn a_base_counts() {
    let rig = rig!();
    let kernel = rig.kernel("patterns/row");
    let [x, y] = ["x", "y"].map(|name| rig.context.buffer::<f32>(1024).unwrap().named(name));
    let submit = |base: u32, groups: u32| {
        rig.queue.submit(|h| {
            h.arg(0, x.read()).arg(1, y.write()).push(&256u32);
            h.dispatch_base(&kernel, [base, 0, 0], [groups, 1, 1]);
        })
    };
    let size = kernel.specialized(&[]).unwrap().interface.local_size[0];
    submit(2, 2).unwrap();
    submit(3, 1).unwrap();
    for (base, groups) in [(2, 3), (3, 2), (4, 1), (60_000, 1)] {
        let Err(error) = submit(base, groups) else { panic!("{groups} rows from {base}") };
        let Error::Submit { problem: SubmitError::Overrun { access, .. }, .. } = &error else {
            panic!("{groups} rows from {base}: {error}")
        };
        let group = access.invocation[0] / size;
        assert!((base.max(4)..base + groups).contains(&group), "{groups} rows from {base}: {error}");
    }
    rig.queue.wait().unwrap();
    rig.assert_no_validation_messages();
}
