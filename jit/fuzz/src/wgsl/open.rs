//! Makes specialization constants of literals in SPIR-V: the WGSL front end cannot leave constants open.

use std::collections::BTreeMap;

use super::text::stand_in;

const HEADER: usize = 5;
const OP_EXECUTION_MODE: u32 = 16;
const LOCAL_SIZE: u32 = 17;
const OP_TYPE_INT: u32 = 21;
const OP_TYPE_VECTOR: u32 = 23;
const OP_CONSTANT: u32 = 43;
const OP_SPEC_CONSTANT: u32 = 50;
const OP_SPEC_CONSTANT_COMPOSITE: u32 = 51;
const OP_FUNCTION: u32 = 54;
const OP_DECORATE: u32 = 71;
const SPEC_ID: u32 = 1;
const BUILT_IN: u32 = 11;
const WORKGROUP_SIZE: u32 = 25;

/// The module with every constant that stands for specialization constant `id < count` made one, with the default
/// `defaults[id]`; constant 0 becomes the work-group's width.
pub(crate) fn open(words: &[u32], defaults: &[u32]) -> Vec<u32> {
    let mut module = Module {
        head: Vec::new(),
        types: Vec::new(),
        rest: Vec::new(),
        unsigned: Vec::new(),
        bound: words[3],
    };
    module.split(words);
    let mut constants = module.open_literals(defaults);
    module.size_by(&mut constants, defaults[0]);
    let decorations: Vec<Vec<u32>> =
        constants.iter().map(|(&id, &result)| vec![4 << 16 | OP_DECORATE, result, SPEC_ID, id]).collect();
    module.head.extend(decorations);
    let mut out = words[..HEADER].to_vec();
    out[3] = module.bound;
    for part in [&module.head, &module.types, &module.rest] {
        part.iter().for_each(|inst| out.extend(inst));
    }
    out
}

/// Instructions up to the last decoration, then types and constants, then functions.
struct Module {
    head: Vec<Vec<u32>>,
    types: Vec<Vec<u32>>,
    rest: Vec<Vec<u32>>,
    /// The 32-bit unsigned integer type.
    unsigned: Vec<u32>,
    bound: u32,
}

fn op(inst: &[u32]) -> u32 {
    inst[0] & 0xffff
}

impl Module {
    fn split(&mut self, words: &[u32]) {
        let mut at = HEADER;
        let mut stage = 0;
        while at < words.len() {
            let inst = &words[at..at + (words[at] >> 16) as usize];
            at += inst.len();
            // Types begin after names and decorations.
            if stage == 0 && (19..=60).contains(&op(inst)) {
                stage = 1;
            }
            if op(inst) == OP_FUNCTION {
                stage = 2;
            }
            let part = [&mut self.head, &mut self.types, &mut self.rest].into_iter().nth(stage);
            part.into_iter().for_each(|part| part.push(inst.to_vec()));
        }
    }

    /// Result ids of the opened constants by their number.
    fn open_literals(&mut self, defaults: &[u32]) -> BTreeMap<u32, u32> {
        self.unsigned = self
            .types
            .iter()
            .filter(|i| op(i) == OP_TYPE_INT && i[2] == 32 && i[3] == 0)
            .map(|i| i[1])
            .collect();
        let mut found = BTreeMap::new();
        for inst in self.types.iter_mut().filter(|i| op(i) == OP_CONSTANT && self.unsigned.contains(&i[1])) {
            let id = inst[3].wrapping_sub(stand_in(0));
            if let Some(&default) = defaults.get(id as usize) {
                inst[0] = 4 << 16 | OP_SPEC_CONSTANT;
                inst[3] = default;
                found.insert(id, inst[2]);
            }
        }
        found
    }

    /// Makes constant 0 the x component of the work-group size, the others being 1.
    fn size_by(&mut self, constants: &mut BTreeMap<u32, u32>, default: u32) {
        let vector =
            self.types.iter().find(|i| op(i) == OP_TYPE_VECTOR && i[3] == 3 && self.unsigned.contains(&i[2]));
        // Every kernel has ids, which are such vectors.
        let (vector, scalar) = vector.map_or((0, 0), |i| (i[1], i[2]));
        let mut fresh = || {
            self.bound += 1;
            self.bound - 1
        };
        let (one, size, own) = (fresh(), fresh(), fresh());
        let width = *constants.entry(0).or_insert_with(|| {
            self.types.push(vec![4 << 16 | OP_SPEC_CONSTANT, scalar, own, default]);
            own
        });
        self.types.push(vec![4 << 16 | OP_CONSTANT, scalar, one, 1]);
        self.types.push(vec![6 << 16 | OP_SPEC_CONSTANT_COMPOSITE, vector, size, width, one, one]);
        for mode in self.head.iter_mut().filter(|i| op(i) == OP_EXECUTION_MODE && i[2] == LOCAL_SIZE) {
            mode[3] = default;
        }
        self.head.push(vec![4 << 16 | OP_DECORATE, size, BUILT_IN, WORKGROUP_SIZE]);
    }
}
