//! Prints times and one normal form: `DUMP=chain cargo test -p vkfuse-jit --test kernel dump -- --nocapture`.

use rspirv::binary::Disassemble;

use super::corpus;

#[test]
fn dump() {
    let Ok(name) = std::env::var("DUMP") else {
        return;
    };
    let module = corpus::module(&name);
    let bytes = corpus::bytes(&name);
    for _ in 0..3 {
        let start = std::time::Instant::now();
        let module = vkfuse_jit::kernel::Module::from_bytes(&name, &bytes).unwrap();
        let loaded = start.elapsed();
        let kernel =
            vkfuse_jit::kernel::Kernel::new(&module, module.entry_points().first().map(String::as_str));
        kernel.unwrap().specialize(&[]).unwrap();
        println!("loaded in {loaded:?}, specialised and normalised after {:?}", start.elapsed());
    }
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
