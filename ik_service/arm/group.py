"""Planning group of an arm: its chain or chains, and the solvers for its links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from ik_service.arm.postures import PostureSpace
from ik_service.common.quoting import listed, quote
from ik_service.exceptions import ChainError, OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import attached_links, links_below
from ik_service.kinematics.tree import KinematicTree, Tip
from ik_service.robot import Robot
from ik_service.solvers.options import IkOptions
from ik_service.solvers.solver import Solver

_KEPT_SOLVERS = 64  # solvers of a group in memory, at most

Key = TypeVar('Key')


@dataclass(frozen=True)
class SolverSettings:
    """Name and options of a solver."""

    name: str = 'levenberg_marquardt'
    options: IkOptions = field(default_factory=IkOptions)


@dataclass(frozen=True)
class GroupSettings:
    """
    Planning group that the user describes, or settings of one that the robot has.

    :ivar base_link: link where its chain starts; empty for the root of the robot.
    :ivar tip_link: link that is placed; empty for settings of a group that the robot has.
    :ivar solver: method for this group; empty for that of the node.
    :ivar timeout: time for a solve [s]; None for that of the node.
    """

    base_link: str = ''
    tip_link: str = ''
    solver: str = ''
    timeout: float | None = None

    def applied_to(self, settings: SolverSettings) -> SolverSettings:
        """Return the settings of the solver for this group."""
        if self.timeout is not None:
            settings = replace(settings, options=replace(settings.options, timeout=self.timeout))
        if not self.solver or self.solver == settings.name:
            return settings
        # Options of one method are not those of another.
        return SolverSettings(self.solver, _shared(settings.options))


_SHARED_OPTIONS = (
    'position_tolerance',
    'orientation_tolerance',
    'task_weights',
    'timeout',
    'prefer',
    'random_seed',
)


def _shared(options: IkOptions) -> IkOptions:
    """Return the options that every method has."""
    return IkOptions(**{name: getattr(options, name) for name in _SHARED_OPTIONS})


def without_chain_options(settings: SolverSettings) -> SolverSettings:
    """Return the node's settings without what holds for one chain: postures, learned seeds."""
    options = settings.options
    posture = options.objective == 'preferred_posture'
    if not (posture or options.seed_source != 'given' or options.element_displacements):
        return settings
    general = replace(
        options,
        objective=None if posture else options.objective,
        preferred_posture=None,
        element_displacements=None,
        seed_source='given',
        seed_file=None,
    )
    return SolverSettings(settings.name, general)


@dataclass(frozen=True)
class PreparedSolver:
    """
    Chain or tree of an arm with its prepared solver.

    :ivar chain: the chain, or the tree of several tips.
    :ivar solver: its solver, with the settings that were asked for.
    :ivar indices: (n,) where its joints stand in a full posture.
    """

    chain: KinematicChain | KinematicTree
    solver: Solver
    indices: np.ndarray


