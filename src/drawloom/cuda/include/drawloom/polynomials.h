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

// erfcinv(y) / r, u = 1 / r - 1/8, r = sqrt(-log(y)), y from 3e-77 to 2e-15; u from -0.0496 to 0.047.
__DL_CORE double __dl_poly_erfcinv_tail(double u) {  // relative error 1.2e-17
  double p = -0x1.318d26240a9eap+31;
  p = __builtin_fma(p, u, 0x1.299ca1f2f67ecp+28);
  p = __builtin_fma(p, u, -0x1.6b1e9515ee95ap+24);
  p = __builtin_fma(p, u, 0x1.14eb80909f3ddp+22);
  p = __builtin_fma(p, u, -0x1.99a5df5f96d78p+19);
  p = __builtin_fma(p, u, 0x1.0bc39b0d58020p+17);
  p = __builtin_fma(p, u, -0x1.6cf6386f44e20p+14);
  p = __builtin_fma(p, u, 0x1.054a53151e6a4p+12);
  p = __builtin_fma(p, u, -0x1.88a56e5d0adbep+9);
  p = __builtin_fma(p, u, 0x1.3a9d63f2853b8p+7);
  p = __builtin_fma(p, u, -0x1.12833347e17a0p+5);
  p = __builtin_fma(p, u, 0x1.0d8f580dfaebbp+3);
  p = __builtin_fma(p, u, -0x1.50fe0e2bf5074p+1);
  p = __builtin_fma(p, u, 0x1.465cfb6505b2ap+0);
  p = __builtin_fma(p, u, -0x1.32edc0f40d5b0p-1);
  p = __builtin_fma(p, u, -0x1.165ff84ed33e9p-2);
  p = __builtin_fma(p, u, 0x1.f5557c60ff25ep-1);
  return p;
}

