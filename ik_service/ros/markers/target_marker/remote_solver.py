"""Solver settings of an IK node in another process, through its parameter services."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future

from ik_service.ros.parameters.parameter_declaration import choices_of

ALL_AXES = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)

_NAME, _WEIGHTS = 'solver.name', 'solver.task_weights'


class RemoteSolver:
    """
    Client of the solver parameters of an IK node.

    Nothing is known before the answer to the first :meth:`refresh`.

    :param node: the node that asks.
    :param ik_node: name of the IK node, relative to the namespace of the other.
    :param on_change: called when one of them has changed, in a callback of the node.
    :param on_refused: called with the reason for which a change was refused.
    :ivar choices: the methods to choose from.
    :ivar name: the method in use.
    :ivar weights: (6,) the task weights in use.
    """

    def __init__(
        self,
        node: Node,
        ik_node: str,
        on_change: Callable[[], None],
        on_refused: Callable[[str], None],
    ) -> None:
        self._client = AsyncParameterClient(node, ik_node)
        self._on_change = on_change
        self._on_refused = on_refused
        self._full_weights = ALL_AXES
        self.choices: tuple[str, ...] = ()
        self.name = ''
        self.weights: tuple[float, ...] = ()

    @property
    def position_only(self) -> bool:
        """Whether the orientation is free."""
        return is_position_only(self.weights)

    def refresh(self) -> None:
        """Ask for the values in force; does nothing while nobody is there to answer."""
        if not self._client.services_are_ready():
            return
        if not self.choices:
            self._client.describe_parameters([_NAME], self._on_described)
        self._client.get_parameters([_NAME, _WEIGHTS], self._on_values)

    def forget(self) -> None:
        """Forget the choices, because another node may be there now."""
        self.choices = ()

    def choose(self, name: str) -> None:
        """
        Ask for another method.

        :param name: its name.
        """
        self._set(Parameter(_NAME, value=name))

    def free_orientation(self, free: bool) -> None:
        """
        Ask for the position only, or for the task weights as they were before that.

        :param free: whether the orientation is free.
        """
        weights = POSITION_ONLY if free else self._full_weights
        self._set(Parameter(_WEIGHTS, value=list(weights)))

    def _set(self, parameter: Parameter) -> None:
        if self._client.services_are_ready():
            self._client.set_parameters([parameter], self._on_set)
        else:
            self._on_refused('the IK node is not running')

    def _on_set(self, answer: Future) -> None:
        for result in answer.result().results:
            if not result.successful:
                self._on_refused(result.reason)
        self.refresh()

    def _on_described(self, answer: Future) -> None:
        descriptors = answer.result().descriptors
        choices = choices_of(descriptors[0]) if descriptors else ()
        if choices != self.choices:
            self.choices = choices
            self._on_change()

    def _on_values(self, answer: Future) -> None:
        values = [parameter_value_to_python(value) for value in answer.result().values]
        if None in values:  # a node of that name without these parameters
            return
        name, weights = str(values[0]), tuple(values[1])
        if not is_position_only(weights):
            self._full_weights = weights
        if (name, weights) != (self.name, self.weights):
            self.name, self.weights = name, weights
            self._on_change()


def is_position_only(weights: Sequence[float]) -> bool:
    """
    Return whether task weights ask for a position and leave the orientation free.

    :param weights: (6,) linear before angular.
    """
    return len(weights) == 6 and all(weights[:3]) and not any(weights[3:])
