"""What docs/clients.md says to paste is answered as the page shows."""

import re
import shlex

import pytest
from support.chains import REPOSITORY
import yaml

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.chains import arm_path
from support.harness import START_TIMEOUT, until
from support.ros.messages import fill, ros_type
from support.ros.nodes import NODE, start_panda

PAGE = (REPOSITORY / 'docs' / 'clients.md').read_text(encoding='utf-8')
CALLS = re.findall(r'```bash\n(ros2 [^`]*)```\n\n```text\n([^`]*)```', PAGE)
TWO_HANDS = 'left_grip'
COMPILED = 600.0  # [s] after which the first request for several links has compiled its solver


def answered(bench, service, kind, text, shown):
    """Return whether the answer to a request is the one that is shown, with … for anything."""
    answer = bench.call(kind, service, fill(kind.Request(), yaml.safe_load(text)), COMPILED)
    pattern = '.*'.join(re.escape(part) for part in shown.strip().split('…'))
    return re.fullmatch(pattern, repr(answer), re.DOTALL)


def paste(bench, commands, shown):
    """Do what some commands of ros2cli do, until the last one is answered as it is shown."""
    for command in commands.splitlines():
        _, noun, *_, name, kind, text = shlex.split(command)
        name, kind = name.removeprefix('/'), ros_type(kind)
        if noun == 'topic':
            bench.publisher(kind, name).publish(fill(kind(), yaml.safe_load(text)))
            continue
        until(
            lambda name=name, kind=kind, text=text: answered(bench, name, kind, text, shown),
            timeout=START_TIMEOUT,
            what=f'{shown} as the answer to {command}',
        )


def test_the_calls_in_a_terminal(bench):
    pytest.importorskip('coal', reason='Coal is needed for collisions')
    node = start_panda(bench)
    calls = [(commands, shown) for commands, shown in CALLS if TWO_HANDS not in commands]
    assert len(calls) >= 8
    for commands, shown in calls:
        paste(bench, commands, shown)
    node.check()


def test_the_call_for_two_hands(bench):
    bench.start(NODE, urdf=str(arm_path('upper_body')), tip_link=TWO_HANDS)
    ((commands, shown),) = [call for call in CALLS if TWO_HANDS in call[0]]
    paste(bench, commands, shown)


def test_the_programs_are_python():
    programs = re.findall(r'```python\n(.*?)```', PAGE, re.DOTALL)
    assert len(programs) == 5
    for program in programs:
        compile(program, 'docs/clients.md', 'exec')
