//! The module under construction.

use std::{
    any::TypeId,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use rspirv::{
    dr::{Block, Function, Instruction, Module, ModuleHeader, Operand},
    spirv::{
        AddressingModel, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl, MemoryModel,
        Op, StorageClass,
    },
};

use super::local::Root;
use crate::{
    lowered::{LowerError, LowerOptions},
    shape::{ScalarType, Shape},
};

/// Words of one entry of the report of accesses out of range: parameter, index, global id.
pub const CHECK_WORDS: u32 = 5;
/// How many entries the report holds; further accesses are only counted.
pub const CHECK_ENTRIES: u32 = 64;

/// Stands for the parameter in the entry of an assertion that did not hold; the index is the number of the assertion.
pub const CHECK_ASSERTED: u32 = u32::MAX - 1;

/// What an index that needs no check is known to stay below, if the range lies within the accessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum FitTo {
    /// The extent of the range in one dimension.
    Dimension(u32),
    /// The number of items.
    Count,
}

/// An access that needs no check if a range fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fit {
    pub(crate) param: u32,
    pub(crate) to: FitTo,
}

/// A function under construction.
pub(super) struct Open {
    pub(super) def: Instruction,
    pub(super) params: Vec<Instruction>,
    pub(super) variables: Vec<Instruction>,
    /// Loads of what never changes, at the start of the function.
    pub(super) prologue: Vec<Instruction>,
    pub(super) cached: HashMap<Cached, u32>,
    /// Ids of the range: what stays below which of its extents.
    pub(super) fits: HashMap<u32, FitTo>,
    pub(super) blocks: Vec<Block>,
    /// None where no instruction can be reached.
    pub(super) current: Option<Block>,
    pub(super) loops: Vec<Loop>,
    /// The label of the loop that comes next.
    pub(super) label: Option<&'static str>,
    /// Variables that hold immutable arrays, by value.
    pub(super) spilled: HashMap<u32, Root>,
    /// Type of the result.
    pub(super) ret: u32,
    /// Places that the function was lent, as it has them: what is in them goes back with the result.
    pub(super) outs: Vec<(usize, Shape)>,
}

/// What a function's prologue loads once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cached {
    Word(u32),
    BuiltIn(u32),
    Component(u32, u32),
    Length(u32),
}

/// Where `break` and `continue` of a loop go, and whether they were used.
pub(super) struct Loop {
    pub(super) merge: u32,
    pub(super) next: u32,
    pub(super) left: bool,
    pub(super) label: Option<Label>,
    /// Whether it is one round of a loop over captures: its end is that of the round, and the loop around is the loop.
    pub(super) once: bool,
    /// Jumps out of it to loops around: number of the loop, and whether to its end.
    pub(super) through: BTreeSet<(usize, bool)>,
}

/// The label of a loop, and variables that say that an inner loop was left for it: to its next round, and to its end.
pub(super) struct Label {
    pub(super) name: &'static str,
    pub(super) asked: [u32; 2],
}

/// A root and the way from it to a part.
#[derive(Clone)]
pub(super) struct PlaceData {
    pub(super) root: Root,
    /// Where the root is: a local, work-group memory, or a buffer, in which values have another layout.
    pub(super) class: StorageClass,
    pub(super) indices: Vec<u32>,
    /// Whether all indices on the way are in range; none where that is known.
    pub(super) ok: Option<u32>,
}

