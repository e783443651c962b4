import pytest

from ik_service.common.number_parsing import parse_positions
from ik_service.exceptions import OptionError


def test_reads_names_and_numbers():
    assert parse_positions(' torso = 0.1,head=-2e-1 ,', 'x') == {'torso': 0.1, 'head': -0.2}
    assert parse_positions('', 'x') == {}


@pytest.mark.parametrize('text', ['torso', 'torso=', '=1', 'torso=one', 'torso=nan', 'a=1;b=2'])
def test_the_error_names_the_faulty_part(text):
    with pytest.raises(OptionError, match=f'start: .*{text}'):
        parse_positions(f'good=1, {text}', 'start')


def test_refuses_a_joint_that_is_named_twice():
    with pytest.raises(OptionError, match="'a' twice"):
        parse_positions('a=1, a=2', 'start')
