//! The derives: what a struct's fields become.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{
    Data, DataEnum, DeriveInput, Error, Expr, ExprLit, Fields, Ident, Lit, Result, Type, parse_quote,
    spanned::Spanned,
};

use crate::refuse;

/// Path of the crate that expanded code names.
pub(crate) fn root() -> TokenStream {
    quote!(::vkfuse::rust)
}

/// The same where an error of the compiler is to point at a part of a body.
pub(crate) fn root_at(span: Span) -> TokenStream {
    quote_spanned!(span=> ::vkfuse::rust)
}

/// A name of the expansion's own, where a part of a body is: one name wherever the parts of the body come from, so that a body
/// can be put together by a macro.
pub(crate) fn own(name: &str, at: Span) -> Ident {
    Ident::new(name, at.resolved_at(Span::call_site()))
}

struct Struct<'a> {
    fields: Vec<(&'a Ident, &'a Type)>,
}

fn fields<'a>(input: &'a DeriveInput, derive: &str) -> Result<Struct<'a>> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), refuse::not_a_struct(&input.data, derive)));
    };
    let named = match &data.fields {
        Fields::Named(named) => named.named.iter().collect::<Vec<_>>(),
        Fields::Unnamed(_) => {
            return Err(Error::new(
                data.fields.span(),
                format!("`{derive}` on a tuple struct: name the fields"),
            ));
        }
        Fields::Unit => Vec::new(),
    };
    let mut fields = Vec::new();
    for field in named {
        refuse::capture_type(&field.ty)?;
        if let Some(ident) = &field.ident {
            fields.push((ident, &field.ty));
        }
    }
    Ok(Struct { fields })
}

pub(crate) fn name_hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The derive's input, where all fields whose types depend on a type parameter are bound to be what fields must be.
fn bounded(input: &DeriveInput, item: &Struct<'_>, bound: &TokenStream) -> DeriveInput {
    let mut bounded = input.clone();
    let params: Vec<String> = input.generics.type_params().map(|param| param.ident.to_string()).collect();
    let depends = |ty: &&Type| mentions(ty.to_token_stream(), &params);
    for ty in item.fields.iter().map(|field| field.1).filter(depends) {
        bounded.generics.make_where_clause().predicates.push(parse_quote!(#ty: #bound));
    }
    bounded
}

pub(crate) fn mentions(tokens: TokenStream, names: &[String]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.contains(&ident.to_string()),
        TokenTree::Group(group) => mentions(group.stream(), names),
        _ => false,
    })
}

/// `HasField` for each field: where it starts is behind the fields before it.
fn has_fields(input: &DeriveInput, item: &Struct<'_>, value: bool) -> TokenStream {
    let root = root();
    let name = &input.ident;
    let (generics, params, bounds) = input.generics.split_for_impl();
    let mut before: Vec<u64> = Vec::new();
    let mut all = TokenStream::new();
    for (k, (ident, ty)) in item.fields.iter().enumerate() {
        let hash = name_hash(&ident.to_string());
        let k = k as u32;
        let position = if value {
            quote!(at)
        } else {
            quote!(#(let at = #root::capture::fields::advance::<Self, #before>(at);)* at)
        };
        all.extend(quote! {
            impl #generics #root::capture::HasField<#hash> for #name #params #bounds {
                type Type = #ty;
                const INDEX: u32 = #k;
                #[allow(clippy::let_and_return)]
                fn position(at: #root::capture::Position) -> #root::capture::Position {
                    #position
                }
            }
        });
        before.push(hash);
    }
    all
}

