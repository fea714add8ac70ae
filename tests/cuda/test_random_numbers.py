"""The generators of <curand_kernel.h> beside what cuRAND 10.3.10's own header gave for the same kernels: nvcc 13's PTX
of tests/cuda/random_numbers.cu with that header, run here."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import drawloom

SOURCE = Path(__file__).parent / "random_numbers.cu"
PLACE = np.dtype([("seed", np.uint64), ("sequence", np.uint64), ("offset", np.uint64)])
PLACES = [
    (0, 0, 0),
    (1234, 0, 0),
    (1234, 1, 0),
    (42, 7, 5),
    (0x123456789ABCDEF, 2**40 + 3, 2**35 + 3),
    (2**64 - 1, 2**63 + 5, 2**63 + 1),
]

#: Of each place four words, two after `skipahead(offset)`, two after `skipahead_sequence(sequence)`.
WORDS = {
    "xorwow": [
        [3179217846, 1883133293, 2220552389, 674260989, 306521119, 1986458431, 977720403, 1414583917],
        [624778773, 1867875844, 3739671282, 1954919316, 3681184389, 2501467243, 865023039, 3379045701],
        [3522650202, 3978931785, 2198015705, 2308946676, 3475686971, 75263415, 25984073, 402672861],
        [2362980919, 2698626076, 3571566824, 610470631, 2246291012, 1138938917, 1154183564, 2537761919],
        [2811412270, 2692645157, 1698331533, 2352795517, 1809702340, 320480597, 2990001578, 830388427],
        [1636068921, 859203460, 2572746791, 1480598554, 2787040211, 4012160480, 4079282198, 1440074865],
    ],
    "philox": [
        [1713891541, 3781805453, 3159862348, 2600524760, 4175744164, 1555169499, 2980410603, 159317863],
        [546353992, 3665621163, 1140953199, 3419031310, 2666454581, 482218876, 4196888723, 343858512],
        [3507855656, 1392278645, 3354607383, 253049307, 118660703, 1698527859, 2504520210, 1132705754],
        [1611620758, 2412640497, 747558969, 619510894, 2269631881, 4242002894, 2388307830, 3540521916],
        [2838079626, 3553587097, 553469250, 4293495056, 2378387131, 2259366734, 3551560080, 3745682376],
        [1133270464, 3652023636, 1417812010, 2225441144, 1446170962, 3468163844, 2156364918, 2028548356],
    ],
}

#: Of each function its numbers, and the word that comes after them, at this place.
WHERE = (1234, 3, 6)
NAMES = {
    "distributions": "uniform uniform_double normal normal_double log_normal poisson poisson poisson",
    "pairs": "normal2 normal2_double log_normal2 log_normal2_double log_normal_double",
    "fours": "curand4 uniform4 uniform4_double normal4 normal4_double log_normal4 log_normal4_double poisson4 poisson4",
}
NUMBERS = {
    "distributions_xorwow": [
        [0.04165245592594147, 0.9945968985557556, 0.9700363278388977, 2128083817],
        [0.9945968960654525, 0.4954831999806644, 0.5866057340228592, 1397353580],
        [-0.08557738363742828, 2.519814968109131, 0.006999482400715351, 1743308465],
        [0.0029537725458704503, -0.1040518246552009, 0.723025667704173, 1447218603],
        [1.61382257938385, 3.095513343811035, 1.651608943939209, 1743308465],
        [0, 2, 0, 2519451684],
        [74, 61, 56, 2875363595],
        [5000, 4993, 5051, 1447218603],
    ],
    "distributions_philox": [
        [0.9445090889930725, 0.7261676788330078, 0.3688078224658966, 1240162304],
        [0.9445090848021209, 0.7261676867492497, 0.36880783713422716, 1240162304],
        [-0.3341239094734192, -0.05040990188717842, 1.3707774877548218, 2407874574],
        [0.7763757374433052, -0.1928421873373002, 0.8961187291787345, 1416865606],
        [1.516597032546997, 1.6280736923217773, 2.3226165771484375, 2407874574],
        [2, 0, 0, 1388609043],
        [57, 63, 65, 391832825],
        [5055, 4986, 5063, 1416865606],
    ],
    "pairs_xorwow": [
        [2.519814968109131, -0.24656544625759125, -1.1489160060882568, 1397353580],
        [-0.1040518246552009, -0.7375897089759743, -1.1187043194206108, 2544848282],
        [3.095513343811035, 1.5501607656478882, 1.2371013164520264, 1397353580],
        [1.6063861742902334, 1.3710852407028342, 1.2464804253213422, 2544848282],
        [1.6499392072395191, 1.6063861742902334, 1.9753713715928767, 1447218603],
    ],
    "fours_philox": [
        [4056635629, 3118866465, 1584017598, 1240162304, 2407874574, 1388609043, 3367375037, 1710749800, 1416865606],
        [
            0.9445090889930725,
            0.7261676788330078,
            0.3688078224658966,
            0.28874778747558594,
            0.5606269836425781,
            0.3233107328414917,
            0.7840281128883362,
            0.3983149826526642,
            1416865606,
        ],
        [
            0.726168136893447,
            0.28874796333686686,
            0.32331052030531443,
            0.39831532111613627,
            0.00811572433779234,
            0.996802510362572,
            0.29007189338374545,
            0.38415381047210834,
            2556931203,
        ],
        [
            -0.3341239094734192,
            -0.05040990188717842,
            1.3707774877548218,
            -0.3404829204082489,
            0.9636968970298767,
            -0.47821271419525146,
            0.41598033905029297,
            -0.5599831938743591,
            1416865606,
        ],
        [
            0.7763757374433052,
            -0.1928421873373002,
            0.8961187291787345,
            -1.2063396420629617,
            -0.06233409606103752,
            3.102260160950056,
            1.0466975876918267,
            -1.1745965762473733,
            2556931203,
        ],
        [
            1.516597032546997,
            1.6280736923217773,
            2.3226165771484375,
            1.5141879320144653,
            2.0978734493255615,
            1.4629380702972412,
            1.829412817955017,
            1.4333354234695435,
            1416865606,
        ],
        [
            2.0018944042274605,
            1.571121119173346,
            2.0627286264983153,
            1.2194684773207287,
            1.6232275401838276,
            3.580724091790791,
            2.14185954273553,
            1.2291843949920003,
            2556931203,
        ],
        [9, 7, 7, 8, 7, 6, 6, 11, 107831661],
        [5055, 4986, 5063, 4915, 4996, 5219, 5074, 4917, 2556931203],
    ],
}


@cache
def module(device: str) -> drawloom.Module:
    return drawloom.load(drawloom.compile_cuda(SOURCE, "sm_80"), device=device)


def tolerance(name: str) -> dict[str, float]:
    """How far a number may be from cuRAND's: none where it is a word's; of floats' normal numbers the error of the
    short sines that cuRAND takes, 2^-21 of a radius that stays below 6.8; of doubles' the logarithm, the root, the
    sine and the exponential, each within two units in the last place."""
    if "normal" not in name:
        return {"rel": 0, "abs": 0}
    if "double" in name:
        return {"rel": 2.0**-50, "abs": 0}
    return {"rel": 2.0**-21, "abs": 6.8 * 2.0**-21}


@pytest.mark.parametrize("generator", ["xorwow", "philox"])
def test_words_are_those_of_curand(generator: str, device: str = "cpu") -> None:
    out = np.zeros((len(PLACES), 8), np.uint32)
    module(device)[f"words_{generator}"][1, len(PLACES)](out, np.array(PLACES, PLACE))
    assert out.tolist() == WORDS[generator]


@pytest.mark.parametrize("kernel", NUMBERS)
def test_distributions_are_those_of_curand(kernel: str, device: str = "cpu") -> None:
    expected = NUMBERS[kernel]
    out = np.zeros((len(expected), len(expected[0])))
    module(device)[kernel][1, 1](out, np.array(WHERE, PLACE))
    for name, numbers, curand in zip(NAMES[kernel.partition("_")[0]].split(), out.tolist(), expected):
        assert numbers[:-1] == pytest.approx(curand[:-1], **tolerance(name)), name
        assert numbers[-1] == curand[-1], f"{name} took another number of words"


@pytest.mark.parametrize("mean", [64.0, 300.0, 4000.0])
def test_poisson_numbers_of_middling_means(mean: float, device: str = "cpu") -> None:
    """Theirs are our own, so their distribution is tested: mean, variance and skewness within five standard errors, and
    chi-squared over the middle, whose 99.99 % point for d degrees is below d + 3.72 sqrt(2 d) + 10."""
    out = np.zeros((256, 64), np.uint32)
    module(device)["poisson_xorwow"][2, 128](out, mean, 64)
    drawn = out.ravel().astype(float)
    n = drawn.size
    assert abs(drawn.mean() - mean) < 5 * np.sqrt(mean / n)
    assert abs(drawn.var() - mean) < 5 * np.sqrt((mean + 2 * mean**2) / n)
    assert abs((((drawn - mean) / np.sqrt(mean)) ** 3).mean() - mean**-0.5) < 5 * np.sqrt(15.5 / n)
    k = np.arange(int(mean + 8 * np.sqrt(mean)))
    log_of_factorials = np.concatenate([[0.0], np.cumsum(np.log(k[1:]))])
    expected = n * np.exp(k * np.log(mean) - mean - log_of_factorials)
    common = expected >= 20
    counted = np.bincount(drawn.astype(int), minlength=k.size)[: k.size]
    chi_squared = ((counted - expected)[common] ** 2 / expected[common]).sum()
    degrees = int(common.sum())
    assert chi_squared < degrees + 3.72 * np.sqrt(2 * degrees) + 10
