//! WGSL overrides, as specialization constants.
//!
//! naga cannot leave an override open in SPIR-V: what sizes an array or a work-group, and what other overrides are made of, has to
//! be known when the words are written. So the parsed text is kept, and the words of a kernel are written when the values are given.
//!
//! # Guarantees
//! - every override can be given a value, and is then what WGSL says: also where it sizes an array or a work-group, and where
//!   another override is made of it
//! - each is known by its `@id`. One without an `@id` has the lowest number that no other override has: first those without a
//!   default, then the others, each in the order of the text
//!
//! # Refuses
//! - what is no valid module with the values given, as a size of zero
//! - numbers that are not finite, which WGSL does not allow

use std::collections::BTreeMap;

use ahash::AHashMap;
use naga::back::PipelineConstants;
use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::{
    Expression, Handle, Literal, Module, Override, Scalar, ScalarKind, SourceLocation, Span, TypeInner,
};

use super::translate::{self, Parsed};
use crate::frontend::error::KernelError;
use crate::frontend::spec::{SpecConstant, SpecValue};
use crate::frontend::spec_type::SpecType;

/// The overrides of a text, with all that it takes to write words for values of theirs.
pub(crate) struct Overrides {
    name: String,
    text: String,
    hash: [u8; 32],
    parsed: Parsed,
    /// Ascending by id.
    constants: Vec<SpecConstant>,
    /// What naga calls each of them; in the same order.
    keys: Vec<String>,
    /// Where each of them is declared.
    spans: Vec<Span>,
    defaults: Vec<u32>,
}

impl Overrides {
    /// The overrides of a parsed text.
    pub(super) fn of(name: &str, text: &str, parsed: Parsed) -> Result<Overrides, KernelError> {
        let numbered = numbered(&parsed.module);
        let mut constants = Vec::with_capacity(numbered.len());
        let mut keys = Vec::with_capacity(numbered.len());
        let mut spans = Vec::with_capacity(numbered.len());
        for (&id, &handle) in &numbered {
            let one = &parsed.module.overrides[handle];
            let span = parsed.module.overrides.get_span(handle);
            let ty = spec_type(&parsed.module, one).ok_or_else(|| {
                let named = one.name.as_deref().unwrap_or("?");
                let message = format!("override `{named}` is of a type that takes no value");
                translate::error(name, place(span, text), message)
            })?;
            let literal = one.init.and_then(|init| literal(&parsed.module, init));
            constants.push(SpecConstant {
                id,
                name: one.name.clone(),
                ty,
                default: literal.unwrap_or_else(|| ty.value(0)),
                required: one.init.is_none(),
                derived: one.init.is_some() && literal.is_none(),
                shared: Vec::new(),
            });
            keys.push(one.id.map_or_else(|| one.name.clone().unwrap_or_default(), |id| id.to_string()));
            spans.push(span);
        }
        let hash = blake3::derive_key("vkfuse wgsl with overrides, version 1", text.as_bytes());
        let (name, text, defaults) = (name.to_owned(), text.to_owned(), Vec::new());
        let mut overrides = Overrides { name, text, hash, parsed, constants, keys, spans, defaults };
        overrides.write_defaults()?;
        Ok(overrides)
    }

    pub(crate) fn constants(&self) -> &[SpecConstant] {
        &self.constants
    }

    /// What tells this text from all others.
    pub(crate) fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// The words with all overrides at their defaults, and those without a default at some value: for what does not depend on
    /// values, such as the names of entry points.
    pub(super) fn defaults(&self) -> &[u32] {
        &self.defaults
    }

    fn write_defaults(&mut self) -> Result<(), KernelError> {
        let mut first = None;
        // A value that is as good as any other for most; what is made of it may have to be more than zero, or a multiple.
        for (stand_in, every) in [(1, false), (64, false), (1, true), (64, true)] {
            let stands_in = |one: &&SpecConstant| one.required || every && !one.derived;
            let values: Vec<(u32, SpecValue)> = self
                .constants
                .iter()
                .filter(stands_in)
                .map(|one| (one.id, number(one.ty, stand_in)))
                .collect();
            match self.processed(&values) {
                Ok((words, known)) => {
                    for one in self.constants.iter_mut().filter(|one| one.derived) {
                        let known = one.name.as_ref().and_then(|name| known.get(name));
                        one.default = known.copied().unwrap_or(one.default);
                    }
                    self.defaults = words;
                    return Ok(());
                }
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| translate::error(&self.name, None, "it has no overrides".to_owned())))
    }

    /// The words with these values, as `spec::resolve` gives them.
    pub(crate) fn words(&self, given: &[(u32, u64)]) -> Result<Vec<u32>, KernelError> {
        let value = |&(id, bits): &(u32, u64)| {
            let at = self.constants.binary_search_by_key(&id, |one| one.id).ok()?;
            Some((id, self.constants[at].ty.value(bits)))
        };
        let values: Vec<(u32, SpecValue)> = given.iter().filter_map(value).collect();
        Ok(self.processed(&values)?.0)
    }

