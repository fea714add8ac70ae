// Minimax polynomials, made by tools/minimax.py; do not edit.
#pragma once

// (exp(u) - 1 - u - u^2/2) / u^3; u from -0.346674 to 0.346674.
__DL_CORE double __dl_poly_exp(double u) {  // relative error 4.7e-17
  double p = 0x1.1f2a497d3dd97p-29;
  p = __builtin_fma(p, u, 0x1.af38abfba2864p-26);
  p = __builtin_fma(p, u, 0x1.27e502b7cfae9p-22);
  p = __builtin_fma(p, u, 0x1.71de0dae787aep-19);
  p = __builtin_fma(p, u, 0x1.a01a0198ab6d7p-16);
  p = __builtin_fma(p, u, 0x1.a01a01a7c3c0bp-13);
  p = __builtin_fma(p, u, 0x1.6c16c16c1811cp-10);
  p = __builtin_fma(p, u, 0x1.11111111109b4p-7);
  p = __builtin_fma(p, u, 0x1.5555555555554p-5);
  p = __builtin_fma(p, u, 0x1.5555555555556p-3);
  return p;
}
__DL_CORE float __dl_poly_expf(float u) {  // relative error 4.7e-8
  float p = 0x1.a088c60000000p-13f;
  p = __builtin_fmaf(p, u, 0x1.6d10fa0000000p-10f);
  p = __builtin_fmaf(p, u, 0x1.11112c0000000p-7f);
  p = __builtin_fmaf(p, u, 0x1.55551a0000000p-5f);
  p = __builtin_fmaf(p, u, 0x1.5555560000000p-3f);
  return p;
}

// (log((1+s)/(1-s)) - 2s) / s^3, u = s^2; u from 0 to 0.0294473.
__DL_CORE double __dl_poly_log(double u) {  // relative error 3.0e-18
  double p = 0x1.0c0839fb601efp-3;
  p = __builtin_fma(p, u, 0x1.0fbe20bd67d9fp-3);
  p = __builtin_fma(p, u, 0x1.3b1c39e7f5256p-3);
  p = __builtin_fma(p, u, 0x1.745cf8ee1f017p-3);
  p = __builtin_fma(p, u, 0x1.c71c720191c13p-3);
  p = __builtin_fma(p, u, 0x1.2492492476aabp-2);
  p = __builtin_fma(p, u, 0x1.9999999999a39p-2);
  p = __builtin_fma(p, u, 0x1.5555555555555p-1);
  return p;
}
__DL_CORE float __dl_poly_logf(float u) {  // relative error 1.7e-9
  float p = 0x1.ddd36e0000000p-3f;
  p = __builtin_fmaf(p, u, 0x1.245c2c0000000p-2f);
  p = __builtin_fmaf(p, u, 0x1.9999ec0000000p-2f);
  p = __builtin_fmaf(p, u, 0x1.5555560000000p-1f);
  return p;
}

// (log((1+s)/(1-s)) - 2s - 2/3 s^3) / s^5, u = s^2; u from 0 to 0.0294473.
__DL_CORE double __dl_poly_log_tail(double u) {  // relative error 3.1e-20
  double p = 0x1.b8d9ea916619bp-4;
  p = __builtin_fma(p, u, 0x1.ac49e48debd00p-4);
  p = __builtin_fma(p, u, 0x1.e1f8020474c2fp-4);
  p = __builtin_fma(p, u, 0x1.1110df961446cp-3);
  p = __builtin_fma(p, u, 0x1.3b13b1bcc2f03p-3);
  p = __builtin_fma(p, u, 0x1.745d174512cd3p-3);
  p = __builtin_fma(p, u, 0x1.c71c71c71cfe1p-3);
  p = __builtin_fma(p, u, 0x1.2492492492491p-2);
  p = __builtin_fma(p, u, 0x1.999999999999ap-2);
  return p;
}

