"""The times of instructions per family of architectures, as data for latencies.py.

ROWS: `producer: consumer=cycles ...`. `python -m tools.isa.latencies FAMILY CUBIN...` made them: the fewest cycles that
the stall counts of ptxas 12.9 leave between the two over the corpus (tests/golden/corpus and benchmarks/kernels at -O1
and -O3; family 80 is sm_80, sm_86 and sm_89 together). They agree with what is published: 6 cycles for the ALU, 13
for comparisons and a read delay of 2 to 4 for memory and special functions on sm_61 (thesis, table 5.3: `alu` 6, and
`xu=2`, `mem=2` are 6 less the delay of 4, `ldc=4` less 2); on sm_86 ALU and FMA 4, across 5, predicate to guard 13,
IMAD.WIDE 5 to 6. A `?` is a guess, on the long side: ptxas was not seen to use the pair often enough to prove a number,
and the largest that is proven for the producer stands there.

What no number here says but every rule needs: an instruction of variable latency sets its scoreboard `BARRIER_DELAY`
cycles after it issues, so that the first waiter comes no earlier; behind `DEPBAR.LE` ptxas leaves `COUNT_DELAY` (sm_61,
in all 647 places of the corpus); a stall of `LONG_STALL` cycles or more works only with the yield bit at 0 (sm_75 and
later); an instruction that changes the flow of control stalls `CONTROL_STALL`.
"""

from __future__ import annotations

from typing import Final

BARRIER_DELAY: Final = 2
COUNT_DELAY: Final = 3
LONG_STALL: Final = 12
CONTROL_STALL: Final = 5

