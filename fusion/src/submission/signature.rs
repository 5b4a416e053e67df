//! The signature of a list: what two lists have in common that are the same up to their buffers.
//!
//! A *signature* is what each submission requests, with the buffers numbered in order of first
//! use, and the properties of each buffer that a plan may depend on. Lists with equal signatures have the same plan, the same sequence of
//! dispatches and the same effect on contents; they differ in memory alone. The same holds for lists whose push constants differ only in bytes that
//! the plan passes on without depending on them; the comparison asks the plan which bytes these are.
//!
//! # Guarantees
//! - every part of a request is a part of the signature, or makes the list one that has none
//! - a buffer over the user's memory, which others may be over too, stands for itself alone; all others share no bytes

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use smallvec::SmallVec;

use crate::{
    jit::{self, ElementType, ImageSize, Numbers, Promote, SetBinding, SpecType},
    options::fusion::FusionProperties,
    submission::{
        accessor::{Access, Accessor},
        buffer::BufferInner,
        dependencies::Dependencies,
        entry::Entry,
        identity::HandleId,
        kernel::KernelId,
        pushed::Pushed,
        request::{Request, Size},
    },
};

/// A request, and what buffers are known to hold; nothing where that cannot be asked.
pub(crate) type Asked<'a, 'b> = (&'a Request<'b>, Option<&'a Dependencies>);

/// The buffers of a list, in order of first use.
pub(crate) type Buffers = SmallVec<[Arc<BufferInner>; 8]>;

/// The buffers of submissions.
pub(crate) fn buffers_of(entries: &[Entry]) -> Buffers {
    let mut buffers = Buffers::new();
    for buffer in entries.iter().flat_map(|entry| &entry.buffers) {
        if !buffers.iter().any(|known| Arc::ptr_eq(known, buffer)) {
            buffers.push(buffer.clone());
        }
    }
    buffers
}

/// What makes two lists the same, whatever buffers they are on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    /// How the list was completed; nothing for a submission outside fusion mode.
    pub(crate) properties: Option<FusionProperties>,
    pub(crate) calls: Vec<Call>,
    pub(crate) views: Vec<View>,
}

/// What was asked for by a submission.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) kernel: KernelId,
    pub(crate) size: Size,
    pub(crate) base: [u32; 3],
    /// Constants with their types and bits: 0 and -0 are two.
    pub(crate) spec: SmallVec<[(u32, SpecType, u64); 1]>,
    pub(crate) push: SmallVec<[u8; 32]>,
    /// The types that these were checked as.
    pub(crate) pushed: Pushed,
    /// In the order in which they were given.
    pub(crate) args: SmallVec<[Arg; 4]>,
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Arg {
    pub(crate) at: SetBinding,
    /// The number of its buffer.
    pub(crate) place: u32,
    pub(crate) access: Access,
    pub(crate) element: u64,
    pub(crate) ty: ElementType,
    pub(crate) offset: u64,
    pub(crate) count: u64,
    pub(crate) promote: Option<Promote>,
    pub(crate) constant: bool,
    /// What it held, if that was known and the plan may depend on it.
    pub(crate) numbers: Option<Numbers>,
}

/// The properties of a buffer that a plan may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct View {
    pub(crate) size: u64,
    /// The promotion that it asks for.
    pub(crate) asks: Promote,
    /// Number of times that the address of further bytes of its memory was given out.
    pub(crate) escapes: u64,
    /// The size of an image.
    pub(crate) image: Option<ImageSize>,
    /// Its handle, if no other buffer can take its place ([`BufferInner::stands_alone`]).
    pub(crate) only: Option<HandleId>,
}

impl View {
    /// A buffer as it is now.
    pub(crate) fn of(buffer: &BufferInner) -> View {
        let (size, asks, escapes) = (buffer.size, buffer.promote(), buffer.shared.escapes());
        View {
            size,
            asks,
            escapes,
            image: buffer.image_size(),
            only: buffer.stands_alone().then_some(buffer.handle),
        }
    }

    /// Whether a buffer is like this now.
    #[inline]
    pub(crate) fn is_of(&self, buffer: &BufferInner) -> bool {
        let View { size, asks, escapes, image, only } = self;
        *size == buffer.size
            && *asks == buffer.promote()
            && *escapes == buffer.shared.escapes()
            && match only {
                None => image.is_none() && !buffer.stands_alone(),
                Some(only) => {
                    *only == buffer.handle && buffer.stands_alone() && *image == buffer.image_size()
                }
            }
    }
}

/// What a checked submission was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    /// The places are those among the buffers of its entry.
    call: Call,
    /// The buffers of the arguments, as they were before anything was checked.
    views: SmallVec<[View; 4]>,
}

