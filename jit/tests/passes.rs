//! Which passes a kernel goes through. Alone in its process, because that has one observer.

use std::sync::{Arc, Mutex};

use vkfuse_jit::kernel::{Kernel, Pass, observe_passes};

#[test]
fn observer_sees_every_pass_in_run_order() {
    let seen = Arc::<Mutex<Vec<(String, Pass, usize)>>>::default();
    let sink = seen.clone();
    let taken = observe_passes(move |after| {
        let functions = after.disassemble().matches("OpFunction ").count();
        sink.lock().unwrap().push((after.kernel.to_owned(), after.pass, functions));
    });
    assert!(taken);
    let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../shaders/chain/mul.spv")).unwrap();
    Kernel::from_bytes("mul", &bytes, None).unwrap().specialize(&[]).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.iter().all(|(kernel, ..)| kernel == "mul"));
    let passes: Vec<Pass> = seen.iter().map(|(_, pass, _)| *pass).collect();
    let unfused = [Pass::Formulas, Pass::NoContraction];
    let normal = [
        Pass::MemoryModel,
        Pass::Normal,
        Pass::ByMember,
        Pass::RaiseVersion,
        Pass::StorageClass,
        Pass::OrderTypes,
        Pass::CopyPropagation,
        Pass::Dce,
    ];
    assert_eq!(passes, [&unfused[..], &normal].concat());
    assert!(
        seen.iter().skip_while(|(_, pass, _)| *pass != Pass::Normal).all(|(.., functions)| *functions == 1)
    );
    assert!(!observe_passes(|_| {}), "there is one already");
}
