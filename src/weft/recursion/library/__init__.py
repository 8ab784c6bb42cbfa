"""The definitions that Weft ships: types, functions on them, and their axes and cases."""
