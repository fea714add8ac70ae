// The runtime interface's memory calls, to operations of the device.
#include "api.h"

using namespace drawloom;

namespace {

constexpr size_t kPitchAlignment = 512;

cudaError_t allocate(void **memory, size_t size, Memory kind) {
  if (!memory) return note(cudaErrorInvalidValue);
  return on_device([&](Device &d) {
    if (cudaError_t error = Captures::forbid_unsafe()) return error;
    if (size) return d.allocate(memory, size, kind);
    *memory = nullptr;
    return cudaSuccess;
  });
}

cudaError_t copy_or_capture(Device &d, const Rows &rows, cudaStream_t stream, bool asynchronous) {
  if (!asynchronous) {
    cudaError_t error = Captures::forbid_synchronous();
    return error ? error : d.copy(rows, stream, false);
  }
  return give_or_capture(stream, [&] { return d.copy(rows, stream, true); }, [&](Operation &out) {
    out = Operation::copy_of(rows);
    return cudaSuccess;
  });
}

cudaError_t copy(const Rows &rows, cudaStream_t stream, bool asynchronous) {
  return on_device([&](Device &d) {
    if (rows.kind < cudaMemcpyHostToHost || rows.kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (rows.width > rows.to_pitch || rows.width > rows.from_pitch) return cudaErrorInvalidPitchValue;
    if (!rows.width || !rows.height) return cudaSuccess;
    if (!rows.to || !rows.from) return cudaErrorInvalidValue;
    return copy_or_capture(d, rows, stream, asynchronous);
  });
}

cudaError_t fill(void *memory, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream,
                 bool asynchronous) {
  return on_device([&](Device &d) {
    if (width > pitch) return cudaErrorInvalidPitchValue;
    if (!width || !height) return cudaSuccess;
    if (!memory) return cudaErrorInvalidValue;
    auto now = [&] { return d.fill(memory, pitch, value, width, height, stream, asynchronous); };
    if (!asynchronous) {
      cudaError_t error = Captures::forbid_synchronous();
      return error ? error : now();
    }
    return give_or_capture(stream, now, [&](Operation &out) {
      out = Operation::fill_of(memory, pitch, value, width, height);
      return cudaSuccess;
    });
  });
}

// Calls `use` with the address of `size` bytes at `offset` of a device variable.
template <class F> cudaError_t with_symbol(const void *host, size_t offset, size_t size, F use) {
  return on_device([&](Device &d) {
    Symbol *symbol = symbol_of(host);
    if (!symbol) return cudaErrorInvalidSymbol;
    void *memory = nullptr;
    if (cudaError_t error = d.address(*symbol, &memory)) return error;
    if (offset > symbol->size || size > symbol->size - offset) return cudaErrorInvalidValue;
    return use(d, static_cast<char *>(memory) + offset);
  });
}

cudaError_t to_symbol(const void *symbol, const void *from, size_t size, size_t offset, cudaMemcpyKind kind,
                      cudaStream_t stream, bool asynchronous) {
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return note(cudaErrorInvalidMemcpyDirection);
  return with_symbol(symbol, offset, size, [&](Device &d, char *to) {
    return size ? copy_or_capture(d, {to, size, from, size, size, 1, kind}, stream, asynchronous) : cudaSuccess;
  });
}

cudaError_t from_symbol(void *to, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind,
                        cudaStream_t stream, bool asynchronous) {
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return note(cudaErrorInvalidMemcpyDirection);
  return with_symbol(symbol, offset, size, [&](Device &d, char *from) {
    return size ? copy_or_capture(d, {to, size, from, size, size, 1, kind}, stream, asynchronous) : cudaSuccess;
  });
}

// Slices one after the other: `extent` is in bytes, rows and slices, the distance of slices that of `ysize` rows.
template <class F> cudaError_t slices(const cudaExtent &extent, F use) {
  for (size_t z = 0; z < extent.depth; ++z)
    if (cudaError_t error = use(z)) return error;
  return cudaSuccess;
}

size_t place(const cudaPitchedPtr &memory, const cudaPos &at, size_t z) {
  return ((at.z + z) * memory.ysize + at.y) * memory.pitch + at.x;
}

cudaError_t copy_3d(const cudaMemcpy3DParms *what, cudaStream_t stream, bool asynchronous) {
  if (!what) return note(cudaErrorInvalidValue);
  if (what->srcArray || what->dstArray) return note(cudaErrorNotSupported);
  const cudaPitchedPtr &from = what->srcPtr, &to = what->dstPtr;
  return slices(what->extent, [&](size_t z) {
    return copy({static_cast<char *>(to.ptr) + place(to, what->dstPos, z), to.pitch,
                 static_cast<const char *>(from.ptr) + place(from, what->srcPos, z), from.pitch, what->extent.width,
                 what->extent.height, what->kind}, stream, asynchronous);
  });
}

cudaError_t fill_3d(const cudaPitchedPtr &memory, int value, const cudaExtent &extent, cudaStream_t stream,
                    bool asynchronous) {
  return slices(extent, [&](size_t z) {
    return fill(static_cast<char *>(memory.ptr) + place(memory, {0, 0, 0}, z), memory.pitch, value, extent.width,
                extent.height, stream, asynchronous);
  });
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void **memory, size_t size) { return allocate(memory, size, Memory::device); }
cudaError_t cudaMallocAsync(void **memory, size_t size, cudaStream_t stream) {
  if (!memory) return note(cudaErrorInvalidValue);
  return on_device([&](Device &d) {
    auto now = [&] {
      *memory = nullptr;
      return size ? d.allocate(memory, size, Memory::device) : cudaSuccess;
    };
    return give_or_capture(stream, now, [&](Operation &out) {
      cudaError_t error;
      out.type = cudaGraphNodeTypeMemAlloc;
      out.memory = allocate_graph_memory(d, size, error);
      if (!error) *memory = out.memory->address;
      return error;
    });
  });
}
cudaError_t cudaMallocHost(void **memory, size_t size) { return allocate(memory, size, Memory::pinned); }
cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned int) { return allocate(memory, size, Memory::pinned); }
cudaError_t cudaMallocManaged(void **memory, size_t size, unsigned int flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return note(cudaErrorInvalidValue);
  if (!size) return note(cudaErrorInvalidValue);
  return allocate(memory, size, Memory::managed);
}

cudaError_t cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t height) {
  if (!pitch) return note(cudaErrorInvalidValue);
  *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  return allocate(memory, *pitch * height, Memory::device);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr *memory, cudaExtent extent) {
  if (!memory) return note(cudaErrorInvalidValue);
  *memory = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaFree(void *memory) {
  if (cudaError_t error = Captures::forbid_unsafe()) return note(error);
  return on_device([&](Device &d) {
    return memory && !free_graph_memory(memory) ? d.release(memory, false) : cudaSuccess;
  });
}
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
  return on_device([&](Device &d) {
    if (!memory) return cudaErrorInvalidValue;
    auto now = [&] {
      cudaError_t error = d.synchronize(stream);
      return error || free_graph_memory(memory) ? error : d.release(memory, false);
    };
    return give_or_capture(stream, now, [&](Operation &out) {
      out.type = cudaGraphNodeTypeMemFree;
      out.freed = memory;
      return cudaSuccess;
    });
  });
}
cudaError_t cudaFreeHost(void *memory) {
  if (cudaError_t error = Captures::forbid_unsafe()) return note(error);
  return on_device([&](Device &d) { return memory ? d.release(memory, true) : cudaSuccess; });
}

