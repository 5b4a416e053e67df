//! A temporary in shared memory.
//!
//! The first kernel scales, the second reverses the elements inside each work-group: what an item reads, another
//! item of its group wrote. With `promote_local` the temporary never reaches memory, and fusion puts the one
//! barrier that makes the exchange right. `promote_private` would be refused here.
//!
//! `cargo run --example local_memory`

use std::error::Error;
use std::path::Path;

use vkfuse::{Context, FusionProperties, FusionWrapper, Internalization, Outcome, QueueOptions};

const GROUP: usize = 256;
const ELEMENTS: usize = 1000 * GROUP;

fn main() -> Result<(), Box<dyn Error>> {
    let context = Context::new()?;
    let queue = context.queue(QueueOptions::new().enable_fusion(true))?;
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders/access");
    let scale = context.load_spirv(shaders.join("scale_group.spv"))?;
    let reverse = context.load_spirv(shaders.join("reverse_group.spv"))?;

    let data: Vec<f32> = (0..ELEMENTS).map(|i| i as f32).collect();
    let input = context.buffer_from(&data)?;
    let scaled = context.buffer::<f32>(ELEMENTS)?.named("scaled").promote_local();
    let output = context.buffer::<f32>(ELEMENTS)?;

    let groups = [(ELEMENTS / GROUP) as u32, 1, 1];
    let fusion = FusionWrapper::new(&queue)?;
    fusion.start_fusion()?;
    queue.submit(|h| {
        h.arg(0, input.read()).arg(1, scaled.write());
        h.push(&0.5_f32).dispatch(&scale, groups);
    })?;
    queue.submit(|h| {
        h.arg(0, scaled.read()).arg(1, output.write());
        h.dispatch(&reverse, groups);
    })?;
    let done = fusion.complete_fusion(&FusionProperties::default())?;
    done.wait()?;

    let report = done.report().ok_or("a completed list has a report")?;
    if done.outcome() != Outcome::Fused {
        return Err(format!("not fused: {} ({:?})", done.outcome(), report.plan.splits).into());
    }
    let promoted = report.plan.buffers.iter().find(|buffer| buffer.buffer == scaled.id());
    if promoted.is_none_or(|buffer| buffer.got != Internalization::Local) {
        return Err(format!("not in shared memory: {promoted:?}").into());
    }
    let barriers = report.plan.groups[0].barriers.iter().filter(|barrier| barrier.kept).count();
    println!("two kernels, one dispatch, {barriers} barrier, `scaled` in shared memory");

    // The temporary was never written. Reading it is an error that says so.
    match scaled.download() {
        Ok(_) => return Err("an internalized buffer was read".into()),
        Err(error) => println!("reading it now: {error}"),
    }

    for (i, &value) in output.download()?.iter().enumerate() {
        let mirrored = i / GROUP * GROUP + (GROUP - 1 - i % GROUP);
        if value != 0.5 * data[mirrored] {
            return Err(format!("output[{i}] is {value}, expected {}", 0.5 * data[mirrored]).into());
        }
    }
    println!("all {ELEMENTS} elements are right");
    Ok(())
}
