"""Are log stores asked and understood rightly?"""
