//! What reaches a driver of a kernel that runs alone, against the module that the user compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, ExecutionMode, ExecutionModel, Op};
use vkfuse_jit::kernel::{FloatControls, FloatWidths};
use vkfuse_jit::plan::{
    Arg, BufferId, CodeChange, FloatMode, Limits, Promote, Step, Submission, plan_unfused,
};

use super::corpus;

/// The kernels of the table in the page: each has its kind of change.
const SHOWN: [&str; 8] = ["atomics", "chain.g", "hlsl.0g", "mixed", "naga", "precise", "shared.g", "spec"];

const SINGLE: FloatWidths = FloatWidths { f32: true, ..FloatWidths::NONE };

/// A device with float controls for single floats.
fn limits() -> Limits {
    let float_controls = FloatControls { special: SINGLE, denormals: SINGLE, rounding: FloatWidths::NONE };
    Limits { float_controls, max_push_bytes: 256, ..Limits::default() }
}

/// One work-group of a kernel, alone.
fn alone(name: &str, float: FloatMode) -> Option<Step> {
    let module = corpus::module(name);
    let entry = module.entry_points().last()?.clone();
    let kernel = vkfuse_jit::kernel::Kernel::new(&module, Some(&entry)).ok()?.specialize(&[]).ok()?;
    let arg = |(number, binding): (usize, &vkfuse_jit::kernel::Binding)| Arg {
        at: binding.at,
        buffer: BufferId(number as u64),
        offset: 0,
        len: 4096,
        promote: Promote::None,
        numbers: None,
        image: None,
    };
    let args = kernel.interface.bindings.iter().enumerate().map(arg).collect();
    let push = vec![0; kernel.interface.push.as_ref().map_or(0, |push| push.size as usize)];
    let one = Submission { kernel, base: [0; 3], groups: [1; 3], args, push: push.into() };
    Some(plan_unfused(&one, float, &limits()).expect("one work-group fits"))
}

/// Decorations of one id that say how floats are computed.
fn float_decorations(module: &Module, id: u32) -> BTreeSet<String> {
    let kinds = [Decoration::NoContraction, Decoration::RelaxedPrecision, Decoration::FPFastMathMode];
    let is_it = |inst: &&Instruction| {
        let of = inst.class.opcode == Op::Decorate && inst.operands[0] == Operand::IdRef(id);
        of && kinds.iter().any(|kind| inst.operands[1] == Operand::Decoration(*kind))
    };
    module.annotations.iter().filter(is_it).map(|inst| format!("{:?}", &inst.operands[1..])).collect()
}

/// Execution modes of an entry point except its size, by name and operands.
fn modes(module: &Module, entry: u32) -> BTreeSet<String> {
    let size = [ExecutionMode::LocalSize, ExecutionMode::LocalSizeId];
    let of = module.execution_modes.iter().filter(|inst| inst.operands[0] == Operand::IdRef(entry));
    let of = of.filter(|inst| !size.iter().any(|mode| inst.operands[1] == Operand::ExecutionMode(*mode)));
    of.map(|inst| format!("{:?}", &inst.operands[1..])).collect()
}

/// The function of the last entry point, and all that it calls, in the order of the module.
fn functions(module: &Module) -> (u32, Vec<Vec<&Instruction>>) {
    let compute = Operand::ExecutionModel(ExecutionModel::GLCompute);
    let entry = module.entry_points.iter().rfind(|inst| inst.operands[0] == compute);
    let entry = entry.expect("an entry point").operands[1].unwrap_id_ref();
    let (mut reached, mut queue) = (BTreeSet::new(), vec![entry]);
    while let Some(id) = queue.pop() {
        if !reached.insert(id) {
            continue;
        }
        let function = module.functions.iter().find(|function| function.def_id() == Some(id));
        let calls = function.into_iter().flat_map(|function| function.all_inst_iter());
        let calls = calls.filter(|inst| inst.class.opcode == Op::FunctionCall);
        queue.extend(calls.map(|inst| inst.operands[0].unwrap_id_ref()));
    }
    let sets = module.ext_inst_imports.iter();
    let debug: Vec<u32> = sets
        .filter(|inst| matches!(&inst.operands[0], Operand::LiteralString(name) if name.starts_with("NonSemantic")))
        .filter_map(|inst| inst.result_id)
        .collect();
    let runs = |inst: &&Instruction| match inst.class.opcode {
        Op::Line | Op::NoLine => false,
        Op::ExtInst => !debug.contains(&inst.operands[0].unwrap_id_ref()),
        _ => true,
    };
    let kept = module.functions.iter().filter(|f| f.def_id().is_some_and(|id| reached.contains(&id)));
    (entry, kept.map(|function| function.all_inst_iter().filter(runs).collect()).collect())
}

/// The ids of an instruction, in order, and what it is besides.
fn parts(inst: &Instruction) -> (Vec<u32>, String) {
    let mut ids: Vec<u32> = inst.result_type.into_iter().chain(inst.result_id).collect();
    let mut rest = format!("{:?}", inst.class.opcode);
    for operand in &inst.operands {
        match operand.id_ref_any() {
            Some(id) => ids.push(id),
            None => rest.push_str(&format!(" {operand:?}")),
        }
    }
    (ids, rest)
}

