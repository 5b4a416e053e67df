//! The kernel stage on modules as compilers deliver them: `kernels/` holds sources and their SPIR-V.

mod kernel {
    pub(crate) mod corpus;
    mod dump;
    mod normal;
}
