/* A stand-in for libcuda.so.1: the driver functions that the runtime calls, over host memory, with the checks
 * that a driver makes (a current context, live handles, ranges) and its sticky errors. Kernels are compiled and
 * run by callbacks that stand_in_driver.py sets. Work on a stream is done when it is queued.
 */
#define _GNU_SOURCE
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
typedef struct { int magic; int generation; double time; int recorded; } Event;
typedef struct { int magic; int generation; } Stream;
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
typedef int (*GlobalFn)(int module, const char *name, uintptr_t *address, size_t *size);
static LoadFn load_fn;
static LaunchFn launch_fn;
static GlobalFn global_fn;

void stand_in_callbacks(LoadFn load, LaunchFn launch, GlobalFn global)
{
    load_fn = load;
    launch_fn = launch;
    global_fn = global;
}

static int idle;
void stand_in_idle(int value) { idle = value; } /* launches do nothing: what they cost the caller can be measured */
void stand_in_unrecoverable(int value) { unrecoverable = value; if (!value) sticky = 0; }
int stand_in_live_allocations(void) { return live_count; }
int stand_in_live_events(void) { return live_events; }
int stand_in_live_streams(void) { return live_streams; }
int stand_in_live_modules(void) { return live_modules; }
int stand_in_pinned(void) { return pinned_count; }
int stand_in_generation(void) { return generation; }
uintptr_t stand_in_address(int index) { return live[index].address; }
size_t stand_in_size(int index) { return live[index].size; }

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

static CUresult f_cuInit(unsigned flags) { initialised = 1; return flags ? INVALID_VALUE : OK; }
static CUresult f_cuDriverGetVersion(int *version) { *version = 13000; return OK; }
static CUresult f_cuDeviceGetCount(int *count) { *count = 1; return OK; }
static CUresult f_cuDeviceGet(int *device, int ordinal)
{
    if (ordinal != 0) return INVALID_DEVICE;
    *device = 0;
    return OK;
}
static CUresult f_cuDeviceGetName(char *name, int length, int device)
{
    if (device) return INVALID_DEVICE;
    snprintf(name, length, "Stand-in GPU");
    return OK;
}
static CUresult f_cuDeviceGetAttribute(int *value, int attribute, int device)
{
    if (device) return INVALID_DEVICE;
    switch (attribute) {
    case 16: *value = 4; return OK;           /* MULTIPROCESSOR_COUNT */
    case 75: *value = 9; return OK;           /* COMPUTE_CAPABILITY_MAJOR */
    case 76: *value = 0; return OK;           /* COMPUTE_CAPABILITY_MINOR */
    case 97: *value = 227 * 1024; return OK;  /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    }
    return INVALID_VALUE;
}
static CUresult f_cuDeviceTotalMem(size_t *size, int device) { *size = MEMORY_LIMIT; return device ? INVALID_DEVICE : OK; }

static CUresult f_cuDevicePrimaryCtxRetain(Context **context, int device)
{
    if (device) return INVALID_DEVICE;
    retained++;
    primary.magic = CONTEXT;
    *context = &primary;
    return OK;
}
static CUresult f_cuDevicePrimaryCtxRelease(int device)
{
    if (device || !retained) return INVALID_CONTEXT;
    retained--;
    return OK;
}
static CUresult f_cuDevicePrimaryCtxReset(int device)
{
    if (device) return INVALID_DEVICE;
    for (int i = 0; i < live_count; i++) free((void *)live[i].address);
    live_count = pinned_count = live_events = live_streams = live_modules = 0;
    generation++;
    if (!unrecoverable) sticky = 0;
    return OK;
}
static CUresult f_cuCtxPushCurrent(Context *context)
{
    if (!context || context->magic != CONTEXT) return INVALID_CONTEXT;
    if (depth == MAX_STACK) return OUT_OF_MEMORY;
    stack[depth++] = context;
    return OK;
}
static CUresult f_cuCtxPopCurrent(Context **context)
{
    if (!depth) return INVALID_CONTEXT;
    *context = stack[--depth];
    return OK;
}
static CUresult f_cuCtxSynchronize(void) { NEED_CONTEXT(); return OK; }

