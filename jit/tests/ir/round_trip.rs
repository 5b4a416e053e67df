//! One module there and back.

use std::collections::BTreeMap;

use rspirv::binary::Assemble as _;
use rspirv::dr;
use rspirv::spirv::Op;
use vkfuse_interp::{Bind, Channel, Dispatch, Memory, Options, Program, TexelFormat, execute};
use vkfuse_jit::ir;

use crate::damage::Numbers;

/// What became of a set of modules.
#[derive(Default)]
pub(crate) struct Outcome {
    modules: usize,
    /// Modules whose runs were compared.
    ran: usize,
    /// Modules whose instructions stand in the order in which they stood.
    in_order: usize,
    /// Why modules were refused, and which.
    refused: BTreeMap<String, Vec<String>>,
    wrong: Vec<String>,
    /// Access chains before and after.
    chains: [usize; 2],
}

impl Outcome {
    /// Sends a module there and back.
    pub(crate) fn check(&mut self, name: &str, words: &[u32]) {
        let Ok(source) = dr::load_words(words) else { return };
        self.modules += 1;
        match round_trip(&source, words) {
            Ok(Trip { ran, in_order, chains }) => {
                self.ran += usize::from(ran);
                self.in_order += usize::from(in_order);
                self.chains = [0, 1].map(|at| self.chains[at] + chains[at]);
            }
            Err(Trouble::Refused(reason)) => {
                self.refused.entry(reason.to_string()).or_default().push(name.to_owned());
            }
            Err(Trouble::Wrong(what)) => self.wrong.push(format!("{name}: {what}")),
        }
    }

    /// Prints the figures; fails if something is wrong, or more modules were refused than this many.
    pub(crate) fn finish(self, of: &str, refused: usize) {
        let count: usize = self.refused.values().map(Vec::len).sum();
        let (modules, ran, in_order, [before, after]) = (self.modules, self.ran, self.in_order, self.chains);
        println!("{of}: {modules} modules, {count} refused, {ran} compared in the interpreter");
        println!("  {in_order} in the same order; {before} access chains are {after}");
        for (reason, names) in &self.refused {
            println!("  refused: {reason}: {} ({})", names.len(), names[0]);
        }
        assert!(self.wrong.is_empty(), "{} are wrong:\n{}", self.wrong.len(), self.wrong.join("\n"));
        assert!(count <= refused, "{count} are refused: {:#?}", self.refused);
        assert!(self.modules > 0, "no modules");
        assert!(2 * ran > modules, "only {ran} of {modules} were compared in the interpreter");
    }
}

enum Trouble {
    Refused(ir::Unsupported),
    Wrong(String),
}

struct Trip {
    ran: bool,
    in_order: bool,
    chains: [usize; 2],
}

/// The instructions of a module's functions in order, except for those that control flow is made of, undefined values, copies and debug
/// information, with copies of memory as a load and a store; and how many access chains there are.
fn instructions(module: &dr::Module) -> (Vec<&'static str>, usize) {
    let notes = |inst: &&dr::Instruction| match inst.operands.first() {
        Some(dr::Operand::LiteralString(name)) => name.starts_with("NonSemantic"),
        _ => false,
    };
    let has_notes = module.ext_inst_imports.iter().any(|inst| notes(&inst));
    let (mut found, mut chains) = (Vec::new(), 0);
    for inst in module.functions.iter().flat_map(|function| function.all_inst_iter()) {
        match inst.class.opcode {
            Op::AccessChain | Op::InBoundsAccessChain => chains += 1,
            Op::Label | Op::Branch | Op::Phi | Op::Undef | Op::Unreachable | Op::Line | Op::NoLine => {}
            Op::CopyObject => {}
            Op::CopyMemory => found.extend(["Load", "Store"]),
            Op::ExtInst if has_notes => {}
            _ => found.push(inst.class.opname),
        }
    }
    (found, chains)
}

