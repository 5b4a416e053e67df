//! Variables of the invocation in the place of built-ins.

use rspirv::spirv::{BuiltIn, StorageClass};

use crate::ir::entity::{Global, Value};
use crate::ir::{Builder, GlobalData, Module, PlaceData, Root};

/// Has all functions read variables of the invocation instead of those of these inputs that there are. Returns the variables, which nothing sets.
pub(super) fn redirect(module: &mut Module, builtins: &[BuiltIn]) -> Vec<(BuiltIn, Global)> {
    let inputs = builtins.iter().filter_map(|&builtin| Some((builtin, module.input(builtin)?)));
    let inputs: Vec<(BuiltIn, Global)> = inputs.collect();
    let class = StorageClass::Private;
    let mut variables = Vec::with_capacity(inputs.len());
    for (builtin, input) in inputs {
        let Some((_, pointee)) = module.types.pointer(module.globals[input].pointer) else { continue };
        let pointer = module.pointer(class, pointee);
        let variable = module.global(GlobalData { pointer, class, initializer: None, decorations: None });
        for func in module.defined.clone() {
            for place in module.functions[func].places.keys() {
                let data = module.functions[func].places[place].clone();
                if let (Root::Global(root), Some((_, pointee))) =
                    (data.root, module.types.pointer(data.pointer))
                    && root == input
                {
                    let (root, pointer) = (Root::Global(variable), module.pointer(class, pointee));
                    module.functions[func].places[place] = PlaceData { root, pointer, ..data };
                }
            }
        }
        variables.push((builtin, variable));
    }
    variables
}

/// Sets the variable that is read instead of an input.
pub(super) fn set(code: &mut Builder<'_>, builtin: BuiltIn, variable: Global, parts: &[Value; 3]) {
    let Some((_, ty)) = code.module.types.pointer(code.module.globals[variable].pointer) else { return };
    let value = match builtin {
        BuiltIn::LocalInvocationIndex => code.cast(parts[0], ty),
        _ => code.vector(parts, ty),
    };
    code.store(Root::Global(variable), &[], value);
}
