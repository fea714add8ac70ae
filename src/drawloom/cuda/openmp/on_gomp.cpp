// LLVM's OpenMP interface, which clang's code calls, on top of GCC's libgomp. What clang's code may call and is not
// here (ordered loops, cancellation) is a symbol that the linker misses. `Place` is where in the source a call stands,
// `thread` the number that libomp has for it: libgomp asks for neither.

extern "C" {
typedef int Critical[8];
typedef void (*Microtask)(int *, int *, ...);

// libgomp's interface.
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_parallel_start(void (*body)(void *), void *data, unsigned threads);
void GOMP_parallel_end();
void GOMP_barrier();
void GOMP_critical_name_start(void **lock);
void GOMP_critical_name_end(void **lock);
bool GOMP_single_start();
void GOMP_taskwait();
void GOMP_taskyield();
void GOMP_taskgroup_start();
void GOMP_taskgroup_end();
void GOMP_task(void (*body)(void *), void *data, void (*copy)(void *, void *), long size, long alignment, bool deferred,
               unsigned flags, void **dependences, int priority, void *detach);
void GOMP_loop_end_nowait();
#define LOOP(kind)                                                                                          \
  bool GOMP_loop_##kind##_start(long first, long end, long step, long chunk, long *from, long *to);         \
  bool GOMP_loop_##kind##_next(long *from, long *to);                                                       \
  bool GOMP_loop_ull_##kind##_start(bool up, unsigned long long first, unsigned long long end,              \
                                    unsigned long long step, unsigned long long chunk,                      \
                                    unsigned long long *from, unsigned long long *to);                      \
  bool GOMP_loop_ull_##kind##_next(unsigned long long *from, unsigned long long *to);
LOOP(static)
LOOP(dynamic)
LOOP(guided)
#undef LOOP
bool GOMP_loop_runtime_start(long first, long end, long step, long *from, long *to);
bool GOMP_loop_runtime_next(long *from, long *to);
bool GOMP_loop_ull_runtime_start(bool up, unsigned long long first, unsigned long long end, unsigned long long step,
                                 unsigned long long *from, unsigned long long *to);
bool GOMP_loop_ull_runtime_next(unsigned long long *from, unsigned long long *to);
int omp_get_thread_num();
int omp_get_num_threads();
int omp_in_parallel();

void *malloc(unsigned long);
void free(void *);
[[noreturn]] void abort();
int puts(const char *);
}

namespace {

typedef const void *Place;
constexpr int kMostArguments = 64;
thread_local unsigned wanted_threads;  // what num_threads(...) asks of the next parallel region

struct Region {
  Microtask body;
  void *arguments[kMostArguments];
};

// Calls with more arguments than the function has: the caller of x86-64 functions takes them from the stack again.
void run_region(void *data) {
  auto *region = static_cast<Region *>(data);
  void **a = region->arguments;
  int global = omp_get_thread_num(), bound = global;
#define EIGHT(k) a[k], a[k + 1], a[k + 2], a[k + 3], a[k + 4], a[k + 5], a[k + 6], a[k + 7]
  region->body(&global, &bound, EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56));
#undef EIGHT
}

void no_body(void *) {}

enum Schedule { kStaticChunked = 33, kStatic = 34, kDynamic = 35, kGuided = 36, kRuntime = 37, kAuto = 38 };
constexpr int kModifiers = 3 << 29;  // monotonic, nonmonotonic

template <class T, class Signed, class Unsigned>
void divide(int schedule, int *last, T *lower, T *upper, Signed *stride, Signed step, Signed chunk) {
  const Unsigned thread = omp_get_thread_num(), threads = omp_get_num_threads();
  if (step > 0 ? *upper < *lower : *lower < *upper) {
    *last = 0;
    return;
  }
  const Unsigned trips = step > 0 ? Unsigned(*upper - *lower) / Unsigned(step) + 1
                                  : Unsigned(*lower - *upper) / (Unsigned(0) - Unsigned(step)) + 1;
  if ((schedule & ~kModifiers) == kStaticChunked) {
    if (chunk < 1) chunk = 1;
    const Unsigned span = Unsigned(chunk) * Unsigned(step);
    *stride = Signed(span * threads);
    *lower = T(Unsigned(*lower) + span * thread);
    *upper = T(Unsigned(*lower) + span - Unsigned(step));
    *last = thread == ((trips - 1) / Unsigned(chunk)) % threads;
    return;
  }
  const Unsigned least = trips / threads, more = trips % threads;
  const Unsigned before = thread * least + (thread < more ? thread : more), own = least + (thread < more);
  *stride = Signed(trips * Unsigned(step));
  *last = own != 0 && before + own == trips;
  if (own == 0) {
    *lower = T(Unsigned(*upper) + Unsigned(step));
    return;
  }
  *lower = T(Unsigned(*lower) + before * Unsigned(step));
  *upper = T(Unsigned(*lower) + (own - 1) * Unsigned(step));
}

