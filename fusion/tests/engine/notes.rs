//! What a report notes of a list that ran, and that may be a mistake; and that lists which are as they should be have no notes.

use crate::support::{Pair, Rig};
use vkfuse::{
    Accessor, Buffer, CancelCause, Event, FusionProperties, FusionWrapper, Kernel, Outcome,
    report::{Note, NoteKind, Race},
};

const N: usize = 256;

/// A kernel named `kernel` with `x` at binding 0, `z` at binding 1 and a block of push constants.
pub(crate) fn kernel(rig: &Rig, body: &str) -> Kernel {
    let text = format!(
        "struct Push {{ n: u32 }}\nvar<immediate> push: Push;\n\
         @group(0) @binding(0) var<storage, read> x: array<u32>;\n\
         @group(0) @binding(1) var<storage, read_write> z: array<u32>;\n\
         @compute @workgroup_size(64)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n\
         let i = id.x;\nif (i >= push.n) {{ return; }}\n{body}\n}}\n"
    );
    rig.context.kernel_from_wgsl("kernel", &text).expect("a kernel")
}

/// As [`kernel`], without push constants and a guard.
fn plain(rig: &Rig, body: &str) -> Kernel {
    let text = format!(
        "@group(0) @binding(0) var<storage, read> x: array<u32>;\n\
         @group(0) @binding(1) var<storage, read_write> z: array<u32>;\n\
         @compute @workgroup_size(64)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n\
         let i = id.x;\n{body}\n}}\n"
    );
    rig.context.kernel_from_wgsl("kernel", &text).expect("a kernel")
}

fn numbers(rig: &Rig, name: &str) -> Buffer<u32> {
    rig.context.buffer_from(&(0..N as u32).collect::<Vec<_>>()).unwrap().named(name)
}

fn scratch(rig: &Rig, name: &str) -> Buffer<u32> {
    rig.context.scratch::<u32>(N).unwrap().named(name)
}

/// One submission: the kernel, its arguments, how many invocations, and its push constant, if it has one.
struct Step<'a> {
    kernel: &'a Kernel,
    from: Accessor<'a>,
    to: Accessor<'a>,
    items: u32,
    push: Option<u32>,
}

fn step<'a>(kernel: &'a Kernel, from: Accessor<'a>, to: Accessor<'a>) -> Step<'a> {
    Step { kernel, from, to, items: N as u32, push: Some(N as u32) }
}

