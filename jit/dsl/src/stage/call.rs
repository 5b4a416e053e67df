//! Calls of other marked functions: one function of the module for each, and for each set of captures it is given.

use std::any::TypeId;

use rspirv::{
    dr::{Instruction, Operand},
    spirv::Op,
};

use super::{Cap, Val, builder::Builder, shape, with};
use crate::{
    capture::{Stage, Value},
    lowered::LowerError,
};

/// An argument: a value, which is passed, or a capture, which is known when the function is made.
pub trait Arg: Copy {
    /// Adds what tells functions apart.
    fn key(&self, key: &mut Vec<u32>);
    /// The value's type and id.
    fn passed(&self) -> Option<(u32, u32)>;
    /// The argument as the function sees it.
    #[must_use]
    fn received(self, param: u32) -> Self;
}

impl<T: Value> Arg for Val<T> {
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
                ($(match $name.passed() {
                    Some(_) => $name.received(params.next().unwrap_or(0)),
                    None => $name,
                },)*)
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
    /// The type in the module.
    fn ty() -> u32;
    /// The handle of the result.
    fn handle(id: u32) -> Self::Handle;
    /// Returns it.
    fn leave(handle: Self::Handle);
}

impl Returned for () {
    type Handle = ();
    fn ty() -> u32 {
        with(Builder::void)
    }
    fn handle(_: u32) {}
    fn leave((): ()) {
        super::return_unit();
    }
}

impl<T: Value> Returned for T {
    type Handle = Val<T>;
    fn ty() -> u32 {
        let shape = shape::<T>();
        with(|b| b.value_type(&shape))
    }
    fn handle(id: u32) -> Val<T> {
        Val::new(id)
    }
    fn leave(value: Val<T>) {
        with(|b| {
            if b.reachable() {
                b.terminate(Op::ReturnValue, vec![Operand::IdRef(value.id)]);
            }
        });
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
        R::leave(value);
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
    let passed = args.passed();
    let made = with(|b| b.instances.get(&key).copied());
    let function = match made {
        Some(Some(id)) => id,
        Some(None) => {
            with(|b| b.fail(LowerError::Recursion { function: name }));
            return R::handle(0);
        }
        None => {
            let (id, params) = {
                let ret = R::ty();
                with(|b| begin(b, name, ret, &passed))
            };
            with(|b| b.instances.insert(key.clone(), None));
            f(args.received(&mut params.into_iter()), Ret(std::marker::PhantomData));
            with(|b| {
                b.end_function();
                b.instances.insert(key, Some(id));
            });
            id
        }
    };
    let ty = R::ty();
    with(|b| {
        let ids: Vec<u32> = [function].into_iter().chain(passed.iter().map(|&(_, id)| id)).collect();
        R::handle(b.op(Op::FunctionCall, ty, &ids))
    })
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
