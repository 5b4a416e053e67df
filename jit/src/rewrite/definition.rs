//! What a kernel stores in an element, as a computation that can be repeated elsewhere.
//!
//! A kernel that does nothing but store one element an item is a function from the item to a value. [`Definition`] is the part of
//! its body that the value is made of: pure instructions, loads of what is bound, arguments and the item's ids. A texel of a storage
//! image is an element, too, if the image keeps what is written ([`Texels`]). Where an item stores several elements of a buffer, it is a function
//! from the item and the store ([`Site`]).
//!
//! # Requires
//! - the normal form
//!
//! # Guarantees
//! - one store is all that the kernel does, or the sites are those that were asked for; a value depends on the item, the arguments and what
//!   the loads find
//! - each load is executed for every item that does a store whose value is made of it, and so is each division that is not in
//!   `divisions`; or it has the conditions on which it is executed, all of them and no others
//! - both sides of a branch can be evaluated, provided that the divisions in `divisions` are defined for every such item, and that what
//!   [`Guarded`] says is bound
//!
//! # Leaves alone
//! - whether each item does all stores or none: that depends on the numbers of a call (`plan::rewrites::inline`)
//!
//! # Refuses
//! - loops, local arrays, atomics, barriers, shared memory, parts of elements, undefined values

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{ImageOperands, Op, Word};
use smallvec::SmallVec;

use super::free::VIRTUAL;
use super::texel::Texels;
use super::writer::Result;
use crate::analysis::access::{Access, AccessKind, Texel};
use crate::analysis::cfg::{Cfg, Edge};
use crate::frontend::types::Type;
use crate::frontend::{
    defs::Defs,
    opcodes,
    resource::{self, Kind, Role},
};
use crate::kernel::{NormalKernel, Specialized};

/// Longest definition that is recomputed elsewhere, in instructions.
const MOST_LINES: usize = 256;
/// How deep values are made of values.
const DEEPEST: usize = 128;
/// Most stores of an item.
const MOST_SITES: usize = 8;

/// The value of an element.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// The stores: each item does all of them.
    pub(crate) sites: SmallVec<[Site; 1]>,
    /// The binding they go to.
    pub(crate) binding: usize,
    /// Bindings that are loaded from, once for each load.
    pub(crate) loads: Vec<usize>,
    /// Divisions that the kernel does under conditions of their own, by block and position.
    pub(crate) divisions: Vec<(usize, usize)>,
    /// Loads under conditions of their own, once for each.
    pub(crate) guarded: Vec<Guarded>,
    /// Arithmetic, in additions.
    pub(crate) work: u64,
    /// Whether it is made of the item's ids otherwise than by the index of the element.
    pub(crate) needs_ids: bool,
    /// If it is stored in an image: how that keeps it.
    pub(crate) texels: Option<Texels>,
    /// The index of the element that a single store goes to; of a texel, its coordinates.
    pub(super) index: Option<Word>,
    pub(super) ty: Word,
    /// What the values are made of, each line after those it needs.
    pub(super) lines: Vec<Line>,
}

/// A store that keeps others from having a definition, by block and position, and why.
type Unlike = ((usize, usize), &'static str);

/// A store of a definition.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Its number among the kernel's accesses, and its block and position.
    pub(crate) store: usize,
    pub(crate) at: (usize, usize),
    /// What is stored.
    pub(super) value: Word,
    /// If there are others: the lines that this value is made of.
    pub(super) lines: Vec<Line>,
}

/// A load that is not executed for every item: where it is not, the first element is loaded in its place, and not used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guarded {
    pub(crate) binding: usize,
    /// The byte of the binding behind that element.
    pub(crate) end: u64,
}

/// One step of a definition.
#[derive(Clone, Debug)]
pub(super) enum Line {
    /// An instruction, by block and position.
    Inst(usize, usize),
    /// A load of an element, or a read of a texel, that is executed where each of these values is true, or not true, as it says.
    Load { at: (usize, usize), where_all: Vec<(Word, bool)> },
    /// A phi that is one of two values.
    Choice { phi: (usize, usize), condition: Word, yes: Word, no: Word },
}