/// Under `contract` the instructions that run are the user's, one for one and up to the numbers of ids, and so are execution modes and
/// what decorations say of floats.
#[test]
fn under_contract_what_runs_is_what_the_user_compiled() {
    let mut compared = 0;
    for name in corpus::names() {
        let words = corpus::module_or_none(&name).map(|module| module.words().to_vec());
        let Some(words) = words else { continue };
        let Ok(user) = rspirv::dr::load_words(&words) else { continue };
        let Some(step) = alone(&name, FloatMode::Contract) else { continue };
        let changes = step.changes();
        assert!(changes.iter().all(|change| *change == CodeChange::Layouts), "{name}: {changes:?}");
        let built = rspirv::dr::load_words(&step.build().expect("a module")[..]).expect("a module");
        let ((entry, before), (own, after)) = (functions(&user), functions(&built));
        assert_eq!(before.len(), after.len(), "{name}");
        let mut ids: BTreeMap<u32, u32> = BTreeMap::new();
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before.len(), after.len(), "{name}");
            for (a, b) in before.iter().zip(after) {
                let ((a_ids, a), (b_ids, b)) = (parts(a), parts(b));
                assert_eq!(a, b, "{name}");
                for (a, b) in a_ids.iter().zip(&b_ids) {
                    assert_eq!(ids.entry(*a).or_insert(*b), b, "{name}: %{a}");
                }
                assert_eq!(a_ids.len(), b_ids.len(), "{name}");
            }
        }
        assert_eq!(modes(&user, entry), modes(&built, own), "{name}");
        for (a, b) in &ids {
            // One id of the user's is one id of the driver's, unless two constants became equal.
            assert_eq!(float_decorations(&user, *a), float_decorations(&built, *b), "{name}: %{a}");
        }
        compared += 1;
    }
    println!("{compared} modules");
    assert!(compared >= 40, "{compared}");
}

/// The changes to a kernel that are read off the two modules, and not off the step.
fn seen(name: &str, step: &Step) -> Vec<CodeChange> {
    let user = rspirv::dr::load_words(corpus::module(name).words()).expect("a module");
    let built = rspirv::dr::load_words(&step.build().expect("a module")[..]).expect("a module");
    let count = |module: &Module, kind: Decoration| {
        let with = module.annotations.iter();
        with.filter(|inst| inst.operands.contains(&Operand::Decoration(kind))).count()
    };
    let (entry, own) = (functions(&user).0, functions(&built).0);
    let ops = |module: &Module| -> Vec<Op> {
        functions(module).1.iter().flatten().map(|inst| inst.class.opcode).collect()
    };
    let products = [Op::Dot, Op::MatrixTimesVector, Op::VectorTimesMatrix, Op::MatrixTimesMatrix];
    let has_product = |ops: &[Op]| ops.iter().any(|op| products.contains(op));
    let mut changes = Vec::new();
    let mut note = |is_it: bool, change| changes.extend(is_it.then_some(change));
    note(
        count(&built, Decoration::NoContraction) > count(&user, Decoration::NoContraction),
        CodeChange::NoContraction,
    );
    note(
        count(&user, Decoration::RelaxedPrecision) > 0 && count(&built, Decoration::RelaxedPrecision) == 0,
        CodeChange::FullPrecision,
    );
    note(has_product(&ops(&user)) && !has_product(&ops(&built)), CodeChange::Formulas);
    note(modes(&built, own).len() > modes(&user, entry).len(), CodeChange::FloatControls);
    changes
}

/// The table of the page "What runs when nothing is fused". It is without `layouts`: whether these are taken off depends on the version
/// of spirv-val, since early ones allow them everywhere. `BLESS=1` writes it.
#[test]
fn the_page_lists_what_is_changed() {
    let words = |changes: &[CodeChange]| {
        let shown = changes.iter().filter(|&&change| change != CodeChange::Layouts);
        let shown: Vec<String> = shown.map(ToString::to_string).collect();
        if shown.is_empty() { "as compiled".to_owned() } else { shown.join(", ") }
    };
    let mut table = "| kernel | `contract` | `strict` |\n| --- | --- | --- |\n".to_owned();
    let mut all = BTreeSet::new();
    for name in SHOWN {
        let [contract, strict] = [FloatMode::Contract, FloatMode::Strict]
            .map(|float| alone(name, float).unwrap_or_else(|| panic!("{name} has no kernel")));
        let changes = strict.changes();
        for change in seen(name, &strict) {
            assert!(changes.contains(&change), "{name}: {change} is not among {changes:?}");
        }
        assert!(seen(name, &contract).is_empty(), "{name}");
        table.push_str(&format!("| `{name}` | {} | {} |\n", words(&contract.changes()), words(&changes)));
        all.extend(changes);
    }
    for change in [CodeChange::NoContraction, CodeChange::FloatControls, CodeChange::Closed] {
        assert!(all.contains(&change), "no kernel shows {change}");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/unfused.md");
    let text = std::fs::read_to_string(&page).expect("the page");
    let (start, end) = ("<!-- changes -->\n", "<!-- end of changes -->");
    let from = text.find(start).expect("the table's start") + start.len();
    let to = text.find(end).expect("the table's end");
    if std::env::var_os("BLESS").is_some() {
        let text = format!("{}{table}{}", &text[..from], &text[to..]);
        std::fs::write(&page, text).expect("a page that can be written");
    } else {
        assert_eq!(&text[from..to], table, "BLESS=1 writes the table");
    }
    // Every change has its line in the page.
    for change in CodeChange::ALL {
        assert!(
            text.contains(&format!("`{}`", change.word())),
            "the page does not explain {}",
            change.word()
        );
    }
}
