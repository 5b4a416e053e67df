#!/usr/bin/env bash
# Builds the examples in C and C++ against an installed library with every warning an error, and runs them under AddressSanitizer
# and the validation layer, on the shared library and on the static one.
set -euo pipefail
cd "$(dirname "$0")/../.."
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
fusion/capi/install.sh "$prefix"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
read -ra flags <<<"$(pkg-config --cflags vkfuse)"
read -ra shared <<<"$(pkg-config --libs vkfuse)"
read -ra static <<<"$(pkg-config --static --libs-only-l vkfuse | sed "s|-lvkfuse|$prefix/lib/libvkfuse.a|")"
# The driver stays loaded, so that the memory which it keeps until the process ends can be distinguished from leaks of the library.
echo 'int dlclose(void *handle); int dlclose(void *handle) { return handle == 0; }' >"$prefix/loaded.c"
cc -c -o "$prefix/loaded.o" "$prefix/loaded.c"
strict=(-O1 -g -Wall -Wextra -Wpedantic -Werror -fsanitize=address -fno-omit-frame-pointer)
c=(cc -std=c11 "${strict[@]}" "${flags[@]}" examples/c/quickstart.c)
cpp=(c++ -std=c++17 "${strict[@]}" "${flags[@]}" examples/c/quickstart.cpp)
"${c[@]}" -o "$prefix/c" "${shared[@]}" -lvulkan "$prefix/loaded.o"
"${cpp[@]}" -o "$prefix/cpp" "${shared[@]}" -lvulkan "$prefix/loaded.o"
"${c[@]}" -o "$prefix/c-static" "${static[@]}" -lvulkan "$prefix/loaded.o"

# The driver and its compiler keep some memory until the process ends.
printf 'leak:libvulkan_lvp\nleak:libLLVM\nleak:libvulkan.so\nleak:libVkLayer\n' >"$prefix/leaks"
export ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS=suppressions=$prefix/leaks:print_suppressions=0
export LD_LIBRARY_PATH=$prefix/lib VKFUSE_CACHE_PERSISTENT=0
export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
# The layer is found where it was installed, in a folder of the loader's own order.
found=$(XDG_DATA_DIRS=$prefix/share:/usr/local/share:/usr/share vulkaninfo --summary 2>/dev/null || true)
grep -q VK_LAYER_VKFUSE_capture <<<"$found" || { echo "the loader does not find the layer" && exit 1; }
for program in c cpp c-static; do
  said=$("$prefix/$program" shaders/chain 2>&1) || { echo "$program: $said" && exit 1; }
  echo "$program: $said"
  if grep -q 'Validation Error' <<<"$said" || ! grep -q '1 dispatch' <<<"$said"; then exit 1; fi
done
