import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from ik_service.extras.viewer.link.remote_parameters import Field, Kind
from ik_service.extras.viewer.panel.solver_form import SolverForm, SPEED, WEIGHTS
from ik_service.extras.viewer.server import page

FIELDS = [
    Field(SPEED, Kind.NUMBER, 0.25, bounds=(0.0, 1.0)),
    Field('solver.name', Kind.TEXT, 'ccd', choices=('ccd', 'bfgs')),
    Field(WEIGHTS, Kind.NUMBERS, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
    Field('solver.timeout', Kind.NUMBER, 0.05, bounds=(0.0, 60.0)),
    Field('solver.trace', Kind.BOOL, True),
]


@pytest.fixture
def server():
    served = page.serve('127.0.0.1', 0, False)
    yield served.server
    page.close(served)


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
