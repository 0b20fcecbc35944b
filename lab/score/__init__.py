"""How often is the product right, and how quickly?"""
