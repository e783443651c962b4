"""Survey of the reach of the arm that is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
import tempfile
import threading

from ik_service.common.background_workers import BackgroundWorkers
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.extras.reach.grid import chooses_orientation, reach_box
from ik_service.extras.reach.survey import capability_map
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.viewer.reach.reach_map import of_capability_map, ReachMap
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot
from ik_service.solvers.options import IkOptions

_CHUNK = 1000  # targets between two reports
_POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
# Stages of a survey, with their shares of the time it takes for a Panda.
_STAGES = {
    'positions': (0.0, 0.15),
    'poses': (0.15, 0.25),
    'positions again': (0.4, 0.1),
    'poses again': (0.5, 0.5),
}


@dataclass(frozen=True)
class Fineness:
    """
    Grid of a map.

    :ivar points: positions along the longest side.
    :ivar orientations: at each position.
    """

    points: int
    orientations: int


FINENESSES = {
    'coarse': Fineness(14, 12),
    'medium': Fineness(20, 24),
    'fine': Fineness(30, 50),
}
"""Grids to choose from; from one to the next a map takes about six times as long."""


class SurveyDroppedError(IkServiceError):
    """The survey was dropped, as another map was asked for."""


class OwnSurvey:
    """
    Survey of an arm, which gives way to all other threads.

    :param chain: the arm.
    :param fineness: of the map.
    :param report: called with the share that is done, 0 to 1.
    """

    def __init__(
        self, chain: KinematicChain, fineness: Fineness, report: Callable[[float], object]
    ) -> None:
        self._chain, self._fineness, self._report = chain, fineness, report
        self._dropped = threading.Event()

    def drop(self) -> None:
        """Let :meth:`run` end soon; from any thread."""
        self._dropped.set()

    def run(self) -> ReachMap:
        """
        Make the map.

        :raises SurveyDroppedError: it was dropped.
        :raises IkServiceError: the arm reaches endlessly far, or cannot be rebuilt.
        :raises MissingExtraError: zarr is not installed.
        """
        return BackgroundWorkers('survey', 1).run(self._run)

    def _run(self) -> ReachMap:
        chain, fineness = self._chain, self._fineness
        turns = chooses_orientation(chain)
        low, high = reach_box(chain)
        with tempfile.TemporaryDirectory(prefix='ik_reach_') as folder:
            found = capability_map(
                self._spec(turns),
                folder,
                spacing=float((high - low).max()) / (fineness.points - 1) or 1.0,
                orientations=fineness.orientations if turns else 1,
                chunk=_CHUNK,
                threads=1,
                progress=self._tell,
            )
        return of_capability_map(Path('the map of this arm'), found)

    def _spec(self, turns: bool) -> ChainSpec:
        chain, robot = self._chain, self._chain.robot
        if not isinstance(robot, Robot):
            raise ArgumentError('robot', 'has no description that a survey could be made of')
        return ChainSpec(
            urdf=robot.urdf_text,
            base_link=chain.base_link,
            tip_link=chain.tip_link,
            options=IkOptions() if turns else IkOptions(task_weights=_POSITION_ONLY),
            locked=tuple(sorted(chain.locked.items())),
        )

    def _tell(self, name: str, done: int, total: int) -> None:
        if self._dropped.is_set():
            raise SurveyDroppedError('another map was asked for')
        start, share = _STAGES[name]
        self._report(start + share * done / max(total, 1))