/// The module under construction, and the functions that are.
pub(crate) struct Builder {
    pub(super) module: Module,
    next: u32,
    globals: HashMap<(Op, Option<u32>, Vec<Operand>), u32>,
    pub(super) memory_types: HashMap<Shape, u32>,
    /// Integer constants by id, extended by their sign.
    pub(super) known: HashMap<u32, u64>,
    /// Parts of constants.
    pub(super) constants: HashMap<u32, Vec<u32>>,
    capabilities: BTreeSet<u32>,
    extensions: BTreeSet<&'static str>,
    pub(super) interface: Vec<u32>,
    pub(super) open: Vec<Open>,
    /// Functions made, by closure type and constant arguments; none while being made.
    pub(super) instances: HashMap<(TypeId, Vec<u32>), Option<u32>>,
    pub(super) places: Vec<PlaceData>,
    pub(super) glsl: Option<u32>,
    pub(super) bindings: BTreeMap<u32, u32>,
    pub(super) shared: HashMap<u32, u32>,
    pub(super) specs: BTreeMap<u32, u32>,
    pub(super) inputs: HashMap<u32, u32>,
    pub(super) plain: Option<u32>,
    pub(super) options: LowerOptions,
    pub(super) plain_words: u32,
    pub(super) range_words: u32,
    pub(super) params: u32,
    pub(crate) fits: BTreeSet<Fit>,
    /// Types that are changed atomically, and whether in work-group memory.
    pub(crate) atomics: BTreeSet<(ScalarType, bool)>,
    /// What is asserted, by number.
    pub(crate) assertions: Vec<&'static str>,
    pub(crate) error: Option<LowerError>,
}

thread_local! {
    static CURRENT: RefCell<Vec<Builder>> = const { RefCell::new(Vec::new()) };
}

/// Runs something on the builder of the lowering in progress.
pub(crate) fn with<R>(f: impl FnOnce(&mut Builder) -> R) -> R {
    CURRENT.with(|current| {
        let mut current = current.borrow_mut();
        f(current.last_mut().expect("invariant: staged code only runs inside of a lowering"))
    })
}

impl Builder {
    pub(crate) fn new(options: LowerOptions, plain_words: u32, range_words: u32, params: u32) -> Builder {
        Builder {
            module: Module::new(),
            next: 1,
            globals: HashMap::new(),
            memory_types: HashMap::new(),
            known: HashMap::new(),
            constants: HashMap::new(),
            capabilities: BTreeSet::new(),
            extensions: BTreeSet::new(),
            interface: Vec::new(),
            open: Vec::new(),
            instances: HashMap::new(),
            places: Vec::new(),
            glsl: None,
            bindings: BTreeMap::new(),
            shared: HashMap::new(),
            specs: BTreeMap::new(),
            inputs: HashMap::new(),
            plain: None,
            options,
            plain_words,
            range_words,
            params,
            fits: BTreeSet::new(),
            atomics: BTreeSet::new(),
            assertions: Vec::new(),
            error: None,
        }
    }

    /// Runs staged code with this builder as the thread's.
    pub(crate) fn run(self, f: impl FnOnce()) -> Builder {
        /// Leaves the stack as it was, also when the staged code panics.
        struct Popped;
        impl Drop for Popped {
            fn drop(&mut self) {
                CURRENT.with(|current| current.borrow_mut().pop());
            }
        }
        CURRENT.with(|current| current.borrow_mut().push(self));
        let popped = Popped;
        f();
        let empty = Builder::new(LowerOptions::default(), 0, 0, 0);
        let builder = with(|b| std::mem::replace(b, empty));
        drop(popped);
        builder
    }

    pub(super) fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn capability(&mut self, capability: Capability) {
        self.capabilities.insert(capability as u32);
    }

    pub(super) fn extension(&mut self, name: &'static str) {
        self.extensions.insert(name);
    }

    pub(super) fn fail(&mut self, error: LowerError) {
        self.error.get_or_insert(error);
    }

    /// The type or constant with this content, made if it is new.
    pub(super) fn global(&mut self, op: Op, ty: Option<u32>, operands: Vec<Operand>) -> u32 {
        let key = (op, ty, operands);
        if let Some(&id) = self.globals.get(&key) {
            return id;
        }
        let id = self.fresh();
        if matches!(op, Op::Constant | Op::ConstantTrue | Op::ConstantFalse | Op::ConstantComposite) {
            self.constants.insert(id, key.2.iter().filter_map(Operand::id_ref_any).collect());
        }
        self.push_global(Instruction::new(op, ty, Some(id), key.2.clone()));
        self.globals.insert(key, id);
        id
    }

