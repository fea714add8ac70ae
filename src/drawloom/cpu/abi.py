"""The structures that compiled kernels, the scheduler and Python share: word indices, every word 8 bytes.

Launch   one per launch, read by every worker           LAUNCH_*
Slot     one block in flight on one worker              SLOT_*
State    one unit of it: a warp, a gang, or a thread   STATE_*, then the frame where it keeps live registers
"""

from __future__ import annotations

from typing import Final

WARP: Final = 32

# Launch
LAUNCH_PARAMS: Final = 0
LAUNCH_IMAGE: Final = 1
LAUNCH_GRID: Final = 2  # x, y, z
LAUNCH_BLOCK: Final = 5  # x, y, z
LAUNCH_THREADS: Final = 8  # threads of a block
LAUNCH_UNITS: Final = 9  # units of a block: warps, gangs, or threads (lane by lane)
LAUNCH_SHARED: Final = 10  # bytes of shared memory of a block
LAUNCH_DYNAMIC: Final = 11  # of which dynamic
LAUNCH_BLOCKS: Final = 12  # blocks of the grid
LAUNCH_NEXT: Final = 13  # the next block to start; atomic
LAUNCH_CANCEL: Final = 14  # not 0: stop soon
LAUNCH_ERROR: Final = 15  # 0, or the code of the first error; claimed atomically
LAUNCH_ERROR_POS: Final = 16
LAUNCH_ERROR_BLOCK: Final = 17
LAUNCH_ERROR_THREAD: Final = 18
LAUNCH_ERROR_ADDRESS: Final = 19
LAUNCH_ERROR_SIZE: Final = 20
LAUNCH_CHUNK: Final = 21  # blocks that a worker takes at a time
LAUNCH_LOCAL: Final = 22  # bytes of local memory of a thread
LAUNCH_STATE_STRIDE: Final = 23  # bytes from one State to the next
LAUNCH_BUFFERS: Final = 24  # address of (begin, bytes, address of the words' cells or 0), sorted
LAUNCH_BUFFER_COUNT: Final = 25
LAUNCH_PRINTF: Final = 26  # callbacks into Python
LAUNCH_ASSERT: Final = 27
LAUNCH_MALLOC: Final = 28
LAUNCH_FREE: Final = 29
LAUNCH_ROW_UNITS: Final = 30  # units of a row of threads; where units span rows, all of the block's
LAUNCH_SLOTS: Final = 31  # slots of the launch, for all workers
LAUNCH_SLOT_STRIDE: Final = 32  # bytes from one slot to the next
LAUNCH_SLOT_STATES: Final = 34  # offset of the first State in a slot
LAUNCH_SLOT_SHARED: Final = 35  # offset of shared memory in a slot
LAUNCH_SLOT_LOCAL: Final = 36  # offset of local memory in a slot
LAUNCH_LANES: Final = 37  # threads of a unit
LAUNCH_KERNEL: Final = 38  # address of the kernel's function, for the shared scheduler
LAUNCH_RESOLVE: Final = 39  # address of what completes warp operations of threads, or 0
LAUNCH_SLOT_BASE: Final = 40  # address of the first slot
LAUNCH_PARKED: Final = 41  # slots that hold a block which only spins; atomic
LAUNCH_USED: Final = 42  # slots that were ever in use; atomic
LAUNCH_RACES: Final = 43  # address of what ``races`` knows of the slots' blocks, or 0
LAUNCH_RACES_STRIDE: Final = 44  # bytes of it for one slot
LAUNCH_TIME: Final = 45  # counts what orders accesses, from 1
LAUNCH_OTHER_POS: Final = 46  # of a race, the access that came before
LAUNCH_OTHER_BLOCK: Final = 47
LAUNCH_OTHER_THREAD: Final = 48
LAUNCH_OTHER_ACCESS: Final = 49  # RACE_* bits
LAUNCH_WORDS: Final = 64

# Slot: any worker may run the block of a parked one
SLOT_CTAID: Final = 0  # x, y, z
SLOT_BLOCK: Final = 3  # linear index
SLOT_SHARED: Final = 4  # address of shared memory
SLOT_LOCAL: Final = 5  # address of local memory
SLOT_STATES: Final = 6  # address of the first State
SLOT_BUSY: Final = 7  # FREE, PARKED or RUNNING; atomic
SLOT_DONE: Final = 8  # units that finished
SLOT_PROGRESS: Final = 10  # counts what the slot's blocks got past; watched for deadlock
SLOT_STACK: Final = 9  # an address near the top of the worker's stack
SLOT_VARIABLES: Final = 11  # address of the innermost function's first VARIABLE record, or 0; accesses are checked
SLOT_COLUMN: Final = 12  # number of the running unit in its row of threads
SLOT_ROW: Final = 13  # %tid.y and %tid.z of that row
SLOT_ARRIVALS: Final = 16  # threads that only arrived, for each of the 16 barriers
SLOT_WORDS: Final = 32
SLOT_MARGIN: Final = 32768  # bytes that may be read from the start of a slot, whatever is in them

