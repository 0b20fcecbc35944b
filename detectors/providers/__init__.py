"""Who outside may be asked about a verdict, and in which form."""

from detectors.providers.contract import Contract
from detectors.providers.provider import Provider
from detectors.providers.webhook import Webhook

ADAPTERS: tuple[Provider, ...] = (Contract(), Webhook())
