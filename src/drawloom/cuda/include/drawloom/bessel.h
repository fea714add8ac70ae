// Bessel functions: not yet here.
#pragma once
