#!/bin/sh
# Writes pipeline files of parts of nets, at the sizes that nets have: nets.sh FOLDER
# `vkfuse bench FOLDER/*.toml --html report.html` then runs them all: a matrix product with what follows it, one token through a layer of a language
# model of half a billion parameters, and a block of a MobileNet.
set -eu
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
mkdir -p "$1"
into=$(cd "$1" && pwd)
shaders=$(cd "$(dirname "$0")/../shaders" && pwd)

begin() { # begin FILE TITLE
    file=$into/$1.toml
    printf 'format = 1\nname = "%s"\n' "$2" >"$file"
    : >"$file.kernels"
    : >"$file.submits"
    known=
}

given() { # given NAME ELEMENTS   (f32, or as $type says)
    printf '\n[buffers.%s]\ntype = "%s"\nlen = %s\ninit = "%s"\n' "$1" "${type:-f32}" "$2" "${init:-random}" >>"$file"
    [ "${init:-random}" != random ] || printf 'seed = %s\n' "$(printf %s "$1" | cksum | cut -c1-4)" >>"$file"
}

made() { # made NAME ELEMENTS
    printf '\n[buffers.%s]\ntype = "f32"\nlen = %s\npromote = "auto"\n' "$1" "$2" >>"$file"
}

kept() { # kept NAME ELEMENTS
    printf '\n[buffers.%s]\ntype = "f32"\nlen = %s\n' "$1" "$2" >>"$file"
}

submit() { # submit KERNEL GROUPS PUSH BUFFER...   (`-` where the kernel has no binding of that number)
    kernel=$(basename "$1" .spv | tr . _)
    case " $known " in
        *" $kernel "*) ;;
        *)
            printf '\n[kernels.%s]\npath = "%s"\n' "$kernel" "$shaders/$1" >>"$file.kernels"
            known="$known $kernel"
            ;;
    esac
    {
        printf '\n[[submit]]\nkernel = "%s"\ngroups = [%s]\npush = [%s]\n' "$kernel" "$2" "$3"
        shift 3
        printf 'args = { '
        slot=0 comma=
        for name; do
            [ "$name" = - ] || printf '%s"%s" = "%s"' "$comma" $slot "$name"
            slot=$((slot + 1)) comma=', '
        done
        printf ' }\n'
    } >>"$file.submits"
}

end() {
    cat "$file.kernels" "$file.submits" >>"$file"
    rm "$file.kernels" "$file.submits"
}

u() { # u NUMBER...
    pushed=
    for number; do pushed="$pushed${pushed:+, }{ u32 = $number }"; done
    printf %s "$pushed"
}

up() { echo $((($1 + $2 - 1) / $2)); }

# Products with tiles in registers, and what follows them.
product() { # product FILE TITLE FOLLOWER...
    begin "$1" "$2"
    shift 2
    side=4096 inner=256
    count=$((side * side))
    given x $((side * inner))
    given w $((side * inner))
    given bias $side
    given residual $count
    last=y
    [ $# = 0 ] && kept y $count || made y $count
    submit pairs/product.blocked.spv "$((side / 32)), $((side / 32))" "$(u $side $side $inner)" x w y
    while [ $# -gt 0 ]; do
        if [ $# = 1 ]; then kept "$1" $count; else made "$1" $count; fi
        case $1 in
            biased) submit pairs/element.bias.spv "$((count / 256))" "$(u $count $side)" "$last" bias biased ;;
            active) submit pairs/element.gelu.spv "$((count / 256))" "$(u $count $side)" "$last" - active ;;
            sum) submit pairs/element.add.spv "$((count / 256))" "$(u $count $side)" "$last" residual sum ;;
        esac
        last=$1
        shift
    done
    end
}

element() { # element WHAT COUNT ROW BUFFER...
    what=$1 count=$2 row=$3
    shift 3
    submit "pairs/element.$what.spv" "$(up "$count" 256)" "$(u "$count" "$row")" "$@"
}

matrix() { # matrix X WEIGHTS Y COLUMNS INNER
    submit pairs/product.subgroup.spv "$(up "$4" 2)" "$(u 1 "$4" "$5")" "$1" "$2" "$3"
}

