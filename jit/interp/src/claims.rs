//! What a module tells the driver about its buffers, held against what is bound to it.
//!
//! A driver may move or merge accesses as far as it knows that nothing else reaches the same memory. So, where one
//! invocation reaches a byte through two variables and one of the two writes, each has to be `Aliased` and coherent; and
//! what is `NonWritable` must not be written through any variable. This is read off the finished module and knows
//! nothing of how it was made.

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Module, Operand, load_words};
use rspirv::spirv::{Decoration, MemoryAccess, Op, StorageClass, Word};

use super::{Bind, OracleError};

/// A statement about a buffer that is not true, or one that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FalseClaim {
    /// Set and binding of the variable it is about.
    pub binding: (u32, u32),
    /// Those of the variable that shows it.
    pub other: (u32, u32),
    /// What is wrong.
    pub claim: Claim,
}

/// What can be wrong with what is said about a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Claim {
    /// It is `NonWritable`, and written.
    NonWritable,
    /// It is `Restrict` or not `Aliased`, and another variable reaches it.
    Restrict,
    /// Its accesses are not coherent, and another variable reaches it.
    Incoherent,
}

/// Looks for false claims of a module all of whose buffers are bound.
///
/// # Errors
/// [`OracleError::Malformed`] for words that are no module.
pub fn claims(words: &[u32], binds: &[Bind]) -> Result<Vec<FalseClaim>, OracleError> {
    let module = load_words(words)
        .map_err(|_| OracleError::Malformed { what: "the words are not decoded", word: 0 })?;
    let variables = variables(&module, binds);
    let flow = Flow::of(&module, &variables);
    let mut found = Vec::new();
    for (&id, one) in &variables {
        for (&other_id, other) in &variables {
            let mut wrong = |claim| {
                found.push(FalseClaim { binding: one.place, other: other.place, claim });
            };
            if !overlap(&one.bound, &other.bound) || one.class != StorageClass::StorageBuffer {
                continue;
            }
            if one.has(Decoration::NonWritable) && flow.writes(other_id) && flow.touches(id) {
                wrong(Claim::NonWritable);
            }
            if id == other_id || !flow.meet(id, other_id) {
                continue;
            }
            if one.has(Decoration::Restrict) || !one.has(Decoration::Aliased) {
                wrong(Claim::Restrict);
            }
            if !one.has(Decoration::Coherent) && !flow.is_coherent(id) {
                wrong(Claim::Incoherent);
            }
        }
    }
    found.sort_by_key(|one| (one.binding, one.other, one.claim as u32));
    Ok(found)
}

/// A buffer variable with what is bound there.
struct Variable {
    place: (u32, u32),
    class: StorageClass,
    bound: Bind,
    decorations: Vec<Decoration>,
}

impl Variable {
    fn has(&self, which: Decoration) -> bool {
        self.decorations.contains(&which)
    }
}

fn overlap(a: &Bind, b: &Bind) -> bool {
    a.object == b.object && a.offset < b.offset + b.len && b.offset < a.offset + a.len
}

fn variables(module: &Module, binds: &[Bind]) -> AHashMap<Word, Variable> {
    let mut found = AHashMap::new();
    for inst in &module.types_global_values {
        let (Op::Variable, Some(id), Some(Operand::StorageClass(class))) =
            (inst.class.opcode, inst.result_id, inst.operands.first())
        else {
            continue;
        };
        let mut place = (None, None);
        let mut decorations = Vec::new();
        for decorate in module.annotations.iter().filter(|d| d.operands.first() == Some(&Operand::IdRef(id)))
        {
            match &decorate.operands[1..] {
                [Operand::Decoration(Decoration::DescriptorSet), Operand::LiteralBit32(n)] => {
                    place.0 = Some(*n)
                }
                [Operand::Decoration(Decoration::Binding), Operand::LiteralBit32(n)] => place.1 = Some(*n),
                [Operand::Decoration(which)] => decorations.push(*which),
                _ => {}
            }
        }
        let (Some(set), Some(binding)) = place else { continue };
        if let Some(&bound) = binds.iter().find(|bind| (bind.set, bind.binding) == (set, binding)) {
            found.insert(id, Variable { place: (set, binding), class: *class, bound, decorations });
        }
    }
    found
}

/// One access of the entry point, or of a function it calls.
struct Access {
    variable: Word,
    writes: bool,
    /// Block of the entry point.
    block: usize,
    coherent: bool,
}

