//! WGSL text to SPIR-V words, through naga.
//!
//! Buffer and array accesses are not bounds-checked: as for every other kernel, Vulkan's rules hold.

use naga::back::PipelineConstants;
use naga::back::pipeline_constants::process_overrides;
use naga::back::spv;
use naga::front::wgsl;
use naga::valid::{Capabilities, ValidationFlags, Validator};

use super::error::KernelError;
use super::overrides;

/// Compiles every entry point of a WGSL module. The words are checked like any other input afterwards.
pub(crate) fn compile(module: &str, text: &str) -> Result<Vec<u32>, KernelError> {
    let at = |location: Option<naga::SourceLocation>, message: String| KernelError::Wgsl {
        module: module.to_owned(),
        line: location.map_or(0, |location| location.line_number),
        column: location.map_or(0, |location| location.line_position),
        message,
    };
    let parse = |text: &str| {
        wgsl::parse_str(text).map_err(|error| at(error.location(text), error.message().to_owned()))
    };
    let parsed = parse(text)?;
    // The text has to be right as it is, before anything is put in the place of overrides.
    let open = overrides::open(&parsed, text);
    let with_variables = (!open.is_empty()).then(|| overrides::with_variables(text, &open));
    let (parsed, text) = match &with_variables {
        Some(changed) => (parse(changed)?, changed.as_str()),
        None => (parsed, text),
    };
    // Which features the device has is the runtime's question; the SPIR-V says what it needs.
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(&parsed).map_err(|error| {
        let location = error.location(text);
        at(location, full_message(&error.into_inner()))
    })?;
    let options = spv::Options {
        lang_version: (1, 3),
        // Names, for messages; they are stripped from what runs.
        flags: spv::WriterFlags::DEBUG,
        // Bounded loops would count iterations in every kernel; a loop that never ends is a bug either way.
        force_loop_bounding: false,
        ..spv::Options::default()
    };
    // Overrides with a default keep it. naga cannot leave them open in SPIR-V.
    let (parsed, info) = process_overrides(&parsed, &info, None, &PipelineConstants::default())
        .map_err(|error| at(None, full_message(&error)))?;
    let words =
        spv::write_vec(&parsed, &info, &options, None).map_err(|error| at(None, error.to_string()))?;
    Ok(if open.is_empty() { words } else { overrides::as_constants(&words, &open) })
}

/// An error with its causes, in one line.
fn full_message(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        message.push_str(": ");
        message.push_str(&cause.to_string());
        next = cause.source();
    }
    message
}
