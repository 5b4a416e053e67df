//! Expressions.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{BinOp, Expr, ExprBinary, ExprStruct, Lit, Member, Path, Result, UnOp, spanned::Spanned};

use crate::{
    body::{Both, Walk, Want},
    derive::{name_hash, own, root, root_at},
    refuse,
};

/// The path of a function that both copies have under one name.
fn both_ops(name: &str, span: Span) -> (TokenStream, TokenStream) {
    let (root, name) = (root_at(span), Ident::new(name, span));
    (quote_spanned!(span=> #root::host::ops::#name), quote_spanned!(span=> #root::stage::#name))
}

/// The function of a binary operator, for those that are no assignments.
fn operator(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add(_) | BinOp::AddAssign(_) => "add",
        BinOp::Sub(_) | BinOp::SubAssign(_) => "sub",
        BinOp::Mul(_) | BinOp::MulAssign(_) => "mul",
        BinOp::Div(_) | BinOp::DivAssign(_) => "div",
        BinOp::Rem(_) | BinOp::RemAssign(_) => "rem",
        BinOp::BitXor(_) | BinOp::BitXorAssign(_) => "bitxor",
        BinOp::BitAnd(_) | BinOp::BitAndAssign(_) => "bitand",
        BinOp::BitOr(_) | BinOp::BitOrAssign(_) => "bitor",
        BinOp::Shl(_) | BinOp::ShlAssign(_) => "shl",
        BinOp::Shr(_) | BinOp::ShrAssign(_) => "shr",
        BinOp::Eq(_) => "eq",
        BinOp::Ne(_) => "ne",
        BinOp::Lt(_) => "lt",
        BinOp::Le(_) => "le",
        BinOp::Gt(_) => "gt",
        BinOp::Ge(_) => "ge",
        _ => return None,
    })
}

fn is_comparison(op: &BinOp) -> bool {
    matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_))
}

