//! WGSL text as input.

use vkfuse_interp::{Bind, Dispatch, Memory, Options, Program, execute};
use vkfuse_jit::kernel::{BindingKind, Kernel, KernelError, Module, SpecType, SpecValue};

use super::corpus;

const DOUBLE: &str = include_str!("../kernels/naga.wgsl");

#[test]
fn loads_wgsl_with_several_entry_points() {
    let module = Module::from_wgsl("double", DOUBLE).unwrap();
    assert_eq!(module.entry_points(), ["double", "tiled"]);
    let double = Kernel::new(&module, Some("double")).unwrap().specialize(&[]).unwrap();
    let interface = &double.interface;
    let kinds: Vec<_> = interface.bindings.iter().map(|b| (b.kind, b.reads, b.writes)).collect();
    assert_eq!(
        kinds,
        [
            (BindingKind::StorageBuffer, true, false),
            (BindingKind::StorageBuffer, false, true),
            (BindingKind::UniformBuffer, true, false),
        ]
    );
    assert!(interface.item_only);
    assert_eq!(interface.bindings[2].name.as_deref(), Some("params"));
    let normal = double.normal.as_ref().unwrap();
    assert_eq!(normal.module.functions.len(), 1);
    corpus::assert_valid("wgsl", &double.plain.strict);

    let tiled = Kernel::new(&module, Some("tiled")).unwrap().specialize(&[]).unwrap();
    assert_eq!(tiled.interface.local_size, [8, 8, 1]);
    assert_eq!(tiled.interface.workgroup_bytes, 256);
    assert!(tiled.interface.has_barrier && tiled.normal.is_ok());
}

#[test]
fn names_line_and_column_of_a_mistake() {
    let error =
        Module::from_wgsl("bad", "@compute @workgroup_size(1)\nfn main() { let x = y; }").unwrap_err();
    let KernelError::Wgsl { line, column, message, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((*line, *column), (2, 21), "{message}");
    let error = Module::from_wgsl("type", "fn f() -> u32 {\n  return 1.5f;\n}").unwrap_err();
    assert!(matches!(error, KernelError::Wgsl { line: 1 | 2, .. }), "{error}");
}

#[test]
fn survives_mutilated_text() {
    for cut in 0..DOUBLE.len() {
        let _ = Module::from_wgsl("cut", &DOUBLE[..cut]);
        if cut % 9 == 0 {
            let text = [&DOUBLE[..cut], "(((((", &DOUBLE[cut..]].concat();
            let _ = Module::from_wgsl("odd", &text);
        }
    }
}

/// `naga.spv` is what naga makes of `naga.wgsl`, with one type for a buffer and a work-group array.
#[test]
fn text_and_its_spirv_give_the_same_kernels() {
    let (text, spirv) = (Module::from_wgsl("text", DOUBLE).unwrap(), corpus::module("naga"));
    for entry in ["double", "tiled"] {
        let hash = |module| Kernel::new(module, Some(entry)).unwrap().specialize(&[]).unwrap().hash;
        assert_eq!(hash(&text), hash(&spirv), "{entry}: has naga changed? compile.sh says more");
    }
}

#[test]
fn overrides_keep_their_defaults() {
    let text = "
        override size: u32 = 4;
        override scale: f32 = 2.0;
        @group(0) @binding(0) var<storage, read_write> b: array<f32>;
        @compute @workgroup_size(size * 2, 3)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) { b[id.x] *= scale; }
    ";
    let kernel = Kernel::new(&Module::from_wgsl("override", text).unwrap(), None).unwrap();
    assert_eq!(kernel.specialize(&[]).unwrap().interface.local_size, [8, 3, 1]);
}

#[test]
fn overrides_without_a_default_are_specialization_constants() {
    let text = "
        override by: u32 = 2;
        @id(7) override scale: f32;
        override flag : bool ;
        @group(0) @binding(0) var<storage, read_write> b: array<f32>;
        fn factor() -> f32 { if (flag) { return scale; } return -scale; }
        @compute @workgroup_size(4)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) { b[id.x] = f32(id.x * by) * factor(); }
    ";
    let kernel = Kernel::new(&Module::from_wgsl("open", text).unwrap(), None).unwrap();
    let constants: Vec<_> =
        kernel.spec_constants().iter().map(|c| (c.id, c.name.as_deref(), c.ty, c.required)).collect();
    let expected = [
        (0, Some("flag"), SpecType::Bool, true),
        (1, Some("by"), SpecType::U32, false),
        (7, Some("scale"), SpecType::F32, true),
    ];
    assert_eq!(constants, expected);
    let missing = kernel.specialize(&[(7, SpecValue::F32(1.0))]).unwrap_err();
    assert!(
        matches!(&missing, KernelError::MissingSpecialization { id: 0, name, .. } if name == "flag"),
        "{missing}"
    );
    for (scale, flag) in [(3.0f32, true), (3.0, false), (0.5, true)] {
        let specialized =
            kernel.specialize(&[(7, SpecValue::F32(scale)), (0, SpecValue::Bool(flag))]).unwrap();
        assert!(specialized.normal.is_ok());
        let program = Program::decode(&specialized.plain.strict).unwrap();
        let mut memory = Memory::new();
        let object = memory.add(vec![0; 16]);
        let whole = Bind { set: 0, binding: 0, object, offset: 0, len: 16 };
        let dispatch = Dispatch { program: &program, groups: [1; 3], bindings: vec![whole], push: vec![] };
        execute(&[dispatch], &mut memory, &Options::default()).unwrap();
        let factor = if flag { scale } else { -scale };
        let expected: Vec<u32> = (0..4).map(|i| ((i * 2) as f32 * factor).to_bits()).collect();
        assert_eq!(memory.words(object), expected, "{scale} {flag}");
    }
    let wrong = "override n: u32; @compute @workgroup_size(1) fn main() { n = 1u; }";
    let error = Module::from_wgsl("wrong", wrong).unwrap_err();
    assert!(matches!(error, KernelError::Wgsl { .. }), "{error}");
}

/// Text of another language is named as that, and a text of its own that is wrong is not.
#[test]
fn names_the_language_of_other_text() {
    for (text, language) in [
        ("#version 450\nlayout(local_size_x = 1) in;\nvoid main() {}", "GLSL"),
        ("[numthreads(1, 1, 1)] void f() {}", "HLSL"),
        ("; SPIR-V\nOpCapability Shader", "SPIR-V assembly"),
    ] {
        let error = Module::from_wgsl("other", text).unwrap_err();
        assert!(matches!(error, KernelError::NotWgsl { .. }), "{error}");
        assert!(error.to_string().contains(&format!("it looks like {language}; ")), "{error}");
    }
    let own = Module::from_wgsl("own", "@compute @workgroup_size(1) fn main() { layout(1); }").unwrap_err();
    assert!(matches!(own, KernelError::Wgsl { .. }), "{own}");
}

#[test]
fn says_how_an_entry_point_is_chosen() {
    let module = Module::from_wgsl("double", DOUBLE).unwrap();
    let error = Kernel::new(&module, None).unwrap_err();
    assert!(error.to_string().ends_with("choose one of `double`, `tiled`: name it as `entry`"), "{error}");
}
