/* A stand-in for libcuda.so.1: the driver functions that the runtime calls, over host memory, with the checks
 * that a driver makes (a current context, live handles, ranges) and its sticky errors. Kernels are compiled and
 * run by callbacks that stand_in_driver.py sets.
 *
 * Work on a stream is done as late as a driver may do it: when somebody waits for it, or asks for an event long enough.
 * So whoever reads what is not there yet, or overwrites what is still to be read, gets wrong bytes.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int CUresult;
enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_CONTEXT = 201,
       INVALID_PTX = 218, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713, NOT_FOUND = 500, INVALID_HANDLE = 400,
       NOT_READY = 600, OUT_OF_RESOURCES = 701 };

#define MEMORY_LIMIT (1ull << 32)
enum { MAX_LIVE = 65536, MAX_STACK = 64 };

typedef struct { uintptr_t address; size_t size; } Range;
typedef struct { int magic; int generation; } Context;
typedef struct Work Work;
typedef struct Stream { int magic; int generation; long queued, done; Work *first, *last; struct Stream *next; } Stream;
typedef struct { int magic; int generation; double queued, time; int recorded; Stream *stream; long place; } Event;
typedef struct { int magic; int generation; int id; } Module;
typedef struct { int magic; int generation; int module; char name[256]; int dynamic_limit; } Function;
enum { CONTEXT = 0x1001, EVENT, STREAM, MODULE, FUNCTION };

static int initialised, generation, sticky, retained, unrecoverable;
static Context primary;
static Range live[MAX_LIVE], pinned[MAX_LIVE];
static int live_count, pinned_count, live_events, live_streams, live_modules;
static __thread Context *stack[MAX_STACK];
static __thread int depth;

typedef int (*LoadFn)(const char *text, char *log, unsigned log_size);
typedef int (*LaunchFn)(int module, const char *name, const unsigned *dims, unsigned shared, void **params);
typedef int (*RunFn)(int launch);
typedef int (*GlobalFn)(int module, const char *name, uintptr_t *address, size_t *size);
static LoadFn load_fn;
static LaunchFn launch_fn;
static RunFn run_fn;
static GlobalFn global_fn;

void stand_in_callbacks(LoadFn load, LaunchFn launch, RunFn run, GlobalFn global)
{
    run_fn = run;
    load_fn = load;
    launch_fn = launch;
    global_fn = global;
}

static int idle;
void stand_in_idle(int value) { idle = value; } /* kernels do nothing: what a launch costs the caller can be measured */
void stand_in_unrecoverable(int value) { unrecoverable = value; if (!value) sticky = 0; }
int stand_in_live_allocations(void) { return live_count; }
int stand_in_live_events(void) { return live_events; }
int stand_in_live_streams(void) { return live_streams; }
int stand_in_live_modules(void) { return live_modules; }
int stand_in_pinned(void) { return pinned_count; }
int stand_in_generation(void) { return generation; }
uintptr_t stand_in_address(int index) { return live[index].address; }
size_t stand_in_size(int index) { return live[index].size; }

/* How often a function was called, by name. */
typedef struct { const char *name; long calls; } Count;
static Count counts[128];
static Count *count_of(const char *name)
{
    int i = 0;
    while (counts[i].name && strcmp(counts[i].name, name)) i++;
    counts[i].name = name;
    return &counts[i];
}
static pthread_mutex_t all = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* A kernel runs. It calls no function of the driver: that would do what comes behind it before it is done. */
static int runs;
static int enter(Count **count, const char *name)
{
    pthread_mutex_lock(&all);
    if (runs) {
        fprintf(stderr, "%s is called while a kernel runs\n", name);
        abort();
    }
    if (!*count) *count = count_of(name);
    return (int)++(*count)->calls;
}
static void leave(int *entered) { (void)entered, pthread_mutex_unlock(&all); }
/* At the top of every function: counts the call, and keeps other threads out until it returns. */
#define CALLED() static Count *mine_; int held_ __attribute__((cleanup(leave), unused)) = enter(&mine_, __func__ + 2)
const char *stand_in_called(int index) { return counts[index].name; }
long stand_in_calls(int index) { return counts[index].calls; }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static CUresult usable(void)
{
    if (!initialised) return 3;
    if (!depth || stack[depth - 1] != &primary || !retained) return INVALID_CONTEXT;
    return sticky;
}
#define NEED_CONTEXT() do { CUresult bad_ = usable(); if (bad_) return bad_; } while (0)

