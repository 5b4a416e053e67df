//! What is not lowered, and what to use instead.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Block, Data, Error, Expr, Item, Pat, Result, Signature, Type, spanned::Spanned};

pub(crate) fn error<T>(at: &impl Spanned, message: impl std::fmt::Display) -> Result<T> {
    Err(Error::new(at.span(), message))
}

/// An attribute where it cannot be; or, of an item that it can be on, what the item's parser says.
pub(crate) fn misplaced<T>(input: &TokenStream, items: &[&str], found: Error, message: &str) -> Result<T> {
    let is_item = |token| matches!(token, TokenTree::Ident(word) if items.iter().any(|item| word == item));
    if input.clone().into_iter().any(is_item) { Err(found) } else { error(input, message) }
}

pub(crate) fn not_a_struct(data: &Data, derive: &str) -> String {
    let (kind, instead) = match data {
        Data::Enum(_) => ("an enum", "keep its number in a `u32` and `match` on that"),
        _ => ("a union", "keep its bits in a `u32` and use `from_bits` or casts"),
    };
    format!("`{derive}` on {kind}, which has no form on a device: {instead}")
}

/// Types that a field or a variable cannot have, as far as that shows in their text.
pub(crate) fn capture_type(ty: &Type) -> Result<()> {
    let refused =
        |what: &str, instead: &str| error(ty, format!("{what} cannot be a parameter of a kernel: {instead}"));
    match ty {
        Type::Reference(_) => refused("a reference", "copy the value, or pass a buffer's accessor"),
        Type::Ptr(_) => refused("a pointer", "pass a buffer's accessor"),
        Type::Slice(_) => refused("a slice", "pass a buffer's accessor, or an array `[T; N]`"),
        Type::Tuple(_) => refused("a tuple", "use a struct with `#[repr(C)]` and `#[derive(Value)]`"),
        Type::BareFn(_) => refused("a function pointer", "call a function marked `#[device]` by its name"),
        Type::TraitObject(_) => refused("a trait object", "use a type parameter"),
        Type::ImplTrait(_) => refused("`impl Trait`", "use a type parameter"),
        Type::Array(array) => capture_type(&array.elem),
        Type::Paren(paren) => capture_type(&paren.elem),
        Type::Group(group) => capture_type(&group.elem),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Ok(()) };
            match last.ident.to_string().as_str() {
                "usize" => refused("`usize`, whose size is the machine's,", "use `u32`"),
                "isize" => refused("`isize`, whose size is the machine's,", "use `i32`"),
                "char" => refused("`char`", "use `u32`, or `u8` for ASCII"),
                "u128" | "i128" => refused("a 128-bit integer", "use two `u64`"),
                "String" => refused("`String`", "pass its bytes in a buffer"),
                "Vec" => refused("`Vec`", "pass a buffer's accessor, or an array `[T; N]`"),
                "Box" | "Rc" | "Arc" => {
                    refused("a pointer to the heap", "copy the value, or pass a buffer's accessor")
                }
                "Option" => refused("`Option`", "use a struct of a `bool` and the value"),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// A type in a body.
pub(crate) fn body_type(ty: &Type) -> Result<()> {
    let refused = |what: &str, instead: &str| error(ty, format!("{what} in a kernel: {instead}"));
    match ty {
        Type::Reference(_) => {
            refused("a reference", "copy the value; only captures are passed as `&`, to marked functions")
        }
        Type::Ptr(_) => refused("a pointer", "use an accessor and an index"),
        Type::Tuple(tuple) => tuple.elems.iter().try_for_each(body_type),
        Type::Slice(_) => refused("a slice", "use an array `[T; N]`"),
        Type::Path(path) => match path.path.segments.last().map(|s| s.ident.to_string()).as_deref() {
            Some("usize") => refused("`usize`", "use `u32`, by which arrays and accessors are indexed"),
            Some("isize") => refused("`isize`", "use `i32`"),
            Some("char") => refused("`char`", "use `u32`, or `u8` for ASCII"),
            Some("u128" | "i128") => refused("a 128-bit integer", "use two `u64`"),
            _ => Ok(()),
        },
        Type::Array(array) => body_type(&array.elem),
        _ => Ok(()),
    }
}

/// An expression that no part of the lowering takes.
pub(crate) fn expression(e: &Expr) -> Error {
    let (what, instead) = match e {
        Expr::Closure(_) => {
            ("a closure that has no name", "give it one, `let f = |x: f32| …;`, and call it by that")
        }
        Expr::Async(_) | Expr::Await(_) => ("`async`", "events order kernels, not their parts"),
        Expr::Reference(_) => ("`&mut` here", "it is an argument, or what `let` gives a name to"),
        Expr::Range(_) => ("a range outside of `for`", "keep its two ends"),
        Expr::Try(_) => ("`?` here", "it leaves a function that gives an `Option`: use `if let` or `match`"),
        Expr::TryBlock(_) => {
            ("`try`", "it leaves a function that gives an `Option`: use `if let` or `match`")
        }
        Expr::RawAddr(_) => ("a raw pointer", "use an accessor and an index"),
        Expr::Const(_) => ("a `const` block", "name a `const` outside of the function"),
        Expr::Infer(_) => ("`_`", "name the value"),
        _ => ("this expression", "the guide lists what kernels can contain"),
    };
    Error::new(e.span(), format!("{what} in a kernel: {instead}"))
}

pub(crate) fn macro_instead(name: &str) -> &'static str {
    match name {
        "println" | "print" | "eprintln" | "eprint" | "dbg" | "format" | "write" | "writeln" => {
            "a device cannot print: write values to a buffer, or run the kernel on the host"
        }
        "assert_eq" | "assert_ne" | "debug_assert_eq" | "debug_assert_ne" => {
            "use `assert!` with the comparison"
        }
        "panic" | "todo" | "unimplemented" => {
            "a device cannot panic: use `unreachable!`, which the checking mode reports, or write a mark to a buffer"
        }
        "vec" => "a device has no heap: use an array `[value; N]`",
        _ => "macros are not looked into: write what it expands to, or a function marked `#[device]`",
    }
}

pub(crate) fn item(item: &Item) -> Error {
    let (what, instead) = match item {
        Item::Static(_) => ("a `static`", "use a `const`, or pass a buffer"),
        Item::Macro(_) => ("a macro", "write what it expands to"),
        _ => ("an item inside of a function", "write it outside"),
    };
    Error::new(item.span(), format!("{what} in a kernel: {instead}"))
}

pub(crate) fn binding(pat: &Pat) -> Error {
    let (what, instead) = match pat {
        Pat::TupleStruct(_) => (
            "a pattern of a tuple struct or variant",
            "use a struct with named fields; of variants, `Some` and `None`",
        ),
        Pat::Ident(ident) if ident.by_ref.is_some() => ("`ref`", "values are copied: leave it away"),
        _ => ("this pattern", "use a name"),
    };
    Error::new(pat.span(), format!("{what} in a kernel: {instead}"))
}

/// Attributes that change nothing of what is computed.
const QUIET: &[&str] = &["allow", "expect", "warn", "deny", "forbid", "doc", "rustfmt", "clippy"];

/// Refuses attributes of parameters and inside of bodies, which would be in one copy only.
pub(crate) fn attributes(signature: &Signature, block: &Block) -> Result<()> {
    let mut found = Vec::new();
    attributes_in(signature.inputs.to_token_stream(), &mut found);
    attributes_in(block.to_token_stream(), &mut found);
    let all = found.into_iter().reduce(|mut all, error| {
        all.combine(error);
        all
    });
    all.map_or(Ok(()), Err)
}

fn attributes_in(tokens: TokenStream, found: &mut Vec<Error>) {
    let mut after_sign = false;
    for token in tokens {
        let sign = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
        if let TokenTree::Group(group) = &token {
            if after_sign && group.delimiter() == Delimiter::Bracket {
                found.extend(attribute(group.stream()));
            } else {
                attributes_in(group.stream(), found);
            }
        }
        after_sign = sign;
    }
}

fn attribute(content: TokenStream) -> Option<Error> {
    let TokenTree::Ident(name) = content.into_iter().next()? else { return None };
    let text = name.to_string();
    if QUIET.contains(&text.as_str()) {
        return None;
    }
    let instead = match text.as_str() {
        "cfg" | "cfg_attr" => "use `if` with a `const`, or mark the whole function",
        _ => "put it on the function",
    };
    Some(Error::new(name.span(), format!("attribute `{text}` inside of a kernel: {instead}")))
}