cudaError_t cudaHostRegister(void *memory, size_t size, unsigned int) {
  return on_device([&](Device &d) { return memory && size ? d.register_host(memory, size) : cudaErrorInvalidValue; });
}
cudaError_t cudaHostUnregister(void *memory) {
  return on_device([&](Device &d) { return memory ? d.unregister_host(memory) : cudaErrorInvalidValue; });
}
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int) {
  return on_device([&](Device &d) {
    cudaPointerAttributes found;
    if (!device) return cudaErrorInvalidValue;
    if (cudaError_t error = d.attributes(found, host)) return error;
    if (found.type == cudaMemoryTypeUnregistered || found.type == cudaMemoryTypeDevice) return cudaErrorInvalidValue;
    *device = found.devicePointer;
    return cudaSuccess;
  });
}
cudaError_t cudaHostGetFlags(unsigned int *flags, void *host) {
  return on_device([&](Device &d) {
    cudaPointerAttributes found;
    if (cudaError_t error = d.attributes(found, host)) return error;
    if (!flags || found.type != cudaMemoryTypeHost) return cudaErrorInvalidValue;
    *flags = cudaHostAllocMapped;
    return cudaSuccess;
  });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *memory) {
  return on_device([&](Device &d) { return attributes ? d.attributes(*attributes, memory) : cudaErrorInvalidValue; });
}
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  return on_device([&](Device &d) {
    return available && total ? d.memory_info(*available, *total) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind kind) {
  return copy({to, size, from, size, size, 1, kind}, nullptr, false);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy({to, size, from, size, size, 1, kind}, stream, true);
}
cudaError_t cudaMemcpyPeer(void *to, int, const void *from, int, size_t size) {
  return copy({to, size, from, size, size, 1, cudaMemcpyDeviceToDevice}, nullptr, false);
}
cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t size, cudaStream_t stream) {
  return copy({to, size, from, size, size, 1, cudaMemcpyDeviceToDevice}, stream, true);
}
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  return copy({to, to_pitch, from, from_pitch, width, height, kind}, nullptr, false);
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy({to, to_pitch, from, from_pitch, width, height, kind}, stream, true);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *what) { return copy_3d(what, nullptr, false); }
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *what, cudaStream_t stream) { return copy_3d(what, stream, true); }

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset, cudaMemcpyKind kind) {
  return to_symbol(symbol, from, size, offset, kind, nullptr, false);
}
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind) {
  return from_symbol(to, symbol, size, offset, kind, nullptr, false);
}
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return to_symbol(symbol, from, size, offset, kind, stream, true);
}
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return from_symbol(to, symbol, size, offset, kind, stream, true);
}
cudaError_t cudaGetSymbolAddress(void **memory, const void *symbol) {
  if (!memory) return note(cudaErrorInvalidValue);
  return with_symbol(symbol, 0, 0, [&](Device &, char *found) {
    *memory = found;
    return cudaSuccess;
  });
}
cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
  if (!size) return note(cudaErrorInvalidValue);
  return with_symbol(symbol, 0, 0, [&](Device &, char *) {
    *size = symbol_of(symbol)->size;
    return cudaSuccess;
  });
}

