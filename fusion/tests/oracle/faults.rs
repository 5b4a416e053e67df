//! Faults of a front end, seeded: the engine is given what a front end with that fault would have made of the input, and the oracle has to
//! notice. That it does is what makes its silence worth something.

use vkfuse::module::SpecValue;

use super::compare::{Oracle, Verdict};
use super::inputs::{Input, all, assembled, of_spec_ids};
use super::list::List;

/// A fault.
struct Fault {
    what: &'static str,
    /// The input that shows it.
    input: &'static str,
    /// What becomes of the list in the engine.
    spoil: fn(&Input, &mut List),
}

/// The module with another text.
fn written(list: &mut List, text: &str) {
    let words = assembled(text);
    list.calls.iter_mut().for_each(|call| call.vulkan.words = words.clone());
}

const FAULTS: &[Fault] = &[
    Fault {
        what: "a SpecId by decoration group is ignored",
        input: "a value by a group",
        spoil: |input, list| written(list, &input.text.replace("OpDecorate %grp SpecId 3\n", "")),
    },
    Fault {
        what: "the default is used though a value is given",
        input: "a value",
        spoil: |_, list| list.calls.iter_mut().for_each(|call| call.spec.clear()),
    },
    Fault {
        what: "constants of one SpecId have the last one's default",
        input: "two defaults of one SpecId",
        spoil: |input, list| {
            written(list, &input.text.replace("%K = OpSpecConstant %u 5", "%K = OpSpecConstant %u 64"));
        },
    },
    Fault {
        what: "a value is taken for that of another id",
        input: "constants by operations, given",
        spoil: |_, list| {
            for (id, value) in list.calls.iter_mut().flat_map(|call| &mut call.spec) {
                if *id == 3 {
                    *value = SpecValue::U32(0x7000_0002);
                }
            }
        },
    },
    Fault {
        what: "an operation on constants is folded wrongly",
        input: "constants by operations",
        spoil: |input, list| {
            written(list, &input.text.replace("OpSpecConstantOp %i SRem", "OpSpecConstantOp %i SMod"));
        },
    },
    Fault {
        what: "a logical shift of a signed constant",
        input: "constants by operations",
        spoil: |input, list| {
            written(list, &input.text.replace("ShiftRightArithmetic", "ShiftRightLogical"));
        },
    },
    Fault {
        what: "a Boolean constant keeps its default",
        input: "constants by operations, given",
        spoil: |_, list| {
            list.calls.iter_mut().for_each(|call| call.spec.retain(|(id, _)| *id != 5));
        },
    },
    Fault {
        what: "an array has its default length",
        input: "arrays of a given length",
        spoil: |_, list| list.calls.iter_mut().for_each(|call| call.spec.clear()),
    },
    Fault {
        what: "an array whose length is a constant has another stride",
        input: "arrays of a given length",
        spoil: |input, list| {
            let stride = "OpDecorate %own ArrayStride";
            written(list, &input.text.replace(&format!("{stride} 4"), &format!("{stride} 8")));
        },
    },
    Fault {
        what: "LocalSizeId is ignored",
        input: "LocalSizeId, given",
        spoil: |input, list| {
            let mode = "OpExecutionModeId %main LocalSizeId %K %u1 %u1";
            written(list, &input.text.replace(mode, "OpExecutionMode %main LocalSize 64 1 1"));
        },
    },
    Fault {
        what: "WorkgroupSize does not override LocalSize",
        input: "WorkgroupSize",
        spoil: |input, list| {
            written(list, &input.text.replace("OpDecorate %size BuiltIn WorkgroupSize", ""));
        },
    },
    Fault {
        what: "the wrong one of two entry points is chosen",
        input: "the first entry point",
        spoil: |_, list| {
            list.calls.iter_mut().for_each(|call| call.vulkan.entry = "another one".to_owned());
        },
    },
    Fault {
        what: "offsets of push constants are ignored",
        input: "push constants with offsets",
        spoil: |input, list| {
            let text = input.text.replace("%PC 0 Offset 4", "%PC 0 Offset 0");
            written(list, &text.replace("%PC 1 Offset 12", "%PC 1 Offset 4"));
        },
    },
    Fault {
        what: "a range begins where its buffer begins",
        input: "a range that begins later",
        spoil: |_, list| {
            list.calls.iter_mut().flat_map(|call| &mut call.vulkan.args).for_each(|arg| arg.offset = 0);
        },
    },
    Fault {
        what: "the first work-group is number zero",
        input: "work-groups that begin later",
        spoil: |_, list| list.calls.iter_mut().for_each(|call| call.vulkan.base = [0; 3]),
    },
];

/// Runs all faults; what went unnoticed.
pub(crate) fn unnoticed(oracle: &mut Oracle) -> (usize, Vec<String>) {
    let inputs: Vec<Input> = all().into_iter().chain(of_spec_ids()).collect();
    let mut missed = Vec::new();
    let drivers_own = oracle.drivers_own();
    for fault in FAULTS.iter().filter(|fault| !drivers_own.contains(&fault.input)) {
        let input = inputs.iter().find(|input| input.name == fault.input).expect("an input of that name");
        let list = input.list();
        let mut spoilt = list.clone();
        (fault.spoil)(input, &mut spoilt);
        match oracle.check(&list, &spoilt) {
            Err(Verdict::Wrong(_)) => {}
            // The engine refuses the spoilt list: it counts more invocations than the buffers have room for.
            Err(Verdict::Skipped(why)) if why.contains("pass a longer part") => {}
            other => missed.push(format!("{} ({}): {other:?}", fault.what, fault.input)),
        }
    }
    (FAULTS.len(), missed)
}
