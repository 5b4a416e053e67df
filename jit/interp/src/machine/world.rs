//! The state outside of the registers: bindings, variables, and the invocations that run.

use crate::error::OracleError;
use crate::finding::Findings;
use crate::input::Position;
use crate::memory::{Memory, Object};
use crate::program::{Covers, Program};
use crate::shadow::{Now, Shadow};
use crate::texel::{Filter, TexelFormat};
use crate::trace::Trace;
use crate::{Dispatch, Options};

/// The bytes behind a binding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) object: usize,
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) uniform: bool,
    /// Of an image or a texel buffer.
    pub(super) texels: Option<Texels>,
}

/// What an image is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Texels {
    pub(super) format: TexelFormat,
    /// Width, height and depth or layers; 0 where it has none.
    pub(super) extent: [u32; 3],
    pub(super) filter: Filter,
}

/// Everything outside the registers.
pub(super) struct World<'a> {
    pub(super) program: &'a Program,
    pub(super) dispatch: usize,
    pub(super) groups: [u32; 3],
    pub(super) findings: &'a mut Findings,
    /// The log of accesses to buffers, if one was requested.
    pub(super) trace: Option<&'a mut Trace>,
    pub(super) max_findings: usize,
    pub(super) robust: bool,
    /// Words of instructions whose results were found undefined.
    pub(super) undefined: Vec<usize>,
    pub(super) slots: Vec<Slot>,
    pub(super) objects: &'a mut [Object],
    pub(super) push: &'a [u8],
    /// Private memory, one invocation after the other.
    pub(super) private: Vec<u64>,
    pub(super) private_written: Vec<bool>,
    pub(super) shared: Vec<u64>,
    pub(super) shared_written: Vec<bool>,
    pub(super) shared_shadow: Shadow,
    /// The invocation that runs, in its view of buffers, of Workgroup memory and of texels.
    pub(super) buffers: Now,
    pub(super) workgroup: Now,
    pub(super) images: Now,
    /// Per sub-group: what memory barriers since the last control barrier cover.
    pub(super) fenced: Vec<Covers>,
    /// Which work-groups executed a memory barrier for buffers.
    pub(super) published: Vec<bool>,
    /// Whether this work-group executed an atomic on a buffer.
    pub(super) met_atomic: bool,
    /// Per sub-group: when its last barriers for buffers, for Workgroup memory and for texels were.
    pub(super) subgroup_covers: Vec<[u32; 3]>,
    pub(super) size: u32,
    pub(super) subgroup_size: u32,
}

