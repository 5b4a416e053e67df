//! Raises the version to the lowest in which the normal form can be written.
//!
//! # Requires
//! - nothing
//!
//! # Guarantees
//! - version 1.3 or later, without the extensions that this makes core
//!
//! # Leaves alone
//! - later versions, other extensions

use rspirv::dr::{Module, Operand};

/// The lowest version in which the normal form can be written without extensions: Vulkan 1.1's.
const FLOOR: (u8, u8) = (1, 3);

/// Raises the version to the floor and drops the extensions it makes core.
pub(in crate::frontend) fn run(module: &mut Module) {
    if let Some(header) = &mut module.header
        && header.version() < FLOOR
    {
        header.set_version(FLOOR.0, FLOOR.1);
    }
    module.extensions.retain(|inst| {
        let name = match inst.operands.first() {
            Some(Operand::LiteralString(name)) => name.as_str(),
            _ => "",
        };
        !matches!(
            name,
            "SPV_KHR_storage_buffer_storage_class"
                | "SPV_KHR_16bit_storage"
                | "SPV_KHR_device_group"
                | "SPV_KHR_variable_pointers"
        )
    });
}
