//! The operations of the table, as templates of SPIR-V assembly.

/// One operation: a float out of up to three.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) name: &'static str,
    /// Instructions that make `$r` of `$x`, `$y` and `$z`; `$1` to `$4` are their own. Separated by semicolons.
    template: &'static str,
    /// Widths of floats it exists for.
    widths: &'static [u32],
}

impl Op {
    pub(crate) fn is_unary(&self) -> bool {
        !self.template.contains("$y")
    }

    /// The instructions, with `prefix` in front of the names they make.
    pub(crate) fn write(&self, prefix: &str, [x, y, z]: [&str; 3]) -> String {
        let mut text = self.template.replace(';', "\n");
        for own in ["r", "1", "2", "3", "4"] {
            text = text.replace(&format!("${own}"), &format!("%{prefix}_{own}"));
        }
        text.replace("$x", x).replace("$y", y).replace("$z", z) + "\n"
    }
}

/// The operations there are for floats of this width.
pub(crate) fn all(width: u32) -> Vec<Op> {
    OPS.iter().copied().filter(|op| op.widths.contains(&width)).collect()
}

const ALL: &[u32] = &[16, 32, 64];
/// The extended instructions that know no doubles.
const NARROW: &[u32] = &[16, 32];
const SINGLE: &[u32] = &[32];
const DOUBLE: &[u32] = &[64];

macro_rules! ops {
    ($($widths:ident $name:literal $template:literal)*) => {
        const OPS: &[Op] = &[$(Op { name: $name, template: $template, widths: $widths }),*];
    };
}