ROWS: Final[dict[int, str]] = {
    61: """
        alu: alu=6 double=6 xu=2 mem=2 ldc=4 branch=6? bar=4
        alu.p: guard=13 alu.p=13 double.p=13? mem.p=13 vote.p=13
        r2p.p: guard=13 alu.p=13 double.p=13? mem.p=13? vote.p=13?
        alu.cc: cc=6
    """,
    75: """
        alu: alu=4 fma=5 wide=5 wide.c=5 half=8? mma=8? double=6 xu=6 mem=8 ldc=6 branch=6 bar=8 uniform=8?
        fma: alu=5 fma=4 wide=4 wide.c=4 half=8? mma=8? double=6 xu=6 mem=8 ldc=6 branch=6 bar=8? uniform=8?
        wide: alu=5 fma=4 wide=8? wide.c=6 half=8? mma=8? double=8? xu=8? mem=8 ldc=8? branch=8? bar=8? uniform=8?
        wide.hi: alu=5 fma=4 wide=6 wide.c=6 half=8? mma=8? double=8? xu=8? mem=8 ldc=8? branch=8? bar=8? uniform=8?
        half: alu=8? fma=8? wide=8? wide.c=8? half=8? mma=8? double=8? xu=8? mem=8? ldc=8? branch=8? bar=8? uniform=8?
        uniform: alu=6 fma=6 wide=9? wide.c=9? half=9? mma=9? double=9? xu=9? mem=9 ldc=9? branch=9? bar=9? uniform=4
        umov: alu=2 fma=2 wide=8? wide.c=9? half=9? mma=9? double=9? xu=2 mem=2 ldc=9? branch=9? bar=9? uniform=2
        cs2r: alu=6 fma=6 wide=6 wide.c=8? half=8? mma=8? double=8? xu=8? mem=8 ldc=8? branch=8? bar=8? uniform=8?
        lepc: alu=9 fma=9? wide=9? wide.c=9? half=9? mma=9? double=9? xu=9? mem=9? ldc=9? branch=9? bar=9? uniform=9?
        alu.p: guard=12 alu.p=4 fma.p=5 half.p=12? double.p=12? mem.p=12? vote.p=12
        fma.p: guard=12? alu.p=5 fma.p=4 half.p=12? double.p=12? mem.p=12? vote.p=12?
        half.p: guard=12? alu.p=12? fma.p=12? half.p=12? double.p=12? mem.p=12? vote.p=12?
        uniform.p: alu.p=6 fma.p=12? vote.p=12? uguard=11 uniform.p=4
        r2p.p: guard=12 alu.p=5? fma.p=13? half.p=13? double.p=13? mem.p=13? vote.p=13?
        barrier: barrier=4
    """,
    80: """
        alu: alu=4 fma=5 wide=5 wide.c=5 half=5 mma=6? double=6 xu=4 mem=5 ldc=4 branch=4 bar=5 uniform=6?
        fma: alu=5 fma=4 wide=4 wide.c=4 half=6? mma=6? double=6 xu=4 mem=5 ldc=4 branch=4 bar=6? uniform=6?
        wide: alu=5 fma=4 wide=6? wide.c=6 half=6? mma=6? double=6? xu=6? mem=5 ldc=6? branch=6? bar=6? uniform=6?
        wide.hi: alu=5 fma=4 wide=6 wide.c=6 half=6? mma=6? double=6? xu=6? mem=5 ldc=6? branch=6? bar=6? uniform=6?
        half: alu=5 fma=5 wide=6? wide.c=6? half=4 half.c=5 mma=6? double=6? xu=4 mem=5 ldc=6? branch=6? bar=6?
            uniform=6?
        half.c: alu=5 fma=5 wide=6? wide.c=6? half=5 half.c=5 mma=6? double=6? xu=4 mem=5 ldc=6? branch=6? bar=6?
            uniform=6?
        mma: alu=10 fma=10 wide=10 wide.c=10 half=10? mma=6? double=9? xu=6 mem=7 ldc=10? branch=6 bar=10? uniform=10?
        uniform: alu=6 fma=6 wide=9? wide.c=9? half=9? mma=9? double=9? xu=9? mem=9 ldc=9? branch=9? bar=9? uniform=4
        umov: alu=2 fma=2 wide=7? wide.c=9? half=9? mma=9? double=14 xu=2 mem=2 ldc=9? branch=3 bar=9? uniform=2
        cs2r: alu=6 fma=6 wide=6 wide.c=6? half=6? mma=6? double=6? xu=6? mem=6 ldc=6? branch=6? bar=6? uniform=6?
        lepc: alu=9 fma=9? wide=9? wide.c=9? half=9? mma=9? double=9? xu=9? mem=9? ldc=9? branch=9? bar=9? uniform=9?
        alu.p: guard=13 alu.p=4 fma.p=5 half.p=13? double.p=13? mem.p=13? vote.p=13
        fma.p: guard=13? alu.p=5 fma.p=4 half.p=13? double.p=13? mem.p=13? vote.p=13?
        half.p: guard=13? alu.p=5 fma.p=13? half.p=13? double.p=13? mem.p=13? vote.p=13?
        uniform.p: alu.p=6 fma.p=13? vote.p=13? uguard=11 uniform.p=4
        r2p.p: guard=13 alu.p=5 fma.p=13? half.p=13? double.p=13? mem.p=13? vote.p=13?
        barrier: barrier=6
    """,
    90: """
        alu: alu=4 fma=5 wide=5 wide.c=5 wide.ch=3 half=5 mma=6? double=6 xu=4 mem=5 ldc=4 branch=4 bar=5 uniform=6?
        fma: alu=5 fma=4 wide=4 wide.c=4 wide.ch=2 half=6? mma=6? double=6 xu=4 mem=5 ldc=4 branch=4 bar=5 uniform=6?
        wide: alu=3 fma=4 wide=6? wide.c=4 half=6? mma=6? double=6? xu=6? mem=5 ldc=6? branch=6? bar=6? uniform=6?
        wide.hi: alu=5 fma=4 wide=6 wide.c=4 half=6? mma=6? double=6? xu=6? mem=5 ldc=6? branch=6? bar=6? uniform=6?
        half: alu=5 fma=5? wide=6? wide.c=6? half=4 half.c=5 mma=6? double=6? xu=4 mem=5 ldc=6? branch=6? bar=6?
            uniform=6?
        half.c: alu=5 fma=5? wide=6? wide.c=6? half=5 half.c=5 mma=6? double=6? xu=4 mem=5 ldc=6? branch=6? bar=6?
            uniform=6?
        mma: alu=10 fma=10 wide=10? wide.c=10 wide.ch=8 half=10? mma=8? double=8? xu=10? mem=7 ldc=10? branch=6 bar=10?
            uniform=10?
        double: alu=10 fma=10 wide=10? wide.c=10? half=10? mma=10? double=8 xu=6 mem=7 ldc=10? branch=10? bar=10?
            uniform=10?
        uniform: alu=6 fma=6 wide=9? wide.c=9? half=9? mma=9? double=9? xu=9? mem=9 ldc=9? branch=9? bar=9? uniform=4
        umov: alu=2 fma=2 wide=4 wide.c=9? half=9? mma=9? double=2 xu=2 mem=2 ldc=9? branch=3 bar=9? uniform=2
        r2ur: alu=13? fma=13? wide=13? wide.c=13? half=13? mma=13? double=13? xu=13? mem=13 ldc=13? branch=13 bar=13?
            uniform=13?
        cs2r: alu=8? fma=7 wide=10? wide.c=10? half=10? mma=10? double=10? xu=10? mem=8 ldc=10? branch=10? bar=10?
            uniform=10?
        lepc: alu=10? fma=10? wide=10? wide.c=10? half=10? mma=10? double=10? xu=10? mem=10? ldc=10? branch=10? bar=10?
            uniform=10?
        alu.p: guard=13 alu.p=4 fma.p=5 half.p=13? double.p=13? mem.p=13? vote.p=13
        fma.p: guard=13? alu.p=5 fma.p=4 half.p=13? double.p=13? mem.p=13? vote.p=13?
        half.p: guard=13 alu.p=5 fma.p=13? half.p=13? double.p=13? mem.p=13? vote.p=13?
        double.p: guard=14 alu.p=6 fma.p=14? half.p=14? double.p=14? mem.p=14? vote.p=14?
        uniform.p: alu.p=6 fma.p=13? vote.p=9? uguard=11 uniform.p=4
        r2ur.p: guard=13 alu.p=13? fma.p=13? half.p=13? double.p=13? mem.p=13? vote.p=13?
        r2p.p: guard=13 alu.p=5 fma.p=13? half.p=13? double.p=13? mem.p=13? vote.p=13?
        barrier: barrier=8
    """,
}  # fmt: skip

