//! Where a resource is bound.

use std::fmt;

/// A descriptor set and a binding in it: where a kernel expects an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetBinding {
    /// The descriptor set.
    pub set: u32,
    /// The binding in the set.
    pub binding: u32,
}

impl fmt::Display for SetBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.set == 0 {
            write!(f, "binding {}", self.binding)
        } else {
            write!(f, "binding {} of set {}", self.binding, self.set)
        }
    }
}

impl From<u32> for SetBinding {
    fn from(binding: u32) -> SetBinding {
        SetBinding { set: 0, binding }
    }
}

impl From<(u32, u32)> for SetBinding {
    fn from((set, binding): (u32, u32)) -> SetBinding {
        SetBinding { set, binding }
    }
}
