from .levels.hierarchies import Hierarchy as Hierarchy