impl Definition {
    /// The definition of a kernel, or what keeps it from having one.
    pub(crate) fn of(kernel: &Specialized) -> Result<Self> {
        let interface = &kernel.interface;
        let normal = kernel.normal.as_ref().map_err(|_| "no normal form")?;
        if interface.has_barrier || interface.workgroup_bytes > 0 {
            return Err("a barrier or shared memory");
        }
        if interface.has_subgroup_ops {
            return Err("sub-group operations");
        }
        if interface.has_atomics {
            return Err("atomic operations");
        }
        if interface.uses_device_addresses {
            return Err("device addresses");
        }
        let accesses = normal.analysis.accesses.iter().enumerate();
        let mut stores = accesses.filter(|(_, access)| access.kind != AccessKind::Read);
        let (Some((store, access)), None) = (stores.next(), stores.next()) else {
            return Err("more than one store");
        };
        let function = normal.module.functions.first().ok_or("no body")?;
        let mut reader = Reader::new(&normal.module, normal, function, access.at.0);
        let Store { index, value, ty, texels } = reader.store(access)?;
        reader.index = Some(index);
        reader.visit(value, 0)?;
        let site = Site { store, at: access.at, value, lines: Vec::new() };
        Ok(reader.definition(SmallVec::from_iter([site]), access.binding, ty, texels))
    }

    /// The definition of what these stores leave in a buffer, or the place of one that keeps it from having one, and why.
    pub(crate) fn at(kernel: &Specialized, stores: &[usize]) -> std::result::Result<Self, Unlike> {
        let interface = &kernel.interface;
        let nowhere = (0, 0);
        let normal = kernel.normal.as_ref().map_err(|_| (nowhere, "no normal form"))?;
        let access = |store: usize| &normal.analysis.accesses[store];
        let &first = stores.first().ok_or((nowhere, "no stores"))?;
        let (place, binding) = (access(first).at, access(first).binding);
        if let Some(&more) = stores.get(MOST_SITES) {
            return Err((access(more).at, "too many stores beside it"));
        }
        // Invocations may meet.
        if interface.has_barrier || interface.workgroup_bytes > 0 {
            return Err((place, "a barrier or shared memory beside it"));
        }
        if interface.has_subgroup_ops || interface.has_atomics || interface.uses_device_addresses {
            return Err((place, "sub-group operations, atomic operations or device addresses beside it"));
        }
        let function = normal.module.functions.first().ok_or((place, "no body"))?;
        let mut all = Reader::new(&normal.module, normal, function, place.0);
        let (mut sites, mut types) = (SmallVec::new(), None);
        for &store in stores {
            let at = access(store).at;
            let wrong = |what| (at, what);
            let mut own = Reader::new(&normal.module, normal, function, at.0);
            let Store { value, ty, texels, .. } = own.store(access(store)).map_err(wrong)?;
            if access(store).binding != binding || texels.is_some() {
                return Err(wrong("another binding than the others"));
            }
            if *types.get_or_insert(ty) != ty {
                return Err(wrong("elements of another type than the others"));
            }
            own.visit(value, 0).map_err(wrong)?;
            all.home = at.0;
            all.visit(value, 0).map_err(wrong)?;
            sites.push(Site { store, at, value, lines: own.lines });
        }
        if sites.len() > 1 {
            all.needs_ids = true;
            all.work += sites.len() as u64;
        }
        Ok(all.definition(sites, binding, types.ok_or((place, "no type"))?, None))
    }

    /// The same with its sites in this order.
    pub(crate) fn in_order(&self, stores: &[u32]) -> Self {
        let mut sites = self.sites.clone();
        sites.sort_by_key(|site| stores.iter().position(|&store| store as usize == site.store));
        Self { sites, ..self.clone() }
    }

    /// The lines of one site, by the order of the sites, or of all of them.
    pub(super) fn lines_of(&self, site: Option<u8>) -> &[Line] {
        let own = site.and_then(|site| self.sites.get(usize::from(site))).map(|site| &site.lines);
        own.unwrap_or(&self.lines)
    }

