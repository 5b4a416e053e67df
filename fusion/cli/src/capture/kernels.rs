//! What the kernels of a program read and write, with its specialization constants.

use super::program::{Pipeline, Program};
use crate::pipeline::check::load_module;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use vkfuse_jit::kernel::{Kernel, SpecType, Specialized};

/// A pipeline's kernel.
pub(super) struct Used {
    pub(super) kernel: Arc<Specialized>,
    /// Its constants as a pipeline file has them: `3 = { u32 = 64 }`.
    pub(super) spec: Vec<String>,
}

/// Kernels by the number of their pipeline, or why there is none.
#[derive(Default)]
pub(super) struct Kernels(BTreeMap<u64, Result<Arc<Used>, String>>);

impl Kernels {
    /// The kernel of a pipeline.
    pub(super) fn of(&mut self, program: &Program, id: u64) -> Result<Arc<Used>, String> {
        let load = || {
            let pipeline = program.pipelines.get(&id).ok_or("a pipeline that was not captured")?;
            load(program, pipeline).map(Arc::new)
        };
        self.0.entry(id).or_insert_with(load).clone()
    }
}

/// The file of a module.
pub(super) fn path(program: &Program, module: &str) -> PathBuf {
    program.folder.join("modules").join(format!("{module}.spv"))
}

fn load(program: &Program, pipeline: &Pipeline) -> Result<Used, String> {
    let known = vkfuse::cache::kernel_store(&vkfuse::CacheOptions::new());
    let module = load_module(&path(program, &pipeline.module), &pipeline.entry, &known)?;
    let kernel =
        Kernel::with_artifacts(&module, Some(&pipeline.entry), known).map_err(|error| error.to_string())?;
    let (mut values, mut spec) = (Vec::new(), Vec::new());
    for constant in kernel.spec_constants() {
        let Some(bits) = pipeline.spec.get(&constant.id).and_then(|hex| bits(hex)) else { continue };
        values.push((constant.id, constant.ty.value(bits)));
        spec.push(format!("{} = {{ {} }}", constant.id, written(constant.ty, bits)));
    }
    let kernel = kernel.specialize(&values).map_err(|error| error.to_string())?;
    Ok(Used { kernel, spec })
}

/// Bytes in hexadecimal as a number, the lowest first.
fn bits(hex: &str) -> Option<u64> {
    if hex.len() > 16 || !hex.len().is_multiple_of(2) {
        return None;
    }
    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok());
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// A value as a pipeline file has it.
fn written(ty: SpecType, bits: u64) -> String {
    match ty {
        SpecType::Bool => format!("bool = {}", bits != 0),
        SpecType::I8 => format!("i8 = {}", bits as i8),
        SpecType::U8 => format!("u8 = {}", bits as u8),
        SpecType::I16 => format!("i16 = {}", bits as i16),
        SpecType::U16 => format!("u16 = {}", bits as u16),
        SpecType::I32 => format!("i32 = {}", bits as i32),
        SpecType::U32 => format!("u32 = {}", bits as u32),
        SpecType::I64 => format!("i64 = {}", bits as i64),
        SpecType::U64 => format!("u64 = {bits}"),
        SpecType::F16 => format!("f16 = {}", float(f64::from(half::f16::from_bits(bits as u16)))),
        SpecType::F32 => format!("f32 = {}", float(f64::from(f32::from_bits(bits as u32)))),
        SpecType::F64 => format!("f64 = {}", float(f64::from_bits(bits))),
    }
}

/// A float in TOML: every finite one as digits that mean the same.
pub(super) fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    format!("{value:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_written_in_their_types() {
        assert_eq!(bits("feffffff"), Some(0xffff_fffe));
        assert_eq!(bits("fff"), None);
        assert_eq!(written(SpecType::I32, 0xffff_fffe), "i32 = -2");
        assert_eq!(written(SpecType::U32, 7), "u32 = 7");
        assert_eq!(written(SpecType::Bool, 1), "bool = true");
        assert_eq!(written(SpecType::F32, u64::from(0.1f32.to_bits())), "f32 = 0.10000000149011612");
        assert_eq!(float(f64::NEG_INFINITY), "-inf");
    }
}
