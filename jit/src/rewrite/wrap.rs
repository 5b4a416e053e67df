//! Writes a loop or a guard around the body of a kernel, and makes its ids those of the item that it is to do.
//!
//! # Requires
//! - a free kernel in normal form (`free::why_not_free`)
//!
//! # Guarantees
//! - the body runs for an item exactly as in an invocation of the kernel's own dispatch: local variables are as at the start of
//!   one, and a return ends that item alone
//! - [`Order`] says which items an invocation does; the rest of the module is unchanged, except that divisions of an item's number
//!   by `w` use the quotient and remainder that are known already
//!
//! # Refuses
//! - ids used otherwise than by loads; what [`Words`] refuses
//! - a loop around a body that returns from inside of a loop: nothing leads from there to the next item

use rspirv::spirv::{BuiltIn, LoopControl, Op, SelectionControl};

use super::built_ins::BuiltIns;
use super::order::{Numbering, Order, line_of};
use super::quotient;
use super::words::Words;
use super::writer::{Result, words_at};
use crate::frontend::fold_returns;
use crate::ir::entity::{Func, Value};
use crate::ir::{Builder, ConstructKind, EdgeArgs, End, Function, Module, Root};
use crate::kernel::Specialized;

/// What stands around the body.
enum Around {
    /// A loop that counts from the first number up to the second one, by the third one.
    Loop([Value; 3]),
    /// A selection, where both conditions hold.
    Guard([Value; 2]),
}

/// A copy of a kernel's module to be changed, and its function.
pub(super) fn copied(kernel: &Specialized) -> Result<(Module, Func)> {
    let normal = kernel.normal.as_ref().map_err(|_| "no normal form")?;
    let module = normal.ir().ok_or("no structured form")?.clone();
    let &[func] = module.defined.as_slice() else { return Err("several functions") };
    Ok((module, func))
}

/// The kernel in another order.
///
/// `widths` are the first bytes of words of its push constants that are `w`.
pub(super) fn wrap(
    kernel: &Specialized,
    numbering: Numbering,
    order: Order,
    local: [u32; 3],
    widths: &[u32],
) -> Result<Module> {
    let (mut module, func) = copied(kernel)?;
    if order == Order::Rows {
        if returns_in_a_loop(&module.functions[func]) {
            return Err("it returns from inside of a loop");
        }
        // A single way leads to the next item: loops with several cannot be unrolled, and one driver fails to compile some of
        // them (docs/drivers.md).
        fold_returns(&mut module, func);
    }
    let mut ids = BuiltIns::of(&module);
    let counted = numbering.counted().len() as u32;
    let words = Words::append(&mut module, func, words_at(kernel), order.words() + counted)?;
    let body = module.functions[func].enclose();
    let mut code = Builder::new(&mut module, func);
    // Row and column: the column is what a loop counts.
    let mut before = Vec::new();
    let (place, item, around) = match order {
        // `for (j = l; j < w; j += L) body(r w + j)`
        Order::Rows => {
            let dim = line_of(local).ok_or("rows of work-groups that are no line")?;
            let row = code.component(BuiltIn::WorkgroupId, 0);
            let start = code.component(BuiltIn::LocalInvocationId, dim as u32);
            let width = words.load(&mut code, 0);
            let base = code.math(Op::IMul, row, width);
            let step = code.word(local[dim] + u32::from(mutant!(RoundsAreLonger)));
            before = std::mem::take(&mut code.nodes);
            let number = code.module.u32();
            let column = code.function().param(body, number, None);
            let item = code.math(Op::IAdd, base, column);
            ([row, column], item, Around::Loop([start, width, step]))
        }
        // `if (x < w && y w + x < n) body(y w + x)`
        Order::Grid => {
            let [x, y] = [0, 1].map(|dim| code.component(BuiltIn::GlobalInvocationId, dim));
            let [width, total] = [0, 1].map(|number| words.load(&mut code, number));
            let row = code.math(Op::IMul, y, width);
            let item = code.math(Op::IAdd, row, x);
            let in_row = code.test(Op::ULessThan, x, width);
            let in_range = code.test(Op::ULessThan, item, total);
            let in_row = if mutant!(RowsGoOn) { in_range } else { in_row };
            ([y, x], item, Around::Guard([in_row, in_range]))
        }
        // `if (x >= s && x < e) body(x - s)`
        Order::Line => {
            let x = code.component(BuiltIn::GlobalInvocationId, 0);
            let [start, end] = [0, 1].map(|number| words.load(&mut code, number));
            let item = code.math(Op::ISub, x, start);
            let is_behind = code.test(Op::UGreaterThanEqual, x, start);
            let is_before = code.test(Op::ULessThan, x, end);
            let is_behind = if mutant!(LinesBeginEarlier) { is_before } else { is_behind };
            ([x, x], item, Around::Guard([is_behind, is_before]))
        }
    };
    let before = if order == Order::Rows { before } else { std::mem::take(&mut code.nodes) };
    restart_variables(&mut code);
    let counts: Vec<Value> =
        (0..counted).map(|number| words.load(&mut code, order.words() + number)).collect();
    ids.number(&mut code, (item, place), kernel.interface.local_size, (numbering, &counts));
    let head = std::mem::take(&mut code.nodes);
    ids.replace(&mut module, func, body)?;
    if order != Order::Line {
        quotient::replace(&mut module, (func, body), item, place, widths);
    }
    module.functions[func].regions[body].nodes.splice(0..0, head);
    let mut code = Builder::new(&mut module, func);
    code.nodes = before;
    match around {
        Around::Loop(numbers) => {
            let to = code.counted((body, place[1]), numbers, LoopControl::NONE);
            let f = code.function();
            for region in f.regions_in(body) {
                if matches!(f.regions[region].end, End::Return(_)) {
                    f.regions[region].end = End::Continue { to, args: EdgeArgs::new() };
                }
            }
        }
        Around::Guard([a, b]) => {
            let both = code.test(Op::LogicalAnd, a, b);
            let out = code.function().region();
            let to = code.select(both, [body, out], Some(SelectionControl::NONE));
            code.function().regions[out].end = End::Exit { to, args: EdgeArgs::new() };
        }
    }
    code.begin();
    module.set_local_size(local);
    Ok(module)
}

/// The kernel with an empty body.
pub(super) fn nothing(kernel: &Specialized, local: [u32; 3]) -> Result<Module> {
    let (mut module, func) = copied(kernel)?;
    module.functions[func].enclose();
    module.functions[func].variables.clear();
    module.set_local_size(local);
    Ok(module)
}

/// Whether a kernel's body is empty.
pub(super) fn is_nothing(module: &Module) -> bool {
    let &[func] = module.defined.as_slice() else { return false };
    let f = &module.functions[func];
    f.regions[f.body].nodes.is_empty() && f.regions[f.body].end == End::Return(None)
}

fn returns_in_a_loop(f: &Function) -> bool {
    let mut loops = f.constructs_in(f.body).into_iter();
    loops.any(|one| {
        matches!(f.constructs[one].kind, ConstructKind::Loop { .. })
            && f.inside(one).into_iter().any(|region| matches!(f.regions[region].end, End::Return(_)))
    })
}

/// Stores what local variables start with, where each item begins.
fn restart_variables(code: &mut Builder<'_>) {
    for local in code.function().variables.clone() {
        let data = &mut code.function().locals[local];
        let Some(value) = data.initializer.filter(|_| !mutant!(VariablesKeepTheirValues)) else { continue };
        data.initializer = None;
        let ty = code.module.const_data(value).ty;
        let value = code.function().constant(value, ty);
        code.store(Root::Local(local), &[], value);
    }
}
