//! Calls: of functions that numbers have, of accessors and items, and of marked functions.

use std::ops::RangeInclusive;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Expr, ExprCall, ExprMethodCall, Path, PathArguments, PathSegment, Result, Type, spanned::Spanned};

use crate::{
    body::{Both, Walk, Want},
    derive::{name_hash, own, root, root_at},
    expr::{preceded, single},
    operator::both_ops,
    place::has_index,
    refuse,
    typed::Alike,
};

/// Functions of numbers, which are methods in Rust.
const MATH: &[&str] = &[
    "min",
    "max",
    "clamp",
    "abs",
    "signum",
    "wrapping_add",
    "wrapping_sub",
    "wrapping_mul",
    "count_ones",
    "leading_zeros",
    "trailing_zeros",
    "reverse_bits",
    "swap_bytes",
    "rotate_left",
    "rotate_right",
    "pow",
    "div_euclid",
    "rem_euclid",
    "saturating_add",
    "saturating_sub",
    "saturating_mul",
    "checked_add",
    "checked_sub",
    "checked_mul",
    "checked_div",
    "checked_rem",
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "round",
    "recip",
    "mul_add",
    "copysign",
    "is_nan",
    "is_finite",
    "is_infinite",
    "to_bits",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "exp2",
    "ln",
    "log2",
    "atan2",
    "powf",
    "powi",
];

/// Functions of `Option`.
const OPTION: &[&str] = &["is_some", "is_none", "unwrap_or"];

/// Methods of accessors, shared memory, constants and items.
const HANDLES: &[&str] = &[
    "get",
    "set",
    "get_unchecked",
    "set_unchecked",
    "len",
    "is_empty",
    "fetch_add",
    "fetch_min",
    "fetch_max",
    "fetch_and",
    "fetch_or",
    "fetch_xor",
    "exchange",
    "compare_exchange",
    "id",
    "range",
    "index",
    "count",
    "global",
    "local",
    "group",
    "local_range",
    "groups",
    "local_index",
    "barrier",
    "sub_group_size",
    "sub_group_lane",
    "sub_group_sum",
    "sub_group_min",
    "sub_group_max",
    "sub_group_all",
    "sub_group_any",
    "sub_group_first",
    "sub_group_xor",
];

/// How many arguments a method of a handle has.
fn handle_arity(name: &str) -> Option<RangeInclusive<usize>> {
    let count = match name {
        // A specialization constant has no elements.
        "get" => return Some(0..=1),
        "set" | "set_unchecked" | "exchange" | "sub_group_xor" => 2,
        "compare_exchange" => 3,
        "len" | "is_empty" | "index" | "count" | "local_index" | "barrier" | "sub_group_size"
        | "sub_group_lane" => 0,
        name if name.starts_with("fetch_") => 2,
        _ => 1,
    };
    HANDLES.contains(&name).then_some(count..=count)
}

/// What to use instead of a method that kernels do not have, whatever has it.
fn instead(name: &str) -> Option<&'static str> {
    Some(match name {
        "overflowing_add" | "overflowing_sub" | "overflowing_mul" => {
            "use `checked_add` and the like, or compare"
        }
        "swap" | "replace" | "take" => "assign, as in `(a, b) = (b, a)`",
        "wrapping_abs" | "unsigned_abs" => "use `abs`, which wraps, and `as`",
        "abs_diff" => "use `max` and `min`, and their difference",
        "count_zeros" | "leading_ones" | "trailing_ones" => "count the bits of `!x`",
        "is_power_of_two" => "use `count_ones`",
        "next_power_of_two" | "ilog2" | "isqrt" => "make it of `leading_zeros` and shifts, or of a loop",
        "is_sign_negative" | "is_sign_positive" => "compare, or look at `to_bits`",
        "wrapping_pow" | "wrapping_neg" | "wrapping_div" | "wrapping_rem" | "wrapping_shl"
        | "wrapping_shr" => "all arithmetic wraps: use the operator, or `pow`",
        "iter" | "iter_mut" | "into_iter" | "map" | "fold" | "sum" | "step_by" | "rev" | "enumerate"
        | "zip" => "there are no iterators: use `for i in a..b` and an index, or `while` for other steps",
        "unwrap" | "expect" => "a device cannot panic: use `unwrap_or`, `match`, `if let` or `?`",
        "clone" | "to_owned" | "copied" | "cloned" | "into" => {
            "values are copied: leave it away, or use `as`"
        }
        "cbrt" | "hypot" | "log10" | "log" | "exp_m1" | "ln_1p" | "to_degrees" | "to_radians" => {
            "make it of `sqrt`, `ln`, `exp` and arithmetic"
        }
        "fract" => "use `x - x.trunc()`",
        _ => return None,
    })
}

