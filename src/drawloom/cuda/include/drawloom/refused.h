// Features that are refused: each is declared, so that clang names it at the place of its use.
#pragma once
#include "drawloom/qualifiers.h"

#define __DL_REFUSED(what) __attribute__((unavailable(what " are not supported")))
#define __DL_TEXTURE(name) \
  template <class R = void, class... A> __attribute__((host, device)) R name(A...) __DL_REFUSED("textures");
#define __DL_SURFACE(name) \
  template <class R = void, class... A> __attribute__((host, device)) R name(A...) __DL_REFUSED("surfaces");
template <class T, int kind = 1, int mode = 0> struct __DL_REFUSED("texture references") texture {};
template <class T, int kind = 1> struct __DL_REFUSED("surface references") surface {};
__DL_TEXTURE(tex1D)
__DL_TEXTURE(tex1Dfetch)
__DL_TEXTURE(tex1DLod)
__DL_TEXTURE(tex1DLayered)
__DL_TEXTURE(tex2D)
__DL_TEXTURE(tex2DLod)
__DL_TEXTURE(tex2DLayered)
__DL_TEXTURE(tex2Dgather)
__DL_TEXTURE(tex3D)
__DL_TEXTURE(tex3DLod)
__DL_TEXTURE(texCubemap)
__DL_SURFACE(surf1Dread)
__DL_SURFACE(surf1Dwrite)
__DL_SURFACE(surf2Dread)
__DL_SURFACE(surf2Dwrite)
__DL_SURFACE(surf3Dread)
__DL_SURFACE(surf3Dwrite)
#undef __DL_TEXTURE
#undef __DL_SURFACE
