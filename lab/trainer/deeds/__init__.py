"""How is each order really carried out?"""
