//! Calls of other marked functions: one function of the module for each, and for each set of captures it is given.

use std::any::TypeId;

use rspirv::{
    dr::{Instruction, Operand},
    spirv::Op,
};

use super::{Cap, Place, Val, builder::Builder, shape, with};
use crate::{
    capture::{Local, Stage},
    lowered::LowerError,
    shape::Shape,
};

/// An argument: a value, which is passed, or a capture, which is known when the function is made.
pub trait Arg: Copy {
    /// Adds what tells functions apart.
    fn key(&self, key: &mut Vec<u32>);
    /// The value's type and id.
    fn passed(&self) -> Option<(u32, u32)>;
    /// Whether it is a value.
    fn is_passed(&self) -> bool {
        true
    }
    /// The argument as the function sees it.
    #[must_use]
    fn received(self, param: u32) -> Self;
    /// The place whose contents come back.
    fn lent(&self) -> Option<(usize, Shape)> {
        None
    }
}

/// A place is copied to the function, and back when it returns: Rust's borrow rules exclude other accesses meanwhile.
impl<T: Local> Arg for Place<T> {
    fn key(&self, _: &mut Vec<u32>) {}
    fn passed(&self) -> Option<(u32, u32)> {
        let (shape, value) = (shape::<T>(), super::rd(*self));
        Some((with(|b| b.value_type(&shape)), value.id))
    }
    fn received(self, param: u32) -> Self {
        super::var(Val::<T>::new(param))
    }
    fn lent(&self) -> Option<(usize, Shape)> {
        Some((self.at, shape::<T>()))
    }
}

impl<T: Local> Arg for Val<T> {
    fn key(&self, _: &mut Vec<u32>) {}
    fn passed(&self) -> Option<(u32, u32)> {
        let shape = shape::<T>();
        Some((with(|b| b.value_type(&shape)), self.id))
    }
    fn received(self, param: u32) -> Self {
        Val::new(param)
    }
}

impl<T: Stage> Arg for Cap<T> {
    fn key(&self, key: &mut Vec<u32>) {
        key.extend([self.at.plain, self.at.params, self.at.shared, self.at.specs]);
    }
    fn passed(&self) -> Option<(u32, u32)> {
        None
    }
    fn is_passed(&self) -> bool {
        false
    }
    fn received(self, _: u32) -> Self {
        self
    }
}

/// A list of arguments.
pub trait Args: Copy {
    /// Adds what tells functions apart.
    fn key(&self, key: &mut Vec<u32>);
    /// Types and ids of the values.
    fn passed(&self) -> Vec<(u32, u32)>;
    /// The arguments as the function sees them.
    #[must_use]
    fn received(self, params: &mut dyn Iterator<Item = u32>) -> Self;
    /// The places whose contents come back.
    fn lent(&self) -> Vec<(usize, Shape)>;
}

macro_rules! args {
    ($($name:ident)*) => {
        #[allow(non_snake_case, unused_variables, clippy::unused_unit)]
        impl<$($name: Arg),*> Args for ($($name,)*) {
            fn key(&self, key: &mut Vec<u32>) {
                let ($($name,)*) = self;
                $($name.key(key);)*
            }
            fn passed(&self) -> Vec<(u32, u32)> {
                let ($($name,)*) = self;
                let passed: Vec<Option<(u32, u32)>> = vec![$($name.passed(),)*];
                passed.into_iter().flatten().collect()
            }
            fn received(self, params: &mut dyn Iterator<Item = u32>) -> Self {
                let ($($name,)*) = self;
                ($(if $name.is_passed() { $name.received(params.next().unwrap_or(0)) } else { $name },)*)
            }
            fn lent(&self) -> Vec<(usize, Shape)> {
                let ($($name,)*) = self;
                let lent: Vec<Option<(usize, Shape)>> = vec![$($name.lent(),)*];
                lent.into_iter().flatten().collect()
            }
        }
    };
}

args! {}
args! { A }
args! { A B }
args! { A B C }
args! { A B C D }
args! { A B C D E }
args! { A B C D E F }
args! { A B C D E F G }
args! { A B C D E F G H }
args! { A B C D E F G H I }
args! { A B C D E F G H I J }

/// What no type is: a function that is called by a type's name, and not marked, asks for it.
#[diagnostic::on_unimplemented(
    message = "this function of `{Self}` is not marked `#[device]`",
    label = "not a function of kernels",
    note = "mark the `impl` that has it with `#[device]`; what traits and derives give is never marked: write it into such an `impl`"
)]
pub trait Marked {}

