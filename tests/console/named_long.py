"""How long may the name of a node be? A test of a browser, which knows no models, asks by it."""

NODE = "gpu-rack17-chassis04-blade09-" + "x" * 60 + ".cluster.internal"
