#!/usr/bin/env bash
# Builds the C libraries and puts them, the headers, the pkg-config file and the Vulkan layers into a folder: fusion/capi/install.sh PREFIX
#
# libvkfuse.so has the soname libvkfuse.so.MAJOR, or libvkfuse.so.0.MINOR while the major version is 0, and libvkfuse.a is the
# same as a static library. PROFILE=dev builds without optimisation; FEATURES is what Cargo gets; BUILT is a folder with
# the libraries, as Cargo named them, that are taken as they are.
set -euo pipefail
prefix=$(realpath -m "${1:?a folder to install to}")
cd "$(dirname "$0")/../.."
profile=${PROFILE:-release}
IFS=' ' read -ra features <<<"${FEATURES:---locked}"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
case "$version" in
  0.*) abi=${version%.*} ;;
  *) abi=${version%%.*} ;;
esac
case "$(uname -s)" in
  Linux) ;;
  *) echo "this script knows Linux; elsewhere: cargo build -p vkfuse-capi --release" >&2 && exit 1 ;;
esac

if [ -n "${BUILT:-}" ]; then
  out=$BUILT
else
  cargo build -p vkfuse-capi --profile "$profile" "${features[@]}"
  cargo build -p vkfuse-layer --profile "$profile" --locked
  folder=$profile
  [ "$folder" = dev ] && folder=debug
  out=${CARGO_TARGET_DIR:-target}/$folder
fi

# The only C++ there can be in the library.
case "${features[*]}" in
  *compiled-spirv-tools*) cxx='-lstdc++ ' ;;
  *) cxx= ;;
esac
mkdir -p "$prefix/lib/pkgconfig" "$prefix/include"
install -m 755 "$out/libvkfuse_c.so" "$prefix/lib/libvkfuse.so.$version"
ln -sf "libvkfuse.so.$version" "$prefix/lib/libvkfuse.so.$abi"
ln -sf "libvkfuse.so.$abi" "$prefix/lib/libvkfuse.so"
install -m 644 "$out/libvkfuse_c.a" "$prefix/lib/libvkfuse.a"
install -m 644 fusion/capi/include/vkfuse.h fusion/capi/include/vkfuse.hpp "$prefix/include/"
manifests=$prefix/share/vulkan/explicit_layer.d
mkdir -p "$manifests"
install -m 755 "$out/libvkfuse_layer.so" "$prefix/lib/"
for layer in capture fuse; do
  sed 's|"\./|"../../../lib/|' "fusion/layer/VkLayer_vkfuse_$layer.json" >"$manifests/VkLayer_vkfuse_$layer.json"
done
cat >"$prefix/lib/pkgconfig/vkfuse.pc" <<END
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: vkfuse
Description: Run-time kernel fusion for Vulkan compute
Version: $version
Libs: -L\${libdir} -lvkfuse
Libs.private: $cxx-lgcc_s -lpthread -ldl -lm
Cflags: -I\${includedir}
END
echo "vkfuse $version, libvkfuse.so.$abi, is in $prefix"