// (sin(x) - x) / x^3, u = x^2; u from 0 to 0.617007.
__DL_CORE double __dl_poly_sin(double u) {  // relative error 7.1e-20
  double p = -0x1.ab16b2f137f6fp-41;
  p = __builtin_fma(p, u, 0x1.61217cfd86f39p-33);
  p = __builtin_fma(p, u, -0x1.ae64540ff81dap-26);
  p = __builtin_fma(p, u, 0x1.71de3a545ed34p-19);
  p = __builtin_fma(p, u, -0x1.a01a01a019928p-13);
  p = __builtin_fma(p, u, 0x1.1111111111110p-7);
  p = __builtin_fma(p, u, -0x1.5555555555555p-3);
  return p;
}
__DL_CORE float __dl_poly_sinf(float u) {  // relative error 1.7e-10
  float p = 0x1.6dbc220000000p-19f;
  p = __builtin_fmaf(p, u, -0x1.a013a00000000p-13f);
  p = __builtin_fmaf(p, u, 0x1.11110e0000000p-7f);
  p = __builtin_fmaf(p, u, -0x1.5555560000000p-3f);
  return p;
}

// (cos(x) - 1 + x^2/2) / x^4, u = x^2; u from 0 to 0.617007.
__DL_CORE double __dl_poly_cos(double u) {  // relative error 1.6e-20
  double p = 0x1.ab77a1ffd6cc4p-45;
  p = __builtin_fma(p, u, -0x1.9394b8be905d4p-37);
  p = __builtin_fma(p, u, 0x1.1eed8deab5686p-29);
  p = __builtin_fma(p, u, -0x1.27e4fb7712495p-22);
  p = __builtin_fma(p, u, 0x1.a01a01a019d05p-16);
  p = __builtin_fma(p, u, -0x1.6c16c16c16c16p-10);
  p = __builtin_fma(p, u, 0x1.5555555555555p-5);
  return p;
}
__DL_CORE float __dl_poly_cosf(float u) {  // relative error 4.9e-8
  float p = 0x1.9bd6fa0000000p-16f;
  p = __builtin_fmaf(p, u, -0x1.6c12d00000000p-10f);
  p = __builtin_fmaf(p, u, 0x1.5555540000000p-5f);
  return p;
}

// (atan(x) - x) / x^3, u = x^2; u from 0 to 0.171573.
__DL_CORE double __dl_poly_atan(double u) {  // relative error 3.4e-18
  double p = 0x1.0b131e8f0cffap-6;
  p = __builtin_fma(p, u, -0x1.1b51d95b73618p-5);
  p = __builtin_fma(p, u, 0x1.74ea22a5a6557p-5);
  p = __builtin_fma(p, u, -0x1.ac7d6b1d301a8p-5);
  p = __builtin_fma(p, u, 0x1.e19a7c17f2de7p-5);
  p = __builtin_fma(p, u, -0x1.110e8cda10ca6p-4);
  p = __builtin_fma(p, u, 0x1.3b139322de8a1p-4);
  p = __builtin_fma(p, u, -0x1.745d1660a6809p-4);
  p = __builtin_fma(p, u, 0x1.c71c71c313a04p-4);
  p = __builtin_fma(p, u, -0x1.249249248d941p-3);
  p = __builtin_fma(p, u, 0x1.9999999999955p-3);
  p = __builtin_fma(p, u, -0x1.5555555555555p-2);
  return p;
}
__DL_CORE float __dl_poly_atanf(float u) {  // relative error 1.6e-9
  float p = 0x1.9dda3e0000000p-5f;
  p = __builtin_fmaf(p, u, -0x1.6155580000000p-4f);
  p = __builtin_fmaf(p, u, 0x1.c57e420000000p-4f);
  p = __builtin_fmaf(p, u, -0x1.248a2c0000000p-3f);
  p = __builtin_fmaf(p, u, 0x1.99997c0000000p-3f);
  p = __builtin_fmaf(p, u, -0x1.5555560000000p-2f);
  return p;
}