static int find_range(Range *ranges, int count, uintptr_t address)
{
    for (int i = 0; i < count; i++)
        if (ranges[i].address == address) return i;
    return -1;
}

static int inside(uintptr_t address, size_t size)
{
    for (int i = 0; i < live_count; i++)
        if (address >= live[i].address && address + size <= live[i].address + live[i].size) return 1;
    return 0;
}

/* What a stream is to do. Places in a stream count from 1. */
enum { COPY, SET, LAUNCH, RECORD, WAIT };
struct Work {
    int kind;
    uintptr_t to, from;
    size_t size;
    void *snapshot; /* of memory that is not page-locked, which may change once it is queued */
    int launch, value;
    Event *event;
    Stream *other; /* of an event to wait for, and its place there */
    long place;
    Work *next;
};
static Stream *streams;

static void forget(Stream *stream)
{
    for (Work *work = stream->first, *next; work; work = next) {
        next = work->next;
        free(work->snapshot);
        free(work);
    }
    stream->first = stream->last = NULL;
    stream->done = stream->queued;
}

static void drain(Stream *stream, long place);

static void perform(Work *work)
{
    int code;
    switch (work->kind) {
    case COPY: memcpy((void *)work->to, work->snapshot ? work->snapshot : (void *)work->from, work->size); break;
    case SET: memset((void *)work->to, work->value, work->size); break;
    case RECORD: work->event->time = now(); break;
    case WAIT: drain(work->other, work->place); break;
    case LAUNCH:
        runs = 1;
        code = idle ? 0 : run_fn(work->launch);
        runs = 0;
        if (code) sticky = code;
    }
}

/* Does what is in the stream up to a place; after a failure the rest of all streams is dropped. */
static void drain(Stream *stream, long place)
{
    while (stream->done < place && stream->first) {
        Work *work = stream->first;
        stream->first = work->next;
        if (!stream->first) stream->last = NULL;
        stream->done++;
        perform(work);
        free(work->snapshot);
        free(work);
        if (sticky)
            for (Stream *each = streams; each; each = each->next) forget(each);
    }
}
static void drain_all(void)
{
    for (Stream *stream = streams; stream; stream = stream->next) drain(stream, stream->queued);
}

/* The default streams (NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD) keep order with all: what is theirs is done at once. */
static int is_default(Stream *stream) { return (uintptr_t)stream <= 2; }

static long queue(Stream *stream, Work work)
{
    if (is_default(stream)) {
        drain_all();
        if (!sticky) perform(&work);
        free(work.snapshot);
        return 0;
    }
    Work *made = malloc(sizeof *made);
    *made = work;
    made->next = NULL;
    if (stream->last) stream->last->next = made; else stream->first = made;
    stream->last = made;
    return ++stream->queued;
}

static int is_pinned(uintptr_t address, size_t size)
{
    for (int i = 0; i < pinned_count; i++)
        if (address >= pinned[i].address && address + size <= pinned[i].address + pinned[i].size) return 1;
    return 0;
}

static CUresult f_cuInit(unsigned flags) { CALLED(); initialised = 1; return flags ? INVALID_VALUE : OK; }
static CUresult f_cuDriverGetVersion(int *version) { CALLED(); *version = 13000; return OK; }
static CUresult f_cuDeviceGetCount(int *count) { CALLED(); *count = 1; return OK; }
static CUresult f_cuDeviceGet(int *device, int ordinal)
{
    CALLED();
    if (ordinal != 0) return INVALID_DEVICE;
    *device = 0;
    return OK;
}
static CUresult f_cuDeviceGetName(char *name, int length, int device)
{
    CALLED();
    if (device) return INVALID_DEVICE;
    snprintf(name, length, "Stand-in GPU");
    return OK;
}
static CUresult f_cuDeviceGetAttribute(int *value, int attribute, int device)
{
    CALLED();
    if (device) return INVALID_DEVICE;
    switch (attribute) {
    case 16: *value = 4; return OK;           /* MULTIPROCESSOR_COUNT */
    case 75: *value = 9; return OK;           /* COMPUTE_CAPABILITY_MAJOR */
    case 76: *value = 0; return OK;           /* COMPUTE_CAPABILITY_MINOR */
    case 97: *value = 227 * 1024; return OK;  /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    }
    return INVALID_VALUE;
}
static CUresult f_cuDeviceTotalMem(size_t *size, int device) { CALLED(); *size = MEMORY_LIMIT; return device ? INVALID_DEVICE : OK; }

