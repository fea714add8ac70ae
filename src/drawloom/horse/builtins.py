"""The builtin functions of HorseIR as one table: what they take and give, and how they parallelise.

A row is

    name | signature | shape | geometry | target | synchronisation

*signature* names the rule of ``signatures.py`` that gives the result types; *shape* the rule of ``shapes.py``;
*geometry* is the argument whose shape is the thread layout (``r`` for the result, ``-`` for none); *target* is
``gpu`` where a template exists, ``lib`` for a library function (a kernel where its operands allow one, else the
CPU), ``cpu`` for data management; *synchronisation* (thesis table 4.1) marks an argument that is gathered across
threads with its number, and a result that is scattered with ``w``.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.plain import PLAIN

_TABLE: Final = """
# Tables and lists
load_table   | load_table   | stored   | - | cpu |
column_value | column       | column   | - | cpu |
column_valid | column_valid | column   | - | cpu |
table        | table        | table    | - | cpu |
list         | list         | list     | - | cpu |
with_null    | with_null    | first    | - | cpu |
lists        | lists        | first    | - | cpu |
structs      | structs      | first    | - | cpu |
list_ranks   | list_ranks   | second   | - | cpu |
list_items   | list_items   | vector   | - | cpu |
known_list_items | list_items | vector | - | cpu |
flat         | raze         | vector   | - | cpu |
fill         | fill         | second   | - | cpu |
# Element-wise
eq           | compare      | binary   | r | gpu |
neq          | compare      | binary   | r | gpu |
lt           | compare      | binary   | r | gpu |
leq          | compare      | binary   | r | gpu |
gt           | compare      | binary   | r | gpu |
geq          | compare      | binary   | r | gpu |
and          | logic        | binary   | r | gpu |
or           | logic        | binary   | r | gpu |
not          | logic        | unary    | r | gpu |
plus         | plus         | binary   | r | gpu |
minus        | plus         | binary   | r | gpu |
mul          | mul          | binary   | r | gpu |
div          | div          | binary   | r | gpu |
mod          | mod          | binary   | r | gpu |
neg          | same         | unary    | r | gpu |
abs          | same         | unary    | r | gpu |
convert      | convert      | first    | r | gpu |
if_else      | if_else      | ternary  | r | gpu |
date_year    | date_part    | unary    | r | gpu |
date_month   | date_part    | unary    | r | gpu |
date_day     | date_part    | unary    | r | gpu |
like         | like         | first    | r | gpu |
substring    | substring    | first    | r | cpu |
member       | member       | first    | r | gpu |
# Element-wise, dates and doubles (text, logarithms and powers on the host)
date_of      | date_of      | unary    | r | gpu |
timestamp_of | timestamp_of | unary    | r | gpu |
date_quarter | date_part    | unary    | r | gpu |
date_week    | date_part    | unary    | r | gpu |
date_dow     | date_part    | unary    | r | gpu |
date_doy     | date_part    | unary    | r | gpu |
time_hour    | time_part    | unary    | r | gpu |
time_minute  | time_part    | unary    | r | gpu |
time_second  | time_part    | unary    | r | gpu |
truncate     | date_like    | unary    | r | gpu |
add_months   | date_like    | binary   | r | gpu |
upper        | text         | unary    | r | cpu |
lower        | text         | unary    | r | cpu |
trim         | text         | unary    | r | cpu |
trim_start   | text         | unary    | r | cpu |
trim_end     | text         | unary    | r | cpu |
replace      | text         | unary    | r | cpu |
regexp_replace | text       | unary    | r | cpu |
length       | text_number  | unary    | r | cpu |
octet_length | text_number  | unary    | r | cpu |
position     | text_number  | unary    | r | cpu |
join_text    | two_texts    | binary   | r | cpu |
like_text    | two_texts    | binary   | r | cpu |
sqrt         | real         | unary    | r | gpu |
ln           | real         | unary    | r | cpu |
exp          | real         | unary    | r | cpu |
floor        | real         | unary    | r | gpu |
ceil         | real         | unary    | r | gpu |
round        | real         | unary    | r | gpu |
power        | real         | binary   | r | cpu |
show         | show         | unary    | r | cpu |
parse        | parse        | first    | r | cpu |
can_convert  | parse        | first    | r | cpu |
convert_moment | moment     | first    | r | cpu |
bit_and      | bits         | binary   | r | cpu |
bit_or       | bits         | binary   | r | cpu |
bit_xor      | bits         | binary   | r | cpu |
shift_left   | bits         | binary   | r | cpu |
shift_right  | bits         | binary   | r | cpu |
# Reductions
sum          | sum          | scalar   | 1 | gpu | w
avg          | avg          | scalar   | 1 | gpu | w
min          | extreme      | scalar   | 1 | gpu | w
max          | extreme      | scalar   | 1 | gpu | w
len          | len          | scalar   | 1 | gpu | w
# Rows
compress     | compress     | compress | 2 | gpu |
index        | index        | index    | r | gpu | 1
order        | order        | rows     | 1 | lib | 1 w
order_first  | order_first  | vector   | 1 | lib | 1 w
top          | top          | vector   | - | lib | 1
group        | group        | group    | 1 | lib | 1 w
keys         | keys         | keys     | - | lib |
values       | values       | values   | - | lib |
each         | each         | each     | 2 | lib |
each_right   | each_right   | each      | 3 | lib |
each_item    | each_item    | each      | 2 | lib |
fold         | fold         | third    | - | cpu |
fold_slices  | fold         | third    | - | cpu |
raze         | raze         | raze     | 1 | lib | w
concat       | concat       | vector   | - | lib | w
where        | where        | where    | 1 | gpu |
single       | single       | one      | - | cpu |
item         | item         | item     | - | cpu |
# Joins
join         | join         | pair     | 1 | lib | 1 2 w
contains     | contains     | rows     | 1 | lib | 2
cross        | cross        | pair     | - | lib | w
loop_join    | loop_join    | pair     | 2 | lib | 2 3 w
touched      | touched      | second   | 1 | lib | w
present      | present      | vector   | - | lib | 1 w
outer_index  | index        | index    | r | gpu | 1
# Windows: rows that are sorted
run_start    | runs         | rows     | 1 | lib | 1
run_end      | runs         | rows     | 1 | lib | 1
before       | before       | second   | 2 | lib | 1
search       | search       | second   | 2 | lib | 1
search_after | search       | second   | 2 | lib | 1
each_slice   | each_slice   | slices   | 3 | lib | 2
distinct_slices | distinct_slices | pair | - | cpu |
# Enumerations, dictionaries, tables
enum         | enum         | enum     | 1 | lib | 2
fetch        | fetch        | fetch    | 1 | lib | 1
dict         | dict         | dict     | - | cpu |
lookup       | lookup       | lookup   | 2 | lib | 1
column_names | column_names | column_names | - | cpu |
columns      | column_names | columns  | - | cpu |
# Positions, and cells with one vector
range        | range        | vector   | r | lib |
unique       | unique       | vector   | 1 | lib | 1 w
index_of     | index_of     | second   | r | lib | 1
index_a      | index_a      | first    | 2 | lib | 1 w
each_left    | each_left    | each     | 2 | lib |
"""


class Builtin:
    """One row of the table."""

    def __init__(
        self, name: str, signature: str, shape: str, geometry: str, target: str, reads: list[int], writes: bool
    ) -> None:
        self.name = name
        self.signature = signature
        self.shape = shape
        self.geometry = geometry
        self.target = target
        self.reads = reads
        self.writes = writes

    @property
    def is_reduction(self) -> bool:
        return self.shape == "scalar"


def _load() -> dict[str, Builtin]:
    table: dict[str, Builtin] = {}
    for line in _TABLE.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        marks = cells[5].split()
        reads = [int(m) - 1 for m in marks if m.isdigit()]
        table[cells[0]] = Builtin(cells[0], cells[1], cells[2], cells[3], cells[4], reads, "w" in marks)
    for name in PLAIN:
        table[name] = Builtin(name, "plain", "binary", "r", "cpu", [], False)
    return table


BUILTINS: Final[dict[str, Builtin]] = _load()

#: The modules that the system provides, and what may be imported from them.
BUILTIN_MODULE: Final = "Builtin"
