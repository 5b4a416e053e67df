//! Prints one normal form: `DUMP=chain cargo test -p vkfuse-jit --test kernel dump -- --nocapture`.

use rspirv::binary::Disassemble;

use super::corpus;

#[test]
fn dump() {
    let Ok(name) = std::env::var("DUMP") else {
        return;
    };
    let module = corpus::module(&name);
    for entry in module.entry_points() {
        let kernel = vkfuse_jit::kernel::Kernel::new(&module, Some(entry)).unwrap();
        let kernel = kernel.specialize(&[]).unwrap();
        println!("{:#?}", kernel.interface);
        match &kernel.normal {
            Ok(normal) => println!("{}", normal.module.disassemble()),
            Err(reason) => println!("no normal form: {reason}"),
        }
    }
}
