"""Collada files with a unit, an upward axis, and a mesh that several nodes show."""


def collada_text(unit='', up='Z_UP'):
    """A tetrahedron of 100, 200 and 300 units: nested, turned and doubled; and shown again."""
    points = '0 0 0 100 0 0 0 200 0 0 0 300'
    params = ''.join(f'<param name="{axis}" type="float"/>' for axis in 'XYZ')
    return (
        '<?xml version="1.0"?><COLLADA version="1.4.1"'
        ' xmlns="http://www.collada.org/2005/11/COLLADASchema">'
        '<asset><created>2020-01-01T00:00:00</created><modified>2020-01-01T00:00:00</modified>'
        f'{unit}<up_axis>{up}</up_axis></asset>'
        '<library_geometries><geometry id="g"><mesh><source id="p">'
        f'<float_array id="a" count="12">{points}</float_array><technique_common>'
        f'<accessor source="#a" count="4" stride="3">{params}</accessor></technique_common>'
        '</source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
        '<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>'
        '<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries>'
        '<library_visual_scenes><visual_scene id="s">'
        '<node id="n"><translate>10 0 0</translate><node id="m"><rotate>0 0 1 90</rotate>'
        '<scale>2 2 2</scale><instance_geometry url="#g"/></node></node>'
        '<node id="o"><translate>0 0 500</translate><instance_geometry url="#g"/></node>'
        '</visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )


LOWEST, HIGHEST = (-390.0, 0.0, 0.0), (100.0, 200.0, 800.0)
"""Corners of the box around what :func:`collada_text` shows, in its units."""
