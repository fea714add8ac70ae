"""A call of each of DataFusion's functions, over the columns of ``TABLE``."""

import datetime
from decimal import Decimal

import pyarrow as pa

TABLE = pa.table(
    {
        "i": pa.array([3, None, 5], pa.int32()),
        "b": pa.array([12, 7, None], pa.int64()),
        "f": [0.5, None, 0.25],
        "d": pa.array([Decimal("1.25"), None, Decimal("-3.50")], pa.decimal128(9, 2)),
        "s": ["abc", None, "x,y"],
        "q": [True, None, False],
        "ts": pa.array([datetime.datetime(2020, 1, 2, 3, 4, 5), None, None], pa.timestamp("us")),
        "dt": [datetime.date(2020, 2, 29), None, datetime.date(1969, 1, 1)],
    }
)
_OF_TEXT = "ascii bit_length btrim char_length character_length initcap length lower ltrim md5 octet_length reverse"
_OF_TEXT += " rtrim sha224 sha256 sha384 sha512 to_date to_time to_timestamp trim upper"
_OF_REALS = "abs acos acosh asin asinh atan atanh cbrt ceil cos cosh cot degrees exp floor isnan iszero ln log log10"
_OF_REALS += " log2 radians round signum sin sinh sqrt tan tanh trunc"
_OF_NOTHING = "current_date current_time current_timestamp file_row_index input_file_name now pi rand random today uuid"
_OF_NOTHING += " version"
_OF_A_LIST = "arrays_overlap arrays_zip cardinality cosine_distance dot_product empty flatten inner_product"
_TEXT_FOR = {"to_date": "'2020-01-02'", "to_time": "'12:30:00'", "to_timestamp": "'2020-01-02 03:04:05'"}

SCALARS = {
    **{name: f"{name}({_TEXT_FOR.get(name, 's')})" for name in _OF_TEXT.split()},
    **{name: f"{name}(f)" for name in _OF_REALS.split()},
    **{name: f"{name}()" for name in _OF_NOTHING.split()},
    **{name: f"{name}(make_array(i))" for name in _OF_A_LIST.split()},
    **{name: f"{name}(ts)" for name in ("to_local_time", "to_unixtime")},
    **{name: f"{name}(b)" for name in ("from_unixtime", "to_timestamp_micros", "to_timestamp_millis",
                                       "to_timestamp_nanos", "to_timestamp_seconds")},
    **{name: f"{name}(s, 'b')" for name in ("contains", "ends_with", "find_in_set", "instr", "levenshtein",
                                            "regexp_count", "regexp_instr", "regexp_like", "regexp_match",
                                            "starts_with", "string_to_array", "string_to_list", "strpos")},
    **{name: f"{name}(s, 2)" for name in ("left", "repeat", "right", "substr", "substring")},
    **{name: f"{name}(s, 5)" for name in ("lpad", "rpad")},
    **{name: f"{name}(i, b)" for name in ("gcd", "lcm", "greatest", "least", "nullif", "nvl", "ifnull", "coalesce",
                                          "pow", "power")},
    **{name: f"{name}(s, ',', 1)" for name in ("split_part", "substr_index", "substring_index")},
    **{name: f"{name}(ts, '%Y-%m')" for name in ("to_char", "date_format")},
    **{name: f"{name}('month', ts)" for name in ("date_trunc", "datetrunc", "date_part", "datepart")},
    **{name: f"{name}(1, 5)" for name in ("generate_series", "range")},
    **{name: f"{name}(i, s)" for name in ("row", "struct")},
    **{name: f"{name}(i, 2 * i)" for name in ("make_array", "make_list")},
    "arrow_cast": "arrow_cast(i, 'Int64')", "arrow_field": "arrow_field(i)", "arrow_metadata": "arrow_metadata(i)",
    "arrow_try_cast": "arrow_try_cast(s, 'Int64')", "arrow_typeof": "arrow_typeof(i)", "atan2": "atan2(f, i)",
    "cast_to_type": "cast_to_type(i, b)", "chr": "chr(i + 60)", "concat": "concat(s, i)",
    "concat_ws": "concat_ws('-', s, s)", "date_bin": "date_bin(interval '1 hour', ts)", "decode": "decode(s, 'hex')",
    "digest": "digest(s, 'md5')", "element_at": "element_at(map(['a'], [i]), 'a')", "encode": "encode(s, 'hex')",
    "factorial": "factorial(i)", "get_field": "get_field(struct(i), 'c0')", "make_date": "make_date(2000 + i, 1, 1)",
    "make_time": "make_time(i, 1, 1)", "map": "map(['a'], [i])", "map_entries": "map_entries(map(['a'], [i]))",
    "map_extract": "map_extract(map(['a'], [i]), 'a')", "map_keys": "map_keys(map(['a'], [i]))",
    "map_values": "map_values(map(['a'], [i]))", "named_struct": "named_struct('x', i)", "nanvl": "nanvl(f, 1.0)",
    "nvl2": "nvl2(i, 1, 2)", "overlay": "overlay(s placing 'Q' from 2)", "position": "position('b' in s)",
    "regexp_replace": "regexp_replace(s, 'b', 'c')", "replace": "replace(s, 'b', 'c')", "to_hex": "to_hex(i)",
    "translate": "translate(s, 'ab', 'b')", "try_cast_to_type": "try_cast_to_type(s, i)",
    "union_extract": "union_extract(s, 'x')", "union_tag": "union_tag(s)",
    "with_metadata": "with_metadata(i, 'a', 'b')",
}  # fmt: skip
_OF_PAIRS = "corr covar covar_pop covar_samp regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx"
_OF_PAIRS += " regr_sxy regr_syy"
_OF_NUMBERS = """
    approx_median avg max mean median min stddev stddev_pop stddev_samp sum var var_pop var_population var_samp
    var_sample any_value approx_distinct array_agg bit_and bit_or bit_xor count first_value last_value"""
AGGREGATES = {
    **{name: f"{name}(i)" for name in _OF_NUMBERS.split()},
    **{name: f"{name}(f, i)" for name in _OF_PAIRS.split()},
    **{name: f"{name}(f, 0.5)" for name in ("approx_percentile_cont", "percentile_cont", "quantile_cont")},
    "approx_percentile_cont_with_weight": "approx_percentile_cont_with_weight(f, i, 0.5)",
    "bool_and": "bool_and(q)", "bool_or": "bool_or(q)", "grouping": "grouping(i)",
    "nth_value": "nth_value(i, 1 order by b)", "string_agg": "string_agg(s, ',' order by s)",
}  # fmt: skip
WINDOWS = {
    **{name: f"{name}()" for name in ("cume_dist", "dense_rank", "percent_rank", "rank", "row_number")},
    **{name: f"{name}(i)" for name in ("first_value", "lag", "last_value", "lead")},
    "nth_value": "nth_value(i, 2)", "ntile": "ntile(2)",
}  # fmt: skip


def query(kind: str, name: str) -> str:
    """A query with a call of the function."""
    if kind == "aggregate":
        return f"select {AGGREGATES[name]} as x from t group by i"
    if kind == "window":
        return f"select {WINDOWS[name]} over (order by b) as x from t"
    if kind == "over a window":
        return f"select {AGGREGATES[name]} over (order by b) as x from t"
    if name.startswith(("array_", "list_")) and name not in SCALARS:
        return f"select {name}(make_array(i), make_array(i)) as x from t"
    return f"select {SCALARS[name]} as x from t"
