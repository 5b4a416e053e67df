//! Blocks, branches and loops.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Expr, ExprForLoop, ExprIf, Label, Pat, RangeLimits, Result, spanned::Spanned};

use crate::{
    body::{Both, Returns, Walk, Want},
    derive::{own, root, root_at},
    refuse,
};

fn no_label(label: &Option<Label>) -> Result<()> {
    match label {
        Some(label) => refuse::error(
            label,
            "a loop label in a kernel: leave the inner loop with a `bool` that the outer one looks at",
        ),
        None => Ok(()),
    }
}

impl Walk {
    /// Expressions that choose what is done next.
    pub(crate) fn control(&mut self, e: &Expr, want: Want) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        match e {
            Expr::If(e) => self.branch(e, want),
            Expr::Match(e) => self.choice(e, want),
            Expr::Block(block) => {
                no_label(&block.label)?;
                let Both { host, staged } = self.block(&block.block, want);
                Ok(Both::new(quote_spanned!(span=> { #host }), quote_spanned!(span=> { #staged })))
            }
            Expr::Unsafe(block) => {
                let Both { host, staged } = self.block(&block.block, want);
                Ok(Both::new(quote_spanned!(span=> unsafe { #host }), quote_spanned!(span=> { #staged })))
            }
            Expr::Loop(e) => {
                no_label(&e.label)?;
                let Both { host, staged } = self.rounds(|walk| Ok(walk.block(&e.body, Want::Nothing)))?;
                let never = (want == Want::Value).then(|| quote!(#root::stage::never()));
                Ok(Both::new(
                    quote_spanned!(span=> loop { #host }),
                    quote_spanned!(span=> { #root::stage::loop_(|| { #staged }); #never }),
                ))
            }
            Expr::While(e) => {
                no_label(&e.label)?;
                let check = self.expr(&e.cond, Want::Value)?;
                let body = self.rounds(|walk| Ok(walk.block(&e.body, Want::Nothing)))?;
                let (check_host, check, host, staged) = (check.host, check.staged, body.host, body.staged);
                Ok(Both::new(
                    quote_spanned!(span=> while #check_host { #host }),
                    quote_spanned!(span=> #root::stage::while_(|| #check, || { #staged })),
                ))
            }
            Expr::ForLoop(e) => self.for_loop(e),
            Expr::Break(e) => {
                if let Some(label) = &e.label {
                    return refuse::error(
                        label,
                        "`break` with a label in a kernel: leave the inner loop with a `bool` that the outer one looks at",
                    );
                }
                if let Some(value) = &e.expr {
                    return refuse::error(
                        value,
                        "`break` with a value in a kernel: assign to a `let mut` before the loop",
                    );
                }
                Ok(Both::new(
                    quote_spanned!(span=> break),
                    self.left(quote_spanned!(span=> #root::stage::break_()), want),
                ))
            }
            Expr::Continue(e) => {
                if let Some(label) = &e.label {
                    return refuse::error(
                        label,
                        "`continue` with a label in a kernel: leave the inner loop with a `bool` that the outer one looks at",
                    );
                }
                let staged = self.left(quote_spanned!(span=> #root::stage::continue_()), want);
                Ok(Both::new(quote_spanned!(span=> continue), staged))
            }
            Expr::Return(e) => {
                let ret = own("__ret", span);
                let (host, staged) = match (&e.expr, self.returns) {
                    (None, Returns::Kernel) => {
                        (quote!(return), quote_spanned!(span=> #root::stage::return_unit()))
                    }
                    (None, _) => (quote!(return), quote_spanned!(span=> #ret.leave(()))),
                    (Some(value), Returns::Kernel) => {
                        return refuse::error(
                            value,
                            "`return` with a value in a kernel's `run`: write it through an accessor, with `set`",
                        );
                    }
                    (Some(value), _) => {
                        let Both { host, staged } = self.expr(value, Want::Value)?;
                        (quote_spanned!(span=> return #host), quote_spanned!(span=> #ret.leave(#staged)))
                    }
                };
                Ok(Both::new(host, self.left(staged, want)))
            }
            e => Err(refuse::expression(e)),
        }
    }

    /// What leaves, where a value is wanted.
    fn left(&self, staged: TokenStream, want: Want) -> TokenStream {
        let root = root();
        match want {
            Want::Value => quote!({ #staged; #root::stage::never() }),
            Want::Nothing => staged,
        }
    }

    /// A loop's body.
    fn rounds(&mut self, f: impl FnOnce(&mut Walk) -> Result<Both>) -> Result<Both> {
        self.loops += 1;
        let body = f(self);
        self.loops -= 1;
        body
    }

    fn branch(&mut self, e: &ExprIf, want: Want) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        if let Expr::Let(_) = &*e.cond {
            return Err(refuse::expression(&e.cond));
        }
        let condition = self.expr(&e.cond, Want::Value)?;
        let then = self.block(&e.then_branch, want);
        let (host_c, staged_c) = (condition.host, condition.staged);
        let (host_t, staged_t) = (then.host, then.staged);
        let Some((_, other)) = &e.else_branch else {
            return Ok(Both::new(
                quote_spanned!(span=> if #host_c { #host_t }),
                quote_spanned!(span=> #root::stage::if_then(#staged_c, || { #staged_t })),
            ));
        };
        let Both { host: host_o, staged: staged_o } = self.expr(other, want)?;
        let staged_o = if want == Want::Nothing { quote!(#staged_o;) } else { staged_o };
        let staged_t = if want == Want::Nothing { quote!(#staged_t;) } else { staged_t };
        Ok(Both::new(
            quote_spanned!(span=> if #host_c { #host_t } else { #host_o }),
            quote_spanned!(span=> #root::stage::if_value(#staged_c, || { #staged_t }, || { #staged_o })),
        ))
    }

    fn for_loop(&mut self, e: &ExprForLoop) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        no_label(&e.label)?;
        let mut over = &*e.expr;
        while let Expr::Paren(inner) = over {
            over = &inner.expr;
        }
        let Expr::Range(range) = over else {
            return refuse::error(
                &e.expr,
                "`for` over something else than a range in a kernel: use `for i in a..b`, or `while` for other steps",
            );
        };
        let (Some(start), Some(end)) = (&range.start, &range.end) else {
            return refuse::error(
                range,
                "`for` over a range without both ends in a kernel: use `loop` and `break`",
            );
        };
        let (start, end) = (self.expr(start, Want::Value)?, self.expr(end, Want::Value)?);
        let pat = match &*e.pat {
            Pat::Type(typed) => &typed.pat,
            pat => pat,
        };
        let name = match pat {
            Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => {
                if ident.mutability.is_some() {
                    return refuse::error(ident, "`for mut` in a kernel: copy it, `let mut x = i;`");
                }
                Some(&ident.ident)
            }
            Pat::Wild(_) => None,
            pat => return Err(refuse::binding(pat)),
        };
        let body = self.rounds(|walk| {
            Ok(walk.scoped(|walk| {
                if let Some(name) = name {
                    walk.declare(name);
                }
                walk.block(&e.body, Want::Nothing)
            }))
        })?;
        let (host, staged) = (body.host, body.staged);
        let (s, t, s_staged, t_staged) = (start.host, end.host, start.staged, end.staged);
        let name = name.map_or_else(|| quote!(_), |name| quote!(#name));
        let (limits, function) = match &range.limits {
            RangeLimits::HalfOpen(_) => (quote!(..), quote_spanned!(span=> for_range)),
            RangeLimits::Closed(_) => (quote!(..=), quote_spanned!(span=> for_inclusive)),
        };
        Ok(Both::new(
            quote_spanned!(span=> for #name in (#s)#limits(#t) { #host }),
            quote_spanned!(span=> #root::stage::#function(#s_staged, #t_staged, |#name| { #staged })),
        ))
    }
}
