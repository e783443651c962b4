"""Agreement of the tables of docs/withstands.md with the JSON file."""

from importlib.util import module_from_spec, spec_from_file_location
import json
from pathlib import Path
import shutil

DOCS = Path(__file__).resolve().parents[2] / 'docs'


def load(path):
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


writer = load(DOCS / 'write_withstands.py')
wire = load(DOCS / 'write_wire.py')


def test_the_page_is_what_the_figures_give():
    assert writer.main(['--check']) == 0, 'run: python docs/write_withstands.py'


def test_another_figure_gives_another_page(tmp_path):
    for name in (writer.PAGE, writer.FIGURES):
        shutil.copy(DOCS / name, tmp_path)
    figures = json.loads((tmp_path / writer.FIGURES).read_text())
    figures['rows'][0]['lost'] = 12345
    (tmp_path / writer.FIGURES).write_text(json.dumps(figures))
    assert writer.main(['--check'], tmp_path) == 1
    assert writer.main([], tmp_path) == 0
    assert '| 12,345 |' in (tmp_path / writer.PAGE).read_text()
    assert writer.main(['--check'], tmp_path) == 0


def test_nothing_was_lost_or_wrong():
    figures = json.loads((DOCS / writer.FIGURES).read_text())
    assert [row['test'] for row in figures['rows'] if row['lost'] or row['wrong']] == []


def test_the_tables_of_the_wire_are_those_of_the_results(tmp_path):
    assert wire.main(['--check']) == 0, 'run: python docs/write_wire.py'
    (tmp_path / wire.PAGE).write_text('<!-- wire -->\nold\n<!-- end wire -->\n')
    assert wire.main(['--check'], tmp_path) == 1
    assert wire.main([], tmp_path) == 0
    assert wire.main(['--check'], tmp_path) == 0
    assert '| node killed |' in (tmp_path / wire.PAGE).read_text()


def test_nothing_leads_beyond_a_joint_limit_or_leaps_on_a_controller_that_replaces():
    late = {'10 % of the messages lost', 'every fifth message 30 ms late'}
    for (interface, controller, case), row in wire.read('wire').items():
        if interface != 'joint_trajectory':
            continue
        assert float(row['outside']) <= 0.0
        assert float(row['lasts']) <= 0.5
        if controller != 'blends' and case not in late:
            assert float(row['step']) <= 1.001