static CUresult f_cuMemAlloc(uintptr_t *address, size_t size)
{
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
    NEED_CONTEXT();
    int at = find_range(live, live_count, address);
    if (at < 0) return INVALID_VALUE;
    free((void *)address);
    live[at] = live[--live_count];
    return OK;
}
static CUresult f_cuMemsetD8(uintptr_t address, unsigned char value, size_t size)
{
    NEED_CONTEXT();
    if (!inside(address, size)) return INVALID_VALUE;
    memset((void *)address, value, size);
    return OK;
}
static CUresult f_cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    NEED_CONTEXT();
    *total = *free_bytes = MEMORY_LIMIT;
    for (int i = 0; i < live_count; i++) *free_bytes -= live[i].size;
    return OK;
}
static CUresult f_cuMemcpyHtoD(uintptr_t to, const void *from, size_t size)
{
    NEED_CONTEXT();
    if (!inside(to, size) && !global_fn(-1, NULL, &to, &size)) return INVALID_VALUE;
    memcpy((void *)to, from, size);
    return OK;
}
static CUresult f_cuMemcpyDtoH(void *to, uintptr_t from, size_t size)
{
    NEED_CONTEXT();
    if (!inside(from, size) && !global_fn(-1, NULL, &from, &size)) return INVALID_VALUE;
    memcpy(to, (void *)from, size);
    return OK;
}
static CUresult check_stream(Stream *stream)
{
    if ((uintptr_t)stream <= 2) return OK; /* the default streams: NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD */
    if (stream->magic != STREAM || stream->generation != generation) return INVALID_HANDLE;
    return OK;
}
static CUresult f_cuMemcpyHtoDAsync(uintptr_t to, const void *from, size_t size, Stream *stream)
{
    CUresult bad = check_stream(stream);
    return bad ? bad : f_cuMemcpyHtoD(to, from, size);
}
static CUresult f_cuMemcpyDtoHAsync(void *to, uintptr_t from, size_t size, Stream *stream)
{
    CUresult bad = check_stream(stream);
    if (bad) return bad;
    bad = f_cuMemcpyDtoH(to, from, size);
    return sticky ? OK : bad; /* queued behind a failing kernel: reported later */
}
static CUresult f_cuMemcpyDtoDAsync(uintptr_t to, uintptr_t from, size_t size, Stream *stream)
{
    CUresult bad = check_stream(stream);
    if (bad) return bad;
    if (!inside(from, size)) return INVALID_VALUE;
    return f_cuMemcpyHtoD(to, (void *)from, size);
}
static CUresult f_cuMemHostRegister(void *address, size_t size, unsigned flags)
{
    NEED_CONTEXT();
    if (find_range(pinned, pinned_count, (uintptr_t)address) >= 0) return ALREADY_REGISTERED;
    if (flags & ~1u) return INVALID_VALUE;
    pinned[pinned_count].address = (uintptr_t)address;
    pinned[pinned_count++].size = size;
    return OK;
}
static CUresult f_cuMemHostUnregister(void *address)
{
    NEED_CONTEXT();
    int at = find_range(pinned, pinned_count, (uintptr_t)address);
    if (at < 0) return NOT_REGISTERED;
    pinned[at] = pinned[--pinned_count];
    return OK;
}

static CUresult f_cuModuleLoadDataEx(Module **module, const void *image, unsigned count, int *options, void **values)
{
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
    NEED_CONTEXT();
    if (!module || module->magic != MODULE || module->generation != generation) return INVALID_HANDLE;
    module->magic = 0;
    live_modules--;
    return OK;
}
static CUresult f_cuModuleGetFunction(Function **function, Module *module, const char *name)
{
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
    NEED_CONTEXT();
    if (!module || module->magic != MODULE || module->generation != generation) return INVALID_HANDLE;
    return global_fn(module->id, name, address, size) ? OK : NOT_FOUND;
}
static CUresult f_cuFuncGetAttribute(int *value, int attribute, Function *function)
{
    NEED_CONTEXT();
    if (attribute != 1 || function->magic != FUNCTION) return INVALID_VALUE; /* SHARED_SIZE_BYTES */
    *value = 0;
    return OK;
}
static CUresult f_cuFuncSetAttribute(Function *function, int attribute, int value)
{
    NEED_CONTEXT();
    if (attribute != 8 || function->magic != FUNCTION) return INVALID_VALUE; /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
    function->dynamic_limit = value;
    return OK;
}
static CUresult f_cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, unsigned shared, Stream *stream, void **params, void **extra)
{
    NEED_CONTEXT();
    if (!function || function->magic != FUNCTION || function->generation != generation) return INVALID_HANDLE;
    if (check_stream(stream)) return INVALID_HANDLE;
    if (extra || (int)shared > function->dynamic_limit) return INVALID_VALUE;
    unsigned dims[6] = {gx, gy, gz, bx, by, bz};
    int code = idle ? 0 : launch_fn(function->module, function->name, dims, shared, params);
    if (code == OUT_OF_RESOURCES) return code;
    sticky = code;
    return OK;
}