#: Cycles between an instruction and whatever comes next, where it is not one that changes the flow of control: the
#: smallest stall that ptxas gives it in the corpus and in generated programs (PMTRIG and BPT: it has none, a guess).
SETTLE: Final[dict[int, str]] = {
    61: "",
    75: "BAR=5 WARPSYNC=4 MEMBAR=5 CCTL=5 PMTRIG=5 BPT=5",
    80: "MEMBAR=6 CCTL=5 PMTRIG=5 BPT=5",
    90: "WARPSYNC=5 YIELD=5 MEMBAR=6 CGAERRBAR=6 NANOSLEEP=5 PMTRIG=5 BPT=5 LEPC=7",
}

#: The same between a barrier of the block and the first instruction that does not compute in a fixed time. An H100 has
#: shown that it matters: what reads the barrier's result or shared memory sooner gets wrong data, or is illegal.
HOLD: Final[dict[int, str]] = {61: "", 75: "", 80: "BAR=6", 90: "BAR=6"}

#: Units and mnemonics with variable latency: the result by write barrier, the sources held until the read barrier.
#: From ptxas: each sets a write barrier wherever the result is used; double precision is fixed on sm_90 only, FCHK
#: (after `-`) on sm_61, and I2I elsewhere. A scoreboard set by one of fixed latency tells nothing (seen on an H100).
VARIABLE: Final[dict[int, str]] = {
    61: "special load store atomic shuffle double IMAD IMUL IMUL32I IMAD32I IMADSP VMAD S2R B2R -FCHK",
    75: "special load store atomic shuffle double S2R B2R BMOV R2UR S2UR REDUX -I2I",
    80: "special load store atomic shuffle double S2R B2R BMOV R2UR S2UR REDUX -I2I",
    90: "special load store atomic shuffle S2R B2R BMOV S2UR REDUX -I2I",
}

