//! What `let` makes: values, parts of them by patterns, references and closures.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Expr, ExprClosure, ExprReference, Lit, Local, Pat, Result, ReturnType, Type, spanned::Spanned};

use crate::{
    body::{Both, Name, Walk, Want},
    derive::{own, root, root_at},
    pattern::Test,
    refuse,
};

/// The type of the handle of what is declared with a type.
fn staged_type(ty: &Type) -> TokenStream {
    let root = root();
    match ty {
        Type::Reference(reference) if reference.mutability.is_some() => {
            let ty = &reference.elem;
            quote!(#root::stage::Place<#ty>)
        }
        Type::Reference(reference) => staged_type(&reference.elem),
        ty => quote!(#root::stage::Staged<#ty>),
    }
}

fn local_type(ty: &Type) -> Result<()> {
    match ty {
        Type::Reference(reference) => refuse::body_type(&reference.elem),
        ty => refuse::body_type(ty),
    }
}

/// The name that a pattern is, and whether it can be assigned to.
fn plain_name(pat: &Pat) -> Option<(&Ident, bool)> {
    match pat {
        Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => {
            Some((&ident.ident, ident.mutability.is_some()))
        }
        Pat::Paren(paren) => plain_name(&paren.pat),
        _ => None,
    }
}

/// Whether it is a number whose type is left open.
fn is_untyped(e: &Expr) -> bool {
    match e {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) => int.suffix().is_empty(),
            Lit::Float(float) => float.suffix().is_empty(),
            _ => false,
        },
        Expr::Paren(e) => is_untyped(&e.expr),
        Expr::Unary(e) => is_untyped(&e.expr),
        _ => false,
    }
}

