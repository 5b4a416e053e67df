#!/usr/bin/env bash
# Counts the instructions of one run of each case of the hit path, over a driver that does nothing.
#
# Usage: benches/instructions.sh [NAME...]
#
# Needs valgrind. Each case runs twice under callgrind, with different numbers of runs; the difference is what the runs
# cost, without start-up and warm-up. These vary by some 100,000 instructions between processes: hence thousands of runs.
set -euo pipefail
cd "$(dirname "$0")/.."

few=200
many=5200

profile=(${VKFUSE_BENCH_PROFILE:+--profile "$VKFUSE_BENCH_PROFILE"})
bench=$(cargo bench -q -p vkfuse-benches --bench hit_path --no-run --message-format=json "${profile[@]}" |
  grep -o '"executable":"[^"]*hit_path[^"]*"' | tail -1 | cut -d'"' -f4)

collected() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" --repeat "$1" "$2" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

names=("$@")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <("$bench" --names)
for name in "${names[@]}"; do
  printf '%-24s %8d instructions\n' "$name" $((($(collected "$name" $many) - $(collected "$name" $few)) / (many - few)))
done
