#version 450
// Ids are copied to variables of the module, which start with zeros, in a module of the Vulkan memory model.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer D { float d[]; };
layout(push_constant) uniform P { uint n; } p;

uvec3 gid = uvec3(0), wid = uvec3(0);
uint li = 0;

int index() { return int(gid.x); }
void put(int i, float v) { d[i] = v; }
float get(int i) { return a[i]; }
void work(int i) { if (i < int(p.n)) put(i, 2 * get(i)); }

void main() {
    gid = gl_GlobalInvocationID;
    wid = gl_WorkGroupID;
    li = gl_LocalInvocationIndex;
    work(index());
}