// The loop whose chunks this thread takes; loops nest only through parallel regions, whose threads have their own, so
// that a thread that runs a region inside of a loop goes on with what it had.
struct Loop {
  int schedule;
  bool begun, is_unsigned;
  long long first, last, step, chunk;
};
thread_local Loop loop;

void begin_loop(int schedule, long long first, long long last, long long step, long long chunk, bool is_unsigned) {
  loop = {schedule & ~kModifiers, false, is_unsigned, first, last, step, chunk < 1 ? 1 : chunk};
}

bool signed_chunk(long *from, long *to) {
  const long end = loop.last + (loop.step > 0 ? 1 : -1);
  const bool begun = loop.begun;
  loop.begun = true;
  switch (loop.schedule) {
    case kDynamic:
      return begun ? GOMP_loop_dynamic_next(from, to)
                   : GOMP_loop_dynamic_start(loop.first, end, loop.step, loop.chunk, from, to);
    case kGuided:
      return begun ? GOMP_loop_guided_next(from, to)
                   : GOMP_loop_guided_start(loop.first, end, loop.step, loop.chunk, from, to);
    case kRuntime:
      return begun ? GOMP_loop_runtime_next(from, to) : GOMP_loop_runtime_start(loop.first, end, loop.step, from, to);
    default:
      return begun ? GOMP_loop_static_next(from, to)
                   : GOMP_loop_static_start(loop.first, end, loop.step, loop.schedule == kStaticChunked ? loop.chunk : 0,
                                            from, to);
  }
}

bool unsigned_chunk(unsigned long long *from, unsigned long long *to) {
  const bool up = loop.step > 0, begun = loop.begun;
  const unsigned long long end = loop.last + (up ? 1 : -1), first = loop.first, step = loop.step, chunk = loop.chunk;
  loop.begun = true;
  switch (loop.schedule) {
    case kDynamic:
      return begun ? GOMP_loop_ull_dynamic_next(from, to)
                   : GOMP_loop_ull_dynamic_start(up, first, end, step, chunk, from, to);
    case kGuided:
      return begun ? GOMP_loop_ull_guided_next(from, to)
                   : GOMP_loop_ull_guided_start(up, first, end, step, chunk, from, to);
    case kRuntime:
      return begun ? GOMP_loop_ull_runtime_next(from, to)
                   : GOMP_loop_ull_runtime_start(up, first, end, step, from, to);
    default:
      return begun ? GOMP_loop_ull_static_next(from, to)
                   : GOMP_loop_ull_static_start(up, first, end, step, loop.schedule == kStaticChunked ? chunk : 0, from,
                                                to);
  }
}

template <class T, class Signed> int next_chunk(int *last, T *lower, T *upper, Signed *stride) {
  bool found;
  if (loop.is_unsigned) {
    unsigned long long from, to;
    found = unsigned_chunk(&from, &to);
    if (found) *lower = T(from), *upper = T(to - loop.step);
  } else {
    long from, to;
    found = signed_chunk(&from, &to);
    if (found) *lower = T(from), *upper = T(to - loop.step);
  }
  if (!found) {
    GOMP_loop_end_nowait();
    return 0;
  }
  *stride = Signed(loop.step);
  if (loop.step > 0 ? *upper > T(loop.last) : *upper < T(loop.last)) *upper = T(loop.last);
  const long long left = loop.last - static_cast<long long>(*upper);
  *last = loop.step > 0 ? left < loop.step : left > loop.step;
  return 1;
}

struct Task {
  void *shared;
  int (*body)(int, Task *);
};

void run_task(void *data) {
  auto *task = *static_cast<Task **>(data);
  task->body(omp_get_thread_num(), task);
  free(task);
}

void *shared_copy;  // what the thread of a single region gives the others; between two barriers

}  // namespace

