"""What each base mnemonic writes, how wide its operands are, what else it does and where it executes, as data.

Found with `nvdisasm --print-life-ranges` on the output of ptxas (tests/sass/test_effects.py repeats the comparison);
what ptxas was not seen to emit follows the forms that it resembles.
"""

from __future__ import annotations

from typing import Final

# Where an instruction executes. docs/sass.md describes the classes; latencies.py has their times.
CLASSES: Final[dict[str, str]] = {
    # integer and logic unit
    "alu": """
        IADD IADD32I IADD3 ISCADD ISCADD32I LEA LOP LOP3 LOP32I ISETP ISET ICMP IMNMX SEL SHL SHR SHF PRMT BFE BFI
        BMSK SGXT IABS MOV MOV32I P2R R2P PLOP3 PSETP PSET CSETP CSET FSETP FSET FSEL FMNMX FCMP FSWZADD FSWZ
        VABSDIFF VABSDIFF4 VADD VMNMX VSET VSETP VSHL VSHR VIADD VIADDMNMX VIMNMX VIMNMX3 I2FP F2FP F2IP I2IP
        RRO XMAD LEPC VOTE FMNMX2 LEAHI IADD2 CLMAD DEPBAR""",
    # single-precision multiply-add pipe, which multiplies integers too
    "fma": "FADD FADD32I FMUL FMUL32I FFMA FFMA32I IMAD IMAD32I IMUL IMUL32I IMADSP IDP VMAD",
    # half precision
    "half": """HADD2 HADD2_32 HADD2_32I HMUL2 HMUL2_32I HFMA2 HFMA2_32I HMNMX2 HSETP2 HSET2 VHMNMX HFMA2.MMA""",
    "double": "DADD DMUL DFMA DSETP DSET DMNMX",
    # uniform data path
    "uniform": """
        UIADD3 ULEA ULOP ULOP3 UISETP UIMAD USEL USHF UPRMT UBMSK USGXT UMOV UP2UR UR2UP UPLOP3 UPSETP ULEPC UF2FP
        VOTEU ULOP32I USHL USHR UIMNMX UVIADD""",
    # bit counts and conversions in the uniform data path: their results come by scoreboard
    "uniform variable": "UFLO UPOPC UBREV S2UR R2UR REDUX ULDC ELECT",
    # special functions and conversions
    "special": "MUFU FLO POPC BREV I2F F2I F2F FRND I2I FCHK",
    "read special": "S2R CS2R",
    "load": "LD LDG LDS LDSM LDL LDC LDCU QSPC LDGSTS LDU LDGMC",
    "store": "ST STG STS STL",
    "atomic": "ATOM ATOMG ATOMS RED REDG REDS REDAS SYNCS ARRIVES CCTL CCTLL CCTLT UBLKCP UBLKRED UBLKPF UTMACCTL",
    # between the lanes of a warp
    "shuffle": "SHFL MATCH",
    "barrier": "BAR B2R R2B UCGABAR_ARV UCGABAR_WAIT",
    "fence": "MEMBAR FENCE ERRBAR CGAERRBAR LDGDEPBAR ACQBULK USETMAXREG UTMACMDFLUSH",
    "control": """
        BRA BRX BRXU JMP JMX JMXU CAL CALL JCAL RET EXIT PEXIT BRK CONT SYNC SSY PBK PCNT PRET LONGJMP PLONGJMP RTT
        BSSY BSYNC BREAK BMOV WARPSYNC YIELD BPT NOP NANOSLEEP PMTRIG KIL KILL ENDCOLLECTIVE PREEXIT RAM SAM
        WARPGROUP GETCRSPTR SETCRSPTR""",
}

# Bases whose leading operands are not "predicates and one register, up to a second register or an address":
# the number that is written; -1 is all but the last.
WRITTEN: Final[dict[str, int]] = {
    **dict.fromkeys("ISETP FSETP DSETP HSETP2 PLOP3 PSETP CSETP UISETP UPLOP3 UPSETP VSETP".split(), 2),
    **dict.fromkeys("FCHK PSET CSET".split(), 1),
    **dict.fromkeys("VOTE VOTEU".split(), -1),
    **dict.fromkeys(
        """ST STG STS STL RED REDG REDS REDAS CCTL CCTLL CCTLT BAR R2B MEMBAR FENCE ERRBAR CGAERRBAR LDGDEPBAR DEPBAR
        ACQBULK USETMAXREG UCGABAR_ARV UCGABAR_WAIT LDGSTS UBLKCP UBLKRED UBLKPF ARRIVES
        UTMACCTL UTMACMDFLUSH SETCRSPTR
        BRA BRX BRXU JMP JMX JMXU CAL CALL JCAL RET EXIT PEXIT BRK CONT SYNC SSY PBK PCNT PRET LONGJMP PLONGJMP RTT
        BSYNC BREAK WARPSYNC YIELD BPT NOP NANOSLEEP PMTRIG KIL KILL ENDCOLLECTIVE PREEXIT RAM SAM WARPGROUP""".split(),
        0,
    ),
}