#: Cycles for which an instruction keeps its unit from taking the next one: hints, never needed for correctness.
#: sm_61 and sm_86: thesis, table 5.3. sm_75, sm_80 and sm_90: from the lanes per scheduler in the CUDA C++ programming
#: guide's table of throughputs (32 divided by them).
ISSUE: Final[dict[int, str]] = {
    61: "alu=1 double=32 xu=4 mem=4 ldc=4 bar=4",
    75: "alu=2 fma=2 wide=4 half=1 double=64 xu=8 mem=8 ldc=8 uniform=2",
    80: "alu=2 fma=1 wide=4 half=1 mma=1 double=64 xu=8 mem=8 ldc=8 uniform=2",
    90: "alu=2 fma=1 wide=4 half=1 mma=1 double=2 xu=8 mem=8 ldc=8 uniform=2",
}

#: Units (verify.UNITS) that deliver results in the order of issue: ptxas lets the scoreboard of a later instruction
#: stand for earlier ones without their own, loads of global and local memory on sm_61 only (DEPBAR counts on it).
RESULTS_IN_ORDER: Final[dict[int, str]] = {
    61: "special; double; load shared, atomic shared, shuffle; load global; load local; atomic generic",
    **dict.fromkeys((75, 80), "special; double; reduction; load; load shared, atomic shared, shuffle"),
    90: "special; reduction; uniform variable; load; load shared, atomic shared, shuffle",
}
#: Units whose results end a scoreboard's count in the order of issue, so that `DEPBAR.LE SB, k` waits for all but the
#: last k: from ptxas, which counts loads of these kinds together, those under a guard too, and no others.
COUNTED_IN_ORDER: Final[dict[int, str]] = {
    61: "load, load generic, load global, load local",
    **dict.fromkeys((75, 80, 90), ""),
}
#: Units that read their operands in the order of issue.
READS_IN_ORDER: Final[dict[int, str]] = dict.fromkeys(
    (61, 75, 80, 90),
    "special; double; reduction; load, load generic, load global, load shared, load local, store generic, "
    "store global, store shared, store local, atomic generic, atomic global, atomic shared, shuffle",
)

#: sm_61 issues two instructions in one cycle (a stall of 0 behind the first): one of these and one of those, where not
#: both read constants and neither is part of another pair. Those that ptxas was seen to pair, in 4,820 places.
PAIR_FIRST: Final = frozenset(
    """BFE BFI DADD DFMA DMNMX DMUL DSET DSETP F2F F2I FADD FADD32I FCHK FCMP FFMA FMUL FMUL32I FSETP I2F IADD IADD3
    IADD32I ICMP IMNMX ISCADD ISCADD32I ISET ISETP LEA LOP LOP3 LOP32I MOV MOV32I PRMT PSETP RRO SEL SHF SHL SHR VOTE
    XMAD""".split()
)
PAIR_SECOND: Final = frozenset(
    """ATOM ATOMS B2R BAR BRA BRK BRX DEPBAR EXIT F2F F2I FLO I2F I2I LD LDC LDG LDL LDS MEMBAR MUFU PBK POPC RED RET
    S2R SHFL SSY ST STG STL STS SYNC""".split()
)

#: What sets no scoreboard for a result, and none for its operands: nvdisasm refuses such words of sm_75 and later
#: (of BMOV, and of `READS_SOME`, those that write, or read, no general register), and of sm_61 those of all that has a
#: fixed latency but `SETS_ANY`.
SETS_NO_RESULT: Final = frozenset(
    """ARRIVES BAR BPT BRA BREAK BRX BRXU BSSY BSYNC CALL CCTL CCTLL CCTLT DEPBAR EXIT JMP JMX MEMBAR NANOSLEEP RED REDG
    RET ST STG STL STS WARPGROUP WARPSYNC YIELD""".split()
)
SETS_NO_READ: Final = frozenset(
    "BPT BRA BREAK BRX BRXU BSSY BSYNC CALL DEPBAR EXIT FENCE JMP JMX NANOSLEEP RET WARPGROUP WARPSYNC YIELD".split()
)
READS_SOME: Final = frozenset("BMOV CCTL CCTLT".split())
SETS_ANY: Final = frozenset(
    "BAR GETCRSPTR SETCRSPTR MEMBAR R2B HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2 HMUL2_32I HSET2 HSETP2".split()
)
