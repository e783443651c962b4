"""Specification of a chain and of how it is solved, as text that any worker can rebuild."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
import hashlib
import json
from numbers import Real
import os
from pathlib import Path
from typing import Any

from ik_service.common.arguments import truth_value
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.model.description import checked_folders
from ik_service.model.groups.srdf import load_srdf_text
from ik_service.robot import Robot
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.solver import prepared, Solver

_TEXTS = ('urdf', 'base_link', 'tip_link', 'solver', 'srdf', 'urdf_file')


@dataclass(frozen=True)
class ChainSpec:
    """
    Chain, solver and options. Can be pickled, hashed and compared, and is the same everywhere.

    :ivar urdf: URDF text; no file is read when the chain is built, but meshes for collisions.
    :ivar base_link: link in whose frame poses are given; empty for that of the default chain.
    :ivar tip_link: link that is brought to the targets; empty for that of the default chain.
    :ivar solver: one of :func:`~ik_service.solver_names`.
    :ivar options: options of the solver, without functions or files.
    :ivar locked: joints that do not move, with their positions [rad] or [m].
    :ivar srdf: SRDF text; empty without one.
    :ivar collisions: whether only answers count in which the robot does not touch itself. Every
        process then reads the meshes that the URDF names.
    :ivar urdf_file: file that the URDF was read from, beside which those meshes are searched;
        decides nothing about the answers, so that a description may lie elsewhere elsewhere.
    :ivar package_dirs: more folders in which the packages of those meshes lie; likewise.
    """

    urdf: str
    base_link: str = ''
    tip_link: str = ''
    solver: str = DEFAULT_SOLVER
    options: IkOptions = field(default_factory=IkOptions)
    locked: tuple[tuple[str, float], ...] = ()
    srdf: str = ''
    collisions: bool = False
    urdf_file: str = field(default='', compare=False)
    package_dirs: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        for name in ('base_link', 'tip_link'):
            object.__setattr__(self, name, getattr(self, name) or '')
        for name in _TEXTS:
            value = getattr(self, name)
            if not isinstance(value, str):
                hint = '; ChainSpec.of reads files' if name in ('urdf', 'srdf') else ''
                raise ArgumentError(name, f'has to be text, not {safe_repr(value)}{hint}')
        if not isinstance(self.options, IkOptions):
            raise ArgumentError('options', f'have to be IkOptions, not {safe_repr(self.options)}')
        # As types of Python, so that equal specifications have the same digest.
        object.__setattr__(self, 'collisions', truth_value(self.collisions, 'collisions'))
        object.__setattr__(self, 'locked', _positions(self.locked))
        folders = tuple(map(str, checked_folders(self.package_dirs)))
        object.__setattr__(self, 'package_dirs', folders)
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
        srdf: str | os.PathLike[str] | None = None,
        collisions: bool = False,
        xacro_args: Mapping[str, object] | None = None,
        package_dirs: Iterable[str | os.PathLike[str]] = (),
    ) -> ChainSpec:
        """
        Return the specification of a chain of a robot.

        :param urdf: path of a URDF or xacro file, or URDF text.
        :param base_link: as the attribute; likewise ``tip_link``, ``solver`` and ``collisions``.
        :param options: as the attribute; the defaults when left out.
        :param locked: positions of joints that shall not move [rad] or [m], by name.
        :param srdf: path of an SRDF or xacro file, or SRDF text.
        :param xacro_args: arguments of a xacro file by name.
        :param package_dirs: more folders in which packages lie that meshes and xacro files name.
        :raises IkServiceError: as :meth:`build`, or a file cannot be read.
        """
        robot = Robot.from_urdf(urdf, xacro_args, package_dirs=package_dirs)
        spec = cls(
            urdf=robot.urdf_text,
            base_link=base_link,
            tip_link=tip_link,
            solver=solver,
            options=options or IkOptions(),
            locked=tuple(sorted((locked or {}).items())),
            srdf='' if srdf is None else load_srdf_text(srdf, xacro_args, robot.package_dirs),
            collisions=collisions,
            urdf_file='' if robot.source is None else str(robot.source),
            package_dirs=tuple(map(str, robot.package_dirs)),
        )
        spec.build()
        return spec

    @property
    def robot(self) -> Robot:
        """
        The robot, read anew.

        :raises RobotDescriptionError: URDF or SRDF are malformed, or do not go together.
        """
        source = Path(self.urdf_file) if self.urdf_file else None
        robot = Robot.from_urdf_text(self.urdf, source).with_package_dirs(self.package_dirs)
        return robot.with_srdf_text(self.srdf) if self.srdf else robot

    def build(self) -> Solver:
        """
        Return the prepared solver; built once in a process.

        :raises IkServiceError: the URDF, a link, a joint, the solver or an option is wrong.
        :raises CollisionGeometryError: for collisions, a mesh is missing or cannot be used.
        :raises MissingExtraError: for collisions, Coal is not installed.
        """
        return _built(self, (self.urdf_file, *self.package_dirs))

    @property
    def digest(self) -> str:
        """Digest of all that decides about the answers."""
        return digest_of(self.to_json())

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
            values: dict[str, Any] = json.loads(text)
            values['locked'] = tuple((name, position) for name, position in values['locked'])
            options: dict[str, Any] = values['options']
            known = {option.name for option in fields(IkOptions)}
            given: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in options.items()
                if name in known
            }
            values['options'] = IkOptions(**given)
            return cls(**values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArgumentError('text', f'is no specification of a chain: {error}') from error


def _positions(locked: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    try:
        pairs = [(name, position) for name, position in locked]
        if not all(
            isinstance(name, str) and isinstance(position, Real) for name, position in pairs
        ):
            raise TypeError
        positions = tuple((name, float(position) + 0.0) for name, position in pairs)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(
            'locked', f'has to be names of joints and their positions, not {safe_repr(locked)}'
        ) from None
    names = [name for name, _ in positions]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ArgumentError('locked', f'has more than one position of {", ".join(twice)}')
    return positions


@lru_cache(maxsize=8)
def _built(spec: ChainSpec, _places: tuple[str, ...]) -> Solver:
    robot = spec.robot
    chain = robot.chain(spec.base_link or None, spec.tip_link or None, dict(spec.locked) or None)
    if not spec.collisions:
        return prepared(chain, spec.solver, spec.options)
    # Imported here because its kernels take long to load.
    from ik_service.collision.checker import CollisionChecker

    checker = CollisionChecker(robot)
    if not checker.has_geometry:
        raise ArgumentError('collisions', 'cannot be avoided: the URDF has no collision geometry')
    return Solver(chain, spec.solver, spec.options, collisions=checker)


def digest_of(text: str) -> str:
    """Return the digest of JSON of a specification, of any version; empty for other text."""
    try:
        values: dict[str, Any] = json.loads(text)
        del values['urdf_file']
        values.pop('package_dirs', None)  # earlier versions have none
    except (ValueError, TypeError, KeyError, RecursionError):
        return ''
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
