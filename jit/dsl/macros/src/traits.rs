//! `#[device]` on traits and on what implements them.
//!
//! A marked trait has the staged copies of its functions beside them, so that what implements it has both, and a call through a
//! bound finds the copy that the call needs. Of the standard library's traits, those of operators and `Default` are known by name.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, format_ident, quote};
use syn::{
    GenericArgument, ImplItem, ImplItemFn, ItemImpl, ItemTrait, Path, PathArguments, Result, Signature,
    TraitItem, TraitItemFn, Type, Visibility, parse_quote,
};

use crate::{
    attribute::{Form, Signed, check, function, method, this_handle},
    call::NUMBERS,
    derive::{name_hash, root},
    refuse,
};

/// Operators that types of one's own can have.
const OPERATORS: [&str; 5] = ["Add", "Sub", "Mul", "Div", "Neg"];

/// What to do about a trait of the standard library that kernels do not know.
fn instead(name: &str) -> Option<&'static str> {
    Some(match name {
        "AddAssign" | "SubAssign" | "MulAssign" | "DivAssign" => {
            "`a += b` is `a = a + b` there: mark the `impl` of the operator itself, and leave this one unmarked"
        }
        "Rem" | "BitAnd" | "BitOr" | "BitXor" | "Shl" | "Shr" | "Not" | "RemAssign" | "BitAndAssign"
        | "BitOrAssign" | "BitXorAssign" | "ShlAssign" | "ShrAssign" => {
            "the operators of one's own types are `+`, `-`, `*`, `/` and minus: write a method for others"
        }
        "Index" | "IndexMut" | "Deref" | "DerefMut" | "From" | "Into" | "TryFrom" | "PartialEq"
        | "PartialOrd" | "Ord" | "Iterator" | "IntoIterator" | "Clone" | "Drop" | "Fn" | "FnMut"
        | "FnOnce" | "Sum" | "Product" => {
            "leave it unmarked, and write what kernels need as a function of an `impl` without a trait"
        }
        _ => return None,
    })
}

