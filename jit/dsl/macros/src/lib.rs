//! Derives and attributes of kernels written in Rust. Documented where they are re-exported, in `vkfuse-kernel`.
//!
//! `body` writes a body down twice, for the host and staged; `expr`, `flow`, `call`, `assert`, `local`, `pattern` and `typed` are its parts; `attribute` and
//! `traits` put the copies where calls find them; `refuse` says what is not lowered and what to use instead.

mod assert;
mod attribute;
mod body;
mod call;
mod chain;
mod closure;
mod derive;
mod expr;
mod flow;
mod local;
mod operator;
mod pattern;
mod place;
mod refuse;
mod traits;
mod typed;

use proc_macro::TokenStream;

fn finish(result: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    result.unwrap_or_else(|error| error.into_compile_error()).into()
}

/// Makes a struct of captures: its fields become the parameters of a kernel, in order.
///
/// A field is a number, a `bool`, a vector, a struct with `#[derive(Value)]`, an accessor (`Read`, `Write`, `ReadWrite`,
/// `Ranged`), `Shared`, `Spec`, a struct with `#[derive(Captures)]`, or an array of these.
#[proc_macro_derive(Captures)]
pub fn captures(input: TokenStream) -> TokenStream {
    finish(syn::parse(input).and_then(|input| derive::captures(&input)))
}

/// Makes a struct a value of kernels: it can be captured, kept in locals and arrays, and passed to marked functions. It must
/// be `#[repr(C)]` and `Copy`; padding is allowed. An element of buffers has none, and derives `Pod` and `Zeroable` of
/// `bytemuck` as well.
#[proc_macro_derive(Value)]
pub fn value(input: TokenStream) -> TokenStream {
    finish(syn::parse(input).and_then(|input| derive::value(&input)))
}

/// Makes a kernel of an `impl` of a struct of captures: of its `run(&self, item)`. The type of `item` says what it is run
/// over; without it the kernel is a single task. Other functions of the `impl` can be called from it.
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, input: TokenStream) -> TokenStream {
    finish(attribute::kernel(arguments.into(), input.into()))
}

/// Marks what kernels may call: a function, the functions of an `impl`, a trait, or an `impl` of a marked trait, of `Default` or of
/// an operator (`std::ops::Add`, `Sub`, `Mul`, `Div` and `Neg`).
#[proc_macro_attribute]
pub fn device(arguments: TokenStream, input: TokenStream) -> TokenStream {
    finish(attribute::device(arguments.into(), input.into()))
}

/// A short kernel with its captures listed: `kernel_fn!([a: f32 = 2.0, x: ReadWrite<f32> = buffer] |item: Item<1>| { … })`.
/// Without a value a capture takes the variable of its name.
#[proc_macro]
pub fn kernel_fn(input: TokenStream) -> TokenStream {
    finish(closure::kernel_fn(input.into()))
}