// erfcinv(y) / r, u = 1 / r - 1/16, r = sqrt(-log(y)), y from 5e-324 to 3e-77; u from -0.026 to 0.014.
__DL_CORE double __dl_poly_erfcinv_end(double u) {  // relative error 1.8e-17
  double p = -0x1.218f06bca1f59p+39;
  p = __builtin_fma(p, u, -0x1.253955715732ap+33);
  p = __builtin_fma(p, u, -0x1.a1f900941c00ap+29);
  p = __builtin_fma(p, u, 0x1.3405399cc48c2p+26);
  p = __builtin_fma(p, u, -0x1.64047f76f29cep+22);
  p = __builtin_fma(p, u, 0x1.03795c0a356d6p+19);
  p = __builtin_fma(p, u, -0x1.875f634c5c54dp+15);
  p = __builtin_fma(p, u, 0x1.3925aa08ca2cdp+12);
  p = __builtin_fma(p, u, -0x1.125423c95eee5p+9);
  p = __builtin_fma(p, u, 0x1.11f399d90bb30p+6);
  p = __builtin_fma(p, u, -0x1.5429d5c5c73cap+3);
  p = __builtin_fma(p, u, 0x1.4c78dd52026cep+1);
  p = __builtin_fma(p, u, -0x1.de41e6c8a47e3p-1);
  p = __builtin_fma(p, u, -0x1.6d7e3508d29bbp-3);
  p = __builtin_fma(p, u, 0x1.fca60fa1aab5ap-1);
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

// J0(x) / (x^0 (x^2 - z1^2) (x^2 - z2^2)), u = (x^2 - 16) / 16; u from -1 to 1.
__DL_CORE double __dl_poly_j0_near(double u) {  // relative error 1.4e-21
  double p = -0x1.16b4a6de9b87bp-59;
  p = __builtin_fma(p, u, 0x1.e476541a86221p-54);
  p = __builtin_fma(p, u, -0x1.6b2172683b5e8p-48);
  p = __builtin_fma(p, u, 0x1.d44f2eff8011cp-43);
  p = __builtin_fma(p, u, -0x1.003fe2c524eeap-37);
  p = __builtin_fma(p, u, 0x1.d4c7094bf51eep-33);
  p = __builtin_fma(p, u, -0x1.5fe26a88ff1ccp-28);
  p = __builtin_fma(p, u, 0x1.a7d2971461b5ep-24);
  p = __builtin_fma(p, u, -0x1.8de58f2206b2cp-20);
  p = __builtin_fma(p, u, 0x1.184ca42e39dcfp-16);
  p = __builtin_fma(p, u, -0x1.1906c6a349016p-13);
  p = __builtin_fma(p, u, 0x1.72365a2d90366p-11);
  p = __builtin_fma(p, u, -0x1.173294b96dfdfp-9);
  p = __builtin_fma(p, u, 0x1.6014b14e1ecaap-9);
  return p;
}

// J0(x) / (x^0 (x^2 - z1^2) (x^2 - z2^2)), u = (x^2 - 48) / 16; u from -1 to 1.
__DL_CORE double __dl_poly_j0_far(double u) {  // relative error 6.7e-21
  double p = -0x1.622db904ab404p-60;
  p = __builtin_fma(p, u, 0x1.2cbf76411c4a3p-54);
  p = __builtin_fma(p, u, -0x1.b53d3a9b414cep-49);
  p = __builtin_fma(p, u, 0x1.1043eefa265e2p-43);
  p = __builtin_fma(p, u, -0x1.1e39bcf130bf2p-38);
  p = __builtin_fma(p, u, 0x1.f3b69b74644d2p-34);
  p = __builtin_fma(p, u, -0x1.630296da83df5p-29);
  p = __builtin_fma(p, u, 0x1.904f22c80f209p-25);
  p = __builtin_fma(p, u, -0x1.5ac49def4bf3cp-21);
  p = __builtin_fma(p, u, 0x1.b9cc13b057eadp-18);
  p = __builtin_fma(p, u, -0x1.84fcf31f4c5fdp-15);
  p = __builtin_fma(p, u, 0x1.ae16c64921322p-13);
  p = __builtin_fma(p, u, -0x1.f81c808331ce7p-12);
  p = __builtin_fma(p, u, 0x1.a7a0f517175f9p-12);
  return p;
}

// x^0 Y0(x) over x - z of its zeros, u = (x - 1.0) / 0.5; u from -1 to 1.
__DL_CORE double __dl_poly_y0_near(double u) {  // relative error 1.5e-17
  double p = 0x1.87e5bd4265d24p-34;
  p = __builtin_fma(p, u, -0x1.656f8149cf918p-33);
  p = __builtin_fma(p, u, -0x1.21f88db0a7a9fp-32);
  p = __builtin_fma(p, u, 0x1.bb3091a2e3506p-32);
  p = __builtin_fma(p, u, 0x1.0932b3611d159p-30);
  p = __builtin_fma(p, u, -0x1.b64796ada10b4p-30);
  p = __builtin_fma(p, u, 0x1.66bbabd1f1b0fp-33);
  p = __builtin_fma(p, u, -0x1.2040b99661e42p-30);
  p = __builtin_fma(p, u, 0x1.90a5252c31596p-28);
  p = __builtin_fma(p, u, -0x1.8bdc2014aaeb5p-27);
  p = __builtin_fma(p, u, 0x1.71d7959ad15ddp-26);
  p = __builtin_fma(p, u, -0x1.8cec768a7eab4p-25);
  p = __builtin_fma(p, u, 0x1.ace486be12ddbp-24);
  p = __builtin_fma(p, u, -0x1.c99957bcd48d6p-23);
  p = __builtin_fma(p, u, 0x1.ea861ad4f2b90p-22);
  p = __builtin_fma(p, u, -0x1.08ab07fa05d8dp-20);
  p = __builtin_fma(p, u, 0x1.1f5d6903ad21dp-19);
  p = __builtin_fma(p, u, -0x1.3a3e2313c93ecp-18);
  p = __builtin_fma(p, u, 0x1.5a96047dc7135p-17);
  p = __builtin_fma(p, u, -0x1.8236d850d7ca0p-16);
  p = __builtin_fma(p, u, 0x1.b3c4537e46a83p-15);
  p = __builtin_fma(p, u, -0x1.f2b462616cc5cp-14);
  p = __builtin_fma(p, u, 0x1.24e548482bb04p-12);
  p = __builtin_fma(p, u, -0x1.70a17732bc6f6p-11);
  p = __builtin_fma(p, u, 0x1.625b4db8e92a1p-10);
  p = __builtin_fma(p, u, -0x1.00813c9044731p-10);
  p = __builtin_fma(p, u, 0x1.7969b4567b3eap-5);
  return p;
}

// x^0 Y0(x) over x - z of its zeros, u = (x - 2.75) / 1.25; u from -1 to 1.
__DL_CORE double __dl_poly_y0_middle(double u) {  // relative error 7.5e-19
  double p = 0x1.53c3adadcee10p-38;
  p = __builtin_fma(p, u, -0x1.5d975ce19d3fbp-37);
  p = __builtin_fma(p, u, -0x1.607a4c732a878p-37);
  p = __builtin_fma(p, u, 0x1.196b0dd6c9df8p-36);
  p = __builtin_fma(p, u, 0x1.0f18dd85abbfap-34);
  p = __builtin_fma(p, u, -0x1.0a8c24dcc7998p-33);
  p = __builtin_fma(p, u, 0x1.ccb5c88f28621p-34);
  p = __builtin_fma(p, u, -0x1.2ce65229116f5p-32);
  p = __builtin_fma(p, u, 0x1.c6bff4c563b85p-31);
  p = __builtin_fma(p, u, -0x1.00f2149609f47p-29);
  p = __builtin_fma(p, u, 0x1.1e012e9b797efp-28);
  p = __builtin_fma(p, u, -0x1.4bdeb4af77c56p-27);
  p = __builtin_fma(p, u, 0x1.827e3f0dca393p-26);
  p = __builtin_fma(p, u, -0x1.c1a21317471f4p-25);
  p = __builtin_fma(p, u, 0x1.066662f885b44p-23);
  p = __builtin_fma(p, u, -0x1.3375ae1f0ba4dp-22);
  p = __builtin_fma(p, u, 0x1.698d3146b294fp-21);
  p = __builtin_fma(p, u, -0x1.ab49702c15f9ap-20);
  p = __builtin_fma(p, u, 0x1.000a61a717798p-18);
  p = __builtin_fma(p, u, -0x1.315f9054a99c1p-17);
  p = __builtin_fma(p, u, 0x1.44b88b634d4b1p-16);
  p = __builtin_fma(p, u, -0x1.a118308f507f9p-15);
  p = __builtin_fma(p, u, 0x1.03578e3da4b32p-12);
  p = __builtin_fma(p, u, -0x1.9e03f29a763e6p-12);
  p = __builtin_fma(p, u, -0x1.51d4a6d879a7dp-9);
  p = __builtin_fma(p, u, -0x1.accdaa0c7699fp-10);
  p = __builtin_fma(p, u, 0x1.7a146a745a52fp-5);
  return p;
}

// x^0 Y0(x) over x - z of its zeros, u = (x - 6.0) / 2.0; u from -1 to 1.
__DL_CORE double __dl_poly_y0_far(double u) {  // relative error 1.3e-22
  double p = 0x1.43888d989868ap-51;
  p = __builtin_fma(p, u, -0x1.0ba77611ef961p-49);
  p = __builtin_fma(p, u, 0x1.16dd4c4cde435p-49);
  p = __builtin_fma(p, u, -0x1.7515362bf2515p-48);
  p = __builtin_fma(p, u, 0x1.efa6e8f3e4f1dp-46);
  p = __builtin_fma(p, u, -0x1.8abcc80e46931p-44);
  p = __builtin_fma(p, u, 0x1.1b71dd06a6998p-42);
  p = __builtin_fma(p, u, -0x1.b62029f353a14p-41);
  p = __builtin_fma(p, u, 0x1.582799502c2cdp-39);
  p = __builtin_fma(p, u, -0x1.0c4fa57bf016ap-37);
  p = __builtin_fma(p, u, 0x1.a0a3596e0011ap-36);
  p = __builtin_fma(p, u, -0x1.43af02536556bp-34);
  p = __builtin_fma(p, u, 0x1.05d9685b68a53p-32);
  p = __builtin_fma(p, u, -0x1.ac48ed30be3b2p-31);
  p = __builtin_fma(p, u, 0x1.03379ccf8ee96p-29);
  p = __builtin_fma(p, u, -0x1.0326dfe592de5p-28);
  p = __builtin_fma(p, u, 0x1.70930d8da8fafp-25);
  p = __builtin_fma(p, u, -0x1.0878db3e8cd9dp-22);
  p = __builtin_fma(p, u, -0x1.0d26fd9cc8982p-21);
  p = __builtin_fma(p, u, 0x1.852debcf08f9bp-18);
  p = __builtin_fma(p, u, 0x1.3e90dde04e2dfp-16);
  p = __builtin_fma(p, u, -0x1.6afcd13d6bcecp-13);
  p = __builtin_fma(p, u, -0x1.526dad5aea813p-13);
  p = __builtin_fma(p, u, 0x1.448aa96a2f011p-9);
  p = __builtin_fma(p, u, -0x1.5f354fe662124p-13);
  p = __builtin_fma(p, u, -0x1.362276348cfbfp-6);
  p = __builtin_fma(p, u, 0x1.a0e22f6e1764bp-6);
  return p;
}

// Y0(x) less 2/pi log(x/2) J0(x) and its pole, over x^0, u = x^2; u from 0 to 0.2501.
__DL_CORE double __dl_poly_y0_series(double u) {  // relative error 6.1e-20
  double p = -0x1.333457885d14bp-31;
  p = __builtin_fma(p, u, 0x1.3c5c117737f2cp-24);
  p = __builtin_fma(p, u, -0x1.b45f1f9de933cp-18);
  p = __builtin_fma(p, u, 0x1.6bf03b39e9d2dp-12);
  p = __builtin_fma(p, u, -0x1.2cc7eb028da31p-7);
  p = __builtin_fma(p, u, 0x1.139ccf287ee71p-4);
  p = __builtin_fma(p, u, 0x1.78493e90ba294p-2);
  return p;
}

// Hankel's P0(x), u = 64 / x^2, x from 8; u from 0 to 1.
__DL_CORE double __dl_poly_hankel_p0(double u) {  // relative error 6.9e-16
  double p = -0x1.74a28c1d4d34fp-31;
  p = __builtin_fma(p, u, 0x1.3309a1e07b27cp-28);
  p = __builtin_fma(p, u, -0x1.0043f56dcd9c1p-26);
  p = __builtin_fma(p, u, 0x1.45c6109daeb5cp-25);
  p = __builtin_fma(p, u, -0x1.ae5454ad90ee4p-24);
  p = __builtin_fma(p, u, 0x1.842b945282a4fp-22);
  p = __builtin_fma(p, u, -0x1.251c6207c662cp-19);
  p = __builtin_fma(p, u, 0x1.cb5ffa33f8e08p-16);
  p = __builtin_fma(p, u, -0x1.1fffffff59116p-10);
  p = __builtin_fma(p, u, 0x1.ffffffffffffap-1);
  return p;
}

// Hankel's Q0(x) x, u = 64 / x^2, x from 8; u from 0 to 1.
__DL_CORE double __dl_poly_hankel_q0(double u) {  // relative error 4.0e-14
  double p = 0x1.3994dcacdb3c3p-28;
  p = __builtin_fma(p, u, -0x1.f70b63869190ap-26);
  p = __builtin_fma(p, u, 0x1.903f08e6e871cp-24);
  p = __builtin_fma(p, u, -0x1.d298c2a0d24bbp-23);
  p = __builtin_fma(p, u, 0x1.0a777cc33073ap-21);
  p = __builtin_fma(p, u, -0x1.8507069d3af99p-20);
  p = __builtin_fma(p, u, 0x1.ba4302bd1cfdcp-18);
  p = __builtin_fma(p, u, -0x1.d11deaaf99746p-15);
  p = __builtin_fma(p, u, 0x1.2bfffffb3b422p-10);
  p = __builtin_fma(p, u, -0x1.ffffffffffe96p-4);
  return p;
}

// I0(x) / x^0, u = x^2, x below 8; u from 0 to 64.
__DL_CORE double __dl_poly_i0(double u) {  // relative error 1.5e-22
  double p = 0x1.e1df0da7cc1d2p-131;
  p = __builtin_fma(p, u, 0x1.4167db7d41b9fp-121);
  p = __builtin_fma(p, u, 0x1.6fedc1980e411p-111);
  p = __builtin_fma(p, u, 0x1.3d8dbf5ae8523p-101);
  p = __builtin_fma(p, u, 0x1.e739f4f2f3328p-92);
  p = __builtin_fma(p, u, 0x1.41969d6a67b90p-82);
  p = __builtin_fma(p, u, 0x1.69cab0fb3a6edp-73);
  p = __builtin_fma(p, u, 0x1.5601873def29ep-64);
  p = __builtin_fma(p, u, 0x1.0b313295df55fp-55);
  p = __builtin_fma(p, u, 0x1.522a43f5930e1p-47);
  p = __builtin_fma(p, u, 0x1.522a43f65d4e4p-39);
  p = __builtin_fma(p, u, 0x1.02e85c08986ebp-31);
  p = __builtin_fma(p, u, 0x1.23456789abd12p-24);
  p = __builtin_fma(p, u, 0x1.c71c71c71c71ap-18);
  p = __builtin_fma(p, u, 0x1.c71c71c71c71dp-12);
  p = __builtin_fma(p, u, 0x1.0000000000000p-6);
  p = __builtin_fma(p, u, 0x1.0000000000000p-2);
  p = __builtin_fma(p, u, 0x1.0000000000000p+0);
  return p;
}

// I0(x) exp(-x) sqrt(x), u = 8 / x, x from 8; u from 0.011 to 1.
__DL_CORE double __dl_poly_i0_large(double u) {  // relative error 1.5e-17
  double p = -0x1.127d0743eeb8fp-12;
  p = __builtin_fma(p, u, 0x1.c493da0b933adp-9);
  p = __builtin_fma(p, u, -0x1.57d02787aca1cp-6);
  p = __builtin_fma(p, u, 0x1.3fff6f54c3f9bp-4);
  p = __builtin_fma(p, u, -0x1.9908364e03299p-3);
  p = __builtin_fma(p, u, 0x1.7d59b467c7716p-2);
  p = __builtin_fma(p, u, -0x1.0cdc854cc6eafp-1);
  p = __builtin_fma(p, u, 0x1.255b3d7c591fep-1);
  p = __builtin_fma(p, u, -0x1.f6dcb5dfd30f9p-2);
  p = __builtin_fma(p, u, 0x1.55d28dcc89a42p-2);
  p = __builtin_fma(p, u, -0x1.729bdcd1cbb91p-3);
  p = __builtin_fma(p, u, 0x1.41249e604e340p-4);
  p = __builtin_fma(p, u, -0x1.bc63d565db0e8p-6);
  p = __builtin_fma(p, u, 0x1.e907093037942p-8);
  p = __builtin_fma(p, u, -0x1.a8cf8f6c19cb7p-10);
  p = __builtin_fma(p, u, 0x1.204ce08fea7e4p-12);
  p = __builtin_fma(p, u, -0x1.29bc178bce759p-15);
  p = __builtin_fma(p, u, 0x1.2655c66de4e55p-18);
  p = __builtin_fma(p, u, 0x1.5140548b5096bp-19);
  p = __builtin_fma(p, u, 0x1.6ef4a8cc414ebp-17);
  p = __builtin_fma(p, u, 0x1.deba25e0f530dp-15);
  p = __builtin_fma(p, u, 0x1.cb94de40df338p-12);
  p = __builtin_fma(p, u, 0x1.9884533d27ac8p-8);
  p = __builtin_fma(p, u, 0x1.9884533d43658p-2);
  return p;
}

// J1(x) / (x^1 (x^2 - z1^2) (x^2 - z2^2)), u = (x^2 - 16) / 16; u from -1 to 1.
__DL_CORE double __dl_poly_j1_near(double u) {  // relative error 2.9e-22
  double p = -0x1.14482408ec4d5p-64;
  p = __builtin_fma(p, u, 0x1.fec3804667483p-59);
  p = __builtin_fma(p, u, -0x1.9994faa3788acp-53);
  p = __builtin_fma(p, u, 0x1.1bdf6c7011fe2p-47);
  p = __builtin_fma(p, u, -0x1.4fbd8194833cep-42);
  p = __builtin_fma(p, u, 0x1.4e01b193d0a08p-37);
  p = __builtin_fma(p, u, -0x1.12ba6408fb469p-32);
  p = __builtin_fma(p, u, 0x1.6dcdef29f7436p-28);
  p = __builtin_fma(p, u, -0x1.7fbdf6bf7d21ep-24);
  p = __builtin_fma(p, u, 0x1.320dcec1b1187p-20);
  p = __builtin_fma(p, u, -0x1.612bce09e47a7p-17);
  p = __builtin_fma(p, u, 0x1.117c0531b4d55p-14);
  p = __builtin_fma(p, u, -0x1.f2cfb8ce1082fp-13);
  p = __builtin_fma(p, u, 0x1.8b6cd9cea4f84p-12);
  return p;
}

// J1(x) / (x^1 (x^2 - z1^2) (x^2 - z2^2)), u = (x^2 - 48) / 16; u from -1 to 1.
__DL_CORE double __dl_poly_j1_far(double u) {  // relative error 7.8e-22
  double p = -0x1.697c3676c3fe6p-65;
  p = __builtin_fma(p, u, 0x1.46b7ffc8a8183p-59);
  p = __builtin_fma(p, u, -0x1.fe3bdbd3b89c5p-54);
  p = __builtin_fma(p, u, 0x1.57323ffd63312p-48);
  p = __builtin_fma(p, u, -0x1.88531e7705e67p-43);
  p = __builtin_fma(p, u, 0x1.775fa143bc30cp-38);
  p = __builtin_fma(p, u, -0x1.27205ad3667f6p-33);
  p = __builtin_fma(p, u, 0x1.74b9b4d7b9b3ap-29);
  p = __builtin_fma(p, u, -0x1.6f323ce31e225p-25);
  p = __builtin_fma(p, u, 0x1.0f74d22edfcfcp-21);
  p = __builtin_fma(p, u, -0x1.1d43be7dcac30p-18);
  p = __builtin_fma(p, u, 0x1.88777382a336cp-16);
  p = __builtin_fma(p, u, -0x1.328a0bc5e0154p-14);
  p = __builtin_fma(p, u, 0x1.890c398729376p-14);
  return p;
}

// x^1 Y1(x) over x - z of its zeros, u = (x - 1.0) / 0.5; u from -1 to 1.
__DL_CORE double __dl_poly_y1_near(double u) {  // relative error 1.3e-20
  double p = -0x1.25b9363833380p-42;
  p = __builtin_fma(p, u, 0x1.0073ffe92b24dp-41);
  p = __builtin_fma(p, u, 0x1.94f79fed9a880p-41);
  p = __builtin_fma(p, u, -0x1.b2edd17e292b5p-41);
  p = __builtin_fma(p, u, -0x1.e6014faa5a009p-39);
  p = __builtin_fma(p, u, 0x1.7f5b59b4c08bfp-38);
  p = __builtin_fma(p, u, -0x1.edecb962735bcp-39);
  p = __builtin_fma(p, u, 0x1.b5b75b9280c3ep-37);
  p = __builtin_fma(p, u, -0x1.5d1bc256af0d4p-35);
  p = __builtin_fma(p, u, 0x1.8ae37d8d8b1a5p-34);
  p = __builtin_fma(p, u, -0x1.c90abe7441bd8p-33);
  p = __builtin_fma(p, u, 0x1.17e19bebfee46p-31);
  p = __builtin_fma(p, u, -0x1.5a45f7f425220p-30);
  p = __builtin_fma(p, u, 0x1.b150b2e1ffd05p-29);
  p = __builtin_fma(p, u, -0x1.1410bee44db76p-27);
  p = __builtin_fma(p, u, 0x1.672d502018b9fp-26);
  p = __builtin_fma(p, u, -0x1.decdec75534f7p-25);
  p = __builtin_fma(p, u, 0x1.4863a9fbc93fcp-23);
  p = __builtin_fma(p, u, -0x1.cf9535a0a08dep-22);
  p = __builtin_fma(p, u, 0x1.59d55215168b2p-20);
  p = __builtin_fma(p, u, -0x1.3fa4a09b98f40p-18);
  p = __builtin_fma(p, u, 0x1.64ed3984b99cdp-17);
  p = __builtin_fma(p, u, 0x1.64fdf7b7f7ae8p-14);
  p = __builtin_fma(p, u, 0x1.e048f66c4da50p-11);
  p = __builtin_fma(p, u, -0x1.3ae872e4fd7b1p-7);
  p = __builtin_fma(p, u, -0x1.1e0ba354e4aa3p-4);
  p = __builtin_fma(p, u, -0x1.2db44a1226c41p-3);
  return p;
}

// x^1 Y1(x) over x - z of its zeros, u = (x - 2.75) / 1.25; u from -1 to 1.
__DL_CORE double __dl_poly_y1_middle(double u) {  // relative error 1.7e-21
  double p = -0x1.e4533eef31c2dp-44;
  p = __builtin_fma(p, u, 0x1.dd9b71e246d2ep-43);
  p = __builtin_fma(p, u, 0x1.bfdb86ff22bcap-43);
  p = __builtin_fma(p, u, -0x1.4ed1f63d47740p-43);
  p = __builtin_fma(p, u, -0x1.f870dad6f097cp-40);
  p = __builtin_fma(p, u, 0x1.ec2a238d61e00p-39);
  p = __builtin_fma(p, u, -0x1.62cf458614eeep-38);
  p = __builtin_fma(p, u, 0x1.feae52965956cp-37);
  p = __builtin_fma(p, u, -0x1.6ccae9c42bc70p-35);
  p = __builtin_fma(p, u, 0x1.ce5b106ca24b3p-34);
  p = __builtin_fma(p, u, -0x1.2908a20462f18p-32);
  p = __builtin_fma(p, u, 0x1.86e7cfd4d1a52p-31);
  p = __builtin_fma(p, u, -0x1.038710534f1ccp-29);
  p = __builtin_fma(p, u, 0x1.593c9e930ea2dp-28);
  p = __builtin_fma(p, u, -0x1.d691652fba855p-27);
  p = __builtin_fma(p, u, 0x1.72a6f9495bfb0p-25);
  p = __builtin_fma(p, u, -0x1.e0987d91c3232p-24);
  p = __builtin_fma(p, u, -0x1.77a78eba19b1fp-23);
  p = __builtin_fma(p, u, -0x1.63c0481adca9cp-21);
  p = __builtin_fma(p, u, 0x1.142175686ea16p-15);
  p = __builtin_fma(p, u, -0x1.68861c740c417p-19);
  p = __builtin_fma(p, u, -0x1.3885e03ec1054p-10);
  p = __builtin_fma(p, u, -0x1.0f0bcff3e64d0p-10);
  p = __builtin_fma(p, u, 0x1.b70a19f37140bp-6);
  p = __builtin_fma(p, u, 0x1.2771a39a3847ap-5);
  p = __builtin_fma(p, u, -0x1.c5b04663cc15fp-3);
  p = __builtin_fma(p, u, -0x1.d3a1c00ebe03ap-2);
  return p;
}

// x^1 Y1(x) over x - z of its zeros, u = (x - 6.0) / 2.0; u from -1 to 1.
__DL_CORE double __dl_poly_y1_far(double u) {  // relative error 7.2e-25
  double p = -0x1.e48fd4b3e3441p-55;
  p = __builtin_fma(p, u, 0x1.b5206c9b433b0p-53);
  p = __builtin_fma(p, u, -0x1.3922aff89ae1ap-52);
  p = __builtin_fma(p, u, 0x1.d0ca8a2fc8939p-51);
  p = __builtin_fma(p, u, -0x1.12076b30668c4p-48);
  p = __builtin_fma(p, u, 0x1.e3be247b69dfap-47);
  p = __builtin_fma(p, u, -0x1.891debc9b5dfbp-45);
  p = __builtin_fma(p, u, 0x1.ea3fa119d93b1p-44);
  p = __builtin_fma(p, u, -0x1.99ec798ad6b58p-42);
  p = __builtin_fma(p, u, 0x1.6d09daf52fbd0p-38);
  p = __builtin_fma(p, u, -0x1.3847473229a94p-36);
  p = __builtin_fma(p, u, -0x1.1f463e00c9991p-32);
  p = __builtin_fma(p, u, 0x1.bb9e51f903c63p-31);
  p = __builtin_fma(p, u, 0x1.381a1eccb396ap-26);
  p = __builtin_fma(p, u, -0x1.babd592751036p-25);
  p = __builtin_fma(p, u, -0x1.d23bc2859a028p-21);
  p = __builtin_fma(p, u, 0x1.278639c3af751p-19);
  p = __builtin_fma(p, u, 0x1.04f421c8ed9dcp-15);
  p = __builtin_fma(p, u, -0x1.265af35c8b119p-14);
  p = __builtin_fma(p, u, -0x1.912b7c4f88152p-11);
  p = __builtin_fma(p, u, 0x1.8c1814d6d9283p-10);
  p = __builtin_fma(p, u, 0x1.888a7e8a50308p-7);
  p = __builtin_fma(p, u, -0x1.5038b8c3f3a3ep-6);
  p = __builtin_fma(p, u, -0x1.a5075562387cdp-4);
  p = __builtin_fma(p, u, 0x1.3775af10a2eeap-3);
  p = __builtin_fma(p, u, 0x1.6e8393d6cd6bcp-2);
  p = __builtin_fma(p, u, -0x1.efc7130fd0bd4p-2);
  return p;
}

// Y1(x) less 2/pi log(x/2) J1(x) and its pole, over x^1, u = x^2; u from 0 to 0.2501.
__DL_CORE double __dl_poly_y1_series(double u) {  // relative error 5.3e-20
  double p = -0x1.6cb8cec5c607bp-35;
  p = __builtin_fma(p, u, 0x1.ba6ad654be00dp-28);
  p = __builtin_fma(p, u, -0x1.7446a03eacb7ap-21);
  p = __builtin_fma(p, u, 0x1.9027adc45342ap-15);
  p = __builtin_fma(p, u, -0x1.d97973c2a6d03p-10);
  p = __builtin_fma(p, u, 0x1.b6965296cd2b2p-6);
  p = __builtin_fma(p, u, 0x1.92b1bda0ed08cp-6);
  return p;
}

// Hankel's P1(x), u = 64 / x^2, x from 8; u from 0 to 1.
__DL_CORE double __dl_poly_hankel_p1(double u) {  // relative error 7.4e-16
  double p = 0x1.90d6351a3cc73p-31;
  p = __builtin_fma(p, u, -0x1.4af442494e343p-28);
  p = __builtin_fma(p, u, 0x1.154ee7b8b5ea0p-26);
  p = __builtin_fma(p, u, -0x1.633c30077d9b7p-25);
  p = __builtin_fma(p, u, 0x1.dbffe404fb8dap-24);
  p = __builtin_fma(p, u, -0x1.b7f6ad1efdfa4p-22);
  p = __builtin_fma(p, u, 0x1.5a67a60a0d5ecp-19);
  p = __builtin_fma(p, u, -0x1.274ffce74271dp-15);
  p = __builtin_fma(p, u, 0x1.dfffffff4da0bp-10);
  p = __builtin_fma(p, u, 0x1.0000000000003p+0);
  return p;
}

// Hankel's Q1(x) x, u = 64 / x^2, x from 8; u from 0 to 1.
__DL_CORE double __dl_poly_hankel_q1(double u) {  // relative error 1.4e-14
  double p = -0x1.502dba34fb78fp-28;
  p = __builtin_fma(p, u, 0x1.0e190b47db9f5p-25);
  p = __builtin_fma(p, u, -0x1.af28b0c9810b8p-24);
  p = __builtin_fma(p, u, 0x1.f9b8bf7087ed7p-23);
  p = __builtin_fma(p, u, -0x1.242270c1ba833p-21);
  p = __builtin_fma(p, u, 0x1.b2da1c1c0c1c3p-20);
  p = __builtin_fma(p, u, -0x1.fe4e274e24cddp-18);
  p = __builtin_fma(p, u, 0x1.1c3cf4a738bd1p-14);
  p = __builtin_fma(p, u, -0x1.a3fffffaec40cp-10);
  p = __builtin_fma(p, u, 0x1.7ffffffffffa0p-2);
  return p;
}

// I1(x) / x^1, u = x^2, x below 8; u from 0 to 64.
__DL_CORE double __dl_poly_i1(double u) {  // relative error 2.0e-23
  double p = 0x1.a65c0f1613676p-136;
  p = __builtin_fma(p, u, 0x1.317e0234efdddp-126);
  p = __builtin_fma(p, u, 0x1.6f3f4c4970573p-116);
  p = __builtin_fma(p, u, 0x1.52d1373d048cbp-106);
  p = __builtin_fma(p, u, 0x1.16681157a4a20p-96);
  p = __builtin_fma(p, u, 0x1.8bcd59915b61fp-87);
  p = __builtin_fma(p, u, 0x1.e2638fb4dfd97p-78);
  p = __builtin_fma(p, u, 0x1.f17696a854548p-69);
  p = __builtin_fma(p, u, 0x1.ab81ea82df68bp-60);
  p = __builtin_fma(p, u, 0x1.2c9758da8a7f4p-51);
  p = __builtin_fma(p, u, 0x1.522a43f659a38p-43);
  p = __builtin_fma(p, u, 0x1.27e4fb7789c94p-35);
  p = __builtin_fma(p, u, 0x1.845c8a0ce514bp-28);
  p = __builtin_fma(p, u, 0x1.6c16c16c16c16p-21);
  p = __builtin_fma(p, u, 0x1.c71c71c71c71cp-15);
  p = __builtin_fma(p, u, 0x1.5555555555555p-9);
  p = __builtin_fma(p, u, 0x1.0000000000000p-4);
  p = __builtin_fma(p, u, 0x1.0000000000000p-1);
  return p;
}

// I1(x) exp(-x) sqrt(x), u = 8 / x, x from 8; u from 0.011 to 1.
__DL_CORE double __dl_poly_i1_large(double u) {  // relative error 1.6e-17
  double p = 0x1.103ba57ed2a95p-12;
  p = __builtin_fma(p, u, -0x1.c3c2a6da87aebp-9);
  p = __builtin_fma(p, u, 0x1.5912cd618c9b5p-6);
  p = __builtin_fma(p, u, -0x1.42b26a478b01ap-4);
  p = __builtin_fma(p, u, 0x1.9e3668665dec2p-3);
  p = __builtin_fma(p, u, -0x1.83a1dc6acb524p-2);
  p = __builtin_fma(p, u, 0x1.123925718e070p-1);
  p = __builtin_fma(p, u, -0x1.2c25142e599bep-1);
  p = __builtin_fma(p, u, 0x1.01ff8bd27f66ap-1);
  p = __builtin_fma(p, u, -0x1.5fb57cb519333p-2);
  p = __builtin_fma(p, u, 0x1.7e50fb259bb0ep-3);
  p = __builtin_fma(p, u, -0x1.4c1c7659d7d9dp-4);
  p = __builtin_fma(p, u, 0x1.ccac4f3a18623p-6);
  p = __builtin_fma(p, u, -0x1.fc2347eef588cp-8);
  p = __builtin_fma(p, u, 0x1.ba6e62a2c7f66p-10);
  p = __builtin_fma(p, u, -0x1.2cf5fd376e828p-12);
  p = __builtin_fma(p, u, 0x1.3734f80885ae7p-15);
  p = __builtin_fma(p, u, -0x1.3c6ee228f4e60p-18);
  p = __builtin_fma(p, u, -0x1.a1fe78e997c4fp-19);
  p = __builtin_fma(p, u, -0x1.d7b36a3474571p-17);
  p = __builtin_fma(p, u, -0x1.4f1c0fe651cdcp-14);
  p = __builtin_fma(p, u, -0x1.7efc0e5be8de1p-11);
  p = __builtin_fma(p, u, -0x1.32633e6deb33ep-6);
  p = __builtin_fma(p, u, 0x1.9884533d43648p-2);
  return p;
}

// Zeros of the Bessel functions.
#define __DL_ZERO_J0_1 0x1.33d152e971b40p+1, -0x1.0f539d7da258ep-53
#define __DL_ZERO_J0_2 0x1.6148f5b2c2e45p+2, 0x1.75054cd60a517p-54
#define __DL_ZERO_J1_1 0x1.ea75575af6f09p+1, -0x1.60155a9d1b256p-53
#define __DL_ZERO_J1_2 0x1.c0ff5f3b47250p+2, -0x1.b226d9d243827p-54
#define __DL_ZERO_Y0_1 0x1.c982eb8d417eap-1, 0x1.ea9d270347f83p-56
#define __DL_ZERO_Y0_2 0x1.fa9534d98569cp+1, -0x1.f06ae7804384ep-54
#define __DL_ZERO_Y0_3 0x1.c581dc4e72103p+2, -0x1.9774a495f56cfp-54
#define __DL_ZERO_Y1_1 0x1.193bed4dff243p+1, -0x1.bd1e50d219bfdp-55
#define __DL_ZERO_Y1_2 0x1.5b7fe4e87b02ep+2, 0x1.dfe7bac228e8cp-52
