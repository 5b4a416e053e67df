#!/bin/sh
# Compiles every line of list.txt, into this folder or into the one given: compile.sh [FOLDER [RECIPE...]]
# With recipes named, only their lines. Needs glslangValidator, spirv-opt, spirv-as, spirv-val and naga.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$here}
mkdir -p "$into"
into=$(cd "$into" && pwd)
[ $# -gt 0 ] && shift
wanted=" $* "

# Sources are named relative to this folder: debug information holds the name, and must not hold more.
cd "$here"

glslang() { # glslang SOURCE OUTPUT FLAGS...
    source=$1 output=$2
    shift 2
    glslangValidator --quiet -S comp "$@" -o "$output" "$source"
}

grep -v '^#' list.txt | while read -r output source recipe; do
    case "$wanted" in
        "  ") ;;
        *" $recipe "*) ;;
        *) continue ;;
    esac
    mkdir -p "$into/$(dirname "$output")"
    result=$into/$output
    environment=vulkan1.1
    case "$recipe" in
        glsl) glslang "$source" "$result" --target-env vulkan1.1 ;;
        # One source with several kernels: the part of the output's name before `.spv` is defined, in capitals.
        stage)
            stage=$(printf %s "${output%.spv}" | tr a-z A-Z)
            glslang "$source" "$result" --target-env vulkan1.1 "-D${stage##*.}"
            ;;
        debug) glslang "$source" "$result" --target-env vulkan1.1 -g ;;
        debuginfo) glslang "$source" "$result" --target-env vulkan1.1 -gVS ;;
        optimised)
            glslang "$source" "$result" --target-env vulkan1.1
            spirv-opt --target-env=vulkan1.1 -O "$result" -o "$result"
            ;;
        spirv1.0) glslang "$source" "$result" --target-env vulkan1.0 ;;
        spirv1.[3456])
            glslang "$source" "$result" --target-env vulkan1.3 --target-env "$recipe"
            environment=vulkan1.3
            ;;
        hlsl) glslang "$source" "$result" -D -e main --target-env vulkan1.1 ;;
        wgsl) naga "$source" "$result" >/dev/null ;;
        assembly) spirv-as --target-env vulkan1.1 "$source" -o "$result" ;;
        *)
            echo "list.txt: unknown recipe '$recipe' for $output" >&2
            exit 1
            ;;
    esac
    spirv-val --target-env "$environment" "$result"
done
