//! The passes of emission in run order, and their runner.
//!
//! # Guarantees
//! - a pass is run here and nowhere else, after those that stand before it
//! - what is exported is sound IR ([`ir::verify`]), whatever validator there is; in debug builds, so is what each pass leaves
//! - after each pass an observer may see what it left, and stop emission ([`Observer`])

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rspirv::binary::Assemble as _;
use rspirv::dr::Module;

use super::emission::Emission;
use super::link::Linked;
use super::passes::{
    dce, extrema, hide_once, item_coarsening, shuffle_promotion, sink_stores, subgroup_ids, superword,
    unroll, unroll_and_jam,
};
use super::{JitError, finish};
use super::{entry, link};
use crate::frontend::single_returns;
use crate::ir;
use crate::kernel::Specialized;
use crate::plan::recipe::Recipe;

/// From the members' kernels to the module of the fused one.
///
/// What some passes find depends on the code: a kernel may have no way for fewer invocations ([`unroll_and_jam`]), and then the passes on what it
/// leaves do nothing.
const PIPELINE: &[Pass] = &[
    pass("link", |_| true, Build(link_all)),
    pass("entry", |_| true, Build(entry::run)),
    pass("finish", |_| true, Finish(finish::run)),
    pass("import", |_| true, Import),
    pass(
        "unroll",
        |recipe| recipe.members.iter().any(|member| !member.unroll.is_empty()),
        Change(unroll::run),
    ),
    pass(
        "extrema",
        |recipe| recipe.members.iter().any(|member| !member.unroll.is_empty()),
        Change(extrema::run),
    ),
    pass("superword", |recipe| recipe.schedule.superword().is_some(), Join(superword::run)),
    pass("item_coarsening", |recipe| recipe.schedule.item_coarsening().is_some(), Join(item_coarsening::run)),
    pass("unroll_and_jam", |recipe| recipe.schedule.is_jammed(), Change(unroll_and_jam::run)),
    pass("shuffle_promotion", |recipe| recipe.shuffles, Change(shuffle_promotion::run)),
    pass("subgroup_ids", |recipe| recipe.schedule.full_subgroups().is_some(), Change(subgroup_ids::run)),
    pass("hide_once", |recipe| recipe.zero_slot().is_some(), Change(hide_once::run)),
    pass("sink_stores", |recipe| recipe.late_stores.is_some(), Change(sink_stores::run)),
    pass("dce", |_| true, Change(dce::run)),
    pass("merge_returns", |recipe| recipe.converges.is_some(), Change(merge_returns)),
    pass("export", |_| true, Export),
];

/// A pass of emission. Its file says what it requires and what it guarantees.
struct Pass {
    /// The name of its file.
    name: &'static str,
    /// Whether a recipe asks for it.
    wanted: fn(&Recipe) -> bool,
    run: Run,
}

/// A change that needs the members' kernels.
type JoinPass = fn(&mut ir::Module, &Recipe, &[Arc<Specialized>]) -> Result<(), JitError>;

