#version 450
// Turns, shifts or doubles, as an argument says.
layout(local_size_x=64) in; layout(binding=0) buffer A{float a[];}; layout(binding=1) buffer B{float b[];}; layout(push_constant) uniform P{uint n; uint mode;} p;
void main(){ uint i=gl_GlobalInvocationID.x; if(i>=p.n) return; if(p.mode==0u) b[i]=a[p.n-1u-i]; else if(p.mode==1u) b[i]=a[(i+7u)%p.n]; else b[i]=a[i]*2.0; }