impl<'a> World<'a> {
    pub(super) fn new(
        index: usize,
        dispatch: &'a Dispatch<'a>,
        memory: &'a mut Memory,
        size: u32,
        options: &Options,
        findings: &'a mut Findings,
        trace: Option<&'a mut Trace>,
    ) -> Result<Self, OracleError> {
        let program = dispatch.program;
        let objects = memory.objects.as_mut_slice();
        let mut slots = Vec::with_capacity(program.bindings.len());
        for used in &program.bindings {
            let (set, binding) = (used.set, used.binding);
            let bound = dispatch.bindings.iter().find(|bind| bind.set == set && bind.binding == binding);
            let bound = bound.ok_or(OracleError::MissingBinding { dispatch: index, set, binding })?;
            let object = bound.object.0 as usize;
            let inside = objects.get(object).is_some_and(|object| {
                bound.offset.checked_add(bound.len).is_some_and(|end| end <= object.bytes.len() as u64)
            });
            if !inside {
                return Err(OracleError::BadRange { dispatch: index, set, binding });
            }
            let texels = match used.image {
                None => None,
                Some(image) => {
                    let unknown = OracleError::UnknownFormat { dispatch: index, set, binding };
                    let format = image.format.ok_or(unknown)?;
                    let extent = match image.is_buffer {
                        true => [(bound.len / u64::from(format.bytes())) as u32, 0, 0],
                        false => objects[object].extent,
                    };
                    // An image with a given size has memory for all of its texels.
                    let texels = extent.iter().map(|&side| u64::from(side.max(1))).product::<u64>();
                    if texels.saturating_mul(u64::from(format.bytes())) > bound.len && extent != [0; 3] {
                        return Err(OracleError::BadRange { dispatch: index, set, binding });
                    }
                    Some(Texels { format, extent, filter: image.filter })
                }
            };
            let (offset, len, uniform) = (bound.offset, bound.len, used.uniform);
            slots.push(Slot { object, offset, len, uniform, texels });
        }
        for slot in &slots {
            // Two bindings of one object share grains, so the smaller alignment counts.
            let offsets = slots.iter().filter(|other| other.object == slot.object).map(|other| other.offset);
            let shift = offsets.fold(program.grain_shift, |shift, offset| shift.min(offset.trailing_zeros()));
            let same = slots.iter().filter(|other| other.object == slot.object);
            let shift = same
                .filter_map(|other| other.texels)
                .fold(shift, |shift, texels| shift.min(texels.format.channel.bytes().trailing_zeros()));
            let object = &mut objects[slot.object];
            object.shadow.begin(object.bytes.len(), shift, program.has_atomics);
            let shares =
                |uniform: bool| slots.iter().any(|s| s.object == slot.object && s.uniform == uniform);
            object.constants.begin(if shares(true) && shares(false) { object.bytes.len() } else { 0 });
        }
        let lanes = program.private.lanes.len() * size as usize;
        let now = Now { group_size: size, subgroup_size: options.subgroup_size, ..Now::default() };
        let subgroups = size.div_ceil(options.subgroup_size) as usize;
        Ok(Self {
            program,
            dispatch: index,
            groups: dispatch.groups,
            findings,
            trace,
            max_findings: options.max_findings,
            robust: options.robust,
            undefined: Vec::new(),
            slots,
            objects,
            push: &dispatch.push,
            private: vec![0; lanes],
            private_written: vec![false; lanes],
            shared: program.shared.lanes.clone(),
            shared_written: program.shared.written.clone(),
            shared_shadow: Shadow::default(),
            buffers: now,
            workgroup: now,
            images: now,
            fenced: vec![Covers::default(); subgroups],
            published: vec![false; dispatch.groups.iter().product::<u32>() as usize],
            met_atomic: false,
            subgroup_covers: vec![[0; 3]; subgroups],
            size,
            subgroup_size: options.subgroup_size,
        })
    }

    pub(super) fn begin_group(&mut self, linear: u32) {
        for now in [&mut self.buffers, &mut self.workgroup, &mut self.images] {
            now.group_first = linear * self.size;
            now.time = 0;
            now.group_cover = 0;
        }
        self.fenced.fill(Covers::default());
        self.met_atomic = false;
        self.subgroup_covers.fill([0; 3]);
        self.shared.copy_from_slice(&self.program.shared.lanes);
        self.shared_written.copy_from_slice(&self.program.shared.written);
        self.shared_shadow.begin(self.shared.len(), 0, self.program.has_atomics);
    }

    /// Fresh variables and inputs.
    pub(super) fn begin_invocation(&mut self, position: &Position) {
        let image = &self.program.private;
        let first = position.local as usize * image.lanes.len();
        let lanes = &mut self.private[first..first + image.lanes.len()];
        lanes.copy_from_slice(&image.lanes);
        self.private_written[first..first + image.lanes.len()].copy_from_slice(&image.written);
        for &(builtin, lane, n) in &self.program.inputs {
            for (lane, value) in
                lanes[lane as usize..].iter_mut().zip(position.value(builtin)).take(n as usize)
            {
                *lane = value;
            }
        }
    }

    /// The invocation that runs from now on.
    pub(super) fn enter(&mut self, local: u32) {
        let subgroup = local / self.subgroup_size;
        let covers = self.subgroup_covers[subgroup as usize];
        for (now, cover) in [&mut self.buffers, &mut self.workgroup, &mut self.images].into_iter().zip(covers)
        {
            now.invocation = now.group_first + local;
            now.subgroup_first = now.group_first + subgroup * self.subgroup_size;
            now.subgroup_cover = cover;
        }
    }

    pub(super) fn now(&self) -> &Now {
        &self.buffers
    }

    pub(super) fn reset(&mut self, lane: usize, n: usize) {
        let image = &self.program.private;
        let first = (self.buffers.invocation - self.buffers.group_first) as usize * image.lanes.len() + lane;
        self.private[first..first + n].copy_from_slice(&image.lanes[lane..lane + n]);
        self.private_written[first..first + n].copy_from_slice(&image.written[lane..lane + n]);
    }
}
