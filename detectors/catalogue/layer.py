"""In which layer did it break?"""

from schedulers.words import Word


class Layer(Word):
    """Layer of a cause: those of the signature catalogue and three of ours (decisions 17)."""

    HARDWARE_GPU = "hardware.gpu", "GPU", "danger"
    HARDWARE_NVLINK = "hardware.nvlink", "NVLink", "danger"
    HARDWARE_NETWORK = "hardware.network", "Network", "danger"
    HARDWARE_HOST = "hardware.host", "Host", "danger"
    SYSTEM_DRIVER = "system.driver", "Driver", "warning"
    SYSTEM_FILESYSTEM = "system.filesystem", "File system", "warning"
    SYSTEM_MEMORY = "system.memory", "Memory", "warning"
    SCHEDULER = "scheduler", "Scheduler", "info"
    FRAMEWORK = "framework", "Framework", "primary"
    FRAMEWORK_COMM = "framework.comm", "Communication", "primary"
    APPLICATION = "application", "Application", "primary"
    DATA = "data", "Data", "primary"
    USER = "user", "User", "primary"
    UNKNOWN = "unknown", "Unknown", "secondary"

    @property
    def domain(self) -> str:
        """What it rolls up to: hardware, network, system, storage, scheduler, framework, application, data."""
        return _DOMAINS.get(self.value, self.value.partition(".")[0])


_DOMAINS = {
    "hardware.network": "network",
    "system.filesystem": "storage",
    "user": "application",
}
