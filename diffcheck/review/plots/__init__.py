"""The pictures of a page: inline SVG whose colours are the page's own, to read on white, on black and in print.

Drawn by matplotlib. A picture is one function in a file of its own.
"""
