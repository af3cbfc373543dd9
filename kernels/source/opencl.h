// Prelude: the neutral dialect in OpenCL C 1.2.
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef int i32;
typedef long i64;
typedef uint4 u128;

#define GLOBAL __global
#define CONSTANT __constant
#define SHARED(type, name, count) __local type name[count]
#define SHARED_POINTER __local
#define DEVICE
#define RESTRICT restrict
#define KERNEL(size) __kernel __attribute__((reqd_work_group_size(size, 1, 1)))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define GROUP_ID ((u32)get_group_id(0))
#define GROUPS ((u32)get_num_groups(0))
#define LOCAL_ID ((u32)get_local_id(0))
#define ATOMIC_OR(p, v) atomic_or(p, v)
#define ATOMIC_AND(p, v) atomic_and(p, v)
#define UNROLL _Pragma("unroll")
