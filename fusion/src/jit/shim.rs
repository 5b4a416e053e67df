//! Stand-ins for the parts of the JIT that are not there yet.
#![allow(missing_docs, unreachable_pub)]
use std::{ops::Range, sync::Arc};
use smallvec::SmallVec;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel error")]
pub struct KernelError;
#[derive(Clone, Debug)]
pub struct Module { name: String, words: Arc<[u32]> }
impl Module {
    pub fn from_bytes(_: &str, _: &[u8]) -> Result<Module, KernelError> { Err(KernelError) }
    pub fn from_words(_: &str, _: &[u32]) -> Result<Module, KernelError> { Err(KernelError) }
    pub fn from_wgsl(_: &str, _: &str) -> Result<Module, KernelError> { Err(KernelError) }
    pub fn name(&self) -> &str { &self.name }
    pub fn words(&self) -> &[u32] { &self.words }
}
#[derive(Clone, Debug)]
pub struct Kernel;
#[derive(Clone, Debug)]
pub struct SpecConstant;
impl Kernel {
    pub fn new(_: &Module, _: Option<&str>) -> Result<Kernel, KernelError> { Err(KernelError) }
    pub fn name(&self) -> &str { "" }
    pub fn entry(&self) -> &str { "" }
    pub fn spec_constants(&self) -> &[SpecConstant] { &[] }
    pub fn specialize(&self, _: &[(u32, SpecValue)]) -> Result<Arc<Specialized>, KernelError> { Err(KernelError) }
}
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpecValue { Bool(bool), I8(i8), U8(u8), I16(i16), U16(u16), I32(i32), U32(u32), I64(i64), U64(u64), F16(u16), F32(f32), F64(f64) }
#[derive(Debug)]
pub struct Specialized { pub name: String, pub entry: String, pub hash: [u8; 32], pub interface: Interface, pub plain: Plain }
#[derive(Debug)]
pub struct Plain { pub strict: Vec<u32>, pub contract: Vec<u32> }
#[derive(Clone, Copy, Debug)]
pub struct Capability(u32);
#[derive(Debug)]
pub struct Interface { pub local_size: [u32; 3], pub bindings: Vec<Binding>, pub push: Option<PushLayout>, pub workgroup_bytes: u32, pub capabilities: Vec<Capability>, pub version: (u8, u8) }
#[derive(Debug)]
pub struct PushLayout { pub size: u32 }
#[derive(Debug)]
pub struct Binding { pub set: u32, pub binding: u32, pub kind: BindingKind, pub name: Option<String>, pub reads: bool, pub writes: bool, pub min_size: u64, pub runtime_stride: Option<u32> }
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingKind { StorageBuffer, UniformBuffer, Other(&'static str) }
pub fn capability_number(c: Capability) -> u32 { c.0 }

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason { #[error("the fusion list is empty")] Empty }
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u64);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Promote { #[default] None, Private, Local, Auto }
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy { #[default] Prove, Trust }
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FloatMode { #[default] Strict, Contract }
#[derive(Clone, Debug)]
pub struct Arg { pub set: u32, pub binding: u32, pub buffer: BufferId, pub offset: u64, pub len: u64, pub promote: Promote }
#[derive(Clone, Debug)]
pub struct Submission { pub kernel: Arc<Specialized>, pub groups: [u32; 3], pub args: SmallVec<[Arg; 8]>, pub push: SmallVec<[u8; 32]> }
#[derive(Clone, Debug, Default)]
pub struct FuseOptions { pub policy: Policy, pub no_barriers: bool, pub float: FloatMode }
#[derive(Clone, Debug)]
pub struct Limits { pub max_push_bytes: u32, pub max_shared_bytes: u32, pub max_bindings_per_set: u32, pub max_work_group_size: [u32; 3], pub max_work_group_invocations: u32, pub max_groups: [u32; 3] }
#[derive(Clone, Debug)]
pub struct Bound { pub set: u32, pub binding: u32, pub kind: BindingKind, pub buffer: BufferId, pub offset: u64, pub len: u64, pub reads: bool, pub writes: bool }
#[derive(Clone, Debug)]
pub struct Step { pub key: [u8; 32], pub recipe: Vec<u8>, pub bindings: SmallVec<[Bound; 8]>, pub push: SmallVec<[u8; 64]>, pub groups: [u32; 3], pub members: Range<usize>, words: Arc<[u32]> }
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("jit")]
pub struct JitError;
pub type PlanError = JitError;
impl Step { pub fn build(&self) -> Result<Arc<[u32]>, JitError> { Ok(self.words.clone()) } }
#[derive(Clone, Debug)]
pub struct Plan { pub steps: Vec<Step>, pub report: Report }
#[derive(Clone, Debug, Default)]
pub struct Report { pub splits: Vec<SplitReport>, pub buffers: Vec<BufferReport> }
#[derive(Clone, Debug)]
pub struct SplitReport { pub after: usize, pub buffer: Option<BufferId>, pub reason: Reason, pub detail: String }
#[derive(Clone, Debug)]
pub struct BufferReport { pub buffer: BufferId, pub asked: Promote, pub got: Promote, pub reason: Option<Reason> }

pub fn plan(list: &[Submission], options: &FuseOptions, limits: &Limits) -> Plan {
    let steps = list.iter().enumerate().filter_map(|(i, s)| {
        let mut step = plan_unfused(s, options.float, limits).ok()?;
        step.members = i..i + 1;
        Some(step)
    }).collect();
    Plan { steps, report: Report::default() }
}
pub fn plan_unfused(one: &Submission, float: FloatMode, _: &Limits) -> Result<Step, PlanError> {
    let k = &one.kernel;
    let words = match float { FloatMode::Strict => &k.plain.strict, FloatMode::Contract => &k.plain.contract };
    let bindings = k.interface.bindings.iter().filter_map(|b| {
        let a = one.args.iter().find(|a| (a.set, a.binding) == (b.set, b.binding))?;
        Some(Bound { set: b.set, binding: b.binding, kind: b.kind, buffer: a.buffer, offset: a.offset, len: a.len, reads: b.reads, writes: b.writes })
    }).collect();
    let recipe = [&b"plain"[..], &[float as u8], &k.hash].concat();
    let mut push: SmallVec<[u8; 64]> = SmallVec::from_slice(&one.push);
    while push.len() % 4 != 0 { push.push(0); }
    Ok(Step { key: *blake3::hash(&recipe).as_bytes(), recipe, bindings, push, groups: one.groups, members: 0..1, words: words.as_slice().into() })
}
pub fn build_failed(_: &str) -> Reason { Reason::Empty }
