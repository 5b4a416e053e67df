#version 450
// Doubles; four elements an invocation, whose index is stepped beside the counter.
layout(local_size_x=64) in; layout(binding=0) buffer A{float a[];}; layout(binding=1) buffer B{float b[];}; layout(push_constant) uniform P{uint n;} p;
void main(){ uint idx=gl_WorkGroupID.x*256u+gl_LocalInvocationID.x; for(uint i=0;i<4u;++i){ if(idx<p.n) b[idx]=a[idx]*2.0; idx+=64u; } }