class ArmGroup:
    """
    Links that are placed together, and the joints between them and a base. Safe to share.

    :param tip_links: links that it places, one for a chain.
    :param postures: the robot's full postures.
    :param locked: positions of joints that do not move [rad] or [m].
    :param settings: differences from the node's settings.
    :param default: whether this is the arm's default group, for whose chain postures and learned
        seeds of the node's settings are meant.
    :raises ChainError: the links make no chain.
    :raises UnknownLinkError: there is no such link.
    :ivar name: the group's name.
    :ivar base_link: link in whose frame it is solved.
    :ivar tip_links: links that it places.
    :ivar chain: the chain to the only tip, or the tree to several.
    :ivar indices: (n,) where its joints stand in a full posture.
    :ivar chain_solvers: chain and solver by tip link and settings, prepared when first asked for.
        A tip is the group's (or empty), a link rigidly attached to it, or any other link below
        the base. Raises :class:`~ik_service.exceptions.ChainError` for another link, one that no
        joint moves or a passive one does, and the errors of :class:`~ik_service.Solver`.
    :ivar tree_solvers: tree and solver by tips and settings, likewise; by the default method where
        the settings are for one exact pose only.
    """

    def __init__(
        self,
        robot: Robot,
        name: str,
        base_link: str,
        tip_links: tuple[str, ...],
        postures: PostureSpace,
        locked: Mapping[str, float],
        settings: GroupSettings | None = None,
        default: bool = False,
    ) -> None:
        self.name = name
        self.base_link = base_link
        self.tip_links = tip_links
        self._robot = robot
        self._postures = postures
        self._locked = locked
        self._settings = settings or GroupSettings()
        self._default = default
        self.chain: KinematicChain | KinematicTree
        if len(tip_links) == 1:
            self.chain = robot.chain(base_link, tip_links[0], locked)
        else:
            self.chain = robot.tree(base_link, tip_links, locked)
        self.indices = postures.indices(self.chain.joint_names)
        below = set(links_below(robot, base_link))
        for tip in tip_links:
            below.update(attached_links(robot, tip))
        self.links = tuple(link for link in robot.links if link in below)
        self.chain_solvers = Prepared(self._prepare_chain)
        self.tree_solvers = Prepared(self._prepare_tree)

    def check_driven(self, joint_names: Iterable[str]) -> None:
        """Refuse passive joints that the group does not have, by a ChainError."""
        passive = set(self._robot.semantics.passive_joints).difference(self.chain.joint_names)
        for name in joint_names:
            if name in passive:
                raise ChainError(f'joint {quote(name)}, which would have to move, is passive')

    def solver(self, settings: SolverSettings) -> PreparedSolver:
        """Return the solver for all tips of the group, by the settings of the node's."""
        if len(self.tip_links) == 1:
            return self.chain_solvers['', settings]
        return self.tree_solvers[self.tip_links, settings]

    def _prepare_chain(self, tip_link: str, settings: SolverSettings) -> PreparedSolver:
        chain = self.chain
        if not isinstance(chain, KinematicChain) or tip_link not in ('', chain.tip_link):
            self._check_links((tip_link or self.tip_links[0],))
            chain = self._robot.chain(self.base_link, tip_link, self._locked)
            self.check_driven(chain.joint_names)
        return self._prepared(chain, self._settings_from(settings))

    def _settings_from(self, settings: SolverSettings) -> SolverSettings:
        """Return the settings of this group, by those of the node."""
        general = settings if self._default else without_chain_options(settings)
        return self._settings.applied_to(general)

    def _prepare_tree(self, tips: tuple[Tip, ...], settings: SolverSettings) -> PreparedSolver:
        tree = self.chain
        if not isinstance(tree, KinematicTree) or tips != tree.tips:
            self._check_links(tuple(tip if isinstance(tip, str) else tip[1] for tip in tips))
            tree = self._robot.tree(self.base_link, tips, self._locked)
        chosen = self._settings_from(settings)
        try:
            return self._prepared(tree, chosen)
        except OptionError:  # the method, or an option of it, is for one exact pose
            return self._prepared(tree, SolverSettings(options=_shared(chosen.options)))

    def _prepared(
        self, chain: KinematicChain | KinematicTree, settings: SolverSettings
    ) -> PreparedSolver:
        solver = Solver(chain, settings.name, settings.options)
        return PreparedSolver(chain, solver, self._postures.indices(chain.joint_names))

    def _check_links(self, links: tuple[str, ...]) -> None:
        for link in links:
            if link not in self.links:
                raise ChainError(
                    f'link {quote(link)} is neither below {self.base_link!r} nor attached to '
                    f'{" or ".join(map(repr, self.tip_links))}; valid: {listed(self.links)}'
                )


class Prepared(dict[tuple[Key, SolverSettings], PreparedSolver]):
    """
    Solvers that are prepared when they are first asked for.

    :param prepare: prepares the solver of a key and settings.
    """

    def __init__(self, prepare: Callable[[Key, SolverSettings], PreparedSolver]) -> None:
        super().__init__()
        self._prepare = prepare

    def __missing__(self, key: tuple[Key, SolverSettings]) -> PreparedSolver:
        prepared = self._prepare(*key)
        if len(self) >= _KEPT_SOLVERS:
            self.clear()
        self[key] = prepared
        return prepared
