#!/bin/sh
# Times lists by rows with 1, 2, 4 and 8 work-groups side by side: rows.sh VKFUSE ELEMENTS [ROW-LENGTH...]
# Prints microseconds of GPU time, medians, and how many work-groups one did. Further settings are the environment's.
set -eu
[ $# -ge 2 ] || { echo "usage: $0 VKFUSE ELEMENTS [ROW-LENGTH...]" >&2; exit 2; }
vkfuse=$1
elements=$2
shift 2
[ $# -gt 0 ] || set -- 1024
here=$(cd "$(dirname "$0")" && pwd)
into=$(mktemp -d)
trap 'rm -rf "$into"' EXIT

time_of() { # time_of GROUPS FILE
    VKFUSE_SCHEDULE=block-coarsening=$1 "$vkfuse" bench "$2" --iters "${ITERS:-40}" --no-cache --json | python3 -c '
import json, sys
bench = json.load(sys.stdin)
gpu = bench["time_us"]
done = ",".join(str(group["work_groups"]) for group in bench["groups"])
why = "; ".join(sorted({group["alone"] for group in bench["groups"] if group["alone"]}))
unfused, fused = gpu["unfused_gpu"], gpu["fused_gpu"]
print(f"{unfused or 0:.1f} {fused or 0:.1f} {done} {why}")'
}

printf '%-10s %-16s %-7s %10s %10s %s\n' row list at-most unfused fused "done by one work-group"
for length; do
    columns=$length sh "$here/workloads.sh" "$elements" "$into/$length"
    for list in 03-softmax 04-layer-norm 09-rms-weight 03-softmax.hand 04-layer-norm.hand 00-copy; do
        case $list in
            *hand | 00-copy) groups=1 ;;
            *) groups="1 2 4 8" ;;
        esac
        # The kernel by hand keeps rows of at most 1,024 in registers.
        [ "$list" = 03-softmax.hand ] && [ "$length" -gt 1024 ] && continue
        for most in $groups; do
            found=$(time_of "$most" "$into/$length/$list.toml")
            set -- $found
            unfused=$1 fused=$2
            shift 2
            printf '%-10s %-16s %-7s %10s %10s %s\n' "$length" "$list" "$most" "$unfused" "$fused" "$*"
        done
    done
done
