"""Where do records come from? Each source is one module here and one line below."""

from detectors.sources.files import FileSource
from detectors.sources.source import Source

SOURCES: tuple[Source, ...] = (FileSource(),)
