//! Expressions.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{BinOp, Expr, ExprBinary, ExprStruct, Lit, Member, Path, Result, UnOp, spanned::Spanned};

use crate::{
    body::{Both, This, Walk, Want},
    derive::{name_hash, root, root_at},
    operator::{arity, both_ops, const_function, is_assignment, is_comparison, operation, operator, same},
    refuse,
    typed::Alike,
};

/// A field of a struct or of a tuple.
pub(crate) fn member(member: &Member, span: Span, host: &TokenStream, staged: &TokenStream) -> Both {
    let root = root_at(span);
    let staged = match member {
        Member::Named(name) => {
            let hash = name_hash(&name.to_string());
            quote_spanned!(span=> #root::stage::field::<#hash, _>(#staged))
        }
        Member::Unnamed(number) => {
            let number = number.index as usize;
            quote_spanned!(span=> #root::stage::part::<#number, _>(#staged))
        }
    };
    Both::new(quote_spanned!(span=> (#host).#member), staged)
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

/// An expression, and what is done before it.
pub(crate) fn preceded(before: TokenStream, e: TokenStream) -> TokenStream {
    if before.is_empty() { e } else { quote!({ #before #e }) }
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
                if self.this != This::Value && matches!(e, Expr::Path(path) if path.path.is_ident("self")) {
                    host = quote!((*#host));
                }
                Ok(Both::new(host, quote_spanned!(span=> #root::stage::rd(#staged))))
            }
            Expr::Unary(unary) => match (&unary.op, &*unary.expr) {
                (UnOp::Neg(_), Expr::Lit(lit)) => literal(&lit.lit, true),
                (UnOp::Neg(_), _) => self.apply("neg", &[&unary.expr], span),
                (UnOp::Not(_), _) => self.apply("not", &[&unary.expr], span),
                (UnOp::Deref(_), _) => {
                    let Both { host, staged } = self.part(e)?;
                    Ok(Both::new(host, quote_spanned!(span=> #root::stage::rd(#staged))))
                }
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
                let Alike { hosts, stages, before } = self.alike(array.elems.iter(), "like")?;
                let staged = quote_spanned!(span=> #root::stage::array([#(#stages),*]));
                Ok(Both::new(quote!([#(#hosts),*]), preceded(before, staged)))
            }
            Expr::Repeat(repeat) => {
                let len = &repeat.len;
                let Both { host, staged } = self.expr(&repeat.expr, Want::Value)?;
                Ok(Both::new(
                    quote!([#host; #len]),
                    quote_spanned!(span=> #root::stage::array([#staged; #len])),
                ))
            }
            Expr::Tuple(tuple) if tuple.elems.is_empty() => Ok(Both::new(quote!(()), quote!(()))),
            Expr::Tuple(tuple) => {
                let Alike { hosts, stages, .. } = self.each(tuple.elems.iter())?;
                Ok(Both::new(
                    quote!((#(#hosts,)*)),
                    quote_spanned!(span=> #root::stage::tuple((#(#stages,)*))),
                ))
            }
            Expr::Reference(reference) if reference.mutability.is_none() => {
                let Both { host, staged } = self.part(&reference.expr)?;
                Ok(Both::new(
                    quote_spanned!(span=> (&#host)),
                    quote_spanned!(span=> #root::stage::rd(#staged)),
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
        let Alike { hosts, stages, before } = self.numbers(name, arguments, span)?;
        let host = if self.is_const {
            const_function(name, span, &hosts)?
        } else {
            quote_spanned!(span=> #host_fn(#(#hosts),*))
        };
        Ok(Both::new(host, preceded(before, quote_spanned!(span=> #staged_fn(#(#stages),*)))))
    }

    /// The arguments of a function of both copies.
    pub(crate) fn numbers(&mut self, name: &str, arguments: &[&Expr], span: Span) -> Result<Alike> {
        let root = root_at(span);
        let second = match name {
            "pow" | "rotate_left" | "rotate_right" => Some(quote!(#root::stage::Val<u32>)),
            "powi" => Some(quote!(#root::stage::Val<i32>)),
            _ => None,
        };
        let mut all = match (second, arguments) {
            (Some(second), [a, b, ..]) => {
                let (a, b) = (self.expr(a, Want::Value)?, self.fitting(b, &second)?);
                Alike { hosts: vec![a.host, b.host], stages: vec![a.staged, b.staged], before: quote!() }
            }
            _ => {
                let like = if name == "unwrap_or" { "like_some" } else { "like" };
                self.alike(arguments.iter().copied(), like)?
            }
        };
        // Of another count, Rust says so of the host's copy.
        all.stages.resize(arity(name), quote!(#root::stage::never()));
        Ok(all)
    }

    fn binary(&mut self, binary: &ExprBinary) -> Result<Both> {
        let (root, span) = (root_at(binary.span()), binary.span());
        if is_assignment(&binary.op) {
            return self.assign(&binary.left, &binary.right, operator(&binary.op), span);
        }
        if let BinOp::And(_) | BinOp::Or(_) = binary.op {
            let (a, b) = (self.condition(&binary.left)?, self.condition(&binary.right)?);
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
        if is_comparison(&binary.op) {
            let (op, a_host, b_host) = (&binary.op, a.host, b.host);
            let name = Ident::new(name, span);
            let function = quote_spanned!(span=> #root::stage::#name);
            let staged = same(&function, span, &a.staged, &b.staged);
            return Ok(Both::new(quote_spanned!(span=> ((#a_host) #op (#b_host))), staged));
        }
        Ok(operation(name, span, [a.host, b.host], [a.staged, b.staged], self.is_const))
    }

    /// What is out of range is zero, which a `const fn` does not know of a type.
    pub(crate) fn no_index(&self, e: &Expr) -> Result<()> {
        if !self.is_const {
            return Ok(());
        }
        refuse::error(e, "an element in a `const fn` of a kernel, but by a literal: leave `const` away")
    }

    /// An index: of a grid, one for each dimension.
    pub(crate) fn index(&mut self, e: &Expr) -> Result<Both> {
        let Expr::Array(array) = e else { return self.number(e) };
        let (mut hosts, mut stages) = (Vec::new(), Vec::new());
        for e in &array.elems {
            let Both { host, staged } = self.number(e)?;
            hosts.push(host);
            stages.push(staged);
        }
        Ok(Both::new(quote!([#(#hosts),*]), quote!([#(#stages),*])))
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
            stages.push(quote_spanned!(span=> .with::<#hash, _>(#staged).fit()));
        }
        if let Some(rest) = &literal.rest {
            let Both { host, staged } = self.expr(rest, Want::Value)?;
            return Ok(Both::new(
                quote_spanned!(span=> #path { #(#hosts,)* ..#host }),
                quote_spanned!(span=> #path::__build()#(#stages)*.done_from(#staged).fit()),
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
pub(crate) fn literal_index(e: &Expr) -> Result<Option<usize>> {
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