/// Which accesses can follow each other in one invocation.
struct Flow {
    accesses: Vec<Access>,
    /// Blocks of the entry point that can come after each.
    after: Vec<AHashSet<usize>>,
}

impl Flow {
    fn of(module: &Module, variables: &AHashMap<Word, Variable>) -> Self {
        let functions: AHashMap<Word, &Function> =
            module.functions.iter().filter_map(|f| Some((f.def_id()?, f))).collect();
        let entry = module.entry_points.first().and_then(|inst| inst.operands.get(1)?.id_ref_any());
        let mut flow = Self { accesses: Vec::new(), after: Vec::new() };
        let Some(entry) = entry.and_then(|id| functions.get(&id)) else { return flow };
        flow.after = after(entry);
        for (block, body) in entry.blocks.iter().enumerate() {
            for inst in &body.instructions {
                let callee = inst.operands.first().and_then(Operand::id_ref_any);
                if inst.class.opcode == Op::FunctionCall
                    && let Some(callee) = callee.and_then(|id| functions.get(&id))
                {
                    flow.accesses.extend(accesses(callee, variables, |_| block));
                }
            }
        }
        flow.accesses.extend(accesses(entry, variables, |block| block));
        flow
    }

    fn touches(&self, variable: Word) -> bool {
        self.accesses.iter().any(|a| a.variable == variable)
    }

    fn writes(&self, variable: Word) -> bool {
        self.accesses.iter().any(|a| a.variable == variable && a.writes)
    }

    fn is_coherent(&self, variable: Word) -> bool {
        self.accesses.iter().filter(|a| a.variable == variable).all(|a| a.coherent)
    }

    /// Whether an invocation may reach memory through both, at least once to write.
    fn meet(&self, a: Word, b: Word) -> bool {
        let of = |id: Word| self.accesses.iter().filter(move |one| one.variable == id);
        of(a).any(|x| {
            of(b).any(|y| {
                let both = x.block == y.block
                    || self.after[x.block].contains(&y.block)
                    || self.after[y.block].contains(&x.block);
                both && (x.writes || y.writes)
            })
        })
    }
}

/// For each block those that control can reach from it.
fn after(function: &Function) -> Vec<AHashSet<usize>> {
    let labels: AHashMap<Word, usize> =
        function.blocks.iter().enumerate().filter_map(|(n, b)| Some((b.label_id()?, n))).collect();
    let next = |block: usize| {
        let last = function.blocks[block].instructions.last();
        let operands = last.map_or(&[][..], |inst| inst.operands.as_slice());
        operands.iter().filter_map(|o| labels.get(&o.id_ref_any()?).copied())
    };
    (0..function.blocks.len())
        .map(|start| {
            let mut reached = AHashSet::new();
            let mut queue: Vec<usize> = next(start).collect();
            while let Some(block) = queue.pop() {
                if reached.insert(block) {
                    queue.extend(next(block));
                }
            }
            reached
        })
        .collect()
}

fn accesses(
    function: &Function,
    variables: &AHashMap<Word, Variable>,
    place: impl Fn(usize) -> usize,
) -> Vec<Access> {
    let mut roots: AHashMap<Word, Word> = variables.keys().map(|&id| (id, id)).collect();
    let mut found = Vec::new();
    for (block, body) in function.blocks.iter().enumerate() {
        for inst in &body.instructions {
            let base = inst.operands.first().and_then(Operand::id_ref_any);
            let Some(&variable) = base.and_then(|id| roots.get(&id)) else { continue };
            let op = inst.class.opcode;
            match op {
                Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => {
                    roots.extend(inst.result_id.map(|id| (id, variable)));
                }
                // The length is the descriptor's.
                Op::ArrayLength => {}
                _ => {
                    let writes = !matches!(op, Op::Load | Op::AtomicLoad);
                    let coherent = is_coherent(inst);
                    found.push(Access { variable, writes, block: place(block), coherent });
                }
            }
        }
    }
    found
}

/// Whether an access says for itself that it is coherent, as those of the Vulkan memory model do. Atomics are.
fn is_coherent(inst: &Instruction) -> bool {
    let bits = MemoryAccess::MAKE_POINTER_AVAILABLE | MemoryAccess::MAKE_POINTER_VISIBLE;
    match inst.class.opcode {
        Op::Load | Op::Store => {
            inst.operands.iter().any(|o| matches!(o, Operand::MemoryAccess(mask) if mask.intersects(bits)))
        }
        _ => true,
    }
}
