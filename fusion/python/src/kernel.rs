//! Kernels.

use pyo3::prelude::*;
use vkfuse::module::{ScalarClass, SpecType, SpecValue};

use crate::{errors, life::Own};

/// One entry point of a module.
#[pyclass(frozen, module = "vkfuse._native")]
pub(crate) struct Kernel {
    pub(crate) own: Own<vkfuse::Kernel>,
}

/// A specialization constant: number, name, numpy's name of the type, the bits of the default where there is one.
type Constant = (u32, Option<String>, &'static str, Option<u64>);
/// A buffer: set, binding, name, whether it may read, whether it may write.
type Bound = (u32, u32, Option<String>, bool, bool);
/// A scalar of the push constants: offset, bytes, kind.
type Member = (u32, u32, &'static str);

#[pymethods]
impl Kernel {
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.own.get()?.name().to_owned())
    }

    #[getter]
    fn entry(&self) -> PyResult<String> {
        Ok(self.own.get()?.entry().to_owned())
    }

    /// Specialization constants.
    #[getter]
    fn constants(&self) -> PyResult<Vec<Constant>> {
        let kernel = self.own.get()?;
        let constants = kernel.spec_constants().iter();
        let of = |one: &vkfuse::module::SpecConstant| {
            let default = (!one.required).then(|| one.default.bits());
            (one.id, one.name.clone(), type_name(one.ty), default)
        };
        Ok(constants.map(of).collect())
    }

    /// Work-group size, buffers and push constants, with these constants given by their bits.
    fn interface(&self, constants: Vec<(u32, u64)>) -> PyResult<([u32; 3], Vec<Bound>, Vec<Member>)> {
        let kernel = self.own.get()?;
        let values = values(&kernel, &constants);
        let specialized = kernel.specialized(&values).map_err(|error| errors::of(&error))?;
        let interface = &specialized.interface;
        let bindings = interface.bindings.iter().filter(|one| one.at.element == 0);
        let bindings =
            bindings.map(|one| (one.at.set, one.at.binding, one.name.clone(), one.reads, one.writes));
        let members = interface.push.iter().flat_map(|push| &push.members).map(|member| {
            let kind = match member.class {
                ScalarClass::Int => "i",
                ScalarClass::Uint | ScalarClass::Address => "u",
                ScalarClass::Float => "f",
            };
            (member.offset, member.size, kind)
        });
        Ok((interface.local_size, bindings.collect(), members.collect()))
    }
}

/// Values of the kernel's constants, of its types. One for a constant that the kernel does not declare is ignored, and noted in
/// reports, so its type is no matter.
pub(crate) fn values(kernel: &vkfuse::Kernel, given: &[(u32, u64)]) -> Vec<(u32, SpecValue)> {
    let find = |id: u32| kernel.spec_constants().iter().find(|one| one.id == id);
    let of = |&(id, bits): &(u32, u64)| {
        (id, find(id).map_or(SpecValue::U64(bits), |constant| constant.ty.value(bits)))
    };
    given.iter().map(of).collect()
}

fn type_name(ty: SpecType) -> &'static str {
    match ty {
        SpecType::Bool => "bool",
        SpecType::I8 => "int8",
        SpecType::U8 => "uint8",
        SpecType::I16 => "int16",
        SpecType::U16 => "uint16",
        SpecType::I32 => "int32",
        SpecType::U32 => "uint32",
        SpecType::I64 => "int64",
        SpecType::U64 => "uint64",
        SpecType::F16 => "float16",
        SpecType::F32 => "float32",
        SpecType::F64 => "float64",
    }
}
