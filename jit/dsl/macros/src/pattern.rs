//! Patterns, and `match`: arms become comparisons, in order.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::{
    Arm, Expr, ExprMatch, Lit, Member, Pat, Path, RangeLimits, Result, Type, punctuated::Punctuated,
    spanned::Spanned,
};

use crate::{
    body::{Both, Walk, Want},
    derive::{name_hash, own, root, root_at},
    refuse,
};

/// What a pattern asks of a value: nothing, or a condition; and the names that it gives to parts of it.
#[derive(Default)]
pub(crate) struct Test {
    pub(crate) condition: Option<TokenStream>,
    pub(crate) names: Vec<Named>,
}

/// A name, and the part that it is given to.
pub(crate) struct Named {
    pub(crate) name: Ident,
    mutable: bool,
    value: TokenStream,
}

impl Named {
    /// The part as a local.
    pub(crate) fn kept(&self) -> TokenStream {
        let (root, value) = (root_at(self.name.span()), &self.value);
        if self.mutable { quote!(#root::stage::var(#value)) } else { quote!(#root::stage::bind(#value)) }
    }

    /// The local.
    pub(crate) fn bound(&self) -> TokenStream {
        let (name, kept) = (&self.name, self.kept());
        quote!(let #name = #kept;)
    }
}

impl Test {
    fn of(condition: TokenStream) -> Test {
        Test { condition: Some(condition), names: Vec::new() }
    }

    /// Both must hold.
    fn and(mut self, other: Test) -> Test {
        let root = root();
        self.condition = match (self.condition, other.condition) {
            (Some(a), Some(b)) => Some(quote!(#root::stage::bitand(#a, #b))),
            (a, b) => a.or(b),
        };
        self.names.extend(other.names);
        self
    }
}

/// Whether a path names `Some` or `None`.
fn is_named(path: &Path, name: &str) -> bool {
    path.segments.last().is_some_and(|last| last.ident == name)
}

impl Walk {
    /// `match`, whose value is of a type, if one is given.
    pub(crate) fn choice(&mut self, e: &ExprMatch, want: Want, ty: Option<&Type>) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        let on = self.expr(&e.expr, Want::Value)?;
        let mut hosts = TokenStream::new();
        let mut arms = Vec::new();
        for arm in &e.arms {
            let (host, staged, condition) = self.arm(arm, want, ty)?;
            hosts.extend(host);
            arms.push((condition, staged));
        }
        // The last arm is what is left: Rust has checked that all values have one.
        let last = arms.len().saturating_sub(1);
        let staged =
            arms.into_iter().enumerate().rev().fold(
                quote!(),
                |rest, (k, (condition, body))| match condition {
                    Some(condition) if k < last => {
                        quote_spanned!(span=> #root::stage::if_value(#condition, || { #body }, || { #rest }))
                    }
                    _ => quote!({ #body }),
                },
            );
        let (on_host, on, value) = (on.host, on.staged, own("__on", span));
        Ok(Both::new(
            quote_spanned!(span=> match #on_host { #hosts }),
            quote_spanned!(span=> { let #value = #on; #staged }),
        ))
    }

    fn arm(
        &mut self,
        arm: &Arm,
        want: Want,
        ty: Option<&Type>,
    ) -> Result<(TokenStream, TokenStream, Option<TokenStream>)> {
        let (root, value) = (root(), own("__on", arm.span()));
        let Test { mut condition, names } = self.test(&arm.pat, &quote!(#value))?;
        self.scoped(|walk| {
            names.iter().for_each(|name| walk.declare(&name.name));
            let bound: TokenStream = names.iter().map(Named::bound).collect();
            let mut guard_host = quote!();
            if let Some((_, guard)) = &arm.guard {
                let Both { host, staged } = walk.condition(guard)?;
                guard_host = quote!(if #host);
                let guarded = quote!({ #bound #staged });
                condition = Some(match condition {
                    Some(condition) => {
                        quote!(#root::stage::if_value(#condition, || #guarded, || #root::stage::constant(false)))
                    }
                    None => guarded,
                });
            }
            let Both { host, staged } =
                if want == Want::Value { walk.expr_of(&arm.body, ty) } else { walk.expr(&arm.body, want) }?;
            let pat = &arm.pat;
            let end = (want == Want::Nothing).then(|| quote!(;));
            let host = if want == Want::Nothing { quote!({ #host; }) } else { host };
            Ok((quote!(#pat #guard_host => { #host }), quote!(#bound #staged #end), condition))
        })
    }

    /// What a pattern asks of the value that `on` is the handle of.
    pub(crate) fn test(&mut self, pat: &Pat, on: &TokenStream) -> Result<Test> {
        let (root, span) = (root_at(pat.span()), pat.span());
        match pat {
            Pat::Wild(_) => Ok(Test::default()),
            Pat::Ident(ident) if ident.by_ref.is_none() => {
                let name = &ident.ident;
                if name == "None" {
                    return Ok(Test::of(quote_spanned!(span=> #root::stage::is_none(#on))));
                }
                if !name.to_string().chars().any(char::is_lowercase) {
                    return Ok(Test::of(
                        quote_spanned!(span=> #root::stage::eq(#on, #root::stage::constant(#name))),
                    ));
                }
                let value = on.clone();
                let named = Named { name: name.clone(), mutable: ident.mutability.is_some(), value };
                let named = Test { condition: None, names: vec![named] };
                match &ident.subpat {
                    Some((_, pat)) => Ok(named.and(self.test(pat, on)?)),
                    None => Ok(named),
                }
            }
            Pat::Lit(lit) => {
                if let Lit::Float(_) = &lit.lit {
                    return refuse::error(lit, "`match` on a float in a kernel: use `if` and comparisons");
                }
                let value = self.bound(&Expr::Lit(lit.clone()))?;
                Ok(Test::of(quote_spanned!(span=> #root::stage::eq(#on, #value))))
            }
            Pat::Path(path) if is_named(&path.path, "None") => {
                Ok(Test::of(quote_spanned!(span=> #root::stage::is_none(#on))))
            }
            Pat::Path(path) => {
                Ok(Test::of(quote_spanned!(span=> #root::stage::eq(#on, #root::stage::constant(#path)))))
            }
            Pat::Range(range) => {
                let mut parts = Vec::new();
                if let Some(start) = &range.start {
                    let start = self.bound(start)?;
                    parts.push(quote_spanned!(span=> #root::stage::ge(#on, #start)));
                }
                if let Some(end) = &range.end {
                    let end = self.bound(end)?;
                    parts.push(match range.limits {
                        RangeLimits::HalfOpen(_) => quote_spanned!(span=> #root::stage::lt(#on, #end)),
                        RangeLimits::Closed(_) => quote_spanned!(span=> #root::stage::le(#on, #end)),
                    });
                }
                let condition =
                    parts.into_iter().reduce(|a, b| quote_spanned!(span=> #root::stage::bitand(#a, #b)));
                Ok(Test { condition, names: Vec::new() })
            }
            Pat::Or(or) => {
                let mut any: Option<TokenStream> = None;
                for case in &or.cases {
                    let tested = self.test(case, on)?;
                    if !tested.names.is_empty() {
                        return refuse::error(
                            case,
                            "a name among alternatives in a kernel: name the value before the `match`",
                        );
                    }
                    let Some(case) = tested.condition else { return Ok(Test::default()) };
                    any = Some(match any {
                        Some(any) => quote_spanned!(span=> #root::stage::bitor(#any, #case)),
                        None => case,
                    });
                }
                Ok(Test { condition: any, names: Vec::new() })
            }
            Pat::Paren(paren) => self.test(&paren.pat, on),
            Pat::Reference(reference) => self.test(&reference.pat, on),
            Pat::Tuple(tuple) => {
                self.parts(&tuple.elems, |k| quote_spanned!(span=> #root::stage::part::<#k, _>(#on)))
            }
            Pat::Slice(slice) => {
                self.parts(&slice.elems, |k| quote_spanned!(span=> #root::stage::index_lit(#on, #k)))
            }
            Pat::TupleStruct(some) if is_named(&some.path, "Some") && some.elems.len() == 1 => {
                let inside = self.test(&some.elems[0], &quote_spanned!(span=> #root::stage::payload(#on)))?;
                Ok(Test::of(quote_spanned!(span=> #root::stage::is_some(#on))).and(inside))
            }
            Pat::Struct(literal) => {
                let mut all = Test::default();
                for field in &literal.fields {
                    let Member::Named(name) = &field.member else {
                        return refuse::error(&field.member, "a tuple struct in a kernel: name the fields");
                    };
                    let hash = name_hash(&name.to_string());
                    let part = quote_spanned!(span=> #root::stage::field::<#hash, _>(#on));
                    all = all.and(self.test(&field.pat, &part)?);
                }
                Ok(all)
            }
            pat => Err(refuse::binding(pat)),
        }
    }

    /// What the patterns of parts ask.
    fn parts(
        &mut self,
        pats: &Punctuated<Pat, syn::Token![,]>,
        part: impl Fn(usize) -> TokenStream,
    ) -> Result<Test> {
        let mut all = Test::default();
        for (k, pat) in pats.iter().enumerate() {
            if let Pat::Rest(rest) = pat {
                if k + 1 < pats.len() {
                    return refuse::error(
                        rest,
                        "`..` before the end of a pattern in a kernel: write `_` for each part",
                    );
                }
                continue;
            }
            all = all.and(self.test(pat, &part(k))?);
        }
        Ok(all)
    }

    fn bound(&mut self, e: &Expr) -> Result<TokenStream> {
        Ok(self.expr(e, Want::Value)?.staged)
    }
}
