//! Operators, and functions of numbers that both copies have.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::{BinOp, Error, Result};

use crate::{body::Both, derive::root_at};

/// The path of a function that both copies have under one name.
pub(crate) fn both_ops(name: &str, span: Span) -> (TokenStream, TokenStream) {
    let (root, name) = (root_at(span), Ident::new(name, span));
    (
        quote_spanned!(span=> <#root::side::Host as #root::side::Side>::#name),
        quote_spanned!(span=> <#root::side::Staged as #root::side::Side>::#name),
    )
}

/// The two copies of a binary operator. Those that types of one's own can have are methods of both sides. `is_const`: in a
/// `const fn`.
pub(crate) fn operation(
    name: &str,
    span: Span,
    host: [TokenStream; 2],
    staged: [TokenStream; 2],
    is_const: bool,
) -> Both {
    let ([a_host, b_host], [a, b]) = (host, staged);
    if OWN.contains(&name) && !is_const {
        let (root, name) = (root_at(span), Ident::new(name, span));
        return Both::new(
            quote_spanned!(span=> #root::side::pair::<#root::side::Host, _, _>(#a_host, #b_host).#name()),
            quote_spanned!(span=> #root::side::pair::<#root::side::Staged, _, _>(#a, #b).#name()),
        );
    }
    let (host_fn, staged_fn) = both_ops(name, span);
    let staged = match name {
        "shl" | "shr" => quote_spanned!(span=> #staged_fn(#a, #b)),
        _ => same(&staged_fn, span, &a, &b),
    };
    let host = if is_const {
        const_operation(name, span, [a_host, b_host])
    } else {
        quote_spanned!(span=> #host_fn(#a_host, #b_host))
    };
    Both::new(host, staged)
}

/// The staged copy of an operator of two values of one type. That they are of two, Rust says of the host's copy.
pub(crate) fn same(function: &TokenStream, span: Span, a: &TokenStream, b: &TokenStream) -> TokenStream {
    let root = root_at(span);
    quote_spanned!(span=> #root::stage::same(#a, #b).fit(#function))
}

/// How many arguments a function of both copies has.
pub(crate) fn arity(name: &str) -> usize {
    match name {
        "clamp" | "mul_add" => 3,
        "min" | "max" | "wrapping_add" | "wrapping_sub" | "wrapping_mul" | "rotate_left" | "rotate_right"
        | "pow" | "div_euclid" | "rem_euclid" | "saturating_add" | "saturating_sub" | "saturating_mul"
        | "checked_add" | "checked_sub" | "checked_mul" | "checked_div" | "checked_rem" | "copysign"
        | "atan2" | "powf" | "powi" | "unwrap_or" => 2,
        _ => 1,
    }
}

/// The host's copy of an operator in a `const fn`.
fn const_operation(name: &str, span: Span, [a, b]: [TokenStream; 2]) -> TokenStream {
    let (root, method) = (root_at(span), Ident::new(name, span));
    match name {
        "bitand" => quote_spanned!(span=> ((#a) & (#b))),
        "bitor" => quote_spanned!(span=> ((#a) | (#b))),
        "bitxor" => quote_spanned!(span=> ((#a) ^ (#b))),
        "shl" | "shr" => quote_spanned!(span=> #root::host::constant::One(#a).#method((#b) as u32)),
        _ => quote_spanned!(span=> #root::host::constant::Pair(#a, #b).#method()),
    }
}

/// The host's copy of a function of numbers, or of an operator of one, in a `const fn`.
pub(crate) fn const_function(name: &str, span: Span, arguments: &[TokenStream]) -> Result<TokenStream> {
    let (root, method) = (root_at(span), Ident::new(name, span));
    let [of, rest @ ..] = arguments else { return Ok(TokenStream::new()) };
    match name {
        "not" => Ok(quote_spanned!(span=> (!(#of)))),
        "is_some" | "is_none" => Ok(quote_spanned!(span=> (#of).#method())),
        name if CONST.contains(&name) => {
            Ok(quote_spanned!(span=> #root::host::constant::One(#of).#method(#(#rest),*)))
        }
        name => Err(Error::new(
            span,
            format!("`{name}` in a `const fn` of a kernel, where it is not one of Rust: leave `const` away"),
        )),
    }
}

/// Functions of numbers that a `const fn` can call.
const CONST: &[&str] = &[
    "neg",
    "abs",
    "signum",
    "min",
    "max",
    "clamp",
    "pow",
    "div_euclid",
    "rem_euclid",
    "count_ones",
    "leading_zeros",
    "trailing_zeros",
    "reverse_bits",
    "swap_bytes",
    "rotate_left",
    "rotate_right",
    "wrapping_add",
    "wrapping_sub",
    "wrapping_mul",
    "saturating_add",
    "saturating_sub",
    "saturating_mul",
    "checked_add",
    "checked_sub",
    "checked_mul",
    "checked_div",
    "checked_rem",
];

/// Operators that types of one's own can have.
const OWN: [&str; 4] = ["add", "sub", "mul", "div"];

/// The function of a binary operator, for those that are no assignments.
pub(crate) fn operator(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add(_) | BinOp::AddAssign(_) => "add",
        BinOp::Sub(_) | BinOp::SubAssign(_) => "sub",
        BinOp::Mul(_) | BinOp::MulAssign(_) => "mul",
        BinOp::Div(_) | BinOp::DivAssign(_) => "div",
        BinOp::Rem(_) | BinOp::RemAssign(_) => "rem",
        BinOp::BitXor(_) | BinOp::BitXorAssign(_) => "bitxor",
        BinOp::BitAnd(_) | BinOp::BitAndAssign(_) => "bitand",
        BinOp::BitOr(_) | BinOp::BitOrAssign(_) => "bitor",
        BinOp::Shl(_) | BinOp::ShlAssign(_) => "shl",
        BinOp::Shr(_) | BinOp::ShrAssign(_) => "shr",
        BinOp::Eq(_) => "eq",
        BinOp::Ne(_) => "ne",
        BinOp::Lt(_) => "lt",
        BinOp::Le(_) => "le",
        BinOp::Gt(_) => "gt",
        BinOp::Ge(_) => "ge",
        _ => return None,
    })
}

pub(crate) fn is_comparison(op: &BinOp) -> bool {
    matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_))
}

pub(crate) fn is_assignment(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}