/// `#[derive(Captures)]`
pub(crate) fn captures(input: &DeriveInput) -> Result<TokenStream> {
    let item = fields(input, "Captures")?;
    let root = root();
    let bounded = bounded(input, &item, &quote!(#root::Capture));
    let input = &bounded;
    let name = &input.ident;
    let (generics, params, bounds) = input.generics.split_for_impl();
    let idents: Vec<_> = item.fields.iter().map(|f| f.0).collect();
    let hashes: Vec<_> = item.fields.iter().map(|f| name_hash(&f.0.to_string())).collect();
    let names: Vec<_> = idents.iter().map(|ident| ident.to_string()).collect();
    let fields = has_fields(input, &item, false);
    Ok(quote! {
        impl #generics #root::capture::Stage for #name #params #bounds {
            type Kind = #root::stage::Composite;
        }
        #[automatically_derived]
        impl #generics #root::Capture for #name #params #bounds {
            #[allow(clippy::let_and_return)]
            fn advance(at: #root::capture::Position) -> #root::capture::Position {
                #(let at = #root::capture::fields::advance::<Self, #hashes>(at);)*
                at
            }
            #[allow(unused_variables, unused_assignments)]
            fn describe(path: &str, at: #root::capture::Position, signature: &mut #root::Signature) {
                #(
                    #root::capture::fields::describe::<Self, #hashes>(&#root::capture::join(path, #names), at, signature);
                    let at = #root::capture::fields::advance::<Self, #hashes>(at);
                )*
            }
            #[allow(unused_variables, unused_assignments)]
            fn bind(&self, at: #root::capture::Position, arguments: &mut #root::Arguments) {
                #(
                    #root::capture::fields::bind::<Self, #hashes>(&self.#idents, at, arguments);
                    let at = #root::capture::fields::advance::<Self, #hashes>(at);
                )*
            }
            fn begin_group(&self) {
                #(#root::capture::fields::begin_group::<Self, #hashes>(&self.#idents);)*
            }
        }
        #fields
    })
}

fn check_repr(input: &DeriveInput) -> Result<()> {
    let mut is_c = false;
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("C") {
                is_c = true;
            } else if meta.path.is_ident("packed") {
                return Err(meta
                    .error("a packed struct has no layout on a device: take `packed` away, or keep bytes"));
            } else if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    if is_c {
        return Ok(());
    }
    let message = "`Value` needs a layout that Rust promises: add `#[repr(C)]`";
    Err(Error::new(input.ident.span(), message))
}

/// `#[derive(Value)]`
pub(crate) fn value(input: &DeriveInput) -> Result<TokenStream> {
    if let Data::Enum(data) = &input.data
        && data.variants.iter().all(|variant| variant.fields.is_empty())
    {
        return enumeration(input, data);
    }
    let item = fields(input, "Value")?;
    check_repr(input)?;
    if item.fields.is_empty() {
        return Err(Error::new(
            input.ident.span(),
            "`Value` on a struct without fields: nothing to compute with",
        ));
    }
    let root = root();
    let bounded = bounded(input, &item, &quote!(#root::Value));
    let input = &bounded;
    let name = &input.ident;
    let (generics, params, bounds) = input.generics.split_for_impl();
    let idents: Vec<_> = item.fields.iter().map(|f| f.0).collect();
    let types: Vec<_> = item.fields.iter().map(|f| f.1).collect();
    let names: Vec<_> = idents.iter().map(|ident| ident.to_string()).collect();
    let fields = has_fields(input, &item, true);
    let text = name.to_string();
    Ok(quote! {
        impl #generics #root::capture::Stage for #name #params #bounds {
            type Kind = #root::stage::Plain;
        }
        #[automatically_derived]
        impl #generics #root::Capture for #name #params #bounds {
            fn advance(at: #root::capture::Position) -> #root::capture::Position {
                #root::capture::plain::advance::<Self>(at)
            }
            fn plain_shape() -> ::core::option::Option<#root::Shape> {
                ::core::option::Option::Some(<Self as #root::Local>::shape())
            }
            fn describe(path: &str, at: #root::capture::Position, signature: &mut #root::Signature) {
                #root::capture::plain::describe::<Self>(path, at, signature);
            }
            fn bind(&self, at: #root::capture::Position, arguments: &mut #root::Arguments) {
                #root::capture::plain::bind(self, at, arguments);
            }
        }
        #[automatically_derived]
        impl #generics #root::Value for #name #params #bounds {}
        #[automatically_derived]
        impl #generics #root::Local for #name #params #bounds {
            fn shape() -> #root::Shape {
                #root::Shape::Struct(#root::StructShape {
                    name: #text,
                    size: ::core::mem::size_of::<Self>() as u32,
                    align: ::core::mem::align_of::<Self>() as u32,
                    fields: ::std::vec![#(#root::FieldShape {
                        name: #names,
                        offset: ::core::mem::offset_of!(Self, #idents) as u32,
                        shape: <#types as #root::Local>::shape(),
                    }),*],
                })
            }
            fn write(&self, bytes: &mut [u8]) {
                #(
                    let at = ::core::mem::offset_of!(Self, #idents);
                    let end = at + ::core::mem::size_of::<#types>();
                    <#types as #root::Local>::write(&self.#idents, &mut bytes[at..end]);
                )*
            }
            fn zero() -> Self {
                Self { #(#idents: <#types as #root::Local>::zero()),* }
            }
        }
        impl #generics #name #params #bounds {
            #[doc(hidden)]
            #[allow(dead_code)]
            pub fn __build() -> #root::stage::StructBuilder<Self> {
                ::core::default::Default::default()
            }
        }
        #fields
    })
}

