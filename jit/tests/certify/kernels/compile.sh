#!/bin/sh
# Regenerates the .spv files in this folder from their sources. Needs glslangValidator (Debian: glslang-tools).
set -eu
cd "$(dirname "$0")"
for source in *.comp; do
    glslangValidator -V --quiet --target-env vulkan1.1 -o "${source%.comp}.spv" "$source"
done