fn round_trip(source: &dr::Module, before: &[u32]) -> Result<Trip, Trouble> {
    let there = ir::import(source).map_err(Trouble::Refused)?;
    ir::verify(&there).map_err(|fault| Trouble::Wrong(format!("{fault}\n{there}")))?;
    let wrong = |what: String| Trouble::Wrong(format!("{what}\n{there}"));
    let back = ir::export(&there).assemble();
    if !vkfuse_jit::emit::is_valid(&back) && vkfuse_jit::emit::is_valid(before) {
        return Err(wrong(format!("it is not valid any more:\n{}", disassembled(&back))));
    }
    let again = dr::load_words(&back).map_err(|error| wrong(error.to_string()))?;
    let again = ir::import(&again).map_err(|reason| wrong(format!("refused the second time: {reason}")))?;
    ir::verify(&again).map_err(|fault| wrong(format!("the second time: {fault}")))?;
    let second = ir::export(&again).assemble();
    if second != back {
        let (first, second) = (disassembled(&back), disassembled(&second));
        return Err(wrong(format!("other words the second time:\n{first}\n=====\n{second}")));
    }
    let ((mut was, chains), (mut is, more)) = (instructions(source), instructions(&ir::export(&there)));
    let in_order = was == is;
    was.sort_unstable();
    is.sort_unstable();
    if was != is {
        return Err(wrong(format!("other instructions: {was:?}\n{is:?}")));
    }
    Ok(Trip { ran: compare(before, &back).map_err(wrong)?, in_order, chains: [chains, more] })
}

fn disassembled(words: &[u32]) -> String {
    use rspirv::binary::Disassemble as _;
    dr::load_words(words).map_or_else(|error| error.to_string(), |module| module.disassemble())
}

/// Whether both could be run, and gave the same bytes.
pub(crate) fn compare(before: &[u32], after: &[u32]) -> Result<bool, String> {
    let mut ran = false;
    for seed in 1..3 {
        let bindings = Program::decode(before).map(|program| program.bindings().collect::<Vec<_>>());
        let bindings = bindings.unwrap_or_default();
        let (one, other) = (run(before, seed, &bindings), run(after, seed, &bindings));
        match (one, other) {
            (Ok(one), Ok(other)) if one == other => ran = true,
            (Ok(one), Ok(other)) => {
                let at = one.iter().zip(&other).position(|(one, other)| one != other);
                return Err(format!("other bytes in buffer {at:?} with seed {seed}"));
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) => return Err(format!("it does not run any more: {error}")),
            (Err(error), Ok(_)) => {
                if !error.contains("steps") {
                    return Err(format!("it runs only now; before: {error}"));
                }
            }
        }
    }
    Ok(ran)
}

/// All bytes of these bindings behind a run on random contents.
fn run(code: &[u32], seed: u64, bindings: &[(u32, u32)]) -> Result<Vec<Vec<u8>>, String> {
    let mut program = Program::decode(code).map_err(|error| error.to_string())?;
    let mut numbers = Numbers::of(seed);
    let mut memory = Memory::new();
    let mut bindings = bindings.to_vec();
    bindings.sort_unstable();
    bindings.dedup();
    for image in program.images().filter(|image| image.format.is_none()).collect::<Vec<_>>() {
        let channel = if image.of_floats { Channel::Unorm8 } else { Channel::Uint8 };
        program.set_format(image.set, image.binding, TexelFormat { channel, channels: 4 });
    }
    let bindings: Vec<Bind> = bindings
        .into_iter()
        .map(|(set, binding)| {
            let object = memory.add(words(&mut numbers, 1 << 12));
            Bind { set, binding, object, offset: 0, len: 4 << 12 }
        })
        .collect();
    let objects: Vec<_> = bindings.iter().map(|bind| bind.object).collect();
    let push = words(&mut numbers, 64);
    let dispatch = Dispatch { program: &program, groups: [3, 2, 1], bindings, push };
    let options = Options { robust: true, max_steps: 1 << 21, max_findings: 1, ..Options::default() };
    execute(&[dispatch], &mut memory, &options).map_err(|error| error.to_string())?;
    Ok(objects.into_iter().map(|object| memory.bytes(object).to_vec()).collect())
}

/// Words that are small numbers, or floats around one.
fn words(numbers: &mut Numbers, count: usize) -> Vec<u8> {
    let one = |_| match numbers.below(4) {
        0 => numbers.below(7) as f32 * 0.25 - 0.5,
        _ => f32::from_bits(numbers.below(40) as u32),
    };
    (0..count).map(one).flat_map(f32::to_le_bytes).collect()
}
