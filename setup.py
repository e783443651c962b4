"""Package for colcon (build type ament_python) and for pip."""

from glob import glob
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

PACKAGE = 'ik_service'
SHARE = f'share/{PACKAGE}'
TEST = ['hypothesis', 'pytest', 'pytest-rerunfailures', 'pytest-xdist']
LABELS = {'website': 'Documentation', 'repository': 'Source', 'bugtracker': 'Issues'}
MANIFEST = ElementTree.parse(Path(__file__).with_name('package.xml')).getroot()


def manifest(element: str) -> str:
    """Text of an element of package.xml, on one line: what stands there is not said again here."""
    return ' '.join(MANIFEST.findtext(element, default='').split())


setup(
    name=PACKAGE,
    version=manifest('version'),
    description=manifest('description'),
    long_description=Path(__file__).with_name('README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    keywords=['inverse kinematics', 'robotics', 'robot arm', 'manipulator', 'MoveIt', 'ROS 2'],
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Education',
        'Intended Audience :: Manufacturing',
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        'Topic :: Scientific/Engineering',
        'Typing :: Typed',
    ],
    license=manifest('license'),
    maintainer=manifest('maintainer'),
    maintainer_email=MANIFEST.find('maintainer').get('email'),
    project_urls={LABELS[url.get('type')]: url.text.strip() for url in MANIFEST.findall('url')},
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={PACKAGE: ['py.typed', 'model/groups/known_groups.yaml']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (SHARE, ['package.xml']),
        (f'{SHARE}/launch', sorted(glob('launch/*.launch.py'))),
        (f'{SHARE}/config', sorted(glob('config/*.*'))),
        (f'{SHARE}/urdf', sorted(glob('urdf/*.urdf'))),
        (f'{SHARE}/examples', sorted(glob('examples/*.*'))),
    ],
    python_requires='>=3.11',
    install_requires=['numba', 'numpy', 'pyyaml', 'urdf_parser_py'],
    extras_require={
        'test': TEST,
        'collision': ['coal'],
        'dev': [*TEST, 'mypy', 'pin', 'ruff', 'types-PyYAML'],
        'docs': ['furo', 'myst-parser', 'sphinx'],
        'dynamics': ['pin'],
        'path': ['toppra'],
        'plan': ['coal', 'ompl'],
        'plot': ['matplotlib', 'tqdm'],
        'learn': ['scipy'],
        'scale': ['dask[distributed]', 'google-crc32c', 'tqdm', 'zarr>=3'],
        'sim': ['mujoco>=3.2'],
        'viewer': ['pycollada', 'viser>=1.0', 'trimesh'],
        'xacro': ['xacro'],
    },
    zip_safe=False,
    entry_points={
        'ik_service.capabilities': [
            'planning = ik_service.extras.planning.ros.capability:PlanningCapability',
        ],
        'console_scripts': [
            'ik_node = ik_service.ros.node.main:main',
            'ik_sim = ik_service.ros.sim.main:main',
            'ik_cell = ik_service.extras.cells.main:main',
            'ik_conformance = ik_service.cli.programs:ik_conformance',
            'ik_demo = ik_service.cli.programs:ik_demo',
            'ik_viewer = ik_service.extras.viewer.main:main',
            'ik_place = ik_service.cli.programs:ik_place',
            'ik_ros = ik_service.cli.programs:ik_ros',
            'ik_solve = ik_service.cli.programs:ik_solve',
            'ik_study = ik_service.cli.programs:ik_study',
            'ik_teleop = ik_service.cli.programs:ik_teleop',
            'ik_train = ik_service.cli.programs:ik_train',
            'target_marker = ik_service.ros.markers.target_marker.main:main',
        ],
    },
)