/// The steps in fusion mode.
fn run(rig: &Rig, steps: &[Step<'_>]) -> Event {
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    for Step { kernel, from, to, items, push } in steps {
        rig.queue
            .submit(|h| {
                h.arg(0, from.clone()).arg(1, to.clone()).dispatch_items(kernel, [*items, 1, 1]);
                if let Some(push) = push {
                    h.push(push);
                }
            })
            .unwrap();
    }
    let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
    event.wait().unwrap();
    event
}

/// The notes on a list, in words; the text of the report and its JSON have the same.
fn noted(event: &Event) -> Vec<String> {
    let report = event.report().expect("the report of a list");
    let notes: Vec<String> = report.notes().iter().map(ToString::to_string).collect();
    let text = report.to_string();
    for note in &notes {
        assert_eq!(text.matches(note.as_str()).count(), 1, "{note}\n{text}");
        #[cfg(feature = "json")]
        assert!(report.to_json().contains(&note.replace('"', "\\\"")), "{note}");
    }
    notes
}

/// Demands one note, of this kind, with these words.
#[track_caller]
fn assert_noted(event: &Event, wanted: &str, is: impl Fn(&Note) -> bool) {
    let report = event.report().unwrap();
    assert!(report.notes().iter().any(|one| is(&one.note)), "{:?}", report.notes());
    assert_eq!(noted(event), [wanted]);
}

#[test]
fn lists_as_they_should_be_have_no_notes() {
    let rig = rig!();
    // The list of the README, with a temporary and an output that hold nothing but zeros.
    let (n, mul) = (1_003_u32, rig.kernel("chain/mul"));
    let input = |value: f32| rig.context.buffer_from(&vec![value; n as usize]).unwrap();
    let (a, b, c) = (input(1.5), input(2.0), input(0.5));
    let product = rig.context.buffer::<f32>(n as usize).unwrap().promote_private();
    let out = rig.context.buffer::<f32>(n as usize).unwrap();
    // Planned, planned again and kept, launched.
    for _ in 0..4 {
        let done = rig.queue.fuse(|q| {
            q.submit(|h| {
                h.arg(0, a.read()).arg(1, b.read()).arg(2, product.write()).push(&n);
                h.dispatch_items(&mul, [n, 1, 1]);
            })?;
            q.submit(|h| {
                h.arg(0, product.read()).arg(1, c.read()).arg(2, out.write()).push(&n);
                h.dispatch_items(&mul, [n, 1, 1]);
            })?;
            Ok(())
        });
        assert!(noted(&done.unwrap()).is_empty());
    }
    let pair = Pair::new(512);
    let buffers = pair.workload.allocate(&rig);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    pair.workload.submit_all(&rig, &buffers);
    let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
    assert!(noted(&event).is_empty());

    // A new buffer is full of zeros, which a program may mean, and only a part of a buffer may be wanted.
    let more = kernel(&rig, "z[i] = x[i] + 1u;");
    let (zeros, z) = (rig.context.buffer::<u32>(N).unwrap(), rig.context.buffer::<u32>(2 * N).unwrap());
    assert!(noted(&run(&rig, &[step(&more, zeros.read(), z.write())])).is_empty());
    let (t, z) = (scratch(&rig, "t"), rig.context.buffer::<u32>(N).unwrap());
    let steps = [step(&more, zeros.read(), t.write()), step(&more, t.read(), z.write())];
    assert!(noted(&run(&rig, &steps)).is_empty());
}

#[test]
fn what_is_overwritten_before_it_is_read() {
    let rig = rig!();
    let (x, z) = (numbers(&rig, "x"), numbers(&rig, "z"));
    let more = kernel(&rig, "z[i] = x[i] + 1u;");
    let event = run(&rig, &[step(&more, x.read(), z.write()), step(&more, x.read(), z.write())]);
    let wanted = "submission 1 `kernel` writes over all that submission 0 `kernel` has written to buffer `z`, and nothing has read it";
    assert_noted(&event, wanted, |note| {
        note.submission == 1 && matches!(note.kind, NoteKind::Overwritten { of: 0, arg: 1 })
    });
    // The host, which reads in between, ends the list.
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    let submit = || {
        let n = N as u32;
        rig.queue.submit(|h| {
            h.arg(0, x.read()).arg(1, z.write()).push(&n).dispatch_items(&more, [n, 1, 1]);
        })
    };
    let first = submit().unwrap();
    z.download().unwrap();
    submit().unwrap().wait().unwrap();
    assert_eq!(first.outcome(), Outcome::Cancelled { by: CancelCause::HostRead });
    assert!(noted(&first).is_empty());
}

#[test]
fn work_groups_without_work() {
    let rig = rig!();
    let (x, z) = (numbers(&rig, "x"), numbers(&rig, "z"));
    let more = kernel(&rig, "z[i] = x[i] + 1u;");
    let event = run(&rig, &[Step { items: 64 * 64, ..step(&more, x.read(), z.write()) }]);
    let wanted = "submission 0 `kernel` has 64 work-groups in x, and at most the first 4 have something to do: a dispatch by groups counts work-groups, one by items invocations";
    assert_noted(&event, wanted, |note| {
        matches!(note.kind, NoteKind::Idle { dimension: 0, groups: 64, used: 4 })
    });
    let event = run(&rig, &[Step { push: Some(0), ..step(&more, x.read(), z.write()) }]);
    let wanted = "submission 0 `kernel` does nothing: with its push constants and sizes, no invocation reads or writes anything";
    assert_noted(&event, wanted, |note| note.kind == NoteKind::Nothing);
}

#[test]
fn lost_updates_and_races() {
    let rig = rig!();
    let (x, z) = (numbers(&rig, "x"), numbers(&rig, "z"));
    let count = kernel(&rig, "z[0] = z[0] + x[i];");
    let event = run(&rig, &[step(&count, x.read(), z.read_write())]);
    let wanted = "all invocations of submission 0 `kernel` read and write element 0 of buffer `z` without an atomic operation: what some write is lost";
    let report = event.report().unwrap();
    let found = report.notes();
    assert!(found.iter().any(|one| one.to_string() == wanted), "{found:?}");
    assert!(found.iter().any(|one| matches!(one.note.kind, NoteKind::LostUpdates { byte: 0, arg: 1 })));

    let blur = kernel(&rig, "if (i > 0u) { z[i] = z[i - 1u] + x[i]; }");
    let event = run(&rig, &[step(&blur, x.read(), z.read_write())]);
    let is_race = |note: &Note| {
        matches!(note.kind, NoteKind::Race(Race { reader: [2, 0, 0], writer: [1, 0, 0], byte: 4, .. }))
    };
    let wanted = "invocation [2, 0, 0] of submission 0 `kernel` reads element 1 of buffer `z`, and [1, 0, 0] writes it, in no order: read from one buffer and write to another, or update one element by an atomic operation";
    assert_noted(&event, wanted, is_race);
}

#[test]
fn work_groups_that_repeat_work() {
    let rig = rig!();
    let (x, z) = (numbers(&rig, "x"), numbers(&rig, "z"));
    let more = plain(&rig, "z[i] = x[i] + 1u;");
    let done = rig.queue.fuse(|q| {
        q.submit(|h| {
            h.arg(0, x.read()).arg(1, z.write()).dispatch(&more, [4, 3, 1]);
        })?;
        Ok(())
    });
    // The submission has the same note, and it is printed once.
    assert_noted(
        &done.unwrap(),
        "kernel kernel is dispatched with work-groups that differ in y alone and write the same elements: it does not ask for its place in y",
        |note| note.kind == NoteKind::Repeated { dimension: "y" },
    );
}

#[test]
fn arguments_that_overlap() {
    let rig = rig!();
    let x = rig.context.buffer_from(&vec![1_u32; 1024]).unwrap().named("x");
    let more = plain(&rig, "z[i] = x[i] + 1u;");
    let event =
        run(&rig, &[Step { push: None, ..step(&more, x.read().range(0, N), x.write().range(N / 2, N)) }]);
    let wanted = "submission 0 `kernel` has elements 128 to 255 of buffer `x` at binding 0 and at binding 1, and writes through one of them: invocations may read what others write, docs/reasons.md#overlap";
    let report = event.report().unwrap();
    assert!(report.notes().iter().any(|one| one.to_string() == wanted), "{:?}", report.notes());
    assert!(matches!(
        report.notes()[0].note.kind,
        NoteKind::Overlap { first: 0, second: 1, shared: (512, 1024) }
    ));
    // What is read of the range lies before what is written.
    let event = run(
        &rig,
        &[Step { push: None, items: 64, ..step(&more, x.read().range(0, N), x.write().range(N / 2, N)) }],
    );
    assert!(noted(&event).iter().all(|note| !note.contains("overlap")), "{:?}", noted(&event));
    // Each invocation has its own element of both.
    let event =
        run(&rig, &[Step { push: None, ..step(&more, x.read().range(0, 2 * N), x.write().range(0, N)) }]);
    assert!(noted(&event).is_empty(), "{:?}", noted(&event));
}

#[test]
fn promoted_buffers_that_nothing_reads() {
    let rig = rig!();
    let (x, z) = (numbers(&rig, "x"), numbers(&rig, "z"));
    let t = rig.context.buffer::<u32>(N).unwrap().named("t").promote_private();
    let more = plain(&rig, "z[i] = x[i] + 1u;");
    let steps = [step(&more, x.read(), t.write()), step(&more, x.read(), z.write())]
        .map(|one| Step { push: None, ..one });
    let event = run(&rig, &steps);
    let is_inside =
        event.report().unwrap().plan.buffers.iter().any(|one| one.got == vkfuse::Internalization::Private);
    let wanted = "buffer `t` is promoted, and no submission of the list reads it: what is written to it is lost; read it in the list, or do not promote it";
    assert_eq!(noted(&event), if is_inside { vec![wanted.to_owned()] } else { Vec::new() });
    assert!(is_inside, "{}", event.report().unwrap());
}

/// Which buffer of an array is written is not known.
#[test]
fn buffers_of_arrays() {
    let rig = rig!();
    let n = 64_u32;
    let rows: Vec<Buffer<f32>> = (0..5).map(|_| rig.context.buffer::<f32>(n as usize).unwrap()).collect();
    let (pushed, line) = (rig.kernel("arrays/pushed"), rig.kernel("library/line"));
    let event = rig.queue.fuse(|q| {
        q.submit(|h| {
            h.args((1, 2), rows.iter().map(Buffer::read_write)).push(&[n, 0, 1]);
            h.dispatch_items(&pushed, [n, 1, 1]);
        })?;
        q.submit(|h| {
            h.arg(0, rows[1].read()).arg(1, rows[2].write()).push(&n).dispatch_items(&line, [n, 1, 1]);
        })?;
        Ok(())
    });
    assert!(noted(&event.unwrap()).is_empty());
}

/// A scratch buffer is for what one kernel writes and later ones read.
#[test]
fn reads_of_what_nothing_has_written() {
    let rig = rig!();
    let (x, z) = (numbers(&rig, "x"), numbers(&rig, "z"));
    let more = kernel(&rig, "z[i] = x[i] + 1u;");
    let t = scratch(&rig, "t");
    let event = run(&rig, &[step(&more, t.read(), z.write())]);
    let wanted = "submission 0 `kernel` reads buffer `t`, which nothing has written: it reads zeros";
    assert_noted(&event, wanted, |note| matches!(note.kind, NoteKind::NeverWritten { arg: 0 }));
    // It has memory now, which anything may have written to.
    assert!(noted(&run(&rig, &[step(&more, t.read(), z.write())])).is_empty());

    let t = scratch(&rig, "t");
    let event = run(&rig, &[step(&more, t.read(), z.write()), step(&more, x.read(), t.write())]);
    let wanted = "submission 0 `kernel` reads buffer `t` before submission 1 `kernel` writes it, and nothing has written it before: it reads zeros";
    assert_noted(&event, wanted, |note| matches!(note.kind, NoteKind::ReadEarly { arg: 0, written_by: 1 }));

    let t = scratch(&rig, "t");
    let short = Step { push: Some(64), items: 64, ..step(&more, x.read(), t.write()) };
    let event = run(&rig, &[short, step(&more, t.read(), z.write())]);
    let wanted = "submission 1 `kernel` reads elements 64 to 255 of buffer `t`, which nothing has written (submission 0 writes elements 0 to 63 at most): it reads zeros, docs/reasons.md#old-contents";
    assert_noted(
        &event,
        wanted,
        |note| matches!(&note.kind, NoteKind::ReadInPart { bytes, .. } if *bytes == [(256, 1024)]),
    );

    // What the host has written is there.
    let t = scratch(&rig, "t");
    t.upload(&[7; N]).unwrap();
    let short = Step { push: Some(64), items: 64, ..step(&more, x.read(), t.write()) };
    assert!(noted(&run(&rig, &[short, step(&more, t.read(), z.write())])).is_empty());
}

/// A list that is launched again is not planned: what depends on numbers that may be others is not said of it.
#[test]
fn lists_that_are_launched_again() {
    let rig = rig!();
    let (x, z) = (numbers(&rig, "x"), numbers(&rig, "z"));
    let (more, guarded) = (plain(&rig, "z[i] = x[i] + 1u;"), kernel(&rig, "z[i] = x[i] + 1u;"));
    let before = rig.context.stats().made_again;
    for _ in 0..4 {
        let twice = || step(&more, x.read(), z.write());
        let steps = [twice(), twice()].map(|one| Step { push: None, ..one });
        assert_eq!(noted(&run(&rig, &steps)).len(), 1);
    }
    let launched = rig.context.stats().made_again;
    assert!(launched > before, "nothing was launched again");
    for n in [64, 64, 64, N as u32, 64] {
        let twice = || Step { push: Some(n), ..step(&guarded, x.read(), z.write()) };
        let event = run(&rig, &[twice(), twice()]);
        let again = rig.context.stats().made_again;
        for note in noted(&event) {
            assert!(n == 64 || !note.contains("something to do"), "{n}: {note} ({again})");
        }
    }
    assert!(rig.context.stats().made_again > launched, "nothing was launched again");
}
