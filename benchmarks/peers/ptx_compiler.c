/* The vendor's compiler as a library: PTX text to a cubin that is thrown away; its bytes, or -1 where it refuses. */
#include <nvPTXCompiler.h>
#include <stdlib.h>

long compile_ptx(const char *text, size_t length, const char *arch, const char *level) {
    const char *options[] = {arch, level};
    nvPTXCompilerHandle compiler;
    size_t size = 0;
    long bytes = -1;
    if (nvPTXCompilerCreate(&compiler, length, text) != NVPTXCOMPILE_SUCCESS)
        return -1;
    if (nvPTXCompilerCompile(compiler, 2, options) == NVPTXCOMPILE_SUCCESS &&
        nvPTXCompilerGetCompiledProgramSize(compiler, &size) == NVPTXCOMPILE_SUCCESS) {
        char *image = malloc(size);
        if (image && nvPTXCompilerGetCompiledProgram(compiler, image) == NVPTXCOMPILE_SUCCESS)
            bytes = (long)size;
        free(image);
    }
    nvPTXCompilerDestroy(&compiler);
    return bytes;
}
