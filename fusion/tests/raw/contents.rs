//! What buffers hold, and lists that were recorded: the commands run later, more than once, or never.

use vkfuse::{Buffer, Context, FusionProperties, FusionWrapper, RawCommandBuffer, Scope};

use super::{
    N, counting,
    device::{Made, Own},
    fusing, own,
    record::keep,
    support,
};

fn recording(commands: ash::vk::CommandBuffer) -> RawCommandBuffer {
    // SAFETY: one thread records, outside of render passes, and keeps what `record` returns until the queue is idle.
    unsafe { RawCommandBuffer::recording(commands) }
}

/// A run would overwrite all of the new buffer, and so needs no zeros there; a recording may never be executed.
#[test]
fn what_is_recorded_and_not_executed_leaves_zeros_in_new_buffers() {
    let own = own!();
    let context = own.context();
    let queue = fusing(&context);
    let (x, out) = (context.buffer_from(&counting()).unwrap(), context.buffer::<u32>(N as usize).unwrap());
    let list = keep(&queue, &x, &out);
    list.run().unwrap().wait().unwrap();
    // The memory of this one is used again.
    let used = context.buffer::<u32>(N as usize).unwrap();
    used.fill(7).unwrap();
    assert_eq!(used.download().unwrap()[0], 7);
    drop(used);
    let result = context.buffer::<u32>(N as usize).unwrap();
    let rebound = list.rebind().buffer(&out, &result).finish().unwrap();
    let mut kept = Vec::new();
    own.recorded(|commands| kept.push(rebound.record(&recording(commands)).unwrap()));
    assert!(result.download().unwrap().iter().all(|got| *got == 0));
    drop((kept, rebound, list, x, out, result, queue, context));
    own.close(vec![], &[]);
}

/// Elements of a line, and lines.
const W: u32 = 64;
const H: u32 = 9;
const LEN: usize = (W * H) as usize;

/// What the uniform block of `library/lines` holds: what is added, and how long its lines are.
fn block(width: u32) -> [u32; 2] {
    [0.5_f32.to_bits(), width]
}

/// What is in the last buffer, if lines are so long: where nothing is written it is three times what was there.
fn wanted(width: u32) -> Vec<f32> {
    let written = |i: usize| i < (H * width) as usize;
    (0..LEN).map(|i| 3.0 * if written(i) { 1.5 + i as f32 } else { 2000.0 + i as f32 }).collect()
}

/// The first kernel goes by lines as long as a small buffer says. A run is one dispatch, because of what the host wrote there; a
/// recording is two, and has the results of whatever the buffer holds when it is executed.
#[test]
fn what_is_recorded_never_takes_contents_for_numbers() {
    let own = own!();
    // Everything of the context's goes before the device.
    numbers_are_not_taken(&own, &own.context());
    own.close(vec![], &[]);
}

fn numbers_are_not_taken(own: &Own, context: &Context) {
    let queue = fusing(context);
    let kernel = |name| context.load_spirv(support::shader(name)).unwrap();
    let (lines, grid) = (kernel("library/lines"), kernel("library/grid"));
    let floats = |start: f32| {
        let all: Vec<f32> = (0..LEN).map(|i| start + i as f32).collect();
        context.buffer_from(&all).unwrap()
    };
    let (a, b, c): (_, Buffer<f32>, Buffer<f32>) = (floats(1.0), floats(2000.0), floats(0.0));
    let between = b.download().unwrap();
    let length = context.buffer_from(&block(W)).unwrap();
    let fusion = FusionWrapper::new(&queue).unwrap();
    fusion.start_fusion().unwrap();
    queue
        .submit(|h| {
            h.arg(0, a.read()).arg(1, b.write()).arg(2, length.read()).dispatch_items(&lines, [W, H, 1]);
        })
        .unwrap();
    queue
        .submit(|h| {
            h.arg(0, b.read()).arg(1, c.write()).push(&W).dispatch_items(&grid, [W, H, 1]);
        })
        .unwrap();
    let (event, list) = fusion.complete_and_keep(&FusionProperties::default().no_rewrites()).unwrap();
    event.wait().unwrap();
    assert_eq!(event.report().unwrap().dispatches, 1, "numbers count for what runs at once");
    assert_eq!(c.download().unwrap(), wanted(W));

    let mut kept = Vec::new();
    for round in 0..3 {
        // In the later rounds there also is a way to run it again that rests on the number.
        let commands = own.recorded(|commands| {
            kept.push(list.record(&recording(commands).after(Scope::ALL).before(Scope::ALL)).unwrap());
        });
        assert_eq!(kept[round].dispatches(), 2, "round {round}");
        for width in [W, 17, 48] {
            b.upload(&between).unwrap();
            length.upload(&block(width)).unwrap();
            context.wait().unwrap();
            own.submit(commands, &[], &[]);
            own.wait_idle();
            assert_eq!(c.download().unwrap(), wanted(width), "round {round}, lines of {width}");
        }
        length.upload(&block(W)).unwrap();
        let run = list.run().unwrap();
        run.wait().unwrap();
        assert_eq!(run.report().unwrap().dispatches, 1, "round {round}");
    }
}
