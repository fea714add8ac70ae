// The number of a work-item, from ints: compilers for CPUs then see that those of neighbouring work-items are consecutive.
int item(int dimension) {
  return (int)get_group_id(dimension) * (int)get_local_size(dimension) + (int)get_local_id(dimension);
}

