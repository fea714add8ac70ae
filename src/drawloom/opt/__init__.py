"""PTX to PTX: passes over SSA form, each ``Work -> Work`` with a name, and the manager that runs them."""

from drawloom.opt.manager import DEFAULT_LEVEL, LEVELS, PASSES, PassRun, Report, optimize
from drawloom.opt.work import PROMISES, Remark

__all__ = ["DEFAULT_LEVEL", "LEVELS", "PASSES", "PROMISES", "PassRun", "Remark", "Report", "optimize"]
