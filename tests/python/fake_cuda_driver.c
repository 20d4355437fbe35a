/* A CUDA driver that does nothing but write down how it was called, and answers as the environment
 * says: FAKE_CUDA_<function> is the error code of that function, FAKE_CUDA_LOG the file of its
 * notes. Handles need all 64 bits, so that one cut on its way is seen. With cuda.h on the include
 * path (CPATH) the compiler compares every prototype with NVIDIA's. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(OWN_TYPES) && __has_include(<cudaTypedefs.h>)
#    include <cuda.h>
#else
typedef int CUresult;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUevent_st *CUevent;
typedef int CUstreamCaptureMode;
#    define cuCtxPushCurrent  cuCtxPushCurrent_v2
#    define cuCtxPopCurrent   cuCtxPopCurrent_v2
#    define cuMemHostRegister cuMemHostRegister_v2
#endif

#define CONTEXT UINT64_C(0xc0ffee0012345678)
#define EVENT   UINT64_C(0xe0e0e0e011112222)

static int mode;    /* of stream capture, of the only thread */
static int current; /* contexts on the stack */

static CUresult note(const char *name, const char *format, uint64_t a, uint64_t b, uint64_t c)
{
    FILE *log = fopen(getenv("FAKE_CUDA_LOG"), "a");
    if (log == NULL) {
        abort();
    }
    fprintf(log, "%s mode=%d current=%d ", name, mode, current);
    fprintf(log, format, (unsigned long long)a, (unsigned long long)b, (unsigned long long)c);
    fputc('\n', log);
    fclose(log);
    char key[80];
    snprintf(key, sizeof key, "FAKE_CUDA_%s", name);
    const char *answer = getenv(key);
    return (CUresult)(answer != NULL ? atoi(answer) : 0);
}

CUresult cuInit(unsigned int flags)
{
    return note("cuInit", "%llx", flags, 0, 0);
}

CUresult cuDeviceGetCount(int *count)
{
    *count = 2;
    return note("cuDeviceGetCount", "", 0, 0, 0);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
    *flags = 8;
    *active = device == 1;
    return note("cuDevicePrimaryCtxGetState", "%llx", (unsigned)device, 0, 0);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = (CUcontext)CONTEXT; /* NOLINT */
    return note("cuDevicePrimaryCtxRetain", "%llx", (unsigned)device, 0, 0);
}

CUresult cuCtxPushCurrent(CUcontext context)
{
    CUresult code = note("cuCtxPushCurrent", "%llx", (uintptr_t)context, 0, 0);
    current++;
    return code;
}

CUresult cuCtxPopCurrent(CUcontext *context)
{
    *context = (CUcontext)CONTEXT; /* NOLINT */
    current--;
    return note("cuCtxPopCurrent", "", 0, 0, 0);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *other)
{
    int was = mode;
    mode = (int)*other;
    *other = (CUstreamCaptureMode)was;
    return 0;
}

CUresult cuMemHostRegister(void *p, size_t size, unsigned int flags)
{
    return note("cuMemHostRegister", "%llx %llx %llx", (uintptr_t)p, size, flags);
}

CUresult cuMemHostUnregister(void *p)
{
    return note("cuMemHostUnregister", "%llx", (uintptr_t)p, 0, 0);
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    *event = (CUevent)EVENT; /* NOLINT */
    return note("cuEventCreate", "%llx", flags, 0, 0);
}

#ifndef OLD_DRIVER
CUresult cuCtxRecordEvent(CUcontext context, CUevent event)
{
    return note("cuCtxRecordEvent", "%llx %llx", (uintptr_t)context, (uintptr_t)event, 0);
}
#endif

CUresult cuEventQuery(CUevent event)
{
    return note("cuEventQuery", "%llx", (uintptr_t)event, 0, 0);
}

CUresult cuGetErrorName(CUresult error, const char **text)
{
    *text = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : NULL;
    return (CUresult)(error == 700 ? 0 : 1);
}
