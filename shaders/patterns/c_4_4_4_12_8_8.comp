#version 450
// Doubles lines of planes, the planes lying `cs` elements apart.
layout(local_size_x=4,local_size_y=4,local_size_z=4) in;
layout(binding=0) buffer A{float a[];}; layout(binding=1) buffer B{float b[];}; layout(push_constant) uniform P{uint w; uint h; uint c; uint cs;} p;
void main(){ uint x=gl_GlobalInvocationID.x, y=gl_GlobalInvocationID.y, z=gl_GlobalInvocationID.z; if(x>=p.w||y>=p.h||z>=p.c) return; uint i=z*p.cs+y*p.w+x; b[i]=a[i]*2.0; }
