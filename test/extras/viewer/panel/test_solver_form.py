import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from ik_service.exceptions import OptionError
from ik_service.extras.viewer.link.remote_parameters import Field, Kind
from ik_service.extras.viewer.panel.solver_form import (
    is_position_only,
    SolverForm,
    SPEED,
    switched_weights,
    WEIGHTS,
    with_free_axis,
)

GAIN = Field('solver.step_gain', Kind.NUMBER, 0.5, bounds=(0.0, 10.0))
SEARCHES = Field('solver.max_searches', Kind.INTEGER, 3, bounds=(0, 100))
SHARES = Field('solver.task_weights', Kind.NUMBERS, (1.0, 0.5))
NAME = Field('solver.name', Kind.TEXT, 'ccd', choices=('ccd', 'bfgs'))
TRACE = Field('solver.trace', Kind.BOOL, True)


@pytest.mark.parametrize('field', [GAIN, SEARCHES, SHARES, NAME, TRACE], ids=lambda f: f.label)
def test_the_text_of_a_value_is_parsed_to_that_value(field):
    assert field.parse(field.text) == field.value


@pytest.mark.parametrize(
    ('field', 'text', 'value'),
    [
        (GAIN, ' 1e-3 ', 1e-3),
        (SEARCHES, '7', 7),
        (SHARES, '[1, 1 0,0.5]', (1.0, 1.0, 0.0, 0.5)),
        (NAME, 'bfgs', 'bfgs'),
        (TRACE, 'False', False),
    ],
)
def test_typed_text_is_parsed(field, text, value):
    parsed = field.parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ('field', 'text', 'words'),
    [
        (GAIN, 'much', 'step_gain: has to be a number'),
        (GAIN, 'nan', 'has to be a number'),
        (GAIN, '', 'has to be a number'),
        (GAIN, '11', 'from 0 to 10'),
        (SEARCHES, '1.5', 'a whole number'),
        (SEARCHES, '-1', 'from 0 to 100'),
        (SHARES, '1, x', 'separated by commas'),
        (NAME, 'magic', 'one of ccd, bfgs'),
        (TRACE, 'maybe', 'true or false'),
    ],
)
def test_wrong_text_is_refused(field, text, words):
    with pytest.raises(OptionError, match=words):
        field.parse(text)


def test_position_only_keeps_the_other_weights():
    weights = (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)
    free = switched_weights(weights, True, weights)
    assert free == (1.0, 2.0, 3.0, 0.0, 0.0, 0.0)
    assert is_position_only(free)
    assert not is_position_only(weights)
    assert switched_weights(free, False, weights) == weights
    assert switched_weights(free, False, free) == (1.0, 2.0, 3.0, 1.0, 1.0, 1.0)


def test_a_free_axis_replaces_those_that_were_free():
    assert with_free_axis((1.0, 2.0, 1.0, 0.0, 0.0, 0.0), 4) == (1.0, 2.0, 1.0, 1.0, 0.0, 1.0)
    assert with_free_axis((0.0, 2.0, 1.0, 1.0, 1.0, 1.0), None) == (1.0, 2.0, 1.0, 1.0, 1.0, 1.0)


FIELDS = [
    Field(SPEED, Kind.NUMBER, 0.25, bounds=(0.0, 1.0)),
    Field('solver.name', Kind.TEXT, 'ccd', choices=('ccd', 'bfgs')),
    Field(WEIGHTS, Kind.NUMBERS, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
    Field('solver.timeout', Kind.NUMBER, 0.05, bounds=(0.0, 60.0)),
    Field('solver.trace', Kind.BOOL, True),
]


@pytest.fixture
def form(server):
    gui = server.gui
    main, tabs = gui.add_folder(None), gui.add_tab_group()
    form = SolverForm(gui, main, tabs.add_tab('rest'), print, print)
    form.show(FIELDS)
    return form


def shown(form):
    return {name: widget.value for name, widget in form.widgets.items()}


def test_every_parameter_has_a_field_with_its_value(form):
    assert shown(form) == {
        SPEED: 0.25,
        'solver.name': 'ccd',
        'position only': True,
        'free axis': '–',
        WEIGHTS: '1, 1, 1, 0, 0, 0',
        'solver.timeout': '0.05',
        'solver.trace': True,
    }
    assert form.weights == (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def test_values_that_change_in_the_node_are_shown(form):
    form.put({'solver.name': 'bfgs', WEIGHTS: (1.0,) * 6, 'unknown': 1})
    values = shown(form)
    assert values['solver.name'] == 'bfgs'
    assert values['position only'] is False
    assert values[WEIGHTS] == '1, 1, 1, 1, 1, 1'


def test_refused_text_is_replaced_by_the_value_in_force(form):
    form.widgets['solver.timeout'].value = 'long'
    form.reset()
    assert shown(form)['solver.timeout'] == '0.05'


def test_the_same_parameters_keep_their_widgets_and_others_get_new_ones(form):
    before = dict(form.widgets)
    form.show([field.with_value(field.value) for field in FIELDS])
    assert form.widgets == before
    form.show([Field('solver.name', Kind.TEXT, 'x', choices=('x', 'y'))])
    assert shown(form) == {'solver.name': 'x'}
    assert form.weights == (1.0,) * 6


def test_fields_can_be_disabled(form):
    form.enable(False)
    assert all(widget.disabled for widget in form.widgets.values())
    form.enable(True)
    assert not any(widget.disabled for widget in form.widgets.values())


def test_an_arm_of_few_joints_is_offered_a_free_axis(form):
    axis, few = form.widgets['free axis'], form._few_joints
    assert not axis.visible
    form.show_joints(5)
    assert axis.visible
    assert not few.visible  # the orientation is free
    form.put({WEIGHTS: (1.0,) * 6})
    assert few.visible
    assert '5 joints cannot meet all 6 axes of most targets' in few.content
    form.put({WEIGHTS: (1.0, 1.0, 1.0, 1.0, 1.0, 0.0)})
    assert axis.value == 'about z'
    assert not few.visible
    form.show_joints(7)
    assert not axis.visible