# State
STATE_RESUME: Final = 0  # where to go on; 0 is the beginning
STATE_HELD: Final = 1  # of a parted warp's first lane: all of its lanes wait at the barrier that the warp came to
STATE_STATUS: Final = 2
STATE_BARRIER: Final = 3  # barrier id, 0 to 15
STATE_COUNT: Final = 4  # threads that the barrier waits for; 0 means all of the block
STATE_KIND: Final = 5  # BARRIER_*
STATE_VALUE: Final = 6  # how many of this unit's threads bring a true predicate
STATE_RESULT: Final = 7  # what bar.red gives
STATE_POS: Final = 8  # source position of what it waits for
STATE_ACTIVE: Final = 9  # how many of this unit's threads came to the barrier
STATE_SITE: Final = 10  # warp operation that a thread waits at (lane by lane)
STATE_OPERANDS: Final = 11  # operands, then results, of that warp operation: 5 words
STATE_FRAME: Final = 16

# Variable: local memory of every lane that a function, or one of its callers, may access
VARIABLE_NEXT: Final = 0  # address of the next record, 0 for none
VARIABLE_BEGIN: Final = 1  # address of lane 0's
VARIABLE_STRIDE: Final = 2  # bytes from one lane's to the next's
VARIABLE_BYTES: Final = 3  # of one lane
VARIABLE_ENDS: Final = 4  # address of a word for each lane that says where its own ends, or 0
VARIABLE_WORDS: Final = 5

# What a warp function returns.
DONE: Final = 0
BARRIER: Final = 1
YIELD: Final = 2
FAULT: Final = 3
WARP_OPERATION: Final = 4
PAUSE: Final = 5  # like YIELD, but it computed something
TURN: Final = 6  # like PAUSE, until all other warps have had their turn

# SLOT_BUSY
FREE: Final = 0
PARKED: Final = 1
RUNNING: Final = 2

# STATE_STATUS
READY: Final = 0
AT_BARRIER: Final = 1
AT_OPERATION: Final = 2
FINISHED: Final = 3

BARRIER_SYNC: Final = 0
BARRIER_ARRIVE: Final = 1
BARRIER_POPC: Final = 2
BARRIER_AND: Final = 3
BARRIER_OR: Final = 4

# LAUNCH_ERROR
ERROR_TRAP: Final = 1
ERROR_ASSERT: Final = 2
ERROR_BOUNDS: Final = 3
ERROR_ALIGNMENT: Final = 4
ERROR_BARRIER: Final = 5  # barrier that some warps never reach
ERROR_CALL: Final = 7  # indirect call to what is no function
ERROR_APART: Final = 6  # members of a warp operation wait elsewhere, in a function that cannot stop
ERROR_SPIN: Final = 8
ERROR_BARRIER_ID: Final = 9
ERROR_DIVERGED: Final = 10  # a warp operation whose members never come
ERROR_STACK: Final = 11  # device functions call each other too deeply
ERROR_SIGNAL: Final = 12  # the processor refused: an unmapped address and the like
ERROR_BRKPT: Final = 13
ERROR_LOCAL: Final = 14  # alloca of more than a thread has
ERROR_RESTORE: Final = 15  # stackrestore to what is no earlier top
ERROR_RACE: Final = 16

# LAUNCH_OTHER_ACCESS
RACE_NOW_WRITES: Final = 1
RACE_THEN_WROTE: Final = 2
RACE_IN_SHARED: Final = 4  # LAUNCH_ERROR_ADDRESS is an offset

#: Bytes of native stack that a kernel's functions may use; workers have some more.
STACK_LIMIT: Final = 48 << 20
#: What the local memory of a block is aligned to.
LOCAL_ALIGNMENT: Final = 128
#: Bytes of local memory for the ``alloca`` of a thread. A little more than a power of two: the processor's cache would
#: keep the stacks of all lanes in the same few places.
DYNAMIC_STACK: Final = (64 << 10) + 80
#: Of which for the top of its stack.
STACK_TOP_BYTES: Final = 16
