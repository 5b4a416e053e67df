#version 450
// Divides the elements of a row, one a work-group, by their sum.
layout(local_size_x=128) in; layout(binding=0) buffer A{float a[];}; layout(binding=1) buffer B{float b[];}; layout(push_constant) uniform P{uint n;} p; shared float s[128];
void main(){ uint r=gl_WorkGroupID.x*p.n, t=gl_LocalInvocationID.x; float x=0; for(uint c=t;c<p.n;c+=128u) x+=a[r+c]; s[t]=x; barrier(); for(uint k=64u;k>0u;k>>=1){ if(t<k) s[t]+=s[t+k]; barrier(); } for(uint c=t;c<p.n;c+=128u) b[r+c]=a[r+c]/s[0]; }
