import pytest

from ik_service.exceptions import OptionError
from ik_service.extras.viewer.link.remote_parameters import Field, Kind
from ik_service.extras.viewer.panel.solver_form import is_position_only, switched_weights

GAIN = Field('solver.step_gain', Kind.NUMBER, 0.5, bounds=(0.0, 10.0))
SEARCHES = Field('solver.max_searches', Kind.INTEGER, 3, bounds=(0, 100))
WEIGHTS = Field('solver.task_weights', Kind.NUMBERS, (1.0, 0.5))
NAME = Field('solver.name', Kind.TEXT, 'ccd', choices=('ccd', 'bfgs'))
TRACE = Field('solver.trace', Kind.BOOL, True)


@pytest.mark.parametrize('field', [GAIN, SEARCHES, WEIGHTS, NAME, TRACE], ids=lambda f: f.label)
def test_the_text_of_a_value_is_parsed_to_that_value(field):
    assert field.parse(field.text) == field.value


@pytest.mark.parametrize(
    ('field', 'text', 'value'),
    [
        (GAIN, ' 1e-3 ', 1e-3),
        (SEARCHES, '7', 7),
        (WEIGHTS, '[1, 1 0,0.5]', (1.0, 1.0, 0.0, 0.5)),
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
        (WEIGHTS, '1, x', 'separated by commas'),
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


def test_labels_have_units_where_there_are_some():
    label = {name: Field(name, Kind.NUMBER, 1.0).label for name in ('solver.timeout', 'x.gain')}
    assert label == {'solver.timeout': 'timeout [s]', 'x.gain': 'gain'}