    /// The store of the first site.
    pub(crate) fn store(&self) -> usize {
        self.sites.first().map_or(0, |site| site.store)
    }
}

/// Whether values of a type are scalars or vectors.
pub(super) fn is_word(normal: &NormalKernel, ty: Word) -> bool {
    match normal.types.get(ty) {
        Type::Int { .. } | Type::Float { .. } => true,
        Type::Vector { element, .. } => is_word(normal, *element),
        _ => false,
    }
}

/// What a store does.
struct Store {
    index: Word,
    value: Word,
    ty: Word,
    texels: Option<Texels>,
}

struct Reader<'a> {
    normal: &'a NormalKernel,
    function: &'a Function,
    defs: Defs<'a>,
    cfg: Cfg,
    /// Where each value of the body is made.
    places: AHashMap<Word, (usize, usize)>,
    roles: AHashMap<Word, Role>,
    /// Numbers of accesses, by block and position.
    accesses: AHashMap<(usize, usize), (usize, usize)>,
    /// Block of the store.
    home: usize,
    index: Option<Word>,
    seen: AHashSet<Word>,
    lines: Vec<Line>,
    loads: Vec<usize>,
    divisions: Vec<(usize, usize)>,
    guarded: Vec<Guarded>,
    work: u64,
    needs_ids: bool,
}

impl<'a> Reader<'a> {
    fn new(module: &'a Module, normal: &'a NormalKernel, function: &'a Function, home: usize) -> Self {
        let defs = Defs::new(module);
        let variables = resource::variables(module, &defs);
        let blocks = function.blocks.iter().enumerate();
        let places = blocks.flat_map(|(block, body)| {
            let insts = body.instructions.iter().enumerate();
            insts.filter_map(move |(at, inst)| Some((inst.result_id?, (block, at))))
        });
        Self {
            normal,
            function,
            cfg: Cfg::new(function),
            places: places.collect(),
            roles: variables.iter().map(|v| (v.id, v.role)).collect(),
            accesses: normal.analysis.numbered(),
            defs,
            home,
            index: None,
            seen: AHashSet::new(),
            lines: Vec::new(),
            loads: Vec::new(),
            divisions: Vec::new(),
            guarded: Vec::new(),
            work: 0,
            needs_ids: false,
        }
    }

    /// What was read.
    fn definition(
        self,
        sites: SmallVec<[Site; 1]>,
        binding: usize,
        ty: Word,
        texels: Option<Texels>,
    ) -> Definition {
        let Self { lines, loads, divisions, guarded, work, needs_ids, index, .. } = self;
        Definition { sites, binding, loads, divisions, guarded, work, needs_ids, texels, index, ty, lines }
    }

    /// A store of an element, or of a texel.
    fn store(&self, access: &Access) -> Result<Store> {
        if access.loop_depth > 0 {
            return Err("a loop");
        }
        let inst = self.inst(access.at);
        let (index, value, texels) = match (access.texel, inst.operands.as_slice()) {
            (Some(Texel::At(_)), [_, Operand::IdRef(at), Operand::IdRef(value)]) => {
                (*at, *value, Some(Texels::behind(inst, &self.defs)?))
            }
            (Some(Texel::At(_)), _) => return Err("a store to a texel with operands of its own"),
            (Some(_), _) => return Err("a store to a texel that is not followed"),
            (None, [Operand::IdRef(pointer), Operand::IdRef(value)]) => {
                let depth = access.element.and_then(|e| e.index).map(|index| index.depth);
                let depth =
                    depth.filter(|_| access.whole_element).ok_or("a store of a part of an element")?;
                let (_, path) = self.path(*pointer).ok_or("a pointer that is not followed")?;
                // Nothing comes behind the element's own index.
                let index = path.get(depth).copied().filter(|_| path.len() == depth + 1);
                (index.ok_or("a store of a part of an element")?, *value, None)
            }
            (None, _) => return Err("a store that is volatile"),
        };
        let ty = self.defs.type_of(value).ok_or("a value without a type")?;
        if !is_word(self.normal, ty) {
            return Err("elements that are no scalars or vectors");
        }
        Ok(Store { index, value, ty, texels })
    }

