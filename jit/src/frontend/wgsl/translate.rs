//! WGSL text to SPIR-V words, through naga.
//!
//! Buffer and array accesses are not bounds-checked: as for every other kernel, Vulkan's rules hold.

use naga::back::spv;
use naga::front::wgsl;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Block, Expression, Function, Handle, Span, Statement};

use crate::frontend::error::KernelError;

/// A WGSL text, parsed and validated.
pub(super) struct Parsed {
    pub(super) module: naga::Module,
    pub(super) info: ModuleInfo,
}

/// Parses and validates a text.
pub(super) fn parse(name: &str, text: &str) -> Result<Parsed, KernelError> {
    let at = |location: Option<naga::SourceLocation>, message| error(name, location, message);
    let mut module =
        wgsl::parse_str(text).map_err(|error| at(error.location(text), error.message().to_owned()))?;
    for (_, function) in module.functions.iter_mut() {
        return_behind_loops(function);
    }
    // Which features the device has is the runtime's question; the SPIR-V says what it needs.
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(&module).map_err(|error| {
        let location = error.location(text);
        at(location, full_message(&error.into_inner()))
    })?;
    Ok(Parsed { module, info })
}

/// Gives a function that ends in a loop without an exit, as WGSL lets it, something to return behind that. naga's front end puts a
/// `return` there, without a value, which its validator refuses.
fn return_behind_loops(function: &mut Function) {
    let Function { result, expressions, body, .. } = function;
    if let Some(result) = result {
        return_at_end(body, &mut || expressions.append(Expression::ZeroValue(result.ty), Span::default()));
    }
}

/// The ends at which naga puts a `return`.
fn return_at_end(block: &mut Block, never: &mut impl FnMut() -> Handle<Expression>) {
    if let [
        ..,
        Statement::Loop { body, continuing, break_if: None },
        Statement::Return { value: value @ None },
    ] = &mut **block
        && !breaks(body)
        && !breaks(continuing)
    {
        *value = Some(never());
        return;
    }
    match block.last_mut() {
        Some(Statement::Block(inner)) => return_at_end(inner, never),
        Some(Statement::If { accept, reject, .. }) => {
            return_at_end(accept, never);
            return_at_end(reject, never);
        }
        Some(Statement::Switch { cases, .. }) => {
            cases.iter_mut().for_each(|case| return_at_end(&mut case.body, never));
        }
        _ => {}
    }
}

/// Whether a body of a loop leaves that loop.
fn breaks(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Break => true,
        Statement::Block(inner) => breaks(inner),
        Statement::If { accept, reject, .. } => breaks(accept) || breaks(reject),
        // Those of a switch, or of a loop inside, leave that.
        _ => false,
    })
}

/// The words of a module without overrides.
pub(super) fn write(name: &str, module: &naga::Module, info: &ModuleInfo) -> Result<Vec<u32>, KernelError> {
    spv::write_vec(module, info, &options(), None).map_err(|failed| error(name, None, failed.to_string()))
}

/// How naga writes SPIR-V. Every option is named, so that a new one does not compile until its value is decided here.
fn options() -> spv::Options<'static> {
    spv::Options {
        // Storage buffers have a storage class of their own since 1.3, and every Vulkan 1.1 device takes it. Later versions change
        // the interface of entry points and bring nothing that a kernel needs.
        lang_version: (1, 3),
        // Names, for messages; they are stripped from what runs. All other flags are about vertices, fragments and ray queries.
        flags: spv::WriterFlags::DEBUG,
        // A binding that the map does not have keeps the numbers of the text, which are what the user binds; without this
        // option it would be an error. naga's validator refuses resources without numbers.
        binding_map: spv::BindingMap::default(),
        fake_missing_bindings: true,
        // Any capability. What the device lacks is reported by name when a kernel is loaded for it.
        capabilities: None,
        // Vulkan's rules hold, as for kernels in any other language: an access out of bounds is the program's mistake, or defined by
        // `robustBufferAccess`. Checks would change indices, and no two kernels would be known to access the same element.
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Unchecked,
            buffer: BoundsCheckPolicy::Unchecked,
            image_load: BoundsCheckPolicy::Unchecked,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        // WGSL says that work-group memory begins as zeros. `Native` would need a device feature.
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::Polyfill,
        // A bounded loop counts its iterations in every kernel. A loop that never ends is a mistake either way.
        force_loop_bounding: false,
        // Ray queries and ray tracing pipelines: kernels with them run alone. Their state is tracked as WGSL asks for.
        ray_query_initialization_tracking: true,
        trace_ray_argument_validation: true,
        // The capability `StorageInputOutput16` is for `f16` in the inputs and outputs of a stage, which a kernel has none of. naga
        // declares it for every module with `f16` if it may, and devices without it would refuse the kernel.
        use_storage_input_output_16: false,
        // Lines would come as `OpLine`, with the whole text in the module.
        debug_info: None,
        // Task and mesh shaders.
        task_dispatch_limits: None,
        mesh_shader_primitive_indices_clamp: true,
        // WGSL defines `x / 0` and `x % 0`, and SPIR-V does not.
        emit_int_div_checks: true,
    }
}

/// An error at a place of a text, if it is known where.
pub(super) fn error(name: &str, location: Option<naga::SourceLocation>, message: String) -> KernelError {
    KernelError::Wgsl {
        module: name.to_owned(),
        line: location.map_or(0, |location| location.line_number),
        column: location.map_or(0, |location| location.line_position),
        message,
    }
}

/// An error with its causes, in one line.
pub(super) fn full_message(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        message.push_str(": ");
        message.push_str(&cause.to_string());
        next = cause.source();
    }
    message
}