    /// The words with these values, and what each override then is, by name.
    fn processed(
        &self,
        given: &[(u32, SpecValue)],
    ) -> Result<(Vec<u32>, AHashMap<String, SpecValue>), KernelError> {
        let mut values = PipelineConstants::default();
        for (one, key) in self.constants.iter().zip(&self.keys) {
            if let Some((_, value)) = given.iter().find(|(id, _)| *id == one.id) {
                values.insert(key.clone(), float(*value));
            }
        }
        let (module, info) = process_overrides(&self.parsed.module, &self.parsed.info, None, &values)
            .map_err(|error| {
                translate::error(&self.name, self.place(&error, given), translate::full_message(&error))
            })?;
        let words = translate::write(&self.name, &module, &info)?;
        let known = module.constants.iter().filter_map(|(_, one)| {
            let value = literal(&module, one.init)?;
            Some((one.name.clone()?, value))
        });
        Ok((words, known.collect()))
    }
}

impl Overrides {
    /// Where it lies that the text is no module with these values: the declaration of the override, as far as it is known which.
    fn place(&self, error: &PipelineConstantError, given: &[(u32, SpecValue)]) -> Option<SourceLocation> {
        let declared = |at: usize| place(*self.spans.get(at)?, &self.text);
        match error {
            PipelineConstantError::MissingValue(key) => {
                declared(self.keys.iter().position(|known| known == key)?)
            }
            PipelineConstantError::SrcNeedsToBeFinite => {
                let (id, _) = given.iter().find(|(_, value)| !float(*value).is_finite())?;
                declared(self.constants.binary_search_by_key(id, |one| one.id).ok()?)
            }
            PipelineConstantError::NegativeWorkgroupSize => {
                let sizes =
                    self.parsed.module.entry_points.iter().filter_map(|one| one.workgroup_size_overrides);
                let mut sizes = sizes.flatten().flatten();
                // With several candidates the right one is unknown.
                let only = sizes.next().filter(|_| sizes.next().is_none())?;
                let expressions = &self.parsed.module.global_expressions;
                let span = match expressions[only] {
                    Expression::Override(handle) => self.parsed.module.overrides.get_span(handle),
                    _ => expressions.get_span(only),
                };
                place(span, &self.text)
            }
            PipelineConstantError::ValidationError(error) => error.location(&self.text),
            _ => None,
        }
    }
}

/// The place of a span that is one of a text.
fn place(span: Span, text: &str) -> Option<SourceLocation> {
    span.is_defined().then(|| span.location(text))
}

/// The overrides of a module by their numbers.
fn numbered(module: &Module) -> BTreeMap<u32, Handle<Override>> {
    let all = || module.overrides.iter();
    let mut numbers: BTreeMap<u32, Handle<Override>> =
        all().filter_map(|(handle, one)| Some((u32::from(one.id?), handle))).collect();
    let is_named = |one: &Override| one.id.is_none() && one.name.is_some();
    let open = all().filter(|(_, one)| is_named(one) && one.init.is_none());
    let others = all().filter(|(_, one)| is_named(one) && one.init.is_some());
    let mut next = 0;
    for (handle, _) in open.chain(others) {
        while numbers.contains_key(&next) {
            next += 1;
        }
        numbers.insert(next, handle);
    }
    numbers
}

fn spec_type(module: &Module, one: &Override) -> Option<SpecType> {
    let TypeInner::Scalar(Scalar { kind, width }) = module.types[one.ty].inner else { return None };
    Some(match (kind, width) {
        (ScalarKind::Bool, _) => SpecType::Bool,
        (ScalarKind::Sint, 2) => SpecType::I16,
        (ScalarKind::Uint, 2) => SpecType::U16,
        (ScalarKind::Sint, 4) => SpecType::I32,
        (ScalarKind::Uint, 4) => SpecType::U32,
        (ScalarKind::Float, 2) => SpecType::F16,
        (ScalarKind::Float, 4) => SpecType::F32,
        (ScalarKind::Float, 8) => SpecType::F64,
        _ => return None,
    })
}

fn literal(module: &Module, of: Handle<Expression>) -> Option<SpecValue> {
    let Expression::Literal(literal) = module.global_expressions[of] else { return None };
    Some(match literal {
        Literal::Bool(value) => SpecValue::Bool(value),
        Literal::I16(value) => SpecValue::I16(value),
        Literal::U16(value) => SpecValue::U16(value),
        Literal::I32(value) => SpecValue::I32(value),
        Literal::U32(value) => SpecValue::U32(value),
        Literal::F16(value) => SpecValue::F16(value.to_bits()),
        Literal::F32(value) => SpecValue::F32(value),
        Literal::F64(value) => SpecValue::F64(value),
        _ => return None,
    })
}

/// A small whole number, of a type.
fn number(ty: SpecType, number: u8) -> SpecValue {
    match ty {
        SpecType::F16 => SpecValue::F16(half::f16::from(number).to_bits()),
        SpecType::F32 => SpecValue::F32(f32::from(number)),
        SpecType::F64 => SpecValue::F64(f64::from(number)),
        _ => ty.value(u64::from(number)),
    }
}

/// A value as WebGPU passes it. Every value of the types that overrides have is one.
fn float(value: SpecValue) -> f64 {
    match value {
        SpecValue::Bool(value) => f64::from(u8::from(value)),
        SpecValue::I8(value) => f64::from(value),
        SpecValue::U8(value) => f64::from(value),
        SpecValue::I16(value) => f64::from(value),
        SpecValue::U16(value) => f64::from(value),
        SpecValue::I32(value) => f64::from(value),
        SpecValue::U32(value) => f64::from(value),
        SpecValue::I64(value) => value as f64,
        SpecValue::U64(value) => value as f64,
        SpecValue::F16(bits) => half::f16::from_bits(bits).to_f64(),
        SpecValue::F32(value) => f64::from(value),
        SpecValue::F64(value) => value,
    }
}