cudaError_t cudaMemset(void *memory, int value, size_t size) {
  return fill(memory, size, value, size, 1, nullptr, false);
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream) {
  return fill(memory, size, value, size, 1, stream, true);
}
cudaError_t cudaMemset2D(void *memory, size_t pitch, int value, size_t width, size_t height) {
  return fill(memory, pitch, value, width, height, nullptr, false);
}
cudaError_t cudaMemset2DAsync(void *memory, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return fill(memory, pitch, value, width, height, stream, true);
}
cudaError_t cudaMemset3D(cudaPitchedPtr memory, int value, cudaExtent extent) {
  return fill_3d(memory, value, extent, nullptr, false);
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr memory, int value, cudaExtent extent, cudaStream_t stream) {
  return fill_3d(memory, value, extent, stream, true);
}

// Advice about where managed memory had best be: the driver moves it by itself.
cudaError_t cudaMemPrefetchAsync(const void *memory, size_t, int, cudaStream_t) {
  return on_device([&](Device &d) {
    cudaPointerAttributes found;
    if (cudaError_t error = d.attributes(found, memory)) return error;
    return found.type == cudaMemoryTypeManaged ? cudaSuccess : cudaErrorInvalidValue;
  });
}
cudaError_t cudaMemAdvise(const void *memory, size_t size, cudaMemoryAdvise, int device) {
  return cudaMemPrefetchAsync(memory, size, device, nullptr);
}
}