    pub(super) fn push_global(&mut self, inst: Instruction) {
        self.module.types_global_values.push(inst);
    }

    pub(super) fn decorate(&mut self, id: u32, decoration: Decoration, more: Vec<Operand>) {
        let operands =
            [Operand::IdRef(id), Operand::Decoration(decoration)].into_iter().chain(more).collect();
        self.module.annotations.push(Instruction::new(Op::Decorate, None, None, operands));
    }

    pub(super) fn decorate_member(&mut self, id: u32, member: u32, decoration: Decoration, literal: u32) {
        let operands = vec![
            Operand::IdRef(id),
            Operand::LiteralBit32(member),
            Operand::Decoration(decoration),
            Operand::LiteralBit32(literal),
        ];
        self.module.annotations.push(Instruction::new(Op::MemberDecorate, None, None, operands));
    }

    pub(super) fn name(&mut self, id: u32, name: &str) {
        let operands = vec![Operand::IdRef(id), Operand::LiteralString(name.to_owned())];
        self.module.debug_names.push(Instruction::new(Op::Name, None, None, operands));
    }

    pub(super) fn function(&mut self) -> &mut Open {
        self.open.last_mut().expect("invariant: staged code only runs inside of a function")
    }

    /// Begins a function and its first block.
    pub(super) fn begin_function(&mut self, id: u32, ret: u32, ty: u32, params: Vec<Instruction>) {
        let operands = vec![Operand::FunctionControl(FunctionControl::NONE), Operand::IdRef(ty)];
        let def = Instruction::new(Op::Function, Some(ret), Some(id), operands);
        let label = self.fresh();
        self.open.push(Open {
            def,
            params,
            variables: Vec::new(),
            prologue: Vec::new(),
            cached: HashMap::new(),
            fits: HashMap::new(),
            blocks: Vec::new(),
            current: Some(block(label)),
            loops: Vec::new(),
            label: None,
            spilled: HashMap::new(),
            ret,
            outs: Vec::new(),
        });
    }

    /// Ends the function begun last.
    pub(super) fn end_function(&mut self) {
        if self.reachable() {
            self.terminate(Op::Unreachable, Vec::new());
        }
        let Some(mut open) = self.open.pop() else { return };
        if let Some(first) = open.blocks.first_mut() {
            let body = std::mem::take(&mut first.instructions);
            first.instructions = open.variables.into_iter().chain(open.prologue).chain(body).collect();
        }
        self.module.functions.push(Function {
            def: Some(open.def),
            end: Some(Instruction::new(Op::FunctionEnd, None, None, Vec::new())),
            parameters: open.params,
            blocks: open.blocks,
        });
    }

    pub(super) fn reachable(&mut self) -> bool {
        self.function().current.is_some()
    }

    /// Appends an instruction with a result. Where nothing can be reached, nothing is appended.
    pub(super) fn emit(&mut self, op: Op, ty: u32, operands: Vec<Operand>) -> u32 {
        let id = self.fresh();
        self.append(Instruction::new(op, Some(ty), Some(id), operands));
        id
    }

    /// [`Builder::emit`] with ids only.
    pub(super) fn op(&mut self, op: Op, ty: u32, ids: &[u32]) -> u32 {
        self.emit(op, ty, ids.iter().map(|&id| Operand::IdRef(id)).collect())
    }

    /// Appends an instruction without a result.
    pub(super) fn effect(&mut self, op: Op, operands: Vec<Operand>) {
        self.append(Instruction::new(op, None, None, operands));
    }

    fn append(&mut self, inst: Instruction) {
        if let Some(block) = &mut self.function().current {
            block.instructions.push(inst);
        }
    }

    /// Appends to the start of the function.
    pub(super) fn prologue(&mut self, op: Op, ty: u32, operands: Vec<Operand>) -> u32 {
        let id = self.fresh();
        self.function().prologue.push(Instruction::new(op, Some(ty), Some(id), operands));
        id
    }

