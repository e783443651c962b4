import pytest

pytest.importorskip('rclpy', reason='rclpy is needed for its parameters')

from ik_service.exceptions import OptionError
from ik_service.extras.viewer.settings import parse_hosts


@pytest.mark.parametrize(
    ('text', 'names'),
    [
        ('', ()),
        ('arm.local', ('arm.local',)),
        (' Arm.local , 192.168.1.5,, ', ('arm.local', '192.168.1.5')),
        ('::1, [FE80:0::5]', ('[::1]', '[fe80::5]')),
    ],
)
def test_host_names_are_separated_by_commas(text, names):
    assert parse_hosts(text) == names


@pytest.mark.parametrize('name', ['*', 'http://arm', 'arm:8080', '[::1]:8080', 'a b', 'é', '::x'])
def test_a_wrong_host_name_is_an_error(name):
    with pytest.raises(OptionError, match=r'^allowed_hosts: .* is no host: names and addresses'):
        parse_hosts(f'arm.local, {name}')