// (asin(x) - x) / x^3, u = x^2; u from 0 to 0.2501.
__DL_CORE double __dl_poly_asin(double u) {  // relative error 7.5e-17
  double p = 0x1.d98f5197db7d2p-6;
  p = __builtin_fma(p, u, -0x1.edc72a405bb7ep-7);
  p = __builtin_fma(p, u, 0x1.1f688e0ca0f28p-6);
  p = __builtin_fma(p, u, 0x1.623577e4d6ffbp-8);
  p = __builtin_fma(p, u, 0x1.52aab5c6ebc64p-7);
  p = __builtin_fma(p, u, 0x1.7815f67fe874cp-7);
  p = __builtin_fma(p, u, 0x1.c9d0bba52ed44p-7);
  p = __builtin_fma(p, u, 0x1.1c4d26dcfb9eap-6);
  p = __builtin_fma(p, u, 0x1.6e8bb26e364e7p-6);
  p = __builtin_fma(p, u, 0x1.f1c71c1970da9p-6);
  p = __builtin_fma(p, u, 0x1.6db6db6e391dcp-5);
  p = __builtin_fma(p, u, 0x1.3333333332e7ep-4);
  p = __builtin_fma(p, u, 0x1.5555555555556p-3);
  return p;
}
__DL_CORE float __dl_poly_asinf(float u) {  // relative error 2.1e-8
  float p = 0x1.14f78c0000000p-5f;
  p = __builtin_fmaf(p, u, 0x1.17c6f60000000p-6f);
  p = __builtin_fmaf(p, u, 0x1.fdcf720000000p-6f);
  p = __builtin_fmaf(p, u, 0x1.6d58d80000000p-5f);
  p = __builtin_fmaf(p, u, 0x1.33343c0000000p-4f);
  p = __builtin_fmaf(p, u, 0x1.5555540000000p-3f);
  return p;
}

// erf(x) / x - 1, u = x^2; u from 0 to 1.
__DL_CORE double __dl_poly_erf(double u) {  // relative error 1.7e-18
  double p = 0x1.07a50c800077ap-34;
  p = __builtin_fma(p, u, -0x1.39296df0f9cc5p-30);
  p = __builtin_fma(p, u, 0x1.f7dc3ec37c12ep-27);
  p = __builtin_fma(p, u, -0x1.5f21d66155d2cp-23);
  p = __builtin_fma(p, u, 0x1.b9df681b8eaa3p-20);
  p = __builtin_fma(p, u, -0x1.f4d1e68803a6bp-17);
  p = __builtin_fma(p, u, 0x1.f9a321e443d63p-14);
  p = __builtin_fma(p, u, -0x1.c02db3da01d73p-11);
  p = __builtin_fma(p, u, 0x1.565bcd0dae233p-8);
  p = __builtin_fma(p, u, -0x1.b82ce312844d1p-6);
  p = __builtin_fma(p, u, 0x1.ce2f21a042b00p-4);
  p = __builtin_fma(p, u, -0x1.812746b0379e6p-2);
  p = __builtin_fma(p, u, 0x1.06eba8214db69p-3);
  return p;
}
__DL_CORE float __dl_poly_erff(float u) {  // relative error 1.6e-8
  float p = 0x1.4e0ae80000000p-14f;
  p = __builtin_fmaf(p, u, -0x1.a566220000000p-11f);
  p = __builtin_fmaf(p, u, 0x1.542bca0000000p-8f);
  p = __builtin_fmaf(p, u, -0x1.b7fbbc0000000p-6f);
  p = __builtin_fmaf(p, u, 0x1.ce2cf20000000p-4f);
  p = __builtin_fmaf(p, u, -0x1.81273c0000000p-2f);
  p = __builtin_fmaf(p, u, 0x1.06eba80000000p-3f);
  return p;
}