static CUresult f_cuDevicePrimaryCtxRetain(Context **context, int device)
{
    CALLED();
    if (device) return INVALID_DEVICE;
    retained++;
    primary.magic = CONTEXT;
    *context = &primary;
    return OK;
}
static CUresult f_cuDevicePrimaryCtxRelease(int device)
{
    CALLED();
    if (device || !retained) return INVALID_CONTEXT;
    retained--;
    return OK;
}
static CUresult f_cuDevicePrimaryCtxReset(int device)
{
    CALLED();
    if (device) return INVALID_DEVICE;
    for (Stream *stream = streams; stream; stream = stream->next) forget(stream);
    for (int i = 0; i < live_count; i++) free((void *)live[i].address);
    live_count = pinned_count = live_events = live_streams = live_modules = 0;
    generation++;
    if (!unrecoverable) sticky = 0;
    return OK;
}
static CUresult f_cuCtxPushCurrent(Context *context)
{
    CALLED();
    if (!context || context->magic != CONTEXT) return INVALID_CONTEXT;
    if (depth == MAX_STACK) return OUT_OF_MEMORY;
    stack[depth++] = context;
    return OK;
}
static CUresult f_cuCtxPopCurrent(Context **context)
{
    CALLED();
    if (!depth) return INVALID_CONTEXT;
    *context = stack[--depth];
    return OK;
}
static CUresult f_cuCtxSynchronize(void)
{
    CALLED();
    NEED_CONTEXT();
    drain_all();
    return sticky;
}