/// An `impl` of a trait.
pub(crate) fn implementation(item: &ItemImpl, path: &Path) -> Result<TokenStream> {
    if let Type::Reference(reference) = &*item.self_ty {
        return refuse::error(
            reference,
            "a trait of a reference in a kernel: values are copied; implement it for the type itself",
        );
    }
    let name = path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    if OPERATORS.contains(&name.as_str()) {
        return operator(item, path, &name);
    }
    if name == "Default" {
        return default(item, path);
    }
    if let Some(instead) = instead(&name) {
        return refuse::error(path, format!("`impl {name}` in a kernel: {instead}"));
    }
    let (mut members, mut methods) = (TokenStream::new(), TokenStream::new());
    let of_number = is_number(&item.self_ty);
    for member in &item.items {
        let ImplItem::Fn(member) = member else {
            member.to_tokens(&mut members);
            continue;
        };
        if of_number && let Some(receiver) = member.sig.receiver() {
            return refuse::error(
                receiver,
                "a method of a number in a kernel: take it as an argument, `fn f(x: Self)`, and call it by its path, `S::f(x)`",
            );
        }
        let lower = format_ident!("__lower_{}", member.sig.ident);
        let (host, lowered) = twice(member, &lower, Form::Together)?;
        members.extend(host);
        members.extend(lowered);
        if is_method(&member.sig) {
            methods.extend(method(item, member, &quote!(<Self as #path>)));
        }
    }
    let (generics, _, bounds) = item.generics.split_for_impl();
    let (attributes, ty) = (&item.attrs, &item.self_ty);
    Ok(quote!(#(#attributes)* impl #generics #path for #ty #bounds { #members } #methods))
}

/// Whether a type is one of Rust's own, which other crates cannot give the staged form of methods.
fn is_number(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.get_ident().is_some_and(|name| NUMBERS.iter().any(|number| name == number))
}

fn twice(member: &ImplItemFn, lower: &Ident, form: Form) -> Result<(TokenStream, TokenStream)> {
    function(&Visibility::Inherited, &member.attrs, &member.sig, &member.block, lower, form)
}

/// Whether a function of a trait is found by calls on values of the type. Where its signature names associated types, Rust has
/// no way to say in the trait's definition that it is.
fn is_method(signature: &Signature) -> bool {
    let text = signature.to_token_stream().to_string().replace(' ', "");
    signature.receiver().is_some() && signature.generics.params.is_empty() && !text.contains("Self::")
}

/// The function of an `impl`, and what else it has.
fn split<'a>(item: &'a ItemImpl, name: &str) -> (Option<&'a ImplItemFn>, Vec<&'a ImplItem>) {
    let (mut found, mut others) = (None, Vec::new());
    for member in &item.items {
        match member {
            ImplItem::Fn(member) if member.sig.ident == name => found = Some(member),
            other => others.push(other),
        }
    }
    (found, others)
}

/// An operator: the `impl` itself, and that of the trait which kernels look for.
fn operator(item: &ItemImpl, path: &Path, name: &str) -> Result<TokenStream> {
    let method = name.to_lowercase();
    let (Some(member), others) = split(item, &method) else { return Ok(item.to_token_stream()) };
    let (kernel, stage) = (format_ident!("kernel_{method}"), format_ident!("stage_{method}"));
    let (host, lowered) = twice(member, &stage, Form::Each)?;
    let (root, method, ty) = (root(), &member.sig.ident, &item.self_ty);
    let (generics, _, bounds) = item.generics.split_for_impl();
    let (attributes, name) = (&item.attrs, format_ident!("{name}"));
    let implemented = if name == "Neg" {
        quote! {
            impl #generics #root::value::Neg for #ty #bounds {
                fn #kernel(self) -> Self {
                    <Self as #path>::#method(self)
                }
                #lowered
            }
        }
    } else {
        let right = right(path);
        quote! {
            impl #generics #root::value::#name<#right> for #ty #bounds {
                type Output = <Self as #path>::Output;
                fn #kernel(self, other: #right) -> <Self as #path>::Output {
                    <Self as #path>::#method(self, other)
                }
                #lowered
            }
        }
    };
    Ok(quote!(#(#attributes)* impl #generics #path for #ty #bounds { #(#others)* #host } #implemented))
}

/// The type of the right side.
fn right(path: &Path) -> Type {
    let arguments = path.segments.last().map(|last| &last.arguments);
    if let Some(PathArguments::AngleBracketed(arguments)) = arguments
        && let Some(GenericArgument::Type(ty)) = arguments.args.first()
    {
        return ty.clone();
    }
    parse_quote!(Self)
}

/// `Default`: its function is one of the type.
fn default(item: &ItemImpl, path: &Path) -> Result<TokenStream> {
    let (Some(member), others) = split(item, "default") else { return Ok(item.to_token_stream()) };
    let lower = format_ident!("__lower_default");
    let public: Visibility = parse_quote!(pub);
    let (host, _) = twice(member, &lower, Form::Together)?;
    let (_, lowered) = function(&public, &member.attrs, &member.sig, &member.block, &lower, Form::Together)?;
    let (generics, _, bounds) = item.generics.split_for_impl();
    let (attributes, ty) = (&item.attrs, &item.self_ty);
    Ok(quote! {
        #(#attributes)* impl #generics #path for #ty #bounds { #(#others)* #host }
        impl #generics #ty #bounds { #lowered }
    })
}

/// The definition of a trait, with the staged copies of its functions among them.
pub(crate) fn definition(item: &ItemTrait) -> Result<TokenStream> {
    let root = root();
    let mut members = TokenStream::new();
    let mut required = vec![quote!(::core::marker::Sized), quote!('static)];
    for member in &item.items {
        let TraitItem::Fn(member) = member else {
            member.to_tokens(&mut members);
            continue;
        };
        if let (Some(_), Some(receiver), true) =
            (&member.default, member.sig.receiver(), item.supertraits.is_empty())
        {
            return refuse::error(
                receiver,
                format!(
                    "a method with a body in a trait of kernels, which may be of what is no value: `trait {}: Value`",
                    item.ident
                ),
            );
        }
        members.extend(defined(member)?);
        if member.sig.receiver().is_some() {
            required.push(quote!(#root::capture::Stage));
        }
        if is_method(&member.sig) && member.default.is_none() {
            let Signed { types, result, .. } = Signed::of(&member.sig)?;
            let hash = name_hash(&member.sig.ident.to_string());
            let this = this_handle(&member.sig);
            required.push(quote!(#root::stage::Method<#hash, (#(#types,)*), #result, This = #this>));
        }
    }
    let ItemTrait { attrs, vis, unsafety, ident, generics, supertraits, .. } = item;
    let bounds = &generics.where_clause;
    let supertraits = supertraits.iter();
    let params = &generics.params;
    Ok(quote! {
        #(#attrs)*
        #vis #unsafety trait #ident <#params>: #(#supertraits +)* #(#required)+* #bounds { #members }
    })
}

/// A function of a trait's definition, twice.
fn defined(member: &TraitItemFn) -> Result<TokenStream> {
    let lower = format_ident!("__lower_{}", member.sig.ident);
    if let Some(block) = &member.default {
        let (host, lowered) =
            function(&Visibility::Inherited, &member.attrs, &member.sig, block, &lower, Form::Together)?;
        return Ok(quote!(#host #lowered));
    }
    check(&member.sig)?;
    let signed = Signed::of(&member.sig)?;
    let (all, result) = (signed.together(this_handle(&member.sig)), &signed.result);
    let (generics, _, bounds) = member.sig.generics.split_for_impl();
    Ok(quote! {
        #member
        #[doc(hidden)]
        fn #lower #generics(__all: #all) -> #result #bounds;
    })
}
