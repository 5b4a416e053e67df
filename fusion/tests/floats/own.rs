//! Floats that stay within one kernel: of a fused one a compiler knows more than of the kernel alone, namely which bindings
//! are the same memory, which arguments are equal, and which stores a load has nothing to do with. The bits stay the same.

use vkfuse::{Accessor, Buffer, FusionProperties, FusionWrapper, Outcome, Promote};

const ITEMS: usize = 64;

/// Kernels over `x`, its twin `w`, `t`, `y` and `z`, and equal arguments `p` and `q`; `i` is the item.
const BODIES: &[&str] = &[
    // Nothing between: alone, too, a compiler sees through the store unless it is kept from it.
    "t[i] = 0.0; z[i] = t[i] + x[i]; y[i] = x[i];",
    "t[i] = 0.0; y[i] = x[i] * 3.0; z[i] = t[i] + x[i];",
    "t[i] = 0.5; y[i] = x[i] * 3.0; z[i] = sin(t[i]) + x[i];",
    "t[i] = 0.5; z[i] = exp(t[i]) + log2(t[i] + 0.2) + x[i]; y[i] = x[i];",
    "t[i] = exp(x[i]); y[i] = x[i] * 3.0; z[i] = log(t[i]);",
    "t[i] = 1.0 / x[i]; y[i] = x[i]; z[i] = 1.0 / t[i];",
    "t[i] = floor(x[i]); y[i] = x[i]; z[i] = fract(t[i]);",
    "t[i] = 0.0; for (var r = 0u; r < 4u; r++) { y[i] = x[i]; t[i] += x[(i + r) % 64u]; } z[i] = t[i];",
    "if (x[i] > 0.0) { t[i] = 0.0; } else { t[i] = 1.0; } y[i] = x[i]; z[i] = t[i] * x[i];",
    "y[i] = x[i] * 3.0; t[i] = x[i]; z[i] = x[i] / w[i];",
    "y[i] = x[i] * 3.0; t[i] = x[i]; z[i] = (x[i] - w[i]) * 2.0;",
    "y[i] = x[i]; t[i] = x[i]; z[i] = (p - q) + p / q + x[i];",
    "let a = x[i]; y[i] = a * 3.0; t[i] = a; z[i] = x[i] / a;",
    "let a = 1.0 / x[i]; y[i] = a; t[i] = a; z[i] = 1.0 / x[i] - a;",
];

fn text(body: &str) -> String {
    let buffers = ["x", "w", "t", "y", "z"].iter().enumerate().map(|(binding, name)| {
        format!("@group(0) @binding({binding}) var<storage, read_write> {name}: array<f32>;\n")
    });
    format!(
        "struct P {{ p: f32, q: f32 }}\nvar<immediate> args: P;\n{}\n@compute @workgroup_size(64)\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ let i = id.x; let p = args.p; let q = args.q; \
         if (i >= 64u) {{ return; }} {body} }}",
        buffers.collect::<String>()
    )
}

const NEXT: &str = "@group(0) @binding(0) var<storage, read_write> z: array<f32>;
@group(0) @binding(1) var<storage, read_write> t: array<f32>;
@group(0) @binding(2) var<storage, read_write> o: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { if (id.x >= 64u) { return; } o[id.x] = z[id.x] * 2.0 + t[id.x]; }";

fn asked(buffer: &Buffer<f32>, promote: Promote) -> Accessor<'_> {
    match promote {
        Promote::Private => buffer.read_write().cast::<u8>().promote_private(),
        _ => buffer.read_write().cast::<u8>(),
    }
}

fn inputs() -> Vec<f32> {
    let mut x = vec![-0.0, 0.0, 1e-40, f32::INFINITY, -f32::INFINITY, f32::NAN, 1.0, -1.0, 3.0, 1e30];
    x.extend((x.len()..2 * ITEMS).map(|i| (i as f32 - 40.0) * 0.37));
    x
}

#[test]
fn a_kernel_sees_no_more_of_itself_when_fused() {
    let Some((context, queue)) = super::device() else { return };
    let next = context.kernel_from_wgsl("next", NEXT).expect("a kernel");
    let x = inputs();
    let mut wrong = Vec::new();
    for body in BODIES {
        let kernel = context.kernel_from_wgsl("own", &text(body)).expect(body);
        for (promote, p) in [(Promote::None, f32::INFINITY), (Promote::Private, 3.0)] {
            let mut runs = Vec::new();
            for fused in [false, true] {
                let input = context.buffer_from(&x).expect("a buffer");
                let new = || context.buffer_from(&[7.5_f32; 2 * ITEMS]).expect("a buffer");
                let (t, y, z, o) = (new(), new(), new(), new());
                let wrapper = FusionWrapper::new(&queue).expect("the queue enables fusion");
                if fused {
                    wrapper.start_fusion().expect("start_fusion");
                }
                queue
                    .submit(|h| {
                        h.arg(0, input.read_write().cast::<u8>())
                            .arg(1, input.read_write().cast::<u8>())
                            .arg(2, asked(&t, promote));
                        h.arg(3, y.read_write().cast::<u8>())
                            .arg(4, z.read_write().cast::<u8>())
                            .push_bytes(&[p, p].map(f32::to_ne_bytes).concat());
                        h.dispatch(&kernel, [1, 1, 1]);
                    })
                    .expect(body);
                queue
                    .submit(|h| {
                        h.arg(0, z.read_write().cast::<u8>())
                            .arg(1, asked(&t, promote))
                            .arg(2, o.read_write().cast::<u8>());
                        h.dispatch(&next, [1, 1, 1]);
                    })
                    .expect(body);
                if fused {
                    let event = wrapper.complete_fusion(&FusionProperties::default()).expect(body);
                    event.wait().expect(body);
                    assert_eq!(
                        event.outcome(),
                        Outcome::Fused,
                        "{body}: {:#?}",
                        event.report().map(|r| r.plan.clone())
                    );
                }
                queue.wait().expect(body);
                runs.push([y, z, o].map(|buffer| buffer.download().expect("results")));
            }
            for (name, (alone, fused)) in ["y", "z", "o"].iter().zip(runs[0].iter().zip(&runs[1])) {
                let differs =
                    |(a, b): &(&f32, &f32)| a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan());
                let count = alone.iter().zip(fused).filter(differs).count();
                if let Some((a, b)) = alone.iter().zip(fused).find(differs) {
                    wrong.push(format!(
                        "{body} {promote:?}: {name}: {count} differ, first {a:e} alone, {b:e} fused"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(context.validation_messages(), 0, "the validation layers complained");
}