    /// Ends the block; what follows cannot be reached until a label is placed.
    pub(super) fn terminate(&mut self, op: Op, operands: Vec<Operand>) {
        self.effect(op, operands);
        let open = self.function();
        open.blocks.extend(open.current.take());
    }

    pub(super) fn branch(&mut self, to: u32) {
        self.terminate(Op::Branch, vec![Operand::IdRef(to)]);
    }

    pub(super) fn branch_if(&mut self, condition: u32, yes: u32, no: u32) {
        self.terminate(Op::BranchConditional, [condition, yes, no].map(Operand::IdRef).to_vec());
    }

    pub(super) fn label(&mut self, id: u32) {
        self.function().current = Some(block(id));
    }

    /// Begins the entry point.
    pub(crate) fn begin_entry(&mut self) -> u32 {
        let void = self.void();
        let ty = self.global(Op::TypeFunction, None, vec![Operand::IdRef(void)]);
        let id = self.fresh();
        self.begin_function(id, void, ty, Vec::new());
        id
    }

    /// Ends the entry point.
    pub(crate) fn end_entry(&mut self) {
        if self.reachable() {
            self.terminate(Op::Return, Vec::new());
        }
        self.end_function();
    }

    /// Bindings that were used, and whether plain values were.
    pub(crate) fn used(&self) -> (Vec<u32>, bool) {
        (self.bindings.keys().copied().collect(), self.plain.is_some())
    }

    /// Ids of the specialization constants there are.
    pub(crate) fn used_specs(&self) -> Vec<u32> {
        self.specs.keys().copied().collect()
    }

    /// The words of the module, with `main` as its entry point.
    pub(crate) fn finish(mut self, main: u32, name: &str, local_size: Option<[u32; 3]>) -> Vec<u32> {
        use rspirv::binary::Assemble as _;
        let capability = |number: &u32| {
            let capability = Capability::from_u32(*number).unwrap_or(Capability::Shader);
            Instruction::new(Op::Capability, None, None, vec![Operand::Capability(capability)])
        };
        self.capability(Capability::Shader);
        self.module.capabilities = self.capabilities.iter().map(capability).collect();
        let extension = |name: &&str| {
            Instruction::new(Op::Extension, None, None, vec![Operand::LiteralString((*name).into())])
        };
        self.module.extensions = self.extensions.iter().map(extension).collect();
        if let Some(glsl) = self.glsl {
            let operands = vec![Operand::LiteralString("GLSL.std.450".into())];
            self.module.ext_inst_imports.push(Instruction::new(
                Op::ExtInstImport,
                None,
                Some(glsl),
                operands,
            ));
        }
        let operands = vec![
            Operand::AddressingModel(AddressingModel::Logical),
            Operand::MemoryModel(MemoryModel::GLSL450),
        ];
        self.module.memory_model = Some(Instruction::new(Op::MemoryModel, None, None, operands));
        let mut operands = vec![
            Operand::ExecutionModel(ExecutionModel::GLCompute),
            Operand::IdRef(main),
            Operand::LiteralString("main".into()),
        ];
        operands.extend(self.interface.iter().map(|&id| Operand::IdRef(id)));
        self.module.entry_points.push(Instruction::new(Op::EntryPoint, None, None, operands));
        let size = local_size.unwrap_or([1; 3]).map(Operand::LiteralBit32);
        let operands = [Operand::IdRef(main), Operand::ExecutionMode(ExecutionMode::LocalSize)];
        let operands = operands.into_iter().chain(size).collect();
        self.module.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, operands));
        self.name(main, name);
        let mut header = ModuleHeader::new(self.next);
        header.set_version(1, 3);
        self.module.header = Some(header);
        self.module.assemble()
    }
}

fn block(label: u32) -> Block {
    let label = Instruction::new(Op::Label, None, Some(label), Vec::new());
    Block { label: Some(label), instructions: Vec::new() }
}