impl Given {
    /// What a request asks for; nothing for one that reaches memory by address. To be called before it is checked: what
    /// changes meanwhile makes it another one.
    pub(crate) fn of(request: &Request<'_>) -> Option<Given> {
        // What it comes after is the list's affair.
        let Request { args, push, pushed, spec, dispatch, base, uses } = request;
        let (kernel, size) = dispatch.as_ref()?;
        if !uses.is_empty() {
            return None;
        }
        let arg = |(at, accessor): &(SetBinding, Accessor<'_>)| {
            let Accessor { buffer: _, access, element, ty, offset, count, promote, constant } = accessor;
            let (at, access, element, offset) = (*at, *access, *element, *offset);
            let (count, promote, constant) = (*count, *promote, *constant);
            Arg { at, place: 0, access, element, ty: *ty, offset, count, promote, constant, numbers: None }
        };
        let call = Call {
            kernel: kernel.id,
            size: *size,
            base: *base,
            spec: spec.iter().map(|(id, value)| (*id, value.ty(), value.bits())).collect(),
            push: push.clone(),
            pushed: *pushed,
            args: args.iter().map(arg).collect(),
        };
        Some(Given { call, views: args.iter().map(|(_, accessor)| View::of(&accessor.buffer)).collect() })
    }
}

/// Whether two are equal: a few words, for which a call is more than it takes.
#[inline]
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    let (words_a, rest_a) = a.as_chunks::<4>();
    let (words_b, rest_b) = b.as_chunks::<4>();
    a.len() == b.len()
        && words_a.iter().zip(words_b).all(|(a, b)| u32::from_ne_bytes(*a) == u32::from_ne_bytes(*b))
        && rest_a.iter().eq(rest_b)
}

impl Call {
    /// Whether a request asks for this, with buffers that are right at their places, and push constants that are or will do.
    #[inline]
    fn is_asked_by<'a>(
        &self,
        request: &'a Request<'_>,
        deps: Option<&Dependencies>,
        mut is_right: impl FnMut(usize, &'a Arc<BufferInner>) -> bool,
        will_do: impl Fn(&[u8]) -> bool,
    ) -> bool {
        let Call { kernel, size, base, spec, push, pushed: types, args } = self;
        let Request {
            args: asked,
            push: pushed,
            pushed: as_types,
            spec: specialized,
            dispatch,
            base: from,
            uses,
        } = request;
        let (args, asked) = (&**args, &**asked);
        let is_same = dispatch.as_ref().is_some_and(|(asked, many)| asked.id == *kernel && many == size)
            && from == base
            && uses.is_empty()
            && as_types == types
            && specialized.len() == spec.len()
            && specialized.iter().zip(spec).all(|(a, b)| (a.0, a.1.ty(), a.1.bits()) == *b)
            && asked.len() == args.len()
            && (same_bytes(pushed, push) || will_do(pushed));
        if !is_same {
            return false;
        }
        // A loop, and not `all`, which is a call for each argument here: it shows in what a list costs.
        for (arg, (asked_at, accessor)) in args.iter().zip(asked) {
            let Arg { at, place, access, element, ty, offset, count, promote, constant, numbers } = arg;
            let Accessor {
                buffer,
                access: by,
                element: of,
                ty: of_type,
                offset: from,
                count: many,
                promote: wish,
                constant: declared,
            } = accessor;
            let holds = |numbers: &Numbers| {
                let start = buffer.span(accessor.bytes().0..buffer.size).start;
                deps.and_then(|deps| deps.holds(&buffer.shared, start))
                    .is_some_and(|bytes| numbers.are_in(bytes))
            };
            // One by one: comparing tuples is a call for each argument, too.
            let is_same = at == asked_at && access == by && promote == wish && constant == declared;
            let is_same = is_same && element == of && ty == of_type && offset == from && count == many;
            let is_same = is_same && is_right(*place as usize, buffer);
            if !(is_same && numbers.as_ref().is_none_or(holds)) {
                return false;
            }
        }
        true
    }

    /// Whether two ask for the same, whatever push constants they have.
    fn is_but_for_push(&self, other: &Call) -> bool {
        let Call { kernel, size, base, spec, push: _, pushed, args } = self;
        (kernel, size, base, spec, pushed, args)
            == (&other.kernel, &other.size, &other.base, &other.spec, &other.pushed, &other.args)
    }
}

