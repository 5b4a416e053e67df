//! Kernels from SPIR-V files, no matter who compiled them, in one dispatch.
//!
//! Every file holds a kernel `z = f(x, y)` on f32 with bindings 0, 1 and 2 and, if it has push constants, the number of
//! elements in them. The kernels are strung together, each taking the result of the one before, and run unfused
//! and fused from the same data; the results must be equal bit for bit.
//!
//! Without arguments it takes the files in `shaders/chain/variants`: two kernels from GLSL, HLSL and WGSL, optimised
//! and not, with debug information and without, in SPIR-V 1.0 to 1.6.
//!
//! `cargo run --example spirv_files [FILE.spv]...`

use std::error::Error;
use std::path::{Path, PathBuf};

use vkfuse::{Buffer, Context, Event, Kernel, Outcome, Queue, QueueOptions, SetBinding};

const ELEMENTS: u32 = 100_003;

fn main() -> Result<(), Box<dyn Error>> {
    let context = Context::new()?;
    let queue = context.queue(QueueOptions::new().enable_fusion(true))?;
    let mut kernels = Vec::new();
    for path in files()? {
        let kernel = context.load_spirv(&path)?;
        let specialized = kernel.specialized(&[])?;
        let interface = &specialized.interface;
        let bindings: Vec<SetBinding> = interface.bindings.iter().map(|b| b.at).collect();
        println!(
            "{:<28} SPIR-V {}.{}, work-group {:?}, {} bytes of push constants",
            path.file_name().unwrap_or_default().to_string_lossy(),
            interface.version.0,
            interface.version.1,
            interface.local_size,
            interface.push.as_ref().map_or(0, |push| push.size),
        );
        if bindings != [0, 1, 2].map(SetBinding::from) {
            return Err(
                format!("{}: expected the bindings 0, 1 and 2, found {bindings:?}", path.display()).into()
            );
        }
        let takes_length = interface.push.is_some();
        kernels.push((kernel, takes_length));
    }

    let start = context.buffer_from(&vec![1.0_f32; ELEMENTS as usize])?;
    let factors: Vec<f32> = (0..ELEMENTS).map(|i| 0.75 + (i % 1000) as f32 / 4000.0).collect();
    let factors = context.buffer_from(&factors)?;

    let unfused = string_together(&context, &queue, &kernels, &start, &factors)?;
    let mut fused = None;
    let done: Event = queue.fuse(|queue| {
        fused = Some(string_together(&context, queue, &kernels, &start, &factors)?);
        Ok(())
    })?;
    done.wait()?;
    let report = done.report().ok_or("a completed list has a report")?;
    println!("\n{} kernels, {} dispatches: {}", kernels.len(), report.dispatches, done.outcome());
    for split in &report.plan.splits {
        println!("split after {}: {} ({})", split.after, split.reason, split.detail);
    }

    let fused = fused.ok_or("the closure ran")?.download()?;
    let unfused = unfused.download()?;
    let differs = fused.iter().zip(&unfused).position(|(a, b)| a.to_bits() != b.to_bits());
    if let Some(at) = differs {
        return Err(format!("element {at} is {} fused and {} unfused", fused[at], unfused[at]).into());
    }
    println!("all {ELEMENTS} elements are equal bit for bit");
    if kernels.len() > 1 && !matches!(done.outcome(), Outcome::Fused | Outcome::Split) {
        return Err(format!("nothing was fused: {}", done.outcome()).into());
    }
    Ok(())
}

/// The files named on the command line, or all of `shaders/chain/variants`.
fn files() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let named: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders/chain/variants");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "spv") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Submits every kernel on the result of the one before; returns the last result.
fn string_together(
    context: &Context,
    queue: &Queue,
    kernels: &[(Kernel, bool)],
    start: &Buffer<f32>,
    factors: &Buffer<f32>,
) -> Result<Buffer<f32>, vkfuse::Error> {
    let mut current = start.clone();
    for (k, (kernel, takes_length)) in kernels.iter().enumerate() {
        // Every result but the last is a temporary, which fusion may keep to itself.
        let next = if k + 1 < kernels.len() {
            context.scratch::<f32>(ELEMENTS as usize)?
        } else {
            context.buffer::<f32>(ELEMENTS as usize)?
        };
        queue.submit(|h| {
            h.arg(0, current.read()).arg(1, factors.read()).arg(2, next.write());
            if *takes_length {
                h.push(&ELEMENTS);
            }
            h.dispatch_items(kernel, [ELEMENTS, 1, 1]);
        })?;
        current = next;
    }
    Ok(current)
}
