#!/bin/sh
# Regenerates the .spv files in this folder from their sources.
#
# Needs glslangValidator, spirv-as and spirv-opt on PATH (Debian: glslang-tools, spirv-tools). The names
# say how a file was made: SOURCE.spv for Vulkan 1.1 (SPIR-V 1.3) unoptimised, and SOURCE.VARIANT.spv.
#
# naga.spv is not made here: it is what naga 30 writes for naga.wgsl (SPIR-V 1.3, names, no other debug
# information, loops not bounded), before the crate's own repairs.
set -eu
cd "$(dirname "$0")"

glsl() { # source, target environment, output, further options
    source=$1 env=$2 out=$3
    shift 3
    glslangValidator -V --quiet --target-env "$env" "$@" -o "$out" "$source"
}

for source in *.comp blocks/*.comp; do
    glsl "$source" vulkan1.1 "${source%.comp}.spv"
done

# Explicit layouts of shared memory are of SPIR-V 1.4.
for variant in alias floats one; do
    define=$(printf %s "$variant" | tr a-z A-Z)
    glsl explicit/shared_blocks.comp vulkan1.2 "explicit/shared_blocks.$variant.spv" "-D$define"
done

# The same kernels in every way a compiler may deliver them.
for name in chain control shared spec; do
    for env in vulkan1.0 vulkan1.2 vulkan1.3; do
        glsl "$name.comp" "$env" "$name.${env#vulkan1.}.spv"
    done
    glsl "$name.comp" vulkan1.1 "$name.g.spv" -g
    glsl "$name.comp" vulkan1.1 "$name.gvs.spv" -gVS
    spirv-opt --target-env=vulkan1.1 -O "$name.spv" -o "$name.o.spv"
    spirv-opt --target-env=vulkan1.1 -Os "$name.g.spv" -o "$name.gos.spv"
done

glslangValidator -D -V --quiet --target-env vulkan1.1 -S comp -e main -o hlsl.spv hlsl.hlsl
glslangValidator -D -V --quiet --target-env vulkan1.0 -g -S comp -e main -o hlsl.0g.spv hlsl.hlsl

spirv-as --target-env spv1.0 many.spvasm -o many.spv
spirv-as --target-env spv1.0 fragment.spvasm -o fragment.spv
spirv-as --target-env spv1.6 spec_ops.spvasm -o spec_ops.spv
spirv-as --target-env spv1.0 copies.spvasm -o copies.spv
spirv-as --target-env spv1.3 pointers.spvasm -o pointers.spv

# What is given for constants, in `given`. In forward_refs.spv the instruction with number 7 is made one that refers forward, to the
# one with number 8.
glsl given/spec_id_shared.comp vulkan1.1 given/spec_id_shared.spv
for source in given/*.spvasm; do
    spirv-as --target-env spv1.0 "$source" -o "${source%.spvasm}.spv"
done
python3 - given/forward_refs.spv <<'PATCH'
import struct, sys
bytes = open(sys.argv[1], "rb").read()
words = list(struct.unpack(f"<{len(bytes) // 4}I", bytes))
at, found = 5, {}
while at < len(words):
    if words[at] & 0xFFFF == 12:
        found[words[at + 4]] = at
    at += words[at] >> 16
words[found[7]] = words[found[7]] & 0xFFFF0000 | 4433
words[found[7] + 5] = words[found[8] + 2]
open(sys.argv[1], "wb").write(struct.pack(f"<{len(words)}I", *words))
PATCH

# Loops and ways, in `flow`.
glsl flow/do_while.comp vulkan1.1 flow/do_while.spv
for source in flow/*.spvasm; do
    spirv-as --target-env spv1.3 "$source" -o "${source%.spvasm}.spv"
done
# It selects between structures.
spirv-as --target-env spv1.4 flow/switch_unreachable_default.spvasm -o flow/switch_unreachable_default.spv