// (1 + 2x) exp(x^2) erfc(x), u = (x - 4) / (x + 4); u from -0.78 to 0.99999.
__DL_CORE double __dl_poly_erfcx(double u) {  // relative error 3.8e-18
  double p = 0x1.c384aad139f5fp-29;
  p = __builtin_fma(p, u, -0x1.42e8971b9c283p-27);
  p = __builtin_fma(p, u, -0x1.89a1f325393e0p-26);
  p = __builtin_fma(p, u, 0x1.b85833ab5d400p-24);
  p = __builtin_fma(p, u, 0x1.60b4347f44a29p-24);
  p = __builtin_fma(p, u, -0x1.b77ce430daed3p-21);
  p = __builtin_fma(p, u, 0x1.34a30c4ecdfe9p-22);
  p = __builtin_fma(p, u, 0x1.7eea34d4b455fp-18);
  p = __builtin_fma(p, u, -0x1.786f84647d9afp-17);
  p = __builtin_fma(p, u, -0x1.9953bb5db8550p-16);
  p = __builtin_fma(p, u, 0x1.3bdfc74c5341dp-13);
  p = __builtin_fma(p, u, -0x1.a1df4e9346122p-13);
  p = __builtin_fma(p, u, -0x1.8d4a933efba07p-11);
  p = __builtin_fma(p, u, 0x1.49c672b78db8dp-8);
  p = __builtin_fma(p, u, -0x1.0962388c9d766p-6);
  p = __builtin_fma(p, u, 0x1.3079edf5efff4p-5);
  p = __builtin_fma(p, u, -0x1.0fb06dfe21401p-4);
  p = __builtin_fma(p, u, 0x1.7fee004e1631bp-4);
  p = __builtin_fma(p, u, -0x1.9ddb23c3eac1bp-4);
  p = __builtin_fma(p, u, 0x1.16ecefcfa5208p-4);
  p = __builtin_fma(p, u, 0x1.f7f5df66fdb5ap-7);
  p = __builtin_fma(p, u, -0x1.1df1ad154a28dp-3);
  p = __builtin_fma(p, u, 0x1.3ba5916e9fd7fp+0);
  return p;
}
__DL_CORE float __dl_poly_erfcxf(float u) {  // relative error 2.5e-8
  float p = -0x1.4ab99c0000000p-11f;
  p = __builtin_fmaf(p, u, 0x1.30e9580000000p-8f);
  p = __builtin_fmaf(p, u, -0x1.08e4300000000p-6f);
  p = __builtin_fmaf(p, u, 0x1.3282d00000000p-5f);
  p = __builtin_fmaf(p, u, -0x1.0fec2c0000000p-4f);
  p = __builtin_fmaf(p, u, 0x1.7fa2880000000p-4f);
  p = __builtin_fmaf(p, u, -0x1.9dc93e0000000p-4f);
  p = __builtin_fmaf(p, u, 0x1.16f6260000000p-4f);
  p = __builtin_fmaf(p, u, 0x1.f7e93c0000000p-7f);
  p = __builtin_fmaf(p, u, -0x1.1df1d80000000p-3f);
  p = __builtin_fmaf(p, u, 0x1.3ba5920000000p+0f);
  return p;
}