static CUresult f_cuMemAlloc(uintptr_t *address, size_t size)
{
    CALLED();
    NEED_CONTEXT();
    if (!size) return INVALID_VALUE;
    if (size > MEMORY_LIMIT || live_count == MAX_LIVE) return OUT_OF_MEMORY;
    void *memory = aligned_alloc(256, (size + 255) / 256 * 256);
    if (!memory) return OUT_OF_MEMORY;
    memset(memory, 0xAB, size);
    live[live_count].address = *address = (uintptr_t)memory;
    live[live_count++].size = size;
    return OK;
}
static CUresult f_cuMemFree(uintptr_t address)
{
    CALLED();
    NEED_CONTEXT();
    int at = find_range(live, live_count, address);
    if (at < 0) return INVALID_VALUE;
    drain_all();
    free((void *)address);
    live[at] = live[--live_count];
    return OK;
}
static CUresult check_stream(Stream *stream)
{
    if (is_default(stream)) return OK;
    if (stream->magic != STREAM || stream->generation != generation) return INVALID_HANDLE;
    return OK;
}
static CUresult f_cuMemsetD8Async(uintptr_t address, unsigned char value, size_t size, Stream *stream)
{
    CALLED();
    NEED_CONTEXT();
    if (check_stream(stream)) return INVALID_HANDLE;
    if (!inside(address, size)) return INVALID_VALUE;
    queue(stream, (Work){.kind = SET, .to = address, .size = size, .value = value});
    return OK;
}
static CUresult f_cuMemsetD8(uintptr_t address, unsigned char value, size_t size)
{
    CALLED();
    return f_cuMemsetD8Async(address, value, size, NULL);
}
static CUresult f_cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    CALLED();
    NEED_CONTEXT();
    *total = *free_bytes = MEMORY_LIMIT;
    for (int i = 0; i < live_count; i++) *free_bytes -= live[i].size;
    return OK;
}
static int on_device(uintptr_t address, size_t size)
{
    return inside(address, size) || global_fn(-1, NULL, &address, &size);
}
static CUresult f_cuMemcpyHtoDAsync(uintptr_t to, const void *from, size_t size, Stream *stream)
{
    CALLED();
    NEED_CONTEXT();
    if (check_stream(stream)) return INVALID_HANDLE;
    if (!on_device(to, size)) return INVALID_VALUE;
    Work work = {.kind = COPY, .to = to, .from = (uintptr_t)from, .size = size};
    if (!is_pinned(work.from, size)) work.snapshot = memcpy(malloc(size), from, size);
    queue(stream, work);
    return OK;
}
static CUresult f_cuMemcpyDtoHAsync(void *to, uintptr_t from, size_t size, Stream *stream)
{
    CALLED();
    NEED_CONTEXT();
    if (check_stream(stream)) return INVALID_HANDLE;
    if (!on_device(from, size)) return INVALID_VALUE;
    long place = queue(stream, (Work){.kind = COPY, .to = (uintptr_t)to, .from = from, .size = size});
    if (!is_default(stream) && !is_pinned((uintptr_t)to, size)) drain(stream, place);
    return OK; /* behind a failing kernel: reported later */
}
static CUresult f_cuMemcpyDtoDAsync(uintptr_t to, uintptr_t from, size_t size, Stream *stream)
{
    CALLED();
    NEED_CONTEXT();
    if (check_stream(stream)) return INVALID_HANDLE;
    if (!on_device(to, size) || !on_device(from, size)) return INVALID_VALUE;
    queue(stream, (Work){.kind = COPY, .to = to, .from = from, .size = size});
    return OK;
}
static CUresult f_cuMemcpyHtoD(uintptr_t to, const void *from, size_t size)
{
    CALLED();
    CUresult bad = f_cuMemcpyHtoDAsync(to, from, size, NULL);
    return bad ? bad : sticky;
}
static CUresult f_cuMemcpyDtoH(void *to, uintptr_t from, size_t size)
{
    CALLED();
    CUresult bad = f_cuMemcpyDtoHAsync(to, from, size, NULL);
    return bad ? bad : sticky;
}
static CUresult f_cuMemHostRegister(void *address, size_t size, unsigned flags)
{
    CALLED();
    NEED_CONTEXT();
    if (find_range(pinned, pinned_count, (uintptr_t)address) >= 0) return ALREADY_REGISTERED;
    if (flags & ~1u) return INVALID_VALUE;
    pinned[pinned_count].address = (uintptr_t)address;
    pinned[pinned_count++].size = size;
    return OK;
}
static CUresult f_cuMemHostUnregister(void *address)
{
    CALLED();
    NEED_CONTEXT();
    int at = find_range(pinned, pinned_count, (uintptr_t)address);
    if (at < 0) return NOT_REGISTERED;
    drain_all();
    pinned[at] = pinned[--pinned_count];
    return OK;
}

