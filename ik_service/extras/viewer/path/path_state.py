"""State of the path of the page and of the arm, and its text."""

from __future__ import annotations

from dataclasses import dataclass

from ik_service.extras.viewer.panel.panel_html import Level, StatusText

FEWEST_POINTS = 2  # waypoints of a path


@dataclass(frozen=True)
class PathState:
    """
    State of the path and the arm.

    :ivar obstacle: why there is nothing to draw on; empty where the arm is known.
    :ivar failure: why there is no preview; empty where there is one or none was asked for.
    :ivar duration: of the previewed motion [s]; 0 without one.
    :ivar time: that is shown of it [s].
    :ivar fraction: the part of the path that the motion covers, 0 to 1.
    :ivar distance: how far the arm is from the start, in words; empty where it rests there.
    :ivar progress: share of the motion that is executed, 0 to 1; None while none is.
    :ivar outcome: how the last execution has ended; None when something was done since.
    """

    has_planner: bool = True
    has_executor: bool = True
    obstacle: str = ''
    points: int = 0
    is_planning: bool = False
    failure: str = ''
    duration: float = 0.0
    time: float = 0.0
    is_playing: bool = False
    fraction: float = 1.0
    reason: str = ''
    distance: str = ''
    progress: float | None = None
    outcome: StatusText | None = None

    @property
    def is_running(self) -> bool:
        """Whether the arm follows the path."""
        return self.progress is not None

    @property
    def has_motion(self) -> bool:
        """Whether there is a preview of this very path."""
        return self.duration > 0.0

    @property
    def can_draw(self) -> bool:
        """Whether waypoints can be changed."""
        return not self.obstacle and not self.is_running

    @property
    def can_preview(self) -> bool:
        """Whether a motion can be computed."""
        return self.can_draw and self.points >= FEWEST_POINTS and self.has_planner

    @property
    def can_go_to_start(self) -> bool:
        """Whether the arm can go to where the motion starts, and is not there."""
        return self.can_draw and self.has_motion and bool(self.distance)

    @property
    def can_execute(self) -> bool:
        """Whether the arm can be sent along the path."""
        is_ready = not self.is_planning and not self.distance
        return self.can_draw and self.has_motion and self.has_executor and is_ready


def path_text(state: PathState) -> StatusText:
    """Return the headline and the detail about a path."""
    if state.obstacle:
        return StatusText(Level.WAITING, 'No arm to draw a path for', state.obstacle)
    if state.progress is not None:
        percent = f'{100.0 * state.progress:.0f} % of {state.duration:.1f} s'
        return StatusText(Level.GOOD, 'The arm goes along the path', percent)
    missing = _missing(state)
    if missing:
        return StatusText(Level.BAD, 'Not offered by the IK node', missing)
    if state.is_planning:
        return StatusText(Level.WAITING, 'Computing the motion')
    if state.failure:
        return StatusText(Level.BAD, 'No motion along this path', state.failure)
    if state.outcome is not None:
        return state.outcome
    return _motion_text(state) if state.has_motion else _drawing_text(state.points)


def _missing(state: PathState) -> str:
    offered = {
        'service compute_cartesian_path': state.has_planner,
        'action execute_trajectory': state.has_executor,
    }
    names = [f'the {name}' for name, is_there in offered.items() if not is_there]
    if not names:
        return ''
    verb = 'is' if len(names) == 1 else 'are'
    return (
        f'{" and ".join(names)} {verb} not on the graph: a node that has just started may still '
        'compile its kernels, and an older one has none'
    )


def _motion_text(state: PathState) -> StatusText:
    if state.distance:
        return StatusText(Level.WAITING, 'The arm is not where the path starts', state.distance)
    if state.fraction < 1.0:
        headline = f'The path ends after {percentage(state.fraction)}'
        return StatusText(Level.WAITING, headline, state.reason)
    return StatusText(Level.GOOD, 'Ready to execute', f'{state.duration:.1f} s for the whole path')


def _drawing_text(points: int) -> StatusText:
    if points >= FEWEST_POINTS:
        return StatusText(Level.GOOD, f'{points} waypoints', 'the preview shows the motion')
    texts = ('move the gizmo to where the path starts, and add a waypoint', 'one more is needed')
    return StatusText(Level.WAITING, 'Draw a path', texts[points])


def percentage(share: float) -> str:
    """Return a share that is less than the whole in percent, never rounded up to the whole."""
    return f'{min(int(100.0 * share), 99)} %'
