//! The switch at each rule of the analysis that `mutation` can weaken.

/// Whether a rule is weakened just now; never in a build without the feature `mutation`.
#[cfg(feature = "mutation")]
macro_rules! mutant {
    ($rule:ident) => {
        $crate::mutation::is_active($crate::mutation::Mutant::$rule)
    };
}

/// Whether a rule is weakened just now; never in a build without the feature `mutation`.
#[cfg(not(feature = "mutation"))]
macro_rules! mutant {
    ($rule:ident) => {
        false
    };
}

/// A closure whose value is kept with a kernel.
#[cfg(feature = "mutation")]
macro_rules! kept {
    ($make:expr) => {
        || $crate::mutation::keeping($make)
    };
}

/// A closure whose value is kept with a kernel.
#[cfg(not(feature = "mutation"))]
macro_rules! kept {
    ($make:expr) => {
        $make
    };
}