static CUresult f_cuModuleLoadDataEx(Module **module, const void *image, unsigned count, int *options, void **values)
{
    CALLED();
    NEED_CONTEXT();
    char *log = NULL;
    unsigned log_size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == 5) log = values[i];
        else if (options[i] == 6) log_size = (unsigned)(uintptr_t)values[i];
        else return INVALID_VALUE;
    }
    int id = load_fn(image, log, log_size);
    if (id < 0) return INVALID_PTX;
    Module *made = calloc(1, sizeof *made);
    made->magic = MODULE;
    made->generation = generation;
    made->id = id;
    live_modules++;
    *module = made;
    return OK;
}
static CUresult f_cuModuleUnload(Module *module)
{
    CALLED();
    NEED_CONTEXT();
    if (!module || module->magic != MODULE || module->generation != generation) return INVALID_HANDLE;
    drain_all();
    module->magic = 0;
    live_modules--;
    return OK;
}
static CUresult f_cuModuleGetFunction(Function **function, Module *module, const char *name)
{
    CALLED();
    NEED_CONTEXT();
    if (!module || module->magic != MODULE || module->generation != generation) return INVALID_HANDLE;
    Function *made = calloc(1, sizeof *made);
    made->magic = FUNCTION;
    made->generation = generation;
    made->module = module->id;
    made->dynamic_limit = 48 * 1024;
    snprintf(made->name, sizeof made->name, "%s", name);
    *function = made;
    return OK;
}
static CUresult f_cuModuleGetGlobal(uintptr_t *address, size_t *size, Module *module, const char *name)
{
    CALLED();
    NEED_CONTEXT();
    if (!module || module->magic != MODULE || module->generation != generation) return INVALID_HANDLE;
    return global_fn(module->id, name, address, size) ? OK : NOT_FOUND;
}
static CUresult f_cuFuncGetAttribute(int *value, int attribute, Function *function)
{
    CALLED();
    NEED_CONTEXT();
    if (attribute != 1 || function->magic != FUNCTION) return INVALID_VALUE; /* SHARED_SIZE_BYTES */
    *value = 0;
    return OK;
}
static CUresult f_cuFuncSetAttribute(Function *function, int attribute, int value)
{
    CALLED();
    NEED_CONTEXT();
    if (attribute != 8 || function->magic != FUNCTION) return INVALID_VALUE; /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
    function->dynamic_limit = value;
    return OK;
}
static CUresult f_cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, unsigned shared, Stream *stream, void **params, void **extra)
{
    CALLED();
    NEED_CONTEXT();
    if (!function || function->magic != FUNCTION || function->generation != generation) return INVALID_HANDLE;
    if (check_stream(stream)) return INVALID_HANDLE;
    if (extra || (int)shared > function->dynamic_limit) return INVALID_VALUE;
    unsigned dims[6] = {gx, gy, gz, bx, by, bz};
    int launch = idle ? 0 : launch_fn(function->module, function->name, dims, shared, params);
    if (launch < 0) return -launch;
    queue(stream, (Work){.kind = LAUNCH, .launch = launch});
    return OK;
}

static CUresult f_cuStreamCreate(Stream **stream, unsigned flags)
{
    CALLED();
    NEED_CONTEXT();
    if (flags > 1) return INVALID_VALUE;
    Stream *made = calloc(1, sizeof *made);
    made->magic = STREAM;
    made->generation = generation;
    made->next = streams;
    streams = made;
    live_streams++;
    *stream = made;
    return OK;
}
static CUresult f_cuStreamDestroy(Stream *stream)
{
    CALLED();
    NEED_CONTEXT();
    if (is_default(stream) || check_stream(stream)) return INVALID_HANDLE;
    drain(stream, stream->queued);
    live_streams--;
    stream->magic = 0;
    return OK;
}
static CUresult f_cuStreamSynchronize(Stream *stream)
{
    CALLED();
    NEED_CONTEXT();
    if (check_stream(stream)) return INVALID_HANDLE;
    if (is_default(stream)) drain_all(); else drain(stream, stream->queued);
    return sticky;
}
static CUresult check_event(Event *event)
{
    return event && event->magic == EVENT && event->generation == generation ? OK : INVALID_HANDLE;
}
static CUresult f_cuStreamWaitEvent(Stream *stream, Event *event, unsigned flags)
{
    CALLED();
    NEED_CONTEXT();
    if (check_stream(stream) || check_event(event) || flags) return INVALID_HANDLE;
    if (event->stream) queue(stream, (Work){.kind = WAIT, .other = event->stream, .place = event->place});
    return OK;
}
static CUresult f_cuEventCreate(Event **event, unsigned flags)
{
    CALLED();
    NEED_CONTEXT();
    if (flags) return INVALID_VALUE;
    Event *made = calloc(1, sizeof *made);
    made->magic = EVENT;
    made->generation = generation;
    live_events++;
    *event = made;
    return OK;
}
static CUresult f_cuEventRecord(Event *event, Stream *stream)
{
    CALLED();
    NEED_CONTEXT();
    if (check_event(event) || check_stream(stream)) return INVALID_HANDLE;
    event->queued = now();
    event->recorded = 1;
    event->stream = is_default(stream) ? NULL : stream;
    event->place = queue(stream, (Work){.kind = RECORD, .event = event});
    return OK;
}
static int reached(Event *event) { return !event->stream || event->stream->done >= event->place; }
static CUresult f_cuEventQuery(Event *event)
{
    CALLED();
    NEED_CONTEXT();
    if (check_event(event)) return INVALID_HANDLE;
    if (event->recorded && now() < event->queued + 200e-6) return NOT_READY; /* as if work took its time */
    if (event->recorded && !reached(event)) drain(event->stream, event->place);
    return sticky;
}
static CUresult f_cuEventElapsedTime(float *milliseconds, Event *start, Event *end)
{
    CALLED();
    NEED_CONTEXT();
    if (check_event(start) || check_event(end) || !start->recorded || !end->recorded) return INVALID_HANDLE;
    if (!reached(start) || !reached(end)) return NOT_READY;
    *milliseconds = (float)((end->time - start->time) * 1e3);
    return OK;
}
static CUresult f_cuEventDestroy(Event *event)
{
    CALLED();
    NEED_CONTEXT();
    if (check_event(event)) return INVALID_HANDLE;
    live_events--;
    event->magic = 0;
    return OK;
}
static CUresult f_cuGetErrorName(CUresult code, const char **text)
{
    CALLED();
    static __thread char name[64];
    const char *known = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
                      : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 218 ? "CUDA_ERROR_INVALID_PTX" : NULL;
    if (!known) snprintf(name, sizeof name, "CUDA_ERROR_%d", code);
    *text = known ? known : name;
    return OK;
}
static CUresult f_cuGetErrorString(CUresult code, const char **text)
{
    CALLED();
    *text = code ? "as the stand-in says" : "no error";
    return OK;
}

