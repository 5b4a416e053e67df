#!/bin/sh
# Writes the pipeline files of the workloads for a number of elements: workloads.sh ELEMENTS FOLDER
# `vkfuse bench FOLDER/*.toml --html report.html` then runs them all. NAME.hand.toml is what NAME.toml does, written by
# hand as one kernel. The environment variable `columns` is the length of a row, 1024 if it is not set.
set -eu
[ $# = 2 ] || { echo "usage: $0 ELEMENTS FOLDER" >&2; exit 2; }
n=$1
mkdir -p "$2"
into=$(cd "$2" && pwd)
shaders=$(cd "$(dirname "$0")/../shaders" && pwd)
columns=${columns:-1024}
rows=$(((n + columns - 1) / columns))
side=$(awk "BEGIN { print int(sqrt($n)) }")

begin() { # begin FILE TITLE
    file=$into/$1.toml
    printf 'format = 1\nname = "%s"\n' "$2" >"$file"
    known=
}

buffer() { # buffer NAME ELEMENTS [INIT-OR-PROMOTE]   (f32, or as $type says)
    printf '\n[buffers.%s]\ntype = "%s"\nlen = %s\n' "$1" "${type:-f32}" "$2" >>"$file"
    case "${3:-}" in
        random) printf 'init = "random"\nseed = %s\n' "$(printf %s "$1" | cksum | cut -c1-4)" >>"$file" ;;
        iota) printf 'init = "iota"\n' >>"$file" ;;
        private | local | auto) printf 'promote = "%s"\n' "$3" >>"$file" ;;
    esac
}

submit() { # submit KERNEL RANGE PUSH BUFFER...   (spec: local size, if $local is set)
    kernel=$(basename "$1" .spv)
    case " $known " in
        *" $kernel "*) ;;
        *)
            printf '\n[kernels.%s]\npath = "%s"\n' "$kernel" "$shaders/$1" >>"$file.kernels"
            known="$known $kernel"
            ;;
    esac
    {
        printf '\n[[submit]]\nkernel = "%s"\n%s\npush = [%s]\n' "$kernel" "$2" "$3"
        [ -z "${local:-}" ] || printf 'spec = { 0 = { u32 = %s } }\n' "$local"
        shift 3
        printf 'args = { '
        slot=0
        for name; do
            [ $slot = 0 ] || printf ', '
            printf '"%s" = "%s"' $slot "$name"
            slot=$((slot + 1))
        done
        printf ' }\n'
    } >>"$file.submits"
}

end() {
    cat "$file.kernels" "$file.submits" >>"$file"
    rm "$file.kernels" "$file.submits"
}

u() { printf '{ u32 = %s }' "$1"; }
f() { printf '{ f32 = %s }' "$1"; }
line="global = [$n]"
groups="groups = [$rows]"

copy() {
    begin 00-copy "copy in vectors"
    buffer x "$n" random
    buffer y "$n"
    submit chain/copy_vec4.spv "global = [$((n / 4))]" "$(u $((n / 4)))" x y
    end
}

chain_of() { # chain_of FILE TITLE
    begin "$1" "$2"
    for name in in1 in2 in3 in4; do buffer $name "$n" random; done
    for name in tmp1 tmp2 tmp3; do buffer $name "$n" ${promote:-}; done
    buffer out "$n"
    submit chain/mul.spv "$line" "$(u "$n")" in1 in2 tmp1
    submit chain/sub.spv "$line" "$(u "$n")" in1 in3 tmp2
    submit chain/mul.spv "$line" "$(u "$n")" tmp2 in4 tmp3
    submit chain/sub.spv "$line" "$(u "$n")" tmp1 tmp3 out
    end
}

chain_hand() {
    begin 01-chain.hand "chain, by hand"
    for name in in1 in2 in3 in4; do buffer $name "$n" random; done
    buffer out "$n"
    submit chain/fused.spv "$line" "$(u "$n")" in1 in2 in3 in4 out
    end
}

gelu() {
    begin 02-gelu "bias, GELU, residual"
    buffer x "$n" random
    buffer bias $columns random
    buffer residual "$n" random
    buffer biased "$n" auto
    buffer active "$n" auto
    buffer out "$n"
    submit workloads/add_bias.spv "$line" "$(u "$n"), $(u $columns)" x bias biased
    submit workloads/gelu.spv "$line" "$(u "$n")" biased active
    submit workloads/add.spv "$line" "$(u "$n")" active residual out
    end
    begin 02-gelu.hand "bias, GELU, residual, by hand"
    buffer x "$n" random
    buffer bias $columns random
    buffer residual "$n" random
    buffer out "$n"
    submit workloads/bias_gelu_residual.spv "$line" "$(u "$n"), $(u $columns)" x bias residual out
    end
}

