from .hierarchies import Hierarchy as Hierarchy
