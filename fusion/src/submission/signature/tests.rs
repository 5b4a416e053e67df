//! Lists that differ in one thing have different signatures, whatever that is.

use std::hash::DefaultHasher;

use smallvec::smallvec;

use super::*;

/// Copies of a signature, each with one field changed. A field of the type that is not named does not compile.
macro_rules! changed {
    ($all:ident, $of:expr, $at:expr, $type:ident { $($field:ident: $change:expr),+ $(,)? }) => {
        let at: fn(&mut Signature) -> &mut $type = $at;
        let $type { $($field: _),+ } = at(&mut $of.clone());
        $({
            let mut other = $of.clone();
            let change: fn(&mut $type) = $change;
            change(at(&mut other));
            $all.push((concat!(stringify!($type), "::", stringify!($field)), other));
        })+
    };
}

/// Two submissions of two kernels on three buffers.
fn signature() -> Signature {
    let arg = |binding, place, access| Arg {
        at: SetBinding::from(binding),
        place,
        access,
        element: 4,
        ty: ElementType::float(4),
        offset: 0,
        count: 64,
        promote: None,
        constant: false,
        numbers: None,
    };
    let call = |first, second| Call {
        kernel: KernelId::next(),
        size: Size::Items([64, 1, 1]),
        base: [0; 3],
        spec: smallvec![(0, SpecType::F32, 0)],
        push: smallvec![1, 2, 3, 4],
        pushed: Pushed::default(),
        args: smallvec![arg(0, first, Access::Read), arg(1, second, Access::Write)],
    };
    let view = View { size: 256, asks: Promote::None, escapes: 0, image: None, only: None };
    Signature {
        properties: Some(FusionProperties::new()),
        calls: vec![call(0, 1), call(1, 2)],
        views: vec![view; 3],
    }
}

fn variants(of: &Signature) -> Vec<(&'static str, Signature)> {
    let mut all = Vec::new();
    changed!(
        all,
        of,
        |signature| signature,
        Signature {
            properties: |signature| signature.properties = None,
            calls: |signature| drop(signature.calls.pop()),
            views: |signature| signature.views.truncate(2),
        }
    );
    changed!(
        all,
        of,
        |signature| &mut signature.calls[1],
        Call {
            kernel: |call| call.kernel = KernelId::next(),
            size: |call| call.size = Size::Groups([64, 1, 1]),
            base: |call| call.base[2] = 1,
            spec: |call| call.spec[0].2 = u64::from((-0.0f32).to_bits()),
            push: |call| call.push[3] = 5,
            pushed: |call| call.pushed = Pushed::of::<f32>(),
            args: |call| call.args.swap(0, 1),
        }
    );
    changed!(
        all,
        of,
        |signature| &mut signature.calls[1].args[1],
        Arg {
            at: |arg| arg.at.set = 1,
            place: |arg| arg.place = 0,
            access: |arg| arg.access = Access::ReadWrite,
            element: |arg| arg.element = 8,
            ty: |arg| arg.ty = ElementType::int(4, true),
            offset: |arg| arg.offset = 1,
            count: |arg| arg.count = 63,
            promote: |arg| arg.promote = Some(Promote::None),
            constant: |arg| arg.constant = true,
            numbers: |arg| arg.numbers = Numbers::of([(0, 32)], &[1, 0, 0, 0]),
        }
    );
    changed!(
        all,
        of,
        |signature| &mut signature.views[2],
        View {
            size: |view| view.size = 512,
            asks: |view| view.asks = Promote::Auto,
            escapes: |view| view.escapes = 1,
            image: |view| view.image =
                Some(ImageSize { extent: [1, 1, 0], levels: 1, samples: 1, view: None }),
            only: |view| view.only = Some(HandleId::next()),
        }
    );
    all
}

fn hash_of(signature: &Signature) -> u64 {
    let mut hasher = DefaultHasher::new();
    signature.hash_but_for_push(&mut hasher);
    hasher.finish()
}

#[test]
fn a_list_that_differs_in_one_thing_is_another() {
    let first = signature();
    let variants = variants(&first);
    assert_eq!(variants.len(), 25);
    for (at, (what, other)) in variants.iter().enumerate() {
        assert_ne!(&first, other, "{what}");
        // Which push constants may differ is the plan's to say.
        let is_of = |a: &Signature, b: &Signature| {
            let count = b.calls.len();
            a.ends(count, b.properties.as_ref()) && a.begins_as(b, count)
        };
        assert_eq!(is_of(&first, other), *what == "Call::push", "{what}");
        assert_eq!(is_of(other, &first), *what == "Call::push", "{what}");
        let agrees = other.begins_as(&first, 2) && other.properties == first.properties;
        assert!(!agrees || *what == "Call::push", "{what}");
        assert_eq!(hash_of(&first) == hash_of(other), *what == "Call::push", "{what}");
        for (than, another) in &variants[..at] {
            assert_ne!(another, other, "{what} and {than}");
        }
    }
    assert_eq!(first, first.clone());
    assert!(first.begins_as(&first.clone(), 2));
}

#[test]
fn lists_that_begin_alike() {
    let first = signature();
    for (what, other) in variants(&first) {
        // What differs is in the second submission, or a buffer that only this one has.
        assert!(other.begins_as(&first, 1), "{what}");
    }
}