// erfinv(x) / x, u = w - 3.125, w = -log(1 - x^2) below 6.25; u from -3.125 to 3.125.
__DL_CORE double __dl_poly_erfinv_low(double u) {  // relative error 3.0e-18
  double p = -0x1.6ad3176f76059p-72;
  p = __builtin_fma(p, u, 0x1.e67d47af28402p-69);
  p = __builtin_fma(p, u, 0x1.385ee03ac3ef1p-66);
  p = __builtin_fma(p, u, -0x1.9bbed97384c85p-62);
  p = __builtin_fma(p, u, 0x1.9ab0bb7b3c1e0p-61);
  p = __builtin_fma(p, u, 0x1.1ec1d03e990dbp-56);
  p = __builtin_fma(p, u, -0x1.1ca7f667997f7p-53);
  p = __builtin_fma(p, u, -0x1.6fcd301844fcfp-55);
  p = __builtin_fma(p, u, 0x1.d6c71c6fb3fc4p-48);
  p = __builtin_fma(p, u, -0x1.686e64f60a88ep-45);
  p = __builtin_fma(p, u, -0x1.6bdbfc8b54019p-44);
  p = __builtin_fma(p, u, 0x1.7235e0582937fp-39);
  p = __builtin_fma(p, u, -0x1.c8a3f846a36cap-37);
  p = __builtin_fma(p, u, -0x1.dc3f139a6373bp-35);
  p = __builtin_fma(p, u, 0x1.20f536394c5e7p-30);
  p = __builtin_fma(p, u, -0x1.1a9eb0f001ecep-28);
  p = __builtin_fma(p, u, -0x1.f36ced45f1c4dp-26);
  p = __builtin_fma(p, u, 0x1.c6b4f88becc98p-22);
  p = __builtin_fma(p, u, -0x1.6e8a53cdebc5bp-20);
  p = __builtin_fma(p, u, -0x1.d1d1f7ca22286p-17);
  p = __builtin_fma(p, u, 0x1.879c2a20b52bdp-13);
  p = __builtin_fma(p, u, -0x1.84576948356acp-11);
  p = __builtin_fma(p, u, -0x1.8b6c33114ead6p-8);
  p = __builtin_fma(p, u, 0x1.ebd80d9b13dfap-3);
  p = __builtin_fma(p, u, 0x1.a755e7c99ae86p+0);
  return p;
}

// erfinv(x) / x, u = sqrt(w) - 3.25, w from 6.25 to 16; u from -0.75 to 0.75.
__DL_CORE double __dl_poly_erfinv_middle(double u) {  // relative error 1.0e-18
  double p = 0x1.06b9359523c99p-27;
  p = __builtin_fma(p, u, -0x1.0691b862eea85p-26);
  p = __builtin_fma(p, u, -0x1.65b164c51df26p-26);
  p = __builtin_fma(p, u, 0x1.1a747a6d89fcdp-23);
  p = __builtin_fma(p, u, -0x1.07b86d6b690bap-22);
  p = __builtin_fma(p, u, -0x1.d955dd79c4199p-26);
  p = __builtin_fma(p, u, 0x1.8dbb8f81c14c3p-20);
  p = __builtin_fma(p, u, -0x1.0b7a98abd6597p-18);
  p = __builtin_fma(p, u, 0x1.8999a995023c4p-19);
  p = __builtin_fma(p, u, 0x1.a241e720154a3p-17);
  p = __builtin_fma(p, u, -0x1.8cf45f94af578p-15);
  p = __builtin_fma(p, u, 0x1.1e6abb03a321ep-14);
  p = __builtin_fma(p, u, 0x1.932e8ebc7fe33p-16);
  p = __builtin_fma(p, u, -0x1.7448bcc194e00p-12);
  p = __builtin_fma(p, u, 0x1.f3cc545e57c53p-11);
  p = __builtin_fma(p, u, -0x1.ba9240d897640p-10);
  p = __builtin_fma(p, u, 0x1.468eeca942cb7p-9);
  p = __builtin_fma(p, u, -0x1.ebadabba0238ap-9);
  p = __builtin_fma(p, u, 0x1.5ffcfe5b6cd7ap-8);
  p = __builtin_fma(p, u, 0x1.0158a6d641d55p+0);
  p = __builtin_fma(p, u, 0x1.8abcc380d5a48p+1);
  return p;
}

