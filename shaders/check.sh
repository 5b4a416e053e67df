#!/bin/sh
# Proves that the checked-in .spv files come from their sources: compiles everything in a temporary folder and
# compares byte for byte. A recipe whose compiler is missing or of another version than the one in versions.txt
# is skipped, and says so; with --strict a skip is a failure. Exit status 0: all compared files are equal.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strict=no
[ "${1:-}" = --strict ] && strict=yes
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

version_of() { # the line that versions.txt holds for this tool
    case "$1" in
        glslang) glslangValidator --version | sed -n 's/^Glslang Version: //p' ;;
        spirv-tools) spirv-opt --version 2>&1 | head -n 1 | cut -d, -f1 ;;
        naga) naga --version ;;
    esac
}

recipes=
skipped=
for tool in glslang spirv-tools naga; do
    case "$tool" in
        glslang) program=glslangValidator made="glsl stage debug debuginfo optimised spirv1.0 spirv1.3 spirv1.4 spirv1.5 spirv1.6 hlsl" ;;
        spirv-tools) program=spirv-opt made="assembly" ;;
        naga) program=naga made="wgsl" ;;
    esac
    expected=$(sed -n "s/^$tool: //p" "$here/versions.txt")
    if ! command -v "$program" >/dev/null; then
        found="none"
    else
        found=$(version_of "$tool")
    fi
    if [ "$found" = "$expected" ]; then
        recipes="$recipes $made"
    else
        echo "skipped: $tool is '$found', the checked-in files were made with '$expected'; not compared: $made"
        skipped="$skipped $tool"
    fi
done
# The tools that optimise and validate must be the same ones for every recipe.
case "$skipped" in
    *spirv-tools*)
        echo "skipped: nothing is compared without the spirv-tools of versions.txt"
        recipes=
        ;;
esac

failed=no
if [ -n "$recipes" ]; then
    # shellcheck disable=SC2086
    "$here/compile.sh" "$fresh" $recipes
    compared=0
    for file in $(cd "$fresh" && find . -name '*.spv' | sort); do
        compared=$((compared + 1))
        if ! cmp -s "$fresh/$file" "$here/$file"; then
            echo "differs from its source: shaders/${file#./} (run shaders/compile.sh)"
            failed=yes
        fi
    done
    echo "compared $compared files"
fi
for file in $(cd "$here" && find . -name '*.spv' | sort); do
    if ! grep -q "^${file#./} " "$here/list.txt"; then
        echo "has no line in list.txt: shaders/${file#./}"
        failed=yes
    fi
done
[ "$failed" = no ] || exit 1
if [ "$strict" = yes ] && [ -n "$skipped" ]; then
    exit 1
fi
