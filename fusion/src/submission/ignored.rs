//! Arguments of a submission that its kernel ignores.
//!
//! Vulkan accepts a value for a specialization constant that the module does not declare, and a descriptor that no shader uses:
//! programs pass the same constants, and the same push constants, to every variant of a kernel. So does this crate. But a mistyped id, or
//! a number of another size, looks the same, so ignored arguments are reported:
//! in the log, once for each kernel, and in the report. So are a dispatch without work-groups, and a kernel whose loops are longer than a
//! driver runs them; work-groups that do again what others did; and elements that lie otherwise than the kernel has them.

use smallvec::SmallVec;

use crate::{
    jit::{self, Binding, BindingKind, SetBinding, Specialized, TexelOverrun, has_work, repeated},
    report::notes,
    submission::{accessor::Access, request::Request},
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
    /// A dimension in which work-groups write what others wrote.
    repeated: Option<&'static str>,
    /// Rounds of its loops, and after how many the driver leaves them.
    rounds: Option<(u128, u64)>,
    /// Bindings that are only read, and that are passed as `write`.
    unwritten: SmallVec<[SetBinding; 2]>,
    /// Arrays with padding that are passed elements without, and the bytes of both.
    padded: SmallVec<[(SetBinding, u32, u64); 1]>,
    /// A texel that is read, and that its image does not have.
    beside: Option<(SetBinding, TexelOverrun)>,
}

/// What is known of a submission once it is checked.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) groups: [u32; 3],
    pub(crate) rounds: Option<(u128, u64)>,
    pub(crate) beside: Option<TexelOverrun>,
}

impl Ignored {
    /// What of a request a kernel does not use; nothing where it uses all of it.
    pub(crate) fn of(
        kernel: &jit::Kernel,
        specialized: &Specialized,
        request: &Request<'_>,
        Found { groups, rounds, beside }: Found,
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
        let given = |at| request.args.iter().find(|(given, _)| *given == at).map(|(_, accessor)| accessor);
        let is_unwritten = |binding: &&Binding| {
            binding.reads
                && !binding.writes
                && binding.kind.texture().is_none()
                && given(binding.at).is_some_and(|accessor| accessor.access == Access::Write)
        };
        let padded = bindings.iter().filter(|binding| binding.kind == BindingKind::UniformBuffer);
        let padded = padded.filter_map(|binding| {
            let ty = given(binding.at)?.ty;
            let stride = specialized.elements_at(binding.at)?.padded(ty)?;
            Some((binding.at, stride, given(binding.at)?.element))
        });
        let ignored = Ignored {
            constants: constants.into(),
            arguments,
            push,
            nothing: !has_work(groups),
            repeated: has_work(groups).then(|| repeated(specialized, groups)).flatten(),
            rounds,
            unwritten: bindings.iter().filter(is_unwritten).map(|binding| binding.at).collect(),
            padded: padded.collect(),
            beside: beside.and_then(|beside| Some((bindings.get(beside.arg)?.at, beside))),
        };
        (ignored != Ignored::default()).then_some(ignored)
    }

    /// In words, a sentence each.
    pub(crate) fn notes(&self, kernel: &str) -> impl Iterator<Item = String> {
        self.of_request(kernel).chain(self.of_kernel(kernel))
    }

    /// What is odd about the request by itself: the command finds the same in its files, and says where.
    pub(crate) fn of_request(&self, kernel: &str) -> impl Iterator<Item = String> {
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
        let repeated = self.repeated.map(|dim| notes::repeated(kernel, dim));
        constants.chain(arguments).chain(push).chain(nothing).chain(repeated).collect::<Vec<_>>().into_iter()
    }

    /// What is odd about how the kernel runs, or takes what it is given.
    pub(crate) fn of_kernel(&self, kernel: &str) -> impl Iterator<Item = String> {
        let unwritten = self.unwritten.iter().map(|at| {
            format!("kernel {kernel} only reads {at}, and the accessor there is `write`; `read` says so")
        });
        let padded = self.padded.iter().map(|(at, stride, bytes)| {
            format!(
                "{at} of kernel {kernel} has an element every {stride} bytes (std140), and the buffer one every {bytes}: what lies between is \
                 left out"
            )
        });
        let rounds = self.rounds.map(|(rounds, limit)| {
            format!(
                "kernel {kernel} has loops of up to {rounds} iterations, and this driver ends all loops of a kernel after {limit} iterations \
                 together, silently: its results may be wrong"
            )
        });
        let beside = self.beside.map(|(at, beside)| {
            let TexelOverrun { invocation, dimension, coordinate, extent, .. } = beside;
            let name = ["x", "y", "z"][dimension.min(2)];
            format!(
                "kernel {kernel} reads texels that the image at {at} does not have, with undefined values: invocation {invocation:?} has \
                 {name} = {coordinate}, and the image {extent}"
            )
        });
        unwritten.chain(beside).chain(padded).chain(rounds).collect::<Vec<_>>().into_iter()
    }
}
