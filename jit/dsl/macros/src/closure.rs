//! `kernel_fn!`: a struct of captures, its kernel and its value from a list and a closure.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Expr, ExprClosure, Ident, ItemImpl, Result, Token, Type, bracketed,
    parse::{Parse, ParseStream},
    parse_quote,
    punctuated::Punctuated,
};

use crate::{attribute, derive::root, refuse};

struct CaptureItem {
    name: Ident,
    ty: Type,
    value: Option<Expr>,
}

impl Parse for CaptureItem {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let ty = input.parse()?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Some(input.parse()?)
        } else {
            None
        };
        Ok(CaptureItem { name, ty, value })
    }
}

struct Input {
    captures: Punctuated<CaptureItem, Token![,]>,
    closure: ExprClosure,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let content;
        bracketed!(content in input);
        let captures = content.parse_terminated(CaptureItem::parse, Token![,])?;
        Ok(Input { captures, closure: input.parse()? })
    }
}

pub(crate) fn kernel_fn(input: TokenStream) -> Result<TokenStream> {
    let Input { captures, closure } = syn::parse2(input)?;
    if closure.inputs.len() > 1 {
        return refuse::error(
            &closure.inputs,
            "`kernel_fn!` with several arguments: a kernel takes the item, everything else is captured",
        );
    }
    let item = match closure.inputs.first() {
        None => None,
        Some(syn::Pat::Type(typed)) => Some(typed),
        Some(pat) => return refuse::error(pat, "the item's type is needed: `|item: Item<1>|`"),
    };
    let root = root();
    let body = &closure.body;
    let (names, types): (Vec<_>, Vec<_>) = captures.iter().map(|c| (&c.name, &c.ty)).unzip();
    let values = captures.iter().map(|CaptureItem { name, value, .. }| match value {
        Some(value) => quote!(#value),
        None => quote!(#name),
    });
    let kernel: ItemImpl = parse_quote!(impl ClosureKernel { fn run(&self, #item) { #body } });
    let known: HashSet<String> = names.iter().map(|name| name.to_string()).collect();
    let expanded = attribute::expand(&kernel, &known)?;
    Ok(quote! {{
        #[derive(#root::Captures)]
        struct ClosureKernel { #(#names: #types),* }
        #expanded
        ClosureKernel { #(#names: ::core::convert::Into::into(#values)),* }
    }})
}
