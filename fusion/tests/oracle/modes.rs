//! The module that reaches the driver, by float mode and by the way that a kernel is submitted.

use std::path::Path;

use vkfuse::module::Module;
use vkfuse::report::CodeChange;
use vkfuse::{
    Buffer, CacheOptions, CancelCause, Context, ContextOptions, Event, FloatMode, FusionProperties,
    FusionWrapper, Kernel, Outcome, Queue, QueueOptions,
};

use super::inputs::assembled;
use super::words::instructions;

const NO_CONTRACTION: u32 = 42;
const SPECIAL: u32 = 4461;

/// `b[g] = a[g] * a[g] + a[g]`, and one operation of four that the user wants as it is.
const TEXT: &str = "OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %gid %A %B
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %A DescriptorSet 0
OpDecorate %A Binding 0
OpDecorate %B DescriptorSet 0
OpDecorate %B Binding 1
OpDecorate %S Block
OpMemberDecorate %S 0 Offset 0
OpDecorate %ra ArrayStride 4
OpDecorate %exact NoContraction
OpDecorate %rough RelaxedPrecision
%void = OpTypeVoid
%fn = OpTypeFunction %void
%u = OpTypeInt 32 0
%f = OpTypeFloat 32
%v3 = OpTypeVector %u 3
%pv3 = OpTypePointer Input %v3
%pu = OpTypePointer Input %u
%ra = OpTypeRuntimeArray %f
%S = OpTypeStruct %ra
%pS = OpTypePointer StorageBuffer %S
%pf = OpTypePointer StorageBuffer %f
%gid = OpVariable %pv3 Input
%A = OpVariable %pS StorageBuffer
%B = OpVariable %pS StorageBuffer
%u0 = OpConstant %u 0
%main = OpFunction %void None %fn
%l0 = OpLabel
%gp = OpAccessChain %pu %gid %u0
%g = OpLoad %u %gp
%ap = OpAccessChain %pf %A %u0 %g
%x = OpLoad %f %ap
%exact = OpFMul %f %x %x
%rough = OpFAdd %f %exact %x
%free = OpFMul %f %rough %x
%y = OpFAdd %f %free %rough
%bp = OpAccessChain %pf %B %u0 %g
OpStore %bp %y
OpReturn
OpFunctionEnd
";

/// A context that writes down what reaches the driver, with a queue, the kernel and its buffers.
struct Bench {
    context: Context,
    queue: Queue,
    kernel: Kernel,
    buffers: [Buffer<f32>; 2],
    folder: tempfile::TempDir,
}

impl Bench {
    fn open(float: Option<FloatMode>) -> Option<Bench> {
        let folder = tempfile::tempdir().expect("a folder");
        let options = ContextOptions::from_env().cache(CacheOptions::default().no_disk());
        let options = float.into_iter().fold(options, ContextOptions::float).dump_spirv(folder.path());
        let context = match Context::with(options) {
            Ok(context) => context,
            Err(error) => {
                assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device: {error}");
                eprintln!("SKIPPED: {error}");
                return None;
            }
        };
        let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse");
        let module = Module::from_words("floats", &assembled(TEXT)).expect("a module");
        let kernel = context.kernel(&module, None).expect("a kernel");
        let buffers = [0, 1].map(|_| context.buffer_from(&[1.5f32; 256]).expect("a buffer"));
        Some(Bench { context, queue, kernel, buffers, folder })
    }

    fn submit(&self) -> Event {
        let [a, b] = &self.buffers;
        let event = self.queue.submit(|h| {
            h.arg(0, a.read()).arg(1, b.write()).dispatch(&self.kernel, [4, 1, 1]);
        });
        event.expect("a submission")
    }

    /// Results with `NoContraction`, and whether float controls are asked for, of the one module that reached the driver.
    fn dumped(&self) -> (usize, bool) {
        self.context.wait().expect("the end of all work");
        let files = std::fs::read_dir(self.folder.path()).expect("the folder").flatten();
        let files: Vec<_> = files.map(|entry| entry.path()).collect();
        let [file] = &files[..] else { panic!("{files:?}") };
        let words = super::kernels::read(Path::new(file)).expect("a module");
        let decorated = instructions(&words).filter(|(op, at)| *op == 71 && at[1] == NO_CONTRACTION);
        let asked = instructions(&words).any(|(op, at)| op == 16 && at[1] == SPECIAL);
        (decorated.count(), asked)
    }

    /// As a list of its own; how its code differs from the user's.
    fn complete(&self, float: FloatMode) -> Vec<CodeChange> {
        let fusion = FusionWrapper::new(&self.queue).expect("a queue that can fuse");
        fusion.start_fusion().expect("fusion mode");
        self.submit();
        let done = fusion.complete_fusion(&FusionProperties::new().float(float)).expect("a run");
        done.report().expect("a report").steps[0].changes.clone()
    }
}

const USERS: (usize, bool) = (1, false);

#[test]
fn under_contract_the_driver_gets_the_users_decorations_and_modes() {
    let Some(bench) = Bench::open(Some(FloatMode::Contract)) else { return };
    bench.submit();
    assert_eq!(bench.dumped(), USERS, "outside of lists");
    assert_eq!(bench.complete(FloatMode::Contract), [], "a list of one kernel runs the same code");
    assert_eq!(bench.dumped(), USERS);
}

#[test]
fn what_a_list_is_compiled_with_its_kernels_are_alone() {
    let Some(bench) = Bench::open(None) else { return };
    assert_eq!(bench.complete(FloatMode::Contract), []);
    assert_eq!(bench.dumped(), USERS, "the context is strict, the list is not");
    let Some(bench) = Bench::open(Some(FloatMode::Contract)) else { return };
    let changes = bench.complete(FloatMode::Strict);
    assert!(changes.starts_with(&[CodeChange::NoContraction, CodeChange::FullPrecision]), "{changes:?}");
    assert_eq!(bench.dumped().0, 4, "the context is not strict, the list is");
}

#[test]
fn strict_is_the_default_outside_of_lists() {
    let Some(bench) = Bench::open(None) else { return };
    bench.submit();
    assert_eq!(bench.dumped().0, 4);
}

/// A list that is cancelled runs as if it had not been one.
#[test]
fn cancelled_lists_are_compiled_as_the_context_says() {
    let Some(bench) = Bench::open(Some(FloatMode::Contract)) else { return };
    let fusion = FusionWrapper::new(&bench.queue).expect("a queue that can fuse");
    fusion.start_fusion().expect("fusion mode");
    let event = bench.submit();
    fusion.cancel_fusion().expect("a run");
    assert_eq!(event.outcome(), Outcome::Cancelled { by: CancelCause::Explicit });
    assert_eq!(bench.dumped(), USERS);
}

/// A list that cannot be one kernel, though it has to, runs unfused in the mode of the list.
#[test]
fn lists_that_are_refused_keep_their_mode() {
    let Some(bench) = Bench::open(None) else { return };
    let fusion = FusionWrapper::new(&bench.queue).expect("a queue that can fuse");
    fusion.start_fusion().expect("fusion mode");
    bench.submit();
    bench.submit();
    let [a, b] = &bench.buffers;
    // Work-groups read what others wrote.
    let event = bench.queue.submit(|h| {
        h.arg(0, b.read().range(64, 192)).arg(1, a.write().range(0, 192)).dispatch(&bench.kernel, [3, 1, 1]);
    });
    event.expect("a submission");
    let properties = FusionProperties::new().float(FloatMode::Contract).force_fusion();
    assert!(fusion.complete_fusion(&properties).is_err());
    assert_eq!(bench.dumped(), USERS);
}
