"""The extended Jacobian: rows are added until the matrix determines every joint."""
