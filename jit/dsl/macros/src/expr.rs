//! Expressions.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{BinOp, Error, Expr, ExprBinary, ExprStruct, Lit, Member, Path, Result, UnOp, spanned::Spanned};

use crate::{
    body::{Both, This, Walk, Want},
    derive::{name_hash, own, root, root_at},
    refuse,
};

/// The path of a function that both copies have under one name.
pub(crate) fn both_ops(name: &str, span: Span) -> (TokenStream, TokenStream) {
    let (root, name) = (root_at(span), Ident::new(name, span));
    (
        quote_spanned!(span=> <#root::side::Host as #root::side::Side>::#name),
        quote_spanned!(span=> <#root::side::Staged as #root::side::Side>::#name),
    )
}

/// The two copies of a binary operator. Those that types of one's own can have are methods of both sides. `is_const`: in a
/// `const fn`.
fn operation(
    name: &str,
    span: Span,
    host: [TokenStream; 2],
    staged: [TokenStream; 2],
    is_const: bool,
) -> Both {
    let ([a_host, b_host], [a, b]) = (host, staged);
    if is_const {
        let Both { staged, .. } = operation(name, span, [a_host.clone(), b_host.clone()], [a, b], false);
        return Both::new(const_operation(name, span, [a_host, b_host]), staged);
    }
    if OWN.contains(&name) {
        let (root, name) = (root_at(span), Ident::new(name, span));
        return Both::new(
            quote_spanned!(span=> #root::side::pair::<#root::side::Host, _, _>(#a_host, #b_host).#name()),
            quote_spanned!(span=> #root::side::pair::<#root::side::Staged, _, _>(#a, #b).#name()),
        );
    }
    let (host_fn, staged_fn) = both_ops(name, span);
    Both::new(quote_spanned!(span=> #host_fn(#a_host, #b_host)), quote_spanned!(span=> #staged_fn(#a, #b)))
}

/// The host's copy of an operator in a `const fn`.
fn const_operation(name: &str, span: Span, [a, b]: [TokenStream; 2]) -> TokenStream {
    let (root, method) = (root_at(span), Ident::new(name, span));
    match name {
        "bitand" => quote_spanned!(span=> ((#a) & (#b))),
        "bitor" => quote_spanned!(span=> ((#a) | (#b))),
        "bitxor" => quote_spanned!(span=> ((#a) ^ (#b))),
        "shl" | "shr" => quote_spanned!(span=> #root::host::constant::One(#a).#method((#b) as u32)),
        _ => quote_spanned!(span=> #root::host::constant::Pair(#a, #b).#method()),
    }
}

/// The host's copy of a function of numbers, or of an operator of one, in a `const fn`.
pub(crate) fn const_function(name: &str, span: Span, arguments: &[TokenStream]) -> Result<TokenStream> {
    let (root, method) = (root_at(span), Ident::new(name, span));
    let [of, rest @ ..] = arguments else { return Ok(TokenStream::new()) };
    match name {
        "not" => Ok(quote_spanned!(span=> (!(#of)))),
        "is_some" | "is_none" => Ok(quote_spanned!(span=> (#of).#method())),
        name if CONST.contains(&name) => {
            Ok(quote_spanned!(span=> #root::host::constant::One(#of).#method(#(#rest),*)))
        }
        name => Err(Error::new(
            span,
            format!("`{name}` in a `const fn` of a kernel, where it is not one of Rust: leave `const` away"),
        )),
    }
}

/// Functions of numbers that a `const fn` can call.
const CONST: &[&str] = &[
    "neg",
    "abs",
    "signum",
    "min",
    "max",
    "clamp",
    "pow",
    "div_euclid",
    "rem_euclid",
    "count_ones",
    "leading_zeros",
    "trailing_zeros",
    "reverse_bits",
    "swap_bytes",
    "rotate_left",
    "rotate_right",
    "wrapping_add",
    "wrapping_sub",
    "wrapping_mul",
    "saturating_add",
    "saturating_sub",
    "saturating_mul",
    "checked_add",
    "checked_sub",
    "checked_mul",
    "checked_div",
    "checked_rem",
];

/// What happens at an index that is out of range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// An assignment does not happen.
    Skipped,
    /// A variable that nobody looks at stands in.
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

/// A field of a struct or of a tuple.
fn member(member: &Member, span: Span, host: &TokenStream, staged: &TokenStream) -> Both {
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

/// Operators that types of one's own can have.
const OWN: [&str; 4] = ["add", "sub", "mul", "div"];

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
            Expr::Tuple(tuple) if tuple.elems.is_empty() => Ok(Both::new(quote!(()), quote!(()))),
            Expr::Tuple(tuple) => {
                let (mut hosts, mut stages) = (Vec::new(), Vec::new());
                for e in &tuple.elems {
                    let Both { host, staged } = self.expr(e, Want::Value)?;
                    hosts.push(host);
                    stages.push(staged);
                }
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
        let (mut hosts, mut stages) = (Vec::new(), Vec::new());
        for e in arguments {
            let Both { host, staged } = self.expr(e, Want::Value)?;
            hosts.push(host);
            stages.push(staged);
        }
        let host = if self.is_const {
            const_function(name, span, &hosts)?
        } else {
            quote_spanned!(span=> #host_fn(#(#hosts),*))
        };
        Ok(Both::new(host, quote_spanned!(span=> #staged_fn(#(#stages),*))))
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
        if is_comparison(&binary.op) {
            let name = Ident::new(name, span);
            let staged_fn = quote_spanned!(span=> #root::stage::#name);
            let (op, a_host, b_host, a, b) = (&binary.op, a.host, b.host, a.staged, b.staged);
            return Ok(Both::new(
                quote_spanned!(span=> ((#a_host) #op (#b_host))),
                quote_spanned!(span=> #staged_fn(#a, #b)),
            ));
        }
        Ok(operation(name, span, [a.host, b.host], [a.staged, b.staged], self.is_const))
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
        if let (Expr::Tuple(tuple), None) = (left, op) {
            let all = own("__all", span);
            let mut parts = Both::default();
            for (k, left) in tuple.elems.iter().enumerate() {
                let number = syn::Index::from(k);
                let part =
                    Both::new(quote!(#all.#number), quote_spanned!(span=> #root::stage::part::<#k, _>(#all)));
                let Both { host, staged } = self.assign_value(left, part, None, span)?;
                parts.host.extend(quote!(#host;));
                parts.staged.extend(quote!(#staged;));
            }
            let (host, staged, parts_host, parts) = (value.host, value.staged, parts.host, parts.staged);
            return Ok(Both::new(
                quote_spanned!(span=> { let #all = #host; #parts_host }),
                quote_spanned!(span=> { let #all = #staged; #parts }),
            ));
        }
        self.assign_value(left, value, op, span)
    }

    /// The same of what was evaluated before.
    fn assign_value(&mut self, left: &Expr, value: Both, op: Option<&str>, span: Span) -> Result<Both> {
        let root = root();
        if let Expr::Infer(_) = left {
            let Both { host, staged } = value;
            return Ok(Both::new(quote!({ let _ = #host; }), quote!({ let _ = #staged; })));
        }
        let (place, skip) = self.assigned(|walk| (walk.changed(left, Missing::Skipped), walk.skip()));
        let place = place?;
        let (before, place) = (place.before(), place.both);
        let (host, staged, host_place, staged_place) = (value.host, value.staged, place.host, place.staged);
        let (new, at) = (own("__value", span), own("__place", span));
        let (new_host, new_staged) = match op {
            None => (quote!(#new), quote!(#new)),
            Some(op) => {
                let now = [quote_spanned!(span=> *#at), quote_spanned!(span=> #root::stage::rd(#at))];
                let [now_host, now] = now;
                let new = quote!(#new);
                let Both { host, staged } =
                    operation(op, span, [now_host, new.clone()], [now, new], self.is_const);
                (host, staged)
            }
        };
        let is_name =
            matches!(left, Expr::Path(path) if single(&path.path).is_some_and(|name| name != "self"));
        let host = if op.is_none() && is_name {
            // The variable may have no value yet.
            quote_spanned!(span=> { #host_place = #host; })
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

    /// What is out of range is zero, which a `const fn` does not know of a type.
    fn no_index(&self, e: &Expr) -> Result<()> {
        if !self.is_const {
            return Ok(());
        }
        refuse::error(e, "an element in a `const fn` of a kernel, but by a literal: leave `const` away")
    }

    /// An index: of a grid, one for each dimension.
    fn index(&mut self, e: &Expr) -> Result<Both> {
        let Expr::Array(array) = e else { return self.expr(e, Want::Value) };
        let (mut hosts, mut stages) = (Vec::new(), Vec::new());
        for e in &array.elems {
            let Both { host, staged } = self.expr(e, Want::Value)?;
            hosts.push(host);
            stages.push(staged);
        }
        Ok(Both::new(quote!([#(#hosts),*]), quote!([#(#stages),*])))
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