/// `#[derive(Value)]` on an enum without fields: the number that a variant is.
fn enumeration(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let mut repr = None;
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("repr")) {
        repr = attribute.parse_args::<Ident>().ok();
    }
    let sizes = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"];
    let Some(repr) = repr.filter(|repr| sizes.iter().any(|size| repr == size)) else {
        return Err(Error::new(
            input.ident.span(),
            "`Value` on an enum whose size Rust does not promise: add `#[repr(u32)]`",
        ));
    };
    let mut next = Some(0_i128);
    let mut zero = None;
    for variant in &data.variants {
        if let Some((_, number)) = &variant.discriminant {
            next = match number {
                Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => Some(number.base10_parse()?),
                _ => None,
            };
        }
        if next == Some(0) {
            zero = Some(&variant.ident);
        }
        next = next.map(|number| number + 1);
    }
    let Some(zero) = zero else {
        return Err(Error::new(
            input.ident.span(),
            "`Value` on an enum without a variant that is 0: what is read out of range is that; give one the number",
        ));
    };
    let (root, name) = (root(), &input.ident);
    let (generics, params, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics #root::capture::Stage for #name #params #bounds {
            type Kind = #root::stage::Plain;
        }
        #[automatically_derived]
        impl #generics #root::Capture for #name #params #bounds {
            fn advance(at: #root::capture::Position) -> #root::capture::Position {
                #root::capture::plain::advance::<Self>(at)
            }
            fn plain_shape() -> ::core::option::Option<#root::Shape> {
                ::core::option::Option::Some(<Self as #root::Local>::shape())
            }
            fn describe(path: &str, at: #root::capture::Position, signature: &mut #root::Signature) {
                #root::capture::plain::describe::<Self>(path, at, signature);
            }
            fn bind(&self, at: #root::capture::Position, arguments: &mut #root::Arguments) {
                #root::capture::plain::bind(self, at, arguments);
            }
        }
        #[automatically_derived]
        impl #generics #root::Value for #name #params #bounds {}
        #[automatically_derived]
        impl #generics #root::Local for #name #params #bounds {
            fn shape() -> #root::Shape {
                <#repr as #root::Local>::shape()
            }
            fn write(&self, bytes: &mut [u8]) {
                <#repr as #root::Local>::write(&(*self as #repr), bytes);
            }
            fn zero() -> Self {
                #name::#zero
            }
        }
        #[automatically_derived]
        impl #generics #root::value::Scalar for #name #params #bounds {
            const TYPE: #root::ScalarType = <#repr as #root::value::Scalar>::TYPE;
        }
    })
}
