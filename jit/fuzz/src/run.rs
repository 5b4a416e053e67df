//! A list or a plan in the interpreter.

use vkfuse_interp::{
    Bind, Dispatch, Findings, Memory, ObjectId, Options, Order, Program, Trace, execute, execute_traced,
};
use vkfuse_jit::plan::Step;

/// What comes after a run: all bytes of all objects, and what was noticed.
pub(crate) struct Outcome {
    pub(crate) bytes: Vec<Vec<u8>>,
    pub(crate) findings: Findings,
}

/// Programs of the steps, and their modules.
pub(crate) fn programs(steps: &[Step]) -> Result<Vec<Built>, String> {
    let build = |step: &Step| {
        let words = step.build().map_err(|error| format!("could not be built: {error}"))?;
        let program = Program::decode(&words).map_err(|error| error.to_string())?;
        let program = program.in_subgroups_of(step.subgroup_size());
        Ok(Built { words: words.to_vec(), program })
    };
    steps.iter().map(build).collect()
}

pub(crate) struct Built {
    pub(crate) words: Vec<u32>,
    pub(crate) program: Program,
}

pub(crate) fn run(
    contents: &[Vec<u8>],
    steps: &[Step],
    built: &[Built],
    order: Order,
    trace: Option<&mut Trace>,
) -> Result<Outcome, String> {
    let mut memory = Memory::new();
    let objects: Vec<ObjectId> = contents.iter().map(|bytes| memory.add(bytes.clone())).collect();
    let mut dispatches: Vec<Dispatch<'_>> = steps
        .iter()
        .zip(built)
        .map(|(step, built)| Dispatch {
            program: &built.program,
            groups: step.groups,
            bindings: step
                .bindings
                .iter()
                .map(|b| Bind {
                    set: b.at.set,
                    binding: b.at.binding,
                    object: objects[b.buffer.0 as usize],
                    offset: b.offset,
                    len: b.len,
                })
                .collect(),
            push: step.push.to_vec(),
        })
        .collect();
    for (dispatch, step) in dispatches.iter_mut().zip(steps) {
        if let Some(at) = step.push_buffer() {
            dispatch.move_push(&mut memory, step.push_bytes() as usize, (at.set, at.binding));
        }
    }
    // A list is small: what takes longer does not end.
    let options = Options { order, seed: 1, max_steps: 1 << 21, max_findings: 4, ..Options::default() };
    let findings = match trace {
        Some(trace) => execute_traced(&dispatches, &mut memory, &options, trace),
        None => execute(&dispatches, &mut memory, &options),
    };
    let findings = findings.map_err(|error| error.to_string())?;
    Ok(Outcome { bytes: objects.iter().map(|&id| memory.bytes(id).to_vec()).collect(), findings })
}
