"""Form of the node's parameters: the solver, position only, speed and all options."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import viser

from ik_service.extras.viewer.link.remote_parameters import Field, Kind, Value
from ik_service.extras.viewer.panel.widgets import set_value


def is_position_only(weights: Sequence[float]) -> bool:
    """
    Return whether task weights leave the whole orientation free.

    :param weights: (6,) task weights, linear before angular.
    """
    return len(weights) == 6 and not any(weights[3:])


def switched_weights(
    weights: Sequence[float], position_only: bool, before: Sequence[float]
) -> tuple[float, ...]:
    """
    Return the task weights with the orientation freed or bound.

    :param weights: (6,) those in force.
    :param before: (6,) what they were when the orientation counted last.
    """
    if position_only:
        return (*weights[:3], 0.0, 0.0, 0.0)
    angular = before[3:] if any(before[3:]) else (1.0, 1.0, 1.0)
    return (*weights[:3], *angular)


SOLVER, WEIGHTS, SPEED = 'solver.name', 'solver.task_weights', 'velocity_scaling'
"""Parameters with their own fields at the top of the panel."""

_TYPING_DELAY = 0.25  # the page sends typed text a little later than the click on Apply [s]

Change = Callable[[Mapping[str, Value]], object]
ChangeText = Callable[[Mapping[str, str]], object]


class SolverForm:
    """
    Form of a node's parameters. To be used from one thread.

    :param on_change: called, in a thread of the server, with changed parameters by name.
    :param on_text: the same, with texts that were typed and have yet to be parsed.
    :ivar widgets: the input widgets by parameter, and that of position only.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        main: viser.GuiFolderHandle,
        rest: viser.GuiTabHandle,
        on_change: Change,
        on_text: ChangeText,
    ) -> None:
        self._gui, self._main, self._rest = gui, main, rest
        self._on_change, self._on_text = on_change, on_text
        self._fields: dict[str, Field] = {}
        self.widgets: dict[str, viser.GuiInputHandle] = {}
        self._built: list[viser.GuiFolderHandle] = []
        self._bound_weights: tuple[float, ...] = (1.0,) * 6

    @property
    def fields(self) -> Mapping[str, Field]:
        """Parameters with their values, by name."""
        return self._fields

    @property
    def weights(self) -> tuple[float, ...]:
        """Task weights (6,); all ones for a node that has no such parameter."""
        field = self._fields.get(WEIGHTS)
        if field is None or not isinstance(field.value, tuple) or len(field.value) != 6:
            return (1.0,) * 6
        return field.value

    def show(self, fields: list[Field]) -> None:
        """Show parameters; those that are shown already only get their new values."""
        shapes = [field.with_value('') for field in fields]
        same = shapes == [field.with_value('') for field in self._fields.values()]
        self._fields = {field.name: field for field in fields}
        if not same:
            self._build()
        for field in fields:
            self._put(field)

    def put(self, values: Mapping[str, Value]) -> None:
        """Show values that have changed in the node."""
        for name, value in values.items():
            if name in self._fields:
                self._fields[name] = self._fields[name].with_value(value)
                self._put(self._fields[name])

    def reset(self) -> None:
        """Replace typed text by the values in force."""
        self.put({name: field.value for name, field in self._fields.items()})

    def enable(self, enabled: bool) -> None:
        """Enable or disable the fields."""
        for widget in self.widgets.values():
            if widget.disabled == enabled:
                widget.disabled = not enabled

    def _build(self) -> None:
        for folder in self._built:
            folder.remove()  # with all that it holds
        self.widgets = {}
        with self._main:
            main = self._gui.add_folder(None)
        with self._rest:
            instant, typed = self._gui.add_folder(None), self._gui.add_form(None)
        self._built = [main, instant, typed]
        with main:
            for name in (SOLVER, WEIGHTS, SPEED):
                if name in self._fields:
                    self._add_main(self._fields[name])
        others = [field for field in self._fields.values() if field.name not in (SOLVER, SPEED)]
        with instant:
            self._add_instant([field for field in others if _is_instant(field)])
        with typed:
            self._add_typed(typed, [field for field in others if not _is_instant(field)])

    def _add_main(self, field: Field) -> None:
        gui = self._gui
        if field.name == SOLVER:
            self._watch(field.name, gui.add_dropdown('Solver', field.choices or (field.text,)))
        elif field.name == SPEED:
            hint = field.description
            self._watch(field.name, gui.add_slider('Speed', 0.0, 1.0, 0.01, 0.5, hint=hint))
        else:
            hint = 'Leave the orientation of the tip free: the last three task weights are 0'
            switch = gui.add_checkbox('Position only', False, hint=hint)
            self.widgets['position only'] = switch

            @switch.on_update
            async def _(event: viser.GuiEvent) -> None:
                if event.client_id is not None:
                    weights = switched_weights(self.weights, switch.value, self._bound_weights)
                    self._on_change({WEIGHTS: weights})

    def _add_instant(self, fields: list[Field]) -> None:
        for field in fields:
            label, hint = field.label, field.description
            if field.kind is Kind.BOOL:
                self._watch(field.name, self._gui.add_checkbox(label, False, hint=hint))
            else:
                self._watch(field.name, self._gui.add_dropdown(label, field.choices, hint=hint))

    def _add_typed(self, form: viser.GuiFormHandle, fields: list[Field]) -> None:
        names = [field.name for field in fields]
        for field in fields:
            self.widgets[field.name] = self._gui.add_text(field.label, '', hint=_hint(field))
        button = self._gui.add_button('Apply', hint='Or press Enter in a field')

        @button.on_click
        async def _(_event: viser.GuiEvent) -> None:
            form.submit()

        @form.on_submit
        async def _(_event: viser.GuiEvent) -> None:
            await asyncio.sleep(_TYPING_DELAY)
            typed = {name: self.widgets[name].value for name in names}
            fields = self._fields
            self._on_text({n: text for n, text in typed.items() if text != fields[n].text})

    def _watch(self, name: str, widget: viser.GuiInputHandle) -> None:
        self.widgets[name] = widget

        @widget.on_update
        async def _(event: viser.GuiEvent) -> None:
            if event.client_id is not None:  # a person, and not this program
                self._on_change({name: widget.value})

    def _put(self, field: Field) -> None:
        if field.name == WEIGHTS and len(self.weights) == 6:
            if any(self.weights[3:]):
                self._bound_weights = self.weights
            set_value(self.widgets['position only'], is_position_only(self.weights))
        widget = self.widgets.get(field.name)
        if widget is None:
            return
        value = field.text if isinstance(widget, viser.GuiTextHandle) else field.value
        options = getattr(widget, 'options', None)
        if options is None or value in options:
            set_value(widget, value)


def _is_instant(field: Field) -> bool:
    """Whether a field takes effect as soon as it is changed, since there is nothing to type."""
    return field.kind is Kind.BOOL or bool(field.choices)


def _hint(field: Field) -> str:
    if field.bounds is None:
        return field.description
    low, high = field.bounds
    return f'{field.description}; {low:g} to {high:g}'
