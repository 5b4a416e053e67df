//! `#[kernel]` and `#[device]`: functions with their staged copies.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{ToTokens as _, format_ident, quote};
use syn::{
    Block, FnArg, Ident, ImplItem, ImplItemFn, ItemFn, ItemImpl, ItemTrait, Pat, Result, ReturnType,
    Signature, Type, Visibility, spanned::Spanned,
};

use crate::{
    body::{Both, Returns, This, Walk, Want},
    derive::{mentions, name_hash, root},
    refuse, traits,
};

/// How an argument is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// As a value.
    Value,
    /// As a capture, an item, or a reference to a value.
    Reference,
    /// As a reference to a place, which is changed.
    Place,
}

/// A parameter: its name, its type without `&`, and whether it is a mutable local.
struct Param<'a> {
    name: &'a Ident,
    ty: &'a Type,
    given: Given,
    mutable: bool,
}

fn params(signature: &Signature) -> Result<Vec<Param<'_>>> {
    let mut params = Vec::new();
    for input in &signature.inputs {
        let FnArg::Typed(typed) = input else { continue };
        let Pat::Ident(ident) = &*typed.pat else { return Err(refuse::binding(&typed.pat)) };
        let (ty, given) = match &*typed.ty {
            Type::Reference(reference) => {
                let given = if reference.mutability.is_some() { Given::Place } else { Given::Reference };
                (&*reference.elem, given)
            }
            ty if is_item(ty) => (ty, Given::Reference),
            ty => (ty, Given::Value),
        };
        if given != Given::Reference {
            refuse::body_type(ty)?;
        }
        params.push(Param { name: &ident.ident, ty, given, mutable: ident.mutability.is_some() });
    }
    Ok(params)
}

/// Whether a type is what tells items apart, by its name.
fn is_item(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path
        .segments
        .last()
        .is_some_and(|last| ["Item", "GroupItem", "Task"].iter().any(|name| last.ident == name))
}

