/* Reductions over the work-items of a group, for kernels with the macro `real`. Every item takes a number from the items
   at the distances HALF, HALF / 2, ... 1; where the items are no power of two it takes some numbers twice. */
#define ITEMS get_local_size()
#ifndef HALF
/* the largest power of two below their number */
#define HALF (ITEMS > 16 ? 16 : ITEMS > 8 ? 8 : ITEMS > 4 ? 4 : ITEMS > 2 ? 2 : ITEMS > 1 ? 1 : 0)

/* The item with the largest size among those from `first` on. NaN is never larger. Of several it is the one that wins a
   tournament, with `lowest` that of the lowest number. */
static inline int item_of_largest(real size, int first, bool lowest) {
    int item = get_local_id() > first ? get_local_id() : first;
    for (int distance = HALF; distance > 0; distance /= 2) {
        real other_size = shuffle(size, get_local_id() + distance);
        int other_item = shuffle(item, get_local_id() + distance);
        bool is_larger = other_size > size || (lowest && other_size == size && other_item < item);
        if (get_local_id() + distance < ITEMS && is_larger) {
            size = other_size;
            item = other_item;
        }
    }
    return shuffle(item, first);
}

/* The largest number, in every item. */
static inline real largest_of_all(real number) {
    for (int distance = HALF; distance > 0; distance /= 2)
        number = max(number, shuffle(number, get_local_id() + distance));
    return number;
}

/* In every item 0 if all numbers are 0, NaN if one is NaN. */
static inline real sum_of_zeros(real number) {
    for (int distance = HALF; distance > 0; distance /= 2)
        number += shuffle(number, get_local_id() + distance);
    return number;
}
#endif