#define ENTRY(name) { #name, (void *)f_##name }
static struct { const char *name; void *function; } table[] = {
    ENTRY(cuInit), ENTRY(cuDriverGetVersion), ENTRY(cuDeviceGetCount), ENTRY(cuDeviceGet), ENTRY(cuDeviceGetName),
    ENTRY(cuDeviceGetAttribute), ENTRY(cuDeviceTotalMem), ENTRY(cuDevicePrimaryCtxRetain),
    ENTRY(cuDevicePrimaryCtxRelease), ENTRY(cuDevicePrimaryCtxReset), ENTRY(cuCtxPushCurrent),
    ENTRY(cuCtxPopCurrent), ENTRY(cuCtxSynchronize), ENTRY(cuMemAlloc), ENTRY(cuMemFree), ENTRY(cuMemsetD8), ENTRY(cuMemsetD8Async),
    ENTRY(cuMemGetInfo),
    ENTRY(cuMemcpyHtoD), ENTRY(cuMemcpyDtoH), ENTRY(cuMemcpyHtoDAsync), ENTRY(cuMemcpyDtoHAsync),
    ENTRY(cuMemcpyDtoDAsync), ENTRY(cuMemHostRegister), ENTRY(cuMemHostUnregister), ENTRY(cuModuleLoadDataEx), ENTRY(cuModuleUnload), ENTRY(cuModuleGetFunction),
    ENTRY(cuModuleGetGlobal), ENTRY(cuFuncGetAttribute), ENTRY(cuFuncSetAttribute), ENTRY(cuLaunchKernel),
    ENTRY(cuStreamCreate), ENTRY(cuStreamDestroy), ENTRY(cuStreamSynchronize), ENTRY(cuStreamWaitEvent),
    ENTRY(cuEventCreate), ENTRY(cuEventRecord), ENTRY(cuEventQuery), ENTRY(cuEventElapsedTime),
    ENTRY(cuEventDestroy), ENTRY(cuGetErrorName), ENTRY(cuGetErrorString),
};

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status)
{
    (void)version, (void)flags;
    *function = NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(symbol, table[i].name)) *function = table[i].function;
    if (!strcmp(symbol, "cuGetProcAddress")) *function = (void *)cuGetProcAddress_v2;
    if (status) *status = *function ? 0 : 1;
    return *function ? OK : NOT_FOUND;
}
CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