# How many words the registers of an operand have, where it is not one: the rule of `effects.py`.
WIDTHS: Final[dict[str, str]] = {
    **dict.fromkeys("DADD DMUL DFMA DMNMX".split(), "double"),
    **dict.fromkeys("DSETP DSET".split(), "double sources"),
    **dict.fromkeys("IMAD UIMAD".split(), "wide"),
    **dict.fromkeys("F2F F2I I2F I2I FRND".split(), "convert"),
    **dict.fromkeys("LEPC BRX JMX CALL RET JMP".split(), "code address"),
    **dict.fromkeys("BRXU JMXU ULEPC".split(), "code address"),
    **dict.fromkeys(
        "LD LDG LDGMC LDS LDL LDC LDCU LDU ULDC ST STG STS STL ATOM ATOMG ATOMS RED REDG REDS SYNCS".split(), "data"
    ),
    "CS2R": "special pair",
    "MATCH": "match",
    "BMOV": "data",
}

# What an instruction does to the flow of control.
FLOWS: Final[dict[str, str]] = {
    "jump": "BRA JMP",
    "indirect": "BRX BRXU JMX JMXU",
    "call": "CAL CALL JCAL",
    "return": "RET RTT",
    "exit": "EXIT PEXIT KIL KILL",
    # sets up a place that a "resume" will go to
    "prepare": "SSY PBK PCNT PRET PLONGJMP BSSY",
    "resume": "SYNC BRK CONT LONGJMP BSYNC",
    "warp": "WARPSYNC",  # with a label: the lanes left behind wait there
}

# Memory: what is done, and in which space.
MEMORY: Final[dict[str, tuple[str, str]]] = {
    "LD": ("load", "generic"),
    "LDG": ("load", "global"),
    "LDU": ("load", "global"),
    "LDGMC": ("atomic", "global"),  # it may add up what the devices of a group hold
    "LDS": ("load", "shared"),
    "LDL": ("load", "local"),
    "LDC": ("load", "constant"),
    "LDCU": ("load", "constant"),
    "ULDC": ("load", "constant"),
    "ST": ("store", "generic"),
    "STG": ("store", "global"),
    "STS": ("store", "shared"),
    "STL": ("store", "local"),
    "ATOM": ("atomic", "generic"),
    "ATOMG": ("atomic", "global"),
    "ATOMS": ("atomic", "shared"),
    "RED": ("atomic", "generic"),
    "REDG": ("atomic", "global"),
    "REDS": ("atomic", "shared"),
    "REDAS": ("atomic", "shared"),
    "LDGSTS": ("atomic", "generic"),
    "SYNCS": ("atomic", "shared"),
    "ARRIVES": ("atomic", "shared"),
    "UBLKCP": ("atomic", "generic"),
    "UBLKRED": ("atomic", "generic"),
    "UBLKPF": ("atomic", "generic"),
    "CCTL": ("atomic", "generic"),
    "CCTLL": ("atomic", "local"),
    "CCTLT": ("atomic", "generic"),
    "UTMACCTL": ("atomic", "generic"),
    **dict.fromkeys("MEMBAR FENCE ERRBAR CGAERRBAR LDGDEPBAR ACQBULK UTMACMDFLUSH".split(), ("fence", "generic")),
}

# Nothing may move across these: barriers, fences and what depends on the place where it stands.
PINNED: Final = frozenset(
    """BAR B2R R2B UCGABAR_ARV UCGABAR_WAIT MEMBAR FENCE ERRBAR CGAERRBAR LDGDEPBAR ACQBULK USETMAXREG DEPBAR
    UTMACCTL UTMACMDFLUSH GETCRSPTR SETCRSPTR
    BSSY BSYNC BREAK BMOV WARPSYNC YIELD BPT NANOSLEEP PMTRIG ENDCOLLECTIVE PREEXIT RAM SAM LEPC ULEPC WARPGROUP
    SSY PBK PCNT PRET PLONGJMP""".split()
)

# Instructions in which the lanes of a warp take part together.
CONVERGENT: Final = frozenset(
    "SHFL VOTE VOTEU MATCH REDUX ELECT BAR WARPSYNC BSSY BSYNC BREAK SSY SYNC R2UR FSWZADD ENDCOLLECTIVE".split()
)

# Instructions for several lanes of a warp, and all of which a cubin says where they stand.
WARP_WIDE: Final = ("SHFL", "VOTE", "VOTEU", "MATCH", "REDUX")
NOTED: Final = frozenset((*WARP_WIDE, "EXIT", "WARPSYNC", "BSSY", "RET", "S2R", "S2UR", "ATOM", "RED"))

CLASS_NAMES: Final = tuple(CLASSES)
CLASS_OF: Final[dict[str, str]] = {base: name for name, bases in CLASSES.items() for base in bases.split()}
FLOW_OF: Final[dict[str, str]] = {base: name for name, bases in FLOWS.items() for base in bases.split()}
