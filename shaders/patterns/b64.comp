#version 450
// Adds one to each element.
layout(local_size_x=64) in; layout(binding=0) buffer A{float a[];}; layout(binding=1) buffer B{float b[];}; layout(push_constant) uniform P{uint n;} p; void main(){ uint i=gl_GlobalInvocationID.x; if(i>=p.n) return; b[i]=a[i]+1.0; }
