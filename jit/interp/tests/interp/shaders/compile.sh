#!/bin/sh
# Compiles every line of list.txt, and the assembly, into this folder. Needs glslangValidator, spirv-as, spirv-opt
# and spirv-val.
set -eu
cd "$(dirname "$0")"
grep -v '^#' list.txt | while read -r output source flags; do
    optimise=
    case "$flags" in *-O) optimise=1 flags=${flags%-O} ;; esac
    set -f
    # shellcheck disable=SC2086
    glslangValidator --quiet -S comp --target-env vulkan1.2 $flags -o "$output.spv" "$source.comp"
    set +f
    if [ -n "$optimise" ]; then
        spirv-opt --target-env=vulkan1.2 -O "$output.spv" -o "$output.spv"
    fi
    spirv-val --target-env vulkan1.2 --scalar-block-layout "$output.spv"
done
for source in *.spvasm; do
    spirv-as --target-env vulkan1.2 "$source" -o "${source%.spvasm}.spv"
    spirv-val --target-env vulkan1.2 "${source%.spvasm}.spv"
done