/// What to use instead of a function that is not marked.
fn otherwise(name: &str) -> &'static str {
    instead(name).unwrap_or("write it as a function marked `#[device]` and call it by its name")
}

/// A function of numbers that a path names.
enum Known<'a> {
    /// `u32::max`
    OfNumber(&'a Ident, &'a Ident),
    /// `u32::from`
    From(&'a Ident),
    /// `std::cmp::max`
    Free(&'a Ident),
}

/// Types of Rust's own that have functions.
pub(crate) const NUMBERS: &[&str] = &[
    "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "bool", "usize", "isize",
    "char",
];

/// Those that are no types of kernels.
const OTHERS: &[&str] = &["bool", "usize", "isize", "char"];

fn known(path: &Path) -> Result<Option<Known<'_>>> {
    let all: Vec<&Ident> = path.segments.iter().map(|segment| &segment.ident).collect();
    match all[..] {
        [.., module, name] if module == "cmp" && (name == "min" || name == "max") => {
            Ok(Some(Known::Free(name)))
        }
        [first, .., name] if first == "std" || first == "core" || first == "alloc" => refuse::error(
            path,
            format!("`{name}` of the standard library in a kernel: {}", otherwise(&name.to_string())),
        ),
        [.., module, ty, name] if module == "half" && ty == "f16" => number(path, ty, name),
        [ty, name] if NUMBERS.iter().any(|number| ty == number) => number(path, ty, name),
        _ => Ok(None),
    }
}

/// A function of a type of numbers.
fn number<'a>(path: &'a Path, ty: &'a Ident, name: &'a Ident) -> Result<Option<Known<'a>>> {
    let (text, half) = (name.to_string(), ty == "f16");
    let is_known = match text.as_str() {
        "from" => !OTHERS.iter().any(|other| ty == other),
        "from_bits" => true,
        "from_f32" => half,
        text => MATH.contains(&text),
    };
    if is_known {
        return Ok(Some(if text == "from" { Known::From(ty) } else { Known::OfNumber(name, ty) }));
    }
    let instead = match text.as_str() {
        "from" if ty == "bool" => "compare, or `match`".to_owned(),
        "from" => "use `u32`, or `u8` for ASCII".to_owned(),
        "default" => "write the number".to_owned(),
        "from_f64" if half => "use `f16::from_f32(x as f32)`".to_owned(),
        "from_f32_const" | "from_f64_const" if half => "use `f16::from_f32`, or a `const`".to_owned(),
        _ => otherwise(&text).to_owned(),
    };
    refuse::error(path, format!("`{ty}::{name}` in a kernel: {instead}"))
}

fn is_type_name(path: &Path) -> bool {
    let count = path.segments.len();
    count >= 2 && path.segments[count - 2].ident.to_string().starts_with(char::is_uppercase)
}

/// The arguments of a call, and what the host does before it.
struct Arguments {
    hosts: Vec<TokenStream>,
    stages: Vec<TokenStream>,
    before: TokenStream,
}

/// How the arguments of a call are taken.
#[derive(Clone, Copy)]
enum Taken<'a> {
    /// As they are.
    Each,
    /// A method of an accessor or an item takes a number first.
    Number,
    /// A closure says of what types they are.
    Closure(&'a [Type]),
}

