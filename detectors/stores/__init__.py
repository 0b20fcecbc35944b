"""Which log stores can be read? Each is one module here and one line below."""

from detectors.stores.loki import Loki
from detectors.stores.store import Store
from detectors.stores.victorialogs import VictoriaLogs

STORES: tuple[Store, ...] = (Loki(), VictoriaLogs())
