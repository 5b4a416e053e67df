//! `match`: arms become comparisons, in order.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Arm, Expr, ExprMatch, Ident, Lit, Pat, RangeLimits, Result, spanned::Spanned};

use crate::{
    body::{Both, Walk, Want},
    derive::{own, root, root_at},
    refuse,
};

/// What an arm asks of the value: nothing, or a condition; and the name it gives it.
struct Test {
    condition: Option<TokenStream>,
    name: Option<Ident>,
}

impl Walk {
    pub(crate) fn choice(&mut self, e: &ExprMatch, want: Want) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        let on = self.expr(&e.expr, Want::Value)?;
        let mut hosts = TokenStream::new();
        let mut arms = Vec::new();
        for arm in &e.arms {
            let (host, staged, condition) = self.arm(arm, want)?;
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

    fn arm(&mut self, arm: &Arm, want: Want) -> Result<(TokenStream, TokenStream, Option<TokenStream>)> {
        let root = root();
        let (test, value) = (self.test(&arm.pat)?, own("__on", arm.span()));
        self.scoped(|walk| {
            if let Some(name) = &test.name {
                walk.declare(name);
            }
            let named = test.name.as_ref().map(|name| quote!(let #name = #value;));
            let mut condition = test.condition;
            let mut guard_host = quote!();
            if let Some((_, guard)) = &arm.guard {
                let Both { host, staged } = walk.expr(guard, Want::Value)?;
                guard_host = quote!(if #host);
                let guarded = quote!({ #named #staged });
                condition = Some(match condition {
                    Some(condition) => {
                        quote!(#root::stage::if_value(#condition, || #guarded, || #root::stage::constant(false)))
                    }
                    None => guarded,
                });
            }
            let Both { host, staged } = walk.expr(&arm.body, want)?;
            let pat = &arm.pat;
            let end = (want == Want::Nothing).then(|| quote!(;));
            let host = if want == Want::Nothing { quote!({ #host; }) } else { host };
            Ok((quote!(#pat #guard_host => { #host }), quote!(#named #staged #end), condition))
        })
    }

    fn test(&mut self, pat: &Pat) -> Result<Test> {
        let (root, span) = (root_at(pat.span()), pat.span());
        let on = own("__on", span);
        let condition = |condition| Ok(Test { condition: Some(condition), name: None });
        match pat {
            Pat::Wild(_) => Ok(Test { condition: None, name: None }),
            Pat::Ident(ident)
                if ident.by_ref.is_none() && ident.subpat.is_none() && ident.mutability.is_none() =>
            {
                let text = ident.ident.to_string();
                if text.chars().any(char::is_lowercase) {
                    return Ok(Test { condition: None, name: Some(ident.ident.clone()) });
                }
                let name = &ident.ident;
                condition(quote_spanned!(span=> #root::stage::eq(#on, #root::stage::constant(#name))))
            }
            Pat::Lit(lit) => {
                if let Lit::Float(_) = &lit.lit {
                    return refuse::error(lit, "`match` on a float in a kernel: use `if` and comparisons");
                }
                let value = self.bound(&Expr::Lit(lit.clone()))?;
                condition(quote_spanned!(span=> #root::stage::eq(#on, #value)))
            }
            Pat::Path(path) => {
                condition(quote_spanned!(span=> #root::stage::eq(#on, #root::stage::constant(#path))))
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
                let all =
                    parts.into_iter().reduce(|a, b| quote_spanned!(span=> #root::stage::bitand(#a, #b)));
                Ok(Test { condition: all, name: None })
            }
            Pat::Or(or) => {
                let mut any: Option<TokenStream> = None;
                for case in &or.cases {
                    let tested = self.test(case)?;
                    if tested.name.is_some() {
                        return refuse::error(
                            case,
                            "a name among alternatives in a kernel: name the value before the `match`",
                        );
                    }
                    let Some(case) = tested.condition else {
                        return Ok(Test { condition: None, name: None });
                    };
                    any = Some(match any {
                        Some(any) => quote_spanned!(span=> #root::stage::bitor(#any, #case)),
                        None => case,
                    });
                }
                Ok(Test { condition: any, name: None })
            }
            Pat::Paren(paren) => self.test(&paren.pat),
            pat => Err(refuse::binding(pat)),
        }
    }

    fn bound(&mut self, e: &Expr) -> Result<TokenStream> {
        Ok(self.expr(e, Want::Value)?.staged)
    }
}
