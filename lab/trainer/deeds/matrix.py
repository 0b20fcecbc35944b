"""What is a matrix that refuses to be multiplied with one of another shape?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of numbers."""

    rows: tuple[tuple[float, ...], ...]

    @classmethod
    def ones(cls, height: int, width: int) -> "Matrix":
        """A matrix of ones."""
        return cls(((1.0,) * width,) * height)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return len(self.rows), len(self.rows[0]) if self.rows else 0

    def __matmul__(self, other: "Matrix") -> "Matrix":
        """The product. `RuntimeError` in torch's words when the shapes do not fit."""
        (height, inner), (inner2, width) = self.shape, other.shape
        if inner != inner2:
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({height}x{inner} and {inner2}x{width})")
        columns = tuple(zip(*other.rows, strict=True))
        return Matrix(tuple(tuple(_dot(row, column) for column in columns) for row in self.rows))


def _dot(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