// erfinv(x) / x, u = sqrt(w) - 5.1, w from 16 to 38; u from -1.1 to 1.1.
__DL_CORE double __dl_poly_erfinv_high(double u) {  // relative error 2.3e-18
  double p = 0x1.2b287fdd48947p-38;
  p = __builtin_fma(p, u, -0x1.9f06faea751e2p-37);
  p = __builtin_fma(p, u, -0x1.954554f5bd2e8p-38);
  p = __builtin_fma(p, u, 0x1.5e0e104941683p-34);
  p = __builtin_fma(p, u, -0x1.2cc06aeff649dp-32);
  p = __builtin_fma(p, u, 0x1.bff1808178da9p-31);
  p = __builtin_fma(p, u, -0x1.18b25e6051a99p-29);
  p = __builtin_fma(p, u, 0x1.2636e5d36fc37p-28);
  p = __builtin_fma(p, u, -0x1.18538d017b73cp-27);
  p = __builtin_fma(p, u, 0x1.1c44afbf72ce1p-26);
  p = __builtin_fma(p, u, -0x1.8638cf00433ecp-25);
  p = __builtin_fma(p, u, 0x1.80afeba803a64p-23);
  p = __builtin_fma(p, u, -0x1.be2dd26951686p-21);
  p = __builtin_fma(p, u, 0x1.050ca2af2a629p-18);
  p = __builtin_fma(p, u, -0x1.1ff0f2545b8c4p-16);
  p = __builtin_fma(p, u, 0x1.182e06fbf03fep-14);
  p = __builtin_fma(p, u, -0x1.872569e81fffbp-13);
  p = __builtin_fma(p, u, -0x1.a1098acac3520p-13);
  p = __builtin_fma(p, u, 0x1.02a0d45ec794dp+0);
  p = __builtin_fma(p, u, 0x1.3cdc1ddba66bdp+2);
  return p;
}

// erfcinv(y) / r, u = 1 / r, r = sqrt(-log(y)), y from 3e-77 to 2e-15; u from 0.0754 to 0.172.
__DL_CORE double __dl_poly_erfcinv_tail(double u) {  // relative error 1.0e-20
  double p = -0x1.6fa35e4adc812p+42;
  p = __builtin_fma(p, u, 0x1.dfbfd6e517aafp+43);
  p = __builtin_fma(p, u, -0x1.29420c4acbd45p+44);
  p = __builtin_fma(p, u, 0x1.d150e6b2cc60bp+43);
  p = __builtin_fma(p, u, -0x1.021a9e5fb9baap+43);
  p = __builtin_fma(p, u, 0x1.afacc580f0b48p+41);
  p = __builtin_fma(p, u, -0x1.1a8fb67d215a7p+40);
  p = __builtin_fma(p, u, 0x1.28cb7139feabep+38);
  p = __builtin_fma(p, u, -0x1.fcb9a22568c2bp+35);
  p = __builtin_fma(p, u, 0x1.67de2cc7e0836p+33);
  p = __builtin_fma(p, u, -0x1.a78733c6176ccp+30);
  p = __builtin_fma(p, u, 0x1.a0bd6e20103a6p+27);
  p = __builtin_fma(p, u, -0x1.57e79a4d2e2a4p+24);
  p = __builtin_fma(p, u, 0x1.dd057f5138dd1p+20);
  p = __builtin_fma(p, u, -0x1.16d4c83dbcee2p+17);
  p = __builtin_fma(p, u, 0x1.1501da8fd1756p+13);
  p = __builtin_fma(p, u, -0x1.e1b032739153fp+8);
  p = __builtin_fma(p, u, 0x1.a14f9e64fdeb7p+4);
  p = __builtin_fma(p, u, -0x1.2ee6f48fe4519p+1);
  p = __builtin_fma(p, u, -0x1.8abcb6a31a07dp-8);
  p = __builtin_fma(p, u, 0x1.00011fd34ecc9p+0);
  return p;
}

