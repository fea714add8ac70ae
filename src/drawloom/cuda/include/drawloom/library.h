// The C library on the device: printf, assert, malloc and free, memory copies, clocks, traps.
#pragma once
#include "drawloom/qualifiers.h"

extern "C" {
__attribute__((device)) int printf(const char *, ...);
__attribute__((device)) void *malloc(size_t);
__attribute__((device)) void free(void *);
// What PTX calls for a failed assertion (PTX Interoperability, "System calls").
__attribute__((device, noreturn)) void __assertfail(const char *message, const char *file, unsigned int line,
                                                    const char *function, size_t character);
}
// What the assert of the host's <assert.h> calls, in the C libraries that there are.
extern "C" __attribute__((device, noreturn)) inline void __assert_fail(const char *message, const char *file,
                                                                       unsigned int line, const char *function) {
  __assertfail(message, file, line, function, sizeof(char));
}

__DL_DEVICE void *memcpy(void *to, const void *from, size_t n) { return __builtin_memcpy(to, from, n); }
__DL_DEVICE void *memmove(void *to, const void *from, size_t n) { return __builtin_memmove(to, from, n); }
__DL_DEVICE void *memset(void *to, int byte, size_t n) { return __builtin_memset(to, byte, n); }

__DL_DEVICE void __trap() { asm volatile("trap;"); }

// Objects on the device's heap, and in memory that is there.
__attribute__((device)) inline void *operator new(size_t n) { return malloc(n); }
__attribute__((device)) inline void *operator new[](size_t n) { return malloc(n); }
__attribute__((device)) inline void *operator new(size_t, void *place) noexcept { return place; }
__attribute__((device)) inline void *operator new[](size_t, void *place) noexcept { return place; }
__attribute__((device)) inline void operator delete(void *p) noexcept { free(p); }
__attribute__((device)) inline void operator delete[](void *p) noexcept { free(p); }
__attribute__((device)) inline void operator delete(void *p, size_t) noexcept { free(p); }
__attribute__((device)) inline void operator delete[](void *p, size_t) noexcept { free(p); }
__attribute__((device)) inline void operator delete(void *, void *) noexcept {}
__attribute__((device)) inline void operator delete[](void *, void *) noexcept {}
// What a table of virtual functions has for one that is not defined.
extern "C" __attribute__((device)) inline void __cxa_pure_virtual() { __trap(); }

#define __DL_REGISTER(name, T, op, sreg, C)               \
  __DL_DEVICE T name() {                                  \
    T v;                                                  \
    asm volatile(op " %0, %%" sreg ";" : "=" C(v));       \
    return v;                                             \
  }
__DL_REGISTER(__dl_clock, unsigned int, "mov.u32", "clock", "r")
__DL_REGISTER(__dl_clock64, unsigned long long, "mov.u64", "clock64", "l")
__DL_REGISTER(__globaltimer, unsigned long long, "mov.u64", "globaltimer", "l")
#undef __DL_REGISTER
// `clock_t` is the host's; its own `clock` is for the host.
__DL_DEVICE long clock() { return (long)__dl_clock64(); }
__DL_DEVICE long long clock64() { return (long long)__dl_clock64(); }

__DL_DEVICE void __brkpt() { asm volatile("brkpt;"); }
__DL_DEVICE void __nanosleep(unsigned int nanoseconds) {
#if __DL_SINCE(700)
  asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds));
#endif
}
__DL_DEVICE void __prof_trigger(int) {}

// In which space a generic address lies, and addresses within a space.
#define __DL_SPACE(Name, name)                                                                         \
  __DL_DEVICE unsigned int __is##Name(const void *p) {                                                 \
    unsigned int in;                                                                                   \
    asm("{ .reg .pred p; isspacep." #name " p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(in) : "l"(p));      \
    return in;                                                                                         \
  }                                                                                                    \
  __DL_DEVICE size_t __cvta_generic_to_##name(const void *p) {                                         \
    size_t address;                                                                                    \
    asm("cvta.to." #name ".u64 %0, %1;" : "=l"(address) : "l"(p));                                     \
    return address;                                                                                    \
  }                                                                                                    \
  __DL_DEVICE void *__cvta_##name##_to_generic(size_t address) {                                       \
    void *p;                                                                                           \
    asm("cvta." #name ".u64 %0, %1;" : "=l"(p) : "l"(address));                                        \
    return p;                                                                                          \
  }
__DL_SPACE(Global, global)
__DL_SPACE(Shared, shared)
__DL_SPACE(Constant, const)
__DL_SPACE(Local, local)
#undef __DL_SPACE