static CUresult f_cuStreamCreate(Stream **stream, unsigned flags)
{
    NEED_CONTEXT();
    if (flags > 1) return INVALID_VALUE;
    Stream *made = calloc(1, sizeof *made);
    made->magic = STREAM;
    made->generation = generation;
    live_streams++;
    *stream = made;
    return OK;
}
static CUresult f_cuStreamDestroy(Stream *stream)
{
    NEED_CONTEXT();
    if ((uintptr_t)stream <= 2 || check_stream(stream)) return INVALID_HANDLE;
    live_streams--;
    stream->magic = 0;
    return OK;
}
static CUresult f_cuStreamSynchronize(Stream *stream)
{
    NEED_CONTEXT();
    return check_stream(stream);
}
static CUresult check_event(Event *event)
{
    return event && event->magic == EVENT && event->generation == generation ? OK : INVALID_HANDLE;
}
static CUresult f_cuStreamWaitEvent(Stream *stream, Event *event, unsigned flags)
{
    NEED_CONTEXT();
    return check_stream(stream) || check_event(event) || flags ? INVALID_HANDLE : OK;
}
static CUresult f_cuEventCreate(Event **event, unsigned flags)
{
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
    if (sticky) return OK; /* queued behind a failing kernel */
    NEED_CONTEXT();
    if (check_event(event) || check_stream(stream)) return INVALID_HANDLE;
    event->time = now();
    event->recorded = 1;
    return OK;
}
static CUresult f_cuEventQuery(Event *event)
{
    NEED_CONTEXT();
    if (check_event(event)) return INVALID_HANDLE;
    return event->recorded && now() < event->time + 200e-6 ? NOT_READY : OK; /* as if work took its time */
}
static CUresult f_cuEventElapsedTime(float *milliseconds, Event *start, Event *end)
{
    NEED_CONTEXT();
    if (check_event(start) || check_event(end) || !start->recorded || !end->recorded) return INVALID_HANDLE;
    *milliseconds = (float)((end->time - start->time) * 1e3);
    return OK;
}
static CUresult f_cuEventDestroy(Event *event)
{
    NEED_CONTEXT();
    if (check_event(event)) return INVALID_HANDLE;
    live_events--;
    event->magic = 0;
    return OK;
}
static CUresult f_cuGetErrorName(CUresult code, const char **text)
{
    static __thread char name[64];
    const char *known = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
                      : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 218 ? "CUDA_ERROR_INVALID_PTX" : NULL;
    if (!known) snprintf(name, sizeof name, "CUDA_ERROR_%d", code);
    *text = known ? known : name;
    return OK;
}
static CUresult f_cuGetErrorString(CUresult code, const char **text)
{
    *text = code ? "as the stand-in says" : "no error";
    return OK;
}

#define ENTRY(name) { #name, (void *)f_##name }
static struct { const char *name; void *function; } table[] = {
    ENTRY(cuInit), ENTRY(cuDriverGetVersion), ENTRY(cuDeviceGetCount), ENTRY(cuDeviceGet), ENTRY(cuDeviceGetName),
    ENTRY(cuDeviceGetAttribute), ENTRY(cuDeviceTotalMem), ENTRY(cuDevicePrimaryCtxRetain),
    ENTRY(cuDevicePrimaryCtxRelease), ENTRY(cuDevicePrimaryCtxReset), ENTRY(cuCtxPushCurrent),
    ENTRY(cuCtxPopCurrent), ENTRY(cuCtxSynchronize), ENTRY(cuMemAlloc), ENTRY(cuMemFree), ENTRY(cuMemsetD8), ENTRY(cuMemGetInfo),
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
