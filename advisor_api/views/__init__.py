"""The endpoints, one module per topic. Each is a door: fetch, call one thing, answer."""