softmax_of() { # softmax_of FILE TITLE
    begin "$1" "$2"
    buffer x $((rows * columns)) random
    buffer most "$rows" ${promote:+local}
    buffer powers $((rows * columns)) ${promote:-}
    buffer sum "$rows" ${promote:+local}
    buffer out $((rows * columns))
    submit softmax/row_max.spv "$groups" "$(u $columns)" x most
    submit softmax/exp_sub.spv "$groups" "$(u $columns)" x most powers
    submit softmax/row_sum.spv "$groups" "$(u $columns)" powers sum
    submit softmax/divide.spv "$groups" "$(u $columns)" powers sum out
    end
}

softmax_hand() {
    begin 03-softmax.hand "softmax of rows, by hand"
    buffer x $((rows * columns)) random
    buffer out $((rows * columns))
    submit softmax/fused.spv "$groups" "$(u $columns)" x out
    end
}

layer_norm() {
    begin 04-layer-norm "layer normalization of rows"
    buffer x $((rows * columns)) random
    buffer mean "$rows" local
    buffer centered $((rows * columns)) auto
    buffer square "$rows" local
    buffer scale $columns random
    buffer shift $columns random
    buffer out $((rows * columns))
    submit workloads/row_mean.spv "$groups" "$(u $columns)" x mean
    submit workloads/center.spv "$groups" "$(u $columns)" x mean centered
    submit workloads/row_square.spv "$groups" "$(u $columns)" centered square
    submit workloads/normalize.spv "$groups" "$(u $columns), $(f 0.00001)" centered square scale shift out
    end
    begin 04-layer-norm.hand "layer normalization of rows, by hand"
    buffer x $((rows * columns)) random
    buffer scale $columns random
    buffer shift $columns random
    buffer out $((rows * columns))
    submit workloads/layer_norm.spv "$groups" "$(u $columns), $(f 0.00001)" x scale shift out
    end
}

black_scholes() {
    begin 05-black-scholes "Black and Scholes"
    for name in price strike time; do buffer $name "$n" random; done
    for name in d1 d2 n1 n2; do buffer $name "$n" auto; done
    buffer call "$n"
    submit workloads/bs_d1.spv "$line" "$(u "$n"), $(f 0.02), $(f 0.3)" price strike time d1
    submit workloads/bs_d2.spv "$line" "$(u "$n"), $(f 0.3)" d1 time d2
    submit workloads/normal_cdf.spv "$line" "$(u "$n")" d1 n1
    submit workloads/normal_cdf.spv "$line" "$(u "$n")" d2 n2
    submit workloads/bs_call.spv "$line" "$(u "$n"), $(f 0.02)" price strike time n1 n2 call
    end
    begin 05-black-scholes.hand "Black and Scholes, by hand"
    for name in price strike time; do buffer $name "$n" random; done
    buffer call "$n"
    submit workloads/black_scholes.spv "$line" "$(u "$n"), $(f 0.02), $(f 0.3)" price strike time call
    end
}

image() {
    begin 06-image "image: blur, gain, tone, blur, gain"
    pixels=$((side * side))
    area="global = [$side, $side]"
    buffer image $pixels random
    for name in a b c d; do buffer $name $pixels auto; done
    buffer out $pixels
    submit workloads/blur3.spv "$area" "$(u "$side"), $(u "$side")" image a
    submit workloads/grey_gain.spv "$area" "$(u "$side"), $(u "$side"), $(f 1.25), $(f 0.1)" a b
    submit workloads/tone.spv "$area" "$(u "$side"), $(u "$side")" b c
    submit workloads/blur3.spv "$area" "$(u "$side"), $(u "$side")" c d
    submit workloads/grey_gain.spv "$area" "$(u "$side"), $(u "$side"), $(f 0.75), $(f 0.0)" d out
    end
}

long_chain() { # long_chain KERNELS, over a quarter of the elements: there are many buffers
    begin "07-long-$1" "chain of $1 kernels"
    few=$(((n + 3) / 4))
    rule="$(u $few), $(f 0.75), $(f 0.125)"
    buffer x $few random
    link=1
    while [ $link -lt "$1" ]; do
        buffer "t$link" $few auto
        link=$((link + 1))
    done
    buffer out $few
    link=1
    from=x
    while [ $link -le "$1" ]; do
        to=t$link
        [ $link -lt "$1" ] || to=out
        submit workloads/affine.spv "global = [$few]" "$rule" "$from" "$to"
        from=$to
        link=$((link + 1))
    done
    end
    [ "$1" = 64 ] || return 0
    begin 07-long-64.hand "chain of 64 kernels, by hand"
    buffer x $few random
    buffer out $few
    submit workloads/affine64.spv "global = [$few]" "$rule" x out
    end
}

