//! Arguments of a submission that its kernel ignores.
//!
//! Vulkan accepts a value for a specialization constant that the module does not declare, and a descriptor that no shader uses:
//! programs pass the same constants, and the same push constants, to every variant of a kernel. So does this crate. But a mistyped id, or
//! a number of another size, looks the same, so ignored arguments are reported:
//! in the log, once for each kernel, and in the report. So are a dispatch without work-groups, and a kernel whose loops are longer than a
//! driver runs them.

use smallvec::SmallVec;

use crate::{
    jit::{self, SetBinding, Specialized},
    submission::request::Request,
};

/// What was given and is not used, each ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Ignored {
    constants: SmallVec<[u32; 2]>,
    arguments: SmallVec<[SetBinding; 2]>,
    /// Bytes of push constants that were given, and that the kernel takes.
    push: Option<(usize, usize)>,
    /// Whether it is dispatched with no work-groups.
    nothing: bool,
    /// Rounds of its loops, and after how many the driver leaves them.
    rounds: Option<(u128, u64)>,
}

impl Ignored {
    /// What of a request a kernel does not use; nothing where it uses all of it.
    pub(crate) fn of(
        kernel: &jit::Kernel,
        specialized: &Specialized,
        request: &Request<'_>,
        (runs, rounds): (bool, Option<(u128, u64)>),
    ) -> Option<Ignored> {
        let constants = kernel.unknown_constants(request.spec.iter().map(|(id, _)| *id));
        let bindings = &specialized.interface.bindings;
        // Mostly there are as many arguments as bindings, and each of these has one.
        let mut arguments: SmallVec<[SetBinding; 2]> = SmallVec::new();
        if request.args.len() > bindings.len() {
            let is_unused = |at: &SetBinding| bindings.iter().all(|binding| binding.at != *at);
            arguments.extend(request.args.iter().map(|(at, _)| *at).filter(is_unused));
            arguments.sort_unstable();
        }
        // A kernel that takes none may have lost its block to a compiler.
        let (given, takes) =
            (request.push.len(), specialized.interface.push.as_ref().map_or(0, |push| push.size as usize));
        let push = (takes > 0 && given > takes).then_some((given, takes));
        let ignored = Ignored { constants: constants.into(), arguments, push, nothing: !runs, rounds };
        (ignored != Ignored::default()).then_some(ignored)
    }

    /// In words, a sentence each.
    pub(crate) fn notes(&self, kernel: &str) -> impl Iterator<Item = String> {
        let constants = self.constants.iter().map(|id| {
            format!(
                "kernel {kernel} is given a value for specialization constant {id}, which it does not declare"
            )
        });
        let arguments = self
            .arguments
            .iter()
            .map(|at| format!("kernel {kernel} is given an argument for {at}, which it does not use"));
        let push = self.push.map(|(given, takes)| {
            format!("kernel {kernel} is given {given} bytes of push constants, and takes the first {takes}")
        });
        let nothing = self.nothing.then(|| {
            format!("kernel {kernel} is dispatched with no work-groups in some dimension, and does not run")
        });
        let rounds = self.rounds.map(|(rounds, limit)| {
            format!(
                "kernel {kernel} has loops of up to {rounds} iterations, and this driver ends all loops of a kernel after {limit} iterations \
                 together, silently: its results may be wrong"
            )
        });
        constants.chain(arguments).chain(push).chain(nothing).chain(rounds).collect::<Vec<_>>().into_iter()
    }
}
