"""How are times and numbers written?"""
