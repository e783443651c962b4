"""Specification of a chain and of how it is solved, as text that any worker can rebuild."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
import hashlib
import json
import os

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.robot import Robot
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.solver import prepared, Solver


@dataclass(frozen=True)
class ChainSpec:
    """
    Chain, solver and options. Can be pickled, hashed and compared, and is the same everywhere.

    :ivar urdf: URDF text, with everything in it: no file is read when the chain is built.
    :ivar base_link: link in whose frame poses are given; empty for that of the default chain.
    :ivar tip_link: link that is brought to the targets; empty for that of the default chain.
    :ivar solver: one of :func:`~ik_service.solver_names`.
    :ivar options: options of the solver, without functions or files.
    :ivar locked: joints that do not move, with their positions [rad] or [m].
    """

    urdf: str
    base_link: str = ''
    tip_link: str = ''
    solver: str = DEFAULT_SOLVER
    options: IkOptions = field(default_factory=IkOptions)
    locked: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.options, IkOptions):
            raise ArgumentError('options', f'have to be IkOptions, not {safe_repr(self.options)}')
        if callable(self.options.objective):
            raise OptionError('objective', 'has to be a name, as no function can be compared')
        if self.options.seed_file is not None:
            raise OptionError('seed_file', 'cannot be used: another machine may lack the file')
        if self.options.record_trace:
            raise OptionError('record_trace', 'is for single solves; a batch keeps no traces')

    @classmethod
    def of(
        cls,
        urdf: str | os.PathLike[str],
        base_link: str = '',
        tip_link: str = '',
        solver: str = DEFAULT_SOLVER,
        options: IkOptions | None = None,
        locked: Mapping[str, float] | None = None,
    ) -> ChainSpec:
        """
        Return the specification of a chain of a robot.

        :param urdf: path of a URDF or xacro file, or URDF text.
        :param base_link: as the attribute.
        :param tip_link: as the attribute.
        :param solver: as the attribute.
        :param options: as the attribute; the defaults when left out.
        :param locked: positions of joints that shall not move [rad] or [m], by name.
        :raises IkServiceError: the URDF, a link, a joint, the solver or an option is wrong.
        """
        robot = Robot.from_urdf(urdf)
        held = tuple(sorted((locked or {}).items()))
        spec = cls(robot.urdf_text, base_link, tip_link, solver, options or IkOptions(), held)
        spec.build()
        return spec

    def build(self) -> Solver:
        """
        Return the prepared solver; built once in a process.

        :raises IkServiceError: the URDF, a link, a joint, the solver or an option is wrong.
        """
        return _built(self)

    @property
    def digest(self) -> str:
        """Digest of all that decides about the answers."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """Return the specification as JSON, from which :meth:`from_json` makes it again."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> ChainSpec:
        """
        Return the specification that JSON describes.

        :param text: JSON of :meth:`to_json`.
        :raises ArgumentError: the text is something else.
        """
        try:
            values = json.loads(text)
            values['locked'] = tuple((name, position) for name, position in values['locked'])
            options = values['options']
            known = {option.name for option in fields(IkOptions)}
            values['options'] = IkOptions(
                **{
                    name: tuple(value) if isinstance(value, list) else value
                    for name, value in options.items()
                    if name in known
                }
            )
            return cls(**values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArgumentError('text', f'is no specification of a chain: {error}') from error


@lru_cache(maxsize=8)
def _built(spec: ChainSpec) -> Solver:
    robot = Robot.from_urdf(spec.urdf)
    chain = robot.chain(spec.base_link or None, spec.tip_link or None, dict(spec.locked) or None)
    return prepared(chain, spec.solver, spec.options)
