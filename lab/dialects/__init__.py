"""How do the training frameworks write their logs?"""
