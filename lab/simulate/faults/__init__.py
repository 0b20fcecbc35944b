"""What goes wrong in a simulated attempt, kind by kind?"""