impl Walk {
    pub(crate) fn local(&mut self, local: &Local) -> Result<Both> {
        let root = root();
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        ty.map_or(Ok(()), local_type)?;
        let (host_type, staged_type) =
            (ty.map(|ty| quote!(: #ty)), ty.map(staged_type).map(|ty| quote!(: #ty)));
        let name = plain_name(pat);
        let Some(init) = &local.init else {
            let Some((name, mutable)) = name else { return self.later(pat, ty) };
            self.declare_as(name, Name::Later);
            let mutable = mutable.then(|| quote!(mut));
            let of = ty.map(|ty| quote!(::<#ty>));
            return Ok(Both::new(
                quote!(let #mutable #name #host_type;),
                quote_spanned!(name.span()=> let #name = #root::stage::later #of();),
            ));
        };
        match (&*init.expr, name) {
            (Expr::Closure(closure), Some((name, mutable))) => return self.closure(name, mutable, closure),
            (Expr::Reference(reference), Some((name, _))) if reference.mutability.is_some() => {
                return self.lent(name, reference, &host_type);
            }
            _ => {}
        }
        if self.is_const && ty.is_none() && is_untyped(&init.expr) {
            return refuse::error(
                &init.expr,
                "a number without a type in a `const fn` of a kernel, which finds what operators mean by it: write it, `0_u32`",
            );
        }
        let Both { host, staged } = self.expr_of(&init.expr, ty)?;
        if let (None, Some((name, mutable))) = (&init.diverge, name) {
            self.declare(name);
            let span = name.span();
            return Ok(if mutable {
                let typed =
                    quote_spanned!(span=> { let value #staged_type = #staged; #root::stage::var(value) });
                Both::new(quote!(let mut #name #host_type = #host;), quote!(let #name = #typed;))
            } else {
                let bound = quote_spanned!(span=> #root::stage::bind(#staged));
                Both::new(quote!(let #name #host_type = #host;), quote!(let #name #staged_type = #bound;))
            });
        }
        let on = own("__on", pat.span());
        let Test { condition, names } = self.test(pat, &quote!(#on))?;
        let (mut other_host, mut other) = (quote!(), quote!());
        if let Some((_, e)) = &init.diverge {
            let Both { host, staged } = self.expr(e, Want::Nothing)?;
            other_host = quote!(else #host);
            if let Some(condition) = condition {
                other = quote!(#root::stage::if_then(#root::stage::not(#condition), || { #staged; }););
            }
        }
        names.iter().for_each(|name| self.declare(&name.name));
        let values = names.iter().map(|name| name.kept());
        let names = names.iter().map(|name| &name.name);
        Ok(Both::new(
            quote!(let #pat #host_type = (#host) #other_host;),
            quote! {
                let (#(#names,)*) = {
                    let #on #staged_type = #staged;
                    #other
                    (#(#values,)*)
                };
            },
        ))
    }

    /// Names of a tuple that get their values later.
    fn later(&mut self, pat: &Pat, ty: Option<&Type>) -> Result<Both> {
        let root = root();
        let Pat::Tuple(tuple) = pat else { return Err(refuse::binding(pat)) };
        let names: Option<Vec<_>> = tuple.elems.iter().map(plain_name).collect();
        let Some(names) = names else { return Err(refuse::binding(pat)) };
        let of: Vec<Option<&Type>> = match ty {
            Some(Type::Tuple(all)) if all.elems.len() == names.len() => all.elems.iter().map(Some).collect(),
            Some(ty) => {
                return refuse::error(
                    ty,
                    "the type of names that get their values later in a kernel: one for each name",
                );
            }
            None => vec![None; names.len()],
        };
        let ty = ty.map(|ty| quote!(: #ty));
        let mut staged = quote!();
        for ((name, _), of) in names.into_iter().zip(of) {
            self.declare_as(name, Name::Later);
            let of = of.map(|of| quote!(::<#of>));
            staged.extend(quote_spanned!(name.span()=> let #name = #root::stage::later #of();));
        }
        Ok(Both::new(quote!(let #pat #ty;), staged))
    }

    /// `let r = &mut place`: another name for the place.
    fn lent(&mut self, name: &Ident, reference: &ExprReference, ty: &Option<TokenStream>) -> Result<Both> {
        let (root, span) = (root(), reference.span());
        let place = self.lend(&reference.expr)?;
        let (before, Both { host, staged }) = (place.before(), place.both);
        self.declare(name);
        Ok(Both::new(
            quote_spanned!(span=> #before let #name #ty = &mut #host;),
            quote_spanned!(span=> let #name = #root::stage::lend(#staged);),
        ))
    }

    /// A closure, which is called by its name and lives as long as that.
    fn closure(&mut self, name: &Ident, mutable: bool, closure: &ExprClosure) -> Result<Both> {
        let root = root_at(closure.span());
        let (mut hosts, mut stages, mut names, mut types) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for input in &closure.inputs {
            let Pat::Type(typed) = input else {
                return refuse::error(
                    input,
                    "an argument of a closure without a type in a kernel: write it, `|x: f32|`",
                );
            };
            let Some((name, mutable)) = plain_name(&typed.pat) else {
                return Err(refuse::binding(&typed.pat));
            };
            refuse::body_type(&typed.ty)?;
            let ty = &typed.ty;
            hosts.push(quote!(#typed));
            types.push((**ty).clone());
            stages.push(quote!(#name: #root::stage::Val<#ty>));
            let kept = if mutable { quote!(var) } else { quote!(bind) };
            names.push((name, quote!(let #name = #root::stage::#kept(#name);)));
        }
        let (host_result, result) = match &closure.output {
            ReturnType::Default => (None, None),
            ReturnType::Type(_, ty) => {
                refuse::body_type(ty)?;
                (Some(quote!(-> #ty)), Some(quote!(-> #root::stage::Val<#ty>)))
            }
        };
        let loops = std::mem::take(&mut self.loops);
        let outside = std::mem::replace(&mut self.in_closure, true);
        let body = self.scoped(|walk| {
            names.iter().for_each(|(name, _)| walk.declare(name));
            walk.expr(&closure.body, Want::Value)
        });
        (self.loops, self.in_closure) = (loops, outside);
        let Both { host, staged } = body?;
        self.declare_closure(name, types);
        let bound = names.iter().map(|(_, bound)| bound);
        let mutable = mutable.then(|| quote!(mut));
        Ok(Both::new(
            quote!(let #mutable #name = |#(#hosts),*| #host_result { #host };),
            quote!(let #name = |#(#stages),*| #result { #(#bound)* #staged };),
        ))
    }
}
