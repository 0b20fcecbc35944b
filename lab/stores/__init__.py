"""A private MariaDB and Redis on loopback: the production stores, for tests and for trying things."""
