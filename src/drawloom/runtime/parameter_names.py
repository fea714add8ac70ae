"""From the names that a caller gives arguments to the kernel's parameters.

A parameter has up to four names: the one in the PTX (`saxpy_a`), that without the kernel's name before it (`a`), its
position (`0`), and the one in the CUDA or OpenCL source, of which PTX of compilers has numbers only (`saxpy_param_0`).
"""

from collections.abc import Callable, Sequence

from drawloom.errors import LaunchError

#: The names of the parameters of each function of a source, by symbol.
SourceNames = Callable[[], dict[str, list[str]]]


class ParameterNames:
    """The names of one kernel's parameters. `source` is asked only for a name that the PTX does not have."""

    def __init__(self, kernel: str, parameters: Sequence[str], source: SourceNames) -> None:
        self.kernel = kernel
        self.parameters = list(parameters)
        self._source = source
        self._from_source: list[str] | None = None
        self._positions = {str(index): index for index in range(len(self.parameters))}
        self._positions |= {self.without_kernel(name): index for index, name in enumerate(self.parameters)}
        self._positions |= {name: index for index, name in enumerate(self.parameters)}

    def without_kernel(self, name: str) -> str:
        """`a` of `saxpy_a`; a name that does not begin with the kernel's stays."""
        return name.removeprefix(self.kernel + "_") or name

    def from_source(self) -> list[str]:
        """The names in the source; none where there is no source, or where it has other parameters."""
        if self._from_source is None:
            found = self._source().get(self.kernel, [])
            self._from_source = found if len(found) == len(self.parameters) else []
        return self._from_source

    def shown(self) -> list[str]:
        """The name of each parameter that a caller would choose."""
        return self.from_source() or [self.without_kernel(name) for name in self.parameters]

    def find(self, name: str) -> int | None:
        """The position of the parameter that `name` means; None if it means none."""
        position = self._positions.get(name)
        if position is None and name in self.from_source():
            position = self.from_source().index(name)
        return position

    def positions(self, names: Sequence[str]) -> list[int]:
        """The position of the parameter that each name means. Raises LaunchError for a name that means none, and for
        two that mean the same."""
        found: list[int] = []
        for name in names:
            position = self.find(name)
            if position is None:
                there = ", ".join(self.shown()) or "none"
                raise LaunchError(f"no parameter '{name}'; there are: {there}", self.kernel)
            if position in found:
                raise LaunchError(f"parameter '{self.shown()[position]}' is given twice", self.kernel)
            found.append(position)
        return found

    def arranged(self, args: Sequence[object], named: dict[str, object]) -> tuple[object, ...]:
        """The values of all parameters in order: `args` are the first, `named` the others. Raises LaunchError for what
        is missing or given twice."""
        values = dict(enumerate(args))
        for position, value in zip(self.positions(list(named)), named.values()):
            if position in values:
                raise LaunchError(f"parameter '{self.shown()[position]}' is given twice", self.kernel)
            values[position] = value
        missing = [name for index, name in enumerate(self.shown()) if index not in values]
        if missing:
            raise LaunchError(f"no value for {', '.join(missing)}", self.kernel)
        return tuple(values[index] for index in sorted(values))
