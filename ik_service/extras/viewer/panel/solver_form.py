"""Form of the node's parameters: the solver, position only, speed and all options."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import viser

from ik_service.extras.viewer.link.remote_parameters import Field, Kind, Value
from ik_service.extras.viewer.panel.figures import banner, Level, StatusText
from ik_service.extras.viewer.panel.widgets import on_click, on_input, set_properties, set_value


def is_position_only(weights: Sequence[float]) -> bool:
    """Return whether task weights (6,), linear before angular, leave the orientation free."""
    return len(weights) == 6 and not any(weights[3:])


def switched_weights(
    weights: Sequence[float], position_only: bool, before: Sequence[float]
) -> tuple[float, ...]:
    """Task weights (6,) with the orientation freed, or bound as it was ``before``."""
    if position_only:
        return (*weights[:3], 0.0, 0.0, 0.0)
    angular = before[3:] if any(before[3:]) else (1.0, 1.0, 1.0)
    return (*weights[:3], *angular)


def with_free_axis(weights: Sequence[float], axis: int | None) -> tuple[float, ...]:
    """Task weights (6,) with one axis of six free, or none; other zeros become 1."""
    return tuple(0.0 if i == axis else weight or 1.0 for i, weight in enumerate(weights))


SOLVER, WEIGHTS, SPEED = 'solver.name', 'solver.task_weights', 'velocity_scaling'
"""Parameters with their own fields at the top of the panel."""

_TYPING_DELAY = 0.25  # the page sends typed text a little later than the click on Apply [s]

_POSITION_ONLY, _FREE_AXIS = 'position only', 'free axis'  # widgets beside those of parameters
_NONE, _AXES = '–', ('x', 'y', 'z', 'about x', 'about y', 'about z')

Change = Callable[[Mapping[str, Value]], object]
ChangeText = Callable[[Mapping[str, str]], object]


class SolverForm:
    """
    Form of a node's parameters. To be used from one thread.

    :param on_change: called, in a thread of the server, with changed parameters by name.
    :param on_text: the same, with texts that were typed and have yet to be parsed.
    :ivar fields: parameters with their values, by name.
    :ivar widgets: the input widgets by parameter, and those of free axes.
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
        self.fields: dict[str, Field] = {}
        self.widgets: dict[str, viser.GuiInputHandle] = {}
        self._built: list[viser.GuiFolderHandle] = []
        self._bound_weights: tuple[float, ...] = (1.0,) * 6
        self._joints = 6
        self._few_joints: viser.GuiHtmlHandle | None = None

    @property
    def weights(self) -> tuple[float, ...]:
        """Task weights (6,); all ones for a node that has no such parameter."""
        field = self.fields.get(WEIGHTS)
        if field is None or not isinstance(field.value, tuple) or len(field.value) != 6:
            return (1.0,) * 6
        return field.value

    def show(self, fields: list[Field]) -> None:
        """Show parameters; those that are shown already only get their new values."""
        before, self.fields = self.fields, {field.name: field for field in fields}
        if [replace(field, value='') for field in fields] != [
            replace(field, value='') for field in before.values()
        ]:
            self._build()
        for field in fields:
            self._put(field)

    def show_joints(self, count: int) -> None:
        """Offer to free an axis, where so few joints move that most poses are out of reach."""
        self._joints = count
        self._show_weights()

    def put(self, values: Mapping[str, Value]) -> None:
        """Show values that have changed in the node."""
        for name, value in values.items():
            if name in self.fields:
                self.fields[name] = replace(self.fields[name], value=value)
                self._put(self.fields[name])

    def reset(self) -> None:
        """Replace typed text by the values in force."""
        self.put({name: field.value for name, field in self.fields.items()})

    def enable(self, enabled: bool) -> None:
        """Enable or disable the fields."""
        for widget in self.widgets.values():
            set_properties(widget, disabled=not enabled)

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
                if name in self.fields:
                    self._add_main(self.fields[name])
        others = [field for field in self.fields.values() if field.name not in (SOLVER, SPEED)]
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
            self.widgets[_POSITION_ONLY] = switch
            hint = 'Direction of the base along or about which the tip may be anywhere'
            axis = gui.add_dropdown('Free axis', (_NONE, *_AXES), hint=hint, visible=False)
            self.widgets[_FREE_AXIS] = axis
            self._few_joints = gui.add_html('', visible=False)

            on_input(axis, self._free_axis)
            on_input(switch, self._switch_orientation)

    def _free_axis(self, name: str) -> None:
        free = None if name == _NONE else _AXES.index(name)
        self._on_change({WEIGHTS: with_free_axis(self.weights, free)})

    def _switch_orientation(self, is_free: bool) -> None:
        weights = switched_weights(self.weights, is_free, self._bound_weights)
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

        on_click(button, form.submit)

        @form.on_submit
        async def _(_event: viser.GuiEvent) -> None:
            await asyncio.sleep(_TYPING_DELAY)
            typed = {name: self.widgets[name].value for name in names}
            fields = self.fields
            self._on_text({n: text for n, text in typed.items() if text != fields[n].text})

    def _show_weights(self) -> None:
        weights, few = self.weights, self._few_joints
        if few is None or _POSITION_ONLY not in self.widgets:
            return
        set_value(self.widgets[_POSITION_ONLY], is_position_only(weights))
        free = [name for name, weight in zip(_AXES, weights, strict=True) if not weight]
        axis = self.widgets[_FREE_AXIS]
        set_properties(axis, visible=self._joints < 6)
        set_value(axis, free[0] if len(free) == 1 else _NONE)
        count = 6 - len(free)
        joints = '1 joint' if self._joints == 1 else f'{self._joints} joints'
        headline = f'{joints} cannot meet all {count} axes of most targets'
        text = StatusText(Level.WAITING, headline, 'free an axis, or take the position only')
        set_properties(few, content=banner(text), visible=self._joints < count)

    def _watch(self, name: str, widget: viser.GuiInputHandle) -> None:
        self.widgets[name] = widget
        on_input(widget, lambda value: self._on_change({name: value}))

    def _put(self, field: Field) -> None:
        if field.name == WEIGHTS and len(self.weights) == 6:
            if any(self.weights[3:]):
                self._bound_weights = self.weights
            self._show_weights()
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