/// The type of a parameter's handle. For values it is said outright, so that type parameters follow from arguments.
fn handle(ty: &Type, given: Given, signature: &Signature) -> TokenStream {
    let root = root();
    match given {
        Given::Reference if depends(ty, signature) => quote!(impl #root::stage::Handle<Of = #ty>),
        Given::Value => quote!(#root::stage::Val<#ty>),
        Given::Reference => quote!(#root::stage::Staged<#ty>),
        Given::Place => quote!(#root::stage::Place<#ty>),
    }
}

/// Whether a type depends on a type parameter of the function itself.
fn depends(ty: &Type, signature: &Signature) -> bool {
    let params: Vec<String> = signature.generics.type_params().map(|param| param.ident.to_string()).collect();
    mentions(ty.to_token_stream(), &params)
}

/// The handle of `self`.
pub(crate) fn this_handle(signature: &Signature) -> Option<TokenStream> {
    let root = root();
    let receiver = signature.receiver()?;
    let is_place = receiver.reference.is_some() && receiver.mutability.is_some();
    Some(if is_place { quote!(#root::stage::Place<Self>) } else { quote!(#root::stage::Staged<Self>) })
}

/// How a staged copy takes its arguments.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// As one, so that a call may have others, or more of them.
    Together,
    /// One by one, where a trait of the library says so.
    Each,
}

/// The staged form of a signature: names and handles of the arguments, and the handle of the result.
pub(crate) struct Signed<'a> {
    pub(crate) names: Vec<&'a Ident>,
    pub(crate) types: Vec<TokenStream>,
    pub(crate) result: TokenStream,
}

impl<'a> Signed<'a> {
    /// The parameters, that of `self` first.
    fn params(&self, this: Option<TokenStream>, form: Form) -> TokenStream {
        let Signed { names, types, .. } = self;
        let name = this.as_ref().map(|_| quote!(__this,));
        match form {
            Form::Together => {
                let all = self.together(this);
                quote!((#name #(#names,)*): #all)
            }
            Form::Each => {
                let this = this.map(|this| quote!(__this: #this,));
                quote!(#this #(#names: #types),*)
            }
        }
    }

    /// The type of all arguments as one.
    pub(crate) fn together(&self, this: Option<TokenStream>) -> TokenStream {
        let (types, this) = (&self.types, this.into_iter());
        quote!((#(#this,)* #(#types,)*))
    }

    pub(crate) fn of(signature: &'a Signature) -> Result<Signed<'a>> {
        let (root, params, (returns, ret)) = (root(), params(signature)?, returns(signature)?);
        let names = params.iter().map(|p| p.name).collect();
        let types = params.iter().map(|p| handle(p.ty, p.given, signature)).collect();
        let result = if returns == Returns::Value { quote!(#root::stage::Val<#ret>) } else { quote!(()) };
        Ok(Signed { names, types, result })
    }
}

pub(crate) fn check(signature: &Signature) -> Result<()> {
    if let Some(token) = &signature.asyncness {
        return refuse::error(
            token,
            "an `async` function in a kernel: events order kernels, not their parts",
        );
    }
    if let Some(token) = &signature.unsafety {
        return refuse::error(
            token,
            "an `unsafe` function in a kernel: put `unsafe` around what needs it, inside",
        );
    }
    match signature.receiver() {
        Some(receiver) if receiver.reference.is_none() && receiver.mutability.is_some() => {
            refuse::error(receiver, "`mut self` in a kernel: copy it, `let mut x = self;`")
        }
        _ => Ok(()),
    }
}

/// A body's two copies, with what must surround them.
fn bodies(
    signature: &Signature,
    block: &Block,
    params: &[Param<'_>],
    returns: Returns,
    captures: HashSet<String>,
) -> Result<Both> {
    let root = root();
    let mut walk = Walk::new(returns, captures);
    walk.is_const = signature.constness.is_some();
    walk.this = match signature.receiver() {
        Some(receiver) if receiver.reference.is_some() && receiver.mutability.is_some() => This::Place,
        Some(receiver) if receiver.reference.is_some() => This::Reference,
        _ => This::Value,
    };
    params.iter().for_each(|param| walk.declare(param.name));
    let want = if returns == Returns::Value { Want::Value } else { Want::Nothing };
    if let (Returns::Value, ReturnType::Type(_, ty)) = (returns, &signature.output) {
        walk.result = Some((**ty).clone());
    }
    let result = walk.result.clone();
    let Both { host, staged } = walk.block_of(block, want, result.as_ref());
    walk.finish()?;
    let variables = params.iter().map(|Param { name, mutable, given, .. }| {
        if *mutable && *given == Given::Value {
            quote!(let #name = #root::stage::var(#name);)
        } else {
            quote!(let #name = #root::stage::bind(#name);)
        }
    });
    let root = &root;
    let host = quote!(use #root::host::ops::{Accessor as _, Captured as _, Elements as _}; #host);
    let staged = match returns {
        Returns::Value => quote!({ let __value = { #staged }; __ret.leave(__value); }),
        Returns::Nothing => quote!({ #staged; __ret.leave(()); }),
        Returns::Kernel => quote!({ #staged; }),
    };
    Ok(Both::new(host, quote!(#(#variables)* #staged)))
}

/// Lints that the copies would trip over where the body does not.
fn allow() -> TokenStream {
    quote!(#[allow(
        unused_imports, unused_variables, unused_mut, unused_must_use, unused_parens, unused_braces, unused_labels, unused_assignments,
        unreachable_code, dead_code, clippy::all, clippy::pedantic
    )])
}

fn returns(signature: &Signature) -> Result<(Returns, TokenStream)> {
    Ok(match &signature.output {
        ReturnType::Default => (Returns::Nothing, quote!(())),
        ReturnType::Type(_, ty) => match &**ty {
            Type::Tuple(tuple) if tuple.elems.is_empty() => (Returns::Nothing, quote!(())),
            ty => {
                refuse::body_type(ty)?;
                (Returns::Value, quote!(#ty))
            }
        },
    })
}

/// The host's and the staged copy of a marked function; `staged_name` is what the latter is called. What is refused is there
/// without a body, so that only the refusal is reported, and not every use.
pub(crate) fn function(
    vis: &Visibility,
    attributes: &[syn::Attribute],
    signature: &Signature,
    block: &Block,
    staged_name: &Ident,
    form: Form,
) -> Result<(TokenStream, TokenStream)> {
    copies(vis, attributes, signature, block, staged_name, form).or_else(|error| {
        check(signature).and_then(|()| Signed::of(signature)).map_or_else(
            |_| Err(error.clone()),
            |signed| {
                let (allow, refusal) = (allow(), error.to_compile_error());
                let (params, result) = (signed.params(this_handle(signature), form), &signed.result);
                let (generics, _, bounds) = signature.generics.split_for_impl();
                let none = quote!(::core::unreachable!());
                Ok((
                    quote!(#refusal #allow #vis #signature { #none }),
                    quote! {
                        #[doc(hidden)]
                        #allow
                        #vis fn #staged_name #generics(#params) -> #result #bounds { #none }
                    },
                ))
            },
        )
    })
}

fn copies(
    vis: &Visibility,
    attributes: &[syn::Attribute],
    signature: &Signature,
    block: &Block,
    staged_name: &Ident,
    form: Form,
) -> Result<(TokenStream, TokenStream)> {
    check(signature)?;
    refuse::attributes(signature, block)?;
    let (root, allow) = (root(), allow());
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let params = params(signature)?;
    let (returns, ret) = returns(signature)?;
    let Both { host, staged } = bodies(signature, block, &params, returns, HashSet::new())?;
    let signed = Signed::of(signature)?;
    let (parameters, Signed { names, result, .. }) = (signed.params(this_handle(signature), form), &signed);
    let (generics, _, bounds) = signature.generics.split_for_impl();
    let name = signature.ident.to_string();
    let this_name = signature.receiver().map(|_| quote!(__this,));
    let staged_of = params.iter().filter(|p| p.given == Given::Reference && depends(p.ty, signature));
    let staged_of = staged_of.map(|p| p.name);
    let lowered = quote! {
        #(#conditions)*
        #[doc(hidden)]
        #allow
        #vis fn #staged_name #generics(#parameters) -> #result #bounds
        {
            use #root::stage::{Get as _, Set as _};
            #(let #staged_of = #root::stage::Handle::staged(#staged_of);)*
            #root::stage::call::<#ret, _, _>(#name, (#this_name #(#names,)*), |(#this_name #(#names,)*), __ret| {
                #staged
            })
        }
    };
    let host = quote!(#(#attributes)* #allow #vis #signature { #host });
    Ok((host, lowered))
}

fn no_arguments(arguments: &TokenStream, attribute: &str) -> Result<()> {
    if arguments.is_empty() {
        return Ok(());
    }
    refuse::error(
        arguments,
        format!("`#[{attribute}]` takes no arguments: the range of a launch says how large groups are"),
    )
}

/// `self` by value or to be changed, of what is no value.
fn by_reference(signature: &Signature) -> Result<()> {
    match signature.receiver() {
        Some(receiver) if receiver.reference.is_some() && receiver.mutability.is_some() => refuse::error(
            receiver,
            "`&mut self` in a kernel: captures are read only; use `&self` and write through accessors",
        ),
        Some(receiver) if receiver.reference.is_none() => {
            refuse::error(receiver, "`self` by value in a kernel: use `&self`")
        }
        _ => Ok(()),
    }
}

/// `#[device]`
pub(crate) fn device(arguments: TokenStream, input: TokenStream) -> Result<TokenStream> {
    no_arguments(&arguments, "device")?;
    if let Ok(item) = syn::parse2::<ItemImpl>(input.clone()) {
        return match &item.trait_ {
            Some((_, path, _)) => traits::implementation(&item, path),
            None => Ok(implementation(&item, None)?.0),
        };
    }
    if let Ok(item) = syn::parse2::<ItemTrait>(input.clone()) {
        return traits::definition(&item);
    }
    let item: ItemFn = match syn::parse2(input.clone()) {
        Ok(item) => item,
        Err(error) => {
            return refuse::misplaced(
                &input,
                &["fn", "impl", "trait"],
                error,
                "`#[device]` on this: it marks functions, `impl` blocks and traits",
            );
        }
    };
    device_function(&item)
}

/// A function, and what has its staged copy: a type of the same name, which is in scope wherever the function is.
fn device_function(item: &ItemFn) -> Result<TokenStream> {
    let Device { host, of, lowered } = device_parts(item)?;
    let name = &item.sig.ident;
    Ok(quote!(#host #of impl #name { #lowered }))
}

/// A function inside of a body: each copy has its own.
pub(crate) fn inner_function(item: &ItemFn) -> Result<Both> {
    let Device { host, of, lowered } = device_parts(item)?;
    let name = &item.sig.ident;
    Ok(Both::new(host.clone(), quote!(#host #of impl #name { #lowered })))
}

/// The function, the type of its name, and what that has.
struct Device {
    host: TokenStream,
    of: TokenStream,
    lowered: TokenStream,
}

fn device_parts(item: &ItemFn) -> Result<Device> {
    let lower = Ident::new("lower", item.sig.ident.span());
    let (vis, name) = (&item.vis, &item.sig.ident);
    let (host, lowered) = function(vis, &item.attrs, &item.sig, &item.block, &lower, Form::Together)?;
    let of = quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_docs, missing_debug_implementations)]
        #vis enum #name {}
    };
    Ok(Device { host, of, lowered })
}

/// A function as a method: what a call on a value of the type finds. Functions with type parameters of their own are called
/// by their paths. `of` is what has the function.
pub(crate) fn method(item: &ItemImpl, member: &ImplItemFn, of: &TokenStream) -> Option<TokenStream> {
    let signature = &member.sig;
    if !signature.generics.params.is_empty() {
        return None;
    }
    let this = this_handle(signature)?;
    let Signed { names, types, result } = Signed::of(signature).ok()?;
    let (root, ty) = (root(), &item.self_ty);
    let (generics, _, bounds) = item.generics.split_for_impl();
    let conditions = member.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let hash = name_hash(&signature.ident.to_string());
    let lower = format_ident!("__lower_{}", signature.ident);
    Some(quote! {
        #(#conditions)*
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #generics #root::stage::Method<#hash, (#(#types,)*), #result> for #ty #bounds {
            type This = #this;
            fn call(__this: #this, (#(#names,)*): (#(#types,)*)) -> #result {
                #of::#lower((__this, #(#names,)*))
            }
        }
    })
}

/// The functions of an `impl`, twice; and its `run`, if it may have one.
fn implementation(
    item: &ItemImpl,
    run: Option<&HashSet<String>>,
) -> Result<(TokenStream, Option<ImplItemFn>)> {
    if let Some((_, path, _)) = &item.trait_ {
        return refuse::error(path, "`#[kernel]` on an `impl` of a trait: mark that with `#[device]`");
    }
    let (mut functions, mut methods) = (TokenStream::new(), TokenStream::new());
    let mut entry = None;
    for member in &item.items {
        match member {
            ImplItem::Fn(member) if member.sig.ident == "run" && run.is_some() => {
                entry = Some(member.clone())
            }
            ImplItem::Fn(member) => {
                if run.is_some() {
                    by_reference(&member.sig)?;
                } else {
                    methods.extend(method(item, member, &quote!(Self)));
                }
                let lower = format_ident!("__lower_{}", member.sig.ident);
                let (host, lowered) =
                    function(&member.vis, &member.attrs, &member.sig, &member.block, &lower, Form::Together)?;
                functions.extend(host);
                functions.extend(lowered);
            }
            other => functions.extend(quote!(#other)),
        }
    }
    let (generics, _, bounds) = item.generics.split_for_impl();
    let ty = &item.self_ty;
    Ok((quote!(impl #generics #ty #bounds { #functions } #methods), entry))
}

/// `#[kernel]`
pub(crate) fn kernel(arguments: TokenStream, input: TokenStream) -> Result<TokenStream> {
    no_arguments(&arguments, "kernel")?;
    let item: ItemImpl = match syn::parse2(input.clone()) {
        Ok(item) => item,
        Err(error) => {
            return refuse::misplaced(
                &input,
                &["impl"],
                error,
                "`#[kernel]` on this: it goes on the `impl` block that has `run(&self, item)`",
            );
        }
    };
    expand(&item, &HashSet::new())
}

/// The kernel that an `impl` is. `captures` are names that stand for fields of `self`.
pub(crate) fn expand(item: &ItemImpl, captures: &HashSet<String>) -> Result<TokenStream> {
    let root = root();
    let (functions, run) = implementation(item, Some(captures))?;
    let Some(run) = run else {
        return refuse::error(
            &item.self_ty,
            "`#[kernel]` on an `impl` without `run`: add `fn run(&self, item: Item<1>)`",
        );
    };
    let (ty, generics) = (&item.self_ty, &item.generics);
    let kernel = entry(item, &run, captures).unwrap_or_else(|error| {
        // A kernel all the same, so that only the refusal is reported, and not every use.
        let refusal = error.to_compile_error();
        let task = quote!(#root::Task);
        let params = params(&run.sig).unwrap_or_default();
        let over = params.first().map_or(task, |param| param.ty.to_token_stream());
        let (generics, _, bounds) = generics.split_for_impl();
        quote! {
            #refusal
            #[automatically_derived]
            impl #generics #root::KernelObject for #ty #bounds {
                type Item = #over;
                const NAME: &'static str = "";
                fn call(&self, _: Self::Item) {
                    ::core::unreachable!()
                }
                fn lower(_: #root::stage::Staged<Self>, _: #root::stage::Staged<Self::Item>) {
                    ::core::unreachable!()
                }
            }
        }
    });
    Ok(quote!(#functions #kernel))
}

/// The entry point of a kernel.
fn entry(item: &ItemImpl, run: &ImplItemFn, captures: &HashSet<String>) -> Result<TokenStream> {
    let (root, allow) = (root(), allow());
    check(&run.sig)?;
    by_reference(&run.sig)?;
    refuse::attributes(&run.sig, &run.block)?;
    if run.sig.receiver().is_none() {
        return refuse::error(&run.sig, "`run` without `&self`: its captures are the fields of `self`");
    }
    if !run.sig.generics.params.is_empty() {
        return refuse::error(&run.sig.generics, "type parameters on `run`: put them on the struct");
    }
    if returns(&run.sig)?.0 == Returns::Value {
        return refuse::error(
            &run.sig.output,
            "`run` with a result: write it through an accessor, with `set`",
        );
    }
    let params = params(&run.sig)?;
    if params.len() > 1 {
        return refuse::error(
            &run.sig.inputs,
            "`run` with several arguments: it takes the item, everything else is captured",
        );
    }
    let Both { host, staged } = bodies(&run.sig, &run.block, &params, Returns::Kernel, captures.clone())?;
    let (generics, _, bounds) = item.generics.split_for_impl();
    let ty = &item.self_ty;
    let name = type_name(ty);
    let (signature, vis, attributes) = (&run.sig, &run.vis, &run.attrs);
    let (item_type, item_name, call) = match params.first() {
        Some(param) => {
            let (ty, name) = (param.ty, param.name);
            (quote!(#ty), quote!(#name), quote!(self.run(item)))
        }
        None => (quote!(#root::Task), quote!(__item), quote!(self.run())),
    };
    Ok(quote! {
        impl #generics #ty #bounds {
            #(#attributes)*
            #allow
            #vis #signature { #host }
        }
        #[automatically_derived]
        impl #generics #root::KernelObject for #ty #bounds {
            type Item = #item_type;
            const NAME: &'static str = #name;
            #[allow(unused_variables)]
            fn call(&self, item: Self::Item) {
                #call
            }
            #allow
            fn lower(__this: #root::stage::Staged<Self>, #item_name: #root::stage::Staged<Self::Item>) {
                use #root::stage::{Get as _, Set as _};
                #staged
            }
        }
    })
}

fn type_name(ty: &Type) -> String {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default(),
        ty => format!("{:?}", ty.span()),
    }
}