    fn inst(&self, (block, at): (usize, usize)) -> &'a Instruction {
        &self.function.blocks[block].instructions[at]
    }

    /// The variable behind a pointer, and the indices that lead on from it.
    fn path(&self, pointer: Word) -> Option<(Word, Vec<Word>)> {
        if self.roles.contains_key(&pointer) {
            return Some((pointer, Vec::new()));
        }
        let inst = self.inst(*self.places.get(&pointer)?);
        let is_chain = matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain);
        let ids: Vec<Word> = inst.operands.iter().filter_map(Operand::id_ref_any).collect();
        let (&base, indices) = ids.split_first().filter(|_| is_chain)?;
        self.roles.contains_key(&base).then(|| (base, indices.to_vec()))
    }

    /// Takes in what a value is made of.
    fn visit(&mut self, id: Word, depth: usize) -> Result<()> {
        if Some(id) == self.index || self.seen.contains(&id) {
            return Ok(());
        }
        if self.is_undefined(id) && !mutant!(UndefinedIsRecomputed) {
            return Err("an undefined value");
        }
        let Some(&place) = self.places.get(&id) else { return Ok(()) };
        if depth > DEEPEST || self.lines.len() > MOST_LINES {
            return Err("too long a computation");
        }
        if self.cfg.innermost_loop(place.0).is_some() {
            return Err("a loop");
        }
        let inst = self.inst(place);
        // What is done whenever the store is.
        let is_always_done = self.cfg.dominates(place.0, self.home) || mutant!(AnySideIsTaken);
        let mut line = Line::Inst(place.0, place.1);
        match inst.class.opcode {
            Op::Phi => {
                let (condition, yes, no) = choice(self.normal, &self.cfg, self.function, inst, place.0)
                    .ok_or("a choice between several ways")?;
                for part in [condition, yes, no] {
                    self.visit(part, depth + 1)?;
                }
                self.work += 1;
                line = Line::Choice { phi: place, condition, yes, no };
            }
            Op::Load => {
                let where_all = self.load(place, is_always_done, depth)?;
                if !where_all.is_empty() {
                    line = Line::Load { at: place, where_all };
                }
            }
            Op::ImageRead | Op::ImageFetch => {
                let where_all = self.texel(place, is_always_done, depth)?;
                if !where_all.is_empty() {
                    line = Line::Load { at: place, where_all };
                }
            }
            Op::ImageQuerySize if self.is_image(inst) => {}
            Op::ArrayLength => {
                let base = inst.operands.first().and_then(Operand::id_ref_any);
                let role = base.and_then(|base| self.roles.get(&base));
                if !matches!(role, Some(Role::Resource { array: None, .. })) {
                    return Err("a length that is not followed");
                }
            }
            op if op == Op::CopyObject || opcodes::is_pure(inst) => {
                let divides = opcodes::has(op, opcodes::DIVIDES);
                if divides && !is_always_done {
                    self.divisions.push(place);
                }
                let filled = if op == Op::CompositeInsert { self.filled(inst) } else { None };
                for operand in inst.operands.iter().filter_map(Operand::id_ref_any) {
                    // Nothing of it is left.
                    if filled != Some(operand) {
                        self.visit(operand, depth + 1)?;
                    }
                }
                self.work += match op {
                    Op::ExtInst => 8,
                    Op::FDiv | Op::FMod | Op::FRem => 4,
                    _ if divides => 8,
                    _ => 1,
                };
            }
            _ => return Err("an instruction that does more than compute"),
        }
        self.seen.insert(id);
        self.lines.push(line);
        Ok(())
    }

    /// Whether a value, or a part of a constant, is undefined. Once it is stored, memory holds one value, while every recomputation may give
    /// another.
    fn is_undefined(&self, id: Word) -> bool {
        match self.defs.get(id) {
            Some(inst) if inst.class.opcode == Op::Undef => true,
            Some(inst) if inst.class.opcode == Op::ConstantComposite => {
                inst.operands.iter().filter_map(Operand::id_ref_any).any(|part| self.is_undefined(part))
            }
            _ => false,
        }
    }

    /// The undefined vector that an insertion begins with, if those that go on from it, one behind the other and each for the next alone, put a
    /// number in the place of each of its parts.
    fn filled(&self, first: &Instruction) -> Option<Word> {
        let inserted = |inst: &Instruction| match inst.operands[..] {
            [_, Operand::IdRef(vector), Operand::LiteralBit32(part)] => Some((vector, part)),
            _ => None,
        };
        let (vector, part) = inserted(first)?;
        let ty = self.defs.get(first.result_type?).filter(|ty| ty.class.opcode == Op::TypeVector)?;
        let Some(&Operand::LiteralBit32(count)) = ty.operands.get(1) else { return None };
        if !self.is_undefined(vector) {
            return None;
        }
        let mut parts = 1u32.checked_shl(part)?;
        let mut last = first.result_id?;
        while parts != (1 << count) - 1 && !mutant!(FirstPartFills) {
            let mut users = self
                .function
                .all_inst_iter()
                .filter(|inst| inst.operands.iter().any(|operand| operand.id_ref_any() == Some(last)));
            let (Some(user), None) = (users.next(), users.next()) else { return None };
            let (vector, part) = inserted(user).filter(|_| user.class.opcode == Op::CompositeInsert)?;
            if vector != last {
                return None;
            }
            parts |= 1u32.checked_shl(part)?;
            last = user.result_id?;
        }
        Some(vector)
    }

    /// Whether an instruction is on one image, which is known: a storage image, or one that it fetches from.
    fn is_image(&self, inst: &Instruction) -> bool {
        let made = |inst: &Instruction| {
            let handle = inst.operands.first().and_then(Operand::id_ref_any);
            handle.and_then(|handle| Some(self.inst(*self.places.get(&handle)?)))
        };
        // The sampler that comes with an image has no part in a fetch.
        let load =
            made(inst).and_then(|one| if one.class.opcode == Op::Image { made(one) } else { Some(one) });
        let variable = load
            .filter(|load| load.class.opcode == Op::Load)
            .and_then(|load| self.roles.get(&load.operands.first()?.id_ref_any()?));
        let is = |kind: &Kind| match inst.class.opcode {
            Op::ImageFetch => [resource::SAMPLED_IMAGE, resource::SAMPLED].map(Kind::Other).contains(kind),
            _ => *kind == Kind::Other(resource::STORAGE_IMAGE),
        };
        matches!(variable, Some(Role::Resource { kind, array: None, .. }) if is(kind))
    }

    /// A texel of an image; returns the conditions on which it is read, if that is not always.
    fn texel(
        &mut self,
        place: (usize, usize),
        is_always_done: bool,
        depth: usize,
    ) -> Result<Vec<(Word, bool)>> {
        let inst = self.inst(place);
        let at = match inst.operands.as_slice() {
            [_, Operand::IdRef(at)] => at,
            // A level is a constant, where the coordinates are followed.
            [_, Operand::IdRef(at), Operand::ImageOperands(ImageOperands::LOD), Operand::IdRef(_)] => at,
            _ => return Err("a load of a texel with operands of its own"),
        };
        if !self.is_image(inst) {
            return Err("a load that is not followed");
        }
        let number = self.accesses.get(&place).ok_or("a load that is not followed")?.0;
        let access = &self.normal.analysis.accesses[number];
        if !matches!(access.texel, Some(Texel::At(_) | Texel::Fetched(_))) {
            return Err("a load of a texel that is not followed");
        }
        self.loads.push(access.binding);
        self.visit(*at, depth + 1)?;
        // Every image has a first texel.
        let where_all = if is_always_done { Vec::new() } else { self.conditions(place.0)? };
        for &(condition, _) in &where_all {
            self.visit(condition, depth + 1)?;
            self.work += 1;
        }
        Ok(where_all)
    }

    /// A load; returns the conditions on which it is executed, if that is not always.
    fn load(
        &mut self,
        place: (usize, usize),
        is_always_done: bool,
        depth: usize,
    ) -> Result<Vec<(Word, bool)>> {
        let [Operand::IdRef(pointer)] = self.inst(place).operands.as_slice() else {
            return Err("a load that is volatile");
        };
        let (base, indices) = self.path(*pointer).ok_or("a local array or a pointer that is not followed")?;
        let is_constant = |index: &Word| self.defs.constant(*index).is_some();
        let mut where_all = Vec::new();
        match self.roles[&base] {
            Role::Resource { kind: Kind::StorageBuffer | Kind::UniformBuffer, array: None, .. } => {
                let number = self.accesses.get(&place).ok_or("a load that is not followed")?.0;
                let access = &self.normal.analysis.accesses[number];
                if !is_always_done {
                    self.guarded.push(guarded(access, indices.len())?);
                    where_all = self.conditions(place.0)?;
                }
                self.loads.push(access.binding);
                for &(condition, _) in &where_all {
                    self.visit(condition, depth + 1)?;
                    self.work += 1;
                }
                for index in indices {
                    self.visit(index, depth + 1)?;
                }
            }
            Role::Push if indices.iter().all(is_constant) => {}
            Role::BuiltIn(builtin) if VIRTUAL.contains(&builtin) && indices.iter().all(is_constant) => {
                self.needs_ids = true;
            }
            Role::BuiltIn(_) => return Err("built-ins other than its ids"),
            _ => return Err("a load that is not followed"),
        }
        Ok(where_all)
    }

    /// What decides, besides that the store is done, whether control comes to a block.
    fn conditions(&self, block: usize) -> Result<Vec<(Word, bool)>> {
        let (mut edges, is_exact) = self.cfg.guards(self.function, block);
        let always = self.cfg.edges(self.function, self.home);
        edges.retain(|edge| !always.contains(edge));
        let is_branch = |edge: &Edge| edge.values.is_empty() && !edge.in_past_loop;
        if !is_exact || edges.is_empty() || !edges.iter().all(is_branch) {
            return Err("a load under a condition that is not followed");
        }
        Ok(edges.iter().map(|edge| (edge.condition, edge.taken)).collect())
    }
}