impl Arguments {
    fn host(&self) -> TokenStream {
        let hosts = &self.hosts;
        quote!(#(#hosts),*)
    }

    fn staged(&self) -> TokenStream {
        let stages = &self.stages;
        quote!(#(#stages),*)
    }

    /// All as one, `self` first.
    fn together(&self, this: Option<TokenStream>) -> TokenStream {
        let (this, stages) = (this.into_iter(), &self.stages);
        quote!((#(#this,)* #(#stages,)*))
    }

    /// As many as a function takes, for the staged copy: of others, Rust says so of the host's.
    fn resized(mut self, count: usize) -> Arguments {
        self.stages.resize(count, quote!(loop {}));
        self
    }

    /// The call on the host.
    fn around(&self, call: TokenStream) -> TokenStream {
        let before = &self.before;
        if before.is_empty() { call } else { quote!({ #before #call }) }
    }
}

/// Whether it is an element by a number that is computed, or a part of one.
fn is_element(e: &Expr) -> bool {
    match e {
        Expr::Paren(e) => is_element(&e.expr),
        Expr::Group(e) => is_element(&e.expr),
        Expr::Field(e) => is_element(&e.base),
        Expr::Index(e) => !matches!(&*e.index, Expr::Lit(_)) || is_element(&e.expr),
        _ => false,
    }
}

impl Walk {
    pub(crate) fn method(&mut self, call: &ExprMethodCall) -> Result<Both> {
        let (root, span) = (root_at(call.span()), call.span());
        let name = call.method.to_string();
        let on_self = matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self"));
        if on_self {
            return self.own(call);
        }
        if let Some(turbofish) = &call.turbofish {
            return refuse::error(turbofish, "type arguments of a method in a kernel: leave them away");
        }
        if MATH.contains(&name.as_str()) || OPTION.contains(&name.as_str()) {
            let all: Vec<&Expr> = [&*call.receiver].into_iter().chain(&call.args).collect();
            return self.apply(&name, &all, span);
        }
        let is_handle = HANDLES.contains(&name.as_str());
        if let (false, Some(instead)) = (is_handle, instead(&name)) {
            return refuse::error(&call.method, format!("method `{name}` in a kernel: {instead}"));
        }
        let mut receiver = self.part(&call.receiver)?;
        if is_element(&call.receiver) {
            // A copy of the element, which a method cannot change by mistake.
            let host = receiver.host;
            receiver.host = quote_spanned!(span=> #root::host::ops::kept(#host));
        }
        let is_element = is_handle && !name.starts_with("sub_group_");
        let taken = if is_element { Taken::Number } else { Taken::Each };
        let mut arguments = self.arguments(call.args.iter(), taken)?;
        let (host, staged, method) = (receiver.host, receiver.staged, &call.method);
        let host_args = arguments.host();
        let staged = if let Some(counts) = handle_arity(&name) {
            if !counts.contains(&call.args.len()) {
                arguments = arguments.resized(*counts.end());
            }
            let staged_args = arguments.staged();
            let fit = name.starts_with("set").then(|| quote_spanned!(span=> .fit()));
            quote_spanned!(span=> #root::stage::rd(#staged).#method(#staged_args)#fit)
        } else {
            let (hash, staged_args) = (name_hash(&name), arguments.together(None));
            quote_spanned!(span=> #root::stage::method::<#hash, _, _, _>(#staged, #staged_args).fit())
        };
        Ok(Both::new(arguments.around(quote_spanned!(span=> (#host).#method(#host_args))), staged))
    }

    /// A call of a function of the same `impl`.
    fn own(&mut self, call: &ExprMethodCall) -> Result<Both> {
        let (root, span) = (root_at(call.span()), call.span());
        if call.method == "run" {
            return refuse::error(
                &call.method,
                "a call of `run` in a kernel: put what both do into another function",
            );
        }
        let arguments = self.arguments(call.args.iter(), Taken::Each)?;
        let this = own("__this", span);
        let this = quote_spanned!(span=> #root::stage::pass(#this));
        let (host, staged) = (arguments.host(), arguments.together(Some(this)));
        let (receiver, method, turbofish) = (&call.receiver, &call.method, &call.turbofish);
        let lower = format_ident!("__lower_{}", call.method, span = call.method.span());
        Ok(Both::new(
            arguments.around(quote_spanned!(span=> #receiver.#method #turbofish(#host))),
            quote_spanned!(span=> #root::stage::given(Self::#lower #turbofish, #staged).fit()),
        ))
    }

    /// The arguments of a call.
    fn arguments<'a>(
        &mut self,
        all: impl Iterator<Item = &'a Expr> + Clone,
        taken: Taken<'_>,
    ) -> Result<Arguments> {
        let root = root();
        let (mut hosts, mut stages, mut before) = (Vec::new(), Vec::new(), quote!());
        // Elements that are lent are held before the call: so what comes before them is evaluated before that, too.
        let holds = all
            .clone()
            .any(|e| matches!(e, Expr::Reference(e) if e.mutability.is_some() && has_index(&e.expr)));
        for (k, e) in all.enumerate() {
            let Both { host, staged } = match e {
                // Captures are passed by reference: the host has them in one place.
                Expr::Reference(reference) if reference.mutability.is_none() => {
                    let Both { host, staged } = self.part(&reference.expr)?;
                    Both::new(quote!(&#host), quote!(#root::stage::rd(#staged)))
                }
                Expr::Reference(reference) => {
                    let place = self.lend(&reference.expr)?;
                    before.extend(place.before());
                    let Both { host, staged } = place.both;
                    Both::new(quote!(&mut #host), quote!(#root::stage::lend(#staged)))
                }
                e => match taken {
                    Taken::Number if k == 0 => self.number(e)?,
                    Taken::Closure(types) if k < types.len() => {
                        let ty = &types[k];
                        self.fitting(e, &quote!(#root::stage::Val<#ty>))?
                    }
                    _ => self.expr(e, Want::Value)?,
                },
            };
            if holds {
                let name = format_ident!("__argument{k}");
                before.extend(quote!(let #name = #host;));
                hosts.push(quote!(#name));
            } else {
                hosts.push(host);
            }
            stages.push(staged);
        }
        Ok(Arguments { hosts, stages, before })
    }

    pub(crate) fn call(&mut self, call: &ExprCall) -> Result<Both> {
        let (root, span) = (root_at(call.span()), call.span());
        let Expr::Path(function) = &*call.func else {
            return refuse::error(
                &call.func,
                "a call of a value in a kernel: call a function marked `#[device]` by its name",
            );
        };
        let path = &function.path;
        if let Some(name) = single(path) {
            if let Some(types) = self.closure_named(name) {
                let arguments =
                    self.arguments(call.args.iter(), Taken::Closure(&types))?.resized(types.len());
                let (host, staged) = (arguments.host(), arguments.staged());
                return Ok(Both::new(
                    arguments.around(quote_spanned!(span=> #name(#host))),
                    quote_spanned!(span=> #name(#staged)),
                ));
            }
            if self.is_local(name) || self.is_capture(name) {
                return refuse::error(
                    name,
                    "a call of a value in a kernel: call a function marked `#[device]` by its name",
                );
            }
            let text = name.to_string();
            if text == "Some" && call.args.len() == 1 {
                let Both { host, staged } = self.expr(&call.args[0], Want::Value)?;
                return Ok(Both::new(
                    quote_spanned!(span=> #name(#host)),
                    quote_spanned!(span=> #root::stage::some(#staged)),
                ));
            }
            if text.starts_with(char::is_uppercase) {
                return refuse::error(
                    name,
                    "a tuple struct or variant in a kernel: use a struct with named fields",
                );
            }
        }
        if let Some(known) = known(path)? {
            let all: Vec<&Expr> = call.args.iter().collect();
            if self.is_const {
                let name = match known {
                    Known::OfNumber(name, _) | Known::Free(name) => name.to_string(),
                    Known::From(_) => "from".to_owned(),
                };
                return self.apply(&name, &all, span);
            }
            let (name, of) = match &known {
                Known::From(ty) => {
                    let arguments = self.arguments(call.args.iter(), Taken::Each)?.resized(1);
                    let (host, staged) = (arguments.host(), arguments.staged());
                    return Ok(Both::new(
                        quote_spanned!(span=> <#ty as ::core::convert::From<_>>::from(#host)),
                        quote_spanned!(span=> #root::stage::from::<#ty, _>(#staged)),
                    ));
                }
                Known::OfNumber(name, ty) => (name, quote_spanned!(span=> ::<#ty>)),
                Known::Free(name) => (name, TokenStream::new()),
            };
            let name = name.to_string();
            let (host_fn, staged_fn) = both_ops(&name, span);
            let Alike { hosts, stages, before } = self.numbers(&name, &all, span)?;
            return Ok(Both::new(
                quote_spanned!(span=> #host_fn #of(#(#hosts),*)),
                preceded(before, quote_spanned!(span=> #staged_fn #of(#(#stages),*))),
            ));
        }
        let associated = is_type_name(path) || function.qself.is_some();
        let arguments = self.arguments(call.args.iter(), Taken::Each)?;
        let (host, staged) = (arguments.host(), arguments.together(None));
        let mut staged_path = function.clone();
        staged_path.path = self::staged_path(path, associated);
        let of_trait = function.qself.as_ref().is_some_and(|qself| qself.position > 0);
        let mut staged = quote_spanned!(span=> #root::stage::given(#staged_path, #staged).fit());
        if let (true, false, Some(last)) = (associated, of_trait, path.segments.last()) {
            // What is not marked is found here, and said to be so.
            let lower = format_ident!("__lower_{}", last.ident);
            // A type has functions of marked traits, too, which this must not stand beside. Those of a type parameter, by the
            // look of it, are found first.
            let is_param = path.segments.len() == 2 && path.segments[0].ident.to_string().len() == 1;
            let marked = quote!(#root::stage::Marked);
            let (bound, of_type) = if is_param {
                (quote!(where Self: #marked), quote!())
            } else {
                (quote!(), quote!(: #marked))
            };
            staged = quote_spanned! {span=> {
                trait __Unmarked: Sized {
                    fn #lower<A>(_: A) -> ! #bound {
                        loop {}
                    }
                }
                impl<T #of_type> __Unmarked for T {}
                #staged
            }};
        }
        Ok(Both::new(arguments.around(quote_spanned!(span=> #function(#host))), staged))
    }
}

/// The staged form of a function's path: `foo` has it as `foo::lower`, `Type::foo` as `Type::__lower_foo`.
fn staged_path(path: &Path, associated: bool) -> Path {
    let mut path = path.clone();
    let Some(last) = path.segments.last_mut() else { return path };
    if associated {
        last.ident = format_ident!("__lower_{}", last.ident, span = last.ident.span());
        return path;
    }
    let arguments = std::mem::replace(&mut last.arguments, PathArguments::None);
    let lower = Ident::new("lower", last.ident.span());
    path.segments.push(PathSegment { ident: lower, arguments });
    path
}
