//! Which device to open.

use crate::vk::DeviceInfo;

/// Which device to open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DeviceSelector {
    /// The fastest kind there is: discrete before integrated before virtual before CPU.
    #[default]
    Default,
    /// By number in the loader's order, as [`DeviceInfo::index`].
    Index(usize),
    /// The first whose name contains this text, in any case.
    Name(String),
}

impl DeviceSelector {
    /// What is looked for, for a message.
    pub(in crate::vk) fn in_words(&self) -> String {
        match self {
            DeviceSelector::Default => "the requirements".to_owned(),
            DeviceSelector::Index(index) => format!("number {index}"),
            DeviceSelector::Name(name) => format!("the name {name:?}"),
        }
    }

    /// The number of the device meant, among those listed.
    pub(in crate::vk) fn pick(&self, devices: &[DeviceInfo]) -> Option<usize> {
        match self {
            DeviceSelector::Default => (0..devices.len())
                .min_by_key(|i| (!devices[*i].supports_fusion(), devices[*i].kind.rank(), *i)),
            DeviceSelector::Index(index) => (*index < devices.len()).then_some(*index),
            DeviceSelector::Name(name) => {
                let name = name.to_lowercase();
                devices.iter().position(|d| d.name.to_lowercase().contains(&name))
            }
        }
    }
}