// erfcinv(y) / r, u = 1 / r, r = sqrt(-log(y)), y from 5e-324 to 3e-77; u from 0.0365 to 0.0755.
__DL_CORE double __dl_poly_erfcinv_end(double u) {  // relative error 6.8e-21
  double p = -0x1.f3cc7788399e4p+54;
  p = __builtin_fma(p, u, 0x1.0bcf091177a2fp+55);
  p = __builtin_fma(p, u, -0x1.0f57b9abbeac3p+54);
  p = __builtin_fma(p, u, 0x1.599508d5c7f67p+52);
  p = __builtin_fma(p, u, -0x1.363be99642339p+50);
  p = __builtin_fma(p, u, 0x1.a157b4c3afaa9p+47);
  p = __builtin_fma(p, u, -0x1.b4850dbe208c4p+44);
  p = __builtin_fma(p, u, 0x1.6b9abe4156d0cp+41);
  p = __builtin_fma(p, u, -0x1.ea2b85e316221p+37);
  p = __builtin_fma(p, u, 0x1.0e402831a9d14p+34);
  p = __builtin_fma(p, u, -0x1.eb0a26b45737ap+29);
  p = __builtin_fma(p, u, 0x1.7171e8f9879d8p+25);
  p = __builtin_fma(p, u, -0x1.ceca24207bbc1p+20);
  p = __builtin_fma(p, u, 0x1.e77e91c67e3b4p+15);
  p = __builtin_fma(p, u, -0x1.bd730826f7544p+10);
  p = __builtin_fma(p, u, 0x1.932ba3c35a579p+5);
  p = __builtin_fma(p, u, -0x1.593ad96a61d37p+1);
  p = __builtin_fma(p, u, -0x1.965e365de02c7p-9);
  p = __builtin_fma(p, u, 0x1.00004bddf57b6p+0);
  return p;
}

// gamma(u + 1.5); u from -0.5 to 0.5.
__DL_CORE double __dl_poly_gamma(double u) {  // relative error 2.2e-17
  double p = -0x1.195f397acc953p-12;
  p = __builtin_fma(p, u, 0x1.8d9d4159ed0c6p-12);
  p = __builtin_fma(p, u, -0x1.a643bed1d1d50p-13);
  p = __builtin_fma(p, u, 0x1.5cb1424473abep-12);
  p = __builtin_fma(p, u, -0x1.775c859984546p-11);
  p = __builtin_fma(p, u, 0x1.15038dbc2f2aep-10);
  p = __builtin_fma(p, u, -0x1.8c78f73a1fcd5p-10);
  p = __builtin_fma(p, u, 0x1.2a00d57259f03p-9);
  p = __builtin_fma(p, u, -0x1.c0d4cb694fe22p-9);
  p = __builtin_fma(p, u, 0x1.50634a2f888a0p-8);
  p = __builtin_fma(p, u, -0x1.f7f9bd0e4b3e5p-8);
  p = __builtin_fma(p, u, 0x1.7990f82b15296p-7);
  p = __builtin_fma(p, u, -0x1.1a2c347178b80p-6);
  p = __builtin_fma(p, u, 0x1.a752ccdd89ba4p-6);
  p = __builtin_fma(p, u, -0x1.374fd59405926p-5);
  p = __builtin_fma(p, u, 0x1.e022b72a80a38p-5);
  p = __builtin_fma(p, u, -0x1.3d88cfe5a885cp-4);
  p = __builtin_fma(p, u, 0x1.283bd375049ccp-3);
  p = __builtin_fma(p, u, -0x1.b77ac1ca2d09bp-4);
  p = __builtin_fma(p, u, 0x1.a8c4dba620c12p-2);
  p = __builtin_fma(p, u, 0x1.08ea88ee56187p-5);
  p = __builtin_fma(p, u, 0x1.c5bf891b4ef6bp-1);
  return p;
}