compute() {
    begin 08-compute "four kernels bound by arithmetic"
    buffer x "$n" random
    for name in a b c; do buffer $name "$n" auto; done
    buffer out "$n"
    rule="$(u "$n"), $(u 256), $(f 3.5)"
    submit workloads/logistic.spv "$line" "$rule" x a
    submit workloads/logistic.spv "$line" "$rule" a b
    submit workloads/logistic.spv "$line" "$rule" b c
    submit workloads/logistic.spv "$line" "$rule" c out
    end
    begin 08-compute.hand "four kernels bound by arithmetic, by hand"
    buffer x "$n" random
    buffer out "$n"
    submit workloads/logistic4.spv "$line" "$rule" x out
    end
}

# Lists whose kernels number their work differently: rows and tiles (placed), windows and permutations (inlined).
seams() {
    pixels=$((side * side))
    area="global = [$side, $side]"
    flat="global = [$pixels]"
    elements=$((rows * columns))
    over="global = [$elements]"

    begin 10-flat-softmax "softmax of rows, exp and divide by elements"
    buffer x $elements random
    buffer most "$rows" local
    buffer powers $elements auto
    buffer sum "$rows" local
    buffer out $elements
    submit softmax/row_max.spv "$groups" "$(u $columns)" x most
    submit seams/exp_sub.spv "$over" "$(u $elements), $(u $columns)" x most powers
    submit softmax/row_sum.spv "$groups" "$(u $columns)" powers sum
    submit seams/divide.spv "$over" "$(u $elements), $(u $columns)" powers sum out
    end

    begin 11-residual-norm "add, RMS norm, weight; the sum is kept"
    buffer x $elements random
    buffer y $elements random
    buffer h $elements
    buffer t $elements auto
    buffer w $columns random
    buffer out $elements
    submit seams/add.spv "$over" "$(u $elements)" x y h
    submit seams/rms_norm.spv "$groups" "$(u $columns)" h t
    submit seams/weight.spv "$over" "$(u $elements), $(u $columns)" t w out
    end

    begin 12-gain-blur-gain "gain, blur, gain"
    buffer x $pixels random
    for name in t v; do buffer $name $pixels auto; done
    buffer out $pixels
    submit seams/gain.spv "$flat" "$(u $pixels), $(f 0.75)" x t
    submit seams/blur.spv "$area" "$(u "$side"), $(u "$side")" t v
    submit seams/gain.spv "$flat" "$(u $pixels), $(f 1.25)" v out
    end
    begin 12-gain-blur-gain.hand "gain, blur, gain, by hand"
    buffer x $pixels random
    buffer out $pixels
    submit seams/hand/gain_blur_gain.spv "$area" "$(u "$side"), $(u "$side"), $(f 0.75), $(f 1.25)" x out
    end

    begin 13-product-reversed "product, reversal"
    for name in x y; do buffer $name "$n" random; done
    buffer t "$n" auto
    buffer out "$n"
    submit seams/product.spv "$line" "$(u "$n")" x y t
    submit seams/reversed.spv "$line" "$(u "$n")" t out
    end
    begin 13-product-reversed.hand "product, reversal, by hand"
    for name in x y; do buffer $name "$n" random; done
    buffer out "$n"
    submit seams/hand/product_reversed.spv "$line" "$(u "$n")" x y out
    end

    begin 14-gain-transpose-sum "gain, transposition, sum"
    for name in x y; do buffer $name $pixels random; done
    for name in t v; do buffer $name $pixels auto; done
    buffer out $pixels
    submit seams/gain.spv "$flat" "$(u $pixels), $(f 0.75)" x t
    submit access/transpose.spv "$area" "$(u "$side"), $(u "$side")" t v
    submit seams/add.spv "$flat" "$(u $pixels)" v y out
    end
    begin 14-gain-transpose-sum.hand "gain, transposition, sum, by hand"
    for name in x y; do buffer $name $pixels random; done
    buffer out $pixels
    submit seams/hand/gain_transpose_sum.spv "$area" "$(u "$side"), $(u "$side"), $(f 0.75)" x y out
    end

    begin 15-gain-rotary "scale, rotary pairs"
    buffer x $elements random
    for name in cosine sine; do buffer $name $((columns / 2)) random; done
    buffer t $elements auto
    buffer out $elements
    submit seams/gain.spv "$over" "$(u $elements), $(f 0.125)" x t
    submit seams/rotary.spv "$over" "$(u $elements), $(u $columns)" t cosine sine out
    end
    begin 15-gain-rotary.hand "scale, rotary pairs, by hand"
    buffer x $elements random
    for name in cosine sine; do buffer $name $((columns / 2)) random; done
    buffer out $elements
    submit seams/hand/gain_rotary.spv "$over" "$(u $elements), $(u $columns), $(f 0.125)" x cosine sine out
    end

    begin 16-gain-upsample "scale, up-sampling"
    half=$((side / 2))
    small=$((half * half))
    buffer x $small random
    buffer t $small auto
    buffer out $((4 * small))
    submit seams/gain.spv "global = [$small]" "$(u $small), $(f 0.75)" x t
    submit seams/upsample.spv "global = [$((2 * half)), $((2 * half))]" "$(u $half), $(u $half)" t out
    end
    begin 16-gain-upsample.hand "scale, up-sampling, by hand"
    buffer x $small random
    buffer out $((4 * small))
    submit seams/hand/gain_upsample.spv "global = [$((2 * half)), $((2 * half))]" "$(u $half), $(u $half), $(f 0.75)" x out
    end

    begin 17-halves "two halves, gain"
    less=$((n / 2))
    for name in x y; do buffer $name $less random; done
    buffer t $((2 * less)) auto
    buffer out $((2 * less))
    submit seams/half.spv "global = [$less]" "$(u $less), $(u 0)" x t
    submit seams/half.spv "global = [$less]" "$(u $less), $(u $less)" y t
    submit seams/gain.spv "global = [$((2 * less))]" "$(u $((2 * less))), $(f 0.75)" t out
    end

    # A matrix product over an inner dimension of 256, and what follows it; two of them, and a gate.
    inner=256
    product="$(u "$side"), $(u "$side"), $(u $inner)"
    begin 18-matmul-gelu "matrix product, bias, GELU"
    buffer a $((side * inner)) random
    buffer b $((inner * side)) random
    buffer bias "$side" random
    for name in c d; do buffer $name $pixels auto; done
    buffer out $pixels
    submit seams/matmul.spv "$area" "$product" a b c
    submit seams/bias.spv "$flat" "$(u $pixels), $(u "$side")" c bias d
    submit seams/gelu.spv "$flat" "$(u $pixels)" d out
    end

    begin 19-swiglu "SwiGLU of two matrix products"
    buffer a $((side * inner)) random
    for name in gate up; do buffer $name $((inner * side)) random; done
    for name in c d; do buffer $name $pixels auto; done
    buffer out $pixels
    submit seams/matmul.spv "$area" "$product" a gate c
    submit seams/matmul.spv "$area" "$product" a up d
    submit seams/silu_up.spv "$flat" "$(u $pixels)" c d out
    end

    begin 20-product-gather "product, gather"
    for name in x y; do buffer $name "$n" random; done
    type=u32 buffer from "$n" iota
    buffer t "$n" auto
    buffer out "$n"
    submit seams/product.spv "$line" "$(u "$n")" x y t
    submit access/gather.spv "$line" "$(u "$n")" t from out
    end

    begin 21-bias-softmax "bias, softmax of rows"
    buffer x $elements random
    buffer bias $columns random
    buffer t $elements auto
    buffer most "$rows" local
    buffer powers $elements auto
    buffer sum "$rows" local
    buffer out $elements
    submit seams/bias.spv "$over" "$(u $elements), $(u $columns)" x bias t
    submit softmax/row_max.spv "$groups" "$(u $columns)" t most
    submit softmax/exp_sub.spv "$groups" "$(u $columns)" t most powers
    submit softmax/row_sum.spv "$groups" "$(u $columns)" powers sum
    submit softmax/divide.spv "$groups" "$(u $columns)" powers sum out
    end

    begin 22-cross-entropy "cross-entropy of rows"
    buffer x $elements random
    type=u32 buffer label "$rows" iota
    buffer most "$rows" auto
    buffer powers $elements auto
    buffer sum "$rows" auto
    buffer out "$rows"
    submit softmax/row_max.spv "$groups" "$(u $columns)" x most
    submit softmax/exp_sub.spv "$groups" "$(u $columns)" x most powers
    submit softmax/row_sum.spv "$groups" "$(u $columns)" powers sum
    submit seams/row_loss.spv "global = [$rows]" "$(u "$rows"), $(u $columns)" x label most sum out
    end
}

rms_weight() {
    begin 09-rms-weight "RMS norm of rows, weight by elements"
    buffer x $((rows * columns)) random
    buffer weight "$columns" random
    buffer normed $((rows * columns)) auto
    buffer out $((rows * columns))
    submit seams/rms_norm.spv "$groups" "$(u "$columns")" x normed
    submit seams/weight.spv "global = [$((rows * columns))]" "$(u $((rows * columns))), $(u "$columns")" normed weight out
    end
}

copy
promote=private chain_of 01-chain "chain"
promote=private local=64 chain_of 01-chain-64 "chain, work-groups of 64"
promote= chain_of 01-chain-memory "chain, temporaries in memory"
chain_hand
gelu
promote=auto softmax_of 03-softmax "softmax of rows"
promote= softmax_of 03-softmax-memory "softmax of rows, results in memory"
softmax_hand
layer_norm
black_scholes
image
long_chain 64
compute
seams
rms_weight
