//! Assignments, and what is assigned to or lent.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Expr, Result, UnOp, spanned::Spanned};

use crate::{
    body::{Both, This, Walk, Want},
    derive::{name_hash, own, root, root_at},
    expr::{literal_index, member, single},
    operator::operation,
    refuse,
};

/// What happens at an index that is out of range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// An assignment does not happen.
    Skipped,
    /// An unused variable takes its place.
    Named,
}

/// What is assigned to or lent.
pub(crate) struct Place {
    pub(crate) both: Both,
    /// What the host does before it: all indices are computed, and then the elements are held, under names of their own.
    indices: TokenStream,
    held: TokenStream,
}

impl Place {
    pub(crate) fn before(&self) -> TokenStream {
        let Place { indices, held, .. } = self;
        quote!(#indices #held)
    }
}

/// Whether it is an element, or a part of one.
pub(crate) fn has_index(e: &Expr) -> bool {
    match e {
        Expr::Paren(e) => has_index(&e.expr),
        Expr::Group(e) => has_index(&e.expr),
        Expr::Field(e) => has_index(&e.base),
        Expr::Index(_) => true,
        _ => false,
    }
}

impl Walk {
    /// `left = right`, or `left op= right`: the right side first, then the place; nothing happens where there is no such
    /// place.
    pub(crate) fn assign(&mut self, left: &Expr, right: &Expr, op: Option<&str>, span: Span) -> Result<Both> {
        let root = root();
        if let Expr::Infer(_) = left {
            let Both { host, staged } = self.expr(right, Want::Value)?;
            return Ok(Both::new(quote!({ let _ = #host; }), quote!({ let _ = #staged; })));
        }
        let value = self.expr(right, Want::Value)?;
        if let (Expr::Tuple(tuple), None) = (left, op) {
            let all = own("__all", span);
            let mut parts = Both::default();
            for (k, left) in tuple.elems.iter().enumerate() {
                let number = syn::Index::from(k);
                let part =
                    Both::new(quote!(#all.#number), quote_spanned!(span=> #root::stage::part::<#k, _>(#all)));
                let Both { host, staged } = self.assign_value(left, part, None, [span, span])?;
                parts.host.extend(quote!(#host;));
                parts.staged.extend(quote!(#staged;));
            }
            let (host, staged, parts_host, parts) = (value.host, value.staged, parts.host, parts.staged);
            return Ok(Both::new(
                quote_spanned!(span=> { let #all = #host; #parts_host }),
                quote_spanned!(span=> { let #all = #staged; #parts }),
            ));
        }
        self.assign_value(left, value, op, [span, right.span()])
    }

    /// The same of what was evaluated before, at the second place.
    fn assign_value(
        &mut self,
        left: &Expr,
        value: Both,
        op: Option<&str>,
        [span, value_span]: [Span; 2],
    ) -> Result<Both> {
        let root = root_at(span);
        if let Expr::Infer(_) = left {
            let Both { host, staged } = value;
            return Ok(Both::new(quote!({ let _ = #host; }), quote!({ let _ = #staged; })));
        }
        let (place, skip) = self.assigned(|walk| (walk.changed(left, Missing::Skipped), walk.skip()));
        let place = place?;
        let (before, place) = (place.before(), place.both);
        let (host, staged, host_place, staged_place) = (value.host, value.staged, place.host, place.staged);
        let (new, at) = (own("__value", span), own("__place", span));
        let name = match left {
            Expr::Path(path) => single(&path.path).filter(|name| *name != "self"),
            _ => None,
        };
        let is_later = name.is_some_and(|name| self.is_later(name));
        let (new_host, new_staged) = match op {
            None if is_later => (quote!(#new), quote!(#new)),
            None => {
                let there = if name.is_some() { host_place.clone() } else { quote_spanned!(span=> *#at) };
                let assigned = self.assigned_value(
                    &Both::new(there, quote!(#at)),
                    Both::new(quote!(#new), quote!(#new)),
                    value_span,
                );
                (assigned.host, assigned.staged)
            }
            Some(op) => {
                let now = [quote_spanned!(span=> *#at), quote_spanned!(span=> #root::stage::rd(#at))];
                let [now_host, now] = now;
                let new = quote!(#new);
                let Both { host, staged } =
                    operation(op, span, [now_host, new.clone()], [now, new], self.is_const);
                (host, staged)
            }
        };
        let host = if op.is_none() && is_later {
            quote_spanned!(span=> { #host_place = #host; })
        } else if op.is_none() && name.is_some() {
            quote_spanned!(span=> { let #new = #host; #host_place = #new_host; })
        } else {
            quote_spanned!(span=> {
                let #new = #host;
                #skip: {
                    #before
                    let #at = &mut #host_place;
                    *#at = #new_host;
                }
            })
        };
        let staged_place = match op {
            None => quote_spanned!(span=> #root::stage::target(#staged_place)),
            Some(_) => staged_place,
        };
        let staged = quote_spanned!(span=> {
            let #new = #staged;
            let #at = #staged_place;
            #root::stage::assign(#at, #new_staged);
        });
        Ok(Both::new(host, staged))
    }

    /// A part of something, unread: a local, a capture, a field, an element.
    pub(crate) fn part(&mut self, e: &Expr) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        match e {
            Expr::Paren(e) => self.part(&e.expr),
            Expr::Group(e) => self.part(&e.expr),
            Expr::Path(path) => match single(&path.path) {
                Some(name) if name == "self" => Ok(Both::new(quote!(#name), {
                    let this = own("__this", span);
                    quote!(#this)
                })),
                Some(name) if self.is_capture(name) => {
                    let hash = name_hash(&name.to_string());
                    Ok(Both::new(quote_spanned!(span=> self.#name), {
                        let this = own("__this", span);
                        quote_spanned!(span=> #root::stage::field::<#hash, _>(#this))
                    }))
                }
                Some(name) if self.is_local(name) => Ok(Both::new(quote!(#name), quote!(#name))),
                _ => self.expr(e, Want::Value),
            },
            Expr::Field(field) => {
                let Both { host, staged } = self.part(&field.base)?;
                Ok(member(&field.member, span, &host, &staged))
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                let Both { host, staged } = self.part(&unary.expr)?;
                Ok(Both::new(quote_spanned!(span=> (*#host)), staged))
            }
            Expr::Index(index) => {
                let base = self.part(&index.expr)?;
                let (base_host, base) = (base.host, base.staged);
                if let Some(k) = literal_index(&index.index)? {
                    let kept = if self.is_const {
                        quote_spanned!(span=> (#base_host)[#k])
                    } else {
                        quote_spanned!(span=> (*(#base_host).kernel_lit(#k)))
                    };
                    return Ok(Both::new(kept, quote_spanned!(span=> #root::stage::index_lit(#base, #k))));
                }
                self.no_index(&index.index)?;
                let Both { host: at_host, staged: at } = self.index(&index.index)?;
                Ok(Both::new(
                    quote_spanned!(span=> (#base_host).kernel_at(#at_host)),
                    quote_spanned!(span=> #root::stage::index(#base, #at)),
                ))
            }
            _ => self.expr(e, Want::Value),
        }
    }

    /// Whether it is a capture, or a part of one.
    fn is_of_capture(&self, e: &Expr) -> bool {
        match e {
            Expr::Paren(e) => self.is_of_capture(&e.expr),
            Expr::Group(e) => self.is_of_capture(&e.expr),
            Expr::Field(e) => self.is_of_capture(&e.base),
            Expr::Index(e) => self.is_of_capture(&e.expr),
            Expr::Path(path) => single(&path.path)
                .is_some_and(|name| (name == "self" && self.this != This::Place) || self.is_capture(name)),
            _ => false,
        }
    }

    /// What is lent to a function or to another name.
    pub(crate) fn lend(&mut self, e: &Expr) -> Result<Place> {
        self.changed(e, Missing::Named)
    }

    /// What is assigned to or lent, if it is no capture.
    fn changed(&mut self, e: &Expr, missing: Missing) -> Result<Place> {
        if self.is_of_capture(e) && !has_index(e) {
            return refuse::error(
                e,
                "an assignment to what is no local variable in a kernel: captures are read only; write through an accessor, by `accessor[i] = value` or `set`",
            );
        }
        self.place(e, missing)
    }

    fn place(&mut self, e: &Expr, missing: Missing) -> Result<Place> {
        let (root, span) = (root_at(e.span()), e.span());
        match e {
            Expr::Paren(e) => self.place(&e.expr, missing),
            Expr::Group(e) => self.place(&e.expr, missing),
            Expr::Path(path)
                if single(&path.path)
                    .is_some_and(|name| name == "self" || self.is_local(name) || self.is_capture(name)) =>
            {
                Ok(Place { both: self.part(e)?, indices: quote!(), held: quote!() })
            }
            Expr::Path(_) => refuse::error(
                e,
                "an assignment to what is no local variable in a kernel: captures are read only; write through an accessor, by `accessor[i] = value` or `set`",
            ),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                let mut place = self.place(&unary.expr, missing)?;
                let host = place.both.host;
                place.both.host = quote_spanned!(span=> (*#host));
                Ok(place)
            }
            Expr::Field(field) => {
                let mut place = self.place(&field.base, missing)?;
                place.both = member(&field.member, span, &place.both.host, &place.both.staged);
                Ok(place)
            }
            Expr::Index(index) => {
                self.no_index(&index.index)?;
                let Place { both: Both { host: base_host, staged: base }, mut indices, mut held } =
                    self.place(&index.expr, missing)?;
                let [slot, nothing, at_name] = self.slot();
                let (slot_host, staged) = match literal_index(&index.index)? {
                    // Of captures a literal index also finds one of an array of them, which is not changed itself.
                    Some(k) if self.is_of_capture(&index.expr) => (
                        quote_spanned!(span=> (#base_host).kernel_lit_slot(#k)),
                        quote_spanned!(span=> #root::stage::lit_place(#base, #k)),
                    ),
                    Some(k) => {
                        let at = k as u32;
                        (
                            quote_spanned!(span=> (#base_host).kernel_slot(#at)),
                            quote_spanned!(span=> #root::stage::lit_place(#base, #k)),
                        )
                    }
                    None => {
                        let Both { host, staged: at } = self.index(&index.index)?;
                        indices.extend(quote_spanned!(span=> let #at_name = #host;));
                        (
                            quote_spanned!(span=> (#base_host).kernel_slot(#at_name)),
                            quote_spanned!(span=> #root::stage::index_place(#base, #at)),
                        )
                    }
                };
                let otherwise = match missing {
                    Missing::Skipped => {
                        let skip = self.skip();
                        quote_spanned!(span=> break #skip)
                    }
                    Missing::Named => {
                        held.extend(quote_spanned!(span=> let mut #nothing = #root::host::ops::zeroed();));
                        quote_spanned!(span=> &mut #nothing)
                    }
                };
                held.extend(quote_spanned! {span=>
                    let mut #slot = match #slot_host {
                        ::core::option::Option::Some(slot) => slot,
                        ::core::option::Option::None => #otherwise,
                    };
                });
                Ok(Place { both: Both::new(quote_spanned!(span=> (*#slot)), staged), indices, held })
            }
            _ => refuse::error(
                e,
                "an assignment to this in a kernel: assign to a local variable, its fields or elements, or to an element of an accessor",
            ),
        }
    }
}
