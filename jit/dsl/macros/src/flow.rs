//! Blocks, branches and loops.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{
    Expr, ExprForLoop, ExprIf, ExprLet, ExprWhile, Label, Pat, RangeLimits, Result, Type, spanned::Spanned,
};

use crate::{
    body::{Both, Returns, Round, Walk, Want},
    chain,
    derive::{own, root, root_at},
    pattern::{Named, Test},
    refuse,
};

/// What a label is to the staged copy: the name of the loop that comes next.
pub(crate) fn staged_label(label: &Option<Label>) -> TokenStream {
    let root = root();
    label.as_ref().map_or_else(TokenStream::new, |label| {
        let name = label.name.ident.to_string();
        quote!(#root::stage::label(#name);)
    })
}

/// The name of what `break` gives to a loop so deep inside of others.
fn broken(depth: usize) -> Ident {
    format_ident!("__broken{depth}")
}

impl Walk {
    /// Expressions that choose what is done next.
    pub(crate) fn control(&mut self, e: &Expr, want: Want) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        match e {
            Expr::If(e) => self.branch(e, want, None),
            Expr::Match(e) => self.choice(e, want, None),
            Expr::Block(block) => {
                if let Some(label) = &block.label {
                    return refuse::error(
                        label,
                        "the label of a block in a kernel: use `if`, or a function that returns",
                    );
                }
                let Both { host, staged } = self.block(&block.block, want);
                Ok(Both::new(quote_spanned!(span=> { #host }), quote_spanned!(span=> { #staged })))
            }
            Expr::Unsafe(block) => {
                let Both { host, staged } = self.block(&block.block, want);
                Ok(Both::new(quote_spanned!(span=> unsafe { #host }), quote_spanned!(span=> { #staged })))
            }
            Expr::Loop(e) => {
                let (label, named) = (&e.label, staged_label(&e.label));
                let (Both { host, staged }, gives) =
                    self.rounds(label, true, |walk| Ok(walk.block(&e.body, Want::Nothing)))?;
                let host = quote_spanned!(span=> #label loop { #host });
                if gives {
                    let broken = broken(self.loops.len());
                    let staged =
                        quote_spanned!(span=> { #named #root::stage::loop_value(|#broken| { #staged }) });
                    return Ok(Both::new(host, staged));
                }
                let never = (want == Want::Value).then(|| quote!(#root::stage::never()));
                Ok(Both::new(
                    host,
                    quote_spanned!(span=> { #named #root::stage::loop_(|| { #staged }); #never }),
                ))
            }
            Expr::While(e) => {
                let (label, named) = (&e.label, staged_label(&e.label));
                if let Expr::Let(matched) = &*e.cond {
                    return self.while_let(e, matched);
                }
                if chain::is(&e.cond) {
                    return self.while_chain(e);
                }
                let check = self.condition(&e.cond)?;
                let (body, _) = self.rounds(label, false, |walk| Ok(walk.block(&e.body, Want::Nothing)))?;
                let (check_host, check, host, staged) = (check.host, check.staged, body.host, body.staged);
                Ok(Both::new(
                    quote_spanned!(span=> #label while #check_host { #host }),
                    quote_spanned!(span=> { #named #root::stage::while_(|| #check, || { #staged }) }),
                ))
            }
            Expr::ForLoop(e) => self.for_loop(e),
            Expr::Break(e) => {
                let label = &e.label;
                let staged = match label.as_ref().map(|label| label.ident.to_string()) {
                    Some(name) => quote_spanned!(span=> #root::stage::break_to(#name)),
                    None => quote_spanned!(span=> #root::stage::break_()),
                };
                let Some(value) = &e.expr else {
                    return Ok(Both::new(quote_spanned!(span=> break #label), self.left(staged, want)));
                };
                let is_meant = |round: &Round| {
                    label.as_ref().is_none_or(|label| round.label == Some(label.ident.to_string()))
                };
                let Some(depth) =
                    self.loops.iter().rposition(is_meant).filter(|&depth| self.loops[depth].endless)
                else {
                    return refuse::error(
                        value,
                        "`break` with a value in a kernel, but not of a `loop`: only that has one",
                    );
                };
                let Both { host, staged: given } = self.expr(value, Want::Value)?;
                self.loops[depth].gives = true;
                let broken = broken(depth);
                let staged = quote_spanned!(span=> { #broken.give(#given); #staged });
                Ok(Both::new(quote_spanned!(span=> break #label #host), self.left(staged, want)))
            }
            Expr::Continue(e) => {
                let label = &e.label;
                let staged = match label.as_ref().map(|label| label.ident.to_string()) {
                    Some(name) => quote_spanned!(span=> #root::stage::continue_to(#name)),
                    None => quote_spanned!(span=> #root::stage::continue_()),
                };
                Ok(Both::new(quote_spanned!(span=> continue #label), self.left(staged, want)))
            }
            Expr::Return(e) if self.in_closure => {
                refuse::error(e, "`return` from a closure in a kernel: let its last expression be the result")
            }
            Expr::Try(e) if self.returns == Returns::Value && !self.in_closure => {
                let Both { host, staged } = self.expr(&e.expr, Want::Value)?;
                let (on, ret) = (own("__on", span), own("__ret", span));
                Ok(Both::new(
                    quote_spanned!(span=> (#host)?),
                    quote_spanned!(span=> {
                        let #on = #staged;
                        #root::stage::if_then(#root::stage::is_none(#on), || #ret.leave(#root::stage::none()));
                        #root::stage::payload(#on)
                    }),
                ))
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
                        let result = self.result.clone();
                        let Both { host, staged } = self.expr_of(value, result.as_ref())?;
                        (quote_spanned!(span=> return #host), quote_spanned!(span=> #ret.leave(#staged)))
                    }
                };
                Ok(Both::new(host, self.left(staged, want)))
            }
            Expr::Macro(e) => self.macro_call(&e.mac, want),
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

    /// A loop's body, and whether it is given a value.
    pub(crate) fn rounds(
        &mut self,
        label: &Option<Label>,
        endless: bool,
        f: impl FnOnce(&mut Walk) -> Result<Both>,
    ) -> Result<(Both, bool)> {
        let label = label.as_ref().map(|label| label.name.ident.to_string());
        self.loops.push(Round { label, endless, gives: false });
        let body = f(self);
        let gives = self.loops.pop().is_some_and(|round| round.gives);
        Ok((body?, gives))
    }

    /// `if`, whose value is of a type, if one is given.
    pub(crate) fn branch(&mut self, e: &ExprIf, want: Want, ty: Option<&Type>) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        if let Expr::Let(matched) = &*e.cond {
            return self.if_let(e, matched, want, ty);
        }
        if chain::is(&e.cond) {
            return self.if_chain(e, want);
        }
        let condition = self.condition(&e.cond)?;
        let then = self.block_of(&e.then_branch, want, ty);
        let (host_c, staged_c) = (condition.host, condition.staged);
        let (host_t, staged_t) = (then.host, then.staged);
        let Some((_, other)) = &e.else_branch else {
            return Ok(Both::new(
                quote_spanned!(span=> if #host_c { #host_t }),
                quote_spanned!(span=> #root::stage::if_then(#staged_c, || { #staged_t })),
            ));
        };
        let Both { host: host_o, staged: staged_o } = self.otherwise(other, want, ty)?;
        let staged_o = if want == Want::Nothing { quote!(#staged_o;) } else { staged_o };
        let staged_t = if want == Want::Nothing { quote!(#staged_t;) } else { staged_t };
        Ok(Both::new(
            quote_spanned!(span=> if #host_c { #host_t } else { #host_o }),
            quote_spanned!(span=> #root::stage::if_value(#staged_c, || { #staged_t }, || { #staged_o })),
        ))
    }

    /// What comes after `else`.
    fn otherwise(&mut self, e: &Expr, want: Want, ty: Option<&Type>) -> Result<Both> {
        if want == Want::Value { self.expr_of(e, ty) } else { self.expr(e, want) }
    }

    /// What a pattern of a condition asks; the names are those of a scope that the caller has begun.
    pub(crate) fn matched(&mut self, e: &ExprLet) -> Result<(Both, TokenStream, TokenStream)> {
        let on = self.expr(&e.expr, Want::Value)?;
        let (root, value) = (root(), own("__on", e.pat.span()));
        let Test { condition, names } = self.test(&e.pat, &quote!(#value))?;
        names.iter().for_each(|name| self.declare(&name.name));
        let bound = names.iter().map(Named::bound).collect();
        Ok((on, condition.unwrap_or_else(|| quote!(#root::stage::constant(true))), bound))
    }

    fn if_let(&mut self, e: &ExprIf, matched: &ExprLet, want: Want, ty: Option<&Type>) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        let (pat, value) = (&matched.pat, own("__on", matched.pat.span()));
        let (on, condition, then, bound) = self.scoped(|walk| {
            let (on, condition, bound) = walk.matched(matched)?;
            Ok::<_, syn::Error>((on, condition, walk.block_of(&e.then_branch, want, ty), bound))
        })?;
        let (on_host, on, host_t, staged_t) = (on.host, on.staged, then.host, then.staged);
        let Some((_, other)) = &e.else_branch else {
            return Ok(Both::new(
                quote_spanned!(span=> if let #pat = #on_host { #host_t }),
                quote_spanned!(span=> {
                    let #value = #on;
                    #root::stage::if_then(#condition, || { #bound #staged_t })
                }),
            ));
        };
        let Both { host: host_o, staged: staged_o } = self.otherwise(other, want, ty)?;
        let end = (want == Want::Nothing).then(|| quote!(;));
        Ok(Both::new(
            quote_spanned!(span=> if let #pat = #on_host { #host_t } else { #host_o }),
            quote_spanned!(span=> {
                let #value = #on;
                #root::stage::if_value(#condition, || { #bound #staged_t #end }, || { #staged_o #end })
            }),
        ))
    }

    fn while_let(&mut self, e: &ExprWhile, matched: &ExprLet) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        let (pat, value) = (&matched.pat, own("__on", matched.pat.span()));
        let (label, named) = (&e.label, staged_label(&e.label));
        let (on, condition, body, bound) = self.scoped(|walk| {
            let (on, condition, bound) = walk.matched(matched)?;
            let (body, _) = walk.rounds(label, false, |walk| Ok(walk.block(&e.body, Want::Nothing)))?;
            Ok::<_, syn::Error>((on, condition, body, bound))
        })?;
        let (on_host, on, host, staged) = (on.host, on.staged, body.host, body.staged);
        Ok(Both::new(
            quote_spanned!(span=> #label while let #pat = #on_host { #host }),
            quote_spanned!(span=> {
                #named
                #root::stage::loop_(|| {
                    let #value = #on;
                    #root::stage::if_then(#root::stage::not(#condition), || #root::stage::break_());
                    #bound
                    #staged
                })
            }),
        ))
    }

    /// `for` over an array.
    fn for_each(&mut self, e: &ExprForLoop) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        let over = match &*e.expr {
            Expr::Reference(reference) if reference.mutability.is_none() => {
                let Both { host, staged } = self.part(&reference.expr)?;
                Both::new(quote!(&#host), staged)
            }
            over => self.part(over)?,
        };
        let value = own("__on", e.pat.span());
        let (label, named, pat) = (&e.label, staged_label(&e.label), &e.pat);
        let (body, bound) = self.scoped(|walk| {
            let Test { names, .. } = walk.test(pat, &quote!(#value))?;
            names.iter().for_each(|name| walk.declare(&name.name));
            let bound: TokenStream = names.iter().map(Named::bound).collect();
            let (body, _) = walk.rounds(label, false, |walk| Ok(walk.block(&e.body, Want::Nothing)))?;
            Ok::<_, syn::Error>((body, bound))
        })?;
        let (over_host, over, host, staged) = (over.host, over.staged, body.host, body.staged);
        Ok(Both::new(
            quote_spanned!(span=> #label for #pat in #over_host { #host }),
            quote_spanned!(span=> {
                let __over = #over;
                #named
                #root::stage::for_each(__over, |#value| { #bound #staged })
            }),
        ))
    }

    fn for_loop(&mut self, e: &ExprForLoop) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        let over = &mut &*e.expr;
        let (mut back, mut step) = (false, None);
        // From the outside in: a step, and then whether it goes back.
        loop {
            match *over {
                Expr::Paren(inner) => *over = &inner.expr,
                Expr::Group(inner) => *over = &inner.expr,
                Expr::MethodCall(call) if call.method == "rev" && call.args.is_empty() && !back => {
                    (back, *over) = (true, &call.receiver);
                }
                Expr::MethodCall(call)
                    if call.method == "step_by" && call.args.len() == 1 && step.is_none() && !back =>
                {
                    (step, *over) = (call.args.first(), &call.receiver);
                }
                _ => break,
            }
        }
        let Expr::Range(range) = *over else {
            if let Expr::MethodCall(_) | Expr::Call(_) = &*e.expr {
                return refuse::error(
                    &e.expr,
                    "`for` over something else than a range or an array in a kernel: use `a..b`, `(a..b).rev()` or `(a..b).step_by(n)`, or `while` for other steps",
                );
            }
            return self.for_each(e);
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
        let step = step.map(|step| self.expr(step, Want::Value)).transpose()?;
        let (body, _) = self.rounds(&e.label, false, |walk| {
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
        let (label, named) = (&e.label, staged_label(&e.label));
        let inclusive = matches!(range.limits, RangeLimits::Closed(_));
        let limits = if inclusive { quote!(..=) } else { quote!(..) };
        let bounds = quote_spanned!(span=>
            let (__from, __to) = #root::stage::same(#s_staged, #t_staged).fit(|from, to| (from, to));
        );
        if !back && step.is_none() {
            let function = if inclusive {
                quote_spanned!(span=> for_inclusive)
            } else {
                quote_spanned!(span=> for_range)
            };
            return Ok(Both::new(
                quote_spanned!(span=> #label for #name in (#s)#limits(#t) { #host }),
                quote_spanned!(span=> { #bounds #named #root::stage::#function(__from, __to, |#name| { #staged }) }),
            ));
        }
        let (mut range, mut with_step) = (quote_spanned!(span=> ((#s)#limits(#t))), quote!());
        let mut staged_step = quote!(::core::option::Option::None);
        if back {
            range = quote_spanned!(span=> #range.rev());
        }
        if let Some(Both { host, staged }) = step {
            // Rust's takes a `usize` and panics at zero.
            range = quote_spanned!(span=> {
                let __range = #range;
                let __step: u32 = #host;
                __range.step_by(::core::cmp::max(__step, 1) as usize)
            });
            with_step = quote_spanned!(span=> let __step = #staged;);
            staged_step = quote_spanned!(span=> ::core::option::Option::Some(__step));
        }
        Ok(Both::new(
            quote_spanned!(span=> #label for #name in #range { #host }),
            quote_spanned!(span=> {
                #bounds
                #with_step
                #named
                #root::stage::for_steps((__from, __to), #inclusive, #back, #staged_step, |#name| { #staged })
            }),
        ))
    }
}
