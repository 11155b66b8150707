from .assess import Hierarchy as Hierarchy
