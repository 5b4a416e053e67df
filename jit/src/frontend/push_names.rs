//! What the scalars of a module's push constants are called.
//!
//! # Guarantees
//! - names are those of the debug information, with components and indices: `origin.y`, `weights[2]`, `light.color.x`
//!
//! # Refuses
//! - modules with several blocks of push constants: which one an entry point uses is not asked

use ahash::AHashMap;
use rspirv::spirv::{Decoration, Op, StorageClass};

use super::words::{Inst, instructions, string};

/// Most scalars, structures and arrays that are looked at: a block has no more.
const MOST: u32 = 1 << 12;

/// Deepest nesting of types.
const DEPTH: u32 = 16;

/// Offsets and names of the scalars, by offset; empty where names are not known.
pub(super) fn push_names(module: &[u32]) -> Vec<(u32, String)> {
    let mut types = Types::default();
    let mut blocks = Vec::new();
    for inst in instructions(module) {
        match inst.op() {
            Some(Op::MemberName) => {
                if let Some((name, _)) = string(inst.from(2)) {
                    types.names.insert((inst.at(0), inst.at(1)), name);
                }
            }
            Some(Op::MemberDecorate) => {
                types.layout.insert((inst.at(0), Some(inst.at(1)), inst.at(2)), inst.at(3));
            }
            Some(Op::Decorate) => {
                types.layout.insert((inst.at(0), None, inst.at(1)), inst.at(2));
            }
            Some(
                Op::TypeInt
                | Op::TypeFloat
                | Op::TypeVector
                | Op::TypeMatrix
                | Op::TypeArray
                | Op::TypeStruct
                | Op::TypePointer,
            ) => {
                types.insts.insert(inst.at(0), inst);
            }
            Some(Op::Constant) => {
                types.constants.insert(inst.at(1), inst.at(2));
            }
            Some(Op::Variable) if inst.at(2) == StorageClass::PushConstant as u32 => {
                blocks.extend(types.insts.get(&inst.at(0)).map(|pointer| pointer.at(2)));
            }
            Some(Op::Function) => break,
            _ => {}
        }
    }
    let &[block] = blocks.as_slice() else { return Vec::new() };
    let mut names = Names { found: Vec::new(), left: MOST };
    types.name(block, (0, String::new()), None, DEPTH, &mut names);
    names.found.sort();
    names.found
}

/// What was found, and how much more is looked at.
struct Names {
    found: Vec<(u32, String)>,
    left: u32,
}

#[derive(Default)]
struct Types<'a> {
    insts: AHashMap<u32, Inst<'a>>,
    names: AHashMap<(u32, u32), String>,
    layout: AHashMap<(u32, Option<u32>, u32), u32>,
    constants: AHashMap<u32, u32>,
}

impl Types<'_> {
    /// Adds the scalars of a type that lies at an offset and is called something; `member` is the structure and the number that it has there.
    fn name(
        &self,
        ty: u32,
        (offset, name): (u32, String),
        member: Option<(u32, u32)>,
        depth: u32,
        names: &mut Names,
    ) {
        let Some(inst) = self.insts.get(&ty).filter(|_| depth > 0 && names.left > 0) else { return };
        names.left -= 1;
        let of_member = |what: Decoration| {
            let (structure, number) = member?;
            self.layout.get(&(structure, Some(number), what as u32)).copied()
        };
        match inst.op() {
            Some(Op::TypeInt | Op::TypeFloat | Op::TypePointer) => names.found.push((offset, name)),
            Some(Op::TypeVector) => {
                let step = self.bytes(inst.at(1));
                for (part, letter) in (0..inst.at(2).min(4)).zip(["x", "y", "z", "w"]) {
                    names.found.push((offset.wrapping_add(part * step), format!("{name}.{letter}")));
                }
            }
            Some(Op::TypeMatrix) => {
                let Some(stride) = of_member(Decoration::MatrixStride) else { return };
                let is_row_major = of_member(Decoration::RowMajor).is_some();
                let Some(column) = self.insts.get(&inst.at(1)) else { return };
                let step = self.bytes(column.at(1));
                for c in 0..inst.at(2).min(4) {
                    for r in 0..column.at(2).min(4) {
                        let (long, short) = if is_row_major { (r, c) } else { (c, r) };
                        let at = stride.wrapping_mul(long).wrapping_add(step * short);
                        names.found.push((offset.wrapping_add(at), format!("{name}[{c}][{r}]")));
                    }
                }
            }
            Some(Op::TypeArray) => {
                let stride = self.layout.get(&(ty, None, Decoration::ArrayStride as u32));
                let (Some(&stride), Some(&len)) = (stride, self.constants.get(&inst.at(2))) else { return };
                for index in 0..len.min(names.left) {
                    let at =
                        (offset.saturating_add(index.saturating_mul(stride)), format!("{name}[{index}]"));
                    self.name(inst.at(1), at, member, depth - 1, names);
                }
            }
            Some(Op::TypeStruct) => {
                for (number, &of) in (0..).zip(inst.from(1)) {
                    let Some(&at) = self.layout.get(&(ty, Some(number), Decoration::Offset as u32)) else {
                        continue;
                    };
                    let own = self.names.get(&(ty, number)).filter(|own| !own.is_empty());
                    // WGSL puts the block into a structure of its own.
                    let is_wrapped = own.is_none() && name.is_empty() && inst.from(1).len() == 1;
                    let own = own.cloned().unwrap_or_else(|| format!("member {number}"));
                    let name = match name.is_empty() {
                        true if is_wrapped => String::new(),
                        true => own,
                        false => format!("{name}.{own}"),
                    };
                    self.name(of, (offset.saturating_add(at), name), Some((ty, number)), depth - 1, names);
                }
            }
            _ => {}
        }
    }

    fn bytes(&self, scalar: u32) -> u32 {
        self.insts.get(&scalar).map_or(4, |inst| inst.at(1) / 8)
    }
}