impl Signature {
    /// The signature of checked submissions, with their buffers by number. Nothing where one of them has none, or a buffer
    /// changed while they were listed.
    pub(crate) fn of(
        entries: &[Entry],
        properties: Option<&FusionProperties>,
    ) -> Option<(Signature, Buffers)> {
        let mut buffers = Buffers::new();
        let (mut calls, mut views) = (Vec::with_capacity(entries.len()), Vec::new());
        for entry in entries {
            let Given { mut call, views: given } = entry.given.clone()?;
            for (arg, view) in call.args.iter_mut().zip(given) {
                let is = |given: &jit::Arg| given.at == arg.at;
                let position = entry.submission.args.iter().position(is)?;
                let (buffer, asks) = (&entry.buffers[position], entry.asked[position]);
                let known = buffers.iter().position(|known| Arc::ptr_eq(known, buffer));
                let place = known.unwrap_or_else(|| {
                    buffers.push(buffer.clone());
                    views.push(view);
                    buffers.len() - 1
                });
                // It was checked, and is planned, later than the view was taken: nothing has changed meanwhile.
                if views[place] != view || view.asks != asks || view.escapes != buffer.shared.escapes() {
                    return None;
                }
                arg.place = place as u32;
                arg.numbers = entry.submission.args[position].numbers.clone();
            }
            calls.push(call);
        }
        Some((Signature { properties: properties.cloned(), calls, views }, buffers))
    }

    /// What the submission at a place was asked for, with these push constants.
    pub(crate) fn given(&self, at: usize, push: &[u8]) -> Given {
        let call = Call { push: SmallVec::from_slice(push), ..self.calls[at].clone() };
        let views = call.args.iter().map(|arg| self.views[arg.place as usize]).collect();
        Given { call, views }
    }

    /// Whether two agree in their first submissions, whatever push constants those have.
    pub(crate) fn begins_as(&self, other: &Signature, count: usize) -> bool {
        let views = other.met(count);
        let mut calls = self.calls.iter().zip(&other.calls[..count]);
        self.calls.len() >= count
            && calls.all(|(a, b)| a.is_but_for_push(b))
            && other.views.get(..views).is_some_and(|views| self.views.get(..views.len()) == Some(views))
    }

    /// Whether it has this many submissions, completed in this way.
    #[inline]
    pub(crate) fn ends(&self, at: usize, properties: Option<&FusionProperties>) -> bool {
        at == self.calls.len() && self.properties.as_ref() == properties
    }

    /// Feeds everything to a hash but push constants.
    pub(crate) fn hash_but_for_push(&self, hasher: &mut impl Hasher) {
        let Signature { properties, calls, views } = self;
        (properties, views).hash(hasher);
        for Call { kernel, size, base, spec, push: _, pushed, args } in calls {
            (kernel, size, base, spec, pushed, args).hash(hasher);
        }
    }

    /// Whether a request asks for what the submission at a place does, after those before it were asked for with these
    /// buffers, and finds the numbers in them that it was planned with. What it comes after is not looked at; of push constants
    /// that are others, `will_do` says whether they may be.
    pub(crate) fn goes_on(
        &self,
        at: usize,
        buffers: &Buffers,
        (request, deps): Asked<'_, '_>,
        will_do: impl Fn(&[u8]) -> bool,
    ) -> bool {
        // The buffers are either the ones that were met before or new ones.
        let mut met: SmallVec<[&Arc<BufferInner>; 8]> = SmallVec::new();
        let is_right = |place: usize, buffer| {
            let known = buffers.get(place).or_else(|| met.get(place.checked_sub(buffers.len())?).copied());
            let is_right = match known {
                Some(known) => Arc::ptr_eq(known, buffer),
                None => {
                    let is_it = |known: &Arc<BufferInner>| Arc::ptr_eq(known, buffer);
                    let is_new = !buffers.iter().any(is_it) && !met.iter().any(|known| is_it(known));
                    met.push(buffer);
                    is_new
                }
            };
            is_right && self.views[place].is_of(buffer)
        };
        self.calls.get(at).is_some_and(|call| call.is_asked_by(request, deps, is_right, will_do))
    }

    /// As [`Signature::goes_on`], for the same buffers that it was run on, unchanged since.
    #[inline]
    pub(crate) fn repeats(
        &self,
        at: usize,
        buffers: &[HandleId],
        (request, deps): Asked<'_, '_>,
        will_do: impl Fn(&[u8]) -> bool,
    ) -> bool {
        let is_same = |place: usize, buffer: &Arc<BufferInner>| buffers[place] == buffer.handle;
        self.calls.get(at).is_some_and(|call| call.is_asked_by(request, deps, is_same, will_do))
    }

    /// Adds the buffers of a request that is the submission at a place to those before it.
    #[inline]
    pub(crate) fn meet(&self, at: usize, buffers: &mut Buffers, request: &Request<'_>) {
        for (arg, (_, accessor)) in self.calls[at].args.iter().zip(&request.args) {
            if arg.place as usize == buffers.len() {
                buffers.push(Arc::clone(&accessor.buffer));
            }
        }
    }

    /// How many buffers the first submissions have.
    pub(crate) fn met(&self, count: usize) -> usize {
        let args = self.calls[..count].iter().flat_map(|call| &call.args);
        args.map(|arg| arg.place as usize + 1).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