/// A load that is not always executed, by its number of indices.
fn guarded(access: &Access, indices: usize) -> Result<Guarded> {
    let element = access.element.and_then(|element| element.index).filter(|_| access.whole_element);
    let element = element.filter(|element| indices == element.depth + 1 && access.texel.is_none());
    let element = element.ok_or("a load under a condition, of no element")?;
    Ok(Guarded { binding: access.binding, end: element.start + access.size })
}

/// The condition of a merge of two branches, and the value on either side.
pub(super) fn choice(
    normal: &NormalKernel,
    cfg: &Cfg,
    function: &Function,
    phi: &Instruction,
    block: usize,
) -> Option<(Word, Word, Word)> {
    let ty = normal.types.get(phi.result_type?);
    let is_scalar = |ty: &Type| matches!(ty, Type::Int { .. } | Type::Float { .. } | Type::Bool);
    let is_word = match ty {
        Type::Vector { element, .. } => is_scalar(normal.types.get(*element)),
        ty => is_scalar(ty),
    };
    let ids: Vec<Word> = phi.operands.iter().filter_map(Operand::id_ref_any).collect();
    let &[x, x_from, y, y_from] = ids.as_slice() else { return None };
    let (x_from, y_from) = (cfg.block_of_label(x_from)?, cfg.block_of_label(y_from)?);
    let head = cfg.idom(block)?;
    let (condition, on_true, on_false) = cfg.conditional(function, head)?;
    if on_true == on_false || !is_word {
        return None;
    }
    // Nothing else leads behind an edge of the last branch that all ways to the merge pass.
    let behind = |target: usize, from: usize| match from == head {
        true => target == block,
        false => cfg.predecessors[target] == [head] && cfg.dominates(target, from),
    };
    if behind(on_true, x_from) && behind(on_false, y_from) {
        Some((condition, x, y))
    } else if behind(on_true, y_from) && behind(on_false, x_from) {
        Some((condition, y, x))
    } else {
        None
    }
}