layer() {
    begin decode-layer "one token through a layer of a language model"
    hidden=896 heads=14 shared=2 between=4864 positions=512
    width=$((shared * 64)) share=$((heads / shared))
    given x $hidden
    for name in norm1 norm2; do given $name $hidden; done
    for name in q:$hidden k:$width v:$width o:$hidden; do given "w${name%:*}" $((${name#*:} * hidden)); done
    for name in q:$hidden k:$width v:$width; do given "b${name%:*}" "${name#*:}"; done
    for name in gate up down; do given w$name $((between * hidden)); done
    for name in keys values; do given $name $((positions * width)); done
    given frequencies 32
    type=u32 init=iota given place 1
    for name in n1 n q0 q1 q attended projected h m1 m; do made $name $hidden; done
    for name in k0 k1 k v0 v1; do made $name $width; done
    for name in scores weights; do made $name $((heads * positions)); done
    for name in g u a; do made $name $between; done
    made d $hidden
    kept y $hidden
    submit pairs/row.group.spv 1 "$(u 1 $hidden)" x - n1
    element weight $hidden $hidden n1 norm1 n
    matrix n wq q0 $hidden $hidden
    element bias $hidden $hidden q0 bq q1
    matrix n wk k0 $width $hidden
    element bias $width $width k0 bk k1
    matrix n wv v0 $width $hidden
    element bias $width $width v0 bv v1
    submit nets/attention.rotary.spv "$(up $((hidden / 2)) 64)" "$(u $positions $share $hidden)" q1 frequencies q
    submit nets/attention.rotary.spv "$(up $((width / 2)) 64)" "$(u $positions $share $width)" k1 frequencies k
    submit pairs/row.cache.spv "$(up $width 64)" "$(u 1 $width)" k place keys
    submit pairs/row.cache.spv "$(up $width 64)" "$(u 1 $width)" v1 place values
    submit nets/attention.scores.spv "$positions, $heads" "$(u $positions $share $width)" q keys scores
    submit ml/softmax.spv $heads "$(u $positions), { f32 = 0.125 }" scores weights
    submit nets/attention.values.spv $heads "$(u $positions $share $width)" weights values attended
    matrix attended wo projected $hidden $hidden
    element add $hidden $hidden projected x h
    submit pairs/row.group.spv 1 "$(u 1 $hidden)" h - m1
    element weight $hidden $hidden m1 norm2 m
    matrix m wgate g $between $hidden
    matrix m wup u $between $hidden
    element swiglu $between $between g u a
    matrix a wdown d $hidden $between
    element add $hidden $hidden d h y
    end
}

image() { # image KERNEL INPUTS OUTPUTS BUFFER...
    kernel=$1 push="{ i32 = 56 }, { i32 = 56 }, { i32 = $2 }, { i32 = $3 }"
    groups="7, 7, $3"
    shift 3
    submit "pairs/layer.$kernel.spv" "$groups" "$push" "$@"
}

mobile() {
    begin mobile-block "a block of a MobileNet"
    pixels=$((56 * 56)) few=24 many=144
    given x $((few * pixels))
    given expand $((few * many))
    given depthwise $((9 * many))
    given project $((few * many))
    for name in norm1:$many norm2:$many norm3:$few; do given "${name%:*}" $((2 * ${name#*:})); done
    for name in a b c d e f; do made $name $((many * pixels)); done
    for name in g h; do made $name $((few * pixels)); done
    kept y $((few * pixels))
    image pointwise $few $many x expand a
    image norm $many $many a norm1 b
    image relu $many $many b - c
    image depthwise $many $many c depthwise d
    image norm $many $many d norm2 e
    image relu $many $many e - f
    image pointwise $many $few f project g
    image norm $few $few g norm3 h
    image add $few $few h x y
    end
}

product product "matrix product"
product product-bias-gelu "matrix product, bias, GELU" biased active
product product-bias-gelu-residual "matrix product, bias, GELU, residual" biased active sum
layer
mobile
