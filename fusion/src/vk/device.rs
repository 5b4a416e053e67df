//! What a device can do, and opening one.

pub(super) mod caps;
pub(super) mod chain;
pub(super) mod create;
pub(super) mod device_profile;
pub(super) mod features;
pub(super) mod float_controls;
pub(super) mod gpu;
pub(super) mod instance;
pub(super) mod mesa;
pub(super) mod newer;
pub(super) mod raw;
pub(super) mod requirements;
pub(super) mod select;
pub(super) mod spirv_caps;
