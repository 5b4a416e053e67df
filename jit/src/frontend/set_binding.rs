//! Where a resource is bound.

use std::fmt;

/// A descriptor set, a binding in it, and an element of that where it is an array: where a kernel expects an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetBinding {
    /// The descriptor set.
    pub set: u32,
    /// The binding in the set.
    pub binding: u32,
    /// The element, of an array of descriptors; 0 for a binding that is none.
    pub element: u32,
}

impl SetBinding {
    /// An element of the array of descriptors at this binding.
    #[must_use]
    pub fn element(self, element: u32) -> SetBinding {
        SetBinding { element, ..self }
    }

    /// The binding that it is an element of.
    #[must_use]
    pub fn whole(self) -> SetBinding {
        self.element(0)
    }
}

impl fmt::Display for SetBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.element > 0 {
            write!(f, "element {} of ", self.element)?;
        }
        if self.set == 0 {
            write!(f, "binding {}", self.binding)
        } else {
            write!(f, "binding {} of set {}", self.binding, self.set)
        }
    }
}

impl From<u32> for SetBinding {
    fn from(binding: u32) -> SetBinding {
        SetBinding { binding, ..SetBinding::default() }
    }
}

impl From<(u32, u32)> for SetBinding {
    fn from((set, binding): (u32, u32)) -> SetBinding {
        SetBinding { set, binding, element: 0 }
    }
}
