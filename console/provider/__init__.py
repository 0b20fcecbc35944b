"""Signing in through an OpenID provider: code flow with PKCE. Off unless its settings are there."""