/// What a function gives back: nothing or a value.
pub trait Returned {
    /// Its handle.
    type Handle;
    /// Its type.
    fn shape() -> Option<Shape>;
    /// The handle of the result.
    fn handle(id: u32) -> Self::Handle;
    /// The id of the value.
    fn id(handle: Self::Handle) -> Option<u32>;
}

impl Returned for () {
    type Handle = ();
    fn shape() -> Option<Shape> {
        None
    }
    fn handle(_: u32) {}
    fn id((): ()) -> Option<u32> {
        None
    }
}

impl<T: Local> Returned for T {
    type Handle = Val<T>;
    fn shape() -> Option<Shape> {
        Some(shape::<T>())
    }
    fn handle(id: u32) -> Val<T> {
        Val::new(id)
    }
    fn id(value: Val<T>) -> Option<u32> {
        Some(value.id)
    }
}

/// Stands for the result in a function's body.
#[derive(Debug)]
pub struct Ret<R>(std::marker::PhantomData<fn() -> R>);

impl<R> Clone for Ret<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Ret<R> {}

impl<R: Returned> Ret<R> {
    /// `return`.
    pub fn leave(self, value: R::Handle) {
        let value = R::id(value);
        with(|b| b.leave_with(value));
    }
}

/// Calls the function whose body is `f`, which is made at the first call. `f` is a closure of its own type for each marked
/// function and each set of its type parameters.
pub fn call<R: Returned, A: Args, F: FnOnce(A, Ret<R>) + 'static>(
    name: &'static str,
    args: A,
    f: F,
) -> R::Handle {
    let mut key = Vec::new();
    args.key(&mut key);
    let key = (TypeId::of::<F>(), key);
    let (passed, lent) = (args.passed(), args.lent());
    let result = R::shape();
    let ty = with(|b| b.returned(result.as_ref(), &lent));
    let made = with(|b| b.instances.get(&key).copied());
    let function = match made {
        Some(Some(id)) => id,
        Some(None) => {
            with(|b| b.fail(LowerError::Recursion { function: name }));
            return R::handle(0);
        }
        None => {
            let (id, params) = with(|b| begin(b, name, ty, &passed));
            with(|b| b.instances.insert(key.clone(), None));
            let inside = args.received(&mut params.into_iter());
            let outs = inside.lent();
            with(|b| b.function().outs = outs);
            f(inside, Ret(std::marker::PhantomData));
            with(|b| {
                b.end_function();
                b.instances.insert(key, Some(id));
            });
            id
        }
    };
    with(|b| {
        let ids: Vec<u32> = [function].into_iter().chain(passed.iter().map(|&(_, id)| id)).collect();
        let all = b.op(Op::FunctionCall, ty, &ids);
        if lent.is_empty() {
            return R::handle(all);
        }
        let value = result.as_ref().map(|shape| b.extract(shape, all, 0));
        let first = u32::from(result.is_some());
        for ((at, shape), k) in lent.iter().zip(first..) {
            let back = b.extract(shape, all, k);
            b.write_place(*at, shape, back);
        }
        R::handle(value.unwrap_or(0))
    })
}

impl Builder {
    /// The type of what a function gives back: its result, and the contents of the places that it was lent.
    fn returned(&mut self, result: Option<&Shape>, lent: &[(usize, Shape)]) -> u32 {
        match (result, lent.is_empty()) {
            (None, true) => self.void(),
            (Some(shape), true) => self.value_type(shape),
            (result, false) => {
                let parts = result.into_iter().chain(lent.iter().map(|(_, shape)| shape));
                let parts = parts.map(|shape| Operand::IdRef(self.value_type(shape))).collect();
                self.global(Op::TypeStruct, None, parts)
            }
        }
    }
}

fn begin(b: &mut Builder, name: &str, ret: u32, passed: &[(u32, u32)]) -> (u32, Vec<u32>) {
    let operands = [ret].into_iter().chain(passed.iter().map(|&(ty, _)| ty)).map(Operand::IdRef).collect();
    let ty = b.global(Op::TypeFunction, None, operands);
    let id = b.fresh();
    b.name(id, name);
    let params: Vec<Instruction> = passed
        .iter()
        .map(|&(ty, _)| Instruction::new(Op::FunctionParameter, Some(ty), Some(b.fresh()), Vec::new()))
        .collect();
    let ids = params.iter().filter_map(|param| param.result_id).collect();
    b.begin_function(id, ret, ty, params);
    (id, ids)
}