extern "C" {

void __kmpc_fork_call(Place, int count, Microtask body, ...) {
  if (count > kMostArguments) {
    puts("drawloom: a parallel region shares more than 64 variables");
    abort();
  }
  Region region = {body, {}};
  __builtin_va_list given;
  __builtin_va_start(given, body);
  for (int k = 0; k < count; k++) region.arguments[k] = __builtin_va_arg(given, void *);
  __builtin_va_end(given);
  const unsigned threads = wanted_threads;
  const Loop outer = loop;
  wanted_threads = 0;
  GOMP_parallel(run_region, &region, threads, 0);
  loop = outer;
}
void __kmpc_fork_call_if(Place place, int count, Microtask body, int condition, void *argument) {
  wanted_threads = condition ? wanted_threads : 1;
  __kmpc_fork_call(place, count, body, argument);
}
void __kmpc_push_num_threads(Place, int, int threads) { wanted_threads = threads; }
void __kmpc_push_proc_bind(Place, int, int) {}
void __kmpc_serialized_parallel(Place, int) { GOMP_parallel_start(no_body, nullptr, 1); }
void __kmpc_end_serialized_parallel(Place, int) { GOMP_parallel_end(); }
int __kmpc_global_thread_num(Place) { return omp_get_thread_num(); }
int __kmpc_global_num_threads(Place) { return omp_get_num_threads(); }
int __kmpc_bound_thread_num(Place) { return omp_get_thread_num(); }
int __kmpc_bound_num_threads(Place) { return omp_get_num_threads(); }
int __kmpc_in_parallel(Place) { return omp_in_parallel(); }

#define LOOPS(suffix, T, Signed, Unsigned, is_unsigned)                                                              \
  void __kmpc_for_static_init_##suffix(Place, int, int schedule, int *last, T *lower, T *upper, Signed *stride,      \
                                       Signed step, Signed chunk) {                                                  \
    divide<T, Signed, Unsigned>(schedule, last, lower, upper, stride, step, chunk);                                  \
  }                                                                                                                  \
  void __kmpc_dispatch_init_##suffix(Place, int, int schedule, T lower, T upper, Signed step, Signed chunk) {        \
    begin_loop(schedule, lower, upper, step, chunk, is_unsigned);                                                    \
  }                                                                                                                  \
  int __kmpc_dispatch_next_##suffix(Place, int, int *last, T *lower, T *upper, Signed *stride) {                     \
    return next_chunk<T, Signed>(last, lower, upper, stride);                                                        \
  }                                                                                                                  \
  void __kmpc_dispatch_fini_##suffix(Place, int) {}
LOOPS(4, int, int, unsigned, false)
LOOPS(4u, unsigned, int, unsigned, false)
LOOPS(8, long long, long long, unsigned long long, false)
LOOPS(8u, unsigned long long, long long, unsigned long long, true)
#undef LOOPS
void __kmpc_for_static_fini(Place, int) {}
void __kmpc_dispatch_deinit(Place, int) {}

void __kmpc_barrier(Place, int) { GOMP_barrier(); }
void __kmpc_flush(Place) { __sync_synchronize(); }
int __kmpc_master(Place, int) { return omp_get_thread_num() == 0; }
void __kmpc_end_master(Place, int) {}
int __kmpc_masked(Place, int, int filter) { return omp_get_thread_num() == filter; }
void __kmpc_end_masked(Place, int) {}
int __kmpc_single(Place, int) { return GOMP_single_start(); }
void __kmpc_end_single(Place, int) {}
void __kmpc_copyprivate(Place, int, unsigned long, void *data, void (*copy)(void *, void *), int is_source) {
  if (is_source) shared_copy = data;
  GOMP_barrier();
  if (!is_source) copy(data, shared_copy);
  GOMP_barrier();
}

void __kmpc_critical(Place, int, Critical *lock) { GOMP_critical_name_start(reinterpret_cast<void **>(lock)); }
void __kmpc_critical_with_hint(Place, int, Critical *lock, unsigned) {
  GOMP_critical_name_start(reinterpret_cast<void **>(lock));
}
void __kmpc_end_critical(Place, int, Critical *lock) { GOMP_critical_name_end(reinterpret_cast<void **>(lock)); }
int __kmpc_reduce_nowait(Place, int, int, unsigned long, void *, void (*)(void *, void *), Critical *lock) {
  GOMP_critical_name_start(reinterpret_cast<void **>(lock));
  return 1;
}
void __kmpc_end_reduce_nowait(Place, int, Critical *lock) { GOMP_critical_name_end(reinterpret_cast<void **>(lock)); }
int __kmpc_reduce(Place place, int thread, int count, unsigned long size, void *data, void (*add)(void *, void *),
                  Critical *lock) {
  return __kmpc_reduce_nowait(place, thread, count, size, data, add, lock);
}
void __kmpc_end_reduce(Place, int, Critical *lock) {
  GOMP_critical_name_end(reinterpret_cast<void **>(lock));
  GOMP_barrier();
}

Task *__kmpc_omp_task_alloc(Place, int, int, unsigned long size, unsigned long shared_size, int (*body)(int, Task *)) {
  const unsigned long shared_at = (size + 15) & ~15ul;
  auto *task = static_cast<Task *>(malloc(shared_at + shared_size));
  task->shared = shared_size ? reinterpret_cast<char *>(task) + shared_at : nullptr;
  task->body = body;
  return task;
}
int __kmpc_omp_task(Place, int, Task *task) {
  GOMP_task(run_task, &task, nullptr, sizeof task, alignof(Task *), true, 0, nullptr, 0, nullptr);
  return 0;
}
void __kmpc_omp_task_begin_if0(Place, int, Task *) {}
void __kmpc_omp_task_complete_if0(Place, int, Task *task) { free(task); }
int __kmpc_omp_taskwait(Place, int) {
  GOMP_taskwait();
  return 0;
}
int __kmpc_omp_taskyield(Place, int, int) {
  GOMP_taskyield();
  return 0;
}
void __kmpc_taskgroup(Place, int) { GOMP_taskgroup_start(); }
void __kmpc_end_taskgroup(Place, int) { GOMP_taskgroup_end(); }
}
