//! The text of a module.

use vkfuse_jit::ir;

use crate::list::kernel;

fn text(name: &str) -> String {
    let kernel = kernel(name);
    let normal = kernel.normal.as_ref().expect("a normal form");
    ir::import(&normal.module).expect("supported").to_string()
}

/// The example of the IR's documentation.
#[test]
fn a_branch() {
    const TEXT: &str = "\
Input @GlobalInvocationId: u32x3
PushConstant @pushconstant.1: t6
StorageBuffer @binding.0.2: t13
StorageBuffer @binding.0.0: t13
StorageBuffer @binding.0.1: t13

fn fn0() -> void {
  v0: u32 = load @GlobalInvocationId[0]
  v1: u32 = load @pushconstant.1[0i]
  v2: bool = UGreaterThanEqual v0, v1
  k0: if v2 {
    return
  }
  v3: f32 = load @binding.0.0[0i][v0]
  v4: f32 = load @binding.0.1[0i][v0]
  v5: f32 = FMul v3, v4
  store @binding.0.2[0i][v0] = v5
  return
}
";
    let text = text("chain/mul.spv");
    assert_eq!(text, TEXT, "\n{text}");
}

#[test]
fn loops_and_barriers() {
    const CODE: &str = "\
  k2: loop (v13: u32) = (128) {
    v14: bool = UGreaterThan v13, 0
    k3: if v14 {
    } else {
      break k2
    }
    v15: bool = ULessThan v1, v13
    k4: if v15 {
      v16: u32 = IAdd v1, v13
      v17: f32 = load @workgroup.4[v1]
      v18: f32 = load @workgroup.4[v16]
      v19: f32 = FMax v17, v18
      store @workgroup.4[v1] = v19
    }
    control barrier Workgroup ACQUIRE_RELEASE WORKGROUP_MEMORY
    continue k2
  } continuing () {
    v20: u32 = UDiv v13, 2
    repeat v20
  }
";
    let text = text("softmax/row_max.spv");
    assert!(text.contains(CODE), "\n{text}");
}