// log gamma(x) / ((x - 1) (x - 2)), u = x - 1.5; u from -0.5 to 0.5.
__DL_CORE double __dl_poly_lgamma_one(double u) {  // relative error 1.2e-18
  double p = -0x1.0c20f5cd22b87p-17;
  p = __builtin_fma(p, u, 0x1.97ae9fa98adb1p-17);
  p = __builtin_fma(p, u, -0x1.0e39a58a8a5b9p-17);
  p = __builtin_fma(p, u, 0x1.ba09358ad76c5p-17);
  p = __builtin_fma(p, u, -0x1.cb36313984dd3p-16);
  p = __builtin_fma(p, u, 0x1.68ff48bd6e478p-15);
  p = __builtin_fma(p, u, -0x1.15318d6a12b3bp-14);
  p = __builtin_fma(p, u, 0x1.b9e2241e1741bp-14);
  p = __builtin_fma(p, u, -0x1.624492e83f19dp-13);
  p = __builtin_fma(p, u, 0x1.1c7e5196bd5b1p-12);
  p = __builtin_fma(p, u, -0x1.cb44892a0c167p-12);
  p = __builtin_fma(p, u, 0x1.750a77b741f16p-11);
  p = __builtin_fma(p, u, -0x1.313e8bdffc8f1p-10);
  p = __builtin_fma(p, u, 0x1.f814babfa3c57p-10);
  p = __builtin_fma(p, u, -0x1.a503522915e8bp-9);
  p = __builtin_fma(p, u, 0x1.64f0664c3477dp-8);
  p = __builtin_fma(p, u, -0x1.34dbda14a6846p-7);
  p = __builtin_fma(p, u, 0x1.133423527f40fp-6);
  p = __builtin_fma(p, u, -0x1.007aa83cee0f7p-5);
  p = __builtin_fma(p, u, 0x1.01af62a2929bfp-4);
  p = __builtin_fma(p, u, -0x1.2aed059bd608ap-3);
  p = __builtin_fma(p, u, 0x1.eeb95b094c191p-2);
  return p;
}

// log gamma(x) / ((x - 1) (x - 2)), u = x - 2.5; u from -0.5 to 0.5.
__DL_CORE double __dl_poly_lgamma_two(double u) {  // relative error 1.5e-19
  double p = -0x1.56321b5e1d8fdp-28;
  p = __builtin_fma(p, u, 0x1.bd9484509dab6p-27);
  p = __builtin_fma(p, u, -0x1.ead5644870407p-26);
  p = __builtin_fma(p, u, 0x1.4549ca2306d51p-24);
  p = __builtin_fma(p, u, -0x1.b5b3cd054654bp-23);
  p = __builtin_fma(p, u, 0x1.23dfa48c9f33ep-21);
  p = __builtin_fma(p, u, -0x1.871d80e484330p-20);
  p = __builtin_fma(p, u, 0x1.07c6c73361d8dp-18);
  p = __builtin_fma(p, u, -0x1.667084094936ep-17);
  p = __builtin_fma(p, u, 0x1.eb8f77ccdc5b5p-16);
  p = __builtin_fma(p, u, -0x1.5501aaf7a5268p-14);
  p = __builtin_fma(p, u, 0x1.e05c3c3687a01p-13);
  p = __builtin_fma(p, u, -0x1.59512000eba6dp-11);
  p = __builtin_fma(p, u, 0x1.feef08b13649fp-10);
  p = __builtin_fma(p, u, -0x1.8a722dfc5d7c8p-8);
  p = __builtin_fma(p, u, 0x1.462044b0af667p-6);
  p = __builtin_fma(p, u, -0x1.31d26e9323010p-4);
  p = __builtin_fma(p, u, 0x1.84afe00cddfdfp-2);
  return p;
}

// x (log gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2), u = 1 / x^2, x from 10; u from 0 to 0.0101.
__DL_CORE double __dl_poly_stirling(double u) {  // relative error 3.7e-19
  double p = 0x1.67a7a3f5aa983p-8;
  p = __builtin_fma(p, u, -0x1.f373c8418233cp-10);
  p = __builtin_fma(p, u, 0x1.b946cc09e9a5bp-11);
  p = __builtin_fma(p, u, -0x1.3813775363749p-11);
  p = __builtin_fma(p, u, 0x1.a01a019be1e8bp-11);
  p = __builtin_fma(p, u, -0x1.6c16c16c16963p-9);
  p = __builtin_fma(p, u, 0x1.5555555555555p-4);
  return p;
}
