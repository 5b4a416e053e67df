#version 450
// Results that SPIR-V leaves undefined where d[i] is zero or large. What is compiled decides which of them anything depends on.
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) readonly buffer D { uint d[]; };
layout(set = 0, binding = 2) buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint divisor = d[i];
#if defined DROPPED
    uint quotient = x[i] / divisor;
    uint shifted = x[i] << divisor;
    // A product with zero depends on nothing.
    z[i] = (divisor == 0 ? 7 : quotient) + (shifted & 0u);
#elif defined RESULT
    z[i] = x[i] << divisor;
#elif defined SIGNED
    z[i] = uint(int(x[i]) % int(divisor));
#elif defined CONVERTED
    z[i] = uint(uintBitsToFloat(divisor));
#elif defined LOGARITHM
    z[i] = floatBitsToUint(log(float(divisor)));
#elif defined POWER
    z[i] = floatBitsToUint(pow(float(x[i]) - 8.5, float(divisor)));
#elif defined CLAMPED
    z[i] = uint(clamp(int(x[i]), -1, int(divisor) - 2));
#elif defined SMOOTH
    z[i] = floatBitsToUint(smoothstep(0.0, float(divisor), float(x[i])));
#elif defined INDEX
    z[x[i] % divisor] = i;
#else
    for (uint k = 0; k < x[i] / divisor; ++k) {
        z[i] = k;
        if (k == 1000000) {
            break;
        }
    }
#endif
}
