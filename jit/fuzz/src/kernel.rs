//! A kernel as declarations and a tree of statements, and its text.

use crate::layout::{Block, Packing, Scalar, Type};
use crate::place::Family;
use crate::random::Random;
use crate::tree::{self, Stmt};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    Glsl,
    Hlsl,
}

/// What a kernel does with a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Reads anything.
    Input,
    /// Keeps to the elements that a family gives each invocation; reads and writes them.
    Owned(Family),
    /// One element for each work-group, which its first invocation writes.
    PerGroup,
    /// Atomic operations only.
    Counters,
    /// A few numbers that all invocations read.
    Cells,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Binding {
    pub(crate) set: u32,
    pub(crate) binding: u32,
    pub(crate) block: Block,
    /// The block's number among those of the pool.
    pub(crate) home: usize,
    pub(crate) role: Role,
    pub(crate) uniform: bool,
    pub(crate) qualifier: &'static str,
}

/// How a kernel is written that does the same either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Dress {
    /// Its ids are copied to variables of the module, which start with zeros.
    pub(crate) private_ids: bool,
    /// Push constants are a structure that a function takes by value.
    pub(crate) push_by_value: bool,
    /// Structures are loaded as wholes.
    pub(crate) structs_by_value: bool,
}

impl Dress {
    /// Follows from the sequence, and leaves it where it is.
    pub(crate) fn random(random: &Random) -> Self {
        let mut random = Random::new(u64::from(random.clone().word()), 977);
        Self {
            private_ids: random.percent(12),
            push_by_value: random.percent(12),
            structs_by_value: random.percent(40),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kernel {
    pub(crate) language: Language,
    pub(crate) local: [u32; 3],
    /// Whether it knows its work-group; otherwise it goes by the global id alone.
    pub(crate) grouped: bool,
    pub(crate) two_dimensions: bool,
    /// Whether the specialization constant `sc` is used.
    pub(crate) constant: bool,
    pub(crate) vulkan_memory_model: bool,
    pub(crate) dress: Dress,
    pub(crate) subgroups: bool,
    pub(crate) bindings: Vec<Binding>,
    /// It has this many times the work of others, and each invocation does this many times the work.
    pub(crate) share: (u32, u32),
    /// Elements that an item stores to each buffer.
    pub(crate) stores: u32,
    /// What it does to rows, for the table.
    pub(crate) form: Option<&'static str>,
    /// Variables of the module and functions.
    pub(crate) globals: Vec<String>,
    pub(crate) body: Vec<Stmt>,
}

impl Kernel {
    pub(crate) fn size(&self) -> u32 {
        self.local.iter().product()
    }

    pub(crate) fn text(&self) -> String {
        let mut body = String::new();
        tree::write(&self.body, 1, &mut body);
        match self.language {
            Language::Glsl => self.glsl(&body),
            Language::Hlsl => self.hlsl(&body),
        }
    }

    fn ids(&self) -> String {
        let size = self.size();
        let (global, local, group) = match (self.two_dimensions, self.grouped) {
            (false, false) => ("gl_GlobalInvocationID.x".to_owned(), None, None),
            (true, false) => {
                ("gl_GlobalInvocationID.y * p.w + gl_GlobalInvocationID.x".to_owned(), None, None)
            }
            (two, true) => {
                let group = if two {
                    "gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x"
                } else {
                    "gl_WorkGroupID.x"
                };
                (format!("w * {size}u + l"), Some("gl_LocalInvocationIndex"), Some(group))
            }
        };
        let declared = if self.dress.private_ids { "" } else { "uint " };
        let line = |name: &str, value: &str| format!("    {declared}{name} = {value};\n");
        let mut text = String::new();
        text.push_str(&local.map_or_else(String::new, |local| line("l", local)));
        text.push_str(&group.map_or_else(String::new, |group| line("w", group)));
        text.push_str(&line("g", &global));
        if self.two_dimensions && !self.grouped {
            text.push_str("    if (gl_GlobalInvocationID.x >= p.w) return;\n");
        }
        text
    }

    fn glsl(&self, body: &str) -> String {
        let mut text = String::from("#version 450\n");
        let extension =
            |name: &str, text: &mut String| text.push_str(&format!("#extension {name} : enable\n"));
        let mut scalars = Vec::new();
        let mut structs = Vec::new();
        for binding in &self.bindings {
            for array in &binding.block.arrays {
                array.element.scalars(&mut scalars);
                array.element.declarations(&mut structs);
            }
        }
        if scalars.iter().any(|s| matches!(s, Scalar::U8 | Scalar::U16 | Scalar::U64))
            || body.contains("64_t")
        {
            extension("GL_EXT_shader_explicit_arithmetic_types", &mut text);
        }
        if scalars.contains(&Scalar::U8) {
            extension("GL_EXT_shader_8bit_storage", &mut text);
        }
        if scalars.contains(&Scalar::U16) {
            extension("GL_EXT_shader_16bit_storage", &mut text);
        }
        if self.bindings.iter().any(|b| b.block.packing == Packing::Scalar) {
            extension("GL_EXT_scalar_block_layout", &mut text);
        }
        if self.subgroups {
            for name in ["basic", "vote", "ballot", "arithmetic", "shuffle"] {
                extension(&format!("GL_KHR_shader_subgroup_{name}"), &mut text);
            }
        }
        if self.vulkan_memory_model {
            extension("GL_KHR_memory_scope_semantics", &mut text);
            text.push_str("#pragma use_vulkan_memory_model\n");
        }
        let [x, y, z] = self.local;
        text.push_str(&format!("layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;\n"));
        if self.constant {
            text.push_str("layout(constant_id = 0) const uint sc = 3u;\n");
        }
        let by_value = self.dress.push_by_value && !self.globals.iter().any(|line| line.contains("p."));
        text.push_str(match by_value {
            true => {
                "struct P { uint n; uint m; uint s; uint w; float f; };\n\
                 layout(push_constant) uniform PB { P p; } pb;\n"
            }
            false => "layout(push_constant) uniform P { uint n; uint m; uint s; uint w; float f; } p;\n",
        });
        structs.iter().for_each(|line| text.push_str(&format!("{line}\n")));
        for (number, b) in self.bindings.iter().enumerate() {
            let kind = if b.uniform { "uniform" } else { "buffer" };
            text.push_str(&format!(
                "layout(set = {}, binding = {}, {}) {}{kind} B{number} {{ {}}} b{number};\n",
                b.set,
                b.binding,
                b.block.packing.name(),
                b.qualifier,
                b.block.members()
            ));
        }
        if self.dress.structs_by_value {
            for line in &structs {
                if let Some(name) = line.split_whitespace().nth(1) {
                    text.push_str(&format!("{name} whole({name} v) {{ return v; }}\n"));
                }
            }
        }
        if self.dress.private_ids {
            text.push_str("uint g = 0u, l = 0u, w = 0u;\n");
        }
        self.globals.iter().for_each(|line| text.push_str(&format!("{line}\n")));
        text.push_str(if by_value { "void run(P p) {\n" } else { "void main() {\n" });
        text.push_str(&self.ids());
        text.push_str(body);
        text.push_str("}\n");
        if by_value {
            text.push_str("void main() { run(pb.p); }\n");
        }
        text
    }

    fn hlsl(&self, body: &str) -> String {
        let mut text = String::from(
            "#define vec2 float2\n#define vec4 float4\n#define uvec2 uint2\n#define uvec4 uint4\n\
             #define floatBitsToUint asuint\n#define uintBitsToFloat asfloat\n#define inversesqrt rsqrt\n\
             #define mix lerp\n#define fract frac\n#define fma mad\n#define barrier GroupMemoryBarrierWithGroupSync\n\
             #define shared groupshared\n\
             #define bitfieldExtract(v, o, n) (((v) >> (o)) & ((1u << (n)) - 1u))\n\
             struct PushConstants { uint n; uint m; uint s; uint w; float f; };\n\
             [[vk::push_constant]] ConstantBuffer<PushConstants> p;\n",
        );
        for (number, b) in self.bindings.iter().enumerate() {
            let element = match &b.block.arrays[0].element {
                Type::Vector(Scalar::U32, n) => format!("uint{n}"),
                Type::Vector(_, n) => format!("float{n}"),
                element => element.name(),
            };
            let kind = if b.role == Role::Input { "StructuredBuffer" } else { "RWStructuredBuffer" };
            text.push_str(&format!(
                "[[vk::binding({}, {})]] {kind}<{element}> b{number};\n",
                b.binding, b.set
            ));
        }
        self.globals.iter().for_each(|line| text.push_str(&format!("{line}\n")));
        let [x, y, z] = self.local;
        text.push_str(&format!(
            "[numthreads({x}, {y}, {z})]\nvoid main(uint3 gl_GlobalInvocationID : SV_DispatchThreadID, \
             uint3 gl_WorkGroupID : SV_GroupID, uint gl_LocalInvocationIndex : SV_GroupIndex) {{\n"
        ));
        text.push_str(&self.ids());
        text.push_str(body);
        text.push_str("}\n");
        text
    }

    /// An element of an array of a binding.
    pub(crate) fn element(&self, binding: usize, array: usize, index: &str) -> String {
        match self.language {
            Language::Glsl => format!("b{binding}.a{array}[{index}]"),
            Language::Hlsl => format!("b{binding}[{index}]"),
        }
    }
}
