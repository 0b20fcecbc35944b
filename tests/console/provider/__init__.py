"""Tests of the sign-in through an OpenID provider, against a real little one."""
