//! What the scalars of a module's push constants are called.
//!
//! # Guarantees
//! - names are those of the debug information, with components and indices: `origin.y`, `weights[2]`, `light.color.x`
//!
//! # Refuses
//! - modules with several blocks of push constants: which one an entry point uses is not asked

use rspirv::spirv::{Decoration, Op, StorageClass};

use super::words::Declarations;

/// Most scalars, structures and arrays that are looked at: a block has no more.
const MOST: u32 = 1 << 12;

/// Deepest nesting of types.
const DEPTH: u32 = 16;

/// Offsets and names of the scalars, by offset; empty where names are not known.
pub(super) fn push_names(module: &[u32]) -> Vec<(u32, String)> {
    let declared = Declarations::of(module);
    let blocks =
        declared.variables.iter().filter(|variable| variable.at(2) == StorageClass::PushConstant as u32);
    let blocks = blocks.filter_map(|variable| declared.ty(variable.at(0)).map(|pointer| pointer.at(2)));
    let &[block] = blocks.collect::<Vec<u32>>().as_slice() else { return Vec::new() };
    let mut names = Names { declared: &declared, found: Vec::new(), left: MOST };
    names.name(block, (0, String::new()), None, DEPTH);
    names.found.sort();
    names.found
}

/// What was found, and how much more is looked at.
struct Names<'a> {
    declared: &'a Declarations<'a>,
    found: Vec<(u32, String)>,
    left: u32,
}

impl Names<'_> {
    /// Adds the scalars of a type that lies at an offset and is called something; `member` is the structure and the number that it has there.
    fn name(&mut self, ty: u32, (offset, name): (u32, String), member: Option<(u32, u32)>, depth: u32) {
        let declared = self.declared;
        let Some(inst) = declared.ty(ty).filter(|_| depth > 0 && self.left > 0) else { return };
        self.left -= 1;
        let of_member = |what: Decoration| {
            let (structure, number) = member?;
            declared.decoration(structure, Some(number), what)
        };
        match inst.op() {
            Some(Op::TypeInt | Op::TypeFloat | Op::TypePointer) => self.found.push((offset, name)),
            Some(Op::TypeVector) => {
                let step = self.bytes(inst.at(1));
                for (part, letter) in (0..inst.at(2).min(4)).zip(["x", "y", "z", "w"]) {
                    self.found.push((offset.wrapping_add(part * step), format!("{name}.{letter}")));
                }
            }
            Some(Op::TypeMatrix) => {
                let Some(stride) = of_member(Decoration::MatrixStride) else { return };
                let is_row_major = of_member(Decoration::RowMajor).is_some();
                let Some(column) = declared.ty(inst.at(1)) else { return };
                let step = self.bytes(column.at(1));
                for c in 0..inst.at(2).min(4) {
                    for r in 0..column.at(2).min(4) {
                        let (long, short) = if is_row_major { (r, c) } else { (c, r) };
                        let at = stride.wrapping_mul(long).wrapping_add(step * short);
                        self.found.push((offset.wrapping_add(at), format!("{name}[{c}][{r}]")));
                    }
                }
            }
            Some(Op::TypeArray) => {
                let stride = declared.decoration(ty, None, Decoration::ArrayStride);
                let (Some(stride), Some(len)) = (stride, declared.constant(inst.at(2))) else { return };
                for index in 0..len.min(self.left) {
                    let at =
                        (offset.saturating_add(index.saturating_mul(stride)), format!("{name}[{index}]"));
                    self.name(inst.at(1), at, member, depth - 1);
                }
            }
            Some(Op::TypeStruct) => {
                for (number, &of) in (0..).zip(inst.from(1)) {
                    let Some(at) = declared.decoration(ty, Some(number), Decoration::Offset) else {
                        continue;
                    };
                    let own = declared.name(ty, Some(number));
                    // WGSL puts the block into a structure of its own.
                    let is_wrapped = own.is_none() && name.is_empty() && inst.from(1).len() == 1;
                    let own = own.unwrap_or_else(|| format!("member {number}"));
                    let name = match name.is_empty() {
                        true if is_wrapped => String::new(),
                        true => own,
                        false => format!("{name}.{own}"),
                    };
                    self.name(of, (offset.saturating_add(at), name), Some((ty, number)), depth - 1);
                }
            }
            _ => {}
        }
    }

    fn bytes(&self, scalar: u32) -> u32 {
        self.declared.ty(scalar).map_or(4, |inst| inst.at(1) / 8)
    }
}