ops! {
    ALL "x" "$r = OpCopyObject %f $x"
    ALL "-x" "$r = OpFNegate %f $x"
    ALL "x+y" "$r = OpFAdd %f $x $y"
    ALL "x-y" "$r = OpFSub %f $x $y"
    ALL "y-x" "$r = OpFSub %f $y $x"
    ALL "x*y" "$r = OpFMul %f $x $y"
    ALL "x/y" "$r = OpFDiv %f $x $y"
    ALL "y/x" "$r = OpFDiv %f $y $x"
    ALL "rem" "$r = OpFRem %f $x $y"
    ALL "mod" "$r = OpFMod %f $x $y"
    ALL "x+0" "$r = OpFAdd %f $x %zero"
    ALL "x-0" "$r = OpFSub %f $x %zero"
    ALL "0-x" "$r = OpFSub %f %zero $x"
    ALL "x*0" "$r = OpFMul %f $x %zero"
    ALL "x*1" "$r = OpFMul %f $x %one"
    ALL "x*-1" "$r = OpFMul %f $x %minus"
    ALL "x*2" "$r = OpFMul %f $x %two"
    ALL "x+1" "$r = OpFAdd %f $x %one"
    ALL "x-1" "$r = OpFSub %f $x %one"
    ALL "1-x" "$r = OpFSub %f %one $x"
    ALL "x-x" "$r = OpFSub %f $x $x"
    ALL "x/x" "$r = OpFDiv %f $x $x"
    ALL "1/x" "$r = OpFDiv %f %one $x"
    ALL "x/2" "$r = OpFDiv %f $x %two"
    ALL "x/s" "$r = OpFDiv %f $x %s"
    ALL "s/x" "$r = OpFDiv %f %s $x"
    ALL "x*s" "$r = OpFMul %f $x %s"
    ALL "x+s" "$r = OpFAdd %f $x %s"
    ALL "s-x" "$r = OpFSub %f %s $x"
    ALL "x==x" "$1 = OpFOrdEqual %bool $x $x; $r = OpSelect %f $1 %one %two"
    ALL "x!=x" "$1 = OpFUnordNotEqual %bool $x $x; $r = OpSelect %f $1 %zero $x"
    ALL "x==0" "$1 = OpFOrdEqual %bool $x %zero; $r = OpSelect %f $1 %zero $x"
    ALL "x<0" "$1 = OpFOrdLessThan %bool $x %zero; $2 = OpFNegate %f $x; $r = OpSelect %f $1 $2 $x"
    ALL "eq" "$1 = OpFOrdEqual %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "ueq" "$1 = OpFUnordEqual %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "ne" "$1 = OpFOrdNotEqual %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "une" "$1 = OpFUnordNotEqual %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "lt" "$1 = OpFOrdLessThan %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "ult" "$1 = OpFUnordLessThan %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "gt" "$1 = OpFOrdGreaterThan %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "ugt" "$1 = OpFUnordGreaterThan %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "le" "$1 = OpFOrdLessThanEqual %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "ule" "$1 = OpFUnordLessThanEqual %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "ge" "$1 = OpFOrdGreaterThanEqual %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "uge" "$1 = OpFUnordGreaterThanEqual %bool $x $y; $r = OpSelect %f $1 $x $y"
    ALL "isnan" "$1 = OpIsNan %bool $x; $r = OpSelect %f $1 %one $x"
    ALL "isinf" "$1 = OpIsInf %bool $x; $r = OpSelect %f $1 %one $x"
    ALL "int" "$1 = OpConvertFToS %i $x; $r = OpConvertSToF %f $1"
    ALL "uint" "$1 = OpConvertFToU %u $x; $r = OpConvertUToF %f $1"
    SINGLE "bits" "$1 = OpBitcast %u $x; $2 = OpIAdd %u $1 %u1; $r = OpBitcast %f $2"
    SINGLE "quantize" "$r = OpQuantizeToF16 %f $x"
    DOUBLE "single" "$1 = OpFConvert %single $x; $r = OpFConvert %f $1"
    ALL "dot" "$1 = OpCompositeConstruct %v2 $x $y; $2 = OpCompositeConstruct %v2 $y $x; $r = OpDot %f $1 $2"
    ALL "vts" "$1 = OpCompositeConstruct %v2 $x $y; $2 = OpVectorTimesScalar %v2 $1 $y; $r = OpCompositeExtract %f $2 0"
    ALL "mtv" "$1 = OpCompositeConstruct %v2 $x $y; $2 = OpCompositeConstruct %m2 $1 $1; $3 = OpMatrixTimesVector %v2 $2 $1; $r = OpCompositeExtract %f $3 1"
    ALL "round_even" "$r = OpExtInst %f %glsl RoundEven $x"
    ALL "trunc" "$r = OpExtInst %f %glsl Trunc $x"
    ALL "abs" "$r = OpExtInst %f %glsl FAbs $x"
    ALL "sign" "$r = OpExtInst %f %glsl FSign $x"
    ALL "floor" "$r = OpExtInst %f %glsl Floor $x"
    ALL "ceil" "$r = OpExtInst %f %glsl Ceil $x"
    ALL "fract" "$r = OpExtInst %f %glsl Fract $x"
    ALL "round" "$r = OpExtInst %f %glsl Round $x"
    NARROW "radians" "$r = OpExtInst %f %glsl Radians $x"
    NARROW "degrees" "$r = OpExtInst %f %glsl Degrees $x"
    NARROW "sin" "$r = OpExtInst %f %glsl Sin $x"
    NARROW "cos" "$r = OpExtInst %f %glsl Cos $x"
    NARROW "tan" "$r = OpExtInst %f %glsl Tan $x"
    NARROW "asin" "$r = OpExtInst %f %glsl Asin $x"
    NARROW "acos" "$r = OpExtInst %f %glsl Acos $x"
    NARROW "atan" "$r = OpExtInst %f %glsl Atan $x"
    NARROW "sinh" "$r = OpExtInst %f %glsl Sinh $x"
    NARROW "cosh" "$r = OpExtInst %f %glsl Cosh $x"
    NARROW "tanh" "$r = OpExtInst %f %glsl Tanh $x"
    NARROW "asinh" "$r = OpExtInst %f %glsl Asinh $x"
    NARROW "acosh" "$r = OpExtInst %f %glsl Acosh $x"
    NARROW "atanh" "$r = OpExtInst %f %glsl Atanh $x"
    NARROW "atan2" "$r = OpExtInst %f %glsl Atan2 $x $y"
    NARROW "pow" "$r = OpExtInst %f %glsl Pow $x $y"
    NARROW "pow2" "$r = OpExtInst %f %glsl Pow $x %two"
    NARROW "exp" "$r = OpExtInst %f %glsl Exp $x"
    NARROW "exp(-x)" "$1 = OpFNegate %f $x; $r = OpExtInst %f %glsl Exp $1"
    NARROW "log" "$r = OpExtInst %f %glsl Log $x"
    NARROW "exp2" "$r = OpExtInst %f %glsl Exp2 $x"
    NARROW "log2" "$r = OpExtInst %f %glsl Log2 $x"
    ALL "sqrt" "$r = OpExtInst %f %glsl Sqrt $x"
    ALL "rsqrt" "$r = OpExtInst %f %glsl InverseSqrt $x"
    ALL "modf" "$1 = OpExtInst %ff %glsl ModfStruct $x; $r = OpCompositeExtract %f $1 0"
    ALL "modf1" "$1 = OpExtInst %ff %glsl ModfStruct $x; $r = OpCompositeExtract %f $1 1"
    ALL "min" "$r = OpExtInst %f %glsl FMin $x $y"
    ALL "max" "$r = OpExtInst %f %glsl FMax $x $y"
    ALL "min1" "$r = OpExtInst %f %glsl FMin $x %one"
    ALL "max0" "$r = OpExtInst %f %glsl FMax $x %zero"
    ALL "nmin1" "$r = OpExtInst %f %glsl NMin $x %one"
    ALL "nmax0" "$r = OpExtInst %f %glsl NMax $x %zero"
    ALL "nmin" "$r = OpExtInst %f %glsl NMin $x $y"
    ALL "nmax" "$r = OpExtInst %f %glsl NMax $x $y"
    ALL "clamp01" "$r = OpExtInst %f %glsl FClamp $x %zero %one"
    ALL "clamp" "$r = OpExtInst %f %glsl FClamp $x $y $z"
    ALL "nclamp" "$r = OpExtInst %f %glsl NClamp $x $y $z"
    ALL "mix" "$r = OpExtInst %f %glsl FMix $x $y $z"
    ALL "step" "$r = OpExtInst %f %glsl Step $x $y"
    ALL "smoothstep" "$r = OpExtInst %f %glsl SmoothStep $y $z $x"
    ALL "fma" "$r = OpExtInst %f %glsl Fma $x $y $z"
    ALL "frexp" "$1 = OpExtInst %fi %glsl FrexpStruct $x; $r = OpCompositeExtract %f $1 0"
    ALL "frexp1" "$1 = OpExtInst %fi %glsl FrexpStruct $x; $2 = OpCompositeExtract %i $1 1; $r = OpConvertSToF %f $2"
    ALL "ldexp" "$r = OpExtInst %f %glsl Ldexp $x %i3"
    ALL "ldexp-" "$r = OpExtInst %f %glsl Ldexp $x %i3n"
    SINGLE "half2" "$1 = OpCompositeConstruct %v2 $x $y; $2 = OpExtInst %u %glsl PackHalf2x16 $1; $3 = OpExtInst %v2 %glsl UnpackHalf2x16 $2; $r = OpCompositeExtract %f $3 0"
    SINGLE "snorm2" "$1 = OpCompositeConstruct %v2 $x $y; $2 = OpExtInst %u %glsl PackSnorm2x16 $1; $3 = OpExtInst %v2 %glsl UnpackSnorm2x16 $2; $r = OpCompositeExtract %f $3 0"
    SINGLE "unorm4" "$1 = OpCompositeConstruct %v4 $x $y $x $y; $2 = OpExtInst %u %glsl PackUnorm4x8 $1; $3 = OpExtInst %v4 %glsl UnpackUnorm4x8 $2; $r = OpCompositeExtract %f $3 0"
    ALL "length" "$1 = OpCompositeConstruct %v2 $x $y; $r = OpExtInst %f %glsl Length $1"
    ALL "distance" "$1 = OpCompositeConstruct %v2 $x $y; $2 = OpCompositeConstruct %v2 $y $z; $r = OpExtInst %f %glsl Distance $1 $2"
    ALL "cross" "$1 = OpCompositeConstruct %v3 $x $y $z; $2 = OpCompositeConstruct %v3 $y $z $x; $3 = OpExtInst %v3 %glsl Cross $1 $2; $r = OpCompositeExtract %f $3 0"
    ALL "normalize" "$1 = OpCompositeConstruct %v2 $x $y; $2 = OpExtInst %v2 %glsl Normalize $1; $r = OpCompositeExtract %f $2 0"
    ALL "x/length" "$1 = OpCompositeConstruct %v2 $x $y; $2 = OpExtInst %f %glsl Length $1; $r = OpFDiv %f $x $2"
    ALL "faceforward" "$r = OpExtInst %f %glsl FaceForward $x $y $z"
    ALL "reflect" "$1 = OpCompositeConstruct %v2 $x $y; $2 = OpCompositeConstruct %v2 $y $z; $3 = OpExtInst %v2 %glsl Reflect $1 $2; $r = OpCompositeExtract %f $3 0"
    ALL "refract" "$1 = OpCompositeConstruct %v2 $x $y; $2 = OpCompositeConstruct %v2 $y $z; $3 = OpExtInst %v2 %glsl Refract $1 $2 %refraction; $r = OpCompositeExtract %f $3 0"
}