fn is_assignment(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

/// Whether evaluating it does nothing else, so that it may be done in vain.
fn is_pure(e: &Expr) -> bool {
    match e {
        Expr::Lit(_) | Expr::Path(_) => true,
        Expr::Paren(e) => is_pure(&e.expr),
        Expr::Group(e) => is_pure(&e.expr),
        Expr::Unary(e) => is_pure(&e.expr),
        Expr::Cast(e) => is_pure(&e.expr),
        Expr::Field(e) => is_pure(&e.base),
        Expr::Binary(e) => !is_assignment(&e.op) && is_pure(&e.left) && is_pure(&e.right),
        Expr::MethodCall(e) => {
            (e.method == "len" || e.method == "id" || e.method == "range") && is_pure(&e.receiver)
        }
        _ => false,
    }
}

/// The one name that a path is.
pub(crate) fn single(path: &Path) -> Option<&Ident> {
    path.get_ident()
}

impl Walk {
    /// An expression.
    pub(crate) fn expr(&mut self, e: &Expr, want: Want) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        match e {
            Expr::Lit(lit) => literal(&lit.lit, false),
            Expr::Paren(e) => {
                let Both { host, staged } = self.expr(&e.expr, want)?;
                Ok(Both::new(quote!((#host)), staged))
            }
            Expr::Group(e) => self.expr(&e.expr, want),
            Expr::Path(path) if path.qself.is_none() && self.is_constant(&path.path) => {
                let path = &path.path;
                Ok(Both::new(quote!(#path), quote_spanned!(span=> #root::stage::constant(#path))))
            }
            Expr::Path(path) if path.qself.is_some() => {
                Ok(Both::new(quote!(#path), quote_spanned!(span=> #root::stage::constant(#path))))
            }
            Expr::Path(_) | Expr::Field(_) | Expr::Index(_) => {
                let Both { mut host, staged } = self.part(e)?;
                if self.by_reference && matches!(e, Expr::Path(path) if path.path.is_ident("self")) {
                    host = quote!((*#host));
                }
                Ok(Both::new(host, quote_spanned!(span=> #root::stage::rd(#staged))))
            }
            Expr::Unary(unary) => match (&unary.op, &*unary.expr) {
                (UnOp::Neg(_), Expr::Lit(lit)) => literal(&lit.lit, true),
                (UnOp::Neg(_), _) => self.apply("neg", &[&unary.expr], span),
                (UnOp::Not(_), _) => self.apply("not", &[&unary.expr], span),
                _ => Err(refuse::expression(e)),
            },
            Expr::Binary(binary) => self.binary(binary),
            Expr::Assign(assign) => self.assign(&assign.left, &assign.right, None, span),
            Expr::Cast(cast) => {
                refuse::body_type(&cast.ty)?;
                let ty = &cast.ty;
                if matches!(&**ty, syn::Type::Infer(_)) {
                    return refuse::error(ty, "`as _` in a kernel: name the type");
                }
                let Both { host, staged } = self.expr(&cast.expr, Want::Value)?;
                if self.is_fixed(&cast.expr) {
                    // Rust casts it: of a literal its type follows from what it is cast to.
                    let cast = quote_spanned!(span=> ((#host) as #ty));
                    return Ok(Both::new(cast.clone(), quote_spanned!(span=> #root::stage::constant(#cast))));
                }
                // The `let` keeps that from what is inside, as the staged copy has no such rule.
                Ok(Both::new(
                    quote_spanned!(span=> ({ let __from = #host; __from as #ty })),
                    quote_spanned!(span=> #root::stage::cast::<_, #ty>(#staged)),
                ))
            }
            Expr::Array(array) => {
                let (mut hosts, mut stages) = (Vec::new(), Vec::new());
                for e in &array.elems {
                    let Both { host, staged } = self.expr(e, Want::Value)?;
                    hosts.push(host);
                    stages.push(staged);
                }
                Ok(Both::new(
                    quote!([#(#hosts),*]),
                    quote_spanned!(span=> #root::stage::array([#(#stages),*])),
                ))
            }
            Expr::Repeat(repeat) => {
                let len = &repeat.len;
                let Both { host, staged } = self.expr(&repeat.expr, Want::Value)?;
                Ok(Both::new(
                    quote!([#host; #len]),
                    quote_spanned!(span=> #root::stage::array([#staged; #len])),
                ))
            }
            Expr::Struct(literal) => self.structure(literal),
            Expr::Call(call) => self.call(call),
            Expr::MethodCall(call) => self.method(call),
            _ => self.control(e, want),
        }
    }

    /// Whether it is a literal or a constant.
    fn is_fixed(&self, e: &Expr) -> bool {
        match e {
            Expr::Lit(_) => true,
            Expr::Paren(e) => self.is_fixed(&e.expr),
            Expr::Group(e) => self.is_fixed(&e.expr),
            Expr::Unary(unary) => {
                matches!((&unary.op, &*unary.expr), (UnOp::Neg(_), Expr::Lit(_)))
            }
            Expr::Path(path) => path.qself.is_some() || self.is_constant(&path.path),
            _ => false,
        }
    }

    fn is_constant(&self, path: &Path) -> bool {
        match single(path) {
            Some(name) => !self.is_local(name) && !self.is_capture(name) && name != "self",
            None => true,
        }
    }

    /// A function of both copies on arguments.
    pub(crate) fn apply(&mut self, name: &str, arguments: &[&Expr], span: Span) -> Result<Both> {
        let (host_fn, staged_fn) = both_ops(name, span);
        let (mut hosts, mut stages) = (Vec::new(), Vec::new());
        for e in arguments {
            let Both { host, staged } = self.expr(e, Want::Value)?;
            hosts.push(host);
            stages.push(staged);
        }
        Ok(Both::new(
            quote_spanned!(span=> #host_fn(#(#hosts),*)),
            quote_spanned!(span=> #staged_fn(#(#stages),*)),
        ))
    }

    fn binary(&mut self, binary: &ExprBinary) -> Result<Both> {
        let (root, span) = (root_at(binary.span()), binary.span());
        if is_assignment(&binary.op) {
            return self.assign(&binary.left, &binary.right, operator(&binary.op), span);
        }
        if let BinOp::And(_) | BinOp::Or(_) = binary.op {
            let (a, b) = (self.expr(&binary.left, Want::Value)?, self.expr(&binary.right, Want::Value)?);
            let (op, a_host, b_host, a, b) = (&binary.op, a.host, b.host, a.staged, b.staged);
            let staged = match (is_pure(&binary.right), &binary.op) {
                (true, BinOp::And(_)) => quote_spanned!(span=> #root::stage::bitand::<bool>(#a, #b)),
                (true, _) => quote_spanned!(span=> #root::stage::bitor::<bool>(#a, #b)),
                (false, BinOp::And(_)) => {
                    quote_spanned!(span=> #root::stage::if_value(#a, || #b, || #root::stage::constant(false)))
                }
                (false, _) => {
                    quote_spanned!(span=> #root::stage::if_value(#a, || #root::stage::constant(true), || #b))
                }
            };
            return Ok(Both::new(quote_spanned!(span=> ((#a_host) #op (#b_host))), staged));
        }
        let Some(name) = operator(&binary.op) else {
            return refuse::error(
                binary,
                "this operator in a kernel: the guide lists what kernels can contain",
            );
        };
        let (a, b) = (self.expr(&binary.left, Want::Value)?, self.expr(&binary.right, Want::Value)?);
        let (host_fn, staged_fn) = both_ops(name, span);
        let (a_host, b_host, a, b) = (a.host, b.host, a.staged, b.staged);
        let staged = quote_spanned!(span=> #staged_fn(#a, #b));
        if is_comparison(&binary.op) {
            let op = &binary.op;
            return Ok(Both::new(quote_spanned!(span=> ((#a_host) #op (#b_host))), staged));
        }
        Ok(Both::new(quote_spanned!(span=> #host_fn(#a_host, #b_host)), staged))
    }

    /// `left = right`, or `left op= right`: the right side first, then the place; nothing happens where there is no such
    /// place.
    fn assign(&mut self, left: &Expr, right: &Expr, op: Option<&str>, span: Span) -> Result<Both> {
        let root = root();
        if let Expr::Infer(_) = left {
            let Both { host, staged } = self.expr(right, Want::Value)?;
            return Ok(Both::new(quote!({ let _ = #host; }), quote!({ let _ = #staged; })));
        }
        let value = self.expr(right, Want::Value)?;
        let (place, skip) = self.assigned(|walk| (walk.place(left), walk.skip()));
        let place = place?;
        let (host, staged, host_place, staged_place) = (value.host, value.staged, place.host, place.staged);
        let (new, at) = (own("__value", span), own("__place", span));
        let (new_host, new_staged) = match op {
            None => (quote!(#new), quote!(#new)),
            Some(op) => {
                let (host_fn, staged_fn) = both_ops(op, span);
                (
                    quote_spanned!(span=> #host_fn(*#at, #new)),
                    quote_spanned!(span=> #staged_fn(#root::stage::rd(#at), #new)),
                )
            }
        };
        let host = quote_spanned!(span=> {
            let #new = #host;
            #skip: {
                let #at = &mut #host_place;
                *#at = #new_host;
            }
        });
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
                let Member::Named(name) = &field.member else {
                    return refuse::error(
                        &field.member,
                        "a tuple's field in a kernel: use a struct with named fields",
                    );
                };
                let Both { host, staged } = self.part(&field.base)?;
                let hash = name_hash(&name.to_string());
                Ok(Both::new(
                    quote_spanned!(span=> (#host).#name),
                    quote_spanned!(span=> #root::stage::field::<#hash, _>(#staged)),
                ))
            }
            Expr::Index(index) => {
                let base = self.part(&index.expr)?;
                let (base_host, base) = (base.host, base.staged);
                if let Some(k) = literal_index(&index.index)? {
                    return Ok(Both::new(
                        quote_spanned!(span=> (#base_host)[#k]),
                        quote_spanned!(span=> #root::stage::index_lit(#base, #k)),
                    ));
                }
                let at = self.expr(&index.index, Want::Value)?;
                let (at_host, at) = (at.host, at.staged);
                Ok(Both::new(
                    quote_spanned!(span=> #root::host::ops::at(&(#base_host), #at_host)),
                    quote_spanned!(span=> #root::stage::index(#base, #at)),
                ))
            }
            _ => self.expr(e, Want::Value),
        }
    }

    /// What is assigned to.
    fn place(&mut self, e: &Expr) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        match e {
            Expr::Paren(e) => self.place(&e.expr),
            Expr::Group(e) => self.place(&e.expr),
            Expr::Path(path) => match single(&path.path) {
                Some(name) if self.is_local(name) => Ok(Both::new(quote!(#name), quote!(#name))),
                _ => refuse::error(
                    e,
                    "an assignment to what is no local variable in a kernel: captures are read only; write through an accessor, with `set`",
                ),
            },
            Expr::Field(field) => {
                let Member::Named(name) = &field.member else {
                    return refuse::error(
                        &field.member,
                        "a tuple's field in a kernel: use a struct with named fields",
                    );
                };
                let Both { host, staged } = self.place(&field.base)?;
                let hash = name_hash(&name.to_string());
                Ok(Both::new(
                    quote_spanned!(span=> (#host).#name),
                    quote_spanned!(span=> #root::stage::field::<#hash, _>(#staged)),
                ))
            }
            Expr::Index(index) => {
                let base = self.place(&index.expr)?;
                let (base_host, base) = (base.host, base.staged);
                if let Some(k) = literal_index(&index.index)? {
                    return Ok(Both::new(
                        quote_spanned!(span=> (#base_host)[#k]),
                        quote_spanned!(span=> #root::stage::index_lit(#base, #k)),
                    ));
                }
                let at = self.expr(&index.index, Want::Value)?;
                let (at_host, at) = (at.host, at.staged);
                let skip = self.skip();
                let slot = quote_spanned!(span=> *{
                    let __index = #at_host;
                    match #root::host::ops::slot(&mut (#base_host), __index) {
                        ::core::option::Option::Some(slot) => slot,
                        ::core::option::Option::None => break #skip,
                    }
                });
                Ok(Both::new(
                    quote_spanned!(span=> (#slot)),
                    quote_spanned!(span=> #root::stage::index(#base, #at)),
                ))
            }
            _ => refuse::error(
                e,
                "an assignment to this in a kernel: assign to a local variable, its fields or elements, or use `set` of an accessor",
            ),
        }
    }

    fn structure(&mut self, literal: &ExprStruct) -> Result<Both> {
        let span = literal.span();
        let path = &literal.path;
        let (mut hosts, mut stages) = (Vec::new(), Vec::new());
        for field in &literal.fields {
            let Member::Named(name) = &field.member else {
                return refuse::error(&field.member, "a tuple struct in a kernel: name the fields");
            };
            let hash = name_hash(&name.to_string());
            let Both { host, staged } = self.expr(&field.expr, Want::Value)?;
            hosts.push(quote!(#name: #host));
            stages.push(quote_spanned!(span=> .with::<#hash>(#staged)));
        }
        if let Some(rest) = &literal.rest {
            let Both { host, staged } = self.expr(rest, Want::Value)?;
            return Ok(Both::new(
                quote_spanned!(span=> #path { #(#hosts,)* ..#host }),
                quote_spanned!(span=> #path::__build()#(#stages)*.done_from(#staged)),
            ));
        }
        Ok(Both::new(
            quote_spanned!(span=> #path { #(#hosts),* }),
            quote_spanned!(span=> #path::__build()#(#stages)*.done()),
        ))
    }
}

fn literal(lit: &Lit, negative: bool) -> Result<Both> {
    let root = root();
    let (what, instead) = match lit {
        Lit::Int(_) | Lit::Float(_) | Lit::Bool(_) => {
            let suffix = match lit {
                Lit::Int(int) => int.suffix(),
                Lit::Float(float) => float.suffix(),
                _ => "",
            };
            match suffix {
                "usize" => {
                    return refuse::error(
                        lit,
                        "`usize` in a kernel: use `u32`, by which arrays and accessors are indexed",
                    );
                }
                "isize" => return refuse::error(lit, "`isize` in a kernel: use `i32`"),
                "u128" | "i128" => return refuse::error(lit, "a 128-bit integer in a kernel: use two `u64`"),
                _ => {}
            }
            let value = if negative { quote_spanned!(lit.span()=> -#lit) } else { quote!(#lit) };
            let host = if negative { quote!((#value)) } else { value.clone() };
            return Ok(Both::new(host, quote_spanned!(lit.span()=> #root::stage::constant(#value))));
        }
        Lit::Char(_) => ("a `char`", "use its number, as in `0x41_u32`, or `b'A'`"),
        Lit::Byte(byte) => {
            return Ok(Both::new(quote!(#byte), quote_spanned!(lit.span()=> #root::stage::constant(#byte))));
        }
        Lit::Str(_) | Lit::ByteStr(_) | Lit::CStr(_) => ("a string", "pass its bytes in a buffer"),
        _ => ("this literal", "use a number"),
    };
    refuse::error(lit, format!("{what} in a kernel: {instead}"))
}

/// The number that an index is, if it is a literal.
fn literal_index(e: &Expr) -> Result<Option<usize>> {
    match e {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) if int.suffix() == "usize" => {
                literal(&lit.lit, false)?;
                Ok(None)
            }
            Lit::Int(int) => Ok(Some(int.base10_parse()?)),
            _ => Ok(None),
        },
        Expr::Paren(e) => literal_index(&e.expr),
        Expr::Group(e) => literal_index(&e.expr),
        _ => Ok(None),
    }
}