/// What a pass takes, and what it leaves.
enum Run {
    /// Changes a fused kernel under construction.
    Build(fn(&mut Emission<'_>) -> Result<(), JitError>),
    /// Completes its module.
    Finish(fn(Emission<'_>) -> Result<Module, JitError>),
    /// From rspirv's module to the IR.
    Import,
    /// Changes the IR.
    Change(fn(&mut ir::Module, &Recipe) -> Result<(), JitError>),
    /// Changes the IR by what the analysis knows of the members.
    Join(JoinPass),
    /// From the IR to rspirv's module.
    Export,
}

use Run::{Build, Change, Export, Finish, Import, Join};

/// The code between two passes.
enum Code<'a> {
    Emission(Box<Emission<'a>>),
    Module(Box<Module>),
    Ir(Box<ir::Module>),
}

const fn pass(name: &'static str, wanted: fn(&Recipe) -> bool, run: Run) -> Pass {
    Pass { name, wanted, run }
}

/// Links the members of the recipe, in order.
fn link_all(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let Emission { recipe, kernels, shared, linked, .. } = emission;
    for (number, (member, kernel)) in recipe.members.iter().zip(kernels.iter()).enumerate() {
        if member.kernel != kernel.hash {
            return Err(JitError::new("link", format!("kernel {} is not the one planned", kernel.name)));
        }
        let one = link::link(shared, recipe, member, kernel)?;
        linked.push(Linked { fenced: entry::needs_fence(recipe, kernels, number), ..one });
    }
    Ok(())
}

/// Gives each function a single return, behind all of its constructs.
fn merge_returns(module: &mut ir::Module, _: &Recipe) -> Result<(), JitError> {
    if mutant!(ReturnsStayApart) {
        return Ok(());
    }
    single_returns(module).map_err(|reason| JitError::new("merge_returns", reason.to_string()))
}

impl<'a> Code<'a> {
    fn after(self, pass: &Pass, recipe: &Recipe, kernels: &[Arc<Specialized>]) -> Result<Self, JitError> {
        Ok(match (&pass.run, self) {
            (Build(run), Self::Emission(mut emission)) => {
                run(&mut emission)?;
                Self::Emission(emission)
            }
            (Finish(run), Self::Emission(emission)) => Self::Module(Box::new(run(*emission)?)),
            (Import, Self::Module(module)) => Self::Ir(Box::new(ir::import(&module).map_err(|reason| {
                JitError { words: module.assemble(), ..JitError::new(pass.name, reason.to_string()) }
            })?)),
            (Change(run), Self::Ir(mut module)) => {
                run(&mut module, recipe)?;
                Self::Ir(module)
            }
            (Export, Self::Ir(module)) => {
                verify(pass, &module)?;
                Self::Module(Box::new(ir::export(&module)))
            }
            (Join(run), Self::Ir(mut module)) => {
                run(&mut module, recipe, kernels)?;
                Self::Ir(module)
            }
            _ => return Err(JitError::new(pass.name, "it stands in the wrong place of the pipeline")),
        })
    }
}

/// Checks the invariants of the IR at a pass.
fn verify(pass: &Pass, module: &ir::Module) -> Result<(), JitError> {
    ir::verify(module).map_err(|fault| JitError::new(pass.name, format!("{fault}\n{module}")))
}

/// What a pass left.
pub(super) struct After<'a> {
    /// The pass.
    pub(super) pass: &'static str,
    /// How long it ran.
    pub(super) took: Duration,
    code: &'a Code<'a>,
}

impl After<'_> {
    /// The module, which is complete only from `finish` on.
    pub(super) fn module(&self) -> Cow<'_, Module> {
        match self.code {
            Code::Emission(emission) => Cow::Owned(ir::export(&emission.shared.module)),
            Code::Module(module) => Cow::Borrowed(module),
            Code::Ir(module) => Cow::Owned(ir::export(module)),
        }
    }

    /// A complete module of what the pass left, for spirv-val: of a copy, finished as if no pass came behind. An emission without an entry
    /// point has one here that calls nothing.
    pub(super) fn finished(&self) -> Result<Cow<'_, Module>, JitError> {
        let Code::Emission(emission) = self.code else { return Ok(self.module()) };
        let mut copy = (**emission).clone();
        if copy.entry.is_none() {
            copy.entry = Some(entry::function(&mut copy.shared.module));
        }
        finish::run(copy).map(Cow::Owned)
    }
}

/// Sees what each pass leaves. An error ends emission.
pub(super) type Observer<'a> = dyn FnMut(&After<'_>) -> Result<(), JitError> + 'a;

/// The module that the passes make of an emission which has only begun.
pub(super) fn run(emission: Emission<'_>, observer: &mut Observer<'_>) -> Result<Module, JitError> {
    let (recipe, kernels) = (emission.recipe, emission.kernels);
    let mut code = Code::Emission(Box::new(emission));
    for pass in PIPELINE.iter().filter(|pass| (pass.wanted)(recipe)) {
        let start = Instant::now();
        code = code.after(pass, recipe, kernels)?;
        let took = start.elapsed();
        if let (Code::Ir(module), true) = (&code, cfg!(debug_assertions)) {
            verify(pass, module)?;
        }
        observer(&After { pass: pass.name, took, code: &code })?;
    }
    match code {
        Code::Module(module) => Ok(*module),
        Code::Emission(_) | Code::Ir(_) => Err(JitError::new("pipeline", "no pass exports the module")),
    }
}
