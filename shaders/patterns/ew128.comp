#version 450
// Doubles each element, 128 a work-group.
layout(local_size_x=128) in; layout(binding=0) buffer A{float a[];}; layout(binding=1) buffer B{float b[];}; layout(push_constant) uniform P{uint n;} p;
void main(){ uint i=gl_GlobalInvocationID.x; if(i<p.n) b[i]=a[i]*2.0; }
