//! What a step is made from, in words: for cache keys that a person can read and compare.
//!
//! The recipe alone decides; this says the same in named fields, so that a person can see in what two
//! keys differ. It holds no names of kernels or buffers, no sizes and no addresses.

use crate::plan::input::options::FloatMode;
use crate::plan::output::recipe::{CODE_VERSION, Recipe};
use crate::plan::output::step::{Source, Step};

/// What a step is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ingredients {
    /// The content hash of each kernel, its constants set, in order.
    pub kernels: Vec<[u8; 32]>,
    /// A hash of what the tools have made of each kernel. They may be others another time, or broken.
    pub artifacts: Vec<[u8; 32]>,
    /// For each kernel: the id and bits of every specialization constant.
    pub spec: Vec<Vec<(u32, u64)>>,
    /// How the kernels are put together: names and values.
    pub fusion: Vec<(String, String)>,
    /// Whether floating-point results keep their bits.
    pub strict: bool,
    /// The version of the code generator's output.
    pub code_version: u32,
}

impl Step {
    /// What the step is made from.
    pub fn ingredients(&self) -> Ingredients {
        let mut found = Ingredients { code_version: CODE_VERSION, ..Ingredients::default() };
        let kernels = match &self.source {
            Source::Plain { kernel, float, base } => {
                found.strict = *float == FloatMode::Strict;
                if *base != [0; 3] {
                    found.fusion.push(("first work-group".to_owned(), format!("{base:?}")));
                }
                std::slice::from_ref(kernel)
            }
            Source::Fused { kernels, recipe } => {
                found.strict = recipe.float == FloatMode::Strict;
                found.fusion = describe(recipe);
                kernels
            }
        };
        let [special, denormals, rounding] = self.floats.bytes();
        let floats = format!("special {special}, denormals {denormals}, rounding {rounding}");
        found.fusion.push(("float controls".to_owned(), floats));
        found.kernels = kernels.iter().map(|kernel| kernel.hash).collect();
        found.artifacts = kernels.iter().map(|kernel| kernel.artifact_hash()).collect();
        found.spec = kernels.iter().map(|kernel| kernel.spec.clone()).collect();
        found
    }
}

fn describe(recipe: &Recipe) -> Vec<(String, String)> {
    let mut fields = vec![
        ("work-group size".to_owned(), format!("{:?}", recipe.schedule.work_group())),
        ("schedule".to_owned(), recipe.schedule.to_string()),
        ("barriers after kernels".to_owned(), format!("{:?}", recipe.barriers)),
    ];
    for (number, member) in recipe.members.iter().enumerate() {
        fields.push((format!("kernel {number} bindings"), format!("{:?}", member.targets)));
        fields.push((format!("kernel {number} push constants"), format!("{:?}", member.push)));
        fields.push((format!("kernel {number} ids"), format!("{:?}", member.remap)));
        fields.push((format!("kernel {number} hidden floats"), format!("{:?}", member.hidden)));
    }
    for (number, binding) in recipe.bindings.iter().enumerate() {
        fields.push((format!("binding {number}"), format!("{binding:?}")));
    }
    for (number, variable) in recipe.internal.iter().enumerate() {
        fields.push((format!("variable {number}"), format!("{variable:?}")));
    }
    if let Some(from) = recipe.behind {
        fields.push(("push constants in a buffer".to_owned(), format!("from byte {from}")));
    }
    for (number, slot) in recipe.push.iter().enumerate() {
        fields.push((format!("push constant {number}"), format!("{slot:?}")));
    }
    fields
}
